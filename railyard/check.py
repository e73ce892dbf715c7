"""The address that a site's own checks import: the base of every check, of ``railyard.rfm.checks.base``."""

from railyard.rfm.checks.base import *  # noqa: F403
