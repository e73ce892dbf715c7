"""The address that a site's own checks import: the base of application checks, and the variants of such a check."""

from railyard.rfm.checks.application import *  # noqa: F403
from railyard.rfm.checks.declaration import *  # noqa: F403
