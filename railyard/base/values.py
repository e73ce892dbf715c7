"""Values that a person or a program writes: names, sizes, times, text made safe to show or to give to a shell.

Of what a person writes it also says how errors show it.

`base.fields` makes field types of these functions. What must start quickly uses them without pydantic's models.

Makes text from outputs harmless to print: removes terminal control codes and whatever XML forbids.
"""

import re
import time
from typing import TYPE_CHECKING, Any

from railyard.base.errors import did_you_mean
from railyard.base.patterns import late_regex

if TYPE_CHECKING:
    from datetime import datetime

    from pydantic_core import PydanticCustomError

#: Where a value is in a file: keys of mappings, and numbers of list items from 0.
Path_ = tuple[str | int, ...]
NAME_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_.:-]*"
_BLANK = late_regex(r"\{([^{}]*)\}")
_SIZE = late_regex(r"([0-9]+)([KMG]?)")
_SIZE_FACTORS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_DURATION = late_regex(r"(?:([0-9]+)d)?(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?")
# Checked in this order. Each has what a shell or a program would do with it.
_REACHES_A_SHELL: tuple[tuple[str, str], ...] = (
    ("$(", 'a shell would run what is in "$("'),
    ("`", "a shell would run what is in backticks"),
    ("$", 'a shell would replace "$"'),
    (";", 'a shell would end its command at ";"'),
    ("\n", "a shell would end its command at the line's end"),
    ("\r", "a terminal would go back to the line's start"),
    ("|", 'a shell would make a pipe of "|"'),
    ("&", 'a shell would end its command at "&"'),
    ("<", 'a shell would read a file at "<"'),
    (">", 'a shell would write a file at ">"'),
    ("'", "a shell would start a quotation"),
    ('"', "a shell would start a quotation"),
    ("\\", "a shell would drop the backslash"),
)


def refuse(found: str, expected: str, action: str = "") -> "PydanticCustomError":
    """Return the error that a check of a value raises. strict_yaml.validate adds file, line and field."""
    from pydantic_core import PydanticCustomError  # it takes longer to import than all else here

    context = {"found": found, "expected": expected, "action": action}
    return PydanticCustomError("refused", "found {found}, expected {expected}", context)


def show(value: object) -> str:
    """Return a value as errors show it: text in quotes, control characters escaped, at most 60 characters."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in value)
        return f'"{escaped}"' if len(escaped) <= 60 else f'"{escaped[:57]}..."'
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list" if value else "an empty list"
    return str(value)


def shell_reason(text: str) -> str | None:
    """Return why a text must not be passed to a shell or program as it is, or None if it may be."""
    if text.startswith("-"):
        return "a program would read it as an option"
    return next((reason for mark, reason in _REACHES_A_SHELL if mark in text), None)


def check_prose(text: str) -> str:
    """Return a sentence with single blanks between its words. Refuse one without words or with control characters."""
    words = " ".join(text.split())
    if not words:
        raise refuse(show(text), "a sentence")
    if not words.isprintable():
        raise refuse(show(text), "text without control characters", "a terminal would obey them")
    return words


def check_pattern(text: str) -> str:
    """Return a regular expression as it is. Refuse text that is none."""
    try:
        re.compile(text)
    except re.error as error:
        raise refuse(show(text), "a regular expression", str(error)) from None
    return text


def check_value(text: str) -> str:
    """Return a text as it is. Refuse one that a terminal or a shell would not take as plain text."""
    if not text.isprintable() or shell_reason(text):
        action = shell_reason(text) or "a terminal would obey control characters"
        raise refuse(show(text), "plain text", action)
    return text


def check_line(text: str) -> str:
    """Return one line of a script without blanks around it. Refuse an empty one, and control characters."""
    if not text.strip():
        raise refuse(show(text), "a line with words")
    if not text.isprintable():
        raise refuse(show(text), "one line without control characters", "a job's script would break at them")
    return text.strip()


def check_blanks(text: str) -> str:
    """Return a text as it is. Refuse blanks that nothing fills."""
    for blank in _BLANK.findall(text):
        if blank not in ("home", "prefix"):
            raise refuse(show(text), "no blanks but {home} and {prefix}", did_you_mean(blank, ("home", "prefix")))
    return text


def parse_size(text: str) -> int | None:
    """Return bytes for "4096", "64K", "1M" or "2G" (binary: K is 1024), or None for anything else."""
    match = _SIZE.fullmatch(text)
    return int(match[1]) * _SIZE_FACTORS[match[2]] if match else None


def check_size(value: Any) -> int:
    """Return the bytes of a number or a text such as "64K". Refuse all else."""
    size = parse_size(value) if isinstance(value, str) else value
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise refuse(show(value), "a message size in bytes, with K, M or G for binary multiples (64K is 65536)")
    return size


def seconds(duration: str) -> int:
    """Return a duration (``1h30m``) in seconds. Raises ValueError for a text that is none."""
    found = _DURATION.fullmatch(duration)
    if found is None or not duration:
        raise ValueError(f"{duration!r} is not a duration")
    return sum(int(count or 0) * unit for count, unit in zip(found.groups(), (86400, 3600, 60, 1), strict=True))


# CSI (ESC [ or C1), the string commands OSC, DCS, SOS, PM and APC with their content, then two-character escapes.
_ESCAPE_SEQUENCE = late_regex(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
)
# The rest of C0 (except tab and newline) and C1; marks that reorder or hide text (bidirectional controls, zero-width
# characters); line separators at which only some readers break; surrogates and non-characters, which XML 1.0 forbids.
_UNPRINTABLE = late_regex(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)


def clean(text: str) -> str:
    """Return the text without escape sequences and control characters. Tabs and newlines stay; ``\\r`` becomes ``\\n``.

    The text is not escaped for HTML or XML: whoever writes it does that. A second call changes nothing.
    """
    # true for nearly all texts; reading a year's results cleans millions
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Removing a character may join two halves of a sequence. So sequences go first, and again until none is left.
    while True:
        cleaned = _UNPRINTABLE.sub("", _ESCAPE_SEQUENCE.sub("", text))
        if cleaned == text:
            return text
        text = cleaned


def one_line(text: str) -> str:
    """Return the cleaned text on one line. Each run of white space becomes one blank."""
    return " ".join(clean(text).split())


#: How records and files write an instant, in UTC and to the second.
UTC_FORM = "%Y-%m-%dT%H:%M:%SZ"


def utc_time(at: "datetime | float | None" = None) -> str:
    """Return an instant as ``2026-11-21T06:00:00Z``: an aware datetime, or seconds since 1970; if left out, now."""
    seconds = time.time() if at is None else at if isinstance(at, int | float) else at.timestamp()
    return time.strftime(UTC_FORM, time.gmtime(seconds))
