"""`railyard lint`: compares every system and reference of a site with the schema, units, limits and checks."""

import json
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import click

from railyard.base.errors import Finding, problem, problems, remark, tally
from railyard.base.wording import count_of
from railyard.cli.options import checks_option, say

if TYPE_CHECKING:
    from railyard.site.site import Site
    from railyard.site.systems.model import System


@click.command(name="lint")
@click.option("--system", "name", help="One system; without it, all of them.")
@checks_option("Also compare with the checks of this file or folder; may be given again.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with the findings.")
def command(name: str | None, places: tuple[Path, ...], as_json: bool) -> int:
    """Check systems and references for mistakes and gaps.

    \b
    Examples:
      railyard lint
      railyard lint --system mycluster
      railyard lint --system mycluster -c own    with checks of your own

    It compares all references with limits, units, schema and one another. It also says which references no check uses,
    and which checks have no reference, and reads the overlay and the locks of what Spack builds.

    Exit code: 0 no problem, 1 a problem, 2 wrong input: a file that cannot be read as it is.
    """
    from railyard.base.errors import RailyardError
    from railyard.base.paths import CHECKS, find_home, part
    from railyard.rfm.checks.catalogue import needs
    from railyard.site.references.lint import findings
    from railyard.site.references.load import references_of
    from railyard.site.references.transport_class import classes, find_class
    from railyard.site.site import Site
    from railyard.site.systems.load import find_system, load_systems
    from railyard.site.systems.module_system import FIX, find_unloaded

    home = find_home()
    folder = home / "systems"
    built = load_systems(folder, asked_for_spack=True)
    asked = needs(part(home, CHECKS), *places, home=home)
    wrong: list[str] = []
    systems: Mapping[str, System]
    if name is None:
        systems = read = load_systems(folder)
        # A mistake of a file that others are like is one of theirs, too.
        wrong += dict.fromkeys(str(each.error) for each in read.broken.values())
    else:
        systems = {name: find_system(folder, name)}
    found: list[Finding] = []
    entries = 0
    for system in systems.values():
        try:
            references = references_of(home / "references", system)
            found += findings(references, asked, datetime.now(timezone.utc).date(), built[system.system])
        except RailyardError as error:
            wrong.append(str(error))
            continue
        found += [problem(system.system, f"{why}; {FIX}") for _, why in find_unloaded(system)]
        absent, broken = _spack_mistakes(Site(home, built[system.system], references))
        found += absent
        wrong += broken
        entries += len(references.entries)
    published = home / "references" / "classes"
    for each in classes(published) if name is None else ():
        try:
            find_class(published, each)
        except RailyardError as error:
            wrong.append(str(error))
    if as_json:
        rows = [{"system": one.where, "weight": one.weight, "sentence": one.what} for one in found]
        told = {"format": 1, "entries": entries, "errors": wrong, "findings": rows}
        click.echo(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        for one in found:
            say(f"{one.where}: {one.weight}: {one.what}")
        for sentence in wrong:
            say(f"railyard: {sentence}", err=True)
        refused = count_of(len(wrong), "file")
        say(f"{entries} entries of {count_of(len(systems), 'system')}: {refused} refused, {tally(found)}")
    if wrong:
        return 2
    return 1 if problems(found) else 0


def _spack_mistakes(site: "Site") -> tuple[list[Finding], list[str]]:
    """Return remarks about what an overlay names and this host lacks, and the mistakes in what Spack is given."""
    from railyard.provision.spack.overlay import NotHereError
    from railyard.provision.spack.request import source_errors

    absent: list[Finding] = []
    broken: list[str] = []
    for error in source_errors(site):
        if isinstance(error, NotHereError):  # such as on a laptop
            absent.append(remark(site.system.system, str(error)))
        else:
            broken.append(str(error))
    return absent, broken
