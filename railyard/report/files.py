"""The reports of a run folder: what is read from it, and what is written beside it, whole or not at all."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.besideform import (
    COSTS_FILE_NAME,
    RELATIONS_FILE_NAME,
    CostRecord,
    RelationRecord,
    read_costs,
    read_relations,
    written_beside,
)
from railyard.errors import InputError, SetupError
from railyard.jsonform import encode
from railyard.record import FORMAT, Record, read_records
from railyard.report.html import html_report
from railyard.report.junit import junit
from railyard.report.matrix import FILE_NAME as MATRIX_FILE_NAME
from railyard.report.matrix import Cell, matrix, read_cells
from railyard.report.summary import counts, overall
from railyard.report.terminal import text_report

PROBLEMS_FILE_NAME = "problems.json"
FORMATS = ("terminal", "html", "junit", "json")


@dataclass(frozen=True, slots=True)
class Results:
    """What a run left: one record a case, what else went wrong, its matrix, relations between curves, and costs."""

    records: tuple[Record, ...]
    problems: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()
    relations: tuple[RelationRecord, ...] = ()
    costs: tuple[CostRecord, ...] = ()

    @property
    def unrun(self) -> tuple[Cell, ...]:
        """Return the cells that should have run and left no record."""
        return matrix(self.records, self.cells).unrun

    @property
    def passed(self) -> bool:
        """Return whether the whole is a pass: nothing failed, nothing lost, and something was judged."""
        return overall(self.records, self.problems, len(self.unrun), self.relations).word == "PASS"


def read_results(path: Path) -> Results:
    """Return the results of a run folder (or of a file of records), with what lies beside the records: the
    cells of the matrix (``matrix.json``) and the problems of the run (``problems.json``).

    Raises InputError where there are no records to be read, or one of these files is not of its form.
    """
    read = read_records(path)
    folder = path if path.is_dir() else path.parent
    cells = read_cells(folder / MATRIX_FILE_NAME) if (folder / MATRIX_FILE_NAME).is_file() else ()
    problems = (*read.problems, *_read_problems(folder / PROBLEMS_FILE_NAME))
    relations, costs = read_relations(folder / RELATIONS_FILE_NAME), read_costs(folder / COSTS_FILE_NAME)
    return Results(final(read.records), tuple(dict.fromkeys(problems)), cells, relations, costs)


def final(records: Sequence[Record]) -> tuple[Record, ...]:
    """Return the last record of each case of a run, in the order in which the cases first came.

    A failure stays beside a later pass of the same case: a pass on a retry hides nothing.
    """
    kept: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        earlier = kept.setdefault((record.run, record.case), [])
        failed = [one for one in earlier if one.state == "fail"] if record.state in ("pass", "report-only") else []
        earlier[:] = [*failed, record]
    return tuple(record for last in kept.values() for record in last)


def write_reports(
    folder: Path,
    records: Sequence[Record],
    problems: Sequence[str] = (),
    *,
    relations: Sequence[RelationRecord] = (),
    costs: Sequence[CostRecord] = (),
    width: int = 100,
    colour: bool = False,
) -> str:
    """Write ``report.html`` and ``junit.xml`` into a run's folder, and return the text for the terminal.

    The matrix is the folder's ``matrix.json`` where there is one; ``problems``, ``relations`` and ``costs`` are kept
    beside the records, so that a report made later says them too. Raises SetupError where the folder cannot be written.
    """
    cells = read_cells(folder / MATRIX_FILE_NAME) if (folder / MATRIX_FILE_NAME).is_file() else ()
    results = Results(final(records), tuple(problems), cells, tuple(relations), tuple(costs))
    if relations:
        write_report(folder / RELATIONS_FILE_NAME, written_beside(relations, "relations"))
    if costs:
        write_report(folder / COSTS_FILE_NAME, written_beside(costs, "costs"))
    write_report(folder / PROBLEMS_FILE_NAME, json.dumps(encode(list(problems)), ensure_ascii=False, indent=1) + "\n")
    write_report(folder / "report.html", written(results, "html"))
    write_report(folder / "junit.xml", written(results, "junit"))
    return written(results, "terminal", width=width, colour=colour)


def written(results: Results, form: str, *, width: int = 100, colour: bool = False) -> str:
    """Return a report in one of FORMATS; ``width`` and ``colour`` are the terminal's."""
    if form == "html":
        return html_report(results.records, results.problems, results.cells, results.relations, results.costs)
    if form == "junit":
        return junit(results.records, results.problems, results.unrun, results.relations)
    if form == "json":
        return json.dumps(_as_json(results), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    return text_report(
        results.records,
        results.problems,
        width=width,
        colour=colour,
        unrun=results.unrun,
        relations=results.relations,
        costs=results.costs,
    )


def write_report(path: Path, text: str) -> None:
    """Write a report whole or not at all: an earlier one of that name stays until the new one is complete.

    Raises SetupError where it cannot be written.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(text, encoding="utf-8")
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise SetupError(f"{path}: the report could not be written ({error.strerror}); choose another -o") from error


def _read_problems(path: Path) -> tuple[str, ...]:
    if not path.is_file():
        return ()
    try:
        problems = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(str(path), f"no readable JSON ({error})", "a list of sentences") from error
    if not isinstance(problems, list) or not all(isinstance(problem, str) for problem in problems):
        raise InputError(str(path), "something else", "a list of sentences")
    return tuple(problems)


def _as_json(results: Results) -> Mapping[str, object]:
    verdict = overall(results.records, results.problems, len(results.unrun), results.relations)
    unrun: Sequence[Mapping[str, object]] = [
        {"fabric": cell.fabric, "stack": cell.stack, "rails": cell.rails, "benchmark": cell.benchmark}
        for cell in results.unrun
    ]
    return {
        "format": FORMAT,
        "verdict": {"word": verdict.word, "sentence": verdict.sentence},
        "counts": counts(results.records),
        "problems": list(results.problems),
        "unrun": unrun,
        "relations": encode(list(results.relations)),
        "costs": [_cost_json(cost) for cost in results.costs],
        "records": [record.to_json() for record in results.records],
    }


def _cost_json(cost: CostRecord) -> Mapping[str, object]:
    """Return a row of costs with what the tables print of it: MB/s for 1000, us times thousands."""
    per = {"bandwidth_mb_s_per_1000": cost.bandwidth_per_price, "latency_us_x_1000": cost.latency_price}
    return {**encode(cost), **per}
