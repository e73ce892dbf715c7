"""Views of a system's nodes and fabrics: what rules about nodes ask for, whoever gives it.

The whole model of a system's file (`systems.model.System`) and its part of a gate (`systems.node_part.SystemPart`) both
have these fields, so a rule judges both alike. The values that both allow in a field are here, too.
"""

from collections.abc import Mapping
from typing import Literal, Protocol

from railyard.hardware.links import Link

#: The kinds of fabric as the table of stacks has them; a test compares these with it.
Kind = Literal["tcp", "ib", "roce", "opa", "slingshot", "efa"]
Counters = Literal["netdev", "mlx4", "mlx5", "hfi1", "bnxt_re", "irdma", "efa", "cxi", "rxe", "none"]
Provider = Literal["testbed", "guests", "nodes", "host", "replay"]
HeaderModel = Literal["infiniband", "rocev2", "tcp", "tcp-shaped", "opa", "none"]
LinkFamily = Literal["infiniband", "omnipath", "slingshot", "roce", "ethernet", "efa", "declared"]
PayloadSize = Literal[128, 256, 512, 1024, 2048, 4096]
LinkWidth = Literal[1, 2, 4, 8, 12]
PathMtu = Literal[256, 512, 1024, 2048, 4096]
RoceMode = Literal["v1", "v2"]
IommuMode = Literal["off", "passthrough", "translated"]


class RailView(Protocol):
    """One device and port of each node that carries MPI traffic."""

    @property
    def device(self) -> str: ...
    @property
    def port(self) -> int | None: ...
    @property
    def slot(self) -> str | None: ...
    @property
    def counters(self) -> str: ...
    @property
    def name(self) -> str: ...


class StateView(Protocol):
    """What ports, cards and slots must be, as far as rules ask for it by name."""

    @property
    def width(self) -> int | None: ...
    @property
    def speed(self) -> str | None: ...
    @property
    def mtu(self) -> int | None: ...
    @property
    def subnet_manager(self) -> bool | None: ...
    @property
    def gid_index(self) -> int | None: ...
    @property
    def roce_mode(self) -> str | None: ...


class FabricView(Protocol):
    """One interconnect, as a node shows it."""

    @property
    def kind(self) -> str: ...
    @property
    def declared_link(self) -> object: ...
    @property
    def link(self) -> Link: ...
    @property
    def slot(self) -> str | None: ...
    @property
    def max_payload(self) -> int: ...
    @property
    def mtu(self) -> int | None: ...
    @property
    def gid_index(self) -> int | None: ...
    @property
    def rails(self) -> "tuple[RailView, ...]": ...
    @property
    def fabric_state(self) -> "StateView | None": ...


class NodesView(Protocol):
    """The nodes: their names, or how many the scheduler can give."""

    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def count(self) -> int | None: ...
    @property
    def number(self) -> int: ...


class GateView(Protocol):
    """What a gate demands that sends nothing, and the commands that drain and resume a node."""

    @property
    def limit_s(self) -> int: ...
    @property
    def counters(self) -> Mapping[str, int]: ...
    @property
    def neighbours(self) -> tuple[str, ...]: ...
    @property
    def drain(self) -> tuple[str, ...]: ...
    @property
    def resume(self) -> tuple[str, ...]: ...


class SystemView(Protocol):
    """A cluster's nodes and fabrics."""

    @property
    def system(self) -> str: ...
    @property
    def provider(self) -> str: ...
    @property
    def nodes(self) -> NodesView: ...
    @property
    def fabrics(self) -> Mapping[str, FabricView]: ...
    @property
    def gate(self) -> GateView: ...
