"""The judging half of every check: reads what a run left, reaches the verdict, stores it, and makes ReFrame fail."""

import os
import shlex
import time
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reframe.utility.sanity as sn
from reframe.core.builtins import run_after, run_before, sanity_function
from reframe.core.exceptions import PerformanceError, SanityError

from railyard.job.launch import Launch, seconds
from railyard.provision.replay.index import folder_of
from railyard.rfm.checks.measure_again import Again
from railyard.rfm.checks.place import COUNTERS
from railyard.rfm.checks.schedule import Scheduled
from railyard.rfm.guards import as_reframe_error
from railyard.rfm.launchers import TIMEOUT_EXIT
from railyard.site.policies import DEFAULT, policy_of
from railyard.site.site import Site, site_at
from railyard.site.test_id import TestId, check_of, plain_check
from railyard.site.topology import hops_of_run

# What judges and records is imported by the hooks that need it: a listing runs none, and would pay 0.1 s for it.
if TYPE_CHECKING:
    from railyard.benchmarks.moved_bytes import Repetitions
    from railyard.job.case import Case, Evidence
    from railyard.provision.replay.form import Played
    from railyard.provision.testbed.starvation import Watch
    from railyard.results.record.form import AttemptRecord
    from railyard.verdict.assess import Assessment

LINKED = "linked.txt"
#: Seconds to wait for a quiet moment before a disturbed measurement is made again.
QUIET_WITHIN_S = 5


