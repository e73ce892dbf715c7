"""Whether a reference demands enough. Far less than its link gives would fail no sick run, so the file must say why."""

from dataclasses import dataclass

from railyard.base.bounds import IMPOSSIBLE_FACTOR, REFERENCE_SHARE
from railyard.base.errors import InputError
from railyard.base.strict_yaml import Document
from railyard.base.values import Path_
from railyard.base.wording import message_size, number, percent
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.hardware.day_one import RDMA_OF_2003
from railyard.site.references.amount import BelowLink, Share
from railyard.site.references.checks import demands, is_of_link, policy_of_one_rail
from railyard.site.references.model import BAD_CASE, Entry, ReferenceFile
from railyard.site.systems.model import Fabric, System

#: The longest time of a message besides its bytes, in us. Over RDMA it is the day-one ceiling. Over TCP no document
#: sets one; published half round trips are 12.7 to 64 us.
_START_OVER_TCP_US = 100.0
#: The largest message of a check, in bytes: an open range of sizes is checked at this size.
_OPEN_END_BYTES = 4 << 20
#: Units in which a far too weak number was perhaps written, and how much of the entry's unit each is.
_MISTAKEN_UNITS = {"bandwidth": (("Gbit/s", 125.0), ("GB/s", 1000.0)), "latency": (("ns", 0.001),)}


@dataclass(frozen=True, slots=True)
class _Demand:
    """What an entry demands at one size. ``healthy`` is what the link gives, ``share`` the demanded part of it."""

    value: float
    healthy: float
    size: int
    where: Path_
    share: float


def check_strength(table: ReferenceFile, system: System, document: Document) -> None:
    """Raise InputError for the first entry that demands far less than its link gives and does not say why.

    A message of n bytes needs at most its start and n / limit (Hockney). An entry that lets it take more than twice
    that time (``reference-share``) demands far less. An entry, or its file for all, may state a lower share with a
    reason.
    """
    for index, entry in enumerate(table.entries):
        asked = _weakest(entry, system)
        if asked is None:
            continue
        path: Path_ = ("entries", index)
        if entry.below_link is not None and asked.share >= _least(table.below_link):
            found = f"a share for a number that is {percent(asked.share)} of what the link gives"
            raise document.error((*path, "below_link"), found, "none: the number needs no reason", "remove it")
        least = _least(entry.below_link or table.below_link)
        if asked.share < least:
            shown = f"{number(asked.value)} {entry.unit}"
            at = f" for messages of {message_size(asked.size)}"
            found = f"{shown}, {percent(asked.share)} of what the link gives{at}: no slow run would fail"
            side = "at least" if entry.metric == "bandwidth" else "at most"
            bound = asked.healthy * (least if entry.metric == "bandwidth" else 1 / least)
            expected = f"{side} {number(bound)} {entry.unit} ({percent(least)}, {REFERENCE_SHARE.name})"
            raise document.error((*path, *asked.where), found, expected, _advice(entry, asked))


def is_too_weak(error: InputError) -> bool:
    """Return whether ``check_strength`` raised this error, for an entry that demands too little."""
    return REFERENCE_SHARE.name in error.expected


def _least(stated: BelowLink | None) -> float:
    return REFERENCE_SHARE.value if stated is None else stated.share


def _weakest(entry: Entry, system: System) -> _Demand | None:
    """Return where an entry demands the smallest share of its link; None if no link says what it should demand."""
    benchmarks = [BENCHMARKS[name] for name in entry.benchmark]
    if entry.kind == BAD_CASE or entry.upper_limit is not None or any(each.within_node for each in benchmarks):
        return None
    fabric = system.fabrics[entry.fabric]
    limit = fabric.limit(min(entry.rails, default=1), entry.directions, policy=policy_of_one_rail(entry))
    if limit is None:
        return None
    asked: list[_Demand] = []
    for size, value, where in _demands(entry, system):
        healthy_us = _start_us(fabric) + size / limit.value_mb_s
        if entry.metric == "bandwidth":
            asked.append(_Demand(value, size / healthy_us, size, where, value * healthy_us / size))
        elif value > 0:
            asked.append(_Demand(value, healthy_us, size, where, healthy_us / value))
    return min(asked, key=lambda each: each.share, default=None)


def _demands(entry: Entry, system: System) -> list[tuple[int, float, Path_]]:
    """Return (size, demanded value, its place in the file), at the last size for which the entry holds."""
    if entry.metric == "bandwidth" and is_of_link(entry):
        return [(size or _OPEN_END_BYTES, value, where) for size, value, where in demands(entry, system)]
    if entry.metric != "latency" or not all(BENCHMARKS[name].pingpong for name in entry.benchmark):
        return []
    if entry.curve is not None:
        return [(size, value, ("curve",)) for size, value in entry.curve.items()]
    last = (entry.sizes.first or 0) if entry.sizes.last is None else entry.sizes.last
    if entry.ends is not None:
        return [(last, entry.ends[1], ("range",))]
    name = "value" if entry.value is not None else "ceiling"
    amount = getattr(entry, name)
    if amount is None or isinstance(amount, Share):
        return []
    return [(last, amount, (name,))]


def _start_us(fabric: Fabric) -> float:
    return _START_OVER_TCP_US if fabric.kind == "tcp" else RDMA_OF_2003.start_us


def _advice(entry: Entry, asked: _Demand) -> str:
    reason = "or say why in below_link (share and reason), in the entry or for the whole file"
    for unit, factor in _MISTAKEN_UNITS[entry.metric]:
        meant = asked.value * factor
        if entry.metric == "bandwidth":
            is_likely = REFERENCE_SHARE.value <= meant / asked.healthy <= IMPOSSIBLE_FACTOR.value
        else:
            is_likely = meant <= asked.healthy / REFERENCE_SHARE.value
        if is_likely:
            return f"if it is in {unit}, it is {number(meant)} {entry.unit}; {reason}"
    return f"correct the number, {reason}"
