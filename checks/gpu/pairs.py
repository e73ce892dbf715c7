"""Pairs of nodes between their GPUs by nccl-tests: which node, which of its GPUs or their paths, or which pair is sick.

All pairs of a round run at once, each as a step of the job with a time limit and a log of its own (``gpu-pairs`` in the
test's folder), so that one sick pair costs its own log alone. What is slow is measured again by itself; of a slow node
each GPU is then measured alone with a good partner. ``railyard pairs judge --tool nccl`` reaches the same verdict from
the logs. Nothing here could be tried on GPUs.

    railyard run -n NcclPairs -S NcclPairs.shifts=4

has four partners for each node in place of all.
"""

import reframe as rfm

from railyard.benchmarks.table.nccl import PAIRS
from railyard.rfm.checks.nccl_pairs import NcclPairsCheck


@rfm.simple_test
class NcclPairs(NcclPairsCheck):
    """Each GPU of a node sends to all GPUs of another one: every path between the two carries as much.

    The slowest pair is judged by the references, and all pairs by one another.
    """

    benchmark = f"alltoall_perf/{PAIRS}"
