"""Finds the cluster's scheduler, what its jobs need, and the leaf switches that it states.

The scheduler, its partitions and the number of nodes come from its own listing commands. The leaf switches are a text
that a system's file can name, or why it is of no use.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from railyard.base.errors import InputError
from railyard.base.hostlist import label
from railyard.base.wording import count_of, listing
from railyard.cluster.detect.source import Source, natural
from railyard.parsers import sge, slurm_topology
from railyard.parsers.slurm_topology import Place
from railyard.site.systems.jobs import FLUX_BATCH, FLUX_RUN, SLURM_WITHOUT_DATABASE

#: The commands that a person would use: none of them changes anything.
SINFO = ("sinfo", "--noheader", "--format=%P|%D|%a")
SACCT = ("sacct", "--noheader", "--allocations", "--format=JobID")
SRUN_MPI = ("srun", "--mpi=list")
SLURM_CONFIG = ("scontrol", "show", "config")
QUEUES = ("qstat", "-Q")
PBS_NODES = ("pbsnodes", "-a")
BQUEUES, BHOSTS = ("bqueues", "-w"), ("bhosts", "-w")
FLUX = ("flux", "resource", "list", "--states=up", "--no-header", "--format={nnodes}")
#: The same of the instance around this job: a job of flux batch has an instance of its own nodes alone. Where there is
#: none around it, flux-core 0.88 asks the instance itself.
FLUX_AROUND = (FLUX[0], "--parent", *FLUX[1:])
PLACES = ("qstat", "-f", "-xml")
ENVIRONMENTS, ENVIRONMENT, RESOURCES = ("qconf", "-spl"), ("qconf", "-sp"), ("qconf", "-sc")
#: Where the file names a parallel environment that nobody knows: qsub refuses it. And how to choose one.
_UNKNOWN, _HOW = "MISSING", "(docs/howto/clusters.md, Grid Engine)"
_CLUSTER = re.compile(r"^ClusterName\s*=\s*(\S+)", re.MULTILINE)
SLURM_TOPOLOGY = ("scontrol", "show", "topology")
#: What a line with switches begins with; others are an answer without switches.
HEADS = ("SwitchName=", "BlockName=", "AggregatedBlock=")


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition or queue: its nodes (None if the listing does not count them), and whether it is the default."""

    name: str
    nodes: int | None
    default: bool = False
    up: bool = True


@dataclass(frozen=True, slots=True)
class Scheduler:
    """A scheduler in ReFrame's words.

    ``nodes``: of the partition that jobs use. ``access`` and ``resources`` are options that each job needs;
    ``exclusive``: another one has to ask for whole nodes. ``remarks`` say what was guessed, ``missing`` what no job can
    run without.
    """

    name: str
    launcher: str
    partitions: tuple[Partition, ...] = ()
    nodes: int | None = None
    access: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    exclusive: bool = True
    cluster: str | None = None
    remarks: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def default_partition(self) -> Partition | None:
        """The default partition, else the largest one."""
        there = [one for one in self.partitions if one.up]
        named = next((one for one in there if one.default), None)
        return named or max(there, key=lambda one: one.nodes or 0, default=None)


LOCAL = Scheduler(
    "local",
    "mpirun",
    remarks=("no scheduler's command was found: jobs run on this host alone",),
    missing=(
        "no scheduler was found, so this system has one node and no test between nodes runs: run this on a host with "
        "the scheduler's commands, or try stacks only on this host with --system local",
    ),
)


@dataclass(frozen=True, slots=True)
class AroundJob:
    """The scheduler of a job: what people call it, ReFrame's name, and the program that is asked about the cluster."""

    title: str
    name: str
    program: str


#: A variable in a job's environment -> the scheduler that sets it.
JOBS: Mapping[str, AroundJob] = {
    "SLURM_JOB_ID": AroundJob("Slurm", SLURM_WITHOUT_DATABASE, SINFO[0]),
    "PBS_JOBID": AroundJob("PBS", "pbs", QUEUES[0]),
    "LSB_JOBID": AroundJob("LSF", "lsf", BQUEUES[0]),
    "FLUX_JOB_ID": AroundJob("Flux", FLUX_BATCH, FLUX[0]),
    "SGE_JOB_SPOOL_DIR": AroundJob("Grid Engine", "sge", PLACES[0]),
    # What a job of flux batch runs itself has only this one.
    "FLUX_ENCLOSING_ID": AroundJob("Flux", FLUX_BATCH, FLUX[0]),
}


