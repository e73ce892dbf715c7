"""What a search for slow pairs is about: the nodes in their order, what to measure next, and what was found."""

from collections.abc import Iterator
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
