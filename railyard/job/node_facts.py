"""What each node of a run is and how it is set, as ``node.sh`` read it in the job: groups of nodes that are alike.

``node.sh`` (package data beside this file) reads sysfs and procfs without root, in a few milliseconds, before the
benchmark starts. A BIOS setting that the kernel does not show (snoop mode) is not there; the number of NUMA domains a
socket (NPS, sub-NUMA clustering), SMT, turbo, idle states and the governor are. Serial numbers, UUIDs and the whole
kernel command line are never read.
"""

import ipaddress
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from railyard.base.clean_text import one_line
from railyard.base.paths import packaged_text
from railyard.hardware import slots
from railyard.results.record.form import NodeGroup

FORMAT = 1
SCRIPT = "node.sh"
_LONGEST = 300

#: Each fact of a node, and what it is.
FACTS: Mapping[str, str] = MappingProxyType(
    {
        "kernel": "release of the running kernel",
        "operating_system": "distribution with its release, as /etc/os-release has it",
        "kernel_options": "words of its command line that change timing or I/O, of a list of their names",
        "processor": "model of the processors",
        "microcode": "revision of their microcode",
        "logical_processors": "how many the kernel uses",
        "sockets": "how many processors",
        "numa_nodes_per_socket": "domains of memory with processors, a socket: NPS or sub-NUMA clustering",
        "memory": "all memory that the kernel has",
        "cpus_allowed": "logical processors that the first process of the node may run on: where the launcher bound it",
        "smt": "several threads a core: on, off, forceoff, notsupported",
        "turbo": "whether clocks may rise above the nominal one",
        "governor": "cpufreq's governor of the first processor",
        "frequency_driver": "cpufreq's driver",
        "energy_preference": "what the processor is asked to prefer",
        "frequency_max_khz": "highest clock that the governor may ask for",
        "base_frequency_khz": "nominal clock, where the driver says it (intel_pstate)",
        "idle_driver": "what puts idle processors to sleep",
        "c_states": "idle states that are not switched off",
        "transparent_hugepages": "always, madvise or never",
        "numa_balancing": "whether the kernel moves pages between domains",
        "sys_vendor": "who made the machine",
        "product_name": "its model",
        "board_name": "its main board",
        "bios_vendor": "who made its firmware",
        "bios_version": "version of that firmware",
        "bios_date": "date of that firmware",
    }
)

#: Each fact of a network or RDMA device, and what it is.
DEVICE_FACTS: Mapping[str, str] = MappingProxyType(
    {
        "driver": "kernel driver",
        "driver_version": "its version, where it has one of its own (in the kernel's own tree few have)",
        "firmware": "version of the card's firmware; of an Ethernet card the kernel shows it to ethtool alone",
        "board": "board id (PSID)",
        "card": "type of the card",
        "mtu": "of a network device, in bytes",
        "interface_mtu": "of the network interface of an RDMA port, in bytes",
        "subnets": "IPv4 networks that its interface leads to without a router",
        "subnet_prefix": "of an InfiniBand port, the first half of its first GID",
        "mode": "of IP over InfiniBand: datagram or connected",
        "speed_mbit_s": "of a network device",
        "rate": "of an RDMA port",
        "link_layer": "of an RDMA port: InfiniBand or Ethernet",
        "current_link_speed": "of its slot now",
        "current_link_width": "lanes of its slot now",
        "max_link_speed": "of its slot at most",
        "max_link_width": "lanes of its slot at most",
        "numa_node": "domain of memory that its slot belongs to, -1 where it is not known",
        "local_cpulist": "logical processors of that domain",
        "slot": "path of its PCI slot with the bridges above it",
        "accelerator": "of a GPU: its kernel driver",
        "gpu_distance": "from a network card to each GPU, near to far: PIX, PXB, PHB, NODE, SYS",
    }
)


