"""Pipelines made from a system: which jobs there are, what each runs and keeps, and what is never tried again."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from railyard.base.errors import RailyardError
from railyard.cli.gitlab_pipeline import FILES, KEPT_PIPELINES, Job, Place, Settings, format_pipeline, jobs, pipeline
from railyard.cli.main import main
from railyard.rfm.run.options import read, refuse_unknown
from railyard.site.matrix import Cell
from railyard.site.systems.load import find_system
from railyard.site.test_id import TestId
from tests.made import spack_site

CLONE = Path(__file__).parents[2]
CELLS = (
    Cell(TestId("hsn", "mpich", 1, "imb/Uniband", "ImbUniband", "single"), None),
    Cell(TestId("hsn", "mpich", 2, "imb/Uniband", "ImbUniband", "striping"), None),
    Cell(TestId("hsn", "mpich", 2, "imb/Uniband", "ImbUniband", "round-robin"), None, named=True),
    Cell(TestId("hsn", "intelmpi", 1, "osu/osu_bcast", "OsuCollective %collective=bcast", "single"), None),
    Cell(TestId("eth", "mpich", 1, "imb/Uniband", "ImbUniband"), "eth is down", disabled=True),
    Cell(TestId("eth", "mpich", 1, "pairs/pairs", "AllPairs"), None, extended=True),
)
SETTINGS = Settings(("login",))
READY = Settings(("login",), place=Place(prepare="true"))  # jobs that already have railyard


def test_a_job_a_fabric_and_stack_runs_that_alone() -> None:
    assert jobs("mine", CELLS, SETTINGS) == (
        Job("mine hsn mpich", "hsn_mpich", ("--system", "mine:hsn", "-p", "^mpich$"), ("ImbUniband",) * 3),
        Job("mine hsn intelmpi", "hsn_intelmpi", ("--system", "mine:hsn", "-p", "^intelmpi$"), ("OsuCollective",)),
    )


def test_extended_checks_are_asked_for_by_name() -> None:
    found = jobs("mine", CELLS, Settings(("login",), extended=True))
    options = ("--system", "mine:eth", "-p", "^mpich$", "--extended")
    assert found[-1] == Job("mine eth mpich", "eth_mpich", options, ("AllPairs",))
    assert len(found) == 3


def test_a_job_a_test_names_it_as_reframe_does() -> None:
    found = jobs("mine", CELLS, Settings(("login",), per="test"))
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
    cell = Cell(TestId("hsn", "mpich", 2, "imb/Uniband", "ImbUniband", "striping"), None)
    (job,) = jobs("virtual", (cell,), Settings(("login",), per="test"))
    refuse_unknown(read(job.options), system, "hsn")


def test_nothing_that_runs_is_a_sentence() -> None:
    with pytest.raises(RailyardError) as caught:
        pipeline("mine", CELLS[4:], SETTINGS)
    assert str(caught.value) == (
        "mine: found no cell that runs, expected at least one, since GitLab refuses an empty pipeline; "
        "railyard matrix --system mine --why says why each does not"
    )


def load_pipeline(settings: Settings = SETTINGS) -> dict[str, Any]:
    found = yaml.safe_load(format_pipeline(pipeline("mine", CELLS, settings)))
    assert isinstance(found, dict)
    return found


def test_two_jobs_never_write_the_same_file_and_wait_for_each_other() -> None:
    made = load_pipeline()
    measuring_names = ["mine hsn mpich", "mine hsn intelmpi"]
    assert list(made) == ["stages", "default", *measuring_names, "mine report", "mine keep", "mine compare"]
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
    for settings in (SETTINGS, Settings(("login",), per="test", build=True)):
        made = load_pipeline(settings)
        assert made["default"] == {
            "tags": ["login"],
            "retry": {"max": 1, "when": ["runner_system_failure"]},
            "interruptible": False,
        }
        for name, job in made.items():
            if name not in ("stages", "default"):
                assert {"allow_failure", "retry"} & set(job) == set(), name


def test_spack_builds_once_before_all_that_measures() -> None:
    made = load_pipeline(Settings(("login",), build=True))
    assert made["stages"] == ["build", "measure", "report"]
    assert made["mine build"]["script"][-1] == ".venv/bin/railyard spack install --system mine"
    assert made["mine hsn mpich"]["script"][-1].endswith(" -p '^mpich$' --spack --copy-to \"$results\"")


def test_what_a_site_chose_stands_in_the_scripts_and_in_no_variable() -> None:
    place = Place("/srv/my clone", "make venv stacks", "/opt/railyard", "--full -S 'a=b c'", "--noise 2%")
    made = load_pipeline(Settings(("login",), build=True, place=place))
    script = made["mine hsn mpich"]["script"]
    assert script[:2] == ["cd '/srv/my clone'", "make venv stacks"]
    assert script[-1] == (
        """/opt/railyard run --system mine:hsn -p '^mpich$' --spack --full -S 'a=b c' --copy-to "$results\""""
    )
    assert made["mine build"]["script"][-1] == "/opt/railyard spack install --system mine"
    assert any(line.endswith('railyard-records.jsonl" --noise 2% >"$CI_PROJECT_DIR/railyard-compare.txt" || code=$?')
               for line in made["mine compare"]["script"])  # fmt: skip
    assert "RAILYARD_" not in format_pipeline(pipeline("mine", CELLS, Settings(("login",), place=place)))


