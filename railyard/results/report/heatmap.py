"""Pairs of nodes on a page: a coloured table of a few nodes, a map of leaf switches for thousands, the worst by name.

The bandwidth of every pair of nodes as a coloured table in SVG, and the worst pairs and nodes by name.

Pairs of thousands of nodes on a page: a map of leaf switches by leaf switches, lists of the worst, nodes by leaf.

A field of the map shows the worst pair between two leaves. One click on it leads to the nodes of the slower leaf, and
one click in a list to the nodes of its leaf. These are folded on the page, without a script: their address opens them.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import median
from typing import Any

from markupsafe import Markup, escape

from railyard.base.hostlist import label, list_nodes
from railyard.base.paths import packaged_text
from railyard.base.values import one_line
from railyard.base.wording import count_of
from railyard.results.record.form import Record
from railyard.results.record.pair_rows import PairAgain, PairsRecord, PairsSample, PairsSummary, rows_of_matrix, summary
from railyard.results.report.svg import round_px
from railyard.results.report.text import number, percent

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


#: Up to this number of nodes, each node of all pairs has a field of its own.
MOST_NODES_DRAWN = 128
#: Fields below this share of the scale have an address of their own; if there are too many, only the worst ones.
_BAD = 0.95
_MOST_LINKS = 2000
_WORST_GROUPS, _WORST_NODES, _WORST_PAIRS = 10, 20, 10
_MOST_SUSPECTS = 20
_MAP_SIDE, _MAP_MARGIN, _TOP = 640.0, 88.0, 6.0
#: From this number of groups on, neighbours of one class are one shape: gaps between them would be invisible.
_WITH_GAPS = 48
_NAMES = 16


@dataclass(frozen=True, slots=True)
class Line:
    """A node or a group in the lists: its name, its group's address, its figures, and their class."""

    name: str
    address: str
    count: int
    median: float | None
    worst: float | None
    share: float | None
    kind: str


@dataclass(frozen=True, slots=True)
class _DrawnMap:
    """What is drawn: the record's summary, the value of 100 %, and the addresses of its groups."""

    pairs: PairsRecord
    of: PairsSummary
    base: float
    prefix: str

    def share(self, value: float | None) -> float | None:
        return None if value is None else value / self.base

    def address(self, group: int) -> str:
        return f"{self.prefix}-{group + 1}"

    def line(self, name: str, group: int, count: int, values: tuple[float | None, float | None]) -> Line:
        share = self.share(values[0])
        return Line(name, self.address(group), count, *values, share, "" if share is None else class_of(share))


def is_drawn_by_leaf(pairs: PairsRecord) -> bool:
    """Return whether there are too many nodes for one field per node."""
    return pairs.summary is not None or len(pairs.nodes) > MOST_NODES_DRAWN


def leaf_map(record: Record, prefix: str) -> Markup | None:
    """Return the part of the page; None for a record without pairs, or if no pair gave a value.

    The addresses of its groups begin with ``prefix``, so that a page may have several maps.
    """
    pairs = record.found.pairs
    if pairs is None:
        return None
    of = pairs.summary or summary(pairs.nodes, rows_of_matrix(pairs.values), pairs.leaves)
    if of.level is None:
        return None
    seen = _DrawnMap(pairs, of, pairs.expected or of.level or 1.0, prefix)
    groups = _groups(seen)
    nodes = _nodes(seen)
    drawn = _template().render(
        unit=pairs.unit,
        size=pairs.size,
        what="leaf switch" if of.are_leaves else "block of neighbours",
        leaves_known=of.are_leaves,
        prefix=prefix,
        drawing=_draw_map(seen, groups),
        scale=scale_of(pairs, seen.base),
        legend=_legend(seen),
        groups=groups,
        worst_groups=_slower_than_others(groups),
        worst_nodes=_slower_than_their_leaf(seen, nodes, groups),
        worst_pairs=_slower_than_their_nodes(seen, nodes),
        suspects=_suspects(record, seen),
        more_suspects=max(0, len(record.found.verdict.suspects) - _MOST_SUSPECTS),
        members=_members(seen, groups, nodes),
        nodes=len(pairs.nodes),
        measured=sum(count > 0 for count in of.node_pairs),
        sample=pairs.sample,
        covered=_coverage_rows(pairs.sample),
        again=pairs.again,
    )
    return Markup(drawn)


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined

    made = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_finalize
    )
    made.filters |= {"number": number, "percent": _percent, "nodes": list_nodes, "probability": _probability}
    return made.from_string(packaged_text("results/report/leaf_map.html.j2"))


def _finalize(value: object) -> object:
    return one_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _groups(seen: _DrawnMap) -> list[Line]:
    """Return each group with the median of its nodes' medians, and its worst pair."""
    members: list[list[int]] = [[] for _ in seen.of.groups]
    for node, group in enumerate(seen.of.group_of):
        members[group].append(node)
    found = []
    for group, nodes in enumerate(members):
        medians = [value for node in nodes if (value := seen.of.node_median[node]) is not None]
        lows = [value for node in nodes if (value := seen.of.node_worst[node]) is not None]
        values = (median(medians) if medians else None, min(lows, default=None))
        found.append(seen.line(seen.of.groups[group], group, len(nodes), values))
    return found


