"""How a reference may demand less than half of what its link gives, with the reason."""

from typing import Annotated

from pydantic import AfterValidator, Field

from railyard.base.bounds import REFERENCE_SHARE
from railyard.base.fields import Model, Number, Prose, refuse


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
