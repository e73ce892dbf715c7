"""Nightly partners: what was used least recently comes first."""

import pytest

from railyard.verdict.blame.screening.model import Network
from railyard.verdict.blame.screening.plan import partners
from railyard.verdict.blame.screening.promise import find_coverage
from railyard.verdict.blame.search.model import Pair, Step
from tests.made.fat_tree import Tree
from tests.made.screening import network, play_screening, slow_node
from tests.made.simulated_rails import Nodes, RailNetwork, Sick

LEAVES = "".join(letter * 4 for letter in "ABCDEFGH")


def nights(known: Network, count: int, number: int, seed: int = 0) -> list[list[Pair]]:
    used: list[list[Pair]] = []
    for night in range(number):
        used.append(list(partners(known, count, used, seed + night).pairs()))
    return used


def test_a_night_has_one_neighbour_and_so_many_partners_of_other_leaves() -> None:
    step = partners(network(LEAVES), 2)
    assert (step.name, len(step.rounds), step.repeats) == ("nightly", 3, 1)
    assert step.why == "2 partners per node, first what was used least recently in 0 earlier nights"
    home, *away = step.rounds
    assert all(LEAVES[a] == LEAVES[b] for a, b in home)
    assert all(LEAVES[a] != LEAVES[b] for each in away for a, b in each)
    assert all(sorted(node for pair in each for node in pair) == list(range(32)) for each in step.rounds)


def test_leaves_that_met_do_not_meet_again_before_all_others() -> None:
    """Eight leaves have 28 pairs of leaves, four of which meet at once: seven nights of one round are all of them."""
    for seed in range(5):
        met = {(LEAVES[a], LEAVES[b]) for night in nights(network(LEAVES), 1, 7, seed) for a, b in night}
        assert len([pair for pair in met if pair[0] != pair[1]]) == 28


@pytest.mark.parametrize("routes", ["destination", "random"])
def test_over_a_week_every_up_link_of_a_small_tree_was_used(routes: str) -> None:
    tree = Tree(32, 4, routes="random" if routes == "random" else "destination")
    for seed in range(5):
        known = RailNetwork(tree, Nodes(), Sick(), seed).network(routes_known=True)
        used = nights(known, 1, 7, seed)
        shares = [find_coverage(known, (pair for night in used[: count + 1] for pair in night)) for count in range(7)]
        assert shares[-1].up_links.share == 1.0
        assert [each.up_links.used for each in shares] == sorted(each.up_links.used for each in shares)


def test_known_routes_use_more_up_links_in_a_night_than_chance_does() -> None:
    """By chance a leaf with four up-links uses 1 - (3/4)^8 = 90 % of them in one round with one other leaf."""
    found = []
    for seed in range(20):
        simulated = RailNetwork(Tree(32, 4, routes="random"), Nodes(), Sick(), seed)
        chosen = simulated.network(routes_known=True)
        by_chance, known = (
            find_coverage(chosen, partners(each, 1, (), seed).pairs()).up_links.share or 0.0
            for each in (simulated.network(), chosen)
        )
        found.append(known - by_chance)
    assert sum(found) / len(found) > 0.03


def test_node_pairs_do_not_repeat_while_there_are_others() -> None:
    """Over 28 nights each two leaves meet four times, with each shift once: all 384 pairs across leaves."""
    used = nights(network(LEAVES), 1, 28)
    pairs = [pair for night in used for pair in night if LEAVES[pair[0]] != LEAVES[pair[1]]]
    assert len(pairs) == 28 * 16
    assert len(set(pairs)) == 28 * 16


def test_absent_nodes_have_no_partner_and_leaves_may_be_unknown() -> None:
    step = partners(network(LEAVES), 2, absent=range(5))
    assert not {node for pair in step.pairs() for node in pair} & set(range(5))
    bare = partners(network("?" * 9), 3, [[(0, 1)]], seed=4)
    assert [len(each) for each in bare.rounds] == [4, 4, 4]
    assert len(set(bare.pairs())) == 12


def test_a_night_is_judged_as_a_sample() -> None:
    first = partners(network(LEAVES), 2)
    found = play_screening(network(LEAVES), slow_node(9), 100, first=first)
    assert isinstance(found.steps[0], Step)
    assert found.steps[0] == first
    assert found.blamed_parts() == [("node", (9,))]


@pytest.mark.parametrize(
    ("count", "absent", "message"),
    [
        (0, (), r"^0 partners: at least 1$"),
        (1, range(31), r"^1 of 32 nodes are there, but a pair needs two$"),
    ],
)
def test_what_cannot_be(count: int, absent: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        partners(network(LEAVES), count, absent=absent)
