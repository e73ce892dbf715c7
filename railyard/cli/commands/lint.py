"""`railyard lint`: every system and reference of a site held against schema, units, limits, and against the checks."""

import json
from dataclasses import asdict
from datetime import datetime, timezone
from typing import TYPE_CHECKING

import click

from railyard.base.wording import counted

if TYPE_CHECKING:
    from railyard.site.references.lint import Finding


@click.command(name="lint")
@click.option("--system", "name", help="One system, as its file is named; all of them without it.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with the findings.")
def command(name: str | None, as_json: bool) -> int:
    """Hold all references against limits, units, schema and their relations; say what no check uses, what checks lack.

    Exit code: 0 nothing or remarks alone, 1 a problem, 2 a file that cannot be read as it stands.
    """
    from railyard.base.errors import RailyardError
    from railyard.base.paths import CHECKS, find_home, part
    from railyard.rfm.checks.catalogue import needs
    from railyard.site.references.lint import findings
    from railyard.site.references.load import references_of
    from railyard.site.systems.load import find_system, load_systems

    home = find_home()
    folder = home / "systems"
    systems = load_systems(folder) if name is None else {name: find_system(folder, name)}
    asked = needs(part(home, CHECKS))
    wrong: list[str] = []
    found: list[Finding] = []
    entries = 0
    for system in systems.values():
        try:
            references = references_of(home / "references", system)
        except RailyardError as error:
            wrong.append(str(error))
            continue
        entries += len(references.entries)
        found += findings(references, asked, datetime.now(timezone.utc).date())
    if as_json:
        told = {"format": 1, "entries": entries, "errors": wrong, "findings": [asdict(one) for one in found]}
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        for one in found:
            click.echo(f"{one.system}: {one.weight}: {one.sentence}")
        for sentence in wrong:
            click.echo(f"railyard: {sentence}", err=True)
        problems = sum(one.weight == "problem" for one in found)
        remarks = len(found) - problems
        click.echo(
            f"{entries} entries of {counted(len(systems), 'system')}: "
            f"{counted(len(wrong), 'file')} refused, {counted(problems, 'problem')}, {counted(remarks, 'remark')}"
        )
    if wrong:
        return 2
    return 1 if any(one.weight == "problem" for one in found) else 0
