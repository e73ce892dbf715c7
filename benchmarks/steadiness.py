"""Whether the virtual cluster's verdicts hold on a busy machine: runs the whole matrix again and again under a load.

    .venv/bin/python benchmarks/steadiness.py --load busy --runs 20
    .venv/bin/python benchmarks/steadiness.py --load busy --runs 10 --fault 'vn2 hsn1 slow 60' -- -n ImbUniband -p mpich
    .venv/bin/python benchmarks/steadiness.py --load busy --runs 10 --demonstrations
    .venv/bin/python benchmarks/steadiness.py                     # print what the file has so far

Loads: ``idle`` (none), ``busy`` (a loop on each processor), ``bursts`` (16 processes that each compute 0.2 s of every 2
s), ``tests`` (the tests that do not measure, on two processors, again and again). Each run is one `railyard run` of the
clone's own virtual cluster; words after ``--`` are its options. With ``--demonstrations`` each run is all live tests
that plant a fault and check who is named for it. The result of each is one line of the file (``--file``,
benchmarks/data/steadiness.jsonl), written when the run has ended: an interrupted series goes on where it was, and
counts the runs that were made. Every line has the processor time that the hypervisor gave to others, since a machine is
not idle only because its user is. It also says whether the user may raise the cluster's priority: root may, others may
not (root without that right: `setpriv --bounding-set=-sys_nice --inh-caps=-sys_nice .venv/bin/python …`).
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from railyard.provision.testbed.boot import front
from railyard.provision.testbed.starvation import stolen_s
from railyard.results.record.file import FILE_NAME, read_records
from railyard.results.record.form import Record

CLONE = Path(__file__).parents[1]
RAILYARD = (sys.executable, "-m", "railyard")
#: The tests that plant a fault and check who is named: those of each rule, and faults of a rail that are hard to see.
DEMONSTRATIONS = (
    "test_demonstrations.py::test_a_slow_rail_of_one_node_is_named",
    "test_demonstrations.py::test_an_unplugged_rail_is_named_at_once",
    "test_demonstrations.py::test_a_stack_told_one_interface_fails_although_it_works",
    "test_demonstrations.py::test_traffic_over_the_management_network_fails",
    "test_demonstrations.py::test_a_rail_at_nine_tenths_is_found_by_a_stream_over_it_alone",
    "test_path_demonstrations.py::test_packets_lost_on_a_rail_are_that_rails_and_nobody_elses",
    "test_path_demonstrations.py::test_packets_lost_one_way_in_a_ping_pong_are_that_rails",
    "test_path_demonstrations.py::test_swapped_cables_are_named_and_no_counter_is_called_wrong",
    "test_late_rails.py",
    "test_printed_pace.py",
    "test_named_parts.py",
    "test_set_up_faults.py",
    "test_kills.py::test_a_stopped_rank_ends_with_the_time_limit_and_its_node_is_named",
    "test_kills.py::test_a_rank_that_hangs_in_the_kernel_ends_with_the_time_limit_and_its_node_is_named",
)
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
    """Return the commands that make a load, one per process that is started beside the run."""
    if load == "busy":
        return [[sys.executable, "-c", _BUSY]] * (os.cpu_count() or 1)
    if load == "bursts":
        return [[sys.executable, "-c", _BURST]] * BURSTS
    if load == "tests":
        return [["sh", "-c", _TESTS.format(python=shlex.quote(sys.executable))]]
    return []


@contextmanager
def load_machine(load: str) -> Iterator[None]:
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
    """Return the result of one run under a load, with a fault made before it and undone after it."""
    if fault:
        subprocess.run([*RAILYARD, "testbed", "up"], cwd=CLONE, check=True, capture_output=True)
        subprocess.run([*RAILYARD, "testbed", "degrade", *fault.split()], cwd=CLONE, check=True, capture_output=True)
    known = set(run_folders())
    try:
        done, elapsed_s, steal = run_under(load, [*RAILYARD, "run", "--system", "virtual", *options])
    finally:
        if fault:
            subprocess.run([*RAILYARD, "testbed", "down"], cwd=CLONE, check=True, capture_output=True)
    made = [folder for folder in run_folders() if folder not in known]  # none if the run did not begin
    records = {record.test.case: record for folder in made for record in read_records(folder / FILE_NAME).records}
    return {
        "load": load,
        "fault": fault,
        "priority": priority(),
        "options": options,
        "run": " ".join(folder.name for folder in made),
        "exit": done.returncode,
        "seconds": round(elapsed_s, 1),
        "steal": steal,
        **outcome(list(records.values())),
    }


def priority() -> str:
    """Return whether programs on the cluster have priority over all others here."""
    return "raised" if front() else "as it is"


def run_under(load: str, words: list[str]) -> "tuple[subprocess.CompletedProcess[bytes], float, float | None]":
    """Return a finished command that ran under a load, its seconds, and the share that the hypervisor took meanwhile.

    The share is of all processors' time; None if the kernel does not say.
    """
    with load_machine(load):
        begun, stolen = time.monotonic(), stolen_s()
        done = subprocess.run(words, cwd=CLONE, capture_output=True)
        elapsed_s, now = time.monotonic() - begun, stolen_s()
    if stolen is None or now is None:
        return done, elapsed_s, None
    return done, elapsed_s, round((now - stolen) / elapsed_s / (os.cpu_count() or 1), 3)


def demonstrations(load: str) -> list[dict[str, Any]]:
    """Return how each demonstration of a fault ended under a load. Raises SystemExit if the tests did not run."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as file:
        tests = [f"tests/e2e/{test}" for test in DEMONSTRATIONS]
        done, _, steal = run_under(load, [sys.executable, "-m", "pytest", "-q", f"--junit-xml={file.name}", *tests])
        if done.returncode not in (0, 1):  # pytest's codes for "all passed" and "some failed"
            sys.exit(f"the demonstrations did not run:\n{done.stdout.decode()}{done.stderr.decode()}")
        cases = list(ElementTree.parse(file.name).iter("testcase"))
    same = {"load": load, "priority": priority(), "steal": steal}
    return [
        {**same, "demonstration": case.get("name"), "seconds": float(case.get("time", 0)), **ending(case)}
        for case in cases
    ]


