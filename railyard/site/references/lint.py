"""Finds what a site's references lack or contradict and loading accepts: remarks, and problems (exit code 1).

A gap is where a check measures message sizes that no reference bounds: there, a run passes with any value.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import chain, product

from railyard.base.errors import Finding, problem, remark
from railyard.base.wording import count_of, listing, message_size, size_ranges
from railyard.benchmarks.model import BANDWIDTH, Benchmark, Curve, Metric, deciding_sizes, rate_sizes
from railyard.benchmarks.table.micro import BENCHMARKS, fills_link, tool
from railyard.hardware.day_one import class_of
from railyard.hardware.limits import class_floors
from railyard.hardware.links import Link
from railyard.site import conditions
from railyard.site.matrix import Cell, Need, matrix, requested_needs
from railyard.site.references.checks import metric_of, sides
from railyard.site.references.load import References
from railyard.site.references.model import BAD_CASE, Entry, Relation, Side, is_for
from railyard.site.references.relation_forms import MeasuredSide, compare
from railyard.site.systems.fields import ANY
from railyard.site.systems.measure import QUICK_SIZES, doubled, largest_allowed, sizes_within
from railyard.site.systems.model import System
from railyard.site.test_id import TestId

#: For how many days a failure may be expected, at most. If a repair takes longer, somebody looks at it once a year.
LONGEST_EXPECTED_DAYS = 366


def findings(
    references: References, needs: Sequence[Need], today: date, built: System | None = None
) -> tuple[Finding, ...]:
    """Return the findings about one system's references, problems first; ``needs`` are the checks of the site.

    A problem contradicts itself or physics, a remark is a gap. ``built`` is the system with what Spack builds on
    request: references are for its tests too.
    """
    system = references.system
    both = [references, *([replace(references, system=built)] if built not in (None, system) else [])]
    all_cells = [matrix(each.system, tuple(needs), each.has_number) for each in both]
    running = [[cell for cell in some if cell.reason is None] for some in all_cells]
    cells = list(dict.fromkeys(chain.from_iterable(running)))
    asked = [one for each, some in zip(both, running, strict=True) for one in asked_sizes(each, some, needs)]
    problems = [
        *_above_limit(references),
        *_find_contradicted(references),
        *_future_sources(references, today),
        *_without_an_end(references, today),
        *_unreadable(references),
    ]
    remarks = [
        *_find_unused(references, cells),
        *_find_uncovered(references, cells),
        *_find_expired(references, today),
        *_unbounded_gpus(references),
    ]
    found = (
        *(problem(system.system, sentence) for sentence in problems),
        *(remark(system.system, sentence) for sentence in remarks),
        *gaps(references, asked),
        *never_judged(references, list(chain.from_iterable(all_cells))),
    )
    return tuple(sorted(found, key=lambda one: one.weight))


def _unbounded_gpus(references: References) -> Iterator[str]:
    """Yield what a system does not state about its GPUs: without it, no busbw in a node or over a NIC is impossible."""
    gpus = references.system.gpus
    if gpus is None:
        return
    if gpus.link is None and gpus.per_node > 1:
        yield "gpus: none of nvlink, xgmi and slot is stated, so nothing bounds what the GPUs of a node exchange"
    without = [gpu for gpu in range(gpus.per_node) if not any(gpu in near for near in gpus.nearest.values())]
    if gpus.nearest and without:
        names = listing([f"GPU {gpu}" for gpu in without])
        yield f"gpus.nearest: no NIC is nearest to {names}"


def _above_limit(references: References) -> Iterator[str]:
    """Yield published figures above the limit of their link. Loading accepts them if they have a note."""
    for entry in references.entries:
        within = all(BENCHMARKS[key].within_node for key in entry.benchmark)
        if entry.metric != "bandwidth" or entry.kind == BAD_CASE or within:
            continue
        fabric, rails = references.system.fabrics[entry.fabric], min(entry.rails, default=1)
        limit = fabric.limit(rails, entry.directions, policy=entry.policy[0])
        # A limit may hold only from a size on: a shaper's bucket lets shorter messages pass faster.
        held = [] if limit is None else [v for size, v in (entry.curve or {}).items() if size >= limit.from_bytes]
        given = [*held, *(a for a in (entry.value, entry.floor) if isinstance(a, float)), *(entry.ends or ())]
        above = [value for value in given if limit is not None and value > limit.value_mb_s]
        if limit is not None and above:
            yield (
                f"{entry.id}: {max(above):g} MB/s is above the physical limit, {limit.value_mb_s:.1f} MB/s "
                f"({limit.terms}): rule 3 fails every run that reaches it"
            )


def _find_contradicted(references: References) -> Iterator[str]:
    """Yield relations that the entries' own figures break."""
    for relation in references.relations:
        if relation.form == "spread":
            continue
        both = sides(relation, references.entries)
        if relation.form == "crossover" or len(both) < 2:  # figures at one end say nothing about the other end
            continue
        found = [[_of_entries(side, references.entries, relation, end) for end in (0, 1)] for side in both]
        broken = [_describe_broken(relation, known) for known in product(*found)]
        # Any figure within a range may be the true one, so the relation is only broken if it is broken at each end.
        if all(broken):
            yield f"{relation.id}: the entries' own figures break it: {broken[0]}"


