"""The sentences of rule 4: which way the bytes of a run went, by counters and by the stack's own log.

How bytes were spread over the intended rails of a node. Links and ports of rails: errors, lost carriers, bonded ports,
segments that were resent; rails that are not set or wired as the system's file says.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from railyard.base.bounds import (
    CARRIED_SHARE,
    LEAST_PAYLOAD,
    PACE_FACTOR,
    RESENT_SHARE,
    SHARED_LEAST,
    UNMEANT_SHARE,
    WIRE_UP,
    WIRE_UP_RAIL,
)
from railyard.base.hostlist import MOST_IN_WORDS, list_nodes
from railyard.base.wording import count_of, listing, message_size, number, percent, traffic
from railyard.benchmarks.model import Within
from railyard.verdict.wording import IDLE, IDLE_SECOND, NOT_INTENDED, NOT_PROVEN

Way = Literal["sent", "received"]

_WITHIN: dict[Within, str] = {"": "shared memory", "slot": "slots of GPUs", "gpu-link": "links between GPUs"}
_BACKGROUND = f"too little to tell from background traffic (bound {traffic(LEAST_PAYLOAD.value)}, {LEAST_PAYLOAD.name})"
_NOT_OF_THIS_RUN = "the printed figures are not those of this run"
_PACE_BOUND = f"bound {PACE_FACTOR.value:g} times, {PACE_FACTOR.name}"


def not_judged_here() -> str:
    """Return why the path of a replay is not judged."""
    return "not judged here: replay"


def no_path(reason: str) -> str:
    """Return why a run has no path to prove."""
    return f"path not judged: {reason}"


def no_counters_of_rails(fabric: str) -> str:
    """Return that nothing counts the bytes of a fabric."""
    return f"the rails of {fabric} have no counters"


def say_accepted(sentence: str, reason: str) -> str:
    """Return that a system accepts a path that is not proven, and its own reason."""
    return f"{sentence}; the system accepts this: {reason}"


def accepts_unproven(system: str, fabric: str, reason: str) -> str:
    """Return where a system's file accepts paths that are not proven, and its own reason."""
    return f"systems/{system}.yaml, accept_unproven of {fabric}: {reason}"


def has_no_counters(system: str, fabric: str) -> str:
    """Return where a system's file says that a fabric's rails count nothing."""
    return f"systems/{system}.yaml says counters: none for a rail of {fabric}"


def in_place_of_rails(within: Within) -> str:
    """Return what a run within a node uses in place of rails."""
    return _WITHIN[within]


def not_proven(reason: str) -> str:
    """Return that a path is not proven, and why."""
    return f"{NOT_PROVEN}{reason}"


def no_rail() -> str:
    """Return that a run has no intended rail."""
    return "the run has no rail that it should use"


def no_counters(node: str) -> str:
    """Return that a node has none, and nobody looked further."""
    return f"no counters of {node}"


def counters_not_found(node: str) -> str:
    """Return that no counters of a node arrived."""
    return f"no counters of {node} were found"


def counters_unusable(node: str, problem: str) -> str:
    """Return why the counters of a node tell nothing."""
    return f"the counters of {node} cannot be used: {problem}"


def no_reading(node: str, rail: str) -> str:
    """Return that a rail's counters were not read."""
    return f"the counters of {node} have no reading of rail {rail}"


def no_network(node: str) -> str:
    """Return that no counters of any network of a node were read."""
    return f"{node} has no network whose counters were read"


def rail_in_trouble(rail: str, node: str, trouble: str) -> str:
    """Return why the counters of an intended rail tell nothing."""
    return f"rail {rail} of {node} {trouble}"


def network_in_trouble(device: str, node: str, trouble: str) -> str:
    """Return why the counters of another network tell nothing."""
    return f"network {device} of {node} {trouble}, so it is not known what went over it"


def too_little(node: str, moved_bytes: int) -> str:
    """Return that a node moved too little to be told from background traffic."""
    return f"{node} moved only {traffic(moved_bytes)}, {_BACKGROUND}"


def unknown_bytes(reason: str, carried: str) -> str:
    """Return that nobody knows what a run should have moved, and what was ``carried``; empty: that was said."""
    return f"expected bytes unknown: {reason}{f'; {carried}' if carried else ''}"


def no_repetitions(tool: str) -> str:
    """Return why nobody knows what a run should have moved."""
    return f"{tool} prints no repetitions and was given none"


