"""A simulated fat tree with noise and planted faults that measures the steps of a search: there is no network.

It has two levels: leaves of ``leaf`` nodes, and as many spines as a leaf has nodes, divided by ``blocking``. Routes are
static, with one up-link from a leaf to each spine. Flows of one round that share a link share its rate evenly, and a
pair gets the least of its links. Both directions run one after the other, and the slower one counts.

Noise puts a value *below* or about what the links give. It has four parts: a lognormal body (``body``, relative
standard deviation); each node's own rate (``node``, drawn once); a heavy tail in a share ``hiccups`` of all values (the
time grows by ``tail`` times a Pareto variate of index 1.5, whose variance is infinite); and in each step one node in a
hundred that is disturbed during a twentieth of the rounds (0.3 to 0.8 of its rate).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from railyard.verdict.blame.search.model import Layout, Pair, Step, Value

#: Rounds whose loads are counted at once: bounds the memory of a thousand nodes' links.
_CHUNK = 512
_INDEX, _STRETCH, _DISTURBED = 1.5, 0.05, 0.01

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tree:
    """The fat tree: ``routes`` by destination (d-mod-k) keep shifts apart, random ones collide at any order."""

    nodes: int = 1024
    leaf: int = 32
    blocking: int = 1
    routes: Literal["destination", "random"] = "destination"
    rate_mb_s: float = 12_000.0

    def layout(self, sides_known: bool = True) -> Layout:
        """Return its nodes and leaves by name."""
        names = tuple(f"n{node:04d}" for node in range(self.nodes))
        return Layout(names, tuple(f"leaf{node // self.leaf:02d}" for node in range(self.nodes)) if sides_known else ())


@dataclass(frozen=True, slots=True)
class Noise:
    """How much values differ; the module's docstring says of what.

    ``recorded`` has factors that real measurements showed: each value then takes one of them in place of the body and
    the tail, and no node is disturbed.
    """

    body: float = 0.015
    node: float = 0.005
    hiccups: float = 0.02
    tail: float = 0.2
    recorded: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class Faults:
    """The planted faults: shares of the healthy rate by node and pair, of up-links left by leaf, of a cable's rate.

    A cable goes from a leaf to a spine and has both directions.
    """

    nodes: Mapping[int, float] = field(default_factory=dict)
    pairs: Mapping[Pair, float] = field(default_factory=dict)
    sides: Mapping[int, float] = field(default_factory=dict)
    cables: Mapping[tuple[int, int], float] = field(default_factory=dict)


class Plane:
    """The leaves, up-links and static routes of one draw: what they leave of the rate of each flow of a round."""

    def __init__(self, tree: Tree, faults: Faults, draw: np.random.Generator) -> None:
        self.leaf: Ints = np.arange(tree.nodes) // tree.leaf
        spines = max(1, tree.leaf // tree.blocking)
        leaves = int(self.leaf[-1]) + 1
        self.capacity = np.ones((leaves, spines))
        for (leaf, spine), share in faults.cables.items():
            self.capacity[leaf, spine] = share
        #: The spine by leaf and destination.
        self.routes = self._route_table(tree, leaves, spines, faults, draw)

    def _route_table(self, tree: Tree, leaves: int, spines: int, faults: Faults, draw: np.random.Generator) -> Ints:
        """Return the spine by leaf and destination; what is left of a faulty side's up-links takes all its routes."""
        count = tree.nodes
        destinations = np.broadcast_to(np.arange(count), (leaves, count))
        drawn = draw.integers(0, 1 << 30, (leaves, count)) if tree.routes == "random" else destinations
        table: Ints = (drawn % spines).astype(np.int64)
        for leaf, share in faults.sides.items():
            left = max(1, round(spines * share))
            table[leaf] %= left
            table[:, self.leaf == leaf] %= left
        return table

    def link_shares(self, source: Ints, target: Ints, number: Ints) -> Floats:
        """Return what the links of each flow leave it, as a share of the rate."""
        leaves, spines = self.capacity.shape
        out = np.full(len(source), np.inf)
        far = np.flatnonzero(self.leaf[source] != self.leaf[target])
        rounds = int(number[-1]) + 1
        for start in range(0, rounds, _CHUNK):
            part = far[np.searchsorted(number[far], start) : np.searchsorted(number[far], start + _CHUNK)]
            up, down = self.leaf[source[part]], self.leaf[target[part]]
            spine = self.routes[up, target[part]]
            for leaf in (up, down):
                link = ((number[part] - start) * leaves + leaf) * spines + spine
                load = np.bincount(link)[link]
                out[part] = np.minimum(out[part], self.capacity[leaf, spine] / load)
        return out


