"""The five rules: each failing case beside a similar healthy one, with the facts of its sentence."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from railyard.base.bounds import LEAST_LATENCY
from railyard.base.json_codec import encode
from railyard.benchmarks.model import Figure
from railyard.benchmarks.moved_bytes import Crossing
from railyard.hardware.limits import Limit, LinkFloor
from railyard.parsers.job_end import JobEnd, Kind
from railyard.results.record.form import Suspect
from railyard.results.record.headline import make_headline
from railyard.site.references.band import Band, Bound, curve_band, floor_band, scalar_band
from railyard.site.references.model import ExpectedFailure
from railyard.site.systems.jobs import FAMILIES
from railyard.verdict.assess import verdict_record
from railyard.verdict.rule_model import (
    RULE_NAMES,
    DeclaredMetric,
    Inputs,
    Job,
    MeasuredMetric,
    MetricInput,
    OutputLine,
    PathProof,
    RefusedRail,
)
from railyard.verdict.verdict import Verdict, judge, merge_suspects, not_tested
from railyard.verdict.wording import IDLE_SECOND, NOT_PROVEN, Miss, not_judged
from railyard.verdict.wording import path as path_words
from railyard.verdict.wording import reference as reference_words
from railyard.verdict.wording import run_rules as run_words
from railyard.verdict.wording import run_rules as say
from railyard.verdict.wording.path import counters_not_found, idle_part, lost_carrier
from railyard.verdict.wording.reference import held_at_worst, look_at_rails, no_size_for, own_condition, say_crossed
from railyard.verdict.wording.reference import other_unit as other_unit_of
from railyard.verdict.wording.run_rules import brief_failure, ended_well, look_at_outputs, read, read_at, say_exited
from tests.made.words import bounded_words, breach_words

K, M = 1 << 10, 1 << 20
SIZES = (1, 4096, M, 4 * M)
LIMIT = Limit(48.6, "400 Mbit/s less TCP/IP headers", "railyard testbed", from_bytes=M)
FLOOR = scalar_band("hsn-uni-1", "class", "bandwidth", "MB/s", "shaped rate", Bound(47.0, None, None), (M, 4 * M))
CURVE = curve_band(
    "hsn-curve",
    "baseline",
    "bandwidth",
    "MB/s",
    "run 7",
    {1: Bound(0.4, 1.2, 0.8), 4096: Bound(2.0, 3.0, 2.5), M: Bound(45.0, 49.0, 47.0)},
)
DECLARED = DeclaredMetric("bandwidth", "MB/s", "bandwidth", limited=True)
LATENCY = MetricInput(
    DeclaredMetric("latency", "us", "latency", reported_only="means nothing on shaped rails"),
    MeasuredMetric("us", (0, 8), (20.0, 21.0)),
)
#: How a sentence ends about a value of the healthy run's two nodes.
CROSSED = say_crossed(["hsn0"], ["vn1", "vn2"])
PROVEN = PathProof("proven", "96.0 MB moved on vn1 and vn2: 100.0 % over hsn0")


def bandwidth(*values: float | None, **changes: Any) -> MetricInput:
    measured = MeasuredMetric("MB/s", SIZES, values or (0.8, 2.5, 47.5, 47.83))
    return replace(MetricInput(DECLARED, measured, limit=LIMIT, bands=(FLOOR, CURVE)), **changes)


HEALTHY = Inputs(
    system="virtual",
    fabric="hsn",
    stack="mpich",
    rails=("hsn0",),
    nodes=("vn1", "vn2"),
    job=Job(0, ("vn1", "vn2"), ("vn1", "vn2"), tables=1, time_limit_s=60),
    metrics=(bandwidth(), LATENCY),
    path=PROVEN,
    today=date(2026, 11, 21),
)


def share_of_limit(value_mb_s: float, at: int | None = None, with_burst: float = LIMIT.value_mb_s) -> str:
    """Return which share of ``LIMIT`` a bandwidth is; ``with_burst``: the limit of a message of that size."""
    limit = run_words.Limit(LIMIT.value_mb_s, with_burst, LIMIT.terms, LIMIT.source)
    return run_words.share_of_limit(Figure("bandwidth", value_mb_s, "MB/s", at), limit)


def with_job(**changes: Any) -> Inputs:
    return replace(HEALTHY, job=replace(HEALTHY.job, **changes))


def with_metric(metric: MetricInput, **changes: Any) -> Inputs:
    return replace(HEALTHY, metrics=(metric, LATENCY), **changes)


def verdict_summary(verdict: Verdict) -> tuple[str, int | None, str | None, str]:
    return verdict.state, verdict.rule, verdict.fault, verdict.text


def verdict_details(verdict: Verdict) -> tuple[str, int | None, str | None, str, str | None]:
    return (*verdict_summary(verdict), verdict.look_at)


def test_a_healthy_run_passes_and_all_five_rules_say_why() -> None:
    verdict = judge(HEALTHY)
    assert verdict_summary(verdict) == (
        "pass",
        None,
        None,
        held_at_worst("bandwidth", ["hsn-uni-1", "hsn-curve"], " at 1 B", 1.0, "hsn-curve", bounded_words(SIZES, 4)),
    )
    assert [(rule.rule, rule.name, rule.state) for rule in verdict.rules] == [
        (number, name, "pass") for number, name in RULE_NAMES.items()
    ]
    assert [rule.sentence for rule in verdict.rules[:4]] == [
        ended_well(("vn1", "vn2"), 1, False),
        read([read_at("bandwidth", "MB/s", 4), read_at("latency", "us", 2)]),
        f"{share_of_limit(47.83, 4 * M)}; {run_words.long_enough(Figure('latency', 20.0, 'us', 0), 0.4)}",
        PROVEN.sentence,
    ]
    assert verdict.references == ("hsn-uni-1", "hsn-curve")
    assert verdict.suspects == ()


def test_a_reference_that_holds_is_no_pass_of_two_rails_where_one_was_used() -> None:
    path = replace(PROVEN, state="not-judged", sentence="hsn1 idled", one_rail=True)
    state, rule, _, sentence = verdict_summary(judge(replace(HEALTHY, path=path)))
    assert (state, rule) == ("report-only", None)
    remark = f"rule 4 (path) {not_judged('hsn1 idled')}"
    assert sentence.endswith(f"; {remark}")
    assert judge(replace(HEALTHY, path=path)).remarks == (remark,)


def test_the_sentence_is_bare_and_the_line_has_the_next_look() -> None:
    verdict = judge(with_job(exit_code=3))
    assert verdict.sentence == say_exited(3, "")
    assert verdict.look_at == look_at_outputs()
    assert verdict.line == f"{verdict.sentence}; look at {verdict.look_at}"
    assert replace(verdict, look_at=None).line == verdict.sentence


def test_the_line_has_headline_measurement_and_next_look_without_names() -> None:
    verdict = judge(with_metric(bandwidth(0.8, 2.5, 45.5, 4.8)))
    reason = "hsn1 of vn2 is slow (margin 3.0 %, probe-margin)"
    suspect = Suspect("rail", reason, "vn2", "hsn1", brief="is slow: 4.8 MB/s")
    blamed = replace(verdict, suspects=(suspect,)).with_remarks(reason)
    assert verdict.miss is not None and "hsn-uni-1" in blamed.text
    assert blamed.line == (
        f"Rail hsn1 of vn2 is slow: 4.8 MB/s; measured: {verdict.miss.words}; look at {verdict.look_at}"
    )


def test_the_line_says_once_what_its_headline_shortens() -> None:
    verdict = judge(with_job(exit_code=137))
    assert verdict.line == f"{verdict.sentence}; look at {verdict.look_at}"
    assert "(ended by signal 9)" in verdict.line


def test_remarks_are_kept_apart_and_stand_after_the_sentence_in_the_text_alone() -> None:
    verdict = judge(with_job(exit_code=3)).with_remarks("3 of 4 nodes").with_remarks("MTU 1024", "looks like TCP")
    assert verdict.sentence == say_exited(3, "")
    assert verdict.remarks == ("3 of 4 nodes", "MTU 1024", "looks like TCP")
    assert verdict.text == f"{verdict.sentence}; 3 of 4 nodes; MTU 1024; looks like TCP"
    assert verdict.line == f"{verdict.sentence}; look at {verdict.look_at}"


def test_the_line_of_what_did_not_fail_is_its_sentence() -> None:
    expected = judge(replace(with_metric(bandwidth(0.8, 2.5, 45.5, 4.8)), expected_failure=EXPECTED))
    assert expected.state == "xfail"
    for verdict in (judge(HEALTHY), expected, not_tested("no such device")):
        assert verdict.line == verdict.sentence


def test_each_metric_has_its_ratio_to_reference_and_limit() -> None:
    curve, latency = judge(with_metric(bandwidth(0.6, 2.5, 47.5, 47.83))).curves
    assert curve.metric == "bandwidth"
    assert curve.percent_of_reference == pytest.approx(75.0)
    assert curve.percent_of_reference_size == 1
    assert curve.percent_of_limit == pytest.approx(100 * 47.83 / 48.6)
    assert (latency.percent_of_reference, latency.percent_of_limit) == (None, None)


def test_the_record_has_the_contracts_keys_and_is_json() -> None:
    record = encode(verdict_record(judge(with_job(exit_code=3))))
    assert list(record) == ["sentence", "rule", "class", "rules", "suspects", "next", "remarks", "headline", "measured"]
    assert (record["rule"], record["class"]) == (1, "set-up")
    assert list(record["rules"][4]) == ["rule", "name", "state", "sentence"]
    assert len(json.loads(json.dumps(record, allow_nan=False))["rules"]) == 5


# Rule 1

#: What a job shows -> the class of the fault, its sentence, and what to look at next.
RULE_1 = [
    (
        {"scheduler_error": "no such\npartition"},
        "scheduler",
        say.did_not_run("no such partition"),
        say.look_at_log_and_nodes(),
    ),
    (
        {"exit_code": 71, "refused": (RefusedRail("vn2", "hsn1", "rail hsn1 of vn2 has no carrier"),)},
        "fabric",
        "rail hsn1 of vn2 has no carrier",
        say.look_at_cables(["hsn1 of vn2"]),
    ),
    (
        {"timed_out": True, "exit_code": None, "tables": 1},
        "set-up",
        say.at_time_limit(60, 1, 1, "", "", ""),
        say.look_at_traffic(["hsn0"], ["vn1", "vn2"]),
    ),
    (
        {"exit_code": 3, "failures": (OutputLine(12, "\x1b[31mFatal error in MPI_Init"),)},
        "set-up",
        say.say_exited(3, say.first_failure(12, "", "Fatal error in MPI_Init", "")),
        say.look_at_outputs(),
    ),
    (
        {"exit_code": 137},
        "scheduler",
        say.say_exited(137, "") + say.killed_by_unknown(),
        say.look_at_ended("killed", ""),
    ),
    (
        {"exit_code": 137, "memory_kills": {"vn1": 0}},
        "scheduler",
        say.say_exited(137, "") + say.killed_by_unknown(),
        say.look_at_ended("killed", ""),
    ),
    (
        {"exit_code": 137, "memory_kills": {"vn1": 0, "vn2": 0}},
        "scheduler",
        say.say_exited(137, "") + say.killed_with_memory(),
        say.look_at_ended("killed", ""),
    ),
    # Nobody knows on which nodes it ran.
    (
        {"exit_code": 137, "nodes_expected": ()},
        "scheduler",
        say.say_exited(137, "") + say.killed_by_unknown(),
        say.look_at_ended("killed", ""),
    ),
    # Hydra and prterun may end with another code.
    (
        {"exit_code": 9, "memory_kills": {"vn1": 0, "vn2": 2}},
        "set-up",
        say.say_exited(9, "") + say.killed_for_memory({"vn2": 2}),
        say.look_at_ended("memory", ""),
    ),
    ({"exit_code": None}, "scheduler", say.no_exit_code(""), say.look_at_log()),
    (
        {"nodes_seen": ("vn1",)},
        "scheduler",
        say.other_nodes(["vn1"], ["vn1", "vn2"]),
        say.look_at_placement_of_ranks(),
    ),
    ({"nodes_seen": ()}, "scheduler", say.other_nodes([], ["vn1", "vn2"]), say.look_at_placement_of_ranks()),
    ({"nodes_expected": (), "nodes_seen": ("vn1", "vn2")}, "scheduler", say.no_nodes(), say.look_at_record()),
    ({"nodes_expected": (), "nodes_seen": ()}, "scheduler", say.no_nodes(), say.look_at_record()),
    (
        {"failures": (OutputLine(0, "262144 time-out."), OutputLine(9, "x"))},
        "set-up",
        say.say_reported(2, say.first_failure(0, "", "262144 time-out.", "")),
        say.look_at_quoted(),
    ),
    (
        {"unread": "line 1: found 'hello'"},
        "set-up",
        say.foreign_output("line 1: found 'hello'"),
        say.look_at_both_outputs(),
    ),
    ({"tables": 0}, "set-up", say.too_few_tables(0, 1), say.look_at_end()),
    ({"incomplete": ("PingPong",)}, "set-up", say.cut_rows(["PingPong"]), say.look_at_end_and_limits()),
    ({"validates": True, "validation": False}, "node", say.wrong_data(False, ""), say.look_at_devices()),
    ({"validates": True, "validation": None}, "set-up", say.not_validated(), say.look_at_validation()),
    (  # wrong data ends the benchmark: this is the cause, not its exit code
        {"validates": True, "validation": False, "exit_code": 1, "failures": (OutputLine(5, "1024 3.20 Fail"),)},
        "node",
        say.wrong_data(False, say.first_failure(5, "", "1024 3.20 Fail", "")),
        say.look_at_devices(),
    ),
]


def test_the_headline_of_a_failed_run_quotes_more_than_the_name_of_a_host() -> None:
    said = "n16: Test NCCL failure alltoall.cu:274 'remote process exited or there was a network error'"
    assert make_headline((), brief_failure(12, "", said), "set-up") == (
        "Line 12 of the output: n16: Test NCCL failure alltoall.cu:274 'remote process exited or there was…"
    )
    assert make_headline((), brief_failure(12, "", "no row: x"), "set-up") == "Line 12 of the output: no row: x"


@pytest.mark.parametrize(("changes", "fault", "sentence", "look_at"), RULE_1)
def test_rule_1_names_what_is_incomplete(changes: dict[str, Any], fault: str, sentence: str, look_at: str) -> None:
    assert verdict_details(judge(with_job(**changes))) == ("fail", 1, fault, sentence, look_at)


def test_rule_1_holds_for_more_tables_than_expected_and_a_passed_validation() -> None:
    verdict = judge(with_job(tables=2, validates=True, validation=True))
    assert verdict.state == "pass"
    assert verdict.rules[0].sentence == ended_well(("vn1", "vn2"), 2, True)


@pytest.mark.fault("session", "a node without a readable /sys is the suspect, and no rail", "vn2 has no readable /sys")
def test_a_node_that_shows_no_devices_is_the_suspect_and_no_rail_is(promise: str) -> None:
    verdict = judge(with_job(exit_code=71, refused=(RefusedRail("vn2", None, f"{promise}: its rails cannot be seen"),)))
    assert (verdict.rule, verdict.fault, verdict.sentence.startswith(promise)) == (1, "node", True)
    assert verdict.suspects == (Suspect("node", verdict.sentence, "vn2", None),)
    assert "what is at /sys there" in str(verdict.look_at)


def test_each_suspect_is_named_once_with_all_that_is_said_against_it() -> None:
    first, other = Suspect("rail", "it idled", "vn2", "hsn1"), Suspect("rail", "it idled", "vn2", "hsn0")
    again = replace(first, reason="it is slow")
    assert merge_suspects([first, other, again, first]) == (replace(first, reason="it idled; it is slow"), other)
    # A reason that is a part of another one's words is a reason of its own.
    parts = (replace(first, reason="it is slow with vn1"), replace(first, reason="it is slow"))
    assert merge_suspects(parts) == (replace(first, reason="it is slow with vn1; it is slow"),)


@pytest.mark.fault("rail", "a carrier lost until the time limit", f"; {lost_carrier('hsn1 of vn2')}")
def test_a_job_that_hung_says_which_link_was_lost(promise: str) -> None:
    path = replace(
        PROVEN, state="failed", fault="fabric", lost=promise.removeprefix("; "), look_at="cable of hsn1 of vn2"
    )
    for changes in ({"timed_out": True, "exit_code": 124}, {"exit_code": 1}):
        verdict = judge(replace(with_job(**changes), path=path))
        assert (verdict.rule, verdict.fault, verdict.look_at) == (1, "fabric", "cable of hsn1 of vn2")
        assert verdict.sentence.endswith(promise)


def test_a_failure_of_a_replay_speaks_of_no_nodes() -> None:
    low = (bandwidth(0.8, 2.5, 30.0, 30.0),)
    replayed = judge(replace(HEALTHY, metrics=low, nodes=()))
    assert replayed.sentence.endswith(say_crossed(["hsn0"], []))
    assert replayed.look_at == look_at_rails(["hsn0"], [], False, False)
    run = judge(replace(HEALTHY, metrics=low))
    assert run.sentence.endswith(CROSSED)
    assert run.look_at == look_at_rails(["hsn0"], ["vn1", "vn2"], False, False)


def test_a_refused_rail_is_a_suspect() -> None:
    rail = RefusedRail("vn2", "hsn1", "rail hsn1 of vn2 has no carrier")
    assert judge(with_job(exit_code=71, refused=(rail,))).suspects == (Suspect("rail", rail.sentence, "vn2", "hsn1"),)


def test_a_time_out_with_a_suspect_of_the_path_is_the_fabrics() -> None:
    lost = PathProof("failed", "x", "fabric", "y", (Suspect("rail", "lost its carrier", "vn2", "hsn0"),))
    verdict = judge(replace(with_job(timed_out=True), path=lost))
    assert (verdict.rule, verdict.fault, verdict.suspects) == (1, "fabric", lost.suspects)


@pytest.mark.parametrize(
    ("kind", "fault"),
    [
        ("memory", "set-up"),
        ("preempted", "scheduler"),
        ("requeued", "scheduler"),
        ("node", "node"),
        ("cancelled", "scheduler"),
        ("pending", "scheduler"),
        ("lost", "scheduler"),
        ("limit", "set-up"),
        ("killed", "scheduler"),
        ("unstarted", "set-up"),
    ],
)
def test_rule_1_says_what_the_scheduler_did(kind: Kind, fault: str) -> None:
    """The scheduler's reason comes before its consequences: no exit code, no table, a node that was not seen."""
    ended = JobEnd(kind, f"job 12: {kind}", ("vn2",) if kind == "node" else ())
    verdict = judge(with_job(ended=ended, exit_code=None, tables=0, nodes_seen=("vn1",)))
    assert verdict_details(verdict) == ("fail", 1, fault, ended.sentence, say.look_at_ended(kind, ""))


