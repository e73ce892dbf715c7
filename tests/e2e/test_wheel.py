"""Railyard from its wheel, without a clone: `railyard init`, a replay, ReFrame alone, and the wheel's content."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.e2e.conftest import CLONE
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.e2e

SHIPPED = ("checks", "ci", "recordings", "references", "requirements/stacks", "spack_envs", "systems")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(str(Path(sys.executable).with_name("hatchling")), "build", "-t", "wheel", "-d", str(folder), folder=CLONE)
    (built,) = folder.glob("railyard_hpc-*-py3-none-any.whl")
    return built


def run(*words: str, folder: Path, code: int = 0) -> str:
    """Return what a command printed; it gets none of our variables, so it must find its site by itself."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("RAILYARD_", "RFM_", "PYTHON"))}
    ended = subprocess.run(
        words, cwd=folder, env=clean, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert ended.returncode == code, ended.stdout + ended.stderr
    return ended.stdout


def test_the_wheel_holds_all_that_railyard_ships(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "railyard", *SHIPPED], cwd=CLONE, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    expected = {name if name.startswith("railyard/") else f"railyard/_shipped/{name}" for name in tracked if name}
    assert expected - held == set()
    assert sorted(name for name in held if "__pycache__" in name or name.startswith(("tests/", "docs/"))) == []


@pytest.mark.full
def test_a_clean_environment_with_the_wheel_alone_judges_a_new_site(wheel: Path, tmp_path: Path) -> None:
    """Like a person without a clone: a new environment, the locked dependencies, the wheel, `railyard init`."""
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"), folder=tmp_path)
    programs = tmp_path / "venv" / "bin"
    pip = (str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    run(*pip, "--require-hashes", "--requirement", str(CLONE / "requirements/runtime.txt"), folder=tmp_path)
    run(*pip, str(wheel), folder=tmp_path)
    run(str(programs / "railyard"), "init", "site", "--published", folder=tmp_path)
    site = tmp_path / "site"
    said = run(str(programs / "railyard"), "run", "--system", "dell-c6320", "-n", "OsuBandwidth", folder=site)
    assert "2 tests: 2 pass" in " ".join(said.split())
    listed = run(
        str(programs / "reframe"), "-C", "reframe_settings.py", "-l", "--system", "dell-c6320:edr", folder=site
    )
    assert "OsuBandwidth" in listed
    shutil.copytree(next((tmp_path / "venv/lib").glob("python3*/site-packages/railyard/_shipped/checks")), site / "own")
    alone = run(
        str(programs / "reframe"),
        *("-C", "reframe_settings.py", "-c", "own", "-R", "-l", "--system", "dell-c6320:edr", "-n", "OsuBandwidth"),
        folder=site,
    )
    assert "Found 1 check(s)" in alone
