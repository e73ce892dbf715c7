"""The model of prices in systems/*.yaml: what a fabric costs per node, by the number of nodes."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from railyard.base.fields import AS_LIST, Count, Date, Model, Name, Positive, Prose, one_or_many
from railyard.base.values import refuse, show

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
