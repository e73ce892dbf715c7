"""Slurm on a running testbed: munged and a slurmd in each node, slurmctld on the first, without systemd or database.

Its daemons are processes in the testbed's own pid namespace: whatever ends it, ``down`` or ``kill -9``, ends them.
"""

import fcntl
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.files import write_whole
from railyard.parsers.slurm import NodeState, parse_nodes
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.needs import SEARCH_PATH, needs_user_namespace, require_programs
from railyard.provision.testbed.processes import Process, find_inside, wait_until_gone
from railyard.provision.testbed.slurm_texts import (
    CLIENTS,
    CONFIGURATION,
    DAEMONS,
    FOLDER,
    KEY,
    START,
    Layout,
    clients,
    files,
    leaves,
)
from railyard.provision.testbed.state import State

#: Program -> Debian package, as in the part ``slurm`` of ci/needs.sh.
PACKAGES = {
    "munged": "munge",
    "slurmctld": "slurm-wlm",
    "slurmd": "slurm-wlm",
    "sbatch": "slurm-wlm",
    "salloc": "slurm-wlm",
    "srun": "slurm-wlm",
    "squeue": "slurm-wlm",
    "scancel": "slurm-wlm",
    "scontrol": "slurm-wlm",
    "sinfo": "slurm-wlm",
}
NOT_UP = "Slurm is not up on the virtual cluster: run 'railyard testbed up --slurm'"
_STARTED_WITHIN_S = 20.0
_READY_WITHIN_S = 30.0
_GONE_WITHIN_S = 10.0


def find_refusal() -> str | None:
    """Return None if Slurm can come up on a testbed of this machine, else the sentence that says why not."""
    try:
        require_programs(*PACKAGES, packages=PACKAGES)
    except SetupError as error:
        return str(error)
    if needs_user_namespace():
        # slurmstepd sets the groups of each task (initgroups(3)), which is not allowed in a user namespace of one user.
        return "testbed: Slurm needs root: it sets the groups of each task, which an ordinary user may not do"
    return None


def start(bed: Testbed, layout: Layout | None = None) -> bool:
    """Start Slurm on a testbed that is up; return False if all of it already runs.

    ``layout`` has its nodes and partitions, by default those of the virtual cluster.

    Remains of an earlier Slurm are ended first. A start that fails or is interrupted leaves nothing running. Raises
    SetupError, one sentence, if a program is missing, this machine does not permit it, or a node does not answer.
    """
    sentence = find_refusal()
    if sentence is not None:
        raise SetupError(sentence)
    if any(letter.isspace() for letter in str(bed.folder)):
        raise SetupError(f"testbed: found a blank in {bed.folder}, expected none: slurm.conf cannot have such a path")
    state = bed.state()
    with _hold_lock(bed):
        if is_up(bed):
            return False
        _end(state)
        folder = bed.folder / FOLDER
        shutil.rmtree(folder, ignore_errors=True)
        try:
            _write(state, folder, layout)
            _start_daemons(bed, state)
            _await_nodes(bed)
        except BaseException:
            _end(state)
            raise
    return True


def stop(bed: Testbed) -> bool:
    """End Slurm's daemons and the processes of its jobs, and remove its files; return whether any ran."""
    state = bed.state()
    with _hold_lock(bed):
        found = _end(state)
        shutil.rmtree(bed.folder / FOLDER, ignore_errors=True)
    return found


def is_up(bed: Testbed) -> bool:
    """Return whether slurmctld runs on a testbed that is up, and a slurmd and a munged for each node."""
    state = bed.state()
    names = list(daemons(state).values())
    each = len(state.nodes)
    return "slurmctld" in names and names.count("slurmd") >= each and names.count("munged") >= each


def has_controller(bed: Testbed) -> bool:
    """Return whether a slurmctld runs on a testbed that is up, whatever the state of its nodes."""
    return "slurmctld" in daemons(bed.state()).values()


def leaves_of(bed: Testbed) -> tuple[tuple[str, ...], ...]:
    """Return the nodes of each leaf switch of a testbed that is up, as in topology.conf."""
    return leaves(bed.state().spec)


def usage(bed: Testbed) -> str:
    """Return one line that says how to call Slurm's clients there."""
    return f"its clients: {bed.folder / FOLDER / 'bin'} (sbatch, squeue, sinfo, scontrol, salloc, scancel)"


def node_states(bed: Testbed) -> tuple[NodeState, ...]:
    """Return each node as slurmctld sees it now. Raises SetupError if it does not answer."""
    return parse_nodes(scontrol(bed, "-o", "show", "nodes"))


def scontrol(bed: Testbed, *words: str) -> str:
    """Return what scontrol prints on the first node. Raises SetupError if it fails or gets no answer."""
    first = bed.state().spec.nodes[0]
    program = shutil.which("scontrol", path=SEARCH_PATH) or "scontrol"
    try:
        done = bed.exec(first, [program, *words], env=_environment(bed), timeout_s=_STARTED_WITHIN_S)
    except subprocess.TimeoutExpired:
        raise SetupError(f"testbed: slurmctld on {first} did not answer within {_STARTED_WITHIN_S:g} s") from None
    if done.returncode:
        raise SetupError(f"testbed: scontrol on {first} failed: {_last_line(done.stdout + done.stderr)}")
    return done.stdout


