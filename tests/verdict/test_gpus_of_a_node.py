"""GPUs of one node: below the rate of their slots nothing passes, and NVLink that was not seen is said."""

import pytest

from railyard.parsers import osu
from railyard.verdict.stored.judge import Nodes, judge
from railyard.verdict.stored.target import of_link, unnamed


@pytest.mark.parametrize(
    ("mb_s", "state", "remark"), [(1600.0, "not-judged", False), (10800.0, "pass", True), (140000.0, "pass", False)]
)
def test_a_rate_of_pcie_between_gpus_is_named(mb_s: float, state: str, remark: bool) -> None:
    text = (
        "# OSU MPI-CUDA Bandwidth Test v7.3\n# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
        f"# Size        Bandwidth (MB/s)\n1048576  {mb_s:.2f}\n2097152  {mb_s:.2f}\n4194304  {mb_s:.2f}\n"
    )
    (found,) = judge(osu.parse(text), unnamed(), nodes=Nodes(count=1, ranks_each=2), text=text)
    assert (found.state, any("NVLink was not seen" in each for each in found.remarks)) == (state, remark)


@pytest.mark.parametrize(("mb_s", "state"), [(5_000.0, "not-judged"), (9_000.0, "not-judged"), (11_000.0, "pass")])
def test_half_a_round_trip_between_gpus_is_not_judged_below_the_rate_of_their_slots(mb_s: float, state: str) -> None:
    rows = "".join(f"{1 << power}  {17 + (1 << power) / mb_s:.2f}\n" for power in range(23))
    text = (
        "# OSU MPI-CUDA Latency Test v7.3\n# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
        f"# Size          Latency (us)\n{rows}"
    )
    (found,) = judge(osu.parse(text), unnamed(), nodes=Nodes(count=1, ranks_each=2), text=text)
    assert (found.state, "us at 4 MiB is longer than GPUs of one node" in found.sentence) == (state, state != "pass")


@pytest.mark.parametrize(
    ("link", "slot", "mb_s", "state"),
    [
        ("ib-hdr", None, 0.50 * 24842, "fail"),
        ("ib-hdr", None, 0.60 * 24842, "fail"),
        ("ib-hdr", None, 0.92 * 24842, "pass"),
        ("ib-ndr", None, 0.45 * 49685, "fail"),
        ("slingshot-11", None, 0.60 * 25000, "fail"),
        ("ib-edr", None, 9500.0, "pass"),  # a V100
        ("ib-hdr", "pcie3-x16", 9500.0, "pass"),  # the same behind the slot of its card
    ],
)
def test_half_of_a_fast_link_does_not_pass_between_gpus_of_two_nodes(
    link: str, slot: str | None, mb_s: float, state: str
) -> None:
    start_us, late_us = (17, 85) if mb_s < 10_000 else (4, 12)
    times = {
        size: start_us + late_us * min(1, size / (512 << 10)) + size / mb_s for size in (1 << n for n in range(23))
    }
    rows = "".join(f"{size}  {time:.2f}\n" for size, time in times.items())
    text = (
        "# OSU MPI-CUDA Latency Test v7.3\n# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
        f"# Size          Latency (us)\n{rows}"
    )
    (found,) = judge(osu.parse(text), of_link(link, slot), text=text)
    assert found.state == state
