"""The reports of a run folder, each written completely or not at all, and records as JUnit XML.

The reports of a run folder: reads what they need, and writes each report completely or not at all.

Records as JUnit XML: each state keeps its meaning, so that no runner counts an untested case as passed.
"""

import json
import statistics
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from railyard.base.errors import InputError, unwritable
from railyard.base.files import read_regular, write_whole
from railyard.base.hostlist import MOST_IN_WORDS, fold_names
from railyard.base.json_codec import encode
from railyard.base.values import clean, one_line
from railyard.results.exports import csv_text
from railyard.results.record.file import FILE_NAME, read_records
from railyard.results.record.form import FORMAT, CurveRecord, Record
from railyard.results.record.headline import headline
from railyard.results.report.html import html_report
from railyard.results.report.overview import FILE_NAME as MATRIX_FILE_NAME
from railyard.results.report.overview import cell_words, matrices, read_cells
from railyard.results.report.spread import OverTime, are_repeats, histories
from railyard.results.report.summary import counts, judge_overall, key_figure, row
from railyard.results.report.svg import EarlierMedian
from railyard.results.report.terminal import failure_lines, markdown, text_report
from railyard.results.report.text import STATE_WORDS
from railyard.results.run_folder import (
    COSTS_FILE_NAME,
    RELATIONS_FILE_NAME,
    CostRecord,
    RelationRecord,
    list_text,
    read_costs,
    read_relations,
)
from railyard.results.store.index import final
from railyard.results.store.query import load
from railyard.site.matrix import Cell

# If a test failed before the benchmark could show anything (rule 1, or no rule at all), and the cause is the set-up or
# the scheduler, this is an error of the test, not a failure of the fabric.
_ERROR_CLASSES = ("set-up", "scheduler")


def junit(
    records: Sequence[Record],
    problems: Sequence[str] = (),
    unrun: Sequence[Cell] = (),
    relations: Sequence[RelationRecord] = (),
) -> str:
    """Return the XML: one suite per run.

    Report-only tests, expected failures and tests that did not run are skipped, with the reason.

    A disturbed test is a failure of the type ``disturbed``: it is red, since nobody could judge it.

    Problems of the run, and promised cells without a record, are errors in a suite ``run``. Relations between curves
    have a suite of their own; those that could not be judged are skipped.
    """
    root = ElementTree.Element("testsuites", name="railyard")
    for run in dict.fromkeys(record.made.run for record in records):
        _suite(root, [record for record in records if record.made.run == run])
    if relations:
        _relations(root, relations)
    if problems or unrun:
        lost = [("the run itself", problem) for problem in problems]
        lost += [(_name_of(cell), cell_words(cell)) for cell in unrun]
        suite = ElementTree.SubElement(root, "testsuite", _totals("run", len(lost), errors=len(lost)))
        for name, message in lost:
            case = ElementTree.SubElement(suite, "testcase", classname="railyard.run", name=one_line(name))
            _outcome(case, "error", message, "lost")
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _relations(root: ElementTree.Element, relations: Sequence[RelationRecord]) -> None:
    states = [relation.state for relation in relations]
    totals = _totals("relations", len(states), states.count("fail"), skipped=states.count("not-judged"))
    suite = ElementTree.SubElement(root, "testsuite", totals)
    for relation in relations:
        name = f"{relation.id} ({relation.stack})" if relation.stack else relation.id
        case = ElementTree.SubElement(suite, "testcase", classname="railyard.relations", name=one_line(name))
        if relation.state != "pass":
            kind = "failure" if relation.state == "fail" else "skipped"
            _outcome(case, kind, f"{relation.says}: {relation.sentence}", relation.form)


def _suite(root: ElementTree.Element, records: Sequence[Record]) -> None:
    of = counts(records)
    errors = sum(_is_error(record) for record in records)
    skipped = of["report-only"] + of["xfail"] + of["not-tested"]
    first = records[0]
    failures = of["fail"] + of["disturbed"] - errors
    rehearsed = "rehearsal of " if first.made.rehearsal else ""
    totals = _totals(f"{rehearsed}{first.where.system} {first.made.run}", len(records), failures, errors, skipped)
    suite = ElementTree.SubElement(root, "testsuite", totals)
    suite.set("timestamp", one_line(min(record.made.time for record in records)).removesuffix("Z"))
    suite.set("time", f"{sum(record.made.elapsed_s or 0.0 for record in records):.3f}")
    for record in records:
        _case(suite, record)


