"""A system's scheduler in its file: its family, the account of jobs, where they may run, and for how long.

`_OPTIONS` has one table per scheduler with the options that follow from these settings. If a scheduler has no option
for a setting, reading the file refuses the setting and says so. Sources: sbatch(1) of Slurm 22.05, qsub(1B) and
pbs_resources(7B) of PBS 2022.1, bsub(1) of IBM Spectrum LSF 10.1, flux-batch(1) of flux-core 0.71, qsub(1) and
sge_complex(5) of Grid Engine 8.1.9.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from railyard.base.errors import did_you_mean
from railyard.base.fields import Count, Duration, Model, Name, ScriptLine
from railyard.base.values import refuse, shell_reason, show
from railyard.hardware.node import NodeHardware

#: Our own ReFrame backend: Slurm without an accounting database (`rfm/backends`).
SLURM_WITHOUT_DATABASE = "slurm-nodb"
#: Our own ReFrame backend: Flux by its command line (`rfm/backends`).
FLUX_BATCH = "flux-batch"
#: How much longer than its script a job of ``flux batch`` may last, in seconds: it has a Flux instance of its own,
#: whose brokers begin before the script and end after it. On two loaded cores that took up to 15 s.
FLUX_BROKERS_S = 60
#: How much longer than its script a job of Grid Engine may last, in seconds. Each node's sge_execd counts by itself: if
#: that of another node is the first at the limit, mpirun loses its processes there, and the job seems to fail.
SGE_APART_S = 60
#: Schedulers whose own limit is that much longer than a test's, in seconds; ``timeout`` in the job's script keeps the
#: test's.
LONGER_S: Mapping[str, int] = {FLUX_BATCH: FLUX_BROKERS_S, "sge": SGE_APART_S}
#: ReFrame's name of a scheduler -> the family whose options its jobs take. A scheduler that is missing here takes none
#: of them.
FAMILIES: Mapping[str, str] = {
    "slurm": "slurm",
    "squeue": "slurm",
    SLURM_WITHOUT_DATABASE: "slurm",
    "pbs": "pbs",
    "torque": "pbs",
    "lsf": "lsf",
    FLUX_BATCH: "flux",
    "sge": "sge",
}
#: All schedulers that a system's file may name: those of ReFrame 4.10, and ours.
SCHEDULERS = (
    *("local", "slurm", "squeue", "pbs", "pbspro", "torque", "lsf", "flux", "sge", "oar", "ssh"),
    *(SLURM_WITHOUT_DATABASE, FLUX_BATCH),
)
#: Those with which jobs run on the virtual cluster.
ON_TESTBEDS = ("local", SLURM_WITHOUT_DATABASE, FLUX_BATCH, "pbs", "sge")
#: Our own ReFrame launcher: the command of a site, whose words the system's file has (`rfm/backends`).
SITE_LAUNCHER = "site"
#: Our own ReFrame launcher: Flux's, inside a job of ``flux-batch`` (`rfm/backends`).
FLUX_RUN = "flux-run"
#: Launchers that are Slurm's srun: in a job's script, and as a step in an allocation.
SRUN = ("srun", "srunalloc")
#: Launchers that are a stack's own, inside a scheduler's job.
OWN_LAUNCHERS = ("mpirun", "mpiexec")
#: The blanks of these words: of the whole job, and the processors of each rank.
LAUNCHER_BLANKS = ("ranks", "ranks_per_node", "nodes", "cores")
#: Launchers of our own testbeds and replays.
OWN_TESTBEDS = ("namespaces", "guests", "replay")
#: All launchers that it may name: those of ReFrame 4.10, and ours.
LAUNCHERS = (
    *("local", "srun", "srunalloc", "mpirun", "mpirun-openmpi", "mpirun-intelmpi", "mpiexec", "alps", "ibrun"),
    *("lrun", "lrun-gpu", "clush", "pdsh", "ssh", "upcrun", "upcxx-run"),
    *(FLUX_RUN, *OWN_TESTBEDS),
    SITE_LAUNCHER,
)
#: The kinds of environment modules that ReFrame 4.10 can load; tmod4 is its old name of envmod.
MODULES_SYSTEMS = ("nomod", "lmod", "envmod", "tmod4", "spack")
#: Schedulers with which ReFrame 4.10 does not learn a job's exit code. There the job's script writes it down.
#: PBS knows it only if its server keeps a history of jobs, which is off by default (job_history_enable), Grid Engine
#: only if qacct can read its accounts.
WITHOUT_EXIT_CODE = ("squeue", "lsf", "sge", "pbs")
#: A family -> its option by which a job never runs twice: its output might come from one run and its counters from the
#: other. Flux and LSF run a job again only if that was asked for.
NEVER_TWICE: Mapping[str, str] = {"slurm": "--no-requeue", "pbs": "-r n", "sge": "-r n"}

#: What to write into a file whose jobs do not ask for whole nodes, although it says that runs have them.
ASK_FOR_WHOLE_NODES = "write jobs: {exclusive: true}, or nodes: {exclusive: false} if they are to be shared"


def is_slurm(scheduler: str) -> bool:
    """Return whether scontrol answers about the jobs and nodes of a scheduler."""
    return FAMILIES.get(scheduler) == "slurm"


#: Which of a system's time limits a check has: an application runs longer than a micro-benchmark.
CheckClass = Literal["micro", "app"]


def _words(text: str) -> str:
    """Return a constraint or a resource as it is: it follows #SBATCH, where no shell reads its ampersands."""
    if not text.isprintable() or not text or any(letter.isspace() for letter in text) or text.startswith("-"):
        raise refuse(show(text), "one word, as the scheduler's own option takes it", shell_reason(text) or "")
    if any(mark in text for mark in "$`;\"'\\<>"):
        raise refuse(show(text), "one word, as the scheduler's own option takes it", shell_reason(text) or "")
    return text


