"""Rows of figures that no parser read: the sentence says that they are there, and why they were not read."""

from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.parsers import detect, osu
from railyard.parsers.output import ParsedOutput, Remark
from railyard.parsers.unread_rows import unread_rows, without_lost_rows, without_unannounced_rows
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.results.report.output_text import parsed_text
from tests.made.words import at_line

HEADING = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n"
UNFIT = f"{HEADING}1        fast    1.60\n2        fast    3.10\n"


def test_rows_that_do_not_fit_their_heading_are_named() -> None:
    parsed = osu.parse(UNFIT)
    why = (
        '2 lines with figures are among the remarks, first line 3, "1 fast 1.60", but they do not have the columns '
        "that the heading in line 1 announces"
    )
    assert unread_rows(parsed) == why
    assert f"no table: {why}\n" in parsed_text(parsed, width=400)


@pytest.mark.parametrize("separator", [",", ";", ", "])
def test_rows_of_a_spreadsheet_are_named_as_such(separator: str) -> None:
    rows = "".join(f"{1 << at}{separator}{7.99 * (1 << at):.2f}\n" for at in range(4))
    said = unread_rows(osu.parse("# OSU MPI Bandwidth Test v7.3\n# Size,Bandwidth (MB/s)\n" + rows))
    assert said is not None
    assert said.startswith("4 lines with figures are among the remarks, first line 3, ")
    assert said.endswith("but commas or semicolons separate them: paste the output as its tool prints it, with blanks")


def test_rows_without_a_heading_are_named() -> None:
    parsed = ParsedOutput(remarks=(Remark(7, "vn1 is up"), Remark(9, "4194304 1000 11034.57")))
    assert unread_rows(parsed) == (
        '1 line with figures is among the remarks, first line 9, "4194304 1000 11034.57", but no heading above them '
        "says what they measure"
    )


@pytest.mark.parametrize(
    "text",
    ["vn1 is up", "12 nodes", "2026-11-28 05:29:42", "rank 0 of 16 on 2 nodes", "", "1", "3 of 4 nodes answered 17"],
)
def test_prose_is_no_row(text: str) -> None:
    assert unread_rows(ParsedOutput(remarks=(Remark(1, text),))) is None


def test_nothing_measured_is_said_only_if_there_are_no_figures() -> None:
    assert "no table: nothing was measured, or nothing of it was printed\n" in parsed_text(osu.parse(HEADING))


def test_judge_says_it_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "osu_bw.out"
    file.write_text(UNFIT, encoding="utf-8")
    assert main(["judge", str(file), "--link", "ib-edr"]) == 1
    assert (
        "  FAIL  Line 1 of the output: a heading without any row: osu_bw\n"
        "  found: the output has no table (2 lines with figures are among the remarks, first line 3, "
        '"1 fast 1.60", but they do not have the columns that the heading in line 1 announces) and reports 1 failure, '
        f'{at_line(1)}a heading without any row: osu_bw"\n'
    ) in capsys.readouterr().out


#: A table of each form with rows up to 32 KiB, and its next row; FIGURE is what someone marked in it.
RULE = "-" * 87
TABLES = {
    "perftest": (
        f"""{RULE}
                    RDMA_Write BW Test
{RULE}
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 16384      5000             10430.17           10388.62\t\t   0.664872
 32768      5000             10977.58           10933.84\t\t   0.349883
""",
        " 65536      5000             2818.35            FIGURE\t\t   0.044914",
    ),
    "perftest latency": (
        f"""{RULE}
                    RDMA_Write Latency Test
{RULE}
 #bytes        #iterations       t_min[usec]    t_max[usec]  t_typical[usec]
 16384   1000          3.12           5.01         3.20
 32768   1000          4.55           6.10         4.61
""",
        " 65536   1000          32.03          62.73        FIGURE",
    ),
    "osu": (
        "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n16384      9614.74\n32768     10715.15\n",
        "65536      FIGURE",
    ),
    "osu pairs": (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v5.9\n# [ pairs: 4 ] [ window size: 64 ]\n"
        "# Size                  MB/s        Messages/s\n16384    12100.00    738525.39\n32768  12100.00  369262.70\n",
        "65536      FIGURE      46157.84",
    ),
    "imb": (
        "# Benchmarking Uniband\n# #processes = 2\n       #bytes #repetitions   Mbytes/sec      Msg/sec\n"
        "        16384         1000      9614.74       586837\n        32768         1000     10715.15       327001\n",
        "        65536          640      FIGURE        43356",
    ),
    "cxi": (
        "CXI RDMA Write Bandwidth Test\nRDMA Size[B]     Writes  BW[MB/s]  PktRate[Mpkt/s]\n"
        "       16384      256000  20850.12        10.180723\n       32768      256000  23850.12        11.645566\n",
        "       65536      256000  FIGURE        11.645566",
    ),
}
MARKED = (
    *("**2807.12**", "<b>2807.12</b>", "(2807.12)", "~2807.12", "2807.12*", "2807.12?", "2807.12MB/s", "-", "N/A"),
    *("******", "2,807.12", "2'807.12", "2_807.12", "0x10", "1.2.3", "ERR"),
)