def _case(suite: ElementTree.Element, record: Record) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=one_line(f"{record.where.system}.{record.where.fabric}.{record.test.stack}"),
        name=one_line(record.test.case),
        time=f"{record.made.elapsed_s or 0.0:.3f}",
    )
    properties = ElementTree.SubElement(case, "properties")
    for name, value in _properties(record).items():
        ElementTree.SubElement(properties, "property", name=one_line(name), value=one_line(value))
    if record.fails:
        kind = record.found.verdict.class_ or f"rule {record.found.verdict.rule}"
        _outcome(
            case,
            "error" if _is_error(record) else "failure",
            headline(record.found.verdict),
            kind,
            clean("\n".join(failure_lines(record))),
        )
    elif record.found.state != "pass":
        message = f"{STATE_WORDS[record.found.state]}: {record.found.verdict.text}"
        _outcome(case, "skipped", message)


def _properties(record: Record) -> dict[str, str]:
    """Return what readers of the XML can filter by: the dimensions, the state and the figures of the verdict table."""
    cells = row(record)
    figure = key_figure(record)
    found = {} if record.made.replayed is None else {"replayed": record.made.replayed}
    found |= {} if record.made.rehearsal is None else {"rehearsal": record.made.rehearsal}
    found |= {} if record.made.rehearsed_output is None else {"rehearsed_output": record.made.rehearsed_output}
    found |= {
        "state": record.found.state,
        "fabric": record.where.fabric,
        "stack": record.test.stack,
        "rails": str(record.test.rails),
        "benchmark": record.test.benchmark,
        "nodes": fold_names(record.where.nodes)
        if len(record.where.nodes) > MOST_IN_WORDS
        else " ".join(record.where.nodes),
    }
    if figure:
        found[figure.name] = f"{cells.peak} {cells.unit}"
    found |= {"percent_of_reference": cells.percent_of_reference, "percent_of_limit": cells.percent_of_limit}
    return found | {"split_percent": cells.split}


def _outcome(case: ElementTree.Element, tag: str, message: str, kind: str | None = None, text: str = "") -> None:
    outcome = ElementTree.SubElement(case, tag, message=one_line(message))
    if kind:
        outcome.set("type", one_line(kind))
    outcome.text = text or None


def _is_error(record: Record) -> bool:
    return (
        record.found.state == "fail"
        and record.found.verdict.rule in (None, 1)
        and record.found.verdict.class_ in _ERROR_CLASSES
    )


def _totals(name: str, tests: int, failures: int = 0, errors: int = 0, skipped: int = 0) -> dict[str, str]:
    numbers = {"tests": tests, "failures": failures, "errors": errors, "skipped": skipped}
    return {"name": one_line(name)} | {key: str(value) for key, value in numbers.items()}


def _name_of(cell: Cell) -> str:
    return f"{cell.test.benchmark} rails={cell.test.rails} @{cell.test.fabric}+{cell.test.stack}"


PROBLEMS_FILE_NAME = "problems.json"
FORMATS = ("terminal", "html", "md", "junit", "json", "csv")
#: So many of the newest earlier runs are read: enough for a median, few enough for a report within a second.
MOST_RUNS = 10

#: System, case and metric of a curve.
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Results:
    """What a run left: one record per case, what else went wrong, its matrix, relations between curves, and costs.

    ``folder`` is the run's own, with earlier runs beside it; None for several runs.
    """

    records: tuple[Record, ...]
    problems: tuple[str, ...] = ()
    cells: tuple[Cell, ...] = ()
    relations: tuple[RelationRecord, ...] = ()
    costs: tuple[CostRecord, ...] = ()
    folder: Path | None = None

    @property
    def shown_records(self) -> tuple[Record, ...]:
        """Return the records that the verdict is about: if several runs repeat tests, the newest of each test."""
        if not are_repeats(self.records):
            return self.records
        return tuple(history.newest for history in histories(self.records))

    @property
    def missing_cells(self) -> tuple[Cell, ...]:
        """Return the cells that should have run and left no record."""
        return tuple(cell for _, table in matrices(self.shown_records, self.cells) for cell in table.unrun)

    @property
    def is_pass(self) -> bool:
        """Return whether everything is a pass: nothing failed, nothing was lost, and something was judged."""
        return judge_overall(self.shown_records, self.problems, len(self.missing_cells), self.relations).word == "PASS"


