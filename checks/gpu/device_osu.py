"""OSU micro-benchmarks between nodes whose messages lie in the memory of GPUs.

Good from the host's memory (checks/microbench/osu.py) and low from a GPU's: the card does not read the GPU's memory
itself (GPUDirect RDMA: nvidia-peermem or DMA-BUF), or GPU and card are far apart (``gpus: nearest``). A latency of some
ten microseconds more is a copy through the host's memory. Low in one of H D and D H alone: reading from the GPU, or
writing to it; OSU 7.5 does not print which end that was, so that such a run fails with it and needs 7.4 or older.
"""

from typing import Any

import reframe as rfm
from reframe.core.builtins import parameter

from railyard.benchmarks.repetitions import Amounts
from railyard.rfm.checks.device import DeviceOsuCheck
from railyard.rfm.checks.osu import BANDWIDTH


@rfm.simple_test
class DeviceLatency(DeviceOsuCheck):
    """Half the round trip of one message from GPU to GPU."""

    benchmark = "osu_latency/device"
    fewest = Amounts(6, 1)


@rfm.simple_test
class DeviceBandwidth(DeviceOsuCheck):
    """A window of messages one way from GPU to GPU: the smallest of link, card's slot and GPU's slot."""

    benchmark = "osu_bw/device"
    fewest, own = Amounts(2, 1, window=16), BANDWIDTH


@rfm.simple_test
class DeviceBidirectional(DeviceOsuCheck):
    """A window of messages both ways at once: the sum of both directions."""

    benchmark = "osu_bibw/device"
    fewest, own = Amounts(2, 1, window=8), BANDWIDTH


@rfm.simple_test
class HostDeviceBandwidth(DeviceOsuCheck):
    """A window of messages one way with a GPU at one end alone: which end is slow."""

    buffers: Any = parameter(["host-device", "device-host"], loggable=True)
    benchmark = "osu_bw/host-device"
    extended = True
    fewest, own = Amounts(2, 1, window=16), BANDWIDTH

    @classmethod
    def benchmark_of(cls, parameters: Any) -> str:
        return f"osu_bw/{parameters['buffers']}"