@pytest.mark.parametrize("figure", MARKED)
@pytest.mark.parametrize("tool", TABLES)
def test_a_last_row_whose_figure_cannot_be_read_fails_its_table(tool: str, figure: str) -> None:
    table, row = TABLES[tool]
    text = f"{table}{row.replace('FIGURE', figure)}\n"
    parsed = with_wrong_lines(detect.parse(text), text)
    line = text.count("\n")
    said = next(failure.text for failure in parsed.failures if failure.line == line)
    assert said.startswith('a row that cannot be read: found "65536 ')
    assert said.endswith(f'expected plain numbers, such as 1234.56, in place of "{figure[:60]}"')
    assert not parsed.tables[0].complete
    assert all(remark.line != line for remark in parsed.remarks)


@pytest.mark.parametrize("figure", MARKED)
@pytest.mark.parametrize("tool", TABLES)
def test_a_first_row_whose_figure_cannot_be_read_fails_its_table(tool: str, figure: str) -> None:
    """A latency is decided at its smallest size: a table must not pass because that row is marked or missing."""
    table, row = TABLES[tool]
    marked = row.replace("65536", "8192").replace("FIGURE", figure)
    text = "".join(
        f"{marked}\n{line}" if line.split()[:1] == ["16384"] else line for line in table.splitlines(keepends=True)
    )
    parsed = with_wrong_lines(detect.parse(text), text)
    line = text.split("\n").index(marked) + 1
    said = next(failure.text for failure in parsed.failures if failure.line == line)
    assert said.startswith('a row that cannot be read: found "8192 ')
    assert not parsed.tables[0].complete


@pytest.mark.parametrize("whole", ["**{}**", "<b>{}</b>", "> {}", "* {}", "| {} |", "{}   <-- slow", "{} (slow)"])
@pytest.mark.parametrize("tool", TABLES)
def test_a_first_row_that_is_marked_as_a_whole_fails_its_table(tool: str, whole: str) -> None:
    table, row = TABLES[tool]
    marked = whole.format(row.replace("65536", "8192").replace("FIGURE", "2807.12").strip())
    text = "".join(
        f"{marked}\n{line}" if line.split()[:1] == ["16384"] else line for line in table.splitlines(keepends=True)
    )
    parsed = with_wrong_lines(detect.parse(text), text)
    assert [failure.line for failure in parsed.failures] == [text.split("\n").index(marked) + 1]


@pytest.mark.parametrize("text", ["0 node01", "2 2.40 GHz", "[0] ***", "8 12.5 13.5", "4 8.5", "1 mlx5_0", "2 ranks"])
@pytest.mark.parametrize("tool", ["osu", "imb"])
def test_prose_above_the_first_row_is_no_lost_row(tool: str, text: str) -> None:
    parsed = detect.parse(TABLES[tool][0])
    parsed = ParsedOutput(parsed.tables, parsed.failures, (Remark(20, text),))
    assert without_lost_rows(parsed) is parsed


@pytest.mark.parametrize(
    "whole", ["**{}**", "<b>{}</b>", "({})", "> {}", "* {}", "--> {}", "| {} |", "{}   <-- slow", "{} (slow)"]
)
@pytest.mark.parametrize("tool", TABLES)
def test_a_last_row_that_is_marked_as_a_whole_fails_its_table(tool: str, whole: str) -> None:
    table, row = TABLES[tool]
    text = f"{table}{whole.format(row.replace('FIGURE', '2807.12').strip())}\n"
    parsed = with_wrong_lines(detect.parse(text), text)
    assert [failure.line for failure in parsed.failures] == [text.count("\n")]
    assert not parsed.tables[0].complete


@pytest.mark.parametrize("size", ["-65536", "-1", "0x10000", "--", "\u221e"])
@pytest.mark.parametrize("tool", TABLES)
def test_a_last_row_without_a_size_fails_its_table(tool: str, size: str) -> None:
    table, row = TABLES[tool]
    text = f"{table}{row.replace('FIGURE', '2807.12').replace('65536', size)}\n"
    parsed = with_wrong_lines(detect.parse(text), text)
    (failure,) = (failure for failure in parsed.failures if failure.line == text.count("\n"))
    assert failure.text.endswith(f'expected a size, such as 65536, in place of "{size}"')
    assert not parsed.tables[0].complete


