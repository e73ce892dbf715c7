"""ci/nightly.sh: its exit code for each result of its four parts."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2e import test_rehearsals

CLONE = Path(__file__).parents[2]

#: A stand-in for Python: logs its arguments, and ends each part with a set result.
FAKE = """\
#!/bin/sh
echo "$*" >>calls
case $* in
    *reframe_releases*) exit {releases} ;;
    *advisories*) exit {advisories} ;;
    *test_rehearsals.py*) echo "{rehearsals}"; exit {code} ;;
    *) exit {properties} ;;
esac
"""
ALL_WELL = "===== 40 passed in 3000.11s ====="


@pytest.mark.parametrize(
    ("properties", "releases", "advisories", "rehearsals", "code", "expected"),
    [
        (0, 0, 0, ALL_WELL, 0, 0),
        (1, 0, 0, ALL_WELL, 0, 1),
        (0, 1, 0, ALL_WELL, 0, 1),
        (0, 0, 1, ALL_WELL, 0, 1),
        (0, 0, 2, ALL_WELL, 0, 1),
        (0, 0, 0, "===== 1 failed, 39 passed in 9.00s =====", 1, 1),
        (0, 0, 0, "===== 40 skipped in 1.00s =====", 0, 1),
    ],
)
def test_a_night_is_a_pass_where_all_parts_are_and_a_rehearsal_ran(
    tmp_path: Path, properties: int, releases: int, advisories: int, rehearsals: str, code: int, expected: int
) -> None:
    (tmp_path / "ci").mkdir()
    shutil.copy(CLONE / "ci/nightly.sh", tmp_path / "ci")
    (tmp_path / "ci/needs.sh").write_text("", encoding="utf-8")
    (tmp_path / "Makefile").write_text("venv:\n\t@:\n", encoding="utf-8")
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    results = {"properties": properties, "releases": releases, "advisories": advisories}
    python.write_text(FAKE.format(**results, rehearsals=rehearsals, code=code), encoding="utf-8")
    python.chmod(0o755)
    done = subprocess.run(
        ["sh", str(tmp_path / "ci/nightly.sh"), "-k", "ndr"], capture_output=True, text=True, check=False,
        env={**os.environ, "RAILYARD_ADVISORIES": "/stored"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (expected, "")
    first, second, third, fourth = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert "--hypothesis-profile=thorough" in first and "not e2e" in first
    assert second == "-m tests.reframe_releases"
    assert third == "ci/advisories.py /stored"
    assert fourth.endswith("-m e2e tests/e2e/test_rehearsals.py --durations=0 -k ndr")


def test_the_everyday_tests_have_one_rehearsal_with_a_fault() -> None:
    everyday = [case.id for case in test_rehearsals.PLANTED if not case.marks]
    assert everyday == ["ndr --nodes 2 --fault fallback=tcp -n OsuBandwidth -p openmpi -P rails=1"]
    assert all(case.marks for case in test_rehearsals.HEALTHY)
