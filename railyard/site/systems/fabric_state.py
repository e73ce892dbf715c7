"""The part `fabric_state` of a fabric in a system's file: the state of its ports, cards and slots. All is optional.

A field that is left out follows from the fabric's link, slot, rails and MTU, or only has to be equal on all nodes.
"""

from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from railyard.base.errors import did_you_mean
from railyard.base.fields import Count, Model, Value
from railyard.base.values import refuse, show
from railyard.hardware.counters import ERROR_BITS
from railyard.hardware.links import LANES
from railyard.site.systems.fields import HostPattern
from railyard.site.systems.node_view import IommuMode, LinkWidth, PathMtu, PayloadSize, RoceMode


def _speed(name: str) -> str:
    if name in LANES:
        return name
    raise refuse(show(name), "the name of a lane speed", did_you_mean(name.upper(), LANES))


def _counter(name: str) -> str:
    if name in ERROR_BITS:
        return name
    raise refuse(show(name), "an error counter by its standard name", did_you_mean(name, ERROR_BITS))


def _priorities(values: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(values)) == len(values):
        return tuple(sorted(values))
    raise refuse(show(list(values)), "each priority once")


SpeedName = Annotated[str, AfterValidator(_speed), WithJsonSchema({"type": "string", "enum": list(LANES)})]
CounterName = Annotated[str, AfterValidator(_counter)]
Priority = Annotated[int, Field(strict=True, ge=0, le=7)]
Priorities = Annotated[tuple[Priority, ...], AfterValidator(_priorities)]
Bound = Annotated[int, Field(strict=True, ge=0)]


class FabricState(Model):
    """What ports, cards and slots of a fabric must be, if link, slot, rails and MTU do not say it already."""

    width: LinkWidth | None = Field(None, description="Lanes of every link, if they differ from the link's own")
    speed: SpeedName | None = Field(
        None, description="Lane speed of every link (EDR), if it differs from the link's own"
    )
    mtu: PathMtu | None = Field(None, description="Active path MTU of every port, bytes")
    firmware: Value | None = Field(None, description="Firmware of every card; if left out: the same on all nodes")
    psid: Value | None = Field(None, description="Board id of every card; if left out: the same on all nodes")
    subnet_manager: bool | None = Field(None, description="Whether there is one; if left out: on ib and opa")
    gid_index: Bound | None = Field(None, description="For RoCE: the GID that jobs use")
    roce_mode: RoceMode | None = Field(None, description="For RoCE; if left out: v2")
    pfc: Priorities | None = Field(None, description="For RoCE: priorities with flow control (PFC)")
    ecn: Priorities | None = Field(None, description="For RoCE: priorities with congestion notification (ECN)")
    hops: Count | None = Field(None, description="The most switches between two nodes on one rail")
    others: tuple[HostPattern, ...] = Field((), description="Patterns of hosts on the fabric that are not nodes")
    errors: dict[CounterName, Bound] = Field({}, description="Error counter: the highest value that is not a fault")
    max_read_request: PayloadSize | None = Field(None, description="PCIe, bytes")
    relaxed_ordering: bool | None = Field(None, description="PCIe: whether cards may use it")
    acs: bool | None = Field(None, description="PCIe: whether bridges above the cards redirect peer traffic")
    iommu: IommuMode | None = Field(None, description="How the IOMMU treats cards")
