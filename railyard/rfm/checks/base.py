"""The ReFrame base class of every check: hooks, in the order of a run. A check says only what is measured.

Plain objects decide what the hooks need: how the test runs (`plan`), what makes the output (`runner`), what to measure
after a failure (`prober`), which measurement counts, and what is kept (`record`).

ReFrame gets an assessment's key figures as performance variables, with what references assert about them.
"""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import reframe as rfm
import reframe.utility.sanity as sn
from reframe.core.backends import getlauncher
from reframe.core.builtins import fixture, run_after, run_before, sanity_function
from reframe.core.exceptions import PerformanceError, ReframeError, SanityError

from railyard.base.errors import RailyardError
from railyard.parsers.rail_parts import NEXT_LAUNCH
from railyard.rfm.backends import hold_measurement_lock
from railyard.rfm.checks.declaration import Declaration, builds_with_spack
from railyard.rfm.checks.groups import find_override, take_numbers, why_refused
from railyard.rfm.guards import GuardedFigures, InitErrorCarrier, as_reframe_error, told_only_when_set
from railyard.rfm.system_choice import end_at_errors, places, stated_amounts
from railyard.site.matrix import (
    DEFAULT,
    EXTENDED,
    HAS_GPUS,
    OWN_CORES,
    alone_reason,
    environment_terms,
    is_extended,
    policy_of,
)
from railyard.site.test_id import TestId
from railyard.stacks.libraries import own_feature, pair_feature

if TYPE_CHECKING:
    from collections.abc import Callable

    from railyard.benchmarks.model import Figure
    from railyard.job.launch import Launch
    from railyard.rfm.checks.other_way import WayBack
    from railyard.rfm.checks.plan import Plan
    from railyard.rfm.checks.prober import RailProber
    from railyard.rfm.checks.record import Clock, SecondRun
    from railyard.rfm.checks.runner import PlannedJob, RunOutputs
    from railyard.site.topology import Places
    from railyard.verdict.assess import Assessment


#: What older checks could override, and what they declare instead now.
GONE = {
    "_install_launch": "before(), after() or output_file",
    "_program": "programs",
    "_benchmark_words": "command",
    "_plan_for": "told_ranks",
    "_evidence": "outputs.more",
    "_with_suspects": "prober",
}
#: Every check has variants for these; any other parameter chooses its benchmark.
COMMON_PARAMETERS = ("rails", "policy")


