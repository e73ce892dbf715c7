"""The address that a site's own checks import: the base of pairs, of ``railyard.rfm.checks.pairs``."""

from railyard.rfm.checks.pairs import *  # noqa: F403
