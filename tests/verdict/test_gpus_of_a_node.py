"""GPUs of one node: below the rate of their slots nothing passes, and NVLink that was not seen is said."""

import pytest

from railyard.parsers import osu
from railyard.verdict.stored.judge import Nodes, judge
from railyard.verdict.stored.target import unnamed


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
