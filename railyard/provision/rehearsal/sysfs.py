"""The devices of a rehearsed node: a synthetic part of /sys, from the system's file and the planted faults. Pure.

Every rail has the folders and files that the kernel gives its driver, on its own PCI card. So the reader of counters,
the node's facts, `detect`, `doctor` and `fabric` read them like a real node. There is also the management network,
``eth0``: a card of 1 Gbit/s, over which a library sends that falls back to TCP. Counters are plain files, which
stand-ins move. Source of names and forms: Linux Documentation/ABI/stable/sysfs-class-infiniband,
testing/sysfs-class-net, testing/sysfs-bus-pci.

The processors and memory domains of a rehearsed node: its part of /sys/devices/system. Pure.
"""

import io
import posixpath
import tarfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from railyard.base.errors import SetupError
from railyard.hardware.counters import DRIVERS, Driver
from railyard.hardware.links import LANES, ROCE_HEADERS, SLOTS, Link, rate_gbit_s, speed_of_lane
from railyard.provision.rehearsal.form import Fault
from railyard.provision.testbed.spec import MANAGEMENT_DEVICE
from railyard.site.systems.model import Fabric, Rail, System
from railyard.site.systems.parts import FabricState

# What a node has if its file says nothing: enough for every micro-benchmark, and two sockets, as most nodes have.
_CORES, _MEMORY = 32, 64 << 30
# A node with fewer cores is assumed to have one socket.
_CORES_OF_TWO_SOCKETS = 8


