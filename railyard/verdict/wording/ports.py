"""The sentences about links and ports of rails: errors, lost carriers, bonded ports, and segments that were resent.

The sentences about rails that are not set or wired as the system's file says.

The sentences about how bytes were spread over the intended rails of a node.
"""

from collections.abc import Mapping, Sequence

from railyard.base.bounds import RESENT_SHARE, WIRE_UP_RAIL
from railyard.base.hostlist import MOST_IN_WORDS, list_nodes
from railyard.base.wording import count_of, listing, percent, traffic
from railyard.verdict.wording import IDLE, IDLE_SECOND, NOT_PROVEN
from railyard.verdict.wording.path import Way


def place(device: str, node: str, rail: str) -> str:
    """Return where a port is, and the rail to which it is bonded, if it is another one."""
    return f"{device} of {node}" + ("" if device == rail else f" (a port of {rail})")


def bonded_shares(rail: str, node: str, shares: Mapping[str, float]) -> str:
    """Return over which of its ports a bonded rail sent."""
    each = listing([f"{percent(share)} over {port}" for port, share in shares.items()])
    return f"{rail} of {node} sent {each}, the ports bonded to it"


def say_flapped(where: str, changes: int) -> str:
    """Return that a link was lost during a run, and came back."""
    return f"the link of {where} flapped during the run: carrier_changes grew by {changes}"


def lost_carrier(where: str) -> str:
    """Return that a rail was lost during a run."""
    return f"rail {where} lost its carrier during the run"


def grew(counter: str, count: int, bound: int, whose: str) -> str:
    """Return that a counter of errors grew above its bound, and whose bound that is."""
    return f"{counter} grew by {count} (bound {bound}, {whose})"


def of_the_file() -> str:
    """Return whose bound it is that a system's file has."""
    return "the system's file"


def errors(where: str, grown: Sequence[str]) -> str:
    """Return which errors a port made: the words of each counter."""
    return f"errors on {where} during the run: {'; '.join(grown)}"


def signals(where: str, grown: Sequence[str], more: int) -> str:
    """Return which signals of a port grew, each with its count, and how many ``more`` there are."""
    return f"signals on {where}: {', '.join(grown)}{f' and {more} more' if more > 0 else ''}"


def signals_of_many(counter: str, ports: int, most: int, where: str) -> str:
    """Return on how many ports a signal grew, and where most."""
    return f"signals: {counter} grew on {count_of(ports, 'port')}, by {most} at most ({where})"


def at_maximum(counter: str, where: str, most: int | None) -> str:
    """Return that a counter cannot grow any more."""
    return f"{counter} of {where} was at its maximum, {most}, before the run and cannot grow any more: clear it"


def virtual(where: str) -> str:
    """Return that a virtual function does not show the errors of its port."""
    return f"port errors of {where} not seen: it is a virtual function"


def say_resent(node: str, again: int, sent: int) -> str:
    """Return that TCP sent more segments again than over a healthy path."""
    share = f"{percent(again / sent)}; bound {percent(RESENT_SHARE.value)}, {RESENT_SHARE.name}"
    return f"TCP of {node} sent {again} of {sent} segments again ({share})"


def no_bond() -> str:
    """Return what a rail is that has no bonded ports."""
    return "is not a bond"


def bond(mode: str, ports: Sequence[str], is_one_at_a_time: bool) -> str:
    """Return what a rail is that has bonded ports."""
    only = " (only one carries data)" if is_one_at_a_time else ""
    return f"is a bond ({mode}) of {listing(ports) or 'no port'}{only}"


def miscount(rail: str, node: str, there: str, expected: int) -> str:
    """Return that a rail has more or fewer bonded ports than the file says; ``there``: the words above."""
    return f"{rail} of {node} {there}, but the system's file says bonded_ports: {expected}"


def port_down(port: str, node: str, ports: int, rail: str, had_carrier: bool) -> str:
    """Return that a bonded port has no carrier."""
    when = "lost its carrier during the run" if had_carrier else "has no carrier"
    return f"{port} of {node}, one of {ports} ports bonded to {rail}, {when}"


def look_at(where: str) -> str:
    """Return what to look at if a rail makes errors or loses packets; ``where`` is ``hsn1 of vn2``."""
    return f"cable, port and switch port of {where}: link state, and error counters of both ends"


def look_at_link(where: str) -> str:
    """Return what to look at if a link was lost."""
    return f"cable, port and driver of {where}"


def look_at_port(port: str, node: str) -> str:
    """Return what to look at if a bonded port has no carrier."""
    return f"cable, port and driver of {port} on {node}"


def look_at_bond(rail: str, node: str) -> str:
    """Return what to look at if a bond is not what the file says."""
    return f"bonded_ports of {rail} in the system's file, and /proc/net/bonding on {node}"


def fabric_in_file(system: str, fabric: str) -> str:
    """Return where the system's file describes a fabric."""
    return f"(systems/{system}.yaml, fabrics.{fabric})"


def slower_rail(rail: str, node: str, slower: str, system: str, fabric: str) -> str:
    """Return that a rail of a node runs slower than its file says; ``slower``: its port or its slot."""
    return f"{rail} of {node} {slower} {fabric_in_file(system, fabric)}"


def slow_port(rate: str, expected: str) -> str:
    """Return at which rate a port runs, and which generation of its link is expected."""
    return f"runs at {rate}, expected {expected}"


def slow_slot(generation: int, width: str, expected_generation: int, expected_lanes: int) -> str:
    """Return in which slot of PCI Express a card runs, and which one is expected."""
    return f"runs at PCIe Gen{generation} x{width}, expected Gen{expected_generation} x{expected_lanes}"


