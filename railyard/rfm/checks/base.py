"""The ReFrame base class of every check: hooks, in the order of a run. A check says only what is measured.

What the hooks need is decided by plain objects: who makes the output (`runner`), when and on how many nodes
(`job/scheduling`), on which processors (`job/placement`), as what (`job/command`), whom to ask after a failure
(`prober`), and which measurement counts (`measure_again`).
"""

import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, run_after, run_before, sanity_function
from reframe.core.exceptions import PerformanceError, SanityError

from railyard.rfm.checks.declaration import Declaration
from railyard.rfm.checks.sizes import PROBE_SIZE_BYTES, largest_allowed
from railyard.rfm.checks.variants import builds_with_spack
from railyard.rfm.guards import CarriedInit, GuardedFigures, as_reframe_error
from railyard.rfm.launchers import hold_measurement_lock
from railyard.rfm.run.breadth import EXTENDED
from railyard.site.matrix import disabled_reason
from railyard.site.policies import DEFAULT, environment_terms, is_extended, policy_of
from railyard.site.test_id import TestId
from railyard.stacks.policy import NIC_PER_RANK
from railyard.stacks.programs import own_feature, pair_feature

# What runs, judges and records is imported by the hooks that need it: a listing runs none, and would pay 0.1 s for it.
if TYPE_CHECKING:
    from railyard.job.case import Case, Evidence
    from railyard.job.launch import Launch, Ranks
    from railyard.job.placement import Placing
    from railyard.job.scheduling import Scheduling
    from railyard.parsers.parsed import Parsed
    from railyard.rfm.checks.measure_again import Again, Clock
    from railyard.rfm.checks.prober import RailProber
    from railyard.rfm.checks.runner import PlannedJob, Runner
    from railyard.verdict.assess import Assessment

#: What every check has a variant for; a parameter besides these chooses its benchmark.
COMMON_PARAMETERS = ("rails", "policy")