@told_only_when_set
class InterconnectCheck(Declaration, InitErrorCarrier, GuardedFigures, rfm.RunOnlyRegressionTest):
    """One benchmark over one fabric, stack and number of rails.

    A check names ``tool`` (what a stack must have), ``benchmark``, ``parse`` and ``arguments``, and whatever differs
    from ``Declaration``.
    """

    if builds_with_spack():
        from railyard.rfm.spack_build import SpackEnvironment

        spack_environment = fixture(SpackEnvironment, scope="environment")

    prerun_cmds: Any
    postrun_cmds: Any
    time_limit: Any
    max_pending_time: Any
    _plan: "Plan"
    _tag: str
    _clock: "Clock"
    _again: "SecondRun"
    _assessment: "Assessment | None" = None
    #: The words of earlier launches of the same executable.
    _earlier: tuple[tuple[str, ...], ...] = ()

    @run_after("init")
    def select_cells(self) -> None:
        """Load only if the system's file has enough rails and nodes, and a stack that can use them."""
        for name in {name for each in type(self).__mro__ for name in GONE.keys() & vars(each).keys()}:
            raise ReframeError(f"it overrides {name}, which nothing calls any more: declare {GONE[name]} instead")
        check: type = type(self)
        override = find_override(check)
        if override is not None:
            raise ReframeError(override)
        own = {name: str(getattr(self, name)) for name in type(self).raw_params if name not in COMMON_PARAMETERS}
        if own:
            self.tool, self.num_nodes = self.tool_of(own), self.nodes_of(own)
        self.benchmark = self.benchmark_of(own)
        take_numbers(self, self.takes_of(own), self.request.variables, stated_amounts(self.key))
        self.layout = layout = replace(self.layout, within_node=self.is_within_node(own))
        start, self.tags = self.start, {*self.tags, str(type(self).tool)}
        if self.extended or is_extended(self.policy):
            self.tags = {*self.tags, EXTENDED}
        also = f"{f' +{OWN_CORES}' if layout.every_core else ''}{f' +{HAS_GPUS}' if layout.gpus else ''}"
        there = [f"{term}{also}" for term in places(self.rails, self.num_nodes)]
        self.valid_systems = [f"{term} +{kind}" for term in there for kind in self.accepts.fabrics] or there
        if layout.within_node:  # no network carries it: once, on the first fabric
            once = self.rails == 1 and self.policy == DEFAULT
            self.valid_systems = [f"{term} +first" for term in self.valid_systems] if once else []
        # With `-P policy=…` the class has only those values: then stacks that do so by default count too.
        made = DEFAULT in type(self).raw_params["policy"].values
        tool = pair_feature(self.tool) if start.client_and_server else self.tool
        pairs = max(self.pairs, self.rails) if layout.pair_per_rail else self.pairs
        terms = environment_terms(tool, self.rails, self.policy, pairs, beside_default=made)
        if alone_reason(self.policy, start.time_limit) is not None:
            terms = []
        if start.by_itself and self.rails == 1:
            terms += environment_terms(own_feature(self.tool), 1, self.policy, self.pairs, beside_default=made)
        feature = self.feature_of(own)
        self.valid_prog_environs = [f"{term} +{feature}" if feature else term for term in terms]

    @run_after("setup")
    def plan(self) -> None:
        """Choose nodes, ranks, devices, variables and launcher options. Skip what is not tested, with the reason."""
        from railyard.benchmarks.table.micro import refuse_unknown
        from railyard.rfm.checks.plan import UntestedCase, plan_check
        from railyard.rfm.checks.record import store_untested

        with as_reframe_error():
            refuse_unknown(self.tool, self.key)
            refused = why_refused(self, self.site.system.provider == "replay")
            if refused is not None:
                raise RailyardError(f"{self.display_name}: {refused}")
            try:
                self._plan = plan_check(self, self.site, self.test_id, self.is_dry_run())
            except UntestedCase as untested:
                store_untested(self.site, self.test_id, self.runner, untested.reason)
                self.skip(str(untested))
            ranks = self._plan.ranks
            self.num_tasks, self.num_tasks_per_node = ranks.total, ranks.per_node
            if ranks.threads > 1:
                self.num_cpus_per_task = ranks.threads
            if self._plan.scheduling.one_thread_a_core(ranks.per_node, ranks.threads):
                self.use_multithreading = False
            self._tag = self._plan.tag()
            self._give(self._plan.job(self._tag))

    @run_before("run")
    def stage(self) -> None:
        """Write the files that the run reads beside the job's script, where all nodes see them; note the time."""
        from railyard.rfm.checks.record import Clock, SecondRun
        from railyard.rfm.wait_notes import note_wait

        with as_reframe_error():
            self.runner.start(hold_measurement_lock)
            back = self.way_back
            files, lines = ({}, ()) if back is None else back.in_job(self.site.system.scheduler)
            for name, text in {**self.runner.files(self, self._plan.placing), **files}.items():
                Path(self.stagedir, name).write_text(text, encoding="utf-8")
            # Lines before and after the launch start it again. ReFrame gives the job these numbers only later, and
            # launchers other than srun name them.
            self.job.num_tasks, self.job.num_tasks_per_node = self.num_tasks, self.num_tasks_per_node
            self.job.num_cpus_per_task = self.num_cpus_per_task
            self.prerun_cmds = [*self.prerun_cmds, *self._earlier_launches()]
            self.postrun_cmds = [*self.runner.after(self), *lines, *self.postrun_cmds]
            self._again, self._clock = SecondRun(self.job, Path(self.stagedir), self.hashcode), Clock(self.runner)
            note_wait(*self._plan.wait)

    @run_before("sanity")
    def judge(self) -> None:
        """Reach the verdict and store it. Fail here if the run itself is not sound (rules 1 and 2)."""
        if self.is_dry_run():
            return
        from railyard.rfm.checks.record import measure_undisturbed, store_run

        with as_reframe_error():
            made = measure_undisturbed(
                self.runner, self._clock, lambda: self._plan.judge_run(self.run_outputs), self._run_again
            )
            found = self._assessment = made.explain(self.prober, self._plan.nodes_remark)
            words = (*shlex.split(self.job.launcher.run_command(self.job)), self.executable, *self.executable_opts)
            store_run(self.runner, self, made, found, words, self.run_outputs)
        if self.job.exitcode is None:  # ReFrame needs it too, and its scheduler may have none
            self.job._exitcode = self.run_outputs.exit_code
        if found.verdict.state == "fail" and found.verdict.rule in (1, 2):
            raise SanityError(found.verdict.line)

    @sanity_function
    def is_sound(self) -> bool:
        """Return whether rules 1 and 2 hold; judge() has said so already."""
        return self._assessment is not None and self._assessment.verdict.rule not in (1, 2)

    @run_before("performance")
    def show_figures(self) -> None:
        """Give ReFrame the key figures, with a bound if a reference asserts one."""
        found = self._assessment
        if found is None:
            return

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
    def run_outputs(self) -> "RunOutputs":
        """What the job left, in the stage directory."""
        from railyard.rfm.checks.runner import RunOutputs

        return RunOutputs(self.job, Path(self.stagedir), str(self.stdout), str(self.stderr), self._tag)

    @property
    def rail_prober(self) -> "RailProber":
        """What measures each rail of the run alone, by the tool's own ping-pong, with one rank per node."""
        from railyard.rfm.backends import ReframeJob
        from railyard.rfm.checks.node_questions import PingPong
        from railyard.rfm.checks.probe_places import place_of
        from railyard.rfm.checks.prober import RailProber

        plan, stage = self._plan, Path(self.stagedir)

        def words(program: str, launch: "Launch", arguments: list[str]) -> list[str]:
            path = self.runner.program(self.tool, (program,) if program else self.programs)
            own = [*arguments, *launch.settings.words]
            return self.command.words(path, own, launch.meant, plan.tag(), launch.inside)

        def over_one(key: str, program: str, arguments: "Callable[[int], list[str]]") -> PingPong:
            return PingPong(
                key, plan.read_rails, lambda rail, nodes: plan.launch_alone(rail, nodes, 1),
                lambda launch, size: words(program, launch, arguments(size)), self.probe_files,
            )  # fmt: skip

        together = PingPong(
            self.key, plan.read_rails, lambda rails, nodes: plan.launch_again(nodes),
            lambda launch, size: words("", launch, self.again_arguments(size)), self.probe_files,
            self.message_sizes[-1],
        )  # fmt: skip
        place = place_of(self.site, plan.test.stack, plan.scheduling, stage, lambda: ReframeJob(self))
        probes = self.probes
        one_way = over_one(probes.one_way, probes.one_way_program, self.one_way_arguments) if probes.one_way else None
        alone = over_one(probes.ping_pong, probes.program, self.probe_arguments)
        return RailProber(self.site, plan.test.fabric, stage, alone, self.runner.watch, place, together, one_way)

    def places(self) -> "Places":
        """Return where each node is: its leaf switch, if the file or the kept distances say it, and its group."""
        from railyard.site.topology import places_of

        system, fabric = self.site.system, self.current_partition.name
        return places_of(self.site.home, system, fabric, system.fabrics[fabric].used_rails(self.rails, self.policy))

    @property
    def way_back(self) -> "WayBack | None":
        """The streams of the run's own job in the other direction, if no step can be started from here."""
        from railyard.rfm.checks.other_way import of_plan

        return of_plan(self._plan, self.rail_prober) if self.measures_other_way else None

    def _earlier_launches(self) -> list[str]:
        """Return the lines of the job that launch the benchmark before its own launch, for other message sizes."""
        lines = []
        for words in self._earlier:
            lines += [f"{self.job.launcher.run_command(self.job)} {self.executable} {' '.join(words)}"]
            lines += [f"echo {shlex.quote(NEXT_LAUNCH)}"]
        return lines

    def _run_again(self, never_began: bool) -> None:
        self._job, self._tag = self._again.run(self._tag, never_began)

    def _give(self, job: "PlannedJob") -> None:
        """Give ReFrame the job."""
        self.env_vars, self.executable, self.executable_opts = job.env, job.executable, list(job.words)
        self.prerun_cmds, self._earlier = [*end_at_errors(), *job.before], job.earlier
        self.postrun_cmds = [*self.postrun_cmds, *job.after]
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


