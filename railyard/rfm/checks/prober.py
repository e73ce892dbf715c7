"""Single rails are measured alone after a failure between two nodes, or where TCP sent much again: one is named.

A slow rail, or one that loses packets, is named by what it does with several partners, and these are not.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from railyard.base.errors import RailyardError
from railyard.base.wording import counted
from railyard.benchmarks import metrics, model
from railyard.benchmarks.table import micro
from railyard.job.counters import node as counters
from railyard.job.launch import Launch
from railyard.parsers.parsed import Parsed, ParseError
from railyard.rfm.checks.probe_places import Here, NotProbed, Place, Step, printed
from railyard.rfm.checks.runner import READER
from railyard.rfm.checks.sizes import PROBE_SIZE_BYTES
from railyard.site.site import Site
from railyard.verdict.assess import Assessment
from railyard.verdict.blame import slow_rails
from railyard.verdict.blame.suspects import Findings, LossProbe, Probe, RailProbe, losers, plan_probes
from railyard.verdict.findings import with_losses, with_remark, with_suspects
from railyard.verdict.path.ports import sends_again

#: Segments of TCP that both nodes send, acknowledgements among them, before a rail counts as clean. A rail that loses
#: one packet in a hundred drops what the kernel hands it in one piece, up to 64 KiB (45 segments of 1448 B). Two fifths
#: of 70,000 are data: 620 such pieces at least, of which 6.2 are lost, one or none once in 70 times; the bound is 1.6.
LEAST_SEGMENTS = 70_000
#: What a rail sends again so many times as often as the bound allows is no chance: it need not be run on.
CLEAR_FACTOR = 5
#: Runs that it may take until so many were sent, at most.
MOST_RUNS = 12
#: What was measured stands in this file of the probes' folder.
PROBES_FILE = "probes.json"


class Watch(Protocol):
    """Watches the processes of one probe, from when it was made."""

    def stop(self) -> float | None:
        """Return the share of the time since then in which they waited for a processor; None where unknown."""


class Prober(Protocol):
    """What is asked after a run was judged, for whom to name."""

    def explain(self, found: Assessment) -> Assessment:
        """Return the assessment with what more is known; as it is where the run gives no reason to ask."""


class Nobody:
    """Asks nobody: an application tells no rail from another; the micro-benchmarks do."""

    def explain(self, found: Assessment) -> Assessment:
        return found


class NodesThemselves:
    """Takes a miss of its reference as the nodes' own: the sentence names those that are slow, and no rail is."""

    def explain(self, found: Assessment) -> Assessment:
        if not found.verdict.misses_reference:
            return found
        look = "memory, clock, cooling and what else runs on the slow nodes: no network is involved"
        return replace(found, verdict=replace(found.verdict, fault="node", look_at=look))


@dataclass(frozen=True, slots=True)
class PingPong:
    """A short ping-pong of a check's own tool between two nodes over one rail, which sees both directions of it.

    ``key`` is its benchmark, ``launch`` plans it over a rail between two nodes, ``words`` are each process's.
    """

    key: str
    parse: Callable[[str], Parsed]
    launch: Callable[[str, tuple[str, str]], Launch]
    words: Callable[[Launch], list[str]]

    def value(self, text: str) -> float | None:
        """Return MB/s at PROBE_SIZE_BYTES; None where none was printed: other sizes of a cut probe say nothing."""
        try:
            curve = metrics.curves(self.parse(text).tables[0], self.key)[0]
        except (ParseError, ValueError, IndexError, RailyardError):
            return None
        is_figure = micro.find(self.key).rows != "sizes"
        if not is_figure and curve.sizes[-1] != PROBE_SIZE_BYTES:
            return None
        # A ping-pong that prints times (OSU): bytes a microsecond are MB/s.
        return curve.values[-1] if curve.metric == model.BANDWIDTH else curve.sizes[-1] / curve.values[-1]


