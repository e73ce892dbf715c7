"""A thin front for `reframe -r`: promises, runs, compares what was promised with what ran, and reports.

The line that a run prints when a test ends, from the test's record if there is one.

Compares what a run promised with what it left: one final record per promised case. No case passes by omission.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from railyard.base.errors import RailyardError, SetupError, did_you_mean
from railyard.base.paths import CHECKS, HOME_VARIABLE, SETTINGS_FILE, part, refuse_command, runs_folder
from railyard.base.terminal import fold_words
from railyard.base.values import clean, utc_time
from railyard.base.wording import count_of
from railyard.results.record.file import FILE_NAME, append_record, read_records
from railyard.results.record.form import FaultClass, Record, State, VerdictRecord
from railyard.results.record.masking import (
    LOG_NAME,
    REFRAME_FOLDER,
    REPORT_NAME,
    LineMask,
    mask_files,
    mask_text,
    masked_record,
)
from railyard.results.report.summary import key_figure
from railyard.results.report.text import figure_number, state_words
from railyard.results.run_folder import RUN_FOLDER_VARIABLE, RUN_VARIABLE, RelationRecord
from railyard.rfm.run import output
from railyard.rfm.run.options import idle_names, name_others, nothing_selected, read, unknown_names
from railyard.rfm.run.output import RanCase
from railyard.site.test_id import TestId, named_policy

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


#: At most this many lines of a script are shown, and at most this many characters of each line.
MOST_LINES, MOST_CHARACTERS = 60, 240
#: ReFrame's name for the script that a scheduler is given.
SCRIPT = "rfm_job.sh"
#: "  stage directory:   '/home/me/railyard/.railyard/reframe/stage'"
_STAGE = re.compile(r"^\s*stage directory:\s+'(?P<folder>.*)'\s*$")
#: ReFrame's own variable for colours, which it also writes into a file or a pipe.
COLOURS_VARIABLE = "RFM_COLORIZE"
#: ReFrame's last line of a dry run too, in which nothing passed.
_PASSED = "[  PASSED  ] "
#: Seconds for ReFrame to end its jobs and write its report after Ctrl-C.
GRACE_S = 30
#: Where pip puts programs: the Python's own folder, and the user's.
_SCHEMES = (sysconfig.get_default_scheme(), sysconfig.get_preferred_scheme("user"))
#: "reframe: error: unrecognized arguments: --nosuch"
UNKNOWN_OPTIONS = re.compile(r"error: unrecognized arguments: (?P<words>\S.*)")
#: The options of `railyard run`; all others go to ReFrame.
OWN_OPTIONS = (
    *("--system", "--full", "--extended", "--failed", "--spack", "--replay", "--one-allocation", "--budget"),
    *("--copy-to", "--json", "--help"),
)
#: What ReFrame says of its own scheduler flux without Flux's bindings.
_NO_FLUX = "no flux Python bindings found"
#: What ReFrame says if the environment modules of a system's file are not installed.
_NO_MODULES = re.compile(r"could not find a sane (?P<system>\w+) installation")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one run left: final records, other problems, whether it was interrupted, and the results of relations."""

    run: str
    folder: Path
    records: tuple[Record, ...]
    problems: tuple[str, ...]
    interrupted: bool
    relations: tuple[RelationRecord, ...] = ()
    none_began: bool = False

    @property
    def exit_code(self) -> int:
        """Return 0 if all passed, 130 after Ctrl-C, and 1 if a test or relation failed or a test was disturbed.

        A problem of the run gives 1 too: something was not checked. If no job of any test could be sent
        (``none_began``), nothing was measured. Then it is 2: the set-up cannot work.
        """
        if self.interrupted:
            return 130
        if self.none_began:
            return 2
        failed = any(record.fails for record in self.records)
        failed = failed or any(relation.state == "fail" for relation in self.relations)
        return 1 if failed or self.problems else 0


