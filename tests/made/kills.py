"""A run in which something is ended by a signal: what, when, and what must hold afterwards."""

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
from railyard.provision.testbed.boot import find_inside, outermost_processes
from railyard.provision.testbed.cluster import Testbed
from railyard.results.record.file import FILE_NAME, read_records
from railyard.results.record.form import read_promised, why_short


@dataclass(frozen=True, slots=True)
class Kind:
    """A run of two tests: its system and the words that choose them. ``system`` is also the kind's name."""

    system: str
    words: tuple[str, ...]

    @property
    def is_replay(self) -> bool:
        """Whether its outputs are recordings, so that a whole run must pass on any machine."""
        return not self.system.startswith("virtual")


_PING_PONG = ("-n", "ImbPingPong%rails=1", "-p", "mpich", "-P", "policy=default")
#: Two tests each, so one may have ended when the run is hit.
KINDS = {
    "replay": Kind("dell-c6320", ("-n", "OsuLatency")),
    "virtual": Kind("virtual", _PING_PONG),
    "slurm": Kind("virtual-slurm", _PING_PONG),
}


@dataclass(frozen=True, slots=True)
class Blow:
    """What is hit, by which signal, and how often within a second.

    ``front`` is `railyard run`; ``terminal`` is its process group, which a terminal signals; ``session`` is that and
    ReFrame's group at once; ``rank`` is a process of the benchmark, ``node`` the first process of a node.
    """

    target: str
    number: signal.Signals = signal.SIGKILL
    times: int = 1

    def __str__(self) -> str:
        twice = " twice" if self.times > 1 else ""
        return f"{self.number.name} of {self.target}{twice}"


#: The first four leave the two tests of a virtual cluster something to say about the part that was killed.
BLOWS = (
    *(Blow(target) for target in ("reframe", "front", "rank", "node", "terminal", "session")),
    *(Blow("front", number) for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)),
    *(Blow("terminal", number) for number in (signal.SIGHUP, signal.SIGINT)),
    *(Blow("terminal", number, times=2) for number in (signal.SIGINT, signal.SIGTERM)),
)
#: Blows that need a process of the cluster.
_IN_CLUSTER = ("rank", "node")
#: Sentences that name a part of the hardware as sick.
_BLAMED = re.compile(r"\b(?:slow|sick|unplugged|suspect|lost packets)\b")
#: What verify says about a run that was killed: a problem only if tests are missing.
_SHORT = re.compile(r": found (\d+) records? of (?!\1 )\d+ promised tests?: the run was killed before its end")
_ENDED = re.compile(r"^\(\d+/\d+\) ", re.MULTILINE)
_GONE_WITHIN_S = 30.0
_TWICE_WITHIN_S = 1.0
#: railyard's exit codes: all pass, a test failed, a set-up that cannot work, interrupted.
_OWN_CODES = (0, 1, 2, 130)


@dataclass(frozen=True)
class KillOutcome:
    """What was done, a sentence for each rule that was broken, and all that the run's records say."""

    blow: Blow
    after_s: float
    problems: tuple[str, ...]
    said: str = ""


def blows_of(kind: Kind) -> tuple[Blow, ...]:
    """Return what a run of this kind can be hit by."""
    return tuple(blow for blow in BLOWS if not (kind.is_replay and blow.target in _IN_CLUSTER))


def start_run(home: Path, kind: Kind) -> subprocess.Popen[str]:
    """Start a run in a site folder, as from a terminal of its own."""
    environment = {**os.environ, "RAILYARD_HOME": str(home), "COLUMNS": "200"}
    return subprocess.Popen(
        [sys.executable, "-m", "railyard", "run", "--system", kind.system, *kind.words],
        cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, start_new_session=True,
    )  # fmt: skip


