"""From which commit Railyard is: asked of git in a clone, read from a note in a package, or said to be unknown."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from railyard.base.commit import NOTE, find_commit, show_commit

CLONE = Path(__file__).parents[2]
NOBODY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a clone with one commit, which has our two files about commits."""
    for name, value in NOBODY.items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "clone"
    folder.mkdir()
    for name in (NOTE, ".gitattributes"):
        shutil.copy(CLONE / name, folder)
    git(folder, "init", "--quiet")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "all")
    return folder


def test_a_clone_has_the_commit_that_git_says(clone: Path) -> None:
    head = git(clone, "rev-parse", "HEAD")
    (clone / "untracked").touch()
    assert find_commit(clone) == head
    assert show_commit(clone) == f"commit {head[:12]}"


def test_a_changed_file_is_said(clone: Path) -> None:
    (clone / ".gitattributes").write_text("changed\n", encoding="utf-8")
    assert find_commit(clone) == git(clone, "rev-parse", "HEAD") + "+changes"
    assert re.fullmatch(r"commit [0-9a-f]{12} and changes", show_commit(clone))


def test_a_tag_or_a_hook_of_another_repository_changes_nothing(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(clone, "tag", "-m", "a release", "v9.9.9")
    head = git(clone, "rev-parse", "HEAD")
    monkeypatch.setenv("GIT_DIR", str(clone / "nowhere"))
    assert find_commit(clone) == head


def test_an_archive_of_git_has_its_commit_also_below_another_clone(clone: Path) -> None:
    head = git(clone, "rev-parse", "HEAD")
    git(clone, "archive", "--prefix=inner/", "--output=a.tar", "HEAD")
    shutil.unpack_archive(clone / "a.tar", clone)
    assert find_commit(clone / "inner") == head


@pytest.mark.parametrize("note", [None, "", "$Format:%H$\n"])
def test_without_git_and_without_a_note_the_commit_is_unknown(tmp_path: Path, note: str | None) -> None:
    if note is not None:
        (tmp_path / NOTE).write_text(note, encoding="utf-8")
    assert show_commit(tmp_path) == "commit unknown: there is no clone of git here, and commit.txt has none"


def test_a_clone_on_a_machine_without_git_says_so(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(clone))
    assert show_commit(clone) == "commit unknown: git is not on PATH"


def test_what_git_refuses_is_quoted(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert find_commit(tmp_path).startswith("unknown: git answered: fatal: not a git repository")


def test_what_a_package_was_built_from_is_noted_whole(tmp_path: Path) -> None:
    (tmp_path / NOTE).write_text("unknown: git is not on PATH\n", encoding="utf-8")
    assert show_commit(tmp_path) == "commit unknown: git is not on PATH"
    (tmp_path / NOTE).write_text(f"{'ab' * 20}+changes\n", encoding="utf-8")
    assert show_commit(tmp_path) == "commit abababababab and changes"
