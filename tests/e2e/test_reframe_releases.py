"""The oldest release of ReFrame, and one outside the range; `make test-reframe` tries all with every Python."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import CLONE, RAILYARD, REFRAME, make_replay_site
from tests.reframe_releases import FOLDER, SYSTEMS, NotInstallable, listed_tests, make_environment, releases

pytestmark = pytest.mark.e2e

OLDEST = releases()[0]


@pytest.mark.full  # a venv of its own: two minutes
def test_the_oldest_release_lists_all_systems_and_plays_a_recording(tmp_path: Path) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        programs = make_environment(FOLDER / "oldest", sys.executable, OLDEST)
    except NotInstallable as error:
        if "No matching distribution" not in str(error):  # such as a wrong hash, or packages that do not fit together
            raise
        pytest.skip(f"ReFrame {OLDEST} cannot be installed here (no network, or no wheel for this Python): {error}")
    assert [system for system in SYSTEMS if not listed_tests(programs, system)] == []
    newest = Path(sys.executable).parent
    assert listed_tests(programs, "virtual") == listed_tests(newest, "virtual")

    site = make_replay_site(tmp_path)
    ran = site.finish(str(programs / "railyard"), "run", "--system", "dell-c6320", "-n", "OsuBandwidth")
    assert (ran.code, ran.err) == (0, "")
    assert {record.found.state for record in ran.records} == {"pass"}
    assert f"ReFrame {OLDEST}." in ran.full_text and "switched off: bounds around a reference of 0, " in ran.full_text


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ((*RAILYARD, "run", "--system", "dell-c6320"), 2),
        ((*RAILYARD, "run", "--system", "dell-c6320", "-l"), 2),
        ((*RAILYARD, "matrix", "--system", "dell-c6320"), 2),
        ((*RAILYARD, "ci", "generate", "--system", "dell-c6320"), 2),
        ((REFRAME, "-C", "reframe_settings.py", "-c", "checks", "-R", "-l"), 1),
    ],
    ids=lambda value: "-".join(value[-4:]) if isinstance(value, tuple) else "",
)
def test_a_release_outside_the_range_ends_with_one_sentence(
    command: tuple[str, ...], code: int, tmp_path: Path
) -> None:
    info = tmp_path / "reframe_hpc-4.5.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: reframe-hpc\nVersion: 4.5.2\n", encoding="utf-8")
    done = subprocess.run(
        command, cwd=CLONE, env={**os.environ, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    assert done.returncode == code, said
    assert said.count("Railyard works with ReFrame 4.7 to 4.10; this is 4.5.2") == 1
    assert "Traceback" not in said