def kill_one(home: Path, kind: Kind, number: int, seed: int, patience_s: float, within_s: float = 0.0) -> KillOutcome:
    """Start a run in a site folder, hit it at some moment, and check what it left.

    ``number`` and ``seed`` determine the blow and the moment: up to ``within_s`` seconds after the front started. If
    that is 0, the blow comes as soon as the first test runs, so that the second test cannot be sound. ``patience_s``:
    how long the run may take in total.
    """
    blows = blows_of(kind)
    blow, chance = blows[number % len(blows)], random.Random(f"{seed} {number}")
    after_s = chance.uniform(0.0, within_s)
    with start_run(home, kind) as front:
        began = time.monotonic()
        hit = False
        while not hit and front.poll() is None and time.monotonic() < began + patience_s:
            time.sleep(0.02)
            if time.monotonic() >= began + after_s and (within_s or _first_test_runs(home, front.pid)):
                hit = _strike(blow, home, front.pid, chance)
        try:
            printed, _ = front.communicate(timeout=max(1.0, began + patience_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            os.killpg(front.pid, signal.SIGKILL)
            return KillOutcome(blow, after_s, (f"the front did not end within {patience_s:g} s",))
    missed = () if hit or within_s else (f"nothing was there to hit by {blow}: {printed[-300:]!r}",)
    problems = (*missed, *find_left(home), *find_lost(home, printed, front.returncode))
    return KillOutcome(blow, after_s, problems, _failed_sentences(home))


def _first_test_runs(home: Path, front: int) -> bool:
    """Return whether ReFrame runs, and a process of the benchmark where the run has a cluster."""
    return bool(_ranks(home)) or (Testbed.find(home) is None and bool(_reframe(front)))


def _strike(blow: Blow, home: Path, front: int, chance: random.Random) -> bool:
    """Signal a target if it is there, and return whether it was."""
    found = sorted(_targets(blow.target, home, front))
    if not found:
        return False
    hit = False
    chosen = found if blow.target in ("terminal", "session") else [chance.choice(found)]
    for time_left in range(blow.times, 0, -1):
        for pid in chosen:
            try:
                (os.kill if blow.target not in ("terminal", "session") else os.killpg)(pid, blow.number)
                hit = True
            except ProcessLookupError:
                continue
        if time_left > 1:
            time.sleep(chance.uniform(0.0, _TWICE_WITHIN_S))
    return hit


def _targets(target: str, home: Path, front: int) -> list[int]:
    """Return the process ids, or the process groups of a terminal and a session."""
    if target in ("front", "terminal"):
        return [front]
    if target == "reframe":
        return _reframe(front)
    if target == "session":
        return [front, *_reframe(front)]
    ranks = _ranks(home)
    bed = Testbed.find(home)
    if bed is None or not ranks:  # a node is killed when a benchmark runs, too
        return []
    return ranks if target == "rank" else [node.holder.pid for node in bed.state().nodes]


def _reframe(front: int) -> list[int]:
    return [pid for pid in _children(front) if b"/reframe\0" in _words(pid) and b"\0-r\0" in _words(pid)]


def _ranks(home: Path) -> list[int]:
    bed = Testbed.find(home)
    if bed is None:
        return []
    inside = find_inside(bed.state().first).values()
    return [one.pid for one in inside if _words(one.pid).split(b"\0")[0].endswith(b"IMB-MPI1")]


def _children(parent: int) -> Iterator[int]:
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_bytes().rpartition(b")")[2].split()
        except OSError:
            continue
        if len(fields) > 1 and int(fields[1]) == parent:
            yield int(path.parent.name)


def _words(pid: int) -> bytes:
    return _of_process(pid, "cmdline")


def _of_process(pid: int, name: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{name}").read_bytes()
    except OSError:
        return b""


def find_left(home: Path) -> Iterator[str]:
    """Yield the processes and mounts of the site folder that are there 30 s after its run ended.

    A namespace and the measuring lock end with the last process that holds them; processes of a run have the site's
    folder in their words or variables.
    """
    mark = str(home).encode()
    deadline, left = time.monotonic() + _GONE_WITHIN_S, [""]
    while left and time.monotonic() < deadline:
        time.sleep(0.2)
        left = [
            _words(pid).replace(b"\0", b" ").decode(errors="replace")[:120] or f"process {pid}"
            for pid in map(int, filter(str.isdigit, os.listdir("/proc")))
            if pid != os.getpid() and (mark in _words(pid) or b"RAILYARD_HOME=" + mark in _of_process(pid, "environ"))
        ]
        left += [f"a process of the cluster: {one.pid}" for one in outermost_processes(Testbed(home).folder)]
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()
        left += [f"the mount {line}" for line in mounts if f"{home}/" in line]
    yield from (f"left behind: {one}" for one in dict.fromkeys(left))


def find_lost(home: Path, printed: str, code: int | None) -> Iterator[str]:
    """Yield what the newest run lost, reports wrongly, or blames."""
    ended = len(_ENDED.findall(printed))
    if "Traceback" in printed:
        yield f"a traceback: {printed[-600:]!r}"
    if code is None or (code >= 0 and code not in _OWN_CODES):
        yield f"the front exited {code}: {printed[-300:]!r}"
    folder = max(runs_folder(home).glob("*"), default=None)
    promised = None if folder is None else read_promised(folder)
    if folder is None or promised is None:
        if ended:
            yield f"{ended} tests were reported, and the run left no word of what it promised: {printed[-300:]!r}"
        return
    records = read_records(folder).records if (folder / FILE_NAME).exists() else ()
    recorded = {record.test.case for record in records}
    if len(recorded) < ended:
        yield f"{ended} tests were reported, {len(records)} have a record"
    if promised.state == "running":
        yield "the run has ended and is called running"
    if (promised.whole or code == 0) and recorded != set(promised.tests):
        yield f"the run is called whole: {len(records)} of {len(promised.tests)} promised tests have a record"
    for record in records:
        if record.found.verdict.suspects or _BLAMED.search(record.found.verdict.sentence):
            yield f"a healthy part is named: {record.found.verdict.sentence}"


def check_next(home: Path, kind: Kind, patience_s: float) -> Iterator[str]:
    """Yield what is wrong with the stored runs of a site folder, and with the run after a blow."""
    words = [sys.executable, "-m", "railyard", "results", "verify"]
    environment = {**os.environ, "RAILYARD_HOME": str(home)}
    verified = subprocess.run(words, cwd=home, env=environment, capture_output=True, text=True, check=False)
    printed = verified.stdout + verified.stderr
    others = [line for line in printed.splitlines() if ": problem: " in line and not _SHORT.search(line)]
    if others or verified.returncode not in (0, 1):
        yield f"results verify: exit {verified.returncode}: {'; '.join(others) or printed[-300:]!r}"
    with start_run(home, kind) as front:
        try:
            printed, _ = front.communicate(timeout=patience_s)
        except subprocess.TimeoutExpired:
            os.killpg(front.pid, signal.SIGKILL)
            yield f"the next run did not end within {patience_s:g} s"
            return
    right = (0,) if kind.is_replay else (0, 1)  # a loaded machine disturbs a measurement
    if front.returncode not in right:
        yield f"the next run exited {front.returncode}: {printed[-300:]!r}"
    yield from find_lost(home, printed, front.returncode)
    yield from find_left(home)


def _failed_sentences(home: Path) -> str:
    """Return the sentences of the newest run's failed tests, and that of a killed run."""
    folder = max(runs_folder(home).glob("*"), default=None)
    if folder is None:
        return ""
    records = read_records(folder).records if (folder / FILE_NAME).exists() else ()
    short = why_short(folder, len({record.test.case for record in records}))
    return "\n".join((*(record.found.verdict.sentence for record in records if record.fails), *filter(None, (short,))))
