"""The job of a group of nodes: one launch runs the counter reader and the pairs; all its files are in its own folder.

Under Slurm the groups of a step are the tasks of one array and share one script. Otherwise each group has its own.
"""

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from railyard.base.hostlist import label
from railyard.base.paths import packaged_text
from railyard.cluster.rolling.kept_run import SAMPLE, KeptRun, KeptStep
from railyard.job import environment, mpi_identity, node_facts, node_pair_steps, output_bound
from railyard.job.batch import Batch, BatchRequest, batch_of
from railyard.job.counters.node import IDLE, reader_script
from railyard.job.launch import Launch, Ranks, plan_launch, runs_as_root
from railyard.job.probe_job import limit_words, lists_nodes, step_words
from railyard.parsers import pairs as parser
from railyard.provision.installed_stack import find_on_nodes
from railyard.site.site import Site
from railyard.site.systems.jobs import OWN_LAUNCHERS, SRUN, escape_exports, is_slurm
from railyard.verdict.blame.search.model import Round

SCRIPT, GROUP, READER = "job.sh", "group.sh", "reader.sh"
#: In a group's folder.
PAIRS, HOSTS, BEGUN, END = "pairs.txt", "hosts.txt", "begun", "end"
OUTPUT, ERRORS, COUNTERS, LINKED, LAUNCHER = "pairs.out", "pairs.err", "counters", "linked.txt", "launcher.txt"
_NAME = "railyard-pairs"
#: Slurm's variable for the number of nodes of a job.
_COUNT = "SLURM_JOB_NUM_NODES"
#: A group's time limit, in seconds: a fixed part, plus so many times what its rounds take on healthy nodes (a rail at a
#: tenth of its rate delays its rounds), and at least so much.
_AROUND_S, _TIMES, _LEAST_S = 120, 10, 300
#: The launch is ended so many seconds before the job's time is over, so that the job can still write its end.
_BEFORE_END_S = 30
#: How long after its end a launch of a step is killed, in seconds.
_KILL_S = 2


