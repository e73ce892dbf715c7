"""`railyard matrix`: the whole product of fabric, stack, rails and check, and why a cell does not run."""

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import click

from railyard.base.errors import SetupError
from railyard.base.paths import find_home
from railyard.base.wording import counted
from railyard.site.matrix import Cell, matrix, refused_policies
from railyard.site.test_id import TestId
from railyard.stacks.model import SINGLE


@click.command(name="matrix")
@click.option("--system", "name", default="virtual", show_default=True, help="The system, as its file is named.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of cells as JSON.")
def command(name: str, as_json: bool) -> int:
    """Print every combination of fabric, stack, rails and check, with the reason for each that does not run."""
    from railyard.base.paths import CHECKS, part
    from railyard.rfm.checks.catalogue import needs
    from railyard.site.references.load import references_of
    from railyard.site.systems.load import find_system

    home = find_home()
    asked = needs(part(home, CHECKS))
    if not asked:
        raise SetupError(
            f"{home / 'checks'}: found no check, expected files with classes derived from InterconnectCheck; "
            "put some there, or remove the folder: Railyard's own are taken then"
        )
    system = find_system(home / "systems", name)
    cells = matrix(system, asked, references_of(home / "references", system).has_number)
    refused = refused_policies(system)
    if as_json:
        click.echo(json.dumps([_json(cell) for cell in (*cells, *refused)], indent=1))
    else:
        click.echo(text(cells, refused))
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


#: What no cell says: all buffers are in the memory of the host.
DEVICE_BUFFERS = "device buffers: not tested"


def text(cells: tuple[Cell, ...], refused: tuple[Cell, ...] = ()) -> str:
    """Return the matrix as lines: a block a fabric, a line a (stack, rails, policy), what runs and why the rest not.

    ``refused`` has a cell without a check for each rail policy that a stack has not got. Of a policy that is not the
    stack's own only those reasons are said that its own one has not got.
    """
    lines: list[str] = []
    groups: dict[TestId, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(replace(cell.test.place, policy=cell.test.policy), []).append(cell)
    fabric = None
    for test, members in groups.items():
        stack, rails, policy = test.stack, test.rails, test.policy
        if test.fabric != fabric:
            lines += ["", test.fabric] if lines else [test.fabric]
            fabric = test.fabric
        runs = [cell.test.benchmark for cell in members if cell.reason is None and not cell.extended]
        more = [cell.test.benchmark for cell in members if cell.reason is None and cell.extended]
        words = ", ".join(runs) or ("nothing runs every day" if more else "nothing runs")
        by = f"{policy}: " if policy not in ("", SINGLE) else ""
        lines.append(f"  {stack:<10} {counted(rails, 'rail'):<7}  {by}{words}")
        if more:
            lines.append(f"{'':22}with --extended: {', '.join(more)}")
        own = [cell for cell in cells if not cell.named and cell.test.place == test.place]
        lines += _reasons(members, () if members == own else {(cell.test.check, cell.reason) for cell in own})
        if members == own:
            without = [cell for cell in refused if cell.test.place == test.place]
            lines += [f"{'':22}no {cell.test.policy}: {cell.reason}" for cell in without]
    running = sum(cell.reason is None for cell in cells)
    total = f"{len(cells)} cells: {running} run, {len(cells) - running} do not"
    return "\n".join([*lines, "", DEVICE_BUFFERS, total])


def _reasons(members: list[Cell], told: Collection[tuple[str, str | None]]) -> list[str]:
    """Return a line for each reason of these cells, but for those that were told of a check already."""
    reasons: dict[str, list[str]] = {}
    for cell in members:
        if cell.reason is not None and (cell.test.check, cell.reason) not in told:
            word = "disabled: " if cell.disabled else ""
            reasons.setdefault(word + cell.reason, []).append(cell.test.benchmark)
    lines = []
    for reason, names in reasons.items():
        who = "all" if len(names) == len(members) else _briefly(names, [cell.test.benchmark for cell in members])
        lines.append(f"{'':22}not {who}: {reason}")
    return lines


def _briefly(names: list[str], all_names: list[str]) -> str:
    """Return benchmarks in words, ``every osu`` in place of a tool's three or more where it is all of them."""
    whole: dict[str, int] = Counter(name.partition("/")[0] for name in all_names)
    here: dict[str, int] = Counter(name.partition("/")[0] for name in names)
    words = []
    for name in names:
        tool = name.partition("/")[0]
        words.append(f"every {tool}" if here[tool] == whole[tool] and whole[tool] > 2 else name)
    return ", ".join(dict.fromkeys(words))
