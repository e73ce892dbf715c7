"""Which tables of a stored output are judged together, as passes of one run, and how a sentence names them."""

from collections.abc import Iterable, Sequence

from railyard.benchmarks.table import micro
from railyard.parsers.parsed import REPORTS, Table
from railyard.verdict.requested_output import begins_like, sizes_of


def groups_of(keyed: Sequence[tuple[str | None, Table]], passes: bool) -> list[tuple[str | None, list[Table]]]:
    """Return the tables that are judged together: each alone, or those that differ only in their values.

    Tables of different sizes are runs of their own: a loop over sizes, or a short run before a whole one.
    """
    groups: list[tuple[str | None, list[Table]]] = []
    for key, table in keyed:
        same = (tables for other, tables in groups if passes and other == key and _are_alike(tables[0], table, key))
        found = next(same, None)
        if found is None:
            groups.append((key, [table]))
        else:
            found.append(table)
    return groups


def longest_messages(groups: Iterable[tuple[str | None, list[Table]]]) -> dict[str | None, int]:
    """Return the longest messages of each benchmark's runs, B; 0 for one without sizes."""
    longest: dict[str | None, int] = {}
    for key, tables in groups:
        longest[key] = max(longest.get(key, 0), *sizes_of(tables[0]), 0)
    return longest


def counted_as(tables: Sequence[Table]) -> str:
    """Return what several tables of a benchmark are: passes, groups of processes, or reports of one run."""
    if all(REPORTS in table.context for table in tables):
        return "reports"
    groups = len({table.column("group")[0] for table in tables if "group" in table.columns})
    if groups < 2:
        return "passes"
    return "groups" if groups == len(tables) else f"tables of {groups} groups"


def pass_name(table: Table, count: int) -> str:
    """Return the words for one of several tables: its heading's line, and its group if IMB has several in a table."""
    one = f"group {table.column('group')[0]}" if "group" in table.columns else "the pass"
    one = f"report {count}" if REPORTS in table.context else one
    return f"{one} of line {table.line}"


def _are_alike(one: Table, other: Table, key: str | None) -> bool:
    if (one.benchmark, one.columns, dict(one.context)) != (other.benchmark, other.columns, dict(other.context)):
        return False
    if key is None or micro.find(key).rows != "sizes" or sizes_of(one) == sizes_of(other):
        return True
    # Of such a tool only the other pass shows that one was cut.
    return micro.tool(one.tool).has_no_end and begins_like(one, other)
