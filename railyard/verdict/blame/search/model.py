"""What a search for slow pairs is about: the nodes in their order, what to measure next, and what was found.

All pairs of nodes in rounds of disjoint pairs, or half of them against the other half, and what they cost.

A round is a matching: no node is in two of its pairs, so each pair has the cards of its nodes for itself. But the pairs
share the network, where static routes collide: give the nodes in topology order, and thin the rounds by ``at_once``.

The bisection by the number of cables is an upper bound. What pairs reach at the same time depends on their routes. So
all shifts are measured (or some, evenly spread), and their mean is judged: the effective bisection bandwidth.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from railyard.base.errors import RailyardError
from railyard.base.wording import listing

#: Two nodes by their index in the layout, the lower first.
Pair = tuple[int, int]
#: Pairs measured at the same time: no node is in two of them.
Round = tuple[Pair, ...]
#: One measurement: both nodes, and MB/s (10^6 B/s; of two directions the smaller). None: it gave no result.
Value = tuple[int, int, float | None]

StepName = Literal[
    "rounds",
    "groups",
    "sift",
    "sides",
    "alone",
    "sample",
    "nightly",
    "again",
    "leaves",
    "suspects",
    "trace",
    "rails",
    "gpu paths",
]
Kind = Literal["node", "pair", "side", "all"]
#: A class of hops. ``across sides``: within one group, if groups are known.
Hops = Literal["all", "same side", "across sides", "other groups"]
PartKind = Literal["rail", "gpu path"]


class PairsError(RailyardError):
    """Values that are not those of the step that was asked for."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The nodes, in topology order if it is known, and the side of the switch that each is on.

    ``sides`` names each node's leaf (or the half of its chassis) in the nodes' order; () if not known. ``groups`` names
    the group of each node's leaf (of a dragonfly, or a pod); () if not known. ``expected`` is what a healthy pair gives
    by the reference, in ``unit``; None: pairs are compared with one another. Raises ValueError for fewer than two
    nodes, a node twice, and sides or groups that are not one per node.
    """

    nodes: tuple[str, ...]
    sides: tuple[str, ...] = ()
    unit: str = "MB/s"
    expected: float | None = None
    groups: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(self.nodes) < 2:
            raise ValueError(f"{len(self.nodes)} nodes: a pair needs two")
        if len(set(self.nodes)) != len(self.nodes):
            twice = next(node for node in self.nodes if self.nodes.count(node) > 1)
            raise ValueError(f"node {twice} is named twice")
        if self.sides and len(self.sides) != len(self.nodes):
            raise ValueError(f"{len(self.sides)} sides for {len(self.nodes)} nodes")
        if self.groups and not (self.sides and len(self.groups) == len(self.nodes)):
            raise ValueError(f"{len(self.groups)} groups for {len(self.nodes)} nodes on {len(self.sides)} sides")

    def members(self) -> dict[str, tuple[int, ...]]:
        """Return the nodes of each side, in the order of the sides' first nodes; {} if sides are not known."""
        found: dict[str, list[int]] = {}
        for node, side in enumerate(self.sides):
            found.setdefault(side, []).append(node)
        return {side: tuple(nodes) for side, nodes in found.items()}

    def by_groups(self) -> "Layout":
        """Return the same nodes with their groups as sides: the second level."""
        return replace(self, sides=self.groups, groups=())

    def is_far(self, a: int, b: int) -> bool:
        """True if the sides are known and the two nodes are on different ones."""
        return bool(self.sides) and self.sides[a] != self.sides[b]

    def pair(self, a: int, b: int) -> str:
        """Return the two nodes' names: ``vn1-vn2``."""
        return f"{self.nodes[a]}-{self.nodes[b]}"


@dataclass(frozen=True, slots=True)
class Settings:
    """How a search measures: how many pairs at once, how often, and at which bounds it looks again."""

    at_once: int | None = None
    """Pairs at once in the first step; None: all that a round can have."""
    look_again: float = 0.04
    """A pair or node that is this much below healthy is measured again; more if the noise is wider."""
    slow: float = 0.05
    """What is this much below healthy, alone and with two good partners, is named."""
    side_slow: float = 0.10
    """The same for a side against other sides: their routes also collide in a healthy fat tree."""
    repeats: int = 7
    """Measurements of a pair alone. The upper quartile counts: four may be disturbed."""
    alone_at_most: int = 48
    """At most this many suspected pairs are measured alone: if there are more, they are sifted first."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of every node that can carry a pair's stream alone: a rail from host memory, or a GPU with its path."""

    kind: PartKind
    name: str


