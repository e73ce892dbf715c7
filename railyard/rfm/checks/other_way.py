"""The direction that a stream leaves out: each rail alone from its receiver back to its sender, after a run passed.

A rail of a node may be slow in what it sends alone, which neither a stream to that node nor, as long as it is little,
a ping-pong shows. One stream a rail the other way sees it. Where it is slow, streams with other nodes tell whether the
one sends slowly or the other receives slowly; where the run's own direction is slow by now too, somebody disturbed it.
A stream without a result is never taken for a slow one: it is said that the direction was not measured, and why.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from railyard.base.bounds import PROBE_SLOW_SHARE
from railyard.base.wording import listing, number, percent
from railyard.results.record.form import Suspect
from railyard.rfm.checks.ping_pong import first_line
from railyard.rfm.checks.probe_places import Here, printed
from railyard.rfm.checks.prober import RailProber
from railyard.verdict.assess import Assessment
from railyard.verdict.blame.suspects import Findings, Probe
from railyard.verdict.findings import with_remark, with_slow_way

#: A stream that is slow is made again so often: a disturbance only lowers a value, so the best one counts.
TRIES = 3
#: Other nodes that tell sender from receiver.
PARTNERS = 2


@dataclass(frozen=True, slots=True)
class OneWay:
    """Asks ``rails`` after a failure, and says after a pass that one direction was measured; ``seen_by`` see both."""

    rails: RailProber
    seen_by: str

    def explain(self, found: Assessment) -> Assessment:
        """Return the assessment with who was found slow, or with which direction nobody measured."""
        return _only_one(self.rails.explain(found), self.seen_by)


def _only_one(found: Assessment, seen_by: str) -> Assessment:
    nodes = found.case.launch.nodes
    # Of a recording no direction could be measured at all.
    if len(nodes) != 2 or found.verdict.state != "pass" or found.path.state != "proven":
        return found
    remark = f"only the direction from {nodes[0]} to {nodes[1]} was measured: {seen_by} see the other"
    return with_remark(found, remark)


@dataclass(frozen=True, slots=True)
class _Way:
    """The best of some streams one way, in MB/s; None where none gave a result, and ``why``: what was printed first."""

    value_mb_s: float | None
    why: str = ""

    def reaches(self, bound: float) -> bool:
        return self.value_mb_s is not None and self.value_mb_s >= bound

    def is_below(self, bound: float) -> bool:
        return self.value_mb_s is not None and self.value_mb_s < bound

    def __str__(self) -> str:
        return f"not measured ({self.why})" if self.value_mb_s is None else f"{number(self.value_mb_s)} MB/s"


@dataclass(frozen=True, slots=True)
class OtherWay:
    """Asks ``rails`` after a failure, and after a pass measures each rail alone the other way by its short stream.

    Only where a probe can be started from here: on a testbed, or as a step of our own allocation. A job of its own for
    it would have to wait for its nodes after each run that passed: there it is said that one direction was measured,
    and ``seen_by``, the tests that see both.
    """

    rails: RailProber
    seen_by: str

    def explain(self, found: Assessment) -> Assessment:
        """Return the assessment with who was found slow, and with what each rail gives the other way."""
        found = self.rails.explain(found)
        nodes, bound = found.case.launch.nodes, PROBE_SLOW_SHARE.value * self.rails.expected_alone_mb_s
        if not isinstance(self.rails.place, Here) or self.rails.one_way is None or not bound:
            return _only_one(found, self.seen_by)
        if len(nodes) != 2 or found.verdict.state != "pass":
            return found
        return self._passed(found, nodes[0], nodes[1], bound)

    def _passed(self, found: Assessment, sender: str, receiver: str, bound: float) -> Assessment:
        said: list[str] = []
        for rail in found.case.launch.meant:
            way = self._best(rail, receiver, sender, bound)
            said.append(f"{rail} {way}")
            if not way.is_below(bound):
                continue
            own = self._best(rail, sender, receiver, bound)
            low = (
                f"{rail} carries {way} from {receiver} to {sender}, and back {own}, each alone (bound "
                f"{percent(PROBE_SLOW_SHARE.value)} of {number(self.rails.expected_alone_mb_s)} MB/s, "
                f"{PROBE_SLOW_SHARE.name})"
            )
            if own.value_mb_s is None:
                return with_remark(found, f"{low}; nobody is blamed, since that may be a disturbance")
            if own.is_below(bound):
                return with_remark(found, f"disturbed: {low}, and more in the run itself; nobody is blamed for that")
            return with_slow_way(found, self._blamed(rail, sender, receiver, bound, low))
        return with_remark(found, f"from {receiver} to {sender}, each rail alone: {listing(said)}")

    def _blamed(self, rail: str, sender: str, receiver: str, bound: float, low: str) -> Findings:
        """Return whether ``receiver`` sends slowly or ``sender`` receives slowly, by what both do with other nodes."""
        known = self.rails.site.system.nodes.names
        others = [name for name in known if name not in (sender, receiver)][:PARTNERS]
        sent = [self._best(rail, receiver, other, bound) for other in others]
        received = [self._best(rail, other, sender, bound) for other in others]
        to, from_ = _values(sent, others), _values(received, others)
        if any(each.value_mb_s is None for each in (*sent, *received)):
            reason = f"who of the two is slow was not found: {receiver} to others {to}, others to {sender} {from_}"
            return Findings((Suspect("pair", reason, None, rail),), f"{low}; {reason}")
        if others and _all_below(sent, bound) and _all_reach(received, bound):
            reason = f"only what {receiver} sends over {rail} is slow: {to} to others, which send {from_} to {sender}"
            return Findings((Suspect("rail", reason, receiver, rail),), f"{low}; {reason}")
        if others and _all_below(received, bound) and _all_reach(sent, bound):
            reason = f"only what {sender} receives over {rail} is slow: {from_} from others, which get {to}"
            return Findings((Suspect("rail", reason, sender, rail),), f"{low}; {reason}")
        reason = f"{rail} is slow from {receiver} to {sender} alone, and no node by itself: the path between them"
        return Findings((Suspect("pair", reason, None, rail),), f"{low}; {reason}")

    def _best(self, rail: str, sender: str, receiver: str, bound: float) -> _Way:
        """Return the best of some streams; one that reaches the bound is enough."""
        best = _Way(None, "it printed nothing")
        stream = self.rails.one_way
        assert stream is not None
        self.rails.write_files(stream)
        step = self.rails.step(stream, Probe(sender, receiver, rail))
        for turn in range(1, TRIES + 1):
            text = printed(f"way-{turn}-{rail}-{sender}-{receiver}", step, self.rails.stage)
            value = stream.value(text)
            if value is not None:
                best = _Way(max(best.value_mb_s or 0.0, value))
            elif best.value_mb_s is None and (line := first_line(text)) is not None:
                best = _Way(None, f'"{line}"')
            if best.reaches(bound):
                break
        return best


def _all_below(ways: Sequence[_Way], bound: float) -> bool:
    return all(way.is_below(bound) for way in ways)


def _all_reach(ways: Sequence[_Way], bound: float) -> bool:
    return all(way.reaches(bound) for way in ways)


def _values(ways: Sequence[_Way], nodes: Sequence[str]) -> str:
    return listing([f"{way} ({node})" for way, node in zip(ways, nodes, strict=True)])
