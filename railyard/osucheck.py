"""The address that a site's own checks import: OSU's base, of ``railyard.rfm.checks.osu``."""

from railyard.rfm.checks.osu import *  # noqa: F403
