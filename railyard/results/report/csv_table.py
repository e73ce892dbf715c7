"""Records as CSV: a row a key figure, for a spreadsheet; a test without figures has one row without."""

import csv
import io
from collections.abc import Sequence

from railyard.base.clean_text import one_line
from railyard.benchmarks.figure import Figure
from railyard.results.csv import guarded
from railyard.results.record.form import Record
from railyard.results.report.summary import row

HEADS = (
    *("run", "time", "system", "fabric", "stack", "rails", "policy", "benchmark", "case", "nodes", "state"),
    *("figure", "value", "unit", "size_bytes", "percent_of_reference", "percent_of_limit", "split_percent", "verdict"),
    *("attempts", "starved"),
)
_NOTHING = "–"


def csv_table(records: Sequence[Record]) -> str:
    """Return the table with its head. Numbers are whole, with a point; what is not known is empty.

    A text that a spreadsheet would take for a formula has an apostrophe before it.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEADS)
    for record in records:
        for figure in record.figures or (None,):
            writer.writerow(_row(record, figure))
    return file.getvalue()


def _row(record: Record, figure: Figure | None) -> list[str]:
    cells = row(record)
    texts = [record.run, record.time, record.system, record.fabric, record.stack, str(record.rails)]
    texts += [record.policy or "", record.benchmark, record.case, " ".join(record.nodes), record.state]
    texts += [figure.name, repr(figure.value), figure.unit] if figure else ["", "", ""]
    texts.append("" if figure is None or figure.size is None else str(figure.size))
    texts += [cells.percent_of_reference, cells.percent_of_limit, cells.split, record.verdict.text]
    texts += [str(len(record.attempts)), "" if record.starved is None else repr(record.starved)]
    return ["" if text == _NOTHING else guarded(text) for text in map(one_line, texts)]
