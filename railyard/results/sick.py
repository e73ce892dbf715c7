"""From the suspects of stored verdicts to the list of sick parts: each once, since when, and whether it passed since.

A rail is also sick if gates saw that its link went down too often (``railyard.results.flaps``).

A suspect counts if its test failed (also as an expected failure). A disturbed test blames nobody. Replays and
rehearsals measure nothing. A suspect of kind ``stack`` is a setting, not a part.

Sick parts are written as format 1.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from railyard.base.hostlist import label
from railyard.base.json_codec import encode
from railyard.base.values import one_line, utc_time
from railyard.base.wording import count_of, few
from railyard.results.flaps import FlapReport, FlapState, NodePort
from railyard.results.record.form import FaultClass, Record, State, Suspect
from railyard.results.record.headline import suspect_name
from railyard.results.record.pair_rows import PairsRecord
from railyard.results.store.verify import is_of_the_future

#: The kinds of parts: a whole node; one rail of a node; one GPU of a node with its path; a path between two nodes; the
#: switch of a rail; a leaf switch; a cable between a leaf switch and a spine.
Kind = Literal["node", "rail", "gpu", "pair", "switch", "leaf", "up-link"]
#: How sure the surest verdict is; "named": the verdicts blame the part, but do not say how sure they are.
Sure = Literal["shown", "likely", "named", "open"]
#: "passed since": the same benchmark failed because of the part, and passed over it later.
PartState = Literal["sick", "passed since"]

Extra = Mapping[str, object]  # keys of a newer Railyard that this one does not know
FORMAT = 1


@dataclass(frozen=True, slots=True)
class SeenTest:
    """One test that blames a part, or that passed over it: its run, its name, and when it was recorded (UTC)."""

    run: str
    test: str
    time: str
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class SeenFlaps:
    """How often the link of a rail went down, by the counters that gates of its node keep.

    ``per_day`` is the most in any 24 hours; ``first`` and ``last`` are the times of the gates that saw it (UTC);
    ``quiet_since`` is since when gates saw no flap. ``good_from`` is when the rail counts as good again if it stays
    quiet, or since when it does.
    """

    state: FlapState
    count: int
    per_day: float
    first: str
    last: str
    quiet_since: str
    good_from: str | None = None
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class SickPart:
    """One part, with the evidence of the newest verdict that blames it.

    ``node`` is its node, None for a part that does not belong to a node. ``nodes`` are the nodes that it concerns: the
    two of a pair, or all nodes of a leaf that the verdict names. ``rail`` is the name of a rail, ``part`` that of a
    GPU, a leaf or an up-link. ``sentence`` is the verdict's, its failure's class ``class``, and ``look_at`` what to
    look at next. ``first`` and ``last`` are the oldest and the newest test that blames it; ``runs`` are all runs that
    do, ``tests`` the names of all tests, the newest first. ``passed`` is the newest test that has passed over it since
    and is like one that blamed it: same fabric, benchmark, rails and policy. ``flaps``: how often the rail's link went
    down between gates. What only gates saw has no run; its test is `railyard gate`, which passes when the rail was
    quiet for long enough.
    """

    system: str
    kind: Kind
    name: str
    evidence: str
    sentence: str
    confidence: Sure
    state: PartState
    first: SeenTest
    last: SeenTest
    node: str | None = None
    nodes: tuple[str, ...] = ()
    rail: str | None = None
    part: str | None = None
    class_: FaultClass | None = None
    look_at: str | None = None
    runs: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    passed: SeenTest | None = None
    flaps: SeenFlaps | None = None
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class SickList:
    """All requested sick parts, the newest first, and sentences on what is not in the list.

    ``made`` is when the list was made (UTC), ``tests`` the number of stored tests behind it.
    """

    made: str
    tests: int
    sick: tuple[SickPart, ...] = ()
    left_out: tuple[str, ...] = ()
    extra: Extra = field(default_factory=dict, kw_only=True)

    def to_json(self) -> dict[str, Any]:
        """Return the list as JSON values, ``format`` first."""
        values: dict[str, Any] = encode(self)
        return {"format": FORMAT} | values


#: The meaning of each word for how sure the verdicts are.
SURE: Mapping[str, str] = {
    "shown": "measured again against good partners, and nothing smaller explains it",
    "likely": "the figures fit and nothing contradicts them, but they are too few to show it",
    "named": "a failed test or a gate blames it",
    "open": "something is wrong there, and the tests cannot tell what: nobody is blamed yet",
}
#: What to try for each kind of part, after what its verdict says to look at.
NEXT: Mapping[Kind, str] = {
    "node": "compare its settings with its neighbours' (railyard doctor --nodes), look at its kernel log, and gate it "
    "alone (railyard gate --traffic)",
    "rail": "look at the card, its slot and its cable (railyard fabric, railyard doctor --nodes), reseat or swap the "
    "cable, and gate the node with a good neighbour (railyard gate --traffic --neighbour)",
    "gpu": "look at the GPU, its slot, and the way from it to its card (nvidia-smi topo -m, NVLink's error counters)",
    "pair": "both nodes may be good: look at the way between them (routes, cables between switches), and measure each "
    "with a third node",
    "switch": "look at the switch and its cables; all nodes behind it are slow",
    "leaf": "look at the leaf switch and at its up-links; its nodes are good among themselves",
    "up-link": "look at the error counters of both its ports (railyard fabric as root), and swap its cable",
}
#: The test of a rail that only gates saw, and what to look at next.
GATE = "railyard gate"
_FLAPS_NEXT = "its cable, its optics (railyard fabric with mlxlink -m or ethtool -m) and the switch port"
#: A test in one of these states may blame parts.
_BLAMING: tuple[State, ...] = ("fail", "xfail")
#: The surest first.
_SURE: tuple[Sure, ...] = ("shown", "likely", "named", "open")
_FIRST_PORT = ":1"
#: The check that looks at every rail of a fabric but sends nothing.
_FABRIC_STATE = "fabric/state"
_KINDS: dict[str, Kind] = {
    "node": "node", "rail": "rail", "gpu": "gpu", "pair": "pair", "switch": "switch", "leaf": "leaf",
    "up-link": "up-link",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Key:
    """What makes two suspects one part."""

    system: str
    kind: Kind
    nodes: tuple[str, ...]
    rail: str | None
    part: str | None


#: All tests that blame a part, the newest first, each with what it says about the part.
_Seen = list[tuple[Record, Suspect]]


def sick_list(
    records: Iterable[Record], now: datetime, run: str | None = None, ports: Sequence[NodePort] = ()
) -> SickList:
    """Return the sick parts that these records blame; ``run``: only those that this run blames.

    ``ports``: those whose flaps gates saw; a rail that flaps is sick, whatever tests say. A record that a wrong clock
    dated after ``now`` is left out, since it would hide later passes.
    """
    left_out: Counter[str] = Counter()
    measured = sorted(
        _measured_records(records, now, left_out), key=lambda one: (one.made.time, one.made.run), reverse=True
    )
    blamed: dict[_Key, _Seen] = {}
    for record in measured:
        if record.found.state in _BLAMING:
            for suspect in record.found.verdict.suspects:
                key = _key_of(record, suspect)
                if key is None:
                    left_out["a setting of a stack, which is not a part: see its test's page"] += 1
                else:
                    blamed.setdefault(key, []).append((record, suspect))
        elif record.found.state == "disturbed":
            left_out["of a disturbed test, which blames nobody"] += len(record.found.verdict.suspects)
    passes = _Passes(measured)
    parts = [_part(key, found, passes) for key, found in blamed.items()]
    parts = _with_flaps(parts, ports)
    chosen = [part for part in parts if run is None or run in part.runs]
    sentences = tuple(f"{count_of(count, 'suspect')} left out: {why}" for why, count in left_out.items() if count)
    if run is None:
        sentences += tuple(f"not sick: {one_line(port.words)}" for port in ports if port.report.state == "seldom")
    tests = sum(1 for one in measured if run is None or one.made.run == run)
    return SickList(utc_time(now), tests, tuple(chosen), sentences)


def _measured_records(records: Iterable[Record], now: datetime, left_out: Counter[str]) -> Iterator[Record]:
    for record in records:
        if record.no_measurement is not None:
            left_out["of a replay or a rehearsal, which measured nothing"] += len(record.found.verdict.suspects)
        elif is_of_the_future(record, now):
            left_out["of a test that is dated after today: a clock was wrong"] += len(record.found.verdict.suspects)
        else:
            yield record


def _key_of(record: Record, suspect: Suspect) -> _Key | None:
    kind = _KINDS.get(suspect.kind)
    if kind is None:
        return None
    nodes = tuple(sorted(map(label, nodes_of(record, suspect))))
    part = suspect.part
    if kind == "leaf" and part is not None:
        nodes = ()  # a leaf has a name, so it does not matter which of its nodes a test had
    # A card's first port has two names.
    rail = None if suspect.rail is None else suspect.rail.removesuffix(_FIRST_PORT)
    return _Key(record.where.system, kind, nodes, rail, part)


def nodes_of(record: Record, suspect: Suspect) -> tuple[str, ...]:
    """Return the nodes that a suspect concerns: its node, the two of a pair, those of a leaf; () for a switch.

    A pair is stored as ``a-b``, and names may contain a ``-`` themselves: the test's own nodes decide where to split.
    """
    if suspect.nodes:
        return suspect.nodes
    if suspect.kind == "pair":
        if suspect.node is None:
            return record.where.nodes if len(record.where.nodes) == 2 else ()
        return _pair(suspect.node, record.where.nodes)
    return () if suspect.node is None else (suspect.node,)


def _pair(name: str, known: Sequence[str]) -> tuple[str, ...]:
    labels = {label(node) for node in known}
    ways = [(name[:at], name[at + 1 :]) for at, sign in enumerate(name) if sign == "-"]
    both = [way for way in ways if label(way[0]) in labels and label(way[1]) in labels]
    found = both or [way for way in ways if len(ways) == 1]
    return found[0] if found else (name,)


def _part(key: _Key, seen: _Seen, passes: "_Passes") -> SickPart:
    record, suspect = seen[0]
    nodes = nodes_of(record, suspect)
    passed = passes.first_since(key, seen)
    words: set[Sure] = {each.confidence or "named" for _, each in seen}
    is_own = key.kind in ("node", "rail", "gpu")
    between = f" between {nodes[0]} and {nodes[1]}" if key.kind == "pair" and not suspect.node and nodes else ""
    return SickPart(
        system=key.system,
        kind=key.kind,
        name=f"{suspect_name(suspect)}{between}",
        evidence=suspect.reason,
        sentence=record.found.verdict.sentence,
        confidence=min(words, key=_SURE.index),
        state="sick" if passed is None else "passed since",
        first=_seen_test(seen[-1][0]),
        last=_seen_test(record),
        node=nodes[0] if is_own and nodes else None,
        nodes=nodes,
        rail=suspect.rail,
        part=suspect.part,
        class_=record.found.verdict.class_,
        look_at=record.found.verdict.next,
        runs=tuple(dict.fromkeys(each.made.run for each, _ in seen)),
        tests=tuple(dict.fromkeys(each.test.case for each, _ in seen)),
        passed=passed,
    )


def _with_flaps(parts: Sequence[SickPart], ports: Sequence[NodePort]) -> list[SickPart]:
    """Return the parts, with the flaps of those that are rails, and the rails that only gates saw; the newest first."""
    found = {_place(part): part for part in parts}
    for port in ports:
        key = (port.system, "rail", (label(port.node),), port.rail.removesuffix(_FIRST_PORT))
        known = found.get(key)
        if known is not None:
            found[key] = _add_flaps(known, port.report)
        elif port.report.state != "seldom":
            found[key] = _flapping_part(port)
    return sorted(found.values(), key=lambda part: part.last.time, reverse=True)


def _place(part: SickPart) -> tuple[object, ...]:
    nodes = tuple(sorted(map(label, part.nodes)))
    rail = None if part.rail is None else part.rail.removesuffix(_FIRST_PORT)
    return (part.system, part.kind, nodes, rail) if part.kind == "rail" else (part.name, part.kind, part.system, nodes)


def _add_flaps(part: SickPart, report: FlapReport) -> SickPart:
    flaps = _as_flaps(report)
    if report.state != "flapping":
        return replace(part, flaps=flaps)
    last = max(part.last, SeenTest(part.last.run, GATE, flaps.last), key=lambda seen: seen.time)
    evidence = f"{part.evidence}; {report.words}"
    return replace(part, flaps=flaps, state="sick", passed=None, evidence=evidence, last=last)


def _flapping_part(port: NodePort) -> SickPart:
    report, flaps = port.report, _as_flaps(port.report)
    is_good = report.state == "good again" and flaps.good_from is not None
    return SickPart(
        system=port.system, kind="rail", name=suspect_name(Suspect("rail", report.words, port.node, port.rail)),
        evidence=report.words, sentence=port.words, confidence="named", state="passed since" if is_good else "sick",
        first=SeenTest("", GATE, flaps.first), last=SeenTest("", GATE, flaps.last), node=port.node, nodes=(port.node,),
        rail=port.rail, class_="fabric", look_at=_FLAPS_NEXT, tests=(GATE,),
        passed=SeenTest("", GATE, flaps.good_from or "") if is_good else None, flaps=flaps,
    )  # fmt: skip


def _as_flaps(report: FlapReport) -> SeenFlaps:
    good_from = None if report.good_from is None else utc_time(report.good_from)
    return SeenFlaps(
        report.state, report.count, round(report.per_day, 2), utc_time(report.first), utc_time(report.last),
        utc_time(report.quiet_since), good_from,
    )  # fmt: skip


def _seen_test(record: Record) -> SeenTest:
    return SeenTest(record.made.run, record.test.case, record.made.time)


#: What must be the same in two tests, so that the second shows that a part which failed in the first is healthy. The
#: stack may differ.
_Alike = tuple[str, str, str, int, str | None]


def _likeness_of(record: Record) -> _Alike:
    return record.where.system, record.test.benchmark, record.where.fabric, record.test.rails, record.test.policy


class _Passes:
    """The tests that passed, the newest first."""

    def __init__(self, newest_first: Iterable[Record]) -> None:
        self._by: dict[_Alike, list[Record]] = {}
        for record in newest_first:
            if record.found.state == "pass":
                self._by.setdefault(_likeness_of(record), []).append(record)

    def first_since(self, key: _Key, seen: _Seen) -> SeenTest | None:
        """Return the newest test that is like one that blames the part, and passed over it after the last blame."""
        last = seen[0][0].made.time
        found: list[Record] = []
        for alike in dict.fromkeys(_likeness_of(record) for record, _ in seen):
            later = itertools.takewhile(lambda record: record.made.time > last, self._by.get(alike, ()))
            found += itertools.islice((record for record in later if _covers(record, key)), 1)
        return _seen_test(max(found, key=lambda one: one.made.time)) if found else None


def _covers(record: Record, key: _Key) -> bool:
    """Return whether a passed test shows that a part is healthy: its nodes took part, and its rail carried bytes.

    A passed test alone never shows this for a leaf, an up-link, a switch or a GPU: no record says which way the bytes
    took, or which GPU was used.
    """
    if key.kind not in ("node", "rail", "pair") or not key.nodes:
        return False
    if not set(key.nodes) <= {label(node) for node in record.where.nodes}:
        return False
    if record.found.pairs is not None and not _has_value(record.found.pairs, key.nodes):
        return False
    return key.rail is None or record.test.benchmark == _FABRIC_STATE or _has_carried(record, key.nodes, key.rail)


def _has_value(pairs: PairsRecord, nodes: Sequence[str]) -> bool:
    """Return whether a run of pairs has a value for a node or a pair; a sample may have measured neither.

    If the rows are in a file, the record knows a pair if both nodes met all others, or if it is one of the worst pairs.
    """
    places = {label(node): place for place, node in enumerate(pairs.nodes)}
    if not set(nodes) <= places.keys():
        return False
    first, *others = (places[node] for node in nodes)
    if pairs.values:
        row = pairs.values[first]
        return all(row[other] is not None for other in others) if others else any(value is not None for value in row)
    if pairs.summary is None:
        return False
    met = [pairs.summary.node_pairs[place] for place in (first, *others)]
    if not others:
        return met[0] > 0
    shown = {frozenset((label(one.first), label(one.second))) for one in (*pairs.again, *pairs.summary.worst_pairs)}
    return min(met) == len(pairs.nodes) - 1 or frozenset(nodes) in shown


def _has_carried(record: Record, nodes: Sequence[str], rail: str) -> bool:
    path = record.how.path_proof
    if path is None or path.state != "proven":
        return False
    moved = {
        label(each.node)
        for each in path.each_node()
        for one in each.rails
        if one.device.removesuffix(_FIRST_PORT) == rail and one.meant and (one.share or 0) > 0
    }
    return set(nodes) <= moved


def lines(found: SickList) -> list[str]:
    """Return one line per part, the newest first, and what is not in the list."""
    said = [
        f"{part.last.time}  {part.system}  {part.name} ({_words(part)}): {one_line(part.evidence)}"
        for part in found.sick
    ]
    sick = sum(part.state == "sick" for part in found.sick)
    closing = f"{count_of(found.tests, 'test')}: {count_of(sick, 'sick part')}"
    passed = len(found.sick) - sick
    return [*said, *found.left_out, f"{closing}{f', {passed} passed since' if passed else ''}"]


def _words(part: SickPart) -> str:
    passed = f", passed since: {part.passed.time}" if part.passed is not None else ""
    blamed = count_of(len(part.runs), "run") if part.runs else "seen by gates"
    return f"{part.confidence}, {blamed}{passed}"


def ticket(part: SickPart, page: Callable[[str], str]) -> str:
    """Return a ticket in Markdown; ``page`` returns where the page of a run is, or how to make it."""
    where = f"system {part.system}"
    if part.nodes:
        where += f", {'node' if len(part.nodes) == 1 else 'nodes'} {few(part.nodes)}"
    told = [
        ("What", f"{part.name} ({part.confidence}: {SURE[part.confidence]})"),
        ("Where", where),
        ("Since", _format_since(part)),
        ("Evidence", part.evidence),
        ("Verdict", part.sentence),
        ("What to try next", "; ".join(filter(None, (part.look_at, NEXT[part.kind])))),
    ]
    if part.last.run:
        told.append(("Page of the newest run", page(part.last.run)))
    if part.passed is not None:
        told.insert(3, ("Passed since", f"{_test(part.passed)}: check whether it is still sick before you do anything"))
    title = f"# {part.system}: {part.name}"
    return "\n".join([title, "", *(f"- **{name}**: {_plain(text)}" for name, text in told)]) + "\n"


def tickets(found: SickList, page: Callable[[str], str]) -> str:
    """Return the tickets of all parts, a line between them."""
    return "\n---\n\n".join(ticket(part, page) for part in found.sick)


def _format_since(part: SickPart) -> str:
    if not part.runs:
        return f"{part.first.time}, last {part.last.time}; seen by {GATE}"
    blamed = f"blamed by {count_of(len(part.tests), 'test')} of {count_of(len(part.runs), 'run')}"
    if part.first == part.last:
        return f"{part.first.time}; {blamed}: {part.last.test}"
    return f"{part.first.time}, last {part.last.time}; {blamed}, the newest: {part.last.test}"


def _test(seen: SeenTest) -> str:
    return f"{seen.test} at {seen.time}{f' (run {seen.run})' if seen.run else ''}"


def _plain(text: str) -> str:
    """Return a text on one line, without anything that looks like HTML or the end of a Markdown cell."""
    return one_line(text).replace("<", "&lt;").replace("|", "\\|")
