"""Lines broken at a column or at blanks give an error that names the line, or the right value: never half of a figure.

"Right" is what the unbroken text gives: the same figures in the same columns, and none of them lost without a word.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.parsers.detect import parse
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.parsers.wrong_lines import with_wrong_lines

TESTS = Path(__file__).parents[1]
SHARED = TESTS.parents[1] / "shared"
LONGEST = 60_000  # characters: nobody copies more out of a terminal
COLUMNS = range(40, 201)
Figures = set[tuple[object, str, object]]  # size, column, value


def _texts(*folders: Path) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in sorted(folder.rglob("*")) if path.suffix in (".txt", ".out", ".log"))


SAMPLES = tuple(_texts(TESTS / "parsers" / "made", TESTS / "recordings"))
GENUINE = tuple(_texts(SHARED / "corpus", SHARED / "recordings"))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def break_lines(text: str, column: int) -> str:
    """Return a text as `fold` breaks it."""
    lines = (line[at : at + column] for line in text.split("\n") for at in range(0, max(1, len(line)), column))
    return "\n".join(lines)


def break_and_indent(text: str, column: int) -> str:
    """Return a text as a terminal breaks it that indents what follows."""
    made = []
    for line in text.split("\n"):
        while len(line) > column:
            made.append(line[:column])
            line = f"    {line[column:]}"
        made.append(line)
    return "\n".join(made)


def fold_words(text: str, column: int) -> str:
    """Return a text as `fold -s` breaks it: behind the last blank before the column, a longer word at the column."""
    made = []
    for line in text.split("\n"):
        while len(line) > column:
            place = line.rfind(" ", 0, column) + 1
            place = place if line[:place].strip() else column
            made.append(line[:place])
            line = line[place:]
        made.append(line)
    return "\n".join(made)


def at_blanks(text: str, column: int, indent: str = "") -> str:
    """Return a text as a mailer breaks it: at the last blank before the column, a longer word is left whole."""
    made = []
    for line in text.split("\n"):
        while len(line) > column:
            place = line.rfind(" ", 0, column + 1)
            place = place if place >= 0 and line[:place].strip() else line.find(" ", column)
            if place < 0:
                break
            made.append(line[:place].rstrip())
            line = indent + line[place:].lstrip()
        made.append(line)
    return "\n".join(made)


def at_blanks_indented(text: str, column: int) -> str:
    return at_blanks(text, column, "    ")


WAYS: tuple[Callable[[str, int], str], ...] = (break_lines, break_and_indent, fold_words, at_blanks, at_blanks_indented)


@lru_cache(maxsize=8)  # a changed text is asked about twice in a row, the whole one again and again
def read(text: str) -> ParsedOutput:
    return with_wrong_lines(parse(text), text)


def figures(parsed: ParsedOutput) -> Figures:
    """Return each number of each table with its column and the size of its row."""
    found: Figures = set()
    for table in parsed.tables:
        sized = "size" in table.columns
        for row in table.rows:
            size = row[table.columns.index("size")] if sized else None
            cells = zip(table.columns, row, strict=True)
            found |= {(size, name, cell) for name, cell in cells if type(cell) in (int, float)}
    return found


def wrong_figures(text: str, whole: ParsedOutput) -> Figures:
    """Return figures that the whole text does not have, of a broken text that shows no sign of it.

    If no figure is wrong but some are missing, return ("missing", how many there are).
    """
    try:
        parsed = read(text)
    except ParseError as error:
        assert error.line_number > 0
        return set()
    told = {first_letters(failure.text) for failure in whole.failures}
    if any(first_letters(failure.text) not in told for failure in parsed.failures):
        return set()
    if any(table.complete for table in whole.tables) and not any(table.complete for table in parsed.tables):
        assert parsed.tables
        return set()
    wrong = figures(parsed) - figures(whole)
    return wrong or ({(None, "missing", count(parsed))} if count(parsed) < count(whole) else set())


def first_letters(text: str) -> str:
    """Return the first letters of a failure, without blanks and numbers: the same failure may be broken, too."""
    return "".join(filter(str.isalpha, text))[:25]


def count(parsed: ParsedOutput) -> int:
    """Return how many cells have a value."""
    return sum(cell is not None for table in parsed.tables for row in table.rows for cell in row)


def check(path: Path, step: int = 1) -> None:
    """Break a sample in every way: at every column, or at one of ``step``, another one in each way and sample."""
    text = text_of(path)
    try:
        whole = read(text)
    except (RailyardError, ParseError):
        pytest.skip("no output of a tool by itself")
    assert not [failure for failure in whole.failures if "broken at column" in failure.text]
    if len(text) > LONGEST:
        pytest.skip("longer than anybody copies")
    begin = sum(path.name.encode())
    wrong = {
        (way.__name__, column): wrong_figures(other, whole)
        for place, way in enumerate(WAYS)
        for column in COLUMNS[(begin + 7 * place) % step :: step]
        if (other := way(text, column)) != text
    }
    assert {place: found for place, found in wrong.items() if found} == {}


def name_of(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_a_broken_sample_gives_no_wrong_figure_and_loses_none_silently(path: Path) -> None:
    check(path, step=50)


@pytest.mark.full
@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_a_sample_broken_at_any_column_gives_no_wrong_figure_and_loses_none_silently(path: Path) -> None:
    check(path)


@pytest.mark.full
@pytest.mark.parametrize("path", GENUINE, ids=name_of)
def test_a_genuine_output_broken_at_many_columns_gives_no_wrong_figure(path: Path) -> None:
    check(path, step=5)


OSU = """\
# OSU MPI Latency Test v7.4
# Datatype: MPI_CHAR.
# Size       Avg Latency(us)
1                      15.64
2                      15.63
4                      15.66
1048576               286.80
"""
PERFTEST = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      5000             11012.40            11011.96		   0.176191
---------------------------------------------------------------------------------------
"""


