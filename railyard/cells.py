"""Which combinations of fabric, stack, rails and benchmark a system can run, and why each other one cannot."""

from collections.abc import Callable
from dataclasses import dataclass

from railyard import stacks
from railyard.systems import Fabric, System

#: The rail counts that tests are made for; a system's own counts select among them, so hashes are the same everywhere.
RAIL_COUNTS = (1, 2, 4, 8)
#: The most nodes that a check may ask for by number; a check of all nodes asks for none.
MOST_NODES = 64


#: Whether the references have a number for a fabric, stack, rails and benchmark.
HasNumber = Callable[[str, str, int, str], bool]


@dataclass(frozen=True, slots=True)
class Need:
    """What a check asks of a cell: the tool (`imb`), its test (`imb/Uniband`) and how many nodes it spans.

    ``ranks`` in all, ``passes`` over all sizes, and its smallest and largest message in bytes are what it then runs.
    """

    check: str
    tool: str
    benchmark: str
    nodes: int
    ranks: int = 2
    passes: int = 1
    smallest: int = 1
    largest: int = 4 << 20


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination; ``reason`` is None where it runs, ``disabled`` where the site itself switched it off."""

    fabric: str
    stack: str
    rails: int
    check: str
    benchmark: str
    reason: str | None
    disabled: bool = False


def _always(fabric: str, stack: str, rails: int, benchmark: str) -> bool:
    return True


def fabric_reason(name: str, fabric: Fabric, rails: int) -> str | None:
    """Return why a fabric cannot be used with this many rails, or None."""
    there = len(fabric.rails)
    if rails > there:
        devices = ", ".join(rail.device for rail in fabric.rails) or "none"
        return f"{name} has {there} rail{'' if there == 1 else 's'} a node ({devices})"
    return None


def node_reason(system: System, nodes: int) -> str | None:
    """Return why the system cannot give this many nodes, or None. On a single host its processes stand in for nodes."""
    if system.provider == "host":
        return None
    if nodes > system.nodes.number:
        return f"needs {nodes} nodes, {system.system} has {system.nodes.number}"
    return None


def stack_reason(fabric: Fabric, stack: str, rails: int) -> str | None:
    """Return why a stack cannot use this many rails of this kind of fabric, or None."""
    return stacks.why_not(stack, fabric.kind, rails)


def tool_reason(system: System, stack: str, tool: str) -> str | None:
    """Return why a stack of this system has not got a benchmark tool, or None."""
    entry = system.stacks[stack]
    if tool in entry.tools:
        return None
    return entry.absent.get(tool, f"{system.system} states no {tool} for {stack}")


def disabled_reason(
    system: System, fabric: str, stack: str, rails: int, benchmark: str | None = None, has_number: HasNumber = _always
) -> str | None:
    """Return the site's own reason for switching a combination off, or None; of one benchmark, where it is named."""
    for entry in system.disabled:
        if entry.without_reference and (benchmark is None or has_number(fabric, stack, rails, benchmark)):
            continue
        if entry.covers(fabric, stack, rails, benchmark):
            return entry.reason
    return None


def why_not(system: System, fabric: str, stack: str, rails: int, need: Need) -> str | None:
    """Return the first reason why a cell cannot run, or None where it can (a disabled cell can)."""
    return (
        fabric_reason(fabric, system.fabrics[fabric], rails)
        or node_reason(system, need.nodes)
        or tool_reason(system, stack, need.tool)
        or stack_reason(system.fabrics[fabric], stack, rails)
    )


def matrix(system: System, needs: tuple[Need, ...], has_number: HasNumber = _always) -> tuple[Cell, ...]:
    """Return the whole product fabric × stack × rails × check, rails up to the most that any fabric has.

    ``has_number`` says whether the references have a number for a fabric, stack, rails and benchmark.
    """
    most = max((len(fabric.rails) for fabric in system.fabrics.values()), default=1)
    cells = []
    for fabric in system.fabrics:
        for stack in system.stacks:
            for rails in (n for n in RAIL_COUNTS if n <= max(most, 1)):
                for need in needs:
                    reason = why_not(system, fabric, stack, rails, need)
                    off = None if reason else disabled_reason(system, fabric, stack, rails, need.benchmark, has_number)
                    cells.append(
                        Cell(fabric, stack, rails, need.check, need.benchmark, reason or off, disabled=bool(off))
                    )
    return tuple(cells)


def partition_features(system: System, fabric_name: str) -> list[str]:
    """Return a partition's ReFrame features: its kind, its name, ``railsN`` and ``nodesN`` for all N that it has."""
    fabric = system.fabrics[fabric_name]
    counts = [n for n in RAIL_COUNTS if fabric_reason(fabric_name, fabric, n) is None]
    nodes = [n for n in range(1, MOST_NODES + 1) if node_reason(system, n) is None]
    return [fabric.kind, *(f"rails{n}" for n in counts), *(f"nodes{n}" for n in nodes)]


def environment_features(system: System, fabric_name: str, stack: str) -> list[str]:
    """Return a stack's ReFrame features on one fabric: its tools, and ``railsN`` for all N that it can drive."""
    fabric = system.fabrics[fabric_name]
    counts = [n for n in RAIL_COUNTS if stack_reason(fabric, stack, n) is None]
    return [*sorted(system.stacks[stack].tools), *(f"rails{n}" for n in counts)]
