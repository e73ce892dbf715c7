"""Where a run's processes ran: how far from its rails, and at which clock.

By default these are remarks, which decide nothing. A run that was set to run near its rails, or far from them
(``place.sh``, package data beside this file), fails if it did not. So does a run whose ranks have more threads than
processors.

``place.sh`` also wrote which network device each rank was given: these may not be a NIC per rank.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from railyard.base.bounds import CLOCK_SHARE
from railyard.base.clean_text import one_line
from railyard.base.errors import RailyardError
from railyard.base.hostlist import label
from railyard.base.paths import packaged_text
from railyard.base.wording import listing, percent
from railyard.job.launch import Launch
from railyard.job.node_facts import NodeFacts
from railyard.stacks.table import STACKS

_MOST_PROCESSORS = 1 << 16
#: Near the rails (on the processors of their NUMA nodes), or far from them (on all other processors).
Side = Literal["near", "far"]
SCRIPT = "place.sh"
#: What you may ask for instead of the system file's placement (``-S placement=far``). ``launcher`` leaves processes
#: where the launcher and the library put them.
_SIDES: Mapping[str, Side | None] = {"near": "near", "far": "far", "launcher": None}
FORMAT = 1
SUFFIX = ".nic"
_NAMES = ("node", "rank", "device", "near", "allowed")


@dataclass(frozen=True, slots=True)
class ProcessPlacement:
    """Where a run's processes are put: on one side of its rails, or where launcher and library put them (None).

    ``asked`` is the word that replaced what the system's file says; empty if there was none. Each of a rank's
    ``threads`` should have its own processor, if the node does not share its processors. ``nic_ranks`` ranks of each
    node have one rail each, and each is put near that rail only; 0 if all ranks use all rails. ``dealt``: they are an
    application's ranks, many for each rail, and each is given a rail of the socket where the launcher puts it.
    """

    side: Side | None
    asked: str = ""
    threads: int = 1
    nic_ranks: int = 0
    dealt: bool = False

    def words(self, launch: Launch, folder: str, tag: str) -> tuple[str, ...]:
        """Return the shell words that come before the counter reader's; none if nothing is placed.

        Ranks that have one rail each write to ``folder`` which one they were given; ``tag`` belongs to this run alone.
        """
        variable = launch.settings.rank_variable
        if self.dealt and variable:
            return (SCRIPT, "dealt", launch.settings.env[variable], variable, "--", "sh")
        if self.nic_ranks:
            devices = launch.settings.env[variable] if variable else ",".join(launch.meant)
            return (SCRIPT, self.side or "launcher", devices, folder, tag, variable or "-", "--", "sh")
        return () if self.side is None else (SCRIPT, self.side, ",".join(launch.meant), "--", "sh")

    def variables(self, stack: str) -> dict[str, str]:
        """Return the variables that keep the library from binding the processes elsewhere when it starts."""
        return {} if self.side is None else dict(STACKS[stack].own_pinning)

    def scripts(self) -> dict[str, str]:
        """Return the script to write beside the job's own: name and text; none if nothing is placed."""
        return {SCRIPT: place_script()} if self.side is not None or self.nic_ranks or self.dealt else {}

    def remarks(self, launch: Launch) -> tuple[str, ...]:
        """Return the remark on a run that was placed in another way than the system's file says."""
        if not self.asked or self.side is None:
            return ()
        return (
            f"run {self.side} {listing(launch.meant)} (-S placement={self.asked}), compared with the same references",
        )

    def why_not(self, facts: Sequence[NodeFacts], launch: Launch) -> str | None:
        """Return why the processes were not where they should be; None if they were, or nothing was asked."""
        side = None if self.nic_ranks else self.side  # each rank says itself where it ran (``RankNic``)
        elsewhere = None if side is None else why_elsewhere(facts, launch.nodes, side, launch.meant)
        if elsewhere is not None or self.threads == 1:
            return elsewhere
        return why_too_few(facts, launch.nodes, self.threads)


def side_of(asked: str, own: Side | None) -> Side | None:
    """Return where processes are put: as asked, else as the system's file says.

    Raises RailyardError for an unknown word.
    """
    if asked not in ("", *_SIDES):
        raise RailyardError(f'-S placement: found "{asked}", expected {", ".join(_SIDES)}')
    return _SIDES.get(asked, own)


