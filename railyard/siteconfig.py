"""The address that a site's reframe_settings.py imports: `build` from ``railyard.rfm.settings``."""

from railyard.rfm.settings import *  # noqa: F403
