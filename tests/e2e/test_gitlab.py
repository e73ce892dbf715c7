"""The pipelines of ci/ through gitlab-ci-local: a report for each job, and a planted failure in JUnit.

gitlab-ci-local is a program from npm (4.73.0 starts with Node 20, 4.75.1 with Node 22). It checks every pipeline that
it reads against GitLab's published schema. The tests look for it in RAILYARD_GITLAB_CI_LOCAL, then on PATH. It reports
a failed child as a passed trigger with exit code 0, so these tests read what the child's jobs left.
"""

import os
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from railyard.cli.main import main
from tests.e2e.conftest import CLONE, make_replay_site, replace_recording
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.e2e

FEW = "-n OsuBandwidth -p hpcx"
SYSTEM = "dell-c6320"  # played from recordings: needs neither namespaces nor the machine's lock


@pytest.fixture
def gitlab() -> str:
    """The program, or a skip that says what is missing."""
    program = os.environ.get("RAILYARD_GITLAB_CI_LOCAL") or shutil.which("gitlab-ci-local")
    if program is None:
        pytest.skip("there is no gitlab-ci-local on PATH (npm install gitlab-ci-local@4.75.1, and Node 22)")
    missing = [name for name in ("git", "rsync") if shutil.which(name) is None]
    if missing:
        pytest.skip(f"gitlab-ci-local needs {' and '.join(missing)}")
    return program


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project that includes the parent, and beside it the clone that its jobs work in."""
    return make_project(tmp_path, "parent.gitlab-ci.yml")


def make_project(tmp_path: Path, included: str) -> Path:
    """Return a project that includes one of the files of ci/."""
    clone = tmp_path / "clone"
    clone.mkdir()
    make_replay_site(clone)
    (clone / ".venv").symlink_to(CLONE / ".venv")
    project = tmp_path / "project"
    project.mkdir()
    shutil.copy(CLONE / "ci" / included, project / included)
    (project / ".gitlab-ci.yml").write_text(f"include:\n  - local: {included}\n", encoding="utf-8")
    for words in (
        ("init", "--quiet", "--initial-branch=main"),
        ("config", "user.name", "made"),
        ("config", "user.email", "made@example.org"),
        ("remote", "add", "origin", "git@gitlab.example.org:made/project.git"),
        ("add", "--all"),
        ("commit", "--quiet", "--message=made"),
    ):
        subprocess.run(["git", *words], cwd=project, check=True)
    return project


def ran(gitlab: str, project: Path, **more: str) -> "subprocess.CompletedProcess[str]":
    variables = {
        "RAILYARD_SYSTEM": SYSTEM,
        "RAILYARD_FOLDER": str(project.parent / "clone"),
        "RAILYARD_PREPARE": "true",
        **more,
    }
    words = [word for name, value in variables.items() for word in ("--variable", f"{name}={value}")]
    return subprocess.run(
        [gitlab, "--force-shell-executor", "--no-color", *words],
        cwd=project,
        env={**os.environ, "RAILYARD_HOME": str(project.parent / "clone")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def ran_child(gitlab: str, project: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the child pipeline by itself, as GitLab does for a pipeline with these variables."""
    words = [word for name, value in variables.items() for word in ("--variable", f"{name}={value}")]
    return subprocess.run(
        # only isolated jobs have caches
        [gitlab, "--force-shell-executor", "--shell-isolation", "--no-color", "--file", "child.yml", *words],
        cwd=project,
        env={**os.environ, "RAILYARD_HOME": str(project.parent / "clone")},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


def reports(project: Path) -> dict[str, Path]:
    """The JUnit files that the child's jobs left, by the folder of their job."""
    return {path.parent.name: path for path in (project / ".gitlab-ci-local").rglob("railyard-results/*/junit.xml")}


def failures(path: Path) -> list[str]:
    root = ElementTree.parse(path).getroot()
    return [case.attrib["name"] for case in root.iter("testcase") if case.find("failure") is not None]


def test_each_job_leaves_its_own_report_and_one_page_is_made(gitlab: str, project: Path) -> None:
    done = ran(gitlab, project)
    found = reports(project)
    assert found, done.stdout + done.stderr
    assert {name for name, path in found.items() if failures(path)} == set()
    assert {name.partition("_")[0] for name in found} == {"edr", "fdr"}
    pages = list((project / ".gitlab-ci-local").rglob("railyard-report.html"))
    assert pages and "dell-c6320" in pages[0].read_text(encoding="utf-8")


def test_a_planted_failure_is_red_in_its_own_jobs_junit(gitlab: str, project: Path) -> None:
    clone = project.parent / "clone"
    slower = clone / "recordings" / SYSTEM / "fdr/hpcx/1/OsuBandwidth.out"
    replace_recording(clone, SYSTEM, "edr", "OsuBandwidth", slower.read_text(encoding="utf-8"))
    done = ran(gitlab, project)
    found = reports(project)
    assert found, done.stdout + done.stderr
    assert {"edr_hpcx", "edr_verbs", "fdr_hpcx", "fdr_verbs"} <= found.keys()
    red = {name: failures(path) for name, path in found.items() if failures(path)}
    assert red == {"edr_hpcx": ["OsuBandwidth %rails=1 @dell-c6320:edr+hpcx"]}
    assert " FAIL  dell-c6320 edr hpcx" in done.stdout
    pages = list((project / ".gitlab-ci-local" / "artifacts").rglob("railyard-report.html"))
    assert len(pages) == 1 and "OsuBandwidth" in pages[0].read_text(encoding="utf-8")


def test_one_job_is_green_or_red_as_its_verdicts_are_and_keeps_its_files(gitlab: str, tmp_path: Path) -> None:
    project = make_project(tmp_path, "gitlab-ci.yml")
    healthy = ran(gitlab, project, RAILYARD_OPTIONS=FEW)
    assert healthy.returncode == 0, healthy.stdout + healthy.stderr
    (kept,) = {path.parent for path in project.glob(".gitlab-ci-local/artifacts/railyard/railyard-results/*")}
    assert {path.name for path in kept.iterdir()} == {"report.html", "records.jsonl", "junit.xml"}
    assert failures(kept / "junit.xml") == []
    slower = tmp_path / "clone/recordings" / SYSTEM / "fdr/hpcx/1/OsuBandwidth.out"
    replace_recording(tmp_path / "clone", SYSTEM, "edr", "OsuBandwidth", slower.read_text(encoding="utf-8"))
    slow = ran(gitlab, project, RAILYARD_OPTIONS=FEW)
    assert slow.returncode == 1, slow.stdout + slow.stderr
    # EDR as slow as FDR also breaks the relation that it is ahead.
    assert failures(kept / "junit.xml") == ["OsuBandwidth %rails=1 @dell-c6320:edr+hpcx", "edr-over-fdr"]


def test_one_job_without_a_system_says_what_to_set(gitlab: str, tmp_path: Path) -> None:
    done = ran(gitlab, make_project(tmp_path, "gitlab-ci.yml"), RAILYARD_SYSTEM="")
    assert done.returncode == 1
    assert "RAILYARD_SYSTEM is not set: set it to the name of a file in systems/, without .yaml" in done.stdout


def test_a_merge_request_is_compared_with_what_its_target_branch_left(
    gitlab: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = project.parent / "clone"
    monkeypatch.setenv("RAILYARD_HOME", str(clone))
    options = ["--folder", str(clone), "--prepare", "true", "--pages", "-o", str(project / "child.yml")]
    assert main(["ci", "generate", "--system", SYSTEM, *options]) == 0
    branch = ran_child(gitlab, project)
    assert branch.returncode == 0, branch.stdout + branch.stderr
    (page,) = (project / ".gitlab-ci-local" / "artifacts").rglob("public/index.html")
    assert "dell-c6320" in page.read_text(encoding="utf-8")
    assert list((project / ".gitlab-ci-local").rglob("railyard-compare.txt")) == []
    asked = ran_child(gitlab, project, CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main")
    assert asked.returncode == 0, asked.stdout + asked.stderr
    (compared,) = (project / ".gitlab-ci-local" / "artifacts").rglob("railyard-compare.txt")
    text = compared.read_text(encoding="utf-8")
    assert "osu/osu_bw" in text and "dell-c6320" in text


def test_a_system_that_does_not_exist_is_a_sentence(gitlab: str, project: Path) -> None:
    done = ran(gitlab, project, RAILYARD_SYSTEM="dell-c6321")
    assert 'did you mean "dell-c6320"?' in done.stdout + done.stderr
    assert reports(project) == {}


def list_jobs(gitlab: str, project: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [gitlab, "--file", "child.yml", "--list", "--no-color"], cwd=project,
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("options", [(), ("--per", "test"), ("--spack",)], ids=["stack", "test", "spack"])
def test_a_child_is_held_against_gitlabs_schema(
    gitlab: str, project: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAILYARD_HOME", str(CLONE))
    child = project / "child.yml"
    assert main(["ci", "generate", "--system", "virtual", *options, "-o", str(child)]) == 0
    done = list_jobs(gitlab, project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "virtual report" in done.stdout
    child.write_text(child.read_text(encoding="utf-8").replace("when: always", "when: sometimes"), encoding="utf-8")
    assert list_jobs(gitlab, project).returncode != 0