def different_mtus(rail: str, mtus: Mapping[str, int], fabric: str) -> str:
    """Return that the nodes' MTUs of a rail differ, and that the system's file sets none."""
    return f"the MTU of {rail} differs: {mtus_by_node(mtus)}; set mtu of fabrics.{fabric} in the system's file"


def other_mtu(rail: str, mtus: Mapping[str, int], expected: int | None, system: str, fabric: str) -> str:
    """Return that the MTU of a rail is not that of the system's file on some nodes."""
    return f"the MTU of {rail} is {mtus_by_node(mtus)}, expected {expected} {fabric_in_file(system, fabric)}"


def mtus_by_node(mtus: Mapping[str, int]) -> str:
    """Return each MTU with its node; of many nodes each value once, with all nodes that have it."""
    if len(mtus) <= MOST_IN_WORDS:
        return listing([f"{mtu} on {node}" for node, mtu in mtus.items()])
    nodes: dict[int, list[str]] = {}
    for node, mtu in mtus.items():
        nodes.setdefault(mtu, []).append(node)
    return listing([f"{mtu} on {list_nodes(where)}" for mtu, where in nodes.items()])


def outside_network(rail: str, node: str, networks: Sequence[str], expected: str, system: str, fabric: str) -> str:
    """Return that a rail of a node is in another network than the system's file says."""
    return f"wiring: {rail} of {node} is in {listing(networks)}, expected {expected} {fabric_in_file(system, fabric)}"


def crossed_rails(
    rail: str, node: str, networks: Sequence[str], other: str, shared: Sequence[str], other_networks: Sequence[str]
) -> str:
    """Return that a rail of a node shares a network only with other rails of another node."""
    return (
        f"wiring: {rail} of {node} is in {listing(networks)}, where {other} has {listing(shared)}, and {rail} of "
        f"{other} is in {listing(other_networks)}: expected rails of one name in one network"
    )


def subnet(prefix: str) -> str:
    """Return an InfiniBand subnet by its prefix."""
    return f"the subnet {prefix}"


def one_rail_by_policy(rails: Sequence[str]) -> str:
    """Return that a policy uses one rail, and the run has several."""
    return f"policy single uses one rail, and the run has {listing(rails)}"


def too_few_pairs(pairs: int, rails: int) -> str:
    """Return that too few pairs of ranks run for all rails to be used."""
    return (
        f"{NOT_PROVEN}with a NIC per rank {pairs} pair of ranks cannot use {rails} rails, so this benchmark says "
        f"nothing about them"
    )


def too_little_split(node: str, way: Way, split_bytes: int, rails: Sequence[str], least_bytes: int) -> str:
    """Return that too few bytes moved in messages that are spread over the rails."""
    return (
        f"{NOT_PROVEN}{node} {way} {traffic(split_bytes)} in messages that are spread over {listing(rails)}, and the "
        f"split can be told from {traffic(least_bytes)} on ({WIRE_UP_RAIL.name})"
    )


def short() -> str:
    """Return why a rail is a suspect if only its share speaks against it."""
    return "carried less than its rate's share"


def brief_short_pair(rail: str) -> str:
    """Return as a headline that both ends of a rail carried less than its share."""
    return f"moved less over {rail} than that rail's share"


def brief_short(way: Way, share: float, due: float) -> str:
    """Return as a headline that a rail carried less than its share."""
    return f"{way} {percent(share)} of the bytes, due {percent(due)}"


def idle_part(rail: str, node: str, way: Way, carried_bytes: int, whole_bytes: int) -> str:
    """Return what an idle rail carried."""
    return f"rail {rail} of {node} {way} {traffic(carried_bytes)} of {traffic(whole_bytes)}"


def idle(parts: Sequence[str], rails: int, share: float, unit: str, bound: str) -> str:
    """Return that rails were idle: the words of each one, and the bound on its share."""
    which = IDLE_SECOND if rails == 2 else IDLE
    return f"{'; '.join(parts)}: {which} (bound {percent(share)} {unit}, {bound})"


def idle_reason(part: str) -> str:
    """Return why a rail is a suspect that was idle."""
    return f"idle: {part}"


def brief_idle(way: Way, carried_bytes: int, whole_bytes: int) -> str:
    """Return an idle rail as a headline."""
    return f"is idle: it {way} {traffic(carried_bytes)} of {traffic(whole_bytes)}"


def uneven_part(rail: str, node: str, way: Way, share: float, whole_bytes: int, due: float) -> str:
    """Return what one of the rails carried whose shares do not match their rates."""
    return f"rail {rail} of {node} {way} {percent(share)} of {traffic(whole_bytes)}, due {percent(due)}"


def uneven(parts: Sequence[str], points: float, bound: str) -> str:
    """Return that the shares of rails do not match their rates."""
    return f"uneven split: {'; '.join(parts)} (bound {100 * points:g} points, {bound})"


def look_at_rail_count() -> str:
    """Return what to look at if a policy does not fit to the rails."""
    return "the system's rails and the check's rail count"


def look_at_pairs() -> str:
    """Return what to run if a benchmark has too few pairs of ranks."""
    return "a benchmark with at least one pair per rail (osu_mbw_mr, IMB's Uniband)"


def look_at_repetitions() -> str:
    """Return what to look at if too little moved."""
    return "the check's repetitions: more of them move more bytes"


def look_at_settings(rails: Sequence[str], node: str) -> str:
    """Return what to look at if rails were idle."""
    return f"how the stack's devices and rails are set; whether {listing(rails)} of {node} reaches the other nodes"


def look_at_rates(rails: Sequence[str], node: str) -> str:
    """Return what to look at if a split is uneven."""
    return f"rate and errors of {listing(rails)} on {node}, then the stack's weights of its rails"
