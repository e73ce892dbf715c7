"""What a screening is about: a network, a budget, what came back, and a verdict that says what it covered.

A screening measures a sample of the pairs. So its verdict has three parts: who is named, what was exercised
(``Coverage``), and which faults it would have found with which probability (``Promise``). All fields are plain data.

    asking = screen(network, budget, settings)      # railyard.verdict.blame.screening.screen
    step = next(asking)                             # a ``search.model.Step``: rounds to measure
    step = asking.send(Results(values, absent))     # … until StopIteration, whose value is a ``Screened``

``advance(network, budget, results, settings)`` replays the same from stored results, so a stored run is judged by the
same call. ``first=`` gives both a first sample that somebody else planned: a nightly one, or groups of nodes that were
tested as they came free.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from railyard.base.errors import RailyardError
from railyard.verdict.blame.search.model import Layout, Level, Value

#: What can be named. A leaf is a side of the switch in ``search``; an up-link is a cable between a leaf and a spine.
Kind = Literal["node", "rail", "gpu path", "pair", "leaf", "up-link", "all"]
#: What a promise is about: a kind of fault, without "all", which every pair shows.
FaultKind = Literal["node", "rail", "gpu path", "pair", "leaf", "up-link"]


class BudgetError(RailyardError):
    """A budget in which no sample can be measured and no suspect confirmed."""


@dataclass(frozen=True, slots=True)
class Network:
    """The nodes and what is known of what joins them.

    ``layout`` has the nodes in topology order and the leaf of each; the leaf of a node is "" if it is unknown.
    ``rails`` and ``gpus`` are the names of each node's rails and of its GPUs with their paths, in the same order on all
    nodes; () where they are not known. A value of a sample is over all of them at once. ``planes`` is true where each
    rail has leaf switches and up-links of its own. ``up_links`` is how many up-links a leaf switch has (each plane's,
    where there are several); None: not known. ``routes`` has a row a leaf (in the order of ``layout.members()``) and in
    it a number a node: the up-link by which the leaf reaches that node, -1 within the leaf; the same number is the same
    spine at each leaf. () where routes are not known. Raises ValueError for routes of another shape, or for up-links
    that are none.
    """

    layout: Layout
    rails: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    planes: bool = False
    up_links: int | None = None
    routes: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.up_links is not None and self.up_links < 1:
            raise ValueError(f"{self.up_links} up-links a leaf: at least 1")
        leaves, nodes = len(self.layout.members()), len(self.layout.nodes)
        if self.routes and (len(self.routes) != leaves or any(len(row) != nodes for row in self.routes)):
            raise ValueError(f"routes of another shape: expected {leaves} rows of {nodes} up-links, a leaf each")


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
        """Return how many rounds fit, repeats counted too, beside the start of so many steps."""
        return max(0, int((self.seconds - steps * self.step_s) / self.round_s + 1e-9))


@dataclass(frozen=True, slots=True)
class Settings:
    """How a screening is made: what is slow, how often a suspect is measured, and how much is kept in memory."""

    look_again: float = 0.04
    """A pair or node that is this much below healthy is measured again; more where the noise is wider."""
    slow: float = 0.05
    """What is this much below healthy with good partners is named."""
    leaf_slow: float = 0.10
    """The same of a leaf against other leaves, whose routes collide in any healthy fat tree too."""
    repeats: int = 7
    """Measurements of each suspect, of which the upper quartile counts; fewer where the budget is small."""
    pairs_at_most: int = 1_200_000
    """Values of the first samples together: bounds the memory (about 400 bytes a value)."""
    seed: int = 1
    """Decides which leaves and nodes meet in the first sample."""


@dataclass(frozen=True, slots=True)
class Results:
    """What a step gave. A pair without a value was not measured; a value that is None gave no result.

    ``absent`` has the nodes, by index, that were not there or went away during the step, each with the reason in words
    ("drained: …", "its job ended: …"). They stay absent, and none of their values count.
    """

    values: Iterable[Value] = ()
    absent: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Suspect:
    """Who is slow, or was suspected: ``members`` are nodes by index; of a leaf or an up-link, all nodes of its leaf.

    ``part`` is the name of the rail or GPU, or the number of the up-link if it is known. An up-link that could be
    at either end of a path has the nodes of both leaves, and ``leaves`` has their names. ``share`` is what was measured
    last, of ``expected``; ``expected`` is in the layout's unit. ``values`` is how many measurements bear it out.
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
    """How many of all there are were exercised. ``basis`` says in words how it is known.

    ``all`` is None where nobody knows how many there are; ``used`` is then 0. Where routes are not known ``used`` is an
    expected number, by the model that ``basis`` states.
    """

    used: float
    all: int | None
    basis: str

    @property
    def share(self) -> float | None:
        """Return the share, None where it is not known."""
        return None if self.all is None else self.used / self.all if self.all else 0.0


@dataclass(frozen=True, slots=True)
class NotMeasured:
    """A node that no value is of, and why."""

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
    """How probable it is that these steps would have named one fault of a class, had there been one.

    ``share`` is what the fault leaves of the healthy rate (of up-links, of a leaf); 0: it carries nothing. The place of
    the fault is drawn at random over all that there are, also over what was not measured. ``basis`` says what the
    probability depends on. None: nothing of this class was looked at, and ``basis`` says why.
    """

    kind: FaultKind
    share: float
    probability: float | None
    basis: str


@dataclass(frozen=True, slots=True)
class Screened:
    """A verdict of a screening. ``named`` empty does not mean that there is no fault: see ``promises``.

    ``not_looked_at`` has what this screening could not see, a sentence each. ``rounds`` were run, repeats counted too,
    of the ``rounds_allowed`` that the budget has; ``measurements`` are values.
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
