"""Is my number right? How a curve of busbw compares with the published numbers of its transport class.

It is compared size by size, with what was measured for the same collective, at the same size, on a similar number of
nodes. It is never compared by its mean: that mixes sizes where start-up sets the time with sizes where links do. If a
vendor or a cloud demands a value (a threshold), the result names it and whose it is, but it decides nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from railyard.base.bounds import CLASS_PEAK_FROM, CLASS_SHARE
from railyard.benchmarks.gpu_collectives import JudgedRow, busbw_bounds, judge_possible
from railyard.benchmarks.gpu_collectives import find_collective as found_collective
from railyard.hardware.gpu_nodes import Shape
from railyard.site.references.transport_class import Number, TransportClass, figures
from railyard.verdict.wording import class_standing as words

State = Literal["below", "within", "above", "impossible", "not-known"]


@dataclass(frozen=True, slots=True)
class SizeStanding:
    """One size of a curve; ``size_bytes`` None: the largest value of all, compared with a peak without a size.

    Values in GB/s (10^9 B/s). ``low`` and ``high``: the published numbers' own range, ``of``: their ids.
    """

    size_bytes: int | None
    value: float
    state: Literal["below", "within", "above"]
    low: float
    high: float
    of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """How a curve compares: the worst of its sizes, in one sentence; ``sources`` of what it was compared with.

    ``unknown``: why each other published number was left out, and sizes without one. ``thresholds``: who demands what,
    and whether the curve reaches it. ``why``: why it is not known.
    """

    state: State
    sentence: str
    sizes: tuple[SizeStanding, ...] = ()
    sources: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    thresholds: tuple[str, ...] = ()
    why: str = ""


def not_known(why: str) -> Standing:
    """Return that a curve cannot be compared, and why."""
    return Standing("not-known", words.not_known(why), why=why)


def standing(
    of: TransportClass,
    collective: str,
    curve: Mapping[int, float],
    nodes: int | None = None,
    algorithm: str | None = None,
) -> Standing:
    """Return how a curve (size in bytes -> busbw in GB/s, 10^9 B/s) compares with the class's numbers.

    ``nodes`` None: not known; then nothing is compared. ``algorithm`` None: the library's own choice. Raises
    RailyardError for an unknown collective, ValueError for an empty curve.
    """
    name = found_collective(collective).name
    if not curve:
        raise ValueError("a curve without a size")
    shape = None if nodes is None else Shape(of.has, nodes)
    if shape is not None and shape.ranks > 1:
        for size, value in curve.items():
            judged = judge_possible(name, shape, JudgedRow(value * 1000, size), algorithm)
            if judged.state == "impossible":
                return Standing("impossible", judged.sentence)
    measured = [each for each in of.of(name) if each.kind != "threshold"]
    reasons = {each.id: _why_not(each, shape, of, algorithm) or _why_no_peak(each, curve) for each in measured}
    unknown = [words.left_out(number_id, why) for number_id, why in reasons.items() if why is not None]
    usable = [each for each in measured if reasons[each.id] is None]
    thresholds = tuple(_threshold(each, curve, shape, of) for each in of.of(name) if each.kind == "threshold")
    sizes = tuple(_sizes(usable, curve))
    if not sizes:
        why = _why_nothing(of, name, usable, unknown)
        return replace(not_known(why), unknown=tuple(unknown), thresholds=thresholds)
    lacking = sorted(set(curve) - {at.size_bytes for at in sizes})
    if lacking:
        unknown.append(words.no_number_at(lacking))
    worst = min(sizes, key=lambda at: at.value / (at.low if at.state == "below" else at.high))
    cited = dict.fromkeys(f"{each.id}: {each.source.cite()}" for each in usable)
    return Standing(worst.state, _sentence(name, worst, sizes, of), sizes, tuple(cited), tuple(unknown), thresholds)


def _why_not(published: Number, shape: Shape | None, of: TransportClass, algorithm: str | None) -> str | None:
    """Return why a curve of this shape cannot be compared with a number that was measured, or None.

    Runs are alike if both have all GPUs in one domain, or both in two, or both in more: trees and alltoall differ on
    two.
    """
    if published.kind == "bad-case":
        return words.bad_case(published.reason or "")
    if published.mean is not None:
        return words.mean_of_sizes()
    if published.nodes is None:
        return words.nodes_of_source_unknown()
    if shape is None:
        return words.nodes_unknown()
    theirs = Shape(of.has, published.nodes)
    if min(theirs.domains, 3) != min(shape.domains, 3):
        return words.other_node_count(published.nodes, shape.nodes)
    if published.algorithm != algorithm:
        return words.other_algorithm(published.algorithm, algorithm)
    return None


def _why_no_peak(published: Number, curve: Mapping[int, float]) -> str | None:
    """Return why a curve cannot be compared with a peak of unknown size: its messages are short; None if it can."""
    longest, best = max(curve), max(curve.values())
    if published.peak is None or longest >= CLASS_PEAK_FROM.value or best >= published.peak * (1 - CLASS_SHARE.value):
        return None
    return words.longer_peak(published.peak, longest)


def _sizes(usable: list[Number], curve: Mapping[int, float]) -> Iterator[SizeStanding]:
    """Give each size that has published numbers; only the peak if no size has one.

    A healthy system with a lower published peak showed no more than that at any size.
    """
    peaks = [(each.id, each.peak) for each in usable if each.peak is not None]
    curves = [(each.id, each.busbw) for each in usable if each.busbw is not None]
    sized = [size for size in sorted(curve) if any(size in busbw for _, busbw in curves)]
    for size in sized:
        found = [(name, busbw[size]) for name, busbw in curves if size in busbw]
        least = min(value for _, value in found)
        yield _standing_at(size, curve[size], [*found, *(each for each in peaks if each[1] < least)])
    if peaks and not sized:
        best = [(name, max(busbw.values())) for name, busbw in curves]
        yield _standing_at(None, max(curve.values()), [*peaks, *best])


def _standing_at(size: int | None, value: float, found: list[tuple[str, float]]) -> SizeStanding:
    low, high = min(each for _, each in found), max(each for _, each in found)
    share = CLASS_SHARE.value
    state: Literal["below", "within", "above"] = "within"
    if value < low * (1 - share):
        state = "below"
    elif value > high * (1 + share):
        state = "above"
    return SizeStanding(size, value, state, low, high, tuple(name for name, _ in found))


def _sentence(name: str, worst: SizeStanding, sizes: tuple[SizeStanding, ...], of: TransportClass) -> str:
    sides: tuple[words.Side, ...] = ("below", "within", "above")
    counts = {side: sum(at.state == side for at in sizes) for side in sides}
    published = words.PublishedRange(worst.low, worst.high, worst.of)
    return words.comparison(worst.state, of.name, name, worst.value, worst.size_bytes, published, counts)


def _why_nothing(of: TransportClass, name: str, usable: list[Number], unknown: list[str]) -> str:
    if not usable and not unknown:
        return words.nothing_published(name, of.name)
    if usable:
        had = sorted({size for each in usable for size in each.busbw or ()})
        return words.published_only_at(of.name, name, had)
    return "; ".join(unknown)


def _threshold(demanded: Number, curve: Mapping[int, float], shape: Shape | None, of: TransportClass) -> str:
    """Return who demands what, whether the curve reaches it, and whether any run can; never a verdict."""
    single = next(value for _, _, value in figures(demanded))
    reached, most = _compare_demand(demanded, curve, shape), _lower_limit(demanded, of)
    return words.say_demanded(
        demanded.whose or "", demanded.busbw or {}, single, demanded.nodes, demanded.id, reached, most
    )


def _compare_demand(demanded: Number, curve: Mapping[int, float], shape: Shape | None) -> str:
    if demanded.mean is not None:
        return words.mean_not_compared()
    if demanded.nodes is None:
        return words.nodes_of_source_not_compared()
    if shape is None or shape.nodes != demanded.nodes:
        return words.other_nodes_not_compared()
    if demanded.peak is not None:
        return words.is_reached(max(curve.values()) >= demanded.peak)
    wanted = {size: value for size, value in (demanded.busbw or {}).items() if size in curve}
    if not wanted:
        return words.other_sizes_not_compared()
    return words.reached_except_at([size for size, value in wanted.items() if curve[size] < value])


def _lower_limit(demanded: Number, of: TransportClass) -> float | None:
    """Return the most that is possible, GB/s, if that is less than what is demanded; else None."""
    if demanded.nodes is None:
        return None
    known = busbw_bounds(demanded.collective, Shape(of.has, demanded.nodes))
    wanted = max(value for _, _, value in figures(demanded))
    beyond = [each.busbw_mb_s / 1000 for each in known]
    return max(beyond) if beyond and all(each.is_broken_by(wanted * 1000) for each in known) else None
