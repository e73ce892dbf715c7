"""What `make lint` and `make release` say of a release: version, addresses, changelog, and what is in both files."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

import railyard

CLONE = Path(__file__).parents[2]
REAL = "https://code.site.org/"
EASYCONFIG = f"packaging/railyard-{railyard.__version__}-gfbf-2026.1.eb"
FILES = ("pyproject.toml", "CHANGELOG.md", "railyard/__init__.py")


def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", CLONE / "ci/release.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


RELEASE = script()


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the files that say what the package is."""
    monkeypatch.delenv("CI_COMMIT_TAG", raising=False)
    for folder in ("railyard", "packaging"):
        (tmp_path / folder).mkdir()
    for name in (*FILES, EASYCONFIG):
        shutil.copy(CLONE / name, tmp_path / name)
    return tmp_path


def change(path: Path, before: str, after: str) -> None:
    """Replace each match of a pattern in a file; there must be one."""
    text = path.read_text(encoding="utf-8")
    assert re.search(before, text, re.MULTILINE)
    path.write_text(re.sub(before, after, text, flags=re.MULTILINE), encoding="utf-8")


def publishable(clone: Path) -> None:
    change(clone / "pyproject.toml", "https://railyard.invalid/", REAL)
    version = railyard.__version__
    change(clone / "CHANGELOG.md", r"\A[\s\S]*?^## \[[^\n]*", rf"# Changelog\n\n## [{version}] - 2026-12-01")


def test_the_clone_as_it_is_may_be_built() -> None:
    assert list(RELEASE.problems(CLONE, publish=False)) == []


def test_placeholders_are_refused_when_it_is_published_and_not_before(clone: Path) -> None:
    assert list(RELEASE.problems(clone, publish=False)) == []
    refused = [problem for problem in RELEASE.problems(clone, publish=True) if "placeholder" in problem]
    assert [problem.split(":")[1].strip() for problem in refused] == [f"project.urls.{name}" for name in RELEASE.URLS]
    assert refused[0].startswith(
        'pyproject.toml: project.urls.Homepage: found the placeholder "https://railyard.invalid/", expected an address'
    )


