"""A curve as a small inline SVG: measured line, what the references allow, the limit, the peak; styled by the page.

Other small drawings have the same axes: the position of a size and a value, with round numbers at the lines.

Several lines in one drawing, each with its own colour, dash and name: network signatures, and scaling over nodes.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from railyard.base.values import one_line
from railyard.base.wording import message_size
from railyard.benchmarks.model import Curve, peak
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.results.record.form import BandRecord, CurveRecord, Record
from railyard.results.report.summary import key_figure
from railyard.results.report.text import COMPUTED_MARK, COMPUTED_WORDS, number
from railyard.results.sweeps import Group, Sweep, sweeps

_TIMES = ("us", "ms", "s", "ns")
#: Height of the strip below, which shows each value relative to its nearest bound; and its range, in per cent.
_STRIP = 64
_LEAST, _MOST = 80.0, 120.0
#: The width of a character of the numbers in the strip, and the least distance between two numbers, in pixels.
_CHARACTER, _APART = 6.2, 5
WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 26, 42
FLOOR = HEIGHT - BOTTOM
# Values that grow by more than this are drawn on a logarithmic axis; else the smaller ones would be at zero.
_LOG_SPAN = 20
Point = tuple[float, float]
#: The numbers that an axis can show, in any unit.
_SMALLEST, _LARGEST = 1e-30, 1e30


@dataclass(frozen=True, slots=True)
class Axes:
    """The positions of an abscissa (log2) and a value (linear from 0, or log10) in the picture."""

    first: float
    last: float
    low: float
    high: float
    log: bool

    def x(self, at: float) -> float:
        """Return the position of an abscissa, from LEFT to the right edge; one that is outside is put on the edge."""
        start = math.log2(self.first)
        span = math.log2(self.last) - start or 1.0
        share = (math.log2(max(at, self.first)) - start) / span
        return LEFT + (WIDTH - LEFT - RIGHT) * min(1.0, max(0.0, share))

    def y(self, value: float) -> float:
        """Return the position of a value, from FLOOR up to TOP."""
        if self.log:
            share = math.log10(max(value, self.low) / self.low) / math.log10(self.high / self.low)
        else:
            share = value / self.high
        return FLOOR - (FLOOR - TOP) * min(1.0, max(0.0, share))


@dataclass(frozen=True, slots=True)
class EarlierMedian:
    """The median of earlier runs of a test, over the sizes of its curve; ``runs`` is how many there were."""

    values: tuple[float, ...]
    runs: int


class Grids:
    """Grids that the drawings of a page share: each is in the page once, and drawings refer to it."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def use(self, drawn: str) -> str:
        """Return the element that refers to a grid in a drawing."""
        return f'<use href="#grid-{self._names.setdefault(drawn, str(len(self._names) + 1))}"/>'

    @property
    def markup(self) -> Markup:
        """Return the grids, for one place in the page; nothing is shown there."""
        drawn = "".join(f'<g id="grid-{name}">{one}</g>' for one, name in self._names.items())
        return Markup(f'<svg class="store" aria-hidden="true"><defs>{drawn}</defs></svg>' if drawn else "")


