"""How tests are run and counted: two phases with one closing line, and a separate word for disturbed tests."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.conftest import Ran, skip_disturbed
from tests.made.records import made_record

CLONE = Path(__file__).parents[2]

#: A stand-in for Python: logs its arguments, and ends each phase with a set result.
FAKE = """\
#!/bin/sh
echo "$*" >>calls
case $* in
    *"-m not measures"*) echo "{first}"; exit {first_code} ;;
    *) echo "{second}"; exit {second_code} ;;
esac
"""
ALL_WELL = "===== 8000 passed, 3 skipped, 90 deselected, 1 warning in 200.11s (0:03:20) ====="


def end_of(folder: Path, first: tuple[str, int], second: tuple[str, int], *words: str) -> tuple[int, str]:
    """Return exit code and last line of ci/test.sh where its two phases end like this."""
    (folder / "ci").mkdir()
    (folder / ".venv/bin").mkdir(parents=True)
    shutil.copy(CLONE / "ci/test.sh", folder / "ci")
    python = folder / ".venv/bin/python"
    python.write_text(
        FAKE.format(first=first[0], first_code=first[1], second=second[0], second_code=second[1]), encoding="utf-8"
    )
    python.chmod(0o755)
    done = subprocess.run(["bash", str(folder / "ci/test.sh"), *words], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, re.sub(r"\d+\.00s \(\d:\d\d:\d\d\)", "TIME", done.stdout.splitlines()[-1])


@pytest.mark.parametrize(
    ("first", "second", "code", "line"),
    [
        ((ALL_WELL, 0), ("= 8 passed, 2 disturbed, 99 deselected in 90.00s (0:01:30) =", 0),
         0, "8008 passed, 3 skipped, 2 disturbed, 1 warning in TIME"),
        ((ALL_WELL, 0), ("= 1 failed, 9 passed, 1 warning in 9.00s =", 1),
         1, "1 failed, 8009 passed, 3 skipped, 2 warnings in TIME"),
        (("= 2 failed, 1 passed, 1 error in 9.00s =", 1), ("= 9 passed in 9.00s =", 0),
         1, "2 failed, 10 passed, 1 error in TIME"),
        (("\x1b[32m= \x1b[32m\x1b[1m4 passed\x1b[0m\x1b[32m in 0.10s\x1b[0m =", 0), ("9 deselected in 1.00s", 5),
         0, "4 passed in TIME"),
        (("= 9 deselected in 1.00s =", 5), ("= 4 skipped in 1.00s =", 0), 0, "4 skipped in TIME"),
        (("= no tests ran in 1.00s =", 5), ("= no tests ran in 1.00s =", 5), 5, "no tests ran in TIME"),
    ],
)  # fmt: skip
def test_one_closing_line_counts_both_phases(
    tmp_path: Path, first: tuple[str, int], second: tuple[str, int], code: int, line: str
) -> None:
    assert end_of(tmp_path, first, second, "not full") == (code, f"=============== {line} ===============")


def test_what_stops_pytest_stops_the_second_phase_too(tmp_path: Path) -> None:
    assert end_of(tmp_path, ("= 1 error in 1.00s =", 2), ("", 0), "not full") == (2, "= 1 error in 1.00s =")
    assert len((tmp_path / "calls").read_text(encoding="utf-8").splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "marks", "second"),
    [
        (["not full"], " and not full", "tests/e2e"),
        (["", "-x", "tests/a.py"], "", "-x tests/a.py"),
    ],
)
def test_what_measures_runs_last_and_in_one_process(tmp_path: Path, words: list[str], marks: str, second: str) -> None:
    end_of(tmp_path, ("= 1 passed in 1.00s =", 0), ("= 1 passed in 1.00s =", 0), *words)
    apart, alone = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    processes = len(os.sched_getaffinity(0)) + 1
    assert f" -m not measures{marks} --numprocesses {processes} --maxprocesses 8 " in apart
    assert alone.endswith(f" -m measures{marks} {second}")


def test_files_begin_in_the_order_of_their_collection_and_not_with_those_of_most_tests(tmp_path: Path) -> None:
    end_of(tmp_path, ("= 1 passed in 1.00s =", 0), ("= 1 passed in 1.00s =", 0), "not full")
    words = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()[0].partition(" --maxprocesses 8 ")[2].split()
    (tmp_path / "test_a_long.py").write_text("def test_first(): pass\n", encoding="utf-8")
    (tmp_path / "test_many.py").write_text("def test_one(): pass\ndef test_two(): pass\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={tmp_path}",
         "--numprocesses", "1", f"--confcutdir={tmp_path}", *words, str(tmp_path)],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert re.findall(r" PASSED .*::(test_\w+)", done.stdout) == ["test_first", "test_one", "test_two"], done.stdout


# --- disturbed measurements

SUITE = """
import pytest
from tests import disturbances

def test_good(): pass
def test_absent(): pytest.skip("no namespaces")
def test_measured(): disturbances.skip("hsn, steal 4 %")
"""


def test_a_disturbed_test_is_counted_and_named_and_fails_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-c", os.devnull,
         f"--rootdir={tmp_path}", f"--confcutdir={tmp_path}", str(tmp_path)],
        cwd=CLONE, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(r"=+ 1 passed, 1 skipped, 1 disturbed in ", done.stdout.splitlines()[-1])
    assert "test_suite.py::test_measured: hsn, steal 4 %" in done.stdout.splitlines()


def test_a_test_ends_where_one_of_its_cells_was_disturbed() -> None:
    good = made_record()
    bad = made_record(case="ImbUniband %rails=2 @virtual:hsn+mpich", state="disturbed")
    with pytest.raises(pytest.skip.Exception) as ended:
        skip_disturbed(Ran(1, "", "", 1.0, (good, bad)))
    assert ended.value.msg == f"disturbed: {bad.test.case}: {bad.found.verdict.text}"
    whole = Ran(0, "", "", 1.0, (good, good))
    assert skip_disturbed(whole) is whole
