"""Whether a record from elsewhere can harm: hostile records of each field and type, given to all that reads them.

    .venv/bin/python benchmarks/hostile_records.py [--records 100000] [--processes 2] [--seed 1] [--resume FILE]

A hostile record is a genuine one (docs/screenshots, tests/results/record, a made one with rows of pairs) in which one
to three places are changed: a value of any type, a path to a bait outside of the folder, a device, a number that no
float holds, a text of control characters or formulas, a list or object nested deep, a key removed or renamed, a format
number of any kind. Beside the records lie links to the bait, a FIFO, an endless device and a folder, with the names of
files that a record may name. Each folder of FOLDER_OF records is merged into a site and read by COMMANDS.

A finding is an exception that the command line does not turn into a sentence, an exit code other than 0, 1 and 2, an
opened file that is neither in the site nor in the foreign folder nor part of a program, and the bait's text in any
output. So is a command that takes more than MOST_S seconds or a process of more than MOST_MEMORY bytes. It prints each
kind of finding once, and the largest memory of a process (docs/explanation/security.md has the figures). Exit code: the
number of kinds of findings.
"""

import argparse
import contextlib
import copy
import gzip
import io
import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

CLONE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CLONE))

from railyard.cli.main import main as command_line  # noqa: E402 (the tests are not an installed package)
from railyard.results.record.file import append_record  # noqa: E402
from railyard.results.record.form import FORMAT  # noqa: E402
from railyard.results.record.pair_rows import (  # noqa: E402
    PairsRecord,  # noqa: E402
    Row,
    pack_rows,
)
from tests.made.records import made_record  # noqa: E402

FOLDER_OF = 25  # records
MOST_S = 120  # beside other work a command takes up to 5 s
MOST_MEMORY = 1 << 30
#: Stored runs of an earlier format; the site of each folder has them too, so that there is something to compare with.
GENUINE = tuple(sorted((CLONE / "tests/results/record").glob("of_*/*/records.jsonl")))
BAIT = "the bait is read"
#: What each folder of records is given to. OUT is a new file of the site, FOREIGN the folder before it is merged.
COMMANDS = (
    "report FOREIGN", "report FOREIGN --format html -o OUT", "results show FOREIGN", "results verify FOREIGN",
    "compare 20261117T060000Z-ab12 FOREIGN", "results merge FOREIGN", "record last",
    "results verify", "results verify --json", "results list --tests", "results show last", "results export",
    "results export --format csv", "results export --scrub", "report", "report --why", "report --format html -o OUT",
    "report --format md", "report --format junit", "report --format csv", "report last5 --format html -o OUT",
    "compare 20261117T060000Z-ab12 2026112*", "compare last5:rails=1 :rails=2 --json", "history --all",
    "history -o OUT.html", "scaling", "export prometheus", "export sick", "export sick --as drain",
    "export sick --as ticket",
)  # fmt: skip
#: What the client library of Prometheus reads about its own process.
OF_PROMETHEUS = ("/proc/self/stat", "/proc/self/limits", "/proc/stat")
_STATE: dict[str, Any] = {"opened": []}


def genuine() -> list[list[dict[str, Any]]]:
    """Return records of runs that were made, as JSON values, by run: of the formats that are read, one with pairs."""
    texts = [gzip.decompress(path.read_bytes()) for path in sorted((CLONE / "docs/screenshots").glob("*/*.jsonl.gz"))]
    texts += [path.read_bytes() for path in GENUINE]
    found = [[json.loads(line) for line in text.splitlines()] for text in texts]
    file = pack_rows(3, [Row(0, 1, 0, 1, 40.0, 41.0, 20.0), Row(0, 1, 1, 2, 40.0, 41.0, 20.0)], ("hsn0",))
    values = ((None, 40.0, None), (41.0, None, 40.0), (None, 41.0, None))
    pairs = PairsRecord(("n1", "n2", "n3"), 4194304, values, expected=50.0, rows=file.told)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "records.jsonl"
        append_record(place, made_record(pairs=pairs))
        found.append([json.loads(place.read_text(encoding="utf-8"))])
    return found


