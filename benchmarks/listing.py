"""What a listing costs with Railyard's base class and site configuration, compared with bare ReFrame on as many cases.

    .venv/bin/python benchmarks/listing.py [--repeats 5] [--cases 10 100 1000]

Both sides list the same number of check classes and cases, on the same partitions, environments and features, in turns;
figures are user CPU seconds. Goal: at most 1.25 times bare ReFrame at 100 and 1,000 cases, 0.15 s more at 10. The shape
`matrix` has five cases per check, about as on the virtual cluster; `single` has one (one rail, one stack).
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from sidebyside import MATRIX, SINGLE, in_turns, sites, spread, user_seconds

SHAPES = {"matrix": MATRIX, "single": SINGLE}


def main() -> None:
    """Print one line per shape, number of cases and listing."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--repeats", type=int, default=5)
    reader.add_argument("--cases", type=int, nargs="+", default=[10, 100, 1000])
    reader.add_argument("--shapes", nargs="+", choices=sorted(SHAPES), default=["matrix", "single"])
    asked = reader.parse_args()
    print("shape   list   cases  railyard, s            bare ReFrame, s        ratio  more, s")
    for name in asked.shapes:
        for cases in asked.cases:
            each = 5 if name == "matrix" else 1
            for option in ("-l", "-lC"):
                with tempfile.TemporaryDirectory() as folder:
                    line = _line(Path(folder), name, cases // each, option, asked.repeats)
                print(f"{name:<7} {option:<5} {cases:>6}  {line}")


def _line(folder: Path, shape: str, checks: int, option: str, repeats: int) -> str:
    ours, bare, cases = sites(folder, SHAPES[shape], checks)
    expected = f"Concretized {cases} test case(s)" if option == "-lC" else "Found "
    mine, theirs = in_turns(
        repeats,
        lambda: user_seconds([*ours, option], expected),
        lambda: user_seconds([*bare, option], expected),
    )
    a, b = statistics.median(mine), statistics.median(theirs)
    return f"{spread(mine):<22} {spread(theirs):<22} {a / b:5.2f}  {a - b:+.2f}"


if __name__ == "__main__":
    main()