def _describe_broken(relation: Relation, known: Sequence[MeasuredSide | None]) -> str:
    """Return how these figures break a relation; empty if they do not, or not all are known at one message size."""
    measured = [each for each in known if each is not None]
    if len(measured) < len(known) or not set.intersection(*(set(each.curve.sizes) for each in measured)):
        return ""
    state, sentence = compare(relation, measured)
    return sentence if state == "fail" else ""


def _of_entries(side: Side, entries: Sequence[Entry], relation: Relation, end: int) -> MeasuredSide | None:
    """Return the figures that the entries give for a side, a value at both of its sizes; None if no entry does.

    ``end`` says which end of a range is taken: 0 the low one, 1 the high one.
    """
    points: dict[int, float] = {}
    for entry in entries:
        policy = "single" if side.policy == ANY else side.policy
        stack = side.stack or (entry.stack[0] if len(entry.stack) == 1 else ANY)
        if not entry.matches(TestId(side.fabric, stack, side.rails, side.benchmark, policy=policy), metric_of(side)):
            continue
        points |= entry.curve or {}
        value = entry.value if entry.ends is None else entry.ends[end]
        if isinstance(value, float):
            points |= {size: value for size in (entry.sizes.first, entry.sizes.last) if size is not None}
    kept = {size: value for size, value in points.items() if relation.sizes.covers(size)}
    if not kept:
        return None
    sizes = tuple(sorted(kept))
    metric = metric_of(side)
    unit = next(each.unit for each in BENCHMARKS[side.benchmark].metrics if each.name == metric)
    curve = Curve(metric, unit, sizes, tuple(kept[size] for size in sizes))
    return MeasuredSide(side.words, curve, (curve,))


def _find_unused(references: References, cells: Sequence[Cell]) -> Iterator[str]:
    unused = [entry for entry in references.entries if entry.kind != BAD_CASE and not _is_used(entry, cells)]
    for entry in unused:
        yield f"{entry.id}: no check that runs here measures {listing(entry.benchmark)} {_place_words(entry)}"


def _is_used(entry: Entry, cells: Sequence[Cell]) -> bool:
    """Return whether an entry is for one of these cells, with any rail policy."""
    any_policy = entry.model_copy(update={"policy": (ANY,)})
    return any(is_for(any_policy, cell.test) for cell in cells)


def _place_words(entry: Entry) -> str:
    rails = (
        "" if not entry.rails else f", {listing(list(map(str, entry.rails)))} rail{'' if entry.rails == (1,) else 's'}"
    )
    stack = "" if ANY in entry.stack else f", {listing(entry.stack)}"
    return f"over {entry.fabric}{rails}{stack}"


