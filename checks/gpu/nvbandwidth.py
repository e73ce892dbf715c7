"""nvbandwidth on every node by itself: what its GPUs move, to and from the processors and to one another.

A node that is slow here is slow in every collective and in every test from the memory of GPUs: a slot of fewer lanes, a
GPU or an NVLink that is lost, access control (ACS) on a PCIe switch. Mend it before a card or a cable is blamed.
"""

import reframe as rfm
from reframe.core.builtins import parameter

from railyard.benchmarks.table.nvbandwidth import EVERY_NODE
from railyard.rfm.checks.device import NvbandwidthCheck


@rfm.simple_test
class NvbandwidthEveryNode(NvbandwidthCheck):
    """The slowest copy of a node: between each GPU and the processors, or between each two GPUs."""

    copy = parameter(list(EVERY_NODE), type=str, loggable=True)
