"""Records as one self-contained HTML page: the verdict on the first screen, causes, matrix, then each test.

Of what each node's devices moved, the page shows every node if they are few, else the sums and the odd ones.
"""

import base64
import hashlib
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import median
from typing import Any

from markupsafe import Markup

from railyard.base.bounds import without_names
from railyard.base.hostlist import fold_names
from railyard.base.paths import packaged_text
from railyard.base.values import clean, one_line
from railyard.base.wording import count_of, message_size
from railyard.benchmarks.model import Figure
from railyard.results.record.form import BandRecord, CurveRecord, NodeTraffic, PathProofRecord, Record
from railyard.results.record.headline import broken_expectation, describe_finding, headline
from railyard.results.reference_sheet import COST_HEADS, RELATION_WORDS, cost_cells
from railyard.results.remarks import CONDITIONS_HEADING, condition_sentences
from railyard.results.report.heatmap import Heatmap, heatmap, is_drawn_by_leaf, leaf_map
from railyard.results.report.overview import (
    Basis,
    bases,
    cell_words,
    count_untested,
    fabric_numbers,
    facts,
    holes,
    hosts,
    matrices,
    node_names,
    not_run,
)
from railyard.results.report.spread import History, OverTime, are_repeats, drawings, histories
from railyard.results.report.summary import (
    Row,
    by_reason,
    causes,
    counts,
    evidence_rows,
    judge_overall,
    merge_alike,
    most_uneven,
    names_policies,
    not_measured,
    rehearsals,
    row,
    suspect_part,
    suspect_words,
    unevenness,
)
from railyard.results.report.svg import (
    EarlierMedian,
    Grids,
    bars,
    computed_words,
    scalings,
    signatures,
    svg,
    sweep_charts,
)
from railyard.results.report.text import (
    COMPUTED_MARK,
    STATE_WORDS,
    bytes_moved,
    figure_number,
    number,
    percent,
    rule_words,
)
from railyard.results.run_folder import CostRecord, RelationRecord
from railyard.site.matrix import Cell
from railyard.site.test_id import named_policy

#: Up to this number, all nodes are shown; of more, the most uneven ones.
MOST_NODES, MOST_ODD = 64, 20


@dataclass(frozen=True, slots=True)
class DeviceSum:
    """One device over all nodes that have it: bytes, and the least, median and largest share of its node's bytes."""

    device: str
    meant: bool
    nodes: int
    tx_bytes: int
    rx_bytes: int
    shares: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True)
class NodeTable:
    """The nodes that are shown; if there are many, also the sum of each device, and which nodes are shown, in words."""

    nodes: tuple[NodeTraffic, ...]
    sums: tuple[DeviceSum, ...] = ()
    caption: str = ""


#: Key figures whose name on the page is not their own without underscores.
_FIGURES = {"n_half": "N½"}
_RATIO = "1"  # the unit of a figure that is a share
#: On a page with more tests than this, passed tests show only curves, figures and references: 1,000 tests are below 5
#: MB.
_MOST_IN_FULL = 150
#: At most this many earlier failures are listed.
_MOST_EARLIER = 50
#: A section's heading, as the templates write it.
_HEADING = re.compile(r'<h2 id="([^"]+)">(.*?)</h2>')
_NO_EARLIER: Mapping[tuple[str, str, str], EarlierMedian] = {}


@dataclass(frozen=True, slots=True)
class _Curve:
    """A curve as the page shows it: its drawing, what its references require, and the median of earlier runs."""

    record: CurveRecord
    drawing: Markup
    bands: tuple[str, ...]
    earlier: EarlierMedian | None


@dataclass(frozen=True, slots=True)
class _Test:
    """A record with what the page shows besides its own fields; ``full``: with rules, path and command.

    A curve of one value has no drawing: its figure says everything.
    """

    anchor: str
    record: Record
    cells: Row
    curves: tuple[_Curve, ...]
    figures: tuple[tuple[str, str], ...]
    environment: Mapping[str, object]
    command: str
    split: tuple[Markup, str] | None
    full: bool
    runs: int = 1
    over_time: tuple[Markup, ...] = field(default=())
    moved: NodeTable = field(default=NodeTable(()))

    @property
    def open(self) -> bool:
        """Whether everything about it is shown without a click: it is red."""
        return self.record.fails

    @property
    def has_drawing(self) -> bool:
        """Whether it has a drawing: a curve, or a figure over many runs."""
        return bool(self.over_time) or any(curve.drawing for curve in self.curves)


