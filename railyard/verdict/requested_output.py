"""What a tool was asked for, compared with what it printed: tables, message sizes, processes, messages in flight."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from railyard.benchmarks.table import micro
from railyard.parsers.output import Table
from railyard.verdict.wording import complete

if TYPE_CHECKING:
    from railyard.job.case import Case


def unlike_asked(case: Case, tables: Sequence[Table], judged: Sequence[Table], printed: Sequence[Table]) -> str | None:
    """Return how an output differs from what its run was asked for; None if it does not.

    ``tables`` are those of the benchmark, ``judged`` what is made from them, ``printed`` all.
    """
    if len(judged) > case.passes:
        return complete.too_many_tables(len(judged), case.passes)
    if micro.find(case.benchmark).assessed not in ("sizes", "gpus"):
        return None
    foreign = [table for table in printed if table not in tables]
    if foreign:
        return complete.foreign_table(foreign[0].tool, foreign[0].benchmark, foreign[0].line)
    return next(
        (
            why
            for table in tables
            if (why := other_sizes(table, case.benchmark, case.sizes) or _other_crowd(case, table)) is not None
        ),
        None,
    )


def _other_crowd(case: Case, table: Table) -> str | None:
    """Return which number in a table's heading was not asked for: of processes, pairs or messages in flight."""
    if micro.find(case.benchmark).every_node or "groups" in table.context:
        return None
    ranks = len(case.launch.nodes) * case.ranks_per_node
    crowds: tuple[tuple[str, complete.Crowd, int], ...] = (
        ("ranks", "processes", ranks),
        ("processes", "processes", ranks),
        ("pairs", "pairs of ranks", ranks // 2),
        ("window", "messages in flight", case.window),
    )
    for name, what, asked in crowds:
        found = table.context.get(name)
        if isinstance(found, int) and not isinstance(found, bool) and found != asked:
            return complete.other_crowd(case.benchmark, table.line, found, what, asked)
    return None


def other_sizes(table: Table, key: str, asked: Sequence[int]) -> str | None:
    """Return which of the requested message sizes a table lacks, and which other ones it has, in bytes.

    None if it has exactly these, or if none were asked for: then the tool uses its own.
    """
    if not asked:
        return None
    found = sizes_of(table)
    lacking = [size for size in asked if size not in found]
    besides = sorted({size for size in found if size not in asked})
    if not lacking and not besides:
        return None
    return complete.other_sizes(key, table.line, lacking, besides, len({*asked}))


def gap(table: Table, key: str) -> str | None:
    """Return where a table whose message sizes grow by one factor leaves out one or more sizes; None if it does not.

    For an output if nobody knows what was asked for. At least three in four steps must be alike, unless the tool always
    doubles.
    """
    if micro.tool(micro.find(key).tool).doubles:
        return _not_doubled(table, key)
    sizes = [size for size in sizes_of(table) if size > 0]
    steps = [after / before for before, after in pairwise(sizes)]
    if len(steps) < 4 or min(steps) <= 1:
        return None
    usual = sorted(steps)[len(steps) // 2]
    others = [place for place, step in enumerate(steps) if step != usual]
    wide = next((place for place in others if _is_power(steps[place], usual)), None)
    if wide is None or 4 * len(others) > len(steps):
        return None
    return complete.gap(key, table.line, sizes[wide], sizes[wide + 1], usual)


def describe_skipped(table: Table, key: str) -> str | None:
    """Return which powers of two an irregular list of sizes leaves out; None if its sizes are regular, others, or have
    a gap that fails.

    IMB takes any list, so no one can tell such a table from one that lost many rows.
    """
    sizes = [size for size in sizes_of(table) if size > 0]
    steps = {after / before for before, after in pairwise(sizes)}
    if len(steps) < 2 or min(steps) <= 1 or any(size & (size - 1) for size in sizes) or gap(table, key):
        return None
    skipped = [1 << at for at in range(sizes[0].bit_length(), sizes[-1].bit_length()) if 1 << at not in sizes]
    return complete.say_skipped(skipped)


def _not_doubled(table: Table, key: str) -> str | None:
    wide = _wider_than_double(sizes_of(table))
    if wide is None:
        return None
    return complete.not_doubled(key, table.line, *wide, table.tool)


@lru_cache(maxsize=64)  # thousands of tables have the same sizes
def _wider_than_double(sizes: tuple[int, ...]) -> tuple[int, int] | None:
    return next(((before, after) for before, after in pairwise(sizes) if after > (2 * before or 1)), None)


def _is_power(step: float, usual: float) -> bool:
    """Return whether a step is several usual ones at once."""
    count = math.log(step) / math.log(usual)
    return count > 1.5 and abs(count - round(count)) < 1e-9


def begins_like(one: Table, other: Table) -> bool:
    """Return whether the message sizes of one table are the first ones of the other, or the other way round."""
    return all(map(operator.eq, sizes_of(one), sizes_of(other)))


def shorter_pass(tables: Sequence[Table], key: str) -> str | None:
    """Return which pass ends at a smaller message size than another one, so that it may be cut; None if all are alike.

    A tool that marks no end does not show whether a pass was cut, or whether it was a run over fewer sizes.
    """
    counts = [len(sizes_of(table)) for table in tables]
    if len({*counts}) == 1:
        return None
    longest = tables[counts.index(max(counts))]
    short = next(table for table, count in zip(tables, counts, strict=True) if count < max(counts))
    end = sizes_of(short)[-1] if sizes_of(short) else None
    return complete.shorter_pass(key, short.line, end, longest.line, sizes_of(longest)[-1])


def sizes_of(table: Table) -> tuple[int, ...]:
    """Return the message sizes of a table in bytes, in its order; that of its heading if it has no such column."""
    cells = table.column("size") if "size" in table.columns else (table.context.get("size"),)
    # by types first, for a long output has a million cells; a bool is no size
    if {*map(type, cells)} == {int}:
        return cast("tuple[int, ...]", cells)
    return tuple(cell for cell in cells if type(cell) is int)
