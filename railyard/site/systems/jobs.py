"""A system's scheduler in its file: its family, the account of jobs, where they may run, and for how long.

`_OPTIONS` has one table per scheduler with the options that follow from these settings. If a scheduler has no option
for a setting, reading the file refuses the setting and says so. Sources: sbatch(1) of Slurm 22.05, qsub(1B) and
pbs_resources(7B) of PBS 2022.1, bsub(1) of IBM Spectrum LSF 10.1, flux-batch(1) of flux-core 0.71.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from railyard.base.fields import Count, Duration, Model, Name, refuse, shell_reason, show

#: Our own ReFrame backend: Slurm without an accounting database (`rfm/backends`).
SLURM_WITHOUT_DATABASE = "slurm-nodb"
#: Our own ReFrame backend: Flux by its command line (`rfm/backends`).
FLUX_BATCH = "flux-batch"
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
}
#: All schedulers that a system's file may name: those of ReFrame 4.10, and ours.
SCHEDULERS = (
    *("local", "slurm", "squeue", "pbs", "pbspro", "torque", "lsf", "flux", "sge", "oar", "ssh"),
    *(SLURM_WITHOUT_DATABASE, FLUX_BATCH),
)
#: All launchers that it may name: those of ReFrame 4.10, and ours.
LAUNCHERS = (
    *("local", "srun", "srunalloc", "mpirun", "mpirun-openmpi", "mpirun-intelmpi", "mpiexec", "alps", "ibrun"),
    *("lrun", "lrun-gpu", "clush", "pdsh", "ssh", "upcrun", "upcxx-run"),
    *("flux-run", "namespaces", "guests", "replay"),
)
#: The kinds of environment modules that ReFrame 4.10 can load; tmod4 is its old name of envmod.
MODULES_SYSTEMS = ("nomod", "lmod", "envmod", "tmod4", "spack")
#: Schedulers with which ReFrame 4.10 does not learn a job's exit code. There the job's script writes it down.
WITHOUT_EXIT_CODE = ("squeue", "lsf", "sge")

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


class TimeLimits(Model):
    """How long a job of each class of checks may take. If one is left out, the system's ``time_limit`` holds."""

    micro: Duration | None = None
    app: Duration | None = None


class SchedulerSettings(Model):
    """How jobs are requested. All of it may be left out."""

    account: Name | None = Field(None, description="The project to which jobs are charged")
    partition: Name | None = Field(None, description="Slurm's partition; the queue of PBS, LSF and Flux")
    qos: Name | None = Field(None, description="Slurm's quality of service")
    reservation: Name | None = None
    constraint: Word | None = Field(None, description='Features that nodes must have: "edr", "edr&haswell"')
    exclude: tuple[Name, ...] = Field((), description="Nodes that no job may use; they are reported as not tested")
    gres: Word | None = Field(None, description='Slurm: generic resources of each node, such as "gpu:4"')
    switches: Count | None = Field(None, description="Slurm: the most leaf switches of a job")
    exclusive: bool = Field(False, description="Request whole nodes; nodes.exclusive says whether jobs get them anyway")
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
    table = _OPTIONS[FAMILIES[scheduler]]
    return tuple(table[name].format(value) for name, value in settings.given_options().items())


def why_not(scheduler: str, settings: SchedulerSettings) -> tuple[str, str] | None:
    """Return the first setting for which a scheduler has no option, and the sentence why not; None if it has all.

    A local job goes to no scheduler: there, all settings except the time limits are refused.
    """
    family = FAMILIES.get(scheduler)
    table: Mapping[str, str] = {} if family is None else _OPTIONS[family]
    for name in (*settings.given_options(), *(["max_pending"] if settings.max_pending else [])):
        if name == "max_pending":
            if family is None:
                return name, f"no max_pending: jobs of the scheduler {scheduler} do not wait"
        elif name not in table:
            known = ", ".join(table) or "none"
            return name, f"a setting for which the scheduler {scheduler} has an option: {known}"
    return None


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
_ORDER = ("account", "partition", "qos", "reservation", "constraint", "exclude", "gres", "switches", "exclusive")
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
}


def _text(value: object) -> str:
    if value is True:
        return ""
    return ",".join(value) if isinstance(value, tuple) else str(value)


_DURATION = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")


def seconds(duration: str) -> int:
    """Return a system file's duration (``1h30m``, checked when it was read) in seconds."""
    found = _DURATION.fullmatch(duration)
    if found is None:
        raise ValueError(f"{duration!r} is not a duration")
    return sum(int(count or 0) * unit for count, unit in zip(found.groups(), (86400, 3600, 60, 1), strict=True))
