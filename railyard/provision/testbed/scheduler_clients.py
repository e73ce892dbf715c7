"""How a process finds the scheduler of a testbed: its folder, and the variables of its clients. Pure."""

from collections.abc import Mapping
from pathlib import Path

from railyard.provision.testbed.scripts import CLUSTER, bed_folder

#: Among a scheduler's files: ``start NODE FIRST`` starts its daemons in a node and ends when they are ready.
START = "start"
#: In each node of PBS: what an MPI calls in place of ssh inside a job, by pbs_tmrsh.
PBS_REMOTE = "/run/pbs/remote"
#: Name of a scheduler, which is its folder below the testbed's -> the variables of its clients, with that folder for
#: ``{folder}``.
VARIABLES: Mapping[str, Mapping[str, str]] = {
    "slurm": {"SLURM_CONF": "{folder}/slurm.conf"},
    # In each node's own /run: a path below the clone could be too long for a socket's name (108 bytes).
    "flux": {"FLUX_URI": "local:///run/flux/local"},
    "pbs": {"PBS_CONF_FILE": "{folder}/pbs.conf"},
    # Each node has ports of its own.
    "sge": {
        "SGE_ROOT": "{folder}/root",
        "SGE_CELL": "default",
        "SGE_QMASTER_PORT": "6444",
        "SGE_EXECD_PORT": "6445",
    },
}


def variables_of(name: str, folder: Path) -> dict[str, str]:
    """Return the variables of a scheduler's clients; ``folder`` has its files."""
    return {key: text.replace("{folder}", str(folder)) for key, text in VARIABLES[name].items()}


def client_variables(home: Path, name: str, kind: str = CLUSTER) -> dict[str, str]:
    """Return variables by which a process of the host finds a testbed's scheduler; ``$PATH`` stays to be filled in."""
    folder = bed_folder(home, kind) / name
    return {"PATH": f"{folder / 'bin'}:$PATH", **variables_of(name, folder)}