def svg(
    curve: CurveRecord,
    benchmark: str = "",
    marked: int | None = None,
    earlier: EarlierMedian | None = None,
    grids: Grids | None = None,
) -> Markup:
    """Return the drawing of a curve, under 4 kB for 32 sizes; its title says the same as text.

    ``marked`` is the size whose value is named (the key figure's). None marks the peak, or the first value of a time.
    With ``grids``, the axes are put there, and the drawing only refers to them.

    Classes that the page styles: grid, band, edge, limit, before, line, dots, bad, computed, free (nothing bounds it),
    beyond, mark, and text.
    Nothing for no values.
    """
    if not curve.sizes:
        return Markup("")
    axes = _axes(curve)
    drawn = "".join(grid(axes, f"{curve.metric}, {_directions(curve)}{curve.unit}"))
    parts = [grids.use(drawn) if grids else drawn]
    ceiling = axes.y(curve.limit.value) if curve.limit else TOP
    parts += [part for band in curve.bands for part in _band(band, axes, ceiling)]
    parts += _limit(curve, axes)
    if earlier:
        before = [(axes.x(at), axes.y(value)) for at, value in zip(curve.sizes, earlier.values, strict=True)]
        parts.append(f'<path class="before" d="{path(before)}"/>')
    points = [(axes.x(at), axes.y(value)) for at, value in zip(curve.sizes, curve.values, strict=True)]
    parts.append(f'<path class="{"line computed" if curve.computed else "line"}" d="{path(points)}"/>')
    bad, made, shares = set(out_of_bounds(curve)), set(curve.computed), _shares(curve)
    free = set(curve.sizes) - _sizes_with_bounds(curve) - made
    for name, chosen in (
        ("dots", [p for p, at in zip(points, curve.sizes, strict=True) if at not in bad | made | free]),
        ("dots free", [p for p, at in zip(points, curve.sizes, strict=True) if at in free]),
        ("dots computed", [p for p, at in zip(points, curve.sizes, strict=True) if at in made - bad]),
        ("dots bad", [p for p, at in zip(points, curve.sizes, strict=True) if at in bad]),
    ):
        dots = "".join(f"M{round_px(x)},{round_px(y)}h0" for x, y in chosen)
        parts += [f'<path class="{name}" d="{dots}"/>'] if chosen else []
    parts += _mark(curve, axes, marked)
    beside = _against_bounds(shares, axes)
    height = HEIGHT + _STRIP if beside else HEIGHT
    return drawing("".join((*parts, *beside)), describe(curve, benchmark, marked), height)


def drawing(parts: str, title: str, height: int = HEIGHT) -> Markup:
    """Return the SVG element around the parts of a drawing; ``title`` says the same for people who do not see it."""
    head = f'<svg viewBox="0 0 {WIDTH} {height}" role="img"><title>{escape(title)}</title>'
    return Markup(f"{head}{parts}</svg>")


def describe(curve: CurveRecord, benchmark: str = "", marked: int | None = None) -> str:
    """Return what the drawing shows in a sentence, for people who do not see it."""
    at, value = _point_to_name(curve, marked)
    told = (
        f"{benchmark} {curve.metric}: {number(value)}{_mark_of_computed(curve, at)} {curve.unit} at {message_size(at)}"
    )
    if curve.limit:
        told += f", limit {number(curve.limit.value)} {curve.unit}"
    bad = out_of_bounds(curve)
    if bad:
        told += f", outside its references at {', '.join(map(message_size, bad))}"
    elif curve.bands:
        told += ", within its references"
    if curve.computed:
        told += f". {computed_words(curve)}"
    return one_line(told)


def computed_words(curve: CurveRecord) -> str:
    """Return how much of a replay's curve was computed; such values are dashed, and marked if a text names them."""
    printed = len(curve.sizes) - len(curve.computed)
    return f"* computed, not published (pale dots): the source printed {printed} of {len(curve.sizes)} values."


def _mark_of_computed(curve: CurveRecord, at: int) -> str:
    return COMPUTED_MARK if at in curve.computed else ""


def out_of_bounds(curve: CurveRecord) -> tuple[int, ...]:
    """Return the sizes at which a measured value is outside a band; a size without a bound is not judged."""
    found = set()
    for band in curve.bands:
        bounds = {at: (low, high) for at, low, high in zip(band.sizes, band.low, band.high, strict=True)}
        for at, value in zip(curve.sizes, curve.values, strict=True):
            low, high = bounds.get(at, (None, None))
            if (low is not None and value < low) or (high is not None and value > high):
                found.add(at)
    return tuple(sorted(found))


def _axes(curve: CurveRecord) -> Axes:
    bounds = [top for band in curve.bands for top in band.high + band.low if top]
    return axes_of(curve.sizes, curve.values, [*bounds, *([curve.limit.value] if curve.limit else [])])