@dataclass(frozen=True, slots=True)
class Step:
    """Rounds to measure one after another, and why they are wanted.

    The whole list of rounds is run ``repeats`` times, instead of repeating each round: so a disturbance of some seconds
    hits few values of one pair. ``over`` is the only part of each node that carries the step; None: all parts of the
    run.
    """

    name: StepName
    rounds: tuple[Round, ...]
    repeats: int
    why: str
    over: Part | None = None

    def pairs(self) -> Iterator[Pair]:
        """Give the pairs, round by round."""
        for each in self.rounds:
            yield from each


@dataclass(frozen=True, slots=True)
class Level:
    """What healthy pairs of one class of hops give in the rounds; ``scatter`` is their relative standard deviation."""

    hops: Hops
    value: float
    scatter: float
    pairs: int


@dataclass(frozen=True, slots=True)
class Suspect:
    """A node, a pair, a side of the switch, or all pairs of a class; ``members`` are the nodes by index.

    ``share`` is the share of ``expected`` that was measured last; ``expected`` is in the layout's unit.
    """

    kind: Kind
    members: tuple[int, ...]
    share: float
    expected: float
    reason: str


def name_of_side(layout: Layout, one: Suspect) -> str | None:
    """Return the names of the leaf switches, or the name of the group, that a side consists of; None if unknown."""
    if one.kind != "side" or not layout.sides:
        return None
    members = set(one.members)
    groups = layout.by_groups().members() if layout.groups else {}
    group = next((name for name, nodes in groups.items() if set(nodes) == members), None)
    return group or listing(list(dict.fromkeys(layout.sides[node] for node in one.members)))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Who is named, who was suspected and cleared, and who is undecided; one sentence sums up.

    ``named`` empty does not mean that there is no fault: ``unclear`` may hold one.
    """

    named: tuple[Suspect, ...]
    cleared: tuple[Suspect, ...]
    unclear: tuple[Suspect, ...]
    levels: tuple[Level, ...]
    steps: tuple[str, ...]
    sentence: str


def rounds(nodes: int, at_once: int | None = None) -> tuple[Round, ...]:
    """Return every pair of ``nodes`` nodes once: in N-1 rounds, or N if N is odd (each node then rests once).

    This is the circle method: round r pairs i with r-i modulo N-1 (N if it is odd); the node that would meet itself
    meets the last one, or rests. In topology order the nodes of a leaf follow one another, so their partners also
    follow one another: a shift of the mirrored order. This keeps up-links apart if a fat tree is routed by destination:
    k neighbouring destinations leave a leaf by k different up-links (except at the one place where the circle closes).
    With nodes in any other order, routes collide as in a random permutation, in which full-bisection networks give 55
    to 60 % (Hoefler et al. 2008).

    ``at_once`` cuts each round into parts of at most that many pairs, as far apart as possible: neighbours, whose
    routes share a leaf's up-links, are in different parts. Raises ValueError for fewer than two nodes, or for
    ``at_once`` below 1.

    Source: 1-factorisation of the complete graph, T. P. Kirkman 1847 (Cambridge and Dublin Math. J. 2), in the form of
    E. Lucas 1883 (Recreations mathematiques II); W. D. Wallis, One-Factorizations, 1997, chapter 4. Shifts on fat
    trees: E. Zahavi et al., Optimized InfiniBand fat-tree routing for shift all-to-all communication patterns,
    Concurrency and Computation 22 (2010). Collisions: T. Hoefler, T. Schneider, A. Lumsdaine, Multistage switches are
    not crossbars, IEEE Cluster 2008.
    """
    if nodes < 2:
        raise ValueError(f"{nodes} nodes have no pair")
    return tuple(part for number in range(count(nodes)) for part in _cut(matching(nodes, number), at_once))


def count(nodes: int) -> int:
    """Return how many rounds contain every pair of this many nodes once."""
    return nodes - 1 if nodes % 2 == 0 else nodes


def matching(nodes: int, number: int) -> Round:
    """Return one of the ``count(nodes)`` rounds of the circle method: the pairs of i and number-i."""
    modulus = count(nodes)
    # only the lower one of i and its partner counts, so each pair comes once
    pairs = [(i, j) for i in range(modulus) if i < (j := (number - i) % modulus)]
    if nodes % 2 == 0:
        # 2i = r modulo the odd N-1: half of r, or of r + N-1 if r is odd
        pairs.append(((number if number % 2 == 0 else number + modulus) // 2, modulus))
    return tuple(pairs)


def pack_rounds(pairs: Iterable[Pair], at_once: int | None = None) -> tuple[Round, ...]:
    """Return any pairs in rounds of disjoint ones, at most ``at_once`` in each: first fit, in the order given.

    These are not the fewest possible rounds, but at most twice the busiest node's number of pairs if ``at_once`` is
    None.
    """
    _check(at_once)
    packing = Packing(at_once)
    for pair in pairs:
        packing.place((pair,))
    return packing.rounds()


class Packing:
    """Rounds that are filled pair by pair: each pair goes into the first round in which all that it needs is free.

    ``needs`` says what a pair needs for itself besides its two nodes, such as a leaf's up-links (their numbers start at
    the number of nodes, so no node has the same number). There are at most ``most`` rounds.
    """

    def __init__(
        self, at_once: int | None = None, most: int | None = None, needs: Callable[[Pair], Sequence[int]] | None = None
    ) -> None:
        self._at_once, self._most, self._needs = at_once, most, needs
        self._made: list[list[Pair]] = []
        self._full: list[int] = []
        #: The rounds in which something is busy, as the bits of a number: the lowest zero is the first free round.
        self._busy: dict[int, int] = {}
        self._closed = 0

    def place(self, pairs: Sequence[Pair]) -> bool:
        """Place all these pairs, or none of them if they need too many rounds; True if they are placed."""
        placed: list[tuple[int, Pair, tuple[int, ...]]] = []
        for pair in pairs:
            needs = (*pair, *(self._needs(pair) if self._needs else ()))
            taken = self._closed
            for need in needs:
                taken |= self._busy.get(need, 0)
            at = (~taken & (taken + 1)).bit_length() - 1
            if self._most is not None and at >= self._most:
                for one in placed:
                    self._remove(*one)
                return False
            self._put(at, pair, needs)
            placed.append((at, pair, needs))
        return True

    def rounds(self) -> tuple[Round, ...]:
        """Return the rounds, full ones first, in the order in which they were filled."""
        full = set(self._full)
        order = (*self._full, *(at for at in range(len(self._made)) if at not in full))
        return tuple(tuple(self._made[at]) for at in order if self._made[at])

    def _put(self, at: int, pair: Pair, needs: Iterable[int]) -> None:
        while at >= len(self._made):
            self._made.append([])
        self._made[at].append(pair)
        for need in needs:
            self._busy[need] = self._busy.get(need, 0) | 1 << at
        if len(self._made[at]) == self._at_once:
            self._full.append(at)
            self._closed |= 1 << at

    def _remove(self, at: int, pair: Pair, needs: Iterable[int]) -> None:
        if len(self._made[at]) == self._at_once:
            self._full.remove(at)
            self._closed &= ~(1 << at)
        self._made[at].remove(pair)
        for need in needs:
            self._busy[need] &= ~(1 << at)


@dataclass(frozen=True, slots=True)
class Cost:
    """What steps take: rounds run one after another, pairs measured, both with repeats, and seconds."""

    rounds: int
    pairs: int
    seconds: float


def cost(steps: Iterable[Step], volume_bytes: int, rate_mb_s: float, pause_s: float) -> Cost:
    """Return what steps take if a pair moves ``volume_bytes`` each way, one way after the other, at ``rate_mb_s``.

    ``pause_s`` is the rest of a round's time: its barrier, and the slowest pair's lag behind the rate. This is a lower
    bound: a round with a pair at a tenth of the rate takes ten times as long.
    """
    count = pairs = 0
    for step in steps:
        count += len(step.rounds) * step.repeats
        pairs += sum(len(each) for each in step.rounds) * step.repeats
    return Cost(count, pairs, count * (2 * volume_bytes / (rate_mb_s * 1e6) + pause_s))


def _cut(pairs: Round, at_once: int | None) -> list[Round]:
    _check(at_once)
    if at_once is None:
        return [pairs]
    parts = -(-len(pairs) // at_once)
    return [pairs[start::parts] for start in range(parts)]


def _check(at_once: int | None) -> None:
    if at_once is not None and at_once < 1:
        raise ValueError(f"{at_once} pairs at once: at least 1")


def shifts(nodes: int, count: int | None = None) -> tuple[Round, ...]:
    """Return the shifts of the second half against the first: shift s pairs i with N/2 + (i+s) mod N/2.

    There are N/2 of them, or ``count`` evenly spread ones; with an odd number of nodes the last one rests. If the nodes
    are in topology order, all pairs of a shift cross the middle. Raises ValueError for fewer than two nodes, or no
    shift.
    """
    half = nodes // 2
    if half < 1:
        raise ValueError(f"{nodes} nodes have no two halves")
    if count is not None and count < 1:
        raise ValueError(f"{count} shifts: at least 1")
    made = min(count or half, half)
    chosen = [place * half // made for place in range(made)]
    return tuple(tuple((i, half + (i + shift) % half) for i in range(half)) for shift in chosen)
