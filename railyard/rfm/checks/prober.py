"""Decides after a run who is named: a rail, from single rails measured alone, or a node or pair, from rounds of pairs.

Single rails are measured after a failure between two nodes, or if TCP sent much again. A rail that is slow or loses
packets does so with several partners: so this rail is named, and its partners are not.

A run of pairs names a node by what its later steps measured, each alone, or by each node's own pair.
"""

import json
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from railyard.base.bounds import PROBE_ROUNDS_MOST, PROBE_TIME
from railyard.base.hostlist import label
from railyard.base.wording import count_of, message_size
from railyard.job import probe_job
from railyard.job.launch import Launch
from railyard.job.probe_job import STARTED_AGAIN
from railyard.parsers.output import ParsedOutput
from railyard.rfm.checks.node_questions import Addresses, CrossedCables, PingPong, first_line, read_counters, starts
from railyard.rfm.checks.probe_places import (
    PROBE_LIMIT_S,
    HeldPair,
    LocalPlace,
    NotProbed,
    Place,
    Series,
    Step,
    limit_after,
    name_of,
)
from railyard.rfm.checks.runner import READER, text_of
from railyard.site import topology
from railyard.site.site import Site
from railyard.site.systems.measure import PROBE_DELAY_BYTES, PROBE_DELAY_SIZE_BYTES, PROBE_SIZE_BYTES
from railyard.verdict import switch_groups
from railyard.verdict.assess import Assessment
from railyard.verdict.blame import slow_rails
from railyard.verdict.blame.node_pairs import findings
from railyard.verdict.blame.search.model import Settings
from railyard.verdict.blame.slow_rails import (
    direction,
    good_partner,
    label_of,
    shared_part,
    silent_nodes,
    with_silent_nodes,
)
from railyard.verdict.blame.suspects import Findings, LossProbe, Probe, RailProbe, losers, plan_probes
from railyard.verdict.findings import probe_size, with_bad_path, with_remark, with_suspects
from railyard.verdict.hints.first_cause import never_began
from railyard.verdict.node_pairs import SampleOrigin, steps, with_lost_step, with_screening, with_slow_nodes
from railyard.verdict.path.ports import sends_again
from railyard.verdict.wording import NOBODY_BLAMED

#: TCP segments that both nodes send, acknowledgements included, before a rail counts as clean. A rail that loses one
#: packet in a hundred drops a whole piece that the kernel hands to it, up to 64 KiB (45 segments of 1448 B). Two fifths
#: of 70,000 are data, so at least 620 such pieces. On average 6.2 of them are lost; one or none is lost once in 70
#: times. The bound is 1.6.
LEAST_SEGMENTS = 70_000
#: If a rail sends again so many times as often as the bound allows, that is not chance: no further runs are needed.
CLEAR_FACTOR = 5
#: At most so many runs to send that many segments.
MOST_RUNS = 12
#: Bandwidths of single rails, and what TCP sent again over them.
PROBES, LOSSES = Series("probe", int(PROBE_ROUNDS_MOST.value)), Series("loss", MOST_RUNS)
#: If TCP sent too much again, so many seconds of the probes' time are kept for what each rail loses: over two rails
#: that lose nothing, the pair itself sends that many segments in 15 s.
LOSS_TIME_S = 30
_TIME_OVER = f"the time of all probes, {PROBE_TIME.value:g} s, was over before"
#: How often a slow rail streams each way, to find in which direction it is slow.
DIRECTION_TURNS = 3
#: The file in the probes' folder that has what was measured.
PROBES_FILE = "probes.json"


class Watch(Protocol):
    """Watches the processes of one probe from now on."""

    def stop(self) -> float | None:
        """Return the share of the time since then in which they waited for a processor; None if unknown."""


class Prober(Protocol):
    """Finds, after a run was judged, what the verdict should name."""

    def explain(self, found: Assessment) -> Assessment:
        """Return the assessment with what was found; unchanged if the run gives no reason to look."""


