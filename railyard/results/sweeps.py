"""The sweeps in stored runs: records of one problem on several numbers of nodes, put together, and as text."""

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from railyard.base.wording import count_of, number, percent
from railyard.benchmarks.table.applications import A_NODE, nodes_of_key
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.results.record.form import Record
from railyard.results.scaling import Kind, Sweep, sweep
from railyard.stacks.model import SINGLE

#: The states in which the figure is a measurement.
_SOUND = ("pass", "report-only")


@dataclass(frozen=True, slots=True)
class Group:
    """Where a sweep was measured: the problem's key without its nodes, and the cell; ``unit`` is that of its rate."""

    system: str
    fabric: str
    stack: str
    rails: int
    policy: str
    benchmark: str
    unit: str
    no_measurement: str | None = None

    @property
    def title(self) -> str:
        """The group in a line."""
        rails = count_of(self.rails, "rail")
        by = f" {self.policy}" if self.policy not in ("", SINGLE) else ""
        return f"{self.benchmark} on {self.system}:{self.fabric}, {self.stack}, {rails}{by}"


@dataclass(slots=True)
class _Values:
    rates: dict[int, list[float]] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)


def sweeps(records: Iterable[Record]) -> dict[Group, Sweep]:
    """Return the sweeps in the order of their first record: the median for each number of nodes, failures as missing.

    One node is measured once, on the first fabric with one rail, since it uses no network: it is the first point of
    every sweep of that stack. A problem with only one point is not a sweep.
    """
    found: dict[Group, _Values] = {}
    alone: dict[tuple[str, str, str, str | None], _Values] = {}
    for record in records:
        problem, nodes = nodes_of_key(record.test.benchmark)
        if nodes is None:
            continue
        rate = _rate(record, nodes)
        if nodes == 1:
            values = alone.setdefault(
                (record.where.system, record.test.stack, problem, record.no_measurement), _Values()
            )
        else:
            values = found.setdefault(_group(record, problem, "" if rate is None else rate[1]), _Values())
        if rate is None:
            values.failed.add(nodes)
        else:
            values.rates.setdefault(nodes, []).append(rate[0])
    return _put_together(found, alone)


def _group(record: Record, problem: str, unit: str) -> Group:
    cell = (record.where.system, record.where.fabric, record.test.stack, record.test.rails, record.test.policy or "")
    return Group(*cell, problem, unit, record.no_measurement)


def _rate(record: Record, nodes: int) -> tuple[float, str] | None:
    """Return what a sound run computed per second on all nodes, with its unit; None if it failed or was not run."""
    if record.found.state not in _SOUND or not record.found.curves:
        return None
    curve = record.found.curves[0]
    if curve.metric == A_NODE:
        return curve.values[0] * nodes, curve.unit
    # If only a time is measured (WRF, MILC), a run is one problem, and its rate is problems per second.
    return (1 / curve.values[0], "1/s") if curve.unit == "s" else (curve.values[0], curve.unit)


def _put_together(
    found: Mapping[Group, _Values], alone: Mapping[tuple[str, str, str, str | None], _Values]
) -> dict[Group, Sweep]:
    made: dict[Group, Sweep] = {}
    merged: dict[Group, _Values] = {}
    for group, values in found.items():
        # a failed point has no unit: it belongs to the sweep of the same cell with a unit
        same = next((each for each in found if each.unit and _cell(each) == _cell(group)), group)
        into = merged.setdefault(same, _Values())
        into.failed |= values.failed
        for nodes, rates in values.rates.items():
            into.rates.setdefault(nodes, []).extend(rates)
    for group, values in merged.items():
        first = alone.get((group.system, group.stack, group.benchmark, group.no_measurement), _Values())
        medians = {nodes: statistics.median(each) for nodes, each in (first.rates | values.rates).items()}
        if len(medians) > 1:
            made[group] = sweep(medians, _kind(group.benchmark), meant=(*medians, *first.failed, *values.failed))
    return made


def _kind(problem: str) -> Kind:
    """Return whether the problem grows with the nodes, or is the same on any number of nodes."""
    return "weak" if problem in BENCHMARKS and BENCHMARKS[problem].grows else "strong"


def _cell(group: Group) -> tuple[object, ...]:
    return (group.system, group.fabric, group.stack, group.rails, group.policy, group.benchmark, group.no_measurement)


def text(found: Mapping[Group, Sweep]) -> str:
    """Return the sweeps as lines: a title, one row per number of nodes, and the sentence on the sweep."""
    lines: list[str] = []
    for group, made in found.items():
        lines += [group.title, f"  {'nodes':>5}  {group.unit:>12}  {'speed-up':>8}  {'of linear':>9}  serial fraction"]
        for point in made.points:
            fraction = "" if point.serial_fraction is None else f"{point.serial_fraction:.3f}"
            row = f"{point.nodes:>5}  {number(point.rate):>12}  {point.speedup:>8.2f}  {percent(point.efficiency):>9}"
            lines.append(f"  {row}  {fraction}".rstrip())
        lines += [f"  {made.sentence}", *([f"  {group.no_measurement}"] if group.no_measurement else []), ""]
    return "\n".join(lines)


def as_json(found: Mapping[Group, Sweep]) -> list[dict[str, object]]:
    """Return the sweeps as JSON values: the cell, the points, and their sentence."""
    return [
        {
            **{name: getattr(group, name) for name in group.__dataclass_fields__},
            "kind": made.kind,
            "points": [{name: getattr(point, name) for name in point.__dataclass_fields__} for point in made.points],
            "missing": list(made.missing),
            "breaks_at": made.breaks_at,
            "sentence": made.sentence,
        }
        for group, made in found.items()
    ]