def _limit(curve: CurveRecord, axes: Axes) -> Iterator[str]:
    """Yield the line of the limit and its name, over the sizes at which it holds."""
    if curve.limit is None:
        return
    y = axes.y(curve.limit.value)
    held = [axes.x(at) for at in curve.sizes if at >= curve.limit.from_bytes]
    start = LEFT if len(held) == len(curve.sizes) else min([*held, WIDTH - RIGHT - 12])
    name = f"limit {number(curve.limit.value)}"
    yield f'<path class="limit" d="M{round_px(start)},{round_px(y)}H{WIDTH - RIGHT}"/>'
    if start < WIDTH / 2:
        yield f'<text class="limit-name" x="{round_px(start + 5)}" y="{round_px(y + 15)}">{name}</text>'
    else:
        end = f'x="{WIDTH - RIGHT}" y="{round_px(y - 7)}" text-anchor="end"'
        yield f'<text class="limit-name" {end}>{name}</text>'


def _band(band: BandRecord, axes: Axes, ceiling: float) -> Iterator[str]:
    """Yield the area that a reference allows, up to ``ceiling`` if it has no upper bound, and its edges."""
    for part in _runs(band):
        points = [(axes.x(at), low, high) for at, low, high in part]
        if len(points) == 1:
            x, low, high = points[0]
            points = [(x - 6, low, high), (x + 6, low, high)]  # a single size would have no area
        upper = [(x, ceiling if high is None else axes.y(high)) for x, _, high in points]
        lower = [(x, FLOOR if low is None else axes.y(low)) for x, low, _ in points]
        yield f'<path class="band" d="{path([*upper, *reversed(lower)])}Z"/>'
        edges = [path([(x, axes.y(low)) for x, low, _ in points if low is not None])]
        edges.append(path([(x, axes.y(high)) for x, _, high in points if high is not None]))
        yield f'<path class="edge" d="{"".join(edges)}"/>'


def _runs(band: BandRecord) -> Iterator[list[tuple[int, float | None, float | None]]]:
    """Yield the stretches of neighbouring sizes at which a band has a bound."""
    run: list[tuple[int, float | None, float | None]] = []
    for at, low, high in zip(band.sizes, band.low, band.high, strict=True):
        if low is None and high is None:
            if run:
                yield run
            run = []
        else:
            run.append((at, low, high))
    if run:
        yield run


def _point_to_name(curve: CurveRecord, marked: int | None) -> tuple[int, float]:
    """Return the point to name: the requested one, else the peak; for a time, the smallest size."""
    if marked in curve.sizes:
        return marked, curve.values[curve.sizes.index(marked)]
    if curve.unit in _TIMES:
        return curve.sizes[0], curve.values[0]
    return peak(Curve(curve.metric, curve.unit, curve.sizes, curve.values))


def _against_bounds(shares: Mapping[int, float], axes: Axes) -> list[str]:
    """Return the strip below a drawing: each value in per cent of its nearest bound; 100 % or more is good.

    On logarithmic axes, a loss of a tenth is two pixels; here it is a quarter of the height. A value outside the strip
    is an arrow at its edge, with its number; neighbours without room for one each share a range.

    Nothing without bounds.
    """
    if not shares:
        return []
    top, floor = HEIGHT + 6, HEIGHT + _STRIP - 12

    def y(share: float) -> float:
        return floor - (floor - top) * (share - _LEAST) / (_MOST - _LEAST)

    parts = [f'<path class="even" d="M{LEFT},{round_px(y(100))}H{WIDTH - RIGHT}"/><g text-anchor="end">']
    parts += [f'<text x="{LEFT - 7}" y="{round_px(y(share) + 4)}">{share:g} %</text>' for share in (_MOST, 100, _LEAST)]
    parts.append(f'</g><text class="strip-name" x="{LEFT + 5}" y="{top + 4}">per cent of the nearest bound</text>')
    inside = {at: share for at, share in shares.items() if _LEAST <= share <= _MOST}
    for name, chosen in (
        ("dots", [(at, share) for at, share in inside.items() if share >= 100]),
        ("dots bad", [(at, share) for at, share in inside.items() if share < 100]),
    ):
        dots = "".join(f"M{round_px(axes.x(at))},{round_px(y(share))}h0" for at, share in chosen)
        parts += [f'<path class="{name}" d="{dots}"/>'] if chosen else []
    below = {axes.x(at): share for at, share in shares.items() if share < _LEAST}
    above = {axes.x(at): share for at, share in shares.items() if share > _MOST}
    return [*parts, *_arrows(below, "beyond bad", floor, -1), *_arrows(above, "beyond", top, 1)]


