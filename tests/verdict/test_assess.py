"""From a run's evidence to its verdict: a healthy run, and each possible fault."""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from railyard.base.wording import message_size
from railyard.benchmarks.model import Figure, RepetitionsFrom
from railyard.benchmarks.table import micro
from railyard.job.mpi_identity import OtherMpi
from railyard.parsers import imb
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.provision.rehearsal.form import REHEARSED
from railyard.results.record.form import Suspect
from railyard.site.references.amount import Range
from railyard.site.references.load import References
from railyard.site.references.model import ExpectedFailure
from railyard.site.site import Site, site_at
from railyard.site.systems.model import DeclaredLink, ProofRules
from railyard.verdict.assess import Assessment, assess
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.findings import with_placement, with_remark, with_suspects
from railyard.verdict.rule_model import cite_band
from railyard.verdict.wording import NOBODY_BLAMED, NOT_PROVEN, WITH_EVERY, not_judged
from railyard.verdict.wording import run_rules as run_words
from railyard.verdict.wording.path import (
    carried_one_way,
    carried_part,
    counters_not_found,
    counters_unusable,
    idle,
    idle_part,
    idled_on_all,
    log_contradicts,
    look_at,
    miscount,
    no_bond,
    no_counters_of_rails,
    no_path,
    not_proven,
    say_accepted,
    say_moved,
    unknown_bytes,
    unseen_rest,
    went_over,
)
from railyard.verdict.wording.program import other_mpi, unknown_linkage
from railyard.verdict.wording.reference import (
    held_at_worst,
    look_at_rails,
    no_class,
    no_reference,
    no_size_for,
    nothing_decides,
    nothing_to_compare,
    open_end,
    own_condition,
    report_only,
    say_crossed,
)
from railyard.verdict.wording.run_rules import (
    Limit,
    at_time_limit,
    brief_cut_end,
    cut_end,
    cut_rows,
    did_not_react,
    did_not_run,
    first_failure,
    hangs,
    no_exit_code,
    say_disbelieved,
    say_exited,
    say_reported,
    say_stopped,
    say_unread,
    share_of_limit,
    too_few_tables,
)
from tests.conftest import ROOT
from tests.made.judged_run import SIZES, case_of, counters_file, healthy_rates, imb_output, judge_output
from tests.made.words import bounded_words, breach_words, idle_second

Assess = Callable[..., Assessment]
M = 1 << 20
#: Short messages on the virtual cluster have no bound, and the verdict says so.
UNBOUNDED = bounded_words((M, 4 * M), 12, "1 B to 256 KiB")
#: How a sentence ends about a value of the two nodes over one rail.
CROSSED = say_crossed(["hsn0"], ["vn1", "vn2"])


def held_sentence(entry: str, ratio: float, at: int = M) -> str:
    """Return that a bandwidth holds an entry with large sizes only, at worst at this share of its bound."""
    return held_at_worst("bandwidth", [entry], f" at {message_size(at)}", ratio, entry, UNBOUNDED)


def verdict_summary(found: Assessment) -> tuple[str, int | None, str | None, str]:
    verdict = found.verdict
    return verdict.state, verdict.rule, verdict.fault, verdict.text


def test_a_healthy_run_passes_all_five_rules(assess_cell: Assess) -> None:
    found = assess_cell()
    assert verdict_summary(found) == (
        "pass",
        None,
        None,
        held_sentence("one-rail", 1.016),
    )
    assert [(rule.rule, rule.state) for rule in found.verdict.rules] == [(n, "pass") for n in range(1, 6)]
    moved = say_moved(384_000_000, ["vn1", "vn2"], {"hsn0": 1.0}, 100_000, is_exclusive=True)
    assert found.path.sentence == moved
    assert [(c.metric, c.unit, len(c.sizes)) for c in found.curves] == [
        ("bandwidth", "MB/s", 12),
        ("message_rate", "1/s", 12),
    ]


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (("hsn", 2), held_sentence("two-rails-striped", 1.068)),
        (("eth", 1), held_sentence("management", 1.016)),
        (
            ("hsn", 2, "imb/PingPong"),
            held_at_worst(
                "bandwidth",
                ["unwindowed-two-rails-striped", "unwindowed-two-rails-striped-large"],
                " at 4 MiB",
                1.07,
                "unwindowed-two-rails-striped-large",
                UNBOUNDED,
            ),
        ),
        (("hsn", 2, "imb/Biband"), held_sentence("both-ways-two-rails-striped", 1.068)),
        (("hsn", 2, "imb/Uniband", "intelmpi"), held_sentence("two-rails-round-robin", 1.352)),
        (
            ("hsn", 2, "imb/Allreduce"),
            held_at_worst(
                "latency",
                ["allreduce", "allreduce-large"],
                " at 1 MiB",
                16.2,
                "allreduce",
                bounded_words((1 << 18, M, 4 * M), 12, "1 B to 64 KiB"),
            ),
        ),
    ],
)
def test_a_healthy_run_of_each_kind_passes(assess_cell: Assess, cell: tuple[Any, ...], sentence: str) -> None:
    assert verdict_summary(assess_cell(*cell)) == ("pass", None, None, sentence)


@pytest.mark.fault(
    "reference",
    "an open range of sizes closed at 1 MiB, and a run that is slow at 4 MiB alone",
    nothing_decides([open_end("bandwidth", 4 * M, is_largest=True)]),
)
def test_a_large_message_without_a_bound_is_said(assess_cell: Assess, virtual: Site, promise: str) -> None:
    slow = {**healthy_rates("hsn", 1), 4 * M: 20.0}
    assert assess_cell(rates=slow).verdict.rule == 5
    one = Range.model_validate({"from": "1M", "to": "1M"})
    entries = tuple(
        entry.model_copy(update={"sizes": one}) if entry.id == "one-rail" else entry
        for entry in virtual.references.entries
    )
    closed = replace(virtual, references=replace(virtual.references, entries=entries))
    found = assess_cell(site=closed, rates=slow).verdict
    assert (found.state, found.rule, found.fault) == ("fail", 5, "reference")
    assert found.text.startswith(promise) and bounded_words((M,), 12, "1 B to 256 KiB and 4 MiB") in found.text