class Nobody:
    """Asks nobody: an application cannot tell rails apart; the micro-benchmarks can."""

    def explain(self, found: Assessment) -> Assessment:
        return found


@dataclass(frozen=True, slots=True)
class NodesThemselves:
    """Blames nodes, not rails, if a reference is missed: the sentence names the slow nodes.

    ``look_at`` is what to look at next.
    """

    look_at: str = "memory, clock, cooling and what else runs on the slow nodes"

    def explain(self, found: Assessment) -> Assessment:
        if not found.verdict.misses_reference:
            return found
        look = f"{self.look_at}: no network is involved"
        return replace(found, verdict=replace(found.verdict, fault="node", look_at=look))


@dataclass(frozen=True, slots=True)
class RailProber:
    """Measures the rails of a run alone, if the run gives a reason.

    Each probe's script and output stay in ``stage``, the run's folder (``probe-ROUND-RAIL-NODE-NODE.out``), and all
    values in its ``probes.json``. ``watch`` watches a probe's processes, if it can. ``place`` is where probes run; None
    if nothing here can start one. ``together`` is the run's own benchmark over all its rails at once. ``one_way`` is a
    stream of the tool over one rail; None for a tool without one. ``until_s``: when the time of all probes that are
    started from here is over, by the monotonic clock; those of an extra job have their own time.
    """

    site: Site
    fabric: str
    stage: Path
    ping_pong: PingPong
    watch: Callable[[], Watch | None]
    place: Place | None
    together: PingPong | None = None
    one_way: PingPong | None = None
    until_s: float = math.inf

    def explain(self, found: Assessment) -> Assessment:
        """Return the assessment with what is slow or loses packets: it names one rail, and not its partner.

        If two nodes have the same address, or two rails swapped cables, this explains all that is seen of rails.
        """
        if found.path.conflicts and found.verdict.state == "fail":
            return Addresses(self.site, self.place, self.ping_pong, self.stage).with_conflicts(found)
        if found.path.crossed and found.verdict.state == "fail":
            return CrossedCables(self.site, self.place, self.ping_pong, self.stage).with_node(found)
        size = probe_size(found, PROBE_DELAY_BYTES, PROBE_SIZE_BYTES)
        until_s = time.monotonic() + PROBE_TIME.value
        for_loss_s = LOSS_TIME_S if self._may_lose(found) else 0
        at_worst = replace(self, ping_pong=replace(self.ping_pong, size_bytes=size), until_s=until_s - for_loss_s)
        return replace(self, until_s=until_s)._with_lossy_rails(at_worst._with_slow_rails(found))

    @property
    def expected_alone_mb_s(self) -> float:
        """What a rail's link gives one stream; 0 if that is not known."""
        alone = self.site.system.fabrics[self.fabric].limit(1, 1, one_stream=True)
        return 0.0 if alone is None else alone.value_mb_s

    def _with_slow_rails(self, found: Assessment) -> Assessment:
        verdict, job, launch = found.verdict, found.inputs.job, found.case.launch
        is_uneven = verdict.rule == 4 and found.path.uneven
        slow = job.timed_out or is_uneven or (verdict.rule == 5 and verdict.fault == "fabric")
        # It started on every node and then ended by itself: a rail that swallows packets does this to some stacks.
        broke = verdict.rule == 1 and bool(job.exit_code) and job.nodes_seen == job.nodes_expected
        # If the scheduler ended it before its time, nobody here is to blame.
        is_over = job.ended is None or job.timed_out
        # A link that was lost, or flapped, is known already.
        is_known = job.is_explained or found.path.lost is not None
        is_probed = verdict.state == "fail" and (slow or broke) and is_over and not is_known
        if not is_probed or self.place is None or len(launch.nodes) < 2:
            return found
        pairs = list(self._pairs(launch))
        left = len(pairs)
        for pair, others in pairs[: self.place.most_pairs]:
            left -= 1
            try:
                findings = self.who_is_slow(pair, others, launch) if slow else self.slow_rails_of(pair, others, launch)
            except NotProbed as why:
                return with_remark(found, f"no rail was measured alone, so {NOBODY_BLAMED}: {why}")
            # If every probe breaks as the run did, the stack is broken, not a switch.
            if any(suspect.kind in ("rail", "node") for suspect in findings.suspects) or (findings.suspects and slow):
                return with_suspects(found, findings)
            if self._is_late:
                break
        found = with_suspects(found, findings) if slow else found
        return with_remark(found, f"{count_of(left, 'pair')} of its nodes not measured alone" if left else None)

    @property
    def _is_late(self) -> bool:
        return isinstance(self.place, LocalPlace) and time.monotonic() >= self.until_s

    def _with_lossy_rails(self, found: Assessment) -> Assessment:
        """If TCP sent too much again, count this over each rail alone; the node and rail that lose fail the test.

        A node's own counter does not tell rails apart, and the node that sends again is not the one that lost packets.
        """
        launch = found.case.launch
        named = any(suspect.kind == "rail" for suspect in found.verdict.suspects)
        if not self._may_lose(found) or named or self.place is None:
            return found
        findings = None
        for pair, others in list(self._pairs(launch))[: self.place.most_pairs]:
            try:
                findings = self.lossy_rails_of(pair, others, launch)
            except NotProbed as why:
                return with_remark(found, f"no rail was looked at alone for what it loses, so {NOBODY_BLAMED}: {why}")
            if any(suspect.kind == "rail" for suspect in findings.suspects):
                break
        return found if findings is None else with_bad_path(found, findings)

    def _may_lose(self, found: Assessment) -> bool:
        """Return whether TCP sent too much again over rails that nobody else used meanwhile."""
        path = found.path
        if not path.resends or path.disturbance is not None:
            return False
        return path.state == "proven" and self.site.system.fabrics[self.fabric].kind == "tcp"

    def _pairs(self, launch: Launch) -> Iterator[tuple[tuple[str, str], tuple[str, ...]]]:
        """Yield each pair of the run's nodes, with the system's other nodes."""
        for pair in zip(launch.nodes[::2], launch.nodes[1::2], strict=False):
            mine = {label(node) for node in pair}  # the scheduler may give names with a domain, the file none
            yield pair, tuple(name for name in self.site.system.nodes.names if label(name) not in mine)

    def who_is_slow(self, pair: tuple[str, str], others: Sequence[str], launch: Launch) -> Findings:
        """Return who is slow, each rail alone; if all are good, and the run was between this pair, all rails at once.

        Large messages hide a delay, and small ones a low rate. From here the other size is tried too, before all rails
        are measured at once; in a job of its own this would queue again.
        """
        alone, rails, way = self.slow_rails_of(pair, others, launch), launch.meant, self.together
        is_large = self.ping_pong.delay_bytes is None
        other = replace(self.ping_pong, size_bytes=PROBE_DELAY_SIZE_BYTES if is_large else PROBE_SIZE_BYTES)
        is_another = (other.delay_bytes is None) is not is_large
        if (
            isinstance(self.place, LocalPlace)
            and is_another
            and not alone.suspects
            and any(p.value_mb_s for p in alone.probes)
        ):
            if self._is_late:
                size = message_size(other.size_bytes)
                over = f"{_TIME_OVER} any of {size} ({PROBE_TIME.name})"
                return replace(alone, sentence=f"{alone.sentence}; {over}", is_clear=False)
            then = replace(self, ping_pong=other).slow_rails_of(pair, others, launch)
            if then.suspects:
                return then
        if way is None or not alone.is_clear or len(rails) < 2 or len(launch.nodes) != 2:
            return alone
        together = self._in_rounds(way, (label_of(rails),), pair, others, launch)
        return shared_part(alone, together, rails)

    def slow_rails_of(self, pair: tuple[str, str], others: Sequence[str], launch: Launch) -> Findings:
        """Return who is slow: each rail is measured alone between the pair's nodes and good partners, in rounds.

        A pair is blamed only if both its nodes were in the run. A node is blamed instead of its rails if it answers
        over none of them.
        """
        return self._in_rounds(self.ping_pong, launch.meant, pair, others, launch, self._ask_more)

    def _ask_more(self, found: Findings, launch: Launch, held: HeldPair) -> Findings:
        """Return the findings with two more answers: whether processes start on the nodes, and in which direction a
        slow rail is slow. The nodes are asked where the rails were measured, while they are held.
        """
        silent = silent_nodes(found, launch.meant)
        if silent:
            partner = good_partner(found, next(one for one in found.suspects if one.node in silent))
            asked = {} if partner is None else {node: self._starts(node, partner, launch, held) for node in silent}
            known = {node: does for node, does in asked.items() if does is not None}
            found = with_silent_nodes(found, launch.meant, known)
        return self._with_directions(found, held)

    def _in_rounds(
        self,
        way: PingPong,
        rails: tuple[str, ...],
        pair: tuple[str, str],
        others: Sequence[str],
        launch: Launch,
        then: "Callable[[Findings, Launch, HeldPair], Findings] | None" = None,
    ) -> Findings:
        assert self.place is not None
        way.write_files(self.stage)
        # What several rails give at once, and how long a small message takes, is compared only with other nodes.
        is_alone = way is not self.together and way.delay_bytes is None
        expected = self.expected_alone_mb_s if is_alone else 0.0
        longest_s = 0.0
        texts: list[str] = []

        # In a scheduler's job the launcher decides where processes start: the reader says on which nodes they did.
        is_counted = not isinstance(self.place, LocalPlace) and way is not self.together

        def step(probe: Probe, turn: int) -> Step:
            if is_counted:
                return self.counted_step(way, probe, name_of(PROBES, probe, turn))
            return self.step(way, probe, limit_s=limit_after(longest_s))

        with self.place.hold_pair(pair, tuple(others), rails, step, PROBES) as held:

            def measure_turn(probe: Probe, turn: int) -> RailProbe | None:
                nonlocal longest_s
                watcher, begun_s = self.watch() if held.is_seen else None, time.monotonic()
                text = held.output(probe, turn)
                starved = None if watcher is None else watcher.stop()
                if text is None:
                    return None
                texts.append(text)
                value, nodes = way.value(text), (probe.node_a, probe.node_b)
                if is_counted and value is not None:
                    refuse_one_node(self.stage / name_of(PROBES, probe, turn), probe)
                if value is not None:
                    longest_s = max(longest_s, time.monotonic() - begun_s)
                said, bug = (None, False) if value is not None else (first_line(text), never_began(text))
                return RailProbe(*nodes, probe.rail, value, expected, turn, starved, way.delay_bytes, said, bug)

            planned = plan_probes(pair, held.partners, rails)
            within_s = self.until_s - held.clock() if held.is_seen else PROBE_TIME.value
            found = slow_rails.find(planned, measure_turn, launch.nodes, held.clock, within_s)
            _keep(found.probes, self.stage / PROBES_FILE)
            found = found if then is None else then(found, launch, held)
            said = say_restarts(texts)
            return replace(found, sentence=f"{found.sentence}; {said}") if said else found

    def _with_directions(self, found: Findings, held: HeldPair) -> Findings:
        """Return the findings with the direction in which each slow rail is slow, if the tool has a stream one way."""
        if self.one_way is None or self.ping_pong.delay_bytes is not None:
            return found
        for one in found.suspects:
            partner = good_partner(found, one)
            if one.kind != "rail" or one.node is None or one.rail is None or partner is None:
                continue
            if not any(p.value_mb_s for p in found.probes if p.rail == one.rail and one.node in (p.node_a, p.node_b)):
                continue
            said = self._direction(one.node, partner, one.rail, held)
            if said:
                suspects = [
                    replace(each, reason=f"{each.reason}; {said}") if each is one else each for each in found.suspects
                ]
                sentence = found.sentence.replace(one.reason, f"{one.reason}; {said}")
                found = replace(found, suspects=tuple(suspects), sentence=sentence)
        return found

    def _direction(self, node: str, partner: str, rail: str, held: HeldPair) -> str:
        assert self.one_way is not None
        self.one_way.write_files(self.stage)
        ways: dict[tuple[str, str], list[float | None]] = {(node, partner): [], (partner, node): []}
        for turn in range(1, DIRECTION_TURNS + 1):
            for (first, second), values in ways.items():
                probe = Probe(first, second, rail)
                text, is_proven = self.measure_stream(probe, f"one-way-{turn}-{rail}-{first}-{second}", held)
                value = None if text is None else self.one_way.value(text)
                # The job's time is over, it never began, or nobody knows which way it went: nothing is said about it.
                if text is None or (value is None and never_began(text)) or (value is not None and not is_proven):
                    return ""
                values.append(value)
        return direction(node, partner, ways[node, partner], ways[partner, node])

    def _starts(self, node: str, partner: str, launch: Launch, held: HeldPair) -> bool | None:
        """Return whether a process starts on a node together with one on its partner; None if that was not asked."""
        assert self.place is not None
        return starts(self.place.front, self.ping_pong.launch(launch.meant[0], (partner, node)), held)

    def lossy_rails_of(self, pair: tuple[str, str], others: Sequence[str], launch: Launch) -> Findings:
        """Return who loses packets, from what TCP sends again over each rail alone between the pair and good partners.

        A probe runs until LEAST_SEGMENTS were sent, or until it is clear that it loses packets. One that sends fewer
        shows nothing and does not count. A rail that is clean between the pair itself did not lose what the pair lost,
        and is not measured further.
        """
        assert self.place is not None
        made: list[LossProbe] = []
        self.ping_pong.write_files(self.stage)
        with self.place.hold_pair(pair, tuple(others), launch.meant, self._loss_step, LOSSES) as held:
            for rail in launch.meant:
                for probe in plan_probes(pair, held.partners, (rail,)):
                    found = self._measure_loss(held, probe)
                    made += [] if found is None else [found]
                    if (probe.node_a, probe.node_b) == pair and (found is None or not found.is_bad):
                        break
            findings, is_late = losers(made, launch.nodes), self._is_over(held)
        over = f"{_TIME_OVER} all rails were measured for what they lose ({PROBE_TIME.name})"
        return replace(findings, sentence=f"{findings.sentence}; {over}") if is_late else findings

    def _is_over(self, held: HeldPair) -> bool:
        """Return whether the time of all probes is over. A job of their own is as long as all its probes."""
        return held.is_seen and held.clock() >= self.until_s

    def _measure_loss(self, held: HeldPair, probe: Probe) -> LossProbe | None:
        resent = sent = 0
        for run in range(1, LOSSES.rounds + 1):
            if self._is_over(held):
                return None
            name = name_of(LOSSES, probe, run)
            counted = None if held.output(probe, run) is None else segments(self.stage / name)
            if counted is None:
                return None
            resent, sent = resent + counted[0], sent + counted[1]
            if not sent:
                return None
            if sends_again(resent, CLEAR_FACTOR * sent) or sent >= LEAST_SEGMENTS:
                return LossProbe(probe.node_a, probe.node_b, probe.rail, resent, sent)
        return None

    def step(self, way: PingPong, probe: Probe, front: tuple[str, ...] = (), limit_s: int = PROBE_LIMIT_S) -> Step:
        """Return what a probe runs, with ``front`` before each process's own words."""
        assert self.place is not None
        launch = way.launch(probe.rail, (probe.node_a, probe.node_b))
        return Step(launch.env, [*self.place.front(launch, limit_s), *front, *way.words(launch, way.size_bytes)])

    def measure_stream(self, probe: Probe, name: str, held: HeldPair) -> tuple[str | None, bool]:
        """Return what a stream from the first of two nodes printed, and whether it is known that it went that way.

        A stream that is started from here goes the way that was asked for. In a scheduler's job a launcher may use its
        own order of nodes (Hydra under Slurm does): there the counters of both nodes must show the direction.
        """
        assert self.one_way is not None
        if held.is_seen:
            return held.answer(name, self.step(self.one_way, probe)), True
        text = held.answer(name, self.counted_step(self.one_way, probe, name))
        sender = node_that_sent(self.stage / name, probe.rail, self.site.system.counter_drivers)
        return text, sender == label(probe.node_a)

    def counted_step(self, way: PingPong, probe: Probe, name: str) -> Step:
        """Return what a probe runs under the counter reader, which writes to a folder of the probe's own, ``name``."""
        return replace(self.step(way, probe, ("sh", READER, name, name, probe.rail, "", "--")), folder=name)

    def _loss_step(self, probe: Probe, turn: int) -> Step:
        return self.counted_step(self.ping_pong, probe, name_of(LOSSES, probe, turn))