@dataclass(frozen=True, slots=True)
class RailProber:
    """Measures the rails of a run alone, where the run gives reason to.

    Each probe's script and output stay in ``stage``, the run's folder (``probe-ROUND-RAIL-NODE-NODE.out``), and what
    all gave in its ``probes.json``. ``watch`` watches a probe's processes, where it can. ``place`` is where probes run;
    None where nothing is known to start one.
    """

    site: Site
    fabric: str
    stage: Path
    ping_pong: PingPong
    watch: Callable[[], Watch | None]
    place: Place | None

    def explain(self, found: Assessment) -> Assessment:
        """Return the assessment with who was found slow, or losing packets: one rail is named, and not its partner."""
        return self._with_lossy_rails(self._with_slow_rails(found))

    @property
    def expected_alone_mb_s(self) -> float:
        """What a rail's link gives one stream; 0 where that is not known."""
        alone = self.site.system.fabrics[self.fabric].limit(1, 1, one_stream=True)
        return 0.0 if alone is None else alone.value_mb_s

    def _with_slow_rails(self, found: Assessment) -> Assessment:
        verdict, job, launch = found.verdict, found.inputs.job, found.case.launch
        slow = job.timed_out or (verdict.rule == 5 and verdict.fault == "fabric")
        # Started on every node, and then ended by itself: a rail that swallows packets does that to some stacks.
        broke = verdict.rule == 1 and bool(job.exit_code) and job.nodes_seen == job.nodes_expected
        # What the scheduler ended before its time is nobody's fault here.
        is_over = job.ended is None or job.timed_out
        is_probed = verdict.state == "fail" and (slow or broke) and is_over and not job.refused
        if not is_probed or self.place is None or len(launch.nodes) < 2:
            return found
        pairs = list(self._pairs(launch))
        for pair, others in pairs[: self.place.most_pairs]:
            try:
                findings = self.slow_rails_of(pair, others, launch)
            except NotProbed as why:
                return with_remark(found, f"no rail was measured alone, so nobody is blamed: {why}")
            # Where every probe breaks as the run did, the stack is broken and no switch is.
            if any(suspect.kind == "rail" for suspect in findings.suspects) or (findings.suspects and slow):
                return with_suspects(found, findings)
        found = with_suspects(found, findings) if slow else found
        left = pairs[self.place.most_pairs :] if self.place.most_pairs is not None else []
        return with_remark(found, f"{counted(len(left), 'pair')} of its nodes not measured alone" if left else None)

    def _with_lossy_rails(self, found: Assessment) -> Assessment:
        """Count what TCP sends again over each rail alone where it was too much: the node and rail that lose fail it.

        A node's own counter knows no rail, and the sender of what was lost is not who lost it.
        """
        launch, path = found.case.launch, found.path
        # Nobody's rail is measured while somebody else uses it.
        proven = path.state == "proven" and path.disturbance is None
        named = any(suspect.kind == "rail" for suspect in found.verdict.suspects)
        is_tcp = self.site.system.fabrics[self.fabric].kind == "tcp"
        if not (path.resends and proven and is_tcp) or named or not isinstance(self.place, Here):
            return found
        findings = None
        for pair, others in self._pairs(launch):
            findings = self.lossy_rails_of(pair, others, launch)
            if any(suspect.kind == "rail" for suspect in findings.suspects):
                break
        return found if findings is None else with_losses(found, findings)

    def _pairs(self, launch: Launch) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
        """Yield each pair of the run's nodes, with the system's other nodes."""
        for pair in zip(launch.nodes[::2], launch.nodes[1::2], strict=False):
            yield pair, tuple(name for name in self.site.system.nodes.names if name not in pair)

    def slow_rails_of(self, pair: tuple[str, str], others: Sequence[str], launch: Launch) -> Findings:
        """Return who is slow, from measuring each rail alone between the pair's nodes and good partners, in rounds.

        A pair is blamed only where both its nodes were in the run.
        """
        assert self.place is not None
        with self.place.held(pair, tuple(others), launch.meant, self._step) as held:

            def measured(probe: Probe, turn: int) -> RailProbe | None:
                watcher = self.watch() if held.is_seen else None
                text = held.output(probe, turn)
                starved = None if watcher is None else watcher.stop()
                if text is None:
                    return None
                value, expected = self.ping_pong.value(text), self.expected_alone_mb_s
                return RailProbe(probe.node_a, probe.node_b, probe.rail, value, expected, turn, starved)

            planned = plan_probes(pair, held.partners, launch.meant)
            found = slow_rails.find(planned, measured, launch.nodes, held.clock)
        _keep(found.probes, self.stage / PROBES_FILE)
        return found

    def lossy_rails_of(self, pair: tuple[str, str], others: Sequence[str], launch: Launch) -> Findings:
        """Return who loses packets, from what TCP sends again over each rail alone between the pair and good partners.

        A probe is run until LEAST_SEGMENTS were sent, or it is clear that it loses; one that sends fewer tells nothing
        and counts for nobody. A rail that is clean between the pair itself did not lose what the pair lost, and is done
        with.
        """
        made: list[LossProbe] = []
        for rail in launch.meant:
            for probe in plan_probes(pair, tuple(others), (rail,)):
                found = self._lost(probe)
                made += [] if found is None else [found]
                if (probe.node_a, probe.node_b) == pair and (found is None or not found.is_bad):
                    break
        return losers(made, launch.nodes)

    def _lost(self, probe: Probe) -> LossProbe | None:
        resent = sent = 0
        for run in range(1, MOST_RUNS + 1):
            name = f"loss-{probe.rail}-{probe.node_a}-{probe.node_b}-{run}"
            (self.stage / name).mkdir(exist_ok=True)
            # Under the counter reader, which writes to that folder.
            printed(name, self._step(probe, ("sh", READER, name, name, probe.rail, "", "--")), self.stage)
            counted = segments(self.stage / name, name)
            if counted is None:
                return None
            resent, sent = resent + counted[0], sent + counted[1]
            if not sent:
                return None
            if sends_again(resent, CLEAR_FACTOR * sent) or sent >= LEAST_SEGMENTS:
                return LossProbe(probe.node_a, probe.node_b, probe.rail, resent, sent)
        return None

    def _step(self, probe: Probe, front: tuple[str, ...] = ()) -> Step:
        """Return what a probe runs, ``front`` before each process's own words."""
        assert self.place is not None
        launch = self.ping_pong.launch(probe.rail, (probe.node_a, probe.node_b))
        return Step(launch.env, [*self.place.front(launch), *front, *self.ping_pong.words(launch)])


def segments(folder: Path, tag: str) -> tuple[int, int] | None:
    """Return the segments that both nodes of a probe sent again, and sent; None where one did not count them."""
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.counters")]
    read = [counters.parse(text, tag) for text in texts]
    pairs = [(each.resent, each.sent) for each in read if each.problem is None]
    counted = [(resent, sent) for resent, sent in pairs if resent is not None and sent is not None]
    return (sum(pair[0] for pair in counted), sum(pair[1] for pair in counted)) if len(counted) == 2 else None


def _keep(probes: Sequence[RailProbe], file: Path) -> None:
    """Write what the probes gave, in the order of time, behind what the file has."""
    kept = json.loads(file.read_text(encoding="utf-8"))["probes"] if file.exists() else []
    kept += [
        {
            "round": probe.turn, "pair": [probe.node_a, probe.node_b], "rail": probe.rail,
            "value_mb_s": probe.value_mb_s, "expected_mb_s": probe.expected_mb_s, "starved": probe.starved,
        }
        for probe in probes
    ]  # fmt: skip
    rows = ",\n".join(json.dumps(row) for row in kept)
    file.write_text(f'{{"format": 1, "probes": [\n{rows}\n]}}\n', encoding="utf-8")
