"""Every row that a careful reading of the reference corpus expects holds exactly, for the tools read here."""

import csv
import json
import math
from pathlib import Path

import pytest

from railyard.parsers import PARSERS, Cell, ParseError, Table


def expected(corpus: Path, tool: str) -> dict[str, list[dict[str, str]]]:
    with (corpus / "EXPECTED.tsv").open(encoding="utf-8", newline="") as handle:
        rows = [row for row in csv.DictReader(handle, delimiter="\t", quoting=csv.QUOTE_NONE) if row["tool"] == tool]
    files: dict[str, list[dict[str, str]]] = {}
    for row in rows:
        files.setdefault(row["file"], []).append(row)
    return files


def same(found: tuple[Cell, ...], wanted: list[Cell]) -> bool:
    """Numbers to a relative 1e-9; true, false and null are themselves."""
    if len(found) != len(wanted):
        return False
    for one, other in zip(found, wanted, strict=True):
        if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
            if one is not other:
                return False
        elif not math.isclose(one, other, rel_tol=1e-9):
            return False
    return True


def differences(table: Table, row: dict[str, str]) -> list[str]:
    said = {
        "benchmark": (table.benchmark or "null") == row["benchmark"],
        "columns": list(table.columns) == json.loads(row["columns"]),
        "units": list(table.units) == json.loads(row["units"]),
        "rows": len(table.rows) == int(row["rows"]),
        "first_row": same(table.rows[0], json.loads(row["first_row"])),
        "last_row": same(table.rows[-1], json.loads(row["last_row"])),
        "complete": row["complete"] == "unknown" or table.complete == (row["complete"] == "yes"),
    }
    return [f"{row['file']} table {row['table']}: {name}" for name, agrees in said.items() if not agrees]


@pytest.mark.parametrize(("tool", "files", "rows"), [("imb", 26, 69), ("netpipe", 6, 6), ("osu", 93, 339)])
def test_every_expected_row_of_the_corpus_holds(corpus: Path, tool: str, files: int, rows: int) -> None:
    by_file = expected(corpus, tool)
    assert (len(by_file), sum(map(len, by_file.values()))) == (files, rows)
    wrong: list[str] = []
    for name, wanted in by_file.items():
        parsed = PARSERS[tool]((corpus / name).read_text(encoding="utf-8", errors="replace"))
        tables = [row for row in wanted if row["table"] != "-"]
        if len(parsed.tables) != len(tables):
            wrong.append(f"{name}: {len(parsed.tables)} tables, {len(tables)} expected")
            continue
        for row in tables:
            wrong += differences(parsed.tables[int(row["table"])], row)
        if not tables and not parsed.failures:
            wrong.append(f"{name}: no table and no failure that says why")
    assert wrong == []


def test_no_parser_reads_another_tools_output(corpus: Path) -> None:
    read = []
    for tool, parse in PARSERS.items():
        for path in sorted(corpus.glob("*/*.txt")):
            # a file of the corpus may hold several tools' outputs only where its name says so
            if path.parent.name == tool or tool in path.name:
                continue
            try:
                parse(path.read_text(encoding="utf-8", errors="replace"))
            except ParseError:
                continue
            read.append(f"{path.name} read as {tool}")
    assert read == []
