"""The dataclasses of one stored result, format 2: the content of a line of records.jsonl.

What a run promises at its start, beside its records: so a killed run is noticed, and what is missing.
"""

# History of the format (a change that an older reader would misread raises the number; a new key does not):
#   1  the first: verdict with its five rules, figures, curves with limit and bands, path proof, environment, command.
#      Later, all optional: started, scheduler, job_id, linked, variables, benchmark_version, hardware, pairs,
#      verdict.remarks (before, they were part of the sentence), attempts, starved, the state disturbed, rehearsal,
#      a curve's deficit, rehearsed_output, conditions, path_proof.alike, hardware.varied, pairs.leaves, pairs.rows,
#      pairs.summary (then pairs.values is empty, so that an older reader refuses the record), pairs.sample, a suspect's
#      part, nodes, confidence, brief and evidence, and its kinds gpu, leaf and up-link, verdict.headline,
#      verdict.measured.
#   2  the same fields with the same names, in five parts: test, where, found, how, made. Format 1 had all at the top.

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NoReturn, get_args

from railyard.base.files import read_regular
from railyard.base.json_codec import FormError, decode, encode
from railyard.base.wording import count_of, message_size, percent
from railyard.benchmarks.model import Figure
from railyard.results.record.pair_rows import PairsRecord
from railyard.site.test_id import TestId

OLDEST_FORMAT, FORMAT = 1, 2

State = Literal["pass", "fail", "disturbed", "report-only", "xfail", "not-tested"]
STATES: tuple[State, ...] = get_args(State)
#: What makes a run exit 1: a test failed, or was disturbed, so that nobody could judge it.
FAILING: tuple[State, ...] = ("fail", "disturbed")
RuleState = Literal["pass", "fail", "not-judged"]
FaultClass = Literal["fabric", "node", "set-up", "scheduler", "disturbed", "not-proven", "reference"]
SuspectKind = Literal["rail", "node", "pair", "switch", "stack", "gpu", "leaf", "up-link"]
#: How sure a verdict is of a suspect; "open": something is wrong there, and nobody is named yet.
Confidence = Literal["shown", "likely", "open"]
ProofState = Literal["proven", "failed", "not-proven", "not-judged"]

Extra = Mapping[str, object]  # keys of a newer Railyard that this one does not know


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """One of the five rules of a verdict, with a sentence on what it found."""

    rule: int
    name: str
    state: RuleState
    sentence: str = ""
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class Evidence:
    """One value that speaks for or against a suspect: the best one over ``rail`` alone between these nodes.

    ``value`` is in ``unit``; None: the probes gave no result. ``is_control``: the suspect takes no part in it.
    """

    nodes: tuple[str, ...]
    rail: str
    value: float | None
    unit: str
    is_control: bool = False
    extra: Extra = field(default_factory=dict, kw_only=True, hash=False)


@dataclass(frozen=True, slots=True)
class Suspect:
    """What may be to blame: a rail has node and rail, a node its node, a pair both nodes in ``node`` as ``a-b``.

    A rail without a node is that of one of the run's nodes, and which one is not known.
    ``part`` is the name of a GPU (or of its path) of ``node``, of a leaf switch, of a group of them (``group g2``) or
    of an up-link. ``nodes`` are all nodes of a leaf or group, or, for an up-link, all nodes of its leaves.
    ``confidence`` is None if the verdict has no word for it. ``brief`` is the reason in a few words that follow the
    name: ``is slow: at best 5.16 MB/s, elsewhere 15.4``. ``evidence`` are the values of the reason, the suspect's own
    first; none if the reason has other facts.
    """

    kind: SuspectKind
    reason: str
    node: str | None = None
    rail: str | None = None
    part: str | None = None
    nodes: tuple[str, ...] = ()
    confidence: Confidence | None = None
    brief: str = field(default="", compare=False)  # only other words for the reason
    evidence: tuple[Evidence, ...] = field(default=(), compare=False)  # the same facts as the reason
    extra: Extra = field(default_factory=dict, kw_only=True, hash=False)


