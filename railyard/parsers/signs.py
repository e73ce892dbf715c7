"""Whether a text can be a tool's at all, by a few words of the tool, before a line of it is read.

Every parser begins with it, since ``railyard parse`` asks all of them whose output a text is: the tools that did not
print it say no at the speed of a search.
"""

from collections.abc import Callable, Sequence

from railyard.parsers.lines import CleanText, cleaned, first_line
from railyard.parsers.parsed import ParseError

#: What a text in lower case holds, or a search in it.
Sign = str | Callable[[str], object]
_BEGINNING = 2**16  # characters: nearly every output shows there whose it is


def own_text(text: str, signs: Sequence[Sign], expected: str) -> CleanText:
    """Return the text, ``cleaned``, where it holds one of the tool's signs; with one it may be foreign all the same.

    Signs are in lower case, the text's case is of no account; a newline at a sign's beginning is a line's beginning.
    Raises ParseError, which says what was expected, for a text without any: none of its lines can be the tool's.
    """
    plain = cleaned(text)
    if not (_holds(f"\n{plain[:_BEGINNING].lower()}", signs) or _holds(plain.folded, signs)):
        raise foreign(plain, expected)
    return plain


def foreign(text: str, expected: str) -> ParseError:
    """Return the error of a text that is none of the tool's: it shows the first line that is not blank."""
    first = first_line(text)
    return ParseError(first.number, first.text, expected)


def _holds(folded: str, signs: Sequence[Sign]) -> bool:
    return any(sign in folded if isinstance(sign, str) else sign(folded) for sign in signs)
