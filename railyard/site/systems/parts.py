"""Small parts of systems/*.yaml: `gate` and its demands, `gpus` of each node, and `fabric_state` of a fabric.

``gate``: demands of `railyard gate`, and the commands that drain and resume nodes. ``gpus``: the GPUs of each node,
what connects them, and the GPU nearest to each NIC. ``fabric_state``: the state of ports, cards and slots; a field that
is left out follows from the fabric's link, slot, rails and MTU, or only has to be equal on all nodes.
"""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, WithJsonSchema

from railyard.base.bounds import FLAP_QUIET, FLAPS_PER_DAY
from railyard.base.errors import did_you_mean
from railyard.base.fields import Count, Duration, Model, Name, PathText, Positive, Prose, Size, Value
from railyard.base.values import refuse, seconds, show
from railyard.hardware.counters import ERROR_BITS
from railyard.hardware.gpu_nodes import GPU_LINKS, GpuLink, over_slot
from railyard.hardware.links import LANES, SLOTS
from railyard.site.systems.fields import HostPattern, NodeNames, SlotName
from railyard.site.systems.node_view import (
    IommuMode,
    LinkWidth,
    PathMtu,
    PayloadSize,
    RoceMode,
    check_command,
    check_gate_counter,
    check_limit,
)

Limit = Annotated[Duration, AfterValidator(check_limit)]
#: The words of a command, as the kernel gets them. No shell reads them.
Command = Annotated[tuple[str, ...], AfterValidator(check_command)]
CounterName = Annotated[str, AfterValidator(check_gate_counter)]
Growth = Annotated[int, Field(strict=True, ge=0)]


class Gate(Model):
    """What `railyard gate` demands of a node besides its links, slots and counters. All of it may be left out."""

    limit: Limit = Field(
        "50s", description="How long a gate may take, at most 55s. The prolog's own limit must be longer"
    )
    most_bytes: Size = Field(
        4 << 30, description="With --traffic: the most bytes that one gate sends in all its measurements together"
    )
    counters: dict[CounterName, Growth] = Field(
        {},
        description="Counter: by how much it may grow between two gates. Errors that are not named here may not grow",
    )
    flaps_per_day: Growth = Field(
        int(FLAPS_PER_DAY.value),
        description="How often a port's link may go down within 24 hours; a port that went down more often is unfit",
    )
    quiet: Duration = Field(
        f"{FLAP_QUIET.value:g}h",
        description="How long gates must see no flap until a port that flapped too often counts as good again",
    )
    optics: bool = Field(
        False,
        description="Whether a gate also reads cables and modules (mlxlink or ethtool, as root) and compares them with "
        "the thresholds that they state themselves; an alarm makes the node unfit",
    )
    loopback_mb_s: Positive | None = Field(
        None, description="What a card's loop to itself must reach, MB/s (10^6 B/s); if left out, it is not measured"
    )
    memory_mb_s: Positive | None = Field(
        None, description="What STREAM's Triad must reach, MB/s (10^6 B/s); if left out, it is not measured"
    )
    pair_mb_s: Positive | None = Field(
        None, description="What a stream to a neighbour must reach, MB/s; if left out: the day-one floor of the link"
    )
    neighbours: NodeNames = Field((), description="Nodes that are known to be good: --neighbour takes one of them")
    drain: Command = Field((), description="Command that drains {node} for {reason}; if left out, no node is drained")
    resume: Command = Field(
        (),
        description="Command that resumes {node} if a gate that drained it finds it fit; if left out, none is resumed",
    )

    @property
    def limit_s(self) -> int:
        """How long a gate may take, in seconds."""
        return seconds(self.limit)

    @property
    def quiet_s(self) -> int:
        """How long a port must be quiet until it counts as good again, in seconds."""
        return seconds(self.quiet)


GpuNumber = Annotated[int, Field(strict=True, ge=0)]