def reframe_program() -> str:
    """Return the `reframe` beside this Python, or where its packages have programs. Raises SetupError if there is none.

    `pip install --user` puts both `railyard` and `reframe` into ~/.local/bin, and Debian's own Python into
    /usr/local/bin. Spack gives each package a prefix of its own: PREFIX/lib/pythonX.Y/site-packages/reframe belongs to
    PREFIX/bin/reframe.
    """
    folders = [Path(sys.executable).parent, *(Path(sysconfig.get_path("scripts", each)) for each in _SCHEMES)]
    package = find_spec("reframe")
    if package is not None and package.origin is not None and len(Path(package.origin).parents) > 4:
        folders.append(Path(package.origin).parents[4] / "bin")
    found = next((folder / "reframe" for folder in folders if (folder / "reframe").is_file()), None)
    if found is None:
        raise SetupError(
            f"found no reframe beside {sys.executable}, expected one there; install Railyard again (in a clone: make "
            "venv)"
        )
    return str(found)


def reframe_command(home: Path, system: str, options: Sequence[str]) -> list[str]:
    """Return the words of a `reframe` call for a site, with the site's own settings and checks if you name none.

    Raises SetupError if the site's settings, or `reframe` itself, are missing.
    """
    words = [reframe_program()]
    given = read(options)
    # ReFrame 4.10.4 would run a command in this path before it reads any settings of ours.
    for path in filter(None, (*given.perflogdir, os.environ.get("RFM_PERFLOG_DIR"))):
        refuse_command(path, "--perflogdir")
    if not given.config_file:
        if not (home / SETTINGS_FILE).is_file():
            raise SetupError(
                f"{home}: found no {SETTINGS_FILE}, expected ReFrame's settings in the folder of a site; "
                f"type: railyard init {home} --missing"
            )
        words += ["-C", str(home / SETTINGS_FILE)]
    if not given.checkpath:
        words += ["-c", str(part(home, CHECKS)), "-R"]
    return [*words, "--system", system, *options]


def environment(home: Path, run: str, folder: Path) -> dict[str, str]:
    """Return the variables that ReFrame and the checks in it are given."""
    ours = {HOME_VARIABLE: str(home), RUN_VARIABLE: run, RUN_FOLDER_VARIABLE: str(folder)}
    return {**os.environ, **ours, "PYTHONUNBUFFERED": "1", COLOURS_VARIABLE: "n"}


def promised_cases(command: Sequence[str], env: dict[str, str]) -> tuple[tuple[TestId, ...], tuple[str, ...]]:
    """Return the cases that ReFrame would run with these words, and a sentence for each check that it did not load.

    Raises RailyardError if ReFrame refuses, if a `-n`, `-S` or `-P` names nothing, or if nothing is selected.
    """
    done = subprocess.run([*command, "-lC"], env=env, capture_output=True, text=True, check=False)
    text = done.stdout + done.stderr
    if done.returncode != 0 and not output.lists_nothing(text):
        raise RailyardError(_refusal(text))
    cases = output.listed_cases(text)
    problems = output.warnings(text)
    nothing = output.unlisted_names(text, cases, command)
    if nothing:
        raise RailyardError("\n".join(nothing))
    words, checks = read(command), part(Path(env.get(HOME_VARIABLE, ".")), CHECKS)
    unknown = unknown_names(words, cases, checks)
    if unknown:
        raise RailyardError("\n".join((*unknown, *problems)))
    if not cases and (dropped := output.drop_lines(text)):
        raise RailyardError("\n".join((*dropped, *problems)))
    idle = _say_idle(command, env, idle_names(words, cases))
    if idle or not cases:
        why = idle or nothing_selected(words, _system_of(command), checks)
        raise RailyardError("\n".join((*why, *problems)))
    return cases, problems


def _say_idle(command: Sequence[str], env: dict[str, str], idle: Sequence[str]) -> list[str]:
    """Return a sentence for each `-n` that selected nothing: the tests of its check that the system has."""
    system = _system_of(command)
    if not idle or not system:
        return []
    given = read(command)
    places = [word for flag, values in (("-C", given.config_file), ("-c", given.checkpath)) for value in values
              for word in (flag, value)]  # fmt: skip
    recursive = [word for word in command if word in ("-R", "--recursive")]
    words = [command[0], *places, *recursive, "--system", system, "-lC"]
    done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
    known = output.listed_cases(done.stdout + done.stderr)
    return [name_others(name, system, known) for name in idle]


def _system_of(command: Sequence[str]) -> str:
    """Return the value of `--system`; empty if it is not given."""
    return command[command.index("--system") + 1] if "--system" in command[:-1] else ""


