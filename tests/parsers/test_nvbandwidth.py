"""nvbandwidth, printed and as JSON, and errors in its texts. Texts are synthetic."""

import json
import re
from pathlib import Path

import pytest

from railyard.benchmarks.metrics import curves, key_of
from railyard.parsers import nvbandwidth
from railyard.parsers.output import Remark, Table
from railyard.parsers.wrong_lines import with_wrong_lines
from tests.parsers.samples import MADE

TEXT = (MADE / "nvbandwidth-matrices.txt").read_text(encoding="utf-8")
JSON = (MADE / "nvbandwidth-json.txt").read_text(encoding="utf-8")


def numbers(table: Table) -> list[tuple[float, ...]]:
    """Return the rows, rounded like the printed values: MB/s to 10, us to 0.00001."""
    digits = -1 if table.columns[2] == "bandwidth" else 5
    return [(float(row or 0), float(column or 0), round(float(cell or 0), digits)) for row, column, cell in table.rows]


def test_each_matrix_is_a_table_with_a_row_for_each_number() -> None:
    parsed = nvbandwidth.parse(TEXT)
    assert [(table.benchmark, table.version, table.complete) for table in parsed.tables] == [
        ("host_to_device_memcpy_ce", "0.6", True),
        ("device_to_device_memcpy_read_ce", "0.6", True),
        ("host_device_latency_sm", "0.6", True),
    ]
    host, device, latency = parsed.tables
    assert (host.columns, host.units) == (("row", "column", "bandwidth"), (None, None, "MB/s"))
    assert numbers(host) == [(0, 0, 55310.0), (0, 1, 27650.0)]
    assert numbers(device) == [(0, 1, 389450.0), (1, 0, 388970.0)]
    assert {"rows": 2, "columns": 2, "not_available": 2, "gpus": 2}.items() <= device.context.items()
    assert latency.units[2] == "us"
    assert latency.rows[0][2] == pytest.approx(0.7725)
    assert parsed.failures == ()


def test_the_versions_of_0_10_are_read_too() -> None:
    text = TEXT.replace("CUDA Driver Version: 12040", "CUDA Driver Version (API): 13.2 (13020)").replace(
        "v0.6", "v0.10.0"
    )
    text = text.replace(
        "SUM host_to_device_memcpy_ce 82.96",
        "SUM host_to_device_memcpy_ce 82.96\nCOEFFICIENT_OF_VARIATION host_to_device_memcpy_ce 0.00",
    )
    parsed = nvbandwidth.parse(text)
    assert (parsed.tables[0].version, parsed.tables[0].context["cuda_driver_version"]) == ("0.10.0", "13.2 (13020)")
    assert [table.rows for table in parsed.tables] == [table.rows for table in nvbandwidth.parse(TEXT).tables]
    assert len(parsed.remarks) == 1  # the one that was waived


def test_a_test_that_was_waived_is_a_remark() -> None:
    text = TEXT.replace("Waived: \n", "Running all_to_one_read_ce.\nWaived: \n")
    parsed = nvbandwidth.parse(text)
    assert [remark.text for remark in parsed.remarks] == ["all_to_one_read_ce was waived: Waived:"]
    assert parsed.failures == ()


@pytest.mark.parametrize("indent", [None, 3])
def test_json_gives_the_tables_of_the_console(indent: int | None) -> None:
    parsed = nvbandwidth.parse(json.dumps(json.loads(JSON), indent=indent))
    (table,) = parsed.tables
    assert (table.benchmark, table.version, table.complete) == ("device_to_device_memcpy_read_ce", "v0.8", True)
    assert numbers(table) == [(0, 1, 391250.0), (1, 0, 390500.0)]
    assert [remark.text for remark in parsed.remarks] == ["host_to_all_memcpy_sm was waived"]
    assert parsed.failures == ()


