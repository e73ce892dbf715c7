"""How long a page takes, how large it is and how much memory it needs, for a run of 1,000 tests and for a year of runs.

    .venv/bin/python benchmarks/report.py [--repeats 3] [--plots]

It makes synthetic records (12 sizes, two curves, path proof of two nodes and three devices, command and environment as
in a real one) and writes them as runs do. Then it calls `railyard report … -o report.html` as a user does, including
the start. Goals: 1,000 tests below 2 s and 5 MB; 10,000 records of a year (303 runs of 33 tests, two curves each) below
10 s and 1 GB; and for twice the runs at most about twice the time. On a busy machine, compare the goals with the column
of CPU time. ``--plots`` adds matplotlib's time and size for a curve, for comparison.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from sidebyside import CLONE

from railyard.benchmarks.model import Figure
from railyard.results.record.form import (
    BandRecord,
    CurveRecord,
    FoundPart,
    HowPart,
    LimitRecord,
    MadePart,
    NodeTraffic,
    PathProofRecord,
    RailTraffic,
    Record,
    RuleRecord,
    TestPart,
    VerdictRecord,
    WherePart,
)

SIZES = tuple(4**n for n in range(12))
DAYS, CASES = 303, 33


def make_record(run: str, test: int, drift: float = 1.0) -> Record:
    """Return one record of usual length."""
    values = tuple(
        round(47.8 * drift * size / (size + 1500) * (1 + (test * 7 + size) % 11 / 1000), 2) for size in SIZES
    )
    source = "HTB class of the virtual cluster, on both ends of each veth; RFC 791, RFC 9293"
    limit = LimitRecord(
        48.2, "1 port x shaped-400 50.0 MB/s x 1460/1514 payload (tcp-shaped, MTU 1500) = 48.2 MB/s", source
    )
    low = tuple(None if size < 2**20 else 47.0 for size in SIZES)
    band = BandRecord("one-rail", "class", "94 % of the shaped rate, 2026-11-21", SIZES, low, (None,) * len(SIZES))
    bandwidth = CurveRecord("bandwidth", "MB/s", SIZES, values, 1, limit, (band,), 101.5, SIZES[-1], 98.7)
    rate = CurveRecord(
        "message_rate", "1/s", SIZES, tuple(value * 1e6 / size for value, size in zip(values, SIZES, strict=True))
    )
    names = ("complete", "metrics", "possible", "path", "reference")
    sentence = "bandwidth holds one-rail, at worst 101.5 % of one-rail at 1 MiB"
    rails = (
        RailTraffic("hsn0", True, 179511060, 211330, 0.99),
        RailTraffic("hsn1", False, 886, 1095, 0.0),
        RailTraffic("eth0", False, 886, 1095),
    )
    rules = tuple(RuleRecord(n + 1, name, "pass", sentence) for n, name in enumerate(names))
    case = f"ImbUniband{test} %rails=1 @virtual:fabric{test % 4}+stack{test % 3}"
    return Record(
        test=TestPart(
            *(case, f"ImbUniband{test}", "imb/Uniband", f"stack{test % 3}", 1), policy="single", hash="ed262fee"
        ),
        where=WherePart("virtual", f"fabric{test % 4}", ("vn1", "vn2")),
        how=HowPart(
            command=tuple(f"-genv SETTING_{index} value_of_some_length" for index in range(16)),
            environment={"railyard": "0.1.0", "kernel": "6.1.0", "mpi": f"stack{test % 3}"},
            path_proof=PathProofRecord(
                "proven", sentence, 178956960, tuple(NodeTraffic(n, rails) for n in ("vn1", "vn2"))
            ),
        ),
        found=FoundPart(
            "pass",
            VerdictRecord(sentence, rules=rules),
            (Figure("peak", values[-1], "MB/s", SIZES[-1]), Figure("n_half", 1500.0, "B")),
            (bandwidth, rate),
            references=("one-rail",),
        ),
        made=MadePart(run, f"{run[:8]}T06:00:12Z", elapsed_s=2.5, output=f"outputs/ImbUniband{test}.out"),
    )


def write_run(folder: Path, run: str, tests: int, drift: float = 1.0) -> None:
    """Write a run folder with this many records."""
    (folder / run).mkdir(parents=True)
    lines = (json.dumps(make_record(run, test, drift).to_json()) for test in range(tests))
    (folder / run / "records.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure_report(runs: list[Path], page: Path) -> tuple[float, float, float]:
    """Return seconds of processor and of wall time, and the peak of memory in MB, of one `railyard report`."""
    words = [sys.executable, "-m", "railyard", "report", *map(str, runs), "-o", str(page)]
    begin = time.perf_counter()
    pid = os.posix_spawn(words[0], words, os.environ | {"PYTHONPATH": str(CLONE)})
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{' '.join(words[:4])} …: exit {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - begin, usage.ru_maxrss / 1000


def print_costs(name: str, folder: Path, runs: int, tests: int, repeats: int) -> None:
    """Print one line: seconds, size and memory of a page of this many runs."""
    for index in range(runs):
        day = time.strftime("%Y%m%d", time.gmtime(1767225600 + 86400 * index))
        write_run(folder, f"{day}T060000Z-{index:04x}", tests, 1 - 0.02 * (index % 5) / 5)
    page = folder.with_suffix(".html")
    taken = [measure_report(sorted(folder.iterdir()), page) for _ in range(repeats)]
    cpu, wall = (statistics.median(each[column] for each in taken) for column in (0, 1))
    size = page.stat().st_size
    print(
        f"{name:<22} {runs * tests:>6} records {cpu:6.2f} s of CPU {wall:6.2f} s {size / 1e6:5.2f} MB  "
        f"{max(each[2] for each in taken):5.0f} MB of memory",
        flush=True,
    )


def measure_plots(folder: Path) -> None:
    """Print what a curve costs as a picture by matplotlib."""
    from railyard.results.report.plots import write_plots

    records = [make_record("20260101", test).with_fields(case=f"case{test}") for test in range(21)]
    write_plots(records[:1], folder, "png")
    begin = time.perf_counter()
    drawn = write_plots(records[1:], folder, "png")
    each = (time.perf_counter() - begin) / len(drawn)
    size = statistics.mean(path.stat().st_size for path in drawn)
    print(f"a curve by matplotlib: {each:.3f} s, {size / 1000:.1f} kB")


def main() -> None:
    """Print the table."""
    reader = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    reader.add_argument("--repeats", type=int, default=3)
    reader.add_argument("--plots", action="store_true")
    asked = reader.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        print_costs("a run of 1,000 tests", folder / "large", 1, 1000, asked.repeats)
        print_costs("half a year of runs", folder / "half", DAYS // 2, CASES, asked.repeats)
        print_costs("a year of runs", folder / "year", DAYS, CASES, asked.repeats)
        if asked.plots:
            measure_plots(folder / "plots")


if __name__ == "__main__":
    main()