def _refusal(text: str) -> str:
    for line in output.ANSI.sub("", text).splitlines():
        if line.startswith("ERROR: "):
            if lacking := _NO_MODULES.search(line):
                return (
                    f"modules_system: found no {lacking['system']} on this machine, expected it as the system's file "
                    "says; on another machine than the cluster type: railyard rehearse"
                )
            if _NO_FLUX in line:
                return (
                    "scheduler: found flux, which needs Flux's Python bindings beside ReFrame, expected flux-batch, "
                    "which needs only the command flux; change it in the system's file"
                )
            return line.removeprefix("ERROR: ").removeprefix("failed to load configuration: ")
    tail = (text.strip().splitlines()[-1:] or ["it printed nothing"])[0]
    if found := UNKNOWN_OPTIONS.search(tail):
        option = found["words"].split()[0]
        near = did_you_mean(option.partition("=")[0], OWN_OPTIONS)
        hint = f"; {near}" if near.startswith("did you mean") else " (see: railyard run --help, reframe --help)"
        return f'no such option "{option}": neither railyard run nor reframe has it{hint}'
    return f"reframe could not list its tests: {tail}"


@dataclass(frozen=True, slots=True)
class Promise:
    """What a run should do: its id and folder, the cases that it promises, and the problems that are known beforehand.

    ``replayed`` and ``rehearsal`` are for the records of a replay or a rehearsal if the check itself does not say so.
    """

    run_id: str
    folder: Path
    cases: tuple[TestId, ...]
    problems: tuple[str, ...] = ()
    replayed: str | None = None
    rehearsal: str | None = None


def run(
    home: Path,
    system: str,
    options: Sequence[str],
    promise: Promise,
    *,
    on_line: Callable[[str], None],
    front: Sequence[str] = (),
    more_env: Mapping[str, str] | None = None,
) -> Outcome:
    """Run ReFrame over the promised cases, one at a time, and return the result of each.

    ``front`` are words before ReFrame's own (``salloc`` …), ``more_env`` variables for them.
    ReFrame's output goes to ``reframe.log`` in the run folder and, line by line, to ``on_line``.
    """
    run_id, folder = promise.run_id, promise.folder
    env = {**environment(home, run_id, folder), **(more_env or {})}
    report, log, prefix = folder / REPORT_NAME, folder / LOG_NAME, folder / REFRAME_FOLDER
    command = [
        *front, *reframe_command(home, system, options),
        "-r", "--exec-policy=serial", f"--report-file={report}", f"--prefix={prefix}",
    ]  # fmt: skip
    try:
        text, interrupted = log_masked(command, env, log, on_line)
    finally:
        # ReFrame's report has the whole command line; its folders have job scripts with all variables. What we write
        # ourselves is masked when it is written.
        unmasked = mask_files(prefix, report, log)
    ran = output.ran_cases(report, text)
    recorded = read_records(folder / FILE_NAME) if (folder / FILE_NAME).exists() else None
    seen = recorded.records if recorded else ()
    final = settle(promise.cases, ran, seen, run=run_id, time=utc_time(), stopped=output.what_stopped(text))
    if promise.replayed is not None:
        final = tuple(one.with_fields(replayed=one.made.replayed or promise.replayed) for one in final)
    if promise.rehearsal is not None:
        final = tuple(one.with_fields(rehearsal=promise.rehearsal) for one in final)
    final = tuple(masked_record(one) for one in final)
    for record in final:
        if record not in seen:
            append_record(folder / FILE_NAME, record)
    unread = recorded.problems if recorded else ()
    sentences = (*promise.problems, *output.warnings(text), *unread, *unmasked)
    all_problems = dict.fromkeys(map(mask_text, sentences))  # a warning of ReFrame may quote its command line
    failed_before = none_began(final, ran, seen)
    return Outcome(run_id, folder, final, tuple(all_problems), interrupted, none_began=failed_before)


