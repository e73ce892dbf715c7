"""Collectives between all GPUs by nccl-tests and rccl-tests: over the links of each node and over all NICs at once.

Good on two nodes and low on all of them is one node, or a switch between them; low with NcclRails good is the way from
GPU to NIC, or NVLink (NcclOneNode). busbw is no figure of a link: rule 3 has what GPUs, NICs and their links can show
at most, and how a run compares with others only its system's reference says. Nothing here could be tried on GPUs.
"""

from collections.abc import Mapping

import reframe as rfm
from reframe.core.builtins import parameter

from railyard.rfm.checks.nccl import NcclCheck
from railyard.rfm.checks.variants import of_gpus

#: Without all_reduce, which is every day's.
COLLECTIVES = ("all_gather", "reduce_scatter", "alltoall", "broadcast", "sendrecv")


@rfm.simple_test
class NcclAllReduce(NcclCheck):
    """A sum over all GPUs of all nodes, as training does it."""

    benchmark = "all_reduce_perf"
    all_nodes = True


@rfm.simple_test
class NcclCollective(NcclCheck):
    """One collective of ``COLLECTIVES`` over all GPUs of all nodes: `-P collective=alltoall` selects one."""

    extended = True
    all_nodes = True
    collective = parameter(of_gpus(COLLECTIVES), type=str, loggable=True)

    @classmethod
    def benchmark_of(cls, parameters: Mapping[str, str]) -> str:
        return f"{parameters['collective']}_perf"


@rfm.simple_test
class NcclTwoNodes(NcclCheck):
    """All GPUs of two nodes: trees and alltoall show more there than on many nodes, so its figures are its own."""

    extended = True
    collective = parameter(of_gpus(("all_reduce", "alltoall", "sendrecv")), type=str, loggable=True)

    @classmethod
    def benchmark_of(cls, parameters: Mapping[str, str]) -> str:
        return f"{parameters['collective']}_perf/two-nodes"
