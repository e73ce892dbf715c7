"""The front end for `reframe`: its words, what it refuses, what was promised, and how a run ends."""

import os
import re
import signal
import sys
import sysconfig
from datetime import datetime, timedelta, timezone
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import RailyardError, SetupError
from railyard.base.paths import HOME_VARIABLE
from railyard.results.record.file import FILE_NAME, append_record, read_records
from railyard.results.record.form import Record, State, VerdictRecord
from railyard.results.run_folder import RUN_FOLDER_VARIABLE, RUN_VARIABLE, new_run_id
from railyard.rfm.run import reframe as runs
from railyard.rfm.run.reframe import (
    Outcome,
    Promise,
    environment,
    last_run,
    promised_cases,
    reframe_command,
    run,
)
from railyard.site.test_id import TestId, of_name
from tests.made.records import made_record

HOME = Path("/site")
#: The site has no checks of its own, so Railyard's are used.
SHIPPED = Path(__file__).parents[3] / "checks"
REFRAME = str(Path(sys.executable).with_name("reframe"))
RUN = "20261121T060000Z-ab12"
CASE = of_name("ImbUniband %rails=1", "0a1b2c3d", "virtual", "hsn", "mpich")
SETTINGS = "-C HOME/reframe_settings.py"
DEFAULTS = f"{SETTINGS} -c {SHIPPED} -R"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", DEFAULTS),
        ("-n Uniband -S full=1", DEFAULTS),
        ("-C mine.py", f"-c {SHIPPED} -R"),
        ("-Cmine.py", f"-c {SHIPPED} -R"),
        ("--config-file=mine.py", f"-c {SHIPPED} -R"),
        ("--config-file mine.py", f"-c {SHIPPED} -R"),
        ("-c mine/", SETTINGS),
        ("-c./mine", SETTINGS),
        ("--checkpath=mine/ -R", SETTINGS),
        ("-C mine.py -c mine/", ""),
        ("--ci-generate=x.yml", DEFAULTS),
    ],
)
def test_a_sites_own_settings_and_checks_are_given_where_none_are_named(
    options: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "reframe_settings.py").touch()
    given = options.split()
    expected = [REFRAME, *words.replace("HOME", str(tmp_path)).split(), "--system", "virtual:hsn", *given]
    assert reframe_command(tmp_path, "virtual:hsn", given) == expected