def carried_one_way(rails: Sequence[str], node: str, moved_bytes: int, is_little: bool) -> str:
    """Return what the intended rails of a node carried."""
    return f"{listing(rails)} of {node} carried {traffic(moved_bytes)} one way{f', {_BACKGROUND}' if is_little else ''}"


def carried_part(rails: Sequence[str], node: str, way: Way, moved_bytes: int, payload_bytes: int) -> str:
    """Return that the intended rails carried less than the run moved."""
    of = f"{traffic(moved_bytes)} of {traffic(payload_bytes)}"
    return f"{listing(rails)} of {node} {way} {of} (bound {percent(CARRIED_SHARE.value)}, {CARRIED_SHARE.name})"


def unseen_rest(part: str) -> str:
    """Return that no counter shows what the intended rails did not carry."""
    return f"{part}, and no other network's counter shows the rest"


def went_over(moved_bytes: int, device: str, node: str, rail: str | None, part: str) -> str:
    """Return which network carried the rest; ``rail``: the intended one whose network interface it is, if it is one."""
    what = NOT_INTENDED if rail is None else f"is the network interface of {rail}: TCP, not RDMA"
    return f"{traffic(moved_bytes)} went over {device} of {node}, which {what}: {part}"


def used_instead(device: str, rails: Sequence[str]) -> str:
    """Return why the stack is a suspect: it used another network."""
    return f"the stack used {device} instead of {listing(rails)}"


def say_moved(
    moved_bytes: int, nodes: Sequence[str], shares: Mapping[str, float], other_bytes: int, is_exclusive: bool
) -> str:
    """Return how a run's bytes were split over its intended rails."""
    each = listing([f"{percent(share)} over {rail}" for rail, share in shares.items()])
    kind = ", only a lower bound: the nodes are not exclusive"
    rest = f", at most {traffic(other_bytes)} over another network"
    return f"{traffic(moved_bytes)} moved on {list_nodes(nodes)}: {each}{rest if is_exclusive else kind}"


def in_packets(device: str, packet_bytes: int | None) -> str:
    """Return the end of the sentence above if a device counts packets."""
    return f", upper bounds: {device} counts packets, of at most {packet_bytes} B each"


def idled_on_all(rails: Sequence[str], nodes: Sequence[str]) -> str:
    """Return why the stack is a suspect: a rail idled on all nodes."""
    return f"{listing(rails)} idled on all of {list_nodes(nodes)}: the stack did not use it"


def tells_one_rail(idled: str, stack: str, threshold_bytes: int, benchmark: str, busy: Sequence[str]) -> str:
    """Return that a run tells about some rails only, since a stack splits only large messages."""
    return (
        f"{idled}; {stack} splits messages of {message_size(threshold_bytes)} and more, and none of {benchmark} is "
        f"known to be so large: its figure is that of {listing(busy)} only"
    )


def say_besides(way: Way, carried_bytes: int, moved_bytes: int, bound_bytes: float) -> str:
    """Return what a network carried that a run should not use."""
    return (
        f"{way} {traffic(carried_bytes)} while the run moved {traffic(moved_bytes)} (bound {traffic(bound_bytes)}, the "
        f"larger of {UNMEANT_SHARE.name} and {WIRE_UP.name})"
    )


def not_intended(device: str, node: str, said: str) -> str:
    """Return that a network that was not intended carried bytes; ``said``: the words above."""
    return f"{device} of {node}, which {NOT_INTENDED}, {said}"


def tcp_not_rdma(device: str, node: str, rail: str, said: str) -> str:
    """Return that the network interface of an intended rail carried bytes."""
    return f"{device} of {node}, the network interface of {rail}, {said}: TCP, not RDMA"


def tcp_and_rdma(device: str, node: str, rail: str, said: str) -> str:
    """Return that nobody can tell TCP from RDMA, since other jobs may have sent it."""
    return (
        f"{NOT_PROVEN}{device} of {node}, the network interface of {rail}, {said}: the counters of {rail} see TCP and "
        f"RDMA alike, and the nodes are not exclusive"
    )


def carried_instead(device: str, moved_bytes: int, rails: Sequence[str]) -> str:
    """Return why the stack is a suspect: bytes took another network."""
    return f"{device} carried {traffic(moved_bytes)} that should have gone over {listing(rails)}"


def tcp_instead(device: str, moved_bytes: int, rail: str) -> str:
    """Return why the stack is a suspect: TCP carried bytes of RDMA."""
    return f"TCP over {device} carried {traffic(moved_bytes)} that should have been RDMA over {rail}"