def shown_figures(found: "Assessment") -> list[tuple[str, float, str]]:
    """Return name, value and unit of each key figure, and of each curve's worst ratio and the size that has it."""
    figures = [(_name(figure), figure.value, figure.unit) for figure in found.figures]
    for curve in found.verdict.curves:
        if curve.percent_of_reference is not None and curve.percent_of_reference_size is not None:
            figures.append((f"{curve.metric}_percent_of_reference", round(curve.percent_of_reference, 2), "%"))
            figures.append((f"{curve.metric}_worst_at", curve.percent_of_reference_size, "B"))
    return figures


def asserted_bounds(found: "Assessment") -> dict[str, tuple[float, float | None, float | None, str]]:
    """Return what the references assert about a figure at its own size, in ReFrame's form: the value is the bound."""
    asserted: dict[str, tuple[float, float | None, float | None, str]] = {}
    for figure in found.figures:
        metric = next(
            (m for m in found.inputs.metrics if figure.name == "peak" and m.declared.unit == figure.unit), None
        )
        if metric is None or figure.size is None:
            continue
        # Another size may hold a floor for the best of several sizes: ReFrame compares this one figure alone.
        bounds = [band.bound_at(figure.size) for band in metric.bands if band.covers(figure.size)]
        lows = [bound.low for bound in bounds if bound is not None and bound.low is not None]
        if lows:
            asserted[_name(figure)] = (max(lows), 0, None, figure.unit)
    return asserted


def _name(figure: "Figure") -> str:
    """Return ReFrame's name of a key figure. ReFrame has no place for a mark, so the name says what was computed."""
    return f"{figure.name}_computed" if figure.computed else figure.name
