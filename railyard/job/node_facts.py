"""What each node of a run is and how it is configured, as ``node.sh`` read it in the job; equal nodes form groups.

``node.sh`` (package data beside this file) reads sysfs and procfs without root, in a few milliseconds, before the
benchmark starts. BIOS settings that the kernel does not show (snoop mode) are missing. The number of NUMA domains per
socket (NPS, sub-NUMA clustering), SMT, turbo, idle states and the governor are there. Serial numbers, UUIDs and the
whole kernel command line are never read.

Where a run's processes ran: how far from its rails, and at which clock.

By default these are remarks, which decide nothing. A run that was set to run near its rails, or far from them
(``place.sh``, package data beside this file), fails if it did not. So does a run whose ranks have more threads than
processors.

``place.sh`` also wrote which network device each rank was given: these may not be a NIC per rank.
"""

import ipaddress
import sys
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from railyard.base.bounds import CLOCK_SHARE
from railyard.base.errors import RailyardError
from railyard.base.hostlist import label
from railyard.base.paths import packaged_text
from railyard.base.values import one_line
from railyard.base.wording import listing, percent
from railyard.job.launch import Launch
from railyard.results.record.form import NodeGroup
from railyard.stacks.model import STACKS

#: From near to far: the names in ``nvidia-smi topo -m``, and what is between the slots.
DISTANCES = {
    "PIX": "at most one PCIe bridge: the same switch",
    "PXB": "several PCIe bridges, and no host bridge",
    "PHB": "the processor's own PCIe host bridge",
    "NODE": "several host bridges of one NUMA domain",
    "SYS": "the link between NUMA domains",
}
FORMAT = 1
SCRIPT = "node.sh"
_LONGEST = 300
#: Each fact of a node, and its meaning.
FACTS: Mapping[str, str] = MappingProxyType(
    {
        "kernel": "release of the running kernel",
        "operating_system": "distribution with its release, as /etc/os-release has it",
        "kernel_options": "words of its command line that change timing or I/O, from a list of known names",
        "processor": "model of the processors",
        "microcode": "revision of their microcode",
        "logical_processors": "how many the kernel uses",
        "sockets": "how many processors",
        "numa_nodes_per_socket": "memory domains with processors per socket: NPS or sub-NUMA clustering",
        "memory": "all memory that the kernel has",
        "cpus_allowed": "logical processors on which the node's first process may run: where the launcher bound it",
        "smt": "several threads per core: on, off, forceoff, notsupported",
        "turbo": "whether clocks may rise above the nominal one",
        "governor": "cpufreq's governor of the first processor",
        "frequency_driver": "cpufreq's driver",
        "energy_preference": "what the processor should prefer",
        "frequency_max_khz": "highest clock that the governor may choose",
        "base_frequency_khz": "nominal clock, if the driver shows it (intel_pstate)",
        "idle_driver": "driver that puts idle processors to sleep",
        "c_states": "idle states that are not switched off",
        "transparent_hugepages": "always, madvise or never",
        "numa_balancing": "whether the kernel moves pages between memory domains",
        "sys_vendor": "vendor of the machine",
        "product_name": "its model",
        "board_name": "its main board",
        "bios_vendor": "vendor of its firmware",
        "bios_version": "version of that firmware",
        "bios_date": "date of that firmware",
    }
)
#: Each fact of a network or RDMA device, and its meaning.
DEVICE_FACTS: Mapping[str, str] = MappingProxyType(
    {
        "driver": "kernel driver",
        "driver_version": "the driver's version, if it has its own (few drivers in the kernel's own tree have one)",
        "firmware": "version of the card's firmware; for an Ethernet card, the kernel shows it only to ethtool",
        "board": "board id (PSID)",
        "card": "type of the card",
        "mtu": "for a network device, in bytes",
        "interface_mtu": "for the network interface of an RDMA port, in bytes",
        "subnets": "IPv4 networks that its interface reaches without a router",
        "subnet_prefix": "for an InfiniBand port: the first half of its first GID",
        "mode": "for IP over InfiniBand: datagram or connected",
        "speed_mbit_s": "for a network device",
        "rate": "for an RDMA port",
        "link_layer": "for an RDMA port: InfiniBand or Ethernet",
        "current_link_speed": "current speed of its slot",
        "current_link_width": "current lanes of its slot",
        "max_link_speed": "highest speed of its slot",
        "max_link_width": "most lanes of its slot",
        "numa_node": "memory domain of its slot, -1 if unknown",
        "local_cpulist": "logical processors of that domain",
        "slot": "path of its PCI slot with the bridges above it",
        "accelerator": "for a GPU: its kernel driver",
        "gpu_distance": "from a network card to each GPU, near to far: PIX, PXB, PHB, NODE, SYS",
    }
)
#: Facts about where a device is. A record does not keep them: equal nodes differ in them.
OF_A_PLACE = frozenset({"subnets", "subnet_prefix"})
#: If there are more groups than this, facts with more values than this do not separate nodes: a group takes 2 kB in a
#: record.
MOST_GROUPS, MOST_VALUES = 64, 8


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What one node reported about itself: facts by name, and facts by name for each device."""

    node: str
    facts: Mapping[str, str]
    devices: Mapping[str, Mapping[str, str]]


def node_script() -> str:
    """Return the text of the script, which is written beside the counter reader."""
    return packaged_text(f"job/scripts/{SCRIPT}")


def parse(text: str, tag: str) -> NodeFacts | None:
    """Return what a node wrote; None if the file is from another run, was cut, or is not the script's.

    A line of another form, or with a name that is not in the tables, is left out: no verdict depends on it.
    """
    lines = text.split("\n")
    if len(lines) < 4 or lines[0] != f"railyard-node {FORMAT} {tag}" or lines[-2:] != ["end", ""]:
        return None
    facts: dict[str, str] = {}
    devices: dict[str, dict[str, str]] = {}
    for line in lines[2:-2]:
        kind, _, rest = line.partition(" ")
        if kind == "fact":
            _keep(facts, FACTS, rest)
        elif kind == "device":
            device, _, said = rest.partition(" ")
            _keep(devices.setdefault(device, {}), DEVICE_FACTS, said)
    for each in devices.values():
        if "subnets" in each:
            each["subnets"] = " ".join(filter(None, map(_network, each["subnets"].split())))
    known = {name: said for name, said in devices.items() if said}
    return NodeFacts(lines[1].removeprefix("node "), facts, _with_distances(known))


def parse_all(texts: Iterable[str], tag: str) -> tuple[NodeFacts, ...]:
    """Return what nodes wrote in the run with this tag; a text that ``parse`` refuses is left out."""
    return tuple(found for text in texts if (found := parse(text, tag)) is not None)


def group_nodes(found: Iterable[NodeFacts]) -> tuple[NodeGroup, ...]:
    """Return groups of nodes that are equal in everything, the largest group first.

    With thousands of nodes, each may have a few kB less memory than the next. If that makes too many groups, such a
    fact becomes one value per node (``varied``) and does not separate nodes.
    """
    ones = [replace(one, devices=_without_places(one.devices)) for one in sorted(found, key=lambda one: one.node)]
    said = [_flat(one) for one in ones]
    varied = _find_varied(said) if len({frozenset(each.items()) for each in said}) > MOST_GROUPS else ()
    groups: dict[frozenset[tuple[_Name, str]], list[int]] = {}
    for place, each in enumerate(said):
        groups.setdefault(frozenset(item for item in each.items() if item[0] not in varied), []).append(place)
    return tuple(
        _group([ones[place] for place in places], [said[place] for place in places], varied)
        for places in sorted(groups.values(), key=len, reverse=True)
    )


#: The device ("" for the node itself) and the name of a fact.
_Name = tuple[str, str]


def _flat(one: NodeFacts) -> dict[_Name, str]:
    found = {("", name): value for name, value in one.facts.items()}
    found |= {(device, name): value for device, facts in one.devices.items() for name, value in facts.items()}
    return found


def _find_varied(said: Sequence[Mapping[_Name, str]]) -> tuple[_Name, ...]:
    """Return the facts with more values than the allowed number of groups."""
    values: dict[_Name, set[str]] = {}
    for each in said:
        for name, value in each.items():
            values.setdefault(name, set()).add(value)
    return tuple(name for name, known in values.items() if len(known) > MOST_VALUES)


def _group(nodes: Sequence[NodeFacts], said: Sequence[Mapping[_Name, str]], varied: Sequence[_Name]) -> NodeGroup:
    one = nodes[0]
    facts = {name: value for name, value in one.facts.items() if ("", name) not in varied}
    devices = {
        device: {name: value for name, value in its.items() if (device, name) not in varied}
        for device, its in one.devices.items()
    }
    differing = {
        f"{device} {name}".strip(): tuple(each.get((device, name), "") for each in said) for device, name in varied
    }
    return NodeGroup(tuple(each.node for each in nodes), facts, devices, varied=differing)


def _without_places(devices: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    return {
        device: {name: value for name, value in said.items() if name not in OF_A_PLACE}
        for device, said in devices.items()
    }


def _network(shown: str) -> str | None:
    """Return a network and its mask in /proc/net/route as 10.98.1.0/24; None for anything else.

    Both are the address's four bytes as one number in the machine's byte order.
    """
    try:
        address, mask = (int(part, 16).to_bytes(4, sys.byteorder) for part in shown.split("/"))
        return str(ipaddress.IPv4Network((address, ipaddress.IPv4Address(mask).compressed)))
    except (ValueError, OverflowError):
        return None


def _with_distances(devices: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return the devices; each network card has its distance to every GPU of the node."""
    gpus = {name: said for name, said in devices.items() if "accelerator" in said and "slot" in said}
    for name, said in devices.items():
        if not gpus or name in gpus or "slot" not in said:
            continue
        domain = said.get("numa_node", "-1")
        far = [
            (gpu, distance(said["slot"], its["slot"], domain != "-1" and domain == its.get("numa_node")))
            for gpu, its in sorted(gpus.items())
        ]
        far.sort(key=lambda pair: list(DISTANCES).index(pair[1]))
        said["gpu_distance"] = ", ".join(f"{gpu} {word}" for gpu, word in far)[:_LONGEST]
    return devices


