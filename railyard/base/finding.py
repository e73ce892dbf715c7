"""What a check finds: where, what, how grave it is, and what to do about it."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, Protocol

from railyard.base.wording import count_of

#: A ``problem`` makes runs fail or figures wrong, and sets the exit code to 1. A ``remark`` may cost some performance,
#: or says what could not be seen.
Weight = Literal["problem", "remark"]


@dataclass(frozen=True, slots=True)
class Finding:
    """``where`` is a node, a rail of a node ("vn1 hsn0"), "login", a system or a run; ``what`` is what was found.

    ``fix`` is what to do. It is empty if ``what`` says it already.
    """

    weight: Weight
    where: str
    what: str
    fix: str = ""

    @property
    def sentence(self) -> str:
        """The finding in one line."""
        return f"{self.where}: {self.what}{f'; {self.fix}' if self.fix else ''}"


class HasWeight(Protocol):
    """Anything that has a weight."""

    @property
    def weight(self) -> Weight:
        """How grave it is."""


def problem(where: str, what: str, fix: str = "") -> Finding:
    """Return a finding that makes runs fail or figures wrong."""
    return Finding("problem", where, what, fix)


def remark(where: str, what: str, fix: str = "") -> Finding:
    """Return a finding that may cost some performance, or says what could not be seen."""
    return Finding("remark", where, what, fix)


def problems(found: Collection[HasWeight]) -> int:
    """Return how many of the findings are problems."""
    return sum(one.weight == "problem" for one in found)


def tally(found: Collection[HasWeight]) -> str:
    """Return ``1 problem, 2 remarks``."""
    grave = problems(found)
    return f"{count_of(grave, 'problem')}, {count_of(len(found) - grave, 'remark')}"
