"""One kill -9 for each process of a run: nothing is left, no reported result is lost, no healthy part is named.

`benchmarks/kills.py` does this a hundred times. A process that is stopped, and not killed, holds up nothing either.
"""

import fcntl
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from railyard.provision.testbed.boot import find_inside
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.lock import measurement_lock
from railyard.provision.testbed.scripts import bed_folder
from railyard.results.record.form import Record
from tests.e2e.conftest import VirtualSite, suspects, verdict_summary
from tests.made.kills import BLOWS, KINDS, kill_one
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.e2e, pytest.mark.full]
SEED = 22

#: What the failed tests of such a run say, or the run itself.
SAID = {
    "reframe": "was promised and did not run: ReFrame ended before it",
    "front": "the run was killed before its end",
    "rank": "BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
    "node": " died: the process that holds a node has ended",
}


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(number, id=victim, marks=pytest.mark.fault("session", f"kill -9 of the {victim}", SAID[victim]))
        for number, victim in enumerate(blow.target for blow in BLOWS[: len(SAID)])
    ],
)
def test_a_kill_leaves_nothing_loses_nothing_and_blames_nobody(site: VirtualSite, number: int, promise: str) -> None:
    with measurement_lock(lambda sentence: None, site.folder):
        killed = kill_one(site.folder, KINDS["virtual"], number, SEED, PATIENCE_S)
    assert (killed.blow, killed.problems) == (BLOWS[number], ())
    assert promise in killed.said


def rank_on(bed: Testbed, node: str, until_s: float) -> int | None:
    """Return the process id of the benchmark's process on a node as soon as it runs; None if none did in time."""
    state, deadline = bed.state(), time.monotonic() + until_s
    names = os.readlink(f"/proc/{state.node(node).holder.pid}/ns/uts")
    while time.monotonic() < deadline:
        for one in find_inside(state.first).values():
            try:
                with open(f"/proc/{one.pid}/comm", encoding="utf-8") as comm:
                    is_rank = comm.read() == "IMB-MPI1\n"
                if is_rank and os.readlink(f"/proc/{one.pid}/ns/uts") == names:
                    return one.pid
            except OSError:  # it has ended
                continue
        time.sleep(0.05)
    return None


def run_with(site: VirtualSite, bed: Testbed, hold: Callable[[int], object]) -> Record:
    """Return the record of a run whose rank on vn2 is held up as soon as it runs."""

    def hold_rank() -> None:
        pid = rank_on(bed, "vn2", PATIENCE_S)
        if pid is not None:
            hold(pid)

    holding = threading.Thread(target=hold_rank)
    holding.start()
    record = site.cell("ImbUniband", "mpich", 1).record
    holding.join()
    return record


@pytest.mark.fault("session", "kill -STOP of the rank on vn2", "did not react, it is stopped (state T): the job was")
def test_a_stopped_rank_ends_with_the_time_limit_and_its_node_is_named(site: VirtualSite, promise: str) -> None:
    with site.bed() as bed:
        record = run_with(site, bed, lambda pid: os.kill(pid, signal.SIGSTOP))
        left = bed.exec("vn2", ["pgrep", "IMB-MPI1"]).stdout
    assert verdict_summary(record) == ("fail", 1, "node")
    assert record.found.verdict.text.startswith(f"the process on vn2 {promise}")
    assert not left


@pytest.mark.fault("session", "kill -STOP of the launcher's proxy on vn2", "hydra_pmi_proxy of vn2 did not react")
def test_a_stopped_proxy_ends_with_the_time_limit_and_is_named(site: VirtualSite, promise: str) -> None:
    """`timeout` wakes a stopped mpirun when it ends it, but not what that started on another node."""

    def stop_proxy(rank: int) -> None:
        name = os.readlink(f"/proc/{rank}/ns/uts")
        for one in find_inside(bed.state().first).values():
            with open(f"/proc/{one.pid}/comm", encoding="utf-8") as comm:
                is_proxy = comm.read() == "hydra_pmi_proxy\n"
            if is_proxy and os.readlink(f"/proc/{one.pid}/ns/uts") == name:
                os.kill(one.pid, signal.SIGSTOP)

    with site.bed() as bed:
        record = run_with(site, bed, stop_proxy)
    assert verdict_summary(record)[:2] == ("fail", 1)
    assert suspects(record) == set()
    assert promise in record.found.verdict.text


@pytest.mark.fault(
    "session", "another program that holds the lock of a cluster's jobs", "its turn did not come within 67"
)
def test_a_lock_that_somebody_else_holds_ends_the_wait(site: VirtualSite, promise: str) -> None:
    site.edit("systems/virtual.yaml", "time_limit: 120s", "time_limit: 2s")
    with site.bed():
        lock = bed_folder(site.folder) / "job.lock"
        with lock.open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            record = site.cell("ImbUniband", "mpich", 1).record
    assert verdict_summary(record)[:2] == ("fail", 1)
    assert suspects(record) == set()
    assert f"another process held {lock} for 67 s" in record.found.verdict.text
    assert promise in record.found.verdict.text


#: Freezes a process by the kernel's freezer until the standard input ends, also if the test dies: until then it is in
#: state D, and no signal reaches it. Then the signals that it was sent come.
FREEZE = """mkdir "$1" && trap '' INT TERM && echo "$2" >"$1/cgroup.procs" && echo FROZEN >"$1/freezer.state"
cat >/dev/null
echo THAWED >"$1/freezer.state"
until rmdir "$1"; do sleep 0.2; done 2>/dev/null
"""
FREEZER = Path("/sys/fs/cgroup/freezer")


class Freezer:
    """Puts a process into state D, in which no signal ends it, until it is released."""

    def __init__(self) -> None:
        self._holder: subprocess.Popen[bytes] | None = None

    def hold(self, pid: int) -> None:
        """Freeze a process."""
        words = ["sh", "-c", FREEZE, "freeze", str(FREEZER / f"railyard-{os.getpid()}"), str(pid)]
        self._holder = subprocess.Popen(words, stdin=subprocess.PIPE, start_new_session=True)

    def release(self) -> None:
        """Let it go on, if it is frozen."""
        if self._holder is not None:
            self._holder.communicate(timeout=PATIENCE_S)


@pytest.fixture
def freezer() -> Iterator[Freezer]:
    if not os.access(FREEZER, os.W_OK) or os.geteuid() != 0:
        pytest.skip(f"{FREEZER} (control groups, version 1) is not writable, so no process can be held in state D")
    made = Freezer()
    yield made
    made.release()


@pytest.mark.fault("session", "the rank on vn2 in state D", "did not react, it hangs in the kernel (state D")
def test_a_rank_that_hangs_in_the_kernel_ends_with_the_time_limit_and_its_node_is_named(
    site: VirtualSite, freezer: Freezer, promise: str
) -> None:
    with site.bed() as bed:
        try:
            record = run_with(site, bed, freezer.hold)
            left = bed.exec("vn2", ["ps", "-o", "stat=", "-C", "IMB-MPI1"]).stdout
        finally:
            freezer.release()
    assert verdict_summary(record) == ("fail", 1, "node")
    assert record.found.verdict.text.startswith(f"the process on vn2 {promise}")
    assert left.startswith("D")  # not even SIGKILL ended it: it was in that state until the end of the run
