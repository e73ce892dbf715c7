"""Outputs whose lines were filled to paragraphs, as ``fmt -w`` does, give an error or the right figures."""

from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.parsers.detect import parse
from railyard.parsers.output import ParseError
from tests.parsers.test_broken_lines import LONGEST, SAMPLES, name_of, read, text_of, wrong_figures

WIDTHS = range(40, 201)


def fill_paragraphs(text: str, width: int, keeps_blanks: bool = True) -> str:
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
        if (found := silently_wrong(fill_paragraphs(text, width, keeps_blanks), path))
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
    parsed = read(fill_paragraphs(text_of(path), width, keeps_blanks))
    assert parsed.failures
    assert not parsed.tables


def test_the_failure_names_the_first_joined_line() -> None:
    text = text_of(Path(__file__).parent / "made" / "netpipe-tcp.txt")
    parsed = parse(fill_paragraphs(text, 120))
    assert parsed.tables == ()
    (failure,) = [each for each in parsed.failures if "joined" in each.text]
    assert failure.text.startswith(
        'two lines are joined, as fmt does, so that figures may be lost (paste the output with its own lines): found "'
    )
    assert " bytes " in fill_paragraphs(text, 120).splitlines()[failure.line - 1]


ONE_LINE = (
    "# OSU MPI Bandwidth Test v7.4 # Size Bandwidth (MB/s) 1 3.2 2 6.4 4 12.8",
    "#bytes #repetitions t[usec] Mbytes/sec 0 1000 1.21 0.00 1 1000 1.22 0.82 2 1000 1.23 1.63",
    "#bytes #iterations BW peak[MB/sec] BW average[MB/sec] MsgRate[Mpps] 65536 1000 11600.1 11599.9 0.185598",
    "0: 1 bytes 9712 times --> 0.62 Mbps in 12.34 usec 1: 2 bytes 8103 times --> 1.23 Mbps in 12.41 usec",
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 16 # size count type redop root time algbw busbw #wrong "
    "8 2 float sum -1 21.3 0.00 0.00 0 16 4 float sum -1 21.4 0.00 0.00 0 # Avg bus bandwidth : 0.001",
)
NO_BREAKS = "all lines are joined in one: paste it with its line breaks"


@pytest.mark.parametrize("text", ONE_LINE)
@pytest.mark.parametrize("end", ["", "\n"])
def test_an_output_in_one_line_is_an_error_that_says_so(text: str, end: str) -> None:
    for before in ("", "Is this slow?\n\n", "> "):
        with pytest.raises(ParseError, match=NO_BREAKS) as caught:
            parse(f"{before}{text}{end}")
        assert caught.value.line_number == 1 + before.count("\n")


def test_written_line_breaks_below_other_words_are_an_error_too() -> None:
    with pytest.raises(ParseError, match=NO_BREAKS):
        parse("Is this slow?\n\n# OSU MPI Bandwidth Test v7.4\\n# Size Bandwidth (MB/s)\\n1 3.2\\n2 6.4\n")


@pytest.mark.parametrize("between", [" ", ""])
@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_a_sample_in_one_line_gives_no_table(path: Path, between: str) -> None:
    text = text_of(path)
    if len(text) > LONGEST or text.lstrip().startswith("{"):  # JSON has no need of lines
        pytest.skip("longer than anybody copies, or JSON")
    try:
        parsed = read(between.join(text.split("\n")))
    except (RailyardError, ParseError):
        return
    assert parsed.tables == ()


def test_a_failure_in_one_line_stays_the_cause() -> None:
    text = (
        "mpirun was unable to launch the specified application: node01 # OSU MPI Latency Test v5.8 # Size Latency (us) "
        "0 1.01 1 1.02 2 1.03"
    )
    assert "unable to launch" in parse(text).failures[0].text


def test_prose_with_figures_of_a_benchmark_is_no_joined_output() -> None:
    with pytest.raises(ParseError) as caught:
        parse("We ran the OSU MPI Bandwidth Test on 2 nodes and saw 3.2 and 6.4 GB/s at 4 MiB.\n")
    assert NO_BREAKS not in str(caught.value)
