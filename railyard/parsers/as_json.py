"""What a parser read, as the JSON object that `railyard parse --json` prints."""

# The form's history: 1 is the first. A reader refuses a number that it does not know.

from collections.abc import Sequence
from typing import Any

from railyard.base.clean_text import clean
from railyard.base.json_codec import encode
from railyard.parsers.parsed import Parsed, Remark, Table

FORMAT = 1


def to_json(parsed: Parsed, file: str | None = None) -> dict[str, Any]:
    """Return the object: format, ``file`` where one is given, tables, failures, remarks; ``fabric`` where it is there.

    Numbers are those of the tables, not rounded; texts have no control codes. Every value is one that JSON can hold.
    """
    return {
        "format": FORMAT,
        **({} if file is None else {"file": clean(file)}),
        "tables": [_table(table) for table in parsed.tables],
        **({"fabric": [encode(port.as_json(), "fabric") for port in parsed.fabric]} if parsed.fabric else {}),
        "failures": _remarks(parsed.failures),
        "remarks": _remarks(parsed.remarks),
    }


def _table(table: Table) -> dict[str, Any]:
    # rows are not encoded cell by cell: a table takes finite numbers alone, and a log of WRF has 10^5 of them
    return {
        "tool": table.tool,
        "version": None if table.version is None else clean(table.version),
        "benchmark": None if table.benchmark is None else clean(table.benchmark),
        "context": encode(table.context, "context"),
        "columns": [clean(column) for column in table.columns],
        "units": list(table.units),
        "rows": [list(row) for row in table.rows],
        "line": table.line,
        "complete": table.complete,
    }


def _remarks(remarks: Sequence[Remark]) -> list[dict[str, Any]]:
    return [{"line": remark.line, "text": clean(remark.text)} for remark in remarks]