def html_report(
    records: Sequence[Record],
    problems: Sequence[str] = (),
    cells: Sequence[Cell] = (),
    relations: Sequence[RelationRecord] = (),
    costs: Sequence[CostRecord] = (),
    earlier: Mapping[tuple[str, str, str], EarlierMedian] = _NO_EARLIER,
    over_time: Sequence[OverTime] = (),
) -> str:
    """Return the page.

    ``cells`` are those of the run's matrix, ``problems`` what went wrong outside the tests, ``earlier`` the medians of
    earlier runs by system, case and metric, ``over_time`` the figures that changed. If several runs repeat tests, each
    test is shown once: its newest record, and the spread of all. The page fetches nothing: styles and drawings are in
    it. Every text is escaped, without control codes.
    """
    kept = histories(records) if are_repeats(records) else ()
    shown = [history.newest for history in kept] if kept else list(records)
    ran = [record for record in shown if record.found.state != "not-tested"]
    common = _common([record.how.environment for record in ran])
    grids = Grids()
    full = len(shown) <= _MOST_IN_FULL
    policies = names_policies(shown)
    tests = [
        _test(record, index, row(record, policies), common, earlier, grids, full and not kept)
        for index, record in enumerate(shown)
    ]
    if kept:
        tests = [_over_time(test, history, grids) for test, history in zip(tests, kept, strict=True)]
    tables = matrices(shown, cells)
    unrun = [cell for _, table in tables for cell in table.unrun]
    replayed = sum(record.made.replayed is not None for record in ran)
    style = "".join(packaged_text(f"results/report/{name}.css") for name in ("report", "leaf_map"))
    blamed = causes(shown)
    page: str = _template().render(
        style=Markup(style),
        policy=content_policy(style),
        systems=list(dict.fromkeys(record.where.system for record in records)),
        runs=list(dict.fromkeys(record.made.run for record in records)),
        facts=facts(records),
        rehearsals=rehearsals(shown),
        replays=_replays(ran),
        all_replayed=replayed == len(ran) > 0,
        overall=judge_overall(shown, problems, len(unrun), relations),
        fabrics=fabric_numbers(shown),
        causes=blamed,
        first_causes=merge_alike(blamed),
        cause_of={f"test-{index + 1}": cause for cause in blamed for index in cause.indices},
        records=len(records),
        earlier_failures=_earlier_failures(kept),
        over_time=over_time,
        relations=[(relation, RELATION_WORDS[relation.state]) for relation in relations],
        cost_heads=COST_HEADS,
        costs=[cost_cells(cost) for cost in costs],
        price_dates=", ".join(sorted({cost.date for cost in costs})),
        counts=[(STATE_WORDS[state], state, count) for state, count in counts(shown).items()],
        tests=tests,
        ran=[test for test in tests if test.record.found.state != "not-tested"],
        untested=count_untested(shown, cells),
        rest=_rest(shown),
        matrices=tables,
        unrun=unrun,
        not_run=not_run(shown),
        holes=holes(cells),
        problems=problems,
        common=common,
        bases=bases(shown),
        conditions_heading=CONDITIONS_HEADING,
        other_conditions=condition_sentences(shown),
        hosts=hosts(shown),
        heatmaps=_heatmaps(tests),
        charts=[
            ("signature", "Network signature (NetPIPE)", signatures(shown)),
            ("scaling", "Scaling over nodes", (*sweep_charts(records), *scalings(shown))),
        ],
        grids=grids.markup,
        full=full,
    )
    return page


@cache
def content_policy(style: str) -> str:
    """Return the page's Content-Security-Policy (W3C, CSP Level 3): its own style sheet, by hash, and nothing else.

    A text of a foreign record that got past the escaping would then still run nothing, load nothing and send nothing.
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def _template() -> Any:
    """Return the page's template; its parts are in ``page/``. To compile them takes more time than to fill them."""
    # jinja2 is imported here: loading it takes 0.05 s, and only this report needs it.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
        loader=FunctionLoader(lambda name: packaged_text(f"results/report/page/{name}")),
    )
    environment.filters |= {"number": number, "percent": percent, "size": message_size, "moved": bytes_moved}
    environment.filters |= {"rule_words": rule_words, "suspect": suspect_words, "cell_words": cell_words}
    environment.filters |= {"named_policy": named_policy, "computed_words": computed_words}
    environment.filters |= {"headings": _headings, "node_names": node_names, "by_source": _by_source}
    environment.filters |= {"ranges": fold_names, "headline": headline, "finding": describe_finding}
    environment.filters |= {"expectation": broken_expectation}
    environment.filters |= {"without_names": without_names, "evidence_rows": evidence_rows, "part": suspect_part}
    environment.tests |= {"single": lambda found: len(found) == 1}
    return environment.from_string(packaged_text("results/report/report.html.j2"))


