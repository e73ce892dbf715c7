"""The direction that a stream leaves out: each rail alone from its receiver back to its sender, after a run passed.

A rail of a node may be slow only in what it sends. A stream to that node does not show this, and a ping-pong shows it
only if the rail is much slower. One stream per rail the other way sees it. If that is slow, streams with other nodes
show whether one node sends slowly or the other receives slowly. If the run's own direction is now slow too, somebody
disturbed it. A stream without a result never counts as slow: the verdict says that the direction was not measured, and
why.

From here each stream is started when it is needed. Under a scheduler the run's own job has made them (``WayBack``);
nodes are requested again only if one of these streams was low or gave nothing.

No step can be started from here there, and an extra job would queue after each run that passed. But the run's own job
still has the nodes. Once its benchmark has ended, its script runs the steps as a job of probes does
(``job.probe_job``), with the other node first. The counters of both nodes
prove which way a stream went: a launcher with its own order of nodes proves nothing.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from railyard.base.bounds import PROBE_SLOW_SHARE
from railyard.base.errors import RailyardError
from railyard.base.hostlist import label
from railyard.base.wording import listing, number, percent
from railyard.job import probe_job
from railyard.job.launch import Launch
from railyard.results.record.form import Suspect
from railyard.rfm.checks.node_questions import first_line
from railyard.rfm.checks.plan import Plan
from railyard.rfm.checks.probe_places import (
    PROBE_LIMIT_S,
    HeldPair,
    InJob,
    LocalPlace,
    NodesJob,
    NotProbed,
    Series,
    name_of,
    no_step,
)
from railyard.rfm.checks.prober import RailProber, node_that_sent
from railyard.site.systems.jobs import FAMILIES
from railyard.verdict.assess import Assessment
from railyard.verdict.blame.suspects import Findings, Probe
from railyard.verdict.findings import with_remark, with_slow_way
from railyard.verdict.wording import NOBODY_BLAMED

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
                    if node_that_sent(stage / output.stem, rail, self._drivers) == label(sender):
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
        return self.rails.site.system.counter_drivers

    def _single_rail_launch(self, rail: str) -> Launch:
        assert self.rails.one_way is not None
        return self.rails.one_way.launch(rail, probe_job.PARTNERS)


#: How often a slow stream is tried: a disturbance only lowers a value, so the best one counts.
TRIES = 3
#: Number of other nodes that show whether the sender or the receiver is slow.
PARTNERS = 2
#: Streams one way: nothing is planned, each is started when it is needed.
WAYS = Series("way", 0)
_NO_STREAM = "the run's job left no stream that its counters prove"


@dataclass(frozen=True, slots=True)
class OneWayProber:
    """Asks ``rails`` after a failure. After a pass it says that one direction was measured; ``seen_by`` see both."""

    rails: RailProber
    seen_by: str

    def explain(self, found: Assessment) -> Assessment:
        """Return the assessment with the node or rail that was found slow, or the direction that was not measured."""
        return _only_one(self.rails.explain(found), self.seen_by)


def _only_one(found: Assessment, seen_by: str) -> Assessment:
    nodes = found.case.launch.nodes
    # With a recording no direction could be measured at all.
    if len(nodes) != 2 or found.verdict.state != "pass" or found.path.state != "proven":
        return found
    remark = f"only the direction from {nodes[0]} to {nodes[1]} was measured: {seen_by} see the other"
    return with_remark(found, remark)


@dataclass(frozen=True, slots=True)
class _Way:
    """The best of some streams one way, in MB/s; None if none gave a result; ``why`` is then what was printed first."""

    value_mb_s: float | None
    why: str = ""

    def reaches(self, bound: float) -> bool:
        return self.value_mb_s is not None and self.value_mb_s >= bound

    def is_below(self, bound: float) -> bool:
        return self.value_mb_s is not None and self.value_mb_s < bound

    def __str__(self) -> str:
        return f"not measured ({self.why})" if self.value_mb_s is None else f"{number(self.value_mb_s)} MB/s"


@dataclass(frozen=True, slots=True)
class OtherWayProber:
    """Asks ``rails`` after a failure, and after a pass measures each rail alone the other way by its short stream.

    ``back`` is what the run's own job measured of it; None if the streams are started from here. If neither is
    possible, the verdict says that one direction was measured, and names ``seen_by``, the tests that see both.
    """

    rails: RailProber
    seen_by: str
    back: WayBack | None = None

    def explain(self, found: Assessment) -> Assessment:
        """Return the assessment with who was found slow, and with what each rail gives the other way."""
        found = self.rails.explain(found)
        nodes, bound = found.case.launch.nodes, PROBE_SLOW_SHARE.value * self.rails.expected_alone_mb_s
        is_here = isinstance(self.rails.place, LocalPlace)
        if (not is_here and self.back is None) or self.rails.one_way is None or not bound:
            return _only_one(found, self.seen_by)
        if len(nodes) != 2 or found.verdict.state != "pass":
            return found
        if is_here:
            return self._assess_streams(found, bound)
        return found if found.path.state != "proven" else self._assess_outputs(found, bound)

    def _assess_outputs(self, found: Assessment, bound: float) -> Assessment:
        """Return the assessment from what the run's job left; what is low or missing is measured again."""
        assert self.back is not None
        sender, receiver = found.case.launch.nodes
        ways = {rail: _Way(self.back.value_mb_s(rail, receiver), _NO_STREAM) for rail in found.case.launch.meant}
        said = _say_each_way(receiver, sender, ways)
        if all(way.reaches(bound) for way in ways.values()):
            return with_remark(found, said)
        why = "its system has probes_within: 0" if self.rails.place is None else ""
        try:
            if not why:
                return self._assess_streams(found, bound)
        except NotProbed as not_probed:
            why = str(not_probed)
        # No such stream went the first way, so its own shortfall is allowed for once more.
        low = next((rail for rail, way in ways.items() if way.is_below(bound * PROBE_SLOW_SHARE.value)), None)
        if low is None:
            return with_remark(found, f"{said}; {why}")
        reason = f"it is unknown whether {sender} or {receiver} is slow: {why}"
        bound_words = f"{self._bound}, applied twice, since no such stream went the other way"
        sentence = f"{low} carries {ways[low]} from {receiver} to {sender}, alone ({bound_words}); {reason}"
        return with_slow_way(found, Findings((Suspect("pair", reason, None, low),), sentence))

    def _assess_streams(self, found: Assessment, bound: float) -> Assessment:
        """Return the assessment from streams that are made now. Raises NotProbed if no nodes are given for them."""
        place, stream, launch = self.rails.place, self.rails.one_way, found.case.launch
        assert place is not None and stream is not None
        stream.write_files(self.rails.stage)
        pair = (launch.nodes[0], launch.nodes[1])
        mine = {label(node) for node in pair}
        others = tuple(name for name in self.rails.site.system.nodes.names if label(name) not in mine)
        with place.hold_pair(pair, others, launch.meant, no_step, WAYS) as held:
            return self._judge_streams(found, bound, held)

    def _judge_streams(self, found: Assessment, bound: float, held: HeldPair) -> Assessment:
        sender, receiver = found.case.launch.nodes
        ways: dict[str, _Way] = {}
        for rail in found.case.launch.meant:
            way = ways[rail] = self._best(rail, (receiver, sender), bound, held)
            if not way.is_below(bound):
                continue
            own = self._best(rail, (sender, receiver), bound, held)
            low = f"{rail} carries {way} from {receiver} to {sender}, and back {own}, each alone ({self._bound})"
            if own.value_mb_s is None:
                return with_remark(found, f"{low}; {NOBODY_BLAMED}, since that may be a disturbance")
            if own.is_below(bound):
                return with_remark(found, f"disturbed: {low}, but more in the run itself; {NOBODY_BLAMED} for that")
            # A short stream may be near the bound both ways: only a direction that falls behind the other is slow.
            behind = PROBE_SLOW_SHARE.value * own.value_mb_s
            if not way.is_below(behind):
                continue
            return with_slow_way(found, self._find_blame(rail, (sender, receiver), behind, low, held))
        return with_remark(found, _say_each_way(receiver, sender, ways))

    @property
    def _bound(self) -> str:
        """The bound of a stream over one rail, in words."""
        share, of = percent(PROBE_SLOW_SHARE.value), number(self.rails.expected_alone_mb_s)
        return f"bound {share} of {of} MB/s, {PROBE_SLOW_SHARE.name}"

    def _find_blame(self, rail: str, nodes: tuple[str, str], bound: float, low: str, held: HeldPair) -> Findings:
        """Return whether the receiver sends slowly or the sender receives slowly: both are tried with other nodes."""
        sender, receiver = nodes
        others = held.partners[:PARTNERS]
        sent = [self._best(rail, (receiver, other), bound, held) for other in others]
        received = [self._best(rail, (other, sender), bound, held) for other in others]
        to, from_ = _values(sent, others), _values(received, others)
        if any(each.value_mb_s is None for each in (*sent, *received)):
            reason = f"it is unknown which of the two is slow: {receiver} to others {to}, others to {sender} {from_}"
            return Findings((Suspect("pair", reason, None, rail),), f"{low}; {reason}")
        if others and _all_below(sent, bound) and _all_reach(received, bound):
            reason = f"only what {receiver} sends over {rail} is slow: {to} to others, which send {from_} to {sender}"
            return Findings((Suspect("rail", reason, receiver, rail),), f"{low}; {reason}")
        if others and _all_below(received, bound) and _all_reach(sent, bound):
            reason = f"only what {sender} receives over {rail} is slow: {from_} from others, which get {to}"
            return Findings((Suspect("rail", reason, sender, rail),), f"{low}; {reason}")
        reason = f"{rail} is slow only from {receiver} to {sender}, and no node by itself: the path between them is"
        return Findings((Suspect("pair", reason, None, rail),), f"{low}; {reason}")

    def _best(self, rail: str, nodes: tuple[str, str], bound: float, held: HeldPair) -> _Way:
        """Return the best of some streams from the first of two nodes; one that reaches the bound is enough."""
        best = _Way(None, "it printed nothing")
        stream = self.rails.one_way
        assert stream is not None
        probe = Probe(*nodes, rail)
        for turn in range(1, TRIES + 1):
            text, is_proven = self.rails.measure_stream(probe, name_of(WAYS, probe, turn), held)
            value = None if text is None else stream.value(text)
            if value is not None and not is_proven:
                return _Way(None, f"no counters prove that {nodes[0]} sent it: its launcher may order nodes itself")
            if value is not None:
                best = _Way(max(best.value_mb_s or 0.0, value))
            elif best.value_mb_s is None and text is None:
                best = _Way(None, "the job for it had no time left")
            elif best.value_mb_s is None and (line := first_line(text or "")) is not None:
                best = _Way(None, f'"{line}"')
            if text is None or best.reaches(bound):
                break
        return best


def _say_each_way(sender: str, receiver: str, ways: Mapping[str, _Way]) -> str:
    return f"from {sender} to {receiver}, each rail alone: {listing([f'{rail} {way}' for rail, way in ways.items()])}"


def _all_below(ways: Sequence[_Way], bound: float) -> bool:
    return all(way.is_below(bound) for way in ways)


def _all_reach(ways: Sequence[_Way], bound: float) -> bool:
    return all(way.reaches(bound) for way in ways)


def _values(ways: Sequence[_Way], nodes: Sequence[str]) -> str:
    return listing([f"{way} ({node})" for way, node in zip(ways, nodes, strict=True)])


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
    if not plan.launch.meant or not plan.site.system.fabrics[plan.test.fabric].has_counters:
        return None
    # Also if a site wants no jobs of probes: these steps belong to the run's own job.
    place = InJob(plan.site, rails.stage, plan.scheduling.launcher, plan.test.stack, _no_job)
    return WayBack(replace(rails, place=place), plan.launch, plan.scheduling.limit_s)


def _no_job() -> NodesJob:
    raise AssertionError("the steps of the way back are the run's own job's")
