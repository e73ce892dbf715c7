"""The headline of a failure: one line of at most 100 characters, the part and the cause first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.results.record.form import Suspect, VerdictRecord
from railyard.results.record.headline import MOST, headline, make_headline, repeats, shorten, suspect_name

SLOW = Suspect("rail", "hsn1 of vn2 is slow with every partner: at best 5 MB/s", "vn2", "hsn1", brief="is slow: 5 MB/s")
IDLE = Suspect("rail", "idle: it sent nothing", "vn1", "hsn1", brief="is idle: it sent 0.1 of 190 MB")


@pytest.mark.parametrize(
    ("suspects", "brief", "fault", "expected"),
    [
        ((SLOW,), "bandwidth is low", "fabric", "Rail hsn1 of vn2 is slow: 5 MB/s"),
        ((SLOW, IDLE), "", "fabric", "Rail hsn1 of vn2 and rail hsn1 of vn1: slow: 5 MB/s"),
        (
            (Suspect("rail", "hsn1 of vn2 is slow", "vn2", "hsn1"),),
            "",
            "fabric",
            "Rail hsn1 of vn2 is slow",
        ),
        (
            (Suspect("rail", "rail hsn1 of vn2 has no carrier", "vn2", "hsn1"),),
            "",
            "fabric",
            "Rail hsn1 of vn2 has no carrier",
        ),
        (
            (Suspect("node", "job 12 was ended because a node died", "vn2"),),
            "",
            "node",
            "Node vn2: job 12 was ended because a node died",
        ),
        ((Suspect("stack", "it used eth0"),), "40.7 MB went over eth0", "set-up", "40.7 MB went over eth0"),
        ((), "osu/osu_bw (line 3) lacks 1 B", "set-up", "osu/osu_bw (line 3) lacks 1 B"),
        ((), "bandwidth is low", "disturbed", "Disturbed: bandwidth is low"),
        ((), "disturbed: it waited (bound 2 %, starved-share)", "disturbed", "Disturbed: it waited (bound 2 %)"),
    ],
)
def test_the_part_stands_first_and_what_it_does_follows(
    suspects: tuple[Suspect, ...], brief: str, fault: None, expected: str
) -> None:
    assert make_headline(suspects, brief, fault) == expected


def test_many_suspects_leave_room_for_what_they_do() -> None:
    rails = tuple(Suspect("rail", "idle", f"node{n:04}", "mlx5_1:1", brief=IDLE.brief) for n in range(40))
    assert make_headline(rails, "", "set-up") == (
        "Rail mlx5_1:1 of node0000, rail mlx5_1:1 of node0001 and 38 more: idle: it sent 0.1 of 190 MB"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the job exited 3", "the job exited 3"),
        (f"bandwidth 9 MB/s is low ({'x' * 90})", "bandwidth 9 MB/s is low"),
        (
            f"bandwidth 9 MB/s at 1 MiB is below its bound; look at {'x' * 90}",
            "bandwidth 9 MB/s at 1 MiB is below its bound",
        ),
        (f'the output itself reports a failure, "a: {"word " * 30}"', None),
        ("x" * 300, f"{'x' * 98}…"),
    ],
)
def test_a_long_sentence_keeps_its_first_clauses(text: str, expected: str | None) -> None:
    found = shorten(text)
    assert len(found) <= MOST and found.count('"') % 2 == 0
    assert expected is None or found == expected


@given(st.text(max_size=400), st.sampled_from(["fabric", "disturbed", None]))
def test_no_headline_is_longer_than_a_line(sentence: str, fault: None) -> None:
    for suspects in ((), (Suspect("rail", sentence, "n" * 60, "mlx5_0:1"),)):
        found = headline(VerdictRecord(sentence, 5, fault, suspects=suspects))
        assert len(found) <= MOST and "\n" not in found


def test_a_stored_headline_is_shown_as_it_is() -> None:
    assert headline(VerdictRecord("bandwidth is low", 5, headline="Rail hsn1 is slow")) == "Rail hsn1 is slow"


def test_a_headline_that_only_begins_the_sentence_is_not_said_twice() -> None:
    assert repeats("The job exited 3", "the job exited 3, expected 0")
    assert repeats("The job exited…", "the job exited 3, expected 0")
    assert not repeats("Rail hsn1 of vn2 is slow", "bandwidth is low")


def test_each_kind_of_suspect_has_a_name() -> None:
    assert suspect_name(Suspect("switch", "", None, "hsn1")) == "the switch of hsn1"
    assert suspect_name(Suspect("gpu", "", "n1", part="3")) == "GPU 3 of n1"
    assert suspect_name(Suspect("leaf", "", part="L4")) == "leaf L4"
