"""Message sizes that a check measures and that no reference bounds: a run may give anything there, and passes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from railyard.base.wording import counted, listing, size_ranges
from railyard.benchmarks.model import BANDWIDTH
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.site.matrix import Cell, Need, asked_for
from railyard.site.references.load import References
from railyard.site.sizes import QUICK_SIZES, largest_allowed, sizes_within


@dataclass(frozen=True, slots=True)
class Gap:
    """The sizes, in bytes, at which one test's first metric has no bound, of all that it measures, ``measured``.

    ``is_problem``: it is a bandwidth, and some of these sizes lie above one that has a bound.
    """

    cell: Cell
    metric: str
    sizes: tuple[int, ...]
    measured: tuple[int, ...]
    is_problem: bool

    @property
    def ranges(self) -> str:
        """The sizes in words: ``1 B to 256 KiB and 4 MiB``."""
        return size_ranges(self.sizes, self.measured)


def found_gaps(references: References, cells: Sequence[Cell], needs: Sequence[Need]) -> Iterator[Gap]:
    """Yield the gap of each test that has a reference by message sizes, and sizes that none bounds.

    A system that is report-only has none. Short messages may be left to latency's references; a bandwidth whose
    large ones have no bound is not judged where it counts, so that is a problem. A published system, which is replayed,
    has the sizes that its source printed, and nobody can add any.
    """
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
        measured = sizes_within(need.smallest, largest, QUICK_SIZES)
        bounded = [size for size in measured if any(band.bounds(size) for band in bands)]
        if bounded and len(bounded) < len(measured):
            open_sizes = tuple(size for size in measured if size not in bounded)
            above = metric.name == BANDWIDTH and open_sizes[-1] > bounded[0]
            yield Gap(cell, metric.name, open_sizes, measured, above and system.provider != "replay")


def sentences(gaps: Iterable[Gap]) -> Iterator[str]:
    """Yield a sentence for each metric and range of sizes, with the benchmarks, and how many tests have that gap."""
    alike: dict[tuple[str, str], dict[str, int]] = {}
    for gap in gaps:
        counts = alike.setdefault((gap.metric, gap.ranges), {})
        counts[gap.cell.test.benchmark] = counts.get(gap.cell.test.benchmark, 0) + 1
    for (metric, ranges), counts in alike.items():
        tests = listing([f"{benchmark} ({counted(count, 'test')})" for benchmark, count in counts.items()])
        yield f"no reference bounds the {metric} at {ranges} of {tests}"