@pytest.mark.parametrize("size", ["-65536", "********", "0x10000"])
@pytest.mark.parametrize("tool", TABLES)
def test_an_only_row_without_a_size_fails_with_its_line(tool: str, size: str) -> None:
    table, row = TABLES[tool]
    heading = "".join(line for line in table.splitlines(keepends=True) if not line.strip().startswith(("16384", "327")))
    text = f"{heading}{row.replace('FIGURE', '2807.12').replace('65536', size)}\n{RULE}\n"
    parsed = with_wrong_lines(detect.parse(text), text)
    (failure,) = parsed.failures
    assert failure.line == text.count("\n") - 1
    assert failure.text.endswith(f'expected a size, such as 65536, in place of "{size}"')
    assert not parsed.tables


@pytest.mark.parametrize(
    "text",
    [
        "65536 bytes",
        "65536 bytes.",
        "131072 2 processes on two nodes",
        "8388608 bytes in 5 s",
        "20261128 05:29:42",
        "2026-11-28 05:29:42 vn1 has 3.5 GB",
        "4 8.5",
        "-1 of 3",
        "-- 8.5 s",
        "16 (of 32)",
        "# 65536 2807.12",
        "[vn1:1234] 65536 12.5",
        "",
    ],
)
@pytest.mark.parametrize("tool", ["osu", "imb"])
def test_prose_below_a_table_is_no_lost_row(tool: str, text: str) -> None:
    parsed = detect.parse(TABLES[tool][0])
    parsed = ParsedOutput(parsed.tables, parsed.failures, (Remark(20, text),))
    assert without_lost_rows(parsed) is parsed


def test_a_slow_curve_does_not_pass_because_its_slow_rows_are_marked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "osu_bw.out"
    table, row = TABLES["osu"]
    file.write_text(f"{table}{row.replace('FIGURE', '**2841.39**')}\n", encoding="utf-8")
    assert main(["judge", str(file), "--link", "ib-edr"]) == 1
    said = f'{at_line(5)}a row that cannot be read: found "65536 **2841.39**", expected plain numbers'
    assert said in " ".join(capsys.readouterr().out.split())


_MBW_MR = (
    "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 1 ] [ window size: 64 ]\n"
    "# Size                  MB/s        Messages/s\n"
)
_AS_PRINTED = "so that no row is read (paste the output as its tool prints it): "


@pytest.mark.parametrize(
    ("text", "line", "sentence", "headline"),
    [
        (
            f"{_MBW_MR}1        2.50    2,500,000.00\n2        5.00    2,500,000.00\n1048576   12,000.00   11,444.09\n",
            *(4, f"separators of thousands, {_AS_PRINTED}1 2.50 2,500,000.00"),
            "separators of thousands, so that no row is read: 1 2.50 2,500,000.00",
        ),
        (
            f"{HEADING}\\hline\n8 & 1.20 \\\\\n16 & 2.40 \\\\ \\hline\n",
            *(4, f"rows of LaTeX (&), {_AS_PRINTED}8 & 1.20 \\\\"),
            "rows of LaTeX, so that no row is read: 8 & 1.20 \\\\",
        ),
    ],
)
def test_where_no_row_is_read_for_its_form_the_headline_names_the_form(
    text: str, line: int, sentence: str, headline: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parsed = with_wrong_lines(detect.parse(text), text)
    assert parsed.tables == ()
    assert parsed.failures == ((line, sentence),)
    assert unread_rows(parsed) is None
    file = tmp_path / "output.txt"
    file.write_text(text, encoding="utf-8")
    assert main(["judge", str(file), "--link", "ib-edr"]) == 1
    assert f"  FAIL  Line {line} of the output: {headline}\n" in capsys.readouterr().out


def test_a_row_whose_heading_is_lost_beside_a_table_is_a_failure() -> None:
    remarks = (Remark(9, "64 10 1000.00"), Remark(10, "65 10 1000.00"))
    parsed = without_unannounced_rows(ParsedOutput(osu.parse(f"{HEADING}1        1.60\n").tables, remarks=remarks))
    assert parsed.failures == (
        (
            9,
            'a row which no heading announces: found "64 10 1000.00" (and 1 line more), expected its heading above it',
        ),
    )


@pytest.mark.parametrize("text", ["0.08 0.02 0.01 1/234 5678", "12 30 7", "10.5 s", "0.08 0.02"])
def test_other_figures_beside_a_table_are_remarks(text: str) -> None:
    parsed = ParsedOutput(osu.parse(f"{HEADING}1        1.60\n").tables, remarks=(Remark(9, text),))
    assert without_unannounced_rows(parsed) == parsed


def test_two_equal_runs_with_their_lists_of_modules_are_read_one_by_one() -> None:
    modules = "  1) gcc/13.2.0      4) ucx/1.17\n  5) hwloc/2.11.1-1.3_b7  11) cuda/12.4\n"
    text = f"{modules}{HEADING}1        1.60\n2        3.10\n4        6.25\n"
    alone, twice = (with_wrong_lines(osu.parse(each), each) for each in (text, text * 2))
    assert [table.rows for table in twice.tables] == [alone.tables[0].rows] * 2
    assert not twice.failures
    assert all(table.complete for table in twice.tables)
