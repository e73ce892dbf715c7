"""Records as text: for a terminal, and as Markdown for an issue or a wiki.

Records as text for a terminal: the verdict table, the failures with their sentences, the counts of all states.

Records as Markdown, for an issue or a wiki: verdict, failures, matrix, what was not tested, and all tests.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from railyard.base.bounds import without_names
from railyard.base.terminal import table
from railyard.base.values import one_line
from railyard.base.wording import count_of, drop_clauses, earlier_attempts
from railyard.results.record.form import Record, State, Suspect
from railyard.results.record.headline import broken_expectation, describe_finding, headline
from railyard.results.reference_sheet import COST_HEADS, RELATION_WORDS, cost_cells, cost_lines, relation_lines
from railyard.results.remarks import CONDITIONS_HEADING, condition_sentences
from railyard.results.report.overview import Matrix, cell_words, holes, matrices
from railyard.results.report.summary import (
    blame_lines,
    by_reason,
    commands,
    count_line,
    evidence_lines,
    judge_overall,
    names_policies,
    rehearsals,
    row,
    suspect_part,
)
from railyard.results.run_folder import CostRecord, RelationRecord
from railyard.site.matrix import Cell

_HEADS = (
    *("fabric", "stack", "rails", "benchmark", "peak", ""),
    *(("% of\nreference", "% of\nref."), "% of\nlimit", "split,\n%", "verdict"),
)
_RIGHT = (2, 4, 6, 7, 8)
#: Columns of words, which fold if a row is too wide; numbers and units never do.
_WORDS = (0, 1, 2, 3, 9)
_PERCENTAGES = (6, 7, 8)
_SGR: dict[State, str] = {
    **{"pass": "32", "fail": "1;31", "disturbed": "31"},
    **{"report-only": "33", "xfail": "35", "not-tested": "2"},
}
# A number stays on the same line as its unit.
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|[kMG]?i?B(?:/s)?|[um]?s|[MG]bit/s)\b|%)")
_FAILING: tuple[tuple[State, str], ...] = (
    ("fail", "Failures"),
    ("disturbed", "Disturbed: nobody can judge what was measured, so run these again"),
)
_REST: tuple[tuple[State, str], ...] = (
    ("report-only", "Report-only: no reference judges it; its line says what it was compared with, if with anything"),
    ("xfail", "Expected failures"),
    ("not-tested", "Not tested"),
)
_MOST_NAMED = 4
#: At most this many of one failure: more lines than that nobody reads, and the record has them all.
_MOST_SUSPECTS = 50


def text_report(
    records: Sequence[Record],
    problems: Sequence[str] = (),
    *,
    width: int = 100,
    colour: bool = False,
    unrun: Sequence[Cell] = (),
    relations: Sequence[RelationRecord] = (),
    costs: Sequence[CostRecord] = (),
) -> str:
    """Return the whole report.

    Its parts are: table, failures, tests that are neither failed nor passed, what was measured again, in which
    conditions nodes differ from their references' sources, relations, costs, problems. A rehearsal is named first. Last
    come who is blamed, the verdict and the counts.

    ``width`` is in columns; nothing is cut, long cells and sentences are folded. Without ``colour`` it is plain text.
    """
    parts = [_fold(one_line(sentence), width, "") for sentence in rehearsals(records)]
    # A row of dashes for each test that did not run would hide the others, so these tests are below, by reason.
    ran = [record for record in records if record.found.state != "not-tested"]
    parts += [verdict_table(ran, width=width, colour=colour)] if ran else []
    failed = format_failures(records, width=width)
    parts += [failed, "railyard report --why says by which rule, reference and bound."] if failed else []
    for state, heading in _REST:
        some = [record for record in records if record.found.state == state]
        parts += [_reasons(heading, some, width)] if some else []
    repeated = [
        (record.test.case, [one.rule for one in record.how.attempts]) for record in records if record.how.attempts
    ]
    again = [f"{case}: {earlier_attempts(rules)}" for case, rules in repeated]
    if again:
        parts.append("\n".join(["Measured again", *(_fold(one_line(line), width, "  ", "    ") for line in again)]))
    other = condition_sentences(records)
    if other:
        parts.append("\n".join([CONDITIONS_HEADING, *(_fold(line, width, "  ", "    ") for line in other)]))
    parts += [relation_lines(relations, width=width, colour=colour)] if relations else []
    parts += [cost_lines(costs, width=width)] if costs else []
    if problems or unrun:
        lost = [*map(one_line, problems), *(one_line(cell_words(cell)) for cell in unrun)]
        parts.append("\n".join(["Problems of the run", *(_fold(line, width, "  ", "    ") for line in lost)]))
    verdict = judge_overall(records, problems, len(unrun), relations)
    last = (*_blame(records), f"{verdict.word}: {verdict.sentence}", count_line(records))
    parts.append("\n".join(_fold(line, width, "", "  ") for line in last))
    return "\n\n".join(parts) + "\n"


def _blame(records: Sequence[Record]) -> list[str]:
    """Return the line that says who is blamed; a rehearsal says it after what was planted."""
    return [] if rehearsals(records) else blame_lines([record for record in records if record.found.state == "fail"])


def verdict_table(records: Sequence[Record], *, width: int = 100, colour: bool = False) -> str:
    """Return the table of all tests under a ruled head; no trailing blanks, no last newline.

    If the table is wider than ``width``, columns move together, then the widest columns of words fold; nothing is cut.
    """
    policies = names_policies(records)
    rows = [_cells(record, policies) for record in records]
    styles = [_SGR[record.found.state] if colour else None for record in records]
    return "\n".join(table(_HEADS, rows, width, right=_RIGHT, words=_WORDS, optional=_PERCENTAGES, styles=styles))


def format_failures(records: Sequence[Record], *, width: int = 100, why: bool = False) -> str:
    """Return all tests that failed, then all that were disturbed (``failures``); empty if there are none."""
    found = [(heading, [record for record in records if record.found.state == state]) for state, heading in _FAILING]
    return "\n\n".join(failures(some, heading, width=width, why=why) for heading, some in found if some)


def failures(records: Sequence[Record], heading: str = "Failures", *, width: int = 100, why: bool = False) -> str:
    """Return these tests, each with its case, headline, what was measured, suspects, what to look at and to type next.

    Lines are folded, never cut. ``why``: also with the rule that decided and its whole sentence.
    """
    lines = [heading]
    for number, record in enumerate(records, start=1):
        lines.append(_fold(f"{number}. {one_line(record.test.case)}", width, "", "   "))
        lines += [_fold(line, width, "   ", "     ") for line in failure_lines(record, why)]
    return "\n".join(lines)


def failure_lines(record: Record, why: bool = False) -> list[str]:
    """Return the lines about one failure, its headline first; those of a small table begin with blanks."""
    verdict = record.found.verdict
    first = headline(verdict)
    lines = [first, *filter(None, [describe_finding(first, verdict.sentence, verdict.measured)])]
    lines += [line for one in verdict.suspects[:_MOST_SUSPECTS] for line in _suspect(one, first, verdict.suspects)]
    more = len(verdict.suspects) - _MOST_SUSPECTS
    lines += [f"{more} more suspects are in the record"] if more > 0 else []
    expected = broken_expectation(verdict)
    lines += [f"also: {expected}"] if expected and not any(expected in line for line in lines) else []
    reasons = [one_line(one.reason) for one in verdict.suspects]
    said = {"", first.lower(), *map(str.lower, reasons)}
    others = [drop_clauses(one_line(remark), reasons) for remark in verdict.remarks]
    shown = [without_names(also) for also in others if also.lower() not in said]
    lines += [f"also: {also}" for also in shown if also.lower() not in said]
    lines += [f"look at: {one_line(verdict.next)}"] if verdict.next else []
    lines += [f"type next: {command}" for command in commands(record)[:1]]
    return [*lines, *([f"why: {_rule(record)}: {one_line(verdict.text)}"] if why else [])]


def _suspect(suspect: Suspect, first: str, suspects: Sequence[Suspect]) -> list[str]:
    """Return the lines about one of the suspects: a small table of what was measured, or else its reason.

    The headline ``first`` is not said again; one that names only some of several suspects leaves the others' names.
    """
    part, reason = suspect_part(suspect), one_line(suspect.reason)
    named = [] if part.lower() in first.lower() else [f"suspect: {part}"]
    if suspect.evidence:
        return [*named, *evidence_lines(suspect)]
    if reason in first:
        return named if len(suspects) > 1 else []
    return [f"suspect: {part}: {without_names(reason)}"]


def _rule(record: Record) -> str:
    """Return the rule that does not hold by number and name, and the class of the fault."""
    name = next((rule.name for rule in record.found.verdict.rules if rule.rule == record.found.verdict.rule), None)
    rule = f"rule {record.found.verdict.rule}" if record.found.verdict.rule else "no rule was reached"
    fault = record.found.verdict.class_ if record.found.state == "fail" else None
    return one_line(", ".join(filter(None, (rule, name, fault and f"{fault} fault"))))


def _cells(record: Record, policies: bool) -> tuple[str, ...]:
    """Return the cells of a test's row, cleaned, in the order of the heads."""
    of = row(record, policies)
    values = (of.fabric, of.stack, of.rails, of.benchmark, of.peak, of.unit)
    return tuple(map(one_line, (*values, of.percent_of_reference, of.percent_of_limit, of.split, of.verdict)))


