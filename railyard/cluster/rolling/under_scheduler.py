"""Submits the jobs of a run in groups, tells their states, takes drained nodes out of them, and ends them.

The job of a group of nodes: one launch runs the counter reader and the pairs; all its files are in its own folder.

Under Slurm the groups of a step are the tasks of one array and share one script. Otherwise each group has its own.

What is kept of a run that tests pairs of nodes in groups: which nodes are tested how, and the job of each group.

``run.json`` in the run's folder is written before a job is submitted, and again after each change. The groups' files
are beside it, in one folder per group. So you can leave a run, look at it again from anywhere, and merge it.
"""

import json
import math
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from railyard.base.errors import InputError, SetupError
from railyard.base.files import write_whole
from railyard.base.hostlist import label
from railyard.base.json_codec import FormError, decode, encode
from railyard.base.paths import packaged_text, state_folder
from railyard.base.wording import listing
from railyard.job import batch as output_bound
from railyard.job import clients, environment, mpi_identity, node_facts, probe_job
from railyard.job.batch import Batch, BatchRequest, State, batch_of
from railyard.job.counters import IDLE, reader_script
from railyard.job.launch import Launch, Ranks, plan_launch, runs_as_root
from railyard.job.probe_job import limit_words, lists_nodes, step_words
from railyard.parsers import pairs as parser
from railyard.parsers import slurm as slurm_records
from railyard.parsers.slurm import NodeState
from railyard.provision.installed_stack import find_on_nodes
from railyard.site.site import Site
from railyard.site.systems.jobs import OWN_LAUNCHERS, SRUN, escape_exports, is_slurm
from railyard.verdict.blame.search.model import Round

# History of the format: 1 the first.
FORMAT = 1
FILE = "run.json"
#: The first step, in which each node is in one group; later steps measure suspects again.
SAMPLE = "sample"


@dataclass(frozen=True, slots=True)
class KeptGroup:
    """One group: its nodes in topology order, and the scheduler's number of its job; empty if none was submitted.

    ``why`` says why it has no job, or has none any more.
    """

    nodes: tuple[str, ...]
    job: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class KeptStep:
    """Groups that are measured side by side, and why.

    ``array`` is the number of their jobs' array, if they are in one. ``over`` is the one rail that they are measured
    over; empty for all rails of the run.
    """

    name: str
    groups: tuple[KeptGroup, ...]
    why: str = ""
    over: str = ""
    array: str = ""

    def folder(self, number: int) -> str:
        """Return where a group leaves its files, below the run's folder; groups are numbered from 1."""
        return f"{self.name}/{number}"

    def with_group(self, number: int, group: KeptGroup) -> "KeptStep":
        """Return the step with another group in place of one."""
        return replace(self, groups=(*self.groups[: number - 1], group, *self.groups[number:]))


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run in groups.

    ``words`` are the arguments of railyard-pairs after its file of rounds. ``tag`` marks all that its jobs write.
    ``submitted`` is the time of submission, in seconds since 1970 by the clock of the machine that submitted.
    ``left_out`` has the nodes that are in no group, or were taken out of their group, with the reason. ``leaves`` has
    each node's leaf switch, if it is known. At most ``at_most`` groups run at once. A group may measure for
    ``budget_s`` seconds. ``seed`` chose the groups.
    """

    id: str
    railyard: str
    system: str
    fabric: str
    stack: str
    rails: int
    policy: str
    size: int
    words: tuple[str, ...]
    tag: str
    submitted: float
    at_most: int
    budget_s: float
    seed: int
    steps: tuple[KeptStep, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)
    leaves: Mapping[str, str] = field(default_factory=dict)
    format: int = FORMAT
    extra: Mapping[str, object] = field(default_factory=dict, kw_only=True)

    def step(self, name: str) -> KeptStep:
        """Return the step of that name. Raises KeyError if there is none."""
        found = next((one for one in self.steps if one.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def with_step(self, step: KeptStep) -> "KeptRun":
        """Return the run with this step: in place of the step of the same name, or after all others."""
        if all(one.name != step.name for one in self.steps):
            return replace(self, steps=(*self.steps, step))
        return replace(self, steps=tuple(step if one.name == step.name else one for one in self.steps))

    def drop_node(self, node: str, why: str) -> "KeptRun":
        """Return the run in which this node is not tested any more."""
        return replace(self, left_out={**self.left_out, node: why})


def folder_of(home: Path, name: str) -> Path:
    """Return the folder of a run, given by its id or as a folder. Raises InputError if there is none."""
    found = next((path for path in (Path(name), runs_in(home) / name) if (path / FILE).is_file()), None)
    if found is None:
        known = sorted(path.parent.name for path in runs_in(home).glob(f"*/{FILE}"))[-3:]
        those = f"; the last ones are {', '.join(known)}" if known else "; there is none here"
        raise InputError(name, "no run in groups", f"the id or the folder of one{those}")
    return found


def runs_in(home: Path) -> Path:
    """Return the folder of all runs in groups of a site. Nodes must see it: it is beside the site's results."""
    return state_folder(home) / "rolling"


