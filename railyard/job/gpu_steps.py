"""The parts of a job that measure rails and pairs of nodes between their GPUs, each as a step.

A run in groups prints one figure for all groups. So the same launch runs once more for each GPU of a node, with that
GPU as the first one that its processes see: nccl-tests prints the time of rank 0, which is in that GPU's group
(``-a 0``). ``railyard pairs groups`` says whether that is needed; a healthy run asks once. A failure here does not
fail the run.

A step is a launch over two of the job's nodes under the counter reader, with a time limit: a bad pair loses only its
own log. Each node is in one step at a time, so its counters over all of its steps count only these steps.
"""

import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from railyard.base.paths import packaged_text
from railyard.job.counters import join_ends, node_of
from railyard.job.launch import Launch
from railyard.job.probe_job import env_words, lines_of_printed, lists_nodes, step_words
from railyard.parsers.gpu_pairs import FOLDER, Step
from railyard.site.systems.jobs import SRUN

SCRIPT, ROUNDS, ALL_GPUS, ONE_GPU = "gpu_pairs.sh", "gpu_pairs.rounds", "gpu_pairs.all", "gpu_pairs.one"


SWITCHES = "switches.txt"


#: Placeholders in a step's words; each step puts its own values there.
NODES, GPU, TAG, OUT = ("railyard-first", "railyard-second"), "railyard-gpu", "railyard-tag", "railyard-out"


#: How long a step may take to end after its signal, in seconds: Slurm's KillWait and a little more.
PAIR_END_S = 45


#: The exit codes of ``timeout`` if it ended, or killed, what it started.
TIMED_OUT = (124, 137)


#: The job's time besides its steps, in seconds: its start, and the questions between steps.
BESIDE_S = 15


@dataclass(frozen=True, slots=True)
class EndedStep:
    """A step that has run: what it printed, and its nodes' counters, one text per node."""

    step: Step
    text: str
    counters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PairSteps:
    """The words of the job's own process, which starts all steps: how long they may take, and how to list nodes."""

    name: str
    limit_s: int
    step_s: int
    lists: str
    ask: str

    def words(
        self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str, inside: Sequence[str] = ()
    ) -> list[str]:
        return ["sh", SCRIPT, tag, self.name, str(self.limit_s), str(self.step_s), self.lists, self.ask]


BEGUN = "begun.txt"


#: How long one of these runs may take, and what the job's end needs, in seconds.
STEP_S, END_S = 45, 15


#: What a run's output begins with.
SAYS = "# railyard: rail of GPU "


def output_of(gpu: int) -> str:
    """Return the name of the file with the run in which a GPU is the first."""
    return f"again-gpu{gpu}.out"


def begin_lines() -> list[str]:
    """Return the line before the run: when the job began."""
    return [f"date +%s > {BEGUN}"]


def lines(output: str, launch: str, program: Sequence[str], gpus: int, least_mb_s: float, limit_s: int) -> list[str]:
    """Return the lines after the run; ``launch`` is the job's own, ``program`` has its words too, as shell words.

    ``least_mb_s`` is the least that the slowest group must give at its largest size; ``limit_s`` is the job's limit.
    """
    asked = f"{shlex.quote(sys.executable)} -m railyard pairs groups --expected {least_mb_s!r} $made"
    last_s = limit_s - STEP_S - END_S
    visible = [",".join(str((first + n) % gpus) for n in range(gpus)) for first in range(gpus)]
    run = " ".join(program)
    spent = f"[ ! -s groups.txt ] || [ $(($(date +%s) - $(cat {BEGUN}))) -gt {last_s} ]"
    starts = f"timeout -k 5 {STEP_S} {launch} env"
    made = [*lines_of_printed(output), f"{asked} > groups.txt 2> groups.err || :"]
    for gpu, own in enumerate(visible):
        one = f"echo '{SAYS}{gpu}'; {starts} CUDA_VISIBLE_DEVICES={own} {run}"
        made.append(f"{spent} || {{ {one}; }} > {output_of(gpu)} 2>&1 || :")
    return made


def script() -> str:
    """Return the text of the script that starts the steps."""
    return packaged_text(f"job/scripts/{SCRIPT}")


def lister(scheduler: str, launcher: str, nodes: Sequence[str]) -> str:
    """Return the shell command that prints the job's nodes; ``nodes`` are those that are known beforehand.

    Raises RailyardError for a scheduler for which Railyard knows no such command.
    """
    if nodes:
        return f"printf '%s\\n' {shlex.join(nodes)}"
    return lists_nodes("slurm" if launcher in SRUN else scheduler)


def next_command(options: Sequence[str]) -> str:
    """Return the shell command that says what to measure next."""
    logs = f"--at-once '{FOLDER}/rounds-*.log' '{FOLDER}/*.log'"
    return " ".join([f"{shlex.quote(sys.executable)} -m railyard pairs next --tool nccl", *options, logs])


def template(
    launcher: str,
    starter: str,
    launch: Launch,
    per_node: int,
    limit_s: int,
    program: Sequence[str],
    job: Mapping[str, str],
) -> str:
    """Return the line that makes one step: ``launch`` over ``NODES`` with so many processes on each, read by counters.

    ``starter`` is the stack whose launcher starts it, ``program`` the benchmark with its words, ``job`` the variables
    that the job already has. Raises RailyardError for a launcher that cannot be given the nodes to use.
    """
    if launcher in SRUN:  # if one process of a step has died, the others would wait for it
        launch = replace(launch, options=(*launch.options, "--kill-on-bad-exit=1"))
    start = step_words(launcher, starter, launch, limit_s, per_node=per_node, kill_after_s=PAIR_END_S)
    reader = ["sh", "reader.sh", OUT, TAG, ",".join(launch.meant), ",".join(launch.watched), "--"]
    words = shlex.join([*start, *reader, *program])
    return f"{env_words(job, launch.env)} {words}".strip() + "\n"


def counters_of_nodes(steps: Iterable[EndedStep]) -> tuple[str, ...]:
    """Return a counters file for each node: its counters before its first step and after its last one.

    Kernels keep counting from step to step, so the file has all that a node moved in between. ``steps`` are in order.
    """
    of_nodes: dict[str, list[str]] = {}
    for ended in steps:
        for text in ended.counters:
            of_nodes.setdefault(node_of(text), []).append(text)
    return tuple(join_ends(texts[0], texts[-1]) for texts in of_nodes.values())