@pytest.mark.parametrize(
    ("scheduler", "commands"),
    [
        ("slurm-nodb", ("scontrol show node", "sinfo", "scontrol ping")),
        ("pbs", ("pbsnodes -av", "pbsnodes -a", "qstat -B")),
        ("torque", ("pbsnodes -l", "pbsnodes -a", "keep_completed")),
        ("sge", ("qstat -f -explain E", "qhost -q", "qacct -j")),
        ("flux-batch", ("flux resource status", "flux resource list", "flux uptime")),
        ("lsf", ("bhosts -l", "bqueues", "lsid")),
        ("oar", ("down", "what there is", "remembers jobs")),
    ],
)
def test_what_to_look_at_is_in_the_commands_of_the_systems_own_scheduler(
    scheduler: str, commands: tuple[str, str, str]
) -> None:
    """A node that died under PBS was said to be looked at with scontrol."""
    kinds: tuple[Kind, ...] = ("node", "pending", "lost")
    for kind, command in zip(kinds, commands, strict=True):
        verdict = judge(with_job(ended=JobEnd(kind, "job 12 ended"), exit_code=None, scheduler=scheduler))
        assert verdict.look_at is not None and command in verdict.look_at
        if not scheduler.startswith("slurm"):
            assert "scontrol" not in verdict.look_at and "sinfo" not in verdict.look_at