def _finalize(value: object) -> object:
    """Return what the template prints for a value: our own markup unchanged, else cleaned text (escaped later)."""
    if isinstance(value, Markup):
        return value
    return clean(str(value)) if isinstance(value, str) else value


def _headings(body: Markup) -> list[tuple[str, Markup]]:
    """Return the sections of the page's markup, for its contents list: their ids, and their headings up to a colon."""
    return [(found[1], Markup(found[2].partition(":")[0])) for found in _HEADING.finditer(body)]


def _by_source(found: Iterable[Basis]) -> list[tuple[str, list[Basis]]]:
    """Return references and limits by their source, in order of first appearance: many share a source."""
    groups: dict[str, list[Basis]] = {}
    for basis in found:
        groups.setdefault(basis.source, []).append(basis)
    return list(groups.items())


def _replays(ran: Sequence[Record]) -> str:
    """Return a sentence on what was played instead of measurements; empty if nothing was."""
    told = not_measured([record.with_fields(rehearsal=None) for record in ran])
    return "; ".join(told) + "." if told else ""


def _test(
    record: Record,
    index: int,
    cells: Row,
    common: Mapping[str, object],
    earlier: Mapping[tuple[str, str, str], EarlierMedian],
    grids: Grids,
    full: bool,
) -> _Test:
    curves = []
    for curve in record.found.curves:
        before = earlier.get((record.where.system, record.test.case, curve.metric))
        before = before if before and len(before.values) == len(curve.sizes) else None
        several = len(curve.sizes) > 1
        drawing = svg(curve, record.test.benchmark, _peak_size(curve, record), before, grids) if several else Markup("")
        curves.append(_Curve(curve, drawing, tuple(_band_words(band, curve) for band in curve.bands), before))
    return _Test(
        anchor=f"test-{index + 1}",
        record=record,
        cells=cells,
        curves=tuple(curves),
        figures=tuple(
            (_FIGURES.get(figure.name, figure.name.replace("_", " ")), _figure_words(figure))
            for figure in record.found.figures
        ),
        environment={key: value for key, value in record.how.environment.items() if key not in common},
        command=shlex.join(map(one_line, record.how.command)),
        split=_split(record),
        full=full or record.found.state not in ("pass", "report-only"),
        moved=node_table(record.how.path_proof),
    )


def _over_time(test: _Test, history: History, grids: Grids) -> _Test:
    return replace(test, runs=len(history.records), over_time=drawings(history, grids))


def _earlier_failures(kept: Sequence[History]) -> tuple[list[tuple[str, int, int, Record]], int]:
    """Return tests that failed before their newest record (anchor, how often, of how many, the last); how many more."""
    found = [
        (f"test-{index + 1}", len(history.failed_records), len(history.records) - 1, history.failed_records[-1])
        for index, history in enumerate(kept)
        if history.failed_records
    ]
    return found[:_MOST_EARLIER], max(0, len(found) - _MOST_EARLIER)


def _heatmaps(tests: Sequence[_Test]) -> list[tuple[_Test, Heatmap | None, Markup | None]]:
    """Return the tests of pairs of nodes: each with its map of nodes, or, for many nodes, its map of leaves."""
    found: list[tuple[_Test, Heatmap | None, Markup | None]] = []
    for test in tests:
        pairs = test.record.found.pairs
        if pairs is None:
            continue
        by_leaf = is_drawn_by_leaf(pairs)
        leaves = leaf_map(test.record, f"{test.anchor}-leaf") if by_leaf else None
        nodes = None if by_leaf else heatmap(pairs)
        found += [(test, nodes, leaves)] if nodes or leaves else []
    return found