def test_a_release_that_is_ready_has_no_problem(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publishable(clone)
    assert list(RELEASE.problems(clone, publish=True)) == []
    monkeypatch.setenv("CI_COMMIT_TAG", f"v{railyard.__version__}")
    assert list(RELEASE.problems(clone, publish=True)) == []


WRONG = [
    ("pyproject.toml", r"^Issues = .*\n", "", "expected Homepage, Documentation, Repository, Issues, Changelog"),
    ("pyproject.toml", f'"{REAL}railyard/issues"', '"http://site.org/"', "expected an address that begins with https"),
    (
        "pyproject.toml",
        f'"{REAL}railyard/issues"',
        '"https://railyard.invalid/i"',
        "placeholders beside real addresses",
    ),
    ("railyard/__init__.py", r'"\d+\.\d+\.\d+"', '"0.2"', 'found "0.2", expected three numbers'),
    ("railyard/__init__.py", r'"\d+\.\d+\.\d+"', '"9.9.9"', "expected one of version 9.9.9: rename it"),
    (EASYCONFIG, "^version = .*", "version = '0.1.0'", f"found no line version = '{railyard.__version__}'"),
    ("CHANGELOG.md", r"^## \[.*", "## News", 'found "" first'),
    ("CHANGELOG.md", r"^## \[.*", "## [9.9.9] - soon", 'found "## [9.9.9] - soon" first'),
]


@pytest.mark.parametrize(("name", "before", "after", "said"), WRONG)
def test_what_is_wrong_is_said_at_any_time(clone: Path, name: str, before: str, after: str, said: str) -> None:
    publishable(clone)
    change(clone / name, before, after)
    assert [problem for problem in RELEASE.problems(clone, publish=False) if said in problem]


def test_a_changelog_of_another_version_and_a_wrong_tag_are_refused(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publishable(clone)
    change(clone / "CHANGELOG.md", r"^## \[\d+\.\d+\.\d+\]", "## [0.0.1]")
    monkeypatch.setenv("CI_COMMIT_TAG", "v0.0.2")
    changelog, tag = RELEASE.problems(clone, publish=True)
    assert 'CHANGELOG.md: found "## [0.0.1] - 2026-12-01" first' in changelog
    assert f'the tag: found "v0.0.2", expected v{railyard.__version__}' in tag


def test_lint_asks_and_publishing_refuses() -> None:
    make = ["make", "--no-print-directory", "-n", "lint"]
    lines = [
        subprocess.run([*make, *more], cwd=CLONE, capture_output=True, text=True, check=True).stdout.splitlines()
        for more in ((), ("PUBLISH=1",), ("PUBLISH=0",))
    ]
    plain, publish = ".venv/bin/python ci/release.py metadata", ".venv/bin/python ci/release.py metadata --publish"
    asked = [[line.strip() for line in each if "ci/release.py" in line] for each in lines]
    assert asked == [[plain], [publish], [plain]]


def test_the_version_is_in_one_place() -> None:
    """In no page and no other file: README names the command that says it."""
    tracked = subprocess.run(["git", "ls-files"], cwd=CLONE, capture_output=True, text=True, check=True).stdout.split()
    for name in (name for name in tracked if name.endswith((".md", ".toml", ".cfg", ".sh")) and "/" not in name):
        if name != "CHANGELOG.md":
            assert railyard.__version__ not in (CLONE / name).read_text(encoding="utf-8"), name
    assert metadata("railyard-hpc")["Version"] == railyard.__version__, "type: make venv"


def wheel(folder: Path, tracked: list[str]) -> Path:
    """Return a made wheel with the names that belong there."""
    path = folder / f"railyard_hpc-{railyard.__version__}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for name in RELEASE._expected_in_wheel(tracked, CLONE):
            file.writestr(name, "")
    return path


def tracked_files() -> list[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CLONE, capture_output=True, text=True, check=True).stdout
    return listed.split("\0")[:-1]


def test_a_wheel_holds_what_is_committed_no_more_and_no_less(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tracked = tracked_files()
    RELEASE._check_contents([wheel(tmp_path, tracked)], CLONE)
    assert re.search(r"\.whl: \d+ files, ", capsys.readouterr().out)
    names = set(zipfile.ZipFile(wheel(tmp_path, tracked)).namelist())
    assert {"railyard/_shipped/commit.txt", "railyard/_shipped/checks/microbench/osu.py"} <= names
    assert f"railyard_hpc-{railyard.__version__}.data/data/share/man/man1/railyard.1" in names
    lacking = wheel(tmp_path, [name for name in tracked if name != "checks/microbench/osu.py"])
    with pytest.raises(RELEASE.NotFit, match=r"railyard/_shipped/checks/microbench/osu\.py is not in it"):
        RELEASE._check_contents([lacking], CLONE)
    more = wheel(tmp_path, tracked)
    with zipfile.ZipFile(more, "a") as file:
        file.writestr("railyard/notes.txt", "")
    with pytest.raises(RELEASE.NotFit, match=r"railyard/notes\.txt should not be in it"):
        RELEASE._check_contents([more], CLONE)


def test_builds_that_differ_are_refused(tmp_path: Path) -> None:
    for place in ("one", "two"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "a.whl").write_text(place, encoding="utf-8")
    one, two = ([tmp_path / place / "a.whl"] for place in ("one", "two"))
    RELEASE._compare(one, one, "itself")
    with pytest.raises(RELEASE.NotFit, match=r"a\.whl: a second build has other bytes"):
        RELEASE._compare(one, two, "a second build")


def test_a_railyard_that_does_not_work_is_refused(tmp_path: Path) -> None:
    program = tmp_path / "railyard"
    program.write_text("#!/bin/sh\necho 'railyard 1.2.3 (commit unknown: no)'; exit $#\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(RELEASE.NotFit, match="railyard --version: found exit code 1 and:\n"):
        list(RELEASE.use([str(program)], tmp_path))


@pytest.mark.full
@pytest.mark.e2e
def test_this_railyard_is_used_as_a_new_user_does(tmp_path: Path) -> None:
    said = list(RELEASE.use([str(Path(sys.executable).with_name("railyard"))], tmp_path))
    assert said[1:] == [
        "pass: 1 benchmark",
        "fail: 1 benchmark",
        "2 tests: 2 pass",
        "init, detect, lint and report too",
    ]


def test_a_python_that_was_asked_for_and_is_absent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONS", f"{sys.executable} python3.99")
    found = RELEASE._pythons()
    assert next(found) == sys.executable
    with pytest.raises(RELEASE.NotFit, match=r'PYTHONS: found no "python3\.99" that runs'):
        next(found)


@pytest.mark.full
@pytest.mark.e2e
def test_two_builds_of_the_last_commit_have_the_same_bytes_and_its_commit(tmp_path: Path) -> None:
    one, two = (RELEASE._build(tmp_path / name, umask) for name, umask in (("a", 0o022), ("b/c", 0o077)))
    RELEASE._compare(one, two, "a second build")
    of_sdist = RELEASE._build_wheel(next(file for file in one if file.suffix == ".gz"), tmp_path / "sdist")
    RELEASE._compare([file for file in one if file.suffix == ".whl"], [of_sdist], "the wheel of the sdist")
    RELEASE._check_contents(one, tmp_path / "a/clone")
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=CLONE, capture_output=True, text=True, check=True).stdout
    assert zipfile.ZipFile(of_sdist).read("railyard/_shipped/commit.txt").decode() == head


# --- the pipeline -----------------------------------------------------------------------------------------------------


def jobs() -> dict[str, Any]:
    loaded = yaml.safe_load((CLONE / "ci/release.gitlab-ci.yml").read_text(encoding="utf-8"))
    return {name: job for name, job in loaded.items() if isinstance(job, dict) and "script" in job}


def test_only_a_maintainer_starts_the_upload_and_only_of_a_tag() -> None:
    upload = jobs()["release-upload"]
    assert upload["rules"] == [{"if": "$CI_COMMIT_TAG =~ /^v[0-9.]+$/", "when": "manual"}]
    assert upload["needs"] == ["release-files"]
    assert [name for name, job in jobs().items() if "twine upload" in "\n".join(job["script"])] == ["release-upload"]
    assert "make --no-print-directory release PUBLISH=1" in jobs()["release-files"]["script"]


def test_the_upload_sends_only_files_that_are_those_of_the_sums(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist/a.whl").write_text("changed\n", encoding="utf-8")
    (tmp_path / "dist/SHA256SUMS").write_text(f"{'0' * 64}  a.whl\n", encoding="utf-8")
    # GitLab's runner joins the lines under these settings
    text = "set -eo pipefail\n" + "\n".join(jobs()["release-upload"]["script"])
    done = subprocess.run(
        ["bash", "-c", text], cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == "a.whl: FAILED\n"
    assert not (tmp_path / ".twine").exists()


def test_the_job_for_pages_builds_the_default_branch_and_each_tag() -> None:
    pages = jobs()["pages"]
    assert pages["artifacts"] == {"paths": ["public"]}
    (line,) = pages["script"]
    assert line.startswith('.venv/bin/python docs/site.py public --name "$CI_DEFAULT_BRANCH" $(git tag')
