"""Compares two sides test by test: each key figure's shift and what it means, and at which sizes curves differ.

Between two measurements, the facts of their nodes are compared (``pairing``). A replay has no nodes: the
conditions that its sources state take their place. What is unknown on one side is not compared.

A comparison as text for a terminal, and as JSON values.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from railyard.base.errors import RailyardError
from railyard.base.json_codec import encode
from railyard.base.terminal import fold_words
from railyard.base.wording import count_of, listing, message_size, number
from railyard.benchmarks.model import Better, Figure
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.results import remarks
from railyard.results.pairing import Difference, MatchedTest, Pairing, differences, not_the_fabric_alone, pair
from railyard.results.record.form import CurveRecord, Record
from railyard.results.remarks import CONDITIONS_HEADING, condition_sentences, format_condition, seen_nodes
from railyard.results.shift import (
    CONFIDENCE,
    KIND_WORDS,
    Finding,
    Shift,
    Stretch,
    finding,
    interval_rank,
    shift,
    stretches,
)
from railyard.site import conditions
from railyard.site.conditions import CONDITIONS


@dataclass(frozen=True, slots=True)
class Gate:
    """``regressions``: a sentence each. ``judged`` and ``unjudged``: figures that could, and could not, be compared."""

    percent: float
    regressions: tuple[str, ...]
    judged: int
    unjudged: int

    @property
    def is_pass(self) -> bool:
        """Return whether nothing got worse and something was judged: if no figure could be judged, the gate fails."""
        return not self.regressions and self.judged > 0

    @property
    def sentence(self) -> str:
        """Return the whole as one line."""
        bound = f"{self.percent:g} %"
        held = f"{self.judged} of {self.judged + self.unjudged} figures could be compared with {bound}"
        if self.regressions:
            many = len(self.regressions)
            return f"FAIL: {count_of(many, 'regression')} of {bound} or more; {held}."
        if not self.judged:
            return (
                f"FAIL: no figure could be compared with {bound}: repeats are too few or too far apart; take more runs."
            )
        return f"PASS: no regression of {bound} or more; {held}."


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
        (*differences(used_a, used_b), *find_differences(used_a, used_b)),
        not_the_fabric_alone(used_a, used_b),
        from_references(used_a, used_b),
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
    for metric in dict.fromkeys(curve.metric for record in matched.a for curve in record.found.curves):
        result = _curve(matched, metric, refused)
        curves += [result] if result else []
    idle = [said for side in (("A", matched.a), ("B", matched.b)) if (said := remarks.weak_remark(*side)) is not None]
    repeats = (len(matched.a), len(matched.b))
    return ComparedTest(
        matched.name, repeats, tuple(figures), tuple(curves), tuple(dict.fromkeys(refused)), tuple(idle)
    )


def _same_sizes(matched: MatchedTest, refused: list[str]) -> bool:
    """Return whether all repeats have curves over the same sizes; else their peaks do not mean the same."""
    a, b = ({curve.sizes for record in side for curve in record.found.curves} for side in (matched.a, matched.b))
    if a == b and all(_sizes_of(record) == _sizes_of(matched.a[0]) for record in (*matched.a, *matched.b)):
        return True
    refused.append(
        f"message sizes differ, {_ranges(a)} on A and {_ranges(b)} on B: key figures are not compared, "
        "curves at the sizes that all repeats have"
    )
    return False


def _sizes_of(record: Record) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((curve.metric, curve.sizes) for curve in record.found.curves)


def _ranges(sizes: set[tuple[int, ...]]) -> str:
    told = sorted({(len(each), each[0], each[-1]) for each in sizes if each})
    return " or ".join(f"{count} from {message_size(low)} to {message_size(high)}" for count, low, high in told)


def _figures(matched: MatchedTest, noise: float | None, alike: bool, refused: list[str]) -> list[FigureResult]:
    found = []
    for name in dict.fromkeys(figure.name for record in matched.a for figure in record.found.figures):
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
    return [figure for record in records for figure in record.found.figures if figure.name == name]


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
    return [curve for record in records for curve in record.found.curves if curve.metric == metric and curve.sizes]


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


def find_differences(a: Sequence[Record], b: Sequence[Record]) -> tuple[Difference, ...]:
    """Return the conditions that are known on both sides and not alike, if a side is a replay; else ()."""
    if not any(record.made.replayed is not None for record in (*a, *b)):
        return ()
    ours, theirs = _values(a), _values(b)
    return tuple(
        Difference(f"condition {name}", tuple(ours[name]), tuple(theirs[name]))
        for name in CONDITIONS
        if ours.get(name) and theirs.get(name) and not _may_be_alike(name, ours[name], theirs[name])
    )


def from_references(a: Sequence[Record], b: Sequence[Record]) -> tuple[str, ...]:
    """Return the conditions in which each side's nodes differ from the sources of its references, each once."""
    ours, theirs = condition_sentences(a), condition_sentences(b)
    both = [sentence for sentence in ours if sentence in theirs]
    return (
        *(f"A and B: {sentence}" for sentence in both),
        *(f"A: {sentence}" for sentence in ours if sentence not in both),
        *(f"B: {sentence}" for sentence in theirs if sentence not in both),
    )


