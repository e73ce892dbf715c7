"""What rows of pairs come to, by leaf and by node: every figure by hand."""

import math
import random
from statistics import median

import pytest

from railyard.results.record.pair_rows import (
    BLOCKS,
    MOST_GROUPS,
    NO_LEAF,
    WORST_PAIRS,
    PairAgain,
    PairsSample,
    Row,
    groups_of,
    leaf_names,
    of_rows,
    parse,
    rows_of_matrix,
    summary,
)

NODES = ("a1", "a2", "b1", "b2")
LEAVES = ("a", "a", "b", "b")


def row(first: int, second: int, forward: float | None, backward: float | None, step: int = 0) -> Row:
    return Row(step, 1, first, second, forward, backward, 2.0)


def test_a_field_has_the_worst_and_the_median_pair_of_two_leaves() -> None:
    found = summary(
        NODES, [row(0, 2, 10.0, 11.0), row(0, 3, 12.0, 13.0), row(1, 2, 20.0, 21.0), row(2, 3, 5.0, 6.0)], LEAVES
    )
    assert (found.groups, found.group_of, found.are_leaves) == (("a", "b"), (0, 0, 1, 1), True)
    assert found.worst == ((None, 10.0), (11.0, 5.0))
    assert found.median == ((None, 12.0), (13.0, 5.5))
    assert found.level == pytest.approx(11.5)  # of 5, 6, 10, 11, 12, 13, 20, 21
    assert found.node_worst == (10.0, 20.0, 5.0, 5.0)
    assert found.node_median == (11.5, 20.5, 10.5, 9.0)
    assert found.node_pairs == (2, 1, 3, 2)


def test_of_a_step_that_repeats_a_pair_the_median_counts_and_of_several_steps_the_best() -> None:
    rows = [
        row(0, 1, 4.0, 40.0),
        *(row(0, 1, value, 30.0, step=1) for value in (9.0, 7.0, 8.0)),
        row(0, 1, 6.0, 1.0, 2),
    ]
    found = summary(NODES[:2], rows, LEAVES[:2])
    assert found.worst == ((8.0,),)  # there 8, back 40
    assert (found.node_worst, found.node_pairs) == ((8.0, 8.0), (1, 1))
    assert found.worst_pairs == (PairAgain("a1", "a2", 8.0, 40.0),)


def test_a_pair_without_a_result_is_no_value_and_a_node_without_one_is_not_measured() -> None:
    found = summary(NODES, [row(0, 1, 5.0, 5.0), row(2, 3, None, None), row(0, 2, None, 7.0)], LEAVES)
    assert found.node_pairs == (2, 1, 1, 0)
    assert found.node_median == (5.0, 5.0, 7.0, None)
    assert found.worst == ((5.0, None), (7.0, None))
    assert [(one.first, one.second) for one in found.worst_pairs] == [("a1", "a2")]


def test_nothing_measured_has_no_level() -> None:
    found = summary(NODES, [], LEAVES)
    assert (found.level, found.worst, found.node_pairs) == (None, ((None, None), (None, None)), (0, 0, 0, 0))


