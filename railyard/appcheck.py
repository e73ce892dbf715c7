"""The address that a site's own checks import: applications' base, and the variants that such a check has."""

from railyard.rfm.checks.application import *  # noqa: F403
from railyard.rfm.checks.variants import *  # noqa: F403
