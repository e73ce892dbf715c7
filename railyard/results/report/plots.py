"""Curves, and all pairs of nodes, as pictures that matplotlib draws, which only this needs.

Curves are one PNG or PDF per test, for papers. Pairs of nodes are one coloured table for each kind of test.
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.base.errors import InputError, SetupError, unwritable
from railyard.base.values import one_line
from railyard.base.wording import message_size
from railyard.results.record.form import BandRecord, CurveRecord, Record

_NOT_IN_A_FILE_NAME = re.compile(r"[^A-Za-z0-9.+=-]+")
KINDS = ("pdf", "png")
_DOTS_PER_INCH = 200
#: One column of a two-column page, in inches, and the proportion of a plot in it.
_SIZE = (3.5, 2.5)
_COLUMNS = 3
#: Up to this number of nodes, the names fit beside a table.
_NAMED = 40


def write_plots(records: Sequence[Record], folder: Path, kind: str) -> tuple[Path, ...]:
    """Write one picture for each test that has a curve, and return their paths.

    Raises SetupError if matplotlib is missing, or if the folder cannot be written.
    """
    pyplot = pyplot_for("--plots", "make the page (-o report.html), which does not need it")
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        several = len({record.made.run for record in records}) > 1
        for record in records:
            if record.found.curves and record.found.curves[0].sizes:
                name = f"{record.made.run} {record.test.case}" if several else record.test.case
                path = folder / f"{_NOT_IN_A_FILE_NAME.sub('_', name).strip('_')}.{kind}"
                _plot(pyplot, record, path)
                written.append(path)
    except OSError as error:
        raise unwritable(folder, "the plots", error, ", or choose another folder") from error
    return tuple(written)


def pyplot_for(option: str, instead: str) -> Any:
    """Return matplotlib's pyplot for an option that draws; raises SetupError if it is missing, with what to do."""
    try:
        import matplotlib
    except ModuleNotFoundError as error:
        raise SetupError(
            f"{option}: found no matplotlib, expected it to be installed; install railyard-hpc[plots], or {instead}"
        ) from error
    matplotlib.use("Agg")  # needs no display
    from matplotlib import pyplot

    return pyplot


