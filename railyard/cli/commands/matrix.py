"""`railyard matrix`: shows all combinations of fabric, stack, rails and check, and why some do not run.

The lines fit the terminal: a table of what runs, and why the rest does not run.
"""

import json
import re
import textwrap
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from railyard.base.errors import SetupError
from railyard.base.paths import find_home
from railyard.base.terminal import blocks, width
from railyard.base.wording import count_of
from railyard.cli.options import checks_option
from railyard.site.matrix import Cell, matrix, refused_policies

_LEGEND = "numbers: the rails that a check runs with; (in brackets): with --extended only"
_Item = TypeVar("_Item")
_Key = TypeVar("_Key")
_GAP = "  "
_NOWHERE = "-"
#: This reason names a tool and a stack. The cell names them too, so all such reasons count as one.
_UNSTATED = re.compile(r"(\S+) states no \S+ for (\S+)")


@click.command(name="matrix")
@click.option("--system", "name", default="virtual", show_default=True, help="The system: NAME of systems/NAME.yaml.")
@checks_option("Instead of the site's checks: those of this file or folder; may be given again.")
@click.option("--why", is_flag=True, help="Also print why the rest does not run; each reason once.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of cells as JSON.")
def command(name: str, places: tuple[Path, ...], why: bool, as_json: bool) -> int:
    """Show which check runs with which stack over how many rails.

    \b
    Examples:
      railyard matrix --system dell-c6320          a table for each fabric
      railyard matrix --system dell-c6320 --why    and why the rest does not run
      railyard matrix --system dell-c6320 -c own   only checks of your own

    The table fits the terminal (COLUMNS). --json prints every combination of fabric, stack, rails and check, with the
    reason if it does not run.
    """
    from railyard.base.paths import CHECKS, part
    from railyard.rfm.checks.catalogue import needs
    from railyard.site.references.load import references_of
    from railyard.site.systems.load import find_system

    home = find_home()
    asked = needs(*(places or (part(home, CHECKS),)), home=home)
    if not asked:
        instead = "put some there, or remove the folder: then Railyard's own checks are used"
        raise SetupError(
            f"{' '.join(map(str, places)) or home / CHECKS}: found no check, expected files with classes derived from "
            f"InterconnectCheck; {'put @rfm.simple_test above each class' if places else instead}"
        )
    system = find_system(home / "systems", name)
    cells = matrix(system, asked, references_of(home / "references", system).has_number)
    refused = refused_policies(system)
    if as_json:
        click.echo(json.dumps([_json(cell) for cell in (*cells, *refused)], indent=1))
    else:
        click.echo(text(cells, refused, width(), why))
    return 0


def _json(cell: Cell) -> dict[str, Any]:
    test = cell.test
    return {
        "fabric": test.fabric,
        "stack": test.stack,
        "rails": test.rails,
        "check": test.check,
        "benchmark": test.benchmark,
        "reason": cell.reason,
        "disabled": cell.disabled,
        "extended": cell.extended,
        "policy": test.policy,
        "named": cell.named,
    }


@dataclass(frozen=True, slots=True)
class _Column:
    """A stack with its own rail policy, or with a policy from a test's name (``policy``)."""

    stack: str
    policy: str


def text(cells: Sequence[Cell], refused: Sequence[Cell] = (), width: int = 80, why: bool = False) -> str:
    """Return the matrix in lines of at most ``width`` characters, with the reasons if ``why`` asks for them.

    ``refused`` has a cell without a check for each rail policy that a stack lacks.
    """
    running = sum(cell.reason is None for cell in cells)
    absent = len(cells) - running
    total = f"{count_of(len(cells), 'cell')}: {running} run, {absent} do not"
    if not why and (absent or refused):
        total += " (--why: the reasons)"
    end = textwrap.wrap(_LEGEND, width)
    if why:
        end += ["", "why not:", *_reasons(cells, refused, width), ""]
    return "\n".join([*_tables(cells, width), "", *end, *textwrap.wrap(total, width)])


