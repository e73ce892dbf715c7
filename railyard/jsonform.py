"""Frozen dataclasses to plain JSON values and back: types checked, unknown keys kept, no NaN, no control codes."""

import math
import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

from railyard.cleantext import clean

T = TypeVar("T")

_KIND = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_LONGEST_SHOWN = 60


class FormError(ValueError):
    """A value that has no place in the form: the dotted path of the field, what was found, what was expected."""

    def __init__(self, field: str, found: str, expected: str) -> None:
        super().__init__(f"{field}: found {found}, expected {expected}")
        self.field = field
        self.found = found
        self.expected = expected


def encode(value: object, where: str = "") -> Any:
    """Return the JSON value of a dataclass, sequence, mapping or scalar.

    A dataclass becomes an object with its fields (a trailing ``_`` is dropped: ``class_`` is ``class``) and then the
    keys of its ``extra``. Raises FormError for NaN, infinity and what JSON cannot hold.
    """
    if is_dataclass(value) and not isinstance(value, type):
        known = {_key(f): encode(getattr(value, f.name), _join(where, _key(f))) for f in _known(type(value))}
        extra = encode(getattr(value, "extra", {}), where)
        return known | {key: item for key, item in extra.items() if key not in known}
    if isinstance(value, Mapping):
        return {clean(str(key)): encode(item, _join(where, str(key))) for key, item in value.items()}
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
    """Return the dataclass that a JSON value holds; keys that it does not know are kept in its ``extra``.

    Raises FormError with the field's path where a key is missing or a value has another type than its field's.
    """
    if not isinstance(value, dict):
        raise FormError(where, _shown(value), "an object {…}")
    form: Any = cls
    hints = _hints(form)
    arguments: dict[str, Any] = {}
    for field in _known(form):
        key = _key(field)
        if key in value:
            arguments[field.name] = _typed(hints[field.name], value[key], _join(where, key))
        elif field.default is MISSING and field.default_factory is MISSING:
            raise FormError(_join(where, key), "nothing", "this key")
    known = {_key(field) for field in _known(form)}
    if "extra" in hints:
        arguments["extra"] = encode({key: item for key, item in value.items() if key not in known}, where)
    try:
        return cls(**arguments)
    except FormError as error:
        raise FormError(_join(where, error.field), error.found, error.expected) from None


def _typed(hint: Any, value: object, where: str) -> Any:
    """Return the value as its field's type hint has it."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _typed(typing.get_args(hint)[0], value, where)
    if origin is typing.Literal:
        return _one_of(typing.get_args(hint), value, where)
    if origin is tuple:
        if not isinstance(value, list):
            raise FormError(where, _shown(value), "a list […]")
        return tuple(_typed(typing.get_args(hint)[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    if origin is Mapping:
        if not isinstance(value, dict):
            raise FormError(where, _shown(value), "an object {…}")
        return encode(value, where)
    if is_dataclass(hint):
        return decode(typing.cast(type[Any], hint), value, where)
    return _scalar(hint, value, where)


def _one_of(choices: tuple[Any, ...], value: object, where: str) -> Any:
    if value not in choices or isinstance(value, bool):
        raise FormError(where, _shown(value), "one of " + ", ".join(map(str, choices)))
    return value


def _scalar(hint: Any, value: object, where: str) -> Any:
    """Return a scalar of exactly this type; a whole number serves where a number is wanted, a bool never does."""
    if hint is float and isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**1023:
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise FormError(where, _shown(value), _KIND[hint])
    return encode(value, where)


@cache
def _hints(cls: Any) -> dict[str, Any]:
    return typing.get_type_hints(cls)


@cache
def _known(cls: Any) -> tuple[Field[Any], ...]:
    return tuple(field for field in fields(cls) if field.name != "extra")


def _key(field: Field[Any]) -> str:
    return field.name.removesuffix("_")


def _join(where: str, key: str) -> str:
    return f"{where}.{key}" if where else key


def _shown(value: object) -> str:
    text = clean(repr(value))
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
