"""A run of the virtual cluster with one killed process: which one, when, and what must hold afterwards."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from railyard.base.paths import runs_folder
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.processes import find_inside, outermost_processes
from railyard.results.record.file import FILE_NAME, read_records
from railyard.results.record.run_promise import read_promised, why_short

#: Who gets SIGKILL: ReFrame, the front (`railyard run`), a rank of the benchmark, the first process of a node.
VICTIMS = ("reframe", "front", "rank", "node")
#: Two tests, so one may have ended when the other is killed.
WORDS = ("run", "--system", "virtual", "-n", "ImbPingPong%rails=1", "-p", "mpich", "-P", "policy=default")
#: Sentences that name a part of the hardware as sick.
_BLAMED = re.compile(r"\b(?:slow|sick|unplugged|suspect|lost packets)\b")
_ENDED = re.compile(r"^\(\d+/\d+\) ", re.MULTILINE)
_GONE_WITHIN_S = 60.0


@dataclass(frozen=True)
class Killed:
    """What was done, a sentence for each rule that was broken, and all that the run's records say."""

    victim: str
    after_s: float
    problems: tuple[str, ...]
    said: str = ""


def kill_one(home: Path, number: int, seed: int, patience_s: float, *, at_once: bool = False) -> Killed:
    """Start a run in a site folder, kill one of its processes at some moment, and check what it left.

    ``number`` and ``seed`` determine the victim and the moment. ``patience_s``: how long a run may take in total.
    ``at_once``: kill when the first test runs, so that the second test cannot be sound.
    """
    chance = random.Random(f"{seed} {number}")
    victim, after_s = VICTIMS[number % len(VICTIMS)], 0.0 if at_once else chance.uniform(0.0, 2.0)
    environment = {**os.environ, "RAILYARD_HOME": str(home), "COLUMNS": "200"}
    with subprocess.Popen(
        [sys.executable, "-m", "railyard", *WORDS],
        cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    ) as front:  # fmt: skip
        deadline = time.monotonic() + patience_s
        pid, due = None, None
        while pid is None and front.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
            found = sorted(_victims(home, victim, front.pid))
            if found and due is None:
                due = time.monotonic() + after_s
            if found and due is not None and time.monotonic() >= due and _kill(one := chance.choice(found)):
                pid = one
        try:
            printed, _ = front.communicate(timeout=max(1.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(front.pid, signal.SIGKILL)
            return Killed(victim, after_s, (f"the front did not end within {patience_s:g} s",))
    missed = () if pid is not None else (f"no {victim} was found to kill: {printed[-300:]!r}",)
    problems = (*missed, *_left(home), *_lost(home, printed, front.returncode))
    return Killed(victim, after_s, problems, _said(home))


def _victims(home: Path, victim: str, front: int) -> list[int]:
    if victim == "reframe":
        return [pid for pid in _children(front) if b"/reframe\0" in _words(pid) and b"\0-r\0" in _words(pid)]
    bed = Testbed.find(home)
    if bed is None:
        return []
    state = bed.state()
    ranks = [
        one.pid for one in find_inside(state.first).values() if _words(one.pid).split(b"\0")[0].endswith(b"IMB-MPI1")
    ]
    if not ranks:  # the others are killed when a benchmark runs, too
        return []
    return {"front": [front], "rank": ranks, "node": [node.holder.pid for node in state.nodes]}[victim]


def _children(parent: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if len(fields) > 1 and int(fields[1]) == parent:
            yield int(path.parent.name)


def _words(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _kill(pid: int) -> bool:
    """Kill a process, and return whether it lived."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def _left(home: Path) -> Iterator[str]:
    """Yield the processes of the site folder that still run."""
    deadline, left = time.monotonic() + _GONE_WITHIN_S, [""]
    while left and time.monotonic() < deadline:
        time.sleep(0.2)
        left = [
            words.replace(b"\0", b" ").decode(errors="replace")[:120]
            for pid in os.listdir("/proc")
            if pid.isdigit() and int(pid) != os.getpid() and str(home).encode() in (words := _words(int(pid)))
        ]
        left += [f"a process of the cluster: {one.pid}" for one in outermost_processes(Testbed(home).folder)]
    yield from (f"left behind: {one}" for one in dict.fromkeys(left))


def _lost(home: Path, printed: str, code: int | None) -> Iterator[str]:
    """Yield what the newest run lost, reports wrongly, or blames."""
    folder = max(runs_folder(home).glob("*"), default=None)
    promised = None if folder is None else read_promised(folder)
    if folder is None or promised is None:
        yield f"the run left no word of what it promised: {printed[-300:]!r}"
        return
    there = (folder / FILE_NAME).exists()
    read = read_records(folder) if there else None
    records = () if read is None else read.records
    reported = len(_ENDED.findall(printed))
    if len({record.test.case for record in records}) < reported:
        yield f"{reported} tests were reported, {len(records)} have a record"
    was_killed = code == -signal.SIGKILL
    if was_killed and promised.state != "killed":
        yield f"the front was killed, and its run is called {promised.state}"
    if not was_killed and {record.test.case for record in records} != set(promised.tests):
        yield f"{len(promised.tests)} tests were promised, {len(records)} have a record"
    if not was_killed and code not in (0, 1):
        yield f"the front exited {code}: {printed[-300:]!r}"
    for record in records:
        if record.found.verdict.suspects or _BLAMED.search(record.found.verdict.sentence):
            yield f"a healthy part is named: {record.found.verdict.sentence}"


def _said(home: Path) -> str:
    """Return the sentences of the newest run's failed tests, and that of a killed run."""
    folder = max(runs_folder(home).glob("*"), default=None)
    if folder is None:
        return ""
    records = read_records(folder).records if (folder / FILE_NAME).exists() else ()
    short = why_short(folder, len({record.test.case for record in records}))
    return "\n".join((*(record.found.verdict.sentence for record in records if record.fails), *filter(None, (short,))))
