"""A micro-benchmark's run: which rank sends to which over which rails, how long that takes, and the bytes moved.

How long a message takes over the rails that a library took, and how a planted fault changes that.

Nothing is measured: a healthy system meets its references if it has any. Else a link gives what its kind is known to
give, below its physical limit and above the floors of its class.
"""

import math
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from railyard.benchmarks.metrics import messages_a_time
from railyard.benchmarks.model import BANDWIDTH, Metric
from railyard.benchmarks.moved_bytes import MovedBytes, Repetitions, moved_bytes, row_payload
from railyard.benchmarks.table import micro
from railyard.hardware.links import Link
from railyard.provision.rehearsal.benchmark_request import BenchmarkRequest
from railyard.provision.rehearsal.crew import Crew, Moves, Place, place_of
from railyard.provision.rehearsal.form import Fault
from railyard.provision.rehearsal.rank_ports import LibraryError, Port, RankPorts
from railyard.provision.replay import reference_outputs
from railyard.provision.replay.reference_outputs import MessageTime
from railyard.provision.replay.texts import IMB_VERSION, OutputPlan
from railyard.site.gpu_shape import limit_from_gpus
from railyard.site.site import Site
from railyard.site.systems.model import Fabric, System
from railyard.site.test_id import TestId
from railyard.stacks.model import STRIPING, tuned_name

#: The share of its physical limit that a stream reaches, one way and both ways. Published: 92 to 99 % and 79 to 97 %.
EFFICIENCY = {1: 0.97, 2: 0.93}
#: Half a round trip of a small message between two nodes, us, by family of link; RoCE is a little slower than
#: InfiniBand. Source: references/published.tsv (1.0 us EDR, 7 us InfiniBand 4X of 2003, 12.7 us and more over TCP);
#: fi_efa(7).
_LATENCY_US = {"infiniband": 1.2, "roce": 2.0, "omnipath": 1.2, "slingshot": 2.0, "efa": 16.0, "myrinet": 6.5}
_LATENCY_US |= {"qsnet": 2.5, "sci": 4.0, "aries": 1.5, "ethernet": 15.0}
#: The same for InfiniBand before PCI Express 3: each value holds up to a data rate in Gbit/s.
_OLD_INFINIBAND_US = ((8.0, 6.0), (16.0, 3.0), (40.0, 1.6))
_OLD_ETHERNET_GBIT_S, _OLD_ETHERNET_US = 1.0, 30.0
#: The management network, which a library uses if it falls back to TCP: Gigabit Ethernet.
MANAGEMENT_MB_S, MANAGEMENT_US = 112.0, 30.0
#: A card at the other socket: its transfers cross the link between the sockets.
FAR_SHARE, FAR_US = 0.85, 0.3
#: Messages in flight share their start. Without a library more of them do: a message of 64 KiB over NDR took 1.34 us,
#: all of it on the wire.
_IN_FLIGHT, _IN_FLIGHT_OF_VERBS = 4, 16
#: The extra time of the first repetitions, us: caches, page tables, a rising clock.
_COLD_US = 25.0
#: The largest factor of noise: in one observation, six round trips of 0.8 us gave five times the latency.
_MOST_NOISE = 4.0


def rail_share(faults: Iterable[Fault], node: str, device: str) -> float:
    """Return the share of its rate that a rail of a node gives with the faults planted there."""
    share = 1.0
    for fault in faults:
        if fault.hits(node, device):
            share *= {"slow": fault.share, "lanes": fault.lanes / 4, "far": FAR_SHARE}.get(fault.kind, 1.0)
    return share


def leaf_share(faults: Iterable[Fault], fabric: Fabric | None, first: str, second: str) -> float:
    """Return the share that is left between two nodes if the way crosses a leaf switch, or a group, that gives less."""
    share = 1.0
    leaves = {node: leaf for leaf, nodes in fabric.leaf_switches.items() for node in nodes} if fabric else {}
    groups = {leaf: group for group, of in fabric.groups.items() for leaf in of} if fabric else {}
    ends = [(leaves.get(node), groups.get(leaves.get(node, ""))) for node in (first, second)]
    for fault in faults:
        # On one level both nodes are at, or in, different ones.
        if fault.kind == "leaf" and any(
            one != other and fault.leaf in (one, other) for one, other in zip(*ends, strict=True)
        ):
            share = min(share, fault.share)
    return share


