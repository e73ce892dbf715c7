"""Collectives between all GPUs with nccl-tests and rccl-tests: over each node's links and over all NICs at once.

If two nodes are good and all nodes together are low, look for one slow node, or a switch between nodes. If NcclRails is
good and this is low, look at the way from GPU to NIC, or at NVLink (NcclOneNode). busbw does not describe a single
link: rule 3 has the most that GPUs, NICs and their links can show, and only the system's reference says how a run
compares with others. Nothing here could be tried on GPUs.
"""

from collections.abc import Mapping

import reframe as rfm

from railyard.rfm.checks.declaration import of_gpus
from railyard.rfm.checks.gpu import NcclCheck
from railyard.rfm.versions import typed_parameter

#: Without all_reduce, which runs in everyday runs.
COLLECTIVES = ("all_gather", "reduce_scatter", "alltoall", "broadcast", "sendrecv")


@rfm.simple_test
class NcclAllReduce(NcclCheck):
    """A sum over all GPUs of all nodes, as in training."""

    benchmark = "all_reduce_perf"
    all_nodes = True


@rfm.simple_test
class NcclCollective(NcclCheck):
    """One collective of ``COLLECTIVES`` over all GPUs of all nodes: `-P collective=alltoall` selects one."""

    extended = True
    all_nodes = True
    collective = typed_parameter(of_gpus(COLLECTIVES), type=str, loggable=True)

    @classmethod
    def benchmark_of(cls, parameters: Mapping[str, str]) -> str:
        return f"{parameters['collective']}_perf"


@rfm.simple_test
class NcclTwoNodes(NcclCheck):
    """All GPUs of two nodes. Trees and alltoall show more there than on many nodes, so it has its own figures."""

    extended = True
    collective = typed_parameter(of_gpus(("all_reduce", "alltoall", "sendrecv")), type=str, loggable=True)

    @classmethod
    def benchmark_of(cls, parameters: Mapping[str, str]) -> str:
        return f"{parameters['collective']}_perf/two-nodes"
