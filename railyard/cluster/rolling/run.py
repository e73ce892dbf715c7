"""A run in groups from submission to verdict: follows it, measures suspects again, judges and stores it."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from railyard.base.hostlist import label
from railyard.base.wording import count_of, listing
from railyard.benchmarks.node_pairs import merge_tables
from railyard.cluster.rolling import collect
from railyard.cluster.rolling.collect import CombinedGroups, Part, combine_groups, incomplete_groups, part_of, summary
from railyard.cluster.rolling.plan import Place, PlanRequest, groups_of_step, place_of, write_files
from railyard.cluster.rolling.under_scheduler import (
    PAIRS,
    Jobs,
    KeptGroup,
    KeptRun,
    KeptStep,
    Scheduler,
    jobs,
    keep,
    pairs_text,
    reasons_to_wait,
    seconds_of,
)
from railyard.job.batch import State
from railyard.job.clients import client_words
from railyard.job.node_files import SEEN_WITHIN_S
from railyard.parsers.output import Table
from railyard.results.record.form import Record
from railyard.site.site import Site
from railyard.site.topology import Places
from railyard.verdict.blame.screening.model import Budget
from railyard.verdict.blame.search.model import PairsError, Step
from railyard.verdict.node_pairs import SampleOrigin, ScreeningProgress, least_bandwidth, screen_tables

#: Seconds between two looks.
LOOK_S = 5.0


@dataclass(frozen=True, slots=True)
class RunProgress:
    """A run as it is now, and what became of its groups."""

    run: KeptRun
    parts: tuple[Part, ...]

    def of_step(self, name: str) -> tuple[Part, ...]:
        """Return the groups of one step."""
        return tuple(one for one in self.parts if one.step == name)

    @property
    def is_over(self) -> bool:
        """Whether nothing more will come."""
        return all(one.is_over for one in self.parts)


#: The most steps after the sample, as within one allocation.
MOST_STEPS = 12
Echo = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Rolling:
    """A run in groups: where it is kept, what it measures over, and how its jobs are launched and asked about."""

    site: Site
    folder: Path
    place: Place
    jobs: Jobs
    group: int
    echo: Echo

    def scheduler(self, over: str = "") -> Scheduler:
        """Return the scheduler of its jobs; with ``over``, of its jobs over only that rail."""
        made = self.jobs.limit_to_rail(over) if over else self.jobs
        return Scheduler(made, client_words(self.site.system, self.site.home))

    def submit_step(self, run: KeptRun, step: KeptStep, seconds: int) -> KeptRun:
        """Return the run with a step whose jobs are submitted."""
        return self.scheduler(step.over).submit(run, step, seconds, self.echo)

    def follow_run(self, run: KeptRun) -> RunProgress:
        """Return the run when all its groups are over."""
        return follow(run, self.folder, self.scheduler(), self.echo)

    def current_progress(self, run: KeptRun) -> RunProgress:
        """Return the run as it is now."""
        return settle_run(run, self.folder, self.scheduler())

    def confirm_suspects(self, seen: RunProgress) -> RunProgress:
        """Return the run once its suspects have been measured again with good partners, in separate jobs."""
        for number in range(1, MOST_STEPS + 1):
            step = self.open_step(seen)
            if step is None:
                break
            nodes = combine_groups(seen.run, seen.parts).hosts
            self.echo(f"step {number} of the suspects: {step.why}")
            seen = self.follow_run(self._submit_confirmation(seen.run, step, nodes, number))
            if not seen.of_step(f"confirm-{number}") or not any(
                one.table is not None for one in seen.of_step(f"confirm-{number}")
            ):
                break  # after a step that gave nothing, no other step can follow
        return seen

    def open_step(self, seen: RunProgress) -> Step | None:
        """Return the step that a run's suspects need; None if there is no such step, or no sample."""
        found = combine_groups(seen.run, seen.parts)
        if not found.tables:
            return None
        try:
            return self.find_next(
                found.tables, self.describe_sample(seen), seen.run, collect.places_in(self.site, seen.run)
            ).open_step
        except (ValueError, PairsError) as error:
            self.echo(f"the suspects cannot be measured again: {error}")
            return None

    def find_next(self, tables: Sequence[Table], how: SampleOrigin, run: KeptRun, places: Places) -> ScreeningProgress:
        """Return what follows from the sample and the later steps of a run. Raises ValueError and PairsError."""
        rails, up_links = self.jobs.devices, self.site.system.fabrics[run.fabric].up_links
        least = least_bandwidth(self.site, collect.test_of(run), run.size)
        return screen_tables(tables, how, places, least, rails if len(rails) > 1 else (), up_links)

    def describe_sample(self, seen: RunProgress) -> SampleOrigin:
        """Return how the sample of a run was made."""
        size = max((len(group.nodes) for group in seen.run.steps[0].groups), default=2)
        return collect.describe_sample(seen.run, seen.parts, self.place.round_s(size), time.time())

    def store_record(self, seen: RunProgress, words: Sequence[str]) -> tuple[Record, CombinedGroups]:
        """Store the record of a run among all others; return it and what it was made from."""
        found = combine_groups(seen.run, seen.parts)
        now = datetime.now(timezone.utc)
        made, left = collect.assess_run(self.site, seen.run, self.jobs, found, self.describe_sample(seen), now.date())
        return collect.store(self.site, seen.run, made, left, words, now.timestamp()), found

    def _submit_confirmation(self, run: KeptRun, step: Step, hosts: Sequence[str], number: int) -> KeptRun:
        names = {label(node): node for group in run.steps[0].groups for node in group.nodes}
        made = groups_of_step(step.rounds, self.group)
        groups, files, seconds = [], {}, 0
        name = f"confirm-{number}"
        for place, (nodes, rounds) in enumerate(made, start=1):
            own = tuple(names.get(label(hosts[node]), hosts[node]) for node in nodes)
            place_of_node = {node: index for index, node in enumerate(nodes)}
            within = tuple(tuple((place_of_node[a], place_of_node[b]) for a, b in each) for each in rounds)
            files[f"{name}/{place}/{PAIRS}"] = pairs_text(own, within, step.repeats)
            groups.append(KeptGroup(own))
            seconds = max(seconds, seconds_of(len(rounds) * step.repeats, self.place.round_s(len(own)), len(own)))
        write_files(self.folder, files)
        kept = KeptStep(name, tuple(groups), step.why, "" if step.over is None else step.over.name)
        keep(self.folder, run.with_step(kept))
        self.echo(f"{count_of(len(groups), 'job')} of {count_of(sum(len(one.nodes) for one in groups), 'node')}")
        return self.submit_step(run.with_step(kept), kept, seconds)


