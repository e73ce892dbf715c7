"""What a test with Railyard's base class costs ReFrame's own process, above trivial tests of bare ReFrame.

    .venv/bin/python benchmarks/overhead.py [--repeats 5] [--tests 60]

Both sides run the same number of tests, one at a time, log level info; each prints a recorded IMB output through a
shell script on this host. All rules judge our test, and it leaves a record; bare ReFrame looks for a line and a number.
Figures are user and system CPU of only the `reframe` process (without its children, the jobs). They are the slope
between a run of one test and a run of all, so ReFrame's start cancels out. Goal: at most 20 ms per test above bare.
"""

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from sidebyside import SINGLE, in_turns, sites, spread


def main() -> None:
    """Print the milliseconds per test of both sides, and the difference."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--repeats", type=int, default=5)
    reader.add_argument("--tests", type=int, default=60)
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        ours, bare, tests = sites(Path(folder), SINGLE, asked.tests)

        def slope(words: list[str]) -> float:
            one = own_seconds([*words, "-n", "Check0%", "-r"], 1)
            return 1000 * (own_seconds([*words, "-r"], tests) - one) / (tests - 1)

        mine, theirs = in_turns(asked.repeats, lambda: slope(ours), lambda: slope(bare))
    difference = statistics.median(mine) - statistics.median(theirs)
    print("CPU of the reframe process, ms a test")
    print(f"railyard      {spread(mine, 1)}")
    print(f"bare ReFrame  {spread(theirs, 1)}")
    print(f"above bare    {difference:.1f}")


def own_seconds(words: list[str], tests: int) -> float:
    """Return the CPU time of a `reframe` without its children: its own /proc/PID/stat, read before it is reaped."""
    with tempfile.TemporaryFile() as output:
        actions = [(os.POSIX_SPAWN_DUP2, output.fileno(), 1), (os.POSIX_SPAWN_DUP2, output.fileno(), 2)]
        pid = os.posix_spawn(words[0], [*words, "--exec-policy=serial"], os.environ, file_actions=actions)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        _, status = os.waitpid(pid, 0)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if status or f"Ran {tests}/{tests} test case(s)" not in text:
        raise SystemExit(f"{' '.join(words)}: exit {os.waitstatus_to_exitcode(status)}, not {tests} tests:\n{text}")
    # Fields 14 and 15 of the line, user and system time in clock ticks; the name before them may have blanks.
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
