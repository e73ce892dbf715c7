"""A simulated fat tree with planted faults: all are found and nobody else is blamed, even on a thousand nodes.

A thousand draws of a thousand nodes take an hour: ``benchmarks/pairs.py`` does that.
"""

import statistics

import pytest

from railyard.verdict.blame.search.model import Step, rounds
from tests.made.fat_tree import Faults, Noise, SimulatedNetwork, Tree
from tests.made.planted_faults import PLANTS, Plant, plant, play

SMALL = {routes: Tree(128, 8, routes=routes) for routes in ("destination", "random")}
QUIET = Noise(body=0.0, node=0.0, hiccups=0.0)


@pytest.mark.parametrize("routes", SMALL)
@pytest.mark.parametrize("what", PLANTS, ids=lambda what: what.name)
def test_all_that_is_planted_on_128_nodes_is_found_and_nobody_else_is_blamed(what: Plant, routes: str) -> None:
    tree = SMALL[routes]
    planted = plant(what, tree, 4)
    found = play(tree, planted, 4)
    assert (found.missed, found.false) == (frozenset(), frozenset())
    assert (what.name == "nothing") == (not planted.blame)


def test_a_thousand_nodes_with_seven_faults() -> None:
    tree = Tree()
    planted = plant(PLANTS[-1], tree, 9)
    found = play(tree, planted, 9)
    assert len(planted.blame) == 7
    assert (found.missed, found.false) == (frozenset(), frozenset())
    assert found.verdict.steps[0] == "rounds: 523776 pairs in 1023 rounds"


def values(tree: Tree, faults: Faults, at_once: int | None = None) -> dict[tuple[int, int], float]:
    step = Step("rounds", rounds(tree.nodes, at_once), 1, "")
    return {(a, b): value or 0.0 for a, b, value in SimulatedNetwork(tree, faults, 1, QUIET).measure(step)}


def test_without_noise_the_simulation_gives_what_the_links_leave() -> None:
    """Routed by destination, nearly all pairs of a round have full rate; random static routes leave 45 % on average."""
    ordered = list(values(SMALL["destination"], Faults()).values())
    assert (max(ordered), statistics.median(ordered)) == (12_000, 12_000)
    assert sum(value == 12_000 for value in ordered) / len(ordered) > 0.95
    random = values(SMALL["random"], Faults())
    apart = [value for (a, b), value in random.items() if a // 8 != b // 8]
    assert 0.35 < statistics.fmean(apart) / 12_000 < 0.60
    assert min(value for (a, b), value in random.items() if a // 8 == b // 8) == 12_000
    thin = values(SMALL["random"], Faults(), at_once=1)
    assert set(thin.values()) == {12_000}


def test_planted_faults_slow_what_they_should() -> None:
    tree = SMALL["destination"]
    faults = Faults(nodes={3: 0.75}, pairs={(20, 40): 0.5}, sides={8: 0.5}, cables={(12, 2): 0.1})
    alone = values(tree, faults, at_once=1)
    slow = {pair: round(value) for pair, value in alone.items() if value < 12_000}
    assert {value for pair, value in slow.items() if 3 in pair} == {9_000, 1_200}
    assert slow[20, 40] == 6_000
    # alone, a pair of a side with half its up-links has its full rate; a cable slows what is routed over it
    assert not any(a // 8 == 8 and b // 8 == 8 for a, b in slow)
    assert (0, 98) in slow
    assert (0, 97) not in slow
    full = values(tree, faults)
    assert statistics.median(value for (a, b), value in full.items() if b // 8 == 8 and a // 8 < 8) == 6_000
