"""Records as one self-contained HTML page: verdict, failures, matrix, then every test with its evidence."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from markupsafe import Markup

from railyard.besideform import CostRecord, RelationRecord
from railyard.record import BandRecord, CurveRecord, FigureRecord, Record
from railyard.report.beside import COST_HEADS, RELATION_WORDS, cost_cells
from railyard.report.matrix import Cell, cell_words, matrix
from railyard.report.summary import by_reason, counts, overall, row, suspect_words
from railyard.report.svg import svg
from railyard.report.text import STATE_WORDS, bytes_moved, clean, number, one_line, percent, rule_words, size

_RATIO = "1"  # the unit of a figure that is a share


@dataclass(frozen=True, slots=True)
class _Test:
    """A record with what the page shows of it beside its own fields."""

    anchor: str
    record: Record
    cells: Any
    curves: tuple[tuple[CurveRecord, Markup, tuple[str, ...]], ...]
    figures: tuple[tuple[str, str], ...]
    environment: Mapping[str, object]
    command: str


def html_report(
    records: Sequence[Record],
    problems: Sequence[str] = (),
    cells: Sequence[Cell] = (),
    relations: Sequence[RelationRecord] = (),
    costs: Sequence[CostRecord] = (),
) -> str:
    """Return the page. ``cells`` are those of the run's matrix, ``problems`` what went wrong beside the tests.

    Nothing is fetched by it: styles and drawings are in the page. Every text is escaped and freed of control codes.
    """
    # jinja2 is imported here: it costs 0.05 s that only this report need pay.
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_finalize
    )
    environment.filters |= {"number": number, "percent": percent, "size": size, "moved": bytes_moved}
    environment.filters |= {"rule_words": rule_words, "suspect": suspect_words, "cell_words": cell_words}
    folder = resources.files("railyard.report")
    template = environment.from_string(folder.joinpath("report.html.j2").read_text(encoding="utf-8"))
    common = _common([record.environment for record in records])
    tests = [_test(record, index, common) for index, record in enumerate(records)]
    table = matrix(records, cells)
    return template.render(
        style=Markup(folder.joinpath("report.css").read_text(encoding="utf-8")),
        systems=list(dict.fromkeys(record.system for record in records)),
        runs=list(dict.fromkeys(record.run for record in records)),
        when=min((record.time for record in records), default=""),
        took_s=sum(record.elapsed_s or 0.0 for record in records),
        overall=overall(records, problems, len(table.unrun), relations),
        relations=[(relation, RELATION_WORDS[relation.state]) for relation in relations],
        cost_heads=COST_HEADS,
        costs=[cost_cells(cost) for cost in costs],
        price_dates=", ".join(sorted({cost.date for cost in costs})),
        counts=[(STATE_WORDS[state], state, count) for state, count in counts(records).items()],
        tests=tests,
        failures=[test for test in tests if test.record.state == "fail"],
        rest=_rest(records),
        matrix=table,
        problems=problems,
        common=common,
    )


def _finalize(value: object) -> object:
    """Return what the template prints for a value: our own markup as it is, all else cleaned (and escaped after)."""
    if isinstance(value, Markup):
        return value
    return clean(str(value)) if isinstance(value, str) else value


def _test(record: Record, index: int, common: Mapping[str, object]) -> _Test:
    return _Test(
        anchor=f"test-{index + 1}",
        record=record,
        cells=row(record),
        curves=tuple(
            (
                curve,
                svg(curve, record.benchmark, _peak_size(curve, record)),
                tuple(_band_words(band, curve) for band in curve.bands),
            )
            for curve in record.curves
        ),
        figures=tuple((figure.name, _figure_words(figure)) for figure in record.figures),
        environment={key: value for key, value in record.environment.items() if key not in common},
        command=shlex.join(map(one_line, record.command)),
    )


def _peak_size(curve: CurveRecord, record: Record) -> int | None:
    """Return the size of the key figure that stands for a bandwidth: of a ping-pong not the largest value."""
    sizes = [figure.size for figure in record.figures if figure.name == "peak" and figure.unit == curve.unit]
    return sizes[0] if sizes else None


def _figure_words(figure: FigureRecord) -> str:
    """Return a key figure with its unit and its size: ``47.8 MB/s at 4 MiB``; a ratio in per cent."""
    words = f"{number(figure.value)} {figure.unit}"
    if figure.unit == _RATIO:
        words = f"{figure.value * 100:.1f} %"
    return words if figure.size is None else f"{words} at {size(figure.size)}"


def _band_words(band: BandRecord, curve: CurveRecord) -> str:
    """Return what a reference asks for: ``at least 47 MB/s from 1 MiB to 4 MiB``, or its range where it varies."""
    parts = []
    for words, column in (("at least", band.low), ("at most", band.high)):
        bound = [(at, value) for at, value in zip(band.sizes, column, strict=True) if value is not None]
        if bound:
            values = sorted({value for _, value in bound})
            told = number(values[0]) if len(values) == 1 else f"{number(values[0])} to {number(values[-1])}"
            where = f"from {size(bound[0][0])} to {size(bound[-1][0])}" if len(bound) > 1 else f"at {size(bound[0][0])}"
            parts.append(f"{words} {told} {curve.unit} {where}")
    return ", ".join(parts) or "bounds nothing"


def _common(environments: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return what all environments agree on, so that it is read once."""
    if not environments:
        return {}
    return {
        key: value
        for key, value in environments[0].items()
        if all(key in other and other[key] == value for other in environments)
    }


def _rest(records: Sequence[Record]) -> list[tuple[str, str, list[tuple[str, list[tuple[int, Record]]]]]]:
    """Return for each state that is neither pass nor fail: its words, its name, and its tests by their reason."""
    places = {id(record): index for index, record in enumerate(records, start=1)}
    found = []
    for state in ("report-only", "xfail", "not-tested"):
        groups = by_reason(record for record in records if record.state == state)
        if groups:
            some = [(reason, [(places[id(one)], one) for one in group]) for reason, group in groups.items()]
            found.append((STATE_WORDS[state], state, some))
    return found