def shared_by_others(rail: str, nodes: Sequence[str], way: Way, more_bytes: int, bound_bytes: float) -> str:
    """Return that the nodes of a run sent more than they received, or the other way round."""
    other = "received" if way == "sent" else "sent"
    bound = f"bound {traffic(bound_bytes)}, the larger of {UNMEANT_SHARE.name} and {SHARED_LEAST.name}"
    return f"shared: over {rail} {list_nodes(nodes)} {way} {traffic(more_bytes)} more than they {other} ({bound})"


def shared_beyond(
    rails: Sequence[str], node: str, way: Way, carried_bytes: int, own_bytes: int, is_most: bool, bound: str
) -> str:
    """Return that a node carried more than the run moved; ``bound``: the most that is believed, and its name."""
    own = f"{'at most ' if is_most else ''}{traffic(own_bytes)}"
    said = f"{listing(rails)} of {node} {way} {traffic(carried_bytes)}"
    return f"shared: {said} while the run moved {own} (bound {bound})"


def crossed_rails(moved_bytes: int, left: Sequence[str], arrived: Sequence[str]) -> str:
    """Return that bytes left over one intended rail and arrived over another."""
    return (
        f"{traffic(moved_bytes)} left over {listing(left)} and arrived over {listing(arrived)}, so they are in one "
        f"network: the library may have the address of only one, or one answers for the other's (arp_ignore, routes)"
    )


def crossed_cables(rail: str, other: str, node: str, partner: str, moved_bytes: int) -> str:
    """Return that the cables of two rails are swapped."""
    return (
        f"{rail} and {other} are crossed between {node} and {partner}: what one node sent over one of them, "
        f"{traffic(moved_bytes)}, the other received over the other"
    )


def wrong_counter(
    rails: Sequence[str], others: Sequence[str], theirs_bytes: int, node: str, own_bytes: int, way: Way
) -> str:
    """Return that both ends of a rail contradict each other."""
    over, other = listing(rails), "received" if way == "sent" else "sent"
    return (
        f"{NOT_PROVEN}over {over} {list_nodes(others)} {other} {traffic(theirs_bytes)}, and {node} counted "
        f"{traffic(own_bytes)} {way}: the two ends contradict each other, so the counter of bytes {way} of {over} on "
        f"{node} is wrong, not the rail"
    )


def within_node(nodes: Sequence[str], who: str, moved_bytes: int, by: str) -> str:
    """Return that no network carried what pairs within a node moved."""
    return f"no network of {list_nodes(nodes)} carried it: each {who} moved {traffic(moved_bytes)} one way in {by}"


def left_node(
    device: str, node: str, carried_bytes: int, who: str, moved_bytes: int, bound_bytes: float, by: str
) -> str:
    """Return that a network carried what should have stayed within a node; ``by`` what: memory, or NVLink."""
    return (
        f"{device} of {node} carried {traffic(carried_bytes)} while the {who} within {node} moved "
        f"{traffic(moved_bytes)} (bound {traffic(bound_bytes)}, the larger of {UNMEANT_SHARE.name} and "
        f"{WIRE_UP.name}): not {by}"
    )


def network_instead(by: str) -> str:
    """Return why the stack is a suspect: a network carried what memory should."""
    return f"a network carried what {by} should have carried"


def second_owner(who: str, hardware: str, address: str, owner: str, seen_by: str, device: str) -> str:
    """Return that two nodes have one address; ``who`` answers for it."""
    return (
        f"{who} ({hardware}) answers for {address}, the address of {owner}, as {seen_by} found over {device}: two "
        f"nodes have one address, and the rails of {owner} are not at fault"
    )


def a_stranger() -> str:
    """Return who answers for an address if no node of the run has the hardware."""
    return "a machine that is not one of these nodes"


def log_contradicts(devices: Sequence[str], line: str) -> str:
    """Return that the stack's own log names fewer devices than the counters show."""
    return f'the stack\'s own log contradicts the counters: it names only {listing(devices)} ("{line}")'


def log_names_more(devices: Sequence[str]) -> str:
    """Return that the stack's own log names devices which carried nothing."""
    return f"the stack's own log also names {listing(devices)}, over which the counters saw no messages"


def counters_contradict(devices: Sequence[str], line: str) -> str:
    """Return that the counters show another way than the stack's own log."""
    return f'the counters contradict the stack\'s own log, which names {listing(devices)} ("{line}")'


