"""A micro-benchmark's run: which rank sends to which over which rails, how long that takes, and the bytes moved."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from railyard.benchmarks.moved_bytes import MovedBytes, Repetitions, moved_at_most, moved_bytes
from railyard.benchmarks.table import micro
from railyard.provision.rehearsal import model
from railyard.provision.rehearsal.benchmark_request import BenchmarkRequest
from railyard.provision.rehearsal.crew import Crew
from railyard.provision.rehearsal.form import Fault
from railyard.provision.rehearsal.moves import Moves, Place, place_of
from railyard.provision.rehearsal.rank_ports import LibraryError, Port, RankPorts
from railyard.provision.replay.texts import IMB_VERSION, OutputPlan
from railyard.site.test_id import TestId
from railyard.stacks.model import STRIPING, tuned_name

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
        crossing = model.leaf_share(self.faults, fabric, flow.first, flow.second)
        left = [
            crossing
            * min(model.rail_share(self.faults, flow.first, a.name), model.rail_share(self.faults, flow.second, b.name))
            for a, b in flow.lanes
        ]
        return model.left_over(flow.shares(size), left)

    def waits_us(self, flow: Flow) -> float:
        """Return how long each message of a flow waits in addition, in us."""
        a, b = flow.lanes[0]
        return model.more_us(self.faults, flow.first, a.name) + model.more_us(self.faults, flow.second, b.name)

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
    noisy = times if asked.tool == "iperf3" else model.noisy(times, asked.repetitions, messages, seed)
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
    healthy = model.times(crew.site, test, sizes, split_from)
    if test.rails > 1 and flows[0].taken.split == STRIPING:
        # References for both rails say nothing about messages that one of them carries alone.
        one = model.times(crew.site, replace(test, rails=1, policy="single"), sizes)
        healthy = tuple(
            max(time, alone) if size < split_from else time
            for size, time, alone in zip(sizes, healthy, one, strict=True)
        )
    found, alike = [], Counter(flows)
    for flow in alike:
        if network.is_fallback(flow):
            found.append(model.over_tcp(healthy, sizes, test))
        else:
            shares = [network.share(flow, size) for size in sizes]
            link = crew.site.system.fabrics[test.fabric].link
            found.append(model.slow_times(healthy, shares, network.waits_us(flow), model.start_us(link, test)))
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
    moved = moved_at_most(asked.key, size, measured, asked.window, 1, warm_up, IMB_VERSION)
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
