"""The forms of a relation: whether two measured curves fulfil it, and a sentence with the worst numbers."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from railyard.base.wording import count_of, message_size, number
from railyard.benchmarks.model import Curve
from railyard.site.references.band import RelationState as State
from railyard.site.references.model import HIGHER_IS_BETTER, Relation

#: The error of a share computed from two values: a value that is 10 % lower comes out as 9.999999999999998 % lower.
_ROUNDING = 1e-9
#: With fewer repeats there is no useful spread.
LEAST_REPEATS = 3
#: One run per side shows no smaller difference: the least tolerance that a capture gives a bandwidth or a rate.
ONE_RUN_SHOWS = 0.02
#: The size at which a curve holds a single figure.
_NO_SIZE = 0


@dataclass(frozen=True, slots=True)
class MeasuredSide:
    """One side: its name in words, the median of its repeats, and these. ``is_printed``: a source's own figures."""

    name: str
    curve: Curve
    repeats: tuple[Curve, ...]
    is_printed: bool = False

    @property
    def has_sizes(self) -> bool:
        """Whether its values are at message sizes. A single figure has no size."""
        return self.curve.sizes != (_NO_SIZE,)


def compare(relation: Relation, measured: list[MeasuredSide]) -> tuple[State, str]:
    """Return whether a relation holds between its measured sides, in the order of ``sides``, and the sentence."""
    if relation.form == "spread":
        return _spread(relation, measured)
    if relation.form in SHAPES:
        return SHAPES[relation.form](relation, measured[0].name, measured[0].curve)
    one, other = measured[:2]
    common = [
        size
        for size in one.curve.sizes
        if relation.sizes.covers(size) and all(size in side.curve.sizes for side in measured[1:])
    ]
    if not common:
        first, *rest = (f"{side.name} has {_range(side.curve)}" for side in measured)
        told = ", ".join((first, *(each.replace(" has ", " ", 1) for each in rest)))
        return "fail", f"the sides have no message size in common{relation.sizes.words}: {told}"
    if relation.than is not None:
        return _excess(relation, measured, common)
    return _FORMS[relation.form](relation, one, other, common)


def _size_words(size: int, *sides: MeasuredSide) -> str:
    """Return the words after a value, such as `` at 4 MiB``; nothing if both sides are single figures."""
    return f" at {message_size(size)}" if any(side.has_sizes for side in sides) else ""


def _worst(before: str, one: MeasuredSide, other: MeasuredSide, size: int) -> str:
    """Return the values at the worst size, after the words about all sizes; for two single figures, only the values."""
    told = _values(one, other, size)
    return f"{before}at worst {told}" if one.has_sizes or other.has_sizes else f": {told}"


def _range(curve: Curve) -> str:
    if len(curve.sizes) == 1:
        return message_size(curve.sizes[0])
    return f"{message_size(curve.sizes[0])} to {message_size(curve.sizes[-1])}"


def _ratio(relation: Relation, one: MeasuredSide, other: MeasuredSide, sizes: list[int]) -> tuple[State, str]:
    there = [size for size in sizes if other.curve.value_at(size)]
    ratios = {_size_words(size, one, other): one.curve.value_at(size) / other.curve.value_at(size) for size in there}
    return _judge_bounds(relation, ratios, "", f"{one.name} is {{}} {other.name}", "{:.3g} times")


def _difference(relation: Relation, one: MeasuredSide, other: MeasuredSide, sizes: list[int]) -> tuple[State, str]:
    apart = {_size_words(size, one, other): _step(one, other, size) for size in sizes}
    return _judge_bounds(relation, apart, one.curve.unit, f"{one.name} less {other.name} is {{}}", "{:.4g}")


