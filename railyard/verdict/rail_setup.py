"""Whether the rails of a run are set and wired as the system's file says: MTU, networks, rates and slots.

What a node said about its own devices in the job is compared before any figure is judged. A rail with another MTU is
slow, or loses packets that are too large. A rail in another rail's network carries that rail's traffic. A port that
trained at fewer lanes, or a card in a slower slot, still gives a good latency: only a large message would show it.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence, Set

from railyard.base.wording import some
from railyard.hardware.links import SLOTS, pcie_generation, roce_mtu
from railyard.job.case import Case
from railyard.job.launch import device_name
from railyard.job.node_facts import NodeFacts
from railyard.results.record.form import Suspect
from railyard.site.systems.model import Fabric, Rail
from railyard.verdict.wording.rail_setup import (
    crossed_rails,
    different_mtus,
    other_mtu,
    outside_network,
    slow_port,
    slow_slot,
    slower_rail,
    subnet,
)

#: "100 Gb/sec (4X EDR)": the rate of the lanes with their line code, never less than the link's data rate.
_RATE = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,3})?) Gb/sec\b")
_FAMILIES = frozenset({"infiniband", "roce", "omnipath"})


def why_unlike(case: Case, facts: Sequence[NodeFacts]) -> str | None:
    """Return why the rails of a run are not those of the system's file; None if they are, or if nothing is known."""
    slower = (suspect.reason for suspect in slower_than_meant(case, facts))
    sentences = (*_mtus_unlike(case, facts), *_find_outside(case, facts), *_find_crossed(case, facts), *slower)
    return some(sentences) or None


def slower_than_meant(case: Case, facts: Sequence[NodeFacts]) -> tuple[Suspect, ...]:
    """Return each used rail of a node whose port runs slower than the file's link, or whose card is in a slower slot.

    Nothing is returned if the kernel shows no rate, as for software RDMA, or if the file names no slot.
    """
    fabric = case.site.system.fabrics[case.fabric]
    system = case.site.system.system
    found = []
    for rail in _rails(case):
        name = device_name(rail)
        for each in facts if name in case.launch.meant else ():
            said = each.devices.get(name, {})
            for less in (_slow_port(fabric, rail, said), _slow_slot(rail.slot or fabric.slot, said)):
                if less is not None:
                    reason = slower_rail(name, each.node, less, system, case.fabric)
                    found.append(Suspect("rail", reason, each.node, name))
    return tuple(found)


def _slow_port(fabric: Fabric, rail: Rail, said: Mapping[str, str]) -> str | None:
    shown, due = _RATE.match(said.get("rate", "")), fabric.link.data_rate_gbit_s
    if fabric.link.family not in _FAMILIES or rail.counters == "rxe" or shown is None or due is None:
        return None
    if float(shown[1]) >= due * 0.99:  # both are rounded: FDR is printed as 56, and is 54.5 for packets
        return None
    return slow_port(said["rate"], fabric.link.generation)


def _slow_slot(meant: str | None, said: Mapping[str, str]) -> str | None:
    generation, width = pcie_generation(said.get("current_link_speed")), said.get("current_link_width", "")
    if not (meant or "").startswith("pcie") or meant is None or generation is None or not width.isdecimal():
        return None
    slot = SLOTS[meant]
    due = int(meant.removeprefix("pcie").partition("-")[0])
    if int(width) == 0 or (int(width) >= slot.lanes and generation >= due):  # a virtual function shows no lanes
        return None
    return slow_slot(generation, width, due, slot.lanes)


def remarks(case: Case, facts: Sequence[NodeFacts]) -> tuple[str, ...]:
    """Return what differs between the nodes of a run, if the system's file does not set it."""
    fabric = case.site.system.fabrics[case.fabric]
    if fabric.stated_mtu is not None:
        return ()
    return tuple(
        different_mtus(name, known, case.fabric)
        for name in case.launch.meant
        if len(set((known := _mtus(fabric, facts, name)).values())) > 1
    )