@pytest.mark.parametrize("scheduler", FAMILIES)
def test_each_scheduler_whose_jobs_take_options_has_its_words(scheduler: str) -> None:
    assert say.look_at_ended("lost", scheduler) != say.look_at_ended("lost", "")


def test_a_job_that_the_scheduler_killed_for_time_has_its_word_behind_ours() -> None:
    ended = JobEnd("time", "job 12 was killed at its time limit of 00:02:00 on vn[1-2]")
    verdict = judge(with_job(ended=ended, timed_out=True, exit_code=143, tables=0, time_limit_s=120.0))
    assert verdict.sentence == say.at_time_limit(120, 0, 1, "", ended.sentence, "")


def test_only_the_node_that_the_scheduler_names_is_a_suspect() -> None:
    lost = PathProof("failed", "x", "fabric", "y", (Suspect("rail", "lost its carrier", "vn1", "hsn0"),))
    ended = JobEnd("node", "job 12 was ended because a node died: vn2 is down", ("vn2",))
    verdict = judge(replace(with_job(ended=ended, exit_code=None), path=lost))
    assert verdict.suspects == (Suspect("node", ended.sentence, "vn2"),)
    cancelled = judge(replace(with_job(ended=JobEnd("cancelled", "job 12 was cancelled")), path=lost))
    assert cancelled.suspects == ()


