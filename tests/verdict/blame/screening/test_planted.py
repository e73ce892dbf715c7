"""Simulated networks with planted faults: who is named, and that nobody else ever is.

Draws of 5,120 nodes take minutes: ``benchmarks/screening.py`` makes them.
"""

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from railyard.verdict.blame.screening.model import Budget, Results, ScreeningVerdict
from railyard.verdict.blame.screening.promise import find_coverage
from railyard.verdict.blame.screening.screen import advance
from railyard.verdict.blame.search.model import Part, Step
from tests.made.fat_tree import Noise, Tree
from tests.made.planted_screening import FaultCounts, Outcome, faulty_network, play
from tests.made.screening import network, slow_node
from tests.made.simulated_rails import HEAVY, Nodes, RailNetwork, Sick, recorded_noise

QUIET = Noise(body=0.0, node=0.0, hiccups=0.0)
NOISES = {"heavy": HEAVY, "recorded": recorded_noise()}
#: Each kind alone, in a tree of 256 nodes on sixteen leaves.
KINDS = {
    "node at 90 %": FaultCounts(nodes={0.9: 2}),
    "node at 75 %": FaultCounts(nodes={0.75: 2}),
    "node at 50 %": FaultCounts(nodes={0.5: 2}),
    "node that is dead": FaultCounts(nodes={0.0: 2}),
    "rail at half": FaultCounts(rails={0.5: 2}),
    "rail that is dead": FaultCounts(rails={0.0: 2}),
    "gpu path at half": FaultCounts(gpus={0.5: 2}),
    "leaf with half its up-links": FaultCounts(leaves={0.5: 1}),
    "up-link at half": FaultCounts(up_links={0.5: 1}),
    "up-link that is dead": FaultCounts(up_links={0.0: 1}),
}


def play_faults(
    wanted: FaultCounts,
    seed: int,
    *,
    routes: str = "destination",
    noise: Noise = HEAVY,
    nodes: Nodes = Nodes(),  # noqa: B008
    tree: Tree | None = None,
    rounds: int = 400,
    sides: bool = True,
    routes_known: bool = False,
) -> Outcome:
    made = tree or Tree(256, 16)
    made = replace(made, routes="random" if routes == "random" else "destination")
    simulated_, faults = faulty_network(made, nodes, wanted, seed, noise)
    known = simulated_.network(routes_known=routes_known, sides_known=sides)
    return play(known, simulated_, faults, Budget(rounds, 1.0))


#: Routes and noise. Every day each of them is once; all four together take 40 s.
CONDITIONS = [
    ("destination", "heavy"),
    ("random", "recorded"),
    pytest.param("destination", "recorded", marks=pytest.mark.full),
    pytest.param("random", "heavy", marks=pytest.mark.full),
]