@pytest.mark.parametrize("seed", range(5))
def test_it_is_what_plain_sums_give(seed: int) -> None:
    draw, count = random.Random(seed), 30
    names = tuple(f"n{place}" for place in range(count))
    leaves = tuple(f"leaf{place // 7}" for place in range(count))
    pairs = {tuple(sorted(draw.sample(range(count), 2))) for _ in range(150)}
    rows = [row(a, b, draw.uniform(1, 100), draw.uniform(1, 100)) for a, b in pairs]
    found = summary(names, rows, leaves)
    fields: dict[tuple[int, int], list[float]] = {}
    ends: dict[int, list[float]] = {}
    for one in rows:
        for a, b, value in ((one.first, one.second, one.forward), (one.second, one.first, one.backward)):
            assert value is not None
            fields.setdefault((a // 7, b // 7), []).append(value)
            for end in (a, b):
                ends.setdefault(end, []).append(value)
    for (a, b), values in fields.items():
        assert found.worst[a][b] == pytest.approx(min(values), rel=1e-5)
        assert found.median[a][b] == pytest.approx(median(values), rel=1e-5)
    for end, values in ends.items():
        assert found.node_median[end] == pytest.approx(median(values), rel=1e-5)
        assert found.node_worst[end] == pytest.approx(min(values), rel=1e-5)
    assert sum(found.node_pairs) == 2 * len(pairs)
    assert sum(value is not None for line in found.worst for value in line) == len(fields)


def test_blocks_of_neighbours_stand_for_leaves_that_are_not_known_or_too_many() -> None:
    names = tuple(f"n{place:04}" for place in range(5120))
    groups, of, are_leaves = groups_of(names, ())
    assert (len(groups), are_leaves, groups[0], groups[-1]) == (BLOCKS, False, "n0000 to n0039", "n5080 to n5119")
    assert (of[0], of[39], of[40], of[-1]) == (0, 0, 1, BLOCKS - 1)
    one_each = tuple(f"leaf{place}" for place in range(5120))
    assert groups_of(names, one_each)[2] is False
    assert groups_of(names[:MOST_GROUPS], one_each[:MOST_GROUPS])[2] is True
    assert groups_of(names[:3], ()) == (("n0000", "n0001", "n0002"), (0, 1, 2), False)


def test_a_leaf_of_one_node_and_a_node_at_no_leaf_are_groups() -> None:
    leaves = leaf_names(("a1.site", "b1", "c1"), {"a1": "a", "b1": "b"})
    assert leaves == ("a", "b", NO_LEAF)
    assert groups_of(("a1", "b1", "c1"), leaves)[0] == ("a", "b", NO_LEAF)
    assert leaf_names(("a1",), {}) == ()


def test_a_record_has_its_summary_and_its_file_all_rows() -> None:
    rows = [row(0, 1, 4.0, 5.0), row(2, 3, 7.0, None), row(0, 1, 6.0, 6.5, step=1), row(2, 3, 1.0, None, step=1)]
    sample = PairsSample("budget", ())
    made = of_rows(NODES, rows, ("sample", "alone"), size=8, leaves=LEAVES, expected=5.0, sample=sample)
    assert made.file is not None and made.record.rows == made.file.told
    assert parse(made.file.content, "x", 4) == tuple(rows)
    assert (made.record.values, made.record.leaves, made.record.expected) == ((), LEAVES, 5.0)
    assert made.record.sample == sample
    assert made.record.again == (PairAgain("a1", "a2", 6.0, 6.5),)  # one without a way back is in the rows alone
    assert made.record.summary == summary(NODES, rows, LEAVES)


def test_the_worst_pairs_are_so_many_each_once() -> None:
    count = 20
    rows = [row(a, b, 100.0 + a * count + b, 50.0 + a * count + b) for a in range(count) for b in range(a + 1, count)]
    worst = summary(tuple(f"n{place}" for place in range(count)), rows).worst_pairs
    assert len(worst) == WORST_PAIRS
    assert (worst[0].first, worst[0].second, worst[0].forward, worst[0].backward) == ("n1", "n0", 51.0, 101.0)
    assert len({frozenset((one.first, one.second)) for one in worst}) == WORST_PAIRS
    lows = [min(one.forward, one.backward) for one in worst]
    assert lows == sorted(lows)


def test_the_rows_of_a_matrix_are_a_pair_each() -> None:
    values = ((None, 1.0, None), (2.0, 9.0, 3.0), (None, None, None))
    assert [(one.first, one.second, one.forward, one.backward) for one in rows_of_matrix(values)] == [
        (0, 1, 1.0, 2.0),
        (1, 2, 3.0, None),
    ]
    assert math.isclose(summary(("a", "b", "c"), rows_of_matrix(values)).level or 0, 2.0)