def test_a_site_without_settings_is_a_sentence_unless_others_are_named(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as caught:
        reframe_command(tmp_path, "virtual", ["-l"])
    assert str(caught.value) == (
        f"{tmp_path}: found no reframe_settings.py, expected ReFrame's settings in the folder of a site; "
        f"type: railyard init {tmp_path} --missing"
    )
    assert "mine.py" in reframe_command(tmp_path, "virtual", ["-C", "mine.py"])


def test_a_python_without_reframe_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(sysconfig, "get_path", lambda name, scheme: str(tmp_path / scheme))
    monkeypatch.setattr(runs, "find_spec", lambda name: None)
    with pytest.raises(SetupError) as caught:
        reframe_command(HOME, "virtual", [])
    assert str(caught.value) == (
        f"found no reframe beside {tmp_path}/python, expected one there; install Railyard again (in a clone: make venv)"
    )


def test_reframe_may_be_where_pip_puts_a_users_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(sysconfig, "get_path", lambda name, scheme: str(tmp_path / scheme))
    own = tmp_path / "posix_user" / "reframe"
    own.parent.mkdir()
    own.write_text("", encoding="utf-8")
    assert reframe_command(HOME, "virtual", ["-C", "mine.py"])[0] == str(own)


def test_reframe_may_have_a_prefix_of_its_own_as_by_spack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = tmp_path / "py-reframe-hpc-4.10.4"
    package, own = prefix / "lib/python3.11/site-packages/reframe/__init__.py", prefix / "bin/reframe"
    own.parent.mkdir(parents=True)
    own.write_text("", encoding="utf-8")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(sysconfig, "get_path", lambda name, scheme: str(tmp_path / scheme))
    monkeypatch.setattr(runs, "find_spec", lambda name: ModuleSpec(name, None, origin=str(package)))
    assert reframe_command(HOME, "virtual", ["-C", "mine.py"])[0] == str(own)


def record(state: State = "pass", case: TestId = CASE) -> Record:
    return made_record(run=RUN, case=str(case), hash=case.hash, state=state, verdict=VerdictRecord("said"))


@pytest.mark.parametrize(
    ("states", "problems", "interrupted", "code"),
    [
        (("pass", "pass"), (), False, 0),
        (("pass", "xfail", "report-only", "not-tested"), (), False, 0),
        (("pass", "fail"), (), False, 1),
        (("pass",), ("checks/x.py was not loaded",), False, 1),
        (("pass",), (), True, 130),
        (("fail",), ("checks/x.py was not loaded",), True, 130),
    ],
)
def test_the_exit_code(states: tuple[State, ...], problems: tuple[str, ...], interrupted: bool, code: int) -> None:
    outcome = Outcome(RUN, HOME, tuple(record(state) for state in states), problems, interrupted)
    assert outcome.exit_code == code


@pytest.mark.parametrize(("interrupted", "code"), [(False, 2), (True, 130)])
def test_a_run_of_which_no_test_began_is_a_set_up_that_cannot_work(interrupted: bool, code: int) -> None:
    assert Outcome(RUN, HOME, (record("fail"),), (), interrupted, none_began=True).exit_code == code


def test_a_run_id_sorts_by_time_and_is_unique() -> None:
    noon = datetime(2026, 11, 21, 13, 0, 7, tzinfo=timezone(timedelta(hours=1)))
    made = {new_run_id(noon) for _ in range(20)}
    assert len(made) > 10
    assert all(re.fullmatch(r"20261121T120007Z-[0-9a-f]{4}", one) for one in made)


def test_checks_are_told_site_run_and_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEPT", "yes")
    told = environment(HOME, RUN, HOME / "runs" / RUN)
    assert (told[HOME_VARIABLE], told[RUN_VARIABLE], told[RUN_FOLDER_VARIABLE]) == ("/site", RUN, f"/site/runs/{RUN}")
    assert (told["KEPT"], told["PYTHONUNBUFFERED"]) == ("yes", "1")


# What was promised

LISTING = f"""\
[List of matched checks]
- ImbUniband %rails=1 /{CASE.hash} @virtual:hsn+mpich
Concretized 1 test case(s)
"""


def promise_of_listing(text: str, code: int = 0, options: str = "") -> tuple[tuple[TestId, ...], tuple[str, ...]]:
    """Return what is promised if ReFrame prints this."""
    script = f"cat <<'END'\n{text}\nEND\nexit {code}"
    return promised_cases(["sh", "-c", script, "reframe", *options.split()], dict(os.environ))


def test_the_listed_cases_are_promised() -> None:
    assert promise_of_listing(LISTING) == ((CASE,), ())


def test_reframe_is_asked_for_concrete_cases(tmp_path: Path) -> None:
    script = tmp_path / "reframe"
    script.write_text(
        f"#!/bin/sh\nprintf '%s ' \"$@\" >{tmp_path}/asked\ncat <<'END'\n{LISTING}\nEND\n", encoding="utf-8"
    )
    script.chmod(0o755)
    promised_cases([str(script), "-n", "Uniband"], dict(os.environ))
    assert (tmp_path / "asked").read_text(encoding="utf-8") == "-n Uniband -lC "


REFUSALS = [
    ("[List]\nConcretized 0 test case(s)\n", 0,
     "nothing was selected: no check fits these options; type: railyard matrix --why"),
    (
        "[List]\nConcretized 0 test case(s)\n\n\x1b[31mERROR: run session stopped: reframe error: nothing was "
        "selected: no check of own fits\n  own/a.py: A: no OSU\n  own/b.py: found no test\x1b[0m\nLog file(s)\n",
        1,
        "nothing was selected: no check of own fits\n  own/a.py: A: no OSU\n  own/b.py: found no test",
    ),
    (
        "\x1b[31mERROR: failed to load configuration: systems/virtual.yaml:3: found x, expected y\x1b[0m\n",
        1,
        "systems/virtual.yaml:3: found x, expected y",
    ),
    (
        "ERROR: failed to initialize runtime: could not find a sane Lmod installation: environment variable LMOD_CMD "
        "is not defined\n",
        1,
        "modules_system: found no Lmod on this machine, expected it as the system's file says; on another machine "
        "than the cluster type: railyard rehearse",
    ),
    (
        "ERROR: failed to initialize runtime: failed to initialize partition 'made:ib': could not register scheduler "
        "backend: no flux Python bindings found\n",
        1,
        "scheduler: found flux, which needs Flux's Python bindings beside ReFrame, expected flux-batch, which needs "
        "only the command flux; change it in the system's file",
    ),
    ("ERROR: could not find a configuration entry\nLog file(s)\n", 1, "could not find a configuration entry"),
    ("usage: reframe\nreframe: error: unrecognized arguments: --zzz", 2,
     'no such option "--zzz": neither railyard run nor reframe has it (see: railyard run --help, reframe --help)'),
    ("usage: reframe\nreframe: error: unrecognized arguments: --extendd", 2,
     'no such option "--extendd": neither railyard run nor reframe has it; did you mean "--extended"?'),
    ("", 1, "reframe could not list its tests: it printed nothing"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "sentence"), REFUSALS)
def test_what_reframe_refuses_is_one_sentence(text: str, code: int, sentence: str) -> None:
    with pytest.raises(RailyardError) as caught:
        promise_of_listing(text, code)
    assert str(caught.value) == sentence


def test_an_option_that_names_nothing_is_refused() -> None:
    with pytest.raises(
        RailyardError, match=r'^-S Nosuch\.full: found no selected check "Nosuch", expected one of them'
    ):
        promise_of_listing(LISTING, options="-S Nosuch.full=1")


OTHERS = """\
- OsuBandwidth %rails=1 /00000001 @lumi:hsn+craympich
- OsuBandwidth %rails=1 %policy=rail-2 /00000002 @lumi:hsn+craympich
- NcclRails %rails=4 /00000003 @lumi:hsn+rccl
"""
WHY = "type: railyard matrix --system lumi --why"
HAS = "OsuBandwidth%rails=1 (craympich over hsn), OsuBandwidth%rails=1%policy=rail-2 (craympich over hsn)"


@pytest.mark.parametrize(
    ("selected", "options", "sentence"),
    [
        # One of two names selects something: ReFrame runs that and does not mention the other.
        (OTHERS[: OTHERS.index("\n") + 1], ["-n", "OsuBandwidth%rails=2", "-n", "OsuBandwidth%rails=1"],
         f"-n OsuBandwidth%rails=2: found no such test on lumi, expected one that it has: {HAS}; {WHY}"),
        ("", ["-n", "OsuLatency%rails=1"],
         "-n OsuLatency%rails=1: found no such test on lumi, and none of this check at all, expected a check that runs "
         f"there; {WHY}"),
        ("", ["-n", "OsuBandwidth", "-p", "rccl"], "-n OsuBandwidth: found no such test on lumi that the other options "
         f"leave, expected one that it has: {HAS}; {WHY}"),
        ("", ["-n", "NcclRails %rails=4"], "-n NcclRails %rails=4: found a blank, which no name has when ReFrame "
         "compares it, expected -n 'NcclRails%rails=4'"),
    ],
)  # fmt: skip
def test_a_name_that_selects_nothing_is_refused_with_what_the_system_has(
    selected: str, options: list[str], sentence: str, tmp_path: Path
) -> None:
    script = tmp_path / "reframe"
    script.write_text(
        f"#!/bin/sh\ncase $* in *-n*) cat {tmp_path}/selected;; *) cat {tmp_path}/all;; esac\n", encoding="utf-8"
    )
    script.chmod(0o755)
    for name, cases in (("selected", selected), ("all", OTHERS)):
        (tmp_path / name).write_text(f"[List]\n{cases}Concretized {cases.count('@')} test case(s)\n", encoding="utf-8")
    command = [str(script), "-c", str(SHIPPED), "--system", "lumi", *options]
    with pytest.raises(RailyardError) as caught:
        promised_cases(command, {**os.environ, HOME_VARIABLE: str(SHIPPED.parent)})
    assert str(caught.value) == sentence


@pytest.mark.parametrize("options", [["-n", "NcclRails@0"], ["-n", "/00000003"], ["-n", "OsuLatency", "--failed"]])
def test_a_variant_a_hash_and_a_repeated_run_may_select_fewer_tests(options: list[str], tmp_path: Path) -> None:
    cases = "- NcclRails %rails=4 /00000003 @lumi:hsn+rccl\nConcretized 1 test case(s)\n"
    (tmp_path / "reframe").write_text(f"#!/bin/sh\ncat <<'END'\n[List]\n{cases}END\n", encoding="utf-8")
    (tmp_path / "reframe").chmod(0o755)
    command = [str(tmp_path / "reframe"), "-c", str(SHIPPED), "--system", "lumi", *options]
    assert len(promised_cases(command, {**os.environ, HOME_VARIABLE: str(SHIPPED.parent)})[0]) == 1


# A run, with a script in reframe's place


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs one promised case with this shell script as ReFrame."""
    folder = tmp_path / "run"
    folder.mkdir()
    (tmp_path / "reframe_settings.py").touch()

    def run_reframe(body: str, problems: tuple[str, ...] = (), **more: str) -> tuple[Outcome, list[str]]:
        script = tmp_path / "reframe"
        script.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        script.chmod(0o755)
        monkeypatch.setattr(runs, "reframe_program", lambda: str(script))
        lines: list[str] = []
        promise = Promise(RUN, folder, (CASE,), problems, **more)
        outcome = run(tmp_path, "virtual", ["-n", "Uniband"], promise, on_line=lines.append)
        return outcome, lines

    return run_reframe


def test_reframe_runs_one_case_at_a_time_and_reports_into_the_runs_folder(fake: Any, tmp_path: Path) -> None:
    _, lines = fake('echo "$@"')
    folder = tmp_path / "run"
    assert lines == [
        f"-C {tmp_path}/reframe_settings.py -c {SHIPPED} -R --system virtual -n Uniband -r "
        f"--exec-policy=serial --report-file={folder}/reframe-report.json --prefix={folder}/reframe"
    ]
    assert (folder / "reframe.log").read_text(encoding="utf-8") == lines[0] + "\n"


def test_a_promised_case_that_did_not_run_fails_and_is_recorded(fake: Any, tmp_path: Path) -> None:
    outcome, _ = fake("echo nothing to do; exit 0")
    (record,) = outcome.records
    assert record.found.state == "fail"
    assert record.found.verdict.text == "was promised and did not run: ReFrame ended before it"
    assert read_records(tmp_path / "run" / FILE_NAME).records == (record,)
    assert (outcome.exit_code, outcome.interrupted, outcome.folder) == (1, False, tmp_path / "run")


def test_every_record_of_a_rehearsal_says_so_whoever_wrote_it(fake: Any, tmp_path: Path) -> None:
    outcome, _ = fake("echo nothing to do; exit 0", rehearsal="a rehearsal")
    assert [one.made.rehearsal for one in outcome.records] == ["a rehearsal"]
    assert [one.made.rehearsal for one in read_records(tmp_path / "run" / FILE_NAME).records] == ["a rehearsal"]


@pytest.mark.parametrize(("state", "code"), [("pass", 0), ("report-only", 0), ("disturbed", 1), ("fail", 1)])
def test_a_run_passes_only_where_somebody_judged_every_test(tmp_path: Path, state: State, code: int) -> None:
    assert Outcome(RUN, tmp_path, (record("pass"), record(state)), (), False).exit_code == code


def test_a_record_that_a_check_left_is_not_written_twice(fake: Any, tmp_path: Path) -> None:
    append_record(tmp_path / "run" / FILE_NAME, record("fail"))
    outcome, _ = fake("true")
    assert outcome.records == (record("fail"),)
    assert read_records(tmp_path / "run" / FILE_NAME).records == (record("fail"),)


def test_the_checks_are_given_the_run(fake: Any, tmp_path: Path) -> None:
    _, lines = fake(f'echo "${HOME_VARIABLE} ${RUN_VARIABLE} ${RUN_FOLDER_VARIABLE}"')
    assert lines == [f"{tmp_path} {RUN} {tmp_path}/run"]


def test_an_interrupted_reframe_is_130_and_keeps_what_finished(fake: Any, tmp_path: Path) -> None:
    append_record(tmp_path / "run" / FILE_NAME, record("pass"))
    outcome, _ = fake("exit 130")
    assert (outcome.interrupted, outcome.exit_code, outcome.records) == (True, 130, (record("pass"),))


def test_problems_are_told_once_each_and_a_garbled_record_is_one(fake: Any, tmp_path: Path) -> None:
    (tmp_path / "run" / FILE_NAME).write_text("{}\n", encoding="utf-8")
    outcome, _ = fake("true", ("checks/x.py was not loaded", "checks/x.py was not loaded"))
    assert outcome.problems[0] == "checks/x.py was not loaded"
    assert len(outcome.problems) == 2
    assert FILE_NAME in outcome.problems[1]
    assert outcome.exit_code == 1


def test_secrets_are_in_no_file_of_reframes_and_in_no_problem(fake: Any, tmp_path: Path) -> None:
    stage = "$RAILYARD_RUN_FOLDER/reframe/stage"
    body = f"mkdir -p {stage}; echo 'export SITE_TOKEN=abc' >{stage}/rfm_job.sh; echo '-J comment=password=abc'"
    outcome, _ = fake(body, ("-J comment=password=abc names nothing",))
    assert outcome.problems[0] == "-J comment=password=*** names nothing"
    assert (outcome.folder / "reframe.log").read_text(encoding="utf-8") == "-J comment=password=***\n"
    kept = (outcome.folder / "reframe/stage/rfm_job.sh").read_text(encoding="utf-8")
    assert kept == "export SITE_TOKEN=***\n"


def test_output_that_is_no_text_is_kept_as_far_as_it_goes(fake: Any) -> None:
    _, lines = fake("printf 'a\\377b\\n'; echo last >&2")
    assert lines == ["a\ufffdb", "last"]


def test_the_last_run_is_the_newest_that_left_a_report(tmp_path: Path) -> None:
    home = tmp_path / ".railyard" / "runs"
    for name in ("20261120T060000Z-ffff", "20261121T060000Z-0000", "20261122T060000Z-0000"):
        (home / name).mkdir(parents=True)
    with pytest.raises(RailyardError) as caught:
        last_run(tmp_path)
    assert str(caught.value) == (f"{home}: found no earlier run, expected one to record")
    for name in ("20261121T060000Z-0000", "20261120T060000Z-ffff"):
        (home / name / "reframe-report.json").write_text("{}", encoding="utf-8")
    assert last_run(tmp_path) == home / "20261121T060000Z-0000"


def test_of_a_private_key_that_is_printed_around_ctrl_c_nothing_is_left(tmp_path: Path) -> None:
    script = (
        "trap 'echo QUJDREVGHUSH; echo -----END OPENSSH PRIVATE KEY-----; echo bye; exit 130' INT\n"
        "echo -----BEGIN OPENSSH PRIVATE KEY-----\nsleep 60 >/dev/null 2>&1 &\nwait\n"
    )

    def interrupt(line: str) -> None:
        raise KeyboardInterrupt  # as Ctrl-C does; the program then gets it too

    log = tmp_path / "reframe.log"
    _, interrupted = runs.log_masked(["sh", "-c", script], {**os.environ}, log, interrupt)
    assert interrupted
    assert log.read_text(encoding="utf-8") == "***\nbye\n"


def test_a_run_in_the_background_of_a_script_can_be_interrupted(tmp_path: Path) -> None:
    """The shell has such a command ignore SIGINT, and so would ReFrame: it ends its jobs at SIGINT only."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        said, interrupted = runs.log_masked(
            ["sh", "-c", "kill -INT $$; echo it goes on"], {**os.environ}, tmp_path / "log", lambda line: None
        )
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert (said, interrupted) == ("", False)
