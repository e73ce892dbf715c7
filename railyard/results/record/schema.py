"""The JSON Schema of a line of records.jsonl, made from the dataclasses that read and write it."""

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from railyard.results.record.form import FORMAT, Record

TITLE = "A stored result of Railyard"
_SCALARS = {bool: "boolean", int: "integer", float: "number", str: "string"}


def record_schema() -> dict[str, Any]:
    """Return the schema of one record. Keys that it does not name are allowed: a newer Railyard may write more."""
    parts: dict[str, Any] = {}
    whole = _object(Record, parts)
    whole["properties"] = {"format": {"const": FORMAT}, **whole["properties"]}
    whole["required"] = ["format", *whole["required"]]
    return {"$defs": dict(sorted(parts.items())), **whole, "title": TITLE}


def _object(form: Any, parts: dict[str, Any]) -> dict[str, Any]:
    hints = typing.get_type_hints(form)
    known = [field for field in fields(form) if field.name != "extra"]
    made: dict[str, Any] = {
        "description": " ".join((form.__doc__ or "").split()).replace("``", "`"),
        "type": "object",
        "properties": {field.name.removesuffix("_"): _part(hints[field.name], parts) for field in known},
    }
    needed = [field for field in known if field.default is MISSING and field.default_factory is MISSING]
    if needed:
        made["required"] = [field.name.removesuffix("_") for field in needed]
    return made


def _part(hint: Any, parts: dict[str, Any]) -> dict[str, Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_part(arguments[0], parts), {"type": "null"}]}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin is tuple:
        return {"type": "array", "items": _part(arguments[0], parts)}
    if origin is Mapping:
        return {"type": "object"} | (
            {} if arguments[1] is object else {"additionalProperties": _part(arguments[1], parts)}
        )
    if is_dataclass(hint):
        name = typing.cast(type[Any], hint).__name__
        if name not in parts:
            parts[name] = {}
            parts[name] = _object(hint, parts)
        return {"$ref": f"#/$defs/{name}"}
    return {"type": _SCALARS[hint]}
