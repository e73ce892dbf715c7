"""Compares what a run promised with what it left: one final record per promised case. No case passes by omission."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from railyard.results.record.form import FaultClass, Record, State, VerdictRecord
from railyard.rfm.run.output import RanCase
from railyard.site.test_id import TestId

#: ReFrame prints this before and after the standard error of a command.
_STDERR = "--- stderr ---"
#: ReFrame's stages of a test up to the one that sends its job.
BEFORE_A_JOB = ("setup", "compile", "compile_wait", "run")
#: ReFrame's results of a test that did not reach its end, in words.
NOT_RUN = {"skip": "skipped", "fail_deps": "not run, since what it depends on failed", "abort": "aborted"}


def settle(
    promised: Sequence[TestId],
    ran: Sequence[RanCase],
    records: Iterable[Record],
    *,
    run: str,
    time: str,
    stopped: str | None = None,
) -> tuple[Record, ...]:
    """Return one record per promised case, in the promised order; those that ran without a promise follow.

    ``stopped`` is what stopped ReFrame itself, None if it ended by itself or did not say why.

    A record is kept if ReFrame agrees with it. These become records that say so: a failure that only ReFrame saw, a
    case without a record, and a pass that needed a retry or came after a failure in this run. A fixture (a build) is
    not a test: its failure is the reason of the tests that depend on it.
    """
    written = tuple(records)
    last: dict[str, Record] = {record.test.case: record for record in written}
    failed = {record.test.case for record in written if record.fails}
    broken = {_place(each.case): each for each in ran if each.case.is_fixture and each.result != "pass"}
    tests = [_with_reason_of(broken.get(_place(each.case)), each) for each in ran if not each.case.is_fixture]
    results: Mapping[str, RanCase] = {str(case.case): case for case in tests}
    ids = {str(case): case for case in promised} | {str(case.case): case.case for case in tests}
    lost = f"was promised and did not run: ReFrame ended before it{f' ({stopped})' if stopped else ''}"
    settled = {name: _settle(case, last.get(name), results.get(name), lost, run, time) for name, case in ids.items()}
    return tuple(_beside_a_failure(one) if name in failed else one for name, one in settled.items())


def none_began(final: Sequence[Record], ran: Sequence[RanCase], written: Sequence[Record]) -> bool:
    """Return whether each test that should run failed before its job was sent, or because its build failed.

    ``final`` are the settled records, ``written`` those that checks wrote themselves. False if nothing should run.
    """
    recorded = {record.test.case for record in written}
    unbegun = {
        str(one.case)
        for one in ran
        if one.result == "fail_deps" or (one.result == "fail" and one.phase in BEFORE_A_JOB)
    } - recorded
    wanted = [record for record in final if record.found.state != "not-tested"]
    return bool(wanted) and all(record.test.case in unbegun for record in wanted)


def _place(case: TestId) -> tuple[str, str, str]:
    return case.system, case.fabric, case.stack


def _with_reason_of(fixture: RanCase | None, result: RanCase) -> RanCase:
    """Return a case that did not run because its build failed, with the build's own sentence as the reason."""
    if fixture is None or result.result != "fail_deps":
        return result
    # ReFrame writes the class of its error before the build's own sentence.
    reason = (fixture.reason or result.reason or "").removeprefix("reframe error: ")
    return replace(result, result="fail_deps", reason=reason)


def _settle(case: TestId, record: Record | None, result: RanCase | None, lost: str, run: str, time: str) -> Record:
    if result is None:
        return record or _without_record(case, "fail", lost, "scheduler", run, time)
    if record is None:
        return _of_reframe(case, result, run, time)
    if record.fails:
        return record
    if result.result not in _AGREES[record.found.state]:
        state: State = "xfail" if result.result == "xfail" else "fail"
        return _overrule(record, state, _sentence(result))
    if record.found.state in ("pass", "report-only") and result.failed_before:
        return _overrule(record, "fail", _only_on_a_retry(result))
    return record


#: The results of ReFrame that agree with a state; any other overrules it.
_AGREES: Mapping[State, tuple[str, ...]] = {
    "pass": ("pass",),
    "report-only": ("pass",),
    "xfail": ("pass", "xfail"),
    "not-tested": ("pass", "skip"),
}


def _of_reframe(case: TestId, result: RanCase, run: str, time: str) -> Record:
    """Return the record of a case that left none: a pass without a verdict is not a pass."""
    sentence = _sentence(result)
    states: dict[str, State] = {"skip": "not-tested", "xfail": "xfail"}
    if result.result == "pass":
        sentence = (
            "ReFrame passed it, but the check left no record: no verdict was reached; derive it from InterconnectCheck"
        )
    return _without_record(case, states.get(result.result, "fail"), sentence, "set-up", run, time)


def _sentence(result: RanCase) -> str:
    reason = _reason(result.reason)
    if result.result in NOT_RUN:
        return f"{NOT_RUN[result.result]}: {reason}"
    if result.result == "xfail":
        return f"expected failure: {reason}"
    if result.result == "xpass":
        return "passed, but a failure was expected (xfail of its reference): remove the expectation"
    if result.phase is None:  # it was running when ReFrame ended
        return f"ReFrame ended before this test did: {reason if result.reason else 'see the end of reframe.log'}"
    return f"ReFrame failed it in stage {result.phase}: {reason}"


def _only_on_a_retry(result: RanCase) -> str:
    return f"passed only on a retry: run {result.runs} of {result.runs} passed, an earlier one failed"


def _beside_a_failure(record: Record) -> Record:
    """Return the record of a case with an earlier, failed record, as if two runs wrote to one folder."""
    if record.found.state not in ("pass", "report-only"):
        return record
    return _overrule(record, "fail", "passed, and another record of it in this run failed: it ran more than once")


def _overrule(record: Record, state: State, sentence: str) -> Record:
    fails = state == "fail"
    own = replace(record.found.verdict, sentence=sentence, remarks=())
    verdict = replace(own, rule=1 if fails else None, class_="set-up" if fails else None)
    return record.with_fields(state=state, verdict=verdict)


def _without_record(case: TestId, state: State, sentence: str, class_: FaultClass, run: str, time: str) -> Record:
    fails = state == "fail"
    verdict = VerdictRecord(sentence, rule=1 if fails else None, class_=class_ if fails else None)
    check = case.name.split()[0]
    return Record.of(replace(case, check=check, benchmark=check), state, verdict, run=run, time=time)


def _reason(text: str | None) -> str:
    """Return the first line of ReFrame's reason, and what a failed command (such as sbatch) wrote itself."""
    lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
    if not lines:
        return "no reason given"
    marks = [number for number, line in enumerate(lines) if line == _STDERR]
    said = "; ".join(lines[marks[0] + 1 : marks[-1]]) if marks else ""
    first = lines[0].removeprefix("reframe error: ").removesuffix(":")
    return f"{first}: {said}" if said else first