def _excess(relation: Relation, measured: Sequence[MeasuredSide], sizes: list[int]) -> tuple[State, str]:
    """Judge by how much the difference of the first two sides exceeds that of the other two."""
    one, other, *step = measured
    excess = {_size_words(size, *measured): _step(one, other, size) - _step(step[0], step[1], size) for size in sizes}
    words = f"{one.name} less {other.name} exceeds {step[0].name} less {step[1].name} by {{}}"
    return _judge_bounds(relation, excess, one.curve.unit, words, "{:.4g}")


def _step(one: MeasuredSide, other: MeasuredSide, size: int) -> float:
    return one.curve.value_at(size) - other.curve.value_at(size)


def _judge_bounds(
    relation: Relation, values: Mapping[str, float], unit: str, template: str, form: str
) -> tuple[State, str]:
    """Return whether every value is within low and high, and the sentence about the worst one (the first if all are).

    The values' keys say where they are (`` at 4 MiB``).
    """
    low, high = relation.low, relation.high
    if not values:
        return "fail", f"{template.format('nothing')}: the other side is 0 at every common size"
    bounds = [f"{word} {bound:g}" for word, bound in (("at least", low), ("at most", high)) if bound is not None]
    asked = " and ".join(bounds) + (f" {unit}" if unit else "")

    def excess(value: float) -> float:
        return max((low - value) if low is not None else 0.0, (value - high) if high is not None else 0.0)

    where = max(values, key=lambda each: excess(values[each]))
    told = f"{form.format(values[where])}{f' {unit}' if unit else ''}"
    sentence = f"{template.format(told)}{where}, expected {asked}"
    return ("fail" if excess(values[where]) > 0 else "pass"), sentence


def _lead(one: MeasuredSide, other: MeasuredSide, size: int) -> float:
    """Return how far the first is ahead at a size, as a fraction: 0.05 is 5 % better (more or less, by metric)."""
    mine, theirs = one.curve.value_at(size), other.curve.value_at(size)
    if one.curve.metric not in HIGHER_IS_BETTER:
        mine, theirs = theirs, mine
    return mine / theirs - 1 if theirs else float("inf")


def _values(one: MeasuredSide, other: MeasuredSide, size: int) -> str:
    unit = one.curve.unit
    mine, theirs = number(one.curve.value_at(size)), number(other.curve.value_at(size))
    return f"{mine} against {theirs} {unit}{_size_words(size, one, other)}"


def _judge_lead(relation: Relation, one: MeasuredSide, other: MeasuredSide, sizes: list[int]) -> tuple[State, str]:
    """Judge who is ahead. Without ``by`` a tie is not a lead, with ``by: 0`` it is enough."""
    least = relation.by or 0.0
    leads = {size: _lead(one, other, size) for size in sizes}
    margin = f" by at least {least:.0%}" if least > 0 else f", or behind by at most {-least:.0%}" if least < 0 else ""
    good = {size for size, lead in leads.items() if (lead > 0 if relation.by is None else lead >= least)}
    if relation.where == "somewhere":
        best = max(leads, key=lambda size: leads[size])
        if best in good:
            return "pass", f"{one.name} is ahead of {other.name}{margin} in places: {_values(one, other, best)}"
        return "fail", f"{one.name} is nowhere ahead of {other.name}{margin}, at best {_values(one, other, best)}"
    worst = min(leads, key=lambda size: leads[size])
    if len(good) == len(leads):
        told = _worst(f" at {count_of(len(sizes), 'size')}, ", one, other, worst)
        return "pass", f"{one.name} is ahead of {other.name}{margin}{told}"
    told = _worst(f" at {len(leads) - len(good)} of {count_of(len(sizes), 'size')}, ", one, other, worst)
    return "fail", f"{one.name} is not ahead of {other.name}{margin}{told}"


