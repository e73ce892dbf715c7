"""What a run promised: a killed run differs from a running one and from one that ended, and is never a pass."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from railyard.results.record.file import FILE_NAME, append_record, read_records
from railyard.results.record.form import PROMISED_FILE_NAME, hold_promise, read_promised
from tests.made.records import made_record

TESTS = ("ImbPingPong %rails=1 @virtual:hsn+mpich", "b", "c")
BEGAN = "2026-11-23T06:00:00Z"
Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a run of a site, with one record in it."""
    (tmp_path / "systems").mkdir()
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    made = tmp_path / ".railyard" / "runs" / "r1"
    append_record(made / FILE_NAME, made_record(case=TESTS[0], run="r1", system="virtual", time=BEGAN))
    return made


def kill_run(folder: Path) -> None:
    """Let a process promise the tests, and kill it."""
    program = (
        "import sys; from pathlib import Path; from railyard.results.record.form import hold_promise\n"
        f"with hold_promise(Path({str(folder)!r}), 'virtual', {BEGAN!r}, {TESTS!r}):\n"
        "    print('promised', flush=True); input()"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"promised\n"
        running.send_signal(signal.SIGKILL)


@pytest.mark.fault("session", "the run was killed", "1 record of 3 promised tests: the run was killed before its end")
def test_a_run_that_was_killed_is_a_problem_wherever_its_records_are_read(
    folder: Path, promise: str, capsys: Capsys
) -> None:
    kill_run(folder)
    (problem,) = read_records(folder).problems
    assert promise in problem
    assert main(["report", str(folder)]) == 1
    assert promise in " ".join(capsys.readouterr().out.split())
    assert main(["results", "verify"]) == 1
    assert promise in capsys.readouterr().out
    assert main(["results", "list"]) == 0
    assert capsys.readouterr().out == (
        "r1  2026-11-23 06:00  virtual  1 test: 1 pass; 3 tests promised, the run was killed before its end\n"
    )


def test_a_run_that_was_killed_before_its_first_record_is_listed(folder: Path, capsys: Capsys) -> None:
    (folder / FILE_NAME).unlink()
    kill_run(folder)
    assert main(["results", "list"]) == 0
    assert capsys.readouterr().out == (
        "r1  2026-11-23 06:00  virtual  0 tests; 3 tests promised, the run was killed before its end\n"
    )


def test_a_run_that_was_interrupted_before_its_first_test_is_listed_as_such(folder: Path, capsys: Capsys) -> None:
    (folder / FILE_NAME).unlink()
    with pytest.raises(KeyboardInterrupt), hold_promise(folder, "virtual", BEGAN, TESTS):
        raise KeyboardInterrupt
    assert main(["results", "list"]) == 0
    assert "0 tests; 3 tests promised, the run ended before the first one\n" in capsys.readouterr().out


def test_a_run_that_runs_and_one_that_ended_are_no_problem(folder: Path, capsys: Capsys) -> None:
    with hold_promise(folder, "virtual", BEGAN, TESTS):
        assert read_records(folder).problems == ()
        assert main(["results", "list"]) == 0
        assert "1 pass; 3 tests promised, the run has not ended yet\n" in capsys.readouterr().out
        for case in TESTS[1:]:
            append_record(folder / FILE_NAME, made_record(case=case, run="r1", system="virtual", time=BEGAN))
    assert read_records(folder).problems == ()
    assert main(["results", "list"]) == 0
    assert capsys.readouterr().out == "r1  2026-11-23 06:00  virtual  3 tests: 3 pass\n"


def test_an_error_in_the_middle_was_said_and_is_no_kill(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt), hold_promise(folder, "virtual", BEGAN, TESTS):
        raise KeyboardInterrupt
    found = read_promised(folder)
    assert found is not None
    assert (found.state, found.tests) == ("ended", TESTS)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1}'])
def test_a_file_of_another_form_promises_nothing(folder: Path, text: str) -> None:
    (folder / PROMISED_FILE_NAME).write_text(text)
    assert read_promised(folder) is None
    assert read_records(folder).problems == ()


def test_a_run_that_was_killed_after_its_last_record_lacks_nothing(folder: Path, capsys: Capsys) -> None:
    kill_run(folder)
    (first,) = read_records(folder).records
    for case in TESTS:
        if case != first.test.case:
            append_record(folder / FILE_NAME, first.with_fields(case=case))
    assert read_records(folder).problems == ()
    assert main(["results", "verify"]) == 0
