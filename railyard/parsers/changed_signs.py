"""Outputs whose signs a chat, an editor or a program's log changed: "＃" for "#", "—" for "---", "\\n" for a new line.

``with_own_signs`` puts back what the tools print. Nothing of it is a figure. ``kept_in_json`` returns the outputs that
JSON keeps as strings: what Ansible, a CI job or a runner's own script writes.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

_LEAST_BREAKS = 3
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
#: A tool's rule: chats write "–" or "—" for two or three hyphens, and some leave one.
_RULE = re.compile(
    rf"^(?P<before>[ \t]{{0,40}}#?[ \t]{{0,9}})(?=-{{0,200}}[{_DASHES}])[-{_DASHES}]{{1,200}}[ \t]{{0,9}}$",
    re.MULTILINE,
)
_WITHIN_WORD = re.compile(rf"(?<=[A-Za-z])[{_DASHES}](?=[A-Za-z])")
_RULE_WIDTH = 80
_FULL_WIDTH = str.maketrans({"\uff03": "#", "\uff1a": ":"})
_ESCAPED = {r"\n": "\n", r"\r": "", r"\t": "\t", r"\"": '"', r"\\": "\\"}
_ESCAPE = re.compile(r'\\[nrt"\\]')


def with_own_signs(text: str) -> str:
    """Return a text with the signs and lines that tools print; the same text if it has them."""
    text = _with_lines(text)
    if text.isascii():
        return text
    text = text.translate(_FULL_WIDTH)
    if not any(map(text.__contains__, _DASHES)):
        return text
    text = _RULE.sub(lambda found: found["before"] + "-" * _RULE_WIDTH, text)
    return _WITHIN_WORD.sub("-", text)


def kept_in_json(text: str) -> list[str]:
    """Return the outputs that a text of JSON keeps in its strings, each once; none for any other text.

    The text is one object, one list, or an object on each line. A string of several lines is an output, and so is what
    was printed as an error (``stderr``). A tool's own JSON has its figures as numbers, more of them than its strings
    have lines (`iperf3 --get-server-output`): there is none in it.
    """
    begin, end = text.lstrip()[:1], text.rstrip()[-1:]
    if begin + end not in ("{}", "[]") or text.count(r"\n") < _LEAST_BREAKS:
        return []
    try:
        values = _json_values(text)
    except (ValueError, RecursionError):
        return []
    parts = list(
        dict.fromkeys(_text(value) for key, value in values if isinstance(value, str) and _is_kept(key, value))
    )
    numbers = sum(type(value) in (int, float) for _, value in values)
    breaks = [part.count("\n") for part in parts]
    return parts if max(breaks, default=0) >= _LEAST_BREAKS and numbers < sum(breaks) else []


def _json_values(text: str) -> list[tuple[str, Any]]:
    """Return every value in a text of JSON with its key. Raises ValueError."""
    try:
        read = json.loads(text)
    except ValueError:
        read = [json.loads(line) for line in text.split("\n") if line.strip()]
    return list(_values_in("", read))


def _values_in(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, each in value.items():
            yield from _values_in(name, each)
    elif isinstance(value, list):
        for each in value:
            yield from _values_in("", each)
    else:
        yield key, value


def _is_kept(key: str, value: str) -> bool:
    return "\n" in value or ("err" in key.lower() and bool(value.strip()))


def _text(value: str) -> str:
    """Return a string of JSON as lines of text, without half of a pair of surrogates."""
    lines = value.replace("\r\n", "\n").rstrip("\n") + "\n"
    return lines.encode("utf-8", "replace").decode("utf-8")


def _with_lines(text: str) -> str:
    r"""Return the lines of a text that is JSON, or one line with "\n" in place of its line breaks."""
    line = text.strip()
    if "\n" in line or line.count(r"\n") < _LEAST_BREAKS or line[0] + line[-1] in ("{}", "[]"):
        return "".join(kept_in_json(text)) or text
    if line[0] == line[-1] == '"':
        try:
            return _text(str(json.loads(line)))
        except ValueError:
            return text
    return _ESCAPE.sub(lambda found: _ESCAPED[found[0]], line) + "\n"
