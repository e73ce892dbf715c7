"""A key figure of a run: the one number that stands for a curve."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Figure:
    """A key figure in its unit. ``size`` is the message size in bytes at which it was read, if it has one.

    ``computed``: it was computed for a replay, and no source printed it.
    """

    name: str
    value: float
    unit: str
    size: int | None = None
    computed: bool = False
    extra: Mapping[str, object] = field(
        default_factory=dict, kw_only=True
    )  # keys of a stored figure that a newer Railyard wrote
