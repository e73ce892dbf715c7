"""A range in references/*.yaml: the two ends that a source prints, and why a range is refused."""

import math
from typing import Annotated, Any

from pydantic import BeforeValidator, Discriminator, Tag, WithJsonSchema

from railyard.base.fields import Number, refuse, show

#: If the ends of a range differ by more than this factor, they have different units, such as 0.6 us and 700 ns.
MOST_APART = 10.0
_SHOWN = 4


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


_ENDS_SCHEMA = {"type": "array", "items": {"type": "number", "exclusiveMinimum": 0}, "minItems": 2, "maxItems": 2}
Ends = Annotated[tuple[float, float], BeforeValidator(_ends), WithJsonSchema(_ENDS_SCHEMA)]
"""Both ends of what a source prints as a range, the low one first."""


def _stated_form(value: Any) -> str:
    return "(range)" if isinstance(value, list | tuple) else "(number)"


Stated = Annotated[Annotated[Number, Tag("(number)")] | Annotated[Ends, Tag("(range)")], Discriminator(_stated_form)]
