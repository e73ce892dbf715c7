"""One test over many runs: how often it failed, the spread of its curves, and its key figure from run to run.

Curves are drawn by quantiles.
"""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from railyard.base.hostlist import label
from railyard.base.numbers import quantile
from railyard.base.values import one_line
from railyard.base.wording import message_size
from railyard.benchmarks.model import Figure
from railyard.results.flaps import NodePort
from railyard.results.record.form import CurveRecord, Record
from railyard.results.report.summary import key_figure
from railyard.results.report.svg import LEFT, RIGHT, TOP, WIDTH, Axes, Grids, axes_of, drawing, grid, path, round_px
from railyard.results.report.text import number


@dataclass(frozen=True, slots=True)
class OverTime:
    """One figure: for each run its value and whether it failed, the oldest first.

    ``marks`` are the first runs of new levels, ``changes`` have a kind (better, worse, different) and a sentence each,
    ``remarks`` say what was left out. What has no values is not drawn.
    """

    heading: str
    figure: str
    unit: str
    values: tuple[tuple[float, bool], ...]
    marks: tuple[int, ...]
    changes: tuple[tuple[str, str], ...]
    remarks: tuple[str, ...] = ()

    @property
    def drawing(self) -> Markup:
        """Return the values as a drawing, with a line where the level changed; nothing without values."""
        return timeline_svg(self.values, self.unit, self.figure, self.marks) if self.values else Markup("")


def flaps_over_time(ports: Iterable[NodePort], records: Iterable[Record]) -> tuple[OverTime, ...]:
    """Return how often links of the records' nodes went down between runs, as gates saw it; nothing if none did."""
    places = {(record.where.system, label(node)) for record in records for node in record.where.nodes}
    here = [port for port in ports if (port.system, label(port.node)) in places]
    if not here:
        return ()
    kinds = {"flapping": "worse", "good again": "better"}
    changes = tuple((kinds[port.report.state], port.words) for port in here if port.report.state in kinds)
    seldom = tuple(port.words for port in here if port.report.state not in kinds)
    return (OverTime("Links that went down between runs", "", "", (), (), changes, seldom),)


#: Areas from the lightest to the darkest, as shares of all runs: where areas overlap, the runs are dense.
_AREAS = ((0.0, 1.0), (0.1, 0.9), (0.25, 0.75))
#: If there are more runs than this, the range and the median of neighbouring ones are drawn.
_MOST_DOTS = 180
_LOW = 96  # height of the drawing of a key figure over time
_HALF_STEP = 3  # pixels from the line of a change to the first run of the new level


def spread_svg(curves: Sequence[CurveRecord], name: str, grids: Grids | None = None) -> Markup:
    """Return the drawing of many runs of one curve, the oldest first.

    It shows areas of all, 80 % and 50 % of the runs, their median, and the newest run as a line. Curves with other
    sizes or another unit than the newest are left out; the title says how many were drawn. Nothing for no curve.
    """
    if not curves or not curves[-1].sizes:
        return Markup("")
    newest = curves[-1]
    alike = [curve for curve in curves if (curve.sizes, curve.unit) == (newest.sizes, newest.unit)]
    columns = [sorted(curve.values[index] for curve in alike) for index in range(len(newest.sizes))]
    limit = [newest.limit.value] if newest.limit else []
    axes = axes_of(newest.sizes, [value for column in columns for value in (column[0], column[-1])], limit)
    drawn = "".join(grid(axes, f"{newest.metric}, {newest.unit}"))
    parts = [grids.use(drawn) if grids else drawn]
    for low, high in _AREAS:
        upper = _at_share(axes, newest, columns, high)
        parts.append(
            f'<path class="all-runs" d="{path([*upper, *reversed(_at_share(axes, newest, columns, low))])}Z"/>'
        )
    if newest.limit:
        parts.append(f'<path class="limit" d="M{LEFT},{round_px(axes.y(newest.limit.value))}H{WIDTH - RIGHT}"/>')
    parts.append(f'<path class="before" d="{path(_at_share(axes, newest, columns, 0.5))}"/>')
    line = [(axes.x(at), axes.y(value)) for at, value in zip(newest.sizes, newest.values, strict=True)]
    parts.append(f'<path class="line" d="{path(line)}"/>')
    return drawing("".join(parts), _describe(newest, columns, len(alike), name))


