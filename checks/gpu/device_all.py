"""OSU micro-benchmarks with a rank for each GPU of a node, whose messages lie in the memory of that GPU.

Good with one GPU (checks/gpu/device_osu.py) and low with all of them: GPUs and cards share a slot or a PCIe switch, or
the library sends by a card that is far from the GPU. No floor has a source for it, so that references alone judge how
fast it is. OSU says from 7.5 on that the buffers of osu_mbw_mr are in GPUs; an older output fails. Nothing here could
be tried on GPUs.
"""

import reframe as rfm

from railyard.benchmarks.repetitions import Amounts
from railyard.rfm.checks.device import EveryGpuCheck
from railyard.rfm.checks.osu import BANDWIDTH, COLLECTIVE


@rfm.simple_test
class DeviceMessageRate(EveryGpuCheck):
    """A window of messages one way from each GPU of a node to one of another, all at once: what the node's cards share.

    Which GPU sends by which card is the library's choice, so that its limit is that of all rails or all slots of GPUs.
    """

    benchmark = "osu_mbw_mr/device"
    fewest, own = Amounts(1, 1, window=8), BANDWIDTH


@rfm.simple_test
class DeviceAllreduce(EveryGpuCheck):
    """A reduction over all GPUs of four nodes by MPI: beside NcclAllReduce it shows what the MPI library does there."""

    benchmark = "osu_allreduce/device"
    num_nodes = 4
    fewest_nodes = 2
    tells_ends = False
    fewest, own = Amounts(3, 1), COLLECTIVE
    reduces = True
    #: OSU reduces floats of 4 bytes.
    smallest = 4
