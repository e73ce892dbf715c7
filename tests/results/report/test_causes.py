"""Failures of one cause are one entry, and every command that it says to type is one that exists."""

import re
import shlex

import click
import pytest

from railyard.cli.main import railyard_group
from railyard.results.record.form import FaultClass, Record, Suspect, VerdictRecord
from railyard.results.report.summary import causes, commands, merge_alike
from tests.made.records import made_record


def failed_record(sentence: str, *suspects: Suspect, class_: FaultClass | None = "fabric", **changes: object) -> Record:
    return made_record(**{"state": "fail", "verdict": VerdictRecord(sentence, 5, class_, (), suspects), **changes})


RAIL = Suspect("rail", "it moved 4.9 MB/s", "vn2", "hsn1")
OTHER = Suspect("rail", "it moved 5.1 MB/s", "vn2", "hsn1")


def test_tests_that_name_one_suspect_are_one_cause_whatever_their_figures() -> None:
    records = [
        failed_record("slow", RAIL),
        made_record(),
        failed_record("slower by far", OTHER, fabric="eth"),
        failed_record("x", RAIL),
    ]
    (found,) = causes(records)
    assert (found.anchor, found.heading, found.indices) == ("cause-1", "Rail hsn1 of vn2", (0, 2, 3))


def test_without_a_suspect_the_same_sentence_but_for_its_figures_is_one_cause() -> None:
    records = [
        failed_record("bandwidth 76.6 MB/s at 4 MiB is below 94.0 MB/s", class_=None),
        failed_record("bandwidth 1.2e+03 MB/s at 1536 KiB is below 80 MB/s", class_=None),
        failed_record("bandwidth 76.6 MB/s at 4 MiB is below 94.0 MB/s", class_=None, fabric="eth"),
        failed_record("no such program", class_="set-up"),
    ]
    found = causes(records)
    assert [(one.heading, one.indices) for one in found] == [
        ("No cause named", (0, 1)),
        ("No cause named", (2,)),
        ("The set-up", (3,)),
    ]


def test_causes_that_would_read_alike_in_a_list_are_one_entry_with_all_their_tests() -> None:
    records = [
        failed_record("slow by 76.6 MB/s", class_=None),
        failed_record("no such program", class_="set-up"),
        failed_record("too few messages", class_=None),
        failed_record("late", RAIL),
    ]
    found = causes(records)
    assert [len(one.indices) for one in found] == [1, 1, 1, 1]
    assert [(one.anchor, one.heading, one.indices) for one in merge_alike(found)] == [
        ("cause-1", "No cause named", (0, 2)),
        ("cause-2", "The set-up", (1,)),
        ("cause-4", "Rail hsn1 of vn2", (3,)),
    ]


def test_the_cause_of_most_tests_comes_first_and_what_was_disturbed_last() -> None:
    disturbed = failed_record("busy", class_="disturbed", state="disturbed")
    records = [
        disturbed,
        disturbed,
        disturbed,
        failed_record("a", Suspect("node", "away", "n1")),
        *2 * [failed_record("b", RAIL)],
    ]
    assert [(one.state, one.heading, len(one.indices)) for one in causes(records)] == [
        ("fail", "Rail hsn1 of vn2", 2),
        ("fail", "Node n1", 1),
        ("disturbed", "Other work on the nodes", 3),
    ]


def test_many_suspects_are_counted_behind_four_names() -> None:
    many = [Suspect("node", "away", f"n{number}") for number in range(7)]
    assert causes([failed_record("x", *many)])[0].heading == "Node n0, node n1, node n2, node n3 and 3 more"


AGAIN = "railyard run --system virtual --failed"
NEXT: list[tuple[Record, tuple[str, ...]]] = [
    (failed_record("x", RAIL), ("railyard doctor --system virtual --nodes", AGAIN)),
    (failed_record("x"), ("railyard doctor --system virtual --nodes", AGAIN)),
    (failed_record("x", RAIL, class_="scheduler"), ("railyard doctor --system virtual --nodes", AGAIN)),
    (failed_record("x", class_="scheduler"), ("railyard doctor --system virtual --job", AGAIN)),
    (failed_record("x", Suspect("stack", "one device opened")), (f"{AGAIN} --dry-run", AGAIN)),
    (failed_record("x", class_="set-up"), (f"{AGAIN} --dry-run", AGAIN)),
    (failed_record("x", class_="reference"), ("railyard lint --system virtual", AGAIN)),
    (failed_record("x", class_="disturbed", state="disturbed"), (AGAIN,)),
    (failed_record("x", RAIL, replayed="replayed"), ("railyard references --system virtual",)),
    (failed_record("x", RAIL, rehearsal="a rehearsal"), ("railyard doctor --system virtual --nodes",)),
]


@pytest.mark.parametrize(("record", "expected"), NEXT)
def test_what_to_type_next_fits_the_cause(record: Record, expected: tuple[str, ...]) -> None:
    assert commands(record) == expected


def test_a_systems_name_cannot_end_the_command() -> None:
    assert commands(failed_record("x", system="a; rm -rf /"))[0] == "railyard doctor --system 'a; rm -rf /' --nodes"


@pytest.mark.parametrize("words", sorted({command for _, told in NEXT for command in told}))
def test_each_command_is_one_that_exists_with_its_options(words: str) -> None:
    _, name, *rest = shlex.split(words)
    command = railyard_group.get_command(click.Context(railyard_group), name)
    assert command is not None
    known = {option for each in command.params if isinstance(each, click.Option) for option in each.opts}
    options = {word for word in rest if re.match("--", word)} - ({"--dry-run"} if name == "run" else set())  # ReFrame's
    assert options <= known
