"""The address that a site's reframe_settings.py imports: `build` of ``railyard.rfm.settings``."""

from railyard.rfm.settings import *  # noqa: F403
