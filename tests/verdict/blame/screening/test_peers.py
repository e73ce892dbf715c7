"""The other ways that the scoreboard compares with: each finds what its description says, and misses what it says."""

from collections.abc import Mapping

import pytest

from tests.made.fat_tree import Noise, Tree
from tests.made.peers import BOUNDS, WAYS, binary_splitting, group_screening, two_passes
from tests.made.simulated_rails import Nodes, RailNetwork, Sick

#: Below this no streams fall that share a link with a few others: what is left is a sick node.
LOW = 0.2
QUIET = Noise(body=0.0, node=0.0, hiccups=0.0)


def network(nodes: Mapping[int, float], tree: Tree | None = None, **more: object) -> RailNetwork:
    return RailNetwork(tree or Tree(208, 16), Nodes(), Sick(nodes, **more), 1, QUIET)  # type: ignore[arg-type]


@pytest.mark.parametrize("way", WAYS)
def test_each_way_names_one_slow_node_and_nobody_on_a_healthy_network(way: str) -> None:
    assert WAYS[way](network({37: 0.1}), LOW, 1, 1).nodes == {37}
    assert WAYS[way](network({}), LOW, 1, 1).nodes == frozenset()


def test_group_screening_takes_about_as_many_tests_as_its_authors_say() -> None:
    """Five sick nodes among thirteen leaves of sixteen: about 55 tests in seven rounds, one at a leaf about 22."""
    five = group_screening(network(dict.fromkeys((3, 40, 77, 130, 201), 0.1)), LOW)
    assert five.nodes == {3, 40, 77, 130, 201}
    assert 40 <= five.tests <= 70
    assert five.rounds <= 7
    assert 18 <= group_screening(network({37: 0.1}), LOW).tests <= 30


def test_group_screening_misses_a_pair_that_is_in_no_group() -> None:
    assert group_screening(network({}, pairs={(3, 40): 0.1}), LOW).nodes == frozenset()


def test_binary_splitting_takes_about_a_logarithm_of_tests_for_each_sick_node() -> None:
    """Four of 208 nodes, d log2(n/d) of which are 23: groups of 32 or so, each failed one halved five times."""
    found = binary_splitting(network(dict.fromkeys((3, 40, 77, 130), 0.1)), LOW, 4)
    assert found.nodes == {3, 40, 77, 130}
    assert found.tests <= 4 * (5.7 + 1) + 8


def test_absent_nodes_are_measured_by_nobody() -> None:
    for way in WAYS.values():
        assert way(network({5: 0.1}, absent=frozenset({5, 6})), LOW, 1, 1).nodes == frozenset()


def test_streams_that_share_a_link_fail_by_a_bound_that_shows_a_node_at_90_percent() -> None:
    """Random pairs at the same time collide in the tree, so that a second pass blames healthy nodes; leaves do not."""
    one_slow = {37: 0.9}
    high, low = BOUNDS
    assert group_screening(network(one_slow), low).nodes == frozenset()
    assert 37 in group_screening(network(one_slow), high).nodes
    assert len(two_passes(network(one_slow), high, 1).nodes) > 20