def test_the_failure_names_the_line_and_there_is_no_table() -> None:
    parsed = parse(PERFTEST.replace("0.176191", "0.17\n6191"))  # only the row was broken: rules and heading fit
    assert parsed.tables == ()
    heading, failure = parsed.failures  # 0.17 lacks decimals, so its row is none
    assert (heading.line, heading.text) == (4, "a heading without any row: ib_write_bw")
    assert failure.line == 5
    assert failure.text.startswith(
        "lines that are broken at column 66, so that figures may be halves (paste it without line breaks): 65536"
    )


def test_a_text_that_no_parser_knows_because_it_is_broken_says_so() -> None:
    with pytest.raises(ParseError) as caught:
        parse(break_lines(OSU, 24))
    assert str(caught.value) == (
        "line 1: found '# OSU MPI Latency Test v', expected whole lines: they are broken at column 24; paste it "
        "without line breaks"
    )


@pytest.mark.parametrize("way", [break_lines, fold_words, at_blanks])
@pytest.mark.parametrize(
    "path",
    [
        TESTS / "recordings" / "imb2021.11-PingPong-mpich5.0.2-veth.out",
        TESTS / "parsers" / "made" / "imb-exchange-4-ranks.txt",
        TESTS / "parsers" / "made" / "perftest-send_lat.txt",
    ],
    ids=name_of,
)
def test_no_benchmark_is_named_by_half_at_narrow_columns(path: Path, way: Callable[[str, int], str]) -> None:
    text = text_of(path)
    names = {table.benchmark for table in read(text).tables}
    for column in range(16, 40):
        try:
            parsed = read(way(text, column))
        except ParseError as error:
            assert error.line_number > 0
            continue
        assert {table.benchmark for table in parsed.tables} <= names | {None}


def test_whole_rows_of_one_length_are_not_taken_for_broken_ones() -> None:
    for text in (OSU, PERFTEST):
        assert parse(text).failures == ()
        assert len(parse(text).tables) == 1


def test_a_number_that_a_script_prints_behind_a_row_is_no_part_of_it() -> None:
    assert parse(OSU + "7\n").failures == ()


@pytest.mark.parametrize("name", ["hpl_wrap53", "perftest_wrap", "osu_lat_wrap24"])
def test_genuine_broken_texts_give_no_figure(name: str) -> None:
    path = SHARED / "field" / f"wrap-or-number-{name}.txt"
    if not path.exists():
        pytest.skip("the folder of field cases is not beside the clone")
    parsed = parse(text_of(path))
    assert parsed.tables == ()
    assert any("broken at column" in failure.text for failure in parsed.failures)
