"""The JSON objects in a text, each with its lines; a cut one is marked."""

import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_ATTEMPTS = 8  # texts that only look like an object: each costs at most its length
_BEGINNING = 4000


class JsonObject(NamedTuple):
    """An object: its lines, 1-based, and its value; None if it is cut or not JSON."""

    lines: range
    value: dict[str, Any] | None


def objects(text: str, is_own: Callable[[str], bool]) -> Iterator[JsonObject]:
    """Yield every object that begins a line, at any indent.

    If an object is not whole, ``is_own`` says, from its beginning, whether it is one of the tool's.
    """
    decoder, line, counted, start, failed = json.JSONDecoder(), 1, 0, 0, 0
    while failed < _ATTEMPTS:
        if text[start : start + 1] != "{":
            start = text.find("\n{", start) + 1
            if start == 0:
                return
        line, counted = line + text.count("\n", counted, start), start
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            failed += 1
            if is_own(text[start : start + _BEGINNING]):
                yield JsonObject(range(line, line + 1), None)
            start += 1
            continue
        if isinstance(found, dict):
            yield JsonObject(range(line, line + text.count("\n", start, end) + 1), found)
        start = end


def figure(values: dict[str, Any], key: str) -> float | None:
    """Return a number that a float can hold; None for anything else (true is not a number)."""
    value = values.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -1e30 < value < 1e30 else None
