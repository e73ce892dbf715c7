"""Where rails are measured alone after a failure: from here, or in an extra job that holds the nodes meanwhile."""

import math
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from railyard.base.bounds import PROBE_TIME
from railyard.base.errors import RailyardError
from railyard.base.files import write_whole
from railyard.base.values import seconds
from railyard.base.wording import listing
from railyard.job import batch, probe_job
from railyard.job.batch import Scheduling
from railyard.job.clients import nodes_of
from railyard.job.launch import TESTBEDS, Launch
from railyard.job.probe_job import NodeRequest
from railyard.provision.testbed.boot import KILL_AFTER_S, namespace_words
from railyard.rfm.checks.runner import text_of
from railyard.rfm.wait_notes import note_wait
from railyard.site.site import Site
from railyard.site.systems.jobs import FAMILIES, escape_exports, is_chunk_word, why_not_by_name
from railyard.verdict.blame import slow_rails
from railyard.verdict.blame.suspects import Probe, plan_probes

#: Seconds a probe may take: it moves some megabytes; a dead rail does not answer at all.
PROBE_LIMIT_S = 20
#: If it is known how long a probe with a result takes, another one may take so many times as long, at least 6 s.
_TIMES_THE_LONGEST, _LEAST_LIMIT_S = 4, 6
#: At most so many pairs of a run's nodes are measured in extra jobs: each holds four nodes for minutes.
_MOST_JOBS = 2
#: Seconds for further questions to a job's nodes after the time of its planned steps.
_QUESTIONS_S = 60
#: Further seconds for a job: its start, and the step that runs when all that is over. With the time of its steps this
#: gives whole minutes, since LSF's limits are in minutes.
_AROUND_S = 120
#: Seconds between two looks at what a job has left, and between two questions to its scheduler.
_LOOK_S, _ASK_S = 0.5, 5.0


class NotProbed(Exception):
    """No rail was measured alone: the sentence says why."""


@dataclass(frozen=True, slots=True)
class Series:
    """A kind of probes: the word that their files begin with, and how often each is made at most."""

    name: str
    rounds: int


@dataclass(frozen=True, slots=True)
class Step:
    """What one probe runs: its variables, its command with the launcher, and a folder that it writes to, if any."""

    env: Mapping[str, str]
    words: Sequence[str]
    folder: str = ""

    @property
    def script(self) -> str:
        """The script of a shell that replaces itself with the step."""
        exports = "".join(f"export {name}={value}\n" for name, value in escape_exports(self.env).items())
        made = f"mkdir -p {shlex.quote(self.folder)}\n" if self.folder else ""
        return f"#!/bin/sh\n{batch.line(batch.SH_BLOCK)}\n{made}{exports}exec {shlex.join(self.words)}\n"


#: A probe and its number among those of its kind -> what it runs.
Steps = Callable[[Probe, int], Step]


class HeldPair(Protocol):
    """A pair of a run's nodes and other nodes, for as long as their rails are measured."""

    @property
    def partners(self) -> tuple[str, ...]:
        """The other nodes."""

    def output(self, probe: Probe, turn: int) -> str | None:
        """Return what a probe of a round printed; None if no more is measured."""

    def answer(self, name: str, step: Step) -> str | None:
        """Return what one more step printed; its files begin with ``name``. None if there is no time for it."""

    def clock(self) -> float:
        """Return the seconds that count as the probes' time."""

    @property
    def is_seen(self) -> bool:
        """Whether a probe runs only while its output is awaited, so that its processes can be watched."""


class Place(Protocol):
    """Where the rails of a pair of nodes are measured."""

    @property
    def most_pairs(self) -> int | None:
        """How many pairs of a run's nodes are measured at most; None for all."""

    def front(self, launch: Launch, limit_s: int = PROBE_LIMIT_S) -> list[str]:
        """Return the words of a step before each process's own, with its limit. Raises RailyardError if no step can be
        started.
        """

    def hold_pair(
        self, pair: tuple[str, str], others: tuple[str, ...], rails: tuple[str, ...], steps: Steps, series: Series
    ) -> AbstractContextManager[HeldPair]:
        """Hold a pair of nodes; ``others`` are the system's other nodes by name. Raises NotProbed if it cannot."""


def place_of(
    site: Site, stack: str, scheduling: Scheduling, stage: Path, job: Callable[[], "NodesJob"]
) -> "Place | None":
    """Return where the rails of a run are measured alone; None if nothing here can do it, or if it is switched off.

    ``job`` makes a job of the system's scheduler, which writes to ``stage``.
    """
    system, launcher = site.system, scheduling.launcher
    bed = TESTBEDS.get(system.launcher)
    if bed is not None:
        # Under the jobs' lock: if a person calls ReFrame, it runs a test of another partition meanwhile.
        def in_bed(launch: Launch, limit_s: int) -> list[str]:
            words = namespace_words(
                site.home, launch.nodes[0], limit_s, launch.program, bed, longest_s=system.longest_s
            )
            return [*words, *launch.options]

        return LocalPlace(stage, in_bed)
    if scheduling.is_step:
        return LocalPlace(stage, lambda launch, limit_s: probe_job.step_words(launcher, stack, launch, limit_s))
    if system.scheduler not in FAMILIES or not seconds(system.measure.probes_within):
        return None
    return InJob(site, stage, launcher, stack, job)


