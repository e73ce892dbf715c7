"""Finds a cluster's scheduler, its partitions and number of nodes, from the scheduler's own listing commands."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from railyard.cluster.detect.source import Source
from railyard.job.launch import FLUX_RUN
from railyard.site.systems.jobs import FLUX_BATCH, SLURM_WITHOUT_DATABASE

#: The commands that a person would use: none of them changes anything.
SINFO = ("sinfo", "--noheader", "--format=%P|%D|%a")
SACCT = ("sacct", "--noheader", "--allocations", "--format=JobID")
SRUN_MPI = ("srun", "--mpi=list")
SLURM_CONFIG = ("scontrol", "show", "config")
QUEUES = ("qstat", "-Q")
PBS_NODES = ("pbsnodes", "-a")
BQUEUES, BHOSTS = ("bqueues", "-w"), ("bhosts", "-w")
FLUX = ("flux", "resource", "list", "--states=up", "--no-header", "--format={nnodes}")

_CLUSTER = re.compile(r"^ClusterName\s*=\s*(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition or queue: its nodes (None if the listing does not count them), and whether it is the default."""

    name: str
    nodes: int | None
    default: bool = False
    up: bool = True


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A scheduler in ReFrame's words. ``nodes``: of the partition that jobs use. ``remarks`` say what was guessed."""

    name: str
    launcher: str
    partitions: tuple[Partition, ...] = ()
    nodes: int | None = None
    access: tuple[str, ...] = ()
    cluster: str | None = None
    remarks: tuple[str, ...] = ()

    @property
    def default_partition(self) -> Partition | None:
        """The default partition, else the largest one."""
        there = [one for one in self.partitions if one.up]
        named = next((one for one in there if one.default), None)
        return named or max(there, key=lambda one: one.nodes or 0, default=None)


LOCAL = Scheduler("local", "mpirun", remarks=("no scheduler's command was found: jobs run on this host alone",))


def scheduler_of(source: Source) -> Scheduler:
    """Return the scheduler whose listing command answers, ``local`` if none answers."""
    kinds: tuple[Callable[[Source], Scheduler | None], ...] = (_slurm, _pbs, _lsf, _flux)
    return next((found for kind in kinds if (found := kind(source)) is not None), LOCAL)


def _slurm(source: Source) -> Scheduler | None:
    said = source.run(*SINFO)
    if said is None:
        return None
    partitions = []
    for line in said.split("\n"):
        name, _, rest = line.strip().partition("|")
        count, _, state = rest.partition("|")
        if name and count.isdigit():
            partitions.append(Partition(name.rstrip("*"), int(count), name.endswith("*"), state == "up"))
    remarks = []
    # ReFrame's backend `slurm` asks sacct, which needs an accounting database; its `squeue` does not get exit codes.
    name = "slurm" if source.run(*SACCT) is not None else SLURM_WITHOUT_DATABASE
    if name == SLURM_WITHOUT_DATABASE:
        remarks.append("sacct does not answer (no accounting): scontrol says how a job ended")
    plugins = set((source.run(*SRUN_MPI) or "").split())
    launcher = "srun" if plugins & {"pmix", "cray_shasta"} else "mpirun"
    if launcher == "mpirun":
        remarks.append("srun lists no PMIx: each stack's own mpirun starts its processes inside the job")
    cluster = _CLUSTER.search(source.run(*SLURM_CONFIG) or "")
    return _with_choice(
        Scheduler(name, launcher, tuple(partitions), cluster=cluster[1] if cluster else None, remarks=tuple(remarks)),
        "--partition={}",
    )


def _pbs(source: Source) -> Scheduler | None:
    said = source.run(*QUEUES)
    if said is None:
        return None
    rows = [line.split() for line in said.split("\n")]
    # Queue Max Tot Ena Str …: a heading, dashes, then one queue per line
    counted = [row for row in rows if len(row) > 5 and row[1].isdigit()]
    queues = [Partition(row[0], None, up=row[3:5] == ["yes", "yes"]) for row in counted]
    nodes = [line for line in (source.run(*PBS_NODES) or "").split("\n") if line and not line[0].isspace()]
    remarks = ("pbsnodes counts all nodes, whatever their queue; jobs go to the server's default queue",)
    return Scheduler("pbs", "mpirun", tuple(queues), len(nodes) or None, remarks=remarks)


def _lsf(source: Source) -> Scheduler | None:
    said = source.run(*BQUEUES)
    if said is None:
        return None
    rows = [line.split() for line in said.split("\n")[1:]]
    queues = [Partition(row[0], None, up=row[2].startswith("Open")) for row in rows if len(row) > 2]
    hosts = [line for line in (source.run(*BHOSTS) or "").split("\n")[1:] if line.split()]
    remarks = ("bhosts counts all hosts, the login hosts too; jobs go to the default queue",)
    return Scheduler("lsf", "mpirun", tuple(queues), len(hosts) or None, remarks=remarks)


def _flux(source: Source) -> Scheduler | None:
    said = source.run(*FLUX)
    if said is None:
        return None
    counts = [int(word) for word in said.split() if word.isdigit()]
    return Scheduler(FLUX_BATCH, FLUX_RUN, (), sum(counts) or None, remarks=("flux counts the nodes of this instance",))


def _with_choice(found: Scheduler, option: str) -> Scheduler:
    """Return the scheduler with its chosen partition and its nodes; if that is not the default, a remark says so."""
    chosen = found.default_partition
    if chosen is None:
        return found
    remarks = list(found.remarks)
    access: tuple[str, ...] = (option.format(chosen.name),)
    if not chosen.default:
        remarks.append(f"no partition is the default: {chosen.name} has the most nodes")
    return Scheduler(found.name, found.launcher, found.partitions, chosen.nodes, access, found.cluster, tuple(remarks))