@dataclass(frozen=True, slots=True)
class Jobs:
    """How the groups of a run are launched on a system. ``program`` is railyard-pairs."""

    site: Site
    run: KeptRun
    folder: Path
    program: str
    devices: tuple[str, ...]

    @property
    def batch(self) -> Batch:
        """How this scheduler runs jobs."""
        return batch_of(self.site.system.scheduler)

    def launch(self, nodes: Sequence[str] = ()) -> Launch:
        """Return how a group is launched: on these nodes, or on the nodes that the job has."""
        run, ranks = self.run, Ranks(len(nodes), 1, launcher=_launcher(self.site, self.run))
        root = runs_as_root(self.site.system)
        return plan_launch(self.site, run.fabric, run.stack, self.devices, tuple(nodes), ranks, root)

    def limit_to_rail(self, rail: str) -> "Jobs":
        """Return how groups are launched over only one rail."""
        return replace(self, devices=(rail,))

    def files(self) -> dict[str, str]:
        """Return the files that all jobs of the run need in its folder: name and text."""
        idle_ms = self.site.system.fabrics[self.run.fabric].proof.idle_ms
        return {
            GROUP: packaged_text(f"cluster/rolling/{GROUP}"),
            READER: reader_script(),
            node_facts.SCRIPT: node_facts.node_script(),
            **environment.scripts(self.run.stack),
            **({} if idle_ms is None else {IDLE: f"{idle_ms}\n"}),
        }

    def array_script(self, step: KeptStep, seconds: int) -> str:
        """Return the script of an array over all groups of a step. Raises KeyError if the scheduler has no arrays."""
        array = self.batch.array
        if array is None:
            raise KeyError(self.site.system.scheduler)
        asked = self._make_request(str(self.folder / step.name), (), seconds)
        head = array.directives(asked, len(step.groups), min(self.run.at_most, len(step.groups)))
        return self._script(head, f'"${array.variable}"', (), seconds, step_name(step))

    def script(self, step: KeptStep, number: int, seconds: int, after: str | None) -> str:
        """Return the script of one group's job; it begins when the job ``after`` has ended."""
        nodes = step.groups[number - 1].nodes
        folder = str(self.folder / step.folder(number))
        head = self.batch.directives(self._make_request(folder, nodes, seconds, after))
        return self._script(head, ".", nodes, seconds, step_name(step))

    def _make_request(
        self, folder: str, nodes: tuple[str, ...], seconds: int, after: str | None = None
    ) -> BatchRequest:
        own = self.site.system.batch_options(len(nodes) or 1)
        return BatchRequest(_NAME, nodes, seconds, folder, own, after)

    def step_script(
        self,
        group: str,
        nodes: Sequence[str],
        limit_s: int,
        name: str,
        beside: Sequence[str] | None = None,
        before: Sequence[str] = (),
    ) -> str:
        """Return the script that measures some of the nodes of the job that it runs in, in the order of ``nodes``.

        ``group`` is its folder, ``name`` what railyard-pairs calls the measurement. ``beside``: the rails that other
        launches use at the same time, whose traffic is theirs; None: nothing else is launched on these nodes.
        ``before``: lines before all others.
        """
        launch = self.launch(nodes)
        launch = replace(launch, watched=tuple(rail for rail in launch.watched if rail not in (beside or ())))
        front = step_words(
            _launcher(self.site, self.run), self.run.stack, launch, limit_s, beside is not None, kill_after_s=_KILL_S
        )
        lists = shlex.join(["printf", r"%s\n", *nodes])
        return self._text(before, group, launch, f"{lists} | sh", shlex.join(front), name)

    def _script(self, head: Iterable[str], group: str, nodes: Sequence[str], seconds: int, name: str) -> str:
        launch = self.launch(nodes)
        lists = f"{lists_nodes(self.site.system.scheduler)} | sh"
        return self._text(head, group, launch, lists, self._front(launch, seconds), name)

    def _text(self, head: Iterable[str], group: str, launch: Launch, lists: str, front: str, name: str) -> str:
        """Return a script; ``lists`` prints the nodes and starts a shell, ``front`` starts a process on each node."""
        run = self.run
        folder, system = shlex.quote(str(self.folder)), self.site.system
        reader = ["sh", f"{self.folder}/{READER}", COUNTERS, run.tag, ",".join(launch.meant), ",".join(launch.watched)]
        program = [self.program, name, node_pair_steps.ROUNDS, *run.words]
        marks = [run.tag, run.system, run.railyard]
        words = " ".join([shlex.join(marks), front, shlex.join([*reader, "--", *program])])
        own = launch.program if _launcher(self.site, self.run) in OWN_LAUNCHERS else None
        lines = [
            self.batch.first_line,
            *head,
            *system.script_lines(run.fabric, run.stack, self.site.home),
            *(f"export {name}={value}" for name, value in escape_exports(launch.env).items()),
            output_bound.line(),
            f"cd {group} || exit",
            f"mkdir -p {COUNTERS}",
            f"LC_ALL=C ldd {shlex.quote(self.program)} > {LINKED} 2>&1 || :",
            *([mpi_identity.line(own, LAUNCHER)] if own is not None else []),
            f"{lists} {folder}/{GROUP} {words}",
        ]
        return "\n".join(lines) + "\n"

    def _front(self, launch: Launch, seconds: int) -> str:
        """Return the words that start one process on each node of the job, quoted for a shell script."""
        limit_s = seconds - _BEFORE_END_S
        if _launcher(self.site, self.run) in SRUN:
            # A task of an array was submitted with one node. srun of Slurm 22.05 takes its number of processes from
            # that, even if the task was given more nodes since: "can't run 1 processes on 4 nodes".
            own = f'--nodes="${_COUNT}" --ntasks="${_COUNT}" --ntasks-per-node=1'
            front = shlex.join(limit_words(launch, limit_s))
            return " ".join([f"{front} srun {own}", shlex.join(launch.options)]).strip()
        return shlex.join(step_words(_launcher(self.site, self.run), self.run.stack, launch, limit_s))


def jobs(site: Site, run: KeptRun, folder: Path) -> Jobs:
    """Return how the groups of a run are launched. Raises RailyardError if the stack or its program is missing."""
    used = site.system.fabrics[run.fabric].used_rails(run.rails, run.policy)
    program = find_on_nodes(site, run.stack).executable("pairs")
    return Jobs(site, run, folder, program, tuple(rail.name for rail in used))


def step_name(step: KeptStep) -> str:
    """Return the name that railyard-pairs gives to a step."""
    return parser.SAMPLE if step.name == SAMPLE else parser.ONE_RAIL if step.over else parser.ALONE


def seconds_of(rounds: int, round_s: float, nodes: int) -> int:
    """Return how long the job of a group of so many nodes may take, in seconds."""
    measured_s = node_pair_steps.launch_seconds(nodes) + _TIMES * rounds * round_s
    return max(_LEAST_S, math.ceil(_AROUND_S + measured_s))


def pairs_text(nodes: Sequence[str], rounds: Iterable[Round], repeats: int = 1) -> str:
    """Return the pairs of rounds by names, as the job of a group reads them: one line per round."""
    names = [label(node) for node in nodes]
    return repeats * "".join(" ".join(f"{names[a]}/{names[b]}" for a, b in each) + "\n" for each in rounds)


def _launcher(site: Site, run: KeptRun) -> str:
    """Return what starts a group: srun under Slurm, whatever the stack's own launcher is here."""
    return "srun" if is_slurm(site.system.scheduler) else site.system.launcher_of(run.fabric, run.stack)
