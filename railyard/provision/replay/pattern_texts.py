"""A published time as an installed application would print it: a text that the patterns of the system's file read.

Nothing is known of such an application but its patterns. So the plainest text that each may stand for is written, and
read by them: what they do not read so is refused.
"""

import re

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import installed_output
from railyard.benchmarks.apps.installed import SECONDS, Application

_GROUP = f"(?P<{SECONDS}>"


def text_of(name: str, stated: Application, seconds: float, sentence: str) -> str:
    """Return an output in which the application took so long and ended well, with a line that says what it is.

    Raises RailyardError where its patterns are such that this cannot be written: alternatives, classes, repetitions.
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
    """Return the plainest text that a pattern may stand for: its words, one blank for any, the number for its group."""
    before, group, rest = pattern.partition(_GROUP)
    after = rest[_end(rest) :] if group else ""
    return f"{_words(before)}{seconds if group else ''}{_words(after)}"


def _end(rest: str) -> int:
    """Return where the group ends whose inside a text begins with, behind its bracket; its length where nowhere."""
    depth = 1
    for found in re.finditer(r"\\.|\[\]?(?:\\.|[^\]])*\]|[()]", rest):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(rest)


def _words(pattern: str) -> str:
    blanks = re.sub(r"(?:\\s| )[+*]?", " ", pattern.removeprefix("^").removesuffix("$"))
    return re.sub(r"\\(\W)", r"\1", blanks)
