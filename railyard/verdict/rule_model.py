"""What the rules get, what a path proof says among it, and what each rule returns: frozen values, no files, no clock.

What the rules get and what each returns: frozen values, no files, no clock.

What a path proof says about a run: the record of it, without the counters and comparisons that it came from.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Literal, Protocol

from railyard.base.bounds import LEAST_LATENCY, PRINTED_ZERO_BELOW, JudgingBound
from railyard.base.wording import message_size
from railyard.benchmarks.model import Figure
from railyard.verdict.wording import Miss
from railyard.verdict.wording import not_judged as say_not_judged
from railyard.verdict.wording import path as words
from railyard.verdict.wording import run_rules as say

if TYPE_CHECKING:
    from railyard.benchmarks.moved_bytes import Crossing
    from railyard.parsers.job_end import JobEnd
    from railyard.results.record.form import FaultClass, ProofState, RailTraffic, RuleState, Suspect
    from railyard.site.references.model import ExpectedFailure


Fault = Literal["fabric", "node", "set-up", "disturbed", "not-proven"]


@dataclass(frozen=True, slots=True)
class Conflict:
    """An IPv4 ``address`` of the node ``owner``: over its ``device``, ``seen_by`` found other hardware at this address.

    ``node`` has that hardware, on ``node_device``; None if none of the nodes that were asked has it.
    """

    address: str
    owner: str
    device: str
    seen_by: str
    hardware: str
    node: str | None = None
    node_device: str | None = None

    @property
    def sentence(self) -> str:
        """Who answers for which node's address, and which node found that."""
        who = words.place(str(self.node_device), self.node, str(self.node_device)) if self.node else words.a_stranger()
        return words.second_owner(who, self.hardware, self.address, self.owner, self.seen_by, self.device)


@dataclass(frozen=True, slots=True)
class PathProof:
    """Whether the path is proven, the sentence that says so, and every node's bytes.

    ``nodes`` has the bytes of each device, without shares: ``with_shares`` computes these. ``fault`` is set if the path
    failed or is not proven. ``disturbance`` says that an intended rail carried more than the run moved: this is not a
    failure by itself. ``expected_bytes`` is the sum over nodes and both ways. ``resends`` are nodes whose TCP sent more
    segments again than the bound allows. ``one_rail``: only one of several rails was used, and nobody knows whether the
    others should have been. ``uneven``: it failed only because of the shares of its rails, which do not tell who is
    slow. ``lost`` says which links were lost or flapped during the run. ``conflicts``: addresses that two nodes have.
    ``crossed``: two rails whose cables are swapped on one of the run's two nodes.
    """

    state: ProofState
    sentence: str
    fault: Fault | None = None
    look_at: str = words.look_at_record()
    suspects: tuple[Suspect, ...] = ()
    nodes: Mapping[str, tuple[RailTraffic, ...]] | None = None
    expected_bytes: int | None = None
    disturbance: str | None = None
    clocks_khz: Mapping[str, int] = field(default_factory=dict)
    resends: tuple[str, ...] = ()
    one_rail: bool = False
    uneven: bool = False
    lost: str | None = None
    conflicts: tuple[Conflict, ...] = ()
    crossed: tuple[str, str] | None = None


def path_not_judged(reason: str) -> PathProof:
    """Return the proof of a run that has no path to prove, and why; rule 4 decides whether that may pass."""
    return PathProof("not-judged", words.no_path(reason), look_at=words.look_at_counters())


def look_at_owners(seen: Iterable[Conflict]) -> str:
    """Return where to look at next, to find who has these addresses."""
    return words.look_at_owners([one.address for one in seen])


Quantity = Literal["bandwidth", "latency", "time", "rate", "work"]
QUANTITIES: dict[str, Quantity] = {
    "MB/s": "bandwidth",
    "us": "latency",
    "s": "time",
    "1/s": "rate",
    # how many times worse: as with a time, less is better, and there is no limit
    "times": "time",
}
"""What a value of this unit measures; a value of any other unit is work."""

RULE_NAMES: dict[int, str] = {1: "complete", 2: "metrics", 3: "possible", 4: "path", 5: "reference"}
"""Names of the rules, in the order of judging."""


