"""Which schedulers are of which family: what one of them is asked, all of it are."""

from collections.abc import Mapping

#: Our own ReFrame backend: Slurm without an accounting database (`rfm/scheduler`).
SLURM_WITHOUT_DATABASE = "slurm-nodb"
#: ReFrame's name of a scheduler -> the family whose options its jobs take; one that is missing takes none of them.
FAMILIES: Mapping[str, str] = {
    "slurm": "slurm",
    "squeue": "slurm",
    SLURM_WITHOUT_DATABASE: "slurm",
    "pbs": "pbs",
    "torque": "pbs",
    "lsf": "lsf",
}


def is_slurm(scheduler: str) -> bool:
    """Return whether scontrol can be asked about the jobs and nodes of a scheduler."""
    return FAMILIES.get(scheduler) == "slurm"
