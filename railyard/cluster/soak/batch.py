"""How a family of schedulers is given the job of a soak and asked about it: directives, commands, and their answers.

Sources: sbatch(1) and scontrol(1) of Slurm 22.05; qsub(1B), pbs_resources(7B) and qstat(1B) of PBS 2022.1; qsub(1) of
Torque 6.1; bsub(1), bjobs(1) and bkill(1) of IBM Spectrum LSF 10.1; flux-batch(1), flux-jobs(1) and flux-cancel(1) of
flux-core 0.71. Of these only Slurm's was run.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from railyard.job.probe_job import whole_nodes
from railyard.parsers.slurm.jobs import parse_job
from railyard.site.systems.jobs import FAMILIES

_NAME = "railyard-soak"


@dataclass(frozen=True, slots=True)
class State:
    """How a job is: ``word`` is the scheduler's own, ``reason`` why it waits, as far as the scheduler says it."""

    phase: Literal["waits", "runs", "ended"]
    word: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """One family's way.

    ``directives`` gives the lines of the script's head: of the nodes, the seconds, the folder and the system's own
    options. ``submit`` gives the words that submit a script, ``number`` matches the job's number in their output.
    ``ask`` gives the words that ask about a job and ``state`` reads their output, None where it says nothing of it.
    ``cancel`` gives the words that end it.
    """

    directives: Callable[[Sequence[str], int, str, Sequence[str]], list[str]]
    submit: Callable[[str], list[str]]
    number: re.Pattern[str]
    ask: Callable[[str], list[str]]
    state: Callable[[str], State | None]
    cancel: Callable[[str], list[str]]


def batch_of(scheduler: str) -> Batch:
    """Return the way of a scheduler of ReFrame. Raises KeyError for one that no soak can be given to."""
    return _WAYS.get(scheduler) or _WAYS[FAMILIES[scheduler]]


def _slurm(nodes: Sequence[str], seconds: int, folder: str, own: Sequence[str]) -> list[str]:
    asked = (
        f"--job-name={_NAME}", f"--nodes={len(nodes)}", f"--nodelist={','.join(nodes)}", "--ntasks-per-node=1",
        "--exclusive", "--no-requeue", f"--time={math.ceil(seconds / 60)}", "--output=job.out", "--error=job.err",
        f"--chdir={folder}",
    )  # fmt: skip
    return [f"#SBATCH {option}" for option in (*(each for each in own if each != "--exclusive"), *asked)]


def _pbs(scheduler: str) -> Callable[[Sequence[str], int, str, Sequence[str]], list[str]]:
    def directives(nodes: Sequence[str], seconds: int, folder: str, own: Sequence[str]) -> list[str]:
        minutes = math.ceil(seconds / 60)
        asked = (f"-N {_NAME}", *whole_nodes(scheduler, nodes), f"-l walltime={minutes // 60}:{minutes % 60:02}:00")
        kept = [each for each in own if not each.startswith("-l place=")]
        words = (*kept, *asked, f"-o {folder}/job.out", f"-e {folder}/job.err")
        return [*(f"#PBS {option}" for option in words), f"cd {folder}"]

    return directives


def _lsf(nodes: Sequence[str], seconds: int, folder: str, own: Sequence[str]) -> list[str]:
    asked = (f"-J {_NAME}", *whole_nodes("lsf", nodes), f"-W {math.ceil(seconds / 60)}")
    words = (*(each for each in own if each != "-x"), *asked, "-o job.out", "-e job.err", f"-cwd {folder}")
    return [f"#BSUB {option}" for option in words]


def _flux(nodes: Sequence[str], seconds: int, folder: str, own: Sequence[str]) -> list[str]:
    asked = (f"--job-name={_NAME}", *whole_nodes("flux-batch", nodes), f"--time-limit={seconds}s")
    words = (*(each for each in own if each != "--exclusive"), *asked, "--output=job.out", "--error=job.err")
    return [f"#flux: {option}" for option in (*words, f"--cwd={folder}")]


def _state_of_slurm(text: str) -> State | None:
    found = parse_job(text)
    if found is None:
        return None
    phase: Literal["waits", "runs", "ended"] = "ended" if found.is_final else "runs"
    return State("waits" if found.state == "PENDING" else phase, found.state, found.reason)


_PBS_STATE = re.compile(r"^\s*job_state = (\w)", re.MULTILINE)
_PBS_REASON = re.compile(r"^\s*comment = (.+)", re.MULTILINE)


def _state_of_pbs(text: str) -> State | None:
    found, why = _PBS_STATE.search(text), _PBS_REASON.search(text)
    if found is None:
        return None
    word = found[1]
    return State("waits" if word in "QHW" else "ended" if word in "CFX" else "runs", word, why[1] if why else None)


def _state_by(waits: Sequence[str], ended: Sequence[str]) -> Callable[[str], State | None]:
    def state(text: str) -> State | None:
        word = text.strip()
        if not word:
            return None
        return State("waits" if word in waits else "ended" if word in ended else "runs", word)

    return state


_PBS = Batch(
    _pbs("pbs"),
    lambda script: ["qsub", script],
    re.compile(r"\A\s*(\d\S*)"),
    lambda job: ["qstat", "-f", job],
    _state_of_pbs,
    lambda job: ["qdel", job],
)
#: A family, or a scheduler that is unlike its family.
_WAYS: Mapping[str, Batch] = {
    "slurm": Batch(
        _slurm,
        lambda script: ["sbatch", "--parsable", script],
        re.compile(r"\A\s*(\d+)"),
        lambda job: ["scontrol", "-o", "show", "job", job],
        _state_of_slurm,
        lambda job: ["scancel", job],
    ),
    "pbs": _PBS,
    "torque": Batch(_pbs("torque"), _PBS.submit, _PBS.number, _PBS.ask, _PBS.state, _PBS.cancel),
    "lsf": Batch(
        _lsf,
        # bsub reads directives from its standard input alone
        lambda script: ["sh", "-c", 'exec bsub <"$1"', "bsub", script],
        re.compile(r"^Job <(\d+)> is submitted", re.MULTILINE),
        lambda job: ["bjobs", "-noheader", "-o", "stat", job],
        _state_by(("PEND", "PSUSP"), ("DONE", "EXIT")),
        lambda job: ["bkill", job],
    ),
    "flux": Batch(
        _flux,
        lambda script: ["flux", "batch", script],
        re.compile(r"\A\s*(\S+)"),
        lambda job: ["flux", "jobs", "-n", "-o", "{status}", job],
        _state_by(("PENDING", "DEPEND", "PRIORITY", "SCHED"), ("COMPLETED", "FAILED", "CANCELED", "TIMEOUT")),
        lambda job: ["flux", "cancel", job],
    ),
}
