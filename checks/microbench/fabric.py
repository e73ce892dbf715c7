"""A fabric's own state, read on each node before anything is measured: link, counters, card, slot, GID, MTU.

A link with the wrong width, a card in the wrong slot or a path MTU of 1024 explains a bad result better than the result
itself. Each node reads what it can without root. `railyard fabric`, as root on one node, sees a whole InfiniBand
subnet: switches, missing and unknown hosts, error counters of every port, hops.
"""

import reframe as rfm

from railyard.rfm.checks.fabric import FabricCheck


@rfm.simple_test
class FabricState(FabricCheck):
    """Compares every port, card and slot of the fabric's rails with the system's file."""