def say_restarts(texts: Sequence[str]) -> str:
    """Return how many probes were started again, and how many never began, by what each printed; empty if none."""
    again = [text for text in texts if STARTED_AGAIN in text]
    never = sum(never_began(text) for text in again)
    said = f"{count_of(len(again), 'probe')} started again after a bug of the launcher" if again else ""
    return f"{said}, and {never} of them never began: they do not count" if never else said


def refuse_one_node(folder: Path, probe: Probe) -> None:
    """Raise NotProbed if both processes of a probe ran on one node: what it measured says nothing about a rail.

    Intel MPI 2021.18 did this in jobs of Grid Engine and PBS: there it takes the nodes, and how many processes each
    gets, from the scheduler, whatever its options say.
    """
    nodes = [each.node for each in read_counters(folder)]
    if len(nodes) == 1:
        raise NotProbed(
            f"the launcher put both processes of a measurement between {probe.node_a} and {probe.node_b} on {nodes[0]}"
        )


def segments(folder: Path) -> tuple[int, int] | None:
    """Return the segments that both nodes of a probe sent again, and sent; None if one did not count them."""
    pairs = [(each.resent, each.sent) for each in read_counters(folder) if each.problem is None]
    counted = [(resent, sent) for resent, sent in pairs if resent is not None and sent is not None]
    return (sum(pair[0] for pair in counted), sum(pair[1] for pair in counted)) if len(counted) == 2 else None