@dataclass(frozen=True, slots=True)
class Machine:
    """The processors and memory of every node.

    ``memory`` is in bytes, ``ghz`` is the clock that its processors show, if any.
    """

    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory: int
    ghz: float | None = None
    turbo_ghz: float | None = None

    @property
    def cores(self) -> int:
        """How many cores a node has."""
        return self.sockets * self.cores_per_socket

    @property
    def processors(self) -> int:
        """How many processors the kernel counts: the threads of all cores."""
        return self.cores * self.threads_per_core

    def processors_near(self, socket: int) -> str:
        """Return the processors of a socket as the kernel lists them: ``0-55,112-167``.

        The first threads of all cores come first, socket by socket, then their second threads.
        """
        first = socket * self.cores_per_socket
        return ",".join(
            as_range(thread * self.cores + first, self.cores_per_socket) for thread in range(self.threads_per_core)
        )

    def files(self) -> dict[str, str]:
        """Return the text of each file by its path below ``/sys/devices/system``.

        Source: Linux, admin-guide/cputopology.rst and ABI/stable/sysfs-devices-node.
        """
        found = {f"cpu/{name}": text for name, text in self._processors().items()}
        for number in range(self.processors):
            found |= {f"cpu/cpu{number}/{name}": text for name, text in self._processor(number).items()}
        domains = as_range(0, self.sockets)
        found |= {f"node/{name}": domains for name in ("online", "possible", "has_cpu", "has_memory")}
        for socket in range(self.sockets):
            found |= {f"node/node{socket}/{name}": text for name, text in self._domain(socket).items()}
        return found

    def _processors(self) -> Mapping[str, str]:
        everyone = as_range(0, self.processors)
        has_threads = self.threads_per_core > 1
        return {
            **dict.fromkeys(("online", "possible", "present"), everyone),
            "offline": "",
            "isolated": "",
            "kernel_max": str(max(self.processors, 8192) - 1),
            "smt/control": "on" if has_threads else "off",
            "smt/active": "1" if has_threads else "0",
        }

    def _processor(self, number: int) -> Mapping[str, str]:
        core = number % self.cores
        socket = core // self.cores_per_socket
        siblings = [thread * self.cores + core for thread in range(self.threads_per_core)]
        found = {
            "topology/physical_package_id": str(socket),
            "topology/core_id": str(core % self.cores_per_socket),
            "topology/thread_siblings_list": ",".join(map(str, siblings)),
            "topology/thread_siblings": self._mask(siblings),
            "topology/core_siblings_list": self.processors_near(socket),
            "topology/core_siblings": self._mask(self._of(socket)),
            "cpufreq/scaling_governor": "performance",
        }
        if self.ghz is not None:
            found["cpufreq/scaling_cur_freq"] = _khz(self.ghz)
            found["cpufreq/scaling_max_freq"] = _khz(self.turbo_ghz or self.ghz)
        return found

    def _domain(self, socket: int) -> Mapping[str, str]:
        kib = self.memory // self.sockets >> 10
        return {
            "cpulist": self.processors_near(socket),
            "cpumap": self._mask(self._of(socket)),
            # A local access costs 10 by definition (ACPI, SLIT); two-socket servers give 21 for the other socket.
            "distance": " ".join("10" if other == socket else "21" for other in range(self.sockets)),
            "meminfo": f"Node {socket} MemTotal:       {kib} kB\nNode {socket} MemFree:        {kib} kB",
        }

    def _of(self, socket: int) -> list[int]:
        return [each for each in range(self.processors) if each % self.cores // self.cores_per_socket == socket]

    def _mask(self, processors: Iterable[int]) -> str:
        """Return processors as the kernel's mask: groups of 32, the highest first, ``00ffffff,ffffffff``."""
        bits = sum(1 << each for each in processors)
        groups = -(-self.processors // 32)
        return ",".join(f"{bits >> 32 * group & 0xFFFFFFFF:08x}" for group in reversed(range(groups)))


def machine_of(system: "System") -> Machine:
    """Return the processors and memory of a system's nodes, by its file; the rest is assumed (``assumptions``)."""
    hardware = system.nodes.hardware
    cores = hardware.cores if hardware else _CORES
    assumed_sockets = 2 if cores % 2 == 0 and cores >= _CORES_OF_TWO_SOCKETS else 1
    sockets = (hardware.sockets if hardware else None) or assumed_sockets
    return Machine(
        sockets=sockets,
        cores_per_socket=cores // sockets,
        threads_per_core=_threads(system) or 1,
        memory=hardware.memory if hardware else _MEMORY,
        ghz=hardware.base_ghz if hardware else None,
        turbo_ghz=hardware.turbo_ghz if hardware else None,
    )


def machine_assumptions(system: "System") -> Iterator[str]:
    """Yield a sentence for each thing that the file does not say about its nodes, with what is assumed instead."""
    machine = machine_of(system)
    sockets = f"{machine.sockets} socket{'s' if machine.sockets > 1 else ''} of {machine.cores_per_socket} cores"
    if system.nodes.hardware is None:
        yield f"the file has no nodes.hardware: each node has {sockets}, one thread per core, and {_MEMORY >> 30} GiB"
        return
    if system.nodes.hardware.sockets is None:
        threads = "" if _threads(system) else ", one thread per core"
        yield f"the file does not say how a node's cores are spread over sockets: each node has {sockets}{threads}"
    elif _threads(system) is None:
        yield "the file does not say how many threads a core has: each core has one"


def _threads(system: "System") -> int | None:
    """Return the threads of a core by the file, None if it does not say."""
    found: int | None = getattr(system.nodes.hardware, "threads_per_core", None)
    return found


def as_range(first: int, count: int) -> str:
    """Return this many processors from the first one on, as the kernel lists them: ``4-7``, ``4``."""
    return str(first) if count == 1 else f"{first}-{first + count - 1}"


def _khz(ghz: float) -> str:
    return str(round(ghz * 1e6))


#: Rate of the management network.
MANAGEMENT_GBIT_S = 1.0
#: The first value of a counter of traffic: not 0, so that nothing can mistake a reading for a difference.
FIRST = 65536
#: What Slingshot's counters have after their value: the time of the reading.
STAMP = "@1700000000.000000000"
#: Firmware, board and card of every device: none is real, so nobody mistakes them for real ones.
NO_FIRMWARE, NO_BOARD = "0.0.0", "REHEARSAL"
_SLINGSHOT = DRIVERS["cxi"]
# The kernel reads hw_counters again after this many milliseconds (drivers/infiniband/core/sysfs.c).
_LIFESPAN_MS = 10
# The PCI driver of the card, if it is not the first module of the counters' row; for Ethernet any driver will do.
_PCI_DRIVERS = {"bnxt_re": "bnxt_en", "irdma": "ice", "netdev": "tg3"}
_INFINIBAND, _ETHERNET = 32, 1  # ARPHRD_INFINIBAND, ARPHRD_ETHER
# Type of a group in kernel/iommu_groups (Documentation/ABI/testing/sysfs-kernel-iommu_groups).
_IOMMU_TYPES = {"passthrough": "identity", "translated": "DMA"}
_GID_TYPES = ("IB/RoCE v1", "RoCE v2")
_FRAME_MTU = {"roce": 9000, "slingshot": 9000, "tcp": 1500, "ib": 4092, "opa": 10236}
_PLAIN: Mapping[str, int] = MappingProxyType({"mtu": _FRAME_MTU["tcp"], "type": _ETHERNET, "dev_port": 0})
_STATISTICS = ("tx_bytes", "rx_bytes", "tx_packets", "rx_packets", "multicast", "collisions")
_PACKETS = ("port_xmit_packets", "port_rcv_packets")
# Bus numbers of cards: this many below each host bridge, and a new domain when they are used up.
_FIRST_BUS, _BUS_STEP, _CARDS_A_DOMAIN = 0x10, 4, 56


@dataclass(frozen=True, slots=True)
class Tree:
    """Files by path below /sys, each with its text, and links with their target path (also below /sys)."""

    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)

    def put(self, folder: str, values: Mapping[str, str | int]) -> None:
        """Add files to a folder."""
        self.files.update({f"{folder}/{name}": str(value) for name, value in values.items()})

    def link(self, path: str, target: str) -> None:
        """Add a link."""
        self.links[path] = target

    def archive(self) -> bytes:
        """Return all of it as a tar archive. Like the kernel's, files end with a newline, except empty ones."""
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for path, text in self.files.items():
                data = f"{text}\n".encode() if text else b""
                archive.addfile(_entry(path, 0o644, size=len(data)), io.BytesIO(data))
            for path, target in self.links.items():
                archive.addfile(_entry(path, 0o777, linkname=posixpath.relpath(target, posixpath.dirname(path))))
        return out.getvalue()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a rail is: its card in the node, the function of that card, and the socket that the card is near."""

    card: int
    function: int
    socket: int

    @property
    def folder(self) -> str:
        """The PCI device's folder: ``devices/pci0000:10/0000:10:00.0/0000:11:00.0``."""
        domain, bus = divmod(self.card, _CARDS_A_DOMAIN)
        bus = _FIRST_BUS + bus * _BUS_STEP
        above = f"pci{domain:04x}:{bus:02x}/{domain:04x}:{bus:02x}:00.0"
        return f"devices/{above}/{domain:04x}:{bus + 1:02x}:00.{self.function}"

    @property
    def address(self) -> str:
        """The PCI address: ``0000:11:00.0``."""
        return self.folder.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class _Seat:
    """One rail of a node: what it is, where it is, and how fast its link runs, in Gbit/s, with lanes and speed."""

    fabric: Fabric
    rail: Rail
    place: _Place
    gbit_s: float
    width: str | None
    speed: str | None
    readable: bool

    @property
    def driver(self) -> Driver | None:
        """The row of its counters; None if nothing counts."""
        return DRIVERS.get(self.rail.counters)

    @property
    def rate(self) -> str:
        """The text of its port's ``rate``: ``400 Gb/sec (4X NDR)``."""
        words = " ".join(word for word in (self.width, self.speed) if word)
        return f"{self.gbit_s:g} Gb/sec ({words})" if words else f"{self.gbit_s:g} Gb/sec"


def node_tree(system: System, machine: Machine, faults: Sequence[Fault], node: str, number: int) -> Tree:
    """Return the files of one node's /sys; ``number`` is its place among the nodes, from 1.

    Raises SetupError for a card that should be at the other socket if a node has only one.
    """
    tree = Tree()
    # IP over InfiniBand may be a rail too: the card that it belongs to must come first.
    seats = sorted(_seats(system, machine, faults, node), key=lambda seat: seat.fabric.kind == "tcp")
    for index, seat in enumerate(seats):
        _card(tree, seat.fabric, seat.rail, seat.place, machine)
        _rail(tree, seat, index, number)
    if f"class/net/{MANAGEMENT_DEVICE}" not in tree.links:
        place = _Place(1 + max((seat.place.card for seat in seats), default=-1), 0, 0)
        _pci(tree, place, machine, _PCI_DRIVERS["netdev"], None)
        _interface(tree, MANAGEMENT_DEVICE, place, MANAGEMENT_GBIT_S)
    return tree


def rail_name(rail: Rail) -> str:
    """Return a rail as launches and faults name it: ``mlx5_1:1``."""
    return rail.device if rail.port is None else f"{rail.device}:{rail.port}"


def port_rate(link: Link, lanes_up: int = 4) -> tuple[float, str | None, str | None]:
    """Return the rate (Gbit/s), width and speed that the kernel prints for a link: (400, "4X", "NDR").

    ``lanes_up`` of four lanes run. A link without its own lanes (EFA) is shown with four. If no speed has the link's
    rate, only the rate is shown. An unknown rate is shown as 2.5 Gbit/s, as the kernel does.
    """
    data = link.data_rate_gbit_s or LANES["SDR"][0]
    count = link.lanes or 4
    each = link.signalling_gbit_s_per_lane or data / count
    speed = speed_of_lane(each)
    if link.family in ("ethernet", "roce") and speed == "FDR10":
        speed = "QDR"  # 10GbE and 40GbE have the same lanes; the kernel has no FDR10 there
    if speed is None:
        return data * min(1.0, lanes_up / count), None, None
    width = f"{min(count, lanes_up) if lanes_up < 4 else count}X"
    return rate_gbit_s(width, speed) or data, width, speed


def assumptions(system: System) -> Iterator[str]:
    """Yield a sentence for each thing of the fabrics that a node shows differently from the file."""
    links: dict[str, tuple[str, str]] = {}
    for name, fabric in system.fabrics.items():
        for rail in fabric.rails:
            device = rail_name(rail)
            first, link = links.setdefault(device, (name, fabric.link.name))
            if link != fabric.link.name:
                yield f"{device} is a rail of {first} and of {name}: its port shows the link of {first}, {link}"
        if fabric.link.data_rate_gbit_s is None:
            yield f"the rate of {name} is not known: its ports show {LANES['SDR'][0]:g} Gbit/s"
        if any(rail.bonded_ports > 1 for rail in fabric.rails):
            yield f"the bonded ports of {name} are shown as one port each: the bond below them is not rehearsed"


def _seats(system: System, machine: Machine, faults: Sequence[Fault], node: str) -> list[_Seat]:
    """Return each rail of each fabric once; a device that two fabrics share is one card."""
    cards: dict[str, _Place] = {}
    found: dict[str, _Seat] = {}
    free = 0
    for fabric in system.fabrics.values():
        devices = list(dict.fromkeys(rail.device for rail in fabric.rails))
        sharing = {rail.device: rail.rails_per_card for rail in fabric.rails}
        # Ports of one device are one card in any case.
        ports = {device: sum(rail.device == device for rail in fabric.rails) for device in devices}
        slots = {device: _slot(devices, index, sharing, ports) for index, device in enumerate(devices)}
        last = max(card for card, _ in slots.values()) + 1
        for device, (card, function) in slots.items():
            cards.setdefault(device, _Place(free + card, function, card * machine.sockets // last))
        free += last
        for rail in fabric.rails:
            name = rail_name(rail)
            if name not in found and rail.device != "lo":
                planted = [fault for fault in faults if fault.hits(node, name)]
                found[name] = _seat(fabric, rail, cards[rail.device], planted, machine)
    return list(found.values())


def _slot(devices: Sequence[str], index: int, sharing: Mapping[str, int], ports: Mapping[str, int]) -> tuple[int, int]:
    """Return the card and function of a device. As many successive devices share a card as its rails say."""
    each = max(1, sharing[devices[index]] // ports[devices[index]])
    return index // each, index % each


def _seat(fabric: Fabric, rail: Rail, place: _Place, planted: Sequence[Fault], machine: Machine) -> _Seat:
    lanes_up = min((fault.lanes for fault in planted if fault.kind == "lanes"), default=4)
    if any(fault.kind == "far" for fault in planted):
        if machine.sockets < 2:
            raise SetupError(f"rehearsal: {rail_name(rail)} cannot be at the other socket: the nodes have one socket")
        place = _Place(place.card, place.function, (place.socket + 1) % machine.sockets)
    readable = not any(fault.kind == "unreadable" for fault in planted)
    return _Seat(fabric, rail, place, *port_rate(fabric.link, lanes_up), readable=readable)


def _card(tree: Tree, fabric: Fabric, rail: Rail, place: _Place, machine: Machine) -> None:
    driver = DRIVERS.get(rail.counters)
    modules = driver.modules if driver else ()
    module = _PCI_DRIVERS.get(rail.counters, modules[0] if modules else "")
    _pci(tree, place, machine, module, rail.slot or fabric.slot)
    kind = _IOMMU_TYPES.get(_state(fabric).iommu or "off")
    if kind is not None:
        group = f"kernel/iommu_groups/{place.card}"
        tree.put(group, {"type": kind})
        tree.link(f"{place.folder}/iommu_group", group)


def _pci(tree: Tree, place: _Place, machine: Machine, module: str, slot: str | None) -> None:
    """Add a PCI device: its place, its driver and, if the file says it, its slot."""
    said = {"uevent": "\n".join([*([f"DRIVER={module}"] if module else []), f"PCI_SLOT_NAME={place.address}"])}
    said |= {"numa_node": str(place.socket), "local_cpulist": machine.processors_near(place.socket)}
    known = SLOTS.get(slot or "")
    if known is not None and not known.shared:
        speed = {"link_speed": f"{known.signalling_gbit_s_per_lane:.1f} GT/s PCIe", "link_width": str(known.lanes)}
        said |= {f"{which}_{name}": text for which in ("current", "max") for name, text in speed.items()}
    tree.put(place.folder, said)
    tree.link(f"bus/pci/devices/{place.address}", place.folder)
    if module:
        tree.put(f"bus/pci/drivers/{module}", {"uevent": ""})
        tree.link(f"{place.folder}/driver", f"bus/pci/drivers/{module}")


def _rail(tree: Tree, seat: _Seat, index: int, number: int) -> None:
    """Add a rail in the device class of its driver."""
    device, driver = seat.rail.device, seat.driver
    if driver is _SLINGSHOT:
        _slingshot(tree, seat)
    elif seat.fabric.kind == "tcp" or (driver is not None and driver.name == "netdev"):
        own = {"mtu": _interface_mtu(seat.fabric)}
        _interface(tree, device, seat.place, seat.gbit_s, own=own, readable=seat.readable)
    elif seat.fabric.kind == "slingshot":  # Slingshot 10: an Ethernet card, named after its interface
        _rdma(tree, seat, f"{seat.rail.counters}_{index}", device, number)
    elif seat.fabric.kind == "efa":
        _rdma(tree, seat, device, None, number)
    else:
        bus = int(seat.place.address.split(":")[1], 16)
        ethernet = f"enp{bus}s0f{seat.place.function}np{(seat.rail.port or 1) - 1}"
        _rdma(tree, seat, device, f"ib{index}" if seat.fabric.kind in ("ib", "opa") else ethernet, number)


def _slingshot(tree: Tree, seat: _Seat) -> None:
    """Add a Cassini card: its own class, its interface, and its telemetry (``value@time``)."""
    digits = "".join(letter for letter in seat.rail.device if letter.isdigit()) or "0"
    folder = f"{seat.place.folder}/cxi/cxi{digits}"
    tree.put(folder, {"uevent": ""})
    tree.link(f"{folder}/device", seat.place.folder)
    tree.link(f"class/cxi/cxi{digits}", folder)
    tree.put(f"{seat.place.folder}/port", {"link": "up", "speed": f"BS_{seat.gbit_s:g}G"})
    values = {name: f"{value}{STAMP}" for name, value in _first_counters(seat.driver).items()}
    tree.put(f"{seat.place.folder}/telemetry", values if seat.readable else dict.fromkeys(values, ""))
    own = {"mtu": _FRAME_MTU["slingshot"]}
    _interface(tree, f"hsn{digits}", seat.place, seat.gbit_s, own=own, readable=seat.readable)


def _rdma(tree: Tree, seat: _Seat, device: str, netdev: str | None, number: int) -> None:
    """Add a port of an RDMA device, with its interface."""
    folder, kind = f"{seat.place.folder}/infiniband/{device}", seat.fabric.kind
    port_number = seat.rail.port or 1
    port = f"{folder}/ports/{port_number}"
    guid = f"0200:{number:04x}:{seat.place.card:04x}:{seat.place.function << 4 | port_number:04x}"
    stated = _state(seat.fabric)
    tree.put(folder, {"fw_ver": stated.firmware or NO_FIRMWARE, "board_id": stated.psid or NO_BOARD})
    tree.put(folder, {"hca_type": NO_BOARD, "node_type": "1: CA"})
    tree.put(folder, {"node_guid": guid, "sys_image_guid": guid})
    tree.link(f"{folder}/device", seat.place.folder)
    tree.link(f"class/infiniband/{device}", folder)
    for module in ("ib_uverbs", "ib_umad", "rdma_ucm"):
        tree.put(f"module/{module}", {"initstate": "live"})
    layer = {"efa": "Unspecified", "roce": "Ethernet", "slingshot": "Ethernet"}.get(kind, "InfiniBand")
    # The subnet manager has LID 1, so no node has it.
    lid = f"0x{1 + number * 256 + seat.place.card * 4 + seat.place.function * 2 + port_number:x}"
    has_lid = layer == "InfiniBand"
    tree.put(port, {"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": seat.rate, "link_layer": layer})
    tree.put(port, {"lid": lid if has_lid else "0x0", "sm_lid": "0x1" if has_lid else "0x0"})
    _gids(tree, port, guid, None if layer == "InfiniBand" else netdev, number, seat.fabric)
    counters = _first_counters(seat.driver)
    for name, value in counters.items():
        where = f"{port}/hw_counters" if name.startswith("hw/") else f"{port}/counters"
        tree.put(where, {name.removeprefix("hw/"): value if seat.readable else ""})
    if any(name.startswith("hw/") for name in counters):
        tree.put(f"{port}/hw_counters", {"lifespan": _LIFESPAN_MS})
    if netdev is not None:
        own = {
            "mtu": _interface_mtu(seat.fabric),
            "type": _INFINIBAND if has_lid else _ETHERNET,
            "dev_port": port_number - 1,
        }
        _interface(tree, netdev, seat.place, seat.gbit_s, own=own)


def _state(fabric: Fabric) -> FabricState:
    """Return what the file says about cards and ports of a fabric, if only that nothing is said."""
    return fabric.fabric_state or FabricState.model_validate({})


def _interface_mtu(fabric: Fabric) -> int:
    """Return the MTU of a rail's interface: the one that the file states, or one that gives RoCE the stated path."""
    stated = fabric.stated_mtu
    if stated is None:
        return _FRAME_MTU.get(fabric.kind, _FRAME_MTU["tcp"])
    return stated + ROCE_HEADERS if fabric.kind == "roce" else stated


def _gids(tree: Tree, port: str, guid: str, netdev: str | None, number: int, fabric: Fabric) -> None:
    """Add the addresses of a port.

    On Ethernet each of its IP addresses gives two, version 1 and 2, in the order of mlx5. There are as many as the file
    needs, and the one that it names has the version that it states.
    """
    local = f"fe80:0000:0000:0000:{guid}"
    stated = _state(fabric).gid_index if fabric.gid_index is None else fabric.gid_index
    for index in range(max(stated or 0, 0 if netdev is None else 3) + 1):
        routed = f"0000:0000:0000:0000:0000:ffff:0a{98 + index // 2:02x}:{number:04x}"
        version = index % 2 if index != stated else int(_state(fabric).roce_mode != "v1")
        tree.put(f"{port}/gids", {str(index): local if index < (1 if netdev is None else 2) else routed})
        if netdev is None:
            tree.put(f"{port}/gid_attrs/types", {str(index): _GID_TYPES[0]})
        else:
            tree.put(f"{port}/gid_attrs/types", {str(index): _GID_TYPES[version]})
            tree.put(f"{port}/gid_attrs/ndevs", {str(index): netdev})


def _interface(
    tree: Tree,
    name: str,
    place: _Place,
    gbit_s: float,
    *,
    own: Mapping[str, int] = _PLAIN,
    readable: bool = True,
) -> None:
    """Add a network interface of a card; an existing one (IP over InfiniBand as a rail) is kept."""
    if f"class/net/{name}" in tree.links:
        return
    folder = f"{place.folder}/net/{name}"
    tree.put(folder, {"carrier": 1, "operstate": "up", "duplex": "full", "speed": round(gbit_s * 1000)})
    tree.put(folder, {**_PLAIN, **own})
    driver = DRIVERS["netdev"]
    names = dict.fromkeys((*_STATISTICS, *driver.errors, *driver.signals))
    first = {counter: FIRST if counter in (driver.tx, driver.rx) else 0 for counter in names}
    tree.put(f"{folder}/statistics", first if readable else dict.fromkeys(first, ""))
    tree.link(f"{folder}/device", place.folder)
    tree.link(f"class/net/{name}", folder)


def _first_counters(driver: Driver | None) -> dict[str, int]:
    """Return the counters of a driver's device with their first values; ``hw/`` marks those of hw_counters."""
    if driver is None:
        return {}
    traffic = [*driver.tx.split("+"), *driver.rx.split("+")]
    quiet = [*driver.errors, *driver.signals, *(_PACKETS if "port_xmit_data" in traffic else ())]
    return dict.fromkeys(traffic, FIRST) | dict.fromkeys(quiet, 0)


def _entry(path: str, mode: int, size: int = 0, linkname: str = "") -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.mode, entry.size, entry.linkname = mode, size, linkname
    entry.type = tarfile.SYMTYPE if linkname else tarfile.REGTYPE
    return entry
