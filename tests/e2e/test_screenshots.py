"""The pictures of the page in docs/ show the present page, and the records behind them are those of real runs."""

import gzip
import re
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from railyard.results.record.form import Record
from railyard.results.report.files import write_format
from tests import screenshots
from tests.e2e.conftest import CLONE, RAILYARD, make_site
from tests.made.pages import page_commands
from tests.screenshots import KEPT, SHOTS, Shot, index, keep, kept_results, stale

full = pytest.mark.full


@full
@pytest.mark.parametrize("shot", SHOTS, ids=lambda shot: shot.file)
def test_a_picture_is_one_of_the_present_page(shot: Shot) -> None:
    assert stale(shot) is None


def test_a_picture_that_is_too_old_or_another_one_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    shot = SHOTS[0]
    for key, words in (
        ("page", "is older than the page that it shows"),
        ("picture", "is not the picture that was made"),
    ):
        digests = {"page": screenshots.digest(screenshots.page(shot.run).encode()), "picture": "x"} | {key: "changed"}
        monkeypatch.setattr(screenshots, "index", lambda digests=digests: {shot.file: digests})
        assert f"docs/{shot.file} {words}" in str(stale(shot))
    monkeypatch.setattr(screenshots, "index", dict)
    assert "was never made; type: make screenshots" in str(stale(shot))


def test_every_picture_of_the_page_and_every_kept_run_is_in_use() -> None:
    assert set(index()) == {shot.file for shot in SHOTS} == {path.name for path in (CLONE / "docs").glob("report*.png")}
    assert {path.name for path in KEPT.iterdir() if path.is_dir()} == {shot.run for shot in SHOTS}
    pages = "\n".join(
        path.read_text(encoding="utf-8") for path in [CLONE / "README.md", *(CLONE / "docs").rglob("*.md")]
    )
    assert [shot.file for shot in SHOTS if f"{shot.file})" not in pages] == []


@pytest.mark.parametrize("page", ["README.md", "docs/start/first-verdicts.md"])
def test_a_page_shows_what_the_kept_run_with_a_slow_rail_printed(page: str) -> None:
    made_by = next(shot.made_by for shot in SHOTS if shot.run == "slow-rail").rpartition("; ")[2]
    (command,) = (
        each for each in page_commands() if each.page == page and each.words.removeprefix(".venv/bin/") == made_by
    )
    lines = [line.strip() for line in command.output]
    for part in ("Rail hsn1 of vn2 is slow: ", "measured: ", "blamed: rail hsn1 of vn2 "):
        assert any(line.startswith(part) for line in lines), part
    assert command.missing_lines(write_format(kept_results("slow-rail"), "terminal")) == []


def test_column_heads_stand_above_the_rows_that_a_page_shows() -> None:
    row = re.compile(r"\S+ +\S+ +\d+ +\S+/\S+ +[\d.]+ +\S+ .* (pass|fail)\b.*")
    bare, rows = [], 0
    for command in page_commands():
        for before, line in pairwise(("", *command.output)):
            if row.fullmatch(line):
                rows += 1
                bare += [] if before.startswith("─") or row.fullmatch(before) else [f"{command.page}: {line}"]
    assert rows > 4
    assert bare == []


def test_kept_records_name_no_folder_of_the_machine_that_made_them() -> None:
    for packed in KEPT.rglob("*.gz"):
        text = gzip.decompress(packed.read_bytes()).decode()
        assert re.findall(r"/(?:tmp|root|home|work|users|builds)/[^\" ]*", text) == [], packed


def test_what_is_kept_is_what_the_run_left_but_for_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = kept_results("dell-c6320")
    folder = tmp_path / "run"
    folder.mkdir()
    for packed in (KEPT / "dell-c6320").glob("*.gz"):
        (folder / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))
    monkeypatch.setattr(screenshots, "KEPT", tmp_path)
    keep("again", folder)
    assert kept_results("again") == before


@full
@pytest.mark.e2e
def test_the_kept_replay_is_what_a_replay_gives_today(tmp_path: Path) -> None:
    site = make_site(tmp_path)
    (tmp_path / ".stacks").unlink()
    shutil.copytree(CLONE / "recordings/dell-c6320", tmp_path / "recordings/dell-c6320")
    run = site.finish(*RAILYARD, "run", "--system", "dell-c6320")
    assert run.code == 0, run.full_text

    def comparable_parts(records: tuple[Record, ...]) -> dict[str, object]:
        return {
            one.test.case: (one.found.state, one.found.figures, one.found.curves, replace(one.found.verdict, extra={}))
            for one in records
        }

    assert comparable_parts(run.records) == comparable_parts(kept_results("dell-c6320").records), (
        "docs/screenshots/dell-c6320 is no longer what a replay gives; type: "
        "python -m tests.screenshots keep dell-c6320 RUN, then make screenshots"
    )