def _crossover(relation: Relation, one: MeasuredSide, other: MeasuredSide, sizes: list[int]) -> tuple[State, str]:
    assert relation.between is not None
    first, last = relation.between.first or 0, relation.between.last or 0
    where = f"{message_size(first)} and {message_size(last)}"
    below = [size for size in sizes if size <= first]
    above = [size for size in sizes if size >= last]
    if not below or not above:
        end = "up to " + message_size(first) if not below else "from " + message_size(last)
        return "fail", f"no common size {end}, so the crossing between {where} cannot be seen"
    early = next((size for size in below if _lead(one, other, size) <= 0), None)
    if early is not None:
        return (
            "fail",
            f"{one.name} is not ahead of {other.name} up to {message_size(first)}: {_values(one, other, early)}",
        )
    late = next((size for size in above if _lead(one, other, size) >= 0), None)
    if late is not None:
        return (
            "fail",
            f"{other.name} is not ahead of {one.name} from {message_size(last)} on: {_values(other, one, late)}",
        )
    return "pass", f"{one.name} is ahead up to {message_size(below[-1])}, {other.name} from {message_size(above[0])}"


def _same(relation: Relation, one: MeasuredSide, other: MeasuredSide, sizes: list[int]) -> tuple[State, str]:
    """Judge whether they are the same. The sentence also gives the smallest difference that these repeats can show.

    Less than ``ONE_RUN_SHOWS`` needs repeats, unless both sides are figures that a source printed once.
    """
    within = relation.within or 0.0
    apart = {size: abs(one.curve.value_at(size) / value - 1) for size in sizes if (value := other.curve.value_at(size))}
    if not apart:
        return "fail", f"{other.name} is 0 at every common size"
    worst = max(apart, key=lambda size: apart[size])
    told = f"{_worst(': ', one, other, worst)}, {apart[worst]:.2%} apart"
    counts = [len(each.repeats) for each in (one, other)]
    if min(counts) < LEAST_REPEATS:
        if within < ONE_RUN_SHOWS and not (one.is_printed and other.is_printed):
            why = f"{count_of(min(counts), 'run')} per side cannot show a difference of {within:.2%}"
            return "not-judged", f"not judged: cannot tell: {why}, {LEAST_REPEATS} may (--repeat)"
        seen = f"{count_of(min(counts), 'run')} per side cannot show smaller ones"
    else:
        own = max(_spread_at(each, size) for each in (one, other) for size in apart)
        if own > within:
            why = f"a difference of {within:.2%} cannot be seen in repeats that spread by {own:.2%}"
            return "not-judged", f"not judged: cannot tell: {why}"
        seen = f"differences under {own:.2%}, the spread of the repeats, could not have been seen"
    state: State = "pass" if apart[worst] <= within else "fail"
    verb = "do not differ" if state == "pass" else "differ"
    return state, f"{one.name} and {other.name} {verb} by more than {within:.2%}{told}; {seen}"


def _spread_at(side: MeasuredSide, size: int) -> float:
    values = [curve.value_at(size) for curve in side.repeats]
    middle = statistics.median(values)
    return (max(values) - min(values)) / middle if middle else 0.0


def _spread(relation: Relation, measured: list[MeasuredSide]) -> tuple[State, str]:
    few = next((side for side in measured if len(side.repeats) < LEAST_REPEATS), None)
    if few is not None:
        count = len(few.repeats)
        told = f"{few.name} ran {count_of(count, 'time')}, a spread needs {LEAST_REPEATS} (--repeat)"
        return "not-judged", f"not judged: {told}"
    worst: list[tuple[float, int]] = []
    for side in measured:
        spreads = [(_spread_at(side, size), size) for size in side.curve.sizes if relation.sizes.covers(size)]
        if not spreads:
            return "fail", f"{side.name} has no message size{relation.sizes.words}"
        worst.append(max(spreads))
    one, (own, size) = measured[0], worst[0]
    told = f"{one.name} spreads by {own:.1%} over {len(one.repeats)} runs{_size_words(size, one)}"
    if relation.high is not None and own > relation.high:
        return "fail", f"{told}, more than {relation.high:.1%}"
    if len(measured) > 1 and own <= worst[1][0]:
        return "fail", f"{told}, no more than {measured[1].name} ({worst[1][0]:.1%})"
    asked = f", expected at most {relation.high:.1%}" if relation.high is not None else ""
    return "pass", told + asked + (f", {measured[1].name} by {worst[1][0]:.1%}" if len(measured) > 1 else "")


