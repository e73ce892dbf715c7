"""What a virtual cluster consists of: node names, networks, addresses, rates. Checks them; does not touch the host."""

import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from railyard.base.errors import SetupError, did_you_mean

if TYPE_CHECKING:
    from railyard.site.systems.model import System

# Names become arguments of ip, tc and nft, words in /etc/hosts and file names: no other characters are allowed.
_NODE_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?", re.ASCII)
# IFNAMSIZ is 16 with the closing zero (linux/if.h); some tools read a dot as a VLAN or a colon as an alias.
_DEVICE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,14}", re.ASCII)
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmg]?bit(?:/s)?)?", re.ASCII | re.IGNORECASE)
_UNIT_MBIT_S = {"": 1.0, "bit": 1e-6, "kbit": 1e-3, "mbit": 1.0, "gbit": 1e3}
_LOWEST_MBIT_S, _HIGHEST_MBIT_S = 0.1, 100_000.0


@dataclass(frozen=True, slots=True)
class Network:
    """One network of the testbed: a bridge in the switch, a device of the same name in each node.

    ``subnet`` is an IPv4 network (``10.99.1.0/24``), ``rate_mbit_s`` 10^6 bit/s per direction at each port;
    None leaves the network unshaped.
    """

    name: str
    device: str
    subnet: str
    rate_mbit_s: float | None


@dataclass(frozen=True, slots=True)
class TestbedSpec:
    """Nodes and networks of one testbed; the first network is the management network.

    Raises SetupError if a name, subnet or rate cannot be used.
    """

    __test__ = False  # else pytest would try to collect a class of this name

    nodes: tuple[str, ...]
    networks: tuple[Network, ...]

    def __post_init__(self) -> None:
        _check_names("node", self.nodes, _NODE_NAME, "letters, digits and inner hyphens, at most 63 characters")
        devices = tuple(network.device for network in self.networks)
        _check_names("device", devices, _DEVICE_NAME, "a letter, then letters, digits and _, at most 15 characters")
        if "lo" in devices:
            raise SetupError('testbed: no network can have the device "lo": each node already has its own loopback')
        subnets = [_subnet(network, len(self.nodes)) for network in self.networks]
        for index, subnet in enumerate(subnets):
            for earlier in subnets[:index]:
                if subnet.overlaps(earlier):
                    raise SetupError(f"testbed: the subnets {earlier} and {subnet} overlap: give each network its own")
        for network in self.networks:
            if network.rate_mbit_s is not None:
                check_rate(network.rate_mbit_s)

    def address(self, node: str, device: str) -> str:
        """Return the IPv4 address of one device of one node: host number 1 for the first node, and so on."""
        subnet = ipaddress.IPv4Network(self.network(device).subnet)
        return str(subnet[self.nodes.index(self.node(node)) + 1])

    def network(self, device: str) -> Network:
        """Return the network of a device. Raises SetupError, with the nearest name, if there is none."""
        for network in self.networks:
            if network.device == device:
                return network
        raise SetupError(
            f'testbed: no network has the device "{device}"; {did_you_mean(device, (n.device for n in self.networks))}'
        )

    def node(self, name: str) -> str:
        """Return the name itself. Raises SetupError, with the nearest name, if no node has this name."""
        if name not in self.nodes:
            raise SetupError(f'testbed: no node is called "{name}"; {did_you_mean(name, self.nodes)}')
        return name

    def to_json(self) -> dict[str, Any]:
        """Return what :func:`spec_from_json` can read."""
        return {"nodes": list(self.nodes), "networks": [asdict(network) for network in self.networks]}


def spec_from_json(data: Mapping[str, Any]) -> TestbedSpec:
    """Return the spec from what ``to_json`` wrote. Raises KeyError or TypeError for anything else."""
    return TestbedSpec(tuple(data["nodes"]), tuple(Network(**network) for network in data["networks"]))


def parse_rate(text: str) -> float:
    """Return a rate in Mbit/s from ``40``, ``40mbit``, ``1.5 Gbit/s``, ``500kbit``; a bare number is Mbit/s.

    Raises SetupError for anything else, and for rates outside 0.1 Mbit/s to 100 Gbit/s.
    """
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise SetupError(f'testbed: the rate "{text}" is not a number of Mbit/s: write 40, 40mbit or 1.5gbit')
    unit = (match[2] or "").lower().removesuffix("/s")
    return check_rate(float(match[1]) * _UNIT_MBIT_S[unit])


