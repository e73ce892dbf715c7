"""Finds message sizes that a check measures and no reference bounds: there, a run passes with any value."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from railyard.base.finding import Finding, problem, remark
from railyard.base.wording import count_of, listing, message_size, size_ranges
from railyard.benchmarks.model import BANDWIDTH, Benchmark, Metric, deciding_sizes, rate_sizes
from railyard.benchmarks.table.micro import BENCHMARKS, tool
from railyard.hardware.day_one import class_of
from railyard.hardware.links import Link
from railyard.site.matrix import Cell, Need, asked_for
from railyard.site.references.load import References
from railyard.site.sizes import QUICK_SIZES, doubled, largest_allowed, sizes_within
from railyard.site.test_id import TestId


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
    of_check = {need.check: need for need in asked_for(system, tuple(needs))}
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
