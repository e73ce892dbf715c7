"""OSU micro-benchmarks between nodes, with the messages in the memory of GPUs.

If it is good from the host's memory (checks/microbench/osu.py) and low from a GPU's, the card does not read the GPU's
memory itself (GPUDirect RDMA: nvidia-peermem or DMA-BUF), or GPU and card are far apart (``gpus: nearest``). Some ten
microseconds more latency mean a copy through the host's memory. If only one of H D and D H is low, reading from the GPU
is slow, or writing to it. OSU 7.5 does not print which end that was, so such a run fails with it and needs 7.4 or
older.
"""

from typing import Any

import reframe as rfm

from railyard.benchmarks.repetitions import Amounts
from railyard.rfm.checks.gpu import DeviceOsuCheck
from railyard.rfm.checks.microbench import BANDWIDTH
from railyard.rfm.versions import typed_parameter


@rfm.simple_test
class DeviceLatency(DeviceOsuCheck):
    """Half the round trip of one message from GPU to GPU."""

    benchmark = "osu_latency/device"
    fewest = Amounts(6, 1)


@rfm.simple_test
class DeviceBandwidth(DeviceOsuCheck):
    """A window of messages one way from GPU to GPU: the slowest of the link, the card's slot and the GPU's slot."""

    benchmark = "osu_bw/device"
    fewest, own = Amounts(2, 1, window=16), BANDWIDTH


@rfm.simple_test
class DeviceBidirectional(DeviceOsuCheck):
    """A window of messages both ways at once: the sum of both directions."""

    benchmark = "osu_bibw/device"
    fewest, own = Amounts(2, 1, window=8), BANDWIDTH


@rfm.simple_test
class HostDeviceBandwidth(DeviceOsuCheck):
    """A window of messages one way with a GPU at only one end: shows which end is slow."""

    buffers: Any = typed_parameter(["host-device", "device-host"], loggable=True)
    benchmark = "osu_bw/host-device"
    extended = True
    fewest, own = Amounts(2, 1, window=16), BANDWIDTH

    @classmethod
    def benchmark_of(cls, parameters: Any) -> str:
        return f"osu_bw/{parameters['buffers']}"
