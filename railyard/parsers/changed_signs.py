"""Outputs whose signs a chat, an editor or a program's log changed: "＃" for "#", "—" for "---", "\\n" for a new line.

``with_own_signs`` puts back what the tools print. Nothing of it is a figure.
"""

import json
import re

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


def _with_lines(text: str) -> str:
    r"""Return the lines of a text that is one string of JSON, or one line with "\n" in place of its line breaks."""
    line = text.strip()
    if "\n" in line or line.count(r"\n") < _LEAST_BREAKS or line[0] + line[-1] in ("{}", "[]"):
        return text
    if line[0] == line[-1] == '"':
        try:
            read = json.loads(line)
        except ValueError:
            return text
        return str(read).encode("utf-8", "replace").decode("utf-8")  # half of a pair of surrogates
    return _ESCAPE.sub(lambda found: _ESCAPED[found[0]], line) + "\n"