def read_results(path: Path) -> Results:
    """Return the results of a run folder (or of a file of records), with the files beside the records.

    These are the cells of the matrix (``matrix.json``) and the problems of the run (``problems.json``). Raises
    InputError if there are no records to read, or if one of these files has another form.
    """
    read = read_records(path)
    folder = path if path.is_dir() else path.parent
    cells = read_cells(folder / MATRIX_FILE_NAME) if (folder / MATRIX_FILE_NAME).is_file() else ()
    problems = (*read.problems, *_read_problems(folder / PROBLEMS_FILE_NAME))
    relations, costs = read_relations(folder / RELATIONS_FILE_NAME), read_costs(folder / COSTS_FILE_NAME)
    records = _order_records(final(read.records), cells)
    return Results(records, tuple(dict.fromkeys(problems)), cells, relations, costs, folder)


def read_many(paths: Sequence[Path]) -> Results:
    """Return the results of several runs as one: all records and problems.

    Matrix, relations and costs are those of each system's newest run. Raises InputError like read_results.
    """
    if len(paths) == 1:
        return read_results(paths[0])
    every = [replace(results, cells=_of_system(results)) for results in map(read_results, paths)]
    empty = [
        f"{path}: found no record in this run"
        for path, results in zip(paths, every, strict=True)
        if not results.records
    ]
    newest = {results.records[-1].where.system: results for results in every if results.records}
    return Results(
        tuple(record for results in every for record in results.records),
        tuple(dict.fromkeys((*(problem for results in every for problem in results.problems), *empty))),
        tuple(cell for results in newest.values() for cell in results.cells),
        tuple(relation for results in newest.values() for relation in results.relations),
        tuple(cost for results in newest.values() for cost in results.costs),
    )


def _order_records(records: Sequence[Record], cells: Sequence[Cell]) -> tuple[Record, ...]:
    """Return records by fabric, stack and number of rails, in the order of the matrix.

    So a report that is made later equals the one that the run itself made."""
    fabrics = {name: place for place, name in enumerate(dict.fromkeys(cell.test.fabric for cell in cells))}
    stacks = {name: place for place, name in enumerate(dict.fromkeys(cell.test.stack for cell in cells))}
    if not cells:
        return tuple(records)

    def place(record: Record) -> tuple[int, int, int]:
        return (
            fabrics.get(record.where.fabric, len(fabrics)),
            stacks.get(record.test.stack, len(stacks)),
            record.test.rails,
        )

    return tuple(sorted(records, key=place))


def _of_system(results: Results) -> tuple[Cell, ...]:
    """Return the cells of one run with its system's name."""
    system = results.records[-1].where.system if results.records else ""
    return tuple(replace(cell, test=replace(cell.test, system=system)) for cell in results.cells)


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

    The matrix is the folder's ``matrix.json`` if there is one. ``problems``, ``relations`` and ``costs`` are kept
    beside the records, so that a later report has them too. Raises SetupError if the folder cannot be written.
    """
    cells = read_cells(folder / MATRIX_FILE_NAME) if (folder / MATRIX_FILE_NAME).is_file() else ()
    kept = _order_records(final(records), cells)
    results = Results(kept, tuple(problems), cells, tuple(relations), tuple(costs), folder)
    if relations:
        write_report(folder / RELATIONS_FILE_NAME, list_text(relations, "relations"))
    if costs:
        write_report(folder / COSTS_FILE_NAME, list_text(costs, "costs"))
    write_report(folder / PROBLEMS_FILE_NAME, json.dumps(encode(list(problems)), ensure_ascii=False, indent=1) + "\n")
    write_report(folder / "report.html", write_format(results, "html"))
    write_report(folder / "junit.xml", write_format(results, "junit"))
    return write_format(results, "terminal", width=width, colour=colour)


def write_format(
    results: Results, form: str, *, width: int = 100, colour: bool = False, over_time: Sequence[OverTime] = ()
) -> str:
    """Return a report in one of FORMATS; ``width`` and ``colour`` are the terminal's, ``over_time`` the page's."""
    if form == "html":
        earlier = earlier_medians(results.folder, results.records) if results.folder else {}
        beside = (results.problems, results.cells, results.relations, results.costs, earlier)
        return html_report(results.records, *beside, over_time=over_time)
    if form == "md":
        return markdown(results.shown_records, results.problems, results.cells, results.relations, results.costs)
    if form == "csv":
        return csv_text(results.records)
    if form == "junit":
        return junit(results.records, results.problems, results.missing_cells, results.relations)
    if form == "json":
        return json.dumps(_as_json(results), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    shown = results.shown_records
    text = text_report(
        shown,
        results.problems,
        width=width,
        colour=colour,
        unrun=results.missing_cells,
        relations=results.relations,
        costs=results.costs,
    )
    if len(shown) == len(results.records):
        return text
    return f"The newest record of each of {len(shown)} tests, of {len(results.records)} in all\n\n{text}"


def write_report(path: Path, text: str) -> None:
    """Write a report completely or not at all: an earlier one with that name stays until the new one is complete.

    Raises SetupError if it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    except OSError as error:
        raise unwritable(path, "the report", error, ", or choose another place") from error


