"""A fat tree and a dragonfly of 64 nodes that measure the rounds of switch groups: values both ways, faults planted."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from railyard.verdict.blame.screening.model import Network
from railyard.verdict.blame.search.model import Layout, Pair, Round
from tests.made.simulated import Faults, Floats, Ints, Noise, Plane, Tree, noisy

RATE_MB_S = 12_000.0
#: Messages of 8 B per second of a pair of nodes, however they are joined.
MESSAGES = 2.5e6
QUIET = Noise(body=0.005, node=0.002, hiccups=0.0)
#: Two nodes for each up-link.
FAT_TREE = Tree(64, 8, blocking=2, rate_mb_s=RATE_MB_S)
#: Four groups of four leaf switches, with four nodes at each.
GROUPS, LEAVES_OF_GROUP, NODES_OF_LEAF = 4, 4, 4
#: A cable between two leaf switches of a group has the rate of a node; that between two groups, of so many nodes.
GLOBAL_RATE = 8.0


@dataclass(frozen=True, slots=True)
class Sick:
    """What is planted, as shares of the healthy rate: nodes, the up-links of a leaf switch, one of them, global links.

    ``cables`` are by leaf switch and spine; ``outward`` has what leaves the leaf switch, and nothing that comes in;
    ``everything`` is what all have lost.
    """

    nodes: Mapping[int, float] = field(default_factory=dict)
    leaves: Mapping[int, float] = field(default_factory=dict)
    cables: Mapping[tuple[int, int], float] = field(default_factory=dict)
    between: Mapping[Pair, float] = field(default_factory=dict)
    messages: Mapping[int, float] = field(default_factory=dict)
    everything: float = 1.0


class Dragonfly:
    """Groups whose leaf switches are all joined, with one cable of several links between two groups: minimal routes."""

    def __init__(self, sick: Sick) -> None:
        self._sick = sick
        self.leaf: Ints = np.arange(GROUPS * LEAVES_OF_GROUP * NODES_OF_LEAF) // NODES_OF_LEAF

    def shared(self, source: Ints, target: Ints, number: Ints) -> Floats:
        """Return what the links of each flow leave it, as a share of a node's rate."""
        one, other = self.leaf[source], self.leaf[target]
        out = np.full(len(source), np.inf)
        groups = [leaf // LEAVES_OF_GROUP for leaf in (one, other)]
        apart = groups[0] != groups[1]
        near = (one != other) & ~apart
        # Within a group two leaf switches have as many links as a leaf switch has nodes, so nothing is shared there.
        out[near] = 1.0
        key = (number * GROUPS + groups[0]) * GROUPS + groups[1]
        load = np.bincount(key[apart], minlength=int(key.max(initial=0)) + 1)
        for place in np.flatnonzero(apart):
            pair = (int(min(groups[0][place], groups[1][place])), int(max(groups[0][place], groups[1][place])))
            out[place] = min(1.0, GLOBAL_RATE * self._sick.between.get(pair, 1.0) / load[key[place]])
        for leaf, share in self._sick.leaves.items():
            hit = (one != other) & ((one == leaf) | (other == leaf))
            out[hit] *= share
        return out


class Measured:
    """One network of one draw. ``layout`` is what the scheduler states of it."""

    def __init__(self, kind: str, sick: Sick = Sick(), seed: int = 1, noise: Noise = QUIET) -> None:
        self._draw = np.random.default_rng(seed)
        self._sick, self._noise = sick, noise
        tree = FAT_TREE
        faults = Faults(cables=sick.cables, sides=sick.leaves)
        self._links = Plane(tree, faults, self._draw) if kind == "fat tree" else Dragonfly(sick)
        names = tuple(f"n{node:02d}" for node in range(64))
        leaves = tuple(f"{'leaf' if kind == 'fat tree' else 'sw'}{leaf:02d}" for leaf in self._links.leaf.tolist())
        groups = () if kind == "fat tree" else tuple(f"g{node // 16}" for node in range(64))
        self.layout = Layout(names, leaves, groups=groups)
        self._rate = np.exp(-np.abs(self._draw.normal(0, noise.node, 64)))
        for node, share in sick.nodes.items():
            self._rate[node] *= share

    @property
    def network(self) -> Network:
        """What a screening knows of it."""
        return Network(self.layout)

    def output(self, name: str, rounds: tuple[Round, ...], size: int = 4 << 20) -> str:
        """Return what railyard-pairs prints of these rounds; of 8 B, what their number per second leaves."""
        hosts = self.layout.nodes
        lines = [
            f"# railyard-pairs 1 {name}: {len(hosts)} ranks, {len(rounds)} rounds",
            f"# size {size} window 8 repeats 36 warm-up 1 exchanges 20 of 8 bytes",
            *(f"# rank {rank} on {host}" for rank, host in enumerate(hosts)),
            "# round first second forward_MB/s backward_MB/s latency_us",
        ]
        of_size = self._messages if size == 8 else self._streams
        for number, each in enumerate(rounds, start=1):
            a, b = (np.array(ends, dtype=np.int64) for ends in zip(*each, strict=True))
            forth, back = of_size(a, b), of_size(b, a)
            lines += [
                f"{number} {i} {j} {f:.2f} {g:.2f} 1.80"
                for i, j, f, g in zip(a.tolist(), b.tolist(), forth.tolist(), back.tolist(), strict=True)
            ]
        return "\n".join([*lines, f"# end: {sum(map(len, rounds))} pairs", ""])

    def _streams(self, a: Ints, b: Ints) -> Floats:
        share = np.minimum(self._rate[a], self._rate[b])
        share = np.minimum(share, self._links.shared(a, b, np.zeros(len(a), dtype=np.int64)))
        found: Floats = share * noisy(self._draw, self._noise, len(a)) * RATE_MB_S * self._sick.everything
        return found

    def _messages(self, a: Ints, b: Ints) -> Floats:
        rate = np.full(len(a), MESSAGES * 8 / 1e6 * self._sick.everything)
        far = self._links.leaf[a] != self._links.leaf[b]
        for leaf, share in self._sick.messages.items():
            rate[far & ((self._links.leaf[a] == leaf) | (self._links.leaf[b] == leaf))] *= share
        found: Floats = rate * noisy(self._draw, self._noise, len(a))
        return found