def scheduler_of(source: Source, job_variable: str | None = None) -> Scheduler:
    """Return the scheduler whose listing command answers, ``local`` if none answers.

    ``job_variable``: the one of JOBS that is set; None outside of jobs, and if that is not known.
    """
    # Grid Engine's qstat has no -Q, so it comes after PBS's.
    kinds: tuple[Callable[[Source], Scheduler | None], ...] = (_slurm, _pbs, _lsf, _flux, _sge)
    found = next((found for kind in kinds if (found := kind(source)) is not None), LOCAL)
    return found if job_variable is None or found is not LOCAL else _silent(job_variable, source)


def _silent(variable: str, source: Source) -> Scheduler:
    """Return the scheduler of a job in which its commands do not answer: this node alone, and what to do."""
    around = JOBS[variable]
    why = "does not answer" if source.which(around.program) else "is not on PATH"
    lacks = (
        f"this is a job of {around.title} ({variable} is set), and {around.program} {why} here, so this file has one "
        f"node and no scheduler: let the job find {around.program}, and run this again; or write scheduler: "
        f"{around.name} and nodes: {{count: N}}"
    )
    return replace(LOCAL, remarks=(), missing=(lacks,))


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


#: What pbsnodes -a says of a node's processors: Torque's attributes of nodes are state, properties, np, ntype, jobs,
#: status and note (pbs_statnode(3B) of Torque; by its documented words, it never ran here). OpenPBS 23.06 prints Mom,
#: pcpus and resources_available, and no np.
_OF_TORQUE = re.compile(r"^\s+np = \d+$", re.MULTILINE)
_OF_PBS = re.compile(r"^\s+(?:Mom|pcpus|resources_available\.\w+) = ", re.MULTILINE)


def _pbs(source: Source) -> Scheduler | None:
    said = source.run(*QUEUES)
    if said is None:
        return None
    rows = [line.split() for line in said.split("\n")]
    # Queue Max Tot Ena Str …: a heading, dashes, then one queue per line
    counted = [row for row in rows if len(row) > 5 and row[1].isdigit()]
    queues = [Partition(row[0], None, up=row[3:5] == ["yes", "yes"]) for row in counted]
    listed = source.run(*PBS_NODES) or ""
    nodes = [line for line in listed.split("\n") if line and not line[0].isspace()]
    remarks = ["pbsnodes counts all nodes, whatever their queue; jobs go to the server's default queue"]
    is_torque, is_pbs = (pattern.search(listed) is not None for pattern in (_OF_TORQUE, _OF_PBS))
    if is_torque:
        remarks.append('pbsnodes prints "np", as Torque does and PBS does not')
    elif not is_pbs:
        remarks.append(
            "whether this is PBS or Torque is not certain, since pbsnodes -a says nothing of its nodes' processors: "
            'if qstat --version does not say "pbs_version", write scheduler: torque'
        )
    return Scheduler(
        "torque" if is_torque else "pbs", "mpirun", tuple(queues), len(nodes) or None, remarks=tuple(remarks)
    )


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
    around = source.run(*FLUX_AROUND)
    said = source.run(*FLUX) if around is None else around
    if said is None:
        return None
    counts = [int(word) for word in said.split() if word.isdigit()]
    return Scheduler(FLUX_BATCH, FLUX_RUN, (), sum(counts) or None, remarks=("flux counts the nodes of this instance",))


def _sge(source: Source) -> Scheduler | None:
    said = source.run(*PLACES)
    if said is None or sge.SCHEMA not in said:
        return None
    places, closed = sge.parse_places(said), dict(sge.closed_queues(said))
    queues = [
        Partition(name, len({place.node for place in places if place.queue == name}), up=name not in closed)
        for name in dict.fromkeys(place.queue for place in places)
    ]
    slots, lacks_slots = _fixed_slots(source)
    whole, lacks_whole = _whole_nodes(source)
    return Scheduler(
        "sge", "mpirun", tuple(queues), len({place.node for place in places}) or None,
        access=() if whole is None else (f"-l {whole}=true",), resources=(f"-pe {slots} {{num_slots}}",),
        exclusive=whole is None,
        remarks=("qstat counts the nodes of all queues; jobs go to any queue that has their parallel environment",),
        missing=(*lacks_slots, *lacks_whole),
    )  # fmt: skip


