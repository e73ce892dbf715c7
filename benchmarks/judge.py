"""What `railyard judge`, `gate` and `--help` cost, as a ratio to the import of click, which any command line pays.

    .venv/bin/python benchmarks/judge.py [--repeats 7] [--megabytes 3]

It runs, in turn: `python -c 'import click'`, `railyard --help`, `railyard judge` of one small output of osu_bw by a
link, of the same output repeated until it has so many MB, and `railyard gate` of this host. Figures are user and system
CPU seconds of the whole process. The ratio is that of the medians of one run, so it holds on a slower machine too.
Modules must be compiled already: one unmeasured round does that, unless PYTHONDONTWRITEBYTECODE is set. Goals: --help
at most twice click, judge of a small output and gate at most 5 times, 3 MB in at most 2 s.
"""

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sidebyside import in_turns, spread

#: In the form of OSU 7.5: a healthy curve of EDR, with its start of 0.9 us.
OSU = "# OSU MPI Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n" + "".join(
    f"{2**n:<10}{2**n / (0.2 + 2**n / 12_200):20.2f}\n" for n in range(23)
)
MEGABYTE = 10**6
RAILYARD = str(Path(sys.executable).with_name("railyard"))


def main() -> None:
    """Print one line per command: its CPU seconds, and how many times those of the import of click."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--repeats", type=int, default=7)
    reader.add_argument("--megabytes", type=float, default=3, help="size of the large output")
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        small, large = Path(folder, "small.out"), Path(folder, "large.out")
        small.write_text(OSU, encoding="utf-8")
        large.write_text(OSU * max(1, round(asked.megabytes * MEGABYTE / len(OSU))), encoding="utf-8")
        commands = {
            "python -c 'import click'": [sys.executable, "-c", "import click"],
            "railyard --help": [RAILYARD, "--help"],
            "railyard judge, small": [RAILYARD, "judge", str(small), "--link", "ib-edr"],
            f"railyard judge, {asked.megabytes:g} MB": [RAILYARD, "judge", str(large), "--link", "ib-edr"],
            "railyard gate, this host": [RAILYARD, "gate", "--system", "local", "--state", str(Path(folder, "gate"))],
        }
        for words in commands.values():
            cpu_seconds(words)
        taken = in_turns(asked.repeats, *(lambda words=words: cpu_seconds(words) for words in commands.values()))
    least = statistics.median(taken[0])
    print("command                   CPU, s                  ratio")
    for name, values in zip(commands, taken, strict=True):
        print(f"{name:<25} {spread(values, 3):<23} {statistics.median(values) / least:6.2f}")


def cpu_seconds(words: Sequence[str]) -> float:
    """Return the user and system CPU of a command; exits with its output if it does not end with 0."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: exit {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
