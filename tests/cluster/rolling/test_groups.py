"""Which nodes are tested together."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from railyard.base.errors import SetupError
from railyard.cluster.rolling.plan import Candidate, group_rounds, groups


def nodes(leaves: int, of_each: int, free_in_s: float | None = 0.0) -> list[Candidate]:
    """Return the nodes of so many leaves, a leaf after the other: n0-0, n0-1 …"""
    return [Candidate(f"n{leaf}-{n}", f"leaf{leaf}", free_in_s) for leaf in range(leaves) for n in range(of_each)]


def leaf(name: str) -> str:
    return name.partition("-")[0]


@given(
    some.lists(
        some.tuples(some.integers(0, 9), some.one_of(some.none(), some.integers(0, 9000))), min_size=2, max_size=90
    ),
    some.integers(2, 20),
    some.integers(0, 99),
)
def test_every_node_is_in_one_group_and_no_group_is_too_large_or_alone(
    given_nodes: list[tuple[int, int | None]], size: int, seed: int
) -> None:
    there = [Candidate(f"n{n}", f"leaf{leaf}", busy) for n, (leaf, busy) in enumerate(given_nodes)]
    made = groups(there, size, seed)
    assert sorted(name for group in made for name in group) == sorted(one.name for one in there)
    assert all(2 <= len(group) <= size + 1 for group in made)


def test_a_group_of_sixteen_has_four_nodes_of_each_of_four_leaves() -> None:
    made = groups(nodes(leaves=8, of_each=16), 16)
    assert len(made) == 8
    assert [sorted(Counter(map(leaf, group)).values()) for group in made] == [[4, 4, 4, 4]] * 8


def test_nodes_of_a_group_stay_in_topology_order() -> None:
    for group in groups(nodes(leaves=8, of_each=16), 16, seed=3):
        assert list(group) == sorted(group, key=lambda name: [int(part) for part in name[1:].split("-")])


def test_free_nodes_are_in_groups_of_their_own_and_come_first() -> None:
    free, soon, late = nodes(2, 8), nodes(2, 8, 600), nodes(2, 8, None)
    there = [Candidate(f"{word}{one.name}", one.leaf, one.free_in_s)
             for word, part in (("late", late), ("soon", soon), ("free", free)) for one in part]  # fmt: skip
    made = groups(there, 8)
    assert ["".join({name[:4] for name in group}) for group in made[:2]] == ["free", "free"]
    # Of the busy ones all are dealt together, as their groups are few.
    assert len(made) == 6


def test_nodes_that_come_free_together_are_together() -> None:
    there = [Candidate(f"n{n}", f"leaf{n % 4}", 60.0 * (n + 1)) for n in range(64)]
    made = groups(there, 4)
    # Sixteen nodes are dealt at a time: no node waits for one that comes free more than 15 minutes later.
    spans = [[int(name[1:]) for name in group] for group in made]
    assert max(max(span) - min(span) for span in spans) <= 15


def test_a_busy_node_that_is_dealt_with_free_ones_makes_its_group_wait_alone() -> None:
    for seed in range(9):
        made = groups([*nodes(3, 1), Candidate("busy", "leaf9", 60.0)], 2, seed)
        assert [("busy" in group) for group in made] == [False, True]


def test_one_free_node_waits_with_those_that_come_free_next() -> None:
    made = groups([Candidate("free", "a", 0.0), *nodes(1, 3, 60.0)], 2)
    assert sorted(map(len, made)) == [2, 2]


def test_leaves_that_met_least_meet_first_so_that_a_week_has_nearly_all() -> None:
    used: Counter[frozenset[str]] = Counter()
    for night in range(7):
        for group in groups(nodes(leaves=16, of_each=4), 16, night, used):
            used.update(frozenset(pair) for pair in combinations({f"leaf{leaf(name)[1:]}" for name in group}, 2))
    # 16 leaves are 120 pairs of leaves; a night has 4 groups of 4 leaves, which are 24. By chance seven nights would
    # have 1 - (1 - 24/120)^7, 79 % of them.
    assert len(used) >= 0.95 * 120


def test_a_leaf_of_one_node_and_nodes_without_a_leaf_are_dealt_as_all_others() -> None:
    there = [*nodes(1, 1), *(Candidate(f"lost{n}") for n in range(3)), *nodes(3, 4)[4:]]
    made = groups(there, 6)
    assert sorted(name for group in made for name in group) == sorted(one.name for one in there)


@pytest.mark.parametrize(
    ("there", "size", "sentence"),
    [
        (2, 1, "pairs --group: found 1, expected 2 nodes or more, since a pair needs two"),
        (1, 4, "pairs: found n0-0 that can be tested, expected two nodes or more, since a pair needs two"),
        (0, 4, "pairs: found no node that can be tested, expected two nodes or more, since a pair needs two"),
    ],
)
def test_a_group_needs_two_nodes(there: int, size: int, sentence: str) -> None:
    with pytest.raises(SetupError) as raised:
        groups(nodes(1, there), size)
    assert str(raised.value) == sentence


def test_a_group_measures_all_its_pairs_or_so_many_rounds_evenly_spread() -> None:
    every = group_rounds(16)
    assert len(every) == 15
    assert len({pair for each in every for pair in each}) == 120
    assert group_rounds(16, 99) == every
    assert group_rounds(16, 3) == (every[0], every[5], every[10])
