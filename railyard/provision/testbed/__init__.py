"""The virtual cluster: network namespaces as nodes, shaped veth pairs as rails.

The names below are imported when they are asked for: what only needs a spec or a path (how a run is launched) then
starts no processes, and imports nothing that could.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from railyard.provision.testbed.cluster import Testbed
    from railyard.provision.testbed.faults import Degradation
    from railyard.provision.testbed.lock import measurement_lock
    from railyard.provision.testbed.needs import namespaces_refused
    from railyard.provision.testbed.rail_status import RailStatus
    from railyard.provision.testbed.spec import DEFAULT_SPEC, Network, TestbedSpec, spec_of

_WHERE = {
    "DEFAULT_SPEC": "spec",
    "Degradation": "faults",
    "Network": "spec",
    "RailStatus": "rail_status",
    "Testbed": "cluster",
    "TestbedSpec": "spec",
    "measurement_lock": "lock",
    "namespaces_refused": "needs",
    "spec_of": "spec",
}

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


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
