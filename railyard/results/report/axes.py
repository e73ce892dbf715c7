"""Axes of a small drawing: the position of a size and a value, with round numbers and units at the lines."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import escape

from railyard.base.clean_text import one_line
from railyard.base.wording import message_size

WIDTH, HEIGHT = 560, 250
LEFT, RIGHT, TOP, BOTTOM = 58, 14, 26, 42
FLOOR = HEIGHT - BOTTOM
# Values that grow by more than this are drawn on a logarithmic axis; else the smaller ones would be at zero.
_LOG_SPAN = 20

Point = tuple[float, float]


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


def axes_of(at: Sequence[float], values: Sequence[float], tops: Sequence[float] = ()) -> Axes:
    """Return axes for all of ``values`` (not 0 on a logarithmic one) and for ``tops``, bounds that are drawn too."""
    positive = [each for each in at if each > 0] or [1]
    shown = [abs(value) for value in values if value]
    top = max([*shown, *tops], default=1.0)
    first = positive[0] / 2 if min(at, default=1) == 0 and positive[0] > 1 else positive[0]
    if not shown or min(shown) * _LOG_SPAN >= max(shown):
        step = _step(top)
        return Axes(first, positive[-1], 0.0, step * math.ceil(top / step - 1e-9), False)
    low, high = math.floor(math.log10(min(shown))), math.ceil(math.log10(top) - 1e-9)
    return Axes(first, positive[-1], 10.0**low, 10.0 ** max(high, low + 1), True)


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


def _tick(value: float) -> str:
    return f"{value:,g}" if value < 1e6 else f"{value:.0e}"
