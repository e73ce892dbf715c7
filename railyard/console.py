"""How wide and in which colours a command may print: asked once, the same for all commands."""

import os
import shutil
import sys

_DEFAULT_WIDTH = 100
_LEAST_WIDTH = 40


def width() -> int:
    """Return the width of the terminal (COLUMNS stands above it), 100 where there is none."""
    return max(_LEAST_WIDTH, shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns)


def colour() -> bool:
    """Return whether to colour: on a terminal that can, unless NO_COLOR is set (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
