"""What a run printed in several parts, per rail or per launch -> tables of the run as a whole.

``pair.sh`` prints each client's output after a line ``# railyard: rail hsn0``. The rails' first tables are combined row
by row, then their second tables, and so on. If the rails ran at once, bandwidths and rates are summed and the longest
time counts. If they ran in turn, the worst of each counts. ``context["rails"]`` is the number of rails. A text without
such lines is of one rail.

A run whose message sizes were measured by several launches has the line ``NEXT_LAUNCH`` between their outputs. Each
table goes on where that of the launch before ended: it must be of the same benchmark, and its sizes must be larger.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

from railyard.parsers.output import Cell, ContextValue, ParsedOutput, ParseError, Remark, Table

#: A job prints this line between two launches that measure different message sizes of one benchmark.
NEXT_LAUNCH = "# railyard: next launch of the run"
_LAUNCH = re.compile(rf"^{re.escape(NEXT_LAUNCH)}[ \t\r]*$", re.MULTILINE)
_MOST_LAUNCHES = 4  # a job makes two
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
    if NEXT_LAUNCH in text:
        marks = _marks(_LAUNCH, text, _MOST_LAUNCHES - 1, f"at most {_MOST_LAUNCHES} launches' outputs")
        if marks:
            return _of_launches(text, marks, lambda part: _of_rails(part, read, worst))
    return _of_rails(text, read, worst)


def _marks(pattern: re.Pattern[str], text: str, most: int, expected: str) -> list[re.Match[str]]:
    """Return the lines that begin a part of a text. Raises ParseError if there are too many."""
    found = list(pattern.finditer(text))
    if len(found) > most:
        raise ParseError(text.count("\n", 0, found[most].start()) + 1, found[most][0], expected)
    return found


def _of_rails(text: str, read: Callable[[str], ParsedOutput], worst: bool) -> ParsedOutput:
    heads = _marks(_HEAD, text, _MOST_RAILS, f"at most {_MOST_RAILS} rails' outputs")
    if not heads:
        return read(text)
    before = ParsedOutput(remarks=tuple(_lines(text[: heads[0].start()], 1)))
    parts = _read_parts(text, heads, read, [f"rail {head['device']}" for head in heads])
    tables = _combine_tables([part.tables for part in parts], worst) if len(parts) > 1 else parts[0].tables
    uneven = () if len({len(part.tables) for part in parts}) == 1 else (Remark(0, "the rails' tables differ"),)
    return ParsedOutput(
        tables,
        tuple(failure for part in parts for failure in part.failures) + uneven,
        tuple(remark for part in (before, *parts) for remark in part.remarks),
    )


def _of_launches(text: str, marks: Sequence[re.Match[str]], read: Callable[[str], ParsedOutput]) -> ParsedOutput:
    """Return the launches' tables as one: message sizes from small to large, in the order of the launches."""
    names = [f"launch {number} of {len(marks) + 1}" for number in range(1, len(marks) + 2)]
    parts = _read_parts(text, [None, *marks], read, names)
    tables: list[Table] = []
    failures = [failure for part in parts for failure in part.failures]
    if not failures and len({len(part.tables) for part in parts}) > 1:
        failures.append(Remark(parts[-1].tables[0].line if parts[-1].tables else 0, "the launches' tables differ"))
    for pieces in zip(*(part.tables for part in parts), strict=False):
        why = next((why for one, then in pairwise(pieces) if (why := _why_not_next(one, then)) is not None), None)
        if why is not None:
            failures.append(why)
        rows = tuple(row for piece in pieces for row in piece.rows) if why is None else ()
        whole = why is None and all(piece.complete for piece in pieces)
        tables.append(replace(pieces[0], rows=rows, complete=whole))
    return ParsedOutput(tuple(tables), tuple(failures), tuple(remark for part in parts for remark in part.remarks))


def _why_not_next(one: Table, then: Table) -> Remark | None:
    """Return why a launch's table does not go on where that of the launch before ended; None if it does."""
    for what, before, after in (
        ("benchmark", one.benchmark, then.benchmark),
        ("version", one.version, then.version),
        ("columns", one.columns, then.columns),
        ("units", one.units, then.units),
        ("heading", dict(one.context), dict(then.context)),
    ):
        if before != after:
            return Remark(
                then.line, f"the launches of one run differ in their {what}: found {after}, expected {before}"
            )
    sizes = [table.column("size") if "size" in table.columns else () for table in (one, then)]
    whole = [[size for size in each if isinstance(size, int)] for each in sizes]
    if not all(whole) or [len(each) for each in whole] != [len(table.rows) for table in (one, then)]:
        return Remark(then.line, "the launches of one run have no message sizes, expected some in each")
    if whole[1][0] <= whole[0][-1]:
        found = f"found {whole[1][0]} B after {whole[0][-1]} B"
        return Remark(then.line, f"the launches of one run measured the same sizes: {found}, expected larger ones")
    return None


def _read_parts(
    text: str, heads: Sequence[re.Match[str] | None], read: Callable[[str], ParsedOutput], names: Sequence[str]
) -> list[ParsedOutput]:
    """Return what ``read`` finds behind each head, with lines of the whole text; None begins the text itself.

    A part that ``read`` refuses is a failure with its name and line. Raises ParseError if it refuses all of them.
    """
    parts: list[ParsedOutput] = []
    errors: list[ParseError] = []
    ends = [*(0 if head is None else head.start() for head in heads[1:]), len(text)]
    lines, counted_to = 0, 0  # counted from the head before: else each of a million heads would count all again
    for head, end, name in zip(heads, ends, names, strict=True):
        if head is not None:
            lines += text.count("\n", counted_to, head.end()) + (1 if counted_to == 0 else 0)
            counted_to = head.end()
        begin = 0 if head is None else head.end() + 1
        try:
            parts.append(_shift_lines(read(text[begin:end]), lines))
        except ParseError as error:
            expected = f"{error.expected}, for {name}"
            errors.append(ParseError(error.line_number and error.line_number + lines, error.line, expected))
            parts.append(ParsedOutput(failures=(Remark(errors[-1].line_number, str(errors[-1])),)))
    if len(errors) == len(parts):
        raise errors[0]
    return parts


def _lines(text: str, first: int) -> list[Remark]:
    numbered = enumerate(text.split("\n"), first)
    return [Remark(number, line.strip()[:2000]) for number, line in numbered if line.strip()]


def _shift_lines(parsed: ParsedOutput, lines: int) -> ParsedOutput:
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
