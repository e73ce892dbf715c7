"""Hits many runs by signals at random moments, and checks what is left, lost or blamed, and that the next run is right.

    .venv/bin/python benchmarks/kills.py [--kills 100] [--seed 22] [--kinds replay,virtual,slurm] [--resume FILE]

Runs of two tests, of the kinds in turn: replayed outputs, the virtual cluster, and the same under Slurm. Each is hit at
a random moment between its start and its end, by one of the blows of `tests/made/kills.py` in turn: SIGKILL of ReFrame,
of `railyard run`, of its process group, of both groups, of a rank or the first process of a node; SIGTERM, SIGHUP and
Ctrl-C, once and twice. After each: no process and no mount is left 30 s later; each reported test has its record; a run
that is called whole has all records; no healthy part is named; `railyard results verify` finds no problem; the next run
is right. It needs the stacks in .stacks (make stacks) for the last two kinds, and runs in a copy of the site folder, so
the clone's own runs are not touched. The same seed gives the same blows. ``--resume`` keeps what is done in FILE, one
line of JSON each, and skips it the next time. Exit code: the number of kills with a problem, at most 100.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

CLONE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CLONE))

from resume import earlier_results, keep_result  # noqa: E402

from railyard.base.values import one_line  # noqa: E402 (the tests are not an installed package)
from tests.made.kills import KINDS, Kind, check_next, kill_one, start_run  # noqa: E402


def main() -> int:
    """Print one line per kill and one for all."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--kills", type=int, default=100)
    reader.add_argument("--seed", type=int, default=22)
    reader.add_argument("--kinds", default=",".join(KINDS), help=f"some of {', '.join(KINDS)}")
    reader.add_argument("--patience", type=float, default=600.0, help="seconds that one run may take")
    reader.add_argument("--resume", type=Path, help="keep what is done in this file, and go on from it")
    asked = reader.parse_args()
    kinds = asked.kinds.split(",")
    if not set(kinds) <= set(KINDS):
        reader.error(f"--kinds: found {asked.kinds}, expected some of {', '.join(KINDS)}")
    series = {"seed": asked.seed, "kinds": asked.kinds}
    done = {result["number"]: result for result in earlier_results(asked.resume, series)}
    wrong = Counter({what["kind"]: 0 for what in done.values()})
    wrong.update(what["kind"] for what in done.values() if what["problems"])
    with tempfile.TemporaryDirectory(prefix="railyard-kills-") as folder:
        home = make_site(Path(folder) / "site")
        whole_s: dict[str, float] = {}
        for number in (number for number in range(asked.kills) if number not in done):
            name = kinds[number % len(kinds)]
            kind, of_kind = KINDS[name], number // len(kinds)
            whole_s[name] = whole_s.get(name) or _whole_run_s(home, kind)
            killed = kill_one(home, kind, of_kind, asked.seed, asked.patience, whole_s[name])
            problems = (*killed.problems, *check_next(home, kind, asked.patience))
            wrong[name] += bool(problems)
            what = one_line(killed.said.splitlines()[-1])[:120] if killed.said else "nothing failed"
            result = "; ".join(problems) or "nothing left, nothing lost, nobody blamed"
            print(f"{number:3} {name:<7} {killed.blow} after {killed.after_s:4.1f} s: {result} ({what})", flush=True)
            keep_result(asked.resume, series, {"number": number, "kind": name, "problems": problems})
    print(f"seed {asked.seed}: {asked.kills} kills of runs of {asked.kinds}: {wrong.total()} with a problem")
    return min(wrong.total(), 100)


def make_site(home: Path) -> Path:
    """Return a new site folder with the clone's systems, references and checks, its recordings and stacks linked."""
    home.mkdir()
    for name in ("systems", "references", "checks"):
        shutil.copytree(CLONE / name, home / name)
    shutil.copy(CLONE / "reframe_settings.py", home)
    for name in ("recordings", ".stacks"):
        (home / name).symlink_to(CLONE / name)
    return home


def _whole_run_s(home: Path, kind: Kind) -> float:
    """Return how long a run takes that nothing hits, in seconds. Exits if it cannot run."""
    began = time.monotonic()
    with start_run(home, kind) as front:
        printed, _ = front.communicate()
    if front.returncode not in (0, 1):
        raise SystemExit(f"a run of {kind.system} that nothing hit exited {front.returncode}:\n{printed[-2000:]}")
    return time.monotonic() - began


if __name__ == "__main__":
    sys.exit(main())
