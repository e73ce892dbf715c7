"""How long a collective takes at most on healthy nodes, in its parts: starts, rails, memory of a node, adding up.

With N nodes of r ranks each, R = N r ranks, and vectors or blocks of n bytes:

    t(n) = starts + crossing / (share x rails) + passed on within a node / its memory + added up / a processor

What crosses a node's rails does not depend on how its ranks share them: an alltoall brings r x r x (N - 1) blocks to a
node, an allgather, gather or scatter r x (N - 1), a reduction or broadcast a few vectors, whatever r is. What is passed
on within a node does grow with r, and soon takes longer than the rails do. So the parts are apart: ``rails_share``
says how little of the rails' rate a run must reach, and ``slowest_part`` why.

Source of the algorithms: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations in
MPICH", International Journal of High Performance Computing Applications 19 (2005) 49-66.
"""

import math
from dataclasses import dataclass
from typing import Literal

from railyard.hardware.day_one import COPY_MB_S, EAGER_UP_TO_BYTES, Pattern, Rail, copied_us

#: Static routes leave 55 to 60 % of a full network in an exchange of all with all (T. Hoefler, T. Schneider, A.
#: Lumsdaine, IEEE Cluster 2008), and a library may copy. With one rank on each node, over RoCE four nodes reached 61 %
#: of the limit, two 34 %. Several ranks keep the rails busy: 8 ranks on two nodes reached more than one of their
#: four rails carries (Slingshot 11, Open MPI), and what static routes leave has a margin of a quarter here. With one
#: rail named of four, that run at 25 % would pass; with all four it is not judged, since the copies within its nodes
#: (``NODE_COPIES_MB_S``) leave the rails a bound of 7.8 %.
EXCHANGE_SHARE = 0.30
EXCHANGE_SHARE_OF_MANY = 0.40
MANY_RANKS = 4
#: How fast a rank adds up vectors at least: the allreduces of 4 and 8 nodes of Power9 with EDR (573 and 684 us for 1
#: MiB) are what 2 (N - 1) / N vectors take on the rails and (N - 1) / N to add up, if a rank adds up 1.75 GB/s. The
#: share of the rails leaves a margin of 21 %.
REDUCE_MB_S = 1800.0
#: What the ranks of a node copy at least, all together. 36 ranks of one node exchanged 42.3 GB in 0.373 s, 113 GB/s
#: (IMB Alltoall, two sockets with 16 channels of DDR4-3200, 410 GB/s). Nodes of the first days of FDR have a quarter of
#: that rate of memory (two sockets with 8 channels of DDR3-1600, 102 GB/s), and libraries without single copies, by
#: CMA or XPMEM, copy twice, with a margin.
NODE_COPIES_MB_S = 12_000.0
#: What a rank hands to another of its node at least, long messages, one after another: a virtual machine of 2011 did.
NODE_PAIR_MB_S = 4000.0
#: From so many nodes on, a scatter with an allgather takes the place of a tree for long vectors, and brings a node two
#: of them (MPICH: MPIR_CVAR_BCAST_MIN_PROCS). A tree of fewer has a round for each doubling.
_CUT_FROM_NODES = 8

Part = Literal["starts", "rails", "memory", "adding up"]


@dataclass(frozen=True, slots=True)
class CollectiveTime:
    """What each part of a collective takes at most, us. ``least_us``: its bytes on the rails, at their full rate."""

    starts_us: float
    rails_us: float
    memory_us: float
    adding_us: float
    least_us: float

    @property
    def longest_us(self) -> float:
        """The time that a healthy network and healthy nodes do not exceed, us."""
        return self.starts_us + self.rails_us + self.memory_us + self.adding_us

    @property
    def rails_share(self) -> float:
        """The share of what its rails carry that a run which takes this long reaches; 0 if nothing crosses."""
        return self.least_us / self.longest_us

    @property
    def slowest_part(self) -> Part:
        """The part that takes longest besides the rails; the rails if they take two thirds of the time."""
        if self.rails_us >= 2 * self.longest_us / 3:
            return "rails"
        parts: dict[Part, float] = {
            "starts": self.starts_us,
            "memory": self.memory_us,
            "adding up": self.adding_us,
        }
        return max(parts, key=lambda part: parts[part])


def time_of(rail: Rail, pattern: Pattern, size_bytes: int, nodes: int, ranks_per_node: int) -> CollectiveTime:
    """Return what a collective takes at most with messages of a size, as its benchmark counts it (of a rank, or of a
    pair of ranks, or of a whole vector).
    """
    run = _Run(rail, size_bytes, nodes, ranks_per_node)
    if pattern in ("alltoall", "allgather"):
        return _of_exchange(run, pattern)
    if pattern == "root":
        return _of_root(run)
    return _of_vector(run, pattern)


