"""`railyard matrix`: the whole product of fabric, stack, rails and check, and why a cell does not run."""

import json
from dataclasses import asdict

import click

from railyard.cells import Cell, matrix
from railyard.errors import SetupError
from railyard.home import find_home


@click.command(name="matrix")
@click.option("--system", "name", default="virtual", show_default=True, help="The system, as its file is named.")
@click.option("--json", "as_json", is_flag=True, help="Print a list of cells as JSON.")
def command(name: str, as_json: bool) -> int:
    """Print every combination of fabric, stack, rails and check, with the reason for each that does not run."""
    from railyard.catalogue import needs
    from railyard.references import references_of
    from railyard.systems import find_system

    home = find_home()
    asked = needs(home / "checks")
    if not asked:
        raise SetupError(
            f"{home / 'checks'}: found no check, expected files with classes derived from InterconnectCheck; "
            "run from the clone, or copy checks/ beside systems/"
        )
    system = find_system(home / "systems", name)
    cells = matrix(system, asked, references_of(home / "references", system).has_number)
    click.echo(json.dumps([asdict(cell) for cell in cells], indent=1) if as_json else text(cells))
    return 0


def text(cells: tuple[Cell, ...]) -> str:
    """Return the matrix as lines: a block a fabric, a line a (stack, rails), what runs and why the rest does not."""
    lines: list[str] = []
    groups: dict[tuple[str, str, int], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.fabric, cell.stack, cell.rails), []).append(cell)
    fabric = None
    for (name, stack, rails), members in groups.items():
        if name != fabric:
            lines += ["", name] if lines else [name]
            fabric = name
        runs = [cell.benchmark for cell in members if cell.reason is None]
        lines.append(f"  {stack:<10} {rails} rail{'s' if rails > 1 else ' '}  " + (", ".join(runs) or "nothing runs"))
        reasons: dict[str, list[str]] = {}
        for cell in members:
            if cell.reason is not None:
                word = "disabled: " if cell.disabled else ""
                reasons.setdefault(word + cell.reason, []).append(cell.benchmark)
        for reason, names in reasons.items():
            who = "all" if len(names) == len(members) else ", ".join(names)
            lines.append(f"{'':22}not {who}: {reason}")
    running = sum(cell.reason is None for cell in cells)
    return "\n".join([*lines, "", f"{len(cells)} cells: {running} run, {len(cells) - running} do not"])
