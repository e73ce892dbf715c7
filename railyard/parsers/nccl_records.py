"""What rccl-tests writes with ``-Z json -x FILE``: a list with one object per size and half, as runs.

{"numCycle":0, "name":"AllReduce", "nodes":1, "ranks":8, "ranksPerNode":8, "gpusPerRank":1, "size":1048576,
"type":"float", "redop":"sum", "inPlace":0, "time":41.5, "algBw":25.3, "busBw":44.2, "wrong":"0"}. It names no host and
no mean. A list with its closing bracket is whole.
"""

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from railyard.parsers import nccl_words as words
from railyard.parsers.json_objects import figure
from railyard.parsers.lines import number
from railyard.parsers.nccl_busbw import FACTORS
from railyard.parsers.nccl_run import Row, Run
from railyard.parsers.nccl_words import IN_PLACE, Column, Heading
from railyard.parsers.parsed import Cell

_PROGRAMS = {name.removesuffix("_perf").replace("_", ""): name for name in FACTORS}
_FIGURES = (("time", "time"), ("algBw", "algbw"), ("busBw", "busbw"))
_SAID = (("ranks", "ranks"), ("nodes", "nodes"), ("ranksPerNode", "ranks_per_node"))


class Record(NamedTuple):
    """One object, with its line."""

    line: int
    found: dict[str, Any]

    @property
    def run(self) -> tuple[object, ...]:
        """What all records of one run have in common."""
        return tuple(self.found.get(key) for key in ("name", "ranks", "nodes"))

    @property
    def row(self) -> tuple[object, ...]:
        """What both halves of a row have in common."""
        return tuple(self.found.get(key) for key in ("numCycle", "size", "type", "redop"))


def is_record(found: dict[str, Any]) -> bool:
    """Return whether an object is one of them."""
    return {"name", "size", "inPlace", "busBw"} <= found.keys()


def runs_of(records: Sequence[Record], text: str) -> list[Run]:
    """Return the runs of these records, in the order of the text."""
    lines = text.split("\n")
    found: list[Run] = []
    following: tuple[int, bool] = (0, False)  # the next run's line, and whether its list is whole
    for each in reversed([list(each) for _, each in groupby(records, key=lambda record: record.run)]):
        run = _run(each)
        after = next((at for at, line in enumerate(lines[each[-1].line :], each[-1].line + 1) if line.strip()), 0)
        run.closed = bool(after) and (lines[after - 1].strip().startswith("]") or following == (after, True))
        following = (run.line, run.closed)
        found.append(run)
    return found[::-1]


def _run(records: list[Record]) -> Run:
    first = records[0]
    run = Run(first.line, heading_line=first.line, library="rccl")
    name = str(first.found["name"])[:80]
    run.named = _PROGRAMS.get(name.lower(), name)
    run.said = {own: int(value) for key, own in _SAID if (value := figure(first.found, key)) is not None}
    columns = [
        Column(words.FIGURES[own].name + end, words.FIGURES[own].unit, words.FIGURES[own].printed, factor)
        for end in ("", IN_PLACE)
        for own, factor in [*((own, words.FIGURES[own].factor) for _, own in _FIGURES), ("#wrong", 1.0)]
    ]
    run.heading = Heading(("type", "redop", "root"), tuple(columns), len(columns) // 2, (), ())
    rows = [list(halves) for _, halves in groupby(records, key=lambda record: record.row)]
    for halves in rows:
        _add(run, halves)
    alone = next((halves for halves in rows if len(halves) != len(rows[0])), None)
    if alone is not None:
        run.spoiled = True
        run.fail(alone[0].line, "a size with one record, and others with two: records are missing")
    return run


def _add(run: Run, records: list[Record]) -> None:
    record = records[0]
    size = figure(record.found, "size")
    if size is None or size < 0 or len(records) > 2:
        run.spoiled = True
        run.fail(record.line, f"a record of {run.named} without a size, or more than two of one size")
        return
    cells: list[Cell] = []
    printed: list[str] = []
    for in_place in (0, 1):
        half = next((each for each in records if figure(each.found, "inPlace") == in_place), None)
        for key, own in (*_FIGURES, ("wrong", "#wrong")):
            value = None if half is None else _value(half.found, key)
            if half is not None and value is None and key != "wrong":
                run.fail(half.line, f"not finite: {key} at {int(size)} B")
                run.spoiled = True
            if half is not None and key == "wrong" and value:
                run.fail(half.line, f"wrong results: {value:g} wrong elements at {int(size)} B")
            cells.append(None if value is None else int(value) if key == "wrong" else value * words.FIGURES[own].factor)
            printed.append("" if value is None and half is None else "N/A" if value is None else f"{value:.6f}")
    kind = (str(record.found.get("type"))[:20], str(record.found.get("redop"))[:20], "")
    run.rows.append(Row(record.line, int(size), None, kind, tuple(cells), tuple(printed)))


def _value(found: dict[str, Any], key: str) -> float | None:
    """Return a number; "wrong" is a text with a number, or "N/A"."""
    value = found.get(key)
    told = number(value.strip()) if isinstance(value, str) else figure(found, key)
    return None if told is None else float(told)
