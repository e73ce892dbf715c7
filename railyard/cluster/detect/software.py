"""Finds a node's stacks (MPI libraries, benchmarks that need no MPI), the cluster's scheduler, and its leaf switches.

Stacks are on the search path or among the modules. Each MPI library's entry (``railyard/stacks/entries/``) says how to
ask it for its version, and what its module is called.

The scheduler, its partitions and the number of nodes come from its own listing commands.

The leaf switches are those that the scheduler states: the text that a system's file can name, or why it is of no use.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from railyard.base.errors import InputError
from railyard.base.hostlist import label
from railyard.base.wording import count_of
from railyard.cluster.detect.source import Source, natural
from railyard.parsers import slurm_topology
from railyard.parsers.slurm_topology import Place
from railyard.site.systems.jobs import FLUX_BATCH, FLUX_RUN, SLURM_WITHOUT_DATABASE
from railyard.stacks.model import VersionProgram
from railyard.stacks.table import STACKS

MODULES_ASKED = ("module", "-t", "avail")
MODULES_VERSION = ("module", "--version")
#: For MPI: a program, its tool, and how many folders above the program the tool's path ends.
MPI_TOOLS: tuple[tuple[str, str, int], ...] = (
    ("IMB-MPI1", "imb", 0),
    ("osu_bw", "osu", 2),  # …/mpi/pt2pt/osu_bw: the folder is …/mpi
    ("xhpl", "hpl", 0),
    ("NPmpi", "netpipe", 0),
    ("NPopenmpi", "netpipe", 0),
)
_NAMES_OF_MODULES = re.compile(r"([A-Za-z][\w.+-]*(?:/[\w.+-]+)*)(?:\s*\((?:[a-zA-Z:,]*)\))*")
_SYSTEMS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"Modules based on Lua"), "lmod"),
    (re.compile(r"Modules Release [45]\."), "envmod"),
)
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
_CLUSTER = re.compile(r"^ClusterName\s*=\s*(\S+)", re.MULTILINE)
SLURM_TOPOLOGY = ("scontrol", "show", "topology")
#: What a line with switches begins with; others are an answer without switches.
HEADS = ("SwitchName=", "BlockName=", "AggregatedBlock=")


@dataclass(frozen=True, slots=True)
class StatedSwitches:
    """What Slurm prints of its topology: ``words`` say how much; ``doubt`` is why no system's file can name it."""

    text: str
    words: str
    doubt: str | None = None


@dataclass(frozen=True, slots=True)
class FoundStack:
    """A stack: its prefix or its module, tools by path, and the sentence that says how it was found."""

    name: str
    how: str
    prefix: str | None = None
    module: str | None = None
    benchmarks: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Software:
    """All stacks, ReFrame's word for the modules system, where Spack is, and what was guessed."""

    stacks: tuple[FoundStack, ...]
    modules_system: str | None
    spack: str | None
    doubts: tuple[str, ...] = ()


def software_of(source: Source) -> Software:
    """Return what the search path and the modules have. If both have a stack, take its module."""
    by_path = _on_path(source)
    by_module = _in_modules(source.run(*MODULES_ASKED) or "")
    tools = _mpi_tools(source)
    doubts: list[str] = []
    found = [by_module.get(name) or by_path[name] for name in dict.fromkeys((*by_module, *by_path))]
    if tools and found:
        # Programs on the search path are linked to one MPI. Only the loader says to which one.
        owner = next(iter(by_path), found[0].name)
        found = [_with(one, tools) if one.name == owner else one for one in found]
        doubts.append(
            f"{', '.join(tools)} on the search path {'is' if len(tools) == 1 else 'are'} taken for {owner}'s: each run "
            f"holds what the loader says against that"
        )
    version = source.run(*MODULES_VERSION) or ""
    modules_system = next((name for pattern, name in _SYSTEMS if pattern.search(version)), None)
    if by_module and modules_system is None:
        doubts.append(
            "there are modules, and `module --version` names no kind that ReFrame has: modules_system is missing"
        )
    return Software((*found, *_pairs(source)), modules_system, source.which("spack"), tuple(doubts))


def _on_path(source: Source) -> dict[str, FoundStack]:
    found: dict[str, FoundStack] = {}
    known: set[str] = set()
    for stack, program in _programs():
        name = program.names[0]
        path = source.which(name)
        if path is None or path in known or program.within not in path.lower():
            continue
        answer = re.search(program.answer, source.run(name, *program.words) or "", re.MULTILINE)
        if answer is not None:
            known.add(path)
            prefix = path.rpartition("/bin/")[0] or "/usr"
            found[stack] = FoundStack(stack, f"{name} says version {answer[1]}", prefix)
    return found


def _programs() -> list[tuple[str, VersionProgram]]:
    """Return each stack's programs, first those that are also known by their path. The first that answers is taken."""
    every = [(name, program) for name, stack in STACKS.items() for program in stack.programs]
    return sorted(every, key=lambda one: not one[1].within)


def _in_modules(listing: str) -> dict[str, FoundStack]:
    """Return the newest module of each stack, or the one that the site marks as its default."""
    candidates: dict[str, list[tuple[bool, str]]] = {}
    for line in listing.split("\n"):
        found = _NAMES_OF_MODULES.fullmatch(line.strip())
        if found is None or found[1].endswith("/"):
            continue
        # Debian and Red Hat have modules without a version: mpi/openmpi-x86_64
        names = (found[1].rpartition("/")[0], found[1])
        stack = next((name for name, entry in STACKS.items() if _is_module(entry.module, names)), None)
        if stack is not None:
            marked = "(d" in line.lower().replace(" ", "")
            candidates.setdefault(stack, []).append((marked, found[1]))
    chosen = {}
    for stack, modules in candidates.items():
        _, module = max(modules, key=lambda one: (one[0], natural(one[1])))
        how = "a module" if len(modules) == 1 else f"the default or else newest of {len(modules)} modules"
        chosen[stack] = FoundStack(stack, how, module=module)
    return chosen


def _is_module(pattern: str | None, names: Iterable[str]) -> bool:
    whole = re.compile(f"(?:.*/)?(?:{pattern})", re.IGNORECASE)
    return pattern is not None and any(map(whole.fullmatch, names))


def _mpi_tools(source: Source) -> dict[str, str]:
    found: dict[str, str] = {}
    for program, tool, above in MPI_TOOLS:
        path = source.which(program)
        if path is not None:
            found.setdefault(tool, "/".join(path.split("/")[:-above]) if above else path)
    return found


def _with(stack: FoundStack, tools: Mapping[str, str]) -> FoundStack:
    return FoundStack(stack.name, stack.how, stack.prefix, stack.module, dict(tools))


def _pairs(source: Source) -> tuple[FoundStack, ...]:
    found: dict[str, FoundStack] = {}
    for stack, shown in (
        (name, shown) for name, entry in STACKS.items() if entry.pair for shown in entry.tool_programs
    ):
        path = source.which(shown.name)
        if path is None:
            continue
        folder = path.rpartition("/")[0]
        there = dict(found[stack].benchmarks) if stack in found else {}
        there[shown.tool] = folder if shown.is_folder else path
        found[stack] = FoundStack(stack, "on the search path", folder.removesuffix("/bin") or "/usr", benchmarks=there)
    return tuple(found.values())


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
    around = source.run(*FLUX_AROUND)
    said = source.run(*FLUX) if around is None else around
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
