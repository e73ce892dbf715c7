"""Which network device each rank of a run was given, as ``place.sh`` wrote it, and why that is not a NIC per rank."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from railyard.base.clean_text import one_line
from railyard.base.hostlist import label
from railyard.base.wording import listing
from railyard.job.launch import Launch
from railyard.job.placement import ProcessPlacement, Side, processors

FORMAT = 1
SUFFIX = ".nic"
_NAMES = ("node", "rank", "device", "near", "allowed")


@dataclass(frozen=True, slots=True)
class RankNic:
    """What one rank was given: its number on its node, its device, and lists of processors in the kernel's form.

    ``near`` are the processors of the device's NUMA node, empty if the node shows none; ``allowed`` are those that the
    rank may run on. ``rank`` is None if its launcher did not say it; ``device`` then names all devices of the run.
    """

    node: str
    rank: int | None
    device: str
    near: str
    allowed: str


def parse(text: str, tag: str) -> RankNic | None:
    """Return what a rank wrote; None if the file is from another run, was cut, or is not the script's."""
    first, *lines = text.split("\n")
    said = [line.partition(" ") for line in lines[:-2]]
    if first != f"railyard-nic {FORMAT} {tag}" or lines[-2:] != ["end", ""] or tuple(s[0] for s in said) != _NAMES:
        return None
    node, rank, device, near, allowed = (one_line(value) for _, _, value in said)
    return RankNic(node, int(rank) if rank.isascii() and rank.isdigit() else None, device, near, allowed)


def why_not_own(found: Iterable[RankNic], launch: Launch, placing: ProcessPlacement) -> str | None:
    """Return why some rank of a run did not have its own NIC on the side where it was put; None if each had one.

    If a node has more ranks than NICs, the ranks share them evenly. What a rank did not say is not known, and fails as
    well.
    """
    ranks = placing.nic_ranks
    of_nodes: dict[str, list[RankNic]] = {}
    for each in found:
        of_nodes.setdefault(label(each.node), []).append(each)
    for node in launch.nodes if ranks else ():
        there = sorted(of_nodes.get(label(node), ()), key=lambda each: -1 if each.rank is None else each.rank)
        reason = _why_unknown(there, node, ranks) or _why_shared(there, node, -(-ranks // len(launch.meant)))
        if reason is None and placing.side is not None:
            reason = next((why for each in there if (why := _why_elsewhere(each, node, placing.side))), None)
        if reason is not None:
            return f"NIC per rank not proven: {reason}"
    return None


def _why_unknown(there: Sequence[RankNic], node: str, ranks: int) -> str | None:
    if len(there) != ranks:
        return f"{len(there)} of {ranks} ranks of {node} said which device they were given"
    if any(each.rank is None for each in there):
        return f"the launcher did not tell the ranks of {node} their numbers on the node"
    return None


def _why_shared(there: Sequence[RankNic], node: str, most: int) -> str | None:
    for device, times in Counter(each.device for each in there).items():
        if times > most:
            sharing = listing([str(each.rank) for each in there if each.device == device])
            return f"ranks {sharing} of {node} were given {device}, expected at most {most} on a device"
    return None


def _why_elsewhere(rank: RankNic, node: str, side: Side) -> str | None:
    own, local = processors(rank.allowed), processors(rank.near)
    if own and local and (own <= local if side == "near" else not own & local):
        return None
    return (
        f"rank {rank.rank} of {node} was to run {side} {rank.device} and was on processors "
        f"{rank.allowed or 'that are not known'}; near are {rank.near or 'none that the node shows'}"
    )
