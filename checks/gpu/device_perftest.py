"""RDMA verbs from the memory of GPUs with perftest, without MPI, over every card at once.

Each card works with the GPU that is nearest to it. If it is good from the host's memory (checks/microbench/perftest.py)
and low from a GPU's, look at GPUDirect RDMA, at the PCIe switch between GPU and card, or at its access control (ACS).
If one card is good and all at once are low, GPUs or cards share a slot or a switch.
"""

import reframe as rfm

from railyard.rfm.checks.gpu import DevicePerftestCheck


@rfm.simple_test
class DeviceWriteBandwidth(DevicePerftestCheck):
    """RDMA writes from GPU to GPU, one way."""

    benchmark = "ib_write_bw/device"
    extended = False


@rfm.simple_test
class DeviceReadBandwidth(DevicePerftestCheck):
    """RDMA reads from GPU to GPU: the data goes the other way, and the receiver asks for it."""

    benchmark = "ib_read_bw/device"


@rfm.simple_test
class DeviceSendLatency(DevicePerftestCheck):
    """Half the round trip of a send from GPU to GPU, one rail after the other."""

    benchmark = "ib_send_lat/device"
    in_turn = True