def hostile_values(dice: random.Random, bait: Path) -> Any:
    """Return one value that no writer of records would write."""
    nested: Any = []
    for _ in range(dice.choice((3, 90, 900))):
        nested = [nested] if dice.random() < 0.5 else {"a": nested}
    return dice.choice((
        None, True, False, 0, -1, 1.5, 2**63, 10**300, -(10**4000), 1e308, float("nan"), float("inf"), -0.0, 5e-324,
        "", " ", "\0", "\ud800", "..", "../..", ".", "/", "/dev/zero", "/dev/stdin", "/proc/self/environ", str(bait),
        os.path.relpath(bait, "/x/y"), f"../{bait.name}", "pairs-0123456789abcdef.tsv.gz", "outputs/link.out", "fifo",
        "x" * dice.choice((300, 100_000)), "=cmd|'/c calc'!A0", "@SUM(1)", "+1", "\x1b]0;x\x07\x1b[2J", "a\nb\rc\td",
        "<script>alert(1)</script>", "]]>", "\"'`${HOME}$(id)", "%s%n{0}{x.__class__}", "2026-11-31T99:99:99Z",
        "NaN", "1e999", "virtual", "{home}", "~root", "n[1-99999999]", "n[1-3", [], {}, [None], [[]], [1, "a", None],
        {"a": 1}, {"": ""}, {"file": str(bait), "sha256": "0" * 64, "rows": 1, "steps": []}, list(range(2000)), nested,
    ))  # fmt: skip


def same_type(value: Any, dice: random.Random, bait: Path) -> Any:
    """Return a hostile value of the type of ``value``, which a reader of the form alone would take."""
    for _ in range(100):
        found = hostile_values(dice, bait)
        if type(found) is type(value):
            return found
    return value


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value within a JSON value, at most 500 deep: two nested lists may lie in each other."""
    if len(path) >= 500:
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from places(item, (*path, key))


def make_hostile(record: dict[str, Any], dice: random.Random, bait: Path) -> dict[str, Any]:
    """Return a record with one to three places changed; one in eight has another format number too."""
    made = copy.deepcopy(record)
    for _ in range(dice.randint(1, 3)):
        path = dice.choice([*places(made)] or [("format",)])
        holder: Any = made
        for key in path[:-1]:
            holder = holder[key]
        what = dice.random()
        if what < 0.1:
            del holder[path[-1]]
        elif what < 0.15 and isinstance(holder, dict):
            holder[dice.choice(("__class__", "x" * 300, "", "../bait", "format"))] = holder.pop(path[-1])
        elif what < 0.55:
            holder[path[-1]] = same_type(holder[path[-1]], dice, bait)
        else:
            holder[path[-1]] = hostile_values(dice, bait)
    if dice.random() < 0.125:
        made["format"] = dice.choice((0, 1, FORMAT, FORMAT + 1, -1, 1.0, "1", True, None, 10**30, [1], {}))
    return made


def line_of(record: dict[str, Any]) -> str:
    """Return a record's line; of one that is nested too deep for Python's own writer, one that is nested deeper."""
    try:
        return json.dumps(record)
    except RecursionError:
        return f'{{"format": {FORMAT}, "test": {"[" * 5000}{"]" * 5000}}}'


def make_folder(folder: Path, runs: list[list[dict[str, Any]]], dice: random.Random, bait: Path) -> None:
    """Write a foreign run: its records, and beside them files that are not what their names say."""
    folder.mkdir(parents=True)
    lines = [line_of(make_hostile(dice.choice(dice.choice(runs)), dice, bait)) for _ in range(FOLDER_OF)]
    if dice.random() < 0.2:
        lines.insert(dice.randrange(len(lines)), dice.choice(("{", "[]", "null", "\0", '{"format": 1', "9" * 5000)))
    (folder / "lines").write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogatepass")
    what = dice.random()
    if what < 0.02:
        os.mkfifo(folder / "records.jsonl")
    elif what < 0.06:
        (folder / "records.jsonl").symlink_to(dice.choice((bait, Path("/dev/zero"))))
    else:
        (folder / "lines").rename(folder / "records.jsonl")
    (folder / "outputs").mkdir()
    (folder / "outputs/link.out").symlink_to(bait)
    (folder / "pairs-0123456789abcdef.tsv.gz").symlink_to(dice.choice((bait, Path("/dev/zero"))))
    os.mkfifo(folder / "fifo")
    for name in ("matrix.json", "problems.json", "promised.json", "relations.json", "costs.json", "ended"):
        kind = dice.random()
        if kind < 0.2:
            (folder / name).symlink_to(dice.choice((bait, Path("/dev/zero"), folder / "nowhere")))
        elif kind < 0.3:
            os.mkfifo(folder / name)
        elif kind < 0.6:
            text = json.dumps(hostile_values(dice, bait))
            (folder / name).write_text(text, encoding="utf-8", errors="surrogatepass")


class _TooLateError(BaseException):
    """No Exception, which a command could turn into a sentence."""


def _end_late(number: int, frame: FrameType | None) -> None:
    raise _TooLateError(f"more than {MOST_S} s")


def _watch(event: str, given: tuple[Any, ...]) -> None:
    if event == "open" and isinstance(given[0], (str, bytes)):
        path = os.fsdecode(given[0])
        # The kernel refuses to open a link with O_NOFOLLOW.
        if not (given[2] & os.O_NOFOLLOW and os.path.islink(path)):
            _STATE["opened"].append(path)


def try_folder(number: int) -> tuple[int, Counter[str], int]:
    """Return the number of a folder, its findings with how often each occurred, and this process's memory in MB."""
    dice = random.Random(f"{_STATE['seed']}/{number}")
    found: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="railyard-hostile-") as scratch:
        bait = Path(scratch, "bait")
        bait.write_text(f"{BAIT}\n", encoding="utf-8")
        home = Path(scratch, "site")
        home.mkdir()
        for name in ("systems", "references"):
            shutil.copytree(CLONE / name, home / name)
        for file in GENUINE:
            shutil.copytree(file.parent, home / ".railyard/runs" / file.parent.name)
        foreign = Path(scratch, "foreign/.railyard/runs/20261121T060000Z-ab12")
        make_folder(foreign, _STATE["records"], dice, bait)
        os.environ["RAILYARD_HOME"] = str(home)
        for words in COMMANDS:
            argv = words.replace("OUT", str(home / f"out{len(words)}")).replace("FOREIGN", str(foreign)).split()
            found.update(try_command(argv, words, (home, foreign), bait))
    return number, found, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def try_command(argv: list[str], words: str, allowed: tuple[Path, ...], bait: Path) -> list[str]:
    """Run one command in this process and return what was wrong with it."""
    _STATE["opened"].clear()
    name = " ".join(words.split()[:2])
    said = io.StringIO()
    try:
        signal.alarm(MOST_S)
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = command_line(argv)
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 2
    except BaseException as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        return [f"{name}: {type(error).__name__} in {Path(last.filename).name}:{last.lineno}: {str(error)[:80]}"]
    finally:
        signal.alarm(0)
    wrong = [] if code in (0, 1, 2) else [f"{name}: exit code {code}"]
    outside = {path for path in _STATE["opened"] if is_outside(path, allowed)}
    wrong += [f"{name}: opened {path.replace(str(bait.parent), '')}" for path in sorted(outside)]
    written = [path.read_text("utf-8", "replace") for path in allowed[0].glob("out*") if path.is_file()]
    if any(BAIT in text for text in (said.getvalue(), *written)):
        wrong.append(f"{name}: the bait's text is in the output")
    return wrong


