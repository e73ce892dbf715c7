"""An output with decimal commas, as some locales print them, is read right or refused: no figure is lost silently."""

import re
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.parsers import qperf
from railyard.parsers.output import ParseError

from .test_broken_lines import GENUINE, LONGEST, SAMPLES, name_of, read, text_of, wrong_figures

# "12.5", "1.3e-02", but no version ("3.7.2"), address, file's name or code
_POINT = re.compile(r"(?<![\w.:/-])([+-]?[0-9]+)\.([0-9]+(?:[eE][+-]?[0-9]+)?)(?![\w.]|-[a-z])")


def with_commas(text: str) -> str:
    return _POINT.sub(r"\1,\2", text)


@pytest.mark.parametrize("path", SAMPLES, ids=name_of)
def test_no_figure_of_a_sample_is_wrong_or_lost_silently(path: Path) -> None:
    check(path)


@pytest.mark.full
@pytest.mark.parametrize("path", GENUINE, ids=name_of)
def test_no_figure_of_a_genuine_output_is_wrong_or_lost_silently(path: Path) -> None:
    check(path)


def check(path: Path) -> None:
    text = text_of(path)
    if len(text) > LONGEST:
        pytest.skip("longer than needed")
    try:
        whole = read(text)
    except (RailyardError, ParseError):
        pytest.skip("no output of a tool by itself")
    assert wrong_figures(with_commas(text), whole) == set()


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("bw  =  1,25 GB/sec", None),
        ("bw  =  1,234 GB/sec", None),  # no rate has 1,000 of a scaled unit, so it is 1.234
        ("bw  =  1,234,567 bytes/sec", 1.234567),
        ("bw  =  1.25 GB/sec", 1250.0),
    ],
)
def test_a_comma_of_qperf_separates_groups_of_three_or_the_figure_is_refused(line: str, value: float | None) -> None:
    parsed = qperf.parse(f"rc_bw:\n    {line}\n")
    found = [table.column("bw")[0] for table in parsed.tables]
    assert found == ([] if value is None else [pytest.approx(value)])
    assert bool(parsed.failures) == (value is None)


def test_the_failure_names_the_line_and_what_to_do() -> None:
    text = "Minimum bandwidth: 44810 MB/sec node03, node04\nMinimum latency: 1,312 usec     node01, node02\n"
    failure = read(text).failures[0]
    assert failure == (
        2,
        "a comma in place of the decimal point, so that no figure is read (set LC_ALL=C in the job): "
        "Minimum latency: 1,312 usec     node01, node02",
    )


def test_a_list_of_devices_is_no_figure() -> None:
    text = "Bandwidth of devices: x\nCUDA_VISIBLE_DEVICES=0,1\nMinimum bandwidth: 44810 MB/sec node03, node04\n"
    assert read(text).failures == ()
