"""STREAM on each node by itself: the memory that ranks, cards and applications share.

A node that is slow here is slow in every application and on every fabric (a missing memory module, a wrong BIOS
setting). Fix it before you blame a link. Spack builds STREAM if a system's file asks for it (`with: [stream]`).
"""

import reframe as rfm

from railyard.benchmarks.apps import every_node
from railyard.rfm.checks.application import EveryNodeCheck


@rfm.simple_test
class StreamEveryNode(EveryNodeCheck):
    """Triad, a = b + s c, with one thread per core. Its own check of the arrays must succeed."""

    tool = "stream"
    tags = {"apps", "nodes"}
    parse = staticmethod(every_node.stream_of_nodes)
