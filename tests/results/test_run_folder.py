"""Where a test's record and output are written."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.base.errors import SetupError
from railyard.results import run_folder
from railyard.results.record.form import hold_promise
from railyard.results.run_folder import RUN_FOLDER_VARIABLE, RUN_VARIABLE, note_unfit_stacks, why_unfit


@pytest.fixture(autouse=True)
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (RUN_VARIABLE, RUN_FOLDER_VARIABLE):
        monkeypatch.delenv(name, raising=False)


def test_a_run_above_names_the_run_and_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN_VARIABLE, "20261121T060000Z-ab12")
    monkeypatch.setenv(RUN_FOLDER_VARIABLE, str(tmp_path / "deep" / "run"))
    assert run_folder.run_id() == "20261121T060000Z-ab12"
    assert run_folder.run_folder(tmp_path) == tmp_path / "deep" / "run"
    assert (tmp_path / "deep" / "run").is_dir()


@pytest.mark.fault(
    "session", "a shell with the variables of an earlier session", "a run that has ended, expected a running one"
)
def test_a_run_that_has_ended_takes_no_more_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, promise: str
) -> None:
    monkeypatch.setenv(RUN_FOLDER_VARIABLE, str(tmp_path))
    with hold_promise(tmp_path, "virtual", "2026-11-21T06:00:00Z", ("a",)):
        assert run_folder.run_folder(tmp_path) == tmp_path
    with pytest.raises(SetupError) as caught:
        run_folder.run_folder(tmp_path)
    assert promise in str(caught.value)
    assert str(caught.value).endswith("type: unset RAILYARD_RUN RAILYARD_RUN_FOLDER")


def test_a_session_by_hand_has_one_run_of_its_own(tmp_path: Path) -> None:
    run = run_folder.run_id()
    assert re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{6}", run)
    assert run_folder.run_id() == run
    assert run_folder.run_folder(tmp_path) == tmp_path / ".railyard" / "runs" / run
    assert (tmp_path / ".railyard" / "runs" / run).is_dir()


def test_an_output_is_kept_beside_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RUN_FOLDER_VARIABLE, str(tmp_path / "run"))
    stdout = tmp_path / "rfm_job.out"
    stdout.write_bytes(b"\xff rows\n")
    kept = run_folder.keep_output(tmp_path, "ImbUniband %rails=2 @virtual:hsn+mpich", stdout)
    assert kept == "outputs/ImbUniband_rails=2_virtual_hsn+mpich.out"
    assert (tmp_path / "run" / kept).read_bytes() == b"\xff rows\n"


def test_an_output_that_is_not_there_is_none(tmp_path: Path) -> None:
    assert run_folder.keep_output(tmp_path, "x", tmp_path / "missing") is None
    assert run_folder.keep_output(tmp_path, "x", tmp_path) is None


@given(st.text(max_size=60))
def test_a_file_name_is_one_word_that_no_shell_minds(case: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9.+=_-]*", run_folder.file_name(case))


def test_cases_that_differ_keep_names_that_differ() -> None:
    cases = [f"{check} %rails={rails} @virtual:{fabric}+{stack}" for check in ("ImbUniband", "ImbBiband")
             for rails in (1, 2) for fabric in ("hsn", "eth") for stack in ("mpich", "openmpi")]  # fmt: skip
    assert len({run_folder.file_name(case) for case in cases}) == len(cases)


def test_a_stack_that_no_test_can_use_is_noted_for_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert why_unfit("mpich") is None
    monkeypatch.setenv(RUN_FOLDER_VARIABLE, str(tmp_path))
    note_unfit_stacks(tmp_path, {})
    assert (why_unfit("mpich"), list(tmp_path.iterdir())) == (None, [])
    note_unfit_stacks(tmp_path, {"mpich": "it was not built"})
    assert (why_unfit("mpich"), why_unfit("openmpi")) == ("it was not built", None)
