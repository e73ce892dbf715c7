"""Records of many runs as one entry per test: its newest record, its curves and figures, and how often it failed."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from railyard.benchmarks.curve import Figure
from railyard.results.record.form import Record
from railyard.results.report.spread import spread_svg, timeline_svg
from railyard.results.report.summary import key_figure
from railyard.results.report.svg import Grids


@dataclass(frozen=True, slots=True)
class History:
    """One test over many runs: all of its records, the oldest first."""

    records: tuple[Record, ...]

    @property
    def newest(self) -> Record:
        """Return the newest record; if the newest run has a failure, that one: a pass on a retry does not hide it."""
        last = self.records[-1]
        return next((one for one in self.records if one.made.run == last.made.run and one.fails), last)

    @property
    def failed_records(self) -> tuple[Record, ...]:
        """Return the records that failed, without the newest."""
        return tuple(record for record in self.records if record.found.state == "fail" and record is not self.newest)


def histories(records: Sequence[Record]) -> tuple[History, ...]:
    """Return one history per test (system and case), in the order in which the tests first came."""
    found: dict[tuple[str, str], list[Record]] = {}
    for record in records:
        found.setdefault((record.where.system, record.test.case), []).append(record)
    return tuple(History(tuple(sorted(each, key=_begin_and_end))) for each in found.values())


def are_repeats(records: Sequence[Record]) -> bool:
    """Return whether several runs repeat tests in these records, so that a page shows them by test."""
    runs: dict[tuple[str, str], str] = {}
    return any(
        runs.setdefault((record.where.system, record.test.case), record.made.run) != record.made.run
        for record in records
    )


def drawings(history: History, grids: Grids) -> tuple[Markup, ...]:
    """Return the drawings of a history: the spread of each metric's curves, and the key figure from run to run."""
    newest = history.newest
    made = []
    for metric in (curve.metric for curve in newest.found.curves):
        curves = [curve for record in history.records for curve in record.found.curves if curve.metric == metric]
        made.append(spread_svg(curves, newest.test.benchmark, grids))
    figure = key_figure(newest)
    if figure is not None:
        values = [(value, record.fails) for record in history.records for value in _value(record, figure)]
        made.append(timeline_svg(values, figure.unit, figure.name))
    return tuple(drawing for drawing in made if drawing)


def _value(record: Record, figure: Figure) -> list[float]:
    return [one.value for one in record.found.figures if (one.name, one.unit) == (figure.name, figure.unit)][:1]


def _begin_and_end(record: Record) -> tuple[str, str]:
    return record.made.time, record.made.run
