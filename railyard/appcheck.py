"""The address that a site's own checks import: applications' base, of ``railyard.rfm.checks.application``."""

from railyard.rfm.checks.application import *  # noqa: F403
