"""The report for a terminal: nothing is cut at any width, every failure has its sentence, the counts come last."""

import dataclasses
import re

import pytest

from railyard.results.record.form import Evidence, Record, Suspect
from railyard.results.report.terminal import failures, text_report, verdict_table
from railyard.site.matrix import Cell
from railyard.site.test_id import TestId

TABLE = """\
fabric  stack    rails  benchmark         peak             % of   % of  split,  verdict
                                                      reference  limit       %
─────────────────────────────────────────────────────────────────────────────────────────────
hsn     openmpi      2  netpipe/pingpong  95.6  MB/s      101.2   98.4   50/50  pass
hsn     openmpi      2  netpipe/stream    95.8  MB/s      101.2   98.4   100/0  fail (rule 4)
"""

FOLDED = """\
fabric stack   rails benchmark      peak       % of  % of split, verdict
                                               ref. limit      %
──────────────────────────────────────────────────────────────────────────────
hsn    openmpi     2 netpipe/       95.6 MB/s 101.2  98.4  50/50 pass
                     pingpong
hsn    openmpi     2 netpipe/stream 95.8 MB/s 101.2  98.4  100/0 fail (rule 4)
"""

FAILURES = """\
Failures
1. ImbUniband %rails=2 @virtual:hsn+mpich
   Rail hsn1 of vn2: it moved 4.9 MB/s while hsn0 moved 47.8 MB/s
   found: bandwidth at 4 MiB is 76.6 MB/s, below 94.03 MB/s, the floor of
     reference hsn-2 (94 % of the shaped rate of hsn, systems/virtual.yaml):
     81 % of what it should be.
   look at: the rate of hsn1 on vn2: railyard testbed status, ethtool hsn1
   type next: railyard doctor --system virtual --nodes"""
WHY = """
   why: rule 5, reference, fabric fault: bandwidth at 4 MiB is 76.6 MB/s, below
     94.03 MB/s, the floor of reference hsn-2 (94 % of the shaped rate of hsn,
     systems/virtual.yaml): 81 % of what it should be."""


def pair(records: list[Record]) -> list[Record]:
    """The dual-rail ping-pong that passes and the stream whose second rail was idle."""
    chosen = ("netpipe/pingpong", "netpipe/stream")
    return [record for record in records if record.test.rails == 2 and record.test.benchmark in chosen]


def test_the_table_in_full(faulty_run: list[Record]) -> None:
    assert verdict_table(pair(faulty_run), width=100) + "\n" == TABLE


def test_a_narrow_table_folds_and_cuts_nothing(faulty_run: list[Record]) -> None:
    assert verdict_table(pair(faulty_run), width=79) + "\n" == FOLDED


@pytest.mark.parametrize("width", [80, 100, 120])
def test_no_line_is_longer_than_the_terminal_and_every_figure_is_there(faulty_run: list[Record], width: int) -> None:
    text = text_report(faulty_run, width=width)
    assert max(map(len, text.splitlines())) <= width
    table = text.split("\n\n")[0]
    assert len(re.findall(r"\b(?:MB/s|us)\b", table)) == 27
    assert "\x1b" not in text


def test_failures_give_headline_measurement_and_next_step_and_the_rule_if_asked(faulty_run: list[Record]) -> None:
    slow = [record for record in faulty_run if record.found.verdict.rule == 5 and record.found.state == "fail"]
    assert failures(slow, width=80) == FAILURES
    assert failures(slow, width=80, why=True) == FAILURES + WHY


def test_what_was_measured_has_no_names_of_references_and_bounds_but_under_why(faulty_run: list[Record]) -> None:
    slow = next(record for record in faulty_run if record.found.verdict.rule == 5 and record.found.state == "fail")
    suspect = Suspect("rail", "it was at best 5 MB/s (margin 4.2 %, probe-margin)", "vn2", "hsn1", brief="is slow")
    named = dataclasses.replace(
        slow.found.verdict,
        sentence="bandwidth is below the bound of hsn-2",
        suspects=(suspect,),
        headline="Rail hsn1 of vn2 is slow",
        measured="bandwidth is 5 MB/s, bound 9",
    )
    record = slow.with_fields(verdict=named)
    assert failures([record], width=200).splitlines()[2:5] == [
        "   Rail hsn1 of vn2 is slow",
        "   measured: bandwidth is 5 MB/s, bound 9",
        "   suspect: rail hsn1 of vn2: it was at best 5 MB/s (margin 4.2 %)",
    ]
    assert "why: rule 5, reference, fabric fault: bandwidth is below the bound of hsn-2" in failures(
        [record], width=200, why=True
    )


def test_a_suspects_reason_is_not_said_again_after_the_headline_that_has_it(faulty_run: list[Record]) -> None:
    slow = next(record for record in faulty_run if record.found.verdict.rule == 5 and record.found.state == "fail")
    suspect = Suspect("rail", "hsn1 of vn2 is slow\nwith every partner", "vn2", "hsn1", confidence="likely")
    verdict = dataclasses.replace(slow.found.verdict, suspects=(suspect,), remarks=(suspect.reason,))
    (shown,) = [
        line for line in failures([slow.with_fields(verdict=verdict)], width=200).splitlines() if "vn2 is" in line
    ]
    assert shown == "   Rail hsn1 of vn2 is slow with every partner"


