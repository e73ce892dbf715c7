"""The model of references/*.yaml: the fields of an entry, a relation, a source and its claims."""

import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, Protocol

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Discriminator, Field, Tag, WithJsonSchema

from railyard.base.errors import did_you_mean
from railyard.base.fields import (
    AS_LIST,
    BenchmarkName,
    Count,
    Date,
    Model,
    Name,
    Number,
    Positive,
    Prose,
    Size,
    one_or_many,
)
from railyard.base.values import refuse, show
from railyard.benchmarks.table import network
from railyard.benchmarks.table.applications import A_NODE
from railyard.site.references.amount import Amount, AnyTolerance, BelowLink, Ends, Fraction, Range, Sizes, Stated
from railyard.site.systems.fields import ANY, POLICY_SCHEMA, SEVERAL_NAMES, Benchmarks, Policy
from railyard.site.test_id import TestId
from railyard.stacks import model

#: Words that give a number or a likeness a margin. Whatever judges by such a word must state the margin.
_LOOSE = re.compile(
    r"\b(?:about|almost|approximately|around|close to|considerably|nearly|roughly|significantly|similar|"
    r"substantially)\b(?! (?:it|them|us|what)\b)",
    re.IGNORECASE,
)


class Claim(Model):
    """What a source says. Either something holds it (``held_by``), or ``not_held`` says why nothing does.

    ``held_by`` has ids of entries, relations and facts, and also ``source:NAME`` (hardware, software and conditions of
    one of the file's sources), ``fabric:NAME`` and ``price:NAME`` (both in the system's file). Runs are judged only by
    entries and relations. If it names neither, ``not_judged`` says why no run can be judged.
    """

    says: Prose = Field(description="The claim in a few words of ours")
    of: Name = Field(description="The name of one of the file's sources")
    at: Prose = Field(description="Where in the source: a table, a figure, a section")
    held_by: tuple[Prose, ...] = Field((), description="Ids of entries, relations, facts; source:NAME …")
    not_held: Prose | None = Field(None, description="Instead of held_by: why nothing holds it")
    not_judged: Prose | None = Field(None, description="Why no run is judged by it, if only facts hold it")
    differs: Prose | None = Field(
        None, description="Where what holds it differs from the source's words: a size, a unit, a bound of our choice"
    )


_FIGURES = (*network.ENTRIES, *network.PAIRS_ENTRIES)  # of whole networks
UNITS: Mapping[str, str] = {
    "bandwidth": "MB/s",
    "latency": "us",
    "message_rate": "1/s",
    "runtime": "s",
    "performance": "Gflop/s",
    "op_rate": "Mop/s",
    A_NODE: "Mflop/s",
    **{metric.name: metric.unit for entry in _FIGURES for metric in entry.metrics},
}
"""The unit of each metric, as parsers give it (MB/s is 10^6 B/s)."""
HIGHER_IS_BETTER = frozenset(
    {
        *("bandwidth", "message_rate", "performance", "op_rate", A_NODE),
        *(metric.name for entry in _FIGURES for metric in entry.metrics if metric.better == "higher"),
    }
)

Kind = Literal["contract", "baseline", "published", "reported", "class", "bad-case"]
FactKind = Literal["stated", "measured", "nominal", "reported", "derived"]


def _metric(value: Any) -> Any:
    if isinstance(value, str) and value in UNITS:
        return value
    guess = did_you_mean(value, UNITS) if isinstance(value, str) else "known: " + ", ".join(UNITS)
    raise refuse(show(value), "a known value", guess)


Metric = Annotated[str, BeforeValidator(_metric), WithJsonSchema({"enum": list(UNITS), "type": "string"})]
Names = Annotated[tuple[Name, ...], AS_LIST, Field(min_length=1), SEVERAL_NAMES]
Policies = Annotated[
    tuple[Policy, ...],
    AS_LIST,
    Field(min_length=1),
    one_or_many(POLICY_SCHEMA),
]


