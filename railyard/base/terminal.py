"""How wide and in which colours commands may print, and how they show progress: the same for all commands.

Tables as text within a width: first columns move together, then columns of words fold. Nothing is ever cut.
"""

import os
import re
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TypeVar

from railyard.base.patterns import late_regex

_Item = TypeVar("_Item")

_DEFAULT_WIDTH = 100
_LEAST_WIDTH = 40
_STATE = "NOT JUDGED"  # the one state of two words, which is looked for as a whole
#: Fewer items than this are done before anybody could read a progress bar.
_FEWEST_TRACKED = 20


def width() -> int:
    """Return the width of the terminal; COLUMNS overrides it, and without a terminal it is 100."""
    import shutil  # with its compression modules a tenth of what `import click` costs

    return max(_LEAST_WIDTH, shutil.get_terminal_size((_DEFAULT_WIDTH, 24)).columns)


def line_width() -> int | None:
    """Return the width to which sentences on standard output are folded.

    Return None if it is not a terminal and COLUMNS is not set: a file or a program gets each sentence on one line.
    """
    return width() if sys.stdout.isatty() or os.environ.get("COLUMNS") else None


def error_width() -> int | None:
    """Return the width to which sentences on standard error are folded; None if it is not a terminal."""
    return width() if sys.stderr.isatty() else None


