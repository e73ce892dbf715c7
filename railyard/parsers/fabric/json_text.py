"""The JSON documents in an output: of a tool's -j or --json, maybe with a prompt before and other lines after."""

import json
import re
from typing import Any

from railyard.parsers.parsed import ParseError

_BEGIN = re.compile(r"\[\s*[{\]]|\{\s*[\"}]")
_DECODER = json.JSONDecoder(parse_float=str, parse_constant=str, parse_int=str)


def documents(text: str, expected: str) -> list[tuple[int, Any]]:
    """Return (line, document) of each line that begins one: "[{", "[]" or '{"', not the prompt "[root@node1 ~]#".

    Numbers are strings as printed. A cut document ends the list. Raises ParseError if it is the first.
    """
    found: list[tuple[int, Any]] = []
    place, number = 0, 1
    while place < len(text):
        end = text.find("\n", place)
        end = len(text) if end < 0 else end
        start = place + len(text[place:end]) - len(text[place:end].lstrip())
        if _BEGIN.match(text, start):
            try:
                document, after = _DECODER.raw_decode(text, start)
            except (json.JSONDecodeError, RecursionError):
                if found:
                    return found
                raise ParseError(number, text[start:end], expected) from None
            found.append((number, document))
            number += text.count("\n", start, after)
            end = text.find("\n", after)
            end = len(text) if end < 0 else end
        place, number = end + 1, number + 1
    return found
