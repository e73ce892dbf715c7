"""Is my number right? How a curve of busbw compares with the published numbers of its transport class.

It is compared size by size, with what was measured for the same collective, at the same size, on a similar number of
nodes. It is never compared by its mean: that mixes sizes where start-up sets the time with sizes where links do. If a
vendor or a cloud demands a value (a threshold), the result names it and whose it is, but it decides nothing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from railyard.base.bounds import CLASS_PEAK_FROM, CLASS_SHARE
from railyard.base.wording import count_of, listing, message_size, number, percent
from railyard.benchmarks.gpu.collectives import collective as found_collective
from railyard.benchmarks.gpu.possible import Row, bounds, judge
from railyard.hardware.gpu_nodes import Shape
from railyard.site.references.transport_class import Number, TransportClass, figures

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
    and whether the curve reaches it.
    """

    state: State
    sentence: str
    sizes: tuple[SizeStanding, ...] = ()
    sources: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    thresholds: tuple[str, ...] = ()


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
            judged = judge(name, shape, Row(value * 1000, size), algorithm)
            if judged.state == "impossible":
                return Standing("impossible", judged.sentence)
    measured = [each for each in of.of(name) if each.kind != "threshold"]
    reasons = {each.id: _why_not(each, shape, of, algorithm) or _why_no_peak(each, curve) for each in measured}
    unknown = [f"{number_id}: {why}" for number_id, why in reasons.items() if why is not None]
    usable = [each for each in measured if reasons[each.id] is None]
    thresholds = tuple(_threshold(each, curve, shape, of) for each in of.of(name) if each.kind == "threshold")
    sizes = tuple(_sizes(usable, curve))
    if not sizes:
        why = _why_nothing(of, name, usable, unknown)
        return Standing("not-known", f"not known: {why}", unknown=tuple(unknown), thresholds=thresholds)
    lacking = sorted(set(curve) - {at.size_bytes for at in sizes})
    if lacking:
        unknown.append(f"no published number at {listing([message_size(size) for size in lacking])}")
    worst = min(sizes, key=lambda at: at.value / (at.low if at.state == "below" else at.high))
    cited = dict.fromkeys(f"{each.id}: {each.source.cite()}" for each in usable)
    return Standing(worst.state, _sentence(name, worst, sizes, of), sizes, tuple(cited), tuple(unknown), thresholds)


def _why_not(published: Number, shape: Shape | None, of: TransportClass, algorithm: str | None) -> str | None:
    """Return why a curve of this shape cannot be compared with a number that was measured, or None.

    Runs are alike if both have all GPUs in one domain, or both in two, or both in more: trees and alltoall differ on
    two.
    """
    if published.kind == "bad-case":
        return f"a bad case ({published.reason})"
    if published.mean is not None:
        return "a mean over all sizes says nothing about any size"
    if published.nodes is None:
        return "its source does not say on how many nodes"
    if shape is None:
        return "it is not known on how many nodes yours was measured"
    theirs = Shape(of.has, published.nodes)
    if min(theirs.domains, 3) != min(shape.domains, 3):
        return f"it is for {count_of(published.nodes, 'node')}, yours for {count_of(shape.nodes, 'node')}"
    if published.algorithm != algorithm:
        ways = [each or "the library's choice" for each in (published.algorithm, algorithm)]
        return f"its algorithm was {ways[0]}, yours {ways[1]}"
    return None


def _why_no_peak(published: Number, curve: Mapping[int, float]) -> str | None:
    """Return why a curve cannot be compared with a peak of unknown size: its messages are short; None if it can."""
    longest, best = max(curve), max(curve.values())
    if published.peak is None or longest >= CLASS_PEAK_FROM.value or best >= published.peak * (1 - CLASS_SHARE.value):
        return None
    return f"its peak of {number(published.peak)} GB/s may be for longer messages; yours end at {message_size(longest)}"


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
    where = "at its peak" if worst.size_bytes is None else f"at {message_size(worst.size_bytes)}"
    edge = worst.low if worst.state == "below" else worst.high
    share = percent(worst.value / edge)
    shown = f"busbw {number(worst.value)} GB/s of {name} {where}"
    if worst.low == worst.high:
        published = f"{number(worst.low)} GB/s"
    else:
        published = f"{number(worst.low)} to {number(worst.high)} GB/s"
    counts = {state: sum(at.state == state for at in sizes) for state in ("below", "within", "above")}
    told = ", ".join(f"{count} {state}" for state, count in counts.items() if count)
    return (
        f"{worst.state} what is published for {of.name}: {shown} is {share} of {published} ({listing(worst.of)}); of "
        f"{count_of(len(sizes), 'comparison')}: {told}"
    )


def _why_nothing(of: TransportClass, name: str, usable: list[Number], unknown: list[str]) -> str:
    if not usable and not unknown:
        return f"no published measurement of {name} on {of.name} is stored here"
    if usable:
        had = sorted({size for each in usable for size in each.busbw or ()})
        return f"{of.name} has published {name} only at {listing([message_size(size) for size in had])}"
    return "; ".join(unknown)


def _threshold(demanded: Number, curve: Mapping[int, float], shape: Shape | None, of: TransportClass) -> str:
    """Return who demands what, whether the curve reaches it, and whether any run can; never a verdict."""
    wanted = (
        ", ".join(f"{number(value)} GB/s at {message_size(size)}" for size, value in (demanded.busbw or {}).items())
        or f"{number(next(value for _, _, value in figures(demanded)))} GB/s"
    )
    on = "" if demanded.nodes is None else f" on {count_of(demanded.nodes, 'node')}"
    head = f"{demanded.whose} demands {wanted}{on} ({demanded.id}; a threshold, not physics)"
    said = _whether(demanded, curve, shape)
    most = _most(demanded, of)
    beyond = "" if most is None else f"; no run can reach it, since at most {number(most)} GB/s are possible"
    return f"{head}: {said}{beyond}"


def _whether(demanded: Number, curve: Mapping[int, float], shape: Shape | None) -> str:
    if demanded.mean is not None:
        return "not compared, since it is a mean over all sizes"
    if demanded.nodes is None:
        return "not compared, since its source does not say on how many nodes"
    if shape is None or shape.nodes != demanded.nodes:
        return "not compared, since yours is for another or an unknown number of nodes"
    if demanded.peak is not None:
        return "reached" if max(curve.values()) >= demanded.peak else "not reached"
    wanted = {size: value for size, value in (demanded.busbw or {}).items() if size in curve}
    if not wanted:
        return "not compared, since yours has none of its sizes"
    missed = [message_size(size) for size, value in wanted.items() if curve[size] < value]
    return f"not reached at {listing(missed)}" if missed else "reached"


def _most(demanded: Number, of: TransportClass) -> float | None:
    """Return the most that is possible, GB/s, if that is less than what is demanded; else None."""
    if demanded.nodes is None:
        return None
    known = bounds(demanded.collective, Shape(of.has, demanded.nodes))
    wanted = max(value for _, _, value in figures(demanded))
    beyond = [each.busbw_mb_s / 1000 for each in known]
    return max(beyond) if beyond and all(each.is_broken_by(wanted * 1000) for each in known) else None
