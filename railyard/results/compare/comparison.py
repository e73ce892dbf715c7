"""Compares two sides test by test: each key figure's shift and what it means, and at which sizes curves differ."""

from collections.abc import Sequence
from dataclasses import dataclass

from railyard.base.errors import RailyardError
from railyard.base.wording import message_size
from railyard.benchmarks.figure import Figure
from railyard.benchmarks.model import Better
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.results import idle_rails
from railyard.results.compare import conditions
from railyard.results.compare.finding import Finding, finding
from railyard.results.compare.pairing import MatchedTest, Pairing, pair
from railyard.results.compare.shift import Shift, interval_rank, shift
from railyard.results.compare.size_stretches import Stretch, stretches
from railyard.results.compare.surroundings import Difference, differences, not_the_fabric_alone
from railyard.results.record.form import CurveRecord, Record


@dataclass(frozen=True, slots=True)
class FigureResult:
    """A key figure on both sides. ``better``: which direction is good, None if neither is.

    ``computed``: the sides, of A and B, on which it was computed for a replay and no source printed it.
    """

    name: str
    unit: str
    a: float
    b: float
    shift: Shift
    finding: Finding
    better: Better | None
    computed: tuple[bool, bool] = (False, False)


@dataclass(frozen=True, slots=True)
class CurveResult:
    """A metric's curves on both sides: where they differ, with the sentence; the common ``sizes``, in bytes.

    ``computed`` are the sizes at which a value of either side was computed for a replay and no source printed it.
    """

    metric: str
    unit: str
    sizes: tuple[int, ...]
    stretches: tuple[Stretch, ...]
    sentence: str
    better: Better | None
    computed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparedTest:
    """One test on both sides; ``refused``: what is not alike and so not compared; ``idle``: rails that nothing used."""

    name: str
    repeats: tuple[int, int]
    figures: tuple[FigureResult, ...]
    curves: tuple[CurveResult, ...]
    refused: tuple[str, ...]
    idle: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """The whole comparison of two sides; ``conditions``: those in which nodes differ from their references."""

    pairing: Pairing
    tests: tuple[ComparedTest, ...]
    environment: tuple[Difference, ...]
    attribution: str | None
    conditions: tuple[str, ...] = ()

    @property
    def figures(self) -> tuple[FigureResult, ...]:
        """Return the figures of all tests."""
        return tuple(figure for test in self.tests for figure in test.figures)


def compare(a: Sequence[Record], b: Sequence[Record], noise: float | None = None) -> Comparison:
    """Return how side B differs from side A.

    ``noise``: the variation from run to run as a share, if it is known from elsewhere. It is used if repeats are too
    few to show their own. Raises RailyardError if nothing on the two sides is alike.
    """
    found = pair(a, b)
    tests = tuple(_test(matched, noise) for matched in found.matched)
    if not any(test.figures or test.curves for test in tests):
        reasons = "; ".join(f"{test.name}: {reason}" for test in tests for reason in test.refused)
        raise RailyardError(f"found nothing to compare: {reasons or 'the sides have no figure in common'}")
    used_a = [record for matched in found.matched for record in matched.a]
    used_b = [record for matched in found.matched for record in matched.b]
    return Comparison(
        found,
        tests,
        (*differences(used_a, used_b), *conditions.find_differences(used_a, used_b)),
        not_the_fabric_alone(used_a, used_b),
        conditions.from_references(used_a, used_b),
    )


def better_of(benchmark: str, name: str) -> Better | None:
    """Return which direction of a benchmark's key figure or metric is good; None if neither is, or if it is unknown."""
    if name == "peak":
        return "higher"
    if name.endswith("latency"):
        return "lower"
    known = BENCHMARKS.get(benchmark)
    return next((each.better for each in known.metrics if each.name == name), None) if known else None


def _test(matched: MatchedTest, noise: float | None) -> ComparedTest:
    refused: list[str] = []
    alike = _same_sizes(matched, refused)
    figures = _figures(matched, noise, alike, refused)
    curves = []
    for metric in dict.fromkeys(curve.metric for record in matched.a for curve in record.curves):
        result = _curve(matched, metric, refused)
        curves += [result] if result else []
    idle = [said for side in (("A", matched.a), ("B", matched.b)) if (said := idle_rails.remark(*side)) is not None]
    repeats = (len(matched.a), len(matched.b))
    return ComparedTest(
        matched.name, repeats, tuple(figures), tuple(curves), tuple(dict.fromkeys(refused)), tuple(idle)
    )


def _same_sizes(matched: MatchedTest, refused: list[str]) -> bool:
    """Return whether all repeats have curves over the same sizes; else their peaks do not mean the same."""
    a, b = ({curve.sizes for record in side for curve in record.curves} for side in (matched.a, matched.b))
    if a == b and all(_sizes_of(record) == _sizes_of(matched.a[0]) for record in (*matched.a, *matched.b)):
        return True
    refused.append(
        f"message sizes differ, {_ranges(a)} on A and {_ranges(b)} on B: key figures are not compared, "
        "curves at the sizes that all repeats have"
    )
    return False


