"""Output of a benchmark as text -> typed tables: one module per tool, no path, no clock, no ReFrame.

A parser is a module here that has ``TOOL`` (the tool's name) and ``parse``; there is no list of them. ``TOOLS`` and
``PARSERS`` are made on first use: a check imports only its own parser's module, and a listing of checks needs no other.
"""

import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any

from railyard.parsers.collector import held_back
from railyard.parsers.parsed import Parsed

TOOLS: tuple[str, ...]
PARSERS: Mapping[str, Callable[[str], Parsed]]


@cache
def _parsers() -> Mapping[str, Callable[[str], Parsed]]:
    names = [found.name for found in pkgutil.iter_modules(__path__) if not found.ispkg]
    modules = [import_module(f"{__name__}.{name}") for name in names]
    return MappingProxyType({each.TOOL: held_back(each.parse) for each in modules if hasattr(each, "TOOL")})


def __getattr__(name: str) -> Any:
    if name == "PARSERS":
        return _parsers()
    if name == "TOOLS":
        return tuple(_parsers())
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
