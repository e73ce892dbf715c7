"""The overall verdict is never a pass if something failed or was lost, or if nothing was judged."""

from dataclasses import replace

import pytest

from railyard.benchmarks.model import Figure
from railyard.results.record.form import (
    AttemptRecord,
    NodeTraffic,
    PathProofRecord,
    RailTraffic,
    Record,
    State,
    Suspect,
)
from railyard.results.repeats import why_not
from railyard.results.report.summary import Row, count_line, judge_overall, row, split, suspect_words


def test_all_states_are_counted_and_add_up(faulty_run: list[Record]) -> None:
    assert count_line(faulty_run) == (
        "29 tests: 20 pass, 3 fail, 0 disturbed, 4 report-only, 1 expected failure, 1 not tested"
    )
    assert count_line([]) == "0 tests: 0 pass, 0 fail, 0 disturbed, 0 report-only, 0 expected failure, 0 not tested"


def test_tests_that_were_measured_again_are_counted_and_are_no_failure(healthy_run: list[Record]) -> None:
    once = healthy_run[0].with_fields(attempts=(AttemptRecord("disturbed", 5),))
    twice = once.with_fields(attempts=2 * once.how.attempts)
    found = judge_overall([once, twice, healthy_run[0]])
    assert (found.word, found.sentence) == (
        "PASS",
        "3 tests passed against their references; 2 tests were measured again.",
    )
    assert count_line([once, twice, healthy_run[0]]) == (
        "3 tests: 3 pass, 0 fail, 0 disturbed, 0 report-only, 0 expected failure, 0 not tested; 2 measured again"
    )


@pytest.mark.parametrize(
    ("states", "problems", "unrun", "word", "sentence"),
    [
        (["pass", "pass"], 0, 0, "PASS", "2 tests passed against their references."),
        (
            ["pass", "report-only", "xfail", "not-tested"],
            0,
            0,
            "PASS",
            "1 test passed against its references; 1 test was only compared with the physical limit, without a "
            "reference; 1 test failed as expected; 1 test did not run.",
        ),
        (["pass", "fail", "not-tested"], 0, 0, "FAIL", "1 of 2 tests failed."),
        (["pass"], 1, 0, "FAIL", "the run had a problem."),
        (
            ["fail", "disturbed", "disturbed"],
            0,
            0,
            "FAIL",
            "1 of 3 tests failed; 2 tests were disturbed, so nobody can judge what was measured.",
        ),
        (["pass"], 2, 1, "FAIL", "1 test that should have run left no record; the run had 2 problems."),
        (
            ["xfail", "not-tested"],
            0,
            0,
            "NOTHING JUDGED",
            "No test ran to a verdict, so nothing is known of this system.",
        ),
        ([], 0, 0, "NOTHING JUDGED", "No test ran to a verdict, so nothing is known of this system."),
    ],
)
def test_the_overall_verdict(
    healthy_run: list[Record], states: list[State], problems: int, unrun: int, word: str, sentence: str
) -> None:
    records = [healthy_run[0].with_fields(state=state) for state in states]
    found = judge_overall(records, ["a problem"] * problems, unrun)
    assert (found.word, found.sentence) == (word, sentence)


def short_run(record: Record, seconds: float) -> Record:
    """Return a record as a report-only run of NPB that computed for so long."""
    test = replace(record.test, benchmark="npb/FT/C/2-nodes")
    found = replace(record.found, state="report-only", figures=(Figure("runtime", seconds, "s"),))
    return replace(record, test=test, found=found)


def test_a_run_that_was_too_short_is_no_pass(healthy_run: list[Record]) -> None:
    """The summary said PASS, and that it had been compared with the physical limit."""
    short, long = short_run(healthy_run[0], 19.9), short_run(healthy_run[0], 20.0)
    alone = judge_overall([short])
    assert (alone.word, alone.sentence) == ("NOTHING JUDGED", "1 test ran too short a time to be judged.")
    both = judge_overall([short, long])
    assert (both.word, both.sentence) == (
        "PASS",
        "1 test was only compared with the physical limit, without a reference; 1 test ran too short a time to be "
        "judged.",
    )
    assert judge_overall([short, healthy_run[0]]).sentence == (
        "1 test passed against its references; 1 test ran too short a time to be judged."
    )


