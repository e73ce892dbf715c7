"""Promises compared with what ran: one final record per promised case, and none passes by omission."""

from dataclasses import replace

import pytest
from reframe.core.exceptions import SpawnedProcessError, what

from railyard.results.record.form import Record, RuleRecord, State, VerdictRecord
from railyard.rfm.run.output import RanCase
from railyard.rfm.run.reframe import none_began, settle
from railyard.site.test_id import TestId, of_name
from tests.made.records import made_record

RUN, TIME = "20261121T060000Z-ab12", "2026-11-21T06:00:12Z"
CASE = of_name("ImbUniband %rails=2", "0a1b2c3d", "virtual", "hsn", "mpich")
OTHER = of_name("ImbPingPong %rails=1", "11111111", "virtual", "eth", "mpich")
STOPPED = "run session stopped: os error: [Errno 22] Invalid argument"
RULES = (RuleRecord(1, "complete", "pass"),)


def record(case: TestId = CASE, state: State = "pass", sentence: str = "all five rules hold") -> Record:
    return made_record(
        case=str(case),
        hash=case.hash,
        rails=2,
        state=state,
        verdict=VerdictRecord(sentence, rule=4 if state == "fail" else None, rules=RULES, next="look at vn1 hsn1"),
    )


def ran(
    result: str = "pass",
    phase: str | None = None,
    reason: str | None = None,
    runs: int = 1,
    failed_before: bool = False,
) -> RanCase:
    return RanCase(CASE, result, phase, reason, None, runs, failed_before)


def final(result: RanCase | None, own: Record | None) -> Record:
    found = settle([CASE], [result] if result else [], [own] if own else [], run=RUN, time=TIME)
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("state", "result"),
    [
        ("pass", "pass"),
        ("report-only", "pass"),
        ("fail", "pass"),
        ("fail", "fail"),
        ("fail", "xfail"),
        ("disturbed", "pass"),
        ("disturbed", "fail"),
        ("xfail", "xfail"),
        ("xfail", "pass"),
        ("not-tested", "skip"),
        ("not-tested", "pass"),
    ],
)
def test_a_record_stands_where_reframe_agrees(state: State, result: str) -> None:
    own = record(state=state)
    assert final(ran(result), own) is own


@pytest.mark.parametrize("state", ["pass", "report-only", "xfail", "not-tested"])
@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (
            ran("fail", "performance", "performance error: performance variable 'peak' was not produced"),
            "ReFrame failed it in stage performance: performance error: performance variable 'peak' was not produced",
        ),
        (ran("fail", "cleanup"), "ReFrame failed it in stage cleanup: no reason given"),
        (ran("abort", "run", "aborted due to KeyboardInterrupt"), "aborted: aborted due to KeyboardInterrupt"),
        (
            ran("fail_deps", None, "Build failed in stage compile: no compiler"),
            "not run, since what it depends on failed: Build failed in stage compile: no compiler",
        ),
        (ran("<unknown>"), "ReFrame ended before this test did: see the end of reframe.log"),
        (ran("<unknown>", None, STOPPED), f"ReFrame ended before this test did: {STOPPED}"),
    ],
    ids=lambda value: value.result if isinstance(value, RanCase) else "",
)
def test_what_reframe_failed_fails(state: State, result: RanCase, sentence: str) -> None:
    own = record(state=state)
    verdict = replace(own.found.verdict, sentence=sentence, rule=1, class_="set-up")
    assert final(result, own) == own.with_fields(state="fail", verdict=verdict)


def test_a_pass_that_reframe_skipped_fails() -> None:
    found = final(ran("skip", None, "not here"), record())
    assert (found.found.state, found.found.verdict.text) == ("fail", "skipped: not here")


@pytest.mark.parametrize("state", ["pass", "report-only"])
def test_an_expected_failure_is_no_pass(state: State) -> None:
    found = final(ran("xfail", None, "slow switch"), record(state=state))
    assert (found.found.state, found.found.verdict.text, found.found.verdict.rule, found.found.verdict.class_) == (
        "xfail",
        "expected failure: slow switch",
        None,
        None,
    )


@pytest.mark.parametrize("state", ["pass", "report-only"])
def test_a_pass_on_a_retry_fails(state: State) -> None:
    found = final(ran(runs=3, failed_before=True), record(state=state))
    assert (found.found.state, found.found.verdict.text) == (
        "fail",
        "passed only on a retry: run 3 of 3 passed, an earlier one failed",
    )


def test_several_runs_that_all_passed_pass() -> None:
    own = record()
    assert final(ran(runs=3), own) is own