def log_agrees(devices: Sequence[str], line: str) -> str:
    """Return that the stack's own log says what the counters found wrong."""
    return f'the stack\'s own log says so too: it names {listing(devices)} ("{line}")'


def other_pace(share: float, printed_mb_s: float, node: str, counted_mb_s: float) -> str:
    """Return that by the counters the bytes passed faster, or slower, than the figures say."""
    return (
        f"{_NOT_OF_THIS_RUN}: by them, the middle {percent(share)} of its bytes passed at {number(printed_mb_s)} "
        f"MB/s, both ways together, and the rails of {node} carried them at {number(counted_mb_s)} MB/s "
        f"({_PACE_BOUND})"
    )


def longer_than_run(printed_s: float, elapsed_s: float) -> str:
    """Return that by its figures a run took longer than it did."""
    took = f"its bytes took {number(printed_s)} s, and all of the run took {number(elapsed_s)} s ({_PACE_BOUND})"
    return f"{_NOT_OF_THIS_RUN}: by them, {took}"


def look_at_record() -> str:
    """Return what to look at if nothing else is said about a path."""
    return "the path proof's numbers in the record"


def look_at_counters() -> str:
    """Return what to look at if a fabric has no counters."""
    return "the system's rails and their counters"


def look_at_system() -> str:
    """Return what to look at if a run has no rail."""
    return "the system's rails"


def look_at_reader(node: str) -> str:
    """Return what to look at if a node's counters did not arrive."""
    return f"whether the counter reader ran on {node} and could write beside the job's script"


def look_at_driver(device: str, node: str) -> str:
    """Return what to look at if a device's counters cannot be used."""
    return f"the driver and counters of {device} on {node}"


def look_at_repetitions(rails: Sequence[str], node: str) -> str:
    """Return what to look at if nobody knows what a run should have moved."""
    return f"{listing(rails)} of {node}, and how the check sets the repetitions"


def look_at_iterations() -> str:
    """Return what to look at if a run moved too little."""
    return "the check's sizes and iterations: more of them move more bytes"


def look_at_devices(rails: Sequence[str], node: str) -> str:
    """Return what to look at if another network carried the bytes of a rail."""
    up = "is up and reaches" if len(rails) == 1 else "are up and reach"
    return f"how the stack's devices are set; whether {listing(rails)} of {node} {up} the other nodes"


def look_at_unseen() -> str:
    """Return what to look at if no counter shows what a run moved."""
    return "whether the ranks shared a node, and whether these counters see the traffic of this stack (RDMA?)"


def look_at_other_use(device: str, node: str) -> str:
    """Return what to look at if TCP cannot be told from RDMA."""
    return f"what else used {device} of {node}"


def look_at_stray(device: str, node: str) -> str:
    """Return what to look at if a network that was not intended carried bytes."""
    return f"how the stack's devices are set, and what else uses {device} of {node}"


def look_at_transports(device: str, node: str) -> str:
    """Return what to look at if TCP carried bytes of RDMA."""
    return f"how the stack's transports are set; what else uses {device} of {node}"


def look_at_transports_within(device: str, node: str) -> str:
    """Return what to look at if a network carried what should have stayed within a node."""
    return f"how the stack's transports are set, and what else uses {device} of {node}"


def look_at_swapped(rail: str, other: str, node: str, partner: str) -> str:
    """Return what to look at if cables are swapped."""
    return (
        f"the cables of {rail} and {other} of {node} and {partner}: swapped at the switch, or in one network where "
        "either answers for the other (arp_ignore); a run with a third node tells which of the two nodes it is"
    )


def look_at_counter(rails: Sequence[str], node: str, way: Way) -> str:
    """Return what to look at if a counter is wrong."""
    return f"the driver and firmware of {listing(rails)} on {node}: its counter of bytes {way} while something is sent"


def look_at_owners(addresses: Sequence[str]) -> str:
    """Return what to look at if two nodes have one address."""
    return f"who has {listing(addresses)} (ip address on every node, arping)"


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


def crossed_wiring(
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


def look_at_more_repetitions() -> str:
    """Return what to look at if too little moved."""
    return "the check's repetitions: more of them move more bytes"


def look_at_settings(rails: Sequence[str], node: str) -> str:
    """Return what to look at if rails were idle."""
    return f"how the stack's devices and rails are set; whether {listing(rails)} of {node} reaches the other nodes"


def look_at_rates(rails: Sequence[str], node: str) -> str:
    """Return what to look at if a split is uneven."""
    return f"rate and errors of {listing(rails)} on {node}, then the stack's weights of its rails"
