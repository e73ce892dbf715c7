"""What is wrong with the rails of one node, compared with the system's file: devices, ports and slots.

Links and slots of RDMA devices are judged by the rules of `railyard fabric`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from railyard.base.errors import Finding, problem, remark
from railyard.cluster.detect.ports import plain_link
from railyard.cluster.doctor.node_block import NodeState
from railyard.cluster.fabric.judge import of_kind, uniform_findings
from railyard.cluster.fabric.link_state import link_findings
from railyard.cluster.fabric.model import VERBS, Card, ExpectedFabric, Readings, SlotState, expected_fabric
from railyard.cluster.fabric.model import Finding as OfFabric
from railyard.cluster.fabric.slots import slot_findings
from railyard.cluster.fabric.sysfs import port_of
from railyard.hardware.links import roce_mtu
from railyard.parsers.fabric.port import PortState
from railyard.site.systems.node_view import FabricView, RailView, SystemView

#: Takes what is expected and what was read; returns what differs.
Judge = Callable[[ExpectedFabric, Readings], list[OfFabric]]
_JUDGES: tuple[Judge, ...] = (link_findings, slot_findings, uniform_findings)
#: A node, a fabric of the system, one of its rails, and what the node said about that rail.
RailRule = Callable[[NodeState, FabricView, RailView, Mapping[str, str]], Iterator[Finding]]


def of_node(node: NodeState, fabrics: Mapping[str, FabricView]) -> Iterator[Finding]:
    """Yield what is wrong with each rail, then with all rails of a fabric together."""
    for fabric in fabrics.values():
        for rail in fabric.rails:
            said = node.device(rail.name)
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


def state(node: NodeState, fabric: FabricView, rail: RailView, said: Mapping[str, str]) -> Iterator[Finding]:
    """An interface has a carrier, and a card of Slingshot or EFA is up; the fabric's rules judge other RDMA ports."""
    if fabric.kind in VERBS:
        return
    now, carrier = said.get("state", ""), said.get("carrier")
    down = bool(now) and "ACTIVE" not in now and now != "up"
    if not now and carrier == "off":
        yield problem(_place_words(node, rail), "it is switched off", f"ip link set {said.get('interface')} up")
    elif down or (not now and carrier == "0"):
        words = f"its port is {now}" if now else "it has no carrier"
        yield problem(_place_words(node, rail), words, "check its cable, and the switch port at the other end")


def rate(node: NodeState, fabric: FabricView, rail: RailView, said: Mapping[str, str]) -> Iterator[Finding]:
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


def roce(node: NodeState, fabric: FabricView, rail: RailView, said: Mapping[str, str]) -> Iterator[Finding]:
    """A RoCE rail has an address for routing, and trusts the priority in the packets."""
    if fabric.kind != "roce":
        return
    where, interface = _place_words(node, rail), said.get("interface", "its interface")
    if not node.gids.get(rail.name):
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


def arp_flux(node: NodeState, fabric: FabricView) -> Iterator[Finding]:
    """Rails in one IP subnet each answer only for their own address; else traffic for one comes in by another."""
    if fabric.kind not in ("tcp", "roce"):
        return
    networks: dict[tuple[str, str], set[str]] = {}
    for interface, network, mask in node.subnets:
        networks.setdefault((network, mask), set()).add(interface)
    rails = {rail.name: node.device(rail.name) for rail in fabric.rails}
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


def _place_words(node: NodeState, rail: RailView) -> str:
    return f"{node.name} {rail.name}"


def of_nodes(nodes: Sequence[NodeState], system: SystemView, judges: Sequence[Judge] = _JUDGES) -> Iterator[Finding]:
    """Yield what is wrong with the links, slots, path MTUs and firmware of all rails.

    If a rail is not an RDMA device (Ethernet, Slingshot), only its slot is judged here.
    """
    for name, fabric in system.fabrics.items():
        yield from of_rails(nodes, fabric, fabric.rails, expected_fabric(system, name), judges)


def of_rails(
    nodes: Sequence[NodeState],
    fabric: FabricView,
    rails: Sequence[RailView],
    expected: ExpectedFabric,
    judges: Sequence[Judge],
) -> Iterator[Finding]:
    """Yield what is wrong with these rails of a fabric, judged together; ``expected`` has no others."""
    is_verbs = fabric.kind in VERBS
    answers = list(_answers_of_rails(nodes, fabric, rails))
    ports = tuple(_ports(answers, fabric)) if is_verbs else ()
    readings = of_kind(expected, Readings(own=ports, cards=tuple(_cards(answers))))
    for judge in judges if is_verbs else [each for each in judges if each is slot_findings]:
        for one in judge(expected, readings):
            yield Finding(one.weight, one.place, f"found {one.found}, expected {one.expected}", one.fix)


_Answer = tuple[NodeState, RailView, dict[str, str]]


def _answers_of_rails(nodes: Iterable[NodeState], fabric: FabricView, rails: Sequence[RailView]) -> Iterator[_Answer]:
    kinds = ("rdma",) if fabric.kind in VERBS else ("rdma", "net", "cxi")
    for node in nodes:
        for rail in rails:
            said = dict(node.device(rail.name))
            if said.get("there") in kinds:
                yield node, rail, said


def _ports(answers: Iterable[_Answer], fabric: FabricView) -> Iterator[PortState]:
    for node, rail, said in answers:
        port = port_of(node.name, rail.device, rail.port or 1, said.get)
        mtu = said.get("mtu", "")
        # On InfiniBand the interface is IPoIB, whose MTU says nothing about the path.
        path = (roce_mtu(int(mtu)) or 0) if fabric.kind == "roce" and mtu.isdigit() else None
        yield port._replace(netdev=said.get("interface"), mtu_bytes=path)


def _cards(answers: Iterable[_Answer]) -> Iterator[Card]:
    """Yield each card once, however many of its ports are rails."""
    seen = set()
    for node, rail, said in answers:
        if (id(node), rail.device) not in seen:
            seen.add((id(node), rail.device))
            card = Card(node=node.name, device=rail.device, firmware=said.get("firmware"))
            yield replace(card, slot=_slot(said)) if "slot_width" in said else card


def _slot(said: dict[str, str]) -> SlotState:
    return SlotState(
        address=said.get("slot", ""),
        speed=said.get("slot_speed"),
        width=_parse_whole(said.get("slot_width")),
        max_speed=said.get("slot_max_speed"),
        max_width=_parse_whole(said.get("slot_max_width")),
    )


def _parse_whole(word: str | None) -> int | None:
    return int(word) if word is not None and word.isdigit() else None
