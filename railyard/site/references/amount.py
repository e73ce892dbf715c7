"""What a reference demands, a number or a share of what the hardware gives, and how far a value may be from it."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from railyard.base.bounds import REFERENCE_SHARE
from railyard.base.fields import Model, Number, Positive, Prose, refuse

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
