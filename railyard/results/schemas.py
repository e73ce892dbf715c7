"""The JSON Schemas of systems/*.yaml and references/*.yaml, by which editors complete, and of stored results."""

import json
from typing import Any

from pydantic import BaseModel

from railyard.results.record.schema import record_schema
from railyard.site.references.model import ReferenceFile
from railyard.site.systems.model import System

MODELS: dict[str, type[BaseModel]] = {"systems": System, "references": ReferenceFile}
RESULTS = "results"
NAMES = (*MODELS, RESULTS)
_TITLES = {"systems": "A Railyard system", "references": "The references of a Railyard system"}


def schema(name: str) -> dict[str, Any]:
    """Return the JSON Schema of "systems", "references" or "results" (one line). Raises KeyError for another name."""
    made = record_schema() if name == RESULTS else {**MODELS[name].model_json_schema(), "title": _TITLES[name]}
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
    return "docs/results.schema.json" if name == RESULTS else f"{name}/schema.json"