def _plot(pyplot: Any, record: Record, path: Path) -> None:
    curve = record.found.curves[0]
    figure, axes = pyplot.subplots(figsize=_SIZE, layout="constrained")
    try:
        for band in curve.bands:
            _band(axes, curve, band)
        if curve.limit:
            axes.axhline(curve.limit.value, linestyle="--", linewidth=0.8, color="0.4", label="limit")
        _line(axes, record, curve)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log" if min(curve.values) > 0 else "linear")
        ticks = curve.sizes[:: max(1, len(curve.sizes) // 5)]
        axes.set_xticks(ticks, [message_size(at) for at in ticks], fontsize=6)
        axes.tick_params(axis="y", labelsize=6)
        axes.set_xlabel("message size", fontsize=7)
        axes.set_ylabel(_plain(f"{curve.metric}, {curve.unit}"), fontsize=7)
        rails = "1 rail" if record.test.rails == 1 else f"{record.test.rails} rails"
        axes.set_title(
            _plain(f"{record.test.benchmark}, {record.where.fabric}, {rails}, {record.test.stack}"), fontsize=7
        )
        axes.legend(fontsize=6)
        figure.savefig(path, dpi=_DOTS_PER_INCH, metadata={})
    finally:
        pyplot.close(figure)


def _line(axes: Any, record: Record, curve: CurveRecord) -> None:
    """Draw the curve: a measured one as one line; of a computed replay, only the published points, as dots."""
    words = "measured" if record.no_measurement is None else "not measured"
    if not curve.computed:
        axes.plot(curve.sizes, curve.values, marker="o", markersize=2.5, linewidth=1, label=words)
        return
    axes.plot(curve.sizes, curve.values, linestyle=":", linewidth=1, label="computed, not published")
    there = [(at, value) for at, value in zip(curve.sizes, curve.values, strict=True) if at not in curve.computed]
    if there:
        axes.plot(*zip(*there, strict=True), marker="o", markersize=3, linestyle="none", label="published")


def _band(axes: Any, curve: CurveRecord, band: BandRecord) -> None:
    """Draw what a reference allows; if it has no upper bound, up to the limit or the largest value."""
    top = curve.limit.value if curve.limit else max(curve.values)
    known = [
        (at, low or 0.0, top if high is None else high)
        for at, low, high in zip(band.sizes, band.low, band.high, strict=True)
        if low is not None or high is not None
    ]
    if known:
        sizes, low, high = zip(*known, strict=True)
        axes.fill_between(sizes, low, high, alpha=0.2, linewidth=0, label=_plain(band.id))


def _plain(text: str) -> str:
    """Return a text without the characters that matplotlib reads as mathematics."""
    return one_line(text).replace("$", r"\$")


#: The kinds of pictures, by the ending of the name.
PICTURE_ENDINGS = (".png", ".svg", ".pdf")
_PANEL, _PAIR_DOTS_PER_INCH = 3.6, 110


@dataclass(frozen=True, slots=True)
class Panel:
    """One kind of test: each pair's share of healthy, the pairs without a result, and the lines below the table."""

    title: str
    shares: Mapping[tuple[str, str], float]
    no_result: Set[tuple[str, str]]
    below: Sequence[str]


def write_pair_plot(panels: Sequence[Panel], nodes: Sequence[str], marked: Set[str], title: str, file: Path) -> None:
    """Write the tables of all panels into one picture, the nodes in the order given, ``marked`` ones in red.

    Raises InputError for a name with another ending, SetupError if matplotlib is missing or the file cannot be written.
    """
    if file.suffix not in PICTURE_ENDINGS:
        raise InputError(str(file), f"the ending {file.suffix or 'none'!r}", f"one of {', '.join(PICTURE_ENDINGS)}")
    pyplot = pyplot_for("--plot", "leave the option out")
    columns = min(_COLUMNS, max(1, len(panels)))
    rows = max(1, -(-len(panels) // columns))
    size = (_PANEL * columns, _PANEL * 1.05 * rows + 0.4)
    figure, axes = pyplot.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    try:
        drawn = None
        for at, axis in enumerate(axes.flat):
            if at < len(panels):
                drawn = _panel(axis, panels[at], nodes, marked)
            else:
                axis.axis("off")
        if drawn is not None:
            bar = figure.colorbar(drawn, ax=axes, shrink=0.5, location="right")
            bar.set_label("share of what healthy pairs give; cross: no result; grey: not measured", fontsize=8)
        figure.suptitle(title, fontsize=10)
        # without a date, and with fixed names, equal logs give equal files
        pyplot.rcParams["svg.hashsalt"] = "railyard"
        figure.savefig(file, dpi=_PAIR_DOTS_PER_INCH, metadata={"Date": None} if file.suffix == ".svg" else {})
    except OSError as error:
        raise unwritable(file, "the picture", error, ", or choose another file") from error
    finally:
        pyplot.close(figure)


def _panel(axis: Any, panel: Panel, nodes: Sequence[str], marked: Set[str]) -> Any:
    places = {node: place for place, node in enumerate(nodes)}
    table = [[float("nan")] * len(nodes) for _ in nodes]
    for (a, b), share in panel.shares.items():
        table[places[a]][places[b]] = table[places[b]][places[a]] = min(1.0, share)
    axis.set_facecolor("0.85")
    drawn = axis.imshow(table, vmin=0.0, vmax=1.0, cmap="viridis", interpolation="nearest")
    gone = [(places[a], places[b]) for a, b in panel.no_result]
    across = [at for pair in gone for at in pair]
    down = [at for pair in gone for at in pair[::-1]]
    axis.plot(across, down, linestyle="none", marker="x", color="crimson", markersize=max(2.0, 90 / len(nodes)))
    axis.set_title(one_line(panel.title), fontsize=8)
    axis.set_xlabel("\n".join(map(one_line, panel.below)), fontsize=7)
    if len(nodes) <= _NAMED:
        names = [one_line(node) for node in nodes]
        axis.set_yticks(range(len(nodes)), names, fontsize=6)
        axis.set_xticks(range(len(nodes)), names, fontsize=6, rotation=90)
        for node, *labels in zip(nodes, axis.get_xticklabels(), axis.get_yticklabels(), strict=True):
            for label in labels:
                label.set_color("crimson" if node in marked else "black")
    return drawn
