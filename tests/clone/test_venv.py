"""ci/venv.sh: .venv is complete or made again, once per state of the locks; here with a stand-in for Python and pip."""

import fcntl
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.patience import wait_for

SCRIPT = Path(__file__).parents[2] / "ci/venv.sh"

#: Gives the answers that the script expects from a Python, and makes a "venv" of copies of itself. It logs each pip
#: call.
STAND_IN = """#!/bin/sh
case "$1 $2 $3" in
    "-m venv "*)
        mkdir -p "$3/bin" && cp "$0" "$3/bin/python"
        printf '#!/bin/sh\\necho %s\\n' "railyard 0.1.0" >"$3/bin/railyard"
        printf '#!/bin/sh\\necho %s\\n' "4.10.4+x" >"$3/bin/reframe"
        chmod +x "$3/bin/railyard" "$3/bin/reframe" ;;
    "-m pip "*)
        echo "$*" >>"{log}"
        [ ! -e "{folder}/hang" ] || {{ touch "{folder}/hangs"; exec sleep 6000; }}
        if [ -e "{folder}/fails" ]; then exit 1; fi ;;
    "-c import os, sys"*) echo "{name}" ;;
    "-c import sys"*) echo 3.11.7 ;;
esac
"""

MADE = [
    "-m pip --disable-pip-version-check install --quiet --no-input --require-hashes --no-deps --only-binary :all: "
    f"--requirement requirements/{lock}.txt"
    for lock in ("build", "runtime", "dev")
]
EDITABLE = (
    "-m pip --disable-pip-version-check install --quiet --no-input --no-deps --no-build-isolation --no-index "
    "--editable ."
)
CHECKED = "-m pip --disable-pip-version-check check"
WHOLE = [*MADE, EDITABLE, CHECKED]
SAID = "venv: making .venv with {python} (3.11.7)\nvenv: .venv is ready (railyard 0.1.0, ReFrame 4.10.4)\n"


class Clone:
    """A folder with locks, the script, and two Pythons in PATH: python3 and other."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "pip.log"
        (folder / "ci").mkdir()
        shutil.copy(SCRIPT, folder / "ci/venv.sh")
        (folder / "requirements").mkdir()
        for lock in ("build", "runtime", "dev"):
            (folder / f"requirements/{lock}.txt").write_text(f"{lock}==1\n", encoding="utf-8")
        (folder / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
        (folder / "programs").mkdir()
        for name in ("python3", "other"):
            place = folder / "programs" / name
            place.write_text(STAND_IN.format(log=self.log, folder=folder, name=place), encoding="utf-8")
            place.chmod(0o755)
        self.environment = os.environ | {"PATH": f"{folder}/programs:{os.environ['PATH']}", "PYTHON": ""}

    def start(self, **variables: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            ["/bin/sh", "ci/venv.sh"],
            cwd=self.folder,
            env=self.environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def venv(self, **variables: str) -> tuple[int, str, str]:
        with self.start(**variables) as process:
            printed, complaint = process.communicate()
        return process.returncode, printed, complaint

    def pip_lines(self) -> list[str]:
        """Return what pip was asked since the last time."""
        lines = self.log.read_text(encoding="utf-8").splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_it_is_made_once(clone: Clone) -> None:
    assert clone.venv() == (0, SAID.format(python="python3"), "")
    assert clone.pip_lines() == WHOLE
    assert clone.venv() == (0, "", "")
    assert clone.pip_lines() == []


@pytest.mark.parametrize("lock", ["build", "runtime", "dev"])
def test_a_changed_lock_makes_it_anew(clone: Clone, lock: str) -> None:
    clone.venv()
    clone.pip_lines()
    (clone.folder / f"requirements/{lock}.txt").write_text("other==1\n", encoding="utf-8")
    (clone.folder / ".venv/of-old").touch()
    assert clone.venv()[0] == 0
    assert clone.pip_lines() == WHOLE
    assert not (clone.folder / ".venv/of-old").exists()


def test_a_changed_pyproject_installs_railyard_alone(clone: Clone) -> None:
    clone.venv()
    clone.pip_lines()
    (clone.folder / "pyproject.toml").write_text("[project]\nname = 'x'\n", encoding="utf-8")
    assert clone.venv() == (0, "", "")
    assert clone.pip_lines() == [EDITABLE]
    assert clone.venv() == (0, "", "")
    assert clone.pip_lines() == []


def test_another_python_makes_it_anew_and_stays(clone: Clone) -> None:
    clone.venv()
    assert clone.venv(PYTHON="other") == (0, SAID.format(python="other"), "")
    assert clone.venv() == (0, "", "")


def test_a_moved_clone_makes_it_anew(clone: Clone) -> None:
    clone.venv()
    moved = clone.folder / "moved"
    moved.mkdir()
    for name in ("ci", "requirements", ".venv", "pyproject.toml"):
        (clone.folder / name).rename(moved / name)
    clone.folder = moved
    assert clone.venv()[1] == SAID.format(python=f"{moved.parent}/programs/python3")


def test_what_failed_leaves_no_venv(clone: Clone) -> None:
    (clone.folder / "fails").touch()
    code, printed, _ = clone.venv()
    assert (code, printed) == (1, "venv: making .venv with python3 (3.11.7)\n")
    assert not (clone.folder / ".venv").exists()
    (clone.folder / "fails").unlink()
    assert clone.venv()[0] == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_no_venv(clone: Clone, number: signal.Signals, code: int) -> None:
    (clone.folder / "hang").touch()
    with clone.start() as process:
        wait_for((clone.folder / "hangs").exists, "pip")
        os.killpg(process.pid, number)
        process.communicate()
    assert process.returncode == code
    assert not (clone.folder / ".venv").exists()


def test_one_that_was_killed_is_thrown_away(clone: Clone) -> None:
    (clone.folder / "hang").touch()
    with clone.start() as process:
        wait_for((clone.folder / "hangs").exists, "pip")
        (clone.folder / ".venv/half").touch()
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    (clone.folder / "hang").unlink()
    clone.pip_lines()
    assert clone.venv() == (0, SAID.format(python="python3"), "")
    assert clone.pip_lines() == WHOLE
    assert not (clone.folder / ".venv/half").exists()


def test_the_second_of_two_waits_and_finds_it_done(clone: Clone) -> None:
    clone.venv()
    holder = os.open(clone.folder / "requirements", os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    with clone.start() as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "venv: another make in this folder is making .venv; waiting for it\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        os.close(holder)
        assert (process.wait(), process.stdout.read(), process.stderr.read()) == (0, "", "")
