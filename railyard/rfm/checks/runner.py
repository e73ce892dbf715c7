"""What a check's output is made by: what it is told, the job that comes of that, and what the job leaves.

Two have the same methods: ``Measured`` runs the benchmark itself on the system's nodes, ``Replayed`` plays a recording.
A test chooses one of them once, by ``runner_of``; nothing else asks which it is.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from railyard.job import node_facts, rank_nics
from railyard.job.command import Command
from railyard.site.site import Site
from railyard.site.test_id import TestId

if TYPE_CHECKING:
    from railyard.rfm.checks.measured import Measured
    from railyard.rfm.checks.replayed import Replayed

    Runner: TypeAlias = Measured | Replayed

#: Beside the job's script: the counter reader, the folder of what it reads, what ``ldd`` said of the benchmark, and
#: which hosts the scheduler told the job that it has.
READER = "reader.sh"
COUNTERS = "counters"
LINKED = "linked.txt"
HOSTS = "hosts.txt"


class Asked(Protocol):
    """What a check says of its benchmark; every check has these."""

    tool: Any
    output_file: Any
    rows_on_stderr: bool
    more_outputs: tuple[str, ...]
    cleared: tuple[str, ...]

    @property
    def programs(self) -> tuple[str, ...]:
        """The names that its executable may have, of which the first that is installed runs."""

    @property
    def message_sizes(self) -> tuple[int, ...]:
        """The message sizes of the run, in bytes."""

    @property
    def command(self) -> Command:
        """How the processes are told what to run."""

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        """Return the benchmark's own words for these message sizes in bytes."""

    def before(self, program: str) -> list[str]:
        """Return lines of the job before the benchmark's launch; ``program`` is its path."""

    def after(self) -> list[str]:
        """Return lines of the job behind the benchmark's launch."""

    def input_files(self) -> Mapping[str, str]:
        """Return the files that the benchmark reads in its folder: name and text."""


@dataclass(frozen=True, slots=True)
class PlannedJob:
    """All that ReFrame is told of a job. Words stand as a shell's script has them.

    ``launcher_words`` are what our own launchers begin with, ``launcher`` is one in place of the partition's,
    ``modifier`` what goes before it. ``limit_s`` is ReFrame's own limit; None where something in the job ends it.
    """

    executable: str
    words: tuple[str, ...]
    env: Mapping[str, str]
    before: tuple[str, ...] = ()
    limit_s: int | None = None
    launcher: str | None = None
    launcher_words: tuple[str, ...] | None = None
    launcher_options: tuple[str, ...] = ()
    modifier: tuple[str, ...] = ()
    recording: Path | None = None
    options: tuple[str, ...] = ()
    longest_wait_s: int | None = None


@dataclass(frozen=True, slots=True)
class Left:
    """What is there when a job has ended: ReFrame's job, its folder, the names of its two outputs, and its tag."""

    job: Any
    stage: Path
    stdout: str
    stderr: str
    tag: str

    def text(self, name: str) -> str:
        """Return the text of a file of the folder, empty where it is not there."""
        return text_of(self.stage / name)

    def facts(self) -> tuple[node_facts.NodeFacts, ...]:
        """Return what each node said of its processors and clocks in this very job."""
        texts = (self.text(f"{COUNTERS}/{file.name}") for file in sorted((self.stage / COUNTERS).glob("*.facts")))
        return tuple(facts for text in texts if (facts := node_facts.parse(text, self.tag)) is not None)

    def nics(self) -> tuple[rank_nics.RankNic, ...]:
        """Return which rail each rank said that it was given, of those that were given one each in this very job."""
        files = sorted((self.stage / COUNTERS).glob(f"*{rank_nics.SUFFIX}"))
        texts = (self.text(f"{COUNTERS}/{file.name}") for file in files)
        return tuple(nic for text in texts if (nic := rank_nics.parse(text, self.tag)) is not None)


def text_of(path: Path) -> str:
    """Return a file's text, empty where it is not there: what is missing fails a rule, it is no error of ours."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""


def runner_of(site: Site, test: TestId, dry: bool = False) -> "Runner":
    """Return what makes the output of a test on this system; a ``dry`` run makes none."""
    from railyard.rfm.checks.measured import Measured
    from railyard.rfm.checks.replayed import Replayed

    return Replayed(site, test) if site.system.provider == "replay" else Measured(site, test, dry)


def quoted(words: Iterable[str]) -> tuple[str, ...]:
    """Return words as a shell's script has them."""
    return tuple(shlex.quote(word) for word in words)