def test_a_long_line_is_cut_in_the_sentence() -> None:
    verdict = judge(with_job(failures=(OutputLine(1, "x" * 500),)))
    assert f'line 1: "{"x" * 157}..."' in verdict.line


def test_a_single_figure_has_no_message_size_in_any_sentence() -> None:
    band = scalar_band("tcp-1", "class", "bandwidth", "MB/s", "shaped rate", Bound(47.0, None, None))
    declared, limit = replace(DECLARED, sized=False), replace(LIMIT, from_bytes=0)

    def sentences(value: float) -> list[str]:
        metric = MetricInput(declared, MeasuredMetric("MB/s", (0,), (value,)), limit=limit, bands=(band,))
        return [rule.sentence for rule in judge(replace(HEALTHY, metrics=(metric,))).rules]

    _, _, possible, _, reference = sentences(46.67)
    assert possible == share_of_limit(46.67)
    assert reference == (f"{breach_words('below', 46.67, 47.0, 'tcp-1 (class: shaped rate)')}{CROSSED}")
    held = held_at_worst("bandwidth", ["tcp-1"], "", 47.5 / 47.0, "tcp-1", reference_words.bounded_figure(True))
    assert sentences(47.5)[4] == held
    assert sentences(60.0)[2] == run_words.say_disbelieved(share_of_limit(60.0))
    assert sentences(math.nan)[1] == run_words.not_finite("bandwidth", math.nan)


# Rule 2

RULE_2 = [
    (bandwidth(measured=None), run_words.say_unread("bandwidth", "MB/s", "")),
    (
        bandwidth(measured=None, problem="no column bandwidth"),
        run_words.say_unread("bandwidth", "MB/s", "no column bandwidth"),
    ),
    (bandwidth(measured=MeasuredMetric("MB/s", (), ())), run_words.say_unread("bandwidth", "MB/s", "")),
    (bandwidth(measured=MeasuredMetric("MB/s", (1, 2), (1.0,))), run_words.unlike_counts("bandwidth", 2, 1)),
    (
        bandwidth(measured=MeasuredMetric("GB/s", SIZES, (1.0,) * 4)),
        run_words.other_unit("bandwidth", "GB/s", "MB/s"),
    ),
    (bandwidth(measured=MeasuredMetric(None, SIZES, (1.0,) * 4)), run_words.other_unit("bandwidth", None, "MB/s")),
    (bandwidth(measured=MeasuredMetric("MB/s", (8, 4), (1.0, 1.0))), run_words.unsorted_sizes("bandwidth")),
    (bandwidth(0.8, math.nan, 47.5, 47.8), run_words.not_finite("bandwidth at 4 KiB", math.nan)),
    (bandwidth(0.8, 2.5, 47.5, math.inf), run_words.not_finite("bandwidth at 4 MiB", math.inf)),
    (bandwidth(0.8, 2.5, None, 47.8), run_words.not_finite("bandwidth at 1 MiB", None)),
    (bandwidth(0.8, 2.5, True, 47.8), run_words.not_finite("bandwidth at 1 MiB", True)),
    (bandwidth(0.8, 0.0, 47.5, 47.8), run_words.not_above_0("bandwidth at 4 KiB", 0.0, "MB/s")),
    (bandwidth(-0.1, 2.5, 47.5, 47.8), run_words.not_above_0("bandwidth at 1 B", -0.1, "MB/s")),
    (
        bandwidth(measured=MeasuredMetric("MB/s", (1, 8, 4 << 20), (0.8, 0.0, 47.8))),
        run_words.not_above_0("bandwidth at 8 B", 0.0, "MB/s"),
    ),
]


def test_rule_2_lets_a_rate_that_is_only_reported_be_printed_as_zero() -> None:
    declared = DeclaredMetric("message_rate", "1/s", "rate", reported_only="no reference names it")
    rate = MetricInput(declared, MeasuredMetric("1/s", (1, 4 << 20), (9000.0, 0.0)))
    asserted = replace(rate, declared=replace(declared, reported_only=None))
    assert judge(replace(HEALTHY, metrics=(bandwidth(), rate))).rules[1].state == "pass"
    wrong = run_words.not_above_0("message_rate at 4 MiB", 0.0, "1/s")
    assert judge(replace(HEALTHY, metrics=(bandwidth(), asserted))).rules[1].sentence == wrong


def test_rule_2_lets_a_small_message_be_printed_as_zero() -> None:
    assert judge(with_metric(bandwidth(0.0, 2.5, 47.5, 47.8))).rules[1].state == "pass"
    slow = MeasuredMetric("MB/s", (1, 2, 4 << 20), (0.01, 0.0, 47.8))
    assert judge(with_metric(bandwidth(measured=slow))).rules[1].state == "pass"


@pytest.mark.parametrize(("metric", "sentence"), RULE_2)
def test_rule_2_names_the_metric_that_is_wrong(metric: MetricInput, sentence: str) -> None:
    assert verdict_details(judge(with_metric(metric))) == ("fail", 2, "set-up", sentence, run_words.look_at_headings())


def test_rule_2_fails_a_check_that_declares_nothing() -> None:
    verdict = judge(replace(HEALTHY, metrics=()))
    assert verdict_details(verdict)[:4] == ("fail", 2, "set-up", run_words.nothing_declared())


def test_rule_2_names_all_metrics_that_are_wrong() -> None:
    metrics = (bandwidth(measured=None), replace(LATENCY, measured=None))
    unread = [run_words.say_unread(name, unit, "") for name, unit in (("bandwidth", "MB/s"), ("latency", "us"))]
    assert judge(replace(HEALTHY, metrics=metrics)).rules[1].sentence == "; ".join(unread)


# Rule 3


def test_rule_3_fails_above_the_limit_by_2_percent() -> None:
    wide = bandwidth(0.8, 2.5, 47.5, 49.6, bands=(FLOOR,))
    assert verdict_details(judge(with_metric(wide))) == (
        "fail",
        3,
        "set-up",
        run_words.say_disbelieved(share_of_limit(49.6, 4 * M)),
        run_words.look_at_limit(),
    )
    assert judge(with_metric(bandwidth(0.8, 2.5, 47.5, 49.5, bands=(FLOOR,)))).state == "pass"


def test_rule_3_leaves_short_messages_to_a_shapers_bucket() -> None:
    early = bandwidth(97.0, 97.0, 47.5, 47.8, bands=(FLOOR,))
    assert judge(with_metric(early)).state == "pass"
    strict = replace(early, limit=replace(LIMIT, from_bytes=0))
    assert judge(with_metric(strict)).rule == 3


