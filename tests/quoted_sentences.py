"""Which words of verdicts the hand-written pages quote: tests/golden/quoted.txt.

``python -m tests.quoted_sentences`` writes it again, after you have changed a page. Each line has a page and a run of
words that it shares with tests/golden/sentences.txt. If that sentence changes, the golden file has these words no more,
and a test names the page. Only what a page shows as output or quotes counts, without numbers and names that have
digits, and only runs of at least ``LEAST`` words: shorter ones are ordinary English.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.conftest import ROOT
from tests.sentences import PAGE

QUOTED = ROOT / "tests" / "golden" / "quoted.txt"
LEAST = 5
#: Pages that a command writes; other tests hold them equal to what it writes.
GENERATED = ("commands", "faults", "field-cases", "published", "rehearsals", "scoreboard")
_FACT = re.compile(r"\[[^]\n]*\]|\S*\d\S*")
_UNITS = frozenset({"b", "kib", "mib", "mb", "gb", "gbit", "s", "us"})
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
#: What a page shows as output, or quotes: a block, code in a line, and text in quotation marks or italics.
_SHOWN = re.compile(r"```.*?```|`[^`\n]+`|\"[^\"]{10,400}\"|(?<![*\w])\*[^*\n][^*]{10,400}\*", re.DOTALL)

Words = tuple[str, ...]


def pages() -> list[Path]:
    """Return the pages that a person writes."""
    found = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return sorted(page for page in found if page.stem not in GENERATED)


def words_of(text: str) -> Words:
    """Return the words of a text in lower case, without signs, figures, names with digits, and facts in brackets."""
    return tuple(word for word in _WORD.findall(_FACT.sub(" ", text.lower())) if word not in _UNITS)


def _windows_in(said: Words) -> Iterator[Words]:
    return (said[at : at + LEAST] for at in range(len(said) - LEAST + 1))


@cache
def windows() -> frozenset[Words]:
    """Return each ``LEAST`` consecutive words of each line of tests/golden/sentences.txt."""
    written = PAGE.read_text(encoding="utf-8").splitlines()
    return frozenset(window for line in written for window in _windows_in(words_of(line)))


def quotes(text: str) -> Iterator[str]:
    """Yield each longest run of words in what a page shows that sentences have, too."""
    for shown in _SHOWN.findall(text):
        said = words_of(shown)
        known = [window in windows() for window in _windows_in(said)]
        for at, is_known in enumerate(known):
            if is_known and not (at and known[at - 1]):
                end = next((place for place in range(at, len(known)) if not known[place]), len(known))
                yield " ".join(said[at : end + LEAST - 1])


def is_said(quote: str) -> bool:
    """Return whether sentences still have all of these words, one after another."""
    return all(window in windows() for window in _windows_in(tuple(quote.split())))


def lines() -> list[str]:
    """Return the lines of tests/golden/quoted.txt."""
    found = ((page.relative_to(ROOT), page.read_text(encoding="utf-8")) for page in pages())
    return [f"{page}: {quote}" for page, text in found for quote in dict.fromkeys(quotes(text))]


if __name__ == "__main__":
    QUOTED.write_text("".join(f"{line}\n" for line in lines()), encoding="utf-8")