def _rails(value: Any) -> Any:
    if value == []:
        raise refuse(show(value), "a number, a list of numbers, or any")
    if isinstance(value, list) and any(each in value[:place] for place, each in enumerate(value)):
        raise refuse(show(value), "each number once")
    return () if value == ANY else value if isinstance(value, list) else [value]


Rails = Annotated[
    tuple[Count, ...],
    BeforeValidator(_rails),
    one_or_many({"anyOf": [{"const": ANY}, {"type": "integer", "minimum": 1}]}),
]
Hops = Annotated[
    tuple[Annotated[int, Field(strict=True, ge=0)], ...],
    BeforeValidator(_rails),
    one_or_many({"anyOf": [{"const": ANY}, {"type": "integer", "minimum": 0}]}),
]


def _accept_source_name(schema: dict[str, Any]) -> None:
    """Let an editor accept a source that names a source of the file instead of document and date."""
    schema["properties"]["of"]["anyOf"] = [{"type": "string", "minLength": 1}]
    schema["properties"]["of"].pop("type", None)
    schema["properties"]["of"].pop("default", None)
    schema["anyOf"] = [{"required": schema.pop("required")}, {"required": ["of"]}]


class Source(Model):
    """Where a reference comes from."""

    model_config = ConfigDict(json_schema_extra=lambda schema: _accept_source_name(schema))

    document: Prose = Field(description="What was read or derived, or what was measured")
    date: Date
    of: None = Field(None, description="Instead of document and date: the name of one of the file's sources")
    at: Prose | None = Field(None, description="Where in the document: a table, a figure, a page")
    hardware: Prose | None = None
    firmware: Prose | None = None
    driver: Prose | None = None
    mpi: Prose | None = None
    benchmark_version: Prose | None = None
    hops: Annotated[int, Field(strict=True, ge=0)] | None = None
    conditions: dict[Name, Prose] = Field(
        {}, description="Settings on which it depends, in the words of docs/reference/conditions.md"
    )
    runs: tuple[Name, ...] = Field((), description="Ids of the runs from which a baseline was captured")
    note: Prose | None = None

    def cite(self) -> str:
        """Return the source in one line."""
        runs = f", runs {', '.join(self.runs)}" if self.runs else ""
        at = f", {self.at}" if self.at else ""
        return f"{self.document}{at}, {self.date.isoformat()}{runs}"


Form = Literal["ratio", "ahead", "crossover", "difference", "same", "spread", "peak", "fall", "dip"]

LEAST_LAG = -0.5


def _lead(value: float) -> float:
    if not LEAST_LAG <= value <= 10:
        raise refuse(
            f"{value:g}", f"a fraction from {LEAST_LAG:g} to 10", "0.05 is 5 percent, -0.05 lets it lag by as much"
        )
    return value


def _side_form(value: Any) -> str:
    return "(entry)" if isinstance(value, str) else "(side)"


class Side(Model):
    """Which tests of a run give a curve. A stack that is left out is any one, the same on both sides."""

    fabric: Name
    stack: Name | None = None
    rails: Count = 1
    policy: Policy = "any"
    benchmark: BenchmarkName
    metric: Metric | None = Field(None, description="If left out: the benchmark's first metric")

    @property
    def words(self) -> str:
        """The side in words: ``osu/osu_bw over 2 rails of qdr with mvapich2, striping``."""
        rails = "" if self.rails == 1 else f"{self.rails} rails of "
        stack = f" with {self.stack}" if self.stack else ""
        policy = "" if self.policy == "any" else f", {self.policy}"
        return f"{self.benchmark} over {rails}{self.fabric}{stack}{policy}"


AnySide = Annotated[Annotated[Name, Tag("(entry)")] | Annotated[Side, Tag("(side)")], Discriminator(_side_form)]


