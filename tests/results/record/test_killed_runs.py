"""What a killed run left is masked by the next one, and no other run's files are touched."""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.results.record.form import ENDED_FILE_NAME, PROMISED_FILE_NAME
from railyard.results.record.masking import LOG_NAME, QUIET_S, REFRAME_FOLDER, REPORT_NAME, mask_killed_runs

SECRET = "export SITE_TOKEN=glpat-0123456789abcdef0123\n"


@pytest.fixture
def killed_run(tmp_path: Path) -> Path:
    """The folder of a killed run, which nobody has changed for long."""
    folder = tmp_path / "runs/20261130T120000Z-0001"
    (folder / REFRAME_FOLDER / "stage").mkdir(parents=True)
    promised = {"format": 1, "system": "s", "began": "2026-11-30T12:00:00Z", "tests": ["a"]}
    (folder / PROMISED_FILE_NAME).write_text(json.dumps(promised), encoding="utf-8")
    for path in files(folder):
        path.write_text(SECRET, encoding="utf-8")
    age(folder)
    return folder


def files(folder: Path) -> tuple[Path, ...]:
    return folder / REFRAME_FOLDER / "stage/rfm_job.sh", folder / REPORT_NAME, folder / LOG_NAME


def age(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        os.utime(path, (0, path.stat().st_mtime - QUIET_S - 60))


def test_the_files_of_a_killed_run_are_masked(killed_run: Path) -> None:
    assert mask_killed_runs(killed_run.parent) == ()
    assert [path.read_text(encoding="utf-8") for path in files(killed_run)] == ["export SITE_TOKEN=***\n"] * 3


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / ENDED_FILE_NAME).write_text(""),
        lambda folder: (folder / REFRAME_FOLDER / "new").write_text(""),  # its ReFrame still works
        lambda folder: (folder / PROMISED_FILE_NAME).write_text("{"),
        lambda folder: (folder / PROMISED_FILE_NAME).write_text(
            (folder / PROMISED_FILE_NAME).read_text().replace("{", '{"locks": false, ', 1)
        ),
    ],
    ids=["ended", "still working", "no promise", "no locks"],
)
def test_another_runs_files_stay_as_they_are(killed_run: Path, change: Callable[[Path], object]) -> None:
    before = {*killed_run.rglob("*")}
    change(killed_run)
    if {*killed_run.rglob("*")} == before:
        age(killed_run)
    mask_killed_runs(killed_run.parent)
    assert {path.read_text(encoding="utf-8") for path in files(killed_run)} == {SECRET}


def test_a_run_that_goes_on_stays_as_it_is(killed_run: Path) -> None:
    with (killed_run / PROMISED_FILE_NAME).open("r+b") as promised:
        fcntl.flock(promised, fcntl.LOCK_EX)
        mask_killed_runs(killed_run.parent)
    assert {path.read_text(encoding="utf-8") for path in files(killed_run)} == {SECRET}


def test_a_link_is_not_followed_and_no_store_is_no_error(killed_run: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other/link").symlink_to(killed_run)
    assert mask_killed_runs(tmp_path / "other") == ()
    assert mask_killed_runs(tmp_path / "none") == ()
    assert {path.read_text(encoding="utf-8") for path in files(killed_run)} == {SECRET}