def ending(case: ElementTree.Element) -> dict[str, str]:
    """Return how one test ended, and why if it was not good."""
    for part in case:
        if part.tag in ("failure", "error"):
            return {"end": "failed", "why": part.get("message", "")}
        if part.tag == "skipped":
            why = part.get("message", "")
            return {"end": "disturbed" if "disturbed: " in why else "skipped", "why": why}
    return {"end": "named"}


def run_folders() -> list[Path]:
    """Return the folders of all runs of the clone that have records."""
    return [file.parent for file in sorted((CLONE / ".railyard/runs").glob(f"*/{FILE_NAME}"))]


def outcome(records: list[Record]) -> dict[str, Any]:
    """Return counts of states, which tests were not good, what was measured again, and who was blamed."""
    states = [record.found.state for record in records]
    suspects = [one for record in records for one in record.found.verdict.suspects]
    return {
        "states": {state: states.count(state) for state in sorted(set(states))},
        "red": {record.test.case: record.found.verdict.sentence for record in records if record.fails},
        "again": sum(bool(record.how.attempts) for record in records),
        "blamed": sorted({" ".join(filter(None, (one.kind, one.node, one.rail))) for one in suspects}),
    }


def summary(lines: list[dict[str, Any]]) -> str:
    """Return a table with one row per load and fault: how many runs ended how, and who was blamed in how many."""
    rows = [
        "| load | fault | priority | runs | exit 0 | fail | disturbed | measured again | blamed | seconds | stolen |",
        f"|{' --- |' * 11}",
    ]
    for same in group_alike(lines, "load", "fault", "priority"):
        blamed = [name for line in same for name in line["blamed"]]
        counted = ", ".join(f"{name} ({blamed.count(name)})" for name in dict.fromkeys(blamed)) or "nobody"
        cells = (
            same[0]["load"], same[0]["fault"] or "none", same[0]["priority"], len(same),
            sum(line["exit"] == 0 for line in same),
            *(sum(line["states"].get(key, 0) for line in same) for key in ("fail", "disturbed")),
            sum(line["again"] for line in same), counted, *format_times(same),
        )  # fmt: skip
        rows.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(rows)