@pytest.mark.parametrize(
    ("result", "state", "sentence"),
    [
        (
            ran("pass"),
            "fail",
            "ReFrame passed it, but the check left no record: no verdict was reached; derive it from InterconnectCheck",
        ),
        (
            ran("fail", "setup", "\n  value error: no such rail:\n| checks/imb.py:12\n"),
            "fail",
            "ReFrame failed it in stage setup: value error: no such rail",
        ),
        (ran("skip", None, "no second rail"), "not-tested", "skipped: no second rail"),
        (ran("skip"), "not-tested", "skipped: no reason given"),
        (ran("xfail", None, "slow switch"), "xfail", "expected failure: slow switch"),
        (ran("xpass"), "fail", "passed, but a failure was expected (xfail of its reference): remove the expectation"),
        (ran("abort", "run", "Ctrl-C"), "fail", "aborted: Ctrl-C"),
    ],
    ids=lambda value: value.result if isinstance(value, RanCase) else "",
)
def test_a_case_without_a_record(result: RanCase, state: State, sentence: str) -> None:
    verdict = VerdictRecord(sentence, rule=1, class_="set-up") if state == "fail" else VerdictRecord(sentence)
    assert final(result, None) == made_record(
        run=RUN, time=TIME, case="ImbUniband %rails=2 @virtual:hsn+mpich", hash="0a1b2c3d", check="ImbUniband",
        system="virtual", fabric="hsn", stack="mpich", rails=2, benchmark="ImbUniband", state=state, verdict=verdict,
    )  # fmt: skip


def test_what_sbatch_wrote_is_said() -> None:
    refused = SpawnedProcessError(
        "sbatch rfm_job.sh",
        "",
        "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified\n",
        1,
    )
    found = final(ran("fail", "run", what(type(refused), refused, None)), None)
    assert found.found.verdict.sentence == (
        "ReFrame failed it in stage run: spawned process error: command 'sbatch rfm_job.sh' failed with exit code 1: "
        "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified"
    )
    silent = SpawnedProcessError("sbatch rfm_job.sh", "", "", 1)
    found = final(ran("fail", "run", what(type(silent), silent, None)), None)
    assert found.found.verdict.sentence.endswith("failed with exit code 1")


def test_a_promised_case_that_did_not_run() -> None:
    found = final(None, None)
    assert (found.found.state, found.found.verdict) == (
        "fail",
        VerdictRecord("was promised and did not run: ReFrame ended before it", rule=1, class_="scheduler"),
    )


def test_a_record_of_a_run_that_left_no_report_stands() -> None:
    own = record()
    assert final(None, own) is own


def test_the_last_record_of_a_case_counts() -> None:
    first, last = record(), record(sentence="all five rules hold again")
    assert settle([CASE], [ran()], [first, last], run=RUN, time=TIME) == (last,)


@pytest.mark.parametrize(
    ("result", "records"),
    [
        pytest.param(
            ran(),
            [record(state="fail"), record()],
            marks=pytest.mark.fault(
                "session", "two sessions in one folder, of which the later passes", "another record of it in this run"
            ),
            id="two-sessions",
        ),
        pytest.param(
            ran(runs=2, failed_before=True),
            [record()],
            marks=pytest.mark.fault("session", "--max-retries hides a failure", "passed only on a retry: run 2 of 2"),
            id="retry",
        ),
        pytest.param(
            ran("skip", None, "no second rail"),
            [record()],
            marks=pytest.mark.fault("session", "ReFrame skips a test that has a pass", "skipped: no second rail"),
            id="skip",
        ),
        pytest.param(
            ran("pass"),
            [],
            marks=pytest.mark.fault("session", "a check that judges nothing passes", "the check left no record"),
            id="no-record",
        ),
        pytest.param(
            ran("fail", "cleanup", "performance error: no figure"),
            [record()],
            marks=pytest.mark.fault(
                "session", "a test that fails in its clean-up, behind its verdict", "ReFrame failed it in stage cleanup"
            ),
            id="clean-up",
        ),
        pytest.param(
            ran("fail_deps", None, "no compiler"),
            [],
            marks=pytest.mark.fault(
                "session", "what a test depends on failed", "not run, since what it depends on failed: no compiler"
            ),
            id="dependency",
        ),
        pytest.param(
            ran("abort", "run", "Ctrl-C"),
            [record()],
            marks=pytest.mark.fault("session", "a session aborted behind a test's verdict", "aborted: Ctrl-C"),
            id="abort",
        ),
        pytest.param(
            ran("fail", "run", "command 'sbatch rfm_job.sh' failed with exit code 1:\n--- stderr ---\n"
                "sbatch: error: Invalid account\n--- stderr ---"),
            [],
            marks=pytest.mark.fault("scheduler", "sbatch refuses the account", "sbatch: error: Invalid account"),
            id="sbatch",
        ),
    ],
)  # fmt: skip
def test_no_test_passes_by_what_reframe_lets_pass(result: RanCase, records: list[Record], promise: str) -> None:
    assert settle([CASE], [ran()], [record()], run=RUN, time=TIME)[0].found.state == "pass"
    (found,) = settle([CASE], [result], records, run=RUN, time=TIME)
    assert found.found.state == "fail"
    assert promise in found.found.verdict.sentence
    assert found.found.verdict.suspects == ()