def test_rule_3_lets_each_message_begin_with_a_full_bucket() -> None:
    bucket = replace(LIMIT, burst_bytes=128 << 10)
    # 8/7 of the rate at 1 MiB, and 2 % more are accepted
    at_most = judge(with_metric(bandwidth(0.8, 2.5, 56.65, 47.8, limit=bucket, bands=(FLOOR,))))
    with_burst = 48.6 * 8 / 7
    assert (at_most.state, at_most.rules[2].state) == ("pass", "pass")
    assert at_most.rules[2].sentence.startswith(share_of_limit(56.65, M, with_burst))
    assert verdict_summary(judge(with_metric(bandwidth(0.8, 2.5, 56.66, 47.8, limit=bucket, bands=(FLOOR,))))) == (
        "fail",
        3,
        "set-up",
        run_words.say_disbelieved(share_of_limit(56.66, M, with_burst)),
    )
    # the same figure at 4 MiB is too much, since a bucket is a smaller part of a longer message
    assert judge(with_metric(bandwidth(0.8, 2.5, 47.5, 51.1, limit=bucket, bands=(FLOOR,)))).state == "pass"
    assert judge(with_metric(bandwidth(0.8, 2.5, 47.5, 51.2, limit=bucket, bands=(FLOOR,)))).rule == 3


def test_rule_3_says_not_judged_without_a_limit() -> None:
    verdict = judge(replace(HEALTHY, metrics=(bandwidth(limit=None),), link_limit_known=False))
    assert verdict.state == "pass"
    assert (verdict.rules[2].state, verdict.rules[2].why_unjudged) == ("not-judged", run_words.no_limit())
    assert verdict.remarks == (f"rule 3 (possible) {verdict.rules[2].sentence}",)


def test_rule_3_says_not_judged_where_no_size_reaches_the_limit() -> None:
    short = bandwidth(measured=MeasuredMetric("MB/s", (1, 4096), (0.8, 2.5)))
    assert judge(replace(HEALTHY, metrics=(short,))).rules[2].why_unjudged == run_words.no_size_from("bandwidth", M)


def test_rule_3_says_what_it_had_nothing_to_hold_against() -> None:
    unread = judge(replace(HEALTHY, metrics=(bandwidth(measured=None),)))
    assert unread.rules[2].why_unjudged == run_words.not_read("bandwidth")
    assert unread.rules[4].why_unjudged == reference_words.say_unread(["bandwidth"])
    rate = MetricInput(DeclaredMetric("message_rate", "1/s", "rate"), MeasuredMetric("1/s", (8,), (1e6,)))
    no_limit = run_words.no_limit_for(["message_rate"])
    assert judge(replace(HEALTHY, metrics=(rate,))).rules[2].why_unjudged == no_limit
    assert judge(replace(HEALTHY, metrics=())).rules[2].why_unjudged == run_words.no_limit_for([])
    scaled = bandwidth(declared=replace(DECLARED, unit="GB/s"), measured=MeasuredMetric("GB/s", SIZES, (0.04,) * 4))
    other_unit = run_words.unit_of_limit("bandwidth", "GB/s")
    assert judge(replace(HEALTHY, metrics=(scaled,))).rules[2].why_unjudged == other_unit


def test_a_reference_without_a_bound_to_keep_has_no_ratio() -> None:
    band = scalar_band("x", "class", "bandwidth", "MB/s", "s", Bound(0.0, 60.0, None))
    verdict = judge(with_metric(bandwidth(bands=(band,))))
    assert (verdict.state, verdict.curves[0].percent_of_reference) == ("pass", None)
    assert verdict.sentence == reference_words.say_held("bandwidth", ["x"], bounded_words(SIZES, 4))


def test_a_bandwidth_that_is_bounded_from_above_alone_does_not_pass() -> None:
    band = scalar_band("x", "class", "bandwidth", "MB/s", "s", Bound(None, 60.0, None))
    verdict = judge(with_metric(bandwidth(bands=(band,))))
    assert (verdict.state, verdict.rule, verdict.fault) == ("fail", 5, "reference")
    end = reference_words.open_end("bandwidth", 4 * M, is_largest=True)
    held = reference_words.say_held("bandwidth", ["x"], bounded_words(SIZES, 4))
    assert verdict.sentence == reference_words.nothing_decides([end, held])
    assert verdict.look_at == reference_words.look_at_entry("virtual")
    assert verdict.headline.lower() == reference_words.brief_open_end(end).lower()


@pytest.mark.parametrize(("bounded", "state"), [((None, 64), "pass"), ((None, None), "pass"), ((M, None), "fail")])
def test_the_smallest_size_decides_about_a_message_rate(bounded: tuple[int | None, int | None], state: str) -> None:
    band = scalar_band("rate", "class", "message_rate", "1/s", "s", Bound(1000.0, None, None), bounded)
    rate = MetricInput(
        DeclaredMetric("message_rate", "1/s", "rate"), MeasuredMetric("1/s", SIZES, (2000.0,) * 4), bands=(band,)
    )
    verdict = judge(replace(HEALTHY, metrics=(*HEALTHY.metrics, rate)))
    assert verdict.state == state
    end = reference_words.open_end("message_rate", 1, is_largest=False)
    assert (end in verdict.text) == (state == "fail")


@pytest.mark.parametrize(("latency_us", "state"), [(0.39, "fail"), (0.4, "pass"), (0.61, "pass")])
def test_rule_3_fails_a_latency_of_shared_memory(latency_us: float, state: str) -> None:
    metrics = (bandwidth(), replace(LATENCY, measured=MeasuredMetric("us", (0,), (latency_us,))))
    verdict = judge(replace(HEALTHY, metrics=metrics))
    assert verdict.state == state
    if state == "fail":
        figure = Figure("latency", 0.39, "us", 0)
        assert verdict.rules[2].sentence == run_words.too_short_latency(figure, 0.4, LEAST_LATENCY.source)


def test_rule_3_allows_a_collective_of_no_bytes_and_a_latency_within_a_node() -> None:
    time = replace(LATENCY, declared=replace(LATENCY.declared, name="time_avg", quantity="time"))
    empty = replace(time, measured=MeasuredMetric("us", (0, 4), (0.03, 30.0)))
    assert judge(replace(HEALTHY, metrics=(bandwidth(), empty))).state == "pass"
    quick = replace(time, measured=MeasuredMetric("us", (0, 4), (0.03, 0.3)))
    assert judge(replace(HEALTHY, metrics=(bandwidth(), quick))).rule == 3
    inside = replace(quick, declared=replace(time.declared, between_nodes=False))
    assert judge(replace(HEALTHY, metrics=(bandwidth(), inside))).state == "pass"


@pytest.mark.parametrize(
    ("size", "time_us", "state"),
    [
        (M, 10.0, "pass"),  # 21 us on a link of 50 GB/s: ranks may well enter 10 us apart
        (4 * M, 86.0, "pass"),
        (4 * M, 40.0, "fail"),
    ],
)
def test_rule_3_leaves_collectives_of_less_than_50_us_alone(size: int, time_us: float, state: str) -> None:
    time = replace(
        LATENCY,
        declared=replace(LATENCY.declared, name="time_avg", quantity="time"),
        measured=MeasuredMetric("us", (size,), (time_us,)),
        one_way=Limit(50_000.0, "400 Gbit/s", "a table"),
        crossing=Crossing(1.0, 1.0),
    )
    rule = judge(replace(HEALTHY, metrics=(bandwidth(), time))).rules[2]
    assert rule.state == state, rule.sentence
    if state == "fail":
        most = run_words.Limit(50_000.0, 50_000.0, "400 Gbit/s", "a table")
        figure, least_us = Figure("time_avg", 40.0, "us", 4 * M), 4 * M / 50_000.0
        assert rule.sentence == run_words.too_fast_collective(figure, least_us, 1.0, 4 * M, 1.0, most)


