"""What a reference demands, at which sizes: a number, both ends of a range, or a share of what the hardware gives.

Also how far a value may be from it.
"""

import math
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
)

from railyard.base.bounds import REFERENCE_SHARE
from railyard.base.fields import Model, Number, Positive, Prose, Size
from railyard.base.values import refuse, show
from railyard.base.wording import message_size

#: If the ends of a range differ by more than this factor, they have different units, such as 0.6 us and 700 ns.
MOST_APART = 10.0
_SHOWN = 4
_ENDS_SCHEMA = {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 2, "maxItems": 2}


class Range(Model):
    """Message sizes, including both ends. An end that is left out is open."""

    first: Size | None = Field(None, alias="from")
    last: Size | None = Field(None, alias="to")

    @field_validator("last")
    @classmethod
    def _behind_first(cls, last: int | None, info: ValidationInfo) -> int | None:
        first = info.data.get("first")
        if first is not None and last is not None and last < first:
            raise refuse(str(last), f"at least {first}, where the range begins")
        return last

    def covers(self, size: int) -> bool:
        """Return whether a message size, in bytes, is in it."""
        return size >= (self.first or 0) and (self.last is None or size <= self.last)

    @property
    def is_everywhere(self) -> bool:
        """Whether both ends are open."""
        return self.first is None and self.last is None

    @property
    def words(self) -> str:
        """The sizes, to be put after other words, with a blank before: `` from 1 MiB``; empty for all sizes."""
        if self.first is None:
            return "" if self.last is None else f" up to {message_size(self.last)}"
        if self.first == self.last:
            return f" at {message_size(self.first)}"
        return f" from {message_size(self.first)}" + ("" if self.last is None else f" to {message_size(self.last)}")


def _sizes(value: Any) -> Any:
    if value == {}:
        raise refuse("neither from nor to", "one of them, or both", "leave sizes out if it holds for all sizes")
    return value


#: A range with at least one stated end.
Sizes = Annotated[Range, BeforeValidator(_sizes)]


def _ends(value: Any) -> Any:
    """Refuse what is not two numbers above 0, the low end first."""
    two = "two numbers, the low end and the high end"
    if isinstance(value, dict):
        raise refuse(show(value), two, "only a value, a floor or a ceiling may be a share of what the hardware gives")
    if not isinstance(value, list | tuple):
        raise refuse(show(value), two, "give both ends in brackets, such as [6, 7], or write a value with a tolerance")
    shown = f"[{', '.join(map(show, value))}]" if len(value) <= _SHOWN else f"a list of {len(value)}"
    if any(isinstance(end, str) for end in value):
        raise refuse(shown, two, "write numbers without quotation marks or units")
    if len(value) != 2 or any(isinstance(end, bool) or not isinstance(end, int | float) for end in value):
        raise refuse(shown, two, "give both ends, or write a value with a tolerance")
    low, high = value
    if not all(0 < end < math.inf for end in value):
        raise refuse(shown, "two numbers above 0")
    if low == high:
        raise refuse(shown, "two ends that differ", f"write value: {low:g}, or the end that is missing")
    if low > high:
        raise refuse(shown, "the low end first", f"write [{high:g}, {low:g}]")
    if high > MOST_APART * low:
        found = f"{shown}, whose ends differ by a factor of {high / low:.3g}"
        raise refuse(found, f"at most {MOST_APART:g}", "write both ends in the entry's unit")
    return (float(low), float(high))


#: Both ends of what a source prints as a range, the low one first.
Ends = Annotated[tuple[float, float], BeforeValidator(_ends), WithJsonSchema(_ENDS_SCHEMA)]


def _stated_form(value: Any) -> str:
    return "(range)" if isinstance(value, list | tuple) else "(number)"


Stated = Annotated[Annotated[Number, Tag("(number)")] | Annotated[Ends, Tag("(range)")], Discriminator(_stated_form)]
REGIMES = ("latency", "middle", "bandwidth")


"""The regimes of message sizes. Each may have its own tolerance."""


def _fraction(value: float) -> float:
    if value < 0:
        raise refuse(
            str(value),
            "a fraction from 0 to 1, without a sign",
            "low is how far a value may fall, high how far it may rise",
        )
    if value > 1:
        raise refuse(str(value), "a fraction from 0 to 1", f"{value:g} percent is {value / 100:g}")
    return value


Fraction = Annotated[Number, AfterValidator(_fraction)]


class Share(Model):
    """A bound as a share of what the hardware gives: ``fraction`` x ``times`` of it."""

    of: Literal["data-rate", "limit"] = Field(description="One rail's data rate, or the physical limit of the run")
    fraction: Annotated[float, Field(strict=True, gt=0, le=1)]
    times: Positive = Field(1.0, description='For example 1.9: "two rails reach 1.9 times one"')


class Tolerance(Model):
    """How far a value may be from the reference, as fractions."""

    low: Fraction | None = None
    high: Fraction | None = None


class ByRegime(Model):
    """A tolerance for each regime of message sizes; ``switch`` is for sizes near a protocol switch."""

    latency: Tolerance
    middle: Tolerance
    bandwidth: Tolerance
    switch: Tolerance | None = None


def _amount_form(value: Any) -> str:
    return "(share)" if isinstance(value, (dict, Share)) else "(number)"


def _tolerance_form(value: Any) -> str:
    if isinstance(value, ByRegime) or (isinstance(value, dict) and set(value) & {*REGIMES, "switch"}):
        return "(regimes)"
    return "(flat)"


Amount = Annotated[Annotated[Positive, Tag("(number)")] | Annotated[Share, Tag("(share)")], Discriminator(_amount_form)]
AnyTolerance = Annotated[
    Annotated[Tolerance, Tag("(flat)")] | Annotated[ByRegime, Tag("(regimes)")], Discriminator(_tolerance_form)
]


def _least_share(value: float) -> float:
    if not 0 < value < REFERENCE_SHARE.value:
        expected = f"a share above 0 and below {REFERENCE_SHARE.value:g}, the share without below_link"
        raise refuse(f"{value:g}", expected, f"{value:g} percent is {value / 100:g}" if value >= 1 else "")
    return value


class BelowLink(Model):
    """Why numbers may be less than half of what their link gives, and the lowest share that is accepted."""

    share: Annotated[Number, AfterValidator(_least_share)] = Field(
        description="Lowest share of what the link gives, such as 0.3"
    )
    reason: Prose
