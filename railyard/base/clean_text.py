"""Makes text from outputs harmless to print: removes terminal control codes and whatever XML forbids."""

import re

# CSI (ESC [ or C1), the string commands OSC, DCS, SOS, PM and APC with their content, then two-character escapes.
_ESCAPE_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]"
)
# The rest of C0 (except tab and newline) and C1; marks that reorder or hide text (bidirectional controls, zero-width
# characters); line separators at which only some readers break; surrogates and non-characters, which XML 1.0 forbids.
_UNPRINTABLE = re.compile(
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
