"""A few lines of block characters that show in a terminal how a metric changes."""

import math
from collections.abc import Sequence

from railyard.results.report.text import number

_BLOCKS = " ▁▂▃▄▅▆▇█"
_EIGHTHS = len(_BLOCKS) - 1
_WIDEST_BAR = 2


def plot(
    values: Sequence[float], ends: tuple[str, str], *, width: int = 60, height: int = 6, logarithmic: bool = False
) -> list[str]:
    """Return ``height`` lines of bars, one bar per value, and a line below with the two ``ends`` of the axis.

    ``width`` is in columns, with the labels of the vertical axis. If there are more values than fit, each bar is the
    largest of its neighbours. The axis begins at 0, a logarithmic one at the smallest value above 0; a value below it
    has no bar.
    """
    low = min((value for value in values if value > 0), default=0.0) if logarithmic else 0.0
    labels = (number(max(values)), number(low))
    gutter = max(map(len, labels))
    room = max(8, width - gutter - 2)
    kept = _thin_values(values, room)
    bar = max(1, min(_WIDEST_BAR, room // len(kept)))
    eighths = [_share(value, low, max(values), logarithmic) * height * _EIGHTHS for value in kept]
    lines = []
    for row in range(height - 1, -1, -1):
        label = labels[0] if row == height - 1 else labels[1] if row == 0 else ""
        blocks = (_BLOCKS[max(0, min(_EIGHTHS, round(each) - row * _EIGHTHS))] * bar for each in eighths)
        lines.append(f"{label:>{gutter}} {'┤' if label else '│'}{''.join(blocks)}".rstrip())
    first, last = ends
    lines.append(f"{'':{gutter + 2}}{first}{last.rjust(max(1 + len(last), bar * len(kept) - len(first)))}")
    return lines


def _thin_values(values: Sequence[float], most: int) -> list[float]:
    """Return the values, or at most ``most`` of them: the largest of each group of neighbours."""
    each = math.ceil(len(values) / most)
    return [max(values[at : at + each]) for at in range(0, len(values), each)]


def _share(value: float, low: float, high: float, logarithmic: bool) -> float:
    """Return which share of the height a value takes; at least one eighth of a line for a value on the axis."""
    if value < low or high <= 0:
        return 0.0
    if not logarithmic:
        return value / high
    decades = math.log10(high / low)
    least = 0.02
    return least + (1 - least) * (math.log10(value / low) / decades if decades > 0 else 1.0)
