"""The garbage collector, held back while a text is read: it would walk all that was read so far again and again.

A parser makes hundreds of thousands of tuples and no circle of them, so that there is nothing to collect: a fifth of
the time of those that make most (Python 3.11).
"""

import gc
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railyard.parsers.parsed import Parsed


def held_back(read: Callable[[str], "Parsed"]) -> Callable[[str], "Parsed"]:
    """Return the parser that reads with the collector off, and leaves it as it was, whatever the parser raises."""

    @wraps(read)
    def parse(text: str) -> "Parsed":
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return read(text)
        finally:
            if was_enabled:
                gc.enable()

    return parse