def more_us(faults: Iterable[Fault], node: str, device: str) -> float:
    """Return how long a message of this rail waits in addition, in us."""
    return sum(FAR_US for fault in faults if fault.kind == "far" and fault.hits(node, device))


def rate_share(shares: Sequence[float], left: Sequence[float]) -> float:
    """Return the share of the fault-free rate of all rails in use that messages have.

    ``shares`` are the shares of a message that each rail carries, ``left`` the share of its rate that each rail gives.
    If a message is split, its slowest part counts.
    """
    used = [(share, rest) for share, rest in zip(shares, left, strict=True) if share > 0]
    return 1 / max((share * len(used) / max(rest, 1e-3) for share, rest in used), default=1.0)


def times(site: Site, test: TestId, sizes: tuple[int, ...], split_from: int = 0) -> tuple[float, ...]:
    """Return the time of a message of each size in us, on a healthy system: by its references, else by its link.

    ``split_from``: messages below it go over one rail, if no reference gives their time.
    """
    found = reference_outputs.healthy(site, test, sizes)
    if found is not None:
        return reference_outputs.hold_bounds(site, test, sizes, tuple(found.time_at(size) for size in sizes))
    several, one = (_of_link(site.system, each) for each in (test, replace(test, rails=1)))
    if micro.find(test.benchmark).metrics[0].shape == "collective":
        made = tuple(_collective_us(test, several, size) for size in sizes)
    else:
        made = tuple((several if size >= split_from else one).time_at(size) for size in sizes)
    return reference_outputs.hold_bounds(site, test, sizes, made)


def slow_times(
    times_us: Sequence[float], shares: Sequence[float], waits_us: float, start_us: float
) -> tuple[float, ...]:
    """Return healthy times changed by faults: for each size the share of the rate that is left, and what all wait.

    The part of a message's time that its bytes take grows; its start, at most ``start_us``, stays.
    """
    start = min(start_us, *times_us)
    return tuple(start + (time - start) / share + waits_us for time, share in zip(times_us, shares, strict=True))


def start_us(link: Link, test: TestId) -> float:
    """Return the part of a message's time that does not depend on its bytes, in us."""
    metric = _bandwidth_of(test)
    if metric is None or metric.shape != "stream":
        return latency_us(link)
    is_of_verbs = micro.tool(micro.find(test.benchmark).tool).between_nics
    return latency_us(link) / (_IN_FLIGHT_OF_VERBS if is_of_verbs else _IN_FLIGHT)


def over_tcp(times_us: Sequence[float], sizes: Sequence[int], test: TestId) -> tuple[float, ...]:
    """Return the times for a library that silently went over the management network."""
    metric = _bandwidth_of(test)
    stream, ways = metric is not None and metric.shape == "stream", 1 if metric is None else metric.directions
    rate = ways * MANAGEMENT_MB_S / messages_a_time(test.benchmark)
    slow = MessageTime(MANAGEMENT_US / (_IN_FLIGHT if stream else 1), rate, ())
    return tuple(max(time, slow.time_at(size)) for time, size in zip(times_us, sizes, strict=True))


def add_noise(
    times_us: Sequence[float], repetitions: Sequence[int], messages: int, seed: str, at_most: float = _MOST_NOISE
) -> tuple[float, ...]:
    """Return times with the noise of few repetitions; always the same for one seed.

    ``messages``: those of one repetition. A measurement of 10 us takes several times as long as it should, one of 1 ms
    0.1 % longer.
    """
    found = []
    for place, (time, count) in enumerate(zip(times_us, repetitions, strict=True)):
        lasting_us = max(time * count * messages, 1e-3)
        drawn = 0.5 + zlib.crc32(f"{seed} {place}".encode()) / 2**33
        found.append(time * (1 + drawn * min(at_most, (_COLD_US / lasting_us) ** 2)))
    return tuple(found)


def latency_us(link: Link) -> float:
    """Return half a round trip of a small message over a link of this kind, in us."""
    rate = link.data_rate_gbit_s or 0.0
    if link.family == "infiniband":
        return next((us for most, us in _OLD_INFINIBAND_US if rate <= most), _LATENCY_US[link.family])
    if link.family == "ethernet" and rate <= _OLD_ETHERNET_GBIT_S:
        return _OLD_ETHERNET_US
    return _LATENCY_US.get(link.family, _LATENCY_US["ethernet"])


def rate_mb_s(fabric: Fabric, rails: int, directions: int = 1) -> float:
    """Return the rate of a healthy stream over the first rails, in MB/s."""
    limit = fabric.limit(rails, directions)
    return MANAGEMENT_MB_S if limit is None else EFFICIENCY[directions] * limit.value_mb_s