Word = Annotated[str, AfterValidator(_words)]


#: The blanks of a resource: processors that the job uses, all cores of its nodes, its nodes, and processors of each.
_SLOTS, _CORES, _NODES, _EACH = "num_slots", "num_cores", "num_nodes", "num_slots_per_node"
_BLANKS = (_SLOTS, _CORES, _NODES, _EACH)


def _slots(text: str) -> str:
    for blank in re.findall(r"\{([^{}]*)\}", text):
        if blank not in _BLANKS:
            expected = f"no blank but {', '.join(f'{{{name}}}' for name in _BLANKS)}"
            raise refuse(show(text), expected, did_you_mean(blank, _BLANKS))
    if not text.startswith("-"):
        raise refuse(show(text), 'an option such as "-pe mpi {num_slots}"')
    return text


#: An option of the scheduler with the number of a job's processors, as Grid Engine's parallel environments need it.
Resource = Annotated[ScriptLine, AfterValidator(_slots)]


class TimeLimits(Model):
    """How long a job of each class of checks may take. If one is left out, the system's ``time_limit`` holds."""

    micro: Duration | None = None
    app: Duration | None = None


class SchedulerSettings(Model):
    """How jobs are requested. All of it may be left out."""

    account: Name | None = Field(None, description="The project to which jobs are charged")
    project: Name | None = Field(None, description="PBS, Grid Engine: the project of the job, beside its account")
    partition: Name | None = Field(None, description="Slurm's partition; the queue of PBS, LSF, Flux and Grid Engine")
    qos: Name | None = Field(None, description="Slurm's quality of service")
    reservation: Name | None = None
    constraint: Word | None = Field(None, description='Features that nodes must have: "edr", "edr&haswell"')
    exclude: tuple[Name, ...] = Field((), description="Nodes that no job may use; they are reported as not tested")
    gres: Word | None = Field(None, description='Slurm: generic resources of each node, such as "gpu:4"')
    switches: Count | None = Field(None, description="Slurm: the most leaf switches of a job")
    exclusive: bool = Field(False, description="Request whole nodes; nodes.exclusive says whether jobs get them anyway")
    use_nodes_option: bool = Field(
        False, description="Slurm: state the number of nodes too, for a site that refuses jobs without it"
    )
    totals: bool = Field(
        False,
        description="PBS: jobs ask for the processors, memory and GPUs of all their nodes together (-l ncpus=96), for "
        "a site whose qsub takes no chunks (-l select). Needs nodes.hardware; no job can then ask for nodes by name",
    )
    resources: tuple[Resource, ...] = Field(
        (),
        description='Options with the number of processors of the job: "-pe mpi {num_slots}". It is the number of '
        "ranks times the threads of each. {num_cores} is the number of all cores of its nodes, for Grid Engine where "
        "jobs share no node: it fills one node after the other. {num_nodes} is the number of nodes, and "
        "{num_slots_per_node} that of processors on each, for parallel environments with a fixed number on each node",
    )
    max_pending: Duration | None = Field(
        None, description="A job that has not begun after this time is cancelled, and says why; if left out: no limit"
    )
    time_limits: TimeLimits = Field(default_factory=lambda: TimeLimits.model_validate({}))

    def time_limit(self, check_class: CheckClass, default: str) -> str:
        """Return how long a job of a class of checks may take, as a duration."""
        own: str | None = getattr(self.time_limits, check_class)
        return own or default

    def given_options(self) -> dict[str, str]:
        """Return the settings that are set and become options: name, text."""
        found = {name: getattr(self, name) for name in _ORDER if getattr(self, name)}
        return {name: _text(value) for name, value in found.items()}


