"""A curve as a small inline SVG: measured line, what the references allow, the limit, the peak; styled by the page."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from railyard.curve import Curve, peak
from railyard.record import BandRecord, CurveRecord
from railyard.report.text import number, one_line, size

WIDTH, HEIGHT = 560, 250
_LEFT, _RIGHT, _TOP, _BOTTOM = 58, 14, 26, 42
_FLOOR = HEIGHT - _BOTTOM
# A time that grows by more than this over the sizes is drawn on a logarithmic axis, or its small sizes lie on zero.
_LOG_SPAN = 20
_TIMES = ("us", "ms", "s", "ns")

_Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Axes:
    """Where a size (log2) and a value (linear from 0, or log10) stand in the picture."""

    first_size: int
    last_size: int
    low: float
    high: float
    log: bool

    def x(self, size_bytes: int) -> float:
        start = math.log2(self.first_size)
        span = math.log2(self.last_size) - start or 1.0
        return _LEFT + (WIDTH - _LEFT - _RIGHT) * min(1.0, max(0.0, (math.log2(max(size_bytes, 1)) - start) / span))

    def y(self, value: float) -> float:
        if self.log:
            share = math.log10(max(value, self.low) / self.low) / math.log10(self.high / self.low)
        else:
            share = value / self.high
        return _FLOOR - (_FLOOR - _TOP) * min(1.0, max(0.0, share))


def svg(curve: CurveRecord, benchmark: str = "", marked: int | None = None) -> Markup:
    """Return the drawing of a curve, under 4 kB for 32 sizes; a text of the same content stands in its title.

    ``marked`` is the size whose value is named (the key figure's); None marks the peak, or of a time its first value.

    Classes that the page styles: grid, band, edge, limit, line, dots, bad, mark, and text. Nothing for no values.
    """
    if not curve.sizes:
        return Markup("")
    axes = _axes(curve)
    parts = [*_grid(axes, curve.unit, f"{curve.metric}, {_directions(curve)}{curve.unit}")]
    ceiling = axes.y(curve.limit.value) if curve.limit else _TOP
    parts += [part for band in curve.bands for part in _band(band, axes, ceiling)]
    if curve.limit:
        y = axes.y(curve.limit.value)
        parts.append(f'<path class="limit" d="M{_LEFT},{_n(y)}H{WIDTH - _RIGHT}"/>')
        parts.append(
            f'<text class="limit-name" x="{_LEFT + 5}" y="{_n(y + 15)}">limit {number(curve.limit.value)}</text>'
        )
    points = [(axes.x(at), axes.y(value)) for at, value in zip(curve.sizes, curve.values, strict=True)]
    parts.append(f'<path class="line" d="{_line(points)}"/>')
    bad = set(out_of_bounds(curve))
    for name, chosen in (
        ("dots", [p for p, at in zip(points, curve.sizes, strict=True) if at not in bad]),
        ("dots bad", [p for p, at in zip(points, curve.sizes, strict=True) if at in bad]),
    ):
        parts += [f'<path class="{name}" d="{"".join(f"M{_n(x)},{_n(y)}h0" for x, y in chosen)}"/>'] if chosen else []
    parts += _mark(curve, axes, marked)
    title = escape(describe(curve, benchmark, marked))
    head = f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}"><title>{title}</title>'
    return Markup(f"{head}{''.join(parts)}</svg>")


def describe(curve: CurveRecord, benchmark: str = "", marked: int | None = None) -> str:
    """Return what the drawing shows in a sentence, for those who do not see it."""
    at, value = _marked(curve, marked)
    told = f"{benchmark} {curve.metric}: {number(value)} {curve.unit} at {size(at)}"
    if curve.limit:
        told += f", limit {number(curve.limit.value)} {curve.unit}"
    bad = out_of_bounds(curve)
    if bad:
        told += f", outside its references at {', '.join(map(size, bad))}"
    elif curve.bands:
        told += ", within its references"
    return one_line(told)


def out_of_bounds(curve: CurveRecord) -> tuple[int, ...]:
    """Return the sizes at which a measured value is outside a band; a size that a band lacks is not judged."""
    found = set()
    for band in curve.bands:
        bounds = {at: (low, high) for at, low, high in zip(band.sizes, band.low, band.high, strict=True)}
        for at, value in zip(curve.sizes, curve.values, strict=True):
            low, high = bounds.get(at, (None, None))
            if (low is not None and value < low) or (high is not None and value > high):
                found.add(at)
    return tuple(sorted(found))


def _axes(curve: CurveRecord) -> _Axes:
    positive = [at for at in curve.sizes if at > 0] or [1]
    values = [abs(value) for value in curve.values if value]
    tops = [*values, *(top for band in curve.bands for top in band.high + band.low if top)]
    tops += [curve.limit.value] if curve.limit else []
    top = max(tops, default=1.0)
    log = curve.unit in _TIMES and bool(values) and min(values) * _LOG_SPAN < max(values)
    first = positive[0] // 2 or 1 if curve.sizes[0] == 0 else positive[0]
    if not log:
        step = _step(top)
        return _Axes(first, positive[-1], 0.0, step * math.ceil(top / step - 1e-9), False)
    return _Axes(
        first, positive[-1], 10.0 ** math.floor(math.log10(min(values))), 10.0 ** math.ceil(math.log10(top)), True
    )


def _step(top: float) -> float:
    """Return a round step (1, 2, 2.5 or 5 times a power of ten) that gives four to six lines up to ``top``."""
    rough = top / 5
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= rough * 0.999)


def _grid(axes: _Axes, unit: str, name: str) -> Iterator[str]:
    """Yield the lines and numbers of both axes and their names with units."""
    ticks = _decades(axes) if axes.log else _linear(axes)
    lines = "".join(f"M{_LEFT},{_n(axes.y(tick))}H{WIDTH - _RIGHT}" for tick in ticks)
    yield f'<path class="grid" d="{lines}"/><g text-anchor="end">'
    yield from (f'<text x="{_LEFT - 7}" y="{_n(axes.y(tick) + 4)}">{_tick(tick)}</text>' for tick in ticks)
    yield '</g><g text-anchor="middle">'
    bits = math.log2(axes.last_size / axes.first_size)
    factor = 16 if bits > 12 else 4 if bits > 5 else 2
    at = 1
    while at <= axes.last_size:
        if at >= axes.first_size:
            yield f'<text x="{_n(axes.x(at))}" y="{_FLOOR + 17}">{size(at)}</text>'
        at *= factor
    yield f'<text x="{(WIDTH + _LEFT - _RIGHT) // 2}" y="{HEIGHT - 6}">message size</text></g>'
    yield f'<text x="4" y="12">{escape(one_line(name))}</text>'


def _linear(axes: _Axes) -> list[float]:
    step = _step(axes.high)
    return [step * index for index in range(round(axes.high / step) + 1)]


def _decades(axes: _Axes) -> list[float]:
    first, last = round(math.log10(axes.low)), round(math.log10(axes.high))
    return [10.0**power for power in range(first, last + 1)]


def _band(band: BandRecord, axes: _Axes, ceiling: float) -> Iterator[str]:
    """Yield the area that a reference allows, up to ``ceiling`` where it sets no top, and its edges."""
    for part in _runs(band):
        points = [(axes.x(at), low, high) for at, low, high in part]
        if len(points) == 1:
            x, low, high = points[0]
            points = [(x - 6, low, high), (x + 6, low, high)]  # a lone size would have no area
        upper = [(x, ceiling if high is None else axes.y(high)) for x, _, high in points]
        lower = [(x, _FLOOR if low is None else axes.y(low)) for x, low, _ in points]
        yield f'<path class="band" d="{_line([*upper, *reversed(lower)])}Z"/>'
        edges = [_line([(x, axes.y(low)) for x, low, _ in points if low is not None])]
        edges.append(_line([(x, axes.y(high)) for x, _, high in points if high is not None]))
        yield f'<path class="edge" d="{"".join(edges)}"/>'


def _runs(band: BandRecord) -> Iterator[list[tuple[int, float | None, float | None]]]:
    """Yield the stretches of neighbouring sizes at which a band bounds something."""
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


def _marked(curve: CurveRecord, marked: int | None) -> tuple[int, float]:
    """Return the point that is named: the one asked for, else the peak; of a time the smallest size."""
    if marked in curve.sizes:
        return marked, curve.values[curve.sizes.index(marked)]
    if curve.unit in _TIMES:
        return curve.sizes[0], curve.values[0]
    return peak(Curve(curve.metric, curve.unit, curve.sizes, curve.values))


def _mark(curve: CurveRecord, axes: _Axes, marked: int | None) -> list[str]:
    at, value = _marked(curve, marked)
    x, y = axes.x(at), axes.y(value)
    right = x > WIDTH / 2
    below = y + 26 if y < _FLOOR - 40 else y - 12
    words = escape(one_line(f"{number(value)} {curve.unit} at {size(at)}"))
    return [
        f'<circle class="mark" cx="{_n(x)}" cy="{_n(y)}" r="4.5"/>',
        f'<text class="mark-name" x="{_n(x if right else x + 2)}" y="{_n(below)}"'
        f' text-anchor="{"end" if right else "start"}">{words}</text>',
    ]


def _directions(curve: CurveRecord) -> str:
    return "both directions, " if curve.directions == 2 else ""


def _line(points: Sequence[_Point]) -> str:
    return "" if not points else "M" + "L".join(f"{_n(x)},{_n(y)}" for x, y in points)


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _tick(value: float) -> str:
    return f"{value:,g}" if value < 1e6 else f"{value:.0e}"
