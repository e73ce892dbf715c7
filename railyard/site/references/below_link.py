"""What a reference may ask for below half of its link, and why."""

from typing import Annotated

from pydantic import AfterValidator, Field

from railyard.base.bounds import REFERENCE_SHARE
from railyard.base.fields import Model, Number, Prose, refuse


def _least_share(value: float) -> float:
    if not 0 < value < REFERENCE_SHARE.value:
        expected = f"a share above 0 and below {REFERENCE_SHARE.value:g}, which holds without it"
        raise refuse(f"{value:g}", expected, f"{value:g} per cent is {value / 100:g}" if value >= 1 else "")
    return value


class BelowLink(Model):
    """Why numbers may be less than half of what their link gives, and how far: nothing below that share is taken."""

    share: Annotated[Number, AfterValidator(_least_share)] = Field(description="Of what the link gives, such as 0.3")
    reason: Prose
