"""Rules for anything that a parser reads: each function returns a sentence if its rule is broken, else None.

The tests apply them to the samples, benchmarks/fuzz.py to a million texts made from these.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

from railyard.cli.commands.parse import to_json
from railyard.parsers.fabric.port import PortState
from railyard.parsers.output import ParsedOutput, Remark, Table

#: Signs without which a table of the tool is not complete (PARSED.md): one of them must follow its heading. For the
#: other tools the text cannot show whether an output ends early or was asked for less.
CLOSING = {
    "hpl": re.compile(r"^End of Tests\.|tests completed and passed\b", re.MULTILINE),
    # a rule; in --out_json the brace that ends the results
    "perftest": re.compile(r"^\s*-{20,}\s*$|\bresults\"?\s*:\s*\{[^{}]*\}", re.MULTILINE),
    "nccl": re.compile(r"Avg bus bandwidth\s*: [0-9]|\"average_bus_bandwidi?th\":"),
    "nvbandwidth": re.compile(r"^SUM |\"testcases\"", re.MULTILINE),
    "wrf": re.compile(r"SUCCESS COMPLETE WRF"),
}
_HEADING = {"perftest": re.compile(r"#bytes.*\n")}


def values(parsed: ParsedOutput) -> dict[tuple[Any, ...], Any]:
    """Return every cell by its table's line, row and column, and every value of a port by the port's line."""
    rows = {
        (table.tool, table.line, place, column): (unit, cell)
        for table in parsed.tables
        for place, row in enumerate(table.rows)
        for column, unit, cell in zip(table.columns, table.units, row, strict=True)
    }
    ports = {
        (port.line, port.device, port.port, *key): value
        for port in parsed.fabric
        for key, value in _flat(port.as_json())
    }
    hardware = {
        (kind, one["line"], *key): value
        for kind, entries in parsed.hardware.as_json().items()
        for one in entries
        for key, value in _flat(one)
    }
    return {**rows, **ports, **hardware, **_nccl_values(parsed)}


def _nccl_values(parsed: ParsedOutput) -> dict[tuple[Any, ...], Any]:
    """Return what NCCL's log and the jobs of nccl-tests say, by line, without what a cut leaves out."""
    if parsed.nccl is None:
        return {}
    form = to_json(parsed)["nccl"]
    said = {kind: entries for kind, entries in (form["log"] or {}).items()}
    said["ranks"] = [rank for job in form["jobs"] for rank in job["ranks"]]
    said["settings of jobs"] = [{"line": job["line"], **job["settings"]} for job in form["jobs"] if job["settings"]]
    counts: Counter[tuple[str, int]] = Counter()
    found = {}
    for kind, entries in said.items():
        for entry in entries:
            counts[kind, entry["line"]] += 1
            found[kind, entry["line"], counts[kind, entry["line"]]] = json.dumps(entry)
    return found


def _flat(form: dict[str, Any]) -> Iterable[tuple[tuple[str, ...], Any]]:
    for key, value in form.items():
        if isinstance(value, dict):
            yield from (((key, *inner), one) for inner, one in _flat(value))
        elif isinstance(value, list):
            yield from (((key, one), "listed") for one in value)
        else:
            yield (key,), json.dumps(value)


def judged_values(parsed: ParsedOutput) -> list[Any]:
    """Return all that a verdict depends on, without line numbers: noise between rows must not change it."""
    tables = [
        (table.tool, table.benchmark, table.version, table.columns, table.units, table.rows, table.complete)
        for table in parsed.tables
    ]
    hardware = {kind: [{**one, "line": 0} for one in entries] for kind, entries in parsed.hardware.as_json().items()}
    return [tables, [{**port.as_json(), "line": 0} for port in parsed.fabric], hardware]


