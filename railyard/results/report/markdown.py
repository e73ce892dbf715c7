"""Records as Markdown, for an issue or a wiki: verdict, failures, matrix, what was not tested, and all tests."""

from collections.abc import Iterable, Iterator, Sequence

from railyard.base.bounds import without_names
from railyard.base.clean_text import one_line
from railyard.results.conditions import HEADING, sentences
from railyard.results.record.form import Record, State
from railyard.results.record.headline import describe_finding, headline
from railyard.results.report.evidence import holes
from railyard.results.report.matrix import Matrix, cell_words, matrices
from railyard.results.report.relations_text import COST_HEADS, RELATION_WORDS, cost_cells
from railyard.results.report.summary import (
    by_reason,
    count_line,
    judge_overall,
    names_policies,
    rehearsals,
    row,
    suspect_words,
)
from railyard.results.run_folder import CostRecord, RelationRecord
from railyard.site.matrix import Cell

_HEADS = (
    *("fabric", "stack", "rails", "benchmark", "peak", "unit"),
    *("% of reference", "% of limit", "split over rails, %", "verdict"),
)
_RIGHT = ("peak", "% of reference", "% of limit", "split over rails, %", "rails")
_MOST_SUSPECTS = 50
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
    unrun = [cell for _, table in tables for cell in table.unrun]
    verdict = judge_overall(records, problems, len(unrun), relations)
    lines = [
        f"# {verdict.word}: {_text(', '.join(dict.fromkeys(record.where.system for record in records)) or 'no system')}"
    ]
    lines += ["", f"{_text(verdict.sentence)} {count_line(records)}."]
    lines += [f"\n> {_text(sentence)}" for sentence in rehearsals(records)]
    lost = [*problems, *map(cell_words, unrun)]
    lines += _section("Problems of the run", (f"- {_text(problem)}" for problem in lost))
    lines += _section("What failed and why", _failures(records, "fail"))
    lines += _section("What was disturbed", _failures(records, "disturbed"))
    for system, table in tables:
        lines += _section(f"Fabric × rails × stack{f' of {_text(system)}' if system else ''}", _matrix(table))
    lines += _section("Not tested, and why", _untested_lines(records, cells))
    lines += _section(HEADING, (f"- {_text(sentence)}" for sentence in sentences(records)))
    lines += _section("Relations between curves", map(_relation, relations))
    lines += _section("What it costs", _table(COST_HEADS, map(cost_cells, costs)) if costs else ())
    policies = names_policies(records)
    lines += _section("All tests", _table(_HEADS, (_row(record, policies) for record in records)) if records else ())
    return "\n".join(lines) + "\n"


def _section(heading: str, lines: Iterable[str]) -> list[str]:
    told = list(lines)
    return ["", f"## {heading}", "", *told] if told else []


def _failures(records: Sequence[Record], state: State) -> Iterator[str]:
    for record in records:
        if record.found.state == state:
            verdict = record.found.verdict
            first = headline(verdict)
            yield f"- **{_text(record.test.case)}**: {_text(first)}"
            if found := describe_finding(first, verdict.sentence, verdict.measured):
                yield f"  - {_text(found)}"
            suspects = verdict.suspects
            shown = (without_names(suspect_words(suspect)) for suspect in suspects[:_MOST_SUSPECTS])
            yield from (f"  - suspect: {_text(words)}" for words in shown)
            if len(suspects) > _MOST_SUSPECTS:
                yield f"  - {len(suspects) - _MOST_SUSPECTS} more suspects are in the record"
            if verdict.next:
                yield f"  - look at: {_text(verdict.next)}"


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
        yield f"- {_text(reason)}: {_text(', '.join(record.test.case for record in some))}"
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
    yield f"|{'|'.join(' ---: ' if head in _RIGHT else ' --- ' for head in heads)}|"
    for cells in rows:
        yield f"| {' | '.join(map(_text, cells))} |"


def _text(words: str) -> str:
    return one_line(words).translate(_SPECIAL).replace("&", "&amp;")
