"""Conditions in reports and comparisons: each difference appears once, however many tests have it."""

from dataclasses import replace

import pytest

from railyard.benchmarks.model import Figure
from railyard.results.comparison import as_json, compare, text
from railyard.results.record.form import ConditionRecord, NodeGroup, NodeTraffic, PathProofRecord, RailTraffic, Record
from railyard.results.remarks import CONDITIONS_HEADING, condition_sentences
from railyard.results.report.html import html_report
from railyard.results.report.terminal import markdown, text_report
from tests.made.records import made_record

TURBO = ConditionRecord("turbo", "enabled", ("edr-bw",), {"off": ("n1", "n2")})
SENTENCE = "the references edr-bw and edr-lat were taken with turbo on; n1, n2 and n3 have it off"
ALIKE = ConditionRecord("smt", "disabled", ("edr-bw",))
PATH = PathProofRecord("proven", "all on mlx5_0", 1, (NodeTraffic("n1", (RailTraffic("mlx5_0", True, 1, 1, 1.0),)),))


@pytest.fixture
def records() -> list[Record]:
    """Two tests of one run with their own references, on nodes that all have turbo off."""
    other = replace(TURBO, references=("edr-lat",), unlike={"off": ("n1", "n3")})
    return [made_record(conditions=(TURBO, ALIKE)), made_record(case="another", conditions=(other,))]


def test_a_difference_is_told_once_with_all_its_references_and_nodes(records: list[Record]) -> None:
    assert condition_sentences(records) == (SENTENCE,)
    assert condition_sentences([made_record(conditions=(ALIKE,)), made_record()]) == ()


def test_values_that_are_not_on_or_off_are_told_as_they_are_by_groups_of_nodes() -> None:
    mtu = ConditionRecord("mtu", "9000 B", ("a", "b", "c"), {"1500 B": ("n1", "n2"), "4200 B": ("n3",)})
    assert condition_sentences([made_record(conditions=(mtu,))]) == (
        "the references a, b and 1 more were taken with mtu 9000 B; n1 and n2 have 1500 B",
        "the references a, b and 1 more were taken with mtu 9000 B; n3 has 4200 B",
    )


def test_nodes_that_differ_in_several_conditions_have_one_sentence() -> None:
    smt = ConditionRecord("smt", "disabled", ("edr-bw",), {"on": ("n1", "n2")})
    kernel = ConditionRecord("kernel", "6.1.0", ("edr-bw",), {"6.2.0": tuple(f"n{number}" for number in range(3, 9))})
    assert condition_sentences([made_record(conditions=(TURBO, smt, kernel))]) == (
        "the reference edr-bw was taken with turbo on and smt off; n1 and n2 have turbo off and smt on",
        "the reference edr-bw was taken with kernel 6.1.0; n3, n4, n5, n6 and 2 more have 6.2.0",
    )


def test_terminal_page_and_markdown_say_it_once(records: list[Record]) -> None:
    told = text_report(records, width=200)
    assert f"{CONDITIONS_HEADING}\n  {SENTENCE}\n" in told
    assert (told.count(SENTENCE), told.count("PASS: ")) == (1, 1)
    assert html_report(records).count(SENTENCE) == 1
    assert markdown(records).count(SENTENCE) == 1
    nothing = [record.with_fields(conditions=(ALIKE,)) for record in records]
    assert CONDITIONS_HEADING not in text_report(nothing)
    assert CONDITIONS_HEADING not in html_report(nothing)


def side(run: str, **changes: object) -> Record:
    figures = (Figure("peak", 100.0, "MB/s", 4 << 20),)
    return made_record(run=run, figures=figures, path_proof=PATH).with_fields(**changes)


def nodes(**facts: str) -> tuple[NodeGroup, ...]:
    return (NodeGroup(("n1",), facts, {"mlx5_0": {"mtu": "2044"}, "eth0": {"mtu": "1500"}}),)


def replay_record(*stated: ConditionRecord) -> Record:
    return side("a", replayed="replayed: computed", conditions=stated, path_proof=None)


def test_a_replays_stated_conditions_are_compared_with_a_measurements_nodes() -> None:
    stated = (
        ConditionRecord("turbo", "enabled", ("edr-bw",)),
        ConditionRecord("smt", "disabled", ("edr-bw",)),
        ConditionRecord("mtu", "1500 B", ("edr-bw",)),
        ConditionRecord("governor", "performance", ("edr-bw",)),
        ConditionRecord("mpi", "Open MPI 1.10.3 with MXM", ("edr-bw",)),
    )
    measured = side("b", hardware=nodes(turbo="off", smt="off"), environment={"mpi": "mpirun (Open MPI) 4.1.5"})
    found = [one.words for one in compare([replay_record(*stated)], [measured]).environment if "condition" in one.name]
    assert found == [
        "condition turbo: on on A, off on B",
        "condition mtu: 1500 B on A, 2044 B on B",
        "condition mpi: Open MPI 1.10.3 with MXM on A, Open MPI 4.1.5 on B",
    ]


def test_two_measurements_are_compared_by_their_nodes_facts_alone() -> None:
    one, other = side("a", hardware=nodes(turbo="on")), side("b", hardware=nodes(turbo="off"))
    names = [each.name for each in compare([one], [other]).environment]
    assert names == ["host turbo"]


def test_a_rehearsals_nodes_are_compared_with_nothing() -> None:
    rehearsed = side("b", hardware=nodes(turbo="off"), rehearsal="a rehearsal")
    stated = ConditionRecord("turbo", "enabled", ("edr-bw",))
    names = [each.name for each in compare([replay_record(stated)], [rehearsed]).environment]
    assert not [name for name in names if "condition" in name]


def test_a_comparison_says_where_nodes_differ_from_their_references() -> None:
    one = side("a", conditions=(TURBO,))
    other = side("b", conditions=(TURBO, replace(TURBO, name="smt", stated="disabled", unlike={"on": ("n1",)})))
    found = compare([one], [other])
    assert found.conditions == (
        "A and B: the reference edr-bw was taken with turbo on; n1 and n2 have it off",
        "B: the reference edr-bw was taken with smt off; n1 has it on",
    )
    told = text(found, ("a", "b"), width=200)
    assert f"{CONDITIONS_HEADING}\n  {found.conditions[0]}\n  {found.conditions[1]}\n" in told
    assert as_json(found, ("a", "b"))["conditions"] == list(found.conditions)