def _split(record: Record) -> tuple[Markup, str] | None:
    """Return how the most uneven node's bytes went over its rails, as a bar and in words; None for a single rail."""
    node = most_uneven(record)
    rails = (
        [rail for rail in node.rails if rail.share is not None and (rail.meant or rail.share >= 0.01)] if node else []
    )
    if node is None or len(rails) < 2:
        return None
    words = ", ".join(f"{rail.device} {100 * (rail.share or 0.0):.1f} %" for rail in rails)
    told = one_line(f"Split over the rails of {node.node}: {words}")
    return bars([(rail.device, rail.share or 0.0) for rail in rails], told), told


def _peak_size(curve: CurveRecord, record: Record) -> int | None:
    """Return the size of the key figure for a bandwidth; in a ping-pong it is not that of the largest value."""
    sizes = [figure.size for figure in record.found.figures if figure.name == "peak" and figure.unit == curve.unit]
    return sizes[0] if sizes else None


def _figure_words(figure: Figure) -> str:
    """Return a key figure with its unit and its size: ``47.8 MB/s at 4 MiB``; a ratio in per cent."""
    words = f"{figure_number(figure)} {figure.unit}"
    if figure.unit == _RATIO:
        words = f"{figure.value * 100:.1f}{COMPUTED_MARK if figure.computed else ''} %"
    return f"{words}{figure.size_words}"


def _band_words(band: BandRecord, curve: CurveRecord) -> str:
    """Return what a reference requires: ``at least 47 MB/s from 1 MiB to 4 MiB``, or a range of values if it varies."""
    parts = []
    for words, column in (("at least", band.low), ("at most", band.high)):
        bound = [(at, value) for at, value in zip(band.sizes, column, strict=True) if value is not None]
        if bound:
            values = sorted({value for _, value in bound})
            told = number(values[0]) if len(values) == 1 else f"{number(values[0])} to {number(values[-1])}"
            first, last = message_size(bound[0][0]), message_size(bound[-1][0])
            where = f" from {first} to {last}" if len(bound) > 1 else f" at {first}"
            where = where if curve.sizes != (0,) else ""  # a figure without a message size
            parts.append(f"{words} {told} {curve.unit}{where}")
    return ", ".join(parts) or "bounds nothing"


def _common(environments: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """Return what is the same in all environments, so that the page says it once."""
    if not environments:
        return {}
    return {
        key: value
        for key, value in environments[0].items()
        if all(key in other and other[key] == value for other in environments)
    }


def _rest(records: Sequence[Record]) -> list[tuple[str, list[tuple[str, list[tuple[int, Record]]]]]]:
    """Return each state of tests that ran and neither passed nor failed, with its tests by their reason."""
    places = {id(record): index for index, record in enumerate(records, start=1)}
    found = []
    for state in ("report-only", "xfail"):
        groups = by_reason(record for record in records if record.found.state == state)
        if groups:
            some = [(reason, [(places[id(one)], one) for one in group]) for reason, group in groups.items()]
            found.append((state, some))
    return found


def node_table(proof: PathProofRecord | None) -> NodeTable:
    """Return the table of a path proof; an empty one if it names no node."""
    nodes = () if proof is None else tuple(proof.each_node())
    if len(nodes) <= MOST_NODES:
        return NodeTable(nodes)
    odd = tuple(sorted(nodes, key=unevenness, reverse=True)[:MOST_ODD])
    caption = f"The {MOST_ODD} most uneven of {count_of(len(nodes), 'node')}; the record has all"
    return NodeTable(odd, _sums(nodes), caption)


def _sums(nodes: Sequence[NodeTraffic]) -> tuple[DeviceSum, ...]:
    names = dict.fromkeys((rail.device, rail.meant) for node in nodes for rail in node.rails)
    rails: dict[tuple[str, bool], list[tuple[int, int, float | None]]] = {name: [] for name in names}
    for node in nodes:
        for rail in node.rails:
            rails[rail.device, rail.meant].append((rail.tx_bytes or 0, rail.rx_bytes or 0, rail.share))
    found = []
    for (device, meant), rows in rails.items():
        shares = [share for _, _, share in rows if share is not None]
        range_ = (min(shares), median(shares), max(shares)) if shares else None
        sent, received = sum(row[0] for row in rows), sum(row[1] for row in rows)
        found.append(DeviceSum(device, meant, len(rows), sent, received, range_))
    return tuple(found)
