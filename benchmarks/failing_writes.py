"""Lets each write of a run fail, one run a place, and checks what is said and kept, and that the next run is right.

    .venv/bin/python benchmarks/failing_writes.py [--steps 0] [--draws 20] [--seed 1] [--resume FILE]

A whole replayed run makes about a hundred calls that write below .railyard: files that are opened, written, made or
renamed. Run after run, the first of them that fails is the next one, and all later ones fail too, as on a full disk.
The error is in turn that of a full disk, a quota, a read-only file system and a broken one (ENOSPC, EDQUOT, EROFS,
EIO). A small library that is loaded before the C library does it (data/failing_writes.c, built with `cc`). ``--steps``
is the most of these runs; 0: all. Then ``--draws`` runs each have a real file system (tmpfs) that is too small, half of
them by its bytes, half by its inodes, as drawn with the seed; these need root.

A finding is a traceback; an exit code that is neither 0, 1 nor 2; 0 without a record of each test; a sentence without
the error's words, or with what to do about another error; a problem that `railyard results verify` finds; a next run
that does not pass. ``--resume`` keeps what is done in FILE and skips it the next time. Exit code: the number of runs
with a finding, at most 100.
"""

import argparse
import errno
import os
import random
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

CLONE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CLONE))

from kills import make_site  # noqa: E402
from resume import earlier_results, keep_result  # noqa: E402

from railyard.base.errors import remedy  # noqa: E402 (the tests are not an installed package)
from tests.made.kills import KINDS, check_next, find_lost  # noqa: E402

SOURCE = CLONE / "benchmarks" / "data" / "failing_writes.c"
ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
KIND = KINDS["replay"]
PATIENCE_S = 600.0
#: The bytes and the files of two runs, about: a file system for one to this many of them is too small.
MOST_KIB, MOST_INODES = 700, 60
# The rest of the test is inside, too: the file system ends with its namespace.
_IN_TMPFS = """
mount -t tmpfs -o "$1" none .railyard || exit 99
shift
"$@" run --system {system} {words}; code=$?
mount -o remount,size=64m,nr_inodes=10k .railyard || exit 99
"$@" results verify >verified 2>&1
"$@" run --system {system} {words} >next 2>&1; echo $? >>next
exit $code
"""


def main() -> int:
    """Print one line per run and one for all."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--steps", type=int, default=0)
    reader.add_argument("--draws", type=int, default=20)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--resume", type=Path, help="keep what is done in this file, and go on from it")
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory(prefix="railyard-writes-") as folder:
        library, count = Path(folder, "failing_writes.so"), Path(folder, "count")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"], check=True)
        home = make_site(Path(folder) / "site")
        subprocess.run(_words("run"), cwd=home, env=_environment(home), capture_output=True, check=True)
        preload = {"LD_PRELOAD": str(library), "FAIL_BELOW": str(home / ".railyard"), "FAIL_COUNT": str(count)}
        most = _count_calls(home, preload, count)
        steps = range(1, (min(asked.steps, most) if asked.steps else most) + 1)
        series = {"seed": asked.seed}
        done = {result["what"]: tuple(result["found"]) for result in earlier_results(asked.resume, series)}
        for what in [f"call {step} of {most}" for step in steps] + [f"draw {draw}" for draw in range(asked.draws)]:
            if what in done:
                continue
            number = int(what.split()[1])
            if what.startswith("call"):
                error = ERRORS[number % len(ERRORS)]
                count.write_bytes(struct.pack("q", 0))
                more = {**preload, "FAIL_FROM": str(number), "FAIL_ERRNO": str(error)}
                cause, found = os.strerror(error), tuple(_one_run(home, more, error))
            else:
                cause, found = _small_place(Path(folder) / f"small-{number}", number, asked.seed)
            done[what] = found
            print(f"{what}, {cause}: {'; '.join(found) or 'right'}", flush=True)
            keep_result(asked.resume, series, {"what": what, "found": found})
    wrong = sum(map(bool, done.values()))
    print(f"seed {asked.seed}: {len(done)} runs with writes that fail: {wrong} with a finding")
    return min(wrong, 100)


def _words(*words: str) -> list[str]:
    more = ("--system", KIND.system, *KIND.words) if words == ("run",) else ()
    return [sys.executable, "-m", "railyard", *words, *more]


def _environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    return {**os.environ, "RAILYARD_HOME": str(home), "COLUMNS": "200", **(more or {})}


def _count_calls(home: Path, preload: Mapping[str, str], count: Path) -> int:
    """Return how many calls of a whole run write below .railyard."""
    count.write_bytes(struct.pack("q", 0))
    env = _environment(home, {**preload, "FAIL_FROM": "0", "FAIL_ERRNO": "0"})
    subprocess.run(_words("run"), cwd=home, env=env, capture_output=True, check=True)
    number: int = struct.unpack("q", count.read_bytes())[0]
    if not number:
        raise SystemExit("no call that writes was seen: this Python does not use the C library's functions")
    return number


def _one_run(home: Path, failing: Mapping[str, str], error: int) -> Iterator[str]:
    """Yield what is wrong about a run whose writes fail, and about the next one."""
    done = subprocess.run(
        _words("run"), cwd=home, env=_environment(home, failing), capture_output=True, text=True, check=False
    )
    yield from _wrong_words(done.stdout + done.stderr, done.returncode, error)
    if done.returncode == 2:  # then a reported test may have no record: the sentence says why
        yield from ["a traceback"] if "Traceback" in done.stdout + done.stderr else []
    else:
        yield from find_lost(home, done.stdout + done.stderr, done.returncode)
    yield from check_next(home, KIND, PATIENCE_S)


def _wrong_words(printed: str, code: int, error: int) -> Iterator[str]:
    """Yield what is wrong about the last sentence of a run that could not write."""
    if code == 2:
        last = printed.splitlines()[-1]
        for part in (os.strerror(error), remedy(OSError(error, ""))):
            if part.lower() not in last.lower():
                yield f"the last line lacks {part!r}: {last!r}"
    elif code != 0:
        yield f"exit {code}: {printed[-300:]!r}"


def _small_place(home: Path, number: int, seed: int) -> tuple[str, tuple[str, ...]]:
    """Return what a run has too little of, and what is wrong about it and the next one."""
    dice = random.Random(f"{seed} {number}")
    by_bytes = number % 2 == 0
    room = f"size={dice.randint(8, MOST_KIB)}k" if by_bytes else f"nr_inodes={dice.randint(4, MOST_INODES)}"
    make_site(home)
    (home / ".railyard").mkdir()
    script = _IN_TMPFS.format(system=KIND.system, words=" ".join(KIND.words))
    words = ["unshare", "--mount", "sh", "-c", script, "sh", room, *_words()]
    done = subprocess.run(words, cwd=home, env=_environment(home), capture_output=True, text=True, check=False)
    if done.returncode == 99:
        raise SystemExit(f"--draws: {done.stderr.strip()}: run it as root, or with --draws 0")
    printed = done.stdout + done.stderr
    found = [*_wrong_words(printed, done.returncode, errno.ENOSPC)]
    found += ["a traceback"] if "Traceback" in printed else []
    verified, next_run = ((home / name).read_text(encoding="utf-8") for name in ("verified", "next"))
    found += [] if ": 0 problems" in verified or "found no stored run" in verified else [f"verify: {verified!r}"]
    found += [] if next_run.endswith("\n0\n") else [f"the next run: {next_run[-300:]!r}"]
    return room, tuple(found)


if __name__ == "__main__":
    sys.exit(main())
