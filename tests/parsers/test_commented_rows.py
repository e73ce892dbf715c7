"""Rows that are commented out: an error that names the line, never a table that looks whole without its slow rows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.parsers import TOOLS
from railyard.parsers.detect import parse
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.parsers.wrong_lines import with_wrong_lines
from tests.made.words import at_line
from tests.parsers.samples import samples
from tests.parsers.test_unread_rows import TABLES

MARKS = ("# ", "#", "  #  ", "// ", "//", "-- ", "% ", "; ", "# # ", "rem ")
WHAT = "a row that is commented out"


def read(text: str) -> ParsedOutput:
    return with_wrong_lines(parse(text), text)


def append_row(head: str, row: str) -> str:
    return f"{head}{row}\n"


def insert_row(head: str, row: str) -> str:
    lines = head.splitlines(True)
    return "".join((*lines[:-1], f"{row}\n", lines[-1]))


@pytest.mark.parametrize("place", [append_row, insert_row])
@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("name", TABLES)
def test_a_row_that_is_commented_out_fails_its_table(name: str, mark: str, place: Callable[[str, str], str]) -> None:
    head, row = TABLES[name]
    text = place(head, mark + row.replace("FIGURE", "2884.24").strip())
    parsed = read(text)
    (failure,) = [each for each in parsed.failures if WHAT in each.text]
    assert mark.strip() in text.splitlines()[failure.line - 1]
    assert not any(table.complete for table in parsed.tables)


def test_the_failure_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "osu_bw.out"
    head, _ = TABLES["osu"]
    file.write_text(f"{head}65536     11000.00\n#1048576   2884.24   # slow\n", encoding="utf-8")
    assert main(["judge", str(file), "--link", "ib-edr"]) == 1
    said = " ".join(capsys.readouterr().out.split())
    row = 'a row that is commented out: found "#1048576 2884.24 # slow", expected it without the mark'
    assert f"{at_line(6)}{row}" in said


@pytest.mark.parametrize(
    "line", ["# Size 2", "# 17 nodes in 2 racks", "# took 12.5 s", "# OSU v7.3", "#", "# 4096", "#-----", "# job 1.5"]
)
def test_a_comment_is_no_row(line: str) -> None:
    head, _ = TABLES["osu"]
    assert read(f"{head}{line}\n65536     11000.00\n").failures == ()


@pytest.mark.parametrize(
    ("tool", "row"),
    [
        ("fabtests", "64      10 "),
        ("gpcnet", "|          RR Two-sided Lat"),
        ("hp2p", "Min bandwidth "),
        ("hpl", "WR"),
        ("iperf2", "[  3]  0.0-10.0 sec"),
        ("milc", "CONGRAD5"),
        ("nccl", " 8 "),
        ("netpipe", "  3: "),
        ("npb", " Time in seconds"),
        ("ucx_perftest", "[thread 0]"),
    ],
)
def test_no_tool_loses_a_row_to_a_comment_mark_silently(tool: str, row: str) -> None:
    is_found = False
    for name, text in ((name, text) for of, name, text in samples() if of == tool and tool in TOOLS):
        place = next((at for at, line in enumerate(text.splitlines()) if line.strip().startswith(row.strip())), None)
        if place is None or len(text) > 20_000 or not read(text).tables:
            continue
        lines = text.splitlines(True)
        changed = "".join((*lines[:place], "# ", *lines[place:]))
        try:
            parsed = read(changed)
        except ParseError:
            continue
        is_found = True
        lost = cells(read(text)) - cells(parsed)
        assert not lost or any(WHAT in each.text for each in parsed.failures) or not_whole(parsed), name
    assert is_found


def cells(parsed: ParsedOutput) -> int:
    return sum(cell is not None for table in parsed.tables for row in table.rows for cell in row)


def not_whole(parsed: ParsedOutput) -> bool:
    return bool(parsed.failures) or not all(table.complete for table in parsed.tables)


@pytest.mark.parametrize("mark", MARKS)
@pytest.mark.parametrize("name", ["osu", "imb", "perftest"])
def test_a_row_of_whole_numbers_that_is_commented_out_fails_its_table(name: str, mark: str) -> None:
    head, row = TABLES[name]
    words = [word.partition(".")[0] for word in row.replace("FIGURE", "2884").split()]
    text = f"{head}{mark}{' '.join(words)}\n{mark}{words[0]}0 {' '.join(words[1:])}\n"
    parsed = read(text)
    lines = [each.line for each in parsed.failures if WHAT in each.text]
    assert lines == [len(text.splitlines()) - 1, len(text.splitlines())]
    assert not any(table.complete for table in parsed.tables)