def summary_of_demonstrations(lines: list[dict[str, Any]]) -> str:
    """Return a table with one row per load and demonstration: how often the fault was named."""
    ends = ("named", "disturbed", "failed", "skipped")
    rows = [f"| load | demonstration | priority | runs | {' | '.join(ends)} | seconds | stolen |", f"|{' --- |' * 10}"]
    for same in group_alike(lines, "load", "demonstration", "priority"):
        counts = [sum(line["end"] == end for line in same) for end in ends]
        cells = (
            *(same[0][name] for name in ("load", "demonstration", "priority")),
            len(same),
            *counts,
            *format_times(same),
        )
        rows.append(f"| {' | '.join(str(cell) for cell in cells)} |")
    return "\n".join(rows)


def group_alike(lines: list[dict[str, Any]], *names: str) -> list[list[dict[str, Any]]]:
    """Return the lines in groups that agree in some fields, in the order of each group's first line."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for line in lines:
        groups.setdefault(tuple(line[name] for name in names), []).append(line)
    return list(groups.values())


def format_times(lines: list[dict[str, Any]]) -> tuple[str, str]:
    """Return the range of the runs' times, and of the processor time stolen from them."""
    times, steal = [line["seconds"] for line in lines], [100 * (line["steal"] or 0.0) for line in lines]
    return span(times), f"{span(steal)} %"


def span(values: list[float]) -> str:
    """Return the smallest and the largest of some numbers, or one number if they are the same."""
    least, most = f"{min(values):.0f}", f"{max(values):.0f}"
    return least if least == most else f"{least} to {most}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", choices=("idle", "busy", "bursts", "tests"))
    parser.add_argument("--runs", type=int, default=1, help="how many runs of this load and fault to have in the file")
    parser.add_argument("--fault", default="", help="words of `railyard testbed degrade`")
    parser.add_argument("--demonstrations", action="store_true", help="run the live tests that plant a fault, instead")
    parser.add_argument("--file", type=Path, default=CLONE / "benchmarks/data/steadiness.jsonl")
    parser.add_argument("options", nargs="*", help="options of `railyard run`, after --")
    asked = parser.parse_args()
    if asked.demonstrations and (asked.fault or asked.options):
        parser.error("--demonstrations: found --fault or options of a run, expected neither: each test has its own")
    lines = [json.loads(line) for line in asked.file.read_text().splitlines()] if asked.file.exists() else []
    while asked.load and runs_made(lines, asked) < asked.runs:
        if asked.demonstrations:
            new = demonstrations(asked.load)
        else:
            new = [one_run(asked.load, asked.fault, asked.options)]
        with asked.file.open("a", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in new)
        print(*new, sep="\n", flush=True)
        lines += new
    print(summary([line for line in lines if "demonstration" not in line]), end="\n\n")
    print(summary_of_demonstrations([line for line in lines if "demonstration" in line]))


def runs_made(lines: list[dict[str, Any]], asked: argparse.Namespace) -> int:
    """Return how many runs of the requested kind the file has so far; with demonstrations, how many of each."""
    mine = [line for line in lines if (line["load"], line["priority"]) == (asked.load, priority())]
    if asked.demonstrations:
        return min(
            map(len, group_alike([line for line in mine if "demonstration" in line], "demonstration")), default=0
        )
    return sum(line.get("fault") == asked.fault for line in mine)


if __name__ == "__main__":
    main()