def _arrows(outside: Mapping[float, float], name: str, y: float, inwards: int) -> Iterator[str]:
    """Yield arrows at an edge of the strip, and their numbers inwards of them: one each, or a range for neighbours."""
    if not outside:
        return
    arrows = "".join(f"M{round_px(x - 4)},{round_px(y + 5 * inwards)}h8l-4,{-6 * inwards}z" for x in outside)
    yield f'<path class="{name}" d="{arrows}"/>'
    for label in _labels(outside):
        at = f'x="{round_px(label.middle)}" y="{round_px(y + (18 if inwards > 0 else -9))}"'
        yield f'<text class="strip-name" {at} text-anchor="middle">{label.words}</text>'


@dataclass(frozen=True, slots=True)
class _Label:
    """The number of an arrow, or the least and the most of neighbours: ``first`` and ``last`` are their positions."""

    first: float
    last: float
    least: float
    most: float

    @property
    def words(self) -> str:
        least, most = number(self.least), number(self.most)
        return f"{least} %" if least == most else f"{least}–{most} %"

    @property
    def half_width(self) -> float:
        return len(self.words) * _CHARACTER / 2

    @property
    def middle(self) -> float:
        """Return where the words are centred: at the arrows, but within the picture."""
        centre = (self.first + self.last) / 2
        return max(self.half_width, min(WIDTH - self.half_width, centre))

    def collides_with(self, right: "_Label") -> bool:
        return self.middle + self.half_width + _APART > right.middle - right.half_width

    def with_neighbour(self, right: "_Label") -> "_Label":
        return _Label(self.first, right.last, min(self.least, right.least), max(self.most, right.most))


def _labels(outside: Mapping[float, float]) -> list[_Label]:
    """Return the numbers of all arrows, from left to right: of neighbours whose numbers would collide, one range."""
    labels: list[_Label] = []
    for x, share in sorted(outside.items()):
        label = _Label(x, x, share, share)
        while labels and labels[-1].collides_with(label):
            label = labels.pop().with_neighbour(label)
        labels.append(label)
    return labels


def _sizes_with_bounds(curve: CurveRecord) -> set[int]:
    """Return the sizes at which a reference has a bound."""
    return {
        at
        for band in curve.bands
        for at, low, high in zip(band.sizes, band.low, band.high, strict=True)
        if low is not None or high is not None
    }


def _shares(curve: CurveRecord) -> dict[int, float]:
    """Return each value by size in per cent of its nearest bound: below 100 it is outside."""
    values = dict(zip(curve.sizes, curve.values, strict=True))
    shares: dict[int, float] = {}
    for band in curve.bands:
        for at, low, high in zip(band.sizes, band.low, band.high, strict=True):
            value = values.get(at)
            if value is None:
                continue
            each = [100 * max(value, 0.0) / low] if low is not None and low > 0 else []
            each += [100 * high / value] if high is not None and value > 0 else []
            for share in each:
                shares[at] = min(share, shares.get(at, share))
    return shares


def _mark(curve: CurveRecord, axes: Axes, marked: int | None) -> list[str]:
    at, value = _point_to_name(curve, marked)
    x, y = axes.x(at), axes.y(value)
    right = x > WIDTH / 2
    below = y + 26 if y < FLOOR - 40 else y - 12
    words = escape(one_line(f"{number(value)}{_mark_of_computed(curve, at)} {curve.unit} at {message_size(at)}"))
    return [
        f'<circle class="mark" cx="{round_px(x)}" cy="{round_px(y)}" r="4.5"/>',
        f'<text class="mark-name" x="{round_px(x if right else x + 2)}" y="{round_px(below)}"'
        f' text-anchor="{"end" if right else "start"}">{words}</text>',
    ]


def _directions(curve: CurveRecord) -> str:
    return "both directions, " if curve.directions == 2 else ""


