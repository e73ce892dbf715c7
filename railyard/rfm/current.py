"""What ReFrame knows of where a test is: its current system while a check file is read, a test's own site and name."""

from pathlib import Path
from typing import Any

from reframe.core.exceptions import ReframeFatalError
from reframe.core.runtime import runtime

from railyard.site.site import Site, site_at


def partitions() -> tuple[Any, ...] | None:
    """Return the partitions of ReFrame's current system; None where it has none, since `railyard matrix` reads the
    checks without ReFrame's own configuration.
    """
    try:
        return tuple(runtime().system.partitions)
    except ReframeFatalError:
        return None


def partition_features() -> set[str] | None:
    """Return every feature that some partition of the current system has; None without a system."""
    found = partitions()
    return None if found is None else {feature for each in found for feature in each.features}


def environment_features() -> set[str] | None:
    """Return every feature that some environment of the current system has; None without a system."""
    found = partitions()
    return None if found is None else {f for each in found for environ in each.environs for f in environ.features}


def site_of(test: Any) -> Site:
    """Return the site and system that a test runs on, once it is set up."""
    partition = test.current_partition
    return site_at(Path(partition.extras["railyard_home"]), partition.fullname.split(":")[0])
