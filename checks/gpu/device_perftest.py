"""RDMA verbs from the memory of GPUs by perftest, without MPI, over every card at once.

Each card works with the GPU that is nearest to it. Good from the host's memory (checks/microbench/perftest.py) and low
from a GPU's: GPUDirect RDMA, the PCIe switch between GPU and card, or its access control (ACS). Good for one card and
low for all at once: GPUs or cards share a slot or a switch.
"""

import reframe as rfm

from railyard.rfm.checks.device import DevicePerftestCheck


@rfm.simple_test
class DeviceWriteBandwidth(DevicePerftestCheck):
    """RDMA writes from GPU to GPU, one way."""

    benchmark = "ib_write_bw/device"
    extended = False


@rfm.simple_test
class DeviceReadBandwidth(DevicePerftestCheck):
    """RDMA reads from GPU to GPU: the same way back, asked for by the receiver."""

    benchmark = "ib_read_bw/device"


@rfm.simple_test
class DeviceSendLatency(DevicePerftestCheck):
    """Half the round trip of a send from GPU to GPU, one rail after the other."""

    benchmark = "ib_send_lat/device"
    in_turn = True
