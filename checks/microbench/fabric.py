"""A fabric's own state, read on each node before anything is measured: link, counters, card, slot, GID, MTU.

A link at the wrong width, a card in the wrong slot or a path MTU of 1024 explain a bad result better than the result
does. Each node reads what it may without rights; `railyard fabric`, as root on one node, sees all of an InfiniBand
subnet: switches, missing and unknown hosts, error counters of every port, hops.
"""

import reframe as rfm

from railyard.rfm.checks.fabric import FabricCheck


@rfm.simple_test
class FabricState(FabricCheck):
    """Every port, card and slot of the fabric's rails against the system's file."""
