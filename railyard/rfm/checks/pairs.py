"""The ReFrame base of the checks that run railyard-pairs: rounds of pairs of nodes inside one job.

A sample of all pairs of nodes is measured within a budget, in one allocation. Who is named is decided in ``prober``.
"""

import math
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reframe.core.builtins import variable

from railyard.base.errors import RailyardError
from railyard.base.values import seconds, utc_time
from railyard.job import probe_job
from railyard.parsers import pairs as parser
from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.checks.groups import Accepts, Outputs, Probes
from railyard.site import topology
from railyard.site.matrix import SWITCH_GROUPS
from railyard.site.systems.jobs import FAMILIES

if TYPE_CHECKING:
    from railyard.rfm.checks.prober import Prober
    from railyard.site.systems.model import Fabric
    from railyard.verdict.blame.search.model import Round
    from railyard.verdict.node_pairs import SampleOrigin
    from railyard.verdict.switch_groups import UpLinksRead


#: At most so many seconds more than its budget a run may take: its last step, and the end of its job.
_AROUND_S = 180
#: Launches that a budget must cover besides its rounds: of the sample, and of the usual steps after it.
_LAUNCHES = 4
#: How many days back the partners of a night are looked up.
DAYS = 7


class PairsCheck(InterconnectCheck):
    """Pairs of nodes, round by round, on all nodes of the system. A check names ``benchmark`` and ``rounds``."""

    tool = "pairs"
    extended = True
    parse = staticmethod(parser.parse)
    probes = Probes(ping_pong="pairs/pairs")
    all_nodes = True
    #: One message size, large enough for the limit of every link.
    smallest = probe_job.SIZE_BYTES
    largest = probe_job.SIZE_BYTES
    window = probe_job.WINDOW
    accepts = Accepts(sizes=("largest",))
    #: How long a stream should last at the fabric's own rate, in seconds; this sets the number of windows.
    stream_s = variable(float, value=probe_job.STREAM_S)
    #: 8-byte messages there and back, for the latency.
    exchanges = variable(int, value=probe_job.EXCHANGES)
    #: Whether suspects are measured again, each alone, and how often.
    measures_again = variable(bool, value=False)
    outputs = Outputs(more=tuple(f"{step}.out" for step in probe_job.STEPS))
    again_repeats = variable(int, value=3)

    def rounds(self, nodes: int) -> "tuple[Round, ...]":
        """Return the rounds of a number of nodes; none if the test is between the ranks that share a node."""
        return ()

    @classmethod
    def idle(cls) -> frozenset[str]:
        return super().idle() - {"window"}

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        rounds = probe_job.ROUNDS if self.rounds(2) else "node"
        return [self.benchmark, rounds, *self.words(sizes[-1], self.window, self.exchanges)]

    @property
    def asked_sizes(self) -> tuple[int, ...]:
        return (self.message_sizes[-1],)

    def probe_arguments(self, size: int) -> list[str]:
        return ["pairs", probe_job.ROUNDS_OF_TWO, str(size), "4", "1", "1", "0"]

    def words(self, size: int, window: int, exchanges: int) -> list[str]:
        return probe_job.words(size, window, exchanges, self.rate_mb_s, float(self.stream_s))

    @property
    def rate_mb_s(self) -> float | None:
        limit = self.site.system.fabrics[self.current_partition.name].limit(self.rails, 1, policy=self.policy)
        return None if limit is None else limit.value_mb_s

    def input_files(self) -> Mapping[str, str]:
        from railyard.verdict.blame.node_pairs import rounds_text

        rounds = {
            probe_job.ROUNDS: rounds_text(self.rounds(self.num_nodes)),
            probe_job.ROUNDS_OF_TWO: "0-1\n",
        }
        return rounds | ({probe_job.SWITCHES: topology.text(self.places())} if self.measures_again else {})

    def after(self) -> list[str]:
        """Return the lines that measure suspects again after the launch, if the check asks for that."""
        if not self.measures_again:
            return []
        meant = self._plan.launch.meant
        words = self.words(self.message_sizes[-1], self.window // 2, 0)
        rails = {rail: self.launch_line(rail) for rail in meant} if len(meant) > 1 else {}
        run = [self._program_words, parser.ALONE]
        return probe_job.lines(str(self.stdout), self.launch_line(), run, words, rails, self._pair_options())

    @property
    def _program_words(self) -> str:
        """What each process of a launch runs, as shell words."""
        return shlex.join([*self._plan.launch.inside, self.runner.program(self.tool, self.programs)])

    def _pair_options(self) -> list[str]:
        """Return the options of ``railyard pairs``: how often a suspect is measured, and what a pair should give."""
        least = self.least()
        expected = [] if least is None else ["--expected", repr(least)]
        known = ["--switches", probe_job.SWITCHES] if self.places().leaf_of else []
        return ["--repeats", str(self.again_repeats), *expected, *known]

    def least(self) -> float | None:
        """Return the least that a pair may give by the references, in MB/s; None if they have no bound."""
        from railyard.verdict.node_pairs import least_bandwidth

        return least_bandwidth(self.site, self.test_id, self.message_sizes[-1])

    def launch_line(self, rail: str | None = None) -> str:
        """Return the words that launch the program as the job does, over one rail alone if one is named."""
        launcher = self.job.launcher
        if rail is None:
            return str(launcher.run_command(self.job))
        options, plan = launcher.options, self._plan
        alone = plan.launch_alone(rail, plan.launch.nodes, plan.ranks.per_node)
        launcher.options = [shlex.quote(word) for word in alone.options]
        line = f"{probe_job.env_words(plan.launch.env, alone.env)} {launcher.run_command(self.job)}"
        launcher.options = options
        return line.strip()

    @property
    def prober(self) -> "Prober":
        """What decides after a failure: the steps that measured suspects again, or each node's own pair."""
        from railyard.rfm.checks.prober import AllPairsProber, BisectionProber, WithinNodesProber

        if self.layout.within_node:
            return WithinNodesProber(self.rail_prober)
        if not self.measures_again:
            return BisectionProber(self.rail_prober)
        stage, parse, repeats = Path(self.stagedir), self.parse, self.again_repeats
        return AllPairsProber(self.rail_prober, stage, parse, repeats, self.least(), self.places())


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
        return [parser.SAMPLE, probe_job.ROUNDS, *self.words(sizes[-1], self.window, self.exchanges)]

    def input_files(self) -> Mapping[str, str]:
        files = {probe_job.ROUNDS_OF_TWO: "0-1\n", probe_job.SWITCHES: topology.text(self.places())}
        if not self._is_scheduled:
            files[probe_job.NODES] = "".join(f"{node}\n" for node in self._plan.launch.nodes)
        if self.nightly:
            files[probe_job.USED] = self._past_pairs()
        return files

    def before(self, program: str) -> list[str]:
        """Return the lines that plan the sample from the nodes that the job was given."""
        from railyard.job.probe_job import lists_nodes

        listed = lists_nodes(self.site.system.scheduler) if self._is_scheduled else None
        return probe_job.plan_sample(self._sample_options(), listed)

    def after(self) -> list[str]:
        """Return the lines that measure what the screening asks for after the sample."""
        meant, size = self._plan.launch.meant, self.message_sizes[-1]
        rails = {rail: self.launch_line(rail) for rail in meant} if len(meant) > 1 else {}
        program = self._program_words
        words, again = self.words(size, self.window, self.exchanges), self.words(size, self.window // 2, 0)
        made = probe_job.Sample(self.launch_line(), rails, program, words, again, self._sample_options(), self.budget_s)
        return made.after(str(self.stdout))

    @property
    def round_s(self) -> float:
        """How long a round lasts, in seconds, rounded up to milliseconds: an estimate."""
        words = self.words(self.message_sizes[-1], self.window, self.exchanges)
        return math.ceil(1000 * probe_job.round_seconds(words, self.rate_mb_s, self.num_nodes)) / 1000

    @property
    def measuring_s(self) -> float:
        """How much of the budget is left for rounds, in seconds: launches take their part."""
        left = self.budget_s - _LAUNCHES * probe_job.launch_seconds(self.num_nodes)
        return max(1.0, min(left, enough_s(int(self.num_nodes), self.round_s)))

    @property
    def prober(self) -> "Prober":
        """What decides after a run, also after a pass: the screening."""
        from railyard.rfm.checks.prober import SampleProber

        made = self._origin("nightly" if self.nightly else "budget", planned_here=not self.nightly)
        return SampleProber(self.rail_prober, made, self.places(), self._up_links, self._later_steps)

    def _origin(self, kind: str, planned_here: bool) -> "SampleOrigin":
        from railyard.verdict.blame.screening.model import Budget
        from railyard.verdict.node_pairs import SampleOrigin

        return SampleOrigin(kind, Budget(self.measuring_s, self.round_s), planned_here,
                            began=utc_time(self._clock.started),
                            ended=utc_time())  # fmt: skip

    @property
    def _later_steps(self) -> tuple[str, ...]:
        """The later steps that ran, in their order: each leaves an output."""
        return tuple(step for step in probe_job.STEPS if (Path(self.stagedir) / f"{step}.out").is_file())

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
        options += ["--switches", probe_job.SWITCHES] if self.places().leaf_of else []
        options += ["--rails", ",".join(meant)] if len(meant) > 1 else []
        options += [] if self._up_links is None else ["--up-links", str(self._up_links)]
        if self.nightly:
            options += ["--nightly", str(self.nightly), "--used", probe_job.USED]
        return [shlex.quote(word) for word in options]

    def _past_pairs(self) -> str:
        """Return the pairs of the last nights, the oldest first, with a blank line between nights."""
        from railyard.verdict.node_pairs import recent_nights, used_text

        return used_text(recent_nights(self.site.home, self.site.system.system, self.current_partition.name, DAYS)[0])


class SwitchGroupsCheck(SampledPairsCheck):
    """What leaf switches carry within each, between two, and all at once: streams first, then short messages."""

    #: How many windows of short messages a pair sends each way.
    short_windows = variable(int, value=200)

    @classmethod
    def feature_of(cls, parameters: Mapping[str, str]) -> str:
        """Return what only a system that states its leaf switches asks for."""
        return SWITCH_GROUPS

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        return [parser.GROUPS, *super().arguments(sizes)[1:]]

    def before(self, program: str) -> list[str]:
        return [*probe_job.live_switches(self.site.system.scheduler), *super().before(program)]

    def after(self) -> list[str]:
        """Return the lines that measure what the screening asks for, and then short messages over the same rounds."""
        messages = probe_job.measure_messages(self.launch_line(), self._program_words, self.short_windows)
        return [*super().after(), messages]

    @property
    def prober(self) -> "Prober":
        """What decides after a run: the screening, and what the up-links could have carried."""
        from railyard.rfm.checks.prober import SwitchGroupsProber
        from railyard.rfm.checks.runner import text_of

        made, stage = self._origin("switch groups", planned_here=False), Path(self.stagedir)
        fabric = self.site.system.fabrics[self.current_partition.name]
        return SwitchGroupsProber(
            self.rail_prober, made, self.places(), self._up_links, self._later_steps,
            self._up_links_of(fabric),
            text_of(stage / probe_job.LIVE_SWITCHES), text_of(stage / probe_job.MESSAGES),
        )  # fmt: skip

    def _up_links_of(self, fabric: "Fabric") -> "Callable[[topology.Places], UpLinksRead]":
        from railyard.verdict.switch_groups import find_up_links

        home, system, name = self.site.home, self.site.system.system, self.current_partition.name
        rails, rate = fabric.used_rails(self.rails, self.policy), self.rate_mb_s
        return lambda places: find_up_links(
            topology.stored_distances(home, system, name), places, fabric, name, rails, rate
        )

    def _sample_options(self) -> list[str]:
        return [*super()._sample_options(), "--switch-groups", "--live", probe_job.LIVE_SWITCHES]


def enough_s(nodes: int, round_s: float) -> float:
    """Return how many seconds are enough for a sample of so many nodes, in rounds of so many seconds.

    Half of them are for the sample, and all pairs need one round less than there are nodes.
    """
    from railyard.verdict.blame.screening.plan import LEAST

    return (max(LEAST, 3 * (nodes - 1)) + 0.5) * round_s  # half a round more, so that no rounding loses one


def _refuse(budget: str) -> int:
    raise RailyardError(f"-S SampledPairs.budget: found {budget!r}, expected a time such as 15m, 1h30m or 900s")