def bars(shares: Sequence[tuple[str, float]], title: str) -> Markup:
    """Return how traffic was split over rails as one bar, a piece per rail (0 to 1 each); its title has the numbers."""
    parts, at = [], 0.0
    for index, (_, share) in enumerate(shares):
        wide = 100 * max(0.0, min(1.0, share))
        parts.append(f'<rect class="rail-{index % 4}" x="{round_px(at)}" width="{round_px(wide)}" height="4"/>')
        at += wide
    head = '<svg class="split" viewBox="0 0 100 4" preserveAspectRatio="none" role="img">'
    return Markup(f"{head}<title>{escape(one_line(title))}</title>{''.join(parts)}</svg>")


def axes_of(at: Sequence[float], values: Sequence[float], tops: Sequence[float] = ()) -> Axes:
    """Return axes for all of ``values`` (not 0 on a logarithmic one) and for ``tops``, bounds that are drawn too."""
    positive = [_clamp(each) for each in at if each > 0] or [1]
    shown = [_clamp(abs(value)) for value in values if value]
    top = max([*shown, *(min(each, _LARGEST) for each in tops if each >= _SMALLEST)], default=1.0)
    first = positive[0] / 2 if min(at, default=1) == 0 and positive[0] > 1 else positive[0]
    if not shown or min(shown) * _LOG_SPAN >= max(shown):
        step = _step(top)
        return Axes(first, positive[-1], 0.0, step * math.ceil(top / step - 1e-9), False)
    low, high = math.floor(math.log10(min(shown))), math.ceil(math.log10(top) - 1e-9)
    return Axes(first, positive[-1], 10.0**low, 10.0 ** max(high, low + 1), True)


def _clamp(number: float) -> float:
    """Return a number of a record from elsewhere, which may be any: no unit needs less or more, and axes bear these."""
    return min(max(number, _SMALLEST), _LARGEST)


def grid(axes: Axes, name: str, below: str = "message size", base: int = 2) -> Iterator[str]:
    """Yield the lines and numbers of both axes and their names with units; sizes are in bytes if ``below`` says so.

    ``base``: the lower axis names powers of this number.
    """
    ticks = _decades(axes) if axes.log else _linear(axes)
    lines = "".join(f"M{LEFT},{round_px(axes.y(tick))}H{WIDTH - RIGHT}" for tick in ticks)
    yield f'<g class="axes"><path class="grid" d="{lines}"/><g text-anchor="end">'
    yield from (f'<text x="{LEFT - 7}" y="{round_px(axes.y(tick) + 4)}">{_tick(tick)}</text>' for tick in ticks)
    yield '</g><g text-anchor="middle">'
    in_bytes = below == "message size"
    for at in _powers(axes, base):
        words = message_size(int(at)) if in_bytes else _tick(at)
        yield f'<text x="{round_px(axes.x(at))}" y="{FLOOR + 17}">{words}</text>'
    yield f'<text x="{(WIDTH + LEFT - RIGHT) // 2}" y="{HEIGHT - 6}">{escape(one_line(below))}</text></g>'
    yield f'<text x="4" y="12">{escape(one_line(name))}</text></g>'


def path(points: Sequence[Point]) -> str:
    """Return the ``d`` of a line through points, empty for none."""
    return "" if not points else "M" + "L".join(f"{round_px(x)},{round_px(y)}" for x, y in points)


def round_px(value: float) -> str:
    """Return a coordinate with at most one decimal."""
    return f"{value:.1f}".removesuffix(".0")


def _step(top: float) -> float:
    """Return a round step (1, 2, 2.5 or 5 times a power of ten) that gives four to six lines up to ``top``."""
    rough = top / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)


def _linear(axes: Axes) -> list[float]:
    step = _step(axes.high)
    return [step * index for index in range(round(axes.high / step) + 1)]


def _decades(axes: Axes) -> list[float]:
    first, last = round(math.log10(axes.low)), round(math.log10(axes.high))
    every = max(1, math.ceil((last - first) / 7))
    return [10.0**power for power in range(first, last + 1, every)]