class Step(Model):
    """Two sides whose difference another difference is compared with, such as a way with and without a switch."""

    of: AnySide = Field(description="An entry's id, or a side in full")
    to: AnySide


class Relation(Model):
    """What must hold between the curve of one side (``of``) and of another side (``to``), at every size that both have.

    ratio: of / to is within low … high. ahead: of is better than to, by at least ``by``, everywhere or somewhere.
    crossover: of is better up to between.from, to is better from between.to on. difference: of - to is within low …
    high, in the metric's unit; with ``than`` it is by how much that difference exceeds the one of than.of and than.to.
    same: they differ by at most ``within``; below 2 % that needs three runs per side. spread: (largest - smallest) /
    median of repeats is at most ``high``, or larger than that of ``to``. Three forms are about one bandwidth. peak: its
    best is within ``between``. fall: at each of ``sizes`` it is below its best at smaller sizes by at least ``by``.
    dip: so it is at one of ``sizes``, and it reaches that best again later.
    """

    id: Name
    says: Prose = Field(description="The relation in a reader's words")
    form: Form
    of: AnySide = Field(description="An entry's id, or a side in full")
    to: AnySide | None = None
    than: Step | None = Field(None, description="difference: the other difference, with which this one is compared")
    sizes: Sizes = Range.model_validate({})
    low: Number | None = None
    high: Number | None = None
    by: Annotated[Number, AfterValidator(_lead)] | None = None
    where: Literal["everywhere", "somewhere"] | None = None
    between: Range | None = None
    within: Fraction | None = None
    margin_reason: Prose | None = Field(
        None, description="Why its margin has this value, if the source only has a word for it"
    )
    source: Source


#: Outputs of a faulty system, kept as a bad example. They are listed, and nothing is judged by them.
BAD_CASE = "bad-case"


class ForTests(Protocol):
    """A statement about some tests: those of a fabric and of some or any stacks, numbers of rails, and policies."""

    @property
    def fabric(self) -> str: ...
    @property
    def stack(self) -> Collection[str]: ...
    @property
    def rails(self) -> Collection[int]: ...
    @property
    def policy(self) -> Collection[str]: ...
    @property
    def benchmark(self) -> Collection[str]: ...


def is_for(stated: ForTests, test: TestId) -> bool:
    """Return whether a statement is about this test, by its place, rail policy and benchmark."""
    return (
        stated.fabric == test.fabric
        and (ANY in stated.stack or test.stack in stated.stack)
        and (not stated.rails or test.rails in stated.rails)
        and (ANY in stated.policy or any(model.holds_for(policy, test.policy) for policy in stated.policy))
        and test.benchmark in stated.benchmark
    )


class Entry(Model):
    """One reference: the tests it is for, the number, and its source."""

    id: Name
    fabric: Name
    stack: Names = (ANY,)
    rails: Rails = Field((), description="any, a number or a list of them")
    policy: Policies = ("any",)
    hops: Hops = Field(
        (), description="Numbers of switches between the two nodes for which it holds: any, a number or a list"
    )
    benchmark: Benchmarks = Field(description='"<tool>/<benchmark>[/<mode>]", one or a list')
    metric: Metric
    unit: Prose
    directions: Literal[1, 2] = Field(1, description="2: a bandwidth that sums both directions (Biband, osu_bibw)")
    kind: Kind
    value: Amount | None = None
    ends: Ends | None = Field(
        None, alias="range", description="Low and high end of what the source prints; both are bounds"
    )
    floor: Amount | None = None
    ceiling: Amount | None = None
    upper_limit: Positive | None = Field(None, description="A message rate that no card of this kind exceeds")
    curve: dict[Size, Positive] | None = Field(None, description="Message size: value", min_length=1)
    sizes: Sizes = Range.model_validate({})
    tolerance: AnyTolerance | None = None
    best_of: Literal["sizes"] | None = Field(
        None,
        description="It holds if the best value of its sizes does: all show the same delay, or the same slow rail",
    )
    switches: tuple[Size, ...] = Field((), description="Sizes at which the protocol changes")
    reason: Prose | None = Field(None, description="Why this class entry replaces the floor of the link's class")
    below_link: BelowLink | None = Field(None, description="Why it demands less than half of what its link gives")
    source: Source

    def matches(self, test: TestId, metric: str) -> bool:
        """Return whether runs of this test are judged by this entry. No run is judged by a genuine bad case."""
        return self.kind != BAD_CASE and self.metric == metric and is_for(self, test)

    def holds_at(self, hops: int | None) -> bool:
        """Return whether this entry is for two nodes with so many switches between them; None means unknown."""
        return not self.hops or hops in self.hops


