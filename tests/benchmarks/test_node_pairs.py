"""What a table of railyard-pairs says: the matrix, the value of a run, the bytes. All values are synthetic."""

import dataclasses

import pytest

from railyard.benchmarks.model import Curve
from railyard.benchmarks.node_pairs import (
    curves,
    fastest,
    hosts_of,
    latencies,
    matrix,
    moved_bytes,
    pairs_of,
    slow_nodes,
    take_better_values,
)
from railyard.benchmarks.table.network import BISECTION, ON_NODE, PAIRS
from railyard.parsers.output import Cell, Table
from railyard.parsers.pairs import COLUMNS, UNITS

SIZE = 4 << 20
CONTEXT = {"size": SIZE, "window": 8, "repeats": 2, "warm_up": 1, "exchanges": 20, "exchange_bytes": 8}
#: Three nodes, each pair in a round of its own; n3 sends at half of what it receives.
ROWS = ((1, 0, 1, 48.0, 47.0, 30.0), (2, 0, 2, 46.0, 24.0, 31.0), (3, 1, 2, 45.0, 25.0, 35.0))


def table(rows: tuple[tuple[Cell, ...], ...] = ROWS, name: str = "pairs", hosts: str = "n1 n2 n3") -> Table:
    return Table("pairs", "1", name, COLUMNS, UNITS, rows, 1, True, {**CONTEXT, "hosts": hosts})


def test_the_slower_direction_of_the_slowest_pair_stands_for_all_pairs() -> None:
    assert curves(table(), PAIRS) == (
        Curve("bandwidth", "MB/s", (SIZE,), (24.0,)),
        Curve("latency", "us", (8,), (35.0,)),
    )


def test_the_slower_directions_mean_stands_for_a_bisection() -> None:
    rows = ((1, 0, 1, 40.0, 30.0, 9.0), (2, 0, 1, 20.0, 34.0, 8.0))
    assert curves(table(rows, "bisection"), BISECTION)[0].values == (30.0,)


def test_the_fastest_pair_is_what_must_be_possible() -> None:
    assert fastest(table()) == Curve("bandwidth", "MB/s", (SIZE,), (48.0,))


def test_the_matrix_has_senders_in_rows() -> None:
    hosts = hosts_of(table())
    assert hosts == ("n1", "n2", "n3")
    assert matrix(pairs_of(table()), hosts) == ((None, 48.0, 46.0), (47.0, None, 45.0), (24.0, 25.0, None))
    assert latencies(pairs_of(table()), hosts) == ((None, 30.0, 31.0), (30.0, None, 35.0), (31.0, 35.0, None))


def test_pairs_within_nodes_fill_the_diagonal() -> None:
    rows = ((1, 0, 1, 900.0, 950.0, 1.0), (2, 2, 3, 500.0, 400.0, 1.5))
    within = table(rows, "onnode", "n1 n1 n2 n2")
    assert curves(within, ON_NODE)[0].values == (400.0,)
    assert matrix(pairs_of(within), ("n1", "n2")) == ((900.0, None), (None, 400.0))
    assert slow_nodes(within, 0.85) == (("n2", 400.0, 650.0),)
    assert slow_nodes(within, 0.6) == ()


@pytest.mark.parametrize(
    ("name", "key", "hosts", "rows", "sentence"),
    [
        ("bisection", PAIRS, "n1 n2 n3", ROWS, "pairs/pairs: the table is of pairs/bisection"),
        ("pairs", PAIRS, "n1 n1 n3", ROWS, "pairs/pairs: the ranks of a pair were both on n1"),
        ("onnode", ON_NODE, "n1 n2 n3", ROWS, "pairs/onnode: the ranks of a pair were on n1 and n2"),
        ("pairs", PAIRS, "n1 n2", ROWS, "pairs/pairs: row 2 is of rank 2, which has no host"),
        ("pairs", PAIRS, "n1 n2 n3", ((1, 0, 1, None, 47.0, 30.0),), "pairs/pairs: row 1 lacks a number"),
        ("pairs", PAIRS, "n1 n2 n3", (), "pairs/pairs: no pair with a message size"),
    ],
)
def test_what_cannot_be_judged_is_a_sentence(
    name: str, key: str, hosts: str, rows: tuple[tuple[Cell, ...], ...], sentence: str
) -> None:
    with pytest.raises(ValueError) as caught:
        curves(table(rows, name, hosts), key)
    assert str(caught.value) == sentence


def test_a_pair_that_is_good_alone_counts_as_good_and_a_slow_one_stays_slow() -> None:
    # A later launch may place ranks differently, and the median of its repeats counts.
    alone = table(
        ((1, 0, 2, 44.0, 20.0, 0.0), (2, 0, 2, 46.0, 99.0, 0.0), (3, 0, 2, 45.5, 22.0, 0.0)), "alone", "n3 n2 n1"
    )
    better = take_better_values(table(), [alone])
    assert [row[3:5] for row in better.rows] == [(48.0, 47.0), (46.0, 45.5), (45.0, 25.0)]
    assert take_better_values(table(), []) == table()


def test_every_node_moved_what_its_pairs_did_both_ways() -> None:
    least = SIZE * 8 * 2
    most = least + SIZE + 8 * (20 + 2 + 1)
    assert moved_bytes(table()) == {host: (2 * least, 2 * most) for host in ("n1", "n2", "n3")}
    assert moved_bytes(table(ROWS[:1])) == {host: (least, most) for host in ("n1", "n2")}


def test_a_heading_that_is_cut_moved_nothing() -> None:
    cut = dataclasses.replace(table(), context={"hosts": "n1 n2 n3"})
    assert moved_bytes(cut) == {}