def _reasons(heading: str, records: Sequence[Record], width: int) -> str:
    """Return tests grouped by their sentence, so that a shared reason is shown once."""
    lines = [_fold(heading, width, "", "  ")]
    for sentence, some in by_reason(records).items():
        lines.append(_fold(one_line(_besides_heading(sentence)), width, "  "))
        lines.append(_fold(_which(some), width, "    "))
    return "\n".join(lines)


def _besides_heading(sentence: str) -> str:
    """Return a reason without what the heading above it already says."""
    return sentence.removeprefix("not tested: ")


def _which(some: Sequence[Record]) -> str:
    """Return the names of a few tests; of many tests, their number and their first benchmarks."""
    if len(some) <= _MOST_NAMED:
        return ", ".join(one_line(record.test.case) for record in some)
    names = [*dict.fromkeys(one_line(record.test.benchmark) for record in some)]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{count_of(len(some), 'test')} of {', '.join(names[:_MOST_NAMED])}{more}"


def _fold(text: str, width: int, indent: str, hanging: str | None = None) -> str:
    """Return the text folded at blanks to the width; a word longer than a line has its own line, whole."""
    rest = indent if hanging is None else hanging
    return textwrap.fill(
        _BEFORE_UNIT.sub("\xa0", text),
        width,
        initial_indent=indent,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    ).replace("\xa0", " ")


