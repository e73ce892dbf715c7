"""Figures that no measurement gives are failures with their line, in text and in JSON, and never a traceback."""

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from railyard.cli.commands.judge import command as judge
from railyard.cli.commands.parse import command as parse
from railyard.cli.commands.parse import read
from railyard.parsers import detect
from railyard.parsers.output import ParsedOutput, Table
from railyard.parsers.wrong_lines import with_wrong_lines, without_absurd_numbers

SHARED = Path(__file__).parents[3] / "shared"
OSU = """\
# OSU MPI Bandwidth Test v7.4
# Size      Bandwidth (MB/s)
1                       3.30
2                       6.60
4                      {value}
8                      26.40
"""
PERFTEST = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      5000             11012.40            {value}             0.176191
---------------------------------------------------------------------------------------
"""


def commands(file: Path) -> list[str]:
    """Return what parse and judge print of a file, as text and JSON; each JSON is strict."""
    said = []
    for command, words in ((parse, []), (judge, ["--link", "ib-edr"])):
        for form in ([], ["--json"]):
            result = CliRunner().invoke(command, [str(file), *words, *form], standalone_mode=False)
            assert result.exception is None or "Railyard" in type(result.exception).__name__, result.exception
            said.append(result.output or str(result.exception))
            if form and result.exception is None:
                json.loads(result.output, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    return said


@pytest.mark.parametrize("form", [OSU, PERFTEST], ids=["osu", "perftest"])
@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1e308", "1.7e+308", "1e-320", "-12.50", ""])
def test_no_figure_is_taken_and_the_line_is_named(tmp_path: Path, form: str, value: str) -> None:
    file = tmp_path / "job.out"
    file.write_text(form.format(value=value))
    line = form[: form.index("{value}")].count("\n") + 1
    for said in commands(file):
        assert "Traceback" not in said
    parsed = read(str(file))
    assert parsed.failures or not all(table.complete for table in parsed.tables)
    if value not in ("", "-inf", "nan", "inf"):
        assert [failure.line for failure in parsed.failures][:1] == [line]
    cells = [cell for table in parsed.tables for row in table.rows for cell in row]
    assert all(cell is None or isinstance(cell, bool) or 0 <= cell < 1e9 for cell in cells if not isinstance(cell, str))
    result = CliRunner().invoke(judge, [str(file), "--link", "ib-edr"], standalone_mode=False)
    assert result.return_value != 0 or result.exception is not None


@pytest.mark.parametrize("name", ["imb_inf", "nccl_inf", "osu_1e-320"])
def test_posted_outputs_with_such_figures(name: str) -> None:
    file = SHARED / "field" / f"wrap-or-number-{name}.txt"
    if not file.exists():
        pytest.skip("the folder of field cases is not beside the clone")
    for said in commands(file):
        assert "beyond any measurement: " in said


def test_residuals_and_other_small_numbers_stay() -> None:
    recording = Path(__file__).parents[1] / "recordings" / "hpcc1.5.0-openmpi4.1.4-veth.out"
    assert read(str(recording)).failures == ()


@pytest.mark.parametrize("cell", [math.nan, math.inf, -1.5, 2e30, 1e-31])
@pytest.mark.parametrize("place", range(3))
def test_one_absurd_cell_among_others_is_found_in_any_place(cell: float, place: int) -> None:
    column = [2.5, 3.5, 4.5]
    column[place] = cell
    rows = tuple(zip((1, 2, 4), column, strict=True))
    table = Table("osu", None, "osu_bw", ("size", "bandwidth"), ("B", "MB/s"), rows, line=1, complete=True)
    (found,) = without_absurd_numbers(ParsedOutput((table,)), "").tables
    assert not found.complete
    assert [row[1] for row in found.rows] == [None if at == place else value for at, value in enumerate(column)]


@pytest.mark.parametrize("value", ["1e308", "1e-320", "1e999"])
def test_a_row_with_such_a_size_is_a_failure_too(tmp_path: Path, value: str) -> None:
    file = tmp_path / "out"
    file.write_text(OSU.format(value="13.20").replace("\n4  ", f"\n{value}  "), encoding="utf-8")
    parsed = read(str(file), None)
    assert [failure.line for failure in parsed.failures] == [5]
    assert 5 not in [remark.line for remark in parsed.remarks]
    assert "line 5" in commands(file)[0]
    assert '"line":5' in commands(file)[1]


@pytest.mark.parametrize("value", ["1e308", "1e-320", "-5.00"])
def test_an_overlap_that_cannot_be_is_a_failure(value: str) -> None:
    text = (Path(__file__).parent / "made" / "osu-iallreduce.txt").read_text(encoding="utf-8")
    bad = text.replace("16.75              6.01", f"16.75              {value}")
    parsed = with_wrong_lines(detect.parse(bad), bad)
    assert [failure.line for failure in parsed.failures] == [7]
    assert not parsed.tables[0].complete


@pytest.mark.parametrize("value", ["1e308", "1e-320", "1e999", "-1.50"])
@pytest.mark.parametrize(
    "form",
    [
        "tcp_lat:\n    latency  =  {value} us\n",
        "tcp_bw:\n    bw  =  1.17 GB/sec\ntcp_lat:\n    latency  =  {value} us\n",
    ],
)
def test_such_a_figure_behind_its_name_has_its_line(form: str, value: str) -> None:
    text = form.format(value=value)
    parsed = with_wrong_lines(detect.parse(text), text)
    assert text.count("\n") in [failure.line for failure in parsed.failures]


@pytest.mark.parametrize("value", ["1e308", "1e-320", "1e999", "9" * 20, "9" * 26])
def test_a_row_that_is_the_only_one_has_its_line(value: str) -> None:
    text = PERFTEST.format(value=11011.80).replace("65536", value)
    parsed = with_wrong_lines(detect.parse(text), text)
    assert 5 in [failure.line for failure in parsed.failures]
    assert all(not table.complete for table in parsed.tables)
