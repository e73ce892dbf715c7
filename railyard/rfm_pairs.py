"""The address that a site's own checks import: the base of pair checks, from ``railyard.rfm.checks.pairs``."""

from railyard.rfm.checks.pairs import *  # noqa: F403
