"""Pipelines made from a system: which jobs there are, what each runs, what it keeps, and what is never tried again."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from railyard.cells import Cell
from railyard.cli import main
from railyard.errors import RailyardError
from railyard.pipeline import FILES, Job, Settings, jobs, pipeline, written
from railyard.selection import refuse_unknown
from railyard.systems import find_system

CLONE = Path(__file__).parents[1]
CELLS = (
    Cell("hsn", "mpich", 1, "ImbUniband", "imb/Uniband", None, policy="single"),
    Cell("hsn", "mpich", 2, "ImbUniband", "imb/Uniband", None, policy="striping"),
    Cell("hsn", "mpich", 2, "ImbUniband", "imb/Uniband", None, policy="round-robin", named=True),
    Cell("hsn", "intelmpi", 1, "OsuCollective %collective=bcast", "osu/osu_bcast", None, policy="single"),
    Cell("eth", "mpich", 1, "ImbUniband", "imb/Uniband", "eth is down", disabled=True),
    Cell("eth", "mpich", 1, "AllPairs", "pairs/pairs", None, extended=True),
)
SETTINGS = Settings("login")


def test_a_job_a_fabric_and_stack_runs_that_alone() -> None:
    assert jobs("mine", CELLS, SETTINGS) == (
        Job("mine hsn mpich", "hsn_mpich", ("--system", "mine:hsn", "-p", "^mpich$")),
        Job("mine hsn intelmpi", "hsn_intelmpi", ("--system", "mine:hsn", "-p", "^intelmpi$")),
    )


def test_extended_checks_are_asked_for_by_name() -> None:
    found = jobs("mine", CELLS, Settings("login", extended=True))
    assert found[-1] == Job("mine eth mpich", "eth_mpich", ("--system", "mine:eth", "-p", "^mpich$", "--extended"))
    assert len(found) == 3


def test_a_job_a_test_names_it_as_reframe_does() -> None:
    found = jobs("mine", CELLS, Settings("login", per="test"))
    assert [(job.name, job.options[-1]) for job in found] == [
        ("mine hsn mpich ImbUniband %rails=1", "^ImbUniband%rails=1$"),
        ("mine hsn mpich ImbUniband %rails=2", "^ImbUniband%rails=2$"),
        ("mine hsn mpich ImbUniband %rails=2 %policy=round-robin", "^ImbUniband%rails=2%policy=round-robin$"),
        ("mine hsn intelmpi OsuCollective %rails=1 %collective=bcast", "^OsuCollective%rails=1%collective=bcast$"),
    ]
    folders = [job.folder for job in found]
    assert folders[2] == "hsn_mpich_ImbUniband_rails-2_policy-round-robin"
    assert len(set(folders)) == len(folders)
    assert all(re.fullmatch(r"[\w.-]+", folder) for folder in folders)


def test_the_options_of_a_job_are_accepted_by_a_run() -> None:
    system = find_system(CLONE / "systems", "virtual")
    cell = Cell("hsn", "mpich", 2, "ImbUniband", "imb/Uniband", None, policy="striping")
    (job,) = jobs("virtual", (cell,), Settings("login", per="test"))
    refuse_unknown(job.options, system, "hsn")


def test_nothing_that_runs_is_a_sentence() -> None:
    with pytest.raises(RailyardError) as caught:
        pipeline("mine", CELLS[4:], SETTINGS)
    assert str(caught.value) == (
        "mine: found no cell that runs, expected one at least, since GitLab refuses an empty pipeline; "
        "railyard matrix --system mine says why each does not"
    )


def loaded(settings: Settings = SETTINGS) -> dict[str, Any]:
    found = yaml.safe_load(written(pipeline("mine", CELLS, settings)))
    assert isinstance(found, dict)
    return found


def test_two_jobs_never_write_the_same_file_and_wait_for_each_other() -> None:
    made = loaded()
    assert list(made) == ["stages", "default", "mine hsn mpich", "mine hsn intelmpi", "mine report"]
    assert made["stages"] == ["measure", "report"]
    measuring = [made["mine hsn mpich"], made["mine hsn intelmpi"]]
    paths = [path for job in measuring for path in job["artifacts"]["paths"]]
    assert paths == [f"railyard-results/{folder}/{name}" for folder in ("hsn_mpich", "hsn_intelmpi") for name in FILES]
    assert [job["artifacts"]["reports"] for job in measuring] == [
        {"junit": "railyard-results/hsn_mpich/junit.xml"},
        {"junit": "railyard-results/hsn_intelmpi/junit.xml"},
    ]
    assert {job["resource_group"] for job in measuring} == {"railyard-mine"}
    assert {job["artifacts"]["when"] for job in measuring} == {"always"}


def test_a_failed_verdict_is_tried_again_by_nothing() -> None:
    for settings in (SETTINGS, Settings("login", per="test", build=True)):
        made = loaded(settings)
        assert made["default"] == {
            "tags": ["login"],
            "retry": {"max": 1, "when": ["runner_system_failure"]},
            "interruptible": False,
        }
        for name, job in made.items():
            if name not in ("stages", "default"):
                assert {"allow_failure", "retry"} & set(job) == set(), name


def test_spack_builds_once_before_all_that_measures() -> None:
    made = loaded(Settings("login", build=True))
    assert made["stages"] == ["build", "measure", "report"]
    assert made["mine build"]["script"][-1] == "${RAILYARD_PROGRAM:-.venv/bin/railyard} spack install --system 'mine'"
    assert " --spack $RAILYARD_OPTIONS " in made["mine hsn mpich"]["script"][7]


def script_of(job: dict[str, Any]) -> str:
    # GitLab's runner joins the lines under these settings
    return "set -eo pipefail\n" + "\n".join(job["script"])


def run_job(folder: Path, job: dict[str, Any], program: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a job's script where railyard is a stand-in with this text."""
    stand_in = folder / ".venv/bin/railyard"
    stand_in.parent.mkdir(parents=True, exist_ok=True)
    stand_in.write_text(f"#!/bin/sh\n{program}\n", encoding="utf-8")
    stand_in.chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin", "CI_PROJECT_DIR": str(folder), "RAILYARD_PREPARE": "true", **variables}
    return subprocess.run(["bash", "-c", script_of(job)], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("code", [0, 1, 2])
def test_a_jobs_exit_code_is_the_runs_and_its_files_are_its_own(tmp_path: Path, code: int) -> None:
    program = (
        'echo "$*" >asked; sleep 0.01; mkdir -p .railyard/runs/new; '
        f"for f in {' '.join(FILES)}; do echo new >.railyard/runs/new/$f; done; exit {code}"
    )
    done = run_job(tmp_path, loaded()["mine hsn mpich"], program, RAILYARD_OPTIONS="--full")
    assert (done.returncode, done.stderr) == (code, "")
    assert (tmp_path / "asked").read_text(encoding="utf-8") == "run --system mine:hsn -p ^mpich$ --full\n"
    kept = tmp_path / "railyard-results" / "hsn_mpich"
    assert sorted(path.name for path in kept.iterdir()) == sorted(["started", *FILES])


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (1, 0), (2, 1)])
def test_the_page_is_made_of_what_there_is_and_names_what_is_not(tmp_path: Path, code: int, expected: int) -> None:
    there = tmp_path / "railyard-results" / "hsn_mpich"
    there.mkdir(parents=True)
    (there / "records.jsonl").write_text("", encoding="utf-8")
    done = run_job(tmp_path, loaded()["mine report"], f'echo "$*" >asked; exit {code}')
    assert done.returncode == expected
    assert done.stdout == (
        "hsn_intelmpi: found no records, expected those of its job; it was cancelled, or failed before it measured\n"
    )
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert asked == f"report {there}/records.jsonl -o {tmp_path}/railyard-report.html\n"


