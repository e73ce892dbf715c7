"""The fields that entries and relations of references/*.yaml share: metric, rails, policy, sizes, and the source."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema

from railyard.base.errors import did_you_mean
from railyard.base.fields import (
    AS_LIST,
    BenchmarkName,
    Count,
    Date,
    Model,
    Name,
    Number,
    Prose,
    Size,
    one_or_many,
    refuse,
    show,
)
from railyard.benchmarks.table.applications import A_NODE
from railyard.benchmarks.table.network import ENTRIES
from railyard.stacks import model, policy

ANY = "any"
UNITS: Mapping[str, str] = {
    "bandwidth": "MB/s",
    "latency": "us",
    "message_rate": "1/s",
    "runtime": "s",
    "performance": "Gflop/s",
    "op_rate": "Mop/s",
    A_NODE: "Mflop/s",
    **{metric.name: metric.unit for entry in ENTRIES for metric in entry.metrics},
}
"""The one unit of each metric, as parsers give it (MB/s is 10^6 B/s)."""
HIGHER_IS_BETTER = frozenset(
    {
        *("bandwidth", "message_rate", "performance", "op_rate", A_NODE),
        *(metric.name for entry in ENTRIES for metric in entry.metrics if metric.better == "higher"),
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
POLICY_SCHEMA: dict[str, Any] = {
    "anyOf": [{"enum": [ANY, *model.POLICIES]}, {"type": "string", "pattern": f"^{policy.TUNED_PATTERN}$"}]
}


def _policy(value: Any) -> Any:
    """Refuse what is neither any, a rail policy, nor striping with a threshold of its own (striping-8K)."""
    if value == ANY or (isinstance(value, str) and policy.unknown(value) is None):
        return value
    known = (ANY, *model.POLICIES)
    guess = "known: " + ", ".join(known)
    if isinstance(value, str):
        guess = policy.unknown(value) or guess
    raise refuse(show(value), "a known value", guess)


Policy = Annotated[str, BeforeValidator(_policy), WithJsonSchema(POLICY_SCHEMA)]


def _fraction(value: float) -> float:
    if value < 0:
        raise refuse(
            str(value), "a fraction from 0 to 1, without a sign", "low is what a value may fall, high what it may rise"
        )
    if value > 1:
        raise refuse(str(value), "a fraction from 0 to 1", f"{value:g} per cent is {value / 100:g}")
    return value


Fraction = Annotated[Number, AfterValidator(_fraction)]
_NAME_SCHEMA = one_or_many({"type": "string", "minLength": 1})
Names = Annotated[tuple[Name, ...], AS_LIST, Field(min_length=1), _NAME_SCHEMA]
Benchmarks = Annotated[tuple[BenchmarkName, ...], AS_LIST, Field(min_length=1), _NAME_SCHEMA]
Policies = Annotated[
    tuple[Policy, ...],
    AS_LIST,
    Field(min_length=1),
    one_or_many(POLICY_SCHEMA),
]


def _rails(value: Any) -> Any:
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


class Range(Model):
    """Message sizes, both ends included; an end that is left out is open."""

    first: Size | None = Field(None, alias="from")
    last: Size | None = Field(None, alias="to")


def _or_named(schema: dict[str, Any]) -> None:
    """Let an editor accept a source that names one of the file's in place of document and date."""
    schema["properties"]["of"]["anyOf"] = [{"type": "string", "minLength": 1}]
    schema["properties"]["of"].pop("type", None)
    schema["properties"]["of"].pop("default", None)
    schema["anyOf"] = [{"required": schema.pop("required")}, {"required": ["of"]}]


class Source(Model):
    """Where a reference comes from."""

    model_config = ConfigDict(json_schema_extra=lambda schema: _or_named(schema))

    document: Prose = Field(description="What was read or derived, or what was measured")
    date: Date
    of: None = Field(None, description="In place of document and date: the name of one of the file's sources")
    at: Prose | None = Field(None, description="Where in the document: a table, a figure, a page")
    hardware: Prose | None = None
    firmware: Prose | None = None
    driver: Prose | None = None
    mpi: Prose | None = None
    benchmark_version: Prose | None = None
    hops: Annotated[int, Field(strict=True, ge=0)] | None = None
    conditions: dict[Name, Prose] = Field({}, description="Settings that decide the number: snoop mode, turbo, MTU …")
    runs: tuple[Name, ...] = Field((), description="Run ids that a baseline was captured from")
    note: Prose | None = None

    def cite(self) -> str:
        """Return the source in one line."""
        runs = f", runs {', '.join(self.runs)}" if self.runs else ""
        at = f", {self.at}" if self.at else ""
        return f"{self.document}{at}, {self.date.isoformat()}{runs}"
