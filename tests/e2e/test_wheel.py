"""Railyard from its wheel, without a clone: `railyard init`, a replay, ReFrame alone, and the wheel's content."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.e2e.conftest import CLONE, RAILYARD
from tests.patience import PATIENCE_S

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


def pins(folder: Path) -> Path:
    """Return a file with the locked versions, for PIP_CONSTRAINT: pip then installs these."""
    lock = (CLONE / "requirements/runtime.txt").read_text(encoding="utf-8")
    pinned = folder / "constraints.txt"
    pinned.write_text(
        "\n".join(re.findall(r"^([\w.-]+==[\w.]+(?: ; [^\\\n]+)?)", lock, re.MULTILINE)) + "\n", encoding="utf-8"
    )
    return pinned


@pytest.mark.full
def test_the_readmes_door_without_a_clone_as_it_is_written(wheel: Path, tmp_path: Path) -> None:
    """The lines of README for pip are typed into a shell where there is no clone, and then those of the new site."""
    shutil.copy(wheel, tmp_path)
    readme = (CLONE / "README.md").read_text(encoding="utf-8")
    lines = [line.partition("  #")[0].removeprefix("$ ") for line in readme.splitlines() if line.startswith("$ ")]
    first = next(number for number, line in enumerate(lines) if line.startswith("python3 -m venv"))
    door = lines[first : first + 3]
    assert door[2].split() == ["railyard", "init", "mysite", "&&", "cd", "mysite"]
    typed = "\n".join((f"export PIP_CONSTRAINT={pins(tmp_path)}", *door, "pwd"))
    assert run("bash", "-e", "-c", typed.replace("python3", sys.executable), folder=tmp_path).endswith("/mysite\n")
    site, programs = tmp_path / "mysite", tmp_path / "railyard-venv/bin"
    guide = (site / "README.md").read_text(encoding="utf-8")
    for own in ("railyard lint", "railyard matrix --system NAME", "railyard run --system NAME --dry-run"):
        assert f"    {own}" in guide
        run(*f"{programs}/{own}".replace("NAME", "virtual").split(), folder=site)
    by_reframe = "reframe -C reframe_settings.py -r --system NAME"
    assert f"    {by_reframe}" in guide
    listed = run(*f"{programs}/{by_reframe}".replace(" -r ", " -l ").replace("NAME", "virtual").split(), folder=site)
    assert "ImbPingPong" in listed
    run(str(programs / "railyard"), "init", ".", "--published", "--missing", folder=site)
    said = run(str(programs / "railyard"), "run", "--system", "dell-c6320", "-n", "OsuBandwidth", folder=site)
    assert "2 tests: 2 pass" in " ".join(said.split())
    shutil.copytree(
        next((tmp_path / "railyard-venv/lib").glob("python3*/site-packages/railyard/_shipped/checks")), site / "own"
    )
    alone = run(
        str(programs / "reframe"),
        *("-C", "reframe_settings.py", "-c", "own", "-R", "-l", "--system", "dell-c6320:edr", "-n", "OsuBandwidth"),
        folder=site,
    )
    assert "Found 1 check(s)" in alone


@pytest.mark.parametrize("words", ["detect", "run", "doctor", "matrix --system x"])
def test_outside_of_a_site_a_command_names_init(words: str, tmp_path: Path) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAILYARD_")}
    said = subprocess.run(
        [*RAILYARD, *words.split()], cwd=tmp_path, env=clean, capture_output=True, text=True, check=False
    )
    assert (said.returncode, said.stdout, said.stderr) == (
        2,
        "",
        f"railyard: {tmp_path}: found no folder systems/, expected a Railyard site there (it is the working folder); "
        "make one: railyard init mysite && cd mysite; or go to your clone or site, or set RAILYARD_HOME to its "
        "folder\n",
    )
