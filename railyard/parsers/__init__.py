"""Output of a benchmark as text -> typed tables: one module a tool, no path, no clock, no ReFrame.

``PARSERS`` is made when it is asked for: a check names its own parser's module, and a listing needs no other.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from railyard.parsers.collector import held_back
from railyard.parsers.parsed import Parsed

TOOLS = (
    "fabtests",
    "gpcnet",
    "hpcc",
    "hpl",
    "imb",
    "iperf3",
    "milc",
    "netpipe",
    "npb",
    "osu",
    "pairs",
    "perftest",
    "qperf",
    "sharing",
    "wrf",
)
PARSERS: Mapping[str, Callable[[str], Parsed]]


def __getattr__(name: str) -> Any:
    if name != "PARSERS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return MappingProxyType({tool: held_back(import_module(f"{__name__}.{tool}").parse) for tool in TOOLS})