@pytest.mark.fault(
    "reference",
    "a collective's reference narrowed to its small messages",
    nothing_decides([open_end("latency", 4 * M, is_largest=True)]),
)
def test_a_collective_without_a_bound_for_large_messages_does_not_pass(
    assess_cell: Assess, virtual: Site, promise: str
) -> None:
    allreduce = ("hsn", 2, "imb/Allreduce")
    assert assess_cell(*allreduce).verdict.state == "pass"
    small = Range.model_validate({"to": "4K"})
    entries = tuple(
        entry.model_copy(update={"sizes": small}) if entry.id.startswith("allreduce") else entry
        for entry in virtual.references.entries
    )
    narrowed = replace(virtual, references=replace(virtual.references, entries=entries))
    found = assess_cell(*allreduce, site=narrowed).verdict
    assert (found.state, found.rule, found.fault) == ("fail", 5, "reference")
    assert (
        found.text.startswith(promise)
        and bounded_words((1, 4, 16, 64, 256, 1024, 4096), 12, "16 KiB to 4 MiB") in found.text
    )


@pytest.mark.fault(
    "rail",
    "another program's stream beside the benchmark, over the same rail and pair",
    "shared: hsn0 of vn1 sent 420.0 MB while the run moved at most",
)
def test_more_than_a_run_can_move_is_said_of_a_pass(assess_cell: Assess, promise: str) -> None:
    beside = {"vn1": {"hsn0": (420, 3)}, "vn2": {"hsn0": (3, 420)}}
    found = assess_cell(moved=beside)
    assert (found.verdict.state, found.path.state) == ("pass", "proven")
    assert promise in found.verdict.text
    assert promise in found.path.sentence
    assert assess_cell().path.disturbance is None
    low = assess_cell(moved=beside, rates={M: 30.0, 4 * M: 30.0}).verdict
    assert (low.state, low.fault) == ("disturbed", "disturbed")
    assert promise in low.text


@pytest.mark.fault("rail", "a stream against the benchmark's own direction", "shared: hsn0 of vn1 received 60.0 MB")
def test_traffic_the_other_way_is_said_too(assess_cell: Assess, promise: str) -> None:
    beside = {"vn1": {"hsn0": (192, 60)}, "vn2": {"hsn0": (60, 192)}}
    assert promise in assess_cell(moved=beside).verdict.text


def test_what_the_site_changed_is_said_of_the_next_run(assess_cell: Assess) -> None:
    changed = "/opt/mpi/lib/libmpi.so.40 has changed since the last run with it (9 bytes then, 11 now)"
    found = assess_cell(changed=(changed,)).verdict
    assert (found.state, found.remarks[-1]) == ("pass", changed)


def test_the_key_figures_are_those_of_the_curves(assess_cell: Assess) -> None:
    figures = {f.name: (f.value, f.unit, f.size) for f in assess_cell(rails=2).figures}
    assert figures == {
        "peak": (95.53, "MB/s", 4 * M),
        "n_half": (pytest.approx(265_846, abs=1), "B", None),
        "message_rate": (33310.1, "1/s", 1),
    }
    pingpong = {f.name: (f.value, f.unit, f.size) for f in assess_cell(benchmark="imb/PingPong").figures}
    assert pingpong["small_message_latency"] == (30.02, "us", 1)
    assert pingpong["peak"] == (47.78, "MB/s", 4 * M)


def test_a_peak_below_the_size_from_which_the_limit_holds_is_none(assess_cell: Assess) -> None:
    """The shaper's bucket lets 64 KiB pass at 60 MB/s: this is neither impossible nor the peak."""
    rates = {4096: 40.0, 65536: 60.0, M: 47.5, 4 * M: 47.6}
    found = assess_cell(rates=rates)
    assert found.verdict.state == "pass"
    assert [(f.value, f.size) for f in found.figures if f.name == "peak"] == [(47.6, 4 * M)]


def test_percentages_are_of_the_worst_size_and_of_the_limit(assess_cell: Assess) -> None:
    curve, rate = assess_cell(rates={M: 48.0, 4 * M: 47.47}).verdict.curves
    assert curve.percent_of_reference == pytest.approx(101.0)
    assert curve.percent_of_reference_size == 4 * M
    assert curve.percent_of_limit == pytest.approx(100 * 47.47 / (50 * 1460 / 1514))
    assert (rate.percent_of_reference, rate.percent_of_limit) == (None, None)


HEALTHY_TEXT_END = "# All processes entering MPI_Finalize"