def test_options_that_no_shell_reads_are_a_sentence() -> None:
    with pytest.raises(RailyardError) as caught:
        pipeline("mine", CELLS, Settings(("login",), place=Place(options="-S 'a=b")))
    assert str(caught.value) == ("""found the options "-S 'a=b" (No closing quotation), expected words as in a shell""")


def test_every_job_is_in_pipelines_of_merge_requests() -> None:
    # GitLab leaves out jobs without rules, and then refuses the child because it has no job
    made = load_pipeline(Settings(("login",), build=True, pages=True))
    jobs_of = {name: job for name, job in made.items() if name not in ("stages", "default")}
    always = {name for name, job in jobs_of.items() if all("if" not in rule for rule in job["rules"])}
    assert always == {"mine build", "mine hsn mpich", "mine hsn intelmpi", "mine report"}
    assert {name: job["rules"] for name, job in jobs_of.items() if name not in always} == {
        "mine keep": [{"if": "$CI_COMMIT_BRANCH", "when": "always"}],
        "mine compare": [{"if": "$CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "when": "always"}],
        "pages": [{"if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH", "when": "always"}],
    }


def test_a_runner_of_the_login_node_builds_and_reports_where_another_measures() -> None:
    made = load_pipeline(Settings(("compute", "slurm"), ("login",), "jacamar", build=True))
    assert made["default"]["tags"] == ["compute", "slurm"]
    assert made["default"]["id_tokens"] == {"SITE_ID_TOKEN": {"aud": "$CI_SERVER_URL"}}
    elsewhere = {name for name, job in made.items() if isinstance(job, dict) and job.get("tags") == ["login"]}
    assert elsewhere == {"mine build", "mine report", "mine keep", "mine compare"}
    assert "id_tokens" not in load_pipeline()["default"]


def test_a_job_that_slurm_runs_asks_for_what_its_tests_need(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RAILYARD_HOME", str(CLONE))
    asked = ["ci", "generate", "--executor", "slurm", "--tag", "slurm", "--login-tag", "login", "--system"]
    assert main([*asked, "virtual-slurm"]) == 0
    job = yaml.safe_load(capsys.readouterr().out)["virtual-slurm hsn mpich"]
    assert re.fullmatch(r"--nodes=4 --exclusive --time=\d+", job["variables"]["SCHEDULER_PARAMETERS"])
    assert " --one-allocation " in next(line for line in job["script"] if " run " in line)
    assert main([*asked, "virtual"]) == 2
    assert capsys.readouterr().err.endswith(
        "--executor slurm: found the scheduler local of virtual, expected Slurm; choose an executor for a login node: "
        "shell or jacamar\n"
    )


def script_of(job: dict[str, Any]) -> str:
    # GitLab's runner joins the lines under these settings
    return "set -eo pipefail\n" + "\n".join(job["script"])


def run_job(folder: Path, job: dict[str, Any], program: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run a job's script where railyard is a stand-in with this text."""
    stand_in = folder / ".venv/bin/railyard"
    stand_in.parent.mkdir(parents=True, exist_ok=True)
    stand_in.write_text(f"#!/bin/sh\n{program}\n", encoding="utf-8")
    stand_in.chmod(0o755)
    environment = {"PATH": "/usr/bin:/bin", "CI_PROJECT_DIR": str(folder), **variables}
    return subprocess.run(
        ["bash", "-c", script_of(job)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("code", [0, 1, 2])
def test_a_jobs_exit_code_is_the_runs_and_its_files_are_its_own(tmp_path: Path, code: int) -> None:
    kept = tmp_path / "railyard-results" / "hsn_mpich"
    kept.mkdir(parents=True)
    (kept / "report.html").write_text("of an older pipeline", encoding="utf-8")
    done = run_job(tmp_path, load_pipeline(READY)["mine hsn mpich"], f'echo "$*" >asked; exit {code}')
    assert (done.returncode, done.stderr) == (code, "")
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert asked == f"run --system mine:hsn -p ^mpich$ --copy-to {kept}\n"
    assert not kept.exists()


@pytest.mark.parametrize(("code", "expected"), [(0, 0), (1, 0), (2, 1)])
def test_the_page_is_made_of_what_there_is_and_names_what_is_not(tmp_path: Path, code: int, expected: int) -> None:
    there = tmp_path / "railyard-results" / "hsn_mpich"
    there.mkdir(parents=True)
    (there / "records.jsonl").write_text("", encoding="utf-8")
    done = run_job(tmp_path, load_pipeline(READY)["mine report"], f'echo "$*" >asked; exit {code}')
    assert done.returncode == expected
    assert done.stdout == (
        "hsn_intelmpi: found no records, expected those of its job; it was cancelled, or failed before it measured\n"
    )
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert asked == f"report {there}/records.jsonl -o {tmp_path}/railyard-report.html\n"


def with_records(folder: Path, text: str = "one\n") -> Path:
    """Make the files that a measuring job left, as GitLab gives them to a later job."""
    there = folder / "railyard-results" / "hsn_mpich"
    there.mkdir(parents=True)
    (there / "records.jsonl").write_text(text, encoding="utf-8")
    return folder / "railyard-branch"


def test_a_branchs_results_are_kept_and_the_oldest_forgotten(tmp_path: Path) -> None:
    kept = with_records(tmp_path)
    kept.mkdir()
    for number in range(1, KEPT_PIPELINES + 3):
        (kept / f"{number}.jsonl").touch()
    done = run_job(tmp_path, load_pipeline(READY)["mine keep"], "exit 2", CI_PIPELINE_ID="1000")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path.stem for path in kept.iterdir()} == {*map(str, range(4, KEPT_PIPELINES + 3)), "1000"}
    assert (kept / "1000.jsonl").read_text(encoding="utf-8") == "one\n"


@pytest.mark.parametrize("name", ["mine keep", "mine compare"])
def test_a_cancelled_pipeline_is_neither_kept_nor_compared(tmp_path: Path, name: str) -> None:
    (tmp_path / "railyard-branch").mkdir()
    (tmp_path / "railyard-branch/7.jsonl").touch()
    done = run_job(tmp_path, load_pipeline(READY)[name], "exit 2", CI_PIPELINE_ID="8")
    then = "kept" if name == "mine keep" else "compared"
    sentence = f"railyard-results: found no records, expected those of the jobs that measured; nothing is {then}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, sentence, "")
    assert [path.name for path in (tmp_path / "railyard-branch").iterdir()] == ["7.jsonl"]


@pytest.mark.parametrize("code", [0, 1, 2])
def test_a_merge_request_is_compared_with_its_target_branch(tmp_path: Path, code: int) -> None:
    kept = with_records(tmp_path, "new\n")
    kept.mkdir()
    for name in ("7", "8"):
        (kept / f"{name}.jsonl").write_text(f"{name}\n", encoding="utf-8")
    done = run_job(tmp_path, load_pipeline(READY)["mine compare"], f'echo "$1 $4"; cat "$2" "$3"; exit {code}')
    assert (done.returncode, done.stdout, done.stderr) == (code, "compare \n7\n8\nnew\n", "")
    assert (tmp_path / "railyard-compare.txt").read_text(encoding="utf-8") == done.stdout


def test_a_target_branch_without_results_is_a_sentence(tmp_path: Path) -> None:
    with_records(tmp_path)
    job = load_pipeline(READY)["mine compare"]
    done = run_job(tmp_path, job, "exit 2", CI_MERGE_REQUEST_TARGET_BRANCH_NAME="main")
    assert (done.returncode, done.stdout, done.stderr) == (0, (
        "main: found no results of this branch, expected those of its last pipelines; nothing is compared\n"
    ), "")  # fmt: skip
    assert (tmp_path / "railyard-compare.txt").read_text(encoding="utf-8") == done.stdout


def test_a_runner_without_spack_ends_the_build_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = sys.executable.replace("/python", "/railyard")
    monkeypatch.setenv("RAILYARD_HOME", str(CLONE))
    assert main(["ci", "generate", "--spack", "--prepare", "true", "--program", program]) == 0
    job = yaml.safe_load(capsys.readouterr().out)["virtual build"]
    site = spack_site.make(tmp_path)  # whose own Spack nobody has got, whatever this clone has
    (site.home / "systems/made.yaml").rename(site.home / "systems/virtual.yaml")
    site.edit("systems/virtual.yaml", "system: made", "system: virtual")
    (site.home / "references/made.yaml").rename(site.home / "references/virtual.yaml")
    site.edit("references/virtual.yaml", "system: made", "system: virtual")
    done = run_job(tmp_path, job, "exit 3", RAILYARD_HOME=str(site.home), HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"railyard: spack: found none in {site.home}/.railyard/spack-itself and none on PATH, expected Spack 1.1 or "
        "newer; type: railyard spack bootstrap\n"
    )


def test_a_second_pipeline_waits_for_what_the_first_measures_builds_and_keeps() -> None:
    first, second = (load_pipeline(Settings(("login",), per=per, build=True)) for per in ("stack", "test"))
    for made in (first, second):
        groups = {job["stage"]: job.get("resource_group") for name, job in made.items() if "hsn" in name}
        assert groups == {"measure": "railyard-mine"}
        assert made["mine build"]["resource_group"] == "railyard-build-mine"
        assert made["mine keep"]["resource_group"] == "railyard-keep-mine"
    single = yaml.safe_load((CLONE / "ci/gitlab-ci.yml").read_text(encoding="utf-8"))
    assert single["railyard"]["resource_group"] == "railyard-$RAILYARD_SYSTEM"


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


SCHEMA = (str(Path(sys.executable).with_name("check-jsonschema")), "--quiet", "--builtin-schema", "vendor.gitlab-ci")


@pytest.mark.parametrize("executor", ["shell", "jacamar"])
def test_a_child_has_the_form_of_gitlabs_published_schema(tmp_path: Path, executor: Any) -> None:
    child = tmp_path / "child.yml"
    settings = Settings(("login",), executor=executor, build=True, pages=True, per="test")
    child.write_text(format_pipeline(pipeline("mine", CELLS, settings)), encoding="utf-8")
    assert subprocess.run([*SCHEMA, str(child)], check=False).returncode == 0
    child.write_text(child.read_text(encoding="utf-8").replace("when: always", "when: sometimes"), encoding="utf-8")
    assert subprocess.run([*SCHEMA, str(child)], capture_output=True, check=False).returncode == 1


def test_jacamar_knows_whose_jobs_those_of_the_two_files_are() -> None:
    token = {"SITE_ID_TOKEN": {"aud": "$CI_SERVER_URL"}}
    for file, job in (("gitlab-ci.yml", "railyard"), ("parent.gitlab-ci.yml", "railyard-generate")):
        made = yaml.safe_load((CLONE / "ci" / file).read_text(encoding="utf-8"))[job]
        assert made["id_tokens"] == token, file
        assert made["rules"] == [{"when": "on_success"}], file


def test_the_parent_starts_what_the_generator_wrote() -> None:
    parent = yaml.safe_load((CLONE / "ci/parent.gitlab-ci.yml").read_text(encoding="utf-8"))
    generate, measure = parent["railyard-generate"], parent["railyard-measure"]
    (path,) = generate["artifacts"]["paths"]
    assert measure["trigger"] == {
        "include": [{"artifact": path, "job": "railyard-generate"}],
        "strategy": "depend",
        "forward": {"yaml_variables": False},
    }
    assert generate["rules"] == measure["rules"] == [{"when": "on_success"}]
    assert generate["script"][-1].endswith(f'-o "$CI_PROJECT_DIR/{path}"')
    assert measure["needs"] == ["railyard-generate"]
    assert generate["retry"] == {"max": 1, "when": ["runner_system_failure"]}


def run_generator(folder: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    """Run the parent's generating job with a stand-in for railyard that keeps its arguments."""
    parent = yaml.safe_load((CLONE / "ci/parent.gitlab-ci.yml").read_text(encoding="utf-8"))
    given = {name: str(value) for name, value in parent["variables"].items()} | {"RAILYARD_PREPARE": "true"}
    return run_job(folder, parent["railyard-generate"], 'echo "$*" >asked', **(given | variables))


def test_the_parent_hands_system_tag_and_options_on(tmp_path: Path) -> None:
    done = run_generator(tmp_path, RAILYARD_SYSTEM="mine", RAILYARD_RUNNER_TAG="login", RAILYARD_GENERATE="--per test")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    assert asked == f"ci generate --system mine --login-tag login --per test -o {tmp_path}/railyard-child.yml\n"


def test_a_parent_without_a_system_is_a_sentence(tmp_path: Path) -> None:
    done = run_generator(tmp_path)
    assert done.returncode == 2
    assert done.stdout == "RAILYARD_SYSTEM is not set: set it to the name of a file in systems/, without .yaml\n"
    assert not (tmp_path / "asked").exists()
