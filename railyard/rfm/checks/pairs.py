"""The ReFrame base of the checks that run railyard-pairs: rounds of pairs of nodes inside one job."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from reframe.core.builtins import variable

from railyard.job import node_pair_steps
from railyard.parsers import pairs as parser
from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.checks.groups import Accepts, Outputs, Probes
from railyard.site import topology

if TYPE_CHECKING:
    from railyard.rfm.checks.prober import Prober
    from railyard.verdict.blame.search.model import Round


class PairsCheck(InterconnectCheck):
    """Pairs of nodes, round by round, on all nodes of the system. A check names ``benchmark`` and ``rounds``."""

    tool = "pairs"
    extended = True
    parse = staticmethod(parser.parse)
    probes = Probes(ping_pong="pairs/pairs")
    all_nodes = True
    #: One message size, large enough for the limit of every link.
    smallest = node_pair_steps.SIZE_BYTES
    largest = node_pair_steps.SIZE_BYTES
    window = node_pair_steps.WINDOW
    accepts = Accepts(sizes=("largest",))
    #: How long a stream should last at the fabric's own rate, in seconds; this sets the number of windows.
    stream_s = variable(float, value=node_pair_steps.STREAM_S)
    #: 8-byte messages there and back, for the latency.
    exchanges = variable(int, value=node_pair_steps.EXCHANGES)
    #: Whether suspects are measured again, each alone, and how often.
    measures_again = variable(bool, value=False)
    outputs = Outputs(more=tuple(f"{step}.out" for step in node_pair_steps.STEPS))
    again_repeats = variable(int, value=3)

    def rounds(self, nodes: int) -> "tuple[Round, ...]":
        """Return the rounds of a number of nodes; none if the test is between the ranks that share a node."""
        return ()

    @classmethod
    def idle(cls) -> frozenset[str]:
        return super().idle() - {"window"}

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        rounds = node_pair_steps.ROUNDS if self.rounds(2) else "node"
        return [self.benchmark, rounds, *self.words(sizes[-1], self.window, self.exchanges)]

    @property
    def asked_sizes(self) -> tuple[int, ...]:
        return (self.message_sizes[-1],)

    def probe_arguments(self, size: int) -> list[str]:
        return ["pairs", node_pair_steps.ROUNDS_OF_TWO, str(size), "4", "1", "1", "0"]

    def words(self, size: int, window: int, exchanges: int) -> list[str]:
        return node_pair_steps.words(size, window, exchanges, self.rate_mb_s, float(self.stream_s))

    @property
    def rate_mb_s(self) -> float | None:
        limit = self.site.system.fabrics[self.current_partition.name].limit(self.rails, 1, policy=self.policy)
        return None if limit is None else limit.value_mb_s

    def input_files(self) -> Mapping[str, str]:
        from railyard.verdict.blame.node_pairs import rounds_text

        rounds = {
            node_pair_steps.ROUNDS: rounds_text(self.rounds(self.num_nodes)),
            node_pair_steps.ROUNDS_OF_TWO: "0-1\n",
        }
        return rounds | ({node_pair_steps.SWITCHES: topology.text(self.leaves())} if self.measures_again else {})

    def after(self) -> list[str]:
        """Return the lines that measure suspects again after the launch, if the check asks for that."""
        if not self.measures_again:
            return []
        meant = self._plan.launch.meant
        words = self.words(self.message_sizes[-1], self.window // 2, 0)
        rails = {rail: self.launch_line(rail) for rail in meant} if len(meant) > 1 else {}
        program = self.runner.program(self.tool, self.programs)
        run = [shlex.quote(program), parser.ALONE]
        return node_pair_steps.lines(str(self.stdout), self.launch_line(), run, words, rails, self._pair_options())

    def _pair_options(self) -> list[str]:
        """Return the options of ``railyard pairs``: how often a suspect is measured, and what a pair should give."""
        least = self.least()
        expected = [] if least is None else ["--expected", repr(least)]
        known = ["--switches", node_pair_steps.SWITCHES] if self.leaves() else []
        return ["--repeats", str(self.again_repeats), *expected, *known]

    def leaves(self) -> "topology.Leaves":
        """Return each node's leaf switch, where the system's file or the kept distances of the fabric say it."""
        system, fabric = self.site.system, self.current_partition.name
        devices = [rail.device for rail in system.fabrics[fabric].used_rails(self.rails, self.policy)]
        return topology.leaves(self.site.home, system.system, fabric, system.fabrics[fabric].leaf_switches, devices)

    def least(self) -> float | None:
        """Return the least that a pair may give by the references, in MB/s; None if they have no bound."""
        from railyard.verdict.node_pairs import least_of

        return least_of(self.site, self.test_id, self.message_sizes[-1])

    def launch_line(self, rail: str | None = None) -> str:
        """Return the words that launch the program as the job does, over one rail alone if one is named."""
        launcher = self.job.launcher
        if rail is None:
            return str(launcher.run_command(self.job))
        options, plan = launcher.options, self._plan
        alone = plan.launch_alone(rail, plan.launch.nodes, plan.ranks.per_node)
        launcher.options = [shlex.quote(word) for word in alone.options]
        line = f"{node_pair_steps.env_words(plan.launch.env, alone.env)} {launcher.run_command(self.job)}"
        launcher.options = options
        return line.strip()

    @property
    def prober(self) -> "Prober":
        """What decides after a failure: the steps that measured suspects again, or each node's own pair."""
        from railyard.rfm.checks.node_pair_prober import AllPairsProber, BisectionProber, WithinNodesProber

        if self.layout.within_node:
            return WithinNodesProber(self.rail_prober)
        if not self.measures_again:
            return BisectionProber(self.rail_prober)
        stage, parse, repeats = Path(self.stagedir), self.parse, self.again_repeats
        return AllPairsProber(self.rail_prober, stage, parse, repeats, self.least(), self.leaves())
