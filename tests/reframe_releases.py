"""The matrix of ReFrame's releases and Pythons: `make test-reframe`; `make test-all` uses it for the oldest release.

    python -m tests.reframe_releases [RELEASE…]      such as 4.7; without one, each that requirements/reframe/ has

Each cell of the matrix has its own environment, from the locks with hashes, in .railyard/reframe-releases. It lists all
systems and compares that with the newest release here, plays recordings, closes the silent passes, and runs two tests
of the virtual cluster where there can be one. PYTHONS="3.11 3.12" takes fewer Pythons, LIVE=0 leaves out the last part.
A Python that is not on the search path, and a release that cannot be on a Python (KNOWN_WITHOUT), are named and left
out. The exit code is 1 if a part failed or an environment could not be made, and 2 if no cell could be tried.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.provision.testbed.boot import namespaces_refused
from railyard.rfm.run.output import listed_cases

CLONE = Path(__file__).resolve().parents[1]
LOCKS = CLONE / "requirements/reframe"
FOLDER = CLONE / ".railyard/reframe-releases"
PYTHONS = tuple(f"3.{minor}" for minor in range(10, 15))
#: Systems whose every test is listed: those with a file here.
SYSTEMS = tuple(sorted(path.stem for path in (CLONE / "systems").glob("*.yaml")))
#: The tests of each part, as words for pytest.
REPLAYS = ("-m", "not measures", "tests/e2e/test_replay.py")
SILENT_PASSES = ("tests/e2e/test_silent_passes.py",)
LIVE = (
    "tests/e2e/test_virtual.py::test_a_healthy_cell_of_each_stack_passes_over_both_rails",
    "tests/e2e/test_demonstrations.py::test_a_slow_rail_is_named_by_a_run_over_it_alone",
)
#: Cells that cannot be, by release and Python: the row has the reason, and nothing is tried.
KNOWN_WITHOUT = {
    (release, "3.14"): f"left out: ReFrame {release} asks for lxml 5.3, which has no wheel for Python 3.14"
    for release in ("4.7", "4.8")
}
_PIP = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-input")
_HASHED = ("--require-hashes", "--no-deps", "--only-binary", ":all:", "--requirement")
_CLOSING = re.compile(r"^(?:=+ )?(?P<counts>\d+ [a-z]+.*) in [0-9.]+s", re.MULTILINE)
_FAILED, _NOTHING = 1, 2


class NotInstallable(Exception):
    """An environment that cannot be made here, with what pip or Python said about it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One cell of the matrix: a text per part, whether one failed, and the seconds that it took; None: not tried."""

    release: str
    python: str
    parts: tuple[str, ...]
    failed: bool
    seconds: float | None


def releases() -> tuple[str, ...]:
    """Return the minor releases that have a lock, the oldest first."""
    return tuple(sorted((path.stem for path in LOCKS.glob("4.*.txt")), key=lambda name: int(name.split(".")[1])))


def find_python(number: str) -> str | None:
    """Return the program python3.N of PATH, None if there is none that runs."""
    program = shutil.which(f"python{number}")
    if program is None or subprocess.run([program, "-c", "import ensurepip"], capture_output=True).returncode != 0:
        return None
    return program


def make_environment(folder: Path, python: str, release: str) -> Path:
    """Make an environment with this release and Railyard, or find it whole; return its folder of programs.

    Raises NotInstallable, such as for a package without a wheel for this Python, or without a network.
    """
    locks = (CLONE / "requirements/build.txt", LOCKS / f"{release}.txt")
    texts = b"".join(path.read_bytes() for path in (*locks, CLONE / "pyproject.toml"))
    key = hashlib.sha256(texts + f"{CLONE} {python}".encode()).hexdigest()
    stamp, programs = folder / "railyard-stamp", folder / "bin"
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == key:
        return programs
    shutil.rmtree(folder, ignore_errors=True)
    _do([python, "-m", "venv", str(folder)])
    for lock in locks:
        _do([str(programs / "python"), *_PIP, *_HASHED, str(lock)])
    own = ("--no-deps", "--no-build-isolation", "--no-index", "--editable", str(CLONE))
    _do([str(programs / "python"), *_PIP, *own])
    _do([str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "check"])
    stamp.write_text(key, encoding="utf-8")
    return programs


def _do(words: Sequence[str]) -> None:
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR: ")] or lines or ["it said nothing"]
        raise NotInstallable(errors[-1].removeprefix("ERROR: "))


def listed_tests(programs: Path, system: str) -> frozenset[str]:
    """Return each test that this `reframe` lists for a system, with its hash. Raises RailyardError if it cannot."""
    words = [str(programs / "reframe"), "--nocolor", "-C", "reframe_settings.py", "-c", "checks", "-R", "-lC"]
    done = subprocess.run([*words, "--system", system], cwd=CLONE, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stdout + done.stderr)[-800:]
        raise RailyardError(f"reframe --system {system} ended with {done.returncode}: {said}")
    return frozenset(f"{case} /{case.hash}" for case in listed_cases(done.stdout + done.stderr))


def _compare_listings(programs: Path, newest: dict[str, frozenset[str]]) -> tuple[str, bool]:
    count, other = 0, []
    for system in SYSTEMS:
        try:
            found = listed_tests(programs, system)
        except RailyardError as error:
            print(f"{system}: {error}", file=sys.stderr)
            other.append(system)
            continue
        count += len(found)
        if found != newest[system]:
            print(f"{system}: differs in {sorted(found ^ newest[system])[:6]}", file=sys.stderr)
            other.append(system)
    text = f"{len(SYSTEMS)} systems, {count} tests"
    return (f"{text}; not as the newest: {', '.join(other)}", True) if other else (text, False)


def _pytest(programs: Path, tests: Iterable[str], log: Path) -> tuple[str, bool]:
    words = [str(programs / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    with log.open("w", encoding="utf-8") as out:
        code = subprocess.run(words, cwd=CLONE, stdout=out, stderr=subprocess.STDOUT, check=False).returncode
    found = _CLOSING.findall(log.read_text(encoding="utf-8"))
    counts = found[-1] if found else f"no closing line, exit code {code}"
    passed = code == 0 and " passed" in counts  # all skipped is not a pass
    return counts if passed else f"{counts}: see {log.relative_to(CLONE)}", not passed


def try_cell(release: str, number: str, newest: dict[str, frozenset[str]], why_not_live: str | None) -> Row:
    """Try one release with one Python, and return what came of each part."""
    name, begun = f"{release}-py{number}", time.monotonic()
    if (release, number) in KNOWN_WITHOUT:
        return Row(release, number, (KNOWN_WITHOUT[release, number],), False, None)
    python = find_python(number)
    if python is None:
        return Row(release, number, (f"python{number} was not found",), False, None)
    try:
        programs = make_environment(FOLDER / name, python, release)
    except NotInstallable as error:
        return Row(release, number, (f"cannot be installed: {error}",), True, None)
    parts = [_compare_listings(programs, newest)]
    for part, tests in (("replays", REPLAYS), ("silent-passes", SILENT_PASSES)):
        parts.append(_pytest(programs, tests, FOLDER / f"{name}-{part}.log"))
    live = (f"skipped: {why_not_live}", False) if why_not_live else _pytest(programs, LIVE, FOLDER / f"{name}-live.log")
    texts = [*(text for text, _ in parts), live[0]]
    return Row(release, number, tuple(texts), any(failed for _, failed in (*parts, live)), time.monotonic() - begun)


def main(words: Sequence[str]) -> int:
    """Try the cells, print the table, and return the exit code."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    wanted = words or releases()
    unknown = [name for name in wanted if name not in releases()]
    if unknown:
        print(
            f"test-reframe: no lock of ReFrame {unknown[0]}, expected one of {', '.join(releases())}", file=sys.stderr
        )
        return _NOTHING
    numbers = os.environ.get("PYTHONS", "").split() or PYTHONS
    why_not_live = "LIVE=0" if os.environ.get("LIVE") == "0" else namespaces_refused()
    newest = {system: listed_tests(Path(sys.executable).parent, system) for system in SYSTEMS}
    rows = []
    for release in wanted:
        for number in numbers:
            rows.append(try_cell(release, number, newest, why_not_live))
            print(_line(rows[-1]), flush=True)
    print("\n| ReFrame | Python | listed | replays | silent passes | live | s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        print(_line(row))
    if any(row.failed for row in rows):
        return _FAILED
    return 0 if any(row.seconds is not None for row in rows) else _NOTHING


def _line(row: Row) -> str:
    parts = [*row.parts, *("–" for _ in range(4 - len(row.parts)))]
    seconds = "–" if row.seconds is None else f"{row.seconds:.0f}"
    return f"| {row.release} | {row.python} | {' | '.join(parts)} | {'FAIL ' if row.failed else ''}{seconds} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