def _values(records: Iterable[Record]) -> dict[str, list[str]]:
    """Return the known values of each condition: stated by a replay's sources, or shown by a measurement's nodes."""
    found: dict[str, dict[str, None]] = {}
    for record in records:
        if record.made.replayed is not None:
            for each in record.found.conditions:
                found.setdefault(each.name.replace("_", "-"), {})[format_condition(each.name, each.stated)] = None
            continue
        for seen in seen_nodes(record):
            for name in CONDITIONS:
                found.setdefault(name, {}).update(dict.fromkeys(conditions.shown_values(name, seen)))
    return {name: list(values) for name, values in found.items()}


def _may_be_alike(name: str, a: Sequence[str], b: Sequence[str]) -> bool:
    """Return whether each value of one side may be a value of the other; an unreadable value may be any."""
    condition = CONDITIONS[name]
    ours, theirs = ([conditions.read(name, text) or (text,) for text in side] for side in (a, b))

    def fits(one: Sequence[str], other: Sequence[str]) -> bool:
        return any(condition.alike(mine, its) or condition.alike(its, mine) for mine in one for its in other)

    readable = all(conditions.read(name, text) for text in (*a, *b))
    return not readable or (
        all(any(fits(one, other) for other in theirs) for one in ours)
        and all(any(fits(one, other) for one in ours) for other in theirs)
    )


def gate(comparison: Comparison, percent: float) -> Gate:
    """Return what surely got worse by ``percent`` or more: key figures, and stretches of several sizes of a curve.

    Surely: the end of the interval that is nearer to zero is beyond the bound; over a stretch, the median of these ends
    is. With the estimate alone, every second comparison of 33 noisy tests with themselves would fail.

    A figure counts as judged if a change of that size would have been seen. A figure without a better direction (N½)
    does not count at all.
    """
    found: list[str] = []
    judged = unjudged = 0
    for test in comparison.tests:
        for figure in test.figures:
            if figure.better is None:
                continue
            worse = _is_worse(figure, percent)
            seen = worse or _could_see(figure, percent)
            judged, unjudged = judged + seen, unjudged + (not seen)
            found += [f"{test.name}: {figure.name}: {figure.finding.sentence}"] if worse else []
        found += _worse_stretches(test, percent)
    return Gate(percent, tuple(found), judged, unjudged)


def _is_worse(figure: FigureResult, percent: float) -> bool:
    return figure.finding.kind == "worse" and figure.finding.surely >= percent


def _could_see(figure: FigureResult, percent: float) -> bool:
    """Return whether a change of that size would have left zero outside the interval (or above the stated noise)."""
    return figure.finding.smallest is not None and figure.finding.smallest <= percent


def _worse_stretches(test: ComparedTest, percent: float) -> list[str]:
    found = []
    for curve in test.curves:
        for stretch in curve.stretches:
            worse = curve.better is not None and (stretch.percent > 0) == (curve.better == "lower")
            if worse and stretch.sizes > 1 and stretch.sure >= percent:
                found.append(f"{test.name}: {curve.metric}: {curve.sentence}")
                break
    return found


FORMAT = 1
_SGR = {"better": "32", "worse": "1;31", "different": "33", "none": "2", "cannot-tell": "35"}
_MOST_NAMED = 6
_COMPUTED = "computed, not published"


def text(
    of: Comparison, sides: tuple[str, str], gate: Gate | None = None, *, width: int = 100, colour: bool = False
) -> str:
    """Return the whole comparison; ``sides`` says what A and B are. Folded to ``width``, never cut."""
    parts = [_sides(of, sides, width)]
    parts.append("\n".join(_environment(of, width)))
    parts += ["\n".join(_test_text(test, width, colour)) for test in of.tests]
    parts.append("\n".join(_summary(of, gate, width)))
    return "\n\n".join(parts) + "\n"


def as_json(of: Comparison, sides: tuple[str, str], gate: Gate | None = None) -> dict[str, Any]:
    """Return the comparison as JSON values: ``tests`` with figures and curves, ``environment``, ``regressions``."""
    return {
        "format": FORMAT,
        "a": sides[0],
        "b": sides[1],
        "confidence": CONFIDENCE,
        "contrasts": [{"name": name, "a": a, "b": b} for name, a, b in of.pairing.contrasts],
        "environment": [encode(one) for one in of.environment],
        "attribution": of.attribution,
        "conditions": list(of.conditions),
        "tests": [_test_json(test) for test in of.tests],
        "only_a": list(of.pairing.only_a),
        "only_b": list(of.pairing.only_b),
        "left_out": list(of.pairing.left_out),
        "gate": None if gate is None else {**encode(gate), "passed": gate.is_pass, "sentence": gate.sentence},
    }


