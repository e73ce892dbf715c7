"""How wide and in which colours commands may print, and how they show progress: the same for all commands."""

import os
import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")

_DEFAULT_WIDTH = 100
_LEAST_WIDTH = 40
_STATE = "NOT JUDGED"  # the one state of two words, which is looked for as a whole
#: Fewer items than this are done before anybody could read a progress bar.
_FEWEST_TRACKED = 20


def width() -> int:
    """Return the width of the terminal; COLUMNS overrides it, and without a terminal it is 100."""
    import shutil  # with its compression modules a tenth of what `import click` costs

    return max(_LEAST_WIDTH, shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns)


def line_width() -> int | None:
    """Return the width to which sentences on standard output are folded.

    Return None if it is not a terminal and COLUMNS is not set: a file or a program gets each sentence on one line.
    """
    return width() if sys.stdout.isatty() or os.environ.get("COLUMNS") else None


def error_width() -> int | None:
    """Return the width to which sentences on standard error are folded; None if it is not a terminal."""
    return width() if sys.stderr.isatty() else None


def fold_words(words: str, wide: int | None, hanging: str = "", indent: str = "") -> str:
    """Return words in lines of at most ``wide`` characters, broken only at blanks. A longer word stays whole.

    The first line begins with ``indent``, the next ones with ``hanging``. None folds nothing. Lines that ``words``
    already has stay lines.
    """
    if wide is None:
        return f"{indent}{words}"
    import textwrap

    lines = words.split("\n")
    filled = (
        textwrap.fill(
            line.replace(_STATE, _STATE.replace(" ", "\xa0")),  # which no break is made at
            wide,
            initial_indent=indent if number == 0 else hanging,
            subsequent_indent=hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for number, line in enumerate(lines)
    )
    return "\n".join(filled).replace(_STATE.replace(" ", "\xa0"), _STATE)


def wrap_lines(text: str, wide: int | None) -> str:
    """Return lines, folded as ``fold_words`` does, each with its own indent. None folds nothing."""
    if wide is None:
        return text
    indents = [(line, " " * (len(line) - len(line.lstrip(" ")))) for line in text.split("\n")]
    return "\n".join(
        line if len(line) <= wide else fold_words(line.strip(), wide, f"{indent}  ", indent) for line, indent in indents
    )


def colour() -> bool:
    """Return whether to use colours: on a terminal that has them, unless NO_COLOR is set (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def track(items: Sequence[_Item], words: str) -> Iterable[_Item]:
    """Return the items, with a progress bar on stderr while they are taken. There is no bar if that is no terminal."""
    if len(items) < _FEWEST_TRACKED or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, words, console=Console(stderr=True), transient=True)