def node_that_sent(folder: Path, rail: str, drivers: Mapping[str, str]) -> str | None:
    """Return which of a stream's two nodes sent more over a rail than it received, by its counters.

    ``drivers`` maps devices to rows of the counters' table. None if a counter is missing, or if the counters contradict
    each other.
    """
    found = {each.node: each.device(rail) for each in read_counters(folder, drivers) if each.problem is None}
    sent = {}
    for node, device in found.items():
        if device is None or device.tx.delta_bytes is None or device.rx.delta_bytes is None:
            return None
        sent[node] = device.tx.delta_bytes > device.rx.delta_bytes
    senders = [node for node, more in sent.items() if more]
    return label(senders[0]) if len(sent) == 2 and len(senders) == 1 else None


def _keep(probes: Sequence[RailProbe], file: Path) -> None:
    """Append what the probes gave to the file, in the order of time."""
    kept = json.loads(file.read_text(encoding="utf-8"))["probes"] if file.exists() else []
    kept += [
        {
            "round": probe.turn, "pair": [probe.node_a, probe.node_b], "rail": probe.rail,
            "value_mb_s": probe.value_mb_s, "expected_mb_s": probe.expected_mb_s, "starved": probe.starved,
            "size_bytes": probe.size_bytes, "said": probe.said,
        }
        for probe in probes
    ]  # fmt: skip
    rows = ",\n".join(json.dumps(row) for row in kept)
    file.write_text(f'{{"format": 1, "probes": [\n{rows}\n]}}\n', encoding="utf-8")


