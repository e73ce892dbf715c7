"""Output of a benchmark as text -> typed tables: one module a tool, no path, no clock, no ReFrame."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from railyard.parsers import imb, netpipe, osu
from railyard.parsers.parsed import Cell, Parsed, ParseError, Remark, Table

PARSERS: Mapping[str, Callable[[str], Parsed]] = MappingProxyType(
    {"imb": imb.parse, "netpipe": netpipe.parse, "osu": osu.parse}
)

__all__ = ["PARSERS", "Cell", "ParseError", "Parsed", "Remark", "Table"]
