"""Stored records as one JSON object or as a table of CSV, for other programs and other sites."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from railyard.results.csv import guarded
from railyard.results.record.form import FORMAT

FORMS = ("json", "csv")
#: The columns of the table: what the row is of, then one number with its unit.
HEADS = (
    *("run", "time", "system", "fabric", "stack", "rails", "policy", "benchmark", "case", "state", "nodes", "replayed"),
    *("kind", "name", "size", "value", "unit"),
    *("attempts", "starved"),
)


def as_json(records: Sequence[Mapping[str, Any]]) -> str:
    """Return the records as one object, which `railyard results merge` reads again."""
    return (
        json.dumps({"format": FORMAT, "records": list(records)}, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    )


def as_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Return a row a key figure and a row a point of each curve; a test without any has one row with its state."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow(HEADS)
    for record in records:
        table.writerows(_rows(record))
    return out.getvalue()


def _rows(record: Mapping[str, Any]) -> Iterator[list[object]]:
    head: list[object] = [_cell(record.get(name)) for name in HEADS[:12]]
    numbers = [
        *(["figure", one["name"], one["size"], one["value"], one["unit"]] for one in record.get("figures", ())),
        *(
            ["curve", curve["metric"], size, value, curve["unit"]]
            for curve in record.get("curves", ())
            for size, value in zip(curve["sizes"], curve["values"], strict=True)
        ),
    ]
    last = [len(record.get("attempts", ())), record.get("starved")]
    for row in numbers or [[""] * 5]:
        yield [*head, *("" if cell is None else cell for cell in (*row, *last))]


def _cell(value: object) -> object:
    if isinstance(value, list):
        value = " ".join(map(str, value))
    if isinstance(value, str):
        return guarded(value)
    return "" if value is None else value
