"""`make test-reframe`: its exit code when a cell fails, cannot be installed, or was not tried."""

from pathlib import Path

import pytest

from tests import reframe_releases as matrix


@pytest.fixture(autouse=True)
def no_cell_is_real(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(matrix, "FOLDER", tmp_path)
    monkeypatch.setattr(matrix, "find_python", lambda number: None if number == "3.13" else "python3")
    monkeypatch.setattr(matrix, "make_environment", lambda folder, python, release: tmp_path)
    monkeypatch.setattr(matrix, "listed_tests", lambda programs, system: frozenset({"OsuLatency /0badcafe"}))
    monkeypatch.setattr(matrix, "_pytest", lambda programs, tests, log: ("9 passed", False))
    monkeypatch.setenv("LIVE", "0")
    monkeypatch.setenv("PYTHONS", "3.11 3.13")


def test_a_matrix_passes_where_each_cell_that_can_be_tried_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert matrix.main(["4.9"]) == 0
    said = capsys.readouterr().out
    assert f"| 4.9 | 3.11 | {len(matrix.SYSTEMS)} systems, {len(matrix.SYSTEMS)} tests | 9 passed | 9 passed |" in said
    assert "| 4.9 | 3.13 | python3.13 was not found | – | – | – | – |" in said


def test_a_cell_that_cannot_be_installed_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(folder: Path, python: str, release: str) -> Path:
        if release == "4.9":
            raise matrix.NotInstallable("No matching distribution found for lxml==6.1.3")
        return folder

    monkeypatch.setattr(matrix, "make_environment", refuse)
    assert matrix.main(["4.10", "4.9"]) == 1
    row = "| 4.9 | 3.11 | cannot be installed: No matching distribution found for lxml==6.1.3 | – | – | – | FAIL – |"
    assert row in capsys.readouterr().out


def test_a_cell_that_cannot_be_is_named_and_not_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYTHONS", "3.11 3.14")
    monkeypatch.setattr(matrix, "KNOWN_WITHOUT", {("4.9", "3.14"): "left out: no wheel"})
    assert matrix.main(["4.9"]) == 0
    assert "| 4.9 | 3.14 | left out: no wheel |" in capsys.readouterr().out


def test_another_listing_than_the_newest_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(
        matrix, "listed_tests", lambda programs, system: frozenset({"1" if programs == tmp_path else "2"})
    )
    assert matrix.main(["4.9"]) == 1
    assert "not as the newest: " in capsys.readouterr().out


def test_a_failed_test_fails_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "_pytest", lambda programs, tests, log: ("1 failed, 8 passed", True))
    assert matrix.main(["4.9"]) == 1


def test_nothing_tried_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONS", "3.13")
    assert matrix.main(["4.9"]) == 2
    assert matrix.main(["4.2"]) == 2