def options(scheduler: str, settings: SchedulerSettings) -> tuple[str, ...]:
    """Return the options of every job, as ReFrame's ``access`` has them: ``--account=abc``, ``-P abc``.

    Raises KeyError for a setting for which the scheduler has no option; ``why_not`` says which.
    """
    if scheduler not in FAMILIES:  # a local job, such as a replay's, goes to no scheduler
        return ()
    table = _table(scheduler)
    return tuple(table[name].format(value) for name, value in settings.given_options().items())


def why_not(scheduler: str, settings: SchedulerSettings) -> tuple[str, str] | None:
    """Return the first setting for which a scheduler has no option, and the sentence why not; None if it has all.

    A local job goes to no scheduler: there, all settings except the time limits are refused.
    """
    family, table = FAMILIES.get(scheduler), _table(scheduler)
    if settings.use_nodes_option and family != "slurm":
        return "use_nodes_option", f"it only with Slurm: the scheduler {scheduler} is always asked for nodes"
    if settings.totals and scheduler != "pbs":
        return "totals", f"it only with PBS: the scheduler {scheduler} is not asked in chunks"
    if settings.totals and settings.exclusive:
        return (
            "exclusive",
            "totals alone: qsub refuses -l place beside them, and a job has all cores of its nodes",
        )
    if settings.resources and scheduler == "local":
        return "resources", "no resources: a local job asks no scheduler for anything"
    for name in (*settings.given_options(), *(["max_pending"] if settings.max_pending else [])):
        if name == "max_pending":
            if family is None:
                return name, f"no max_pending: jobs of the scheduler {scheduler} do not wait"
        elif name not in table:
            known = ", ".join(table) or "none"
            return name, f"a setting for which the scheduler {scheduler} has an option: {known}"
    return None


def counts_cores(settings: SchedulerSettings) -> bool:
    """Return whether a resource has the number of all cores of a job's nodes."""
    return any(f"{{{_CORES}}}" in option for option in settings.resources)


def grows_with_slots(option: str) -> bool:
    """Return whether a resource has a blank for the processors of a job: its ranks, or all cores of its nodes."""
    return any(f"{{{blank}}}" in option for blank in (_SLOTS, _CORES))


def asks_for_slots(settings: SchedulerSettings, access: Iterable[str]) -> bool:
    """Return whether jobs ask Grid Engine for a parallel environment: without one a job has one slot on one node."""
    return any(option.split()[:1] == ["-pe"] for option in (*settings.resources, *access))


