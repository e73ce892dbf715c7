"""The address that a site's own checks import: the base of OSU checks, from ``railyard.rfm.checks.microbench``."""

from railyard.rfm.checks.microbench import *  # noqa: F403
