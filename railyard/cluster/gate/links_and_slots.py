"""Judges the links and slots of a node by the same rules as `railyard doctor` and `railyard fabric`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from railyard.base.finding import Finding
from railyard.cluster.detect.rates import port_rate
from railyard.cluster.doctor import rail_rules
from railyard.cluster.doctor.node_block import NodeState
from railyard.cluster.fabric.link_state import link_findings
from railyard.cluster.fabric.model import VERBS, expected_of
from railyard.cluster.fabric.slots import slot_findings
from railyard.cluster.fabric.sysfs import port_of
from railyard.cluster.fabric.uniform import uniform_findings
from railyard.cluster.gate.model import Fault, Gap, Look
from railyard.hardware.links import pcie_generation
from railyard.site.systems.node_view import FabricView, RailView, SystemView

#: Kind of fabric -> a link layer that it does not have: such a port says nothing about the fabric.
_FOREIGN: Mapping[str, str] = {"ib": "Ethernet", "opa": "Ethernet", "roce": "InfiniBand"}


def look(node: NodeState, system: SystemView) -> tuple[Look, Look]:
    """Return what is wrong with the links of all rails, and with their slots.

    If the state of a link cannot be read, the node is undecided. A rate or slot that is not shown is only mentioned.
    """
    links, slots = list(rail_rules.of_node(node, system.fabrics)), list[Finding]()
    link_gaps, slot_gaps = list[Gap](), list[Gap]()
    judged: dict[str, bool] = {}
    for name, fabric in system.fabrics.items():
        meant = expected_of(system, name)
        for rail, expected_rail in zip(fabric.rails, meant.rails, strict=True):
            # Judge each rail alone: if two rails are slow in the same way, both are slow; the file is not wrong.
            alone = replace(meant, rails=(expected_rail,))
            links += rail_rules.of_rails((node,), fabric, (rail,), alone, (link_findings, uniform_findings))
            slots += rail_rules.of_rails((node,), fabric, (rail,), alone, (slot_findings,))
            device, said = rail.name, node.device(rail.name)
            foreign = is_foreign(node, fabric, rail)
            shown = said.get("there") == "no" or (not foreign and _shows_state(node, fabric, rail))
            judged[device] = judged.get(device, False) or shown
            if foreign:
                link_gaps.append(Gap(f"{name} on {device}", f"the port's link layer is {said['link_layer']}"))
            elif shown and said.get("there") != "no":
                link_gaps += _rate_gap(fabric, rail, said)
                slot_gaps += _slot_gap(fabric, rail, said)
    blind = [device for device, shown in judged.items() if not shown]
    doubt = f"nothing says whether {', '.join(blind)} {'is' if len(blind) == 1 else 'are'} up" if blind else None
    unread = {gap.what for gap in slot_gaps}
    return (
        Look("links", len(blind) < len(judged), _faults(node, links), _each(link_gaps), doubt),
        Look("slots", len(blind) + len(unread) < len(judged), _faults(node, slots), _each(slot_gaps)),
    )


def is_foreign(node: NodeState, fabric: FabricView, rail: RailView) -> bool:
    """Return whether a rail's port has the link layer of another kind of fabric, and so carries nothing of this one."""
    return _FOREIGN.get(fabric.kind) == node.device(rail.name).get("link_layer", "")


def _faults(node: NodeState, found: Iterable[Finding]) -> tuple[Fault, ...]:
    """Return the problems without the node's own name in front."""
    problems = [one for one in found if one.weight == "problem"]
    return tuple(
        dict.fromkeys(Fault(f"{one.where.removeprefix(f'{node.name} ')}: {one.what}", one.fix) for one in problems)
    )


def _each(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    return tuple(dict.fromkeys(gaps))


def _shows_state(node: NodeState, fabric: FabricView, rail: RailView) -> bool:
    said = node.device(rail.name)
    if fabric.kind in VERBS:
        port = port_of(node.name, rail.device, rail.port or 1, said.get)
        return said.get("there") == "rdma" and port.state is not None
    return "state" in said or "carrier" in said


def _rate_gap(fabric: FabricView, rail: RailView, said: Mapping[str, str]) -> Iterator[Gap]:
    what = f"rate of {rail.name}"
    if fabric.kind in VERBS:
        if rail.counters == "rxe":
            yield Gap(what, "a software device has none")
        elif port_rate(said.get("rate")) is None:
            yield Gap(what, "the kernel shows none")
    elif fabric.kind != "tcp" or not said.get("speed", "").isdigit():
        yield Gap(what, "the kernel shows none")
    elif not isinstance(fabric.declared_link, str):
        yield Gap(what, "the system's file declares its own link")


def _slot_gap(fabric: FabricView, rail: RailView, said: Mapping[str, str]) -> Iterator[Gap]:
    slot = rail.slot or fabric.slot or ""
    if not slot.startswith("pcie"):
        yield Gap(f"slot of {rail.name}", "the system's file names no slot")
    elif pcie_generation(said.get("slot_speed")) is None or said.get("slot_width", "0") == "0":
        yield Gap(f"slot of {rail.name}", "the kernel shows none")
