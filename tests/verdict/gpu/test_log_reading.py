"""The log of NCCL read once: what a judge of somebody's output and a judge of our own run both find in it."""

from railyard.hardware.gpu_nodes import Shape
from railyard.parsers import nccl
from railyard.parsers.nccl_said import Log
from railyard.verdict.gpu import log_reading
from railyard.verdict.gpu.log_word import word
from railyard.verdict.gpu.run import of_words
from railyard.verdict.wording import gpu_log as log_words
from tests.made.nccl import RAILS, log_line, over_nics

TARGET = of_words("gpus=4,nvlink=4,nics=4,link=ib-ndr")
TWO = Shape(TARGET.node, 2)
MEANT = log_reading.MeantWay("IB", rails=RAILS, nearest={f"mlx5_{number}": (number,) for number in range(4)})


def log(*lines: str) -> Log:
    spoken = nccl.parse("\n".join([*lines, ""])).nccl
    assert spoken is not None and spoken.log is not None
    return spoken.log


def test_both_judges_find_the_same_fallback_and_the_same_reason() -> None:
    found = log(
        log_line("g1", 0, "NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"),
        log_line("g1", 0, "NET/IB : No device found."),
        log_line("g1", 0, "Using network Socket"),
    )
    because = ', since "NET/IB : No device found." (line 2)'
    assert log_reading.log_reason(found) == because
    other = log_reading.why_other(found, MEANT)
    assert other is not None and because in other.sentence and "ibv_devinfo" in other.look_at
    assert because in word(found, TARGET, TWO).rule.sentence


def test_both_judges_find_the_same_connections_through_the_hosts_memory() -> None:
    found = log(*over_nics(["g1"], {0: 0, 1: 1}, "NET/IB/{nic}"))
    sentence = log_words.without_gpu_direct(2, 2, 3)
    assert log_reading.without_gpu_direct(found) == sentence
    assert sentence in log_reading.remarks(found, MEANT)
    assert any(sentence in remark for remark in word(found, TARGET, TWO).remarks)


def test_a_nic_is_that_of_the_process_which_wrote_the_line() -> None:
    """Each process numbers the NICs that it was given: 0 is another one in each container."""
    found = log(
        log_line("g1", 0, "NET/IB : Using [0]mlx5_0:1/IB [RO]"),
        log_line("g1", 1, "NET/IB : Using [0]mlx5_1:1/IB [RO]"),
        log_line("g1", 1, "Channel 00/0 : 1[1] -> 5[1] [send] via NET/IB/0/GDRDMA"),
    )
    (link,) = log_reading.over_nics(found)
    nic = log_reading.nic_of(link, found)
    assert nic is not None and log_reading.name(nic) == "mlx5_1:1"


def test_a_far_nic_is_told_where_gpus_have_numbers_of_their_own_alone() -> None:
    nearest = {f"mlx5_{number}": (number,) for number in range(4)}
    crossed = log(*over_nics(["g1"], {0: 1, 1: 0}))
    found = list(log_reading.far_nics(crossed, nearest))
    assert [(far.gpu, far.nic.name, far.near) for far in found] == [
        (0, "mlx5_1", ("mlx5_0",)),
        (1, "mlx5_0", ("mlx5_1",)),
    ]
    assert not list(log_reading.far_nics(crossed, nearest, ["mlx5_2:1"]))
    one = log(*(line.replace("[1] NCCL", "[0] NCCL") for line in over_nics(["g1"], {0: 1, 1: 0})))
    assert not list(log_reading.far_nics(one, nearest))
