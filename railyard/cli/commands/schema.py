"""`railyard schema`: prints or writes the JSON Schema of files that people write, or of stored results."""

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

    KIND is systems, references, classes, results or sick. With a schema, an editor completes and checks the files of
    systems/, references/ and references/classes/. The schema of results describes a line of stored results, the schema
    of sick what `railyard export sick --json` prints.
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