# Rule 4

FAILED = PathProof(
    "failed",
    f"{idle_part('hsn1', 'vn1', 'sent', 200_000, 190_200_000)}: {IDLE_SECOND}",
    "set-up",
    "how the stack is told its rails",
    (Suspect("rail", "idle", "vn1", "hsn1"),),
)
UNPROVEN = PathProof("not-proven", f"{NOT_PROVEN}{counters_not_found('vn2')}", "not-proven", "the counter reader")


def test_rule_4_takes_the_path_proofs_sentence_class_and_suspects() -> None:
    verdict = judge(replace(HEALTHY, path=FAILED))
    assert verdict_details(verdict) == ("fail", 4, "set-up", FAILED.sentence, FAILED.look_at)
    assert verdict.suspects == FAILED.suspects
    assert judge(replace(HEALTHY, path=replace(FAILED, fault="fabric"))).fault == "fabric"


def test_rule_4_fails_what_is_not_proven_unless_the_system_accepts_it() -> None:
    assert verdict_details(judge(replace(HEALTHY, path=UNPROVEN))) == (
        *("fail", 4, "not-proven", UNPROVEN.sentence, UNPROVEN.look_at),
    )
    accepted = judge(replace(HEALTHY, path=UNPROVEN, accepts_unproven="no counters in containers"))
    assert accepted.state == "pass"
    reason = path_words.say_accepted(UNPROVEN.sentence, "no counters in containers")
    assert (accepted.rules[3].state, accepted.rules[3].why_unjudged) == ("not-judged", reason)
    assert accepted.remarks == (f"rule 4 (path) {not_judged(reason)}",)
    assert judge(replace(HEALTHY, path=FAILED, accepts_unproven="no counters in containers")).state == "fail"


def test_a_benchmark_without_payload_has_no_path_to_prove_but_may_take_a_wrong_one() -> None:
    moved = judge(replace(HEALTHY, path=UNPROVEN, no_payload="osu/osu_barrier moves no payload"))
    assert moved.state == "pass"
    assert moved.rules[3].why_unjudged == "osu/osu_barrier moves no payload"
    assert judge(replace(HEALTHY, path=FAILED, no_payload="osu/osu_barrier moves no payload")).state == "fail"


# Rule 5


def test_rule_5_names_value_unit_bound_source_rail_and_node() -> None:
    slow = bandwidth(0.8, 2.5, 45.5, 4.8)
    verdict = judge(with_metric(slow))
    assert verdict_details(verdict) == (
        "fail",
        5,
        "fabric",
        f"{breach_words('below', 4.8, 47.0, 'hsn-uni-1 (class: shaped rate)', 4 * M)}{CROSSED}",
        look_at_rails(["hsn0"], ["vn1", "vn2"], False, False),
    )


@pytest.mark.parametrize(
    ("values", "state"),
    [
        ((0.4, 2.0, 47.0, 47.0), "pass"),
        ((0.39, 2.0, 47.0, 47.0), "fail"),
        ((1.2, 3.0, 48.6, 48.6), "pass"),
        ((1.21, 3.0, 48.6, 48.6), "fail"),
        ((0.8, 1.99, 47.0, 47.0), "fail"),
        ((0.8, 2.5, 46.9, 47.0), "fail"),
        ((0.8, 2.5, 47.0, 46.9), "fail"),
    ],
)
def test_rule_5_holds_over_the_whole_curve(values: tuple[float, ...], state: str) -> None:
    assert judge(with_metric(bandwidth(*values))).state == state


def test_rule_5_needs_every_size_that_a_reference_requires() -> None:
    lacking = bandwidth(measured=MeasuredMetric("MB/s", (1, M, 4 * M), (0.8, 47.5, 47.8)))
    judged = judge(with_metric(lacking)).rules[4]
    assert (judged.fault, judged.look_at) == ("reference", reference_words.look_at_reference())
    needed = reference_words.say_lacking("bandwidth", [4096], "hsn-curve (baseline: run 7)")
    assert judged.sentence == f"{needed}{CROSSED}"


def test_a_reference_that_is_broken_is_named_before_one_that_no_measured_size_meets() -> None:
    own = scalar_band("own", "class", "bandwidth", "MB/s", "a source", Bound(2.7, None, None), (1, 4096))
    short = bandwidth(measured=MeasuredMetric("MB/s", (1, 4096), (2.8, 2.5)), bands=(FLOOR, own))
    judged = judge(with_metric(short)).rules[4]
    assert judged.miss == Miss(Figure("bandwidth", 2.5, "MB/s", 4096), "below", 2.7)
    assert judged.sentence.startswith(breach_words("below", 2.5, 2.7, "own (class: a source)", 4096))


def test_rule_5_fails_a_reference_that_no_measured_size_meets() -> None:
    short = bandwidth(measured=MeasuredMetric("MB/s", (1, 4096), (0.8, 2.5)), bands=(FLOOR,))
    judged = judge(with_metric(short)).rules[4]
    assert judged.fault == "reference"  # nothing was slow: no rail is looked at
    assert judged.sentence == (f"{no_size_for('bandwidth', 'hsn-uni-1 (class: shaped rate)')}{CROSSED}")


def test_rule_5_fails_a_bound_without_bounds_and_a_wrong_unit() -> None:
    nothing = scalar_band("x", "class", "bandwidth", "MB/s", "s", Bound(None, None, 5.0))
    assert judge(with_metric(bandwidth(bands=(nothing,)))).rule == 5
    unit = scalar_band("x", "class", "bandwidth", "GB/s", "s", Bound(0.04, None, None))
    assert judge(with_metric(bandwidth(bands=(unit,)))).rules[4].sentence == (
        f"{other_unit_of('bandwidth', 'MB/s', 'x (class: s)', 'GB/s')}{CROSSED}"
    )


def test_rule_5_fails_without_a_reference_and_names_the_files() -> None:
    assert verdict_details(judge(with_metric(bandwidth(bands=())))) == (
        "fail",
        5,
        "reference",
        reference_words.no_reference(["bandwidth"], "mpich", ["hsn0"], "hsn", "virtual"),
        reference_words.look_at_both_files("virtual"),
    )


def test_a_latency_is_worse_above_its_reference() -> None:
    band = scalar_band("lat", "published", "latency", "us", "a paper", Bound(None, 1.5, 1.0), (0, 8))
    declared = DeclaredMetric("latency", "us", "latency")
    good = MetricInput(declared, MeasuredMetric("us", (0, 8), (1.0, 1.25)), bands=(band,))
    verdict = judge(replace(HEALTHY, metrics=(good,)))
    assert verdict.state == "pass"
    assert verdict.curves[0].percent_of_reference == pytest.approx(80.0)
    bad = replace(good, measured=MeasuredMetric("us", (0, 8), (1.0, 1.6)))
    assert judge(replace(HEALTHY, metrics=(bad,))).rules[4].sentence == (
        f"{breach_words('above', 1.6, 1.5, 'lat (published: a paper)', 8, 'latency', 'us')}{CROSSED}"
    )