RULE_1: list[tuple[str, dict[str, Any], str, str]] = [
    ("exit code", {"exit_code": 3}, "set-up", say_exited(3, '')),
    (
        "exit code with a word on standard error",
        {"exit_code": 1, "stderr": "-----\nmpirun has detected an attempt to run as root.\n-----\n"},
        "set-up",
        say_exited(1, first_failure(0, "", "mpirun has detected an attempt to run as root.", "")),
    ),
    (
        "ended before ldd was asked",
        {"exit_code": 66, "linked": "", "stderr": "railyard: error: an input is another one\n"},
        "set-up",
        say_exited(66, first_failure(0, "", "railyard: error: an input is another one", "")),
    ),
    (
        "ended well and ldd said nothing",
        {"linked": ""},
        "set-up",
        unknown_linkage("imb/Uniband", ""),
    ),
    (
        "ended badly before ldd was asked",
        {"exit_code": 1, "linked": "", "stderr": "cp: cannot stat '/data/inputs/.': No such file or directory\n"},
        "set-up",
        say_exited(1, first_failure(0, "", "cp: cannot stat '/data/inputs/.': No such file or directory", "")),
    ),
    ("signal", {"exit_code": 137}, "scheduler", say_exited(137, '') + run_words.killed_by_unknown()),
    ("no exit code", {"exit_code": None}, "scheduler", no_exit_code("")),
    ("scheduler", {"scheduler_error": "no partition"}, "scheduler", did_not_run("no partition")),
    (
        "time-out",
        {"exit_code": 124, "timed_out": True},
        "set-up",
        at_time_limit(120, 1, 1, "", "", ""),
    ),
    (
        "no output",
        {"output": ""},
        "set-up",
        run_words.foreign_output(
            "found '', expected output of IMB: a banner, a title \"# Benchmarking …\" or a heading"
        ),
    ),
    (
        "another benchmark",
        {"output": "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n# Benchmarking PingPong\n# #processes = 2\n"
                   "#bytes #repetitions t[usec] Mbytes/sec\n 4194304 6 88000.00 47.60\n"},
        "set-up",
        too_few_tables(0, 1),
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("stuck", "does"),
    [
        ("stuck 7 D request_wait_answer", (hangs("request_wait_answer"),)),
        ("stuck 7 D -\nstuck 8 T -", (hangs(None), say_stopped())),
        ("", None),
    ],
)
def test_a_node_whose_process_hangs_in_the_kernel_is_named_though_all_were_killed(
    assess_cell: Assess, stuck: str, does: tuple[str, ...] | None
) -> None:
    moved = {"hsn0": (1.0, 1.0), "hsn1": (0.0, 0.0), "eth0": (0.0, 0.0)}
    files = tuple(counters_file(*one) for one in (("vn1", moved, ("hsn0",), ""), ("vn2", moved, ("hsn0",), stuck)))
    verdict = assess_cell(exit_code=124, timed_out=True, counters=files).verdict
    ended = at_time_limit(120, 1, 1, "", "", "")
    assert verdict.sentence == (ended if does is None else did_not_react(["vn2"], does, ended))
    assert (verdict.state, verdict.rule, verdict.fault) == ("fail", 1, "node" if stuck else "set-up")


@pytest.mark.parametrize(("changes", "fault", "sentence"), [row[1:] for row in RULE_1], ids=[row[0] for row in RULE_1])
def test_a_run_that_is_not_whole_fails_rule_1(
    assess_cell: Assess, changes: dict[str, Any], fault: str, sentence: str
) -> None:
    assert verdict_summary(assess_cell(**changes)) == ("fail", 1, fault, sentence)


def cut(text: str, at: str) -> str:
    return text[: text.index(at)]


def test_an_output_that_is_cut_fails_at_every_line(assess_cell: Assess, imb_text: Callable[..., str]) -> None:
    lines = imb_text().splitlines(keepends=True)
    last = next(number for number, line in enumerate(lines) if line.split()[:1] == ["4194304"])
    for count in range(last + 1):
        found = assess_cell(output="".join(lines[:count]))
        assert (found.verdict.state, found.verdict.rule) == ("fail", 1), lines[count - 1]
    cut_short = assess_cell(output="".join(lines[:last]))
    assert cut_short.verdict.text == cut_rows(["imb/Uniband (line 4)"])
    without_end = assess_cell(output="".join(lines[: last + 1]))
    assert verdict_summary(without_end)[:2] == ("fail", 1)
    assert without_end.verdict.text == cut_end(HEALTHY_TEXT_END, ["imb/Uniband (line 4)"])
    assert without_end.verdict.headline.lower() == brief_cut_end(HEALTHY_TEXT_END).lower()


def test_a_line_that_reports_a_failure_fails_beside_a_whole_table(
    assess_cell: Assess, imb_text: Callable[..., str]
) -> None:
    text = imb_text() + "\n= BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
    assert verdict_summary(assess_cell(output=text)) == (
        "fail",
        1,
        "set-up",
        say_reported(1, first_failure(22, "", "= BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES", "")),
    )


def test_a_refused_rail_is_named_and_is_the_suspect(assess_cell: Assess, counters_text: Callable[..., str]) -> None:
    refused = counters_text("vn2", {"hsn0": (0, 0)}, "refused hsn0 rail hsn0 of vn2 has no carrier\nend 71")
    found = assess_cell(exit_code=71, output="", counters=(counters_text("vn1", {"hsn0": (0, 0)}), refused))
    assert verdict_summary(found) == ("fail", 1, "fabric", "rail hsn0 of vn2 has no carrier")
    assert found.verdict.suspects == (Suspect("rail", "rail hsn0 of vn2 has no carrier", "vn2", "hsn0"),)


ONLY_VN1 = run_words.other_nodes(["vn1"], ["vn1", "vn2"])
HEALTHY_VN1 = {"hsn0": (190.0, 2.0), "hsn1": (0.1, 0.1), "eth0": (0.1, 0.1)}


def test_a_node_without_counters_fails(assess_cell: Assess, counters_text: Callable[..., str]) -> None:
    found = assess_cell(counters=(counters_text("vn1", HEALTHY_VN1),))
    assert verdict_summary(found) == ("fail", 1, "scheduler", ONLY_VN1)
    assert found.path.sentence == f"{NOT_PROVEN}{counters_not_found('vn2')}"


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            lambda text: text.replace("1a2b3c4d-17", "99999999-1"),
            f"{NOT_PROVEN}{counters_unusable('vn2', '')}the file is from another run (99999999-1, expected "
            "1a2b3c4d-17)",
        ),
        (
            lambda text: cut(text, "end 0"),
            f"{NOT_PROVEN}{counters_unusable('vn2', '')}the file has no end: the run was killed before the "
            "counters were read again",
        ),
        (
            lambda text: text.replace("after hsn0 rx_bytes 190001000\n", ""),
            f"{NOT_PROVEN}rail hsn0 of vn2 has no readable counter of bytes received",
        ),
        (lambda text: "", ONLY_VN1),
    ],
    ids=["of another run", "cut", "without a counter", "empty"],
)
def test_counters_that_tell_nothing_fail(
    assess_cell: Assess, counters_text: Callable[..., str], spoil: Callable[[str], str], sentence: str
) -> None:
    vn2 = counters_text("vn2", {**HEALTHY_VN1, "hsn0": (2, 190)})
    assert assess_cell(counters=(counters_text("vn1", HEALTHY_VN1), vn2)).verdict.state == "pass"
    found = assess_cell(counters=(counters_text("vn1", HEALTHY_VN1), spoil(vn2)))
    assert (found.verdict.state, found.verdict.text) == ("fail", sentence)


