"""How a family of schedulers is given a job of ours and asked about it: directives, time, nodes, commands, answers.

How to give a family of schedulers one of our jobs and ask about it: directives, commands, and their answers.

A job requests whole nodes by name. If only some of many jobs may run at once, they are an array of Slurm: each task is
given its nodes before it may begin. With other schedulers they are chains, in which each job begins when the one before
it has ended. An array would not do there: in PBS all parts of an array have the array's resources, and qalter cannot
change a single waiting part. The same holds for LSF, and Flux has no arrays.

Sources: sbatch(1) and scontrol(1) of Slurm 22.05; qsub(1B), qalter(1B), pbs_resources(7B) and qstat(1B) of PBS 2022.1;
qsub(1) of Torque 6.1; bsub(1), bjobs(1) and bkill(1) of IBM Spectrum LSF 10.1; flux-batch(1), flux-jobs(1) and
flux-cancel(1) of flux-core 0.88; qsub(1), qstat(1) and qacct(1) of Grid Engine 8.1.9. Those of Torque and LSF were
never run.

How much a job may print: the limit in its script, and the sentence about an output that reached it.

A benchmark's output is written by its launcher (srun, mpirun, mpiexec), or by the benchmark itself if the launcher
passes its own output on: under each scheduler, by a process of the job's script. So the script sets the kernel's limit
on the size of a file (RLIMIT_FSIZE, setrlimit(2)), which ends a process that would write more (SIGXFSZ). ``reader.sh``
gives the benchmark's own processes their earlier limit back: srun passes limits on to them, and their files may be
larger.

What a run asks of launcher and scheduler: its time limit, whether it may rerun, and nodes that can run a job.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from railyard.base.bounds import PRINTED_MOST
from railyard.base.values import seconds
from railyard.job.probe_job import whole_nodes
from railyard.parsers import flux as flux_records
from railyard.parsers import pbs as pbs_records
from railyard.parsers import sge as sge_records
from railyard.parsers import slurm as slurm_records
from railyard.parsers.job_end import JobEnd
from railyard.parsers.slurm import NodeState, parse_job, record_fields
from railyard.site.systems.jobs import FAMILIES, FLUX_BROKERS_S, NEVER_TWICE, SGE_APART_S, is_chunk_word
from railyard.site.systems.model import System
from railyard.stacks.model import STACKS


@dataclass(frozen=True, slots=True)
class BatchRequest:
    """What a job requests: whole nodes by name, with one process on each, and its time limit in seconds.

    ``folder`` is where it runs and leaves ``job.out`` and ``job.err``. ``own`` are the options in the system's file.
    ``after`` is a job that must end before this one begins.
    """

    name: str
    nodes: tuple[str, ...]
    seconds: int
    folder: str
    own: tuple[str, ...] = ()
    after: str | None = None


@dataclass(frozen=True, slots=True)
class State:
    """A job's state: ``word`` is the scheduler's own word, ``reason`` says why it waits, if the scheduler says so."""

    phase: Literal["waits", "runs", "ended"]
    word: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Array:
    """How one array takes the place of many jobs. Its tasks are numbered from 1.

    ``directives`` gives the first lines of a script that all tasks run. They request no nodes, since ``give`` has the
    words that give a held task its nodes. The numbers are the number of tasks, and how many run at once. Then
    ``release`` lets a task begin, and ``hold`` stops one that waits. ``task`` is a task's name, ``variable`` the shell
    variable with a task's number. ``states`` reads what ``Batch.ask`` prints about all tasks.
    """

    directives: Callable[[BatchRequest, int, int], list[str]]
    variable: str
    task: Callable[[str, int], str]
    give: Callable[[str, Sequence[str]], list[str]]
    release: Callable[[str], list[str]]
    hold: Callable[[str], list[str]]
    states: Callable[[str], Mapping[int, State]]


@dataclass(frozen=True, slots=True)
class Batch:
    """The commands of one family.

    ``directives`` gives the lines of the script's head. ``submit`` gives the words that submit a script, ``number``
    matches the job's number in their output. ``ask`` gives the words that ask about a job, and ``state`` reads their
    output, None if it says nothing about the job. ``cancel`` gives the words that end it. ``array`` is None if the
    parts of an array cannot each have their own nodes. ``end`` reads from the same output how a job ended that did not
    run to its end; None if it did, or for a scheduler that does not say it there. ``first_line`` starts the script's
    shell: a login shell, since a job may have none of the variables of its submission.
    """

    directives: Callable[[BatchRequest], list[str]]
    submit: Callable[[str], list[str]]
    number: re.Pattern[str]
    ask: Callable[[str], list[str]]
    state: Callable[[str], State | None]
    cancel: Callable[[str], list[str]]
    array: Array | None = None
    end: Callable[[str], JobEnd | None] = lambda text: None
    first_line: str = "#!/bin/bash -l"


def batch_of(scheduler: str) -> Batch:
    """Return the commands for a scheduler of ReFrame. Raises KeyError for one to which we cannot give jobs."""
    return _WAYS.get(scheduler) or _WAYS[FAMILIES[scheduler]]


def _slurm(asked: BatchRequest) -> list[str]:
    nodes = (f"--nodes={len(asked.nodes)}", f"--nodelist={','.join(asked.nodes)}", "--ntasks-per-node=1")
    after = () if asked.after is None else (f"--dependency=afterany:{asked.after}",)
    return _of_slurm(asked, (*nodes, *_SLURM_ALWAYS, *after), "")


def _slurm_array(asked: BatchRequest, tasks: int, at_once: int) -> list[str]:
    # The fewest nodes that a task can have: with more nodes, Slurm 22.05 gives a task more processes, never fewer.
    own = (f"--array=1-{tasks}%{at_once}", "--hold", "--nodes=1", "--ntasks-per-node=1")
    return _of_slurm(asked, (*own, *_SLURM_ALWAYS), "-%a")


#: The job has its nodes for itself, and never runs twice: otherwise output and counters might come from two runs.
_SLURM_ALWAYS = ("--exclusive", NEVER_TWICE["slurm"])


def _of_slurm(asked: BatchRequest, words: Sequence[str], mark: str) -> list[str]:
    options = (
        *(each for each in asked.own if each != "--exclusive"), f"--job-name={asked.name}", *words,
        f"--time={math.ceil(asked.seconds / 60)}", f"--output=job{mark}.out", f"--error=job{mark}.err",
        f"--chdir={asked.folder}",
    )  # fmt: skip
    return [f"#SBATCH {option}" for option in options]


def _pbs(scheduler: str) -> Callable[[BatchRequest], list[str]]:
    def directives(asked: BatchRequest) -> list[str]:
        minutes, folder = math.ceil(asked.seconds / 60), asked.folder
        time = f"-l walltime={minutes // 60}:{minutes % 60:02}:00"
        kept = [each for each in asked.own if not (is_chunk_word(each) or each.startswith("-l place="))]
        chunk = tuple(filter(is_chunk_word, asked.own))
        after = () if asked.after is None else (f"-W depend=afterany:{asked.after}",)
        words = (
            *kept,
            NEVER_TWICE["pbs"],
            f"-N {asked.name}",
            *whole_nodes(scheduler, asked.nodes, chunk),
            time,
            *after,
        )
        outputs = (f"-o {folder}/job.out", f"-e {folder}/job.err")
        lines = (option if option.startswith("#") else f"#PBS {option}" for option in (*words, *outputs))
        return [*lines, f"cd {folder}"]

    return directives


def _lsf(asked: BatchRequest) -> list[str]:
    after = () if asked.after is None else (f'-w "ended({asked.after})"',)
    own = (f"-J {asked.name}", *whole_nodes("lsf", asked.nodes), f"-W {math.ceil(asked.seconds / 60)}", *after)
    outputs = ("-o job.out", "-e job.err", f"-cwd {asked.folder}")
    return [f"#BSUB {option}" for option in (*(each for each in asked.own if each != "-x"), *own, *outputs)]


def _flux(asked: BatchRequest) -> list[str]:
    after = () if asked.after is None else (f"--dependency=afterany:{asked.after}",)
    nodes = whole_nodes("flux-batch", asked.nodes)
    words = (f"--job-name={asked.name}", *nodes, f"--time-limit={asked.seconds + FLUX_BROKERS_S}s", *after)
    kept = (each for each in asked.own if each != "--exclusive")
    outputs = ("--output=job.out", "--error=job.err", f"--cwd={asked.folder}")
    return [f"#flux: {option}" for option in (*kept, *words, *outputs)]


def _sge(asked: BatchRequest) -> list[str]:
    after = () if asked.after is None else (f"-hold_jid {asked.after}",)
    time, nodes = f"-l h_rt={asked.seconds + SGE_APART_S}", whole_nodes("sge", asked.nodes)
    words = ("-S /bin/bash", NEVER_TWICE["sge"], f"-N {asked.name}", *nodes, time, *after)
    outputs = ("-o job.out", "-e job.err", f"-wd {asked.folder}")
    return [f"#$ {option}" for option in (*asked.own, *words, *outputs)]


def _state_of_slurm(text: str) -> State | None:
    found = parse_job(text)
    if found is None:
        return None
    phase: Literal["waits", "runs", "ended"] = "ended" if found.is_final else "runs"
    return State("waits" if found.is_waiting else phase, found.state, found.reason)


def _states_of_slurm(text: str) -> Mapping[int, State]:
    """Return the tasks of ``scontrol -o show job ARRAY``; tasks without nodes so far share a line."""
    found = {}
    for line in text.splitlines():
        # The only task of an array has "1%1" until it begins.
        number = record_fields(line).get("ArrayTaskId", "").partition("%")[0]
        state = _state_of_slurm(line)
        if number.isdigit() and state is not None:
            found[int(number)] = state
    return found


def _give_of_slurm(task: str, nodes: Sequence[str]) -> list[str]:
    # Keep this order: Slurm 22.05 refuses a list with more nodes than the task's number of nodes. If a task gets fewer
    # nodes than before, Slurm does not change its number of processes, and the task waits forever (BadConstraints).
    count = len(nodes)
    words = (f"NumNodes={count}-{count}", f"NumTasks={count}", f"ReqNodeList={','.join(nodes)}")
    return ["scontrol", "update", f"JobId={task}", *words]


def _state_of_pbs(text: str) -> State | None:
    found = pbs_records.parse_job(text)
    return None if found is None else State(found.phase, found.state, found.comment)


def _state_by(waits: Sequence[str], ended: Sequence[str]) -> Callable[[str], State | None]:
    def state(text: str) -> State | None:
        word = text.strip()
        if not word:
            return None
        return State("waits" if word in waits else "ended" if word in ended else "runs", word)

    return state


def _state_of_flux(text: str) -> State | None:
    found = flux_records.parse_job(text, "")
    return None if found is None else State(found.phase, found.status, found.context or found.note)


def _end_of_flux(text: str) -> JobEnd | None:
    found = flux_records.parse_job(text, "of the group")
    return None if found is None else flux_records.find_end(found)


#: What asks Grid Engine about a job: its number, its owner and the time now, then what qstat says of all jobs, or the
#: accounts of one that is over.
_ASK_SGE = 'echo "$1 $(id -un) $(date +%s)"; if qstat -j "$1" >/dev/null; then qstat -xml -g t; else qacct -j "$1"; fi'
#: No job of ours is older than this, in seconds; the numbers of jobs do not begin again that soon.
_OLDEST_S = 30 * 86400.0


def _state_of_sge(text: str) -> State | None:
    found = sge_records.parse_job(text.partition("\n")[2], text.partition(" ")[0])
    if found is not None:
        return State(found.phase, found.state)
    account = _account_of_sge(text)
    if account is None:
        return None
    word = f"exit status {account.exit_status}"
    return State("ended", word if account.failed == 0 else f"failed {account.failed}, {word}")


def _end_of_sge(text: str) -> JobEnd | None:
    account = _account_of_sge(text)
    return None if account is None else sge_records.find_end(account, ())


def _account_of_sge(text: str) -> sge_records.SgeAccount | None:
    head, _, said = text.partition("\n")
    words = head.split()
    if len(words) != 3 or not words[2].isdigit():
        return None
    return sge_records.parse_account(said, words[0], words[1], int(words[2]) - _OLDEST_S)


def _end_of_pbs(text: str) -> JobEnd | None:
    found = pbs_records.parse_job(text)
    return None if found is None else pbs_records.find_end(found)


_PBS = Batch(
    _pbs("pbs"),
    lambda script: ["qsub", script],
    re.compile(r"\A\s*(\d\S*)"),
    lambda job: ["qstat", "-x", "-f", job],
    _state_of_pbs,
    lambda job: ["qdel", job],
    end=_end_of_pbs,
)
#: A family, or a scheduler that differs from its family.
_WAYS: Mapping[str, Batch] = {
    "slurm": Batch(
        _slurm,
        lambda script: ["sbatch", "--parsable", script],
        re.compile(r"\A\s*(\d+)"),
        lambda job: ["scontrol", "-o", "show", "job", job],
        _state_of_slurm,
        lambda job: ["scancel", job],
        Array(
            _slurm_array,
            "SLURM_ARRAY_TASK_ID",
            lambda job, number: f"{job}_{number}",
            _give_of_slurm,
            lambda task: ["scontrol", "release", task],
            lambda task: ["scontrol", "hold", task],
            _states_of_slurm,
        ),
    ),
    "pbs": _PBS,
    # Its qstat knows a finished job for a while, in state C, and has no -x.
    "torque": Batch(
        _pbs("torque"), _PBS.submit, _PBS.number, lambda job: ["qstat", "-f", job], _PBS.state, _PBS.cancel
    ),
    "lsf": Batch(
        _lsf,
        # bsub reads directives only from its standard input
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
        lambda job: ["flux", "jobs", "-n", "-o", flux_records.FORMAT, job],
        _state_of_flux,
        lambda job: ["flux", "cancel", job],
        end=_end_of_flux,
        # Flux gives a job all variables of its submission, and its own programs on PATH: a login shell would lose them.
        first_line="#!/bin/bash",
    ),
    "sge": Batch(
        _sge,
        lambda script: ["qsub", script],
        re.compile(r"^Your job (\d+) ", re.MULTILINE),
        lambda job: ["sh", "-c", _ASK_SGE, "sge", job],
        _state_of_sge,
        lambda job: ["qdel", job],
        end=_end_of_sge,
    ),
}


#: Bytes per block of ``ulimit -f``: in bash, which runs the scripts of jobs, and in any other shell (POSIX).
BASH_BLOCK, SH_BLOCK = 1024, 512


def most_bytes() -> int:
    """Return how many bytes a job may print on its output, and also on its error output."""
    return int(PRINTED_MOST.value * 2**30)


def line(block: int = BASH_BLOCK) -> str:
    """Return the line of a script after which none of its processes writes a larger file.

    If the machine's own limit is lower, it stays.
    """
    return f"ulimit -S -f {most_bytes() // block} 2> /dev/null || :"


def why_cut(path: Path, name: str) -> str | None:
    """Return the sentence about an output that was ended at the limit; None for a shorter output, or none."""
    try:
        size = path.stat().st_size
    except OSError:
        return None
    if size < most_bytes():
        return None
    most = f"{PRINTED_MOST.value:g} {PRINTED_MOST.unit}"
    return f"{name} was cut at {size:,} bytes: a job may print at most {most} ({PRINTED_MOST.name}), so it was ended"


@dataclass(frozen=True, slots=True)
class Scheduling:
    """How one run of a stack is scheduled on a system.

    ``check_class`` selects one of the system's time limits (``micro``, ``app``). ``asked_launcher`` is a launcher of
    ReFrame that replaces the system's; empty for none. ``lasting_s`` is how long the run was asked to last, in seconds.
    ``fabric`` is the run's; ``nodes`` is how many it has, ``slots`` the number of its processors, one for each thread
    of each rank.
    """

    system: System
    stack: str
    check_class: str = "micro"
    asked_launcher: str = ""
    lasting_s: int = 0
    fabric: str = ""
    nodes: int = 0
    slots: int = 0

    @property
    def limit_s(self) -> int:
        """How long the run may take, in seconds: the system's limit for this class of checks, or longer if asked."""
        return max(self.system.limit_s(self.check_class), self.lasting_s)

    @property
    def launcher(self) -> str:
        """ReFrame's name of the launcher; the system's own always starts a client and a server, whatever is asked."""
        own = self.system.launcher_of(self.fabric, self.stack) if self.fabric else self.system.launcher
        return own if STACKS[self.stack].pair else self.asked_launcher or own

    @property
    def other_launcher(self) -> str | None:
        """The launcher that replaces the partition's for this job; None if the job keeps the partition's."""
        of_fabric = self.system.fabrics[self.fabric].launcher if self.fabric else None
        return None if self.launcher == (of_fabric or self.system.launcher) else self.launcher

    @property
    def is_step(self) -> bool:
        """Whether it is a step of an allocation: ReFrame's own limit would then raise before there is a verdict."""
        return self.launcher == "srunalloc"

    def one_thread_a_core(self, ranks_a_node: int, threads: int) -> bool:
        """Return whether Slurm must give each process or thread its own core (--hint=nomultithread).

        Without this option Slurm counts each hardware thread of a core as a processor, and gives half of the cores. The
        option also binds a process to one core. So a stack without MPI does not get it: its one process on a node
        starts all the others there, and they would share that core.
        """
        if threads > 1:
            return True
        if STACKS[self.stack].pair or self.system.provider != "nodes":  # nodes of our testbeds share the host's cores
            return False
        hardware = self.system.nodes.hardware
        stated = None if hardware is None else hardware.threads_per_core
        # If the file says nothing, a core may have two threads. A single process has its whole core anyway.
        return ranks_a_node > 1 if stated is None else stated > 1

    @property
    def options(self) -> tuple[str, ...]:
        """The job's options beside the partition's.

        The job must not run twice: its output might be of one run and its counters of the other.
        """
        never_twice = NEVER_TWICE.get(FAMILIES.get(self.system.scheduler, ""))
        own = () if never_twice is None else (never_twice,)
        return (*own, *self.system.resource_options(self.nodes, self.slots))

    @property
    def longest_wait_s(self) -> int | None:
        """How long the job may wait for its nodes, in seconds; None if the system's file does not say."""
        most = self.system.jobs.max_pending
        return None if most is None else seconds(most)


@dataclass(frozen=True, slots=True)
class Span:
    """How many nodes a run has. ``remark`` says which nodes were left out; ``untested`` says why it cannot run."""

    nodes: int
    remark: str | None = None
    untested: str | None = None


def span(asked: int, states: Sequence[NodeState], *, least: int | None = None) -> Span:
    """Return how many nodes a run has, out of the ``asked`` ones: only those that can run a job.

    ``least`` is how many nodes a run over all nodes (``asked``) must have; None for a run that needs exactly ``asked``.
    Without ``states`` the scheduler was not asked or did not answer: it will say itself what is wrong.
    """
    if not states:
        return Span(asked)
    fit = sum(node.unfit is None for node in states)
    nodes, remark = asked, None
    if least is not None and fit >= least:
        nodes = min(asked, fit)
        remark = slurm_records.how_many(nodes, states, asked)
    if fit >= nodes:
        return Span(nodes, remark)
    why = slurm_records.describe_untested(states)
    return Span(nodes, remark, f"it needs {nodes} nodes and {fit} can run a job" + (f": {why}" if why else ""))