def test_no_reference_is_captured_from_a_run_that_was_too_short(healthy_run: list[Record]) -> None:
    """Its reference would fail each later run, because that is too short as well."""
    assert why_not(short_run(healthy_run[0], 1.5), replace=False) == (
        "it computed for 1.5 s, and less than 20 s is not judged"
    )
    assert why_not(short_run(healthy_run[0], 25.0), replace=False) is None


def test_a_row_has_peak_unit_percentages_split_and_verdict(faulty_run: list[Record]) -> None:
    slow = next(record for record in faulty_run if record.found.state == "fail" and record.found.verdict.rule == 5)
    assert row(slow) == Row(
        "hsn", "mpich", "2", "imb/Uniband", "76.6", "MB/s", "81.5", "78.9", "50/50", "fail (rule 5)", "fail"
    )


def test_a_row_of_a_test_that_measured_nothing_has_dashes(faulty_run: list[Record]) -> None:
    bare = next(record for record in faulty_run if record.found.state == "not-tested")
    assert row(bare) == Row("eth", "intelmpi", "1", "imb/Biband", "–", "", "–", "–", "–", "not tested", "not-tested")


@pytest.mark.parametrize(
    ("shares", "shown"),
    [
        ([("hsn0", True, 1.0), ("eth0", False, 0.001)], "100"),
        ([("hsn0", True, 0.504), ("hsn1", True, 0.496)], "50/50"),
        ([("hsn0", True, 0.02), ("hsn1", True, 0.0), ("eth0", False, 0.98)], "2/0, eth0 98"),
        ([("hsn0", True, 0.5), ("hsn1", True, None)], "50/?"),
        ([("hsn0", True, None)], "–"),
    ],
)
def test_the_split_shows_meant_rails_and_names_what_strayed(
    healthy_run: list[Record], shares: list[tuple[str, bool, float | None]], shown: str
) -> None:
    rails = tuple(RailTraffic(device, meant, 1, 1, share) for device, meant, share in shares)
    proof = PathProofRecord("failed", "", nodes=(NodeTraffic("vn1", rails),))
    assert split(healthy_run[0].with_fields(path_proof=proof)) == shown


def test_the_split_is_that_of_the_most_uneven_node(healthy_run: list[Record]) -> None:
    even = (RailTraffic("hsn0", True, 1, 1, 0.5), RailTraffic("hsn1", True, 1, 1, 0.5))
    uneven = (RailTraffic("hsn0", True, 1, 1, 0.9), RailTraffic("hsn1", True, 1, 1, 0.1))
    proof = PathProofRecord("failed", "", nodes=(NodeTraffic("vn1", even), NodeTraffic("vn2", uneven)))
    assert split(healthy_run[0].with_fields(path_proof=proof)) == "90/10"


@pytest.mark.parametrize(
    ("suspect", "words"),
    [
        (Suspect("rail", "slow", "vn2", "hsn1"), "rail hsn1 of vn2: slow"),
        (Suspect("node", "away", "vn3"), "node vn3: away"),
        (Suspect("pair", "slow", "vn1-vn2"), "pair vn1-vn2: slow"),
        (Suspect("stack", "one device opened"), "the stack: one device opened"),
    ],
)
def test_a_suspect_is_named_with_its_node_and_rail(suspect: Suspect, words: str) -> None:
    assert suspect_words(suspect) == words


def test_a_suspect_without_a_node_is_named_by_its_rail() -> None:
    assert suspect_words(Suspect("pair", "slow", None, "hsn1")) == "the path over hsn1: slow"
    assert suspect_words(Suspect("switch", "slow", None, "hsn1")) == "the switch of hsn1: slow"
