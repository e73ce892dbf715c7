"""`railyard schema`: the JSON Schema of what a person writes, or of stored results, printed or kept in its file."""

import click

from railyard.base.paths import find_home


@click.command(name="schema")
@click.argument("kind", metavar="KIND", type=click.Choice(["systems", "references", "classes", "results", "sick"]))
@click.option(
    "--write",
    is_flag=True,
    help="Write it to systems/schema.json, references/schema.json, references/classes/schema.json, "
    "docs/reference/results.schema.json or docs/reference/sick.schema.json.",
)
def command(kind: str, write: bool) -> int:
    """Print the JSON Schema of a kind of file, for editors.

    \b
    Examples:
      railyard schema systems
      railyard schema references --write

    KIND is systems, references, classes, results or sick. With the schema an editor completes and checks the files of
    systems/, references/ and references/classes/. That of results describes a line of stored results, that of sick what
    `railyard export sick --json` prints.
    """
    from railyard.results.schemas import schema_file, schema_text

    text = schema_text(kind)
    if not write:
        click.echo(text, nl=False)
        return 0
    path = find_home() / schema_file(kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    click.echo(f"wrote {schema_file(kind)}")
    return 0
