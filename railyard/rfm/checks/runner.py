"""What makes a check's output: what it is given, the job that follows from that, and what the job leaves.

Two have the same methods: ``MeasuredRun`` runs the benchmark itself on the system's nodes, ``ReplayedRun`` plays a
recording. A test chooses one of them once, by ``plan.runner_of``; nothing else asks which it is.
"""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from railyard.base.files import read_bounded, too_long
from railyard.job import batch, counters, environment, image, node_facts
from railyard.job.client_server import Command
from railyard.job.gpu_steps import EndedStep
from railyard.parsers import gpu_pairs
from railyard.parsers.gpu_pairs import FOLDER
from railyard.parsers.output import ParseError
from railyard.rfm.checks.groups import Outputs, Probes, Start
from railyard.rfm.job_ends import EXIT_CODE
from railyard.stacks.containers import Image

#: Files beside the job's script: the counter reader, the folder of what it reads, what ``ldd`` printed about the
#: benchmark, what the launcher printed about itself, and the hosts that the scheduler gave the job.
READER = "reader.sh"
COUNTERS = "counters"
#: Where the counters of an earlier launch of a run are, below that folder, by its number from 1.
EARLIER = "launch"
LINKED = "linked.txt"
LAUNCHER = "launcher.txt"
HOSTS = "hosts.txt"


class CheckRequest(Protocol):
    """What a check says about its benchmark; every check has these."""

    tool: Any
    start: Start
    stagedir: Any

    @property
    def outputs(self) -> Outputs:
        """Where the benchmark's output is."""

    @property
    def probes(self) -> Probes:
        """What measures each rail alone, in the same folder."""

    @property
    def programs(self) -> tuple[str, ...]:
        """The names that its executable may have; the first that is installed runs."""

    @property
    def message_sizes(self) -> tuple[int, ...]:
        """The message sizes of the run, in bytes."""

    @property
    def launches(self) -> tuple[tuple[int, ...], ...]:
        """The message sizes of each launch of the benchmark, in order; the last one is the job's own."""

    @property
    def command(self) -> Command:
        """How the processes learn what to run."""

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        """Return the benchmark's own words for these message sizes in bytes."""

    def before(self, program: str) -> list[str]:
        """Return the lines of the job before the benchmark's launch; ``program`` is its path."""

    def after(self) -> list[str]:
        """Return the lines of the job after the benchmark's launch."""

    def input_files(self) -> Mapping[str, str]:
        """Return the files that the benchmark reads in its folder: name and text."""


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """All that ReFrame is given for a job. Words are quoted for a shell.

    ``after`` are its very last lines. ``earlier``: the words of launches of the same executable before its own.
    ``launcher_words`` are what our own launchers begin with, ``launcher`` is one instead of the partition's,
    ``modifier`` goes before it. ``limit_s`` is ReFrame's own limit; None if something in the job ends it.
    """

    executable: str
    words: tuple[str, ...]
    env: Mapping[str, str]
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    earlier: tuple[tuple[str, ...], ...] = ()
    limit_s: int | None = None
    launcher: str | None = None
    launcher_words: tuple[str, ...] | None = None
    launcher_options: tuple[str, ...] = ()
    modifier: tuple[str, ...] = ()
    recording: Path | None = None
    options: tuple[str, ...] = ()
    longest_wait_s: int | None = None