@dataclass(frozen=True, slots=True)
class VerdictRecord:
    """The sentence, the first rule that does not hold (None if all do), its class, and what to look at next.

    ``sentence`` is only about what decided; ``remarks`` are further sentences: what was not judged, likely causes, what
    probes found. In records without remarks, the sentence may contain them. ``headline`` names the part and the cause
    in one line (``results.record.headline``); ``measured`` is the sentence without names of references and bounds. Both
    are empty in older records, and if nothing failed.
    """

    sentence: str
    rule: int | None = None
    class_: FaultClass | None = None
    rules: tuple[RuleRecord, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    next: str | None = None
    remarks: tuple[str, ...] = ()
    headline: str = ""
    measured: str = ""
    extra: Extra = field(default_factory=dict, kw_only=True)

    @property
    def text(self) -> str:
        """The sentence, followed by all remarks."""
        return "; ".join((self.sentence, *self.remarks))


@dataclass(frozen=True, slots=True)
class LimitRecord:
    """The physical limit of the run in the curve's unit, the terms whose product it is, and their source.

    ``from_bytes`` is the message size from which it holds: a token bucket lets short messages exceed it.
    """

    value: float
    terms: str
    source: str
    from_bytes: int = 0
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class BandRecord:
    """What one reference allows: a bound per size in the curve's unit, None if there is no bound."""

    id: str
    kind: str
    source: str
    sizes: tuple[int, ...]
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    extra: Extra = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        _check_sizes(self.sizes, {"low": self.low, "high": self.high})


@dataclass(frozen=True, slots=True)
class DeficitRecord:
    """The smallest deficit that a run would have found (``verdict.rules.reference``): ``share`` of its values, 0 to 1.

    The references bound ``size`` (bytes) the tightest. ``repeats``: the number of passes from which the spread is
    known; 1: it is unknown.
    """

    share: float
    size: int
    repeats: int = 1
    extra: Extra = field(default_factory=dict, kw_only=True)

    @property
    def words(self) -> str:
        """The deficit in a sentence."""
        at = f" at {message_size(self.size)}" if self.size else ""
        spread = f"{self.repeats} passes" if self.repeats > 1 else "one pass, whose spread is unknown"
        return f"a deficit below {percent(self.share)} would not have been found ({spread}; the tightest bound{at})"


@dataclass(frozen=True, slots=True)
class CurveRecord:
    """A metric over message sizes: sizes in bytes, rising, one value per size in ``unit``; directions 2 = sum of both.

    ``percent_of_reference`` is the worst ratio to the references and ``percent_of_reference_size`` where it was;
    ``percent_of_limit`` compares the largest value with the limit. ``deficit``: the smallest one that would have been
    found; None if no reference bounds the curve, or if the curve is at fault. ``computed`` are the sizes whose values
    were computed for a replay and not printed by a source; none for a measurement.
    """

    metric: str
    unit: str
    sizes: tuple[int, ...]
    values: tuple[float, ...]
    directions: int = 1
    limit: LimitRecord | None = None
    bands: tuple[BandRecord, ...] = ()
    percent_of_reference: float | None = None
    percent_of_reference_size: int | None = None
    percent_of_limit: float | None = None
    deficit: DeficitRecord | None = None
    computed: tuple[int, ...] = ()
    extra: Extra = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        _check_sizes(self.sizes, {"values": self.values})


@dataclass(frozen=True, slots=True)
class ConditionRecord:
    """One condition, such as turbo, that the sources of these references state, in their words.

    ``unlike`` is what nodes had instead, with these nodes, in the words of ``site.conditions``. It is empty if they had
    the same, or if it is unknown what they had. Replays and rehearsals have no nodes.
    """

    name: str
    stated: str
    references: tuple[str, ...]
    unlike: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class RailTraffic:
    """Bytes that one device moved during the run; ``share`` of its node's intended bytes, both ways, 0 to 1.

    None = not readable.
    """

    device: str
    meant: bool
    tx_bytes: int | None = None
    rx_bytes: int | None = None
    share: float | None = None
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class NodeTraffic:
    """The devices of one node, and the clock of its first process's processor at the end of the run."""

    node: str
    rails: tuple[RailTraffic, ...]
    clock_khz: int | None = None
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class NodesAlike:
    """Nodes with the same devices: a row per device, with a value per node (None: not readable), in the nodes' order.

    The shares of a node's rails are computed from its bytes. ``clock_khz``: () if no node shows it.
    """

    nodes: tuple[str, ...]
    devices: tuple[str, ...]
    meant: tuple[bool, ...]
    tx_bytes: tuple[tuple[int | None, ...], ...]
    rx_bytes: tuple[tuple[int | None, ...], ...]
    clock_khz: tuple[int | None, ...] = ()
    extra: Extra = field(default_factory=dict, kw_only=True)

    def __post_init__(self) -> None:
        due = [len(self.nodes)] * len(self.devices)
        for name, rows in (("tx_bytes", self.tx_bytes), ("rx_bytes", self.rx_bytes)):
            if [len(row) for row in rows] != due or len(self.meant) != len(due):
                raise FormError(name, f"{len(rows)} rows", f"{len(due)} rows of {len(self.nodes)} values, 1 per device")
        if self.clock_khz and len(self.clock_khz) != len(self.nodes):
            raise FormError("clock_khz", f"{len(self.clock_khz)} values", f"{len(self.nodes)}, one per node")

    def each(self) -> Iterator[NodeTraffic]:
        """Give each node's devices, as a record of few nodes has them."""
        clocks = self.clock_khz or (None,) * len(self.nodes)
        columns = zip(zip(*self.tx_bytes, strict=True), zip(*self.rx_bytes, strict=True), strict=True)
        for node, clock, (sent, received) in zip(self.nodes, clocks, columns, strict=True):
            rails = tuple(map(RailTraffic, self.devices, self.meant, sent, received))
            yield NodeTraffic(node, with_shares(rails), clock)


def with_shares(rails: Sequence[RailTraffic]) -> tuple[RailTraffic, ...]:
    """Return the devices of one node, each intended one with its share of what all intended ones moved both ways."""
    total = sum((rail.tx_bytes or 0) + (rail.rx_bytes or 0) for rail in rails if rail.meant)
    return tuple(
        replace(rail, share=(rail.tx_bytes + rail.rx_bytes) / total)
        if rail.meant and total > 0 and rail.tx_bytes is not None and rail.rx_bytes is not None
        else rail
        for rail in rails
    )


@dataclass(frozen=True, slots=True)
class PathProofRecord:
    """Which way the bytes went, compared with the bytes that the run moved.

    The devices of each node are in ``nodes``, or, if the run was over many nodes, in ``alike``; ``each_node`` gives
    both.
    """

    state: ProofState
    sentence: str
    expected_bytes: int | None = None
    nodes: tuple[NodeTraffic, ...] = ()
    alike: tuple[NodesAlike, ...] = ()
    extra: Extra = field(default_factory=dict, kw_only=True)

    def each_node(self) -> Iterator[NodeTraffic]:
        """Give the devices of each node."""
        yield from self.nodes
        for group in self.alike:
            yield from group.each()

    def intended_devices(self) -> set[str]:
        """Return the devices that the run was to use."""
        groups = (zip(group.devices, group.meant, strict=True) for group in self.alike)
        alike = {device for group in groups for device, is_meant in group if is_meant}
        return {rail.device for node in self.nodes for rail in node.rails if rail.meant} | alike


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes that are alike: their hardware and settings (names: ``job.node_facts``), and each of their devices.

    Nodes that differ in anything are in groups of their own, so an odd node is visible. ``varied``: properties that
    would split thousands of nodes into as many groups, with one value per node; ``mlx5_0:1 firmware`` of a device, ""
    if a node lacks it.
    """

    nodes: tuple[str, ...]
    facts: Mapping[str, str] = field(default_factory=dict)
    devices: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    varied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """A measurement that was disturbed and so repeated in the same run: its verdict, length and start.

    Rule 1 means that it never began, because of a bug of the launcher. ``sentence`` is the verdict's whole text.
    ``starved`` is as in the record, ``time`` when it began (ISO 8601, UTC).
    """

    sentence: str
    rule: int | None = None
    elapsed_s: float | None = None
    starved: float | None = None
    time: str = ""
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class TestPart:
    """What was run: ``case`` and ``hash`` are ReFrame's, ``check`` is the test's class with its own parameters.

    ``benchmark`` is ``tool/test``, ``policy`` how the stack spread messages over the rails; None: one rail or unknown.
    """

    __test__: ClassVar[bool] = False  # pytest takes a class with such a name for tests

    case: str
    check: str
    benchmark: str
    stack: str
    rails: int
    policy: str | None = None
    hash: str = ""
    benchmark_version: str | None = None
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class WherePart:
    """Where it ran: a fabric of a system, its nodes and what they are, and the scheduler's job."""

    system: str
    fabric: str
    nodes: tuple[str, ...] = ()
    hardware: tuple[NodeGroup, ...] = ()
    scheduler: str | None = None
    job_id: str | None = None
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class FoundPart:
    """What was found, and the references that it was compared with.

    ``conditions`` are those that the sources of these references state.
    """

    state: State
    verdict: VerdictRecord
    figures: tuple[Figure, ...] = ()
    curves: tuple[CurveRecord, ...] = ()
    pairs: PairsRecord | None = None
    references: tuple[str, ...] = ()
    conditions: tuple[ConditionRecord, ...] = ()
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class HowPart:
    """How it ran, and what shows this.

    ``linked`` is what the loader said about the benchmark, ``variables`` are those on an allow-list. ``environment``
    has versions and the Spack build. ``attempts`` are the disturbed measurements before this one, the oldest first.
    ``starved`` is the share of this one's time, 0 to 1, in which the run's own processes waited for a processor.
    """

    command: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, object] = field(default_factory=dict)
    linked: tuple[str, ...] = ()
    path_proof: PathProofRecord | None = None
    attempts: tuple[AttemptRecord, ...] = ()
    starved: float | None = None
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True)
class MadePart:
    """When the record was made, in which run, and from what. ``output`` is relative to the run folder.

    ``started`` and ``time`` are the clock before the launch and when the record was written; ``elapsed_s`` is not the
    difference of the two, since a clock may be set back. ``replayed`` and ``rehearsal`` are None for a measurement;
    else they say what was played in its place, or that stand-ins ran and what was planted. If a rehearsal was given
    recordings, ``rehearsed_output`` says whether this output is one of them, or why the model made it.
    """

    run: str
    time: str
    started: str | None = None
    elapsed_s: float | None = None
    output: str | None = None
    reframe: Mapping[str, object] = field(default_factory=dict)
    replayed: str | None = None
    rehearsal: str | None = None
    rehearsed_output: str | None = None
    extra: Extra = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One test: what was run and where, what was found, how it ran, and how the record was made.

    In format 1, which is still read, the fields of all five parts were at the top, with the same names.
    """

    test: TestPart
    where: WherePart
    found: FoundPart
    how: HowPart = field(default_factory=HowPart)
    made: MadePart
    extra: Extra = field(default_factory=dict)

    @classmethod
    def of(cls, test: TestId, state: State, verdict: VerdictRecord, *, run: str, time: str) -> "Record":
        """Return the record of a test with the required fields; ``test.check`` is its class here, without parameters.

        ``test`` has a name, since ``case`` is the name in ReFrame's listing.
        """
        return cls(
            test=TestPart(
                *(str(test), test.check, test.benchmark, test.stack, test.rails), test.policy or None, test.hash
            ),
            where=WherePart(test.system, test.fabric),
            found=FoundPart(state, verdict),
            made=MadePart(run, time),
        )

    @property
    def no_measurement(self) -> str | None:
        """What was played or rehearsed in place of a measurement, in words; None for a measurement."""
        return self.made.rehearsal or self.made.replayed

    @property
    def fails(self) -> bool:
        """Whether its state makes its run exit 1."""
        return self.found.state in FAILING

    def value(self, name: str) -> Any:
        """Return the field with this name, in whichever part it is. Raises KeyError for another name."""
        return getattr(getattr(self, PART_OF[name]), name)

    def with_fields(self, **values: Any) -> "Record":
        """Return the record with these fields changed, in whichever part each is. Raises KeyError for another name."""
        return replace(self, **{part: replace(getattr(self, part), **own) for part, own in in_parts(values).items()})

    if not TYPE_CHECKING:  # mypy would take every name for a field

        def __getattr__(self, name: str) -> NoReturn:
            """Say where a field of format 1 is now. Python asks here only for what it has found nowhere else."""
            now = f"; it is {PART_OF[name]}.{name} now" if name in PART_OF else ""
            raise AttributeError(f"a Record has no {name}{now}")

    def to_json(self) -> dict[str, Any]:
        """Return the record as JSON values, ``format`` first. Raises FormError for NaN and infinity."""
        values: dict[str, Any] = encode(self)
        return {"format": FORMAT} | values

    @classmethod
    def from_json(cls, data: object) -> "Record":
        """Return the record in a parsed line of this format or an older one. Raises FormError naming the field."""
        if not isinstance(data, dict):
            return decode(cls, data)
        values = {key: value for key, value in in_todays_format(data).items() if key != "format"}
        try:
            return decode(cls, values)
        except FormError as error:
            if data.get("format") == FORMAT:
                raise
            raise FormError(error.field.partition(".")[2], error.found, error.expected) from None


#: The part of a record in which each field is. No two parts have a field of the same name.
PART_OF: Mapping[str, str] = {
    each.name: part.name
    for part in fields(Record)
    if is_dataclass(part.type)
    for each in fields(part.type)
    if each.name != "extra"
}


def in_parts(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the values of fields by the part in which they are, for every part. Raises KeyError for another name."""
    parts: dict[str, dict[str, Any]] = {part: {} for part in PART_OF.values()}
    for name, value in values.items():
        parts[PART_OF[name]][name] = value
    return parts


