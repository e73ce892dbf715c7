"""Lines broken at a column give an error that names the line, or the right value: never half of a figure."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.parsers.detect import parse
from railyard.parsers.parsed import Parsed, ParseError

TESTS = Path(__file__).parents[1]
SHARED = TESTS.parents[1] / "shared"
LONGEST = 60_000  # characters: nobody copies more out of a terminal
COLUMNS = range(40, 201)
Figures = set[tuple[object, object]]


def _samples() -> Iterator[Path]:
    for folder in (TESTS / "parsers" / "made", TESTS / "recordings"):
        yield from (path for path in sorted(folder.iterdir()) if path.suffix in (".txt", ".out"))


SAMPLES = tuple(_samples())


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def broken(text: str, column: int) -> str:
    """Return a text as `fold` breaks it."""
    lines = (line[at : at + column] for line in text.split("\n") for at in range(0, max(1, len(line)), column))
    return "\n".join(lines)


def figures(parsed: Parsed) -> Figures:
    """Return each number of each table with the size of its row."""
    found: Figures = set()
    for table in parsed.tables:
        sized = "size" in table.columns
        for row in table.rows:
            size = row[table.columns.index("size")] if sized else None
            found |= {(size, cell) for cell in row if isinstance(cell, int | float) and not isinstance(cell, bool)}
    return found


def wrong_figures(text: str, whole: Figures, cells: int) -> Figures:
    """Return figures that the whole text does not have, of a broken text that shows no sign of it.

    If no figure is wrong but some of this many are missing, return ("missing", how many there are).
    """
    try:
        parsed = parse(text)
    except ParseError:
        return set()
    if parsed.failures or (parsed.tables and not any(table.complete for table in parsed.tables)):
        return set()
    values = {value for _, value in whole}  # a size may be lost with its heading
    wrong = {(size, value) for size, value in figures(parsed) - whole if size is not None or value not in values}
    return wrong or ({("missing", count(parsed))} if count(parsed) < cells else set())


def count(parsed: Parsed) -> int:
    """Return how many cells have a value."""
    return sum(cell is not None for table in parsed.tables for row in table.rows for cell in row)


def check(path: Path, columns: range) -> None:
    text = text_of(path)
    try:
        parsed = parse(text)
    except RailyardError:
        pytest.skip("no output of a tool by itself")
    assert not [failure for failure in parsed.failures if "broken at column" in failure.text]
    if len(text) > LONGEST:
        pytest.skip("longer than anybody copies")
    whole, cells = figures(parsed), count(parsed)
    wrong = {column: wrong_figures(broken(text, column), whole, cells) for column in columns}
    # without the line that names its mode, "under-load", sockperf's two counts of lost messages are not read
    wrong.pop(55 if path.name.startswith("sockperf-under-load") else 0, None)
    assert {column: found for column, found in wrong.items() if found} == {}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_broken_sample_gives_no_wrong_figure(path: Path) -> None:
    check(path, COLUMNS[sum(path.name.encode()) % 40 :: 40])


@pytest.mark.full
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_a_sample_broken_at_any_column_gives_no_wrong_figure(path: Path) -> None:
    check(path, COLUMNS)


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
    (failure,) = parsed.failures
    assert failure.line == 5
    assert failure.text.startswith(
        "lines that are broken at column 66, so that figures may be halves (paste it without line breaks): 65536"
    )


def test_a_text_that_no_parser_knows_because_it_is_broken_says_so() -> None:
    with pytest.raises(ParseError) as caught:
        parse(broken(OSU, 24))
    assert str(caught.value) == (
        "line 1: found '# OSU MPI Latency Test v', expected whole lines: they are broken at column 24; paste it "
        "without line breaks"
    )


def indented(text: str, column: int) -> str:
    """Return a text as a terminal breaks it that indents what follows."""
    made = []
    for line in text.split("\n"):
        while len(line) > column:
            made.append(line[:column])
            line = f"    {line[column:]}"
        made.append(line)
    return "\n".join(made)


def at_blanks(text: str, column: int) -> str:
    """Return a text as a mailer breaks it: at the last blank before the column."""
    made = []
    for line in text.split("\n"):
        while len(line) > column and line[: line.rfind(" ", 0, column + 1)].strip():
            place = line.rfind(" ", 0, column + 1)
            made.append(line[:place])
            line = line[place:].lstrip()
        made.append(line)
    return "\n".join(made)


@pytest.mark.parametrize("broken_by", [indented, at_blanks])
@pytest.mark.parametrize(
    "name", ["perftest-use_cuda", "iperf3-one-stream", "sockperf-ping-pong", "npb-cg-and-mg", "osu-mbw_mr-and-latency"]
)
def test_indented_lines_and_lines_broken_at_blanks_give_no_wrong_figure(
    name: str, broken_by: Callable[[str, int], str]
) -> None:
    text = text_of(TESTS / "parsers" / "made" / f"{name}.txt")
    parsed = parse(text)
    whole, cells = figures(parsed), count(parsed)
    wrong = {column: wrong_figures(broken_by(text, column), whole, cells) for column in (60, 66, 72, 76, 80)}
    assert {column: found for column, found in wrong.items() if found} == {}


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
