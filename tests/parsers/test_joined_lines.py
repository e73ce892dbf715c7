"""Outputs whose lines were filled to paragraphs, as ``fmt -w`` does, give an error or the right figures."""

from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.parsers.detect import parse
from railyard.parsers.parsed import ParseError
from tests.parsers.test_broken_lines import LONGEST, SAMPLES, name_of, read, text_of, wrong_figures

WIDTHS = range(40, 201)


def filled(text: str, width: int, keeps_blanks: bool = True) -> str:
    """Return a text with its paragraphs filled: lines of one indentation are joined, and broken before the width.

    GNU's ``fmt`` keeps the blanks between words, others do not.
    """
    made: list[str] = []
    paragraph: list[str] = []
    indent = ""
    for line in [*text.expandtabs().split("\n"), ""]:
        here = line[: len(line) - len(line.lstrip())]
        if paragraph and (not line.strip() or here != indent):
            made += _lines_of(" ".join(paragraph), indent, width, keeps_blanks)
            paragraph = []
        if line.strip():
            indent = here
            paragraph.append(line.strip())
        else:
            made.append("")
    return "\n".join(made)


def _lines_of(paragraph: str, indent: str, width: int, keeps_blanks: bool) -> list[str]:
    lines, line = list[str](), ""
    for word in paragraph.split(" ") if keeps_blanks else paragraph.split():
        if line.strip() and word and len(indent) + len(line) + 1 + len(word) > width:
            lines.append(f"{indent}{line.rstrip()}")
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, f"{indent}{line.rstrip()}"]


def check(path: Path, step: int) -> None:
    text = text_of(path)
    if len(text) > LONGEST:
        pytest.skip("longer than anybody copies")
    try:
        whole = read(text)
    except (RailyardError, ParseError):
        pytest.skip("no output of a tool by itself")
    assert not [failure for failure in whole.failures if "two lines are joined" in failure.text]
    begin = sum(path.name.encode()) % step
    wrong = {
        (width, keeps_blanks): found
        for width in WIDTHS[begin::step]
        for keeps_blanks in (True, False)
        if (found := silently_wrong(filled(text, width, keeps_blanks), path))
    }
    assert wrong == {}


def silently_wrong(text: str, path: Path) -> object:
    """Return the figures that are wrong or missing without a word; a text without any table shows that by itself."""
    try:
        parsed = read(text)
    except ParseError:
        return None
    return wrong_figures(text, read(text_of(path))) if parsed.tables else None


@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_a_filled_sample_gives_no_wrong_figure_and_loses_none_silently(path: Path) -> None:
    check(path, step=40)


@pytest.mark.parametrize(
    ("name", "width", "keeps_blanks"),
    [
        ("hpl-two-sizes.txt", 58, True),
        ("iperf2-two-streams-2.1.txt", 61, False),
        ("iperf2-udp.txt", 52, False),
        ("hp2p-two-summaries.txt", 43, True),
        ("imb-exchange-4-ranks.txt", 46, True),
    ],
)
def test_a_width_at_which_a_figure_was_once_lost_or_wrong(name: str, width: int, keeps_blanks: bool) -> None:
    path = next(path for path in SAMPLES if name_of(path) == name)
    parsed = read(filled(text_of(path), width, keeps_blanks))
    assert parsed.failures
    assert not parsed.tables


def test_the_failure_names_the_first_joined_line() -> None:
    text = text_of(Path(__file__).parent / "made" / "netpipe-tcp.txt")
    parsed = parse(filled(text, 120))
    assert parsed.tables == ()
    (failure,) = [each for each in parsed.failures if "joined" in each.text]
    assert failure.text.startswith(
        'two lines are joined, as fmt does, so that figures may be lost (paste the output with its own lines): found "'
    )
    assert " bytes " in filled(text, 120).splitlines()[failure.line - 1]
