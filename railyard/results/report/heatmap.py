"""The bandwidth of every pair of nodes as a coloured table in SVG, and the worst pairs and nodes by name."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from railyard.base.clean_text import one_line
from railyard.results.record.pairs import PairsRecord
from railyard.results.report.svg import round_px
from railyard.results.report.text import number

#: Above this number of nodes, neighbours share a field, which shows the worst of them.
_MOST_FIELDS = 128
_SIDE, _MARGIN = 520.0, 74.0
_NAMED_UP_TO = 24
_WORST = 5
#: Shares of the bound (without a bound, of the median) below which a field has this class, with its words.
CLASSES = (
    (0.5, "h0", "below 50 %"),
    (0.8, "h1", "50 to 80 %"),
    (0.95, "h2", "80 to 95 %"),
    (1.0, "h3", "95 to 100 %"),
    (float("inf"), "h4", "100 % or more"),
)


@dataclass(frozen=True, slots=True)
class Heatmap:
    """The drawing, what 100 % is, the worst pairs in words, the classes that occur, and the drawing's own title."""

    drawing: Markup
    scale: str
    worst: tuple[str, ...]
    legend: tuple[tuple[str, str], ...]


def heatmap(pairs: PairsRecord) -> Heatmap | None:
    """Return the heat map of a record's pairs (rows send, columns receive, None was not measured); None without values.

    Colours show the share of the bound that a pair must reach; without a bound, the share of the median of all pairs.
    """
    values = pairs.values
    known = [value for row in values for value in row if value is not None]
    if not known:
        return None
    base = pairs.expected or statistics.median(known) or 1.0
    scale = scale_of(pairs, base)
    worst = _worst(values, pairs.nodes, base, pairs.unit)
    title = one_line(f"{len(known)} pairs of {len(pairs.nodes)} nodes; {scale}; worst: {'; '.join(worst[:2])}")
    fields = _fields(values)
    there = {class_of(value / base) for row in fields for value in row if value is not None}
    legend = tuple((kind, words) for _, kind, words in CLASSES if kind in there)
    return Heatmap(_draw(fields, pairs.nodes, base, title), scale, worst, legend)


def scale_of(pairs: PairsRecord, base: float) -> str:
    """Return what 100 % is, in words."""
    of = "the bound that a pair must reach" if pairs.expected else "the median of all pairs"
    return f"100 % is {number(base)} {pairs.unit}, {of}"


def class_of(share: float) -> str:
    """Return the class of a share of the bound, where 1 is the whole bound; of infinity, the last class."""
    return next((kind for top, kind, _ in CLASSES if share < top), CLASSES[-1][1])


def _fields(values: Sequence[Sequence[float | None]]) -> list[list[float | None]]:
    """Return the matrix; if there are too many nodes to draw, each field is the worst of a square of neighbours."""
    each = -(-len(values) // _MOST_FIELDS)
    if each == 1:
        return [list(row) for row in values]
    starts = range(0, len(values), each)
    fields: list[list[float | None]] = []
    for top in starts:
        rows = values[top : top + each]
        fields.append([min(_known_values(rows, left, each), default=None) for left in starts])
    return fields


def _known_values(rows: Sequence[Sequence[float | None]], left: int, each: int) -> list[float]:
    return [value for row in rows for value in row[left : left + each] if value is not None]


def _draw(fields: Sequence[Sequence[float | None]], nodes: Sequence[str], base: float, title: str) -> Markup:
    count = len(fields)
    step = _SIDE / count
    edge = round_px(max(step - 1, step * 0.85))
    squares: dict[str, list[str]] = {}
    for row, line in enumerate(fields):
        for column, value in enumerate(line):
            if value is not None:
                at = f"M{round_px(_MARGIN + column * step)},{round_px(_MARGIN + row * step)}"
                squares.setdefault(class_of(value / base), []).append(f"{at}h{edge}v{edge}h-{edge}z")
    parts = [f'<path class="{kind}" d="{"".join(each)}"/>' for kind, each in sorted(squares.items())]
    parts += _names(nodes, step) if len(nodes) == count and count <= _NAMED_UP_TO else _ends(nodes)
    parts += _numbers(fields, step) if count <= 8 else []
    side = round_px(_SIDE + _MARGIN + 4)
    head = f'<svg class="heat" viewBox="0 0 {side} {side}" role="img"><title>{escape(title)}</title>'
    return Markup(f"{head}{''.join(parts)}</svg>")


def _names(nodes: Sequence[str], step: float) -> list[str]:
    parts = ['<g text-anchor="end">']
    for index, node in enumerate(nodes):
        middle = round_px(_MARGIN + (index + 0.5) * step + 4)
        parts.append(f'<text x="{round_px(_MARGIN - 8)}" y="{middle}">{escape(one_line(node))}</text>')
    parts.append('</g><g text-anchor="start">')
    for index, node in enumerate(nodes):
        x = round_px(_MARGIN + (index + 0.5) * step)
        y = round_px(_MARGIN - 8)
        turned = f'transform="rotate(-50 {x} {y})"'
        parts.append(f'<text x="{x}" y="{y}" {turned}>{escape(one_line(node))}</text>')
    parts.append("</g>")
    return parts


def _ends(nodes: Sequence[str]) -> list[str]:
    first, last = escape(one_line(nodes[0])), escape(one_line(nodes[-1]))
    far = round_px(_MARGIN + _SIDE)
    near = round_px(_MARGIN - 8)
    return [
        f'<text x="{round_px(_MARGIN)}" y="{near}">{first}</text>',
        f'<text x="{far}" y="{near}" text-anchor="end">{last}</text>',
        f'<text x="{near}" y="{round_px(_MARGIN + 12)}" text-anchor="end">{first}</text>',
        f'<text x="{near}" y="{far}" text-anchor="end">{last}</text>',
    ]


def _numbers(fields: Sequence[Sequence[float | None]], step: float) -> list[str]:
    parts = ['<g text-anchor="middle" class="heat-number">']
    for row, line in enumerate(fields):
        for column, value in enumerate(line):
            if value is not None:
                x, y = _MARGIN + (column + 0.5) * step, _MARGIN + (row + 0.5) * step + 5
                parts.append(f'<text x="{round_px(x)}" y="{round_px(y)}">{number(value)}</text>')
    return [*parts, "</g>"]


def _worst(values: Sequence[Sequence[float | None]], nodes: Sequence[str], base: float, unit: str) -> tuple[str, ...]:
    """Return the worst pairs, the worst first: ``vn1 to vn2 4.90 MB/s, 10.3 %``."""
    ranked = sorted(
        (value, nodes[row], nodes[column])
        for row, line in enumerate(values)
        for column, value in enumerate(line)
        if value is not None
    )
    return tuple(
        one_line(f"{sender} to {receiver} {number(value)} {unit}, {100 * value / base:.1f} %")
        for value, sender, receiver in ranked[:_WORST]
    )
