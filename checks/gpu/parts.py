"""What connects GPUs, a part at a time: rails without NVLink, a node's own links without NICs, a node over its NICs.

NcclRails low is the network, or a GPU that sends by a NIC far from it, which it says; good there and low in
NcclAllReduce is within the node (NcclOneNode). NcclOverNics needs no second node: low there, and good between nodes,
are the switches' uplinks; both low the cards. Nothing here could be tried on GPUs.
"""

import reframe as rfm
from reframe.core.builtins import parameter

from railyard.benchmarks.table.nccl import ONE_GPU, ONE_NODE, OVER_NICS, RAILS
from railyard.rfm.checks.nccl import NcclCheck
from railyard.site.policies import DEFAULT


@rfm.simple_test
class NcclRails(NcclCheck):
    """The GPUs of one number on all nodes are a group, all groups at once: each rail by itself, without NVLink.

    Each GPU must send by a NIC that the system's file has nearest to it (``gpus: nearest``).
    """

    benchmark = f"all_reduce_perf/{RAILS}"
    all_nodes = True


@rfm.simple_test
class NcclOneGpu(NcclCheck):
    """The first GPU of each node over the first rail: the network alone."""

    extended = True
    benchmark = f"all_reduce_perf/{ONE_GPU}"
    all_nodes = True
    rails = parameter([1], type=int, loggable=True)
    policy = parameter([DEFAULT], type=str, loggable=True)


@rfm.simple_test
class NcclOneNode(NcclCheck):
    """All GPUs of one node by their own links (NVLink, xGMI, PCIe): no NIC may carry anything."""

    benchmark = f"all_reduce_perf/{ONE_NODE}"
    num_nodes = 1
    within_node = True
    rails = parameter([1], type=int, loggable=True)
    policy = parameter([DEFAULT], type=str, loggable=True)


@rfm.simple_test
class NcclOverNics(NcclCheck):
    """All GPUs of one node over its NICs alone: each sends to its neighbour as to another node."""

    extended = True
    benchmark = f"all_reduce_perf/{OVER_NICS}"
    num_nodes = 1
