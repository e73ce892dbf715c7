"""What a system's file says of its scheduler: its family, to whom jobs are charged, where they may run, how long.

The options that they become stand in one table a scheduler, `_OPTIONS`; a setting that a scheduler has no option for is
refused with that sentence when the file is read. Sources: sbatch(1) of Slurm 22.05, qsub(1B) and pbs_resources(7B) of
PBS 2022.1, bsub(1) of IBM Spectrum LSF 10.1, flux-batch(1) of flux-core 0.71.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from railyard.base.fields import Count, Duration, Model, Name, refuse, shell_reason, show

#: Our own ReFrame backend: Slurm without an accounting database (`rfm/scheduler`).
SLURM_WITHOUT_DATABASE = "slurm-nodb"
#: Our own ReFrame backend: Flux by its command line (`rfm/flux`).
FLUX_BATCH = "flux-batch"
#: ReFrame's name of a scheduler -> the family whose options its jobs take; one that is missing takes none of them.
FAMILIES: Mapping[str, str] = {
    "slurm": "slurm",
    "squeue": "slurm",
    SLURM_WITHOUT_DATABASE: "slurm",
    "pbs": "pbs",
    "torque": "pbs",
    "lsf": "lsf",
    FLUX_BATCH: "flux",
}
#: Every scheduler that a system's file may name: those of ReFrame 4.10, and ours.
SCHEDULERS = (
    *("local", "slurm", "squeue", "pbs", "pbspro", "torque", "lsf", "flux", "sge", "oar", "ssh"),
    *(SLURM_WITHOUT_DATABASE, FLUX_BATCH),
)
#: Every launcher that it may name: those of ReFrame 4.10, and ours.
LAUNCHERS = (
    *("local", "srun", "srunalloc", "mpirun", "mpirun-openmpi", "mpirun-intelmpi", "mpiexec", "alps", "ibrun"),
    *("lrun", "lrun-gpu", "clush", "pdsh", "ssh", "upcrun", "upcxx-run"),
    *("flux-run", "namespaces", "guests", "replay"),
)
#: The kinds of environment modules that ReFrame 4.10 can load; tmod4 is its old name of envmod.
MODULES_SYSTEMS = ("nomod", "lmod", "envmod", "tmod4", "spack")
#: Schedulers of ReFrame 4.10 that learn no exit code of a job: the job's script writes it down itself.
WITHOUT_EXIT_CODE = ("squeue", "lsf", "sge")


def is_slurm(scheduler: str) -> bool:
    """Return whether scontrol can be asked about the jobs and nodes of a scheduler."""
    return FAMILIES.get(scheduler) == "slurm"


#: Which of a system's time limits a check is given: an application runs for longer than a micro-benchmark.
CheckClass = Literal["micro", "app"]


def _words(text: str) -> str:
    """Return a constraint or a resource as it is: it stands behind #SBATCH, where no shell reads its ampersands."""
    if not text.isprintable() or not text or any(letter.isspace() for letter in text) or text.startswith("-"):
        raise refuse(show(text), "one word, as the scheduler's own option takes it", shell_reason(text) or "")
    if any(mark in text for mark in "$`;\"'\\<>"):
        raise refuse(show(text), "one word, as the scheduler's own option takes it", shell_reason(text) or "")
    return text


Word = Annotated[str, AfterValidator(_words)]


class TimeLimits(Model):
    """How long a job of each class of checks may take; the system's ``time_limit`` where one is left out."""

    micro: Duration | None = None
    app: Duration | None = None


class SchedulerSettings(Model):
    """How jobs are asked for. All of it may be left out."""

    account: Name | None = Field(None, description="The project that jobs are charged to")
    partition: Name | None = Field(None, description="Slurm's partition, PBS's, LSF's and Flux's queue")
    qos: Name | None = Field(None, description="Slurm's quality of service")
    reservation: Name | None = None
    constraint: Word | None = Field(None, description='Features that nodes must have: "edr", "edr&haswell"')
    exclude: tuple[Name, ...] = Field((), description="Nodes that no job may have; they are reported as not tested")
    gres: Word | None = Field(None, description='Slurm: generic resources of each node, such as "gpu:4"')
    switches: Count | None = Field(None, description="Slurm: at most so many leaf switches for a job")
    exclusive: bool = Field(False, description="Ask for whole nodes; nodes.exclusive says whether they are that anyhow")
    max_pending: Duration | None = Field(
        None, description="A job that has not begun after this time is cancelled, and says why; left out: no bound"
    )
    time_limits: TimeLimits = Field(default_factory=lambda: TimeLimits.model_validate({}))

    def time_limit(self, check_class: CheckClass, default: str) -> str:
        """Return how long a job of a class of checks may take, as a duration."""
        own: str | None = getattr(self.time_limits, check_class)
        return own or default

    def given(self) -> dict[str, str]:
        """Return the settings that become options, those that are set, as text by their names."""
        found = {name: getattr(self, name) for name in _ORDER if getattr(self, name)}
        return {name: _text(value) for name, value in found.items()}


def options(scheduler: str, settings: SchedulerSettings) -> tuple[str, ...]:
    """Return the options of every job, as ReFrame's ``access`` has them: ``--account=abc``, ``-P abc``.

    Raises KeyError for a setting that the scheduler has no option for; ``why_not`` says which.
    """
    if scheduler not in FAMILIES:  # a local job, of a replay say, is asked of nobody
        return ()
    table = _OPTIONS[FAMILIES[scheduler]]
    return tuple(table[name].format(value) for name, value in settings.given().items())


def why_not(scheduler: str, settings: SchedulerSettings) -> tuple[str, str] | None:
    """Return the first setting that a scheduler cannot be told and the sentence why not; None where it can be told all.

    A local job is asked of nobody: every setting but the time limits is refused there.
    """
    family = FAMILIES.get(scheduler)
    table: Mapping[str, str] = {} if family is None else _OPTIONS[family]
    for name in (*settings.given(), *(["max_pending"] if settings.max_pending else [])):
        if name == "max_pending":
            if family is None:
                return name, f"no max_pending: jobs of the scheduler {scheduler} do not wait"
        elif name not in table:
            known = ", ".join(table) or "none"
            return name, f"a setting that the scheduler {scheduler} has an option for: {known}"
    return None


def document() -> str:
    """Return the table of settings and options as Markdown, a row a setting."""
    head = ["setting", *_OPTIONS]
    rows = [
        [f"`{name}`", *(f"`{table[name].format(_SHOWN)}`" if name in table else "no" for table in _OPTIONS.values())]
        for name in _ORDER
    ]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


_SHOWN = "VALUE"
_ORDER = ("account", "partition", "qos", "reservation", "constraint", "exclude", "gres", "switches", "exclusive")
#: Scheduler family -> setting -> its option. LSF's and PBS's lists of hosts to avoid have no option of their own.
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
        raise ValueError(f"{duration!r} is no duration")
    return sum(int(count or 0) * unit for count, unit in zip(found.groups(), (86400, 3600, 60, 1), strict=True))
