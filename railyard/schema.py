"""The JSON Schemas of systems/*.yaml and references/*.yaml, by which editors complete and check."""

import json
from typing import Any

from pydantic import BaseModel

from railyard.referencefile import ReferenceFile
from railyard.systems import System

MODELS: dict[str, type[BaseModel]] = {"systems": System, "references": ReferenceFile}
_TITLES = {"systems": "A Railyard system", "references": "The references of a Railyard system"}


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of "systems" or "references". Raises KeyError for another name."""
    made = MODELS[name].model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": _TITLES[name]}


def schema_text(name: str) -> str:
    """Return the schema as the file holds it: indented, one newline at its end."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


def schema_file(name: str) -> str:
    """Return where the schema is kept, relative to the site folder."""
    return f"{name}/schema.json"
