"""One kill -9 for each process of a run: nothing is left, no reported result is lost, no healthy part is named.

`benchmarks/kills.py` does this a hundred times. A process that is stopped, and not killed, holds up nothing either.
"""

import os
import signal
import threading
import time

import pytest

from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.lock import measurement_lock
from railyard.provision.testbed.processes import inside
from tests.e2e.conftest import VirtualSite, failed
from tests.made.kills import VICTIMS, kill_one
from tests.waiting import PATIENCE_S

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
        for number, victim in enumerate(VICTIMS)
    ],
)
def test_a_kill_leaves_nothing_loses_nothing_and_blames_nobody(site: VirtualSite, number: int, said: str) -> None:
    with measurement_lock(lambda sentence: None, site.folder):
        killed = kill_one(site.folder, number, SEED, PATIENCE_S, at_once=True)
    assert (killed.victim, killed.problems) == (VICTIMS[number], ())
    assert said in killed.said


def stop_rank(bed: Testbed, node: str, until_s: float) -> None:
    """Stop the benchmark's process on a node as soon as it runs, as if it waited for a dead device."""
    state, deadline = bed.state(), time.monotonic() + until_s
    names = os.readlink(f"/proc/{state.node(node).holder.pid}/ns/uts")
    while time.monotonic() < deadline:
        for one in inside(state.first).values():
            try:
                with open(f"/proc/{one.pid}/comm", encoding="utf-8") as comm:
                    is_rank = comm.read() == "IMB-MPI1\n"
                if is_rank and os.readlink(f"/proc/{one.pid}/ns/uts") == names:
                    os.kill(one.pid, signal.SIGSTOP)
                    return
            except OSError:  # it has ended
                continue
        time.sleep(0.05)


@pytest.mark.fault("session", "kill -STOP of the rank on vn2", "the process on vn2 did not react: the job was ended at")
def test_a_stopped_rank_ends_with_the_time_limit_and_its_node_is_named(site: VirtualSite, said: str) -> None:
    with site.bed() as bed:
        stopping = threading.Thread(target=stop_rank, args=(bed, "vn2", PATIENCE_S))
        stopping.start()
        record = site.cell("ImbUniband", "mpich", 1).record
        stopping.join()
        left = bed.exec("vn2", ["pgrep", "IMB-MPI1"]).stdout
    assert failed(record) == ("fail", 1, "node")
    assert record.verdict.text.startswith(said)
    assert not left
