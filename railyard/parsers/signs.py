"""Whether a text can be a tool's at all, by a few words of the tool, before a line of it is read.

Every parser begins with it, since ``railyard parse`` asks all of them whose output a text is: the tools that did not
print it say no at the speed of a search.
"""

import re
from collections.abc import Sequence

from railyard.parsers.lines import cleaned, first_line
from railyard.parsers.parsed import ParseError

Sign = str | re.Pattern[str]


def own_text(text: str, signs: Sequence[Sign], expected: str) -> str:
    """Return the text, ``cleaned``, where it holds one of the tool's signs; with one it may be foreign all the same.

    Signs are in lower case, the text's case is of no account; a newline at a sign's beginning is a line's beginning.
    Raises ParseError, which says what was expected, for a text without any: none of its lines can be the tool's.
    """
    plain = cleaned(text)
    folded = f"\n{plain.lower()}"
    if not any(_holds(folded, sign) for sign in signs):
        raise foreign(plain, expected)
    return plain


def foreign(text: str, expected: str) -> ParseError:
    """Return the error of a text that is none of the tool's: it shows the first line that is not blank."""
    first = first_line(text)
    return ParseError(first.number, first.text, expected)


def _holds(folded: str, sign: Sign) -> bool:
    return sign in folded if isinstance(sign, str) else sign.search(folded) is not None
