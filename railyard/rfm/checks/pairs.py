"""The ReFrame base of the checks that run railyard-pairs: rounds of pairs of nodes inside one job."""

import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from reframe.core.builtins import run_before, variable

from railyard.job import node_pair_steps
from railyard.parsers import pairs as parser
from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.run.options import EXTENDED
from railyard.site import topology

if TYPE_CHECKING:
    from railyard.job.case import Evidence
    from railyard.verdict.assess import Assessment
    from railyard.verdict.blame.search.model import Round
    from railyard.verdict.blame.suspects import Findings


class PairsCheck(InterconnectCheck):
    """Pairs of nodes, round by round. A check names ``benchmark`` and ``rounds``; it spans all nodes of the system."""

    tool = "pairs"
    tags = {"microbench", "pairs", EXTENDED}
    parse = staticmethod(parser.parse)
    probe_key = "pairs/pairs"
    all_nodes = True
    #: One message size, from which every link's limit holds.
    smallest = 4 << 20
    largest = 4 << 20
    window = 8
    #: How long a stream is to last at the fabric's own rate, in seconds: it sets the number of windows.
    stream_s = variable(float, value=0.1)
    #: 8-byte messages there and back, for the latency.
    exchanges = variable(int, value=20)
    #: Whether suspects are measured again, each alone, and how often.
    measures_again = variable(bool, value=False)
    again_repeats = variable(int, value=3)

    def rounds(self, nodes: int) -> "tuple[Round, ...]":
        """Return the rounds of a number of nodes; none where the ranks that share a node are meant."""
        return ()

    def arguments(self, sizes: tuple[int, ...]) -> list[str]:
        rounds = node_pair_steps.ROUNDS if self.rounds(2) else "node"
        return [self.benchmark, rounds, *self._words(sizes[-1], self.window, self.exchanges)]

    def probe_arguments(self, size: int) -> list[str]:
        return ["pairs", node_pair_steps.ROUNDS_OF_TWO, str(size), "4", "1", "1", "0"]

    def _words(self, size: int, window: int, exchanges: int) -> list[str]:
        return [str(size), str(window), str(self._repeats(size * window)), "1", str(exchanges)]

    def _repeats(self, window_bytes: int) -> int:
        limit = self.site.system.fabrics[self.current_partition.name].limit(self.rails, 1)
        rate = 0.0 if limit is None else limit.value_mb_s * 1e6
        return max(1, round(rate * float(self.stream_s) / window_bytes))

    @run_before("run")
    def write_rounds(self) -> None:
        """Write the rounds beside the job's script, and the lines that measure suspects again behind its launch."""
        from railyard.verdict.blame.node_pairs import rounds_text

        stage = Path(self.stagedir)
        (stage / node_pair_steps.ROUNDS).write_text(rounds_text(self.rounds(self.num_nodes)), encoding="ascii")
        (stage / node_pair_steps.ROUNDS_OF_TWO).write_text("0-1\n", encoding="ascii")
        if self.measures_again and not self.is_replayed:
            (stage / node_pair_steps.SWITCHES).write_text(topology.text(self._leaves()), encoding="utf-8")
            self.postrun_cmds = self._again()

    def _again(self) -> list[str]:
        meant = self._launch.meant
        words = self._words(self.message_sizes[-1], self.window // 2, 0)
        rails = {rail: self._launch_line(rail) for rail in meant} if len(meant) > 1 else {}
        run = [*_quoted([self._program()]), node_pair_steps.ALONE]
        return node_pair_steps.lines(str(self.stdout), self._launch_line(), run, words, rails, self._asking())

    def _asking(self) -> list[str]:
        """Return the options of ``railyard pairs``: how often a suspect is measured, and what a pair should give."""
        least = self._least()
        expected = [] if least is None else ["--expected", repr(least)]
        known = ["--switches", node_pair_steps.SWITCHES] if self._leaves() else []
        return ["--repeats", str(self.again_repeats), *expected, *known]

    def _leaves(self) -> "topology.Leaves":
        """Return each node's leaf switch, where the system's file or the kept distances of the fabric say it."""
        system, fabric = self.site.system, self.current_partition.name
        devices = [rail.device for rail in system.fabrics[fabric].rails[: self.rails]]
        return topology.leaves(self.site.home, system.system, fabric, system.fabrics[fabric].leaf_switches, devices)

    def _least(self) -> float | None:
        """Return the least that a pair may give by the references, in MB/s; None where they have no bound."""
        from railyard.verdict.node_pairs import least_of

        fabric, stack = self.current_partition.name, self.current_environ.name
        policy = self._launch.settings.policy_name
        return least_of(self.site, fabric, stack, self.rails, policy, self.key, self.message_sizes[-1])

    def _launch_line(self, rail: str | None = None) -> str:
        """Return the words that launch the program as the job does, over one rail alone where one is named."""
        launcher = self.job.launcher
        if rail is None:
            return str(launcher.run_command(self.job))
        options, alone = launcher.options, self._plan_for((rail,), self._launch.nodes)
        launcher.options = _quoted(alone.options)
        line = f"{node_pair_steps.env_words(self._launch.env, alone.env)} {launcher.run_command(self.job)}"
        launcher.options = options
        return line.strip()

    def _evidence(self) -> "Evidence":
        found = super()._evidence()
        steps = [Path(self.stagedir, f"{step}.out") for step in node_pair_steps.STEPS]
        return replace(found, again=tuple(_text(path) for path in steps if path.is_file()))

    def _with_suspects(self, found: "Assessment") -> "Assessment":
        """Name who is slow by all steps together; a run that broke is probed as any other."""
        from railyard.verdict.findings import with_suspects
        from railyard.verdict.node_pairs import with_slow_nodes

        verdict = found.verdict
        if verdict.state != "fail" or verdict.rule != 5 or verdict.fault != "fabric":
            return super()._with_suspects(found)
        if self.within_node:
            return with_slow_nodes(found)
        # All pairs at once over the middle of the network: no node or pair is told from that.
        return with_suspects(found, self._findings(found)) if self.measures_again else found

    def _findings(self, found: "Assessment") -> "Findings":
        from railyard.verdict.blame.node_pairs import findings
        from railyard.verdict.blame.search.model import Settings
        from railyard.verdict.node_pairs import steps

        texts = {rail: _text(Path(self.stagedir, node_pair_steps.rail_output(rail))) for rail in self._launch.meant}
        rails = {rail: table for rail, text in texts.items() for table in steps([text], self.parse)}
        settings = Settings(repeats=self.again_repeats)
        alone = self._expected_alone(found)
        meant, leaf_of = self._launch.meant, self._leaves()
        return findings(found.pair_tables, settings, self._least(), rails, meant, alone, leaf_of)


def _quoted(words: "Iterable[str]") -> list[str]:
    return [shlex.quote(word) for word in words]


def _text(path: Path) -> str:
    """Return a file's text, empty where it is not there: what was not measured again is no error."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