def _find_uncovered(references: References, cells: Sequence[Cell]) -> Iterator[str]:
    """Yield, for each check, the cells that run and have no entry for its first metric."""
    if references.system.report_only is not None:
        return
    lacking: dict[str, list[str]] = {}
    for cell in cells:
        test = cell.test
        if BENCHMARKS[test.benchmark].reported is not None:  # it needs none
            continue
        metric = BENCHMARKS[test.benchmark].metrics[0]
        link = references.system.fabrics[test.fabric].link
        streaming = metric.name == "bandwidth" and fills_link(BENCHMARKS[test.benchmark], metric)
        held = any(
            metric.name == entry.metric
            and entry.kind != BAD_CASE
            and entry.upper_limit is None
            and _is_used(entry, [cell])
            for entry in references.entries
        )
        if not held and not (streaming and class_floors(link, metric.directions, streaming)):
            by = f" by {test.policy}" if cell.named else ""
            where = f"{test.fabric} with {test.stack} over {count_of(test.rails, 'rail')}{by}"
            lacking.setdefault(test.benchmark, []).append(where)
    for benchmark, places in lacking.items():
        yield f"{benchmark}: no entry on {listing(places)}"


def _future_sources(references: References, today: date) -> Iterator[str]:
    """Yield sources that are dated after today. One day is allowed for time zones."""
    stated = [(each.id, each.source.date) for each in references.entries]
    stated += [(each.id, each.source.date) for each in references.relations]
    stated += [(each.id, each.source.date) for each in references.facts]
    for name, dated in stated:
        if dated > today + timedelta(days=1):
            yield f"{name}: its source is dated {dated.isoformat()}, after today: correct the date"


def _unreadable(references: References) -> Iterator[str]:
    """Yield conditions of sources that cannot be compared with a node's facts, each once."""
    stated: dict[tuple[str, str], list[str]] = {}
    sources = [(each.id, each.source) for each in references.entries]
    sources += [(each.id, each.source) for each in references.relations]
    sources += [(each.id, each.source) for each in references.facts]
    for owner, source in sources:
        for name, text in source.conditions.items():
            stated.setdefault((name, text), []).append(owner)
    for (name, text), where in stated.items():
        why = conditions.why_unreadable(name, text)
        if why is not None:
            more = f" and {count_of(len(where) - 1, 'other')}" if len(where) > 1 else ""
            yield f"{where[0]}{more}: source.conditions: {why}"


def _without_an_end(references: References, today: date) -> Iterator[str]:
    """Yield failures that are expected for so long that nobody would look at them again."""
    for failure in references.expected_failures:
        if failure.expires > today + timedelta(days=LONGEST_EXPECTED_DAYS):
            what = f"{listing(failure.benchmark)} over {failure.fabric} ({failure.reason})"
            yield (
                f"expected failure of {what}: it expires on {failure.expires.isoformat()}, more than "
                f"{LONGEST_EXPECTED_DAYS} days from now: choose an earlier day, and look again on that day"
            )


def _find_expired(references: References, today: date) -> Iterator[str]:
    """Yield expected failures that have expired."""
    for failure in references.expected_failures:
        if failure.expires < today:
            what = f"{listing(failure.benchmark)} over {failure.fabric} ({failure.reason})"
            yield f"expected failure of {what}: it expired on {failure.expires.isoformat()}, so remove it"


def never_judged(references: References, cells: Sequence[Cell]) -> Iterator[Finding]:
    """Yield a finding for each relation with a side that no test of the system can give; ``cells`` are all tests.

    A test that the site, or a missing reference, switches off never runs. If no check at all measures the side's
    benchmark, the finding is a remark, since the check may be in another folder.
    """
    if not references.relations and not references.claims:
        return
    where = references.system.system
    lost: set[str] = set()
    for relation in references.relations:
        without = next((side for side in sides(relation, references.entries) if not _is_given(cells, side)), None)
        if without is None:
            continue
        lost.add(relation.id)
        if all(cell.test.benchmark != without.benchmark for cell in cells):
            yield remark(where, f"{relation.id}: no check here measures {without.benchmark}")
            continue
        why = next((cell.reason for cell in cells if _is_of(cell, without)), "no test has such a place and policy")
        yield problem(
            where, f"{relation.id}: it can never be judged, since no test gives its side {without.words}: {why}"
        )
    yield from _claims(references, cells, lost)


