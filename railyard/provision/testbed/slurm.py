"""Slurm on a testbed: munged and a slurmd in each node, slurmctld on the first, without systemd or database."""

import os
import shutil
import subprocess
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.parsers.slurm import NodeState, parse_nodes
from railyard.provision.testbed.boot import SEARCH_PATH
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.scheduler import BedScheduler, last_line
from railyard.provision.testbed.slurm_texts import (
    CLIENTS,
    CONTROLLER,
    DAEMONS,
    FOLDER,
    KEY,
    Layout,
    Release,
    files,
    leaves,
    release_of,
)
from railyard.provision.testbed.spec import TestbedSpec

_VERSION_WITHIN_S = 20


def start(bed: Testbed, layout: Layout | None = None) -> bool:
    """Start Slurm on a testbed that is up; return False if all of it already runs.

    ``layout`` has its nodes and partitions, by default those of the virtual cluster. Raises SetupError, one sentence,
    if a program is missing, this machine does not permit it, or a node does not answer.
    """

    def own(spec: TestbedSpec, folder: Path) -> dict[str, str]:
        return _files(spec, folder, layout)

    return SLURM.start(bed, own)


def release_here() -> Release:
    """Return the release of the Slurm that is first on the search path. Raises SetupError if it does not say it."""
    words = [shutil.which("slurmctld", path=SEARCH_PATH) or "slurmctld", "-V"]
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", timeout=_VERSION_WITHIN_S, check=False,
        )  # fmt: skip
        said = done.stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        said = str(error)
    release = release_of(said)
    if release is None:
        raise SetupError(
            f"testbed: found '{last_line(said)}' from {' '.join(words)}, expected a release such as slurm 22.05.8"
        )
    return release


def leaves_of(bed: Testbed) -> tuple[tuple[str, ...], ...]:
    """Return the nodes of each leaf switch of a testbed that is up, as in topology.conf."""
    return leaves(bed.state().spec)


def node_states(bed: Testbed) -> tuple[NodeState, ...]:
    """Return each node as slurmctld sees it now. Raises SetupError if it does not answer."""
    return parse_nodes(scontrol(bed, "-o", "show", "nodes"))


def scontrol(bed: Testbed, *words: str) -> str:
    """Return what scontrol prints on the first node. Raises SetupError if it fails or gets no answer."""
    done = SLURM.ask(bed, "scontrol", *words)
    if done.returncode:
        first = bed.state().spec.nodes[0]
        raise SetupError(f"testbed: scontrol on {first} failed: {last_line(done.stdout + done.stderr)}")
    return done.stdout


def _files(spec: TestbedSpec, folder: Path, layout: Layout | None = None) -> dict[str, str]:
    return files(spec, folder, layout, release_here())


def _make_key(folder: Path) -> None:
    # Like `mungekey`, which needs a user munge: 1024 random bits from the system.
    with open(os.open(folder / KEY, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o400), "wb") as out:
        out.write(os.urandom(128))


def _why_not_ready(bed: Testbed) -> str:
    names = bed.state().spec.nodes
    nodes = tuple(node for node in node_states(bed) if node.name in names)
    if len(nodes) < len(names):
        return f"slurmctld knows {len(nodes)} of {len(names)} nodes"
    return ", ".join(f"{node.name} is {node.state.lower()}" for node in nodes if not node.is_ready)


SLURM = BedScheduler(
    name=FOLDER,
    title="Slurm",
    programs=("munged", "slurmctld", "slurmd", "srun", *CLIENTS),
    install="apt-get install munge slurm-wlm (Debian's names)",
    clients=CLIENTS,
    daemons=(CONTROLLER[0], *DAEMONS),
    each=("munged", "slurmd"),
    job_variable="SLURM_JOB_ID",
    files=_files,
    why_not_ready=_why_not_ready,
    prepare=_make_key,
    # slurmstepd sets the groups of each task (initgroups(3)), which is not allowed in a user namespace of one user.
    needs_root="it sets the groups of each task, which an ordinary user may not do",
)
