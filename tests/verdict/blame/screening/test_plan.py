"""The rounds of a sample: who meets whom, each node once a round, and how a budget is spent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.verdict.blame.screening.plan import LEAST, Planner, shares
from railyard.verdict.blame.screening.values import leaves_of, present_members
from railyard.verdict.blame.search.model import Layout, Round


def planner(leaves: str, seed: int = 1, gone: tuple[int, ...] = ()) -> Planner:
    known = leaves_of(Layout(tuple(f"n{node}" for node in range(len(leaves))), tuple(leaves.replace("?", ""))))
    return Planner(known, present_members(known, gone), seed)


def is_matching(each: Round) -> bool:
    nodes = [node for pair in each for node in pair]
    return len(set(nodes)) == len(nodes) and all(a < b for a, b in each)


def test_at_home_each_node_meets_all_its_neighbours_before_it_meets_one_again() -> None:
    rounds = list(planner("AAAABBBB").home(3))
    assert sorted(pair for each in rounds for pair in each) == sorted(
        (a, b) for leaf in (range(4), range(4, 8)) for a in leaf for b in leaf if a < b
    )
    assert all(len(each) == 4 for each in rounds)


def test_whole_leaves_meet_each_other_leaf_before_they_meet_one_again() -> None:
    rounds = list(planner("AABBCCDD").full(3))
    met = [sorted({(a // 2, b // 2) for a, b in each}) for each in rounds]
    assert sorted(pair for each in met for pair in each) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert [len(each) for each in rounds] == [4, 4, 4]


def test_of_leaves_of_different_sizes_those_left_over_meet_one_another() -> None:
    """A has four nodes, B two and C one: each round one leaf meets none of the other two."""
    for each in planner("AAAABBC").full(6):
        assert is_matching(each)
        assert len(each) == 3


def test_in_a_thin_round_each_leaf_sends_one_flow() -> None:
    leaves = "AAAABBBBCCCCDDDD"
    rounds = list(planner(leaves).thin(8))
    for each in rounds:
        assert sorted(leaves[node] for pair in each for node in pair) == ["A", "B", "C", "D"]
    # four rounds use each node once
    assert sorted(node for each in rounds[:4] for pair in each for node in pair) == list(range(16))


def test_where_leaves_are_not_known_a_thin_round_has_a_sixteenth_of_the_pairs() -> None:
    made = planner("?" * 64)
    assert [len(each) for each in made.home(2)] == [32, 32]
    assert {len(each) for each in made.thin(16)} == {2}
    assert list(made.full(3)) == []


def test_nodes_that_are_gone_are_in_no_round() -> None:
    made = planner("AAAABBBBCCCC", gone=(0, 1, 2, 3, 5))
    rounds = [*made.home(2), *made.full(2), *made.thin(2)]
    assert {node for each in rounds for pair in each for node in pair} == {4, 6, 7, 8, 9, 10, 11}


@given(st.text("ABCDEF", min_size=2, max_size=40), st.integers(0, 9))
def test_no_node_is_in_two_pairs_of_a_round(leaves: str, seed: int) -> None:
    made = planner(leaves, seed)
    for each in (*made.home(3), *made.full(5), *made.thin(3)):
        assert is_matching(each)


def test_the_seed_decides_who_meets() -> None:
    leaves = "".join(letter * 4 for letter in "ABCDEFGH")
    assert list(planner(leaves, 1).full(3)) == list(planner(leaves, 1).full(3))
    assert list(planner(leaves, 1).full(3)) != list(planner(leaves, 2).full(3))


@pytest.mark.parametrize("parts", [1, 8])
def test_a_budget_leaves_room_for_a_suspect(parts: int) -> None:
    """Three pairs three times for a node at least, and of small budgets eight pairs three times for one pair."""
    for rounds in range(LEAST, 3000, 7):
        made = shares(rounds, 7, parts)
        assert made.first + made.more <= max(rounds // 2, made.first)
        left = rounds - made.first - made.more - made.again
        assert left >= 3 * min(made.repeats) * 2
        assert min(made.repeats) == 3
        assert max(made.repeats) in (3, 7)


def test_fewer_repeats_may_be_asked_for() -> None:
    assert shares(600, 7, 1).repeats == (7, 5, 3)
    assert shares(600, 4, 1).repeats == (4, 3)
    assert shares(600, 3, 1).repeats == (3,)
    assert shares(600, 2, 1).repeats == (2,)


def test_a_node_of_no_known_leaf_has_one_of_its_own() -> None:
    layout = Layout(("a", "b", "c", "d"), ("x", "x", "", ""))
    known = leaves_of(layout)
    assert known.names == ("x", "no known leaf (c)", "no known leaf (d)")
    assert (known.known, known.loose) == (True, (2, 3))
    assert known.are_far(np.array([0, 2]), np.array([1, 3])).tolist() == [False, True]
    bare = leaves_of(Layout(("a", "b"), ("", "")))
    assert (bare.known, bare.names, bare.loose) == (False, ("",), ())