def test_what_was_measured_of_a_suspect_is_a_small_table_in_place_of_its_sentence(faulty_run: list[Record]) -> None:
    slow = next(record for record in faulty_run if record.found.verdict.rule == 5 and record.found.state == "fail")
    evidence = (
        Evidence(("vn1", "vn2"), "hsn1", 5.16, "MB/s"),
        Evidence(("vn2", "vn3"), "hsn1", None, "MB/s"),
        Evidence(("vn1", "vn3"), "hsn1", 15.4, "MB/s", is_control=True),
    )
    suspect = Suspect("rail", "hsn1 of vn2 is slow with all", "vn2", "hsn1", brief="is slow", evidence=evidence)
    remarks = ("vn2 alone gives 5.16; hsn1 of vn2 is slow with all", "hsn1 of vn2 is slow with all", "rehearsed")
    verdict = dataclasses.replace(
        slow.found.verdict, suspects=(suspect,), headline="Rail hsn1 of vn2 is slow", remarks=remarks
    )
    text = failures([slow.with_fields(verdict=verdict)], width=200)
    assert (
        """
   evidence: hsn1 alone, the best value between two nodes
     vn1 and vn2  5.16 MB/s
     vn2 and vn3  no result
     vn1 and vn3  15.4 MB/s  control
   also: vn2 alone gives 5.16
   also: rehearsed
   look at: """
        in text
    )
    assert "suspect:" not in text
    assert "with all" not in text


def test_who_is_blamed_stands_before_the_counts_with_the_number_of_tests(faulty_run: list[Record]) -> None:
    assert text_report(faulty_run).split("\n\n")[-1].splitlines()[0] == (
        "blamed: the stack (1 test), rail hsn1 of vn2 (1 test) and node vn3 (1 test)"
    )


def test_what_is_neither_pass_nor_fail_has_its_reason_and_the_counts_come_last(faulty_run: list[Record]) -> None:
    text = text_report(faulty_run)
    assert (
        "Not tested\n  Ctrl-C came before this test was started.\n    ImbBiband %rails=1 @virtual:eth+intelmpi\n"
        in text
    )
    assert text.splitlines()[-2:] == [
        "FAIL: 3 of 28 tests failed.",
        "29 tests: 20 pass, 3 fail, 0 disturbed, 4 report-only, 1 expected failure, 1 not tested",
    ]


def test_what_was_disturbed_and_what_was_measured_again_is_said_apart(disturbed_run: list[Record]) -> None:
    text = text_report(disturbed_run, width=120)
    assert (
        "Disturbed: nobody can judge what was measured, so run these again\n"
        "1. NetpipePingpong %rails=1 @virtual:hsn+openmpi\n"
        "   Disturbed: its processes waited for a processor 12 % of the time (bound 2 %)\n"
        "   found: bandwidth is low\n"
        "   look at: what else runs\n" in text
    )
    assert "Failures" not in text
    assert (
        "Measured again\n  NetpipeStream %rails=1 @virtual:hsn+openmpi: 1 earlier measurement was disturbed\n" in text
    )
    assert text.endswith(
        "FAIL: 1 test was disturbed, so nobody can judge what was measured; 1 test was measured again.\n"
        "29 tests: 23 pass, 0 fail, 1 disturbed, 5 report-only, 0 expected failure, 0 not tested; 1 measured again\n"
    )


def test_problems_and_cells_without_a_record_are_said(healthy_run: list[Record]) -> None:
    text = text_report(
        healthy_run, ["-S nosuch=3 named nothing"], unrun=[Cell(TestId("hsn", "mpich", 2, "imb/Uniband"))]
    )
    assert (
        "Problems of the run\n  -S nosuch=3 named nothing\n"
        "  imb/Uniband on hsn, 2 rails, mpich: should have run, but left no record\n" in text
    )
    assert "FAIL: 1 test that should have run left no record; the run had a problem." in text


def test_colour_is_on_the_verdict_alone(faulty_run: list[Record]) -> None:
    text = verdict_table(pair(faulty_run), width=100, colour=True)
    assert text.splitlines()[3].endswith("\x1b[32mpass\x1b[0m")
    assert text.splitlines()[4].endswith("\x1b[1;31mfail (rule 4)\x1b[0m")
    assert re.sub(r"\x1b\[[0-9;]*m", "", text) + "\n" == TABLE


def test_control_codes_of_an_output_never_reach_the_terminal(hostile: Record) -> None:
    text = text_report([hostile], ["\x1b[2Jproblem"], width=100)
    assert set(text) & set("\x1b\x00\x07\u202e") == set()
    assert "<script>alert(1)</script>]]>&red'\" next line" in text


def test_a_word_longer_than_the_line_stays_whole(healthy_run: list[Record]) -> None:
    path = "outputs/" + "a-very-long-name-" * 6 + ".out"
    assert f"  {path}\n" in text_report(healthy_run, [f"could not read {path}"], width=80)


def test_no_records_is_no_pass() -> None:
    assert text_report([]) == (
        "NOTHING JUDGED: No test ran to a verdict, so nothing is known of this system.\n"
        "0 tests: 0 pass, 0 fail, 0 disturbed, 0 report-only, 0 expected failure, 0 not tested\n"
    )
