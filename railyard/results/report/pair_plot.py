"""All pairs of nodes as a picture: one coloured table for each kind of test, drawn by matplotlib."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from railyard.base.clean_text import one_line
from railyard.base.errors import InputError, SetupError
from railyard.results.report.plots import pyplot_for

#: The kinds of pictures, by the ending of the name.
KINDS = (".png", ".svg", ".pdf")
_COLUMNS = 3
_PANEL, _DOTS_PER_INCH = 3.6, 110
#: Up to this number of nodes, the names fit beside a table.
_NAMED = 40


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
    if file.suffix not in KINDS:
        raise InputError(str(file), f"the ending {file.suffix or 'none'!r}", f"one of {', '.join(KINDS)}")
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
        figure.savefig(file, dpi=_DOTS_PER_INCH, metadata={"Date": None} if file.suffix == ".svg" else {})
    except OSError as error:
        raise SetupError(f"{file}: the picture could not be written ({error.strerror}); choose another file") from error
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
