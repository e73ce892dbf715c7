"""What ReFrame knows about where a test is: its current system while a check file is read, the site of a test."""

from pathlib import Path
from typing import Any

from reframe.core.exceptions import ReframeFatalError
from reframe.core.runtime import runtime

from railyard.site.matrix import MOST_NODES
from railyard.site.site import Site, site_at
from railyard.site.systems.measure import Measure, StatedAmounts


def partitions() -> tuple[Any, ...] | None:
    """Return the partitions of ReFrame's current system that Railyard made; None without a system.

    A site's own system may have others beside them (``railyard.rfm.extend``).

    `railyard matrix` reads the checks without ReFrame's own configuration, so it has none.
    """
    try:
        return tuple(each for each in runtime().system.partitions if "railyard_home" in each.extras)
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


def sweep() -> tuple[int, ...]:
    """Return on how many nodes the current system measures a sweep; none without a system."""
    found = partitions() or ()
    return tuple(sorted({count for each in found for count in each.extras.get("railyard_sweep", ())}))


def places(rails: int, nodes: int) -> list[str]:
    """Return what a test over so many rails and nodes asks of a partition, in ReFrame's terms.

    A partition has a feature for each number of nodes up to ``MOST_NODES``. For more nodes, the partitions that have
    enough are listed by name.
    """
    if nodes <= MOST_NODES:
        return [f"+rails{rails} +nodes{nodes}"]
    there = [each for each in partitions() or () if (each.extras.get("railyard_nodes") or nodes) >= nodes]
    return [each.fullname for each in there if f"rails{rails}" in each.features]


def stated_amounts(benchmark: str) -> StatedAmounts | None:
    """Return what the current system's file states for a benchmark; None if it states nothing or there is no file."""
    there = partitions() or ()
    found = there[0].extras.get("railyard_numbers") if there else None  # each partition has those of its system
    return Measure.model_validate({"benchmarks": found}).amounts_of(benchmark) if found else None


def end_at_errors() -> tuple[str, ...]:
    """Return the line that ends a job at its first command that fails; none if ReFrame's own trap does it.

    Our settings have ReFrame's (``trap_job_errors``). Those of a site with our partitions (``railyard.rfm.extend``) may
    not: a script then ends with the code of its last command, and the benchmark's own code would be lost.
    """
    return () if runtime().get_option("general/0/trap_job_errors") else ("trap 'exit $?' ERR",)


def site_of(test: Any) -> Site:
    """Return the site and system that a test runs on, once it is set up."""
    partition = test.current_partition
    return site_at(Path(partition.extras["railyard_home"]), partition.fullname.split(":")[0])