@pytest.mark.parametrize(("routes", "noise"), CONDITIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_fault_is_named_and_nobody_else(kind: str, routes: str, noise: str) -> None:
    of_parts = "rail" in kind or "gpu" in kind
    nodes = Nodes(4, gpus=True) if of_parts else Nodes()
    found = play_faults(KINDS[kind], 5, routes=routes, noise=NOISES[noise], nodes=nodes, rounds=600)
    assert found.named == frozenset(found.planted)
    assert found.false == ()
    assert found.planted


@pytest.mark.parametrize(("routes", "noise"), CONDITIONS)
def test_a_healthy_network_names_nobody_over_many_seeds(routes: str, noise: str) -> None:
    _healthy(routes, noise, range(12), Tree(128, 8))


@pytest.mark.full
@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("routes", ["destination", "random"])
def test_a_large_healthy_network_names_nobody_over_many_seeds(routes: str, noise: str) -> None:
    _healthy(routes, noise, range(100, 220), Tree(512, 16))


def _healthy(routes: str, noise: str, seeds: Iterable[int], tree: Tree) -> None:
    for seed in seeds:
        nodes = Nodes((1, 2, 4)[seed % 3], planes=seed % 2 == 0, gpus=seed % 5 == 0)
        wanted = FaultCounts(absent=seed % 4)
        found = play_faults(wanted, seed, routes=routes, noise=NOISES[noise], nodes=nodes, rounds=200, tree=tree)
        assert found.verdict.named == ()


def test_many_faults_of_all_kinds_at_once() -> None:
    """One node in thirty is sick, and each is named; so are the leaf and the up-links."""
    few = {0.5: 1, 0.0: 1}
    wanted = FaultCounts({0.9: 2, 0.75: 1, 0.5: 1, 0.0: 1}, few, {0.5: 1}, {}, {0.5: 1}, few, 4)
    for seed in range(2):
        found = play_faults(wanted, seed, nodes=Nodes(4, gpus=True), rounds=800)
        assert found.false == ()
        assert found.named == frozenset(found.planted)


def test_a_pair_is_named_where_it_was_measured() -> None:
    """Where 64 nodes meet nearly all others, each slow pair that the sample had is named."""
    found = play_faults(FaultCounts(pairs={0.5: 6}), 3, noise=QUIET, tree=Tree(64, 8), rounds=300)
    measured = found.verdict.coverage.pairs.share
    assert measured is not None
    assert measured > 0.95
    assert len(found.named) >= 5
    assert found.false == ()


def test_leaves_of_different_sizes_and_a_blocked_tree() -> None:
    """Two nodes share an up-link, and the last leaf has four nodes where others have twelve."""
    for seed in range(4):
        found = play_faults(FaultCounts(nodes={0.75: 2}), seed, tree=Tree(100, 12, blocking=2), rounds=300)
        assert found.false == ()
        assert found.named == frozenset(found.planted)


def test_known_routes_name_the_number_of_the_up_link() -> None:
    found = play_faults(FaultCounts(up_links={0.5: 1}), 2, routes="random", routes_known=True)
    assert [one.kind for one in found.verdict.named] == ["up-link"]
    tree = Tree(256, 16, routes="random")
    planted = faulty_network(tree, Nodes(), FaultCounts(up_links={0.5: 1}), 2)[0].sick.up_links
    assert [str(spine) for _, _, spine in planted] == [found.verdict.named[0].part]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sets(st.integers(0, 63), max_size=50), st.sampled_from(["destination", "random"]))
def test_an_absent_node_is_never_blamed_and_never_measured(seed: int, gone: set[int], routes: str) -> None:
    """Half of them are absent from the start, the others go away in one of the first steps."""
    tree = Tree(64, 8, routes="random" if routes == "random" else "destination")
    ordered = sorted(gone)
    sick = Sick({3: 0.5, 40: 0.9}, absent=frozenset(ordered[::2]), vanish={node: seed % 4 for node in ordered[1::2]})
    simulated_ = RailNetwork(tree, Nodes(), sick, seed)
    found = play(simulated_.network(), simulated_, (), Budget(120, 1.0))
    # a node that never went away in the steps that were made may be blamed
    went = {name for name in (one.node for one in found.verdict.coverage.not_measured)}
    names = [f"n{node:04d}" for node in range(64)]
    assert {names[node] for node in sick.absent} <= went
    blamed = {names[node] for one in found.verdict.named for node in one.members if len(one.members) < 3}
    assert not blamed & went


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.floats(0.0, 1.0))
def test_coverage_never_grows_when_values_are_taken_away(draw: object, kept: float) -> None:
    known, budget = network("AAAABBBBCCCCDDDD"), Budget(60, 1.0)
    first = advance(known, budget)
    assert isinstance(first, Step)
    pairs = list(first.pairs())
    chosen = [pair for pair in pairs if draw.random() < kept]  # type: ignore[attr-defined]
    whole, part = find_coverage(known, pairs), find_coverage(known, chosen)
    for name in ("nodes", "pairs", "leaf_pairs", "up_links", "rails"):
        assert getattr(part, name).used <= getattr(whole, name).used + 1e-9
    speed = slow_node(5)
    results = [Results([(a, b, speed(a, b, None)) for a, b in chosen])]
    found: Step | ScreeningVerdict = advance(known, budget, results, first=first)
    while isinstance(found, Step):
        results.append(Results([(a, b, speed(a, b, None)) for a, b in found.pairs()]))
        found = advance(known, budget, results, first=first)
    assert all(one.members == (5,) for one in found.named)


