"""A recording that is played instead of a benchmark."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railyard.base.files import read_bounded
from railyard.benchmarks.repetitions import Pace
from railyard.job.batch import Scheduling
from railyard.job.case import Evidence
from railyard.job.launch import Launch
from railyard.job.node_facts import ProcessPlacement
from railyard.job.provenance import circumstances, provenance
from railyard.provision.replay.form import REPLAYED, file_of
from railyard.provision.replay.index import folder_of, match_index
from railyard.provision.testbed.boot import TIMEOUT_EXIT
from railyard.rfm.checks.runner import CheckRequest, PlannedJob, RunOutputs, quote_words
from railyard.site.matrix import DEFAULT, policy_of
from railyard.site.site import Site
from railyard.site.systems.jobs import escape_exports
from railyard.site.test_id import TestId, check_of, plain_check, without_repeat

if TYPE_CHECKING:
    from railyard.parsers.slurm import NodeState
    from railyard.provision.testbed.starvation import TrafficWatch, Watch


@dataclass(frozen=True, slots=True)
class ReplayedRun:
    """A recording that is played instead of the benchmark: no node, no path, and nothing can be measured again."""

    site: Site
    test: TestId
    replayed: str = field(default=REPLAYED, init=False)
    repeat_limits: tuple[int, int] = field(default=(0, 0), init=False)
    is_watched: bool = field(default=False, init=False)

    @property
    def _folder(self) -> Path:
        return folder_of(self.site.home, self.site.system.system)

    @property
    def _recording_id(self) -> TestId:
        """The test as recordings name it: the name has no policy if it is the stack's own anyway.

        Of a repeat (`--repeat`) without its own recording, that of the test is played.
        """
        test = self.test
        own = policy_of(self.site.system, test.fabric, test.stack, test.rails, DEFAULT)
        exact = replace(test, check=plain_check(test.name) if test.policy == own else check_of(test.name))
        is_there = (self._folder / file_of(exact)).is_file()
        return exact if is_there else replace(exact, check=without_repeat(exact.check))

    def choose_ranks(self, shape: Callable[[], None]) -> None:
        """Leave the ranks as they are: the output says which ranks the recording had."""

    def pace(self) -> Pace | None:
        """Return None: nobody knows what the recording's tool was given; the words beside it are for a slow link."""
        return None

    def node_names(self, number: int) -> tuple[str, ...]:
        """Return none."""
        return ()

    def node_states(self) -> "tuple[NodeState, ...]":
        """Return none."""
        return ()

    def knows(self, asked: CheckRequest, text: str) -> bool:
        """Return False: nothing is installed."""
        return False

    def remarks(self, asked: CheckRequest) -> tuple[str, ...]:
        """Return none: nothing is installed."""
        return ()

    def program(self, tool: str, programs: Sequence[str]) -> str:
        """Return the name of the program, for the reader of the job's script."""
        return next(iter(programs), "") or tool

    def job(
        self, asked: CheckRequest, launch: Launch, scheduling: Scheduling, placing: ProcessPlacement, tag: str
    ) -> PlannedJob:
        """Return the job: it prints the recording; the benchmark's words follow for the reader."""
        return PlannedJob(
            self.program(asked.tool, asked.programs),
            quote_words(asked.arguments(asked.message_sizes)),
            escape_exports({**launch.env, **placing.variables(self.test.stack)}),
            limit_s=scheduling.limit_s,
            recording=self._folder / file_of(self._recording_id),
        )

    def after(self, asked: CheckRequest) -> list[str]:
        """Return none."""
        return []

    def files(self, asked: CheckRequest, placing: ProcessPlacement) -> dict[str, str]:
        """Return none."""
        return {}

    def start(self, take_turn: Callable[[Path], None]) -> None:
        """Do nothing: it measures nothing."""

    def watch(self) -> "Watch | None":
        """Return None."""
        return None

    def watch_traffic(self) -> "TrafficWatch | None":
        """Return None."""
        return None

    def wait_for_quiet(self, at_most_s: float) -> None:
        """Do nothing."""

    def fill_nodes(self, launch: Launch, left: RunOutputs) -> Launch:
        """Return the launch as it is."""
        return launch

    def evidence(self, asked: CheckRequest, left: RunOutputs, launch: Launch, placing: ProcessPlacement) -> Evidence:
        """Return what was printed, compared with the index of the recordings."""
        stdout, stderr = left.text(left.stdout), left.text(left.stderr)
        printed = left.stage / left.stdout
        return Evidence(
            stdout=f"{stdout}\n{stderr}" if asked.outputs.on_stderr else stdout,
            stderr=stderr,
            exit_code=left.job.exitcode,
            timed_out=left.job.exitcode == TIMEOUT_EXIT,
            tag=left.tag,
            too_long=left.too_long(),
            played=match_index(
                self._folder, self._recording_id, read_bounded(printed).content if printed.is_file() else b""
            ),
        )

    def hops(self, launch: Launch) -> int | None:
        """Return None."""
        return None

    def environment(self, evidence: Evidence | None) -> dict[str, object]:
        """Return our own versions, and what the index says about the recording."""
        there = None if evidence is None else evidence.played
        return {**provenance(self.site, self.test.stack), **({} if there is None else there.provenance)}

    def circumstances(self, evidence: Evidence, launch: Launch, started: datetime) -> dict[str, Any]:
        """Return the fields of a record, empty: a replay has neither job nor nodes."""
        return circumstances((), linked=None, variables={}, scheduler=None, job_id=None, started=started)