def _bandwidth_of(test: TestId) -> Metric | None:
    return next((one for one in micro.find(test.benchmark).metrics if one.name == BANDWIDTH), None)


def _of_link(system: System, test: TestId) -> MessageTime:
    """Return a message's time over a link without references; one time may cover several messages (both ways)."""
    metric, fabric = _bandwidth_of(test), system.fabrics[test.fabric]
    directions = 1 if metric is None else metric.directions
    rate = rate_mb_s(fabric, test.rails, directions)
    if micro.find(test.benchmark).in_gpu and system.gpus is not None:
        every = micro.find(test.benchmark).every_gpu
        bound = limit_from_gpus(system.gpus, fabric, test.rails, directions, every_gpu=every)
        rate = rate if bound is None else min(rate, EFFICIENCY[directions] * bound.value_mb_s)
    rate /= messages_a_time(test.benchmark)
    return MessageTime(start_us(fabric.link, test), rate, ())


def _collective_us(test: TestId, curve: MessageTime, size: int) -> float:
    """Return a collective's time: a start for each doubling of the nodes, and the bytes that a node must move.

    It is the time over four nodes with one rank on each, as in the checks.
    """
    nodes, least = 4, micro.find(test.benchmark).least
    moved = 2.0 if least is None else max(least.sent(nodes, 1), least.received(nodes, 1), 1.0)
    start = curve.time_at(0)
    return start * math.ceil(math.log2(nodes)) + moved * (curve.time_at(size) - start) * 1.25


#: When MPI starts, each node exchanges addresses with the first one over the management network.
_START_UP_BYTES = 20_000


@dataclass(frozen=True, slots=True)
class Flow:
    """Messages between two ranks: the pairs of ports of both, and how the messages are spread over them."""

    first: str
    second: str
    lanes: tuple[tuple[Port, Port], ...]
    taken: RankPorts

    @property
    def within_node(self) -> bool:
        """Whether both ranks share a node and its memory."""
        return self.first == self.second

    def shares(self, size: int) -> tuple[float, ...]:
        """Return each lane's share of messages of a size."""
        own = self.taken.shares(size)[: len(self.lanes)]
        return tuple(share / sum(own) for share in own)


@dataclass(frozen=True)
class Network:
    """The network of a run with the faults planted on it."""

    crew: Crew

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """The planted faults."""
        return self.crew.rehearsal.faults

    @cached_property
    def place(self) -> Place | None:
        """The first rank's first rail; None if its messages do not go over a rail of a fabric."""
        return place_of(self.crew.site.system, self.crew.takes[0].ports[0])

    def flow(self, first: int, second: int) -> Flow:
        """Return the messages between two ranks, by their numbers."""
        crew, mine, other = self.crew, self.crew.takes[first], self.crew.takes[second]
        nodes = crew.members[first].node, crew.members[second].node
        if mine.tcp != other.tcp:  # one of them has fallen back to TCP: the other must follow
            mine, other = (RankPorts((crew.management(node),), tcp=True) for node in nodes)
        by_name = {port.name: port for port in other.ports}
        if by_name.keys() == {port.name for port in mine.ports}:
            lanes = tuple((port, by_name[port.name]) for port in mine.ports)
        else:
            lanes = tuple(zip(mine.ports, other.ports, strict=False))
        return Flow(*nodes, lanes, mine)

    def share(self, flow: Flow, size: int) -> float:
        """Return the share of its rate that a flow has with the planted faults."""
        fabric = None if self.place is None else self.place.fabric
        crossing = leaf_share(self.faults, fabric, flow.first, flow.second)
        left = [
            crossing * min(rail_share(self.faults, flow.first, a.name), rail_share(self.faults, flow.second, b.name))
            for a, b in flow.lanes
        ]
        return rate_share(flow.shares(size), left)

    def waits_us(self, flow: Flow) -> float:
        """Return how long each message of a flow waits in addition, in us."""
        a, b = flow.lanes[0]
        return more_us(self.faults, flow.first, a.name) + more_us(self.faults, flow.second, b.name)

    def is_fallback(self, flow: Flow) -> bool:
        """Return whether a flow goes over a different network from the first rank's: the management network."""
        place = place_of(self.crew.site.system, flow.lanes[0][0])
        return place is None or self.place is None or place.name != self.place.name

    def test(self, benchmark: str, flows: Iterable[Flow]) -> TestId | None:
        """Return which test a run is by what its library does, not by what was asked for.

        None if its messages do not go over a rail.
        """
        flows, system, stack = list(flows), self.crew.site.system, self.crew.stack
        if self.place is None:
            return None
        fabric = self.place.name
        used = {
            a.name
            for flow in flows
            for a, _ in flow.lanes
            if flow.first == flows[0].first and (found := place_of(system, a)) is not None and found.name == fabric
        }
        rails = max(1, min(len(used), len(self.place.fabric.rails)))
        split = flows[0].taken.split if flows else "none"
        policy: str = "single" if rails == 1 else "nic-per-rank" if split == "none" else split
        if policy == STRIPING and stack in system.stacks:
            asked = [size for size in system.stacks[stack].striping_thresholds if size == flows[0].taken.from_bytes]
            policy = tuned_name(asked[0]) if asked else policy
        return TestId(fabric, stack, rails, benchmark, policy=policy, system=system.system)


