"""Runs of another user in a store: a folder that may not be entered is named, and never left out in silence."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.record.form import Record

Made = Callable[..., Record]
Capsys = pytest.CaptureFixture[str]


@pytest.fixture
def store(tmp_path: Path, new_record: Made, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site with two runs; the folder of `theirs` may not be entered, which is so for root too."""
    (tmp_path / "systems").mkdir()
    for run in ("mine", "theirs"):
        append_record(tmp_path / ".railyard" / "runs" / run / FILE_NAME, new_record(run=run))
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    is_file, real_open = Path.is_file, os.open

    def refuse(path: object) -> None:
        if "/theirs/" in f"{path}":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    def checked_is_file(path: Path) -> bool:
        refuse(path)
        return is_file(path)

    def checked_open(path: object, *words: object, **more: object) -> int:
        refuse(path)
        return real_open(path, *words, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "is_file", checked_is_file)
    monkeypatch.setattr(os, "open", checked_open)
    return tmp_path


def test_a_run_of_another_user_is_a_problem_of_the_store(store: Path, capsys: Capsys) -> None:
    why = f"{store}/.railyard/runs/theirs/{FILE_NAME}: found no readable file (Permission denied)"
    assert main(["results", "verify"]) == 1
    assert f"theirs: problem: {why}" in capsys.readouterr().out
    assert main(["results", "verify", "theirs"]) == 1
    assert why in capsys.readouterr().out
    assert main(["results", "show", "theirs"]) in (1, 2)
    assert "Permission denied" in "".join(capsys.readouterr())
    main(["results", "list", "--tests"])
    assert "Permission denied" in capsys.readouterr().err


def test_a_merge_brings_what_it_may_read_and_names_the_rest(
    store: Path, capsys: Capsys, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path_factory.mktemp("here")
    (here / "systems").mkdir()
    monkeypatch.setenv(HOME_VARIABLE, str(here))
    assert main(["results", "merge", str(store)]) == 1
    assert "theirs/records.jsonl: found no readable file (Permission denied)" in "".join(capsys.readouterr())
    assert [path.name for path in (here / ".railyard/runs").iterdir()] == ["mine"]