def fold_words(words: str, wide: int | None, hanging: str = "", indent: str = "") -> str:
    """Return words in lines of at most ``wide`` characters, broken only at blanks. A longer word stays whole.

    The first line begins with ``indent``, the next ones with ``hanging``. None folds nothing. Lines that ``words``
    already has stay lines.
    """
    if wide is None:
        return f"{indent}{words}"
    import textwrap

    lines = words.split("\n")
    filled = (
        textwrap.fill(
            line.replace(_STATE, _STATE.replace(" ", "\xa0")),  # which no break is made at
            wide,
            initial_indent=indent if number == 0 else hanging,
            subsequent_indent=hanging,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for number, line in enumerate(lines)
    )
    return "\n".join(filled).replace(_STATE.replace(" ", "\xa0"), _STATE)


def wrap_lines(text: str, wide: int | None) -> str:
    """Return lines, folded as ``fold_words`` does, each with its own indent. None folds nothing."""
    if wide is None:
        return text
    indents = [(line, " " * (len(line) - len(line.lstrip(" ")))) for line in text.split("\n")]
    return "\n".join(
        line if len(line) <= wide else fold_words(line.strip(), wide, f"{indent}  ", indent) for line, indent in indents
    )


def colour() -> bool:
    """Return whether to use colours: on a terminal that has them, unless NO_COLOR is set (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def track(items: Sequence[_Item], words: str) -> Iterable[_Item]:
    """Return the items, with a progress bar on stderr while they are taken. There is no bar if that is no terminal."""
    if len(items) < _FEWEST_TRACKED or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        return items
    from rich.console import Console
    from rich.progress import track

    return track(items, words, console=Console(stderr=True), transient=True)


#: The text of a cell about which nothing is known.
NOTHING = "–"
_NARROWEST = 6
#: A cell folds after these; if that is not enough, also after an underscore or a hyphen.
_BREAKS = late_regex(r"[^/, –]*[/, –]+|[^/, –]+")
_MORE_BREAKS = late_regex(r"[^/, –_-]*[/, –_-]+|[^/, –_-]+")

_Rows = list[list[list[str]]]  # of cells, each of lines


def table(
    heads: Sequence[str | tuple[str, str]],
    rows: Sequence[Sequence[str]],
    width: int,
    *,
    right: Collection[int] = (),
    words: Collection[int] = (),
    optional: Collection[int] = (),
    styles: Sequence[str | None] | None = None,
) -> list[str]:
    """Return the lines of a head, a rule and rows, without trailing blanks.

    A head may have two forms, the second for a table that is too wide, and several lines. ``right``: columns that are
    flush right. ``words``: columns whose cells may fold, widest first. ``optional``: columns that are left out of a
    table that is too wide, if each of their cells is ``NOTHING``. ``styles`` has, for each row, the SGR code of its
    last cell.
    """
    for gap, short in ((2, False), (1, False), (2, True), (1, True)):
        shown = [head if isinstance(head, str) else head[short] for head in heads]
        lines = [[cell.split("\n") for cell in cells] for cells in (shown, *rows)]
        widths = _widths(lines)
        if sum(widths) + gap * (len(widths) - 1) <= width:
            break
    else:
        silent = [column for column in optional if all(row[column] == NOTHING for row in rows)]
        if silent:
            kept = [column for column in range(len(heads)) if column not in silent]
            return table(
                [heads[column] for column in kept],
                [[row[column] for column in kept] for row in rows],
                width,
                right=[place for place, column in enumerate(kept) if column in right],
                words=[place for place, column in enumerate(kept) if column in words],
                styles=styles,
            )
        lines = _fold_columns(lines, width - gap * (len(widths) - 1), words)
        widths = _widths(lines)
    row_styles = (None, *(styles or [None] * len(rows)))
    head, *body = (_row_lines(cells, widths, gap, right, style) for cells, style in zip(lines, row_styles, strict=True))
    rule = "─" * (sum(widths) + gap * (len(widths) - 1))
    return [*head, rule, *(line for row in body for line in row)]


def _widths(rows: _Rows) -> list[int]:
    return [max(len(text) for cells in rows for text in cells[column]) for column in range(len(rows[0]))]


def _fold_columns(rows: _Rows, room: int, words: Collection[int]) -> _Rows:
    """Return rows with columns of words folded until all columns together fit into ``room``, as far as possible."""
    whole = {column: ["".join(cells[column]) for cells in rows[1:]] for column in words}
    for breaks in (_BREAKS, _MORE_BREAKS):
        foldable = set(words)
        while foldable and sum(widths := _widths(rows)) > room:
            column = max(sorted(foldable), key=lambda each: widths[each])
            narrower = widths[column] - 1
            lines = [rows[0][column], *(_cell_lines(cell, narrower, breaks) for cell in whole[column])]
            if narrower < _NARROWEST or max(len(text) for cell in lines for text in cell) > narrower:
                foldable.remove(column)
                continue
            rows = [[*cells[:column], own, *cells[column + 1 :]] for cells, own in zip(rows, lines, strict=True)]
    return rows


def _cell_lines(cell: str, wide: int, breaks: re.Pattern[str]) -> list[str]:
    """Return a cell in lines of at most ``wide`` characters, if it can be broken so."""
    lines = [""]
    for piece in breaks.findall(cell):
        if lines[-1] and len(f"{lines[-1]}{piece}".rstrip()) > wide:
            lines.append("")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def _row_lines(
    cells: Sequence[Sequence[str]], widths: Sequence[int], gap: int, right: Collection[int], style: str | None
) -> list[str]:
    """Return one row on as many lines as its tallest cell has, with the last cell in its style."""
    lines = []
    for index in range(max(map(len, cells))):
        texts = [cell[index] if index < len(cell) else "" for cell in cells]
        aligned = [
            text.rjust(wide) if column in right else text.ljust(wide)
            for column, (text, wide) in enumerate(zip(texts, widths, strict=True))
        ]
        if style and texts[-1]:
            aligned[-1] = aligned[-1].replace(texts[-1], f"\x1b[{style}m{texts[-1]}\x1b[0m").rstrip()
        lines.append((" " * gap).join(aligned).rstrip())
    return lines


def blocks(widths: Sequence[int], room: int) -> list[list[int]]:
    """Return the places of the columns in blocks, each with as many as there is room for, but at least one."""
    blocks: list[list[int]] = []
    used = 0
    for place, size in enumerate(widths):
        if not blocks or used + size > room:
            blocks.append([])
            used = 0
        blocks[-1].append(place)
        used += size
    return blocks