def place_script() -> str:
    """Return the text of the script that puts a command on one side; it is written beside the counter reader."""
    return packaged_text(f"job/scripts/{SCRIPT}")


def why_elsewhere(found: Iterable[NodeFacts], nodes: Sequence[str], side: Side, rails: Sequence[str]) -> str | None:
    """Return why a run was not where it should be, by the first process of each node; None if it was there.

    What a node does not show is not known, and fails as well.
    """
    by_name = {label(facts.node): facts for facts in found}
    for node in nodes:
        facts = by_name.get(label(node))
        if facts is None:
            return f"asked to run {side} {listing(rails)}: where the processes of {node} ran is not known"
        own = facts.facts.get("cpus_allowed", "")
        shown = [facts.devices.get(rail, {}).get("local_cpulist", "") for rail in rails]
        bound, local = processors(own), frozenset[int]().union(*(processors(text) for text in shown))
        if bound and local and (bound <= local if side == "near" else not bound & local):
            continue
        near = ", ".join(filter(None, shown)) or "none that the node shows"
        return (
            f"asked to run {side} {listing(rails)}: the first process of {node} was on processors "
            f"{own or 'that are not known'}, and near are {near}"
        )
    return None


def why_too_few(found: Iterable[NodeFacts], nodes: Sequence[str], threads: int) -> str | None:
    """Return why the threads of a rank shared cores, by the first process of each node; None if they may not have.

    With fewer processors than threads, several threads share a core. With as many processors, two threads may still
    share a core if SMT is on. What a node does not show is not known, and fails as well.
    """
    by_name = {label(facts.node): facts for facts in found}
    for node in nodes:
        facts = by_name.get(label(node))
        own = "" if facts is None else facts.facts.get("cpus_allowed", "")
        if len(processors(own)) >= threads:
            continue
        there = f"was bound to processors {own}" if processors(own) else "was on processors that are not known"
        return (
            f"each rank has {threads} threads: the first process of {node} {there}, expected at least {threads}, one "
            f"per thread"
        )
    return None


def remarks(nodes: Iterable[NodeFacts], clocks_khz: Mapping[str, int], rails: Collection[str]) -> tuple[str, ...]:
    """Return a sentence for each node whose first process was bound away from all its rails, or whose clock was low.

    A process that uses a rail at each socket is far from one of them wherever it runs. A sentence needs both values
    from the node: its processes' binding and the rails' processors, or its clock and the highest clock.
    """
    found = [said for facts in nodes for said in (_find_far(facts, rails), _slow(facts, clocks_khz.get(facts.node)))]
    return tuple(sentence for sentence in found if sentence is not None)


def processors(text: str) -> frozenset[int]:
    """Return the processors of a list in the kernel's form, ``0-3,8``; none for any other text."""
    found: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = (first, last if dash else first)
        if not all(end.isascii() and end.isdigit() and int(end[:9]) < _MOST_PROCESSORS for end in ends):
            return frozenset()
        found |= set(range(int(ends[0]), int(ends[1]) + 1))
    return frozenset(found)


def _find_far(facts: NodeFacts, rails: Iterable[str]) -> str | None:
    bound = facts.facts.get("cpus_allowed", "")
    near = {rail: facts.devices.get(rail, {}).get("local_cpulist", "") for rail in rails}
    own, local = processors(bound), [processors(text) for text in near.values()]
    if not own or not all(local) or not local or any(own & each for each in local):
        return None
    away = listing([f"{rail} (near {text})" for rail, text in near.items()])
    return f"the first process of {facts.node} was bound to processors {bound}, far from {away}"


def _slow(facts: NodeFacts, clock_khz: int | None) -> str | None:
    said = facts.facts.get("frequency_max_khz", "")
    highest = int(said) if said.isascii() and said.isdigit() else 0
    if clock_khz is None or clock_khz >= CLOCK_SHARE.value * highest:
        return None
    share = percent(clock_khz / highest)
    governor = facts.facts.get("governor", "not known")
    return (
        f"the clock of {facts.node} was {clock_khz / 1e6:.2f} GHz at the end of the run, {share} of its highest "
        f"(bound {percent(CLOCK_SHARE.value)}, {CLOCK_SHARE.name}; governor {governor})"
    )


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


def parse_rank_nic(text: str, tag: str) -> RankNic | None:
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