def limit_after(longest_s: float) -> int:
    """Return a probe's limit in seconds if the longest one with a result took so long; 0: there was none so far."""
    if not longest_s:
        return PROBE_LIMIT_S
    return min(PROBE_LIMIT_S, max(_LEAST_LIMIT_S, math.ceil(_TIMES_THE_LONGEST * longest_s)))


def name_of(series: Series, probe: Probe, turn: int) -> str:
    """Return the names of a probe's files, without their endings."""
    return f"{series.name}-{turn}-{probe.rail}-{probe.node_a}-{probe.node_b}"


def run_step(name: str, step: Step, folder: Path) -> str:
    """Start a step from here and return what it printed; its script and output stay in a folder."""
    script, output = folder / f"{name}.sh", folder / f"{name}.out"
    script.write_text(step.script, encoding="utf-8")
    with output.open("w", encoding="utf-8") as out:
        subprocess.run(
            ["sh", str(script)],
            cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
    return text_of(output)


@dataclass(frozen=True, slots=True)
class LocalPlace:
    """Each probe is started from here when its turn comes: in our own testbed, or as a step of our own allocation."""

    stage: Path
    words: Callable[[Launch, int], list[str]]
    most_pairs: int | None = None

    def front(self, launch: Launch, limit_s: int = PROBE_LIMIT_S) -> list[str]:
        return self.words(launch, limit_s)

    @contextmanager
    def hold_pair(
        self, pair: tuple[str, str], others: tuple[str, ...], rails: tuple[str, ...], steps: Steps, series: Series
    ) -> "Iterator[_StartedProbes]":
        yield _StartedProbes(self.stage, others, steps, series)


@dataclass(frozen=True, slots=True)
class _StartedProbes:
    stage: Path
    partners: tuple[str, ...]
    steps: Steps
    series: Series
    is_seen: bool = True

    def output(self, probe: Probe, turn: int) -> str | None:
        what = f"a probe of rail {probe.rail} between {probe.node_a} and {probe.node_b}, round {turn}"
        note_wait(what, PROBE_LIMIT_S + KILL_AFTER_S)
        return run_step(name_of(self.series, probe, turn), self.steps(probe, turn), self.stage)

    def answer(self, name: str, step: Step) -> str | None:
        note_wait(f"the probe {name}", PROBE_LIMIT_S + KILL_AFTER_S)
        return run_step(name, step, self.stage)

    def clock(self) -> float:
        return time.monotonic()


class NodesJob(Protocol):
    """A job of the system's scheduler besides the test's own."""

    def submit(self, name: str, lines: list[str], asked: NodeRequest, count: int, limit_s: int) -> None:
        """Submit a job of these lines, once. Raises RailyardError with the scheduler's message if it is refused."""

    def state(self) -> Literal["waits", "runs", "ended"]:
        """Ask the scheduler for the job's state."""

    @property
    def end_words(self) -> str:
        """What the scheduler says about it, as the end of a sentence; it begins with the job's number."""

    def cancel(self) -> None:
        """End it. Do nothing if it has ended or was not submitted."""


@dataclass(frozen=True, slots=True)
class InJob:
    """All probes of a pair run in an extra job, whatever they print, until it is known what is slow.

    ``job`` makes a job that is not submitted yet. ``launcher`` is ReFrame's name of the launcher that starts a step.
    """

    site: Site
    stage: Path
    launcher: str
    stack: str
    job: Callable[[], NodesJob]
    most_pairs: int | None = _MOST_JOBS

    def front(self, launch: Launch, limit_s: int = PROBE_LIMIT_S) -> list[str]:
        return probe_job.step_words(self.launcher, self.stack, launch, limit_s)

    @contextmanager
    def hold_pair(
        self, pair: tuple[str, str], others: tuple[str, ...], rails: tuple[str, ...], steps: Steps, series: Series
    ) -> "Iterator[_InJob]":
        name, job, number = f"{series.name}s-{'-'.join(pair)}", self.job(), self._number()
        partners = probe_job.PARTNERS[: number - len(pair)]
        system = self.site.system
        nameless = why_not_by_name(system.system, system.jobs)
        if nameless is not None:
            raise NotProbed(nameless)
        try:
            self._write(name, plan_probes(pair, partners, rails), rails, steps, series)
            chunk = tuple(filter(is_chunk_word, system.job_options))
            asked = probe_job.node_request(system.scheduler, pair, others, number, chunk)
            lines = probe_job.job_lines(name, system.scheduler, pair, PROBE_TIME.value, _QUESTIONS_S)
            lasts_s = int(PROBE_TIME.value) + _QUESTIONS_S + _AROUND_S
            job.submit(name, lines, asked, number, lasts_s)
            what = f"an extra job that measures {listing(list(rails))} between {listing(list(pair))} and partners"
            note_wait(what, self._longest_wait_s + lasts_s)
            yield _InJob(self.stage, tuple(self._partners(name, pair, job)), job, series, name)
        except RailyardError as error:
            raise NotProbed(str(error)) from None
        finally:
            job.cancel()
            write_whole(self.stage / probe_job.no_more(name), "")  # for a job that its scheduler does not end
            for partner in partners:  # steps that the job did not come to
                for script in self.stage.glob(f"{series.name}-*-{partner}.sh"):
                    script.unlink(missing_ok=True)

    @property
    def _longest_wait_s(self) -> int:
        measure, jobs = self.site.system.measure, self.site.system.jobs
        waits_s = seconds(measure.probes_within)
        return min(waits_s, seconds(jobs.max_pending)) if jobs.max_pending else waits_s

    def _number(self) -> int:
        """Return how many nodes the job should have: those that can run one, at most the pair and its partners."""
        states = nodes_of(self.site.system, self.site.home)
        able = sum(node.unfit is None for node in states) or self.site.system.nodes.number
        return min(max(able, 2), 2 + len(probe_job.PARTNERS))

    def _write(self, name: str, planned: Sequence[Probe], rails: tuple[str, ...], steps: Steps, series: Series) -> None:
        """Write the job's own script, the script of every probe of every round, and a list of these."""
        for left in (
            f"{name}.nodes",
            probe_job.no_more(name),
            *(path.name for path in self.stage.glob(f"{name}.ask-*")),
        ):
            (self.stage / left).unlink(missing_ok=True)
        (self.stage / probe_job.SCRIPT).write_text(probe_job.probes_script(), encoding="utf-8")
        names = []
        for turn in range(1, series.rounds + 1):
            for probe in slow_rails.in_turn(planned, rails, turn):
                names.append(name_of(series, probe, turn))
                (self.stage / f"{names[-1]}.sh").write_text(steps(probe, turn).script, encoding="utf-8")
        (self.stage / f"{name}.list").write_text("".join(f"{step}\n" for step in names), encoding="utf-8")

    def _partners(self, name: str, pair: tuple[str, str], job: NodesJob) -> list[str]:
        """Return the nodes that the scheduler chose, once the job has begun. Raises NotProbed if it does not begin."""
        waits_s, begun = self._longest_wait_s, time.monotonic()
        while not is_there(self.stage, f"{name}.nodes"):
            state = job.state()
            if state == "ended" and not is_there(self.stage, f"{name}.nodes"):
                raise NotProbed(f"the job for it ended before its first step: {job.end_words}; see {name}.err")
            if state == "waits" and time.monotonic() - begun >= waits_s:
                raise NotProbed(
                    f"found no free nodes within {waits_s} s for {listing(list(pair))} and partners: {job.end_words}"
                )
            time.sleep(_LOOK_S)
        return text_of(self.stage / f"{name}.nodes").split()


@dataclass(slots=True)
class _InJob:
    stage: Path
    partners: tuple[str, ...]
    job: NodesJob
    series: Series
    name: str
    is_seen: bool = False
    _asked_s: float = 0.0
    _has_ended: bool = False
    _questions: int = 0

    def output(self, probe: Probe, turn: int) -> str | None:
        return self._read_printed(f"{name_of(self.series, probe, turn)}.out")

    def answer(self, name: str, step: Step) -> str | None:
        (self.stage / f"{name}.out").unlink(missing_ok=True)
        (self.stage / f"{name}.sh").write_text(step.script, encoding="utf-8")
        self._questions += 1
        write_whole(self.stage / probe_job.question(self.name, self._questions), f"{name}\n")
        return self._read_printed(f"{name}.out")

    def _read_printed(self, name: str) -> str | None:
        while not is_there(self.stage, name):
            if self._has_ended:
                return None
            if time.monotonic() - self._asked_s >= _ASK_S:
                self._asked_s = time.monotonic()
                self._has_ended = self.job.state() == "ended"
                continue  # what it left at its end is there now
            time.sleep(_LOOK_S)
        return text_of(self.stage / name)

    def clock(self) -> float:
        return 0.0  # the job bounds the time itself, from its first step on


def no_step(probe: Probe, turn: int) -> Step:
    """Replace the steps of a series without any: its nodes are only asked (``HeldPair.answer``)."""
    raise AssertionError(f"nothing is planned of {probe.rail} in round {turn}")


def is_there(folder: Path, name: str) -> bool:
    """Return whether a file is in a folder that other nodes write to; NFS looks again if a folder is listed."""
    return name in os.listdir(folder)
