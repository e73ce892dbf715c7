"""`railyard schema`: prints or writes the JSON Schema of files that people write, or of stored results.

Editors complete the files that people write from these schemas.
"""

import json
from typing import Any

import click
from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DataclassSchema, WithDefaultSchema

from railyard.base.json_codec import core_schema
from railyard.base.paths import find_home
from railyard.results.record.form import FORMAT, Record
from railyard.results.sick import FORMAT as SICK_FORMAT
from railyard.results.sick import SickList
from railyard.site.references.model import ReferenceFile
from railyard.site.references.transport_class import TransportClass
from railyard.site.systems.model import System

CLASSES = "classes"
MODELS: dict[str, type[BaseModel]] = {"systems": System, "references": ReferenceFile, CLASSES: TransportClass}
RESULTS, SICK = "results", "sick"
#: Files that programs write: the dataclass, and the number of the format.
_WRITTEN: dict[str, tuple[type, int]] = {RESULTS: (Record, FORMAT), SICK: (SickList, SICK_FORMAT)}
NAMES = (*MODELS, *_WRITTEN)
_TITLES = {
    "systems": "A Railyard system",
    "references": "The references of a Railyard system",
    CLASSES: "Published numbers of one kind of node with GPUs",
    RESULTS: "A stored result of Railyard",
    SICK: "The sick parts that Railyard's stored results blame",
}


class _RecordSchema(GenerateJsonSchema):
    """Pydantic's generator, with the dataclasses' own descriptions, and without titles that repeat a key's name."""

    def dataclass_schema(self, schema: DataclassSchema) -> JsonSchemaValue:
        made = super().dataclass_schema(schema)
        made["properties"].pop("extra", None)
        description = " ".join((schema["cls"].__doc__ or "").split()).replace("``", "`")
        return {**made, "description": description}

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


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

    text = schema_text(kind)
    if not write:
        click.echo(text, nl=False)
        return 0
    path = find_home() / schema_file(kind)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    click.echo(f"wrote {schema_file(kind)}")
    return 0


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of one of ``NAMES`` ("results": of one line). Raises KeyError for another name."""
    made = {**(_written_schema(name) if name in _WRITTEN else MODELS[name].model_json_schema()), "title": _TITLES[name]}
    if name == "systems":
        # The file of a system that is like another has only what differs.
        rest = [field for field in made.pop("required") if field != "system"]
        made |= {"required": ["system"], "anyOf": [{"required": rest}, {"required": ["like"]}]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def schema_text(name: str) -> str:
    """Return the schema as it is in the file: indented, with one newline at the end."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def schema_file(name: str) -> str:
    """Return the path of the schema, relative to the site folder."""
    if name in _WRITTEN:
        return f"docs/reference/{name}.schema.json"
    return "references/classes/schema.json" if name == CLASSES else f"{name}/schema.json"


def _written_schema(name: str) -> dict[str, Any]:
    """Return the schema of a record or a list; other keys are allowed, since a newer Railyard may write more."""
    cls, number = _WRITTEN[name]
    made = _RecordSchema().generate(core_schema(cls))
    made["properties"] = {"format": {"const": number}, **made["properties"]}
    made["required"] = ["format", *made["required"]]
    return made