def measure_pairs(network_: RailNetwork, *pairs: tuple[int, int], over: Part | None = None) -> list[float | None]:
    step = Step("alone", tuple((pair,) for pair in pairs), 1, "", over)
    return [value and round(value) for _, _, value in network_.measure(step).values]


def test_without_noise_the_simulation_gives_what_rails_gpus_and_links_leave() -> None:
    tree = Tree(64, 8)
    sick = Sick(
        {1: 0.5}, {(2, 0): 0.5, (3, 1): 0.0}, {(4, 1): 0.5}, {(5, 6): 0.5}, up_links={(0, 2, 1): 0.0}, vanish={9: 1}
    )
    network_ = RailNetwork(tree, Nodes(2, gpus=True), sick, 1, QUIET)
    pairs = ((0, 1), (0, 2), (0, 3), (0, 4), (5, 6), (0, 7), (0, 17))
    assert measure_pairs(network_, *pairs) == [6000, 9000, 6000, 9000, 6000, 12000, 6000]
    # over one rail from host memory, and from the GPU that uses it: half of the rate of two rails
    assert measure_pairs(network_, *pairs, over=Part("rail", "rail1")) == [3000, 6000, None, 6000, 3000, 6000, 6000]
    assert measure_pairs(network_, (0, 4), over=Part("gpu path", "gpu1")) == [3000]
    # node 17 is reached by spine 1 of the first plane, whose cable to its leaf is dead
    assert measure_pairs(network_, (0, 17), over=Part("rail", "rail0")) == [None]
    assert dict(network_.measure(Step("alone", (((0, 9),),), 1, "")).absent) == {9: "its job ended: planted"}
    slowest = RailNetwork(tree, Nodes(2, striping="slowest"), sick, 1, QUIET)
    assert measure_pairs(slowest, (0, 2), (0, 3), (0, 4)) == [6000, None, 12000]


def test_a_ring_is_as_fast_as_its_slowest_stream() -> None:
    network_ = RailNetwork(Tree(64, 8), Nodes(), Sick({1: 0.5}, up_links={(0, 2, 1): 0.0}), 1, QUIET)
    assert network_.rings([[2, 3, 4], [0, 1], [9, 17, 10]]) == [1.0, 0.5, None]


def _swapped_leaves(count: int) -> tuple[str, ...]:
    """Return the leaf of each of 128 nodes; some nodes are in the places of others of another leaf."""
    sides = [f"leaf{node // 16:02d}" for node in range(128)]
    for node in range(count):
        one, other = 3 + 17 * node, 67 + 17 * node % 64
        sides[one], sides[other] = sides[other], sides[one]
    return tuple(sides)


#: What a system's file states of 128 nodes on eight leaf switches, none of which is as it states.
WRONG = {
    "two nodes swapped": _swapped_leaves(1),
    "eight nodes swapped": _swapped_leaves(4),
    "four leaf switches": tuple(f"leaf{node // 32:02d}" for node in range(128)),
    "sixteen leaf switches": tuple(f"leaf{node // 8:02d}" for node in range(128)),
    "half a leaf switch on": tuple(f"leaf{(node + 8) // 16 % 8:02d}" for node in range(128)),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("sick", [{}, {70: 0.5}], ids=["healthy", "one node at 50 %"])
def test_leaf_switches_that_are_not_those_of_the_network_blame_no_healthy_node(
    wrong: str, sick: dict[int, float]
) -> None:
    """Streams that the file keeps apart share up-links, in each repeat: those that are good alone are not named."""
    simulated_ = RailNetwork(Tree(128, 16, routes="random"), Nodes(), Sick(nodes=sick), 3, HEAVY)
    known = simulated_.network()
    known = replace(known, layout=replace(known.layout, sides=WRONG[wrong]))
    found = play(known, simulated_, (), Budget(400, 1.0)).verdict
    assert {one.members for one in found.named} == {(node,) for node in sick}
    assert found.unclear
    assert found.shared
    assert "with nodes of other leaf switches: leaf_switches of the system's file may not be those of" in found.sentence
