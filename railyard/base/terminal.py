"""How wide and in which colours commands may print, and how they show progress: the same for all commands."""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TypeVar

_Item = TypeVar("_Item")

_DEFAULT_WIDTH = 100
_LEAST_WIDTH = 40
#: Fewer items than this are done before anybody could read a progress bar.
_FEWEST_TRACKED = 20


def width() -> int:
    """Return the width of the terminal; COLUMNS overrides it, and without a terminal it is 100."""
    return max(_LEAST_WIDTH, shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns)


def colour() -> bool:
    """Return whether to use colours: on a terminal that has them, unless NO_COLOR is set (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def tracked(items: Sequence[_Item], words: str) -> Iterable[_Item]:
    """Return the items, with a progress bar on stderr while they are taken. There is no bar if that is no terminal."""
    if len(items) < _FEWEST_TRACKED or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, words, console=Console(stderr=True), transient=True)