def keep(folder: Path, run: KeptRun) -> None:
    """Write what is kept, whole or not at all. Raises SetupError if the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / FILE, f"{json.dumps(encode(run), ensure_ascii=False, indent=1)}\n")
    except OSError as error:
        raise SetupError(f"pairs: {folder} cannot be written ({error.strerror}), where the jobs write too") from None


def read(folder: Path) -> KeptRun:
    """Return what is kept of a run. Raises InputError for a file that is damaged or has another format."""
    file, action = folder / FILE, "start the run again: railyard pairs run --rolling"
    try:
        run = decode(KeptRun, json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, FormError) as error:
        raise InputError(
            str(file), f"no whole run ({error})", "what `railyard pairs run` wrote", action=action
        ) from None
    if run.format != FORMAT:
        raise InputError(str(file), f"format {run.format}", f"format {FORMAT}", action=action)
    return run


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
        program = [self.program, name, probe_job.ROUNDS, *run.words]
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
    measured_s = probe_job.launch_seconds(nodes) + _TIMES * rounds * round_s
    return max(_LEAST_S, math.ceil(_AROUND_S + measured_s))


def pairs_text(nodes: Sequence[str], rounds: Iterable[Round], repeats: int = 1) -> str:
    """Return the pairs of rounds by names, as the job of a group reads them: one line per round."""
    names = [label(node) for node in nodes]
    return repeats * "".join(" ".join(f"{names[a]}/{names[b]}" for a, b in each) + "\n" for each in rounds)


def _launcher(site: Site, run: KeptRun) -> str:
    """Return what starts a group: srun under Slurm, whatever the stack's own launcher is here."""
    return "srun" if is_slurm(site.system.scheduler) else site.system.launcher_of(run.fabric, run.stack)


