"""The scripts of ci/github-actions.yml and ci/Jenkinsfile, run over a replay as their servers run them.

No GitHub runner and no Jenkins is needed: each step is given to the shell that its server calls, in order, and what a
server does with the files is compared by name. GitHub's published schema is looked at by `make lint`.
"""

import os
import re
import subprocess
import textwrap
import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.e2e.conftest import CLONE, make_replay_site, replace_recording

pytestmark = pytest.mark.e2e

SYSTEM = "dell-c6320"
OPTIONS = "-n OsuBandwidth -p hpcx"


class Step(NamedTuple):
    script: str
    always: bool = False


def github() -> tuple[dict[str, str], list[Step]]:
    """Return the workflow's variables and steps."""
    workflow: Any = yaml.safe_load((CLONE / "ci/github-actions.yml").read_text(encoding="utf-8"))
    (job,) = workflow["jobs"].values()
    return workflow["env"], [Step(step["run"], step.get("if") == "always()") for step in job["steps"] if "run" in step]


def jenkins() -> tuple[dict[str, str], list[Step]]:
    text = (CLONE / "ci/Jenkinsfile").read_text(encoding="utf-8")
    block = re.search(r"environment \{(.*?)\n    \}", text, re.DOTALL)
    assert block is not None
    variables = dict(re.findall(r"^\s+(\w+) = '([^']*)'", block[1], re.MULTILINE))
    scripts = re.findall(r"\bsh '''(.*?)'''|\bsh '([^'\n]*)'", text, re.DOTALL)
    return variables, [Step(textwrap.dedent(long or short)) for long, short in scripts]


SERVERS = {"github": (github, ("bash", "-e")), "jenkins": (jenkins, ("sh", "-xe"))}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    make_replay_site(tmp_path)
    (tmp_path / ".venv").symlink_to(CLONE / ".venv")
    return tmp_path


def run(server: str, clone: Path, **more: str) -> tuple[list[int], str]:
    """Return the exit code of each step that a server would run, and all that they printed."""
    read, shell = SERVERS[server]
    variables, steps = read()
    given = {**variables, "RAILYARD_PREPARE": "true", "RAILYARD_OPTIONS": OPTIONS, **more}
    env = {**os.environ, **given, "RAILYARD_HOME": str(clone), "GITHUB_STEP_SUMMARY": str(clone / "summary.md")}
    codes: list[int] = []
    text = ""
    for step in steps:
        if any(codes) and not step.always:
            continue
        done = subprocess.run(
            [*shell, "-c", step.script], cwd=clone, env=env, capture_output=True, text=True, check=False
        )
        codes.append(done.returncode)
        text += done.stdout + done.stderr
    return codes, text


def failures(clone: Path) -> Sequence[str]:
    root = ElementTree.parse(clone / "railyard-results/junit.xml").getroot()
    return [case.attrib["name"] for case in root.iter("testcase") if case.find("failure") is not None]


@pytest.mark.full
@pytest.mark.parametrize("server", SERVERS)
def test_a_healthy_system_is_green_and_leaves_its_files(server: str, clone: Path) -> None:
    codes, text = run(server, clone, RAILYARD_SYSTEM=SYSTEM)
    assert set(codes) == {0}, text
    assert failures(clone) == []
    assert {"junit.xml", "records.jsonl", "report.html"} <= {
        path.name for path in (clone / "railyard-results").iterdir()
    }
    if server == "github":
        assert "| 12400 | MB/s |" in (clone / "summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("server", ["github", pytest.param("jenkins", marks=pytest.mark.full)])
def test_a_slow_link_is_red_and_still_leaves_its_files(server: str, clone: Path) -> None:
    slower = clone / "recordings" / SYSTEM / "fdr/hpcx/1/OsuBandwidth.out"
    replace_recording(clone, SYSTEM, "edr", "OsuBandwidth", slower.read_text(encoding="utf-8"))
    codes, text = run(server, clone, RAILYARD_SYSTEM=SYSTEM)
    assert codes[:3] == [0, 0, 1], text
    assert codes[3:] == ([0] if server == "github" else [])  # the summary is no second verdict
    assert failures(clone) == ["OsuBandwidth %rails=1 @dell-c6320:edr+hpcx", "edr-over-fdr"]


@pytest.mark.parametrize("server", SERVERS)
def test_without_a_system_it_says_what_to_set_and_measures_nothing(server: str, clone: Path) -> None:
    codes, text = run(server, clone)
    assert codes[0] == 2
    assert "RAILYARD_SYSTEM is not set: set it to the name of a file in systems/, without .yaml" in text
    assert not (clone / "railyard-results").exists()


def test_neither_lets_two_runs_measure_at_once_nor_a_strangers_branch_in() -> None:
    workflow: Any = yaml.safe_load((CLONE / "ci/github-actions.yml").read_text(encoding="utf-8"))
    assert workflow["concurrency"] == {"group": "railyard", "cancel-in-progress": False}
    assert set(workflow[True]) == {"workflow_dispatch", "schedule"}  # YAML 1.1 reads `on` as true
    # A value of the form is never pasted into a script, where it could be a command.
    assert not any("${{" in step.script for step in github()[1])
    assert "disableConcurrentBuilds()" in (CLONE / "ci/Jenkinsfile").read_text(encoding="utf-8")
