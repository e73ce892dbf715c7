"""What the doctor says: one sentence a finding, with what to do about it."""

from dataclasses import dataclass
from typing import Literal

Weight = Literal["problem", "remark"]


@dataclass(frozen=True, slots=True)
class Finding:
    """``where`` is a node, a rail of a node ("vn1 hsn0") or "login"; ``what`` is what was found, ``fix`` what to do.

    A ``problem`` makes runs fail or figures wrong; a ``remark`` may cost some, or could not be seen.
    """

    weight: Weight
    where: str
    what: str
    fix: str

    @property
    def sentence(self) -> str:
        """The finding in one line."""
        return f"{self.where}: {self.what}; {self.fix}"


def problem(where: str, what: str, fix: str) -> Finding:
    """Return a finding that makes runs fail or figures wrong."""
    return Finding("problem", where, what, fix)


def remark(where: str, what: str, fix: str) -> Finding:
    """Return a finding that may cost some, or says what could not be seen."""
    return Finding("remark", where, what, fix)
