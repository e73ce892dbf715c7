"""Whether one measured curve has the shape that a relation demands: a peak, a fall or a dip. More is better in each."""

from collections.abc import Callable, Mapping

from railyard.base.wording import message_size, number
from railyard.benchmarks.curve import Curve
from railyard.site.references.model import Relation
from railyard.site.references.relation_state import RelationState as State

#: The error of a share computed from two values: a value that is 10 % lower comes out as 9.999999999999998 % lower.
_ROUNDING = 1e-9


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
