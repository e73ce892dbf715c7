"""What one pair of processes per rail printed, one rail after the other -> tables of the run as a whole.

``pair.sh`` prints each client's output after a line ``# railyard: rail hsn0``. The rails' first tables are combined row
by row, then their second tables, and so on. If the rails ran at once, bandwidths and rates are summed and the longest
time counts. If they ran in turn, the worst of each counts. ``context["rails"]`` is the number of rails. A text without
such lines is of one rail.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MappingProxyType

from railyard.parsers.output import Cell, ContextValue, ParsedOutput, ParseError, Remark, Table

_MOST_RAILS = 256  # no node has more, and each is read separately
_HEAD = re.compile(r"^# railyard: rail (?P<device>\S{1,80})[ \t\r]*$", re.MULTILINE)
# Columns that say how much was done: with several rails, the smallest counts for each rail's bytes.
_LEAST = frozenset({"repetitions", "iterations"})
_SUMMED_UNITS = frozenset({"MB/s", "1/s"})
#: What a tool itself counted: with several rails, the sum.
_SUMMED_CONTEXT = ("bytes_sent", "bytes_received")


def parse(text: str, read: Callable[[str], ParsedOutput], worst: bool = False) -> ParsedOutput:
    """Return what ``read`` finds in each rail's part, with combined tables; ``worst`` if the rails ran in turn.

    A part that ``read`` refuses is a failure, with its rail and line. Raises ParseError if it refuses all of them.
    """
    heads = list(_HEAD.finditer(text))
    if not heads:
        return read(text)
    if len(heads) > _MOST_RAILS:
        number = text.count("\n", 0, heads[_MOST_RAILS].start()) + 1
        raise ParseError(number, heads[_MOST_RAILS][0], f"at most {_MOST_RAILS} rails' outputs")
    parts: list[ParsedOutput] = []
    errors: list[ParseError] = []
    before = ParsedOutput(remarks=tuple(_lines(text[: heads[0].start()], 1)))
    lines, counted_to = 1, 0  # counted from the head before: else each of a million heads would count all again
    for head, end in zip(heads, [*(each.start() for each in heads[1:]), len(text)], strict=True):
        lines += text.count("\n", counted_to, head.end())
        counted_to = head.end()
        try:
            parts.append(_moved_down(read(text[head.end() + 1 : end]), lines))
        except ParseError as error:
            expected = f"{error.expected}, for rail {head['device']}"
            errors.append(ParseError(error.line_number and error.line_number + lines, error.line, expected))
            parts.append(ParsedOutput(failures=(Remark(errors[-1].line_number, str(errors[-1])),)))
    if len(errors) == len(parts):
        raise errors[0]
    tables = _combine_tables([part.tables for part in parts], worst) if len(parts) > 1 else parts[0].tables
    uneven = () if len({len(part.tables) for part in parts}) == 1 else (Remark(0, "the rails' tables differ"),)
    return ParsedOutput(
        tables,
        tuple(failure for part in parts for failure in part.failures) + uneven,
        tuple(remark for part in (before, *parts) for remark in part.remarks),
    )


def _lines(text: str, first: int) -> list[Remark]:
    numbered = enumerate(text.split("\n"), first)
    return [Remark(number, line.strip()[:2000]) for number, line in numbered if line.strip()]


def _moved_down(parsed: ParsedOutput, lines: int) -> ParsedOutput:
    return replace(
        parsed,
        tables=tuple(replace(table, line=table.line + lines) for table in parsed.tables),
        failures=tuple(Remark(failure.line + lines, failure.text) for failure in parsed.failures),
        remarks=tuple(remark._replace(line=remark.line + lines) for remark in parsed.remarks),
    )


def _combine_tables(rails: Sequence[Sequence[Table]], worst: bool) -> tuple[Table, ...]:
    return tuple(_one(tables, worst) for tables in zip(*rails, strict=False))


def _one(tables: Sequence[Table], worst: bool) -> Table:
    """Return the rails' tables as one; it has no rows and is incomplete if the rails' rows differ."""
    first = tables[0]
    if any(other.columns != first.columns or other.units != first.units for other in tables):
        return replace(first, rows=(), complete=False)
    rows = [
        tuple(map(_cell, first.columns, first.units, zip(*cells, strict=True), [worst] * len(first.columns)))
        for cells in zip(*(table.rows for table in tables), strict=False)
    ]
    sizes = [tuple(table.column("size")) if "size" in table.columns else len(table.rows) for table in tables]
    same = all(each == sizes[0] for each in sizes)
    context: dict[str, ContextValue] = {**first.context, "rails": len(tables)}
    for name in _SUMMED_CONTEXT:
        counted = [table.context.get(name) for table in tables]
        if name in context:
            numbers = [value for value in counted if isinstance(value, int)]
            context[name] = sum(numbers) if len(numbers) == len(tables) else None
    return replace(
        first,
        rows=tuple(rows) if same else (),
        complete=same and all(table.complete for table in tables),
        context=MappingProxyType(context),
    )


def _cell(column: str, unit: str | None, cells: tuple[Cell, ...], worst: bool) -> Cell:
    numbers = [cell for cell in cells if isinstance(cell, int | float) and not isinstance(cell, bool)]
    if len(numbers) < len(cells):
        return None
    if column in _LEAST or column == "size" or (worst and unit in _SUMMED_UNITS):
        return min(numbers)
    if unit in _SUMMED_UNITS or unit is None:
        return sum(numbers)
    return max(numbers)