def _tables(cells: Sequence[Cell], width: int) -> list[str]:
    """Return a table per fabric: a line for each check that runs there, a column for each stack that runs a check.

    Columns that do not fit into ``width`` characters follow below in another table.
    """
    lines: list[str] = []
    for fabric in dict.fromkeys(cell.test.fabric for cell in cells):
        lines += [*([""] if lines else []), *_fabric(fabric, [c for c in cells if c.test.fabric == fabric], width)]
    return lines


def _fabric(fabric: str, cells: Sequence[Cell], width: int) -> list[str]:
    running = [cell for cell in cells if cell.reason is None]
    if not running:
        return [fabric, "nothing runs"]
    columns = tuple(dict.fromkeys(_column(cell) for cell in running))
    rows = _rows(cells, columns)
    named = any(column.policy for column in columns)
    heads = [(column.stack, column.policy) if named else (column.stack,) for column in columns]
    widths = [
        max(map(len, (*head, *(marks[place] for _, marks in rows)))) + len(_GAP) for place, head in enumerate(heads)
    ]
    first = min(max(len(fabric), *(len(label) for label, _ in rows)), max(width - max(widths), len(_NOWHERE)))
    lines: list[str] = []
    for block in blocks(widths, width - first):
        lines += [] if not lines else [""]
        for depth in range(len(heads[0])):
            begin = fabric if depth == 0 else ""
            lines.append(_line(begin, first, [(heads[place][depth], widths[place]) for place in block]))
        # A check that runs in none of these columns has its line in another block.
        here = [(label, [(marks[place], widths[place]) for place in block]) for label, marks in rows]
        lines += [_line(label, first, fields) for label, fields in here if any(mark != _NOWHERE for mark, _ in fields)]
    return [*lines, *_footer_lines(cells, columns, width)]


def _column(cell: Cell) -> _Column:
    return _Column(cell.test.stack, cell.test.policy if cell.named else "")


def _rows(cells: Sequence[Cell], columns: Sequence[_Column]) -> list[tuple[str, tuple[str, ...]]]:
    """Return each line's label and marks. Variants of a check that run in the same places share a line."""
    marks: dict[str, tuple[str, ...]] = {}
    for check, members in _group_by(cells, lambda cell: cell.test.check).items():
        marks[check] = tuple(_mark([cell for cell in members if _column(cell) == column]) for column in columns)
    rows = []
    for name, variants in _group_by(marks, _class_of).items():
        for shared, same in _group_by(variants, lambda check: marks[check]).items():
            if set(shared) != {_NOWHERE}:
                more = f" +{len(same) - 1} more" if len(same) > 1 else ""
                rows.append((name if len(same) == len(variants) else f"{same[0]}{more}", shared))
    return rows


def _class_of(check: str) -> str:
    """Return a check's name without its parameters."""
    return check.partition(" %")[0]


def _mark(cells: Iterable[Cell]) -> str:
    """Return the rails of the cells that run: ``1 2``; rails of only extended tests are in brackets."""
    runs = {cell.test.rails: cell.extended for cell in cells if cell.reason is None}
    daily = [str(rails) for rails, extended in sorted(runs.items()) if not extended]
    extended = " ".join(str(rails) for rails, extended in sorted(runs.items()) if extended)
    return " ".join([*daily, *([f"({extended})"] if extended else [])]) or _NOWHERE


def _line(label: str, first: int, fields: Iterable[tuple[str, int]]) -> str:
    shown = label if len(label) <= first else f"{label[: first - 2]}.."
    return (shown.ljust(first) + "".join(f"{_GAP}{text}".ljust(size) for text, size in fields)).rstrip()


