"""The JSON Schemas of the files that a person writes, by which editors complete, and of stored results."""

import json
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core.core_schema import DataclassSchema, WithDefaultSchema

from railyard.base.json_codec import core_schema
from railyard.results.record.form import FORMAT, Record
from railyard.site.references.model import ReferenceFile
from railyard.site.references.transport_class import TransportClass
from railyard.site.systems.model import System

CLASSES = "classes"
MODELS: dict[str, type[BaseModel]] = {"systems": System, "references": ReferenceFile, CLASSES: TransportClass}
RESULTS = "results"
NAMES = (*MODELS, RESULTS)
_TITLES = {
    "systems": "A Railyard system",
    "references": "The references of a Railyard system",
    CLASSES: "Published numbers of one kind of node with GPUs",
    RESULTS: "A stored result of Railyard",
}


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of one of ``NAMES`` ("results": of one line). Raises KeyError for another name."""
    made = {**(_of_record() if name == RESULTS else MODELS[name].model_json_schema()), "title": _TITLES[name]}
    if name == "systems":
        # A system that is like another has in its own file only what differs.
        rest = [field for field in made.pop("required") if field != "system"]
        made |= {"required": ["system"], "anyOf": [{"required": rest}, {"required": ["like"]}]}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def schema_text(name: str) -> str:
    """Return the schema as the file holds it: indented, one newline at its end."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def schema_file(name: str) -> str:
    """Return where the schema is kept, relative to the site folder."""
    if name == RESULTS:
        return "docs/reference/results.schema.json"
    return "references/classes/schema.json" if name == CLASSES else f"{name}/schema.json"


def _of_record() -> dict[str, Any]:
    """Return the schema of one record. Keys that it does not name are allowed: a newer Railyard may write more."""
    made = _RecordSchema().generate(core_schema(Record))
    made["properties"] = {"format": {"const": FORMAT}, **made["properties"]}
    made["required"] = ["format", *made["required"]]
    return made


class _RecordSchema(GenerateJsonSchema):
    """Pydantic's, with the dataclasses' own descriptions, and without titles that say a key's name again."""

    def dataclass_schema(self, schema: DataclassSchema) -> JsonSchemaValue:
        made = super().dataclass_schema(schema)
        made["properties"].pop("extra", None)
        description = " ".join((schema["cls"].__doc__ or "").split()).replace("``", "`")
        return {**made, "description": description}

    def default_schema(self, schema: WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False