@dataclass(frozen=True, slots=True)
class WithinNodesProber:
    """Names the nodes whose own pair is slow. After a run that broke, it measures rails as any other test does."""

    rails: RailProber

    def explain(self, found: Assessment) -> Assessment:
        return with_slow_nodes(found) if found.verdict.misses_reference else self.rails.explain(found)


@dataclass(frozen=True, slots=True)
class BisectionProber:
    """Names nobody for a low value: all pairs at once over the middle of the network cannot tell nodes apart."""

    rails: RailProber

    def explain(self, found: Assessment) -> Assessment:
        return found if found.verdict.misses_reference else self.rails.explain(found)


@dataclass(frozen=True, slots=True)
class AllPairsProber:
    """Names who is slow from all steps together.

    ``least`` is what a pair must give by the references, in MB/s; ``repeats`` is how often each was measured again;
    ``parse`` reads a step's output, which is in ``stage``.
    """

    rails: RailProber
    stage: Path
    parse: Callable[[str], ParsedOutput]
    repeats: int
    least: float | None
    places: topology.Places

    def explain(self, found: Assessment) -> Assessment:
        return (
            with_suspects(found, self._findings(found)) if found.verdict.misses_reference else self.rails.explain(found)
        )

    def _findings(self, found: Assessment) -> Findings:
        meant = found.case.launch.meant
        texts = {rail: text_of(self.stage / probe_job.rail_output(rail)) for rail in meant}
        rails = {rail: table for rail, text in texts.items() for table in steps([text], self.parse)}
        return findings(
            found.pair_tables, Settings(repeats=self.repeats), self.least, rails, meant,
            self.rails.expected_alone_mb_s, self.places,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SampleProber:
    """Names who is slow from the screening of a sample, and says what the sample covered.

    ``ran`` are the later steps that ran.
    """

    rails: RailProber
    sampled: SampleOrigin
    places: topology.Places
    up_links: int | None
    ran: tuple[str, ...]

    def explain(self, found: Assessment) -> Assessment:
        if found.verdict.fails and not found.verdict.misses_reference:
            return self.rails.explain(found)
        return with_lost_step(with_screening(found, self.sampled, self.places, self.up_links), self.ran)


@dataclass(frozen=True, slots=True)
class SwitchGroupsProber:
    """Names who is slow from the screening of all rounds, and says what leaf switches carried.

    ``up_links_of`` returns what is known about up-links. ``ran`` are the later steps that ran, ``live`` is what the
    job's scheduler stated, ``messages`` the output of the launch with short messages; each is empty if there is none.
    """

    rails: RailProber
    sampled: SampleOrigin
    places: topology.Places
    up_links: int | None
    ran: tuple[str, ...]
    up_links_of: Callable[[topology.Places], switch_groups.UpLinksRead]
    live: str
    messages: str

    def explain(self, found: Assessment) -> Assessment:
        if found.verdict.fails and not found.verdict.misses_reference:
            return self.rails.explain(found)
        live = topology.places_in_job(self.places, self.live, probe_job.LIVE_SWITCHES, found.case.launch.nodes)
        bound, remarks = self.up_links_of(live.places)
        said = (*switch_groups.say_places(live), *remarks)
        certainty = switch_groups.certainty_of(live)
        known = switch_groups.SwitchesKnown(live.places, self.up_links, bound, said, certainty)
        messages = switch_groups.short_messages(self.messages)
        return with_lost_step(switch_groups.with_switch_groups(found, self.sampled, known, messages), self.ran)
