"""The line of a test that ended: from its record where it left one, else from ReFrame's words; never too wide."""

from pathlib import Path

import pytest

from railyard.benchmarks.model import Figure
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.report.terminal import verdict_table
from railyard.rfm.run.reframe import Progress
from tests.made.records import made_record


def printed_line(word: str, case: str) -> str:
    return f"[{word:>8} ] ( 3/33) {case}"


def test_a_test_that_ended_is_one_line_from_its_record(tmp_path: Path) -> None:
    record = made_record(
        case="ImbUniband %rails=2 @virtual:hsn+mpich",
        rails=2,
        figures=(Figure("n_half", 1500.0, "B"), Figure("peak", 95.53, "MB/s", 4194304)),
    )
    append_record(tmp_path / FILE_NAME, record)
    lines = (
        "[ RUN      ] ImbUniband %rails=2 /0a1b2c3d @virtual:hsn+mpich",
        printed_line("OK", "ImbUniband %rails=2 /0a1b2c3d @virtual:hsn+mpich"),
        f"\x1b[31m{printed_line('FAIL', 'Other %rails=1 /0a1b2c3d @virtual:hsn+mpich')}\x1b[0m",
    )
    progress = Progress(tmp_path / FILE_NAME, 80)
    assert [progress.end_line(line) for line in lines] == [
        None,
        "( 3/33) pass       hsn   mpich    2 rails imb/Uniband            95.5 MB/s",
        "( 3/33) fail       Other %rails=1 @virtual:hsn+mpich",
    ]


@pytest.mark.parametrize("value", [12418.0, 12400.0, 28.79, 9.58, 0.6113])
def test_a_figure_has_the_digits_that_the_table_has(tmp_path: Path, value: float) -> None:
    record = made_record(figures=(Figure("peak", value, "MB/s", 4194304),))
    append_record(tmp_path / FILE_NAME, record)
    line = Progress(tmp_path / FILE_NAME, 100).end_line(
        printed_line("OK", "ImbUniband %rails=1 /0a1b2c3d @virtual:hsn+mpich")
    )
    figure = (line or "").split()[-2]
    assert f" {figure} " in verdict_table([record], width=100)


def test_what_is_no_measurement_is_called_so(tmp_path: Path) -> None:
    append_record(tmp_path / FILE_NAME, made_record(rehearsal="a rehearsal"))
    line = printed_line("OK", "ImbUniband %rails=1 /0a1b2c3d @virtual:hsn+mpich")
    assert Progress(tmp_path / FILE_NAME, 80).end_line(line) == (
        "( 3/33) pass, rehearsed hsn   mpich    1 rail  imb/Uniband"
    )


def test_a_reason_that_several_tests_share_is_said_once(tmp_path: Path) -> None:
    why = "disabled by the site: the source has no figure of it"
    progress = Progress(tmp_path / FILE_NAME, 80)
    lines = [
        progress.end_line(printed_line("SKIP", f"{check} /0a1b2c3d @virtual:hsn+mpich [{why}]")) for check in ("A", "B")
    ]
    assert lines == [
        f"( 3/33) not tested A @virtual:hsn+mpich\n        {why}",
        "( 3/33) not tested B @virtual:hsn+mpich",
    ]


def test_no_line_is_wider_than_the_terminal(tmp_path: Path) -> None:
    case = "WriteBidirectional %rails=2 %policy=striping-8K @virtual:edr-switched+libfabric"
    record = made_record(
        case=case,
        rails=2,
        fabric="edr-switched",
        stack="libfabric",
        benchmark="perftest/ib_write_bw/bidirectional",
        figures=(Figure("peak", 24182.0, "MB/s", 4194304, computed=True),),
    )
    append_record(tmp_path / FILE_NAME, record)
    progress = Progress(tmp_path / FILE_NAME, 80)
    shown = progress.end_line(printed_line("OK", case.replace(" @", " /0a1b2c3d @"))) or ""
    skipped = progress.end_line(
        printed_line("SKIP", f"{case.replace('%rails', '%x').replace(' @', ' /0a1b2c3d @')} [{'why ' * 40}]")
    )
    assert max(map(len, f"{shown}\n{skipped}".splitlines())) <= 80
    assert "perftest/ib_write_bw/bidirectional" in shown and "24182* MB/s" in " ".join(shown.split())
