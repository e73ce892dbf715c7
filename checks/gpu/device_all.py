"""OSU micro-benchmarks with one rank for each GPU of a node. Its messages are in the memory of that GPU.

If one GPU is good (checks/gpu/device_osu.py) and all of them are low, GPUs and cards share a slot or a PCIe switch, or
the library sends by a card that is far from the GPU. No floor has a source for it, so only references judge how fast it
is. From 7.5 on, OSU prints that the buffers of osu_mbw_mr are in GPUs; an older output fails. Nothing here could be
tried on GPUs.
"""

import reframe as rfm

from railyard.benchmarks.repetitions import Amounts
from railyard.rfm.checks.gpu import EveryGpuCheck
from railyard.rfm.checks.groups import Accepts
from railyard.rfm.checks.microbench import BANDWIDTH, COLLECTIVE


@rfm.simple_test
class DeviceMessageRate(EveryGpuCheck):
    """A window of messages one way from each GPU of a node to one of another, all at once: what the node's cards share.

    The library chooses which GPU sends by which card, so the limit is that of all rails or of all slots of GPUs.
    """

    benchmark = "osu_mbw_mr/device"
    fewest, own = Amounts(1, 1, window=8), BANDWIDTH


@rfm.simple_test
class DeviceAllreduce(EveryGpuCheck):
    """A reduction over all GPUs of four nodes with MPI: compare it with NcclAllReduce to see the MPI library's part."""

    benchmark = "osu_allreduce/device"
    num_nodes = 4
    accepts = Accepts(fewest_nodes=2)
    tells_ends = False
    fewest, own = Amounts(3, 1), COLLECTIVE
    reduces = True
    #: OSU reduces floats of 4 bytes.
    smallest = 4
