"""What each node of a run is and how it is configured, as ``node.sh`` read it in the job; equal nodes form groups.

``node.sh`` (package data beside this file) reads sysfs and procfs without root, in a few milliseconds, before the
benchmark starts. BIOS settings that the kernel does not show (snoop mode) are missing. The number of NUMA domains per
socket (NPS, sub-NUMA clustering), SMT, turbo, idle states and the governor are there. Serial numbers, UUIDs and the
whole kernel command line are never read.
"""

import ipaddress
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from railyard.base.clean_text import one_line
from railyard.base.paths import packaged_text
from railyard.results.record.form import NodeGroup

#: From near to far: the names in ``nvidia-smi topo -m``, and what is between the slots.
DISTANCES = {
    "PIX": "at most one PCIe bridge: the same switch",
    "PXB": "several PCIe bridges, and no host bridge",
    "PHB": "the processor's own PCIe host bridge",
    "NODE": "several host bridges of one NUMA domain",
    "SYS": "the link between NUMA domains",
}
FORMAT = 1
SCRIPT = "node.sh"
_LONGEST = 300
#: Each fact of a node, and its meaning.
FACTS: Mapping[str, str] = MappingProxyType(
    {
        "kernel": "release of the running kernel",
        "operating_system": "distribution with its release, as /etc/os-release has it",
        "kernel_options": "words of its command line that change timing or I/O, from a list of known names",
        "processor": "model of the processors",
        "microcode": "revision of their microcode",
        "logical_processors": "how many the kernel uses",
        "sockets": "how many processors",
        "numa_nodes_per_socket": "memory domains with processors per socket: NPS or sub-NUMA clustering",
        "memory": "all memory that the kernel has",
        "cpus_allowed": "logical processors on which the node's first process may run: where the launcher bound it",
        "smt": "several threads per core: on, off, forceoff, notsupported",
        "turbo": "whether clocks may rise above the nominal one",
        "governor": "cpufreq's governor of the first processor",
        "frequency_driver": "cpufreq's driver",
        "energy_preference": "what the processor should prefer",
        "frequency_max_khz": "highest clock that the governor may choose",
        "base_frequency_khz": "nominal clock, if the driver shows it (intel_pstate)",
        "idle_driver": "driver that puts idle processors to sleep",
        "c_states": "idle states that are not switched off",
        "transparent_hugepages": "always, madvise or never",
        "numa_balancing": "whether the kernel moves pages between memory domains",
        "sys_vendor": "vendor of the machine",
        "product_name": "its model",
        "board_name": "its main board",
        "bios_vendor": "vendor of its firmware",
        "bios_version": "version of that firmware",
        "bios_date": "date of that firmware",
    }
)
#: Each fact of a network or RDMA device, and its meaning.
DEVICE_FACTS: Mapping[str, str] = MappingProxyType(
    {
        "driver": "kernel driver",
        "driver_version": "the driver's version, if it has its own (few drivers in the kernel's own tree have one)",
        "firmware": "version of the card's firmware; for an Ethernet card, the kernel shows it only to ethtool",
        "board": "board id (PSID)",
        "card": "type of the card",
        "mtu": "for a network device, in bytes",
        "interface_mtu": "for the network interface of an RDMA port, in bytes",
        "subnets": "IPv4 networks that its interface reaches without a router",
        "subnet_prefix": "for an InfiniBand port: the first half of its first GID",
        "mode": "for IP over InfiniBand: datagram or connected",
        "speed_mbit_s": "for a network device",
        "rate": "for an RDMA port",
        "link_layer": "for an RDMA port: InfiniBand or Ethernet",
        "current_link_speed": "current speed of its slot",
        "current_link_width": "current lanes of its slot",
        "max_link_speed": "highest speed of its slot",
        "max_link_width": "most lanes of its slot",
        "numa_node": "memory domain of its slot, -1 if unknown",
        "local_cpulist": "logical processors of that domain",
        "slot": "path of its PCI slot with the bridges above it",
        "accelerator": "for a GPU: its kernel driver",
        "gpu_distance": "from a network card to each GPU, near to far: PIX, PXB, PHB, NODE, SYS",
    }
)
#: Facts about where a device is. A record does not keep them: equal nodes differ in them.
OF_A_PLACE = frozenset({"subnets", "subnet_prefix"})
#: If there are more groups than this, facts with more values than this do not separate nodes: a group takes 2 kB in a
#: record.
MOST_GROUPS, MOST_VALUES = 64, 8


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """What one node reported about itself: facts by name, and facts by name for each device."""

    node: str
    facts: Mapping[str, str]
    devices: Mapping[str, Mapping[str, str]]