def _sizes_of(record: Record) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((curve.metric, curve.sizes) for curve in record.curves)


def _ranges(sizes: set[tuple[int, ...]]) -> str:
    told = sorted({(len(each), each[0], each[-1]) for each in sizes if each})
    return " or ".join(f"{count} from {message_size(low)} to {message_size(high)}" for count, low, high in told)


def _figures(matched: MatchedTest, noise: float | None, alike: bool, refused: list[str]) -> list[FigureResult]:
    found = []
    for name in dict.fromkeys(figure.name for record in matched.a for figure in record.figures):
        a, b = _figures_of_name(matched.a, name), _figures_of_name(matched.b, name)
        if not b or not alike:
            continue
        units = [sorted({figure.unit for figure in side}) for side in (a, b)]
        if units[0] != units[1] or len(units[0]) > 1:
            refused.append(f"{name} is in {' and '.join(units[0])} on A and {' and '.join(units[1])} on B")
            continue
        of = shift([figure.value for figure in a], [figure.value for figure in b])
        better = better_of(matched.benchmark, name)
        unit = units[0][0]
        said = finding(of, unit, better, noise)
        made = (any(figure.computed for figure in a), any(figure.computed for figure in b))
        found.append(FigureResult(name, unit, of.base, _median(b), of, said, better, made))
    return found


def _figures_of_name(records: Sequence[Record], name: str) -> list[Figure]:
    return [figure for record in records for figure in record.figures if figure.name == name]


def _median(figures: Sequence[Figure]) -> float:
    import statistics

    return statistics.median(figure.value for figure in figures)


def _curve(matched: MatchedTest, metric: str, refused: list[str]) -> CurveResult | None:
    a, b = _curves(matched.a, metric), _curves(matched.b, metric)
    if not b:
        return None
    units = [sorted({curve.unit for curve in side}) for side in (a, b)]
    ways = [sorted({curve.directions for curve in side}) for side in (a, b)]
    if units[0] != units[1] or ways[0] != ways[1]:
        refused.append(f"the curve of {metric} is in {_form(units[0], ways[0])} on A, {_form(units[1], ways[1])} on B")
        return None
    common = sorted(set.intersection(*(set(curve.sizes) for curve in (*a, *b))))
    if not common:
        refused.append(f"the curves of {metric} have no message size in common")
        return None
    if len(common) == 1:
        return None  # a benchmark without sizes: its key figure says everything
    values = [[_values_at(curve, common) for curve in side] for side in (a, b)]
    found = stretches(common, *values)
    made = tuple(sorted(set(common) & {size for curve in (*a, *b) for size in curve.computed}))
    better = better_of(matched.benchmark, metric)
    return CurveResult(metric, a[0].unit, tuple(common), found, _describe_stretches(found, *values), better, made)


def _form(units: Sequence[str], ways: Sequence[int]) -> str:
    both = " of both directions" if 2 in ways else " of one direction"
    return " and ".join(units) + both


def _curves(records: Sequence[Record], metric: str) -> list[CurveRecord]:
    return [curve for record in records for curve in record.curves if curve.metric == metric and curve.sizes]


def _values_at(curve: CurveRecord, sizes: Sequence[int]) -> list[float]:
    values = dict(zip(curve.sizes, curve.values, strict=True))
    return [values[size] for size in sizes]


def _describe_stretches(found: Sequence[Stretch], a: list[list[float]], b: list[list[float]]) -> str:
    """Return where the curves differ, in words."""
    if interval_rank(len(a), len(b)) == 0:
        return f"cannot tell: {len(a)} and {len(b)} repeats are too few"
    if not found:
        shown = []
        for one, other in zip(zip(*a, strict=True), zip(*b, strict=True), strict=True):
            of = shift(one, other)
            share = of.percent(of.smallest)
            shown += [share] if share is not None else []
        limits = f"; the smallest visible at a single size is {min(shown):.1f} to {max(shown):.1f} %"
        return f"no difference along the sizes at this noise{limits if shown else ''}"
    return "; ".join(map(_stretch_words, found))


def _stretch_words(of: Stretch) -> str:
    word = "above" if of.percent > 0 else "below"
    where = f"from {message_size(of.first)} to {message_size(of.last)}"
    if of.first == of.last:
        where = f"at {message_size(of.first)}"
    between = f", {abs(of.least):.1f} to {abs(of.most):.1f} %" if of.sizes > 1 else ""
    return f"B is {abs(of.percent):.1f} % {word} A {where} ({of.sizes} sizes{between}; p = {of.p:.3f})"