_Judge = Callable[[Relation, MeasuredSide, MeasuredSide, list[int]], tuple[State, str]]
_FORMS: Mapping[str, _Judge] = {
    "ratio": _ratio,
    "difference": _difference,
    "ahead": _judge_lead,
    "crossover": _crossover,
    "same": _same,
}


def _format_size(curve: Curve, size: int) -> str:
    return f"{number(curve.value_at(size))} {curve.unit} at {message_size(size)}"


def _best_before(curve: Curve, size: int) -> int | None:
    """Return the size of the largest value below a size, the smallest such size; None if there is no smaller size."""
    return max((each for each in curve.sizes if each < size), key=curve.value_at, default=None)


def peak(relation: Relation, name: str, curve: Curve) -> tuple[State, str]:
    """Return whether the largest measured value is at a size within ``between``.

    A curve that ends before that range, or has no value in it, fails: its peak was not seen.
    """
    assert relation.between is not None
    best = max(curve.sizes, key=curve.value_at)
    asked = f"expected a peak{relation.between.words}"
    return (
        "pass" if relation.between.covers(best) else "fail"
    ), f"{name} has its peak, {_format_size(curve, best)}; {asked}"


def fall(relation: Relation, name: str, curve: Curve) -> tuple[State, str]:
    """Return whether every value at ``sizes`` is below the largest at smaller sizes by at least ``by``, a fraction."""
    asked = relation.by or 0.0
    depths = _depths(relation, curve)
    if not depths:
        return "fail", f"{name} has no message size{relation.sizes.words} after another one, where it should fall"
    size = min(depths, key=lambda each: depths[each][0])
    depth, before = depths[size]
    told = f"{_format_size(curve, size)} is {_format_depth(depth)} the {_format_size(curve, before)}"
    state: State = "pass" if depth >= asked - _ROUNDING else "fail"
    verb = "falls" if state == "pass" else "does not fall"
    return state, f"{name} {verb}{relation.sizes.words}: {told}, expected at least {asked:.1%} less"


def dip(relation: Relation, name: str, curve: Curve) -> tuple[State, str]:
    """Return whether one value at ``sizes`` is below the largest before it by at least ``by``, and values recover."""
    asked = relation.by or 0.0
    depths = _depths(relation, curve)
    if not depths:
        return "fail", f"{name} has no message size{relation.sizes.words} after another one, where it should dip"
    size = max(depths, key=lambda each: depths[each][0])
    depth, before = depths[size]
    told = f"{_format_size(curve, size)} is {_format_depth(depth)} the {_format_size(curve, before)}"
    if depth < asked - _ROUNDING:
        return "fail", f"{name} does not dip{relation.sizes.words}: {told}, expected at least {asked:.1%} less"
    if all(curve.value_at(each) < curve.value_at(before) for each in curve.sizes if each > size):
        return "fail", f"{name} falls and does not come back: {told}, and no larger message reaches that value again"
    return "pass", f"{name} dips: {told}, expected at least {asked:.1%} less"


def _depths(relation: Relation, curve: Curve) -> dict[int, tuple[float, int]]:
    """Return for each size within ``sizes``: how far its value is below the largest before it, and that one's size."""
    found = {}
    for size in filter(relation.sizes.covers, curve.sizes):
        before = _best_before(curve, size)
        if before is not None and curve.value_at(before) > 0:
            found[size] = (1 - curve.value_at(size) / curve.value_at(before), before)
    return found


def _format_depth(depth: float) -> str:
    return f"{depth:.1%} below" if depth >= 0 else f"{-depth:.1%} above"


SHAPES: Mapping[str, Callable[[Relation, str, Curve], tuple[State, str]]] = {"peak": peak, "fall": fall, "dip": dip}