class InterconnectCheck(Declaration, CarriedInit, GuardedFigures, rfm.RunOnlyRegressionTest):
    """One benchmark over one fabric, stack and number of rails.

    A check names ``tool`` (what a stack must have), ``benchmark``, ``parse`` and ``arguments``, and what else it
    declares otherwise than ``Declaration`` does.
    """

    if builds_with_spack():
        from railyard.rfm.spack_build import SpackEnvironment

        spack_environment = fixture(SpackEnvironment, scope="environment")

    postrun_cmds: Any
    _runner: "Runner"
    _scheduling: "Scheduling"
    _placing: "Placing"
    _ranks: "Ranks"
    _launch: "Launch"
    _tag: str
    _clock: "Clock"
    _again: "Again"
    _assessment: "Assessment | None" = None
    #: What is said beside the verdict: how many of the system's nodes were not tested, and which.
    _nodes_remark: str | None = None

    @run_after("init")
    def select_cells(self) -> None:
        """Load only where the system's own file gives enough rails and nodes, and a stack that can drive them."""
        own = {name: str(getattr(self, name)) for name in type(self).raw_params if name not in COMMON_PARAMETERS}
        if own:
            self.tool, self.benchmark, self.num_nodes = self.tool_of(own), self.benchmark_of(own), self.nodes_of(own)
        self.within_node = self.is_within_node(own)
        self.tags = {*self.tags, type(self).tool}
        if self.extended or is_extended(self.policy):
            self.tags = {*self.tags, EXTENDED}
        self.valid_systems = [f"+rails{self.rails} +nodes{self.num_nodes}"]
        if self.within_node:  # no network carries it: once, on the first fabric
            once = self.rails == 1 and self.policy == DEFAULT
            self.valid_systems = [f"{term} +first" for term in self.valid_systems] if once else []
        # With `-P policy=…` the class has the asked values alone: then the stacks count that do it anyhow.
        made = DEFAULT in type(self).raw_params["policy"].values
        self.valid_prog_environs = environment_terms(
            pair_feature(self.tool) if self.pair else self.tool,
            *(self.rails, self.policy, max(self.pairs, self.rails) if self.pair_a_rail else self.pairs),
            beside_default=made,
        )
        if self.starts_itself and self.rails == 1:
            own_terms = environment_terms(own_feature(self.tool), 1, self.policy, self.pairs, beside_default=made)
            self.valid_prog_environs += own_terms
        feature = self.feature_of(own)
        if feature:
            self.valid_prog_environs = [f"{term} +{feature}" for term in self.valid_prog_environs]

    @run_after("setup")
    def plan(self) -> None:
        """Work out nodes, ranks, devices, variables and launcher words; skip what is not tested, with its reason."""
        from railyard.job.launch import Ranks, device_name
        from railyard.job.placement import Placing, side_of
        from railyard.job.scheduling import Scheduling, span
        from railyard.rfm.checks.runner import runner_of

        site, fabric, stack = self.site, self.current_partition.name, self.current_environ.name
        system = site.system
        self._runner = runner_of(site, self.test_id, self.is_dry_run())
        self._scheduling = Scheduling(system, stack, self.check_class, self.use_launcher)
        reason = disabled_reason(system, self.test_id, site.references.has_number)
        if reason is not None:
            self._skip_untested(reason, f"disabled by the site: {reason}")
        self.largest = largest_allowed(self.largest, system.measure, self.num_nodes, self.rails)
        self.passes = min(self.passes, system.measure.passes or self.passes)
        with as_reframe_error():
            least = self.num_nodes if self.all_nodes else None
            asked = max(self.num_nodes, system.nodes.number) if self.all_nodes else self.num_nodes
            there = span(asked, self._runner.node_states(), least=least)
            if there.untested is not None:
                self._skip_untested(there.untested, f"not tested: {there.untested}")
            self.num_nodes, self._nodes_remark = there.nodes, there.remark
            self._runner.choose_ranks(self.shape)
        if self.pair_a_rail and self.test_id.policy == NIC_PER_RANK:
            self.ranks_per_node = max(self.ranks_per_node, self.rails)
        self.num_tasks = self.num_nodes * self.ranks_per_node
        self.num_tasks_per_node = self.num_tasks if system.provider == "host" else self.ranks_per_node
        threads = self.threads_a_rank
        if threads > 1:
            # Without a hint Slurm counts both threads of a core as processors, and gives half of the cores.
            self.num_cpus_per_task, self.use_multithreading = threads, False
        with as_reframe_error():
            side = side_of(self.placement, system.fabrics[fabric].placement)
            # Our testbeds' nodes, and a single host's, share processors.
            shared = system.provider != "nodes"
            self._placing = Placing(None if self.within_node else side, self.placement, 1 if shared else threads)
            self._ranks = Ranks(
                self.num_tasks, self.num_tasks_per_node, threads, None if self.policy == DEFAULT else self.policy,
                bool(self.within_node), self._scheduling.launcher, self.told_ranks,
            )  # fmt: skip
            devices = tuple(device_name(rail) for rail in system.fabrics[fabric].rails[: self.rails])
            nodes = self._runner.node_names(self.num_nodes)
            self._launch, self._tag = self._planned(devices, nodes, self._ranks), self.new_tag()
            self._give(self._runner.job(self, self._launch, self._scheduling, self._placing, self._tag))

    @run_before("run")
    def stage(self) -> None:
        """Put what the run reads beside the job's script, on the file system that the nodes share, and note the time."""
        from railyard.rfm.checks.measure_again import Again, Clock

        with as_reframe_error():
            self._runner.start(hold_measurement_lock)
            for name, text in self._runner.files(self, self._placing).items():
                Path(self.stagedir, name).write_text(text, encoding="utf-8")
            self.postrun_cmds = [*self._runner.after(self), *self.postrun_cmds]
            self._again = Again(self.job, Path(self.stagedir), self.hashcode)
            self._clock = Clock(self._runner)

    @run_before("sanity")
    def judge(self) -> None:
        """Reach the verdict and store it; fail here where the run itself is not sound (rules 1 and 2)."""
        if self.is_dry_run():
            return
        from railyard.job import placement
        from railyard.rfm.checks.measure_again import measured
        from railyard.rfm.checks.record import store_run
        from railyard.verdict.findings import explained

        with as_reframe_error():
            made = measured(self._runner, self._clock, self._judged, self._run_again)
            facts, path = made.evidence.facts, made.found.path
            found = explained(
                self.prober.explain(made.found), made.attempts, self._nodes_remark,
                placement.remarks(facts, path.clocks_khz, made.found.case.launch.meant),
            )  # fmt: skip
            self._assessment = found
            errors = Path(self.stagedir) / str(self.stderr) if self.rows_on_stderr else None
            launched = (*shlex.split(self.job.launcher.run_command(self.job)), self.executable, *self.executable_opts)
            store_run(self._runner, made, found, launched, Path(self.stagedir) / str(self.stdout), errors)
        if found.verdict.state == "fail" and found.verdict.rule in (1, 2):
            raise SanityError(found.verdict.line)

    @sanity_function
    def is_sound(self) -> bool:
        """Return whether rules 1 and 2 hold; judge() has said so already."""
        return self._assessment is not None and self._assessment.verdict.rule not in (1, 2)

    @run_before("performance")
    def show_figures(self) -> None:
        """Give ReFrame the key figures, with a bound where a reference asserts one."""
        found = self._assessment
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
        if self._assessment is not None and self._assessment.verdict.fails:
            raise PerformanceError(self._assessment.verdict.line)

    # --- what the hooks are made of

    @property
    def test_id(self) -> TestId:
        """This test, with the rail policy that it has."""
        system, fabric, stack = self.site.system, self.current_partition.name, self.current_environ.name
        return TestId(
            fabric, stack, self.rails, self.key, type(self).__name__,
            policy_of(system, fabric, stack, self.rails, self.policy), system.system, self.display_name, self.hashcode,
        )  # fmt: skip

    @property
    def rail_prober(self) -> "RailProber":
        """What measures each rail of the run alone, by the tool's own ping-pong, with one rank a node."""
        from railyard.rfm.checks.prober import PingPong, RailProber

        def words(launch: "Launch") -> list[str]:
            program = self._runner.program(self.tool, (self.probe_program,) if self.probe_program else self.programs)
            return self.command.words(program, self.probe_arguments(PROBE_SIZE_BYTES), launch.meant, self.new_tag())

        alone = PingPong(self.probe_key, self.read_rails, lambda rail, nodes: self.launch_alone(rail, nodes, 1), words)
        fabric, stage = self.current_partition.name, Path(self.stagedir)
        return RailProber(self.site, fabric, stage, alone, self._runner.watch)

    def read_rails(self, text: str) -> "Parsed":
        """Return what the tool's parser finds, where a client a rail printed, in all of them together."""
        from railyard.parsers import rail_parts

        return rail_parts.parse(text, self.parse, worst=self.in_turn)

    def new_tag(self) -> str:
        """Return a word that stands for one run of this test alone."""
        return f"{self.hashcode}-{time.time_ns():x}"

    def launch_alone(self, rail: str, nodes: tuple[str, ...], per_node: int) -> "Launch":
        """Return how a run over one rail alone is launched, by the stack's own policy, with so many ranks a node."""
        ranks = replace(self._ranks, total=len(nodes) * per_node, per_node=per_node, policy=None)
        return self._planned((rail,), nodes, ranks)

    def _planned(self, devices: tuple[str, ...], nodes: tuple[str, ...], ranks: "Ranks") -> "Launch":
        from railyard.job.launch import plan_launch, runs_as_root

        fabric, stack = self.current_partition.name, self.current_environ.name
        return plan_launch(self.site, fabric, stack, devices, nodes, ranks, runs_as_root(self.site.system))

    def _skip_untested(self, reason: str, said: str) -> None:
        """Store that this case was not tested, with the reason, and end it there as ReFrame's own skip."""
        from railyard.rfm.checks.record import store_untested

        with as_reframe_error():
            store_untested(self.site, self.test_id, self._runner, reason)
        self.skip(said)

    def _give(self, job: "PlannedJob") -> None:
        """Give ReFrame the job."""
        self.env_vars, self.executable, self.executable_opts = job.env, job.executable, list(job.words)
        self.prerun_cmds = list(job.before)
        self.time_limit = None if job.limit_s is None else f"{job.limit_s}s"
        if job.longest_wait_s is not None:
            self.max_pending_time = f"{job.longest_wait_s}s"
        if job.launcher is not None:
            self.job.launcher = getlauncher(job.launcher)()
        launcher = self.job.launcher
        launcher.options = list(job.launcher_options)
        launcher.railyard, launcher.recording = job.launcher_words, job.recording
        if job.modifier:
            launcher.modifier, launcher.modifier_options = job.modifier[0], list(job.modifier[1:])
        self.job.options = [*self.job.options, *job.options]

    def _judged(self) -> "tuple[Assessment, Evidence]":
        """Return the assessment of the run that was made, and what it left."""
        from datetime import date

        from railyard.rfm.checks.runner import Left
        from railyard.verdict.assess import assess

        left = Left(self.job, Path(self.stagedir), str(self.stdout), str(self.stderr), self._tag)
        launch = self._runner.launched(self._launch, self.job)
        evidence = self._runner.evidence(self, left, launch, self._placing)
        return assess(self._case(launch), evidence, self.read_rails, date.today()), evidence

    def _case(self, launch: "Launch") -> "Case":
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
            hops=self._runner.hops(launch, self.rails),
            time_limit_s=self._scheduling.limit_s,
            remarks=(*self.remarks, *self._placing.remarks(launch)),
            threads=self.threads_a_rank if self.prints_threads else 0,
        )

    def _run_again(self) -> None:
        self._job, self._tag = self._again.run(self._tag)