def node_script() -> str:
    """Return the text of the script, which is written beside the counter reader."""
    return packaged_text(f"job/scripts/{SCRIPT}")


def parse(text: str, tag: str) -> NodeFacts | None:
    """Return what a node wrote; None if the file is from another run, was cut, or is not the script's.

    A line of another form, or with a name that is not in the tables, is left out: no verdict depends on it.
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


def group_nodes(found: Iterable[NodeFacts]) -> tuple[NodeGroup, ...]:
    """Return groups of nodes that are equal in everything, the largest group first.

    With thousands of nodes, each may have a few kB less memory than the next. If that makes too many groups, such a
    fact becomes one value per node (``varied``) and does not separate nodes.
    """
    ones = [replace(one, devices=_without_places(one.devices)) for one in sorted(found, key=lambda one: one.node)]
    said = [_flat(one) for one in ones]
    varied = _find_varied(said) if len({frozenset(each.items()) for each in said}) > MOST_GROUPS else ()
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


def _find_varied(said: Sequence[Mapping[_Name, str]]) -> tuple[_Name, ...]:
    """Return the facts with more values than the allowed number of groups."""
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
    """Return a network and its mask in /proc/net/route as 10.98.1.0/24; None for anything else.

    Both are the address's four bytes as one number in the machine's byte order.
    """
    try:
        address, mask = (int(part, 16).to_bytes(4, sys.byteorder) for part in shown.split("/"))
        return str(ipaddress.IPv4Network((address, ipaddress.IPv4Address(mask).compressed)))
    except (ValueError, OverflowError):
        return None


def _with_distances(devices: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return the devices; each network card has its distance to every GPU of the node."""
    gpus = {name: said for name, said in devices.items() if "accelerator" in said and "slot" in said}
    for name, said in devices.items():
        if not gpus or name in gpus or "slot" not in said:
            continue
        domain = said.get("numa_node", "-1")
        far = [
            (gpu, distance(said["slot"], its["slot"], domain != "-1" and domain == its.get("numa_node")))
            for gpu, its in sorted(gpus.items())
        ]
        far.sort(key=lambda pair: list(DISTANCES).index(pair[1]))
        said["gpu_distance"] = ", ".join(f"{gpu} {word}" for gpu, word in far)[:_LONGEST]
    return devices


def _keep(into: dict[str, str], table: Mapping[str, str], said: str) -> None:
    name, _, value = said.partition(" ")
    text = one_line(value)
    if name in table and text:
        into.setdefault(name, text[:_LONGEST])


def distance(first: str, second: str, same_domain: bool) -> str:
    """Return a key of ``DISTANCES`` for two slots, ``pci0000:00/0000:00:01.0/0000:01:00.0``: bridges, then the card.

    ``same_domain``: both belong to one NUMA domain. Source: the legend of ``nvidia-smi topo -m``.
    """
    one, other = first.split("/"), second.split("/")
    if one[0] != other[0]:
        return "NODE" if same_domain else "SYS"
    shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    if shared == 1:
        return "PHB"
    # The rest of each path below the last bridge that both share: its port of that switch, and the card.
    return "PIX" if max(len(one), len(other)) - shared <= 2 else "PXB"
