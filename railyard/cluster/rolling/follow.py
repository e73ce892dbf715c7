"""Follows the jobs of a run in groups until all are over or you leave it: their states, and what they left."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from railyard.base.wording import listing
from railyard.cluster.rolling.collect import Part, incomplete_groups, part_of, summary
from railyard.cluster.rolling.kept_run import KeptRun, KeptStep
from railyard.cluster.rolling.under_scheduler import Scheduler, reasons_to_wait
from railyard.job.batch import State
from railyard.job.node_files import SEEN_WITHIN_S

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