class Judged(Scheduled):
    """Judges a run of InterconnectCheck, which declares what is named here and launches it."""

    rails: Any
    policy: Any
    pairs: Any
    window: Any
    passes: Any
    ranks_per_node: Any
    num_nodes: Any

    @property
    def fixed_repetitions(self) -> "Repetitions | None":
        """What a tool that prints no repetitions is told."""
        return None

    @property
    def validates(self) -> bool:
        """Whether the benchmark is told to check the data that it moves."""
        return False

    #: What the check chose and why, behind the verdict's sentence.
    remarks: tuple[str, ...] = ()
    #: Whether the tool prints how many threads it had, which is then held against what it was given.
    prints_threads = False
    #: Whether the tool prints its rows on standard error.
    rows_on_stderr = False
    _launch: Launch
    _tag: str
    _started: float
    _started_at: datetime
    _watch: "Watch | None" = None
    _repeat: Again

    @property
    def case_name(self) -> str:
        """The case as ReFrame's listing has it, without the hash."""
        return f"{self.display_name} @{self.current_partition.fullname}+{self.current_environ.name}"

    @property
    def site(self) -> Site:
        """The site and system that this test runs on."""
        partition = self.current_partition
        return site_at(Path(partition.extras["railyard_home"]), partition.fullname.split(":")[0])

    @property
    def is_replayed(self) -> bool:
        """Whether a recording is played in place of the benchmark."""
        return self.site.system.provider == "replay"

    @property
    def test_id(self) -> TestId:
        """This test, with the rail policy that it has."""
        system, fabric, stack = self.site.system, self.current_partition.name, self.current_environ.name
        return TestId(
            fabric,
            stack,
            self.rails,
            self.key,
            type(self).__name__,
            policy_of(system, fabric, stack, self.rails, self.policy),
            system.system,
            self.display_name,
            self.hashcode,
        )

    @property
    def recorded_test(self) -> TestId:
        """The test whose recording this one is given in a replay."""
        test = self.test_id
        # A policy that is named and is the stack's own anyhow (-P policy=striping) has the recording without the name.
        own = self.policy == policy_of(self.site.system, test.fabric, test.stack, test.rails, DEFAULT)
        return replace(test, check=plain_check(test.name) if own else check_of(test.name))

    @property
    def recordings(self) -> Path:
        """The folder of this system's recordings."""
        return folder_of(self.site.home, self.site.system.system)

    @property
    def key(self) -> str:
        """The benchmark's name in references and records: ``imb/Uniband``."""
        raise NotImplementedError

    def _begin(self) -> None:
        """Keep the job as it is before it runs, and when that begins."""
        self._repeat = Again(self.job, Path(self.stagedir), self.hashcode)
        self._start_watch()

    def _start_watch(self) -> None:
        self._started, self._started_at = time.monotonic(), datetime.now(timezone.utc)
        self._watch = self.watch() if self.is_watched else None

    @property
    def is_watched(self) -> bool:
        """Whether it can be seen what the run's processes wait for: on the virtual cluster, whose host is this one."""
        return self.site.system.provider == "testbed" and not self.is_dry_run()

    def watch(self) -> "Watch":
        """Return what watches the virtual cluster's processes from now on. Raises SetupError where it is not up."""
        from railyard.provision.testbed.cluster import Testbed
        from railyard.provision.testbed.starvation import Watch

        if self.site.system.is_allocated:
            # ReFrame runs on one of its nodes then, where the others cannot be told: the whole host's wait counts.
            return Watch(frozenset()).start()
        return Testbed(self.site.home).watch()

    @run_before("sanity")
    def judge(self) -> None:
        """Reach the verdict and store it; fail here where the run itself is not sound (rules 1 and 2)."""
        if self.is_dry_run():
            return
        from railyard.results import run_folder
        from railyard.verdict.findings import with_attempts, with_remark, with_starvation
        from railyard.verdict.recording import record_of

        with as_reframe_error():
            found, evidence, elapsed, attempts = self._measured()
            # Probes decide: a rail that is slow beside good ones is slow, however busy the host is.
            found = with_starvation(self._with_suspects(found), found.starved)
            found = with_attempts(self._placed(with_remark(found, self.nodes_remark)), attempts)
        self._assessment = found
        output = run_folder.keep_output(
            self.site.home, self.case_name, Path(self.stagedir) / str(self.stdout),
            Path(self.stagedir) / str(self.stderr) if self.rows_on_stderr else None,
        )  # fmt: skip
        command = (*shlex.split(self.job.launcher.run_command(self.job)), self.executable, *self.executable_opts)
        stamp = self._stamp(elapsed)
        stamp["environment"] |= {} if evidence.played is None else evidence.played.provenance
        record = record_of(found, command=command, output=output, **stamp)
        self._write(replace(record, **self._circumstances(evidence)))
        if found.verdict.state == "fail" and found.verdict.rule in (1, 2):
            raise SanityError(found.verdict.line)

    def _measured(self) -> "tuple[Assessment, Evidence, float, tuple[AttemptRecord, ...]]":
        """Return what the run came to, its evidence and its seconds, and the earlier ones that were disturbed.

        What was disturbed is measured again, as often and as long as the system's file says.
        """
        from railyard.verdict.assess import assess
        from railyard.verdict.findings import with_starvation
        from railyard.verdict.recording import attempt_of

        again = self.site.system.measure.again
        last = time.monotonic() + seconds(again.within)
        attempts: list[AttemptRecord] = []
        while True:
            elapsed = time.monotonic() - self._started
            starved = None if self._watch is None else self._watch.stop()
            evidence = self._evidence()
            case = self._meant_case(self._launched())
            found = assess(case, evidence, self.read_rails, datetime.now(timezone.utc).date())
            judged = with_starvation(found, starved)
            is_last = len(attempts) >= again.times or time.monotonic() > last or self.is_replayed
            if judged.verdict.state != "disturbed" or is_last:
                return replace(found, starved=starved), evidence, elapsed, tuple(attempts)
            attempts.append(attempt_of(judged, elapsed, self._started_at))
            self._measure_again()

    def _measure_again(self) -> None:
        from railyard.provision.testbed.starvation import wait_for_quiet

        if self.is_watched:
            wait_for_quiet(QUIET_WITHIN_S)
        self._start_watch()
        self._job, self._tag = self._repeat.run(self._tag)

    @sanity_function
    def is_sound(self) -> bool:
        """Return whether rules 1 and 2 hold; judge() has said so already."""
        return self._assessment.verdict.rule not in (1, 2)

    @run_before("performance")
    def show_figures(self) -> None:
        """Give ReFrame the key figures, with a bound where a reference asserts one."""
        found = getattr(self, "_assessment", None)
        if found is None:
            return
        from railyard.rfm.checks.figures import asserted_bounds, shown_figures

        asserted = {} if found.verdict.fails else asserted_bounds(found)
        self.perf_variables = {
            name: sn.make_performance_function(sn.defer(value), unit) for name, value, unit in shown_figures(found)
        }
        self.reported_figures = tuple(name for name in self.perf_variables if name not in asserted)
        self.reference = {self.current_partition.fullname: asserted}

    @run_after("performance")
    def fail_on_verdict(self) -> None:
        """Fail with the verdict's sentence (rules 3 to 5)."""
        found = getattr(self, "_assessment", None)
        if found is not None and found.verdict.fails:
            raise PerformanceError(found.verdict.line)

    def _launched(self) -> Launch:
        """Return the launch with the nodes that it was given, where the system's file says only how many there are."""
        if self._launch.nodes or self.is_replayed:
            return self._launch
        return replace(self._launch, nodes=tuple(sorted(self.job.nodelist or ())))

    def _meant_case(self, launch: Launch) -> "Case":
        from railyard.job.case import Case

        return Case(
            test=replace(self.test_id, policy=launch.settings.policy_name),
            site=self.site,
            launch=launch,
            ranks_per_node=self.ranks_per_node,
            window=self.window,
            repetitions=self.fixed_repetitions,
            passes=self.passes,
            node_pairs=max(1, self.num_nodes // 2),
            pairs=self.pairs,
            validates=self.validates,
            hops=self._hops(launch),
            time_limit_s=self.limit_s,
            remarks=(*self.remarks, *self.place_remarks(launch)),
            threads=self.threads_a_rank if self.prints_threads else 0,
        )

    def _hops(self, launch: Launch) -> int | None:
        """Return how many switches lie between the two nodes of a real run, where that was kept."""
        if self.is_replayed:
            return None
        fabric = self.current_partition.name
        return hops_of_run(self.site.home, self.site.system, fabric, launch.nodes, self.rails)

    def _evidence(self) -> "Evidence":
        from railyard.job.case import Evidence

        stage = Path(self.stagedir)
        files = sorted((stage / COUNTERS).glob("*.counters"))
        stdout, stderr = _read(stage / str(self.stdout)), _read(stage / str(self.stderr))
        ended = self.how_it_ended(stderr)
        return Evidence(
            stdout=f"{stdout}\n{stderr}" if self.rows_on_stderr else stdout,
            stderr=stderr,
            exit_code=self.job.exitcode,
            timed_out=self.job.exitcode == TIMEOUT_EXIT or (ended is not None and ended.kind == "time"),
            ended=ended,
            counters=tuple(_read(file) for file in files),
            tag=self._tag,
            linked=None if self.is_replayed else _read(stage / LINKED),
            unplaced=None if self.is_replayed else self.unplaced(self._launched()),
            played=self._played(stage / str(self.stdout)) if self.is_replayed else None,
        )

    def _played(self, stdout: Path) -> "Played":
        from railyard.provision.replay.index import played

        return played(self.recordings, self.recorded_test, stdout.read_bytes() if stdout.is_file() else b"")

    def _stamp(self, elapsed_s: float | None) -> dict[str, Any]:
        from railyard.job.provenance import provenance
        from railyard.results import run_folder

        now = datetime.now(timezone.utc)
        return {
            "run": run_folder.run_id(),
            "time": f"{now:%Y-%m-%dT%H:%M:%SZ}",
            "elapsed_s": None if elapsed_s is None else round(elapsed_s, 2),
            "environment": provenance(self.site, self.current_environ.name),
        }

    def _circumstances(self, evidence: "Evidence") -> dict[str, Any]:
        """Return the fields of the record that are about the job and its nodes; a replay had neither."""
        from railyard.job.provenance import circumstances

        played = evidence.played is not None
        return circumstances(
            Path(self.stagedir) / COUNTERS,
            self._tag,
            said=evidence.linked,
            variables={} if played else {**os.environ, **self._launch.env},
            scheduler=None if played else self.current_partition.scheduler.registered_name,
            job_id=None if played else self.job.jobid,
            started=self._started_at,
        )

    def _write(self, record: Any) -> None:
        from railyard.results import run_folder
        from railyard.results.record.file import FILE_NAME, append_record

        with as_reframe_error():
            append_record(run_folder.run_folder(self.site.home) / FILE_NAME, record)


def _read(path: Path) -> str:
    """Return a file's text, empty where there is none: what is missing fails a rule, it is no error of ours."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