def daemons(state: State) -> dict[Process, str]:
    """Return the daemons of Slurm and munge in a testbed, each with its command's name."""
    found = {}
    for process in find_inside(state.first).values():
        name = _command(process.pid)
        if name in DAEMONS:
            found[process] = name
    return found


def _write(state: State, folder: Path, layout: Layout | None) -> None:
    (folder / "log").mkdir(parents=True)
    (folder / "bin").mkdir()
    for name, text in files(state.spec, folder, layout).items():
        write_whole(folder / name, text, 0o755 if name == START else 0o644)
    programs = {name: _find_client(name, folder) for name in CLIENTS}
    for name, text in clients(state.spec, programs).items():
        write_whole(folder / "bin" / name, text, 0o755)
    # Like `mungekey`, which needs a user munge: 1024 random bits from the system.
    key = folder / KEY
    with open(os.open(key, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as out:
        out.write(os.urandom(128))


def _find_client(program: str, folder: Path) -> str:
    """Return the path of an installed client, not of our script of the same name that comes first on PATH."""
    elsewhere = os.pathsep.join(part for part in SEARCH_PATH.split(os.pathsep) if part != str(folder / "bin"))
    return shutil.which(program, path=elsewhere) or program


def _start_daemons(bed: Testbed, state: State) -> None:
    first = state.spec.nodes[0]

    def find_failure(node: str) -> str | None:
        log = bed.folder / FOLDER / "log" / f"start.{node}.log"
        # Into a file: if a daemon kept our pipe open, we would wait for its end.
        words = ["sh", "-c", 'exec "$1" "$2" "$3" >"$4" 2>&1', "sh", str(bed.folder / FOLDER / START)]
        try:
            done = bed.exec(node, [*words, node, first, str(log)], timeout_s=_STARTED_WITHIN_S)
        except subprocess.TimeoutExpired:
            return f"its daemons did not start within {_STARTED_WITHIN_S:g} s"
        if done.returncode == 0:
            return None
        return _last_line(log.read_text(encoding="utf-8", errors="replace") if log.exists() else done.stderr)

    with ThreadPoolExecutor(len(state.nodes)) as together:
        said = dict(zip(state.spec.nodes, together.map(find_failure, state.spec.nodes), strict=True))
    for node, sentence in said.items():
        if sentence is not None:
            raise SetupError(f"testbed: Slurm did not start on {node}: {sentence}")


def _await_nodes(bed: Testbed) -> None:
    """Return when every node is idle. Raises SetupError with those that are not."""
    deadline = time.monotonic() + _READY_WITHIN_S
    while True:
        sentence = _not_ready(bed)
        if not sentence:
            return
        if time.monotonic() > deadline:
            log = bed.folder / FOLDER / "log"
            raise SetupError(f"testbed: Slurm was not ready within {_READY_WITHIN_S:g} s: {sentence}; look into {log}")
        time.sleep(0.1)


def _not_ready(bed: Testbed) -> str:
    """Return what is not ready yet; empty if every node is idle."""
    try:
        nodes = node_states(bed)
    except SetupError as error:
        return str(error).removeprefix("testbed: ")
    names = bed.state().spec.nodes
    nodes = tuple(node for node in nodes if node.name in names)
    if len(nodes) < len(names):
        return f"slurmctld knows {len(nodes)} of {len(names)} nodes"
    return ", ".join(f"{node.name} is {node.state.lower()}" for node in nodes if not node.is_ready)


def _end(state: State) -> bool:
    """End first the daemons, which would start more, then processes of jobs; return whether there were any."""
    found = list(daemons(state))
    for process in found:
        process.kill()
    tasks = [process for process in find_inside(state.first).values() if process not in found and _is_of_a_job(process)]
    found += tasks
    for process in tasks:
        process.kill()
    if not wait_until_gone(found, _GONE_WITHIN_S):
        raise SetupError(f"testbed: Slurm's daemons did not end within {_GONE_WITHIN_S:g} s of SIGKILL")
    return bool(found)


def _environment(bed: Testbed) -> dict[str, str]:
    return {**os.environ, "SLURM_CONF": str(bed.folder / FOLDER / CONFIGURATION)}


@contextmanager
def _hold_lock(bed: Testbed) -> Iterator[None]:
    with (bed.folder / "slurm.lock").open("a", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:  # it has ended
        return ""


def _is_of_a_job(process: Process) -> bool:
    try:
        return b"\0SLURM_JOB_ID=" in Path(f"/proc/{process.pid}/environ").read_bytes()
    except OSError:  # it has ended
        return False


def _last_line(text: str) -> str:
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it printed nothing")