EDR_FLOOR = floor_band("class:ib-edr", LinkFloor(12000, M, "EDR unidirectional"))
EDR = MetricInput(DECLARED, MeasuredMetric("MB/s", (M, 4 * M), (12010.0, 12080.0)), bands=(EDR_FLOOR,))


def test_a_floor_of_the_links_class_holds_beside_the_references() -> None:
    band: Band = scalar_band("edr", "contract", "bandwidth", "MB/s", "offer", Bound(11000, None, None))
    both = replace(EDR, bands=(band, EDR_FLOOR))
    assert judge(replace(HEALTHY, metrics=(both,))).state == "pass"
    low = replace(both, measured=MeasuredMetric("MB/s", (M, 4 * M), (11990.0, 12080.0)))
    own = own_condition(10.0, "MB/s", 10 / 12_000)
    assert judge(replace(HEALTHY, metrics=(low,))).rules[4].sentence == (
        f"{breach_words('below', 11_990, 12_000, 'class:ib-edr (class: EDR unidirectional)', M, own=own)}{CROSSED}"
    )


def test_a_disturbed_path_is_disturbed_only_with_the_reference_and_blames_nobody() -> None:
    odd = Suspect("rail", "it sent too much", "vn1", "hsn0")
    disturbed = replace(PROVEN, disturbance="shared: hsn0 of vn1 sent 242.0 MB", suspects=(odd,))
    assert judge(replace(HEALTHY, path=disturbed)).state == "pass"
    verdict = judge(with_metric(bandwidth(0.8, 2.5, 45.5, 40.0), path=disturbed))
    assert (verdict.state, verdict.rule, verdict.fault) == ("disturbed", 5, "disturbed")
    assert (verdict.fails, verdict.suspects) == (True, ())
    assert verdict.sentence.endswith(f"; {reference_words.say_disturbed('shared: hsn0 of vn1 sent 242.0 MB')}")
    assert verdict.look_at == reference_words.look_at_others()


# States


def test_a_report_only_system_is_judged_by_the_floors_of_its_links() -> None:
    inputs = replace(HEALTHY, metrics=(EDR,), report_only="new machine")
    ratio = 12_010 / 12_000
    held = held_at_worst(
        "bandwidth", ["class:ib-edr"], " at 1 MiB", ratio, "class:ib-edr", bounded_words((M, 4 * M), 2)
    )
    assert verdict_summary(judge(inputs)) == (
        "report-only",
        None,
        None,
        f"{reference_words.report_only('new machine', [held])}; rule 3 (possible) {not_judged(run_words.no_limit())}",
    )
    low = replace(EDR, measured=MeasuredMetric("MB/s", (M,), (9000.0,)))
    assert judge(replace(inputs, metrics=(low,))).rule == 5


def test_a_report_only_system_whose_links_have_no_floor_says_so() -> None:
    bare = bandwidth(bands=(), floor_remark="TCP has no day-one floor")
    verdict = judge(with_metric(bare, report_only="laptop"))
    assert (verdict.state, verdict.rules[4].state) == ("report-only", "not-judged")
    assert verdict.line == reference_words.report_only("laptop", [not_judged("TCP has no day-one floor")])


def test_a_report_only_system_without_a_known_limit_fails() -> None:
    bare = bandwidth(bands=(), limit=None)
    verdict = judge(with_metric(bare, report_only="laptop", link_limit_known=False))
    assert verdict_details(verdict) == (
        "fail",
        5,
        "reference",
        reference_words.nothing_to_compare("virtual", "laptop", "hsn"),
        reference_words.look_at_link("virtual"),
    )


def test_metrics_that_are_only_reported_make_no_pass() -> None:
    verdict = judge(replace(HEALTHY, metrics=(LATENCY,)))
    assert verdict.state == "report-only"
    because = reference_words.say_because(["latency"], "means nothing on shaped rails")
    assert verdict.line == not_judged(reference_words.only_reported([because]))


EXPECTED = ExpectedFailure.model_validate(
    {"fabric": "hsn", "benchmark": "imb/Uniband", "reason": "known slow cable", "expires": date(2026, 11, 21)}
)
SLOW = with_metric(bandwidth(0.8, 2.5, 45.5, 4.8))


def test_an_expected_failure_is_one_until_its_date_and_for_its_rules() -> None:
    verdict = judge(replace(SLOW, expected_failure=EXPECTED))
    assert (verdict.state, verdict.rule, verdict.fault) == ("xfail", 5, "fabric")
    assert verdict.line.startswith(
        "expected failure (known slow cable, until 2026-11-21): rule 5 (reference): bandwidth 4.800 MB/s at 4 MiB"
    )
    expired = judge(replace(SLOW, expected_failure=EXPECTED, today=date(2026, 11, 22)))
    assert expired.state == "fail"
    assert "; the expected failure (known slow cable, until 2026-11-21) has expired; look at" in expired.line


def test_an_expected_failure_covers_no_other_rule() -> None:
    crashed = judge(replace(with_job(exit_code=3), expected_failure=EXPECTED))
    assert crashed.state == "fail"
    assert "; the expected failure (known slow cable, until 2026-11-21) covers rule 4 and 5 only; look at" in (
        crashed.line
    )
    also_crashed = judge(replace(SLOW, job=replace(HEALTHY.job, exit_code=3), expected_failure=EXPECTED))
    assert also_crashed.state == "fail"
    unreferenced = judge(with_metric(bandwidth(bands=()), expected_failure=EXPECTED))
    assert unreferenced.state == "fail"
    path_alone = EXPECTED.model_copy(update={"rules": (4,)})
    assert judge(replace(SLOW, expected_failure=path_alone)).state == "fail"


def test_an_expected_failure_that_passes_says_so() -> None:
    verdict = judge(replace(HEALTHY, expected_failure=EXPECTED))
    assert verdict.state == "pass"
    assert verdict.line.endswith("; it was expected to fail (known slow cable): remove that expectation")


def test_not_tested_is_neither_pass_nor_failure() -> None:
    verdict = not_tested("no such device")
    assert verdict_summary(verdict) == ("not-tested", None, None, "not tested: no such device")
    assert {rule.state for rule in verdict.rules} == {"not-judged"}


# Properties

SPOILS: dict[str, Callable[[Inputs], Inputs]] = {
    "exit code": lambda i: replace(i, job=replace(i.job, exit_code=1)),
    "no exit code": lambda i: replace(i, job=replace(i.job, exit_code=None)),
    "time out": lambda i: replace(i, job=replace(i.job, timed_out=True)),
    "a node lacks": lambda i: replace(i, job=replace(i.job, nodes_seen=i.job.nodes_seen[:1])),
    "cut": lambda i: replace(i, job=replace(i.job, incomplete=("Uniband",))),
    "no table": lambda i: replace(i, job=replace(i.job, tables=0)),
    "failure": lambda i: replace(i, job=replace(i.job, failures=(OutputLine(1, "error"),))),
    "wrong data": lambda i: replace(i, job=replace(i.job, validates=True, validation=False)),
    "no validation": lambda i: replace(i, job=replace(i.job, validates=True, validation=None)),
    "refused": lambda i: replace(i, job=replace(i.job, refused=(RefusedRail("a", "b", "c"),))),
    "no metrics": lambda i: replace(i, metrics=()),
    "unread": lambda i: replace(i, metrics=tuple(replace(m, measured=None) for m in i.metrics)),
    "no unit": lambda i: _change_metrics(i, lambda m: replace(m, unit=None)),
    "nan": lambda i: _change_metrics(i, lambda m: replace(m, values=(math.nan, *m.values[1:]))),
    "half": lambda i: _change_metrics(i, lambda m: replace(m, values=tuple(v and v / 2 for v in m.values))),
    "triple": lambda i: _change_metrics(i, lambda m: replace(m, values=tuple(v and v * 3 for v in m.values))),
    "fewer sizes": lambda i: _change_metrics(i, lambda m: replace(m, sizes=m.sizes[:1], values=m.values[:1])),
    "no bands": lambda i: replace(i, metrics=tuple(replace(m, bands=()) for m in i.metrics)),
    "path failed": lambda i: replace(i, path=FAILED),
    "path unproven": lambda i: replace(i, path=UNPROVEN),
    "report only, no limit": lambda i: replace(i, report_only="x", link_limit_known=False),
}


