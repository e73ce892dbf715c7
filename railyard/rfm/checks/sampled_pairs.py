"""The ReFrame base of the check that measures a sample of all pairs of nodes within a budget, in one allocation."""

import math
import shlex
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from reframe.core.builtins import variable

from railyard.base.errors import RailyardError
from railyard.job import node_pair_steps
from railyard.parsers import pairs as parser
from railyard.rfm.checks.pairs import PairsCheck
from railyard.site import topology
from railyard.site.systems.jobs import FAMILIES, seconds

if TYPE_CHECKING:
    from railyard.rfm.checks.prober import Prober

#: At most so many seconds more than its budget a run may take: its last step, and the end of its job.
_AROUND_S = 180
#: Launches that a budget must cover besides its rounds: of the sample, and of the usual steps after it.
_LAUNCHES = 4
#: How many days back the partners of a night are looked up.
DAYS = 7


class SampledPairsCheck(PairsCheck):
    """Some of all pairs of nodes, within ``budget``: the screening in the job chooses them."""

    #: How long it may measure: 15m, 1h30m.
    budget = variable(str, value="15m")
    #: How many partners of other leaf switches each node has, least met lately first; 0: the usual sample.
    nightly = variable(int, value=0)

    @property
    def budget_s(self) -> int:
        """The budget in seconds. Raises RailyardError if it is not a time."""
        try:
            return seconds(str(self.budget)) or _refuse(self.budget)
        except ValueError:
            return _refuse(self.budget)

    @property
    def lasting_s(self) -> int:
        return self.budget_s + _AROUND_S

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return [parser.SAMPLE, node_pair_steps.ROUNDS, *self.words(sizes[-1], self.window, self.exchanges)]

    def input_files(self) -> Mapping[str, str]:
        files = {node_pair_steps.ROUNDS_OF_TWO: "0-1\n", node_pair_steps.SWITCHES: topology.text(self.leaves())}
        if not self._is_scheduled:
            files[node_pair_steps.NODES] = "".join(f"{node}\n" for node in self._plan.launch.nodes)
        if self.nightly:
            files[node_pair_steps.USED] = self._past_pairs()
        return files

    def before(self, program: str) -> list[str]:
        """Return the lines that plan the sample from the nodes that the job was given."""
        from railyard.job.probe_job import lists_nodes

        listed = lists_nodes(self.site.system.scheduler) if self._is_scheduled else None
        return node_pair_steps.plan_sample(self._sample_options(), listed)

    def after(self) -> list[str]:
        """Return the lines that measure what the screening asks for after the sample."""
        meant, size = self._plan.launch.meant, self.message_sizes[-1]
        rails = {rail: self.launch_line(rail) for rail in meant} if len(meant) > 1 else {}
        program = shlex.quote(self.runner.program(self.tool, self.programs))
        words, again = self.words(size, self.window, self.exchanges), self.words(size, self.window // 2, 0)
        made = node_pair_steps.Sample(
            self.launch_line(), rails, program, words, again, self._sample_options(), self.budget_s
        )
        return made.after(str(self.stdout))

    @property
    def round_s(self) -> float:
        """How long a round lasts, in seconds, rounded up to milliseconds: an estimate."""
        words = self.words(self.message_sizes[-1], self.window, self.exchanges)
        return math.ceil(1000 * node_pair_steps.round_seconds(words, self.rate_mb_s, self.num_nodes)) / 1000

    @property
    def measuring_s(self) -> float:
        """How much of the budget is left for rounds, in seconds: launches take their part."""
        left = self.budget_s - _LAUNCHES * node_pair_steps.launch_seconds(self.num_nodes)
        return max(1.0, min(left, enough_s(int(self.num_nodes), self.round_s)))

    @property
    def prober(self) -> "Prober":
        """What decides after a run, also after a pass: the screening."""
        from railyard.rfm.checks.node_pair_prober import SampleProber
        from railyard.verdict.blame.screening.model import Budget
        from railyard.verdict.screened_pairs import SampleOrigin

        made = SampleOrigin("nightly" if self.nightly else "budget", Budget(self.measuring_s, self.round_s),
                       planned_here=not self.nightly, began=f"{self._clock.started:%Y-%m-%dT%H:%M:%SZ}",
                       ended=f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}")  # fmt: skip
        return SampleProber(self.rail_prober, made, self.leaves(), self._up_links)

    @property
    def _is_scheduled(self) -> bool:
        return not self._plan.launch.nodes and self.site.system.scheduler in FAMILIES

    @property
    def _up_links(self) -> int | None:
        return self.site.system.fabrics[self.current_partition.name].up_links

    def _sample_options(self) -> list[str]:
        """Return the options of ``railyard pairs next`` for a sample."""
        meant, least = self._plan.launch.meant, self.least()
        options = ["--budget", f"{self.measuring_s:.3f}s", "--round", f"{self.round_s:.3f}"]
        options += [] if least is None else ["--expected", repr(least)]
        options += ["--switches", node_pair_steps.SWITCHES] if self.leaves() else []
        options += ["--rails", ",".join(meant)] if len(meant) > 1 else []
        options += [] if self._up_links is None else ["--up-links", str(self._up_links)]
        if self.nightly:
            options += ["--nightly", str(self.nightly), "--used", node_pair_steps.USED]
        return [shlex.quote(word) for word in options]

    def _past_pairs(self) -> str:
        """Return the pairs of the last nights, the oldest first, with a blank line between nights."""
        from railyard.verdict.pair_coverage import recent_nights, used_text

        return used_text(recent_nights(self.site.home, self.site.system.system, self.current_partition.name, DAYS)[0])


def enough_s(nodes: int, round_s: float) -> float:
    """Return how many seconds are enough for a sample of so many nodes, in rounds of so many seconds.

    Half of them are for the sample, and all pairs need one round less than there are nodes.
    """
    from railyard.verdict.blame.screening.plan import LEAST

    return (max(LEAST, 3 * (nodes - 1)) + 0.5) * round_s  # half a round more, so that no rounding loses one


def _refuse(budget: str) -> int:
    raise RailyardError(f"-S SampledPairs.budget: found {budget!r}, expected a time such as 15m, 1h30m or 900s")
