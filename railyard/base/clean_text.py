"""Text from outputs made harmless to print: no terminal control codes, nothing that XML forbids."""

import re

# CSI (ESC [ or C1), the string commands OSC, DCS, SOS, PM and APC with what they carry, then two-character escapes.
_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
)
# What is left of C0 (but tab and newline) and C1; marks that reorder or hide text (bidirectional controls, zero-width
# characters); line separators that only some readers break at; surrogates and non-characters, which XML 1.0 forbids.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)


def clean(text: str) -> str:
    """Return the text without escape sequences and control characters; tabs and newlines stay, ``\\r`` becomes ``\\n``.

    It is not escaped for HTML or XML: that is the writer's part. Applying it twice changes nothing more.
    """
    if text.isascii() and text.isprintable():  # nearly every text: a reader of a year's results cleans millions
        return text
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Removing one character may join two halves of a sequence, so the sequences go first and again until none is left.
    while True:
        cleaned = _UNPRINTABLE.sub("", _ESCAPE_SEQUENCE.sub("", text))
        if cleaned == text:
            return text
        text = cleaned


def one_line(text: str) -> str:
    """Return the cleaned text on one line, each run of white space a single blank."""
    return " ".join(clean(text).split())