class BoundLike(Protocol):
    """What a reference demands at one size; None if it demands nothing on that side.

    ``ends`` are the two ends of a range, if the reference is not one value; ``target`` is then the worse end.
    """

    @property
    def low(self) -> float | None: ...
    @property
    def high(self) -> float | None: ...
    @property
    def target(self) -> float | None: ...
    @property
    def ends(self) -> tuple[float, float] | None: ...


class BandLike(Protocol):
    """One entry of a reference table, as it applies to this run (``references.Band``)."""

    @property
    def entry_id(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def unit(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def required_sizes(self) -> Collection[int]: ...
    @property
    def best_of_sizes(self) -> bool: ...
    def bound_at(self, size: int, /) -> BoundLike | None: ...
    def bounds(self, size: int, /) -> bool: ...
    def covers(self, size: int, /) -> bool: ...


class LimitLike(Protocol):
    """The most that the hardware can move, in MB/s, at sizes from ``from_bytes`` (``limits.Limit``)."""

    @property
    def value_mb_s(self) -> float: ...
    @property
    def terms(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def from_bytes(self) -> int: ...
    def bound_at(self, size_bytes: int, /) -> float: ...


class MessagesLike(Protocol):
    """The most messages that the link carries per second (``limits.MessageLimit``)."""

    @property
    def value(self) -> float: ...
    @property
    def terms(self) -> str: ...
    @property
    def source(self) -> str: ...


#: Where a line is that is not in the output itself.
ERROR_OUTPUT = "error output"


@dataclass(frozen=True, slots=True)
class OutputLine:
    """A line of the job's output that says what went wrong; ``line`` is 1-based, 0 if not known.

    ``of`` names where the line is, if not in the output itself. ``means``: what such a message means, if known.
    ``of_launcher``: it comes of a bug of the launcher, so the benchmark never began. ``starts_none``: it says that the
    launcher can start no process, at the next run either.
    """

    line: int
    text: str
    of: str = ""
    means: str = ""
    of_launcher: bool = False
    starts_none: bool = False


@dataclass(frozen=True, slots=True)
class LogContradiction:
    """The library's own log contradicts what a run was meant to use: the sentence, and what to look at next."""

    sentence: str
    look_at: str


@dataclass(frozen=True, slots=True)
class RefusedRail:
    """A rail on which the counter reader refused to start: no such device, or no carrier.

    ``rail`` is None if the node shows no devices at all: then nothing is known about its rails.
    """

    node: str
    rail: str | None
    sentence: str


@dataclass(frozen=True, slots=True)
class Job:
    """How the run went, for rule 1.

    ``exit_code`` is None if the job has none (never started, lost). ``tables`` is how many tables were read, of at
    least ``tables_expected``; ``incomplete`` names those that are cut. ``validation`` is the benchmark's own check of
    the data that it moved: None if it printed none, which fails if ``validates`` is set. ``unlike_asked`` is how the
    output differs from what was asked for: more tables, other message sizes. ``unended`` names the tables after which
    the tool's own end line is missing; ``end_line`` is that line, empty if the tool prints none. ``too_long`` is why
    only a part of the output was read, ``cut`` why the job was ended because its output was too long.
    ``scheduler_error`` is the sentence of the scheduler or launcher if the job never ran; ``unread`` is the parser's
    sentence if the output is not the tool's. ``not_meant`` says which of launcher, library and environment was not the
    intended one, ``look_at_way`` what to look at if the library's own log says so; ``rails_unlike`` which rail is not
    set or wired as the file says. ``unplayed`` is why the recording of a replayed run cannot be judged. ``computes``:
    it is an application, and its own check is of what it computed. ``ended`` is what the scheduler says about a job
    that did not run to its end: killed, preempted, requeued, its node died. ``stuck`` are the nodes of a job that was
    ended at its time limit whose process did not react, while that of another node did; ``stuck_in`` says what these
    processes do instead, each once, as far as it is known. ``unplaced`` is why its processes did not run where they
    should. ``scheduler`` is the one of the system's file, empty for an output of unknown origin. ``memory_kills``:
    how many processes the kernel of each node killed because memory was short, as far as that is known.
    """

    exit_code: int | None
    nodes_expected: tuple[str, ...]
    nodes_seen: tuple[str, ...]
    tables: int
    tables_expected: int = 1
    incomplete: tuple[str, ...] = ()
    failures: tuple[OutputLine, ...] = ()
    refused: tuple[RefusedRail, ...] = ()
    validates: bool = False
    validation: bool | None = None
    timed_out: bool = False
    stuck: tuple[str, ...] = ()
    stuck_in: tuple[str, ...] = ()
    time_limit_s: float | None = None
    scheduler_error: str | None = None
    unread: str | None = None
    not_meant: str | None = None
    look_at_way: str = ""
    rails_unlike: str | None = None
    unplayed: str | None = None
    computes: bool = False
    ended: JobEnd | None = None
    unplaced: str | None = None
    unlike_asked: str | None = None
    unended: tuple[str, ...] = ()
    end_line: str = ""
    too_long: str | None = None
    cut: str | None = None
    scheduler: str = ""
    memory_kills: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_explained(self) -> bool:
        """Whether the run's own set-up says why it failed: then no rail has to be measured alone."""
        known = self.refused or self.not_meant or self.rails_unlike or self.cut
        return bool(known or self.never_began or self.starts_none)

    @property
    def never_began(self) -> bool:
        """Whether a bug of the launcher kept the benchmark from beginning: that says nothing about a network."""
        is_of_launcher = bool(self.failures) and self.failures[0].of_launcher
        return is_of_launcher and self.exit_code != 0 and not self.tables

    @property
    def starts_none(self) -> bool:
        """Whether the launcher says that it can start no process, and nothing shows that one began on any node."""
        is_said = bool(self.failures) and self.failures[0].starts_none
        return is_said and self.exit_code != 0 and not self.tables and not self.nodes_seen


@dataclass(frozen=True, slots=True)
class DeclaredMetric:
    """A metric that the check promised: its name, unit, and what kind of quantity it is.

    ``limited``: the link's limit applies (bandwidths between nodes). ``between_nodes``: False if the ranks share a
    node: then no latency is too small. ``reported_only``: the reason why the value is shown and never judged by a
    reference, None if it is judged. ``coarse``: it is printed with so few decimals that a short run reads 0. ``sized``:
    False for a single figure, which has no message size to name. ``of_all``: it is the time of all ranks together (a
    collective).
    """

    name: str
    unit: str
    quantity: Quantity
    limited: bool = False
    between_nodes: bool = True
    reported_only: str | None = None
    coarse: bool = False
    sized: bool = True
    of_all: bool = False

    def size_words(self, size_bytes: int) -> str:
        """Return the words after a value, such as `` at 4 MiB``; empty if the metric has no message size."""
        return f" at {message_size(size_bytes)}" if self.sized else ""

    def figure(self, size_bytes: int, value: float) -> Figure:
        """Return a value of this metric, as a sentence names it."""
        return Figure(self.name, value, self.unit, size_bytes if self.sized else None)

    @property
    def higher_is_better(self) -> bool:
        return self.quantity in ("bandwidth", "rate", "work")


@dataclass(frozen=True, slots=True)
class MeasuredMetric:
    """What was read for a metric, unchanged: sizes in bytes (0 if the metric has none), values in ``unit``. Nothing is
    checked here: values may be missing (None), infinite or NaN, and rule 2 says so.
    """

    unit: str | None
    sizes: tuple[int, ...]
    values: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class MetricInput:
    """One metric with all that it is judged against.

    ``measured`` is None if nothing was read; then ``problem`` may hold the reader's sentence. ``bands`` are the
    references, or the floors of the link's class if there are no references; ``floor_remark`` says why there is no such
    floor. ``one_way``: the link's limit in one direction, which bounds the time of a long message;
    None if it does not. ``crossing``: for a collective, how much of its size must cross, and who waits for it.
    ``limit`` bounds what is moved, ``most`` what is computed, ``upper_limits`` (only upper bounds) how often a card
    does something, and ``messages`` how many messages the link carries. ``passes``: what each pass of a run with
    several passes gave; ``measured`` is their median, and each pass must be sound and possible by itself.
    ``open_because``: the system's own reason why nothing bounds the size that decides. ``least``: the least latency
    that is believed between nodes. ``doubt``: why it is not a pass, although it breaks no bound.
    """

    declared: DeclaredMetric
    measured: MeasuredMetric | None
    problem: str | None = None
    limit: LimitLike | None = None
    bands: tuple[BandLike, ...] = ()
    floor_remark: str | None = None
    most: say.Ceiling | None = None
    upper_limits: tuple[BandLike, ...] = ()
    passes: tuple[MeasuredMetric, ...] = ()
    one_way: LimitLike | None = None
    messages: MessagesLike | None = None
    crossing: Crossing | None = None
    open_because: str | None = None
    doubt: str | None = None
    least: JudgingBound = LEAST_LATENCY

    @property
    def cited_bands(self) -> tuple[BandLike, ...]:
        """All entries that the metric must keep: its references and its upper limits."""
        return (*self.bands, *self.upper_limits)


@dataclass(frozen=True, slots=True)
class Inputs:
    """All that a verdict is made from.

    ``report_only`` is the system's own sentence why it has no references, None if it has some. ``link_limit_known`` is
    about the fabric's link, whatever the metric. ``accepts_unproven`` is the system's own sentence why a run whose path
    could not be proven may pass. ``no_payload`` is why a benchmark moves nothing that a counter could show. ``today``
    is only compared with the date of the expected failure. ``suspects`` are findings of probes made after the run.
    ``replayed`` says what was played in place of a measurement. ``contradictions``: figures of one row that cannot all
    be true. ``beside``: why rule 5 fails although the references hold, because parts of the run differ; or rule 5 of a
    run without references whose floor no link sets. ``has_references``: False if only a link is known, and no system.
    ``own_fault``: what is wrong with a curve by itself, whatever it is compared with. ``too_short``: why a run took too
    short a time to be compared with anything. ``rails`` is empty if nobody
    named the link; ``within_node``: the run is known to have crossed none, since it had only one node.
    """

    system: str
    fabric: str
    stack: str
    rails: tuple[str, ...]
    nodes: tuple[str, ...]
    job: Job
    metrics: tuple[MetricInput, ...]
    path: PathProof
    today: date
    link_limit_known: bool = True
    report_only: str | None = None
    accepts_unproven: str | None = None
    no_payload: str | None = None
    expected_failure: ExpectedFailure | None = None
    suspects: tuple[Suspect, ...] = ()
    replayed: str | None = None
    contradictions: tuple[str, ...] = ()
    beside: RuleResult | None = None
    has_references: bool = True
    own_fault: str | None = None
    too_short: str | None = None
    within_node: bool = False


@dataclass(frozen=True, slots=True)
class RuleResult:
    """What one rule says: its sentence needs none of the others. ``fault`` and ``look_at`` are set if it fails.

    ``brief`` is the sentence in one short line, empty if its first words do; ``measured`` is the sentence without names
    of references and bounds, empty if it has none. ``miss``: the bound that is broken, if that is why it fails.
    ``why_unjudged``: what the sentence says after "not judged: ", empty if it has more than that.
    """

    rule: int
    name: str
    state: RuleState
    sentence: str
    fault: FaultClass | None = None
    look_at: str | None = None
    brief: str = ""
    measured: str = ""
    miss: Miss | None = None
    why_unjudged: str = ""

    @property
    def reason(self) -> str:
        """The sentence, without the words that it was not judged."""
        return self.why_unjudged or self.sentence


def pass_rule(rule: int, sentence: str) -> RuleResult:
    """Return a rule that holds."""
    return RuleResult(rule, RULE_NAMES[rule], "pass", sentence)


def fail_rule(
    rule: int,
    sentence: str,
    fault: FaultClass,
    look_at: str,
    *,
    brief: str = "",
    measured: str = "",
    miss: Miss | None = None,
) -> RuleResult:
    """Return a rule that does not hold, with the class of the fault and what to look at next."""
    return RuleResult(rule, RULE_NAMES[rule], "fail", sentence, fault, look_at, brief, measured, miss)


def not_judged(rule: int, reason: str) -> RuleResult:
    """Return a rule that says nothing, with why: this is not a pass."""
    return RuleResult(rule, RULE_NAMES[rule], "not-judged", say_not_judged(reason), why_unjudged=reason)


def why_unusable(declared: DeclaredMetric, measured: MeasuredMetric | None, problem: str | None = None) -> str | None:
    """Return None if what was measured can be judged, else the sentence that says why not; ``problem``: the reader's
    sentence.
    """
    if measured is None or not measured.sizes:
        return say.say_unread(declared.name, declared.unit, problem or "")
    if len(measured.sizes) != len(measured.values):
        return say.unlike_counts(declared.name, len(measured.sizes), len(measured.values))
    if measured.unit != declared.unit:
        return say.other_unit(declared.name, measured.unit, declared.unit)
    if any(map(operator.le, measured.sizes[1:], measured.sizes)):
        return say.unsorted_sizes(declared.name)
    if _all_above_0(measured.values):
        return None
    largest = 0.0  # of the smaller sizes
    for size, value in zip(measured.sizes, measured.values, strict=True):
        what = f"{declared.name}{declared.size_words(size)}"
        if value is None or isinstance(value, bool) or not math.isfinite(value):
            return say.not_finite(what, value)
        if value < 0 or (value == 0 and not _rounds_to_zero(declared, size, largest)):
            return say.not_above_0(what, value, declared.unit)
        largest = max(largest, value)
    return None


def _all_above_0(values: Sequence[float | None]) -> bool:
    """Return whether all are finite numbers above 0: nearly every metric is, and each rule asks."""
    if not {*map(type, values)} <= {int, float}:
        return False
    numbers = [value for value in values if value is not None]
    return min(numbers) > 0 and all(map(math.isfinite, numbers))


def named_passes(metric: MetricInput) -> Iterator[tuple[str, MeasuredMetric]]:
    """Yield what each of several passes gave for a metric, with the words that name the pass; nothing for one pass."""
    count = len(metric.passes)
    for place, measured in enumerate(metric.passes if count > 1 else (), start=1):
        yield say.in_pass(place, count), measured


def points(metric: MetricInput) -> tuple[tuple[int, float], ...]:
    """Return (size in bytes, value) of a metric if ``why_unusable`` finds nothing wrong with it; empty otherwise."""
    if metric.measured is None or why_unusable(metric.declared, metric.measured) is not None:
        return ()
    values = (value for value in metric.measured.values if value is not None)
    return tuple(zip(metric.measured.sizes, map(float, values), strict=True))


def compared_points(metric: MetricInput, band: BandLike) -> tuple[tuple[int, float], ...]:
    """Return (size in bytes, value) where a band is compared with a metric: at each size that it bounds, or only at the
    one with the best value.
    """
    found = tuple((size, value) for size, value in points(metric) if band.bounds(size))
    better = max if metric.declared.higher_is_better else min
    return (better(found, key=lambda point: point[1]),) if band.best_of_sizes and found else found


def cite_band(band: BandLike) -> str:
    """Return a reference as a sentence names it: its entry, the kind of number, and its source."""
    return f"{band.entry_id} ({band.kind}: {band.source})"


# Twenty times the 0.005 MB/s that two decimals show as 0.00.
_SURELY_PRINTED_MB_S = 0.1


def _rounds_to_zero(declared: DeclaredMetric, size: int, largest: float) -> bool:
    """Return whether a tool may have rounded a figure to the 0 that it prints; ``largest``: that of smaller sizes."""
    # IMB prints a rate as a whole number: 0 if a message takes over 2 s. Allowed only if nothing is asserted about it.
    if declared.quantity == "rate" and declared.reported_only is not None:
        return True
    # NPB prints seconds with two decimals, and its smallest problem may take less than half of 0.01 s.
    if declared.coarse and declared.reported_only is not None:
        return True
    # A larger message has no lower bandwidth, so behind a figure that is printed well a 0 is none.
    return declared.quantity == "bandwidth" and size < PRINTED_ZERO_BELOW.value and largest < _SURELY_PRINTED_MB_S
