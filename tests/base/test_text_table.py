"""Tables of text: no line wider than asked where words can fold, and nothing lost."""

from collections.abc import Iterable, Sequence

import pytest

from railyard.base.terminal import table

HEADS = ("fabric", "benchmark", ("price of a node", "price\na node"), "verdict")
ROWS = (
    ("hsn", "perftest/ib_write_bw/loopback", "1450 USD", "pass, replayed"),
    ("edr", "hpl/hpl", "99 USD", "fail (rule 4)"),
)
RIGHT, WORDS = (2,), (0, 1, 3)

WIDE = """\
fabric  benchmark                      price of a node  verdict
──────────────────────────────────────────────────────────────────────
hsn     perftest/ib_write_bw/loopback         1450 USD  pass, replayed
edr     hpl/hpl                                 99 USD  fail (rule 4)"""

FOLDED = """\
fabric benchmark                price verdict
                               a node
────────────────────────────────────────────────────
hsn    perftest/ib_write_bw/ 1450 USD pass, replayed
       loopback
edr    hpl/hpl                 99 USD fail (rule 4)"""


def test_a_table_that_fits_is_not_folded() -> None:
    assert table(HEADS, ROWS, 70, right=RIGHT, words=WORDS) == WIDE.splitlines()


def test_the_widest_column_of_words_folds_first() -> None:
    assert table(HEADS, ROWS, 55, right=RIGHT, words=WORDS) == FOLDED.splitlines()


@pytest.mark.parametrize("width", [34, 38, 45, 60, 100])
def test_no_line_is_wider_and_no_letter_is_lost(width: int) -> None:
    lines = table(HEADS, ROWS, width, right=RIGHT, words=WORDS)
    assert max(map(len, lines)) <= width
    assert letters(lines[-_body(lines) :]) == letters(cell for row in ROWS for cell in row)


def test_a_column_that_says_nothing_is_left_out_of_a_table_that_is_too_wide() -> None:
    heads, rows = ("a", "split", "b"), [("12345", "–", "1"), ("67890", "–", "2")]
    assert table(heads, rows, 11, optional=(1,)) == ["a      b", "─" * 8, "12345  1", "67890  2"]
    assert table(heads, rows, 20, optional=(1,))[0] == "a      split  b"
    assert table(heads, [*rows, ("1", "50", "3")], 11, optional=(1,))[0] == "a     split b"


def test_what_cannot_be_folded_stays_whole() -> None:
    assert table(("a", "b"), [("12345678", "87654321")], 10) == ["a        b", "─" * 17, "12345678 87654321"]


def test_the_last_cell_of_a_row_is_written_in_its_style() -> None:
    assert table(("a", "b"), [("1", "ok"), ("2", "no")], 20, styles=("32", None))[-2:] == [
        "1  \x1b[32mok\x1b[0m",
        "2  no",
    ]


def letters(texts: Iterable[str]) -> list[str]:
    return sorted("".join("".join(text.split()) for text in texts))


def _body(lines: Sequence[str]) -> int:
    return len(lines) - 1 - next(number for number, line in enumerate(lines) if line.startswith("─"))