def is_outside(path: str, allowed: tuple[Path, ...]) -> bool:
    """Return whether an opened file is neither the site's, nor the foreign run's, nor a program's."""
    real = os.path.realpath(path)
    programs = (sys.prefix, sys.base_prefix, str(CLONE), "/usr", "/etc/localtime", "/dev/null")
    return path not in OF_PROMETHEUS and not real.startswith((*map(os.path.realpath, allowed), *programs))


def start(seed: int, records: list[list[dict[str, Any]]]) -> None:
    """Prepare a process: what it makes records from, its bounds, and the hook that sees each file that is opened."""
    _STATE.update(seed=seed, records=records)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    signal.signal(signal.SIGALRM, _end_late)
    sys.addaudithook(_watch)


def main() -> int:
    """Try all folders, print each kind of finding, and return how many kinds there are."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--records", type=int, default=100_000)
    reader.add_argument("--processes", type=int, default=2)
    reader.add_argument("--seed", type=int, default=1)
    reader.add_argument("--resume", type=Path, help="keep finished folders here, and skip them the next time")
    asked = reader.parse_args()
    folders = -(-asked.records // FOLDER_OF)
    before = [json.loads(line) for line in asked.resume.read_text().splitlines()] if _is_file(asked.resume) else []
    found: Counter[str] = Counter()
    memory = 0
    for one in before:
        found.update(one["found"])
        memory = max(memory, one["memory"])
    left = sorted({*range(folders)} - {one["folder"] for one in before})
    given = (asked.seed, genuine())
    with multiprocessing.Pool(asked.processes, start, given, maxtasksperchild=40) as pool:
        for number, wrong, used in pool.imap_unordered(try_folder, left):
            found.update(wrong)
            memory = max(memory, used)
            if asked.resume is not None:
                with asked.resume.open("a", encoding="utf-8") as stream:
                    stream.write(json.dumps({"folder": number, "found": wrong, "memory": used}) + "\n")
    for sentence, count in sorted(found.items()):
        print(f"{count:6} x {sentence}")
    print(f"{folders * FOLDER_OF} records, seed {asked.seed}: {len(found)} kinds of findings, at most {memory} MB")
    return min(len(found), 100)


def _is_file(path: Path | None) -> bool:
    return path is not None and path.is_file()


if __name__ == "__main__":
    sys.exit(main())