def timeline_svg(values: Sequence[tuple[float, bool]], unit: str, name: str, marks: Sequence[int] = ()) -> Markup:
    """Return the drawing of a key figure from run to run, the oldest first; nothing for one run.

    Each value comes with whether its run failed. ``marks``: the first runs of new levels; a line is drawn before each.
    """
    if len(values) < 2:
        return Markup("")
    low, high = min(value for value, _ in values), max(value for value, _ in values)
    room = (high - low) or abs(high) or 1.0
    floor = low - 0.1 * room

    def point(index: int, value: float) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - RIGHT) * index / (len(values) - 1)
        return x, _LOW - 10 - (_LOW - 10 - TOP) * (value - floor) / (1.2 * room)

    parts = [
        f'<text x="4" y="12">{escape(one_line(f"{name}, {unit}, run by run"))}</text><g text-anchor="end">',
        f'<text x="{LEFT - 7}" y="{round_px(point(0, high)[1] + 4)}">{number(high)}</text>',
        f'<text x="{LEFT - 7}" y="{round_px(point(0, low)[1] + 4)}">{number(low)}</text></g>' if high > low else "</g>",
    ]
    lines = "".join(f"M{round_px(point(at, low)[0] - _HALF_STEP)},{TOP}V{_LOW - 10}" for at in marks)
    parts += [f'<path class="step" d="{lines}"/>'] if lines else []
    if len(values) > _MOST_DOTS:
        parts += _draw_bins([value for value, _ in values], point)
        good = []
    else:
        good = [point(index, value) for index, (value, failed) in enumerate(values) if not failed]
    bad = [point(index, value) for index, (value, failed) in enumerate(values) if failed]
    for kind, points in (("dots", good), ("dots bad", bad)):
        dots = "".join(f"M{round_px(x)},{round_px(y)}h0" for x, y in points)
        parts += [f'<path class="{kind}" d="{dots}"/>'] if dots else []
    failed = sum(failed for _, failed in values)
    title = f"{name} over {len(values)} runs: {number(low)} to {number(high)} {unit}, {failed} failed"
    if marks:
        title += f", its level changed before run {', '.join(str(at + 1) for at in marks)}"
    return drawing("".join(parts), one_line(title), _LOW)


def _draw_bins(values: Sequence[float], point: Callable[[int, float], tuple[float, float]]) -> list[str]:
    """Return the range and the median of the neighbouring runs that share a column of the drawing."""
    each = -(-len(values) // _MOST_DOTS)
    ranges, medians = [], []
    for start in range(0, len(values), each):
        part = values[start : start + each]
        (x, low), (_, high) = point(start, min(part)), point(start, max(part))
        ranges.append(f"M{round_px(x)},{round_px(low)}V{round_px(high)}")
        medians.append(point(start, statistics.median(part)))
    return [f'<path class="range" d="{"".join(ranges)}"/>', f'<path class="line" d="{path(medians)}"/>']


def _at_share(
    axes: Axes, curve: CurveRecord, columns: Sequence[Sequence[float]], share: float
) -> list[tuple[float, float]]:
    return [(axes.x(at), axes.y(quantile(column, share))) for at, column in zip(curve.sizes, columns, strict=True)]


def _describe(newest: CurveRecord, columns: Sequence[Sequence[float]], runs: int, name: str) -> str:
    last = columns[-1]
    return one_line(
        f"{name} {newest.metric} of {runs} runs: at {message_size(newest.sizes[-1])} from {number(last[0])} to "
        f"{number(last[-1])} {newest.unit}, median {number(quantile(last, 0.5))}, newest {number(newest.values[-1])}"
    )


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
