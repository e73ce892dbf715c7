"""Turns what pydantic finds wrong in a file into: found, expected, and what to do."""

import re
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from railyard.base.errors import did_you_mean
from railyard.base.fields import show

Path_ = tuple[str | int, ...]
Sentence = tuple[str, str, str | None]


def explain(model: type[BaseModel], data: Any, detail: ErrorDetails) -> tuple[Path_, Sentence]:
    """Return where in the data a pydantic error is, and its sentence."""
    path = _path_in(data, detail["loc"], missing=detail["type"] == "missing")
    return path, _sentence(model, detail, path)


def _sentence(model: type[BaseModel], detail: ErrorDetails, path: Path_) -> Sentence:
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "refused":
        return context["found"], context["expected"], context["action"]
    if kind == "missing":
        return "nothing", f"the field {show(path[-1])}", "add it"
    if kind == "extra_forbidden":
        known = _known_fields(model, detail["loc"][:-1])
        name = str(path[-1])
        guess = did_you_mean(name, known)
        return f"the unknown field {show(name)}", "a known field", guess
    if kind == "literal_error":
        known = re.findall(r"'([^']*)'", context["expected"])
        guess = did_you_mean(value, known) if isinstance(value, str) else "known: " + ", ".join(known)
        return show(value), "a known value", guess
    message = detail["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    return show(value), _PLAIN_WORDS.get(kind, message[:1].lower() + message[1:]), None


_PLAIN_WORDS = {
    "dict_type": "a mapping",
    "model_type": "a mapping of fields",
    "list_type": "a list",
    "tuple_type": "a list",
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "finite_number": "a finite number",
    "union_tag_not_found": "a name or a mapping of fields",
    "too_short": "at least one entry",
}


def _path_in(data: Any, loc: tuple[str | int, ...], missing: bool) -> Path_:
    """Return the part of pydantic's location that exists in the file. Pydantic also adds union branches and "[key]"."""
    path: list[str | int] = []
    for index, part in enumerate(loc):
        if isinstance(data, Mapping) and part in data:
            data = data[part]
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        elif not (missing and index == len(loc) - 1):
            continue
        path.append(part)
    return tuple(path)


def _known_fields(model: type[BaseModel], loc: tuple[str | int, ...]) -> list[str]:
    annotations: list[Any] = [model]
    for part in loc:
        annotations = [inner for annotation in annotations for inner in _step(annotation, part)] or annotations
    models = [m for annotation in annotations for m in _flatten(annotation) if _is_model(m)]
    return [field.alias or name for m in models for name, field in m.model_fields.items()]


def _step(annotation: Any, part: str | int) -> Iterator[Any]:
    for inner in _flatten(annotation):
        if _is_model(inner):
            for name, field in inner.model_fields.items():
                if part in (name, field.alias):
                    yield field.annotation
        elif get_origin(inner) in (tuple, list):
            yield get_args(inner)[0]
        elif get_args(inner):
            yield get_args(inner)[-1]


def _flatten(annotation: Any) -> Iterator[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _flatten(get_args(annotation)[0])
    elif origin in (Union, UnionType):
        for inner in get_args(annotation):
            yield from _flatten(inner)
    else:
        yield annotation


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