class SimulatedNetwork:
    """One network of one draw: routes and node rates are drawn once, noise with every value."""

    def __init__(self, tree: Tree, faults: Faults, seed: int, noise: Noise = Noise()) -> None:
        self.tree, self.noise = tree, noise
        self._draw = np.random.default_rng(seed)
        self._plane = Plane(tree, faults, self._draw)
        self._rate = np.exp(-np.abs(self._draw.normal(0, noise.node, tree.nodes)))
        for node, share in faults.nodes.items():
            self._rate[node] *= share
        self._pairs = {(a * tree.nodes + b): share for (a, b), share in faults.pairs.items()}

    def measure(self, step: Step) -> list[Value]:
        """Return a value a pair and repeat, as a job would."""
        a, b, number = flat(step)
        values = []
        for _ in range(step.repeats):
            disturbed = disturbances(self._draw, self.noise, self.tree.nodes, a, b, number)
            both = [self._one_way(*way, number) * disturbed for way in ((a, b), (b, a))]
            rates = (np.minimum(*both) * self.tree.rate_mb_s).tolist()
            values += list(zip(a.tolist(), b.tolist(), rates, strict=True))
        return values

    def _one_way(self, source: Ints, target: Ints, number: Ints) -> Floats:
        shares: Floats = np.minimum(self._rate[source], self._rate[target]) * self._noise(len(source))
        shares = np.minimum(
            shares, self._plane.link_shares(source, target, number) * self._noise(len(source), tail=False)
        )
        if self._pairs:
            low, high = np.minimum(source, target), np.maximum(source, target)
            keys = low * self.tree.nodes + high
            for key, share in self._pairs.items():
                shares[keys == key] *= share
        return shares

    def _noise(self, count: int, tail: bool = True) -> Floats:
        return noisy(self._draw, self.noise, count, tail)


def noisy(draw: np.random.Generator, noise: Noise, count: int, tail: bool = True) -> Floats:
    """Return factors of ``count`` values, drawn each on its own; without ``tail`` the body alone."""
    if noise.recorded:
        return draw.choice(noise.recorded, count) if tail else np.ones(count)
    values: Floats = np.exp(draw.normal(0, noise.body, count))
    if tail:
        hit = np.flatnonzero(draw.random(count) < noise.hiccups)
        values[hit] /= 1 + noise.tail * (1 + draw.pareto(_INDEX, len(hit)))
    return values


def disturbances(draw: np.random.Generator, noise: Noise, nodes: int, a: Ints, b: Ints, number: Ints) -> Floats:
    """Return the factor of each pair by nodes that something else keeps busy for a while."""
    factors = np.ones(len(a))
    if noise.hiccups == 0 or noise.recorded:
        return factors
    rounds = int(number[-1]) + 1
    for node in np.flatnonzero(draw.random(nodes) < _DISTURBED):
        start = draw.integers(0, rounds)
        window = slice(
            int(np.searchsorted(number, start)), int(np.searchsorted(number, start + max(1, int(_STRETCH * rounds))))
        )
        hit = (a[window] == node) | (b[window] == node)
        factors[window][hit] *= draw.uniform(0.3, 0.8)
    return factors


def flat(step: Step) -> tuple[Ints, Ints, Ints]:
    """Return the pairs of a step as two arrays, and the number of each one's round."""
    pairs = np.array([pair for each in step.rounds for pair in each], dtype=np.int64)
    lengths = [len(each) for each in step.rounds]
    return pairs[:, 0], pairs[:, 1], np.repeat(np.arange(len(lengths)), lengths)
