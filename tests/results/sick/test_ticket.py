"""The sick list as lines, and a ticket: what, where, since when, evidence, what to try next, with the run's page."""

from collections.abc import Callable
from datetime import datetime, timezone
from typing import get_args

from railyard.results.record.form import Record, Suspect
from railyard.results.sick import NEXT, SURE, Kind, Sure, lines, sick_list, tickets

NOW = datetime(2026, 11, 24, 4, tzinfo=timezone.utc)
Made = Callable[..., Record]


def page(run: str) -> str:
    return f"/site/{run}.html"


def test_every_kind_and_every_word_has_its_sentence() -> None:
    assert set(NEXT) == set(get_args(Kind))
    assert set(SURE) == set(get_args(Sure))


def test_a_ticket_is_this_text(failure: Made) -> None:
    found = sick_list([failure(day=20), failure(day=21)], NOW)
    assert tickets(found, page) == (
        "# virtual: rail hsn1 of vn2\n"
        "\n"
        "- **What**: rail hsn1 of vn2 (named: a failed test or a gate blames it)\n"
        "- **Where**: system virtual, node vn2\n"
        "- **Since**: 2026-11-20T06:00:12Z, last 2026-11-21T06:00:12Z; blamed by 1 test of 2 runs, the newest: "
        "ImbUniband %rails=1 @virtual:hsn+mpich\n"
        "- **Evidence**: it moved 4.9 of 48 MB/s\n"
        "- **Verdict**: hsn1 is slow\n"
        "- **What to try next**: the cable of hsn1; look at the card, its slot and its cable (railyard fabric, "
        "railyard doctor --nodes), reseat or swap the cable, and gate the node with a good neighbour (railyard gate "
        "--traffic --neighbour)\n"
        "- **Page of the newest run**: /site/20261121T060000Z-ab12.html\n"
    )


def test_a_ticket_of_a_part_that_passed_since_says_so_before_anything_is_tried(
    failure: Made, passing_record: Made
) -> None:
    (said,) = [
        line
        for line in tickets(sick_list([failure(), passing_record(22)], NOW), page).splitlines()
        if line.startswith("- **Passed since**")
    ]
    assert said == (
        "- **Passed since**: ImbUniband %rails=1 @virtual:hsn+mpich at 2026-11-22T06:00:12Z (run "
        "20261122T060000Z-ab12): check whether it is still sick before you do anything"
    )


def test_evidence_is_no_markup_and_stays_on_its_line(failure: Made) -> None:
    text = tickets(sick_list([failure(Suspect("node", "<b>a|b</b>\n# title", "vn2"))], NOW), page)
    assert "- **Evidence**: &lt;b>a\\|b&lt;/b> # title\n" in text


def test_tickets_are_apart_and_the_list_is_a_line_a_part(failure: Made, passing_record: Made) -> None:
    leaf = failure(Suspect("leaf", "slow", part="L4", nodes=("vn1", "vn2"), confidence="likely"), day=23)
    found = sick_list([failure(), passing_record(22), leaf, failure(state="disturbed")], NOW)
    first, second = tickets(found, page).split("\n---\n\n")
    assert (first.splitlines()[0], second.splitlines()[0]) == ("# virtual: leaf L4", "# virtual: rail hsn1 of vn2")
    assert lines(found) == [
        "2026-11-23T06:00:12Z  virtual  leaf L4 (likely, 1 run): slow",
        "2026-11-21T06:00:12Z  virtual  rail hsn1 of vn2 (named, 1 run, passed since: 2026-11-22T06:00:12Z): it "
        "moved 4.9 of 48 MB/s",
        "1 suspect left out: of a disturbed test, which blames nobody",
        "4 tests: 1 sick part, 1 passed since",
    ]