def test_metrics_that_cannot_be_read_fail_rule_2(assess_cell: Assess, imb_text: Callable[..., str]) -> None:
    text = imb_text().replace("Msg/sec", "t[usec]")
    assert verdict_summary(assess_cell(output=text)) == (
        "fail",
        2,
        "set-up",
        f"{say_unread('bandwidth', 'MB/s', '')}: imb/Uniband: no column message_rate, only size, "
        f"repetitions, bandwidth, time; {say_unread('message_rate', '1/s', '')}: imb/Uniband: no column "
        "message_rate, only size, repetitions, bandwidth, time",
    )


def test_a_curve_above_the_limit_is_impossible(assess_cell: Assess, virtual: Site) -> None:
    found = assess_cell(rates={M: 47.5, 4 * M: 52.0})
    assert (found.verdict.state, found.verdict.rule, found.verdict.fault) == ("fail", 3, "set-up")
    limit = virtual.system.fabrics["hsn"].limit(1, 1)
    assert limit is not None and limit.value_mb_s == pytest.approx(50 * 1460 / 1514)
    most = Limit(limit.value_mb_s, limit.bound_at(4 * M), limit.terms, limit.source)
    assert found.verdict.text == say_disbelieved(share_of_limit(Figure("bandwidth", 52.0, "MB/s", 4 * M), most))


def test_a_curve_below_the_floor_names_value_bound_and_source(assess_cell: Assess) -> None:
    entry = (
        "one-rail (class: the shaped rate less TCP/IP headers (95.6 %) and 1.6 points for start-up and "
        "acknowledgements, 2026-11-21)"
    )
    assert verdict_summary(assess_cell(rates={M: 46.0, 4 * M: 47.5})) == (
        "fail",
        5,
        "fabric",
        f"{breach_words('below', 46.0, 47.0, entry, M)}{CROSSED}",
    )


def test_an_idle_second_rail_fails_although_the_rate_would_do(assess_cell: Assess) -> None:
    one = {"vn1": {"hsn0": (190, 2), "hsn1": (0.1, 0.1), "eth0": (0.1, 0.1)},
           "vn2": {"hsn0": (2, 190), "hsn1": (0.1, 0.1), "eth0": (0.1, 0.1)}}  # fmt: skip
    found = assess_cell(rails=2, moved=one)
    assert verdict_summary(found) == (
        "fail",
        4,
        "set-up",
        idle_second(idle_part("hsn1", "vn1", "sent", 100_000, 190_100_000)),
    )
    assert found.verdict.suspects == (Suspect("stack", idled_on_all(["hsn1"], ["vn1", "vn2"])),)


def test_traffic_over_the_management_network_fails(assess_cell: Assess) -> None:
    strayed = {"vn1": {"hsn0": (0.1, 0.1), "hsn1": (0, 0), "eth0": (190, 2)},
               "vn2": {"hsn0": (0.1, 0.1), "hsn1": (0, 0), "eth0": (2, 190)}}  # fmt: skip
    found = assess_cell(moved=strayed)
    assert verdict_summary(found) == (
        "fail",
        4,
        "set-up",
        f"{went_over(190_000_000, 'eth0', 'vn1', None, '')}"
        f"{carried_part(['hsn0'], 'vn1', 'sent', 100_000, 179_000_000)}",
    )


def test_the_other_rail_is_a_network_that_was_not_meant(assess_cell: Assess) -> None:
    both = {"vn1": {"hsn0": (95, 2), "hsn1": (95, 2), "eth0": (0, 0)},
            "vn2": {"hsn0": (2, 95), "hsn1": (2, 95), "eth0": (0, 0)}}  # fmt: skip
    assert verdict_summary(assess_cell(moved=both)) == (
        "fail",
        4,
        "set-up",
        f"{went_over(95_000_000, 'hsn1', 'vn1', None, '')}"
        f"{carried_part(['hsn0'], 'vn1', 'sent', 95_000_000, 179_000_000)}",
    )


def test_a_split_is_due_of_messages_above_the_threshold_alone(assess_cell: Assess) -> None:
    """MPICH stripes from 1 MiB: a run with only 256 KiB may leave the second rail idle, one with 4 MiB may not."""
    one = {"vn1": {"hsn0": (190, 2), "hsn1": (0, 0), "eth0": (0, 0)},
           "vn2": {"hsn0": (2, 190), "hsn1": (0, 0), "eth0": (0, 0)}}  # fmt: skip
    small = assess_cell(rails=2, rates={262144: 47.5}, moved=one)
    assert small.path.state == "proven"
    assert (small.verdict.rule, small.verdict.fault) == (5, "reference")
    band = next(each for each in small.inputs.metrics[0].bands if each.entry_id == "two-rails-striped")
    assert small.verdict.text.startswith(no_size_for("bandwidth", cite_band(band)))
    assert assess_cell(rails=2, rates={4 * M: 95.0}, moved=one).path.state == "failed"


# Collectives


def test_a_collective_of_small_messages_owes_no_rail_its_share(assess_cell: Assess) -> None:
    """A reduction over four nodes sends quarters of the vector: below 4 MiB they are below MPICH's 1 MiB."""
    lone = {node: {"hsn0": (40, 40), "hsn1": (0, 0), "eth0": (0, 0)} for node in ("vn1", "vn2", "vn3", "vn4")}
    rates = {4: 0.1, 65536: 20.0, M: 40.0}
    small = assess_cell(rails=2, benchmark="imb/Allreduce", rates=rates, moved=lone)
    assert (small.path.state, small.path.sentence) == (
        "proven",
        say_moved(320_000_000, ["vn1", "vn2", "vn3", "vn4"], {"hsn0": 1.0, "hsn1": 0.0}, 0, is_exclusive=True),
    )
    large = assess_cell(rails=2, benchmark="imb/Allreduce", rates={**rates, 4 * M: 80.0}, moved=lone)
    assert verdict_summary(large) == (
        "fail",
        4,
        "set-up",
        idle([idle_part("hsn1", "vn1", "sent", 0, 40_000_000)], 2, 0.05, "of the node's bytes", "collective-share"),
    )


