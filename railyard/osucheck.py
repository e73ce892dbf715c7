"""The address that a site's own checks import: the base of OSU checks, from ``railyard.rfm.checks.osu``."""

from railyard.rfm.checks.osu import *  # noqa: F403
