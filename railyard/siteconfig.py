"""The address that a site's settings import: ``build`` from ``railyard.rfm.settings`` and ``extend`` beside it."""

from railyard.rfm.extend import *  # noqa: F403
from railyard.rfm.settings import *  # noqa: F403