@dataclass(frozen=True, slots=True)
class RunOutputs:
    """What is there when a job has ended: ReFrame's job, its folder, the names of its two outputs, and its tag."""

    job: Any
    stage: Path
    stdout: str
    stderr: str
    tag: str

    def of_nodes(self, ending: str) -> tuple[str, ...]:
        """Return the texts of the files with this ending, one per node: of the job's launch, else of its last step."""
        newest = sorted((self.stage / FOLDER).glob(f"*/*{ending}"), key=lambda file: file.stat().st_mtime)
        of_steps = {file.name: file for file in newest}
        files = [*sorted((self.stage / COUNTERS).glob(f"*{ending}")), *(of_steps[name] for name in sorted(of_steps))]
        return tuple(text_of(file) for file in files)

    def text(self, name: str) -> str:
        """Return the text of a file in the folder; empty if it is not there."""
        return text_of(self.stage / name)

    def counters(self) -> tuple[str, ...]:
        """Return the texts of the counters' files, one per node; those of several launches as of one."""
        return counters.join_launches([*map(self._counters_in, (*self._earlier_folders(), COUNTERS))], self.tag)

    def facts_of_earlier(self) -> Iterator[tuple[node_facts.NodeFacts, ...]]:
        """Yield what each node said about itself in each earlier launch of the run."""
        for folder in self._earlier_folders():
            files = sorted((self.stage / folder).glob("*.facts"))
            yield node_facts.parse_all((text_of(file) for file in files), self.tag)

    def _earlier_folders(self) -> list[str]:
        return sorted(f"{COUNTERS}/{folder.name}" for folder in (self.stage / COUNTERS).glob(f"{EARLIER}[1-9]"))

    def _counters_in(self, folder: str) -> tuple[str, ...]:
        return tuple(self.text(f"{folder}/{file.name}") for file in sorted((self.stage / folder).glob("*.counters")))

    @property
    def exit_code(self) -> int | None:
        """The job's exit code from its scheduler, else from the job's own script; None if neither says it.

        A job that was killed has written no code, or one that is not 0. Of two that differ, the one that is not 0
        counts: OpenPBS says 0 of a job that somebody sent a signal by way of it, whose script may see its program die.
        """
        own, told = self.script_exit_code, self.job.exitcode
        if told is None or (int(told) == 0 and own):
            return own
        return int(told)

    @property
    def script_exit_code(self) -> int | None:
        """The exit code that the job's script wrote; None if it writes none, or was ended before it could."""
        tag, _, code = self.text(EXIT_CODE).strip().partition(" ")
        return int(code) if tag == self.tag and code.isascii() and code.isdigit() else None

    def too_long(self) -> str | None:
        """Return the sentence for an output that is too long to be read whole; None if both were read whole."""
        return self._first(too_long)

    def cut(self) -> str | None:
        """Return the sentence for a job that was ended at the limit of its output; None if it reached no limit."""
        return self._first(batch.why_cut)

    def _first(self, said: Callable[[Path, str], str | None]) -> str | None:
        outputs = {self.stdout: "the job's output", self.stderr: "the job's error output"}
        return next((found for file, name in outputs.items() if (found := said(self.stage / file, name))), None)

    def facts(self) -> tuple[node_facts.NodeFacts, ...]:
        """Return what each node said about its processors and clocks in this very job."""
        return node_facts.parse_all(self.of_nodes(".facts"), self.tag)

    def environments(self) -> tuple[environment.RankEnvironment, ...]:
        """Return the variables of the benchmark's process on each node in this very job."""
        return environment.parse_all(self.of_nodes(environment.SUFFIX), self.tag)

    def seen_image(self, inside: Image | None) -> image.SeenImage | None:
        """Return what the job saw in its image, and which file it was on each node; None without an image."""
        if inside is None:
            return None
        files = sorted((self.stage / COUNTERS).glob(f"*{image.SUFFIX}"))
        nodes = tuple(found for file in files if (found := image.read_node(file, text_of(file))) is not None)
        return image.SeenImage(inside, image.read(self.text(image.SEEN), self.tag), nodes)

    def steps(self) -> tuple[EndedStep, ...]:
        """Return the steps that the job's one process started, in the order in which it printed them."""
        try:
            tables = gpu_pairs.parse(self.text(self.stdout)).tables
        except ParseError:
            return ()
        return tuple(
            EndedStep(
                step,
                self.text(step.log),
                tuple(text_of(file) for file in sorted((self.stage / FOLDER / step.name).glob("*.counters"))),
            )
            for table in tables
            for step in gpu_pairs.steps_of(table)
        )

    def nics(self) -> tuple[node_facts.RankNic, ...]:
        """Return the rail that each rank said it was given, if each was given its own in this very job."""
        files = sorted((self.stage / COUNTERS).glob(f"*{node_facts.SUFFIX}"))
        texts = (self.text(f"{COUNTERS}/{file.name}") for file in files)
        return tuple(nic for text in texts if (nic := node_facts.parse_rank_nic(text, self.tag)) is not None)


def text_of(path: Path) -> str:
    """Return a file's text; empty if it is not there: a missing file fails a rule, and is not an error of ours.

    If a file is too long, both its ends are returned (``railyard.base.files``).
    """
    try:
        return read_bounded(path).text
    except FileNotFoundError:
        return ""


def quote_words(words: Iterable[str]) -> tuple[str, ...]:
    """Return words quoted for a shell script."""
    return tuple(shlex.quote(word) for word in words)
