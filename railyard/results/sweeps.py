"""The sweeps in stored runs: records of one problem on several numbers of nodes, put together, and as text.

They show how an application scales over nodes: speed-up, efficiency, serial fraction, and where efficiency breaks.
In strong scaling, more nodes share the same problem; in weak scaling, each node has the same problem. Speed-up is the
ratio of rates, which for one problem is the ratio of times: S(n) = R(n) n1 / R(n1), if the smallest point is on n1
nodes (n1 is usually 1).
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from railyard.base.wording import count_of, listing, number, percent
from railyard.benchmarks.table.applications import A_NODE, nodes_of_key
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.results.record.form import Record
from railyard.stacks.model import SINGLE

Kind = Literal["strong", "weak"]
#: Below this share of linear, scaling has broken down: by convention, half of the nodes' work is then lost.
BREAKS_BELOW = 0.5


@dataclass(frozen=True, slots=True)
class Point:
    """One number of nodes: the rate there (higher is better), S, S/n, and Karp and Flatt's serial fraction.

    ``serial_fraction`` is None on the smallest number of nodes, in weak scaling, and if no point is on one node.
    """

    nodes: int
    rate: float
    speedup: float
    efficiency: float
    serial_fraction: float | None


@dataclass(frozen=True, slots=True)
class Sweep:
    """All points of a sweep in rising order, and the intended numbers of nodes that have no value."""

    kind: Kind
    points: tuple[Point, ...]
    missing: tuple[int, ...]

    @property
    def breaks_at(self) -> int | None:
        """Return the first number of nodes whose efficiency is below ``BREAKS_BELOW``, None if none is."""
        return next((point.nodes for point in self.points if point.efficiency < BREAKS_BELOW), None)

    @property
    def sentence(self) -> str:
        """The sweep in a sentence: how far it holds, its serial fraction's trend, and the points that were not run."""
        last = self.points[-1]
        said = [f"{percent(last.efficiency)} of linear on {last.nodes} nodes"]
        if self.breaks_at is not None:
            said.append(f"below {percent(BREAKS_BELOW)} from {self.breaks_at} nodes on")
        fractions = [point.serial_fraction for point in self.points if point.serial_fraction is not None]
        if last.speedup < self.points[0].speedup:
            said.append(f"slower than on {self.points[0].nodes}: the nodes lose more between them than they share")
        elif fractions:
            said.append(_fraction_said(fractions))
        if self.missing:
            nodes = listing([str(count) for count in self.missing])
            said.append(f"not run: {nodes} nodes")
        return "; ".join(said)


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


def sweep(rates: Mapping[int, float], kind: Kind = "strong", meant: Sequence[int] = ()) -> Sweep:
    """Return the sweep of rates by number of nodes; ``meant`` are the numbers of nodes that it should have.

    In weak scaling, too, the rate is that of the whole problem (Gflop/s, Mop/s), so linear is the same line.

    Raises ValueError for no rate at all, and for a number of nodes or a rate that is not positive.

    Source: G. M. Amdahl, AFIPS Conf. Proc. 30 (1967) 483-485 (speed-up of a fixed problem); J. L. Gustafson, Comm. ACM
    31 (1988) 532-533 (of one that grows); A. H. Karp and H. P. Flatt, Comm. ACM 33 (1990) 539-543 (serial fraction).
    """
    if not rates:
        raise ValueError("found a sweep without points")
    for nodes, rate in rates.items():
        if nodes < 1 or not rate > 0:
            raise ValueError(f"a rate of {rate} on {nodes} nodes, expected more than 0 on at least 1")
    first = min(rates)
    points = []
    for nodes in sorted(rates):
        speedup = rates[nodes] * first / rates[first]
        told = kind == "strong" and first == 1 and nodes > 1
        fraction = karp_flatt(speedup, nodes) if told else None
        points.append(Point(nodes, rates[nodes], speedup, speedup / nodes, fraction))
    return Sweep(kind, tuple(points), tuple(count for count in sorted(set(meant)) if count not in rates))


def karp_flatt(speedup: float, nodes: int) -> float:
    """Return the serial fraction e = (1/S - 1/n) / (1 - 1/n) that was measured on n nodes, n at least 2.

    If it is level over n, it is work that the nodes cannot share; if it rises with n, it is communication and waiting.
    It is negative if the speed-up is more than linear (caches). Here n counts nodes, not processes.
    """
    if nodes < 2:
        raise ValueError(f"a serial fraction on {nodes} nodes, expected at least 2")
    return (1 / speedup - 1 / nodes) / (1 - 1 / nodes)


def _fraction_said(fractions: Sequence[float]) -> str:
    first, last = fractions[0], fractions[-1]
    if len(fractions) == 1:
        return f"serial fraction {last:.3f}"
    # Single runs cannot show more than this: level within a tenth of its value, or within a thousandth.
    if last - first > max(0.1 * abs(first), 0.001):
        return f"serial fraction {first:.3f} rising to {last:.3f}: communication and waiting, not serial work"
    level = f"{last:.3f} throughout" if f"{first:.3f}" == f"{last:.3f}" else f"{first:.3f} to {last:.3f}, not rising"
    return f"serial fraction {level}: work that the nodes cannot share"