def test_a_collective_owes_every_node_the_bytes_of_its_vectors(assess_cell: Assess) -> None:
    found = assess_cell(benchmark="imb/Allreduce", moved={"vn3": {"hsn0": (1, 1), "hsn1": (0, 0), "eth0": (0, 0)}})
    assert found.path.expected_bytes == 4 * 2 * 5 * sum(4**n for n in range(12))
    assert verdict_summary(found) == (
        "fail",
        4,
        "not-proven",
        f"{NOT_PROVEN}{carried_part(['hsn0'], 'vn3', 'sent', 1_000_000, 28_000_000)}{unseen_rest('')}",
    )


# Systems without references, without counters, without a network


def with_system(site: Site, **changes: Any) -> Site:
    system = site.system.model_copy(update=changes)
    return replace(site, system=system, references=References(system))


def unknown_link(site: Site) -> dict[str, Any]:
    link = DeclaredLink.model_validate({"name": "new-link", "data_rate_gbit_s": None, "source": "nobody says"})
    return {"hsn": site.system.fabrics["hsn"].model_copy(update={"declared_link": link})}


def test_a_system_without_a_reference_fails(assess_cell: Assess, virtual: Site) -> None:
    found = assess_cell(site=with_system(virtual))
    assert verdict_summary(found) == (
        "fail",
        5,
        "reference",
        no_reference(["bandwidth"], "mpich", ["hsn0"], "hsn", "virtual"),
    )


def test_a_report_only_system_with_a_known_limit_is_reported(assess_cell: Assess, virtual: Site) -> None:
    site = with_system(virtual, report_only="delivered yesterday")
    assert verdict_summary(assess_cell(site=site)) == (
        "report-only",
        None,
        None,
        report_only("delivered yesterday", [not_judged(no_class("no-source", "shaped-400", ""))]),
    )
    assert verdict_summary(assess_cell(site=site, rates={M: 47.5, 4 * M: 52.0}))[:2] == ("fail", 3)


def test_a_report_only_system_is_held_to_the_day_one_floor_of_its_links(assess_cell: Assess, virtual: Site) -> None:
    edr = virtual.system.fabrics["hsn"].model_copy(update={"declared_link": "ib-edr", "kind": "tcp"})
    site = with_system(virtual, report_only="delivered yesterday", fabrics={"hsn": edr})
    good = assess_cell(site=site, rates={M: 12_010.0, 4 * M: 12_020.0})
    floor = next(band for band in good.inputs.metrics[0].bands if band.entry_id == "class:ib-edr")
    assert "Railyard's own condition, not physics" in floor.source
    own = own_condition(10.0, "MB/s", 10 / 12_000)
    assert (good.verdict.state, good.verdict.rules[4].state) == ("report-only", "pass")
    assert verdict_summary(assess_cell(site=site, rates={M: 11_990.0, 4 * M: 12_020.0})) == (
        "fail",
        5,
        "fabric",
        f"{breach_words('below', 11_990, 12_000, cite_band(floor), M, own=own)}{CROSSED}",
    )


def test_a_stream_over_bonded_ports_is_held_to_one_and_bounded_by_all(assess_cell: Assess, virtual: Site) -> None:
    hsn = virtual.system.fabrics["hsn"]
    bonds = tuple(rail.model_copy(update={"bonded_ports": 2}) for rail in hsn.rails)
    edr = hsn.model_copy(update={"declared_link": "ib-edr", "kind": "tcp", "rails": bonds})
    site = with_system(virtual, report_only="delivered yesterday", fabrics={"hsn": edr})
    for most, reached in ((12_020.0, "pass"), (20_000.0, "pass"), (9_000.0, "fail")):
        rules = assess_cell(site=site, rates={M: min(most, 12_010.0), 4 * M: most}).verdict.rules
        assert (rules[2].state, rules[4].state) == ("pass", reached)
    # The cluster of this test has no bond, which is said before anything else.
    assert rules[3].sentence == miscount("hsn0", "vn1", no_bond(), 2)


def test_a_report_only_system_without_a_known_limit_fails(assess_cell: Assess, virtual: Site) -> None:
    site = with_system(virtual, report_only="delivered yesterday", fabrics=unknown_link(virtual))
    assert verdict_summary(assess_cell(site=site)) == (
        "fail",
        5,
        "reference",
        nothing_to_compare("virtual", "delivered yesterday", "hsn"),
    )


def test_rails_without_counters_leave_rule_4_unjudged_and_say_so(assess_cell: Assess, virtual: Site) -> None:
    hsn = virtual.system.fabrics["hsn"]
    bare = hsn.model_copy(update={"rails": tuple(r.model_copy(update={"counters": "none"}) for r in hsn.rails)})
    system = virtual.system.model_copy(update={"fabrics": {**virtual.system.fabrics, "hsn": bare}})
    found = assess_cell(site=replace(virtual, system=system), counters=())
    assert (found.verdict.state, found.verdict.rules[3].state) == ("pass", "not-judged")
    unseen = no_path(no_counters_of_rails("hsn"))
    why = say_accepted(unseen, "systems/virtual.yaml says counters: none for a rail of hsn")
    assert found.verdict.text == f"{held_sentence('one-rail', 1.016)}; rule 4 (path) {not_judged(why)}"


def test_a_single_host_is_never_a_pass(assess_cell: Assess) -> None:
    local = site_at(ROOT, "local")
    found = assess_cell("loopback", site=local, rates={M: 9000.0, 4 * M: 11_000.0}, counters=())
    assert (found.verdict.state, found.verdict.rule) == ("not-tested", None)
    assert found.verdict.text == f"not tested: the run is sound, but {local.system.report_only}"
    assert [rule.state for rule in found.verdict.rules] == ["pass", "pass", *["not-judged"] * 3]
    assert [curve.metric for curve in found.verdict.curves] == ["bandwidth", "message_rate"]


def test_a_single_host_fails_where_the_run_is_not_sound(assess_cell: Assess) -> None:
    local = site_at(ROOT, "local")
    found = assess_cell("loopback", site=local, counters=(), exit_code=1)
    assert verdict_summary(found) == ("fail", 1, "set-up", say_exited(1, ""))


# Suspects