def _claims(references: References, cells: Sequence[Cell], lost: set[str]) -> Iterator[Finding]:
    """Yield a problem for each claim that only such relations hold, or entries for which the same is true."""
    runs = [cell.test for cell in cells if cell.reason is None]
    for entry in references.entries:
        any_policy = entry.model_copy(update={"policy": (ANY,)})
        if not any(is_for(any_policy, test) for test in runs):
            lost.add(entry.id)
    for claim in references.claims:
        if claim.held_by and all(name in lost for name in claim.held_by):
            held = ", ".join(claim.held_by)
            sentence = (
                f'the claim "{claim.says}": {held} can never be judged, so nothing holds the claim: say why in not_held'
            )
            yield problem(references.system.system, sentence)


def _is_given(cells: Sequence[Cell], side: Side) -> bool:
    return any(cell.reason is None for cell in cells if _is_of(cell, side))


def _is_of(cell: Cell, side: Side) -> bool:
    test = cell.test
    return (
        (test.fabric, test.rails, test.benchmark) == (side.fabric, side.rails, side.benchmark)
        and side.stack in (None, test.stack)
        and side.policy in (ANY, test.policy)
    )


@dataclass(frozen=True, slots=True)
class MeasuredSizes:
    """The sizes, in bytes, that a test measures; ``bounds``: size with a bound on its first metric, and whose it is."""

    test: TestId
    metric: str
    measured: tuple[int, ...]
    bounds: dict[int, str]

    @property
    def open(self) -> tuple[int, ...]:
        """The sizes without a bound."""
        return tuple(size for size in self.measured if size not in self.bounds)


def asked_sizes(references: References, cells: Iterable[Cell], needs: Sequence[Need]) -> Iterator[MeasuredSizes]:
    """Yield for each test at which message sizes the references bound it; nothing for a report-only system."""
    system = references.system
    if system.report_only is not None:
        return
    of_check = {need.check: need for need in requested_needs(system, tuple(needs))}
    for cell in cells:
        test, benchmark, need = cell.test, BENCHMARKS[cell.test.benchmark], of_check[cell.test.check]
        metric = benchmark.metrics[0]
        if benchmark.rows != "sizes" or metric.shape == "figure":
            continue
        limit = system.fabrics[test.fabric].limit(test.rails, metric.directions, policy=test.policy)
        hops = references.by_hops(test)
        bands = references.bands(test, metric, limit.value_mb_s if limit else None, hops=hops[0] if hops else None)
        largest = largest_allowed(need.largest, system.measure, need.nodes, test.rails)
        tools = doubled(need.smallest, largest) if tool(need.tool).doubles else ()
        own = tools or sizes_within(need.smallest, largest, QUICK_SIZES)
        # A curve must be measured at each of its sizes.
        measured = tuple(sorted({*own, *(size for band in bands for size in band.required_sizes)}))
        bounds = {size: band.entry_id for size in measured for band in bands if band.covers(size)}
        yield MeasuredSizes(test, metric.name, measured, bounds)


def has_day_one_band(benchmark: Benchmark, metric: Metric, link: Link) -> bool:
    """Return whether the class of a link bounds a metric at each size that no reference bounds."""
    if not benchmark.of_link or benchmark.within_node or benchmark.every_gpu:
        return False
    if isinstance(class_of(link, "device" if benchmark.in_gpu else "host", benchmark.over_tcp), str):
        return False
    if metric.shape in ("stream", "one-of-two"):
        return metric.name == BANDWIDTH
    return benchmark.pattern is not None if metric.shape == "collective" else benchmark.one_turn is not None


