"""`railyard matrix`: shows all combinations of fabric, stack, rails and check, and why some do not run."""

import json
from pathlib import Path
from typing import Any

import click

from railyard.base.errors import SetupError
from railyard.base.paths import find_home
from railyard.base.terminal import width
from railyard.cli.matrix_text import text
from railyard.cli.options import checks_option
from railyard.site.matrix import Cell, matrix, refused_policies


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
    asked = needs(*(places or (part(home, CHECKS),)))
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