def _test_json(test: ComparedTest) -> dict[str, Any]:
    return {
        "name": test.name,
        "repeats": list(test.repeats),
        "figures": [
            {
                **{"name": each.name, "unit": each.unit, "a": each.a, "b": each.b, "better": each.better},
                "computed": list(each.computed),
                **{"shift": each.shift.value, "low": each.shift.low, "high": each.shift.high},
                **{
                    "method": each.shift.method,
                    "smallest": each.shift.smallest,
                    "percent": each.finding.percent,
                    "surely_percent": each.finding.surely,
                },
                **{
                    "smallest_percent": each.finding.smallest,
                    "kind": each.finding.kind,
                    "sentence": each.finding.sentence,
                },
            }
            for each in test.figures
        ],
        "curves": [encode(each) for each in test.curves],
        "refused": list(test.refused),
        "idle": list(test.idle),
    }


def _sides(of: Comparison, sides: tuple[str, str], width: int) -> str:
    lines = [fold_words(f"A: {sides[0]}", width, "   "), fold_words(f"B: {sides[1]}", width, "   ")]
    for name, a, b in of.pairing.contrasts:
        lines.append(fold_words(f"{name}: {a} on A, {b} on B", width, "   "))
    return "\n".join(lines)


def _environment(of: Comparison, width: int) -> Iterator[str]:
    yield "What differed around the tests"
    for one in of.environment:
        yield fold_words(one.words, width, "    ", "  ")
    if not of.environment:
        yield "  nothing recorded"
    if of.attribution:
        yield fold_words(of.attribution, width, "    ", "  ")
    if of.conditions:
        yield CONDITIONS_HEADING
    for sentence in of.conditions:
        yield fold_words(sentence, width, "    ", "  ")


def _test_text(test: ComparedTest, width: int, colour: bool) -> Iterator[str]:
    one, other = test.repeats
    yield fold_words(f"{test.name}: {count_of(one, 'repeat')} on A, {other} on B", width, "  ")
    for figure in test.figures:
        yield fold_words(_figure(figure, colour), width, "    ", "  ")
    for curve in test.curves:
        made = f", {len(curve.computed)} of them {_COMPUTED}" if curve.computed else ""
        yield fold_words(f"{curve.metric} along {len(curve.sizes)} sizes{made}: {curve.sentence}", width, "    ", "  ")
    for reason in test.refused:
        yield fold_words(f"not compared: {reason}", width, "    ", "  ")
    for idle in test.idle:
        yield fold_words(idle, width, "    ", "  ")


def _figure(figure: FigureResult, colour: bool) -> str:
    words = KIND_WORDS[figure.finding.kind]
    shown = f"\x1b[{_SGR[figure.finding.kind]}m{words}\x1b[0m" if colour else words
    a, b = (f" ({_COMPUTED})" if made else "" for made in figure.computed)
    values = f"{number(figure.a)}{a} on A, {number(figure.b)}{b} on B, {figure.unit}"
    # if there is no difference, or the repeats cannot tell, the sentence begins with these words
    told = figure.finding.sentence.removeprefix(words)
    if told != figure.finding.sentence:
        return f"{figure.name}: {values}: {shown}{told}"
    return f"{figure.name}: {values}: {shown}: {told}"


def _summary(of: Comparison, gate: Gate | None, width: int) -> Iterator[str]:
    for words, names in (("only on A", of.pairing.only_a), ("only on B", of.pairing.only_b)):
        if names:
            more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
            yield fold_words(f"{words}, not compared: {listing([*names[:_MOST_NAMED], *more])}", width, "  ")
    for sentence in of.pairing.left_out:
        yield fold_words(sentence, width, "  ")
    yield from (fold_words(f"differs: {words}", width, "  ") for words in _repeat_differences(of))
    if gate is not None:
        for regression in gate.regressions:
            yield fold_words(f"regression: {regression}", width, "  ")
    kinds = [figure.finding.kind for figure in of.figures]
    told = ", ".join(f"{kinds.count(kind)} {words}" for kind, words in KIND_WORDS.items() if kind in kinds)
    tests = count_of(len(of.tests), "test")
    yield fold_words(f"{tests}, {count_of(len(kinds), 'figure')}: {told or 'none alike'}", width, "  ")
    judged = sum(kind != "cannot-tell" for kind in kinds)
    if judged:
        by_chance = judged * (1 - CONFIDENCE)
        yield fold_words(
            f"each has {100 * CONFIDENCE:g} % confidence: about {by_chance:.1f} of {judged} may differ by chance",
            width,
            "  ",
        )
    if gate is not None:
        yield fold_words(gate.sentence, width, "  ")


def _repeat_differences(of: Comparison) -> Iterator[str]:
    """Yield what differs by more than the noise again, since a long comparison is read from its end."""
    for test in of.tests:
        for figure in test.figures:
            if figure.finding.kind not in ("none", "cannot-tell"):
                yield f"{test.name}: {figure.name}: {figure.finding.sentence}"
        for curve in test.curves:
            if curve.stretches:
                yield f"{test.name}: {curve.metric}: {curve.sentence}"