def pairs_of(network: Network) -> list[Flow]:
    """Return the flows of a benchmark of pairs: the first half of the ranks with the second half."""
    half = len(network.crew.members) // 2
    return [network.flow(rank, rank + half) for rank in range(half)]


def ring_flows(network: Network) -> list[Flow]:
    """Return the flows of a collective: each node's first rank to that of the next one, and the last to the first."""
    first = [next(m.rank for m in network.crew.members if m.node == node) for node in network.crew.nodes]
    flows = [network.flow(one, other) for one, other in pairwise(first)]
    return [*flows, network.flow(first[-1], first[0])] if len(first) > 1 else flows


def make_output(network: Network, asked: BenchmarkRequest, sentence: str) -> OutputPlan:
    """Return what the benchmark prints: healthy times, the effect of faults, and the noise of few repetitions."""
    crew, benchmark = network.crew, micro.find(asked.key)
    flows = pairs_of(network) if is_of_pairs(asked.key) else ring_flows(network)
    crossing = [flow for flow in flows if not flow.within_node]
    times = _times(network, asked, crossing or flows)
    if benchmark.sums_pairs and flows:
        # The output covers all pairs of ranks together; a time covers one pair of nodes.
        node_pairs = len({(flow.first, flow.second) for flow in flows})
        printed = len(flows) if asked.tool == "osu" else 1
        times = tuple(time * printed / node_pairs for time in times)
    traffic = benchmark.traffic
    # If a tool's entry has no window, its repetitions are single messages.
    window = 1 if traffic is None or traffic.window is None else asked.window or 1
    messages = window * (1 if traffic is None else max(1, traffic.backward + 1))
    seed = f"{asked.key} {' '.join(crew.nodes)}"
    passes = 1 if asked.tool == "iperf3" else asked.passes
    noisy = times if asked.tool == "iperf3" else add_noise(times, asked.repetitions, messages, seed)
    return OutputPlan(
        *(asked.key, asked.sizes, noisy, sentence, len(crew.members), passes, asked.repetitions),
        window=asked.window or 1,
        validated=asked.validated,
        amount_bytes=asked.amount_bytes,
    )


def is_of_pairs(key: str) -> bool:
    """Return whether a benchmark's messages go between the two halves of its ranks; a collective's do not."""
    return micro.find(key).metrics[0].shape not in ("collective", "figure")


def _times(network: Network, asked: BenchmarkRequest, flows: Sequence[Flow]) -> tuple[float, ...]:
    """Return the time of one message of each size, us: for streams the mean of all pairs, else that of the slowest."""
    crew, sizes = network.crew, asked.sizes
    if asked.key == "osu/osu_init":
        return (1e3 * (100 + len(crew.members)),)
    test = network.test(asked.key, flows)
    if test is None:  # its library left out every rail
        first = next(iter(crew.site.system.fabrics))
        test = TestId(first, crew.stack, 1, asked.key, policy="single", system=crew.site.system.system)
    # With perftest it goes through the card all the same.
    if not flows or (all(flow.within_node for flow in flows) and asked.tool != "perftest"):
        return tuple(0.5 + size / 8000 for size in sizes)
    waits_for_one = test.policy == "round-robin" and micro.find(asked.key).metrics[0].shape == "pingpong"
    split_from = 1 << 62 if waits_for_one else flows[0].taken.from_bytes
    healthy = times(crew.site, test, sizes, split_from)
    if test.rails > 1 and flows[0].taken.split == STRIPING:
        # References for both rails say nothing about messages that one of them carries alone.
        one = times(crew.site, replace(test, rails=1, policy="single"), sizes)
        healthy = tuple(
            max(time, alone) if size < split_from else time
            for size, time, alone in zip(sizes, healthy, one, strict=True)
        )
    found, alike = [], Counter(flows)
    for flow in alike:
        if network.is_fallback(flow):
            found.append(over_tcp(healthy, sizes, test))
        else:
            shares = [network.share(flow, size) for size in sizes]
            link = crew.site.system.fabrics[test.fabric].link
            found.append(slow_times(healthy, shares, network.waits_us(flow), start_us(link, test)))
    if micro.find(asked.key).sums_pairs:
        # The mean of their rates, each counted as often as it occurs.
        return tuple(
            len(flows) / sum(count / time for time, count in zip(each, alike.values(), strict=True))
            for each in zip(*found, strict=True)
        )
    return tuple(max(each) for each in zip(*found, strict=True))