class ExpectedFailure(Model):
    """A failure of its hardware that the site knows: why, until when (including that day), and of which rules."""

    fabric: Name
    stack: Names = (ANY,)
    rails: Rails = Field((), description="any, a number or a list of them")
    policy: Policies = ("any",)
    benchmark: Benchmarks = Field(description='"<tool>/<benchmark>[/<mode>]", one or a list')
    rules: tuple[Literal[4, 5], ...] = Field((4, 5), min_length=1, description="4: the path, 5: the reference")
    reason: Prose = Field(description="What is wrong and who fixes it, such as a ticket")
    expires: Date = Field(description="The last day on which it is expected")


class UnboundedSizes(Model):
    """Message sizes at which some tests, on purpose, have no bound. A verdict says so, `railyard lint` does not.

    None of these sizes may have a bound in any of the tests, so this cannot hide a lost bound.
    """

    fabric: Names = (ANY,)
    stack: Names = (ANY,)
    rails: Rails = Field((), description="any, a number or a list of them")
    benchmark: Benchmarks = Field(description='"<tool>/<benchmark>[/<mode>]", one or a list')
    sizes: Sizes
    reason: Prose = Field(description="Why nothing bounds them, for example: the source prints only the peak")

    def covers(self, test: TestId) -> bool:
        """Return whether it is about this test."""
        return (
            not {ANY, test.fabric}.isdisjoint(self.fabric)
            and not {ANY, test.stack}.isdisjoint(self.stack)
            and (not self.rails or test.rails in self.rails)
            and test.benchmark in self.benchmark
        )


class Fact(Model):
    """A number that a source states and no check measures. It is listed, and nothing is judged by it."""

    id: Name
    what: Prose
    fabric: Name | None = None
    stack: Name | None = None
    value: Number | None = None
    ends: Ends | None = Field(None, alias="range", description="Instead of a value: its low and high end")
    table: dict[Count, Stated] | None = Field(
        None, min_length=1, description="Several values: key, and number or [low, high]"
    )
    by: Prose | None = Field(None, description="What the table's keys are, such as nodes")
    unit: Prose
    kind: FactKind
    source: Source


class ReferenceFile(Model):
    """The references of one system."""

    system: Name
    sources: dict[Name, Source] = Field({}, description="Sources that several entries name with source: {of: NAME}")
    below_link: BelowLink | None = Field(None, description="Why its entries demand less than half of what links give")
    entries: tuple[Entry, ...]
    relations: tuple[Relation, ...] = Field((), description="What must hold between the curves of one run")
    facts: tuple[Fact, ...] = Field((), description="Numbers of the sources that no check measures")
    unbounded: tuple[UnboundedSizes, ...] = Field((), description="Message sizes that nothing bounds, and why")
    claims: tuple[Claim, ...] = Field(
        (), description="What the sources say, and what in the file holds it (docs/reference/published.md)"
    )
    expected_failures: tuple[ExpectedFailure, ...] = Field((), description="Known failures, each until a date")


def loose_word(text: str) -> str | None:
    """Return the first word of a text that leaves a margin open, such as "nearly"; None if there is none."""
    found = _LOOSE.search(text)
    return None if found is None else found[0].lower()
