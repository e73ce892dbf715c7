"""The shape of a curve and what it is compared with: flat top, limits of lesser hardware, ratios to a reference."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from railyard.base.bounds import LEAST_LATENCY
from railyard.benchmarks.model import Metric
from railyard.hardware import limits
from railyard.hardware.limits import Limit
from railyard.hardware.links import LINKS, SLOTS, Link, Slot
from railyard.verdict.wording.causes import (
    Looks,
    another_network,
    fitting_part,
    fitting_share,
    lesser_slot,
    link_of,
    named_slot,
    one_of,
    some_lanes,
    some_rails,
)

#: A run below this share of its limit is not merely slow: it may run on lesser hardware.
LESSER_BELOW = 0.8
#: A healthy system reaches at least 92 % of its own limit one way and 79 % both ways (the published FDR system).
FITS_FROM = {1: 0.90, 2: 0.78}
FITS_UP_TO = 1.01
#: Share of a link's rate: an earlier generation below this is no likelier than another network of that rate.
NEAR = 0.25
_WIDE = 12  # lanes; rare between hosts
_USUAL_LANES = (4, 8, 16)  # of the slots of cards
#: From 1 MiB on, a flat top stays above this share of its peak.
FLAT = 0.93


@dataclass(frozen=True, slots=True)
class SeenCurve:
    """One failed curve with the hardware that it should have run on.

    ``points`` are (size in bytes, value) in the metric's unit, rising in size, and each is a sum over ``pairs`` of
    ranks. ``limit_mb_s`` is the run's limit. ``slot`` is None if unknown. ``targets`` has the reference's own value at
    each of its sizes. ``from_device``: the buffers were in a GPU's memory. ``least_us``: the least latency that rule 3
    believes of it; ``through_library``: MPI or another library, which may use shared memory, sent the messages.
    """

    metric: Metric
    points: tuple[tuple[int, float], ...]
    link: Link
    slot: Slot | None = None
    rails: int = 1
    rails_per_card: int = 1
    mtu: int | None = None
    max_payload: int = limits.DEFAULT_MAX_PAYLOAD
    limit_mb_s: float | None = None
    targets: Mapping[int, float] = field(default_factory=lambda: MappingProxyType({}))
    pairs: int = 1
    from_device: bool = False
    least_us: float = LEAST_LATENCY.value
    through_library: bool = True


def peak_of(seen: SeenCurve) -> tuple[int, float] | None:
    """Return (size in bytes, value) of a bandwidth's largest value, or None for another metric or no point."""
    if seen.metric.name != "bandwidth" or not seen.points:
        return None
    return max(seen.points, key=lambda point: point[1])


def flat_top(seen: SeenCurve) -> float | None:
    """Return the peak in MB/s of a streaming bandwidth that stays level from 1 MiB on; None for any other curve."""
    large = [value for size, value in seen.points if size >= limits.DAY_ONE_FROM_BYTES]
    peak = peak_of(seen)
    if peak is None or seen.metric.shape != "stream" or not large or min(large) < FLAT * peak[1]:
        return None
    return peak[1]


def message_cost_us(seen: SeenCurve, up_to_bytes: int) -> float | None:
    """Return us per message of a pair at the smallest size of a windowed stream (bytes / MB/s); None for any other."""
    if seen.metric.name != "bandwidth" or seen.metric.shape != "stream" or not seen.points:
        return None
    size, value = seen.points[0]
    if size > up_to_bytes or value <= 0:
        return None
    return size * seen.pairs * seen.metric.directions / value


def ratios(seen: SeenCurve) -> list[tuple[int, float]]:
    """Return (size, measured over reference, less than 1 if worse) at each size that both have."""
    higher = seen.metric.better == "higher"
    return [
        (size, value / seen.targets[size] if higher else seen.targets[size] / value)
        for size, value in seen.points
        if size in seen.targets and value > 0
    ]


def like_one_of(seen: SeenCurve, lesser: Iterable[tuple[str, Limit | None]]) -> Looks | None:
    """Return the lesser hardware whose limit a flat top fits, with the shares; None if it fits none."""
    found = _fits(seen, lesser)
    return one_of(found[0], found[1:]) if found else None


def like_another(seen: SeenCurve) -> Looks | None:
    """Return the networks and slots of any kind whose limit a flat top far below the link's fits; None if it fits none.

    A rate alone does not say which of them it is.
    """
    top = flat_top(seen)
    found = _fits(seen, (*far_links(seen), *any_slots(seen)))
    if top is None or not found:
        return None
    return another_network(seen.link.name, top, found)


def like_no_other(seen: SeenCurve) -> float | None:
    """Return a flat top, MB/s, far below the link's limit that fits no link and no slot; None for any other curve."""
    top = flat_top(seen)
    far = top is not None and seen.limit_mb_s is not None and top < LESSER_BELOW * seen.limit_mb_s
    return top if far and like_another(seen) is None else None


def _fits(seen: SeenCurve, lesser: Iterable[tuple[str, Limit | None]]) -> list[Looks]:
    """Return what has a limit that a flat top fits, with the shares; [] for a curve without a flat top far below."""
    top = flat_top(seen)
    if top is None or seen.limit_mb_s is None or top >= LESSER_BELOW * seen.limit_mb_s:
        return []
    return [
        fitting_part(what, top / limit.value_mb_s, limit.value_mb_s)
        for what, limit in lesser
        if limit is not None and FITS_FROM[seen.metric.directions] <= top / limit.value_mb_s <= FITS_UP_TO
    ]