def resource_options(settings: SchedulerSettings, slots: int, cores: int, nodes: int) -> tuple[str, ...]:
    """Return the options of a job with so many processors: one for each thread of each rank.

    ``cores`` is the number of all cores of its ``nodes``.
    """
    said = {_SLOTS: slots, _CORES: cores, _NODES: nodes, _EACH: -(-slots // max(nodes, 1))}
    return tuple(re.sub(r"\{(\w+)\}", lambda found: str(said[found[1]]), option) for option in settings.resources)


#: What asks PBS for each chunk on a node of its own.
SCATTER = "-l place=scatter"


def place_options(scheduler: str, settings: SchedulerSettings, access: Iterable[str]) -> tuple[str, ...]:
    """Return the option that has PBS give each chunk a node of its own, where no other option says where chunks are.

    Without any, OpenPBS 23.06 puts two chunks that fit one node there, and a run between two nodes would be within one.
    """
    if scheduler != "pbs" or settings.totals or settings.exclusive:
        return ()
    stated = any(_asked_resource(option, _PLACE) is not None for option in access if not is_chunk_word(option))
    return () if stated else (SCATTER,)


def total_options(nodes: int, hardware: NodeHardware, gpus: int | None) -> tuple[str, ...]:
    """Return what a job of PBS asks for if its qsub takes no chunks: all that so many whole nodes have, together.

    ``gpus`` is how many a node has. A size with the suffix mb counts 2^20 bytes, as in ``chunk_words``.
    """
    asked = [f"-l ncpus={nodes * hardware.cores}", f"-l mem={nodes * (hardware.memory >> 20)}mb"]
    return (*asked, *([] if gpus is None else [f"-l ngpus={nodes * gpus}"]))


def why_not_by_name(system: str, settings: SchedulerSettings) -> str | None:
    """Return why a job of a system cannot ask for nodes by name; None if its settings do not forbid it."""
    if not settings.totals:
        return None
    return f"jobs of {system} ask PBS for totals, and a node's name is a word of chunks"


def is_chunk_word(option: str) -> bool:
    """Return whether it is a word of PBS's chunks (``mem=190gb``), which is added to those of the request of nodes."""
    return not option.startswith(("-", "#"))


def chunk_words(
    scheduler: str, access: Sequence[str], hardware: NodeHardware | None, gpus: int | None, whole: bool
) -> tuple[str, ...]:
    """Return what PBS is to give in each chunk, which is a node: ``ncpus=48``, ``mem=194560mb``, ``ngpus=4``.

    ``hardware`` and ``gpus`` (per node) are those of the system's file; ``whole``: a run has its nodes for itself.
    Words that ``access`` has already are left out. Empty for another scheduler: Torque has no such words. Source: PBS
    Professional 2022.1 pbs_resources(7B), where a size with the suffix mb counts 2^20 bytes.
    """
    if scheduler != "pbs":
        return ()
    asked = {} if gpus is None else {"ngpus": f"{gpus}"}
    if whole and hardware is not None:
        asked = {"ncpus": f"{hardware.cores}", "mem": f"{hardware.memory >> 20}mb", **asked}
    given = {part.partition("=")[0] for option in access if is_chunk_word(option) for part in option.split(":")}
    return tuple(f"{name}={value}" for name, value in asked.items() if name not in given)


#: A word of a chunk: a resource with its value, or (Torque) the name of a property of nodes.
_CHUNK = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*(?:=[^\s:]+)?(?::[A-Za-z][A-Za-z0-9_.-]*(?:=[^\s:]+)?)*")


#: Resources of chunks: qsub refuses ``-l mem=…`` of the whole job where there is a ``-l select``, and all our jobs have
#: one. Source: the resources with ATR_DFLAG_CVTSLT in master_resc_def_all.xml of OpenPBS 23.06, and ngpus, the name
#: that its administrators give GPUs. ``select`` and ``nodes`` are such requests of nodes themselves.
_OF_CHUNKS = re.compile(r"(?:arch|host|mem|mpiprocs|ncpus|ngpus|nodes|ompthreads|select|vmem|vnode)=.*")


_PLACE = re.compile(r"place=.*")
#: Resources that a job with totals asks for by itself, or that no such job can ask for.
_OF_TOTALS = re.compile(r"(?:host|mem|mpiprocs|ncpus|ngpus|nodes|place|select|vnode)=.*")


def _asked_resource(option: str, known: re.Pattern[str]) -> str | None:
    """Return the first of such resources that a ``-l`` among the words asks for, None if it asks for none."""
    words = shlex.split(option)
    values = [word[2:] or after for word, after in pairwise([*words, ""]) if word.startswith("-l")]
    resources = (each for value in values for each in value.split(","))
    return next((each for each in resources if known.fullmatch(each)), None)


def why_not_option(scheduler: str, option: str, totals: bool = False) -> str | None:
    """Return what is expected instead of a word of ``access``, None if the scheduler's directives can have it.

    ``totals``: jobs ask PBS for totals.
    """
    try:
        shlex.split(option)
    except ValueError:
        return "each quotation to end in the same word"
    if totals:
        return _why_not_beside_totals(option)
    if option.startswith("-"):
        beside = _asked_resource(option, _OF_CHUNKS) if scheduler == "pbs" else None
        if beside is None:
            return None
        if beside.startswith(("select=", "nodes=")):
            return "no request of nodes: each test makes its own"
        return f'the word "{beside}" without "-l": qsub refuses it beside -l select'
    if FAMILIES.get(scheduler) != "pbs":
        return 'an option that begins with "-": only PBS and Torque take words of a chunk, such as mem=190gb'
    if option.startswith("#"):
        return None
    return None if _CHUNK.fullmatch(option) else "an option, or words of a chunk with colons and no blanks: mem=190gb"


def _why_not_beside_totals(option: str) -> str | None:
    if option.startswith("#"):
        return None
    if not option.startswith("-"):
        return 'an option that begins with "-": jobs with totals have no chunks, to which this word would be added'
    own = _asked_resource(option, _OF_TOTALS)
    if own is None:
        return None
    return f"no {own}: with jobs.totals each job asks for the whole of its nodes, as nodes.hardware and gpus state them"


def split_words(options: Iterable[str]) -> list[str]:
    """Return options with blanks as a command line has them: ``-p rome`` is two words."""
    return [word for option in options for word in shlex.split(option)]


def without_export(words: Sequence[str]) -> list[str]:
    """Return words of Slurm without ``--export``: salloc has no such option, and a step of srun needs its variables."""
    pairs = zip(["", *words], words, strict=False)
    return [word for before, word in pairs if before != "--export" and word.partition("=")[0] != "--export"]


#: Slurm's variable of a job: what a step's processes get of the variables of the job's script (srun(1), --export).
EXPORT_VARIABLE = "SLURM_EXPORT_ENV"


def export_variables(scheduler: str, access: Sequence[str]) -> dict[str, str]:
    """Return the variable with which srun gives a job's own variables to its steps if ``--export`` is set, else {}.

    ``sbatch --export=NONE`` sets it to NONE for the job; srun then starts processes without what the script exports.
    """
    if not is_slurm(scheduler):
        return {}
    told = any(word.partition("=")[0] == "--export" for word in split_words(access))
    return {EXPORT_VARIABLE: "ALL"} if told else {}


def escape_exports(env: Mapping[str, str]) -> dict[str, str]:
    """Return values as needed in a script's lines ``export NAME=VALUE``: ReFrame 4.10 quotes nothing there.

    A shell would end PSM3_MULTIRAIL_MAP=hsn0:1;hsn1:1 at its semicolon. A trailing ``:$PATH`` keeps its reference.
    """
    return {name: _quote(value) for name, value in env.items()}


def _quote(value: str) -> str:
    if value.endswith(":$PATH"):
        return shlex.quote(value.removesuffix("$PATH")) + '"$PATH"'
    return shlex.quote(value)


def document() -> str:
    """Return the table of settings and options as Markdown, one row per setting."""
    head = ["setting", *_OPTIONS]
    rows = [
        [f"`{name}`", *(f"`{table[name].format(_SHOWN)}`" if name in table else "no" for table in _OPTIONS.values())]
        for name in _ORDER
    ]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


_SHOWN = "VALUE"
_ORDER = (
    *("account", "project", "partition", "qos", "reservation", "constraint", "exclude", "gres", "switches"),
    "exclusive",
)
#: Scheduler family -> setting -> its option. LSF and PBS have no option for a list of hosts to avoid.
_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "slurm": {
        "account": "--account={}",
        "partition": "--partition={}",
        "qos": "--qos={}",
        "reservation": "--reservation={}",
        "constraint": "--constraint={}",
        "exclude": "--exclude={}",
        "gres": "--gres={}",
        "switches": "--switches={}",
        "exclusive": "--exclusive",
    },
    "pbs": {
        "account": "-A {}",
        "project": "-P {}",
        "partition": "-q {}",
        # A reservation of PBS is a queue of its own.
        "reservation": "-q {}",
        "exclusive": "-l place=scatter:excl",
    },
    "lsf": {
        "account": "-P {}",
        "partition": "-q {}",
        "reservation": "-U {}",
        "exclusive": "-x",
    },
    "flux": {
        "account": "--setattr=bank={}",
        "partition": "--queue={}",
        "constraint": "--requires={}",
        "exclusive": "--exclusive",
    },
    "sge": {
        "account": "-A {}",
        "project": "-P {}",
        "partition": "-q {}",
        "reservation": "-ar {}",
        # Grid Engine has no such resource by itself. Its administrator makes one, and its manual calls it so
        # (sge_complex(5), relation EXCL).
        "exclusive": "-l exclusive=true",
    },
}


def _table(scheduler: str) -> Mapping[str, str]:
    table = _OPTIONS.get(FAMILIES.get(scheduler, ""), {})
    # qsub -P of Torque names the user for whom a job runs (qsub(1) of Torque 6.1).
    return {name: option for name, option in table.items() if (scheduler, name) != ("torque", "project")}


def _text(value: object) -> str:
    if value is True:
        return ""
    return ",".join(value) if isinstance(value, tuple) else str(value)