def in_todays_format(line: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a line's JSON with its fields in parts. In format 1 they are all at the top; another line stays."""
    if line.get("format") != 1:
        return line
    known = {key: value for key, value in line.items() if key in PART_OF}
    unknown = {key: value for key, value in line.items() if key not in PART_OF}
    return unknown | {"format": FORMAT} | in_parts(known)


def stored_value(line: object, name: str) -> Any:
    """Return a field of a line's JSON in any format that has it; None if there is none, or no such line."""
    part = in_todays_format(line).get(PART_OF[name]) if isinstance(line, dict) else None
    return part.get(name) if isinstance(part, dict) else None


def _check_sizes(sizes: tuple[int, ...], columns: Mapping[str, tuple[float | None, ...]]) -> None:
    for name, column in columns.items():
        if len(column) != len(sizes):
            raise FormError(name, f"{len(column)} values", f"{len(sizes)}, one per size")
    for index, (left, right) in enumerate(pairwise(sizes), start=1):
        if right <= left:
            raise FormError(f"sizes[{index}]", f"{right} after {left}", "rising sizes")


# Format 1: first.


PROMISE_FORMAT = 1
PROMISED_FILE_NAME = "promised.json"
#: Empty if the run ended with an error, which was reported; else `WHOLE`: each promised test has a record.
ENDED_FILE_NAME = "ended"
WHOLE = "whole\n"


@dataclass(frozen=True, slots=True)
class RunPromise:
    """What a run promised: the names of its tests, when it began (UTC, as in records), and its state.

    ``killed``: it did not reach its end, and its process has ended, or there are no ``locks`` to check that. ``whole``:
    it ended with a record of each test; a run from before this format does not say.
    """

    system: str
    began: str
    tests: tuple[str, ...]
    state: Literal["ended", "running", "killed"]
    whole: bool = False
    locks: bool = True


@contextlib.contextmanager
def hold_promise(folder: Path, system: str, began: str, tests: Sequence[str]) -> Iterator[None]:
    """Write down what a run promises; the file is locked while the block runs, and after the block the run has ended.

    A block that ends has written a record of each test. A block that raises has ended too: its error was reported.
    Raises OSError if the folder cannot be written.
    """
    path = folder / PROMISED_FILE_NAME
    values: dict[str, object] = {"format": PROMISE_FORMAT, "system": system, "began": began, "tests": list(tests)}
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
    how = ""
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:  # a file system without locks: a running run looks like a killed one
            values["locks"] = False
        os.write(descriptor, json.dumps(values, ensure_ascii=False, indent=1).encode() + b"\n")
        try:
            yield
            how = WHOLE
        finally:
            with contextlib.suppress(OSError):  # a full disk, which was already reported
                (folder / ENDED_FILE_NAME).write_text(how, encoding="utf-8")
    finally:
        os.close(descriptor)  # this ends the lock


def read_promised(folder: Path) -> RunPromise | None:
    """Return what the run of a folder promised; None for a run from before this file, or if its file is cut."""
    path = folder / PROMISED_FILE_NAME
    try:
        values = json.loads(read_regular(path))
        tests = tuple(map(str, values["tests"]))
        system, began = str(values["system"]), str(values["began"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    with contextlib.suppress(OSError):
        how = read_regular(folder / ENDED_FILE_NAME).decode(errors="replace")
        return RunPromise(system, began, tests, "ended", whole=how == WHOLE)
    locks = values.get("locks") is not False
    return RunPromise(system, began, tests, "running" if _is_locked(path) else "killed", locks=locks)


def why_short(folder: Path, recorded: int) -> str | None:
    """Return the sentence on a run that was killed before its end, or that has fewer records than it ended with.

    None if it has all records, still runs, ended with a reported error, or promised nothing.
    """
    found = read_promised(folder)
    if found is None or recorded >= len(set(found.tests)) or not (found.state == "killed" or found.whole):
        return None
    head = f"{folder}: found {count_of(recorded, 'record')} of {count_of(len(found.tests), 'promised test')}"
    if found.whole:
        return f"{head}: the run ended with a record of each, so somebody removed the others"
    runs = "" if found.locks else " or still runs (its file system has no locks, so this is unknown)"
    return f"{head}: the run was killed before its end{runs}; run the missing tests again"


def _is_locked(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
