"""nvbandwidth on every node by itself: how fast its GPUs copy, to and from the processors and to one another.

A node that is slow here is slow in every collective and in every test from the memory of GPUs. It may have a slot with
fewer lanes, a lost GPU or NVLink, or access control (ACS) on a PCIe switch. Fix it before you blame a card or a cable.
"""

import reframe as rfm

from railyard.benchmarks.table.nvbandwidth import EVERY_NODE
from railyard.rfm.checks.gpu import NvbandwidthCheck
from railyard.rfm.versions import typed_parameter


@rfm.simple_test
class NvbandwidthEveryNode(NvbandwidthCheck):
    """The slowest copy of a node: between each GPU and the processors, or between each two GPUs."""

    copy = typed_parameter(list(EVERY_NODE), type=str, loggable=True)
