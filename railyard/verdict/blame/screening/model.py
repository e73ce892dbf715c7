"""The types of a screening: a network, a budget, what came back, and a verdict that says what it covered.

A screening measures a sample of the pairs. So its verdict has three parts: who is named, what was exercised
(``Coverage``), and which faults it would have found with which probability (``Promise``). All fields are plain data.

    asking = screen(network, budget, settings)      # railyard.verdict.blame.screening.screen
    step = next(asking)                             # a ``search.model.Step``: rounds to measure
    step = asking.send(Results(values, absent))     # … until StopIteration, whose value is a ``ScreeningVerdict``

``advance(network, budget, results, settings)`` replays the same from stored results, so the same call judges a stored
run. Both take ``first=``, a first sample that was planned elsewhere: a nightly one, or groups of nodes that were tested
as they came free.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from railyard.base.errors import RailyardError
from railyard.verdict.blame.search.model import Layout, Level, Value

#: What can be named. A leaf is a side of the switch in ``search``; an up-link is a cable between a leaf and a spine; a
#: group is named for its links to other groups, a path for what is between two groups.
Kind = Literal["node", "rail", "gpu path", "pair", "leaf", "up-link", "group", "path", "all"]
#: What a promise is about: a kind of fault, without "all", which every pair shows, "group" and "path".
FaultKind = Literal["node", "rail", "gpu path", "pair", "leaf", "up-link"]


class BudgetError(RailyardError):
    """A budget in which no sample can be measured and no suspect confirmed."""


@dataclass(frozen=True, slots=True)
class Network:
    """The nodes and what is known of what joins them.

    ``layout`` has the nodes in topology order and the leaf of each; a node whose leaf is "" has no known leaf.
    ``rails`` and ``gpus`` are the names of each node's rails and of its GPUs with their paths, in the same order on all
    nodes; () if not known. A value of a sample is over all of them at once. ``planes`` is true if each rail has its own
    leaf switches and up-links. ``up_links`` is how many up-links a leaf switch has (in each plane, if there are
    several); None: not known. ``routes`` has one row per leaf (in the order of ``layout.members()``) with one number
    per node: the up-link by which the leaf reaches that node, -1 within the leaf; the same number is the same spine at
    each leaf. () if routes are not known. Raises ValueError for routes of another shape, or for a number of up-links
    below 1.
    """

    layout: Layout
    rails: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    planes: bool = False
    up_links: int | None = None
    routes: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.up_links is not None and self.up_links < 1:
            raise ValueError(f"{self.up_links} up-links per leaf: expected at least 1")
        leaves, nodes = len(self.layout.members()), len(self.layout.nodes)
        if self.routes and (len(self.routes) != leaves or any(len(row) != nodes for row in self.routes)):
            raise ValueError(f"routes of another shape: expected {leaves} rows of {nodes} up-links, one row per leaf")


@dataclass(frozen=True, slots=True)
class Budget:
    """How long all steps may take together, one round of them, and the start of each step, all in seconds."""

    seconds: float
    round_s: float
    step_s: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.seconds < math.inf and 0 < self.round_s < math.inf and 0 <= self.step_s < math.inf):
            raise ValueError(
                f"{self.seconds} s in rounds of {self.round_s} s and steps of {self.step_s} s: expected numbers above 0"
            )

    def rounds(self, steps: int) -> int:
        """Return how many rounds fit, including repeats, besides the start of this many steps."""
        return max(0, int((self.seconds - steps * self.step_s) / self.round_s + 1e-9))


@dataclass(frozen=True, slots=True)
class Settings:
    """How a screening works: what is slow, how often a suspect is measured, and how much is kept in memory."""

    look_again: float = 0.04
    """A pair or node that is this much below healthy is measured again; more if the noise is wider."""
    slow: float = 0.05
    """What is this much below healthy with good partners is named."""
    leaf_slow: float = 0.10
    """The same for a leaf against other leaves: their routes also collide in a healthy fat tree."""
    repeats: int = 7
    """Measurements of each suspect. The upper quartile counts; there are fewer if the budget is small."""
    pairs_at_most: int = 1_200_000
    """Values of the first samples together: limits the memory (about 400 bytes per value)."""
    seed: int = 1
    """Decides which leaves and nodes meet in the first sample."""


@dataclass(frozen=True, slots=True)
class Results:
    """What a step gave. A pair without a value was not measured; a value of None means no result.

    ``absent`` has the nodes, by index, that were not there or went away during the step, each with the reason in words
    ("drained: …", "its job ended: …"). They stay absent, and none of their values count.
    """

    values: Iterable[Value] = ()
    absent: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Suspect:
    """Who is slow, or was suspected: ``members`` are nodes by index; of a leaf or an up-link, all nodes of its leaf.

    ``part`` is the name of the rail or GPU, or the number of an up-link, if known. An up-link that could be at either
    end of a path has the nodes of both leaves, and ``leaves`` has their names. ``share`` is the share of ``expected``
    that was measured last; ``expected`` is in the layout's unit. ``values`` is how many measurements confirm it.
    """

    kind: Kind
    members: tuple[int, ...]
    share: float
    expected: float
    reason: str
    part: str | None = None
    leaves: tuple[str, ...] = ()
    values: int = 0


@dataclass(frozen=True, slots=True)
class Share:
    """How many of all were exercised. ``basis`` says in words how this is known.

    ``all`` is None if it is not known how many there are; ``used`` is then 0. If routes are not known, ``used`` is an
    expected number, by the model in ``basis``.
    """

    used: float
    all: int | None
    basis: str

    @property
    def share(self) -> float | None:
        """Return the share, None if not known."""
        return None if self.all is None else self.used / self.all if self.all else 0.0


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """A node without a value, and why."""

    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was exercised at least once with a result: pairs, pairs of leaves, up-links, and rails of nodes.

    ``partners`` is the median number of different partners a node had. ``not_measured`` are the nodes without a value.
    """

    nodes: Share
    pairs: Share
    leaf_pairs: Share
    up_links: Share
    rails: Share
    partners: float
    not_measured: tuple[NotMeasured, ...]


@dataclass(frozen=True, slots=True)
class Promise:
    """How probable it is that these steps would have named one fault of a class, if there had been one.

    ``share`` is what the fault leaves of the healthy rate (for a leaf, of its up-links); 0: it carries nothing. The
    place of the fault is drawn at random over all places, even those that were not measured. ``basis`` says what the
    probability depends on. None: nothing of this class was looked at, and ``basis`` says why.
    """

    kind: FaultKind
    share: float
    probability: float | None
    basis: str


@dataclass(frozen=True, slots=True)
class ScreeningVerdict:
    """A verdict of a screening. ``named`` empty does not mean that there is no fault: see ``promises``.

    ``not_looked_at`` has what this screening could not see, one sentence for each. ``rounds`` were run, including
    repeats, of the ``rounds_allowed`` that the budget has; ``measurements`` is the number of values.
    ``rest`` is the sentence without those who are named or undecided; ``undecided`` says who is, and why the first of
    them, empty if nobody is. ``shared`` is how many suspects were good while all others rested: they share links with
    nodes of other leaves, so the leaves may not be those of the network.
    """

    named: tuple[Suspect, ...]
    cleared: tuple[Suspect, ...]
    unclear: tuple[Suspect, ...]
    levels: tuple[Level, ...]
    steps: tuple[str, ...]
    coverage: Coverage
    promises: tuple[Promise, ...]
    not_looked_at: tuple[str, ...]
    rounds: int
    rounds_allowed: int
    measurements: int
    sentence: str
    rest: str
    undecided: str = ""
    shared: int = 0
