"""Curves as pictures for papers: one PNG or PDF per test, drawn by matplotlib, which only this needs."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from railyard.base.clean_text import one_line
from railyard.base.errors import SetupError
from railyard.base.wording import message_size
from railyard.results.record.form import BandRecord, CurveRecord, Record

_NOT_IN_A_FILE_NAME = re.compile(r"[^A-Za-z0-9.+=-]+")
KINDS = ("pdf", "png")
_DOTS_PER_INCH = 200
#: One column of a two-column page, in inches, and the proportion of a plot in it.
_SIZE = (3.5, 2.5)


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
        raise SetupError(
            f"{folder}: the plots could not be written ({error.strerror}); choose another folder"
        ) from error
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