def test_order_is_the_promised_one_and_what_was_not_promised_follows() -> None:
    other = of_name("Other", "22222222", "virtual", "hsn", "mpich")
    results = [RanCase(other, "fail", "compile", "no compiler", None, 1, False), ran()]
    found = settle([OTHER, CASE], results, [record()], run=RUN, time=TIME)
    assert [(entry.test.case, entry.found.state, entry.test.rails) for entry in found] == [
        ("ImbPingPong %rails=1 @virtual:eth+mpich", "fail", 1),
        ("ImbUniband %rails=2 @virtual:hsn+mpich", "pass", 2),
        ("Other @virtual:hsn+mpich", "fail", 0),
    ]


BUILD = of_name("SpackEnvironment ~virtual:hsn+mpich", "22222222", "virtual", "hsn", "mpich")


def test_a_build_is_no_test_and_gives_those_that_need_it_its_reason() -> None:
    broken = RanCase(BUILD, "fail", "compile", "reframe error: no space left", None, 1, False)
    (found,) = settle([CASE], [broken, ran("fail_deps", None, "dependency failed")], [], run=RUN, time=TIME)
    assert (found.test.case, found.found.state) == (str(CASE), "fail")
    assert found.found.verdict.text == "not run, since what it depends on failed: no space left"


def test_a_build_that_failed_for_another_stack_excuses_nobody() -> None:
    other = replace(BUILD, stack="openmpi")
    broken = RanCase(other, "fail", "compile", "no space left", None, 1, False)
    (found,) = settle([CASE], [broken, ran("skip", None, "not here")], [], run=RUN, time=TIME)
    assert found.found.verdict.text == "skipped: not here"


def test_a_build_that_succeeded_is_not_shown() -> None:
    built = RanCase(BUILD, "pass", None, None, None, 1, False)
    assert [one.test.case for one in settle([CASE], [built, ran()], [record()], run=RUN, time=TIME)] == [str(CASE)]


def test_a_record_of_another_case_is_no_answer() -> None:
    (found,) = settle([CASE], [], [record(OTHER)], run=RUN, time=TIME)
    assert (found.test.case, found.found.state) == (str(CASE), "fail")


def test_rails_that_are_no_number_are_none() -> None:
    odd = of_name("Ring %rails=all %size=3", "33333333", "virtual", "hsn", "mpich")
    (found,) = settle([odd], [], [], run=RUN, time=TIME)
    assert found.test.rails == 0


OF_OTHER = RanCase(OTHER, "pass", None, None, None, 1, False)


@pytest.mark.parametrize(
    ("results", "written", "is_so"),
    [
        ([ran("fail", "run")], [], True),
        ([ran("fail", "setup"), replace(OF_OTHER, result="fail_deps")], [], True),
        ([ran("fail", "run"), replace(OF_OTHER, result="skip")], [], True),
        ([ran("fail", "run"), OF_OTHER], [record(OTHER)], False),  # one passed
        ([ran("fail", "run"), replace(OF_OTHER, result="fail", phase="sanity")], [], False),  # one ran
        ([ran("fail", "run")], [record(state="fail")], False),  # the check itself came to a verdict
        ([ran("fail", "sanity")], [], False),
        ([ran("abort", "run")], [], False),
        ([ran("skip")], [], False),
        ([], [], False),
    ],
)
def test_a_run_of_which_no_job_was_sent(results: list[RanCase], written: list[Record], is_so: bool) -> None:
    promised = [one.case for one in results]
    settled = settle(promised, results, written, run=RUN, time=TIME)
    assert none_began(settled, results, written) is is_so


def test_a_case_that_reframe_did_not_reach_says_what_stopped_it() -> None:
    (lost,) = settle([CASE], [], [], run=RUN, time=TIME, stopped=STOPPED)
    assert lost.found.verdict.text == f"was promised and did not run: ReFrame ended before it ({STOPPED})"
