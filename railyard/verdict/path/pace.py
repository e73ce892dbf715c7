"""Whether the printed figures of a run fit the time in which its rails carried its bytes.

An output says how many bytes it moved at each size, and how fast. The counters say when they passed. Both are compared
between a tenth and nine tenths of the bytes, which are messages of the largest sizes: that leaves out the start of the
job, small messages, and its end. An output of another run, a clock that jumps, or a benchmark that counts wrong says
another time than the counters.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

from railyard.base.bounds import PACE_FACTOR, PACE_LEAST
from railyard.benchmarks import metrics
from railyard.benchmarks.model import BANDWIDTH
from railyard.benchmarks.moved_bytes import moved_bytes, pairs_of, repetitions_of
from railyard.benchmarks.table.micro import find, tool
from railyard.parsers.output import Table
from railyard.verdict.wording import path as words

if TYPE_CHECKING:
    from railyard.job.case import Case
    from railyard.job.counters.node import NodeCounters
    from railyard.provision.testbed.rail_traffic import Reading

#: Between these shares of the bytes the times are compared.
_FIRST, _LAST = 0.1, 0.9
#: A library may send both directions at once, or one after the other (MPICH over UCX did so in 4 of 20 windows). So the
#: time of one window is none of another, and with that many untimed ones among them nothing is known.
_FEW_WARM_UPS = 1.5


@dataclass(frozen=True, slots=True)
class PrintedRow:
    """The bytes of one printed row, both ways together, and how long they took by the figure that it prints."""

    moved_bytes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class OtherPace:
    """That figures and counters say different times: the sentence, and whether the figures say the shorter one."""

    sentence: str
    is_too_fast: bool


def printed_rows(case: "Case", tables: Sequence[Table]) -> tuple[PrintedRow, ...]:
    """Return the rows of an output in their order, with warm-ups; none if bytes or rates do not follow from it.

    Bytes over the rate are the time: a ping-pong's rate is of one message at a time, and a rate of both directions
    counts the bytes of both, but that of IMB's PingPing only those of one. A row whose rate is printed as 0 for lack of
    digits is left out. A benchmark that checks what it received does so between its timed messages, so its figures say
    nothing about the whole time.
    """
    benchmark = find(case.benchmark)
    # The trials that are not printed may differ by their nature.
    is_unknown = is_best_of_trials(case.benchmark) and _is_both_ways(case.benchmark)
    if benchmark.traffic is None or is_unknown or benchmark.rows != "sizes" or case.node_pairs != 1 or case.validates:
        return ()
    return tuple(row for table in tables for row in _rows_of(case, table))


def _rows_of(case: "Case", table: Table) -> list[PrintedRow]:
    key = case.benchmark
    counts = repetitions_of(table, case.repetitions)
    rates = {
        size: rate
        for curve in metrics.curves(table, key)
        if curve.metric == BANDWIDTH
        for size, rate in zip(curve.sizes, curve.values, strict=True)
    }
    if counts is None or "size" not in table.columns:
        return []
    warm_up = None if case.repetitions is None else case.repetitions.warm_up
    both_ways = _is_both_ways(key)
    rows = []
    for size, count in zip(table.column("size"), counts, strict=True):
        rate = rates.get(size) if isinstance(size, int) else None
        made = tool(find(key).tool).at_least(count, warm_up, table.version)
        if both_ways and made > _FEW_WARM_UPS * count:
            return []
        moved = moved_bytes(key, size, made, case.window, pairs_of(table, key)) if isinstance(size, int) else None
        if rate and moved is not None:
            both = moved.tx + moved.rx
            rows.append(PrintedRow(both, both * _counted_share(key) / rate / 1e6))
    return rows


def is_best_of_trials(key: str) -> bool:
    """Return whether a benchmark prints the best of several trials, whose others the counters see as well."""
    traffic = find(key).traffic
    return traffic is not None and traffic.trials > 1


def _is_both_ways(key: str) -> bool:
    turn = find(key).turn
    return any(each.directions == 2 for each in find(key).metrics) or (turn is not None and turn.both_ways)


def _counted_share(key: str) -> float:
    """Return which share of the bytes a printed rate counts: half, if two messages pass at once and it counts one."""
    turn = find(key).turn
    return turn.counted / (2 * turn.sends) if turn is not None and turn.both_ways else 1.0


def readings_of_run(
    readings: "Mapping[str, Sequence[Reading]]", counters: "Mapping[str, NodeCounters]", rails: Sequence[str]
) -> "dict[str, list[Reading]]":
    """Return each node's readings from the begin of the run to its end, by its counters of the rails before and after.

    A job may measure each rail alone after the run, so a node's readings may go on. Where its counters are not known,
    all of its readings are returned.
    """
    found = {}
    for node, all_readings in readings.items():
        span = _span_bytes(counters.get(node), rails)
        inside = (each for each in all_readings if span is None or span[0] <= _moved_bytes(each, rails) <= span[1])
        found[node] = list(inside)
    return found


def _span_bytes(counters: "NodeCounters | None", rails: Sequence[str]) -> tuple[int, int] | None:
    """Return what the rails had moved before the run and after it, both ways together; None if not known."""
    devices = [] if counters is None else [one for one in counters.devices if one.device in rails]
    ways = [way for one in devices for way in (one.tx, one.rx)]
    before = [way.before_bytes for way in ways if way.before_bytes is not None]
    after = [way.after_bytes for way in ways if way.after_bytes is not None]
    is_known = len(devices) == len(rails) and len(before) == len(after) == len(ways)
    return (sum(before), sum(after)) if is_known else None


def _moved_bytes(reading: "Reading", rails: Sequence[str]) -> int:
    return sum(reading.moved.get(rail, 0) for rail in rails)


def why_unlike(
    rows: Sequence[PrintedRow], readings: "Mapping[str, Sequence[Reading]]", rails: Sequence[str], nodes: Sequence[str]
) -> OtherPace | None:
    """Return how figures and counters say different times; None if they agree, or nothing is known.

    ``readings`` are those of the nodes by name; the first of the run's ``nodes`` that has some is compared.
    """
    node = next((name for name in nodes if len(readings.get(name, ())) > 1), None)
    if node is None or not rows:
        return None
    ends = list(accumulate((row.seconds for row in rows), initial=0.0))
    printed = _middle_mb_s(ends, list(accumulate((row.moved_bytes for row in rows), initial=0)))
    moved = [_moved_bytes(one, rails) for one in readings[node]]
    counted = _middle_mb_s([one.at_s for one in readings[node]], [each - moved[0] for each in moved])
    if printed is None or counted is None:
        return None
    if 1 / PACE_FACTOR.value <= counted / printed <= PACE_FACTOR.value:
        return None
    return OtherPace(words.other_pace(_LAST - _FIRST, printed, node, counted), printed > counted)


def why_too_long(rows: Sequence[PrintedRow], elapsed_s: float | None) -> OtherPace | None:
    """Return how the printed figures say a longer time than the run took; None if they do not, or if unknown.

    ``elapsed_s``: from before the benchmark's start to after its end, as a node's counter reader saw it.
    """
    printed_s = sum(row.seconds for row in rows)
    if elapsed_s is None or printed_s < PACE_LEAST.value or printed_s <= PACE_FACTOR.value * elapsed_s:
        return None
    return OtherPace(words.longer_than_run(printed_s, elapsed_s), is_too_fast=False)


def _middle_mb_s(times_s: Sequence[float], moved: Sequence[int]) -> float | None:
    """Return the rate from the first to the last share of the bytes, MB/s; None if that took too short a time."""
    if moved[-1] <= 0:
        return None
    first, last = (_time_of_amount(times_s, moved, share * moved[-1]) for share in (_FIRST, _LAST))
    return None if last - first < PACE_LEAST.value else (_LAST - _FIRST) * moved[-1] / (last - first) / 1e6


def _time_of_amount(times_s: Sequence[float], moved: Sequence[int], amount: float) -> float:
    """Return when so many bytes had moved, between two readings in proportion."""
    place = max(1, bisect_left(moved, amount))
    before, after = moved[place - 1], moved[place]
    part = 0.0 if after == before else (amount - before) / (after - before)
    return times_s[place - 1] + part * (times_s[place] - times_s[place - 1])
