"""Takes a fabric of a system's file; returns how its ports, cards and slots should be."""

from railyard.cluster.fabric.model import ExpectedFabric, RailExpected
from railyard.hardware.ib_speeds import rate_gbit_s
from railyard.hardware.links import Link
from railyard.site.systems.fabric_state import lanes_and_speed
from railyard.site.systems.model import Fabric, System

#: Kinds whose ports a subnet manager brings up.
MANAGED = ("ib", "opa")
#: Kinds of fabrics with an RDMA device that can be read.
VERBS = ("ib", "roce", "opa")


def expected_of(system: System, name: str) -> ExpectedFabric:
    """Return how one fabric should be. Raises KeyError for a fabric that the system does not have."""
    fabric = system.fabrics[name]
    state = fabric.fabric_state
    width, speed = lanes_and_speed(fabric.link)
    said = {} if state is None else state.model_dump(exclude={"width", "speed", "mtu", "subnet_manager", "roce_mode"})
    if fabric.kind == "roce" and fabric.gid_index is not None:
        said["gid_index"] = fabric.gid_index
    if state is not None:
        width, speed = state.width or width, state.speed or speed
    managed = None if state is None else state.subnet_manager
    mode = None if state is None else state.roce_mode
    return ExpectedFabric(
        file=f"systems/{system.system}.yaml",
        fabric=name,
        kind=fabric.kind,
        link=fabric.link.name,
        rails=tuple(
            RailExpected(rail.device, rail.port or 1, rail.slot or fabric.slot, rail.counters) for rail in fabric.rails
        ),
        nodes=system.nodes.names,
        count=system.nodes.number,
        width=width,
        speed=speed,
        rate=rate_of(fabric.link, width, speed),
        mtu=_mtu(fabric),
        max_payload=fabric.max_payload,
        subnet_manager=fabric.kind in MANAGED if managed is None else managed,
        neighbours=_neighbours(system, name),
        roce_mode=(mode or "v2") if fabric.kind == "roce" else None,
        **said,
    )


def rate_of(link: Link, width: int | None, speed: str | None) -> float | None:
    """Return the rate as the kernel gives it, Gbit/s: of InfiniBand by lanes and speed, else the link's data rate."""
    if width is not None and speed is not None:
        return rate_gbit_s(f"{width}X", speed)
    return link.data_rate_gbit_s


def _neighbours(system: System, name: str) -> frozenset[tuple[str, int]]:
    """Return (device, port) of the rails that belong only to other fabrics with a subnet."""
    ours = {(rail.device, rail.port or 1) for rail in system.fabrics[name].rails}
    others = [fabric for other, fabric in system.fabrics.items() if other != name and fabric.kind in MANAGED]
    return frozenset({(rail.device, rail.port or 1) for fabric in others for rail in fabric.rails} - ours)


def _mtu(fabric: Fabric) -> int | None:
    """Return the active path MTU: what the file says, else the largest, from which limits are computed too."""
    if fabric.kind not in ("ib", "roce"):
        return None
    said = None if fabric.fabric_state is None else fabric.fabric_state.mtu
    return said or fabric.mtu or max(fabric.link.mtus, default=None)