def rolling(site: Site, run: KeptRun, folder: Path, group: int, echo: Echo) -> Rolling:
    """Return a run in groups that is kept in a folder. Raises RailyardError if its stack is not there any more."""
    place = place_of(site, PlanRequest(fabric=run.fabric, stack=run.stack, rails=run.rails))
    return Rolling(site, folder, replace(place, words=run.words), jobs(site, run, folder), group, echo)


def merged_text(every: Sequence[Rolling], seen: Sequence[RunProgress]) -> tuple[str, bool]:
    """Return what the samples of several runs say together, and whether some node may be slow.

    That alone blames no node: suspects are measured again within one run.
    """
    found = [combine_groups(one.run, one.parts) for one in seen]
    hosts = tuple(dict.fromkeys(host for one in found for host in one.hosts))
    tables = [one.tables[0] for one in found if one.tables]
    lost = [f"{one.run.id}, {part.name}: {part.words}" for one in seen for part in one.parts if part.words]
    names = listing([one.run.id for one in seen])
    if not tables:
        return "; ".join([f"{names} together: no group was measured", *lost]), True
    there = {label(host) for host in hosts}
    gone = {node: why for one in seen for node, why in collect.absent_nodes(one.run, one.parts).items()}
    first, table = every[0], merge_tables(tables, hosts)
    rounds, round_s = int(str(table.context["rounds"])), first.place.round_s(first.group)
    absent = tuple((node, why) for node, why in gone.items() if label(node) not in there)
    how = SampleOrigin("rolling", Budget(rounds * round_s, round_s), False, absent=absent)
    leaf_of = {label(node): leaf for one in seen for node, leaf in one.run.leaves.items()}
    places = Places(leaf_of, collect.places_in(first.site, seen[0].run).group_of)
    came = first.find_next([table], how, seen[0].run, places)
    said = "; ".join([f"{names} together", came.screened.sentence, *lost])
    return said, bool(came.screened.named or came.screened.unclear or came.open_step)


def look(run: KeptRun, folder: Path, scheduler: Scheduler) -> tuple[RunProgress, Mapping[str, Mapping[int, State]]]:
    """Return how a run is now, and the states of its jobs by step and group."""
    states, parts = {}, []
    for step in run.steps:
        found = states[step.name] = scheduler.states(step)
        parts += [_part(run, folder, step, number, found, scheduler) for number in range(1, len(step.groups) + 1)]
    return RunProgress(run, tuple(parts)), states


def settle_run(run: KeptRun, folder: Path, scheduler: Scheduler) -> RunProgress:
    """Return how a run is now, once all files of the jobs that have ended must have arrived."""
    begun = time.monotonic()
    while True:
        seen, _ = look(run, folder, scheduler)
        if not incomplete_groups(seen.parts) or time.monotonic() - begun >= SEEN_WITHIN_S:
            return seen
        time.sleep(min(LOOK_S, 1.0))


def follow(run: KeptRun, folder: Path, scheduler: Scheduler, echo: Callable[[str], None]) -> RunProgress:
    """Wait until all groups of a run are over, and return how it is then; ``echo`` says what changes.

    Groups that wait for a drained node go on without it.
    """
    said = ""
    while True:
        seen, states = look(run, folder, scheduler)
        why = listing([*reasons_to_wait({n: state for of_step in states.values() for n, state in of_step.items()})][:3])
        words = summary(seen.of_step(run.steps[-1].name)) + (f" ({why})" if why else "")
        if words != said:
            echo(words)
            said = words
        if seen.is_over:
            return settle_run(run, folder, scheduler) if incomplete_groups(seen.parts) else seen
        for step in run.steps:
            run = scheduler.without_unfit(run, step, states[step.name], echo)
        time.sleep(LOOK_S)


def _part(
    run: KeptRun, folder: Path, step: KeptStep, number: int, states: Mapping[int, State], scheduler: Scheduler
) -> Part:
    state, now = states.get(number), time.time()
    part = part_of(folder, run, step, number, state, now)
    if part.kind != "lost" or not step.groups[number - 1].job:
        return part
    ended = scheduler.ended_words(step.groups[number - 1])
    return part_of(folder, run, step, number, state, now, ended) if ended else part