def _read_problems(path: Path) -> tuple[str, ...]:
    if not path.is_file():
        return ()
    try:
        problems = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(str(path), f"no readable JSON ({error})", "a list of sentences") from error
    if not isinstance(problems, list) or not all(isinstance(problem, str) for problem in problems):
        raise InputError(str(path), "something else", "a list of sentences")
    return tuple(problems)


def _as_json(results: Results) -> Mapping[str, object]:
    verdict = judge_overall(results.shown_records, results.problems, len(results.missing_cells), results.relations)
    unrun: Sequence[Mapping[str, object]] = [
        {"fabric": test.fabric, "stack": test.stack, "rails": test.rails, "benchmark": test.benchmark}
        for test in (cell.test for cell in results.missing_cells)
    ]
    return {
        "format": FORMAT,
        "verdict": {"word": verdict.word, "sentence": verdict.sentence},
        "counts": counts(results.shown_records),
        "problems": list(results.problems),
        "unrun": unrun,
        "relations": encode(list(results.relations)),
        "costs": [_cost_json(cost) for cost in results.costs],
        "records": [record.to_json() for record in results.records],
    }


def _cost_json(cost: CostRecord) -> Mapping[str, object]:
    """Return a row of costs with the figures that the tables print: MB/s for 1000, us times thousands."""
    per = {"bandwidth_mb_s_per_1000": cost.bandwidth_per_price, "latency_us_x_1000": cost.latency_price}
    return {**encode(cost), **per}


def earlier_medians(folder: Path, records: Sequence[Record]) -> dict[Key, EarlierMedian]:
    """Return the median of each curve in the records of ``folder``, over the runs before it.

    Those runs are the folders beside it whose names, which begin with the time, sort before its own. Only tests that
    passed (report-only ones too) and measured over the same sizes count; a replay or a rehearsal has no earlier runs.
    What cannot be read is ignored: it is not part of this run.
    """
    wanted = {
        (record.where.system, record.test.case, curve.metric): curve
        for record in records
        if record.no_measurement is None
        for curve in record.found.curves
    }
    found: dict[Key, list[tuple[float, ...]]] = {}
    runs = [run for run in sorted(folder.resolve().parent.glob("*")) if run.name < folder.resolve().name]
    for run in [run for run in runs if (run / FILE_NAME).is_file()][-MOST_RUNS:]:
        for key, curve in _healthy(run, wanted):
            if (curve.sizes, curve.unit) == (wanted[key].sizes, wanted[key].unit):
                found.setdefault(key, []).append(curve.values)
    return {
        key: EarlierMedian(tuple(statistics.median(column) for column in zip(*repeats, strict=True)), len(repeats))
        for key, repeats in found.items()
    }


def _healthy(run: Path, wanted: Mapping[Key, CurveRecord]) -> Iterator[tuple[Key, CurveRecord]]:
    """Yield the curves of the wanted tests that passed in a stored run."""
    for record in load(run, str(run)).records:
        if record.no_measurement is None and record.found.state in ("pass", "report-only"):
            for curve in record.found.curves:
                key = (record.where.system, record.test.case, curve.metric)
                if key in wanted:
                    yield key, curve