def lesser_rails(seen: SeenCurve) -> Iterator[tuple[str, Limit | None]]:
    """Yield the limits of fewer rails than the run should use."""
    for rails in range(1, seen.rails):
        yield some_rails(rails, seen.rails), _limit(seen, rails=rails)


def lesser_lanes(seen: SeenCurve) -> Iterator[tuple[str, Limit | None]]:
    """Yield the limits of the link with a half and with a quarter of its lanes."""
    lanes, rate = seen.link.lanes, seen.link.data_rate_gbit_s
    for part in (2, 4):
        if lanes is not None and rate is not None and lanes % part == 0:
            narrow = replace(seen.link, data_rate_gbit_s=rate / part)
            yield some_lanes(lanes // part, lanes, seen.link.generation), _limit(seen, link=narrow)


def lesser_links(seen: SeenCurve) -> Iterator[tuple[str, Limit | None]]:
    """Yield the limits of the family's slower links of the same width (any width, except for InfiniBand).

    A card that trains at an earlier generation does so at the last few: links below a quarter of the rate are left out.
    """
    for link in _slower(seen):
        if _is_relative(seen, link) and (link.data_rate_gbit_s or 0) >= NEAR * (seen.link.data_rate_gbit_s or 0):
            yield link_of(link.generation), _limit(seen, link=link, mtu=None)


def far_links(seen: SeenCurve) -> Iterator[tuple[str, Limit | None]]:
    """Yield the limits of slower links of other families, and of generations of the same family that are far below."""
    for link in _slower(seen):
        if link.lanes != _WIDE and link.family != "efa":
            yield link.generation, _limit(seen, link=link, mtu=None)


def ethernet_links(seen: SeenCurve) -> Iterator[tuple[str, Limit | None]]:
    """Yield the limits of TCP over slower Ethernet, which is beside a fast network in most clusters."""
    for link in _slower(seen):
        if link.family == "ethernet":
            yield link.generation, _limit(seen, link=link, mtu=None)


def any_slots(seen: SeenCurve) -> Iterator[tuple[str, Limit | None]]:
    """Yield the limits of the slots of PCI Express, whichever the card should be in."""
    for slot in SLOTS.values():
        if slot.name.startswith("pcie"):
            yield slot.generation, _limit(seen, slot=slot)


def _slower(seen: SeenCurve) -> Iterator[Link]:
    rate = seen.link.data_rate_gbit_s
    for link in sorted(LINKS.values(), key=lambda each: -(each.data_rate_gbit_s or 0)):
        if rate is not None and link.data_rate_gbit_s is not None and link.data_rate_gbit_s < rate:
            yield link


def _is_relative(seen: SeenCurve, link: Link) -> bool:
    return link.family == seen.link.family and (link.family != "infiniband" or link.lanes == seen.link.lanes)


def lesser_slots(seen: SeenCurve) -> Iterator[tuple[str, Limit | None]]:
    """Yield the limits of a slot with a half or a quarter of its lanes, and of a slot one or two generations older."""
    if seen.slot is None or not seen.slot.name.startswith("pcie"):
        return
    generation, lanes = int(seen.slot.name[4]), seen.slot.lanes
    names = [f"pcie{generation}-x{lanes // 2}", f"pcie{generation}-x{lanes // 4}"]
    names += [f"pcie{generation - 1}-x{lanes}", f"pcie{generation - 2}-x{lanes}"]
    for slot in (SLOTS[name] for name in names if name in SLOTS):
        yield lesser_slot(slot.generation, seen.slot.generation), _limit(seen, slot=slot)


def rates_like(mb_s: float, directions: int) -> tuple[str, ...]:
    """Return the links and the slots whose limit a flat top fits, with its share of each; the nearest links first."""
    fits_from = FITS_FROM[directions]
    links = {name: limits.limit(link, directions=directions) for name, link in LINKS.items()}
    fastest = max(LINKS.values(), key=lambda link: link.data_rate_gbit_s or 0)
    slots = {
        named_slot(name): limits.limit(fastest, slot, directions=directions)
        for name, slot in SLOTS.items()
        if slot.lanes in _USUAL_LANES
    }
    found: list[str] = []
    for kind in (links, slots):
        shares = {name: mb_s / bound.value_mb_s for name, bound in kind.items() if bound is not None}
        fits = [name for name, share in shares.items() if fits_from <= share <= FITS_UP_TO]
        found += (fitting_share(name, shares[name]) for name in sorted(fits, key=lambda name: -shares[name]))
    return tuple(found)


def limit_at_mtu(seen: SeenCurve, mtu: int) -> Limit | None:
    """Return the limit of the run at another path MTU."""
    return _limit(seen, mtu=mtu) if mtu in seen.link.mtus else None


def _limit(seen: SeenCurve, **changed: object) -> Limit | None:
    other = replace(seen, **changed)  # type: ignore[arg-type]
    return limits.limit(
        *(other.link, other.slot, other.rails, limits.Sharing(other.rails_per_card)),
        mtu=other.mtu,
        directions=other.metric.directions,
        max_payload=other.max_payload,
    )
