"""How fast the parsers read: MB/s of each at 1 and 10 MB, and how the time grows.

    .venv/bin/python benchmarks/parsers.py [--repeats 3]

The text is an output of the tool, its tables repeated until the size is reached. Growth is the time at 10 MB over ten
times that at 1 MB: 1 for a parser that is linear, 10 for one that is quadratic.
"""

import argparse
import re
import statistics
import time
from collections.abc import Mapping

from sidebyside import CLONE, RECORDED, in_turns, spread

from railyard.parsers import PARSERS

NETPIPE = CLONE / "tests" / "recordings" / "netpipe3.7.2-pingpong-openmpi4.1.4-veth.out"
#: Written as OSU 7.5 prints it: no recording of OSU is in the clone.
OSU = "\n# OSU MPI Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n" + "".join(
    f"{2**n:<10}{2**n / 100:20.2f}\n" for n in range(23)
)


def texts(size_bytes: int) -> Mapping[str, str]:
    """Return an output of at least this size for each parser."""
    imb = RECORDED.read_text(encoding="utf-8")
    table = imb[imb.index("#-------", imb.index("# PingPong\n")) : imb.index("# All processes")]
    lines = NETPIPE.read_text(encoding="utf-8").splitlines(keepends=True)
    rows = [line for line in lines if re.match(r" *\d+:", line)]
    before, after = lines[: lines.index(rows[0])], lines[lines.index(rows[-1]) + 1 :]
    numbered = (re.sub(r"^ *\d+", f"{n:3d}", rows[n % len(rows)]) for n in range(size_bytes // len(rows[0])))
    return {
        "imb": imb.replace(table, table * (size_bytes // len(table) + 1)),
        "netpipe": "".join([*before, *numbered, *after]),
        "osu": OSU * (size_bytes // len(OSU) + 1),
    }


def main() -> None:
    """Print a line a parser."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--repeats", type=int, default=3)
    asked = reader.parse_args()
    small, large = texts(1_000_000), texts(10_000_000)
    print("parser   MB/s at 1 MB            MB/s at 10 MB           growth")
    for tool in PARSERS:
        one, ten = in_turns(asked.repeats, lambda t=tool: _rate(t, small[t]), lambda t=tool: _rate(t, large[t]))  # type: ignore[misc]
        growth = statistics.median(one) / statistics.median(ten)
        print(f"{tool:<8} {spread(one, 1):<23} {spread(ten, 1):<23} {growth:.2f}")


def _rate(tool: str, text: str) -> float:
    """Return 10^6 characters a second of CPU; ends where nothing was read."""
    start = time.process_time()
    parsed = PARSERS[tool](text)
    taken = time.process_time() - start
    if not any(table.rows for table in parsed.tables):
        raise SystemExit(f"{tool}: the parser read no row of {len(text)} characters")
    return len(text) / 1e6 / taken


if __name__ == "__main__":
    main()
