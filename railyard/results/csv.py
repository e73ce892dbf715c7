"""Records as one CSV table, for spreadsheets and other programs; reports and exports have the same columns."""

import csv
import io
from collections.abc import Iterator, Sequence

from railyard.base.clean_text import one_line
from railyard.results.record.form import Record
from railyard.results.report.summary import row

#: What the row is about; one number with its unit; the state of its test.
HEADS = (
    *("run", "time", "system", "fabric", "stack", "rails", "policy", "benchmark", "case", "state", "nodes", "replayed"),
    *("kind", "name", "size_bytes", "value", "unit"),
    *("percent_of_reference", "percent_of_limit", "split_percent", "verdict", "attempts", "starved", "rehearsal"),
    "computed",
)
_NOTHING = "–"
# The last four are these signs in full width, which spreadsheets of East Asian languages take for the same.
_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def csv_text(records: Sequence[Record]) -> str:
    """Return the table with its head: a row per key figure (kind ``figure``) and per point of each curve (``curve``).

    A test without figures has one row with its state. Numbers have all digits and a decimal point; what is unknown is
    empty. A text that a spreadsheet would take for a formula has an apostrophe before it. ``computed`` is yes for a
    number that was computed for a replay and that no source printed.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADS)
    for record in records:
        writer.writerows(_rows(record))
    return file.getvalue()


def _rows(record: Record) -> Iterator[list[str]]:
    cells = row(record)
    head = [
        record.made.run,
        record.made.time,
        record.where.system,
        record.where.fabric,
        record.test.stack,
        str(record.test.rails),
        record.test.policy or "",
    ]
    head += [
        record.test.benchmark,
        record.test.case,
        record.found.state,
        " ".join(record.where.nodes),
        record.made.replayed or "",
    ]
    last = [cells.percent_of_reference, cells.percent_of_limit, cells.split, record.found.verdict.text]
    last += [str(len(record.how.attempts)), "" if record.how.starved is None else repr(record.how.starved)]
    last += [record.made.rehearsal or ""]
    for *number, computed in list(_numbers(record)) or [[""] * 6]:
        told = (*head, *number, *last, computed)
        yield ["" if text == _NOTHING else guard_cell(text) for text in map(one_line, told)]


def _numbers(record: Record) -> Iterator[list[str]]:
    for figure in record.found.figures:
        size = "" if figure.size is None else str(figure.size)
        yield ["figure", figure.name, size, repr(figure.value), figure.unit, "yes" if figure.computed else ""]
    for curve in record.found.curves:
        for at, value in zip(curve.sizes, curve.values, strict=True):
            yield ["curve", curve.metric, str(at), repr(value), curve.unit, "yes" if at in curve.computed else ""]


def guard_cell(text: str) -> str:
    """Return a cell's text, with an apostrophe before what a spreadsheet would run; a number stays as it is.

    What follows a semicolon is guarded too: where numbers have a decimal comma, a spreadsheet begins a cell there.
    """
    return ";".join(map(_guard_start, text.split(";")))


def _guard_start(text: str) -> str:
    begun = text.lstrip()
    if not begun.startswith(_FORMULA):
        return text
    try:
        float(begun)
    except ValueError:
        return f"{text[: len(text) - len(begun)]}'{begun}"
    return text
