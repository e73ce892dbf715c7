"""Judges RDMA ports and the slots of all cards, as doctor.sh shows them, by the same rules as `railyard fabric`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from railyard.base.finding import Finding
from railyard.cluster.detect.rates import roce_mtu
from railyard.cluster.doctor.node_block import NodeState
from railyard.cluster.fabric.expected_fabric import VERBS, expected_of
from railyard.cluster.fabric.judge import of_kind
from railyard.cluster.fabric.link_state import link_findings
from railyard.cluster.fabric.model import Card, ExpectedFabric, Readings, SlotState
from railyard.cluster.fabric.model import Finding as OfFabric
from railyard.cluster.fabric.slots import slot_findings
from railyard.cluster.fabric.sysfs import port_of
from railyard.cluster.fabric.uniform import uniform_findings
from railyard.job.launch import device_name
from railyard.parsers.fabric.port import PortState
from railyard.site.systems.model import Fabric, Rail, System

#: Takes what is expected and what was read; returns what differs.
Judge = Callable[[ExpectedFabric, Readings], list[OfFabric]]
_JUDGES: tuple[Judge, ...] = (link_findings, slot_findings, uniform_findings)


def of_nodes(nodes: Sequence[NodeState], system: System, judges: Sequence[Judge] = _JUDGES) -> Iterator[Finding]:
    """Yield what is wrong with the links, slots, path MTUs and firmware of all rails.

    If a rail is not an RDMA device (Ethernet, Slingshot), only its slot is judged here.
    """
    for name, fabric in system.fabrics.items():
        is_verbs = fabric.kind in VERBS
        expected = expected_of(system, name)
        ports = tuple(_ports(nodes, fabric)) if is_verbs else ()
        readings = of_kind(expected, Readings(own=ports, cards=tuple(_cards(nodes, fabric))))
        for judge in judges if is_verbs else [each for each in judges if each is slot_findings]:
            for one in judge(expected, readings):
                yield Finding(one.weight, one.place, f"found {one.found}, expected {one.expected}", one.fix)


def _rails_with_answers(nodes: Iterable[NodeState], fabric: Fabric) -> Iterator[tuple[NodeState, Rail, dict[str, str]]]:
    kinds = ("rdma",) if fabric.kind in VERBS else ("rdma", "net", "cxi")
    for node in nodes:
        for rail in fabric.rails:
            said = dict(node.device(device_name(rail)))
            if said.get("there") in kinds:
                yield node, rail, said


def _ports(nodes: Iterable[NodeState], fabric: Fabric) -> Iterator[PortState]:
    for node, rail, said in _rails_with_answers(nodes, fabric):
        port = port_of(node.name, rail.device, rail.port or 1, said.get)
        mtu = said.get("mtu", "")
        # On InfiniBand the interface is IPoIB, whose MTU says nothing about the path.
        path = (roce_mtu(int(mtu)) or 0) if fabric.kind == "roce" and mtu.isdigit() else None
        yield port._replace(netdev=said.get("interface"), mtu_bytes=path)


def _cards(nodes: Iterable[NodeState], fabric: Fabric) -> Iterator[Card]:
    """Yield each card once, however many of its ports are rails."""
    seen = set()
    for node, rail, said in _rails_with_answers(nodes, fabric):
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
