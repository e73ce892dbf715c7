"""`railyard references`: lists every entry, relation and fact with its source, and writes the fact sheet."""

import json
from typing import TYPE_CHECKING

import click

from railyard.cli.options import say

if TYPE_CHECKING:
    from railyard.site.references.load import References

PAGE = "docs/reference/references.md"


@click.command(name="references")
@click.option("--system", "name", help="One system; without it, all of them.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object with all of it.")
@click.option("--write", is_flag=True, help=f"Write the fact sheet of all published systems to {PAGE} instead.")
def command(name: str | None, as_json: bool, write: bool) -> int:
    """List a system's reference numbers, each with its source.

    \b
    Examples:
      railyard references --system dell-c6320
      railyard references --system survey-2004 --json

    These are the numbers that a system's runs are compared with.
    """
    from railyard.base.paths import find_home
    from railyard.base.terminal import width
    from railyard.results import reference_sheet
    from railyard.results.reference_sheet import cost_lines
    from railyard.results.relations import costs_of_references

    home = find_home()
    found = _find_references(name)
    if write:
        from railyard.results.reference_sheet import page

        (home / PAGE).parent.mkdir(parents=True, exist_ok=True)
        (home / PAGE).write_text(page(found), encoding="utf-8")
        click.echo(f"wrote {PAGE}")
        return 0
    if as_json:
        merged: dict[str, object] = {"format": reference_sheet.FORMAT}
        for part in ("entries", "relations", "facts", "unbounded", "costs"):
            merged[part] = [item for each in found for item in reference_sheet.as_json(each)[part]]
        click.echo(json.dumps(merged, indent=1, ensure_ascii=False))
        return 0
    for index, each in enumerate(found):
        say("\n".join(["", *reference_sheet.lines(each)] if index else reference_sheet.lines(each)))
        costs = costs_of_references(each)
        if costs:
            click.echo(f"\n{cost_lines(costs, width=width())}")
    return 0


def _find_references(name: str | None) -> "list[References]":
    from railyard.base.errors import note_remark
    from railyard.base.paths import find_home
    from railyard.site.references.load import references_of
    from railyard.site.site import load_site
    from railyard.site.systems.load import find_system

    home = find_home()
    if name is not None:
        return [references_of(home / "references", find_system(home / "systems", name))]
    systems = load_site(home)
    note_remark(systems.remark())
    return [references_of(home / "references", system) for system in systems.values()]
