"""Frozen dataclasses to plain JSON values and back: types checked, unknown keys kept, no NaN, no control codes."""

import math
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

from railyard.base.clean_text import clean

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
    plan = _plan(typing.cast(typing.Hashable, cls))
    arguments: dict[str, Any] = {}
    for name, key, read, is_needed in plan.fields:
        if key in value:
            arguments[name] = read(value[key], f"{where}.{key}" if where else key)
        elif is_needed:
            raise FormError(_join(where, key), "nothing", "this key")
    if plan.keeps_extra and not plan.keys.issuperset(value):
        arguments["extra"] = encode({key: value[key] for key in value if key not in plan.keys}, where)
    try:
        return cls(**arguments)
    except FormError as error:
        raise FormError(_join(where, error.field), error.found, error.expected) from None


_Read = Callable[[object, str], Any]


class _Plan(NamedTuple):
    """How the objects of one dataclass are read: (field, key, reader, must be there) of each field."""

    fields: tuple[tuple[str, str, _Read, bool], ...]
    keys: frozenset[str]
    keeps_extra: bool


@cache
def _plan(cls: Any) -> _Plan:
    hints = typing.get_type_hints(cls)
    known = _known(cls)
    read = tuple(
        (f.name, _key(f), _reader(hints[f.name]), f.default is MISSING and f.default_factory is MISSING) for f in known
    )
    return _Plan(read, frozenset(map(_key, known)), "extra" in hints)


@cache
def _reader(hint: Any) -> _Read:
    """Return what reads a value as its field's type hint has it: made once a hint, since a record has hundreds."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = _reader(arguments[0])
        return lambda value, where: None if value is None else inner(value, where)
    if origin is typing.Literal:
        return partial(_one_of, arguments)
    if origin is tuple:
        return partial(_list, _reader(arguments[0]), arguments[0])
    if origin is Mapping:
        return partial(_mapping, None if arguments[1] is object else _reader(arguments[1]))
    if is_dataclass(hint):
        return partial(decode, typing.cast(type[Any], hint))
    return partial(_scalar, hint)


def _list(read: _Read, hint: Any, value: object, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise FormError(where, _shown(value), "a list […]")
    # Most of a record are numbers of curves, which are what they should be.
    if set(map(type, value)) <= _PLAIN.get(hint, _NOTHING) and all(one is None or math.isfinite(one) for one in value):
        return tuple(value)
    return tuple(read(item, f"{where}[{index}]") for index, item in enumerate(value))


_NOTHING: frozenset[type] = frozenset()
#: Of a list's items: the types that need no further look, but that they are finite.
_PLAIN: Mapping[Any, frozenset[type]] = {
    int: frozenset({int}),
    float: frozenset({float}),
    float | None: frozenset({float, type(None)}),
}


def _mapping(read: _Read | None, value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormError(where, _shown(value), "an object {…}")
    if read is None:
        found: dict[str, Any] = encode(value, where)
        return found
    return {clean(key): read(each, _join(where, key)) for key, each in value.items()}


def _one_of(choices: tuple[Any, ...], value: object, where: str) -> Any:
    if value not in choices or isinstance(value, bool):
        raise FormError(where, _shown(value), "one of " + ", ".join(map(str, choices)))
    return value


def _scalar(hint: Any, value: object, where: str) -> Any:
    """Return a scalar of exactly this type; a whole number serves where a number is wanted, a bool never does."""
    if hint is float and type(value) is int and abs(value) < 2**1023:
        return float(value)
    if type(value) is not hint:  # JSON has no subclasses; a bool is one of int
        raise FormError(where, _shown(value), _KIND[hint])
    if isinstance(value, str):
        return clean(value)
    return encode(value, where)


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
