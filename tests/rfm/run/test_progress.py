"""The line of a finished test: from its record if there is one, else from ReFrame's words."""

from pathlib import Path

from railyard.benchmarks.figure import Figure
from railyard.results.record.file import FILE_NAME, append_record
from railyard.rfm.run.progress import ended
from tests.made.records import made_record


def printed(word: str, case: str) -> str:
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
        printed("OK", "ImbUniband %rails=2 /0a1b2c3d @virtual:hsn+mpich"),
        f"\x1b[31m{printed('FAIL', 'Other %rails=1 /0a1b2c3d @virtual:hsn+mpich')}\x1b[0m",
    )
    assert [ended(line, tmp_path / FILE_NAME) for line in lines] == [
        None,
        "( 3/33) pass        hsn   mpich     2 rails  imb/Uniband            95.53 MB/s",
        "( 3/33) fail        Other %rails=1 /0a1b2c3d @virtual:hsn+mpich",
    ]


def test_what_is_no_measurement_is_called_so(tmp_path: Path) -> None:
    append_record(tmp_path / FILE_NAME, made_record(rehearsal="a rehearsal"))
    assert ended(printed("OK", "ImbUniband %rails=1 /0a1b2c3d @virtual:hsn+mpich"), tmp_path / FILE_NAME) == (
        "( 3/33) pass (rehearsed) hsn   mpich     1 rail   imb/Uniband            "
    )
