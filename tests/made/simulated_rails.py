"""A made fat tree whose nodes have several rails, GPUs, and every kind of fault that a screening names.

Each rail of a node goes to the leaf switch of its own plane, or all of them to one. A stream over all rails gets the
mean of what each rail gives (``striping="sum"``: the smallest loss that a slow rail can cause), or the slowest rail
decides. The rest is as in ``simulated``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from railyard.verdict.blame.screening.model import Network, Results
from railyard.verdict.blame.search.model import Pair, Part, Step
from tests.made.fat_tree import Faults, Floats, Ints, Noise, Plane, Tree, disturbances, flat, noisy

SPREADS = Path(__file__).parents[2] / "benchmarks" / "data" / "probe-spreads.json"
#: Pareto tails and disturbed nodes, as the search over all pairs is tried with.
HEAVY = Noise()


def recorded_noise() -> Noise:
    """Return the spread of real probes of good rails on busy machines, each relative to the best of its rail."""
    loads = json.loads(SPREADS.read_text(encoding="utf-8"))["loads"]
    return Noise(recorded=tuple(value for values in loads.values() for value in values))


@dataclass(frozen=True, slots=True)
class Sick:
    """What is planted: shares of the healthy rate; of a leaf, of its up-links; 0 carries nothing.

    ``rails`` and ``gpus`` are by node and number; up-links by plane, leaf and spine, both ways. ``absent`` nodes are
    not there from the start; ``vanish`` has the number of the step in which each node goes away.
    """

    nodes: Mapping[int, float] = field(default_factory=dict)
    rails: Mapping[tuple[int, int], float] = field(default_factory=dict)
    gpus: Mapping[tuple[int, int], float] = field(default_factory=dict)
    pairs: Mapping[Pair, float] = field(default_factory=dict)
    leaves: Mapping[int, float] = field(default_factory=dict)
    up_links: Mapping[tuple[int, int, int], float] = field(default_factory=dict)
    absent: frozenset[int] = frozenset()
    vanish: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Nodes:
    """How the nodes of the tree are built."""

    rails: int = 1
    planes: bool = True
    gpus: bool = False
    striping: Literal["sum", "slowest"] = "sum"


class RailNetwork:
    """One network of one draw, which measures the steps of a screening."""

    def __init__(self, tree: Tree, nodes: Nodes, sick: Sick, seed: int, noise: Noise = HEAVY) -> None:
        self.tree, self.nodes, self.sick, self.noise = tree, nodes, sick, noise
        self._draw = np.random.default_rng(seed)
        planes = nodes.rails if nodes.planes else 1
        self.planes = tuple(Plane(tree, _faults(sick, plane), self._draw) for plane in range(planes))
        self._rail = np.exp(-np.abs(self._draw.normal(0, noise.node, tree.nodes)))[:, None] * np.ones(nodes.rails)
        for node, share in sick.nodes.items():
            self._rail[node] *= share
        for (node, rail), share in sick.rails.items():
            self._rail[node, rail] *= share
        self._gpu = np.ones((tree.nodes, nodes.rails))
        for (node, gpu), share in sick.gpus.items():
            self._gpu[node, gpu] *= share
        self._pairs = {a * tree.nodes + b: share for (a, b), share in sick.pairs.items()}
        self._steps = 0

    def network(self, routes_known: bool = False, sides_known: bool = True) -> Network:
        """Return what a site knows of it."""
        names = range(self.nodes.rails)
        return Network(
            self.tree.layout(sides_known),
            tuple(f"rail{name}" for name in names),
            tuple(f"gpu{name}" for name in names) if self.nodes.gpus else (),
            self.nodes.planes and self.nodes.rails > 1,
            max(1, self.tree.leaf // self.tree.blocking) if sides_known else None,
            self.routes() if routes_known else (),
        )

    def routes(self) -> tuple[tuple[int, ...], ...]:
        """Return the up-link of each leaf to each node, -1 within the leaf; those of the first plane."""
        table = self.planes[0].routes.copy()
        for leaf in range(len(table)):
            table[leaf, self.planes[0].leaf == leaf] = -1
        return tuple(tuple(row) for row in table.tolist())

    def absent_nodes(self) -> dict[int, str]:
        """Return the nodes that are not there from the start."""
        return dict.fromkeys(self.sick.absent, "drained: planted")

    def measure(self, step: Step) -> Results:
        """Return a value a pair and repeat, as a job would, and the nodes that went away by now."""
        gone = {node: "its job ended: planted" for node, number in self.sick.vanish.items() if number <= self._steps}
        self._steps += 1
        a, b, number = flat(step)
        rails = self._chosen_rails(step.over)
        rate = self.tree.rate_mb_s / (1 if step.over is None else self.nodes.rails)
        with_gpus = self.nodes.gpus if step.over is None else step.over.kind == "gpu path"
        values = []
        links = [self._links(*way, number, rails) for way in ((a, b), (b, a))]
        for _ in range(step.repeats):
            disturbed = disturbances(self._draw, self.noise, self.tree.nodes, a, b, number)
            ways = [self._one_way(a, b, rails, with_gpus, each) for each in links]
            shares = np.minimum(*ways) * disturbed
            for node in (*gone, *self.sick.absent):
                shares[(a == node) | (b == node)] = 0.0
            rates = [value if value > 0 else None for value in (shares * rate).tolist()]
            values += list(zip(a.tolist(), b.tolist(), rates, strict=True))
        return Results(values, gone)

    def rings(self, groups: Sequence[Sequence[int]]) -> list[float | None]:
        """Return what a collective gives each of these groups at the same time, as a share of healthy; None: nothing.

        A ring through the group's nodes in their order, out and back to the first: the slowest of its streams decides.
        """
        edges = [(node, group[(at + 1) % len(group)]) for group in groups for at, node in enumerate(group)]
        a, b = (np.array(ends, dtype=np.int64) for ends in zip(*edges, strict=True))
        number = np.zeros(len(a), dtype=np.int64)
        every = list(range(self.nodes.rails))
        shares = self._one_way(a, b, every, self.nodes.gpus, self._links(a, b, number, every), noise=False)
        shares *= disturbances(self._draw, self.noise, self.tree.nodes, a, b, number)
        ends = np.cumsum([len(group) for group in groups])
        slowest = np.array([part.min() for part in np.split(shares, ends[:-1])])
        found = slowest * noisy(self._draw, self.noise, len(groups))
        return [value if value > 0 else None for value in found.tolist()]

    def _chosen_rails(self, over: Part | None) -> list[int]:
        if over is None:
            return list(range(self.nodes.rails))
        return [int(over.name.removeprefix("rail").removeprefix("gpu"))]

    def _links(self, source: Ints, target: Ints, number: Ints, rails: list[int]) -> list[Floats]:
        """Return what the links leave each flow, of each plane that it uses."""
        planes = self.planes if len(self.planes) == 1 else [self.planes[rail] for rail in rails]
        return [plane.link_shares(source, target, number) for plane in planes]

    def _one_way(
        self, a: Ints, b: Ints, rails: list[int], with_gpus: bool, links: list[Floats], noise: bool = True
    ) -> Floats:
        shares = []
        for place, rail in enumerate(rails):
            own = self._rail[:, rail] * (self._gpu[:, rail] if with_gpus else 1.0)
            link = links[place if len(links) == len(rails) else 0]
            shares.append(np.minimum(np.minimum(own[a], own[b]), link))
        combined: Floats = np.min(shares, axis=0) if self.nodes.striping == "slowest" else np.mean(shares, axis=0)
        if noise:
            combined = combined * noisy(self._draw, self.noise, len(a))
        if self._pairs:
            keys = np.minimum(a, b) * self.tree.nodes + np.maximum(a, b)
            for key, share in self._pairs.items():
                combined[keys == key] *= share
        return combined


def _faults(sick: Sick, plane: int) -> Faults:
    """Return the faults of the network's links in one plane: a leaf that lost up-links lost them in each."""
    cables = {(leaf, spine): share for (own, leaf, spine), share in sick.up_links.items() if own == plane}
    return Faults(sides=sick.leaves, cables=cables)
