"""The parsers of a package by tool, each imported when it is first asked for.

To import all of them takes longer than to read a small output: most have some twenty patterns.

The garbage collector is off while a text is read: it would walk all that was read so far again and again. A parser
makes hundreds of thousands of tuples and no cycles, so there is nothing to collect. The parsers that make most tuples
save a fifth of their time (Python 3.11).
"""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from railyard.parsers.output import ParsedOutput


class Parsers(Mapping[str, Callable[[str], "ParsedOutput"]]):
    """By tool its ``parse``, in the order of the tools given; a tool's module has its name."""

    def __init__(self, package: str, tools: Iterable[str]) -> None:
        self._package = package
        self._known: dict[str, Callable[[str], ParsedOutput] | None] = dict.fromkeys(tools)

    def __getitem__(self, tool: str) -> Callable[[str], "ParsedOutput"]:
        read = self._known[tool]
        if read is None:
            read = self._known[tool] = held_back(import_module(f"{self._package}.{tool}").parse)
        return read

    def __contains__(self, tool: object) -> bool:
        return tool in self._known  # without an import

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def held_back(read: Callable[[str], "ParsedOutput"]) -> Callable[[str], "ParsedOutput"]:
    """Return a parser that reads with the collector off and then restores it, even if the parser raises."""

    @wraps(read)
    def parse(text: str) -> "ParsedOutput":
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            return read(text)
        finally:
            if was_enabled:
                gc.enable()

    return parse
