"""Every kind of fault planted in a simulated network of nodes with rails, and what a screening makes of them."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from railyard.verdict.blame.screening.model import Budget, Kind, Network, Results, ScreeningVerdict, Settings, Suspect
from railyard.verdict.blame.screening.screen import screen
from railyard.verdict.blame.search.model import Pair, Step
from tests.made.fat_tree import Noise, Tree
from tests.made.simulated_rails import HEAVY, Nodes, RailNetwork, Sick

_USUAL = Settings()


@dataclass(frozen=True, slots=True)
class Fault:
    """One planted fault: its kind, the share that it leaves, and who it is: nodes, the part, or the leaf by name."""

    kind: Kind
    share: float
    members: tuple[int, ...]
    part: str | None = None
    leaf: str | None = None

    @property
    def what(self) -> str:
        """Return its class: ``node 0.9``."""
        return f"{self.kind} {self.share:g}"


@dataclass(frozen=True, slots=True)
class FaultCounts:
    """How many faults of each class are planted, by share, at places that a seed draws."""

    nodes: Mapping[float, int] = field(default_factory=dict)
    rails: Mapping[float, int] = field(default_factory=dict)
    gpus: Mapping[float, int] = field(default_factory=dict)
    pairs: Mapping[float, int] = field(default_factory=dict)
    leaves: Mapping[float, int] = field(default_factory=dict)
    up_links: Mapping[float, int] = field(default_factory=dict)
    absent: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a screening made of planted faults. ``found`` are named or undecided, ``named`` by kind and place."""

    verdict: ScreeningVerdict
    planted: tuple[Fault, ...]
    found: frozenset[Fault]
    named: frozenset[Fault]
    false: tuple[Suspect, ...]


def plant(tree: Tree, nodes: Nodes, wanted: FaultCounts, seed: int) -> tuple[Sick, tuple[Fault, ...]]:
    """Return faults at drawn places, each node, leaf and pair of its own, and who should be named for them."""
    draw = random.Random(seed)
    leaves = tree.nodes // tree.leaf
    names = draw.sample(range(leaves), sum(wanted.leaves.values()) + sum(wanted.up_links.values()))
    places = draw.sample(range(tree.nodes), _count(wanted))
    faults: list[Fault] = []
    sick_nodes = {node: _note(faults, "node", share, (node,)) for share, node in _each(wanted.nodes, places)}
    rails = {
        (node, rail): _note(faults, "rail", share, (node,), f"rail{rail}")
        for share, node in _each(wanted.rails, places)
        for rail in [draw.randrange(nodes.rails)]
    }
    gpus = {
        (node, gpu): _note(faults, "gpu path", share, (node,), f"gpu{gpu}")
        for share, node in _each(wanted.gpus, places)
        for gpu in [draw.randrange(nodes.rails)]
    }
    pairs: dict[Pair, float] = {}
    for share, node in _each(wanted.pairs, places):
        other = places.pop()
        pair = (min(node, other), max(node, other))
        pairs[pair] = _note(faults, "pair", share, pair)
    sick_leaves = {
        leaf: _note(faults, "leaf", share, (), leaf=f"leaf{leaf:02d}") for share, leaf in _each(wanted.leaves, names)
    }
    planes = nodes.rails if nodes.planes else 1
    up_links = {
        (draw.randrange(planes), leaf, draw.randrange(tree.leaf // tree.blocking)): _note(
            faults, "up-link", share, (), leaf=f"leaf{leaf:02d}"
        )
        for share, leaf in _each(wanted.up_links, names)
    }
    absent = frozenset(places.pop() for _ in range(wanted.absent))
    return Sick(sick_nodes, rails, gpus, pairs, sick_leaves, up_links, absent), tuple(faults)


def play(
    network: Network,
    simulated: RailNetwork,
    faults: Iterable[Fault],
    budget: Budget,
    settings: Settings = _USUAL,
    first: Step | None = None,
) -> Outcome:
    """Return what a screening makes of a simulated network, and who of the planted faults it found."""
    asking = screen(network, budget, settings, first, simulated.absent_nodes())
    given: Results | None = None
    while True:
        try:
            step = asking.send(given) if given is not None else next(asking)
        except StopIteration as end:
            verdict: ScreeningVerdict = end.value
            break
        given = simulated.measure(step)
    planted = tuple(faults)
    named = frozenset(one for one in planted if any(_names(suspect, one) for suspect in verdict.named))
    seen = (*verdict.named, *verdict.unclear)
    found = named | {one for one in planted if any(_points_to(suspect, one) for suspect in seen)}
    false = tuple(suspect for suspect in verdict.named if not any(_right(suspect, one) for one in planted))
    return Outcome(verdict, planted, frozenset(found), named, false)


def faulty_network(
    tree: Tree, nodes: Nodes, wanted: FaultCounts, seed: int, noise: Noise = HEAVY
) -> tuple[RailNetwork, tuple[Fault, ...]]:
    """Return a network with planted faults."""
    sick, faults = plant(tree, nodes, wanted, seed)
    return RailNetwork(tree, nodes, sick, seed, noise), faults


def _names(suspect: Suspect, fault: Fault) -> bool:
    """Return whether a suspect names a fault by its kind and its place."""
    if suspect.kind != fault.kind:
        return False
    if fault.leaf is not None:
        return fault.leaf in suspect.leaves
    return suspect.members == fault.members and (fault.part is None or suspect.part == fault.part)


def _points_to(suspect: Suspect, fault: Fault) -> bool:
    """Return whether somebody who looks at a suspect finds the fault there."""
    if fault.leaf is not None:
        return fault.leaf in suspect.leaves
    if fault.kind == "pair":
        return suspect.kind == "pair" and suspect.members == fault.members
    return suspect.kind in ("node", "rail", "gpu path") and suspect.members == fault.members


def _right(suspect: Suspect, fault: Fault) -> bool:
    """Return whether a named suspect is right about a fault, if with a coarser kind: a node for its rail."""
    coarser = {"node": ("rail", "gpu path"), "leaf": ("up-link",)}
    if fault.leaf is not None:
        return fault.leaf in suspect.leaves and fault.kind in (suspect.kind, *coarser.get(suspect.kind, ()))
    if suspect.members != fault.members:
        return False
    if suspect.kind == fault.kind:
        return fault.part is None or suspect.part == fault.part
    return fault.kind in coarser.get(suspect.kind, ())


def _note(
    faults: list[Fault],
    kind: Kind,
    share: float,
    members: tuple[int, ...],
    part: str | None = None,
    leaf: str | None = None,
) -> float:
    faults.append(Fault(kind, share, members, part, leaf))
    return share


def _each(wanted: Mapping[float, int], places: list[int]) -> list[tuple[float, int]]:
    return [(share, places.pop()) for share, count in wanted.items() for _ in range(count)]


def _count(wanted: FaultCounts) -> int:
    single = (wanted.nodes, wanted.rails, wanted.gpus)
    return sum(sum(each.values()) for each in single) + 2 * sum(wanted.pairs.values()) + wanted.absent