def _footer_lines(cells: Sequence[Cell], columns: Sequence[_Column], width: int) -> list[str]:
    """Return what a stack does with several rails, and which stacks and checks run nowhere on this fabric."""
    lines = []
    several = [c for c in cells if c.reason is None and not c.named and c.test.rails > 1 and c.test.policy]
    for policy, members in _group_by(several, lambda cell: cell.test.policy).items():
        stacks = dict.fromkeys(cell.test.stack for cell in members)
        lines.append(_shorten_names(f"{policy} over several rails:", list(stacks), width))
    there = {column.stack for column in columns}
    idle = [stack for stack in dict.fromkeys(cell.test.stack for cell in cells) if stack not in there]
    if idle:
        lines.append(_shorten_names("no check runs with:", idle, width))
    runs = {_class_of(cell.test.check) for cell in cells if cell.reason is None}
    absent = [name for name in dict.fromkeys(_class_of(cell.test.check) for cell in cells) if name not in runs]
    if absent:
        lines.append(_shorten_names(f"{count_of(len(absent), 'check')} with no stack:", absent, width))
    return lines


def _shorten_names(begin: str, names: Sequence[str], width: int) -> str:
    """Return as many names as fit into one line, and how many more there are."""
    for kept in range(len(names), 0, -1):
        more = f", +{len(names) - kept} more" if kept < len(names) else ""
        line = f"{begin} {', '.join(names[:kept])}{more}"
        if len(line) <= width:
            return line
    return f"{begin} {len(names)}"


def _reasons(cells: Sequence[Cell], refused: Sequence[Cell], width: int) -> list[str]:
    """Return each reason once, those of most cells first, and below it the places and checks that it is about.

    ``refused`` has a cell without a check for each rail policy that a stack lacks.
    """
    lines: list[str] = []
    absent = [cell for cell in (*cells, *refused) if cell.reason is not None]
    checks = {cell.test.check for cell in cells}
    for reason, members in sorted(_group_by(absent, _reason_of).items(), key=lambda each: -len(each[1])):
        whole = f"{reason} ({count_of(len(members), 'cell')})"
        for indent, words in (("", whole), ("    ", _places(members)), ("    ", _what(members, checks))):
            wrapped = textwrap.TextWrapper(
                width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
            )
            lines += wrapped.wrap(words)
    return lines


def _reason_of(cell: Cell) -> str:
    reason = cell.reason or ""
    found = _UNSTATED.fullmatch(reason)
    if found is not None and found[2] == cell.test.stack:
        reason = f"{found[1]} states no such tool for the stack"
    return f"disabled: {reason}" if cell.disabled else reason


def _places(cells: Iterable[Cell]) -> str:
    """Return the places in words: ``hsn: openmpi, mpich (1, 2 rails); eth: mpich (2 rails)``."""
    parts = []
    for fabric, members in _group_by(cells, lambda cell: cell.test.fabric).items():
        with_rails = [
            (stack, tuple(sorted({cell.test.rails for cell in own})))
            for stack, own in _group_by(members, lambda cell: cell.test.stack).items()
        ]
        shared = [
            f"{', '.join(stack for stack, _ in alike)} ({_rails(counts)})"
            for counts, alike in _group_by(with_rails, lambda each: each[1]).items()
        ]
        parts.append(f"{fabric}: {', '.join(shared)}")
    return "; ".join(parts)


def _rails(counts: Sequence[int]) -> str:
    return f"{', '.join(map(str, counts))} {'rail' if counts[-1] == 1 else 'rails'}"


def _what(cells: Sequence[Cell], all_checks: Collection[str]) -> str:
    """Return the checks in words, variants of a check as a number; or the policy, if a stack lacks it.

    All checks are named: whoever asks why a check does not run finds its name.
    """
    policies = dict.fromkeys(cell.test.policy for cell in cells if not cell.test.check)
    if policies:
        return f"rail policy {', '.join(policies)}"
    checks = dict.fromkeys(cell.test.check for cell in cells)
    if len(checks) == len(all_checks) > 1:
        return "every check"
    named = [
        variants[0] if len(variants) == 1 else f"{name} ({len(variants)} variants)"
        for name, variants in _group_by(checks, _class_of).items()
    ]
    return ", ".join(named)


def _group_by(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Return the items by key; the keys are in the order of their first items."""
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