def gaps(references: References, asked: Sequence[MeasuredSizes]) -> Iterator[Finding]:
    """Yield a finding for each metric and range of sizes without a bound, in tests that have a bound at other sizes.

    Short messages may be left to latency's references: that is a remark, or nothing if the file's ``unbounded`` has
    these sizes. A bandwidth without a bound for large messages is not judged where it matters, so that is a problem,
    whatever the file says. So is a latency without a bound for the smallest ones, and a collective's time without one
    for the largest, unless the file says why, or the link's class bounds them. A replayed system has the sizes that its
    source printed, and nobody can add any. The last findings are about wrong statements in ``unbounded``.
    """
    system = references.system
    lost: dict[tuple[str, str], list[TestId]] = {}
    unsaid: dict[tuple[str, str], list[TestId]] = {}
    for one in asked:
        if not one.bounds or not one.open:
            continue
        above = one.metric == BANDWIDTH and one.open[-1] > min(one.bounds)
        if (above or _decides(references, one)) and system.provider != "replay":
            lost.setdefault((one.metric, size_ranges(one.open, one.measured)), []).append(one.test)
            continue
        said = [each.sizes for each in references.unbounded if each.covers(one.test)]
        left = [size for size in one.open if not any(sizes.covers(size) for sizes in said)]
        if left:
            unsaid.setdefault((one.metric, size_ranges(left, one.measured)), []).append(one.test)
    for (metric, ranges), tests in lost.items():
        yield problem(system.system, f"no reference bounds the {metric} at {ranges} of {_words(tests)}")
    for (metric, ranges), tests in unsaid.items():
        what = f"no reference bounds the {metric} at {ranges} of {_words(tests)}"
        yield remark(system.system, f"{what}: bound them, or say in unbounded why not")
    yield from _untrue(references, asked)


def _decides(references: References, one: MeasuredSizes) -> bool:
    """Return whether a metric has no bound at sizes that decide about it: then no run passes.

    Of a bandwidth, all that show the link's rate; of a time, a collective's largest size, else the smallest, unless the
    file says why.
    """
    benchmark = BENCHMARKS[one.test.benchmark]
    metric, link = benchmark.metrics[0], references.system.fabrics[one.test.fabric].link
    if has_day_one_band(benchmark, metric, link):
        return False
    if metric.is_bandwidth:
        return any(size in one.open for size in rate_sizes(one.measured))
    deciding = deciding_sizes(one.measured, metric.shape == "collective")
    said = any(each.covers(one.test) and each.sizes.covers(deciding[0]) for each in references.unbounded)
    return not said and not any(size in one.bounds for size in deciding)


def _words(tests: Sequence[TestId]) -> str:
    counts: dict[str, int] = {}
    for test in dict.fromkeys(tests):  # as installed and as Spack builds it
        counts[test.benchmark] = counts.get(test.benchmark, 0) + 1
    return listing([f"{benchmark} ({count_of(count, 'test')})" for benchmark, count in counts.items()])


def _untrue(references: References, asked: Sequence[MeasuredSizes]) -> Iterator[Finding]:
    """Yield a finding for each entry of ``unbounded`` whose sizes have a bound, or are not measured."""
    where = references.system.system
    for index, said in enumerate(references.unbounded):
        of = f"unbounded[{index}]"
        mine = [one for one in asked if said.covers(one.test)]
        bounded = next(((one, size) for one in mine for size in one.bounds if said.sizes.covers(size)), None)
        if bounded is not None:
            one, size = bounded
            test = f"{one.test.benchmark} over {one.test.fabric} with {one.test.stack}"
            yield remark(
                where, f"{of}: {one.bounds[size]} bounds {test} at {message_size(size)}: leave that size out of it"
            )
        elif not any(said.sizes.covers(size) for one in mine if one.bounds for size in one.open):
            yield remark(where, f"{of}: no check that runs here measures {listing(said.benchmark)} there: remove it")