def _mtus_unlike(case: Case, facts: Sequence[NodeFacts]) -> Iterator[str]:
    fabric = case.site.system.fabrics[case.fabric]
    meant = fabric.stated_mtu
    for name in case.launch.meant if meant is not None else ():
        other = {node: mtu for node, mtu in _mtus(fabric, facts, name).items() if mtu != meant}
        if fabric.kind == "roce":  # the largest that the interface allows: the actual one may be smaller
            other = {node: mtu for node, mtu in other.items() if mtu < (meant or 0)}
        if other:
            yield other_mtu(name, other, meant, case.site.system.system, case.fabric)


def _mtus(fabric: Fabric, facts: Sequence[NodeFacts], rail: str) -> dict[str, int]:
    """Return the MTU of a rail by node: for RoCE the largest path MTU that its interface has room for."""
    found = {}
    for each in facts:
        said = each.devices.get(rail, {})
        text = said.get("interface_mtu") or said.get("mtu", "")
        if not (text.isascii() and text.isdigit()):
            continue
        mtu = int(text)
        if fabric.kind == "roce":
            mtu = roce_mtu(mtu) or 0
        found[each.node] = mtu
    return found


def _find_outside(case: Case, facts: Sequence[NodeFacts]) -> Iterator[str]:
    """Yield a sentence for each rail of a node that does not lead to the network that the file states."""
    for rail in _rails(case):
        if rail.subnet is None:
            continue
        for each in facts:
            networks = _networks(each, device_name(rail))
            if networks and rail.subnet not in networks:
                name, system = device_name(rail), case.site.system.system
                yield outside_network(name, each.node, sorted(networks), rail.subnet, system, case.fabric)


def _find_crossed(case: Case, facts: Sequence[NodeFacts]) -> Iterator[str]:
    """Yield a sentence for each two nodes if one's rail shares a network only with another rail of the other.

    Rails of one name do not have to share a network: if packets are routed, each leaf, or each port, has its own. A
    node is in one sentence at most. Candidates are looked up by network, so the time grows linearly with the nodes.
    """
    names = [device_name(rail) for rail in _rails(case) if rail.subnet is None]
    told: set[str] = set()
    for name in case.launch.meant:
        others = tuple(device for device in names if device != name) if name in names else ()
        there = _with_another_rail_in(facts, name, others)
        for one in facts if there else ():
            own = _networks(one, name)
            found = (_first_apart(there[network], name, own, told) for network in sorted(own) if network in there)
            other = None if one.node in told else next((each for each in found if each is not None), None)
            if other is None:
                continue
            told |= {one.node, other.node}
            shared = [device for device in others if own & _networks(other, device)]
            yield crossed_rails(name, one.node, sorted(own), other.node, shared, sorted(_networks(other, name)))


def _with_another_rail_in(
    facts: Sequence[NodeFacts], name: str, others: Sequence[str]
) -> Mapping[str, deque[NodeFacts]]:
    """Return nodes by each network that one of their other rails is in, but the rail of this name is not."""
    found: dict[str, deque[NodeFacts]] = {}
    for each in facts:
        own = _networks(each, name)
        for network in {network for device in others for network in _networks(each, device)} - own if own else ():
            found.setdefault(network, deque()).append(each)
    return found


def _first_apart(nodes: deque[NodeFacts], name: str, own: frozenset[str], told: Set[str]) -> NodeFacts | None:
    """Return the first node that is in no sentence yet, and whose rail of this name shares none of these networks."""
    while nodes and nodes[0].node in told:
        nodes.popleft()
    return next((each for each in nodes if each.node not in told and not own & _networks(each, name)), None)


def _rails(case: Case) -> tuple[Rail, ...]:
    """Return all rails of the run's fabric: a crossed one may lead to a rail that the run does not use."""
    return case.site.system.fabrics[case.fabric].rails


def _networks(facts: NodeFacts, device: str) -> frozenset[str]:
    """Return the networks of a device: for InfiniBand its subnet, unless it is the default one."""
    said = facts.devices.get(device, {})
    prefix = said.get("subnet_prefix", "")
    own = () if prefix in ("", "fe80:0000:0000:0000") else (subnet(prefix),)
    return frozenset((*said.get("subnets", "").split(), *own))