def test_suspects_are_added_and_only_what_to_look_at_changes(assess_cell: Assess) -> None:
    slow = assess_cell(rates={M: 4.7, 4 * M: 4.8})
    suspect = Suspect("rail", f"hsn0 of vn2 alone is slow {WITH_EVERY}", "vn2", "hsn0")
    found = with_suspects(slow, Findings((suspect,), suspect.reason))
    assert found.verdict.suspects == (suspect,)
    assert found.verdict.text == f"{slow.verdict.text}; {suspect.reason}"
    assert found == replace(
        slow,
        inputs=replace(slow.inputs, suspects=(suspect,)),
        verdict=replace(
            slow.verdict,
            suspects=(suspect,),
            remarks=(suspect.reason,),
            # The rail is found, so its parts are next.
            look_at=look_at("hsn0 of vn2"),
        ),
    )


def test_probes_that_blame_nobody_are_said_too(assess_cell: Assess) -> None:
    slow = assess_cell(rates={M: 4.7, 4 * M: 4.8})
    clear = f"none of 6 probes was slow: {NOBODY_BLAMED}"
    found = with_suspects(slow, Findings((), clear))
    assert found.verdict.suspects == ()
    assert found.verdict.text.endswith(f"{CROSSED}; {clear}")
    assert found.verdict.look_at == look_at_rails(["hsn0"], ["vn1", "vn2"], False, False)


def test_remarks_stand_behind_what_the_probes_found(assess_cell: Assess) -> None:
    slow = assess_cell(rates={M: 4.7, 4 * M: 4.8})
    found = with_suspects(with_remark(slow, "MTU 1024"), Findings((), NOBODY_BLAMED))
    assert found.verdict.text == f"{slow.verdict.text}; {NOBODY_BLAMED}; MTU 1024"


# Properties


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.text(max_size=300))
@example("#bytes #repetitions Mbytes/sec Msg/sec\n 4194304 1 nan inf\n")
@example("#bytes #repetitions Mbytes/sec Msg/sec\n 4194304 999999999999999999 47.60 11.90\n")
@example("#bytes #repetitions Mbytes/sec Msg/sec\n 4 1 1e308 1e308\n 4194304 1 1e308 1e308\n")
def test_any_output_fails_and_none_raises(assess_cell: Assess, text: str) -> None:
    assert assess_cell(output=text).verdict.state == "fail"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.text(max_size=200), max_size=4))
@example(["railyard-counters 1 1a2b3c4d-17\nnode vn1\nmeant hsn0\nbefore hsn0 tx_bytes " + "9" * 5000 + "\nend 0\n"])
@example(["railyard-counters 1 1a2b3c4d-17\nnode vn1\nmeant hsn0\nend " + "9" * 5000 + "\n"])
def test_any_counters_fail_and_none_raise(assess_cell: Assess, texts: list[str]) -> None:
    found = assess_cell(counters=tuple(texts))
    assert (found.verdict.state, found.path.state) == ("fail", "not-proven")


def test_the_parsers_own_sentence_is_told(assess_cell: Assess) -> None:
    with pytest.raises(ParseError) as caught:
        imb.parse("hello\n")
    assert str(caught.value) in assess_cell(output="hello\n").verdict.text.replace('\\"', '"')


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    sent=st.dictionaries(st.sampled_from(("hsn0", "hsn1", "eth0")), st.floats(0, 400), min_size=3),
    rate=st.floats(1, 100),
)
def test_a_pass_always_has_rate_and_path(assess_cell: Assess, sent: Mapping[str, float], rate: float) -> None:
    moved = {
        "vn1": {device: (mb, 2.0) for device, mb in sent.items()},
        "vn2": {device: (2.0, mb) for device, mb in sent.items()},
    }
    found = assess_cell(rates={M: rate, 4 * M: rate}, moved=moved)
    if found.verdict.state == "pass":
        assert 46.99 <= rate <= 1.02 * 50 * 1460 / 1514 + 0.01
        assert sent["hsn0"] >= 0.98 * 16 * 5 * M / 1e6
        assert max(sent["hsn1"], sent["eth0"]) <= 16


def test_an_output_that_names_another_mpi_fails_rule_1(assess_cell: Assess, imb_text: Callable[..., str]) -> None:
    line = "[0] MPI startup(): Intel(R) MPI Library, Version 2021.4  Build 20210831 (id: 758087adf)"
    assert verdict_summary(assess_cell(output=f"{line}\n{imb_text()}")) == (
        *("fail", 1, "set-up"),
        other_mpi(OtherMpi(1, line, "library", "Intel MPI", "MPICH (CH4)")),
    )
    assert verdict_summary(assess_cell(output=f"{line}\n{imb_text()}", stack="intelmpi"))[1] != 1
    on_stderr = assess_cell(stderr="Open MPI v4.1.4, package: Debian OpenMPI\n")
    ran = "Open MPI v4.1.4, package: Debian OpenMPI"
    assert other_mpi(OtherMpi(1, ran, "library", "Open MPI", "MPICH (CH4)")).partition('"')[2] in on_stderr.verdict.text


# What a system says about its path proofs


def with_proof(site: Site, **rules: Any) -> Site:
    hsn = site.system.fabrics["hsn"].model_copy(update={"proof": ProofRules.model_validate(rules)})
    system = site.system.model_copy(update={"fabrics": {**site.system.fabrics, "hsn": hsn}})
    return replace(site, system=system)


def blind_counters(counters_text: Callable[..., str]) -> tuple[str, str]:
    """Return the counters of two nodes; the first one shows no sent bytes."""
    first = re.sub(r"tx_bytes \d+", "tx_bytes unreadable", counters_text("vn1", HEALTHY_VN1))
    return first, counters_text("vn2", {**HEALTHY_VN1, "hsn0": (2, 190)})


def test_an_unproven_path_fails_unless_the_fabric_accepts_it(
    assess_cell: Assess, virtual: Site, counters_text: Callable[..., str]
) -> None:
    files = blind_counters(counters_text)
    unproven = f"{NOT_PROVEN}rail hsn0 of vn1 has no readable counter of bytes sent"
    assert verdict_summary(assess_cell(counters=files)) == ("fail", 4, "not-proven", unproven)
    why = say_accepted(unproven, "systems/virtual.yaml, accept_unproven of hsn: containers show no counters")
    accepted = assess_cell(site=with_proof(virtual, accept_unproven="containers show no counters"), counters=files)
    assert verdict_summary(accepted) == (
        "pass",
        None,
        None,
        f"{held_sentence('one-rail', 1.016)}; rule 4 (path) {not_judged(why)}",
    )
    assert (accepted.verdict.rules[3].state, accepted.verdict.rules[3].why_unjudged) == ("not-judged", why)


