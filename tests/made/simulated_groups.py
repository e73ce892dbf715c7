"""A fat tree and a dragonfly of 64 nodes that measure the rounds of switch groups: values both ways, faults planted."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from railyard.parsers.pairs import parse
from railyard.site.references.load import References
from railyard.site.site import Site
from railyard.site.systems.load import load_system
from railyard.site.topology import places_in_job, places_of
from railyard.verdict.assess import Assessment, assess
from railyard.verdict.blame.node_pair_sample import network_of, next_step
from railyard.verdict.blame.screening.model import Budget, ScreeningVerdict
from railyard.verdict.blame.search.model import Pair, Round
from railyard.verdict.node_pairs import SampleOrigin
from railyard.verdict.switch_groups import (
    SwitchesKnown,
    certainty_of,
    plan,
    say_places,
    short_messages,
    stated_up_links,
    with_switch_groups,
)
from tests.made.fat_tree import Faults, Floats, Ints, Noise, Plane, Tree, noisy
from tests.made.judged_run import TODAY, case_of
from tests.made.large_cluster import (
    EXCHANGES,
    RAIL_MB_S,
    REPEATS,
    SIZE,
    WARM_UP,
    WINDOW,
    Shape,
    evidence_of,
    made_site,
)

#: MB/s of a healthy pair: what noise adds stays possible.
PAIR_MB_S = 0.94 * RAIL_MB_S
#: Messages of 8 B per second of a pair of nodes, however they are joined.
MESSAGES = 2.5e6
QUIET = Noise(body=0.005, node=0.002, hiccups=0.0)
FAT_TREE, DRAGONFLY = "fat tree", "dragonfly"
NODES, GROUPS, LEAVES_OF_GROUP = 64, 4, 4
SHAPES = {FAT_TREE: Shape(NODES, rails=1, leaf=8), DRAGONFLY: Shape(NODES, rails=1, leaf=4)}
#: Two nodes for each up-link.
TREE = Tree(NODES, 8, blocking=2)
#: A cable between two leaf switches of a group has the rate of a node; that between two groups, of so many nodes.
GLOBAL_RATE = 8.0


@dataclass(frozen=True, slots=True)
class Sick:
    """What is planted, as shares of the healthy rate: nodes, the up-links of a leaf switch, one of them, global links.

    ``cables`` are by leaf switch and spine, ``messages`` short ones by leaf switch; ``everything`` is what all give.
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
        self.leaf: Ints = np.arange(NODES) // SHAPES[DRAGONFLY].leaf

    def link_shares(self, source: Ints, target: Ints, number: Ints) -> Floats:
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


def made_site_of(folder: Path, kind: str, stated: str = "", wrong: Shape | None = None) -> Site:
    """Return the site of such a network; ``stated`` are more lines of its fabric, such as its up-links.

    ``wrong`` has the leaf switches that its file states, if these are not those of the network.
    """
    shape = wrong or SHAPES[kind]
    made_site(folder, shape)
    file = folder / "systems" / "large.yaml"
    if kind == DRAGONFLY:
        groups = [f'g{group}: "leaf[{4 * group + 1:03}-{4 * group + 4:03}]"' for group in range(GROUPS)]
        stated += f"    groups: {{{', '.join(groups)}}}\n    network: dragonfly\n"
    text = file.read_text(encoding="utf-8").replace("    rails:\n", f"{stated}    rails:\n", 1)
    file.write_text(text, encoding="utf-8")
    system = load_system(file)
    return Site(folder, system, References(system))


@dataclass(frozen=True, slots=True)
class PlayedRun:
    """The assessment of a run on such a network, and how many rounds each of its steps had."""

    found: Assessment
    steps: tuple[tuple[str, int], ...]

    @property
    def blamed_parts(self) -> list[tuple[str, str | None, str | None]]:
        """Who is named: kind, node and part; those that are undecided are left out."""
        shown = [one for one in self.found.verdict.suspects if one.confidence != "open"]
        return [(one.kind, one.node, one.part) for one in shown]


