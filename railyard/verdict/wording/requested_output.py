"""The sentences about an output that differs from what was asked for: tables, message sizes, processes."""

from collections.abc import Sequence
from typing import Literal

from railyard.base.wording import count_of, listing, message_size

_MOST_SIZES = 4
Crowd = Literal["processes", "pairs of ranks", "messages in flight"]


def sizes(of: Sequence[int]) -> str:
    """Return the first of some message sizes, and how many more there are."""
    shown = [message_size(size) for size in of[:_MOST_SIZES]]
    more = len(of) - len(shown)
    return listing([*shown, f"{more} more"] if more else shown)


def too_many_tables(tables: int, expected: int) -> str:
    """Return that an output has more tables than passes."""
    has = f"the output has {count_of(tables, 'table')}, expected {expected}"
    return f"{has}: it is not known which of them are of this run"


def foreign_table(tool: str, benchmark: str | None, line: int) -> str:
    """Return that an output has a table of another benchmark."""
    return f"the output also has a table of {tool}/{benchmark or '?'} (line {line}), which was not asked for"


def other_crowd(benchmark: str, line: int, found: int, what: Crowd, asked: int) -> str:
    """Return that a table's heading has another number than was asked for."""
    return f"{benchmark} (line {line}) has {found} {what}: {asked} were asked for"


def other_sizes(benchmark: str, line: int, lacking: Sequence[int], besides: Sequence[int], asked: int) -> str:
    """Return which message sizes a table lacks, and which other ones it has."""
    parts = [f"lacks {sizes(lacking)}"] if lacking else []
    parts += [f"also has {sizes(besides)}"] if besides else []
    return f"{benchmark} (line {line}) {' and '.join(parts)}: {count_of(asked, 'message size')} were asked for"


def gap(benchmark: str, line: int, before: int, after: int, factor: float) -> str:
    """Return between which sizes a table leaves out a row; ``factor``: between its other sizes."""
    return (
        f"{benchmark} (line {line}) goes from {message_size(before)} to {message_size(after)}, where each of its other "
        f"sizes is {factor:g} times the one before: a row is missing"
    )


def not_doubled(benchmark: str, line: int, before: int, after: int, tool: str) -> str:
    """Return between which sizes a table leaves out a row, of a tool that doubles its sizes."""
    return (
        f"{benchmark} (line {line}) goes from {message_size(before)} to {message_size(after)}, where {tool} doubles "
        "its sizes: a row is missing"
    )


def say_skipped(powers: Sequence[int]) -> str:
    """Return which powers of two an irregular list of sizes leaves out."""
    return (
        f"no row has {len(powers)} of the powers of two between its first and its last size ({sizes(powers)}): these "
        "sizes were not judged"
    )


def shorter_pass(benchmark: str, line: int, end: int | None, longer_line: int, longer_end: int) -> str:
    """Return that a pass ends before another one; ``end`` None: it has only a heading."""
    ends = "its heading" if end is None else message_size(end)
    return (
        f"{benchmark} (line {line}) ends at {ends}, and the pass of line {longer_line} goes on to "
        f"{message_size(longer_end)}: it may be cut; --each judges each as a run of its own"
    )