def test_what_a_fabric_accepts_makes_no_path_pass_that_failed(assess_cell: Assess, virtual: Site) -> None:
    site = with_proof(virtual, accept_unproven="containers show no counters")
    found = assess_cell(site=site, moved={"vn1": {"hsn0": (0.1, 2), "hsn1": (0.1, 0.1), "eth0": (188, 2)}})
    assert (found.verdict.state, found.verdict.rule, found.verdict.fault) == ("fail", 4, "set-up")


@pytest.mark.parametrize(
    ("bounds", "state"), [({}, "fail"), ({"rx_crc_errors": 4}, "fail"), ({"rx_crc_errors": 5}, "pass")]
)
def test_a_rail_with_errors_fails_above_the_bound(
    assess_cell: Assess, virtual: Site, counters_text: Callable[..., str], bounds: dict[str, int], state: str
) -> None:
    vn1 = counters_text("vn1", HEALTHY_VN1)
    vn2 = counters_text("vn2", {**HEALTHY_VN1, "hsn0": (2, 190)}).replace(
        "after at", "before hsn0 rx_crc_errors 0\nafter hsn0 rx_crc_errors 5\nafter at"
    )
    found = assess_cell(site=with_proof(virtual, error_bounds=bounds), counters=(vn1, vn2))
    assert found.verdict.state == state
    if state == "fail":
        assert (found.verdict.rule, found.verdict.fault) == (4, "fabric")
        assert [(s.kind, s.node, s.rail) for s in found.verdict.suspects] == [("rail", "vn2", "hsn0")]


def test_a_stacks_log_that_contradicts_the_counters_is_said(assess_cell: Assess) -> None:
    log = "[1] [vn2:524  :0] ucp_worker.c:1912 UCX  INFO    ucp_context_0 inter-node cfg#1 tag(tcp/hsn1) am(tcp/hsn1)\n"
    found = assess_cell(stderr=log)
    assert found.verdict.state == "pass"
    assert log_contradicts(["hsn1"], log.strip()) in found.path.sentence
    assert "log" not in assess_cell(stderr=log.replace("hsn1", "hsn0")).path.sentence


def test_a_host_that_answers_by_another_name_is_named(assess_cell: Assess, counters_text: Callable[..., str]) -> None:
    vn2 = counters_text("node7", {**HEALTHY_VN1, "hsn0": (2, 190)})
    found = assess_cell(counters=(counters_text("vn1", HEALTHY_VN1), vn2))
    assert verdict_summary(found) == ("fail", 1, "scheduler", run_words.other_nodes(["vn1", "node7"], ["vn1", "vn2"]))
    assert found.verdict.suspects == ()


def test_a_run_whose_nodes_nobody_names_fails(virtual: Site) -> None:
    output = imb_output("imb/Uniband", healthy_rates("hsn", 1), 1)
    found = judge_output(case_of(virtual, "imb/Uniband", launch={"nodes": ()}), output, imb.parse)
    assert verdict_summary(found)[:3] == ("fail", 1, "scheduler")
    assert verdict_summary(found)[3].startswith(run_words.no_nodes())


def test_a_host_with_a_domain_is_the_node(assess_cell: Assess, counters_text: Callable[..., str]) -> None:
    vn2 = counters_text("vn2.cluster", {**HEALTHY_VN1, "hsn0": (2, 190)})
    assert assess_cell(counters=(counters_text("vn1", HEALTHY_VN1), vn2)).verdict.state == "pass"


def test_two_hosts_that_answer_by_one_name_are_not_proven(
    assess_cell: Assess, counters_text: Callable[..., str]
) -> None:
    # Both write the file of vn1, with the lines of one between those of the other.
    one, other = (counters_text("vn1", {**HEALTHY_VN1, "hsn0": moved}).splitlines() for moved in ((190, 2), (2, 190)))
    mixed = "\n".join(line for both in zip(one, other, strict=True) for line in both) + "\n"
    found = assess_cell(counters=(mixed,))
    assert verdict_summary(found) == ("fail", 1, "scheduler", ONLY_VN1)
    assert found.path.sentence == (
        f'{NOT_PROVEN}{counters_unusable("vn1", "")}the file is garbled at "{other[0]}": two processes wrote it'
    )


# The output of one node mixed with another's


def test_two_outputs_line_by_line_in_one_file_fail(assess_cell: Assess, imb_text: Callable[..., str]) -> None:
    lines = imb_text().splitlines(keepends=True)
    found = assess_cell(output="".join(line for one in lines for line in (one, one)))
    mixed = (
        "found '1 1 0.03 33310.10' after the row of 1 B, expected a larger size: lines of two outputs are mixed; give "
        "each a file of its own"
    )
    assert verdict_summary(found) == (
        "fail",
        1,
        "set-up",
        say_reported(1, first_failure(14, "", mixed, "")),
    )
    assert found.verdict.suspects == ()


def test_rows_of_another_nodes_output_among_ones_own_fail(assess_cell: Assess, imb_text: Callable[..., str]) -> None:
    lines = imb_text().splitlines(keepends=True)
    rows = {str(size) for size in SIZES}
    mixed = "".join(2 * line if set(line.split()[:1]) & rows else line for line in lines)
    found = assess_cell(output=mixed)
    assert (found.verdict.state, found.verdict.rule, found.verdict.fault) == ("fail", 1, "set-up")
    assert "after the row of 1 B, expected a larger size" in found.verdict.text
    assert found.verdict.suspects == ()


def test_what_may_have_made_values_low_is_said_where_they_failed_alone(assess_cell: Assess) -> None:
    remark = ("the first process of vn1 was bound to processors 0-15, far from hsn0 (near 64-127)",)
    healthy = assess_cell()
    assert with_placement(healthy, remark) == healthy
    slow = assess_cell(rates={M: 4.0, 4 * M: 4.0})
    assert slow.verdict.rule == 5
    found = with_placement(slow, remark)
    assert found.verdict == slow.verdict.with_remarks(*remark)
    lost = assess_cell(counters=())
    assert (lost.verdict.state, with_placement(lost, remark)) == ("fail", lost)


