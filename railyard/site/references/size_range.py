"""A range of message sizes in references/*.yaml, and its words."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from railyard.base.fields import Model, Size, refuse
from railyard.base.wording import message_size


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


Sizes = Annotated[Range, BeforeValidator(_sizes)]
"""A range with at least one stated end."""