def test_the_command_writes_what_the_virtual_cluster_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAILYARD_HOME", str(CLONE))
    file = tmp_path / "child.yml"
    assert main(["ci", "generate", "--system", "virtual", "--tag", "login", "-o", str(file)]) == 0
    made = yaml.safe_load(file.read_text(encoding="utf-8"))
    assert capsys.readouterr().err == f"wrote {file}: {len(made) - 2} jobs\n"
    assert {"virtual hsn mpich", "virtual hsn openmpi", "virtual eth mpich", "virtual report"} <= set(made)
    assert main(["ci", "generate", "--system", "virtaul"]) == 2
    assert 'did you mean "virtual"?' in capsys.readouterr().err


def test_the_parent_starts_what_the_generator_wrote() -> None:
    parent = yaml.safe_load((CLONE / "ci/parent.gitlab-ci.yml").read_text(encoding="utf-8"))
    generate, measure = parent["railyard-generate"], parent["railyard-measure"]
    (path,) = generate["artifacts"]["paths"]
    assert measure["trigger"] == {
        "include": [{"artifact": path, "job": "railyard-generate"}],
        "strategy": "depend",
    }
    assert generate["script"][-1].endswith(f'-o "$CI_PROJECT_DIR/{path}"')
    assert measure["needs"] == ["railyard-generate"]
    assert generate["retry"] == {"max": 1, "when": ["runner_system_failure"]}


def generated(folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the parent's generating job with a stand-in for railyard that keeps the words it was given."""
    parent = yaml.safe_load((CLONE / "ci/parent.gitlab-ci.yml").read_text(encoding="utf-8"))
    given = {name: str(value) for name, value in parent["variables"].items()} | {"RAILYARD_PREPARE": "true"}
    return run_job(folder, parent["railyard-generate"], 'echo "$*" >asked', **(given | variables))


def test_the_parent_hands_system_tag_and_options_on(tmp_path: Path) -> None:
    done = generated(tmp_path, RAILYARD_SYSTEM="mine", RAILYARD_RUNNER_TAG="login", RAILYARD_GENERATE="--per test")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert asked == f"ci generate --system mine --tag login --per test -o {tmp_path}/railyard-child.yml\n"


def test_a_parent_without_a_system_is_a_sentence(tmp_path: Path) -> None:
    done = generated(tmp_path)
    assert done.returncode == 2
    assert done.stdout == "RAILYARD_SYSTEM is not set: set it to the name of a file in systems/, without .yaml\n"
    assert not (tmp_path / "asked").exists()
