"""The nodes and ranks that are set for a check: they override its own numbers, or its set-up says why not."""

from typing import Any

import pytest

from railyard.rfm.checks.groups import SET_BY_CHECKS, Accepts, Request, take_numbers, why_not_taken, why_refused
from railyard.site.systems.measure import StatedAmounts, Takes
from tests.made.check import MadeCheck

COLLECTIVE = Takes(nodes=4, fewest=2, ranks=True)


class NumbersCheck(MadeCheck):
    """A check whose class has the values of -S."""

    num_nodes = 16
    ranks_per_node = 28


def numbers_check(**of: Any) -> NumbersCheck:
    return NumbersCheck(num_nodes=16, **of)


def test_an_application_has_the_nodes_that_it_is_told_and_a_key_that_says_them() -> None:
    check = numbers_check(tool="hpl", benchmark="hpl", all_nodes=True)
    take_numbers(check, Takes(fewest=2), ("num_nodes",), None)
    assert (check.num_nodes, check.all_nodes, check.benchmark, check.request.refused) == (16, False, "hpl/16-nodes", "")
    assert (check.request.nodes, check.request.ranks, check.remarks) == (16, 0, ())


def test_any_other_benchmark_says_on_how_many_nodes_it_was() -> None:
    check = numbers_check(tool="osu", benchmark="osu_allreduce")
    take_numbers(check, COLLECTIVE, ("num_nodes",), None)
    assert (check.num_nodes, check.benchmark) == (16, "osu_allreduce")
    assert check.remarks == ("16 nodes (-S num_nodes), compared with the same references",)


def test_what_is_told_wins_over_the_systems_file() -> None:
    stated = StatedAmounts.model_validate({"nodes": 8, "ranks_per_node": 2})
    check = numbers_check(tool="osu", benchmark="osu_allreduce")
    take_numbers(check, COLLECTIVE, ("num_nodes",), stated)
    assert (check.num_nodes, check.ranks_per_node) == (16, 2)
    other = MadeCheck(tool="osu", benchmark="osu_allreduce", num_nodes=4)
    take_numbers(other, COLLECTIVE, (), stated)
    assert (other.num_nodes, other.ranks_per_node) == (8, 2)
    assert other.remarks == (
        "8 nodes (nodes of the system's file), compared with the same references",
        "2 ranks per node (ranks_per_node of the system's file), compared with the same references",
    )


def test_a_check_that_is_told_nothing_keeps_its_own() -> None:
    check = MadeCheck(all_nodes=True)
    take_numbers(check, Takes(fewest=2), (), None)
    assert (check.num_nodes, check.all_nodes, check.request.refused, check.remarks) == (2, True, "", ())


@pytest.mark.parametrize(
    ("takes", "names", "sentence"),
    [
        (Takes(), ("num_nodes",), "-S num_nodes: found 16, expected 2, which it always has"),
        (
            Takes(swept=True),
            ("num_nodes",),
            "-S num_nodes: found 16, expected none: it has a test for each of several numbers, choose with -P nodes=…",
        ),
        (
            Takes(),
            ("ranks_per_node",),
            "-S ranks_per_node: found 1, expected none: its number of ranks per node is fixed",
        ),
        (
            COLLECTIVE,
            ("num_tasks", "num_nodes"),
            "-S num_tasks: no check takes it, expected num_nodes and ranks_per_node",
        ),
    ],
)
def test_what_a_check_cannot_be_told_is_a_sentence(takes: Takes, names: tuple[str, ...], sentence: str) -> None:
    check = numbers_check()
    take_numbers(check, takes, names, None)
    assert check.request.refused == sentence


def test_a_recording_has_the_nodes_that_it_was_made_with() -> None:
    check = numbers_check(request=Request(variables={"num_nodes": 2}))
    assert why_refused(check, replayed=False) is None
    assert why_refused(check, replayed=True) == (
        "-S num_nodes: a recording is played, expected the nodes and ranks that it was made with"
    )
    assert why_refused(MadeCheck(request=Request(refused="why")), replayed=True) == "why"


def test_every_variable_that_a_check_sets_is_one_of_reframe() -> None:
    from railyard.rfm.checks.base import InterconnectCheck

    assert [name for name in SET_BY_CHECKS if name not in InterconnectCheck._rfm_var_space] == []


def test_numbers_that_an_application_does_not_take_are_said_with_those_that_it_has() -> None:
    check = MadeCheck(tool="npb", benchmark="BT/C/16-nodes", request=Request(nodes=16, ranks=30), num_nodes=16)
    check.ranks_per_node = 25
    assert why_not_taken(check) == (
        "ranks_per_node: found 30, but BT/C/16-nodes takes 25: ask for 25, or another problem"
    )
    check.ranks_per_node = 30
    assert why_not_taken(check) is None


def test_a_variable_that_is_set_by_name_is_noted_with_the_checks_own_number() -> None:
    from railyard.rfm.checks.base import InterconnectCheck

    class Own(InterconnectCheck):
        num_nodes = 4
        accepts = Accepts(fewest_nodes=2)

    assert Own.takes_of({}) == Takes(nodes=4, fewest=2) and not Own.request.variables
    assert Own.setvar("num_nodes", 16) and not Own.setvar("no_such_variable", 1)
    assert (dict(Own.request.variables), int(Own.num_nodes)) == ({"num_nodes": 4}, 16)
    assert Own.takes_of({}) == Takes(nodes=4, fewest=2)


def test_a_variable_that_reframe_gives_a_class_is_none_that_was_told() -> None:
    from railyard.rfm.checks.base import InterconnectCheck

    class Own(InterconnectCheck):
        num_nodes = 4

    assert not Own.setvar("num_nodes", Own._rfm_var_space["num_nodes"].field)
    assert not Own.request.variables and int(Own.num_nodes) == 4