def ill_formed(parsed: ParsedOutput, text: str) -> str | None:
    """Return what is ill-formed in a result: a table without rows, a NaN, a line outside the text, an empty note."""
    last = text.count("\n") + 1
    for table in parsed.tables:
        wrong = _ill_formed_table(table, last)
        if wrong:
            return f"{table.tool} table of line {table.line}: {wrong}"
    notes = [*parsed.failures, *parsed.remarks]
    for note in notes:
        if not isinstance(note, Remark) or not 1 <= note.line <= last or not note.text.strip() or len(note.text) > 2100:
            return f"a note of line {note.line} of {last}: {note.text[:60]!r}"
    if not (parsed.tables or parsed.fabric or parsed.hardware or notes or parsed.nccl):
        return "neither a table nor a port nor a note, and no ParseError"
    return next(filter(None, (_ill_formed_port(port, last) for port in parsed.fabric)), None)


def _ill_formed_port(port: PortState, last: int) -> str | None:
    """Return what is wrong in a port; JSON must be able to hold its values."""
    if not 0 < port.line <= last:
        return f"a port of line {port.line}: the text has {last} lines"
    inner = (port.counters, port.thresholds, port.extra, port.peer._asdict() if port.peer else {})
    values = chain(port[:_PEER], port.saturated, *(each.values() for each in inner))
    found = [value for value in values if type(value) not in _SAID or not _is_finite(value)]
    return f"a port of line {port.line} has {found[0]!r}, which JSON cannot hold" if found else None


def _ill_formed_table(table: Table, last: int) -> str | None:
    """Return what is wrong in a table; JSON must be able to hold its values (checking types is faster than trying)."""
    if not table.rows:
        return "no row"
    if not 1 <= table.line <= last:
        return f"the text has {last} lines"
    if len(set(table.columns)) != len(table.columns):
        return f"a column twice: {table.columns}"
    cells = [*chain.from_iterable(table.rows)]
    if not {*map(type, cells)} <= _CELLS:
        return f"a cell that is no number: {next(cell for cell in cells if type(cell) not in _CELLS)!r}"
    if not all(map(math.isfinite, [cell for cell in cells if cell is not None])):
        return f"not finite: {next(row for row in table.rows if not all(map(_is_finite, row)))}"
    said = [*table.context.values(), table.version, table.benchmark, *table.units]
    if not {*map(type, said)} <= _SAID or not all(map(_is_finite, said)):
        return f"a context that JSON cannot hold: {said}"
    return None


_PEER = PortState._fields.index("peer")  # every field before it is a plain value
_CELLS = frozenset((int, float, bool, type(None)))
_SAID = frozenset((*_CELLS, str))


def _is_finite(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def invented_value(part: ParsedOutput, known: Mapping[tuple[Any, ...], Any]) -> str | None:
    """Return which value the reading of a cut text has but that of the whole text (with these values) lacks."""
    for key, value in values(part).items():
        # whether a link is degraded follows from values that a cut may remove
        if known.get(key, "nothing") != value and "degraded" not in key:
            return f"{key}: {value}, in the whole {known.get(key, 'nothing')}"
    return None


def wrongly_complete(part: ParsedOutput, whole: ParsedOutput, text: str) -> str | None:
    """Return which table of a cut text is called complete although the text shows that rows are missing.

    Rows are missing if its closing sign has not come (``CLOSING``), or if the text ends inside a row of the whole text.
    """
    rows = {(table.tool, table.line): table for table in whole.tables}
    for table in part.tables:
        if not table.complete:
            continue
        below = text.split("\n", table.line - 1)[-1] if table.line > 1 else text
        sign = CLOSING.get(table.tool)
        heading = _HEADING.get(table.tool)
        if heading and (begun := heading.search(below)):  # --out_json writes no heading
            below = below[begun.end() :]
        if sign and not sign.search(below):
            return f"{table.tool} table of line {table.line} is complete without its closing sign"
        before = rows.get((table.tool, table.line))
        if table is part.tables[-1] and before and _ends_inside_a_row(text, table, before):
            return f"{table.tool} table of line {table.line} is complete with a cut row: {text[-60:]!r}"
    return None


def _ends_inside_a_row(text: str, table: Table, whole: Table) -> bool:
    """Return whether the text's last line is the beginning of the whole's next row, in a table of message sizes."""
    last = text.rpartition("\n")[2]
    missing = len(whole.rows) - len(table.rows)
    if missing <= 0 or len(last.split()) < 2 or table.columns[0] != "size":
        return False
    return last.split()[0] == str(whole.rows[len(table.rows)][0])