def check_rate(rate_mbit_s: float) -> float:
    """Return the rate. Raises SetupError if HTB could not keep it (nan compares false, so it is refused too)."""
    if not _LOWEST_MBIT_S <= rate_mbit_s <= _HIGHEST_MBIT_S:
        raise SetupError(
            f"testbed: a rate of {rate_mbit_s:g} Mbit/s cannot be shaped: "
            f"it must be from {_LOWEST_MBIT_S:g} to {_HIGHEST_MBIT_S:g} Mbit/s"
        )
    return rate_mbit_s


def _check_names(kind: str, names: tuple[str, ...], pattern: re.Pattern[str], rule: str) -> None:
    if not names:
        raise SetupError(f"testbed: there is no {kind}: name at least one")
    for name in names:
        if not pattern.fullmatch(name):
            raise SetupError(f"testbed: {name!r} cannot be the name of a {kind}: it must be {rule}")
    for name in names:
        if names.count(name) > 1:
            raise SetupError(f'testbed: the {kind} "{name}" is named twice')


def _subnet(network: Network, nodes: int) -> ipaddress.IPv4Network:
    try:
        subnet = ipaddress.IPv4Network(network.subnet)
    except ValueError as error:
        raise SetupError(f"testbed: the subnet of {network.device} is not an IPv4 network: {error}") from None
    if subnet.num_addresses - 2 < nodes:  # the first and the last address are not for nodes
        raise SetupError(f"testbed: the subnet {subnet} of {network.device} has no room for {nodes} nodes")
    return subnet


#: The management network carries the messages of launchers and daemons; a system may have a fabric on it too.
MANAGEMENT_DEVICE = "eth0"
_MANAGEMENT_MBIT_S, _RAIL_MBIT_S = 80.0, 120.0


def _networks(wanted: Sequence[tuple[str, str, float | None]]) -> tuple[Network, ...]:
    """Return networks from (name, device, rate), the management network first, subnets in order of the list."""
    ordered = sorted(wanted, key=lambda network: network[1] != MANAGEMENT_DEVICE)
    if ordered[0][1] != MANAGEMENT_DEVICE:
        ordered.insert(0, ("management", MANAGEMENT_DEVICE, _MANAGEMENT_MBIT_S))
    return tuple(Network(name, dev, f"10.99.{index}.0/24", rate) for index, (name, dev, rate) in enumerate(ordered))


def spec_of(system: "System") -> TestbedSpec:
    """Return the testbed that a system file describes: its nodes, and one network for each rail of each fabric.

    A rail is shaped to its link's data rate; if that is unknown, it is not shaped. Raises SetupError if a testbed
    cannot be like this.
    """
    wanted: dict[str, tuple[str, str, float | None]] = {}
    for name, fabric in system.fabrics.items():
        rate_gbit_s = fabric.link.data_rate_gbit_s
        rate = None if rate_gbit_s is None else rate_gbit_s * 1000
        for index, rail in enumerate(fabric.rails):
            title = f"{name} rail {index}" if len(fabric.rails) > 1 else name
            wanted.setdefault(rail.device, (title, rail.device, rate))
    nodes = system.nodes.names or tuple(f"vn{number}" for number in range(1, system.nodes.number + 1))
    return TestbedSpec(tuple(nodes), _networks(list(wanted.values())))


def rehearsal_spec(nodes: Sequence[str]) -> TestbedSpec:
    """Return the testbed of a rehearsal: these nodes on an unshaped management network.

    Raises SetupError for an impossible name of a node.
    """
    return TestbedSpec(tuple(nodes), (Network("management", MANAGEMENT_DEVICE, "10.99.0.0/24", None),))


#: The same as in systems/virtual.yaml (a test compares them).
DEFAULT_SPEC = TestbedSpec(
    ("vn1", "vn2", "vn3", "vn4"),
    _networks(
        [
            ("hsn rail 0", "hsn0", _RAIL_MBIT_S),
            ("hsn rail 1", "hsn1", _RAIL_MBIT_S),
            ("eth", MANAGEMENT_DEVICE, _MANAGEMENT_MBIT_S),
        ]
    ),
)