_MARKDOWN_HEADS = (
    *("fabric", "stack", "rails", "benchmark", "peak", "unit"),
    *("% of reference", "% of limit", "split over rails, %", "verdict"),
)
_MARKDOWN_RIGHT = ("peak", "% of reference", "% of limit", "split over rails, %", "rails")
#: Characters with a meaning in Markdown, or in HTML inside it.
_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_[]<>|#~"})


def markdown(
    records: Sequence[Record],
    problems: Sequence[str] = (),
    cells: Sequence[Cell] = (),
    relations: Sequence[RelationRecord] = (),
    costs: Sequence[CostRecord] = (),
) -> str:
    """Return the report in GitHub's Markdown; every text is escaped."""
    tables = matrices(records, cells)
    unrun = [cell for _, matrix in tables for cell in matrix.unrun]
    verdict = judge_overall(records, problems, len(unrun), relations)
    lines = [
        f"# {verdict.word}: {_text(', '.join(dict.fromkeys(record.where.system for record in records)) or 'no system')}"
    ]
    lines += [part for one in _blame(records) for part in ("", f"{_text(one)}.")]
    lines += ["", f"{_text(verdict.sentence)} {count_line(records)}."]
    lines += [f"\n> {_text(sentence)}" for sentence in rehearsals(records)]
    lost = [*problems, *map(cell_words, unrun)]
    lines += _section("Problems of the run", (f"- {_text(problem)}" for problem in lost))
    lines += _section("What failed and why", _failures(records, "fail"))
    lines += _section("What was disturbed", _failures(records, "disturbed"))
    for system, matrix in tables:
        lines += _section(f"Fabric × rails × stack{f' of {_text(system)}' if system else ''}", _matrix(matrix))
    lines += _section("Not tested, and why", _untested_lines(records, cells))
    lines += _section(CONDITIONS_HEADING, (f"- {_text(sentence)}" for sentence in condition_sentences(records)))
    lines += _section("Relations between curves", map(_relation, relations))
    lines += _section("What it costs", _table(COST_HEADS, map(cost_cells, costs)) if costs else ())
    policies = names_policies(records)
    lines += _section(
        "All tests", _table(_MARKDOWN_HEADS, (_row(record, policies) for record in records)) if records else ()
    )
    return "\n".join(lines) + "\n"


def _section(heading: str, lines: Iterable[str]) -> list[str]:
    told = list(lines)
    return ["", f"## {heading}", "", *told] if told else []


def _failures(records: Sequence[Record], state: State) -> Iterator[str]:
    for record in records:
        if record.found.state == state:
            first, *lines = failure_lines(record)
            yield f"- **{_text(record.test.case)}**: {_text(first)}"
            yield from (f"{'    ' if line.startswith(' ') else '  '}- {_text(line)}" for line in lines)


def _matrix(table: Matrix) -> Sequence[str]:
    if not table.rows:
        return ()
    rows = []
    for line in table.rows:
        rails = "1 rail" if line.rails == 1 else f"{line.rails} rails"
        rows.append((f"{line.fabric}, {rails}", *(cell.words if cell else "not in this matrix" for cell in line.cells)))
    return list(_table(("", *table.stacks), rows))


def _untested_lines(records: Sequence[Record], cells: Sequence[Cell]) -> Iterator[str]:
    for reason, some in by_reason(record for record in records if record.found.state == "not-tested").items():
        yield f"- {_text(_besides_heading(reason))}: {_text(_which(some))}"
    for reason, places in holes(cells):
        yield f"- {_text(reason)}: {_text('; '.join(places))}"


def _relation(relation: RelationRecord) -> str:
    stack = f" ({relation.stack})" if relation.stack else ""
    words = RELATION_WORDS[relation.state]
    return f"- {_text(relation.id + stack)}: **{words}**, {_text(relation.says)}: {_text(relation.sentence)}"


def _row(record: Record, policies: bool) -> tuple[str, ...]:
    of = row(record, policies)
    figures = (of.peak, of.unit, of.percent_of_reference, of.percent_of_limit, of.split)
    return (of.fabric, of.stack, of.rails, of.benchmark, *figures, of.verdict)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(map(_text, heads))} |"
    yield f"|{'|'.join(' ---: ' if head in _MARKDOWN_RIGHT else ' --- ' for head in heads)}|"
    for cells in rows:
        yield f"| {' | '.join(map(_text, cells))} |"


def _text(words: str) -> str:
    return one_line(words).translate(_SPECIAL).replace("&", "&amp;")
