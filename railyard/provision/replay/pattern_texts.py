"""A published time as an installed application would print it: a text that the patterns of the system's file can read.

Nothing is known about such an application but its patterns. So the simplest text that each may match is written, and
then the patterns read it. If they do not read the right value, it is refused.
"""

import re

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import installed_output
from railyard.benchmarks.apps.installed_applications import SECONDS, Application

_GROUP = f"(?P<{SECONDS}>"


def text_of(name: str, stated: Application, seconds: float, sentence: str) -> str:
    """Return an output in which the application took this long and ended well, with a line that says what it is.

    Raises RailyardError if its patterns do not allow this: they have alternatives, classes or repetitions.
    """
    text = f"# {sentence}\n{_plain(stated.figure, str(float(seconds)))}\n{_plain(stated.success)}\n"
    parsed = installed_output.parse(text, name, stated)
    if [(table.rows, table.complete) for table in parsed.tables] != [(((float(seconds),),), True)] or parsed.failures:
        raise RailyardError(
            f"applications.{name}: found no text that its patterns read as {seconds:g} s and a good end, expected "
            f"plain words around the number (figure: {stated.figure}; success: {stated.success})"
        )
    return text


def _plain(pattern: str, seconds: str = "") -> str:
    """Return the simplest text that a pattern may match: its words, one blank for blanks, the number for its group."""
    before, group, rest = pattern.partition(_GROUP)
    after = rest[_end(rest) :] if group else ""
    return f"{_words(before)}{seconds if group else ''}{_words(after)}"


def _end(rest: str) -> int:
    """Return the place after the bracket that closes the open group; the text's length if there is none."""
    depth = 1
    for found in re.finditer(r"\\.|\[\]?(?:\\.|[^\]])*\]|[()]", rest):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(rest)


def _words(pattern: str) -> str:
    blanks = re.sub(r"(?:\\s| )[+*]?", " ", pattern.removeprefix("^").removesuffix("$"))
    return re.sub(r"\\(\W)", r"\1", blanks)
