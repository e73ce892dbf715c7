"""What a page is about is said in words that hold for one run, for many, and for a replay."""

import pytest

from railyard.results.report.overview import facts, node_names, shown_time
from tests.made.records import made_record

RUN = ("Run", "20261121T060000Z-ab12")


def test_one_run_names_its_nodes_its_minute_and_its_length() -> None:
    records = [made_record(nodes=("n1", "n2"), elapsed_s=61.2), made_record(nodes=("n2", "n3"), elapsed_s=12.0)]
    assert facts(records) == (
        ("Nodes", "3 nodes: n1, n2 and n3"),
        ("Date", "2026-11-21 06:00 UTC"),
        RUN,
        ("Tests took", "1 min 13 s"),
    )


def test_a_replay_has_no_nodes_and_says_why() -> None:
    assert facts([made_record(replayed="replayed")])[0] == ("Nodes", "none: nothing was measured")


def test_many_runs_have_their_span_and_their_number() -> None:
    records = [made_record(run=f"r{day}", time=f"2026-11-2{day}T06:00:12Z") for day in range(4)]
    assert facts(records) == (("Date", "2026-11-20 06:00 UTC to 2026-11-23 06:00 UTC"), ("Runs", "4 runs"))


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ("2026-11-21T09:30:00Z", "2026-11-21 06:00 UTC"),
        ("2026-11-22T00:10:00Z", "2026-11-21 06:00 UTC to 2026-11-22 00:10 UTC"),
    ],
)
def test_a_run_has_its_beginning_and_over_midnight_its_end_too(last: str, words: str) -> None:
    records = [made_record(time=last), made_record(time="2026-11-21T06:00:12Z")]
    assert dict(facts(records))["Date"] == words


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        (("n1",), "n1"),
        (("n1", "n2"), "n1, n2"),
        (tuple(f"n{number}" for number in range(1, 5001)), "n1, n2 … n5000 (5,000 nodes)"),
    ],
)
def test_many_nodes_are_counted(nodes: tuple[str, ...], words: str) -> None:
    assert node_names(nodes) == words


def test_a_time_of_another_form_stays_as_it_is() -> None:
    assert shown_time("2026-0039") == "2026-0039"
    assert shown_time("2026-11-21T06:00:12.25Z") == "2026-11-21 06:00 UTC"


def test_nothing_is_known_of_no_record() -> None:
    assert facts([]) == ()