def test_a_failure_that_the_references_expect_is_one(assess_cell: Assess, virtual: Site) -> None:
    known = ExpectedFailure.model_validate(
        {"fabric": "hsn", "rails": 1, "benchmark": "imb/Uniband", "reason": "ticket 12", "expires": date(2026, 11, 21)}
    )
    site = replace(virtual, references=replace(virtual.references, expected_failures=(known,)))
    slow = {size: rate / 2 for size, rate in healthy_rates("hsn", 1).items()}
    assert assess_cell(site=site, rates=slow).verdict.state == "xfail"
    assert assess_cell(rates=slow).verdict.state == "fail"
    assert assess_cell(site=site, rails=2, rates=slow).verdict.state == "fail"


def without_repetitions(text: str) -> ParsedOutput:
    """Return the output of another tool that does not say how often it measured."""
    (table,) = imb.parse(text).tables
    kept = [place for place, name in enumerate(table.columns) if name != "repetitions"]
    columns, units = tuple(table.columns[place] for place in kept), tuple(table.units[place] for place in kept)
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return ParsedOutput((replace(table, columns=columns, units=units, rows=rows),))


@pytest.fixture
def repetitions_from(monkeypatch: pytest.MonkeyPatch) -> Callable[[RepetitionsFrom], None]:
    """Return a function that says where IMB's repetitions come from, as in another tool's entry."""

    def set_repetitions(source: RepetitionsFrom) -> None:
        tools = {**micro.TOOLS, "imb": replace(micro.TOOLS["imb"], repetitions=source)}
        monkeypatch.setattr(micro, "TOOLS", tools)

    return set_repetitions


def test_a_tool_that_prints_no_repetitions_is_judged_by_what_the_counters_show(
    assess_cell: Assess, repetitions_from: Callable[[RepetitionsFrom], None]
) -> None:
    repetitions_from("nowhere")
    found = assess_cell(parse=without_repetitions)
    assert (found.verdict.state, found.path.state, found.path.expected_bytes) == ("pass", "proven", None)
    moved = say_moved(384_000_000, ["vn1", "vn2"], {"hsn0": 1.0}, 100_000, is_exclusive=True)
    assert found.path.sentence.startswith(f"{moved}; ")
    assert found.path.sentence.count("imb prints no repetitions") == 1


@pytest.mark.parametrize(
    ("source", "moved", "carried"),
    [
        ("nowhere", (0.2, 0.1), carried_one_way(["hsn0"], "vn1", 200_000, is_little=True)),
        ("told", (190.0, 2.0), carried_one_way(["hsn0"], "vn1", 190_000_000, is_little=False)),
    ],
)
def test_bytes_that_nobody_knows_are_said_to_be_unknown(
    assess_cell: Assess,
    repetitions_from: Callable[[RepetitionsFrom], None],
    source: RepetitionsFrom,
    moved: tuple[float, float],
    carried: str,
) -> None:
    repetitions_from(source)
    found = assess_cell(
        parse=without_repetitions, moved={node: {"hsn0": moved, "eth0": (0.1, 0.1)} for node in ("vn1", "vn2")}
    )
    assert (found.verdict.state, found.path.state) == ("fail", "not-proven")
    assert found.path.sentence == not_proven(unknown_bytes("imb prints no repetitions and was given none", carried))


def test_a_run_without_known_bytes_fails_over_another_network(
    assess_cell: Assess, repetitions_from: Callable[[RepetitionsFrom], None]
) -> None:
    repetitions_from("nowhere")
    moved = {"vn1": {"hsn0": (0.1, 0.1), "eth0": (190.0, 2.0)}, "vn2": {"hsn0": (0.1, 0.1), "eth0": (2.0, 190.0)}}
    found = assess_cell(parse=without_repetitions, moved=moved)
    assert found.path.state == "failed"
    assert "eth0 of vn1" in found.path.sentence


def test_a_judged_run_passes_through_no_module_that_it_does_not_need(
    assess_cell: Assess, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = str(ROOT / "railyard")
    entered: set[str] = set()

    def trace_assess(*given: Any) -> Assessment:
        sys.setprofile(lambda frame, event, _: entered.add(frame.f_code.co_filename) if event == "call" else None)
        try:
            return assess(*given)
        finally:
            sys.setprofile(None)

    assert assess_cell(rails=2).verdict.state == "pass"  # now everything is imported
    monkeypatch.setattr("tests.made.judged_run.assess", trace_assess)
    assert assess_cell(rails=2).verdict.state == "pass"
    modules = {Path(name).relative_to(package).as_posix() for name in entered if name.startswith(package)}
    others = ("benchmarks/apps/", "benchmarks/node_pairs.py", "verdict/applications.py", "verdict/node_pairs.py")
    assert [name for name in sorted(modules) if name.startswith(others)] == []
    assert len(modules) <= 40, "\n".join(sorted(modules))


def test_a_stand_in_is_exempt_from_linkage_alone(assess_cell: Assess) -> None:
    wrong = {"linked": "\tlibmpi.so.40 => /lib/libmpi.so.40 (0x1)\n"}
    assert "is linked to libmpi.so.40" in assess_cell(**wrong).verdict.sentence
    rehearsed = assess_cell(**wrong, rehearsed=True).verdict
    assert (rehearsed.state, rehearsed.remarks) == ("pass", (REHEARSED,))
    idle = assess_cell(rails=2, moved={"vn1": {"hsn0": (190.0, 0.1), "hsn1": (0.1, 0.1)}}, rehearsed=True).verdict
    assert (idle.state, idle.rule) == ("fail", 4)
    assert assess_cell(exit_code=3, rehearsed=True).verdict.rule == 1
    # No byte took the time that its figures say.
    assert assess_cell().printed and not assess_cell(rehearsed=True).printed
    assert assess_cell(rates={4 * M: 20.0}, rehearsed=True).verdict.rule == 5