def _nodes(seen: _DrawnMap) -> list[Line]:
    of = seen.of
    columns = zip(seen.pairs.nodes, of.group_of, of.node_pairs, of.node_median, of.node_worst, strict=True)
    return [seen.line(name, group, count, (middle, low)) for name, group, count, middle, low in columns]


def _members(seen: _DrawnMap, groups: Sequence[Line], nodes: Sequence[Line]) -> list[tuple[Line, list[Line]]]:
    """Return each group with its nodes, worst first, and then those without a value."""
    found: list[list[Line]] = [[] for _ in groups]
    for node, group in zip(nodes, seen.of.group_of, strict=True):
        found[group].append(node)
    return [(group, _worst_leaves(members)) for group, members in zip(groups, found, strict=True)]


def _worst_leaves(lines: Sequence[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (line.share is None, line.share or 0.0))


def _slower_than_their_leaf(seen: _DrawnMap, nodes: Sequence[Line], groups: Sequence[Line]) -> list[Line]:
    """Return the slow nodes, worst first, without those whose whole leaf is as slow."""
    leaves = (groups[group] for group in seen.of.group_of)
    slow = [node for node, leaf in zip(nodes, leaves, strict=True) if _is_below(node.median, leaf.median)]
    return _worst_leaves(slow)[:_WORST_NODES]


def _slower_than_others(groups: Sequence[Line]) -> list[Line]:
    known = [group.median for group in groups if group.median is not None]
    return [group for group in _worst_leaves(groups) if known and _is_below(group.median, median(known))][
        :_WORST_GROUPS
    ]


def _is_below(value: float | None, others: float | None) -> bool:
    return value is not None and others is not None and value < _BAD * others


def _slower_than_their_nodes(seen: _DrawnMap, nodes: Sequence[Line]) -> list[tuple[PairAgain, float, str]]:
    """Return the slow pairs, worst first, except those as slow as one of their nodes; each with share and address."""
    places = {node.name: node for node in nodes}
    found = []
    for pair in seen.of.worst_pairs:
        low = min(pair.forward, pair.backward)
        ends = [places[name] for name in (pair.first, pair.second)]
        if all(_is_below(low, end.median) for end in ends):
            found.append((pair, low / seen.base, ends[0].address))
    return found[:_WORST_PAIRS]


def _suspects(record: Record, seen: _DrawnMap) -> list[tuple[str, str | None]]:
    """Return whom the verdict names, in words, each with the address of its node's group if it has a node."""
    from railyard.results.report.summary import suspect_words

    at = {label(name): seen.address(group) for name, group in zip(seen.pairs.nodes, seen.of.group_of, strict=True)}
    found = []
    for one in record.found.verdict.suspects[:_MOST_SUSPECTS]:
        names = [one.node or "", *(one.node or "").split("-")]
        found.append((suspect_words(one), next((at[label(name)] for name in names if label(name) in at), None)))
    return found


def _legend(seen: _DrawnMap) -> list[tuple[str, str]]:
    there = {class_of(value / seen.base) for row in seen.of.worst for value in row if value is not None}
    return [(kind, words) for _, kind, words in CLASSES if kind in there]


_WORDS = {
    "nodes": "nodes",
    "pairs": "pairs of nodes",
    "leaf_pairs": "pairs of leaf switches",
    "up_links": "up-links",
    "rails": "rails of nodes",
}


def _coverage_rows(sample: PairsSample | None) -> list[tuple[str, str, str, str]]:
    """Return what a sample exercised: the kind, how many of how many, the share in per cent, and how that is known."""
    if sample is None:
        return []
    found = []
    for one in sample.covered:
        known = one.all is not None
        many = f"{one.used:,.0f} of {one.all:,}" if known else "not known"
        share = percent(100 * one.used / one.all) if one.all else "–"
        found.append((_WORDS.get(one.of, one.of.replace("_", " ")), many, share, one.basis))
    return found


def _percent(share: float | None) -> str:
    return percent(None if share is None else 100 * share)


def _probability(value: float | None) -> str:
    return "not looked at" if value is None else f"{100 * value:.0f} %"


def _draw_map(seen: _DrawnMap, groups: Sequence[Line]) -> Markup:
    count = len(groups)
    step = _MAP_SIDE / count
    parts = [f'<path class="{kind}" d="{shape}"/>' for kind, shape in _shapes(seen, step)]
    parts += _slowest_nodes(seen, step)
    parts += _rows(groups, step)
    parts += _bad_fields(seen, groups, step)
    parts += _leaf_names(groups, step)
    wide, high = round_px(_MAP_SIDE + _MAP_MARGIN + 4), round_px(_MAP_SIDE + _TOP + 4)
    what = "leaf switches" if seen.of.are_leaves else "blocks of neighbours"
    # With the keyboard, the lists beside it lead to the same places: two thousand stops in a drawing would block the
    # way.
    title = one_line(f"{count_of(len(seen.pairs.nodes), 'node')} in {count} {what}; a field is the worst pair of two")
    head = f'<svg class="heat leaves" viewBox="0 0 {wide} {high}" role="group"><title>{escape(title)}</title>'
    return Markup(f"{head}{''.join(parts)}</svg>")


def _shapes(seen: _DrawnMap, step: float) -> list[tuple[str, str]]:
    """Return one path per class; in a map of many groups, consecutive fields of one class in a row are one shape."""
    together = len(seen.of.groups) > _WITH_GAPS
    edge = step if together else max(step - 1, step * 0.85)
    shapes: dict[str, list[str]] = {}
    for row, line in enumerate(seen.of.worst):
        start = 0
        while start < len(line):
            value, end = line[start], start + 1
            if value is not None:
                kind = class_of(value / seen.base)
                while together and end < len(line) and (more := line[end]) is not None:
                    if class_of(more / seen.base) != kind:
                        break
                    end += 1
                wide = round_px((end - start - 1) * step + edge)
                at = f"M{round_px(_MAP_MARGIN + start * step)},{round_px(_TOP + row * step)}"
                shapes.setdefault(kind, []).append(f"{at}h{wide}v{round_px(edge)}h-{wide}z")
            start = end
    return [(kind, "".join(each)) for kind, each in sorted(shapes.items())]


def _slowest_nodes(seen: _DrawnMap, step: float) -> list[str]:
    """Return a strip beside the map with the class of each group's slowest node, by that node's median.

    Most fields of a sample are empty, and one slow node makes only few of them slow. In this strip it is visible.
    """
    least: dict[int, float] = {}
    for group, value in zip(seen.of.group_of, seen.of.node_median, strict=True):
        if value is not None:
            least[group] = min(value, least.get(group, value))
    x, wide = round_px(_MAP_MARGIN - 16), round_px(10)
    high = round_px(max(step, 1.5))
    return [
        f'<rect class="{class_of(value / seen.base)}" x="{x}" y="{round_px(_TOP + group * step)}" '
        f'width="{wide}" height="{high}"/>'
        for group, value in least.items()
    ]


def _rows(groups: Sequence[Line], step: float) -> list[str]:
    """Return a link over each row, to the nodes of the group that sends."""
    return [
        f'<a href="#{line.address}" tabindex="-1">'
        f'<rect class="row" x="{round_px(_MAP_MARGIN - 16)}" y="{round_px(_TOP + place * step)}" '
        f'width="{round_px(_MAP_SIDE + 16)}" height="{round_px(step)}">'
        f"<title>{escape(_row_text(line))}</title></rect></a>"
        for place, line in enumerate(groups)
    ]


def _bad_fields(seen: _DrawnMap, groups: Sequence[Line], step: float) -> list[str]:
    """Return a link over each low field (of many, the worst ones), to the nodes of the slower group."""
    low = sorted(
        (value, row, column)
        for row, line in enumerate(seen.of.worst)
        for column, value in enumerate(line)
        if value is not None and value < _BAD * seen.base
    )
    found = []
    for value, row, column in low[:_MOST_LINKS]:
        slower = min(groups[row], groups[column], key=lambda line: line.share or 1.0)
        words = one_line(
            f"{groups[row].name} to {groups[column].name}: worst {number(value)} {seen.pairs.unit}, "
            f"{100 * value / seen.base:.1f} %; nodes of {slower.name}"
        )
        at = f'x="{round_px(_MAP_MARGIN + column * step)}" y="{round_px(_TOP + row * step)}"'
        size = f'width="{round_px(step)}" height="{round_px(step)}"'
        found.append(
            f'<a href="#{slower.address}" tabindex="-1"><rect class="field" {at} {size}>'
            f"<title>{escape(words)}</title></rect></a>"
        )
    return found


def _leaf_names(groups: Sequence[Line], step: float) -> list[str]:
    """Return the names beside the map: of a few groups all; of many groups every n-th one, and the worst ones."""
    each = -(-len(groups) // _NAMES)
    shown = set(range(0, len(groups), each)) if each > 1 else set(range(len(groups)))
    if each > 1:
        bad = [line for line in _worst_leaves(groups) if line.share is not None and line.share < _BAD][:6]
        places = {line.address: place for place, line in enumerate(groups)}
        worst = {places[line.address] for line in bad}
        # A name too near to that of a worse group would be unreadable.
        shown = {place for place in shown if all(abs(place - other) * step > 14 for other in worst)} | worst
    parts = []
    for place in sorted(shown):
        middle = round_px(_TOP + (place + 0.5) * step + 4)
        text = escape(_short(one_line(groups[place].name)))
        name = f'<text x="{round_px(_MAP_MARGIN - 20)}" y="{middle}" text-anchor="end">{text}</text>'
        parts.append(f'<a href="#{groups[place].address}" tabindex="-1">{name}</a>')
    return parts


def _short(name: str) -> str:
    first = name.partition(" to ")[0]
    return first if len(first) <= 11 else first[:10] + "…"


def _row_text(line: Line) -> str:
    if line.share is None:
        return one_line(f"{line.name}: not measured")
    return one_line(f"{line.name}, {count_of(line.count, 'node')}: median {100 * line.share:.1f} %")
