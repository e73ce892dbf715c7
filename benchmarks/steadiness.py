"""Whether the virtual cluster's verdicts hold on a busy machine: the whole matrix, again and again, under a named load.

    .venv/bin/python benchmarks/steadiness.py --load busy --runs 20
    .venv/bin/python benchmarks/steadiness.py --load busy --runs 10 --fault 'vn2 hsn1 slow 60' -- -n ImbUniband -p mpich
    .venv/bin/python benchmarks/steadiness.py                     # what the file has by now

Loads: ``idle`` (none), ``busy`` (a loop on each processor), ``bursts`` (16 processes that each compute 0.2 s of every
2 s), ``tests`` (the tests that measure nothing, on two processors, again and again). Each run is one `railyard run` of
the clone's own virtual cluster; words behind ``--`` are its options. What came of each is one line of the file
(``--file``, benchmarks/data/steadiness.jsonl), written when the run has ended: an interrupted series goes on where it
was, and counts as many runs as were made. Processors that the hypervisor gave to others are part of every line, since
no machine is idle because its user is.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from railyard.record import FILE_NAME, Record, read_records
from railyard.testbed.starvation import stolen_s

CLONE = Path(__file__).parents[1]
RAILYARD = (sys.executable, "-m", "railyard")
BURSTS = 16
COMPUTE_S, PERIOD_S = 0.2, 2.0
_BUSY = "while True: pass"
_BURST = f"""
import time
while True:
    end = time.monotonic() + {COMPUTE_S}
    while time.monotonic() < end: pass
    time.sleep({PERIOD_S - COMPUTE_S})
"""
_TESTS = "while :; do {python} -m pytest -q -m 'not measures and not full' -n 2 --dist loadfile; done"


def commands(load: str) -> list[list[str]]:
    """Return the commands that make a load, one a process that is started beside the run."""
    if load == "busy":
        return [[sys.executable, "-c", _BUSY]] * (os.cpu_count() or 1)
    if load == "bursts":
        return [[sys.executable, "-c", _BURST]] * BURSTS
    if load == "tests":
        return [["sh", "-c", _TESTS.format(python=shlex.quote(sys.executable))]]
    return []


@contextmanager
def loaded(load: str) -> Iterator[None]:
    """Keep the machine busy for the time of a block."""
    running = [
        subprocess.Popen(words, cwd=CLONE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for words in commands(load)
    ]
    try:
        yield
    finally:
        for one in running:
            os.killpg(one.pid, 9)
            one.wait()


def one_run(load: str, fault: str, options: list[str]) -> dict[str, Any]:
    """Return what one run under a load came to, with a fault made before it and undone behind it."""
    if fault:
        subprocess.run([*RAILYARD, "testbed", "up"], cwd=CLONE, check=True, capture_output=True)
        subprocess.run([*RAILYARD, "testbed", "degrade", *fault.split()], cwd=CLONE, check=True, capture_output=True)
    known = set(run_folders())
    try:
        with loaded(load):
            begun, stolen = time.monotonic(), stolen_s()
            done = subprocess.run([*RAILYARD, "run", "--system", "virtual", *options], cwd=CLONE, capture_output=True)
            elapsed_s, now = time.monotonic() - begun, stolen_s()
    finally:
        if fault:
            subprocess.run([*RAILYARD, "testbed", "down"], cwd=CLONE, check=True, capture_output=True)
    made = [folder for folder in run_folders() if folder not in known]  # none where the run did not begin
    records = {record.case: record for folder in made for record in read_records(folder / FILE_NAME).records}
    steal = None if now is None or stolen is None else (now - stolen) / elapsed_s / (os.cpu_count() or 1)
    return {
        "load": load,
        "fault": fault,
        "options": options,
        "run": " ".join(folder.name for folder in made),
        "exit": done.returncode,
        "seconds": round(elapsed_s, 1),
        "steal": None if steal is None else round(steal, 3),
        **outcome(list(records.values())),
    }


def run_folders() -> list[Path]:
    """Return the folders of all runs of the clone that have records."""
    return [file.parent for file in sorted((CLONE / ".railyard/runs").glob(f"*/{FILE_NAME}"))]


def outcome(records: list[Record]) -> dict[str, Any]:
    """Return counts of states, who was not good, what was measured again, and who was blamed."""
    states = [record.state for record in records]
    suspects = [one for record in records for one in record.verdict.suspects]
    return {
        "states": {state: states.count(state) for state in sorted(set(states))},
        "red": {record.case: record.verdict.sentence for record in records if record.state in ("fail", "disturbed")},
        "again": sum(bool(record.attempts) for record in records),
        "blamed": sorted({" ".join(filter(None, (one.kind, one.node, one.rail))) for one in suspects}),
    }


def summary(lines: list[dict[str, Any]]) -> str:
    """Return a table, a row a load and fault: how many runs ended how, and whom they blamed."""
    rows = [
        "| load | fault | runs | exit 0 | fail | disturbed | measured again | blamed (runs) | seconds | stolen |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    keys = ("fail", "disturbed")
    for load, fault in dict.fromkeys((line["load"], line["fault"]) for line in lines):
        same = [line for line in lines if (line["load"], line["fault"]) == (load, fault)]
        blamed = [name for line in same for name in line["blamed"]]
        counted = ", ".join(f"{name} ({blamed.count(name)})" for name in dict.fromkeys(blamed)) or "nobody"
        times, steal = [line["seconds"] for line in same], [line["steal"] or 0.0 for line in same]
        cells = (
            load, fault or "none", len(same), sum(line["exit"] == 0 for line in same),
            *(sum(line["states"].get(key, 0) for line in same) for key in keys),
            sum(line["again"] for line in same), counted, f"{min(times):.0f} to {max(times):.0f}",
            f"{100 * min(steal):.0f} to {100 * max(steal):.0f} %",
        )  # fmt: skip
        rows.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", choices=("idle", "busy", "bursts", "tests"))
    parser.add_argument("--runs", type=int, default=1, help="so many runs of this load and fault in the file")
    parser.add_argument("--fault", default="", help="words of `railyard testbed degrade`")
    parser.add_argument("--file", type=Path, default=CLONE / "benchmarks/data/steadiness.jsonl")
    parser.add_argument("options", nargs="*", help="options of `railyard run`, behind --")
    asked = parser.parse_args()
    lines = [json.loads(line) for line in asked.file.read_text().splitlines()] if asked.file.exists() else []
    while asked.load:
        same = [line for line in lines if (line["load"], line["fault"]) == (asked.load, asked.fault)]
        if len(same) >= asked.runs:
            break
        lines.append(one_run(asked.load, asked.fault, asked.options))
        with asked.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(lines[-1]) + "\n")
        shown = ("load", "fault", "exit", "seconds", "steal", "states", "again", "blamed", "red")
        print({key: lines[-1][key] for key in shown}, flush=True)
    print(summary(lines))


if __name__ == "__main__":
    main()
