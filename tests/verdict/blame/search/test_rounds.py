"""All pairs in rounds: each once, disjoint in a round, in the smallest number of rounds."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.verdict.blame.search.model import Cost, Packing, Step, cost, pack_rounds, rounds


def is_matching(pairs: tuple[tuple[int, int], ...]) -> bool:
    nodes = [node for pair in pairs for node in pair]
    return len(set(nodes)) == len(nodes)


def test_four_nodes_take_three_rounds_and_five_take_five() -> None:
    assert rounds(4) == (((1, 2), (0, 3)), ((0, 1), (2, 3)), ((0, 2), (1, 3)))
    assert rounds(5) == (
        ((1, 4), (2, 3)),
        ((0, 1), (2, 4)),
        ((0, 2), (3, 4)),
        ((0, 3), (1, 2)),
        ((0, 4), (1, 3)),
    )


@given(st.integers(2, 70))
def test_each_pair_comes_once_in_disjoint_pairs_of_the_fewest_rounds(nodes: int) -> None:
    made = rounds(nodes)
    assert len(made) == (nodes - 1 if nodes % 2 == 0 else nodes)
    assert all(is_matching(each) for each in made)
    assert {len(each) for each in made} == {nodes // 2}
    assert sorted(pair for each in made for pair in each) == list(combinations(range(nodes), 2))


@given(st.integers(2, 40), st.integers(1, 25))
def test_a_limit_cuts_rounds_in_parts(nodes: int, at_once: int) -> None:
    made = rounds(nodes, at_once)
    parts = -(-(nodes // 2) // at_once)
    assert len(made) == parts * len(rounds(nodes))
    assert max(len(each) for each in made) <= at_once
    whole = [made[start : start + parts] for start in range(0, len(made), parts)]
    assert [sorted(pair for part in each for pair in part) for each in whole] == [
        sorted(each) for each in rounds(nodes)
    ]


def test_the_parts_of_a_round_hold_pairs_that_are_no_neighbours() -> None:
    assert rounds(16, at_once=4)[:2] == (((1, 14), (3, 12), (5, 10), (7, 8)), ((2, 13), (4, 11), (6, 9), (0, 15)))


def test_a_thousand_nodes() -> None:
    made = rounds(1024)
    assert (len(made), sum(len(each) for each in made)) == (1023, 523_776)
    assert len(rounds(1024, at_once=128)) == 4 * 1023


@pytest.mark.parametrize(
    ("nodes", "at_once", "message"),
    [(1, None, "1 nodes have no pair"), (0, None, "0 nodes have no pair"), (4, 0, "0 pairs at once: at least 1")],
)
def test_what_cannot_be(nodes: int, at_once: int | None, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        rounds(nodes, at_once)


def up_links_shared(order: list[int], leaf: int) -> list[int]:
    """Return for each round how many flows share an up-link with another, routed by destination modulo the leaf."""
    found = []
    for each in rounds(len(order)):
        flows = [(order[a], order[b]) for a, b in each] + [(order[b], order[a]) for a, b in each]
        links = Counter((source // leaf, target % leaf) for source, target in flows if source // leaf != target // leaf)
        found.append(sum(count for count in links.values() if count > 1))
    return found


def test_in_topology_order_neighbours_have_neighbours_as_partners_so_their_routes_stay_apart() -> None:
    """128 nodes on leaves of 16, routed by destination: at most 6 of 128 flows share; scattered, at least a quarter."""
    assert max(up_links_shared(list(range(128)), 16)) == 6
    scattered = sorted(range(128), key=lambda node: node * node % 113)
    assert min(up_links_shared(scattered, 16)) > 32


@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(21, 40)), unique=True, max_size=60),
    st.one_of(st.none(), st.integers(1, 8)),
)
def test_any_pairs_are_packed_into_disjoint_ones(pairs: list[tuple[int, int]], at_once: int | None) -> None:
    made = pack_rounds(pairs, at_once)
    assert sorted(pair for each in made for pair in each) == sorted(pairs)
    assert all(is_matching(each) and len(each) <= (at_once or 99) for each in made)
    degree = max(Counter(node for pair in pairs for node in pair).values(), default=0)
    if at_once is None:
        assert degree <= len(made) <= max(0, 2 * degree - 1)


def test_pairs_share_nothing_that_they_need_and_a_group_is_placed_whole_or_not_at_all() -> None:
    """Nodes 0 to 3 and 4 to 7 are at one leaf each, 100 and 101; pairs across need both leaves for themselves."""
    packing = Packing(most=2, needs=lambda pair: () if (pair[0] < 4) == (pair[1] < 4) else (100, 101))
    assert packing.place([(0, 4), (1, 2)])
    assert packing.place([(1, 5)])
    assert not packing.place([(3, 7), (6, 7)])
    assert packing.place([(6, 7)])
    assert packing.rounds() == (((0, 4), (1, 2), (6, 7)), ((1, 5),))
    full = Packing(at_once=1, most=2)
    assert full.place([(0, 1)])
    assert not full.place([(2, 3), (4, 5)])
    assert full.place([(2, 3)])
    assert full.rounds() == (((0, 1),), ((2, 3),))


def test_packing_nothing_makes_no_round_and_a_limit_of_none_is_an_error() -> None:
    assert pack_rounds([]) == ()
    with pytest.raises(ValueError, match=r"^0 pairs at once: at least 1$"):
        pack_rounds([(0, 1)], 0)


def test_what_rounds_cost() -> None:
    """64 MiB each way, one after the other, take 11.2 ms at 12 GB/s; each round takes 10 ms more."""
    steps = (Step("rounds", rounds(1024), 1, ""), Step("alone", (((0, 1),), ((0, 2),)), 7, ""))
    found = cost(steps, 64 << 20, 12_000, 0.01)
    assert (found.rounds, found.pairs) == (1037, 523_790)
    assert found.seconds == pytest.approx(1037 * (2 * 67.108864e6 / 12e9 + 0.01))
    assert cost((), 1, 1.0, 0.0) == Cost(0, 0, 0.0)
