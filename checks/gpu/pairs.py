"""Pairs of nodes, GPUs to GPUs, with nccl-tests: which node, which of its GPUs or their paths, or which pair is sick.

All pairs of a round run at once. Each is a step of the job with its own time limit and log (``gpu-pairs`` in the test's
folder), so one sick pair costs only its own log. What is slow is measured again by itself. Then each GPU of a slow node
is measured alone with a good partner. ``railyard pairs judge --tool nccl`` reaches the same verdict from the logs.
Nothing here could be tried on GPUs.

    railyard run -n NcclPairs -S NcclPairs.shifts=4

gives each node four partners instead of all.
"""

import reframe as rfm

from railyard.benchmarks.table.nccl import PAIRS
from railyard.rfm.checks.gpu import NcclPairsCheck


@rfm.simple_test
class NcclPairs(NcclPairsCheck):
    """Each GPU of a node sends to all GPUs of another one: every path between the two carries the same amount.

    The slowest pair is compared with the references, and all pairs with one another.
    """

    benchmark = f"alltoall_perf/{PAIRS}"
