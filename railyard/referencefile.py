"""The model of references/*.yaml: what one entry may say, field by field."""

import datetime
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, field_validator

from railyard.bands import REGIMES
from railyard.fields import (
    AS_LIST,
    BenchmarkName,
    Count,
    Model,
    Name,
    Number,
    Positive,
    Prose,
    Size,
    one_or_many,
    refuse,
    show,
)

ANY = "any"
UNITS: Mapping[str, str] = {
    "bandwidth": "MB/s",
    "latency": "us",
    "message_rate": "1/s",
    "runtime": "s",
    "performance": "Gflop/s",
    "op_rate": "Mop/s",
}
"""The one unit of each metric, as parsers give it (MB/s is 10^6 B/s)."""
HIGHER_IS_BETTER = frozenset({"bandwidth", "message_rate", "performance", "op_rate"})

Metric = Literal["bandwidth", "latency", "message_rate", "runtime", "performance", "op_rate"]
Kind = Literal["contract", "baseline", "published", "class"]
Policy = Literal["any", "single", "striping", "round-robin", "nic-per-rank"]


def _fraction(value: float) -> float:
    if value < 0:
        raise refuse(
            str(value), "a fraction from 0 to 1, without a sign", "low is what a value may fall, high what it may rise"
        )
    if value > 1:
        raise refuse(str(value), "a fraction from 0 to 1", f"{value:g} per cent is {value / 100:g}")
    return value


def _amount_form(value: Any) -> str:
    return "(share)" if isinstance(value, (dict, Share)) else "(number)"


def _tolerance_form(value: Any) -> str:
    if isinstance(value, ByRegime) or (isinstance(value, dict) and set(value) & {*REGIMES, "switch"}):
        return "(regimes)"
    return "(flat)"


Fraction = Annotated[Number, AfterValidator(_fraction)]
_NAME_SCHEMA = one_or_many({"type": "string", "minLength": 1})
Names = Annotated[tuple[Name, ...], AS_LIST, Field(min_length=1), _NAME_SCHEMA]
Benchmarks = Annotated[tuple[BenchmarkName, ...], AS_LIST, Field(min_length=1), _NAME_SCHEMA]
Policies = Annotated[
    tuple[Policy, ...],
    AS_LIST,
    Field(min_length=1),
    one_or_many({"enum": ["any", "single", "striping", "round-robin", "nic-per-rank"]}),
]


def _rails(value: Any) -> Any:
    return () if value == ANY else value if isinstance(value, list) else [value]


Rails = Annotated[
    tuple[Count, ...],
    BeforeValidator(_rails),
    one_or_many({"anyOf": [{"const": ANY}, {"type": "integer", "minimum": 1}]}),
]


class Share(Model):
    """A bound as a share of what the hardware gives: ``fraction`` x ``times`` of it."""

    of: Literal["data-rate", "limit"] = Field(description="One rail's data rate, or the physical limit of the run")
    fraction: Annotated[float, Field(strict=True, gt=0, le=1)]
    times: Positive = Field(1.0, description='For example 1.9: "two rails reach 1.9 times one"')


class Tolerance(Model):
    """How far a value may lie from the reference, as fractions."""

    low: Fraction | None = None
    high: Fraction | None = None


class ByRegime(Model):
    """A tolerance for each regime of message sizes; ``switch`` holds around a protocol switch."""

    latency: Tolerance
    middle: Tolerance
    bandwidth: Tolerance
    switch: Tolerance | None = None


class Range(Model):
    """Message sizes, both ends included; an end that is left out is open."""

    first: Size | None = Field(None, alias="from")
    last: Size | None = Field(None, alias="to")


class Source(Model):
    """Where a reference comes from."""

    document: Prose = Field(description="What was read or derived, or what was measured")
    date: datetime.date
    hardware: Prose | None = None
    firmware: Prose | None = None
    driver: Prose | None = None
    mpi: Prose | None = None
    benchmark_version: Prose | None = None
    hops: Annotated[int, Field(strict=True, ge=0)] | None = None
    runs: tuple[Name, ...] = Field((), description="Run ids that a baseline was captured from")
    note: Prose | None = None

    @field_validator("date", mode="before")
    @classmethod
    def _is_a_date(cls, value: Any) -> Any:
        if isinstance(value, datetime.date):
            return value
        raise refuse(show(value), "a date, YYYY-MM-DD, without quotes")

    def cite(self) -> str:
        """Return the source in one line."""
        runs = f", runs {', '.join(self.runs)}" if self.runs else ""
        return f"{self.document}, {self.date.isoformat()}{runs}"


Amount = Annotated[Annotated[Positive, Tag("(number)")] | Annotated[Share, Tag("(share)")], Discriminator(_amount_form)]
AnyTolerance = Annotated[
    Annotated[Tolerance, Tag("(flat)")] | Annotated[ByRegime, Tag("(regimes)")], Discriminator(_tolerance_form)
]


class Entry(Model):
    """One reference: what it is for, the number, and where that comes from."""

    id: Name
    fabric: Name
    stack: Names = (ANY,)
    rails: Rails = Field((), description="any, a number or a list of them")
    policy: Policies = ("any",)
    benchmark: Benchmarks = Field(description='"<tool>/<benchmark>[/<mode>]", one or a list')
    metric: Metric
    unit: Prose
    directions: Literal[1, 2] = Field(1, description="2: a bandwidth that sums both directions (Biband, osu_bibw)")
    kind: Kind
    value: Amount | None = None
    floor: Amount | None = None
    ceiling: Amount | None = None
    upper_limit: Positive | None = Field(None, description="A message rate that no card of this kind exceeds")
    curve: dict[Size, Positive] | None = Field(None, description="Message size: value", min_length=1)
    sizes: Range = Range.model_validate({})
    tolerance: AnyTolerance | None = None
    switches: tuple[Size, ...] = Field((), description="Sizes at which the protocol changes")
    reason: Prose | None = Field(None, description="Why this class entry replaces the floor that the link's class sets")
    source: Source

    def matches(self, fabric: str, stack: str, rails: int, policy: str, benchmark: str, metric: str) -> bool:
        """Return whether this entry is for such a run."""
        return (
            self.fabric == fabric
            and (ANY in self.stack or stack in self.stack)
            and (not self.rails or rails in self.rails)
            and (ANY in self.policy or policy in self.policy)
            and benchmark in self.benchmark
            and self.metric == metric
        )


class ReferenceFile(Model):
    """The references of one system."""

    system: Name
    entries: tuple[Entry, ...] = Field(min_length=1)
