"""The streams that a run's own job makes the other way, over each rail alone, once its benchmark has ended.

Under a scheduler no step can be started from here, and an extra job would queue after each run that passed. But the
run's own job still has the nodes. Its script runs the steps as a job of probes does (``job.probe_job``), with the other
node first. Only what is low, or gave nothing, is measured again elsewhere (``other_way``). The counters of both nodes
prove which way a stream went: a launcher with its own order of nodes proves nothing.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from railyard.base.errors import RailyardError
from railyard.base.hostlist import label
from railyard.job import probe_job
from railyard.job.launch import Launch, counter_drivers, counters_can_prove
from railyard.rfm.checks.plan import Plan
from railyard.rfm.checks.probe_places import PROBE_LIMIT_S, InJob, LocalPlace, NodesJob, Series, name_of
from railyard.rfm.checks.prober import RailProber, sent_by
from railyard.site.systems.jobs import FAMILIES
from railyard.verdict.blame.suspects import Probe

#: Two streams over each rail: if a disturbance hit one, the other counts.
BACK = Series("back", 2)
_JOB = f"{BACK.name}s"
#: Seconds that all streams may take together, and what must be left of the job's limit when the last one begins.
_WITHIN_S, _LEFT_S = 60, PROBE_LIMIT_S + 20
#: Instead of the pair's names, which nobody knows before the job runs. No node has such a name, so both nodes count as
#: "chosen by the scheduler".
_NOBODY = ("-", "-")


@dataclass(frozen=True, slots=True)
class WayBack:
    """What is added to the job of a run over two nodes. ``rails`` makes the steps, ``launch`` is the run's own."""

    rails: RailProber
    launch: Launch
    limit_s: int

    def in_job(self, scheduler: str) -> tuple[Mapping[str, str], Sequence[str]]:
        """Return the files to write beside the job's script (name and text), and the lines after the benchmark.

        A failure in those lines does not fail the job. There are no files and no lines if no step can be built.
        """
        try:
            steps = self._steps()
        except RailyardError:  # a launcher that cannot choose which of a job's nodes to use, or in which order
            return {}, ()
        way = self.rails.one_way
        assert way is not None
        files = {
            probe_job.SCRIPT: probe_job.probes_script(),
            f"{_JOB}.list": "".join(f"{name}\n" for name in steps),
            **way.files(way.size_bytes),
            **{f"{name}.sh": script for name, script in steps.items()},
        }
        return files, self._lines(scheduler)

    def _lines(self, scheduler: str) -> tuple[str, ...]:
        unset = "".join(
            f" -u {name}" for name in self.launch.env if name not in self._single_rail_launch(self.launch.meant[0]).env
        )
        left = f"{self.limit_s - _LEFT_S} - SECONDS"  # bash's own clock of the job's script
        within = f"$(({left} < {_WITHIN_S} ? {left} : {_WITHIN_S}))"
        words = f'sh {probe_job.SCRIPT} {_JOB} "{within}" 0 {shlex.join(_NOBODY)}'
        return (
            # Remove what an earlier measurement of the test left.
            f"rm -f {BACK.name}-*.out; : > {probe_job.no_more(_JOB)}",
            f"{probe_job.lists_nodes(scheduler)} | env{unset} {words} || :",
        )

    def value_mb_s(self, rail: str, sender: str) -> float | None:
        """Return the best of the streams that a node provably sent over a rail; None if there is no such stream."""
        way, stage = self.rails.one_way, self.rails.stage
        assert way is not None
        values = []
        for turn in range(1, BACK.rounds + 1):
            begin = name_of(BACK, Probe("", "", rail), turn).rstrip("-")
            for output in sorted(stage.iterdir()):
                if output.suffix == ".out" and output.name.startswith(f"{begin}-"):
                    if sent_by(stage / output.stem, rail, self._drivers) == label(sender):
                        values.append(way.value(output.read_text(encoding="utf-8", errors="replace")))
        return max((value for value in values if value is not None), default=None)

    def _steps(self) -> dict[str, str]:
        first, second = probe_job.PARTNERS
        assert self.rails.one_way is not None
        steps = {}
        for turn in range(1, BACK.rounds + 1):
            for rail in self.launch.meant:
                probe = Probe(second, first, rail)
                name = name_of(BACK, probe, turn)
                steps[name] = self.rails.counted_step(self.rails.one_way, probe, name).script
        return steps

    @property
    def _drivers(self) -> Mapping[str, str]:
        return counter_drivers(self.rails.site)

    def _single_rail_launch(self, rail: str) -> Launch:
        assert self.rails.one_way is not None
        return self.rails.one_way.launch(rail, probe_job.PARTNERS)


def of_plan(plan: Plan, rails: RailProber) -> WayBack | None:
    """Return what is added to the job of a test; None for a job that makes no streams.

    There are no streams if steps are started from here, for a recording, and for a run on one node or on more than two.
    How many ranks the run had on a node does not matter: a stream has one. If no counter proves which way a stream
    went, it would prove nothing. ``rails`` measures the test's rails.
    """
    system = plan.site.system
    is_asked = system.scheduler in FAMILIES and system.provider != "replay" and not isinstance(rails.place, LocalPlace)
    if not is_asked or plan.ranks.total != 2 * plan.ranks.per_node:
        return None
    if not plan.launch.meant or not counters_can_prove(plan.site, plan.test.fabric):
        return None
    # Also if a site wants no jobs of probes: these steps belong to the run's own job.
    place = InJob(plan.site, rails.stage, plan.scheduling.launcher, plan.test.stack, _no_job)
    return WayBack(replace(rails, place=place), plan.launch, plan.scheduling.limit_s)


def _no_job() -> NodesJob:
    raise AssertionError("the steps of the way back are the run's own job's")
