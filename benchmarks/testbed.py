"""How long the virtual cluster takes to come up and to go down.

    .venv/bin/python benchmarks/testbed.py [--repeats 7]

Wall-clock seconds of `Testbed.bring_up()` and `take_down()` for the default cluster (4 nodes, management network, two
rails), and of the two commands (each a process of its own), in turns. Goal: about 1 s up, about 0.5 s down.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from sidebyside import spread

from railyard.provision.testbed.cluster import Testbed


def main() -> None:
    """Print a line for each of the four."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--repeats", type=int, default=7)
    asked = reader.parse_args()
    seen: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "systems").mkdir()
        bed = Testbed(home)
        for _ in range(asked.repeats):
            seen.setdefault("Testbed.bring_up()", []).append(_seconds(bed.bring_up))
            seen.setdefault("Testbed.take_down()", []).append(_seconds(bed.take_down))
            seen.setdefault("railyard testbed up", []).append(_seconds(lambda: _command(home, "up")))
            seen.setdefault("railyard testbed down", []).append(_seconds(lambda: _command(home, "down")))
    for name, values in seen.items():
        print(f"{name:<22} {spread(values)} s")


def _seconds(act: Callable[[], object]) -> float:
    start = time.monotonic()
    act()
    return time.monotonic() - start


def _command(home: Path, word: str) -> None:
    program = str(Path(sys.executable).with_name("railyard"))
    environment = {**os.environ, "RAILYARD_HOME": str(home)}
    subprocess.run([program, "testbed", word], env=environment, check=True, capture_output=True)


if __name__ == "__main__":
    main()