def test_the_worst_number_of_a_matrix_stands_for_it() -> None:
    (host, *_) = nvbandwidth.parse(TEXT).tables
    key = key_of(host)
    assert key == "nvbandwidth/host_to_device_memcpy_ce"
    (curve,) = curves(host, key)
    assert curve.values[0] == pytest.approx(27650.0)


@pytest.mark.parametrize(
    ("was", "now", "sentence"),
    [
        (
            "27.65",
            "57.65",
            "the sum of host_to_device_memcpy_ce is printed as 82.96, but the numbers above it give 112.96: some are "
            "missing",
        ),
        (" 0     55.31     27.65", " 0     55.31", "a row of 1 numbers, expected 2: 0     55.31"),
        ("27.65", " -nan", "not finite: 0     55.31      -nan"),
        (
            "bandwidth (GB/s)\n           0         1\n 0     55",
            "bandwidth (GiB/s)\n           0         1\n 0     55",
            None,
        ),
        (
            "SUM host_to_device_memcpy_ce",
            "SUM device_to_host_memcpy_ce",
            "the sum is of device_to_host_memcpy_ce, but the matrix above it is of host_to_device_memcpy_ce: lines are "
            "missing or mixed",
        ),
        (
            "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0         1\n 0     55.31     27.65\n",
            "Error: CUDA_ERROR_NOT_PERMITTED\n",
            "a test without any matrix: host_to_device_memcpy_ce",
        ),
    ],
    ids=["sum", "cut", "-nan", "unit", "mixed", "failed"],
)
def test_what_is_wrong_is_said_and_no_table_of_it_is_complete(was: str, now: str, sentence: str | None) -> None:
    assert was in TEXT
    text = TEXT.replace(was, now)
    parsed = with_wrong_lines(nvbandwidth.parse(text), text)
    unit = "a matrix in GiB/s, expected GB/s or ns: memcpy CE CPU(row) -> GPU(column) bandwidth (GiB/s)"
    assert (sentence or unit) in [failure.text for failure in parsed.failures]
    first = [table for table in parsed.tables if table.benchmark == "host_to_device_memcpy_ce"]
    assert not any(table.complete for table in first)


def test_json_that_failed_or_is_cut_is_a_failure() -> None:
    assert nvbandwidth.parse(JSON[:200]).failures == (
        Remark(1, "JSON of nvbandwidth that ends before its closing brace"),
    )
    form = json.loads(JSON)
    form["nvbandwidth"]["testcases"][0]["status"] = "Error"
    form["nvbandwidth"]["error"] = "CUDA_ERROR_NOT_PERMITTED"
    assert [failure.text for failure in nvbandwidth.parse(json.dumps(form)).failures] == [
        "error: CUDA_ERROR_NOT_PERMITTED",
        "device_to_device_memcpy_read_ce: status Error, expected Passed",
    ]
    form = json.loads(JSON)
    form["nvbandwidth"]["testcases"][0]["sum"] = 1000.0
    parsed = nvbandwidth.parse(json.dumps(form))
    assert parsed.failures[0].text == (
        "the sum of device_to_device_memcpy_read_ce is 1000, but its numbers give 781.75"
    )
    assert not parsed.tables[0].complete


def test_superbenchs_sample_is_as_read_by_hand() -> None:
    sample = Path(__file__).parents[3] / "shared" / "gpu" / "superbench" / "nvbandwidth_results.log"
    if not sample.is_file():
        pytest.skip("no genuine outputs of GPU benchmarks beside the clone: ../shared/gpu")
    parsed = nvbandwidth.parse(sample.read_text(encoding="utf-8"))
    assert len(parsed.tables) == 15
    assert all(table.complete for table in parsed.tables)
    assert parsed.failures == ()
    host, *_, latency = parsed.tables
    assert [round(float(value or 0) / 1000, 2) for value in host.column("bandwidth")] == [
        *(369.36, 269.33, 412.11, 323.36, 299.33, 312.11),
    ]
    assert numbers(latency) == [(0, 0, 0.77258)]