def play(
    folder: Path, kind: str, sick: Sick | None = None, *, seed: int = 1, noise: Noise | None = None,
    stated: str = "", live: str = "", edit: Callable[[str], str] = str, short: Callable[[str], str] = str,
    wrong: Shape | None = None,
) -> PlayedRun:  # fmt: skip
    """Return what all the steps of a run give: plan, rounds, what the screening asks for, short messages, verdict.

    ``edit`` and ``short`` change the outputs of all streams, and that of short messages, as a fault would.
    """
    site, network = (
        made_site_of(folder, kind, stated, wrong),
        MeasuredNetwork(kind, sick or Sick(), seed, noise or QUIET),
    )
    names, fabric = SHAPES[kind].names, site.system.fabrics["ndr"]
    stated_places = places_of(folder, site.system, "ndr", fabric.rails)
    inside = places_in_job(stated_places, live, "live-switches.txt", names)
    known = network_of(names, inside.places, None, (), fabric.up_links)
    budget, first = Budget(190.0, 1.0), plan(known)
    texts = [edit(network.output("groups", first.rounds))]
    steps = [("groups", len(first.rounds))]
    while True:
        tables = [parse(text).tables[0] for text in texts]
        step = next_step(tables, known, budget, planned_here=False)
        if isinstance(step, ScreeningVerdict):
            break
        rounds = step.rounds * step.repeats
        steps.append((step.name, len(rounds)))
        texts.append(edit(network.output("sample" if step.name == "sample" else "alone", rounds)))
    case = case_of(
        site, "pairs/groups", stack="openmpi", rails=1, fabric="ndr", check="SwitchGroups", window=WINDOW,
        launch={"nodes": names}, time_limit_s=900,
    )  # fmt: skip
    evidence = evidence_of(SHAPES[kind], first.rounds)
    found = assess(case, replace(evidence, stdout=texts[0], again=tuple(texts[1:])), parse, TODAY)
    limit = fabric.limit(1, 1)
    bound = stated_up_links(fabric, "ndr", fabric.rails, None if limit is None else limit.value_mb_s)
    origin = SampleOrigin("switch groups", budget, planned_here=False)
    switches = SwitchesKnown(inside.places, fabric.up_links, bound, say_places(inside), certainty_of(inside))
    messages = short_messages(short(network.output("groups", first.rounds, 8)))
    return PlayedRun(with_switch_groups(found, origin, switches, messages), tuple(steps))


class MeasuredNetwork:
    """One network of one draw."""

    def __init__(self, kind: str, sick: Sick = Sick(), seed: int = 1, noise: Noise = QUIET) -> None:
        self._draw = np.random.default_rng(seed)
        self._sick, self._noise = sick, noise
        faults = Faults(cables=sick.cables, sides=sick.leaves)
        self._links = Plane(TREE, faults, self._draw) if kind == FAT_TREE else Dragonfly(sick)
        self._names = SHAPES[kind].names
        self._rate = np.exp(-np.abs(self._draw.normal(0, noise.node, NODES)))
        for node, share in sick.nodes.items():
            self._rate[node] *= share

    def output(self, name: str, rounds: Sequence[Round], size: int = SIZE) -> str:
        """Return what railyard-pairs prints of these rounds; of 8 B, what their number per second leaves."""
        hosts = self._names
        lines = [
            f"# railyard-pairs 1 {name}: {len(hosts)} ranks, {len(rounds)} rounds",
            f"# size {size} window {WINDOW} repeats {REPEATS} warm-up {WARM_UP} exchanges {EXCHANGES} of 8 bytes",
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
        share = np.minimum(share, self._links.link_shares(a, b, np.zeros(len(a), dtype=np.int64)))
        found: Floats = share * noisy(self._draw, self._noise, len(a)) * PAIR_MB_S * self._sick.everything
        return found

    def _messages(self, a: Ints, b: Ints) -> Floats:
        rate = np.full(len(a), MESSAGES * 8 / 1e6 * self._sick.everything)
        far = self._links.leaf[a] != self._links.leaf[b]
        for leaf, share in self._sick.messages.items():
            rate[far & ((self._links.leaf[a] == leaf) | (self._links.leaf[b] == leaf))] *= share
        found: Floats = rate * noisy(self._draw, self._noise, len(a))
        return found