Echo = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Scheduler:
    """The scheduler of a run's jobs. ``before`` are words before each command: its clients then find their server."""

    jobs: Jobs
    before: tuple[str, ...] = ()

    def submit(self, run: KeptRun, step: KeptStep, seconds: int, echo: Echo) -> KeptRun:
        """Return the run with a step whose groups have jobs; ``run.json`` names each job as soon as it is submitted.

        If the scheduler refuses, the jobs submitted so far are ended, and SetupError is raised.
        """
        if self.jobs.batch.array is not None:
            found = self._array(run, step, seconds, echo)
            if found is not None:
                return found
        return self._chains(run, step, seconds)

    def states(self, step: KeptStep) -> Mapping[int, State]:
        """Return the states of a step's jobs by the number of the group, without jobs that the scheduler does not know.

        In a chain, a job is asked about only once the job before it has ended.
        """
        batch = self.jobs.batch
        if step.array and batch.array is not None:
            return batch.array.states(self._ask(batch.ask(step.array)))
        found: dict[int, State] = {}
        for number, group in enumerate(step.groups, start=1):
            before = found.get(number - self.jobs.run.at_most)
            if group.job and (before is None or before.phase == "ended"):
                state = batch.state(self._ask(batch.ask(group.job)))
            else:
                state = State("waits", before.word) if group.job and before is not None else None
            if state is not None:
                found[number] = state
        return found

    def ended_words(self, group: KeptGroup) -> str:
        """Return what the scheduler says about a job that it ended, as a sentence; empty if it says nothing."""
        if not is_slurm(self.jobs.site.system.scheduler):
            end = self.jobs.batch.end(self._ask(self.jobs.batch.ask(group.job)))
            return "" if end is None else end.sentence
        record = slurm_records.parse_job(self._ask(self.jobs.batch.ask(group.job))) or clients.accounted_state(
            group.job
        )
        if record is None:
            return ""
        nodes = clients.nodes_of(self.jobs.site.system, self.jobs.site.home) if record.state == "NODE_FAIL" else ()
        there = {label(node) for node in group.nodes}
        found = slurm_records.find_end(record, (node for node in nodes if label(node.name) in there))
        return "" if found is None else found.sentence

    def without_unfit(self, run: KeptRun, step: KeptStep, states: Mapping[int, State], echo: Echo) -> KeptRun:
        """Return the run with unusable nodes taken out of the groups that wait; ``echo`` says which.

        A group that has only one node left is ended. This needs a scheduler that knows the states of nodes and can give
        a task other nodes.
        """
        nodes = self.unfit() if step.array else {}
        for number, state in states.items():
            group = run.step(step.name).groups[number - 1]
            gone = [node for node in group.nodes if label(node) in nodes]
            if state.phase == "waits" and gone:
                run = self._drop_group(run, step.name, number, {node: nodes[label(node)] for node in gone}, echo)
        return run

    def unfit(self) -> Mapping[str, NodeState]:
        """Return the nodes that no job can have, by their first label; none if the scheduler does not say."""
        states = clients.nodes_of(self.jobs.site.system, self.jobs.site.home)
        return {label(node.name): node for node in states if node.unfit is not None}

    def cancel(self, run: KeptRun) -> None:
        """End all jobs of a run. In a chain the last job ends first, since the end of a job lets the next one begin."""
        for step in reversed(run.steps):
            if step.array:
                self._ask(self.jobs.batch.cancel(step.array))
                continue
            for group in reversed(step.groups):
                if group.job:
                    self._ask(self.jobs.batch.cancel(group.job))

    def _array(self, run: KeptRun, step: KeptStep, seconds: int, echo: Echo) -> KeptRun | None:
        """Return the run with a step whose groups are the tasks of one array; None if such an array is not possible."""
        batch, array = self.jobs.batch, self.jobs.batch.array
        assert array is not None  # submit checked it
        script = self.jobs.folder / step.name / SCRIPT
        script.write_text(self.jobs.array_script(step, seconds), encoding="utf-8")
        number, why = self._submit_script(str(script))
        if number is None:
            # The first words of a refusal are always the same; only the refusal of an array itself has this word.
            if "array" in why:
                echo(f"no array of {len(step.groups)} tasks ({why}): a job a group instead, each behind another")
                return None
            raise SetupError(f"pairs: the jobs were refused; {why}")
        step = replace(step, array=number)
        run = run.with_step(step)
        keep(self.jobs.folder, run)
        begun = False
        try:
            for place, group in enumerate(step.groups, start=1):
                task = array.task(number, place)
                complaint = self._find_refusal(array.give(task, group.nodes))
                if complaint and place == 1:
                    echo(f"a task of an array is not given its nodes ({complaint}): a job a group instead")
                    self._ask(batch.cancel(number))
                    return None
                if complaint:
                    self._ask(batch.cancel(task))
                job, why = ("", f"the scheduler refused its nodes: {complaint}") if complaint else (task, "")
                step = step.with_group(place, replace(group, job=job, why=why))
            # In the order of the groups, which decides which job the scheduler starts first.
            for group in step.groups:
                if group.job:
                    self._ask(array.release(group.job))
            begun = True
        finally:
            if not begun:
                self._ask(batch.cancel(number))
        run = run.with_step(step)
        keep(self.jobs.folder, run)
        return run

    def _chains(self, run: KeptRun, step: KeptStep, seconds: int) -> KeptRun:
        """Return the run with a step whose groups have a job each, in as many chains as groups may run at once."""
        step = replace(step, array="")
        done = False
        try:
            for number, group in enumerate(step.groups, start=1):
                before = number - run.at_most
                after = step.groups[before - 1].job if before > 0 else None
                script = self.jobs.folder / step.folder(number) / SCRIPT
                script.write_text(self.jobs.script(step, number, seconds, after), encoding="utf-8")
                job, why = self._submit_script(str(script))
                if job is None:
                    raise SetupError(f"pairs: the job of group {number} was refused; {why}")
                step = step.with_group(number, replace(group, job=job))
                run = run.with_step(step)
                keep(self.jobs.folder, run)
            done = True
        finally:
            if not done:
                self.cancel(run.with_step(step))
        return run

    def _drop_group(self, run: KeptRun, name: str, number: int, gone: Mapping[str, NodeState], echo: Echo) -> KeptRun:
        array = self.jobs.batch.array
        assert array is not None  # without arrays there are no nodes to take out
        step = run.step(name)
        group = step.groups[number - 1]
        kept = tuple(node for node in group.nodes if node not in gone)
        words = listing([each.words for each in gone.values()])
        if self._find_refusal(array.hold(group.job)) is not None:
            return run  # it has begun or ended in the meantime
        if len(kept) < 2:
            self._ask(self.jobs.batch.cancel(group.job))
            left = KeptGroup(group.nodes, "", f"{words}, so that {listing(kept) or 'nobody'} is left")
            echo(f"group {number} is not tested: {left.why}")
            run = run.with_step(step.with_group(number, left))
            for node in kept:
                run = run.drop_node(node, f"its group was left with one node: {words}")
        else:
            complaint = self._find_refusal(array.give(group.job, kept))
            if complaint:
                echo(f"group {number} waits for nodes that no job can have: {words} ({complaint})")
                self._ask(array.release(group.job))
                return run
            self._ask(array.release(group.job))
            echo(f"group {number} goes on without {listing(list(gone))}: {words}")
            run = run.with_step(step.with_group(number, replace(group, nodes=kept)))
        for node, state in gone.items():
            run = run.drop_node(node, state.why)
        keep(self.jobs.folder, run)
        return run

    def _submit_script(self, script: str) -> tuple[str | None, str]:
        """Return the number of a job and an empty text, or None and what the program said."""
        words = self.jobs.batch.submit(script)
        out, complaint = self._answer(words)
        found = self.jobs.batch.number.search(out)
        program = "bsub" if words[0] == "sh" else words[0]
        return (found[1], "") if found else (None, f"{program} said: {complaint or out.strip() or 'nothing'}")

    def _answer(self, words: list[str]) -> tuple[str, str]:
        return clients.answer([*self.before, *words])

    def _find_refusal(self, words: list[str]) -> str | None:
        return clients.find_refusal([*self.before, *words])

    def _ask(self, words: list[str]) -> str:
        return self._answer(words)[0]


def reasons_to_wait(states: Mapping[int, State]) -> Iterator[str]:
    """Yield why groups wait, in the scheduler's words, each reason once."""
    yield from dict.fromkeys(state.reason for state in states.values() if state.phase == "waits" and state.reason)
