"""Turns frozen dataclasses into plain JSON values and back. It checks types, keeps unknown keys, and refuses NaN."""

import math
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from railyard.base.values import clean

if TYPE_CHECKING:
    from pydantic_core import CoreSchema, ErrorDetails, SchemaValidator

T = TypeVar("T")

_LONGEST_SHOWN = 60


class FormError(ValueError):
    """A value that does not fit its field: the dotted path of the field, what was found, what was expected."""

    def __init__(self, field: str, found: str, expected: str) -> None:
        super().__init__(f"{field}: found {found}, expected {expected}")
        self.field = field
        self.found = found
        self.expected = expected


def encode(value: object, where: str = "") -> Any:
    """Return the JSON value of a dataclass, sequence, mapping or scalar.

    A dataclass becomes an object with its fields (without a trailing ``_``: ``class_`` is ``class``), followed by the
    keys of its ``extra``. Raises FormError for NaN, infinity and anything that JSON cannot hold.
    """
    if is_dataclass(value) and not isinstance(value, type):
        known = {_key(f): encode(getattr(value, f.name), _join(where, _key(f))) for f in _known_fields(type(value))}
        extra = encode(getattr(value, "extra", {}), where)
        return known | {key: item for key, item in extra.items() if key not in known}
    if isinstance(value, Mapping):
        return {(name := clean(str(key))): encode(item, _join(where, name)) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise FormError(where, str(value), "a finite number")
    if value is None or isinstance(value, (bool, int, float)):
        return value
    raise FormError(where, f"a {type(value).__name__}", "a value that JSON can hold")


def decode(cls: type[T], value: object, where: str = "") -> T:
    """Return the dataclass that a JSON value holds. Unknown keys are kept in its ``extra``.

    Raises FormError with the field's path if a key is missing or a value does not have its field's type.
    """
    from pydantic_core import ValidationError

    _refuse_deep(value, where)
    try:
        return typing.cast(T, _validator(typing.cast(typing.Hashable, cls)).validate_python(value))
    except ValidationError as error:
        raise _form_error(error.errors(include_url=False)[0], where) from None


#: Lists and objects within each other. Our own files have at most 8 of them; what is nested deeper ends in errors of
#: recursion wherever it is passed on.
_MOST_DEEP = 40


def _refuse_deep(value: object, where: str) -> None:
    level = [value]
    for _ in range(_MOST_DEEP):
        level = [item for one in level if isinstance(one, (dict, list)) for item in _items(one)]
        if not level:
            return
    raise FormError(where, f"values nested more than {_MOST_DEEP} deep", f"at most {_MOST_DEEP}")


def _items(value: dict[str, object] | list[object]) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value


def _form_error(detail: "ErrorDetails", where: str) -> FormError:
    for part in detail["loc"]:
        where = f"{where}[{part}]" if isinstance(part, int) else _join(where, clean(part))
    inner = detail.get("ctx", {}).get("error")
    if isinstance(inner, FormError):  # from encode, for values of any type, or from the dataclass's own __post_init__
        return FormError(_join(where, inner.field), inner.found, inner.expected)
    found = "nothing" if detail["type"] == "missing" else _format_value(detail["input"])
    return FormError(where, found, _EXPECTED.get(detail["type"], detail["msg"]))


_EXPECTED = {
    "missing": "this key",
    "int_type": "a whole number",
    "greater_than": "a whole number of at most 64 bits",
    "less_than": "a whole number of at most 64 bits",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "a text",
    "tuple_type": "a list […]",
    "dict_type": "an object {…}",
    "dataclass_type": "an object {…}",
}


@cache
def _validator(cls: Any) -> "SchemaValidator":
    """Return the validator of a dataclass. It is built at first use: many only encode, and pydantic imports slowly."""
    from pydantic_core import SchemaValidator

    return SchemaValidator(core_schema(cls))


def core_schema(hint: Any) -> "CoreSchema":
    """Return pydantic's schema of a dataclass, or of a type hint of one of its fields."""
    from pydantic_core import core_schema as core

    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return core.nullable_schema(core_schema(arguments[0]))
    if origin is typing.Literal:
        words = "one of " + ", ".join(map(str, arguments))
        choice = core.literal_schema(list(arguments))
        return core.custom_error_schema(choice, "no_choice", custom_error_message=words)
    if origin is tuple:
        return core.tuple_schema([core_schema(arguments[0])], variadic_item_index=0)
    if origin is Mapping:
        if arguments[1] is object:
            return core.no_info_after_validator_function(encode, core.dict_schema())
        return core.dict_schema(core_schema(str), core_schema(arguments[1]))
    if is_dataclass(hint):
        return _object(hint)
    if hint is str:
        return core.no_info_after_validator_function(clean, core.str_schema(strict=True))
    if hint is float:  # a whole number is accepted as a number, a bool never is
        return core.no_info_after_validator_function(_refuse_odd, core.float_schema(strict=True, allow_inf_nan=False))
    # Counters have 64 bits; a number of a thousand digits would be in nobody's float and in no database.
    return core.bool_schema(strict=True) if hint is bool else core.int_schema(strict=True, gt=-(2**64), lt=2**64)


#: No figure in any unit is further from 1, and squares of ratios of these are still finite. In a record from elsewhere,
#: 5e-324 MB/s would make infinite ratios wherever it is compared or drawn.
_LEAST, _MOST = 1e-50, 1e50


def _refuse_odd(value: float) -> float:
    if value and not _LEAST <= abs(value) <= _MOST:
        raise FormError("", str(value), f"0, or a number between {_LEAST:g} and {_MOST:g}")
    return value


def _object(cls: Any) -> "CoreSchema":
    from pydantic_core import core_schema as core

    hints = typing.get_type_hints(cls)
    parts = []
    for field in fields(cls):
        part = core.any_schema() if field.name == "extra" else core_schema(hints[field.name])
        if field.default is not MISSING:
            part = core.with_default_schema(part, default=field.default)
        elif field.default_factory is not MISSING:
            part = core.with_default_schema(part, default_factory=field.default_factory)
        parts.append(core.dataclass_field(field.name, part, validation_alias=_key(field)))
    made = core.dataclass_schema(
        cls,
        core.dataclass_args_schema(cls.__name__, parts),
        [field.name for field in fields(cls)],
        post_init=hasattr(cls, "__post_init__"),
        slots=hasattr(cls, "__slots__"),
        ref=cls.__name__,
    )
    if "extra" not in hints:
        return made
    return core.no_info_before_validator_function(partial(_set_apart, frozenset(map(_key, _known_fields(cls)))), made)


def _set_apart(known: frozenset[str], value: object) -> object:
    """Return an object with its unknown keys moved below ``extra``."""
    if not isinstance(value, dict) or known.issuperset(value):
        return value
    unknown = {key: item for key, item in value.items() if key not in known}
    return {key: item for key, item in value.items() if key in known} | {"extra": encode(unknown)}


@cache
def _known_fields(cls: Any) -> tuple[Field[Any], ...]:
    return tuple(field for field in fields(cls) if field.name != "extra")


def _key(field: Field[Any]) -> str:
    return field.name.removesuffix("_")


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where and key else where or key


def _format_value(value: object) -> str:
    text = clean(repr(value))
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
