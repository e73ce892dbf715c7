"""What users read: errors, each one sentence with place, finding and advice; a check's findings; remarks.

The errors that users see: each is one sentence that says where, what was found, and what to do.

What a check finds: where, what, how grave it is, and what to do about it.

Sentences that a command says beside its answer: the command line prints each once, on standard error, at the end.
"""

import errno
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from railyard.base.wording import count_of

#: A node is unfit, or an executable or an input is not the intended one (BSD's EX_NOINPUT).
UNFIT_EXIT = 66


class RailyardError(Exception):
    """A user's mistake, or a set-up that cannot work. The command line prints only its sentence and exits 2."""


class SetupError(RailyardError):
    """This machine lacks or refuses something (a program, a permission, a running testbed)."""


@dataclass
class InputError(RailyardError):
    """One wrong value in a file that a person wrote.

    It is printed as ``file:line: field: found …, expected …; what to do``. ``line`` counts from 1, and ``field`` is
    the dotted path (``fabrics.hsn.rails[1].device``). Both are left out if they are unknown.
    """

    file: str
    found: str
    expected: str
    line: int | None = None
    field: str | None = None
    action: str | None = None

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        field = f" {self.field}:" if self.field else ""
        action = f"; {self.action}" if self.action else ""
        return f"{where}:{field} found {self.found}, expected {self.expected}{action}"


#: What to do if a file cannot be written, by the error (errno(3)); any other is one of its path.
_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space there, or get a larger quota",
    errno.EFBIG: "raise the limit on the size of a file (ulimit -f)",
    **dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), "get write permission there"),
    **dict.fromkeys((errno.EIO, errno.ESTALE), "ask who runs that file system"),
}


def remedy(error: OSError) -> str:
    """Return what to do about a file that cannot be written, by the cause that the system gives."""
    return _REMEDIES.get(error.errno or 0, "correct the path")


def unwritable(path: Path | str, what: str, error: OSError, more: str) -> SetupError:
    """Return the error for a file that could not be written; ``more`` follows what to do about the cause."""
    why = error.strerror or str(error)
    return SetupError(f"{path}: {what} could not be written ({why}); {remedy(error)}{more}")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean "x"?`` with the nearest known name. If none is near, return the list of all known names."""
    import difflib  # only an error needs it

    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f'did you mean "{close[0]}"?'
    return "known: " + ", ".join(names) if names else "none are known"


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


_NOTED: dict[str, None] = {}


def note_remark(sentence: str | None) -> None:
    """Keep a sentence for the end of the command; None is no sentence."""
    if sentence is not None:
        _NOTED[sentence] = None


def take_remarks() -> tuple[str, ...]:
    """Return the sentences in the order in which they came, each once, and forget them."""
    noted = tuple(_NOTED)
    _NOTED.clear()
    return noted
