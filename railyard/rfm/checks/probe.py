"""The probing part of every check: each rail is measured alone, with the check's own tool, where a run gives reason."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from railyard.base.errors import RailyardError
from railyard.job.launch import TESTBEDS, Launch
from railyard.parsers.parsed import Parsed, ParseError
from railyard.rfm.guards import GuardedFigures
from railyard.rfm.launchers import namespace_words
from railyard.site.site import Site

if TYPE_CHECKING:
    from railyard.provision.testbed.starvation import Watch
    from railyard.verdict.assess import Assessment
    from railyard.verdict.blame.suspects import Probe


#: The counter reader's name in the stage directory.
READER = "reader.sh"


class Probing(GuardedFigures):
    """Measures single rails of a run of InterconnectCheck, which declares what is named here."""

    #: The parser of the tool's output.
    parse: Callable[[str], Parsed]
    #: The key of what ``probe_arguments`` runs: a ping-pong, which sees both directions of a rail.
    probe_key: str
    #: Its executable, of a tool that is a folder of them.
    probe_program = ""
    #: Whether pairs of processes a rail run one rail after the other.
    in_turn: Any

    @property
    def site(self) -> Site:
        """The site and system that this test runs on."""
        raise NotImplementedError

    @property
    def is_watched(self) -> bool:
        """Whether it can be seen what the run's processes wait for."""
        raise NotImplementedError

    def watch(self) -> "Watch":
        """Return what watches the run's processes from now on."""
        raise NotImplementedError

    def probe_arguments(self, size: int) -> list[str]:
        """Return the words of a short two-rank ping-pong at one size, which measures a rail alone."""
        raise NotImplementedError

    def read_rails(self, text: str) -> Parsed:
        """Return what the tool's parser finds, where a client a rail printed, in all of them together."""
        from railyard.parsers import rail_parts

        return rail_parts.parse(text, self.parse, worst=self.in_turn)

    def _plan_for(
        self, devices: tuple[str, ...], nodes: tuple[str, ...], policy: str | None = None, per_node: int = 0
    ) -> Launch:
        raise NotImplementedError

    def _benchmark_words(self, arguments: list[str], launch: Launch, program: str = "") -> list[str]:
        raise NotImplementedError

    def _with_suspects(self, found: "Assessment") -> "Assessment":
        """Measure the rails alone where the run gives reason to: one is named, and not its partner."""
        return self._with_lossy_rails(self._with_slow_rails(found))

    def _with_slow_rails(self, found: "Assessment") -> "Assessment":
        """Measure the rails alone where a bandwidth between named nodes failed: one is named, and not its partner."""
        from railyard.verdict.blame.probes import Prober, probe_rails
        from railyard.verdict.findings import with_suspects

        verdict, job, launch = found.verdict, found.inputs.job, found.case.launch
        slow = job.timed_out or (verdict.rule == 5 and verdict.fault == "fabric")
        # Started on every node, and then ended by itself: a rail that swallows packets does that to some stacks.
        broke = verdict.rule == 1 and bool(job.exit_code) and job.nodes_seen == job.nodes_expected
        is_probed = verdict.state == "fail" and (slow or broke) and not job.refused
        if not is_probed or self.site.system.launcher not in TESTBEDS or len(launch.nodes) < 2:
            return found
        names = self.site.system.nodes.names
        expected = self._expected_alone(found)
        watch = self.watch if self.is_watched else None
        prober = Prober(self._probe_words, self._probe_value, Path(self.stagedir), watch)
        for pair in zip(launch.nodes[::2], launch.nodes[1::2], strict=False):
            others = tuple(name for name in names if name not in pair)
            findings = probe_rails(prober, pair, others, launch.meant, expected, launch.nodes)
            # Where every probe breaks as the run did, the stack is broken and no switch is.
            if any(suspect.kind == "rail" for suspect in findings.suspects) or (findings.suspects and slow):
                return with_suspects(found, findings)
        return with_suspects(found, findings) if slow else found

    def _with_lossy_rails(self, found: "Assessment") -> "Assessment":
        """Count what TCP sends again over each rail alone where it was too much: the node and rail that lose fail it.

        A node's own counter knows no rail, and the sender of what was lost is not who lost it.
        """
        from railyard.verdict.blame.probes import probe_losses
        from railyard.verdict.findings import with_losses

        launch, path = found.case.launch, found.path
        # Nobody's rail is measured while somebody else uses it.
        proven = path.state == "proven" and path.disturbance is None
        named = any(suspect.kind == "rail" for suspect in found.verdict.suspects)
        is_tcp = self.site.system.fabrics[found.case.fabric].kind == "tcp"
        if not (path.resends and proven and is_tcp) or named or self.site.system.launcher not in TESTBEDS:
            return found
        findings = None
        for pair in zip(launch.nodes[::2], launch.nodes[1::2], strict=False):
            others = tuple(name for name in self.site.system.nodes.names if name not in pair)
            findings = probe_losses(
                pair, others, launch.meant, self._loss_words, self._segments, Path(self.stagedir), launch.nodes
            )
            if any(suspect.kind == "rail" for suspect in findings.suspects):
                break
        return found if findings is None else with_losses(found, findings)

    def _expected_alone(self, found: "Assessment") -> float:
        alone = self.site.system.fabrics[found.case.fabric].limit(1, 1, one_stream=True)
        return 0.0 if alone is None else alone.value_mb_s

    def _loss_words(self, probe: "Probe", name: str) -> tuple[dict[str, str], list[str]]:
        """Return a probe under the counter reader, which writes to a folder of this name in the stage directory."""
        Path(self.stagedir, name).mkdir(exist_ok=True)
        return self._probe_words(probe, ("sh", READER, name, name, probe.rail, "", "--"))

    def _segments(self, name: str) -> tuple[int, int] | None:
        """Return the segments that both nodes of a probe sent again, and sent; None where one did not count them."""
        from railyard.job.counters import node as counters

        texts = [path.read_text(encoding="utf-8") for path in Path(self.stagedir, name).glob("*.counters")]
        read = [counters.parse(text, name) for text in texts]
        pairs = [(each.resent, each.sent) for each in read if each.problem is None]
        counted = [(resent, sent) for resent, sent in pairs if resent is not None and sent is not None]
        return (sum(pair[0] for pair in counted), sum(pair[1] for pair in counted)) if len(counted) == 2 else None

    def _probe_words(self, probe: "Probe", front: tuple[str, ...] = ()) -> tuple[dict[str, str], list[str]]:
        from railyard.verdict.blame.probes import PROBE_LIMIT_S, PROBE_SIZE_BYTES

        # One rank a node, whatever the test has: with two, a ping-pong's partners would share a node.
        launch = self._plan_for((probe.rail,), (probe.node_a, probe.node_b), per_node=1)
        # Behind the jobs' lock: by hand, ReFrame runs a test of another partition meanwhile.
        bed = TESTBEDS[self.site.system.launcher]
        head = namespace_words(self.site.home, probe.node_a, PROBE_LIMIT_S, launch.program, bed)
        benchmark = self._benchmark_words(self.probe_arguments(PROBE_SIZE_BYTES), launch, self.probe_program)
        words = [*head, *launch.options, *front, *benchmark]
        return dict(launch.env), [shlex.quote(word) for word in words]

    def _probe_value(self, text: str) -> float | None:
        """Return MB/s at a probe's size, None where it printed none: what a cut probe read of others says nothing."""
        from railyard.benchmarks import metrics, model
        from railyard.benchmarks.table import micro
        from railyard.verdict.blame.probes import PROBE_SIZE_BYTES

        try:
            tables = self.read_rails(text).tables
            curve = metrics.curves(tables[0], self.probe_key)[0]
        except (ParseError, ValueError, IndexError, RailyardError):
            return None
        is_figure = micro.find(self.probe_key).rows != "sizes"
        if not is_figure and curve.sizes[-1] != PROBE_SIZE_BYTES:
            return None
        # A ping-pong that prints times (OSU): bytes a microsecond are MB/s.
        return curve.values[-1] if curve.metric == model.BANDWIDTH else curve.sizes[-1] / curve.values[-1]