def _keep(into: dict[str, str], table: Mapping[str, str], said: str) -> None:
    name, _, value = said.partition(" ")
    text = one_line(value)
    if name in table and text:
        into.setdefault(name, text[:_LONGEST])


def distance(first: str, second: str, same_domain: bool) -> str:
    """Return a key of ``DISTANCES`` for two slots, ``pci0000:00/0000:00:01.0/0000:01:00.0``: bridges, then the card.

    ``same_domain``: both belong to one NUMA domain. Source: the legend of ``nvidia-smi topo -m``.
    """
    one, other = first.split("/"), second.split("/")
    if one[0] != other[0]:
        return "NODE" if same_domain else "SYS"
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    if shared == 1:
        return "PHB"
    # The rest of each path below the last bridge that both share: its port of that switch, and the card.
    return "PIX" if max(len(one), len(other)) - shared <= 2 else "PXB"


_MOST_PROCESSORS = 1 << 16
#: Near the rails (on the processors of their NUMA nodes), or far from them (on all other processors).
Side = Literal["near", "far"]
PLACEMENT_SCRIPT = "place.sh"
#: What you may ask for instead of the system file's placement (``-S placement=far``). ``launcher`` leaves processes
#: where the launcher and the library put them.
_SIDES: Mapping[str, Side | None] = {"near": "near", "far": "far", "launcher": None}
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
            return (PLACEMENT_SCRIPT, "dealt", launch.settings.env[variable], variable, "--", "sh")
        if self.nic_ranks:
            devices = launch.settings.env[variable] if variable else ",".join(launch.meant)
            return (PLACEMENT_SCRIPT, self.side or "launcher", devices, folder, tag, variable or "-", "--", "sh")
        return () if self.side is None else (PLACEMENT_SCRIPT, self.side, ",".join(launch.meant), "--", "sh")

    def variables(self, stack: str) -> dict[str, str]:
        """Return the variables that keep the library from binding the processes elsewhere when it starts."""
        return {} if self.side is None else dict(STACKS[stack].own_pinning)

    def scripts(self) -> dict[str, str]:
        """Return the script to write beside the job's own: name and text; none if nothing is placed."""
        return {PLACEMENT_SCRIPT: place_script()} if self.side is not None or self.nic_ranks or self.dealt else {}

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
    return packaged_text(f"job/scripts/{PLACEMENT_SCRIPT}")


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
