"""Field types that system and reference files share: names, prose, sizes, and text that is safe to give to a shell.

What pydantic finds wrong in a file is turned into: found, expected, and what to do.
"""

import datetime
import re
from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import ErrorDetails

from railyard.base.errors import did_you_mean
from railyard.base.values import (
    NAME_PATTERN,
    Path_,
    check_blanks,
    check_line,
    check_prose,
    check_size,
    check_value,
    refuse,
    shell_reason,
    show,
)

_MODULE_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_.:+/-]*"
_PATH_PATTERN = r"[A-Za-z0-9_./~{][A-Za-z0-9_./~+@%=:,{}-]*"
_VARIABLE_PATTERN = r"[A-Za-z_][A-Za-z0-9_]*"
_BENCHMARK_PATTERN = rf"{NAME_PATTERN}(?:/{NAME_PATTERN}){{1,3}}"
_DURATION_PATTERN = r"(?:[0-9]+d)?(?:[0-9]+h)?(?:[0-9]+m)?(?:[0-9]+s)?"
Sentence = tuple[str, str, str | None]
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


class Model(BaseModel):
    """A part of a file that a person writes. It is frozen, and refuses unknown fields, NaN and infinity."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False, populate_by_name=False)


def _matching(pattern: str, expected: str) -> AfterValidator:
    compiled = re.compile(pattern)

    def check(text: str) -> str:
        if compiled.fullmatch(text):
            return text
        raise refuse(show(text), expected, shell_reason(text) or "")

    return AfterValidator(check)


def _date(value: Any) -> Any:
    if isinstance(value, datetime.date):
        return value
    raise refuse(show(value), "a date, YYYY-MM-DD, without quotes")


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def one_or_many(item: dict[str, Any]) -> WithJsonSchema:
    """Return the JSON Schema of a field that takes one item or a list of them."""
    return WithJsonSchema({"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]})


AS_LIST = BeforeValidator(_as_list)
_NAME_SENTENCE = 'a name of letters, digits, "_", ".", ":" and "-" that begins with a letter or digit'
Name = Annotated[
    str, _matching(NAME_PATTERN, _NAME_SENTENCE), Field(json_schema_extra={"pattern": f"^{NAME_PATTERN}$"})
]
Module = Annotated[str, _matching(_MODULE_PATTERN, 'a module name such as "openmpi/4.1.6"')]
PathText = Annotated[str, _matching(_PATH_PATTERN, "a path without blanks and shell characters")]
Variable = Annotated[str, _matching(_VARIABLE_PATTERN, "the name of an environment variable")]
BenchmarkName = Annotated[str, _matching(_BENCHMARK_PATTERN, 'a benchmark such as "imb/Uniband" or "netpipe/stream"')]
Duration = Annotated[str, _matching(rf"(?=.){_DURATION_PATTERN}", 'a time such as "60s" or "1h30m"')]
Prose = Annotated[str, AfterValidator(check_prose)]
#: One line of a job's script as it is: a scheduler's option with blanks, or a command of the site.
ScriptLine = Annotated[str, AfterValidator(check_line)]
Value = Annotated[str, AfterValidator(check_value)]
#: A path or a value with the blanks {home} and {prefix}.
Template = Annotated[PathText, AfterValidator(check_blanks)]
EnvValue = Annotated[Value, AfterValidator(check_blanks)]
Size = Annotated[
    int,
    BeforeValidator(check_size),
    WithJsonSchema({"type": ["integer", "string"], "pattern": "^[0-9]+[KMG]?$", "minimum": 0}),
]
Date = Annotated[datetime.date, BeforeValidator(_date)]
Count = Annotated[int, Field(strict=True, ge=1)]
Number = Annotated[float, Field(strict=True)]
Positive = Annotated[float, Field(strict=True, gt=0)]


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