def _fixed_slots(source: Source) -> tuple[str, tuple[str, ...]]:
    """Return the pattern of the parallel environments for any number of slots on each node, and what is missing."""
    said = source.run(*ENVIRONMENTS)
    if said is None:
        why = "qconf -spl answers nothing here (is this a submit host?), so nobody knows the parallel environments"
        return _UNKNOWN, (f"{why}: put one in the place of {_UNKNOWN} {_HOW}",)
    rules = {name: sge.parse_rule(source.run(*ENVIRONMENT, name) or "") for name in sorted(said.split(), key=natural)}
    pattern = sge.find_fixed_slots(rules)
    if pattern is not None:
        return pattern, ()
    there = listing([f"{name} ({rule or 'no rule'})" for name, rule in rules.items()]) or "none"
    lacks = (
        f"there are no parallel environments with a fixed number of slots on each node, one for each number (there is "
        f"{there}): put another one in the place of {_UNKNOWN} {_HOW}"
    )
    return _UNKNOWN, (lacks,)


def _whole_nodes(source: Source) -> tuple[str | None, tuple[str, ...]]:
    """Return the resource for whole nodes if it is not Railyard's own option, and what is missing."""
    said = source.run(*RESOURCES)
    whole = sge.find_exclusive(said or "")
    if said is None or sge.EXCLUSIVE in whole:
        return None, ()
    if whole:
        return whole[0], ()
    lacks = (
        "no resource has the relation EXCL (qconf -sc), so qsub refuses jobs that ask for whole nodes: have one made "
        "(sge_complex(5)), or write nodes: {exclusive: false} and jobs without exclusive: true"
    )
    return None, (lacks,)


def _with_choice(found: Scheduler, option: str) -> Scheduler:
    """Return the scheduler with its chosen partition and its nodes; if that is not the default, a remark says so."""
    chosen = found.default_partition
    if chosen is None:
        return found
    remarks = list(found.remarks)
    access: tuple[str, ...] = (option.format(chosen.name),)
    if not chosen.default:
        remarks.append(f"no partition is the default: {chosen.name} has the most nodes")
    return replace(found, nodes=chosen.nodes, access=access, remarks=tuple(remarks))


@dataclass(frozen=True, slots=True)
class StatedSwitches:
    """What Slurm prints of its topology: ``words`` say how much; ``doubt`` is why no system's file can name it."""

    text: str
    words: str
    doubt: str | None = None


def slurm_switches(source: Source, nodes: int | None) -> StatedSwitches | None:
    """Return the leaf switches by ``scontrol show topology``; None if it has none, or only one.

    ``nodes`` is how many nodes jobs use; None if that is not known.
    """
    said = source.run(*SLURM_TOPOLOGY) or ""
    text = "".join(f"{line.strip()}\n" for line in said.split("\n") if line.startswith(HEADS))
    try:
        leaves = slurm_topology.parse(text, " ".join(SLURM_TOPOLOGY), _includes_nothing).leaves if text else ()
    except InputError as error:
        return StatedSwitches(text, "", str(error))
    if len(leaves) < 2:
        return None
    at: dict[str, str] = {}
    doubt = None
    for leaf in leaves:
        twice = next((node for node in leaf.nodes if at.setdefault(label(node), leaf.name) != leaf.name), None)
        if twice is not None:
            doubt = f"{twice} is at {at[label(twice)]} and at {leaf.name}: if each rail has its own, say whose they are"
            break
    if doubt is None and nodes is not None and len(at) < nodes:
        doubt = f"{count_of(len(at), 'node')} at leaf switches, and jobs have {nodes}"
    return StatedSwitches(text, f"{count_of(len(at), 'node')} at {len(leaves)} leaf switches or blocks", doubt)


def _includes_nothing(name: str, place: Place) -> tuple[str, str]:
    raise place.error(f"an Include of {name}", "the lines themselves")