def log_masked(
    command: Sequence[str], env: dict[str, str], log: Path, on_line: Callable[[str], None]
) -> tuple[str, bool]:
    """Run a command in its own session; its output goes masked to a file and, line by line, to a function.

    Return the output and whether Ctrl-C interrupted the command.
    """
    lines: list[str] = []
    masking = LineMask()
    with log.open("w", encoding="utf-8") as out, _session(command, env) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                out.write(masking.mask(line))
                lines.append(line)
                on_line(line.rstrip("\n"))
            process.wait()
            return "".join(lines), process.returncode == 130
        except KeyboardInterrupt:
            # ReFrame ends its jobs itself on SIGINT, and writes its report.
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                rest, _ = process.communicate(timeout=GRACE_S)
                out.writelines(map(masking.mask, (rest or "").splitlines(keepends=True)))
            return "".join(lines), True


@contextlib.contextmanager
def _session(command: Sequence[str], env: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    with _child_heeds_interrupts():
        process = subprocess.Popen(
            _ending_with_us(command),
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


@contextlib.contextmanager
def _child_heeds_interrupts() -> Iterator[None]:
    """Let a child that is started now end at SIGINT, though this process ignores it, as in the background of a script.

    An ignored signal stays ignored in a new program, a handled one gets its usual action. Only SIGINT ends ReFrame with
    its jobs and its report: one that ignores it would be killed half a minute later, or measure on after a SIGKILL of
    this process.
    """
    ignores = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    ignores = ignores and threading.current_thread() is threading.main_thread()  # no other may change it
    if ignores:
        signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        if ignores:
            signal.signal(signal.SIGINT, signal.SIG_IGN)


def _ending_with_us(command: Sequence[str]) -> list[str]:
    """Return a command that gets SIGINT, as from Ctrl-C, when this process ends, even by SIGKILL.

    Without this ReFrame would go on measuring, while the next run believes that it has the machine alone.
    """
    setpriv = shutil.which("setpriv")  # of util-linux
    return [setpriv, "--pdeathsig", "INT", "--", *command] if setpriv else list(command)


def last_run(home: Path, wanted: str = "one to record") -> Path:
    """Return the folder of the newest run that left ReFrame's report. Raises RailyardError if there is none.

    ``wanted`` says in the error what the run is for.
    """
    runs = sorted(p.parent for p in runs_folder(home).glob(f"*/{REPORT_NAME}"))
    if not runs:
        raise RailyardError(f"{runs_folder(home)}: found no earlier run, expected {wanted}")
    return runs[-1]


def dry_run(
    command: Sequence[str],
    env: Mapping[str, str],
    echo: Callable[[str], None],
    before: Callable[[Sequence[TestId]], object] = lambda cases: None,
) -> int:
    """Let ReFrame write the job scripts of the selected tests, say where they are, show one, and return its exit code.

    ``command`` is a `reframe` without an action (`-r`, `-l`, `--dry-run`). Raises RailyardError if ReFrame refuses it,
    if a `-S` or `-P` names nothing, or if nothing is selected: ReFrame passes an empty dry run.
    ``before`` is given all tests before the first one begins; what it raises is raised here.
    """
    cases, problems = promised_cases(command, dict(env))
    for problem in problems:
        echo(f"warning: {clean(problem)}")
    before(cases)
    begun = time.time()
    stage: Path | None = None
    with subprocess.Popen(
        [*command, "--dry-run"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if not output.ANSI.sub("", line).startswith(_PASSED):
                echo(line.rstrip("\n"))
            if found := _STAGE.match(line):
                stage = Path(found["folder"])
    echo("")
    # The clock of files is some milliseconds behind the clock of programs; ReFrame takes seconds to start.
    scripts = [] if stage is None else [path for path in _scripts(stage, cases) if path.stat().st_mtime > begun - 1]
    for line in script_lines(scripts, len(cases), stage):
        echo(line)
    return process.returncode


def without_actions(options: Sequence[str]) -> tuple[str, ...]:
    """Return ReFrame's options without `-r` and `--dry-run`, which cannot be combined with its listing."""
    return tuple(word for word in options if word not in ("-r", "--run") and not _is_dry_run(word))


def _is_dry_run(word: str) -> bool:
    # argparse completes a beginning that fits only one option: `--dry`.
    return len(word) > len("--d") and "--dry-run".startswith(word)


def _scripts(stage: Path, cases: Sequence[TestId]) -> Iterator[Path]:
    """Yield the script of each case that has one, in their order.

    ReFrame's folder of a test without parameters has the name of its class only.
    """
    for case in cases:
        for folder in (f"*_{case.hash}", case.name):
            yield from stage.glob(f"{case.system}/{case.fabric}/{case.stack}/{folder}/{SCRIPT}")


def script_lines(scripts: Sequence[Path], cases: int, stage: Path | None) -> list[str]:
    """Return the lines about the scripts of ``cases`` tests: how many, in which folder, and the first one."""
    below = "" if stage is None else f" below {stage}"
    if not scripts:
        return [f"no job script was written{below} for {count_of(cases, 'test')}: ReFrame's lines above say why"]
    first = scripts[0]
    lines = clean(first.read_text(encoding="utf-8", errors="replace")).splitlines()
    text = [line if len(line) <= MOST_CHARACTERS else f"{line[:MOST_CHARACTERS]} …" for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        text.append(f"… {count_of(len(lines) - MOST_LINES, 'more line')}")
    return [f"{count_of(len(scripts), 'job script')} of {count_of(cases, 'test')}{below}; {first}:", "", *text]


#: "[      OK ] ( 3/33) ImbUniband %rails=2 /0a1b2c3d @virtual:hsn+mpich", as ReFrame ends a test; a test that did not
#: run has its reason in brackets after it.
ENDED = re.compile(
    r"^\[\s*(?P<word>OK|FAIL|SKIP|XFAIL|XPASS|ABORT)\s*\] \(\s*(?P<done>\d+)/\s*(?P<all>\d+)\) "
    r"(?P<case>\S.*? @\S+)(?: \[(?P<why>.*)\])?$"
)
#: ReFrame's words for a test without a record -> those of our reports.
_WORDS: Mapping[str, str] = {"OK": "no verdict", "SKIP": "not tested", "XFAIL": "expected failure"}
#: In the name of a fixture (a build), which is not a test: its scope follows.
_BUILD = " ~"
_HASH = re.compile(r" /[0-9a-f]{8} ")


class Progress:
    """The lines of one run, none wider than ``width``; ``records`` is the run's file.

    A reason that several tests share is printed with the first of them.
    """

    def __init__(self, records: Path, width: int) -> None:
        self._records = records
        self._width = width
        self._said: set[str] = set()

    def end_line(self, line: str) -> str | None:
        """Return what to print for a line from ReFrame; None if no test ended there, or only a build that succeeded."""
        found = ENDED.match(output.ANSI.sub("", line))
        if found is None or (found["word"] == "OK" and _BUILD in found["case"]):
            return None
        count = f"({found['done']:>{len(found['all'])}}/{found['all']})"
        hanging = " " * (len(count) + 1)
        case = _HASH.sub(" ", found["case"])
        record = self._newest(case)
        if record is not None:
            return self._fit_line(f"{count} {_row(record)}".rstrip(), hanging)
        shown = self._fit_line(f"{count} {_WORDS.get(found['word'], found['word'].lower()):<10} {case}", hanging)
        why = found["why"]
        if not why or why in self._said:
            return shown
        self._said.add(why)
        return f"{shown}\n{fold_words(why, self._width, hanging, hanging)}"

    def _fit_line(self, text: str, hanging: str) -> str:
        """Return a line of columns: without alignment if that is too wide, and folded if it still is."""
        if len(text) <= self._width:
            return text
        count, _, rest = text.partition(") ")
        return fold_words(f"{count}) {' '.join(rest.split())}", self._width, hanging)

    def _newest(self, case: str) -> Record | None:
        if not self._records.exists():
            return None
        found = [record for record in read_records(self._records).records if record.test.case == case]
        return found[-1] if found else None


def _row(record: Record) -> str:
    """Return a test's state, place, benchmark and key figure, in the numbers and words of the verdict table."""
    policy = named_policy(record.test.case)
    rails = f"{count_of(record.test.rails, 'rail'):<7}{f', {policy}' if policy else ''}"
    figure = key_figure(record)
    value = "" if figure is None else f"{figure_number(figure)} {figure.unit}"
    state = f"{state_words(record):<{10 if record.no_measurement is None else 14}}"
    return f"{state} {record.where.fabric:<5} {record.test.stack:<8} {rails} {record.test.benchmark:<22} {value}"
