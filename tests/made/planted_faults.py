"""Faults planted in a simulated network, and the result of a search: found, missed, or somebody else blamed."""

import random
from dataclasses import dataclass

from railyard.verdict.blame.search.model import Cost, Kind, Settings, Step, Verdict, cost
from railyard.verdict.blame.search.search import search
from tests.made.fat_tree import Faults, SimulatedNetwork, Tree

#: What identifies a suspect: its kind and its nodes.
Blame = tuple[Kind, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class Plant:
    """The planted faults of a draw: shares of the healthy rate, of remaining up-links, and of a cable's rate."""

    name: str
    nodes: tuple[float, ...] = ()
    pairs: tuple[float, ...] = ()
    sides: tuple[float, ...] = ()
    cables: tuple[float, ...] = ()


#: Draws take these in turn.
PLANTS = (
    Plant("nothing"),
    *(Plant(f"a node at {100 * share:.0f} %", nodes=(share,)) for share in (0.9, 0.75, 0.5, 0.1)),
    *(Plant(f"a pair at {100 * share:.0f} %", pairs=(share,)) for share in (0.9, 0.5)),
    Plant("a side with half its up-links", sides=(0.5,)),
    Plant("a cable at half its rate", cables=(0.5,)),
    Plant("four nodes, two pairs, a side", (0.9, 0.75, 0.5, 0.1), (0.75, 0.1), (0.5,)),
)
_USUAL = Settings()


@dataclass(frozen=True, slots=True)
class PlantedFaults:
    """Faults, and who should be named for them."""

    faults: Faults
    blame: frozenset[Blame]


@dataclass(frozen=True, slots=True)
class Outcome:
    """A search over planted faults: what was missed, what was blamed without a fault, and what the search cost."""

    verdict: Verdict
    missed: frozenset[Blame]
    false: frozenset[Blame]
    cost: Cost
    alone: int


def plant(what: Plant, tree: Tree, seed: int) -> PlantedFaults:
    """Return faults at places drawn by ``seed`` that do not touch each other; a second pair is within a leaf.

    Raises ValueError for fewer than eight leaves.
    """
    draw = random.Random(seed)
    leaves = draw.sample(range(tree.nodes // tree.leaf), 8)
    places = [leaf * tree.leaf + draw.randrange(tree.leaf) for leaf in leaves]
    nodes = dict(zip(places, what.nodes, strict=False))
    ends = [(places[4], places[5]), (places[6], places[6] ^ 1)]
    pairs = {(min(pair), max(pair)): share for pair, share in zip(ends, what.pairs, strict=False)}
    sides = dict(zip(leaves[7:], what.sides, strict=False))
    cables = {(leaves[7], draw.randrange(tree.leaf // tree.blocking)): share for share in what.cables}
    blame: set[Blame] = {("node", (node,)) for node in nodes} | {("pair", pair) for pair in pairs}
    blame |= {("side", _side(tree, leaf)) for leaf in (*sides, *(leaf for leaf, _ in cables))}
    return PlantedFaults(Faults(nodes, pairs, sides, cables), frozenset(blame))


def play(tree: Tree, planted: PlantedFaults, seed: int, settings: Settings = _USUAL) -> Outcome:
    """Return the result of a search with known sides on a simulated network; 16 MiB per pair each way, 2 ms a round."""
    network = SimulatedNetwork(tree, planted.faults, seed)
    asking = search(tree.layout(), settings)
    costs: list[Cost] = []
    alone = 0
    step: Step = next(asking)
    while True:
        costs.append(cost([step], 16 << 20, tree.rate_mb_s, 0.002))
        alone += len(step.rounds) if step.name == "alone" else 0
        try:
            step = asking.send(network.measure(step))
        except StopIteration as end:
            verdict: Verdict = end.value
            break
    named: frozenset[Blame] = frozenset((one.kind, one.members) for one in verdict.named)
    total = Cost(*(sum(getattr(each, name) for each in costs) for name in ("rounds", "pairs", "seconds")))
    return Outcome(verdict, planted.blame - named, named - planted.blame, total, alone)


def _side(tree: Tree, leaf: int) -> tuple[int, ...]:
    return tuple(range(leaf * tree.leaf, (leaf + 1) * tree.leaf))
