"""nvbandwidth over what carries it within a node: a slot judges copies of the host, NVLink copies between two GPUs."""

import pytest

from railyard.parsers.detect import parse
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import of_link

TO_DEVICE, BETWEEN = "host_to_device_memcpy_ce", "device_to_device_memcpy_read_ce"


def output(test: str, gb_s: float, gpus: int = 2) -> str:
    """Return what one test prints whose slowest cell has this rate; the others are a little faster."""
    is_between = test == BETWEEN
    rows = range(gpus if is_between else 1)

    def cell(row: int, column: int) -> str:
        if is_between and row == column:
            return "N/A"
        return f"{gb_s if column == gpus - 1 or row == gpus - 1 else 1.01 * gb_s:.2f}"

    cells = [[cell(row, column) for column in range(gpus)] for row in rows]
    said = "GPU(row) -> GPU(column)" if is_between else "CPU(row) -> GPU(column)"
    lines = [
        "nvbandwidth Version: v0.6",
        *(f"Device {gpu}: NVIDIA H100 80GB HBM3 (00000000:{gpu:02x}:00)" for gpu in range(gpus)),
        "",
        f"Running {test}.",
        f"memcpy CE {said} bandwidth (GB/s)",
        " " * 10 + "".join(f"{column:10d}" for column in range(gpus)),
        *(f"{row:2d}" + "".join(f"{rate:>10}" for rate in of) for row, of in enumerate(cells)),
        "",
        f"SUM {test} {sum(float(rate) for row in cells for rate in row if rate != 'N/A'):.2f}",
        "",
        "NOTE: The reported results may not reflect the full capabilities of the platform.",
    ]
    return "\n".join(lines) + "\n"


def judge_text(text: str, link: str) -> Judgement:
    (one,) = judge(parse(text), of_link(link), text=text)
    return one


@pytest.mark.parametrize(
    ("test", "gb_s", "gpus", "link", "state"),
    [
        (TO_DEVICE, 55.3, 2, "pcie5-x16", "pass"),
        (TO_DEVICE, 27.6, 2, "pcie5-x16", "fail"),  # as a slot of x8
        (TO_DEVICE, 12.4, 1, "pcie3-x16", "pass"),
        (TO_DEVICE, 70.0, 2, "pcie5-x16", "fail"),  # more than the slot carries
        (BETWEEN, 389.0, 8, "nvlink-4", "pass"),
        (BETWEEN, 195.0, 8, "nvlink-4", "fail"),
        (BETWEEN, 264.0, 8, "nvlink-3", "pass"),
        (BETWEEN, 132.0, 2, "nvlink-4", "pass"),  # of a board of four, whose other GPUs are hidden
        (BETWEEN, 225.0, 2, "nvlink-4", "not-judged"),  # half of a switch, and more than a board of four
        (BETWEEN, 225.0, 4, "nvlink-4", "not-judged"),
        (BETWEEN, 389.0, 2, "nvlink-4", "pass"),
        (BETWEEN, 25.0, 2, "nvlink-4", "fail"),  # as PCIe
    ],
)
def test_what_carries_it_judges_it(test: str, gb_s: float, gpus: int, link: str, state: str) -> None:
    assert judge_text(output(test, gb_s, gpus), link).state == state


@pytest.mark.parametrize(
    ("test", "link", "why"),
    [
        (TO_DEVICE, "nvlink-4", "nobody says the slot of a GPU: say --link pcie5-x16"),
        (TO_DEVICE, "ib-ndr", "nobody says the slot of a GPU: say --link pcie5-x16"),
        (BETWEEN, "pcie5-x16", "nobody says what connects two GPUs: say --link nvlink-4"),
        (BETWEEN, "ib-ndr", "nobody says what connects two GPUs: say --link nvlink-4"),
        ("host_to_device_bidirectional_memcpy_ce", "pcie5-x16", "--link pcie5-x16 judges host_to_device"),
    ],
)
def test_what_is_not_judged_names_the_option_that_is_missing(test: str, link: str, why: str) -> None:
    one = judge_text(output(test, 389.0 if test == BETWEEN else 40.0), link)
    assert one.state == "not-judged"
    assert why in one.sentence


def test_of_few_gpus_a_pass_says_that_a_switch_would_give_more() -> None:
    of_four = judge_text(output(BETWEEN, 132.0, 4), "nvlink-4")
    (remark,) = [each for each in of_four.remarks if "board of four" in each]
    assert "6 of 18 links between two (150000 MB/s), and behind a switch a healthy copy has all of them" in remark
    assert (
        "Say how many GPUs the node has in a system's file" in judge_text(output(BETWEEN, 225.0), "nvlink-4").sentence
    )
    assert not [each for each in judge_text(output(BETWEEN, 389.0), "nvlink-4").remarks if "board of four" in each]
