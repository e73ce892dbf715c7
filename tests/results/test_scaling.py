"""Speed-up, efficiency and the serial fraction of a sweep, and what its sentence says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.results.sweeps import karp_flatt, sweep


def test_a_strong_sweep() -> None:
    made = sweep({1: 100.0, 2: 180.0, 4: 300.0})
    assert [(p.nodes, p.speedup, p.efficiency) for p in made.points] == [
        (1, 1.0, 1.0),
        (2, pytest.approx(1.8), pytest.approx(0.9)),
        (4, pytest.approx(3.0), pytest.approx(0.75)),
    ]
    assert [p.serial_fraction for p in made.points] == [None, pytest.approx(1 / 9), pytest.approx(1 / 9)]
    assert made.breaks_at is None
    assert made.sentence == (
        "75.0 % of linear on 4 nodes; serial fraction 0.111 throughout: work that the nodes cannot share"
    )


def test_where_efficiency_breaks_and_points_that_were_not_run_are_named() -> None:
    made = sweep({1: 100.0, 2: 160.0, 4: 180.0}, meant=(1, 2, 4, 8, 16))
    assert (made.breaks_at, made.missing) == (4, (8, 16))
    assert made.sentence == (
        "45.0 % of linear on 4 nodes; below 50.0 % from 4 nodes on; serial fraction 0.250 rising to 0.407: "
        "communication and waiting, not serial work; not run: 8 and 16 nodes"
    )


def test_a_weak_sweep_has_no_serial_fraction() -> None:
    made = sweep({1: 50.0, 4: 190.0}, "weak")
    assert [p.serial_fraction for p in made.points] == [None, None]
    assert made.sentence == "95.0 % of linear on 4 nodes"


def test_a_sweep_that_begins_on_two_nodes_is_held_against_those() -> None:
    made = sweep({2: 100.0, 4: 150.0})
    assert [(p.nodes, p.speedup, p.efficiency, p.serial_fraction) for p in made.points] == [
        (2, 2.0, 1.0, None),
        (4, 3.0, 0.75, None),
    ]


def test_more_nodes_that_are_slower_than_one_have_no_serial_fraction_to_speak_of() -> None:
    made = sweep({1: 4286.0, 2: 913.6, 4: 924.6})
    assert made.sentence == (
        "5.4 % of linear on 4 nodes; below 50.0 % from 2 nodes on; slower than on 1: the nodes lose more "
        "between them than they share"
    )


def test_two_points_have_one_fraction() -> None:
    assert sweep({1: 100.0, 2: 160.0}).sentence == "80.0 % of linear on 2 nodes; serial fraction 0.250"


@pytest.mark.parametrize(
    ("rates", "sentence"),
    [
        ({}, "found a sweep without points"),
        ({1: 0.0}, "a rate of 0.0 on 1 nodes, expected more than 0 on at least 1"),
        ({0: 3.0}, "a rate of 3.0 on 0 nodes, expected more than 0 on at least 1"),
        ({1: float("nan")}, "a rate of nan on 1 nodes, expected more than 0 on at least 1"),
    ],
)
def test_what_is_no_sweep_is_refused(rates: dict[int, float], sentence: str) -> None:
    with pytest.raises(ValueError) as caught:
        sweep(rates)
    assert str(caught.value) == sentence


@given(st.floats(0.001, 0.999), st.integers(2, 4096))
def test_karp_and_flatt_find_the_fraction_that_amdahl_was_given(serial: float, nodes: int) -> None:
    amdahl = 1 / (serial + (1 - serial) / nodes)
    assert karp_flatt(amdahl, nodes) == pytest.approx(serial, rel=1e-6)


def test_a_serial_fraction_of_one_node_is_none() -> None:
    with pytest.raises(ValueError, match=r"^a serial fraction on 1 nodes, expected at least 2$"):
        karp_flatt(1.0, 1)
