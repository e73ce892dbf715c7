"""The field types of systems/*.yaml: names from a table, rail policies, benchmarks, host patterns, lists of nodes.

The model of prices in systems/*.yaml: what a fabric costs per node, by the number of nodes.
"""

import ipaddress
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema
from pydantic_core import CoreSchema, core_schema

from railyard.base.errors import did_you_mean
from railyard.base.fields import AS_LIST, BenchmarkName, Count, Date, Model, Name, Positive, Prose, one_or_many
from railyard.base.values import check_pattern, refuse, show
from railyard.benchmarks.table.applications import APPLICATIONS
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.benchmarks.table.micro import PACKAGES as TOOLS
from railyard.hardware import links
from railyard.hardware.links import why_no_link
from railyard.site.systems import jobs
from railyard.site.systems.node_view import node_names
from railyard.stacks import model
from railyard.stacks.containers import CONTAINERS


@dataclass(frozen=True, slots=True, eq=False)  # typing hashes it, and a table of names has no hash
class _KnownName:
    """One of these names, in the model and in its JSON schema; ``what`` is expected, for the error message."""

    names: Collection[str]
    what: str
    hint: Callable[[str], str] | None = None  # for a name that is not among them; None: the nearest of them

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check_name, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.names)}

    def _check_name(self, name: str) -> str:
        if name in self.names:
            return name
        raise refuse(show(name), self.what, self.hint(name) if self.hint else did_you_mean(name, self.names))


def sentence_or_false(value: Any) -> Any:
    """Return None for false, and a sentence as it is. Refuse anything else."""
    if value is False:
        return None
    if value is True or not isinstance(value, str):
        raise refuse(show(value), "false, or a sentence that says why there are no references")
    return value


SlotName = Annotated[str, _KnownName(links.SLOTS, "a slot of docs/reference/rates.md")]
LinkName = Annotated[str, _KnownName(links.LINKS, "a link of docs/reference/rates.md", why_no_link)]
ToolName = Annotated[Name, _KnownName(TOOLS, "a tool of docs/howto/spack.md")]
SchedulerName = Annotated[Name, _KnownName(jobs.SCHEDULERS, "a scheduler of docs/howto/clusters.md")]
LauncherName = Annotated[Name, _KnownName(jobs.LAUNCHERS, "a launcher of ReFrame or Railyard")]
ContainerName = Annotated[Name, _KnownName(CONTAINERS, f"one of {', '.join(CONTAINERS)}")]
ModulesSystem = Annotated[Name, _KnownName(jobs.MODULES_SYSTEMS, "a kind of environment modules that ReFrame has")]


def _subnet(text: str) -> str:
    try:
        return str(ipaddress.IPv4Network(text))
    except ValueError as error:
        raise refuse(show(text), 'an IPv4 network such as "10.1.0.0/16"', str(error)) from None


Subnet = Annotated[str, AfterValidator(_subnet)]


def _benchmark_name(name: str) -> str:
    known = [*BENCHMARKS, *APPLICATIONS]
    if name in known:
        return name
    expected = f"a benchmark that Railyard knows, or the tool of applications ({', '.join(APPLICATIONS)})"
    raise refuse(show(name), expected, did_you_mean(name, known))


MeasuredBenchmark = Annotated[str, AfterValidator(_benchmark_name)]
HostPattern = Annotated[Prose, AfterValidator(check_pattern)]
NodeNames = Annotated[tuple[Name, ...], BeforeValidator(node_names), one_or_many({"type": "string"})]
#: 2 for a network of 2 to 1; a network gives half of the nodes no more than their cards can take.
Blocking = Annotated[float, Field(strict=True, ge=1)]


#: Any rail policy, or any stack, of an entry.
ANY = "any"
POLICY_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"enum": [ANY, *model.POLICIES]},
        {"type": "string", "pattern": f"^(?:{model.TUNED_PATTERN}|{model.ALONE_PATTERN})$"},
    ]
}


def _policy(value: Any) -> Any:
    """Accept any, a rail policy, striping with its own threshold (striping-8K), or a rail (rail-2); refuse all else."""
    if value == ANY or (isinstance(value, str) and model.unknown(value) is None):
        return value
    known = (ANY, *model.POLICIES)
    guess = "known: " + ", ".join(known)
    if isinstance(value, str):
        guess = model.unknown(value) or guess
    raise refuse(show(value), "a known value", guess)


Policy = Annotated[str, BeforeValidator(_policy), WithJsonSchema(POLICY_SCHEMA)]
SEVERAL_NAMES = one_or_many({"type": "string", "minLength": 1})
Benchmarks = Annotated[tuple[BenchmarkName, ...], AS_LIST, Field(min_length=1), SEVERAL_NAMES]


Part = Literal["whole", "nic", "second_port", "switch_port", "optics", "cables", "software"]
PriceBound = Literal["exact", "around", "at-least", "at-most"]

_CURRENCY_LETTERS = 3


def _currency(text: str) -> str:
    if len(text) == _CURRENCY_LETTERS and text.isascii() and text.isalpha() and text.isupper():
        return text
    raise refuse(show(text), 'a currency of three capitals, such as "USD"')


def _money(value: Any) -> Any:
    if isinstance(value, list):
        if len(value) != 2:
            raise refuse(show(value), "a number, or the two ends of a range")
        return tuple(value)
    return (value, value)


def _ends(value: tuple[float, float]) -> tuple[float, float]:
    if value[0] > value[1]:
        raise refuse(f"{value[0]:g} to {value[1]:g}", "a range that rises")
    return value


Currency = Annotated[str, AfterValidator(_currency)]
Money = Annotated[
    tuple[Positive, Positive],
    BeforeValidator(_money),
    AfterValidator(_ends),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 2, "maxItems": 2},
            ]
        }
    ),
]
Fabrics = Annotated[tuple[Name, ...], AS_LIST, Field(min_length=1), one_or_many({"type": "string", "minLength": 1})]


class NodeCounts(Model):
    """Numbers of nodes, including both ends. An end that is left out is open."""

    first: Count | None = Field(None, alias="from")
    last: Count | None = Field(None, alias="to")

    def covers(self, nodes: int) -> bool:
        """Return whether the price holds for a cluster of this size."""
        return (self.first or 1) <= nodes and (self.last is None or nodes <= self.last)


class Price(Model):
    """What a fabric costs per node, in all its parts, in a cluster of so many nodes."""

    fabric: Fabrics
    rails: Count = 1
    nodes: NodeCounts = NodeCounts.model_validate({})
    currency: Currency
    date: Date
    parts: dict[Part, Money] = Field(min_length=1, description="A number per node, or the two ends of a range")
    bound: PriceBound = Field("exact", description="What the sum is, in the source's own word")
    source: Prose
    note: Prose | None = None

    @property
    def low(self) -> float:
        """The lower end of the sum of all parts."""
        return sum(part[0] for part in self.parts.values())

    @property
    def high(self) -> float:
        """The upper end of the sum of all parts."""
        return sum(part[1] for part in self.parts.values())