def _powers(axes: Axes, base: int) -> Iterator[float]:
    """Yield the powers that the lower axis names: at most about eight."""
    bits = math.log2(axes.last / axes.first)
    factor = base if base > 2 else 16 if bits > 12 else 4 if bits > 5 else 2
    at = 1.0
    while at < axes.first:
        at *= factor
    while at <= axes.last:
        yield at
        at *= factor


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def _tick(value: float) -> str:
    """Return a label of an axis: ``100,000``, ``10⁷`` or ``3·10⁷``."""
    if value < 1e6:
        return f"{value:,g}"
    digit, _, power = f"{value:.0e}".partition("e+")
    raised = f"10{str(int(power)).translate(_RAISED)}"
    return raised if digit == "1" else f"{digit}·{raised}"


_LINEAR = "linear"
MOST_LINES = 8


@dataclass(frozen=True, slots=True)
class Line:
    """A named line: abscissas in any order, one value each."""

    name: str
    at: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing with its heading, the words below it, and the names of its lines in the order of their colours.

    ``rows`` are its numbers, if they are few: cells under ``heads``.
    """

    heading: str
    drawing: Markup
    words: str
    names: tuple[str, ...]
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def lines_svg(lines: Sequence[Line], name: str, below: str, title: str, base: int = 2) -> Markup:
    """Return the drawing of up to eight lines, on a logarithmic abscissa named ``below`` with powers of ``base``."""
    shown = lines[:MOST_LINES]
    at = sorted({each for line in shown for each in line.at})
    axes = axes_of(at, [value for line in shown for value in line.values])
    parts = list(grid(axes, name, below, base))
    for index, line in enumerate(shown):
        points = [(axes.x(x), axes.y(y)) for x, y in zip(line.at, line.values, strict=True)]
        parts.append(f'<path class="many m{index}" d="{path(points)}"/>')
        dots = "".join(f"M{round_px(x)},{round_px(y)}h0" for x, y in points)
        parts.append(f'<path class="many-dots m{index}" d="{dots}"/>' if len(points) <= 12 else "")
    return drawing("".join(parts), one_line(title), HEIGHT)


def signatures(records: Sequence[Record]) -> tuple[Chart, ...]:
    """Return the network signature of NetPIPE's ping-pong: bandwidth over the time that a message takes.

    A line begins at the latency and ends at the bandwidth; the further left and the higher, the better the network.

    Source: Q. O. Snell, A. R. Mikler and J. L. Gustafson, "NetPIPE: A Network Protocol Independent Performance
    Evaluator" (1996).
    """
    of_signature = [
        one for one in records if one.test.benchmark in BENCHMARKS and BENCHMARKS[one.test.benchmark].signature
    ]
    lines = [_signature(one) for one in of_signature if one.found.state != "not-tested"]
    there = [line for line in lines if line is not None][:MOST_LINES]
    if not there:
        return ()
    made = any(curve.computed for one in of_signature for curve in one.found.curves)
    mark = COMPUTED_MARK if made else ""
    told = "; ".join(
        f"{one.name} from {number(one.at[0])}{mark} us to {number(max(one.values))}{mark} MB/s" for one in there
    )
    heading = of_signature[0].test.benchmark
    title = f"Network signature of {heading}: {told}"
    drawn = lines_svg(there, "bandwidth, MB/s", "time of a message, us", title, base=10)
    words = "Bandwidth over the time that a message takes: a line begins at the latency and ends at the peak."
    if made:
        words += f" {COMPUTED_WORDS}; the test's own curve marks which of them a source printed."
    return (Chart(heading, drawn, words, tuple(line.name for line in there)),)


def scalings(records: Sequence[Record]) -> tuple[Chart, ...]:
    """Return the key figure over the number of nodes, for each benchmark that ran on several numbers of them."""
    groups: dict[tuple[str, str], dict[str, dict[int, float]]] = {}
    for record in records:
        figure = key_figure(record)
        if figure is None or record.found.state == "not-tested" or not record.where.nodes:
            continue
        lines = groups.setdefault((record.test.benchmark, f"{figure.name}, {figure.unit}"), {})
        lines.setdefault(_place(record), {})[len(record.where.nodes)] = figure.value
    charts = []
    for (benchmark, name), found in groups.items():
        lines = {place: points for place, points in found.items() if len(points) > 1}
        if lines:
            charts.append(_scaling(benchmark, name, lines))
    return tuple(charts)


def _scaling(benchmark: str, name: str, found: dict[str, dict[int, float]]) -> Chart:
    lines, rows = [], []
    for place, points in list(found.items())[:MOST_LINES]:
        nodes = tuple(sorted(points))
        lines.append(Line(place, tuple(map(float, nodes)), tuple(points[count] for count in nodes)))
        first = points[nodes[0]]
        for count in nodes:
            times = points[count] / first if first else 0.0
            share = 100 * times * nodes[0] / count
            rows.append((place, str(count), number(points[count]), f"{times:.2f}", f"{share:.1f}"))
    title = f"{benchmark} over {', '.join(sorted({row[1] for row in rows}, key=int))} nodes: {name}"
    drawn = lines_svg(lines, name, "nodes", title)
    words = "For a figure that should grow with the nodes (a rate of the whole), the last column is the efficiency."
    heads = ("test", "nodes", name, "times the first", "% per node")
    return Chart(benchmark, drawn, words, tuple(line.name for line in lines), heads, tuple(rows))


def _signature(record: Record) -> Line | None:
    curve = next((one for one in record.found.curves if one.metric == "bandwidth"), None)
    if curve is None:
        return None
    points = [(at / value, value) for at, value in zip(curve.sizes, curve.values, strict=True) if at > 0 and value > 0]
    if not points:
        return None
    # MB/s is 10^6 B/s, so bytes over MB/s are microseconds
    return Line(_place(record), tuple(time for time, _ in points), tuple(value for _, value in points))


def _place(record: Record) -> str:
    rails = "1 rail" if record.test.rails == 1 else f"{record.test.rails} rails"
    return one_line(f"{record.where.fabric}, {rails}, {record.test.stack}")


def sweep_charts(records: Sequence[Record]) -> tuple[Chart, ...]:
    """Return one chart per problem: its rate over the nodes for each fabric, number of rails and stack, and linear."""
    problems: dict[tuple[str, str, str], dict[Group, Sweep]] = {}
    for group, made in sweeps(records).items():
        problems.setdefault((group.system, group.benchmark, group.unit), {})[group] = made
    return tuple(_chart(benchmark, unit, found) for (_, benchmark, unit), found in problems.items())


def _chart(benchmark: str, unit: str, found: Mapping[Group, Sweep]) -> Chart:
    shown = dict(list(found.items())[: MOST_LINES - 1])  # linear takes one colour
    lines, rows, said = [], [], []
    for group, made in shown.items():
        nodes = tuple(float(point.nodes) for point in made.points)
        lines.append(Line(_group_place(group), nodes, tuple(point.rate for point in made.points)))
        said.append(f"{_group_place(group)}: {made.sentence}.")
        rows += [
            (
                *(_group_place(group), str(point.nodes), number(point.rate), f"{point.speedup:.2f}"),
                f"{100 * point.efficiency:.1f}",
                "" if point.serial_fraction is None else f"{point.serial_fraction:.3f}",
            )
            for point in made.points
        ]
    counts = sorted({at for line in lines for at in line.at})
    first = min(line.values[0] / line.at[0] for line in lines)
    lines.append(Line(_LINEAR, tuple(counts), tuple(first * at for at in counts)))
    title = f"{benchmark} over {', '.join(f'{at:g}' for at in counts)} nodes: {unit}"
    heads = ("test", "nodes", unit, "speed-up", "% of linear", "serial fraction")
    names = tuple(line.name for line in lines)
    return Chart(benchmark, lines_svg(lines, unit, "nodes", title), " ".join(said), names, heads, tuple(rows))


def _group_place(group: Group) -> str:
    rails = "1 rail" if group.rails == 1 else f"{group.rails} rails"
    made = "" if group.no_measurement is None else ", not measured"
    return one_line(f"{group.fabric}, {rails}, {group.stack}{made}")
