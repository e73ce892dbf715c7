"""Lets a node of the virtual cluster's Slurm die, and restarts its controller."""

import os
import shutil
import signal

from railyard.provision.testbed.boot import SEARCH_PATH, Process, find_inside, wait_until_gone
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.slurm import SLURM
from railyard.provision.testbed.slurm_texts import CONFIGURATION, CONTROLLER, FOLDER

GONE_WITHIN_S = 10.0
STARTED_WITHIN_S = 20.0


def kill_node(bed: Testbed, node: str) -> int:
    """Kill every process of one node except the one that holds its namespaces, as if it died; return how many.

    slurmctld notices after SlurmdTimeout. ``slurm.start`` brings all of Slurm up again.
    """
    state = bed.state()
    held = state.node(node).holder
    there = [found for found in find_inside(state.first).values() if found != held and _same_node(found, held)]
    for found in there:
        found.kill()
    wait_until_gone(there, GONE_WITHIN_S)
    return len(there)


def restart_controller(bed: Testbed) -> None:
    """End slurmctld and start it again, like an administrator: jobs go on, and it reads its saved state."""
    state = bed.state()
    ended = [found for found, name in SLURM.daemons_in(state).items() if name in CONTROLLER]
    for found in ended:
        # Not SIGKILL: it saves its state every few seconds and when it ends.
        os.kill(found.pid, signal.SIGTERM)
    wait_until_gone(ended, GONE_WITHIN_S)
    folder = bed.folder / FOLDER
    log = folder / "log" / "restart.log"
    program = shutil.which("slurmctld", path=SEARCH_PATH) or "slurmctld"
    words = ["sh", "-c", 'exec "$1" >"$2" 2>&1', "sh", program, str(log)]
    env = {**os.environ, "SLURM_CONF": str(folder / CONFIGURATION)}
    done = bed.exec(state.spec.nodes[0], words, env=env, timeout_s=STARTED_WITHIN_S)
    assert done.returncode == 0, log.read_text(encoding="utf-8")


def _same_node(one: Process, other: Process) -> bool:
    """Return whether two processes have the same host name: each node has a UTS namespace of its own."""
    try:
        return os.readlink(f"/proc/{one.pid}/ns/uts") == os.readlink(f"/proc/{other.pid}/ns/uts")
    except OSError:
        return False