#: Facts of where a device is, which a record does not keep: nodes that are alike differ in them.
OF_A_PLACE = frozenset({"subnets", "subnet_prefix"})
#: Above so many groups, facts of more than so many values part no nodes: a record has 2 kB a group.
MOST_GROUPS, MOST_VALUES = 64, 8


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What one node said of itself: facts by name, and facts by name of each device."""

    node: str
    facts: Mapping[str, str]
    devices: Mapping[str, Mapping[str, str]]


def node_script() -> str:
    """Return the text of the script, to be written beside the counter reader."""
    return packaged_text(f"job/scripts/{SCRIPT}")


def parse(text: str, tag: str) -> NodeFacts | None:
    """Return what a node wrote; None where the file is of another run, was cut, or is not the script's.

    A line of another form, or with a name that is not in the tables, is left out: no verdict rests on it.
    """
    lines = text.split("\n")
    if len(lines) < 4 or lines[0] != f"railyard-node {FORMAT} {tag}" or lines[-2:] != ["end", ""]:
        return None
    facts: dict[str, str] = {}
    devices: dict[str, dict[str, str]] = {}
    for line in lines[2:-2]:
        kind, _, rest = line.partition(" ")
        if kind == "fact":
            _keep(facts, FACTS, rest)
        elif kind == "device":
            device, _, said = rest.partition(" ")
            _keep(devices.setdefault(device, {}), DEVICE_FACTS, said)
    for each in devices.values():
        if "subnets" in each:
            each["subnets"] = " ".join(filter(None, map(_network, each["subnets"].split())))
    known = {name: said for name, said in devices.items() if said}
    return NodeFacts(lines[1].removeprefix("node "), facts, _with_distances(known))


def grouped(found: Iterable[NodeFacts]) -> tuple[NodeGroup, ...]:
    """Return the nodes a group of those that are alike in everything, the largest group first.

    Of thousands of nodes each may have a few kB less memory than the next. Where that makes too many groups, what
    differs so is a value a node (``varied``) and parts no nodes.
    """
    ones = [replace(one, devices=_without_places(one.devices)) for one in sorted(found, key=lambda one: one.node)]
    said = [_flat(one) for one in ones]
    varied = _varied(said) if len({frozenset(each.items()) for each in said}) > MOST_GROUPS else ()
    groups: dict[frozenset[tuple[_Name, str]], list[int]] = {}
    for place, each in enumerate(said):
        groups.setdefault(frozenset(item for item in each.items() if item[0] not in varied), []).append(place)
    return tuple(
        _group([ones[place] for place in places], [said[place] for place in places], varied)
        for places in sorted(groups.values(), key=len, reverse=True)
    )


#: The device ("" for the node itself) and the name of a fact.
_Name = tuple[str, str]


def _flat(one: NodeFacts) -> dict[_Name, str]:
    found = {("", name): value for name, value in one.facts.items()}
    found |= {(device, name): value for device, facts in one.devices.items() for name, value in facts.items()}
    return found


def _varied(said: Sequence[Mapping[_Name, str]]) -> tuple[_Name, ...]:
    """Return the facts that have more values than as many groups may have."""
    values: dict[_Name, set[str]] = {}
    for each in said:
        for name, value in each.items():
            values.setdefault(name, set()).add(value)
    return tuple(name for name, known in values.items() if len(known) > MOST_VALUES)


def _group(nodes: Sequence[NodeFacts], said: Sequence[Mapping[_Name, str]], varied: Sequence[_Name]) -> NodeGroup:
    one = nodes[0]
    facts = {name: value for name, value in one.facts.items() if ("", name) not in varied}
    devices = {
        device: {name: value for name, value in its.items() if (device, name) not in varied}
        for device, its in one.devices.items()
    }
    differing = {
        f"{device} {name}".strip(): tuple(each.get((device, name), "") for each in said) for device, name in varied
    }
    return NodeGroup(tuple(each.node for each in nodes), facts, devices, varied=differing)


def _without_places(devices: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    return {
        device: {name: value for name, value in said.items() if name not in OF_A_PLACE}
        for device, said in devices.items()
    }


def _network(shown: str) -> str | None:
    """Return 10.98.1.0/24 of what /proc/net/route shows of a network and its mask; None of anything else.

    Both are the address's four bytes as one number of the machine's byte order.
    """
    try:
        address, mask = (int(part, 16).to_bytes(4, sys.byteorder) for part in shown.split("/"))
        return str(ipaddress.IPv4Network((address, ipaddress.IPv4Address(mask).compressed)))
    except (ValueError, OverflowError):
        return None


def _with_distances(devices: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return the devices, each network card with its distance to every GPU of the node."""
    gpus = {name: said for name, said in devices.items() if "accelerator" in said and "slot" in said}
    for name, said in devices.items():
        if not gpus or name in gpus or "slot" not in said:
            continue
        domain = said.get("numa_node", "-1")
        far = [
            (gpu, slots.distance(said["slot"], its["slot"], domain != "-1" and domain == its.get("numa_node")))
            for gpu, its in sorted(gpus.items())
        ]
        far.sort(key=lambda pair: list(slots.DISTANCES).index(pair[1]))
        said["gpu_distance"] = ", ".join(f"{gpu} {word}" for gpu, word in far)[:_LONGEST]
    return devices


def _keep(into: dict[str, str], table: Mapping[str, str], said: str) -> None:
    name, _, value = said.partition(" ")
    text = one_line(value)
    if name in table and text:
        into.setdefault(name, text[:_LONGEST])
