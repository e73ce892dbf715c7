"""Submits the jobs of a run in groups, tells their states, takes drained nodes out of them, and ends them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from railyard.base.errors import SetupError
from railyard.base.hostlist import label
from railyard.base.wording import listing
from railyard.cluster.rolling.job import SCRIPT, Jobs
from railyard.cluster.rolling.kept_run import KeptGroup, KeptRun, KeptStep, keep
from railyard.job import slurm
from railyard.job.batch import State
from railyard.parsers import slurm as slurm_records
from railyard.parsers.slurm import NodeState
from railyard.site.systems.jobs import is_slurm

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
        record = slurm_records.parse_job(self._ask(self.jobs.batch.ask(group.job))) or slurm.accounted_state(group.job)
        if record is None:
            return ""
        nodes = slurm.nodes_of(self.jobs.site.system, self.jobs.site.home) if record.state == "NODE_FAIL" else ()
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
        states = slurm.nodes_of(self.jobs.site.system, self.jobs.site.home)
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
        return slurm.answer([*self.before, *words])

    def _find_refusal(self, words: list[str]) -> str | None:
        return slurm.find_refusal([*self.before, *words])

    def _ask(self, words: list[str]) -> str:
        return self._answer(words)[0]


def reasons_to_wait(states: Mapping[int, State]) -> Iterator[str]:
    """Yield why groups wait, in the scheduler's words, each reason once."""
    yield from dict.fromkeys(state.reason for state in states.values() if state.phase == "waits" and state.reason)
