"""Kills one process in each of many runs of the virtual cluster, and checks what is left, lost or blamed.

    .venv/bin/python benchmarks/kills.py [--kills 100] [--seed 22] [--from 0]

It kills with SIGKILL, in turn: ReFrame, `railyard run`, a rank of the benchmark, the first process of a node, each at a
random moment (seed). Nothing may be left running. Every reported test must have its record. If `railyard run` itself
lived, every promised test must have a record. No healthy part may be named. It needs the stacks in .stacks (make
stacks) and runs in a copy of the site folder, so the clone's own runs are not touched. Exit code: the number of kills
with a problem, at most 100.
"""

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

CLONE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(CLONE))

from railyard.base.clean_text import one_line  # noqa: E402 (the tests are not an installed package)
from tests.made.kills import VICTIMS, kill_one  # noqa: E402


def main() -> int:
    """Print one line per kill and one for all."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--kills", type=int, default=100)
    reader.add_argument("--seed", type=int, default=22)
    reader.add_argument("--from", type=int, default=0, dest="first", help="begin with the kill of this number")
    reader.add_argument("--patience", type=float, default=600.0, help="seconds that one run may take")
    asked = reader.parse_args()
    wrong: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="railyard-kills-") as folder:
        home = Path(folder) / "site"
        home.mkdir()
        for name in ("systems", "references", "checks"):
            shutil.copytree(CLONE / name, home / name)
        shutil.copy(CLONE / "reframe_settings.py", home)
        (home / ".stacks").symlink_to(CLONE / ".stacks")
        for number in range(asked.first, asked.kills):
            killed = kill_one(home, number, asked.seed, asked.patience)
            wrong[killed.victim] += bool(killed.problems)
            said = "; ".join(killed.problems) or "nothing left, nothing lost, nobody blamed"
            what = one_line(killed.said.splitlines()[-1])[:120] if killed.said else "all passed"
            print(f"{number:3} {killed.victim:<8} after {killed.after_s:4.1f} s: {said} ({what})", flush=True)
            shutil.rmtree(home / ".railyard" / "runs", ignore_errors=True)
    bad = sum(wrong.values())
    print(f"seed {asked.seed}: {asked.kills - asked.first} kills of {', '.join(VICTIMS)}: {bad} with a problem")
    return min(bad, 100)


if __name__ == "__main__":
    sys.exit(main())