def test_the_sum_of_two_directions_is_the_result_and_each_of_them_a_part() -> None:
    each = "".join(
        f"memcpy CE GPU(row) <-> GPU(column) {what} bandwidth (GB/s)\n           0         1\n"
        f" 0       N/A    {gb:.2f}\n"
        f" 1    {gb:.2f}       N/A\n\nSUM device_to_device_bidirectional_memcpy_read_ce_{what} {2 * gb:.2f}\n\n"
        for what, gb in (("Read1", 180.25), ("Read2", 181.25), ("Total", 361.50))
    )
    each = re.sub(r"_ce_\w+", "_ce", each)
    parsed = nvbandwidth.parse(f"Running device_to_device_bidirectional_memcpy_read_ce.\n{each}")
    assert [key_of(table) for table in parsed.tables] == [
        *(None, None, "nvbandwidth/device_to_device_bidirectional_memcpy_read_ce"),
    ]
    assert parsed.failures == ()


def test_an_output_without_a_test_and_one_of_two_runs_are_failures() -> None:
    assert nvbandwidth.parse(TEXT[: TEXT.index("Running")]).failures == (
        Remark(1, "an output of nvbandwidth in which no test ran"),
    )
    assert nvbandwidth.parse(TEXT + TEXT).failures[0].text == (
        "host_to_device_memcpy_ce ran twice, in line 11 and here: give each output a file of its own"
    )


@pytest.mark.parametrize(
    "prefix",
    [
        "nvbandwidth-x7k2p bench ",
        "[pod/nvbandwidth-x7k2p/bench] ",
        "2026-07-01 10:00:00.123 ",
        "2026-07-01T10:00:00.123456789Z stdout F ",
        "[prterun-node1-4100@1,0]<stdout>: ",
        "0: ",
        "node1: ",
        "> ",
        "    ",
    ],
)
def test_what_is_before_each_line_changes_nothing(prefix: str) -> None:
    parsed, whole = (
        nvbandwidth.parse("".join(f"{prefix}{line}\n" for line in TEXT.splitlines())),
        nvbandwidth.parse(TEXT),
    )
    assert [(table.rows, table.complete, table.version, table.context) for table in parsed.tables] == [
        (table.rows, table.complete, table.version, table.context) for table in whole.tables
    ]
    assert parsed.failures == ()


DESCRIPTION = "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"
NO_TEST = f'a matrix without its test: found "{DESCRIPTION}", expected "Running …." with its name above it'
NO_MATRIX = 'a sum without its matrix: found "SUM {} {}", expected "Running {}." and its matrix above it'


@pytest.mark.parametrize(
    ("lost", "failures"),
    [
        (
            "Running host_to_device_memcpy_ce.\n",
            [(11, NO_TEST), (15, NO_MATRIX.format("host_to_device_memcpy_ce", "82.96", "host_to_device_memcpy_ce"))],
        ),
        (  # "Waived: " below it belongs to another test
            "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n",
            [
                (18, "a test without any matrix: device_to_device_memcpy_read_ce"),
                (
                    23,
                    NO_MATRIX.format("device_to_device_memcpy_read_ce", "778.42", "device_to_device_memcpy_read_ce"),
                ),
            ],
        ),
    ],
)
def test_a_matrix_whose_title_is_lost_is_a_failure(lost: str, failures: list[tuple[int, str]]) -> None:
    parsed = nvbandwidth.parse(TEXT.replace(lost, "").replace("Waived: \n", ""))
    assert parsed.failures == tuple(failures)
    assert len(parsed.tables) == 2


def test_a_sum_that_is_printed_twice_is_no_failure() -> None:
    total = "SUM host_to_device_memcpy_ce 82.96\n"
    parsed = nvbandwidth.parse(TEXT.replace(total, f"{total}&&&& PERF host_to_device_memcpy_ce 82.96 +GB/s\n"))
    assert (parsed.failures, len(parsed.tables)) == ((), 3)
