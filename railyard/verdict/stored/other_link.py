"""Whether an output says that it ran on another kind of link than the one that it is to be judged by."""

import re

from railyard.parsers.parsed import Table
from railyard.verdict.inputs import Target

_LINK_TYPE = re.compile(r"\bLink type\s*:\s*(\w+)")
#: The kind of link that perftest prints as "Link type" (ibv_port_attr.link_layer), by the family of a link. A card of
#: Omni-Path says IB, too. Slingshot is left out: its first generation has Ethernet cards of another maker.
#: Source: github.com/linux-rdma/perftest, src/perftest_parameters.c, link_layer_str.
_LINK_TYPES = {"infiniband": "IB", "omnipath": "IB", "roce": "Ethernet", "ethernet": "Ethernet"}
_NAMES = {"infiniband": "InfiniBand", "omnipath": "Omni-Path", "roce": "RoCE", "ethernet": "Ethernet"}
#: What only one network has, by the family of its links: the tools of libcxi, EFA's scalable reliable datagrams, and
#: the names that the kernel gives to devices of Omni-Path and to RDMA in software, which no card's rate bounds.
#: Source: github.com/HewlettPackard/shs-libcxi, utils; linux-rdma/perftest, src/perftest_parameters.c, connStr;
#: torvalds/linux, drivers/infiniband/hw/hfi1/init.c and drivers/infiniband/sw/rxe.
_OF_CONNECTION = {"SRD": "efa"}
_OF_TOOL = {"cxi": "slingshot"}
_OF_DEVICE = (("hfi1_", "omnipath"), ("rxe", "software"), ("siw", "software"))
_NETWORKS = {
    "efa": "EFA (efa-100, efa-200, …)",
    "slingshot": "Slingshot (slingshot-10, slingshot-11, …)",
    "omnipath": "Omni-Path (opa-100, …)",
    "software": "RDMA in software over Ethernet, which a processor bounds and no card",
}
_FAMILIES = {*_LINK_TYPES, "slingshot", "efa"}
_INSTEAD = {
    "IB": "the InfiniBand or Omni-Path link of its port (ib-edr, ib-hdr, opa-100, …)",
    "Ethernet": "the RoCE link of its port (roce-25, roce-100, roce-200, …)",
}


def other_link(table: Table, target: Target, text: str) -> str | None:
    """Return why a table is not judged by the target's link: its output names another kind of link. None if not.

    ``text`` is the output, for the line that names it.
    """
    network = _other_network(table, target)
    if network is not None:
        return network
    printed, expected = table.context.get("link"), _LINK_TYPES.get(target.fabric.link.family)
    if expected is None or printed not in _INSTEAD or printed == expected:
        return None
    line = _line_of(str(printed), table.line, text)
    where = "" if line is None else f" (line {line})"
    kind = _NAMES[target.fabric.link.family]
    says = f'not judged: the output says "Link type: {printed}"{where}, but'
    if target.system:
        return (
            f"{says} {target.fabric_name} of {target.system} is {kind}: the run used another network, or it is of "
            "another system; look at the device that it was given (-d)"
        )
    rate = "ibstatus shows its rate"
    return f"{says} --link {target.fabric_name} is {kind}: give --link {_INSTEAD[str(printed)]}; {rate}"


def _other_network(table: Table, target: Target) -> str | None:
    """Return why a table is not judged: its tool, connection or device is of another network; None if not.

    A system's file may name rails that are devices of software; then its own references and links decide.
    """
    said = _network_of(table)
    family = target.fabric.link.family
    if said is None or family not in _FAMILIES or said[1] == family:
        return None
    if said[1] == "software" and any(_family_of(rail) == "software" for rail in target.rail_names):
        return None
    of = f"{target.fabric_name} of {target.system}" if target.system else f"--link {target.fabric_name}"
    return f"not judged: the output is of {said[0]}: {_NETWORKS[said[1]]}; {of} is another network"


def _network_of(table: Table) -> tuple[str, str] | None:
    """Return what names a table's network, with the family of its links; None if nothing does."""
    connection, device = str(table.context.get("connection")), str(table.context.get("device"))
    if table.tool in _OF_TOOL:
        return f"{table.benchmark or table.tool}", _OF_TOOL[table.tool]
    if connection in _OF_CONNECTION:
        return f"a connection of type {connection}", _OF_CONNECTION[connection]
    family = _family_of(device)
    return None if family is None else (f"the device {device}", family)


def _family_of(device: str) -> str | None:
    """Return the network whose devices alone have such a name; None for any other name."""
    return next((family for prefix, family in _OF_DEVICE if device.startswith(prefix)), None)


def _line_of(printed: str, heading: int, text: str) -> int | None:
    """Return the line that names this kind of link: the last one before the table's heading, else the first one."""
    lines = [
        number
        for number, line in enumerate(text.split("\n"), 1)
        if (found := _LINK_TYPE.search(line)) and found[1] == printed
    ]
    return max((line for line in lines if line <= heading), default=lines[0] if lines else None)
