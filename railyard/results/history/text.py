"""What histories show, as text for a terminal, as JSON values, and as drawings for a page."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from railyard.base.hostlist import MOST_IN_WORDS
from railyard.base.hostlist import fold_names as ranges
from railyard.base.terminal import fold_words
from railyard.base.wording import count_of
from railyard.results.history.changes import Change, JudgedSeries, State
from railyard.results.history.detect import ALARM
from railyard.results.history.series import Point
from railyard.results.report.spread import OverTime

FORMAT = 1
_SGR = {"better": "32", "worse": "1;31", "different": "33"}
_STATE_WORDS: dict[State, str] = {
    "changed": "changed",
    "none": "without a change",
    "equal": "with equal values only",
    "cannot-tell": "with too few runs to tell",
}


def text(found: Sequence[JudgedSeries], *, whole: bool = False, width: int = 100, colour: bool = False) -> str:
    """Return the figures that changed, with ``whole`` all of them, and a summary. Folded to ``width``, never cut."""
    parts = ["\n".join(_lines(one, whole, width, colour)) for one in found if whole or one.state == "changed"]
    parts.append("\n".join(fold_words(line, width, "  ") for line in summary(found)))
    return "\n\n".join(parts) + "\n"


def summary(found: Sequence[JudgedSeries]) -> Iterator[str]:
    """Yield the last lines: how many figures are in each state, how many got worse, how many may be chance."""
    of = Counter(one.state for one in found)
    tests = len({(one.series.system, one.series.case) for one in found})
    told = ", ".join(f"{of[state]} {words}" for state, words in _STATE_WORDS.items() if of[state])
    yield f"{count_of(len(found), 'figure')} of {count_of(tests, 'test')}: {told}"
    worse = [change for one in found for change in one.changes if change.kind == "worse"]
    if of["changed"]:
        swapped = sum(change.nodes.kind == "swapped" for change in worse)
        with_nodes = f", {swapped} of them with other nodes" if swapped else ""
        yield f"{count_of(len(worse), 'change')} for the worse{with_nodes}"
    judged = of["changed"] + of["none"]
    if judged:
        yield (
            f"one in {1 / ALARM:,.0f} figures without a change is reported as changed: of {judged}, "
            f"about {judged * ALARM:.2g} by chance"
        )


def as_json(found: Sequence[JudgedSeries]) -> dict[str, Any]:
    """Return all histories as JSON values: ``figures`` with their values, changes, sentences and remarks."""
    return {"format": FORMAT, "alarm": ALARM, "figures": [_json(one) for one in found], "summary": [*summary(found)]}


def over_time(found: Sequence[JudgedSeries]) -> tuple[OverTime, ...]:
    """Return what a page shows of the figures that changed."""
    return tuple(
        OverTime(
            heading=f"{one.series.name}: {one.series.figure}",
            figure=one.series.figure,
            unit=one.series.unit,
            values=tuple((point.value, point.record.found.state == "fail") for point in one.series.points),
            marks=tuple(change.index for change in one.changes),
            changes=tuple((change.kind, change.sentence) for change in one.changes),
            remarks=one.series.remarks,
        )
        for one in found
        if one.state == "changed"
    )


def _lines(one: JudgedSeries, whole: bool, width: int, colour: bool) -> Iterator[str]:
    yield fold_words(f"{one.series.name}, {one.series.figure}: {one.sentence}", width, "  ")
    for change in one.changes:
        yield _colour_words(fold_words(change.sentence, width, "    ", "  "), change, colour)
    for remark in one.series.remarks if whole or one.changes else ():
        yield fold_words(remark, width, "    ", "  ")


def _colour_words(words: str, change: Change, colour: bool) -> str:
    return f"\x1b[{_SGR[change.kind]}m{words}\x1b[0m" if colour else words


def _json(one: JudgedSeries) -> dict[str, Any]:
    series = one.series
    return {
        **{"system": series.system, "case": series.case, "benchmark": series.benchmark},
        **{"figure": series.figure, "unit": series.unit, "state": one.state, "sentence": one.sentence},
        "runs": [_run_json(point) for point in series.points],
        "changes": [_change_json(change) for change in one.changes],
        "smaller": one.smaller,
        "remarks": list(series.remarks),
    }


def _run_json(point: Point) -> dict[str, Any]:
    record = point.record
    # Otherwise a year of runs over thousands of nodes has 50 MB of names.
    nodes = list(record.where.nodes) if len(record.where.nodes) <= MOST_IN_WORDS else [ranges(record.where.nodes)]
    return {"run": record.made.run, "time": record.made.time, "value": point.value, "nodes": nodes}


def _change_json(change: Change) -> dict[str, Any]:
    return {
        **{"index": change.index, "kind": change.kind, "percent": change.percent, "p": change.p},
        **{"before": change.shift.base, "shift": change.shift.value},
        **{"low": change.shift.low, "high": change.shift.high},
        "between": [change.before.record.made.run, change.after.record.made.run],
        "nodes": {"kind": change.nodes.kind, "sentence": change.nodes.sentence},
        "rails": list(change.rails),
        "together": list(change.together),
        "sentence": change.sentence,
    }
