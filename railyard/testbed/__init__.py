"""The virtual cluster: network namespaces as nodes, shaped veth pairs as rails."""

from railyard.testbed.cluster import Testbed
from railyard.testbed.faults import Degradation
from railyard.testbed.lock import measurement_lock
from railyard.testbed.needs import namespaces_refused
from railyard.testbed.railstatus import RailStatus
from railyard.testbed.spec import DEFAULT_SPEC, Network, TestbedSpec, spec_of

__all__ = [
    "DEFAULT_SPEC",
    "Degradation",
    "Network",
    "RailStatus",
    "Testbed",
    "TestbedSpec",
    "measurement_lock",
    "namespaces_refused",
    "spec_of",
]
