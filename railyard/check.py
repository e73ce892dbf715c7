"""The address that a site's own checks import: the base of all checks, and the variants of a check."""

from railyard.rfm.checks.base import *  # noqa: F403
from railyard.rfm.checks.declaration import *  # noqa: F403
from railyard.rfm.checks.groups import *  # noqa: F403
from railyard.site.systems.measure import *  # noqa: F403
