"""What each fabric of a system gives for its price, in MB/s and us, from a run's records or from the references."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from railyard.benchmarks.model import BANDWIDTH, LATENCY
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.results.record.form import Record
from railyard.results.run_folder import CostRecord
from railyard.site.references.load import References
from railyard.site.references.model import BAD_CASE
from railyard.site.systems.fields import ANY
from railyard.site.systems.model import System
from railyard.site.test_id import TestId

#: The known figures at each place: the metric and both ends of its figure, which are equal if no range is printed.
_Figure = tuple[str, tuple[float, float]]
_Figures = Mapping[TestId, Sequence[_Figure]]


def costs_of_run(system: System, records: Iterable[Record]) -> tuple[CostRecord, ...]:
    """Return the fabrics that have a price, with what a run measured over them, cheapest first; () if none has one."""
    found: dict[TestId, list[_Figure]] = {}
    for record in records:
        if record.where.system != system.system or record.found.state not in ("pass", "report-only"):
            continue
        for curve in record.found.curves:
            if _counts(record.test.benchmark, curve.metric):
                known = [value for at, value in zip(curve.sizes, curve.values, strict=True) if at not in curve.computed]
                if not known:  # a replay's, which no source printed
                    continue
                best = max(known) if curve.metric == BANDWIDTH else min(known)
                found.setdefault(TestId(record.where.fabric, record.test.stack, record.test.rails), []).append(
                    (curve.metric, (best, best))
                )
    return _costs(system, found)


def costs_of_references(references: References) -> tuple[CostRecord, ...]:
    """Return the fabrics that have a price, with their references' figures, cheapest first; () if none has one."""
    found: dict[TestId, list[_Figure]] = {}
    for entry in references.entries:
        if entry.kind == BAD_CASE or not any(_counts(name, entry.metric) for name in entry.benchmark):
            continue
        given = [(value, value) for value in (entry.curve or {}).values()]
        given += [(entry.value, entry.value)] if isinstance(entry.value, float) else []
        given += [entry.ends] if entry.ends is not None else []
        if not given:
            continue
        best = max(given) if entry.metric == BANDWIDTH else min(given)
        for stack in entry.stack:
            for rails in entry.rails or (1,):
                found.setdefault(TestId(entry.fabric, stack, rails), []).append((entry.metric, best))
    return _costs(references.system, _with_any(found))


def _counts(benchmark: str, metric: str) -> bool:
    """Return whether a figure is a bandwidth one way, or half a round trip between two ranks."""
    known = BENCHMARKS.get(benchmark)
    if known is None:
        return False
    if metric == LATENCY:
        return known.pingpong
    return metric == BANDWIDTH and any(each.name == BANDWIDTH and each.directions == 1 for each in known.metrics)


def _with_any(found: Mapping[TestId, list[_Figure]]) -> _Figures:
    """Return the figures with those for any stack added to each stack of that fabric and number of rails."""
    stacks = {place for place in found if place.stack != ANY}
    merged = {place: list(figures) for place, figures in found.items()}
    for any_stack, figures in found.items():
        if any_stack.stack != ANY:
            continue
        named = [place for place in stacks if replace(place, stack=ANY) == any_stack]
        for place in named:
            merged[place] += figures
        if named:
            del merged[any_stack]
    return merged


def _costs(system: System, found: _Figures) -> tuple[CostRecord, ...]:
    rows = []
    for place, figures in found.items():
        bandwidths = [low for metric, (low, _) in figures if metric == BANDWIDTH]
        quickest = min((ends for metric, ends in figures if metric == LATENCY), default=None)
        for price in system.prices:
            if place.fabric in price.fabric and price.rails == place.rails:
                rows.append(
                    CostRecord(
                        fabric=place.fabric,
                        stack=place.stack,
                        rails=place.rails,
                        currency=price.currency,
                        date=price.date.isoformat(),
                        price_low=price.low,
                        price_high=price.high,
                        bound=price.bound,
                        nodes_from=price.nodes.first,
                        nodes_to=price.nodes.last,
                        bandwidth_mb_s=max(bandwidths, default=None),
                        latency_us=None if quickest is None else quickest[0],
                        latency_high_us=None if quickest is None or quickest[0] == quickest[1] else quickest[1],
                    )
                )
    return tuple(sorted(rows, key=lambda row: (row.price, row.fabric, row.stack)))


def best_for(costs: Sequence[CostRecord], nodes: int) -> tuple[CostRecord, ...]:
    """Return what is worth its money at this size of cluster: nothing as cheap has more bandwidth and less latency.

    Prices in several currencies cannot be compared, so then all rows are returned.
    """
    there = [row for row in costs if (row.nodes_from or 1) <= nodes and (row.nodes_to is None or nodes <= row.nodes_to)]
    return tuple(row for row in there if not any(_beats(other, row) for other in there if other is not row))


def _beats(one: CostRecord, other: CostRecord) -> bool:
    if one.currency != other.currency or one.price > other.price:
        return False
    mine, theirs = _merits(one), _merits(other)
    if not all(a >= b for a, b in zip(mine, theirs, strict=True)):
        return False
    return mine != theirs or one.price < other.price


def _merits(row: CostRecord) -> tuple[float, float]:
    """Return bandwidth and the inverse of latency (the middle of a range); what was not measured is worth nothing."""
    return row.bandwidth_mb_s or 0.0, 1 / row.latency_middle_us if row.latency_middle_us else 0.0
