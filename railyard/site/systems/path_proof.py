"""The model of a fabric's ``proof`` in systems/*.yaml: what a site accepts, and how its counters are read."""

from typing import Annotated

from pydantic import Field

from railyard.base.fields import Model, Name, Prose

#: A shorter reading of an idle rail gives no rate (bound idle-interval); a longer one would hold every run.
IDLE_MS = (200, 5000)

Errors = Annotated[int, Field(strict=True, ge=0)]


class ProofRules(Model):
    """What a site says of its path proofs; nothing of it makes a path that failed pass."""

    accept_unproven: Prose | None = Field(
        None, description="Why a run whose path could not be proven may pass; without it such a run fails"
    )
    idle_ms: Annotated[int, Field(strict=True, ge=IDLE_MS[0], le=IDLE_MS[1])] | None = Field(
        None, description="For how long the idle rails are read before each run, so that their traffic is subtracted"
    )
    error_bounds: dict[Name, Errors] = Field(
        {}, description="Counter of errors: by how much it may grow in a run; hard errors not named here may not grow"
    )