def move(network: Network, asked: BenchmarkRequest, moves: Moves) -> None:
    """Add the bytes that the benchmark moves to the counters of its nodes, size by size."""
    start_up(network.crew, moves)
    if not micro.find(asked.key).payload:
        return
    # Most of a thousand pairs are alike: they are between the same two nodes, over the same rails.
    flows = Counter(pairs_of(network)) if is_of_pairs(asked.key) else Counter[Flow]()
    for size, count in zip(asked.sizes, asked.repetitions, strict=True):
        if is_of_pairs(asked.key):
            moved = _of_a_pair(asked, size, count)
            for flow, alike in flows.items():
                add(moves, flow, size, alike * moved.tx, alike * moved.rx)
        else:
            _move_collective(network, asked, size, count, moves)


def add(moves: Moves, flow: Flow, size: int, forward: float, backward: float) -> None:
    """Add the bytes of messages of one size between two ranks, both ways, over their rails."""
    for (a, b), share in zip(flow.lanes, flow.shares(size), strict=True):
        moves.send(flow.first, a, flow.second, b, forward * share)
        moves.send(flow.second, b, flow.first, a, backward * share)


def start_up(crew: Crew, moves: Moves) -> None:
    """Add what the start of a job moves over the management network, if the nodes have one."""
    try:
        ports = {node: crew.management(node) for node in crew.nodes}
    except LibraryError:  # its launcher has some other way
        return
    first = crew.nodes[0]
    for node in crew.nodes[1:]:
        moves.send(first, ports[first], node, ports[node], _START_UP_BYTES)
        moves.send(node, ports[node], first, ports[first], _START_UP_BYTES)


def _of_a_pair(asked: BenchmarkRequest, size: int, count: int) -> MovedBytes:
    """Return the payload between one pair of ranks at a size, including warm-ups and passes."""
    if asked.amount_bytes:  # as its words say, whatever the link
        return MovedBytes(asked.amount_bytes, 0)
    told: Repetitions | None = asked.told
    measured, warm_up = (count, None) if told is None else (told.measured, told.warm_up)
    moved = row_payload(asked.key, size, measured, asked.window, 1, warm_up, IMB_VERSION)
    moved = moved or moved_bytes(asked.key, size, measured, asked.window)
    if moved is None:  # no closed form: both ways, a window of messages per repetition
        moved = MovedBytes(*(size * measured * (asked.window or 1),) * 2)
    return MovedBytes(asked.passes * moved.tx, asked.passes * moved.rx)


def _move_collective(network: Network, asked: BenchmarkRequest, size: int, count: int, moves: Moves) -> None:
    """Move the least that each node must: around all nodes, or, with a root, along them from it and back to it."""
    crew, least = network.crew, micro.find(asked.key).least
    nodes, ranks = len(crew.nodes), max(crew.per_node.values())
    if nodes < 2:
        return
    told = asked.told
    times = (
        told.measured + told.warm_up
        if told is not None
        else micro.tool(asked.tool).at_most(count, None, IMB_VERSION) or count
    )
    payload = float(size * times * asked.passes)
    sent, received = (ranks, ranks) if least is None else (least.sent(nodes, ranks), least.received(nodes, ranks))
    flows = ring_flows(network)
    if least is not None and least.rooted:
        for flow in flows[:-1]:
            add(moves, flow, size, sent * payload, received * payload)
        return
    for flow in flows:
        add(moves, flow, size, max(sent, received) * payload, 0)
