"""What connects GPUs, one part at a time: rails without NVLink, a node's own links without NICs, a node over its NICs.

If NcclRails is low, it is the network, or a GPU that sends by a NIC far from it, which the test reports. If NcclRails
is good and NcclAllReduce is low, the fault is within the node (NcclOneNode). NcclOverNics needs no second node. If it
is low and the tests between nodes are good, it is the switches' uplinks; if both are low, it is the cards. Nothing here
could be tried on GPUs.
"""

import reframe as rfm

from railyard.benchmarks.table.nccl import ONE_GPU, ONE_NODE, OVER_NICS, RAILS
from railyard.rfm.checks.gpu import NcclCheck
from railyard.rfm.checks.groups import Layout
from railyard.rfm.versions import typed_parameter
from railyard.site.matrix import DEFAULT


@rfm.simple_test
class NcclRails(NcclCheck):
    """GPUs with the same number on all nodes form a group; all groups run at once: each rail by itself, without NVLink.

    Each GPU must send by a NIC that is nearest to it in the system's file (``gpus: nearest``).
    """

    benchmark = f"all_reduce_perf/{RAILS}"
    all_nodes = True


@rfm.simple_test
class NcclOneGpu(NcclCheck):
    """The first GPU of each node over the first rail: the network alone."""

    extended = True
    benchmark = f"all_reduce_perf/{ONE_GPU}"
    all_nodes = True
    rails = typed_parameter([1], type=int, loggable=True)
    policy = typed_parameter([DEFAULT], type=str, loggable=True)


@rfm.simple_test
class NcclOneNode(NcclCheck):
    """All GPUs of one node over their own links (NVLink, xGMI, PCIe). No NIC may carry anything."""

    benchmark = f"all_reduce_perf/{ONE_NODE}"
    num_nodes = 1
    layout = Layout(within_node=True)
    rails = typed_parameter([1], type=int, loggable=True)
    policy = typed_parameter([DEFAULT], type=str, loggable=True)


@rfm.simple_test
class NcclOverNics(NcclCheck):
    """All GPUs of one node over its NICs only: each sends to its neighbour as if to another node."""

    extended = True
    benchmark = f"all_reduce_perf/{OVER_NICS}"
    num_nodes = 1
