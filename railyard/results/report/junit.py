"""Records as JUnit XML: each state keeps its meaning, so that no runner counts an untested case as passed."""

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

from railyard.base.hostlist import MOST_IN_WORDS, fold_names
from railyard.base.values import clean, one_line
from railyard.results.record.form import Record
from railyard.results.record.headline import headline
from railyard.results.report.matrix import cell_words
from railyard.results.report.summary import counts, key_figure, row, suspect_words
from railyard.results.report.text import STATE_WORDS
from railyard.results.run_folder import RelationRecord
from railyard.site.matrix import Cell

# If a test failed before the benchmark could show anything (rule 1, or no rule at all), and the cause is the set-up or
# the scheduler, this is an error of the test, not a failure of the fabric.
_ERROR_CLASSES = ("set-up", "scheduler")
#: At most this many: a runner that shows them for each test becomes stuck on thousands of lines.
_MOST_SUSPECTS = 50


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
            case, "error" if _is_error(record) else "failure", headline(record.found.verdict), kind, _evidence(record)
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


def _evidence(record: Record) -> str:
    """Return the lines under a failure: headline, whole sentence, the suspects, and what to look at next."""
    verdict = record.found.verdict
    lines = [
        headline(verdict),
        verdict.text,
        *(f"suspect: {suspect_words(suspect)}" for suspect in verdict.suspects[:_MOST_SUSPECTS]),
    ]
    more = len(verdict.suspects) - _MOST_SUSPECTS
    lines += [f"{more} more suspects are in the record"] if more > 0 else []
    lines += [f"next: {verdict.next}"] if verdict.next else []
    return clean("\n".join(lines))


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
