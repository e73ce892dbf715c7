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
    """How much values differ; the module's docstring explains the parts."""

    body: float = 0.015
    node: float = 0.005
    hiccups: float = 0.02
    tail: float = 0.2


@dataclass(frozen=True, slots=True)
class Faults:
    """The planted faults: shares of the healthy rate by node and pair, of up-links left by leaf, of a cable's rate.

    A cable goes from a leaf to a spine and has both directions.
    """

    nodes: Mapping[int, float] = field(default_factory=dict)
    pairs: Mapping[Pair, float] = field(default_factory=dict)
    sides: Mapping[int, float] = field(default_factory=dict)
    cables: Mapping[tuple[int, int], float] = field(default_factory=dict)


class Simulated:
    """One network of one draw: routes and node rates are drawn once, noise with every value."""

    def __init__(self, tree: Tree, faults: Faults, seed: int, noise: Noise = Noise()) -> None:
        self.tree, self.noise = tree, noise
        self._draw = np.random.default_rng(seed)
        self._leaf = np.arange(tree.nodes) // tree.leaf
        spines = max(1, tree.leaf // tree.blocking)
        leaves = int(self._leaf[-1]) + 1
        self._capacity = np.ones((leaves, spines))
        for (leaf, spine), share in faults.cables.items():
            self._capacity[leaf, spine] = share
        self._routes = self._routed(leaves, spines, faults)
        self._rate = np.exp(-np.abs(self._draw.normal(0, noise.node, tree.nodes)))
        for node, share in faults.nodes.items():
            self._rate[node] *= share
        self._pairs = {(a * tree.nodes + b): share for (a, b), share in faults.pairs.items()}

    def measure(self, step: Step) -> list[Value]:
        """Return one value per pair and repeat, as a job would."""
        a, b, number = _flat(step)
        values = []
        for _ in range(step.repeats):
            disturbed = self._disturbances(a, b, number, len(step.rounds))
            both = [self._one_way(*way, number) * disturbed for way in ((a, b), (b, a))]
            rates = (np.minimum(*both) * self.tree.rate_mb_s).tolist()
            values += list(zip(a.tolist(), b.tolist(), rates, strict=True))
        return values

    def _routed(self, leaves: int, spines: int, faults: Faults) -> Ints:
        """Return the spine by leaf and destination; a faulty side's remaining up-links take all its routes."""
        count = self.tree.nodes
        destinations = np.broadcast_to(np.arange(count), (leaves, count))
        random = self.tree.routes == "random"
        drawn = self._draw.integers(0, 1 << 30, (leaves, count)) if random else destinations
        table: Ints = (drawn % spines).astype(np.int64)
        for leaf, share in faults.sides.items():
            left = max(1, round(spines * share))
            table[leaf] %= left
            table[:, self._leaf == leaf] %= left
        return table

    def _one_way(self, source: Ints, target: Ints, number: Ints) -> Floats:
        shares: Floats = np.minimum(self._rate[source], self._rate[target]) * self._noise(len(source))
        shares = np.minimum(shares, self._shared(source, target, number) * self._noise(len(source), tail=False))
        if self._pairs:
            low, high = np.minimum(source, target), np.maximum(source, target)
            keys = low * self.tree.nodes + high
            for key, share in self._pairs.items():
                shares[keys == key] *= share
        return shares

    def _shared(self, source: Ints, target: Ints, number: Ints) -> Floats:
        """Return what its links leave to each flow, as a share of the rate."""
        leaves, spines = self._capacity.shape
        out = np.full(len(source), np.inf)
        far = np.flatnonzero(self._leaf[source] != self._leaf[target])
        rounds = int(number[-1]) + 1
        for start in range(0, rounds, _CHUNK):
            part = far[np.searchsorted(number[far], start) : np.searchsorted(number[far], start + _CHUNK)]
            up, down = self._leaf[source[part]], self._leaf[target[part]]
            spine = self._routes[up, target[part]]
            for leaf in (up, down):
                link = ((number[part] - start) * leaves + leaf) * spines + spine
                load = np.bincount(link)[link]
                out[part] = np.minimum(out[part], self._capacity[leaf, spine] / load)
        return out

    def _noise(self, count: int, tail: bool = True) -> Floats:
        values: Floats = np.exp(self._draw.normal(0, self.noise.body, count))
        if tail:
            hit = np.flatnonzero(self._draw.random(count) < self.noise.hiccups)
            values[hit] /= 1 + self.noise.tail * (1 + self._draw.pareto(_INDEX, len(hit)))
        return values

    def _disturbances(self, a: Ints, b: Ints, number: Ints, rounds: int) -> Floats:
        """Return the factor of each pair that comes from nodes that something else keeps busy for a while."""
        factors = np.ones(len(a))
        if self.noise.hiccups == 0:
            return factors
        for node in np.flatnonzero(self._draw.random(self.tree.nodes) < _DISTURBED):
            start = self._draw.integers(0, rounds)
            window = (number >= start) & (number < start + max(1, int(_STRETCH * rounds)))
            factors[window & ((a == node) | (b == node))] *= self._draw.uniform(0.3, 0.8)
        return factors


def _flat(step: Step) -> tuple[Ints, Ints, Ints]:
    """Return the pairs of a step as two arrays, and the round number of each pair."""
    pairs = np.array([pair for each in step.rounds for pair in each], dtype=np.int64)
    lengths = [len(each) for each in step.rounds]
    return pairs[:, 0], pairs[:, 1], np.repeat(np.arange(len(lengths)), lengths)
