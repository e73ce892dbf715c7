"""Figures of one row agree if rounding in the unit that was printed explains what differs, and only then."""

import json

import pytest

from railyard.benchmarks.metrics import contradiction
from railyard.parsers.output import Table
from railyard.parsers.perftest import parse

HEAD = """\
                    RDMA_Write BW Test
 #bytes     #iterations    BW peak[{unit}/sec]    BW average[{unit}/sec]   MsgRate[Mpps]
"""


def console(unit: str, row: str) -> Table:
    """Return the table of one row that perftest prints in this unit."""
    return parse(f"{HEAD.format(unit=unit)} {row}\n{'-' * 87}\n").tables[0]


@pytest.mark.parametrize(
    "row",
    [
        "2 5000 0.11 0.11 6.663026",
        "4 5000 0.16 0.16 4.843750",
        "2 5000 0.05 0.05 3.331250",  # releases without six decimals
        "2 5000 0.053284 0.053284 3.330250",
        "1048576 5000 98.01 97.90 0.011671",
    ],
)
def test_gbits_agree_within_their_two_decimals(row: str) -> None:
    assert contradiction(console("Gb", row), "perftest/ib_write_bw") is None


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ("2 5000 0.11 0.11 8.663026", "13.75 MB/s at 2 B"),
        ("2 5000 0.053284 0.053284 3.630250", "6.660 MB/s at 2 B"),  # six decimals tell more
        ("1048576 5000 98.01 97.90 0.010671", "12238 MB/s at 1 MiB"),
    ],
)
def test_gbits_that_rounding_does_not_explain_contradict(row: str, found: str) -> None:
    assert f"bandwidth {found} and" in (contradiction(console("Gb", row), "perftest/ib_write_bw") or "")


def test_the_same_difference_in_mb_is_no_rounding() -> None:
    assert contradiction(console("MB", "2 5000 13.11 13.11 6.663026"), "perftest/ib_write_bw") is not None


def test_results_of_out_json_agree_within_the_decimals_of_gbits() -> None:
    results = {"MsgSize": 2, "n_iterations": 5000, "BW_peak": 0.11, "BW_average": 0.11, "MsgRate": 6.663026}
    text = json.dumps({"test_info": {"test": "RDMA_Write_BW_Test"}, "results": results}, indent=1)
    (table,) = parse(text).tables
    assert contradiction(table, "perftest/ib_write_bw") is None
