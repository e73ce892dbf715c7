"""Values of a step as rows: how crowded each was, and what healthy pairs give."""

import numpy as np
import pytest

from railyard.verdict.blame.screening.values import join_rows, leaves_of, levels_of, relative, rows_of
from railyard.verdict.blame.search.model import Layout, Step, Value

KNOWN = leaves_of(Layout(tuple("abcdefgh"), tuple("AAAABBBB")))
BARE = leaves_of(Layout(tuple("abcdefgh")))


def step(*rounds: tuple[tuple[int, int], ...], repeats: int = 1) -> Step:
    return Step("sample", rounds, repeats, "by hand")


def test_rows_come_in_the_order_of_their_rounds_whatever_order_the_values_have() -> None:
    asked = step(((0, 1), (2, 3)), ((0, 4), (1, 5)))
    values: list[Value] = [(1, 5, 4.0), (2, 3, 2.0), (0, 4, None), (0, 1, 1.0)]
    rows = rows_of(KNOWN, asked, values, ())
    assert list(zip(rows.a.tolist(), rows.b.tolist(), rows.value.tolist(), rows.round.tolist(), strict=True)) == [
        (2, 3, 2.0, 0),
        (0, 1, 1.0, 0),
        (1, 5, 4.0, 1),
        (0, 4, 0.0, 1),
    ]


def test_a_row_is_as_crowded_as_the_busier_of_its_leaves() -> None:
    """Leaf A sends three flows to other leaves in the second round, two of them to B."""
    layout = leaves_of(Layout(tuple("abcdefghij"), tuple("AAAABBBBCC")))
    asked = step(((0, 1), (4, 8)), ((0, 4), (1, 5), (2, 8), (6, 7)))
    rows = rows_of(layout, asked, [(*pair, 1.0) for pair in asked.pairs()], ())
    assert rows.crowd.tolist() == [0, 1, 3, 3, 3, 0]
    bare = rows_of(BARE, step(((0, 1), (2, 3)), ((0, 4),)), [(0, 1, 1.0), (2, 3, 1.0), (0, 4, 1.0)], ())
    assert bare.crowd.tolist() == [2, 2, 1]


def test_a_pair_that_was_asked_for_twice_has_a_value_in_each_of_its_rounds() -> None:
    asked = step(((0, 1),), ((2, 3),), ((0, 1),), repeats=2)
    values = [(0, 1, 1.0), (2, 3, 2.0), (0, 1, 3.0), (0, 1, 4.0), (2, 3, 5.0), (0, 1, 6.0)]
    rows = rows_of(KNOWN, asked, values, ())
    assert list(zip(rows.value.tolist(), rows.round.tolist(), strict=True)) == [
        (1.0, 0),
        (4.0, 0),
        (2.0, 1),
        (5.0, 1),
        (3.0, 2),
        (6.0, 2),
    ]


def test_values_of_nodes_that_are_gone_are_none() -> None:
    asked = step(((0, 1), (2, 3)))
    rows = rows_of(KNOWN, asked, [(0, 1, 1.0), (2, 3, 2.0)], gone=(3,))
    assert rows.a.tolist() == [0]
    assert len(rows_of(KNOWN, asked, [], ()).a) == 0
    both = join_rows([rows, rows_of(KNOWN, asked, [(2, 3, 2.0)], (), before=5)])
    assert both.round.tolist() == [0, 5]


def test_what_is_healthy_across_leaves_is_read_off_single_flows() -> None:
    """All nodes of A at once get half across leaves, where single ones get 40; at home they get 48."""
    home = tuple((a, a + 1) for a in (0, 2, 4, 6))
    crowded = tuple((a, a + 4) for a in range(4))
    thin = tuple(((a % 4, 4 + (a + 1) % 4),) for a in range(8))
    asked = step(home, crowded, *thin)
    values = [(a, b, 48.0 if (a, b) in home else 20.0 if (a, b) in crowded else 40.0) for a, b in asked.pairs()]
    rows = rows_of(KNOWN, asked, values, ())
    levels = levels_of(KNOWN, rows)
    assert levels is not None
    assert (levels.near.value, levels.far.value) == (48.0, 40.0)
    assert [(level.hops, level.pairs) for level in levels.levels] == [("same side", 4), ("across sides", 12)]
    assert set(relative(KNOWN, levels, rows).tolist()) == {1.0, 0.5}


def test_without_leaves_there_is_one_level_and_without_a_result_none() -> None:
    asked = step(((0, 1), (4, 5)))
    levels = levels_of(BARE, rows_of(BARE, asked, [(0, 1, 40.0), (4, 5, 40.0)], ()))
    assert levels is not None
    assert [(level.hops, level.value) for level in levels.levels] == [("all", 40.0)]
    assert levels_of(KNOWN, rows_of(KNOWN, asked, [(0, 1, None)], ())) is None


@pytest.mark.parametrize("count", [1, 7])
def test_values_may_be_an_iterator(count: int) -> None:
    asked = step(*(((0, 1),) for _ in range(count)))
    rows = rows_of(KNOWN, asked, ((0, 1, float(each)) for each in range(count)), ())
    assert rows.value.tolist() == [float(each) for each in range(count)]
    assert np.issubdtype(rows.a.dtype, np.integer)