@dataclass(frozen=True, slots=True)
class _Run:
    rail: Rail
    size_bytes: int
    nodes: int
    ranks_per_node: int

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_per_node

    @property
    def rounds(self) -> int:
        """Rounds of a tree over the nodes, and over the ranks of each of them.

        Both have the start of a link: 256 nodes with 96 ranks each took 200 to 430 us for an allreduce of a few bytes
        (HDR), and leave no room for less.
        """
        return _rounds(self.nodes) + _rounds(self.ranks_per_node)

    @property
    def turn_us(self) -> float:
        return self.rail.of.start_of(self.size_bytes) + copied_us(self.size_bytes)

    def on_rails_us(self, amount_bytes: float, share: float) -> float:
        return amount_bytes / self.rail.of.within_flow(share * self.rail.all_mb_s)

    def in_memory_us(self, amount_bytes: float) -> float:
        return amount_bytes / min(self.ranks_per_node * COPY_MB_S, NODE_COPIES_MB_S)

    def passed_on_us(self, times: float) -> float:
        """Return what it takes to hand a vector from rank to rank of a node so many times.

        If a launcher deals ranks out to the nodes in turn, the neighbours are on other nodes, and it crosses instead.
        """
        if self.ranks_per_node == 1:
            return 0.0
        amount = times * self.ranks_per_node * self.size_bytes
        return max(self.in_memory_us(amount), self.on_rails_us(amount, self.rail.of.shares[2]))


def _rounds(number: int) -> int:
    return math.ceil(math.log2(number)) if number > 1 else 0


def _of_exchange(run: _Run, pattern: Pattern) -> CollectiveTime:
    """Return the time of an alltoall or allgather: R - 1 messages of each rank, whose ranks share their node's rails.

    In an alltoall, the blocks for ranks of the same node are copied within it. After an allgather each rank holds all R
    blocks, and another rank of its node may have handed on each of them.
    """
    each = run.ranks_per_node * run.size_bytes
    crossing = (run.nodes - 1) * each * (run.ranks_per_node if pattern == "alltoall" else 1)
    held = each * (run.ranks if pattern == "allgather" else run.ranks_per_node - 1)
    share = EXCHANGE_SHARE if run.ranks_per_node < MANY_RANKS else EXCHANGE_SHARE_OF_MANY
    messages = (run.ranks - 1) * (run.rail.of.cost_of(run.size_bytes) + copied_us(run.size_bytes))
    return CollectiveTime(
        starts_us=2 * max(1, run.rounds) * run.turn_us + messages,
        rails_us=run.on_rails_us(crossing, min(share, run.rail.of.shares[2])),
        memory_us=run.in_memory_us(held) if run.ranks_per_node > 1 else 0.0,
        adding_us=0.0,
        least_us=crossing / run.rail.all_mb_s,
    )


def _of_root(run: _Run) -> CollectiveTime:
    """Return the time of a gather or scatter: the root sends or receives R - 1 messages, and waits for each.

    A tool prints a mean over ranks, and in the middle the others are through after half of the root's time.
    """
    crossing = (run.ranks - run.ranks_per_node) * run.size_bytes
    return CollectiveTime(
        starts_us=2 * (run.ranks - 1) * run.turn_us,
        rails_us=run.on_rails_us(crossing, run.rail.of.shares[1]),
        memory_us=(run.ranks_per_node - 1) * run.size_bytes / NODE_PAIR_MB_S,
        adding_us=0.0,
        least_us=crossing / run.rail.all_mb_s / 2,
    )


def _of_vector(run: _Run, pattern: Pattern) -> CollectiveTime:
    """Return the time of a reduction, a broadcast, or a barrier (without bytes).

    Long vectors are cut: an allreduce is a reduce-scatter with an allgather, so 2 (N - 1) / N vectors cross, and with a
    number of nodes that is no power of two, the nodes above it send theirs and receive the result besides. The ranks of
    a node may send a part of a reduce-scatter each. Short vectors are sent whole, by each rank in each round.
    """
    size, nodes, ranks = run.size_bytes, run.nodes, run.ranks_per_node
    part, rounds = (nodes - 1) / nodes, _rounds(nodes) if nodes < _CUT_FROM_NODES else 2
    odd = 1 if nodes & (nodes - 1) else 0
    crosses, adds, hands, least = {
        "allreduce": (2 * part + 2 * odd, part + odd, 3, 2 * part),
        "reduce": (rounds, rounds, 2, 1.0),
        "reduce_scatter": (ranks * part + 2 * odd, part + odd, 2, part),
        "broadcast": (rounds, 0, 2, 1.0),
        "barrier": (0, 0, 0, 0.0),
    }[pattern]
    if adds and ranks > 1:
        adds += 1
    if size <= EAGER_UP_TO_BYTES:
        crosses, adds = max(crosses, ranks * _rounds(nodes)), run.rounds if adds else 0
    return CollectiveTime(
        starts_us=2 * max(1, run.rounds) * run.turn_us,
        rails_us=run.on_rails_us(crosses * size, run.rail.of.shares[2]),
        memory_us=run.passed_on_us(hands),
        adding_us=adds * size / REDUCE_MB_S,
        least_us=least * size / run.rail.all_mb_s,
    )