def _change_metrics(inputs: Inputs, change: Callable[[MeasuredMetric], MeasuredMetric]) -> Inputs:
    metrics = [m if m.measured is None else replace(m, measured=change(m.measured)) for m in inputs.metrics]
    return replace(inputs, metrics=tuple(metrics))


@pytest.mark.parametrize("name", SPOILS)
def test_each_spoilt_input_alone_fails_a_healthy_run(name: str) -> None:
    assert judge(SPOILS[name](HEALTHY)).state == "fail"


@given(
    start=st.sampled_from((HEALTHY, SLOW, replace(HEALTHY, metrics=(EDR,), report_only="new"))),
    # Each at most once, and not both of two that undo each other: half of three times is not a bad value.
    names=st.lists(st.sampled_from(sorted(SPOILS)), min_size=1, max_size=4, unique=True).filter(
        lambda names: not {"half", "triple"} <= set(names)
    ),
)
def test_spoiling_never_turns_a_failure_into_a_pass(start: Inputs, names: list[str]) -> None:
    # A system without references can only fail the floor of the link's class: without it nothing is asserted.
    assume(start.report_only is None or "no bands" not in names)
    inputs = start
    for name in names:
        before = judge(inputs).state
        # A value without a reference, or one that is no longer measured, cannot fail rule 5: it fails in another way.
        inputs = SPOILS[name](inputs)
        if before == "fail":
            assert judge(inputs).state == "fail"


def test_a_ratio_too_large_for_a_number_is_left_out() -> None:
    curve = judge(with_metric(bandwidth(1e308, 1e308, 1e308, 1e308))).curves[0]
    assert curve.percent_of_reference is None
    assert curve.percent_of_limit is None


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True)), min_size=4, max_size=4))
def test_any_values_give_a_verdict_that_json_can_hold(values: list[float | None]) -> None:
    verdict = judge(with_metric(bandwidth(*values)))
    assert verdict.state in ("pass", "fail")
    json.dumps([encode(verdict_record(verdict)), [c.percent_of_reference for c in verdict.curves]], allow_nan=False)


# --- the best of several sizes


def both_ways(*values_mb_s: float) -> Inputs:
    """A run over one rail both ways, of which at least one size must give 22.5 MB/s, and 1 MiB 13.5."""
    best = replace(
        scalar_band("best", "class", "bandwidth", "MB/s", "recorded", Bound(22.5, None, None)), best_of_sizes=True
    )
    each = scalar_band("each", "class", "bandwidth", "MB/s", "recorded", Bound(13.5, None, None), (2**20, None))
    curve = MeasuredMetric("MB/s", (2**16, 2**18, 2**20), values_mb_s)
    declared = DeclaredMetric("bandwidth", "MB/s", "bandwidth")
    return replace(HEALTHY, metrics=(MetricInput(declared, curve, bands=(best, each)),))


def test_a_rate_that_one_size_holds_is_that_of_the_rail_but_bounds_no_size() -> None:
    verdict = judge(both_ways(14.1, 28.6, 14.3))
    assert verdict.state == "pass"
    assert verdict.sentence.endswith(f"({bounded_words((M,), 3, '64 KiB to 256 KiB')})")
    slow = judge(both_ways(20.1, 20.2, 20.3))
    assert (slow.state, slow.rule, slow.fault) == ("fail", 5, "fabric")
    assert slow.miss == Miss(Figure("bandwidth", 20.3, "MB/s", M), "below", 22.5, best_of="64 KiB to 1 MiB")


def test_a_floor_from_4_mib_alone_leaves_the_rate_at_1_mib_open_and_is_no_pass() -> None:
    floor = scalar_band("narrow", "class", "bandwidth", "MB/s", "recorded", Bound(13.5, None, None), (2**22, None))
    curve = MeasuredMetric("MB/s", (2**18, 2**20, 2**21, 2**22), (14.1, 7.0, 14.3, 14.4))
    metric = MetricInput(DeclaredMetric("bandwidth", "MB/s", "bandwidth"), curve, bands=(floor,))
    verdict = judge(replace(HEALTHY, metrics=(metric,)))
    assert (verdict.state, verdict.rule) == ("fail", 5)
    assert reference_words.open_rates("bandwidth", "1 MiB to 2 MiB") in verdict.sentence


def test_a_rate_that_only_the_best_size_bounds_is_no_pass() -> None:
    inputs = both_ways(14.1, 28.6, 14.3)
    (metric,) = inputs.metrics
    verdict = judge(replace(inputs, metrics=(replace(metric, bands=metric.bands[:1]),)))
    assert (verdict.state, verdict.rule) == ("fail", 5)
    assert reference_words.open_end("bandwidth", M, is_largest=True) in verdict.sentence


def small_messages(*values_us: float) -> Inputs:
    """A run whose small messages may take at most 400 us, at one of their sizes at least."""
    band = scalar_band("small", "class", "latency", "us", "recorded", Bound(None, 400.0, None), (None, 64))
    times = MeasuredMetric("us", (1, 4, 64, 4096), values_us)
    bands = (replace(band, best_of_sizes=True),)
    return replace(HEALTHY, metrics=(MetricInput(DeclaredMetric("latency", "us", "latency"), times, bands=bands),))


def test_a_time_that_one_size_holds_was_disturbed_at_the_others() -> None:
    assert verdict_summary(judge(small_messages(2100.0, 12.0, 3000.0, 20.0))) == (
        *("pass", None, None),
        held_at_worst("latency", ["small"], " at 4 B", 400 / 12, "small", bounded_words((1, 4, 64), 4, "4 KiB")),
    )


def test_a_time_that_no_size_holds_is_a_delay_even_if_others_are_short() -> None:
    verdict = judge(small_messages(2100.0, 2012.0, 3000.0, 20.0))
    assert (verdict.state, verdict.rule, verdict.fault) == ("fail", 5, "fabric")
    assert verdict.miss == Miss(Figure("latency", 2012.0, "us", 4), "above", 400.0, best_of="1 B to 64 B")
    # Probes then send messages of that size.
    assert [
        (curve.percent_of_reference_size, round(curve.percent_of_reference or 0, 1)) for curve in verdict.curves
    ] == [(4, 19.9)]