class Gpus(Model):
    """The GPUs of every node. nvlink, xgmi or, without these two, slot (PCIe) says what connects them."""

    per_node: Count = Field(description="GPUs per node, as programs count them: a GCD of an MI250X is one")
    kind: Prose = Field(description="Their model, such as NVIDIA H100 SXM5 80 GB")
    nvlink: Literal[1, 2, 3, 4, 5] | None = Field(None, description="Generation of NVLink between the GPUs of a node")
    nvlinks: Count | None = Field(
        None, description="NVLinks per GPU, if they are fewer than its generation's (8 for an H800)"
    )
    xgmi: Literal["mi250x", "mi300x", "mi355x"] | None = Field(
        None, description="AMD's GPU whose Infinity Fabric connects the GPUs of a node"
    )
    slot: SlotName | None = Field(
        None,
        description="Slot of a GPU. It carries its NICs' traffic, and without nvlink and xgmi all that the GPU sends",
    )
    domain: Count | None = Field(
        None, description="GPUs per NVLink domain, if it is larger than a node (72 for an NVL72)"
    )
    nearest: dict[Name, tuple[GpuNumber, ...]] = Field(
        {},
        description="Device of a NIC: the numbers of the GPUs nearest to it; if left out: GPUs are shared out evenly",
    )

    @property
    def link(self) -> GpuLink | None:
        """What connects the GPUs of a node; None if the file does not say."""
        if self.nvlink is not None:
            link = GPU_LINKS[f"nvlink-{self.nvlink}"]
            return link if self.nvlinks is None else link.with_links(self.nvlinks)
        if self.xgmi is not None:
            return GPU_LINKS[f"xgmi-{self.xgmi}"]
        return None if self.slot is None else over_slot(SLOTS[self.slot])

    def nearest_gpu(self, device: str, devices: Sequence[str]) -> int | None:
        """Return the number of the GPU that is nearest to a NIC, the first of several; None if it has none.

        ``devices``: all NICs of its fabric. The GPUs are shared out over them if `nearest` is left out.
        """
        if self.nearest:
            return next(iter(self.nearest.get(device, ())), None)
        cards = list(dict.fromkeys(devices))
        return cards.index(device) * self.per_node // len(cards)

    def nics_of_gpu(self, devices: tuple[str, ...]) -> int:
        """Return the largest number of these NICs that one GPU has for itself, at least 1."""
        if not self.nearest:
            return max(1, -(-len(devices) // self.per_node))
        near = [gpu for device in devices for gpu in self.nearest.get(device, ())]
        return max([near.count(gpu) for gpu in set(near)], default=1)


def _speed(name: str) -> str:
    if name in LANES:
        return name
    raise refuse(show(name), "the name of a lane speed", did_you_mean(name.upper(), LANES))


def _error_counter(name: str) -> str:
    if name in ERROR_BITS:
        return name
    raise refuse(show(name), "an error counter by its standard name", did_you_mean(name, ERROR_BITS))


def _priorities(values: tuple[int, ...]) -> tuple[int, ...]:
    if len(set(values)) == len(values):
        return tuple(sorted(values))
    raise refuse(show(list(values)), "each priority once")


SpeedName = Annotated[str, AfterValidator(_speed), WithJsonSchema({"type": "string", "enum": list(LANES)})]
ErrorCounterName = Annotated[str, AfterValidator(_error_counter)]
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
    errors: dict[ErrorCounterName, Bound] = Field(
        {}, description="Error counter: the highest value that is not a fault"
    )
    max_read_request: PayloadSize | None = Field(None, description="PCIe, bytes")
    relaxed_ordering: bool | None = Field(None, description="PCIe: whether cards may use it")
    acs: bool | None = Field(None, description="PCIe: whether bridges above the cards redirect peer traffic")
    iommu: IommuMode | None = Field(None, description="How the IOMMU treats cards")


class TopologySource(Model):
    """A file of the site with the switches of a fabric."""

    slurm: PathText = Field(
        description="Slurm's topology.conf or topology.yaml, or what `scontrol show topology` printed; from the folder "
        "of this file"
    )
    name: Name | None = Field(
        None, description="Which topology of a topology.yaml with several; if left out: its default"
    )
    rails: dict[Name, NodeNames] = Field(
        {},
        description="Rail (mlx5_0, mlx5_0:1): its own switches among those of the file (r0leaf[1-4]), if each rail has "
        "its own",
    )
