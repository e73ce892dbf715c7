"""What is wrong with the rails of one node, compared with the system's file: one function per rule, in a table.

Links and slots of RDMA devices are not judged here, but in ``rail_ports``.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations

from railyard.base.finding import Finding, problem, remark
from railyard.cluster.detect.rates import plain_link
from railyard.cluster.doctor.node_block import NodeState
from railyard.cluster.fabric.expected_fabric import VERBS
from railyard.job.launch import device_name
from railyard.site.systems.model import Fabric, Rail

#: A node, a fabric of the system, one of its rails, and what the node said about that rail.
RailRule = Callable[[NodeState, Fabric, Rail, Mapping[str, str]], Iterator[Finding]]


def of_node(node: NodeState, fabrics: Mapping[str, Fabric]) -> Iterator[Finding]:
    """Yield what is wrong with each rail, then with all rails of a fabric together."""
    for fabric in fabrics.values():
        for rail in fabric.rails:
            said = node.device(device_name(rail))
            if said.get("there") == "no":
                yield problem(
                    _place_words(node, rail),
                    "there is no such device",
                    "correct the rail in the system's file (railyard detect on a node prints its devices), or the node",
                )
            elif said:
                for rule in RULES:
                    yield from rule(node, fabric, rail, said)
            else:
                yield remark(
                    _place_words(node, rail),
                    "the answer does not mention it",
                    "name every rail when doctor.sh is called",
                )
        yield from arp_flux(node, fabric)


def state(node: NodeState, fabric: Fabric, rail: Rail, said: Mapping[str, str]) -> Iterator[Finding]:
    """An interface has a carrier, and a card of Slingshot or EFA is up; ``rail_ports`` judges other RDMA ports."""
    if fabric.kind in VERBS:
        return
    now, carrier = said.get("state", ""), said.get("carrier")
    down = bool(now) and "ACTIVE" not in now and now != "up"
    if not now and carrier == "off":
        yield problem(_place_words(node, rail), "it is switched off", f"ip link set {said.get('interface')} up")
    elif down or (not now and carrier == "0"):
        words = f"its port is {now}" if now else "it has no carrier"
        yield problem(_place_words(node, rail), words, "check its cable, and the switch port at the other end")


def rate(node: NodeState, fabric: Fabric, rail: Rail, said: Mapping[str, str]) -> Iterator[Finding]:
    """An interface runs at the rate of the system's file. Without a carrier, the rate means nothing."""
    speed = said.get("speed", "")
    if fabric.kind != "tcp" or said.get("carrier") != "1" or not speed.isdigit():
        return
    gbit_s = int(speed) / 1000
    if isinstance(fabric.declared_link, str) and plain_link("eth", gbit_s) != fabric.link.name:
        yield problem(
            _place_words(node, rail),
            f"its link runs at {gbit_s:g} Gbit/s, the system's file says {fabric.link.name}",
            "look at cable and switch port (a bad lane or a cable of an older kind lowers it), or correct the file",
        )


def roce(node: NodeState, fabric: Fabric, rail: Rail, said: Mapping[str, str]) -> Iterator[Finding]:
    """A RoCE rail has an address for routing, and trusts the priority in the packets."""
    if fabric.kind != "roce":
        return
    where, interface = _place_words(node, rail), said.get("interface", "its interface")
    if not node.gids.get(device_name(rail)):
        yield problem(
            where,
            "it has no GID of RoCE v2",
            f"give {interface} an IP address; then check that cma_roce_mode is RoCE v2",
        )
    trust = said.get("trust")
    if trust is not None and trust != "dscp":
        yield remark(
            where,
            f"it trusts {trust}, not DSCP",
            f"mlnx_qos -i {interface} --trust dscp if the switches do so: otherwise RoCE has no lossless class",
        )


def arp_flux(node: NodeState, fabric: Fabric) -> Iterator[Finding]:
    """Rails in one IP subnet each answer only for their own address; else traffic for one comes in by another."""
    if fabric.kind not in ("tcp", "roce"):
        return
    networks: dict[tuple[str, str], set[str]] = {}
    for interface, network, mask in node.subnets:
        networks.setdefault((network, mask), set()).add(interface)
    rails = {device_name(rail): node.device(device_name(rail)) for rail in fabric.rails}
    for (first, one), (second, other) in combinations(rails.items(), 2):
        pair = {one.get("interface", first), other.get("interface", second)}
        if len(pair) < 2 or not any(pair <= members for members in networks.values()):
            continue
        lacking = [name for name, least in _ARP if any(_effective(node, said, name) < least for said in (one, other))]
        if lacking:
            settings = " ".join(f"net.ipv4.conf.all.{name}={least}" for name, least in _ARP if name in lacking)
            yield problem(
                f"{node.name} {first} and {second}",
                "two rails are in one IP subnet, and either may answer for the other's address (ARP flux)",
                f"give each rail its own subnet, or set sysctl {settings}",
            )


#: Setting -> the least value with which an interface answers, and asks, only for its own address.
_ARP = (("arp_ignore", 1), ("arp_announce", 2))
RULES: tuple[RailRule, ...] = (state, rate, roce)


def _effective(node: NodeState, said: Mapping[str, str], name: str) -> int:
    """Return the value that the kernel uses: the larger of the value for all interfaces and the interface's own."""
    values = (node.facts.get(name, "0"), said.get(name, "0"))
    return max(int(value) if value.isdigit() else 0 for value in values)


def _place_words(node: NodeState, rail: Rail) -> str:
    return f"{node.name} {device_name(rail)}"
