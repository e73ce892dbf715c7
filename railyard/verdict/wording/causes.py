"""The sentences about likely causes: what a failed curve looks like, lesser parts, and lines that say TCP was used.

The sentences about what a failed busbw between GPUs looks like.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from railyard.base.wording import count_of, either, message_size, number, percent


@dataclass(frozen=True, slots=True)
class Looks:
    """What a curve looks like: ``brief`` for a headline, and how its sentence goes on, with the figures."""

    brief: str
    rest: str

    @property
    def words(self) -> str:
        """``both ranks on one node (shared memory): 0.3000 us``."""
        return f"{self.brief}{self.rest}"


def looks_like(cause: Looks) -> str:
    """Return a cause as a guess."""
    return f"looks like {cause.words}"


def with_first_cause(low: str, cause: Looks) -> str:
    """Return a low value (``reference.brief_share``) as a headline with the cause that it looks like."""
    return f"{low}, like {cause.brief}"


def say_evidence(cause: Looks) -> str:
    """Return the figures of a cause that a headline says: ``evidence: a link of FDR (93.0 % of 6775 MB/s)``."""
    # A share in parentheses says nothing without the part that it belongs to.
    return f"evidence: {cause.words if cause.rest.startswith(' (') else cause.rest.removeprefix(': ').strip()}"


def latency_within_node(least_us: float) -> Looks:
    """Return that a latency is as short as in shared memory."""
    return Looks("both ranks on one node", f" (shared memory): {number(least_us)} us")


def rate_within_node(share: float, pairs: int) -> Looks:
    """Return that pairs of ranks move more than the link can; ``share``: of its limit."""
    brief = "both ranks on one node"
    if pairs > 1:
        brief = f"{pairs} pairs of ranks on several pairs of nodes, or within a node"
    return Looks(brief, f" (shared memory): {percent(share)} of the link's limit")


def rate_of_no_link(rate_mb_s: float, message_us: float) -> Looks:
    """Return that no link and no slot has a rate, and that short messages are as fast as in shared memory."""
    return Looks(
        "both ranks on one node",
        f" (shared memory), or a link that carries less than it should: {number(rate_mb_s)} MB/s is a rate of no link "
        f"and no slot, and {number(message_us)} us for each message of a few bytes is as short as in a node's memory",
    )


def latency_of_tcp(least_us: float) -> Looks:
    """Return that a latency is as long as over TCP."""
    return Looks("TCP in place of RDMA", f": {number(least_us)} us for a message of a few bytes")


def rate_of_tcp(message_us: float, share: float, links: Looks | None) -> Looks:
    """Return that each message takes as long as over TCP; ``links``: those that have the rate, if any."""
    over = f", a rate of {links.words}" if links is not None else ""
    return Looks(
        "TCP in place of RDMA",
        f": {number(message_us)} us for each message of a few bytes in a window, and {percent(share)} of the limit at "
        f"best{over}",
    )


def small_mtu_of_roce(share: float, limit_mb_s: float) -> Looks:
    """Return that a rate is what RoCE reaches with a path MTU of 1024."""
    of_limit = f"{percent(share)} of {number(limit_mb_s)} MB/s"
    return Looks("RoCE with a path MTU of 1024", f" (a network device of MTU 1500): {of_limit}")


def moved_threshold(first_bytes: int, last_bytes: int, worst_share: float) -> Looks:
    """Return that a few neighbouring sizes miss the reference, and that smaller and larger ones reach it."""
    sizes = message_size(first_bytes)
    if last_bytes > first_bytes:
        sizes += f" to {message_size(last_bytes)}"
    return Looks(
        "a moved eager or rendezvous threshold",
        f": {sizes} at {percent(worst_share)} of the reference, smaller and larger sizes reach it",
    )


def drop_above_cache(peak_mb_s: float, peak_bytes: int, last_mb_s: float, last_bytes: int) -> Looks:
    """Return that a rate falls with every size after its peak."""
    return Looks(
        "a drop above a cache's size",
        f": {number(peak_mb_s)} MB/s at {message_size(peak_bytes)} falls to {number(last_mb_s)} MB/s "
        f"({percent(last_mb_s / peak_mb_s)}) at {message_size(last_bytes)} (last-level cache, the card's own, or "
        "registered memory)",
    )


def fitting_part(part: str, share: float, limit_mb_s: float) -> Looks:
    """Return a lesser part with the share of its limit that a rate is."""
    return Looks(part, f" ({percent(share)} of {number(limit_mb_s)} MB/s)")


def one_of(first: Looks, others: Sequence[Looks]) -> Looks:
    """Return lesser parts any of which has the rate; a headline has only the first."""
    return Looks(first.brief, "".join([first.rest, *(f" or {each.words}" for each in others)]))


def another_network(link: str, rate_mb_s: float, parts: Sequence[Looks]) -> Looks:
    """Return which networks and slots have a rate that is far below the link's."""
    rates = either([each.words for each in parts])
    return Looks(
        f"another network than {link}, or a link or slot that runs far below it",
        f": {number(rate_mb_s)} MB/s is a rate of {rates}",
    )


def some_rails(rails: int, of: int) -> str:
    """Return fewer rails than the run should use."""
    return f"{count_of(rails, 'rail')} of {of}"


def some_lanes(lanes: int, of: int, generation: str) -> str:
    """Return fewer lanes than a link has."""
    return f"{lanes} of the {of} lanes of {generation}"


def link_of(generation: str) -> str:
    """Return a link of another generation."""
    return f"a link of {generation}"


def lesser_slot(generation: str, expected: str) -> str:
    """Return a slot that carries less than the card's own."""
    return f"a slot of {generation} in place of {expected}"


def named_slot(name: str) -> str:
    """Return a slot by its name in the table of slots."""
    return f"the slot {name}"


def fitting_share(part: str, share: float) -> str:
    """Return a link or a slot with the share of its limit that a rate is."""
    return f"{part} ({percent(share)})"


def slot_in_text(address: str, name: str, line: int, below: str, most_mb_s: float | None) -> Looks:
    """Return a degraded slot that the same text shows; ``below``: how it runs below its best."""
    most = "" if most_mb_s is None else f", {number(most_mb_s)} MB/s at most"
    return Looks(f"the slot of {address}", f" ({name[:80]}), line {line}: {below}{most}")


def port_in_text(place: str, line: int, rate_gbit_s: float, lanes: str, due_gbit_s: float, link: str) -> Looks:
    """Return a slow port that the same text shows; ``lanes``: its width and speed as printed, empty if not printed."""
    shown = f"{rate_gbit_s:g} Gbit/s{f' ({lanes})' if lanes else ''}"
    return Looks(f"{place}, line {line}", f": {shown}, below the {due_gbit_s:g} Gbit/s of {link}")


def mtu_in_text(place: str, line: int, active: int | None, most: int | None) -> Looks:
    """Return a port with a small MTU that the same text shows."""
    return Looks(f"{place}, line {line}", f": active_mtu {active} below max_mtu {most}")


def against_fallback(line: int, quoted: str) -> str:
    """Return that the figures speak against a line."""
    return f'line {line}, "{quoted}": small messages are faster than TCP can be, so it was RDMA'


def faster_than_tcp(line: int, quoted: str, means: str) -> str:
    """Return that a setting leaves a run only TCP, and that its figures are faster than TCP between two nodes."""
    return (
        f'line {line} says "{quoted}" ({means}), but small messages are faster than TCP between two nodes can be: the '
        "line is of another run or library, or both ranks shared a node; leave the line out if it is not this run's, "
        "and show where the ranks ran"
    )


def fallback_of_unknown(line: int, quoted: str, means: str) -> str:
    """Return a line by which a run over a network that nobody named left RDMA."""
    return f'line {line} says "{quoted}": {means} (if its network has RDMA, the run did not use it)'


def reachable_share(peak_gb_s: float, share: float, bound_gb_s: float) -> str:
    """Return a peak compared with what the named parts can reach."""
    return f"{number(peak_gb_s)} GB/s is {percent(share)} of the {number(bound_gb_s)} GB/s that those can reach"


def one_domain(compared: str) -> Looks:
    """Return that no NIC carried the bytes; ``compared``: the peak with what NVLink over all GPUs can reach."""
    return Looks(
        "traffic that never used the NICs",
        ": one NVLink domain over several nodes (domain= of --nodes-have, MNNVL in NCCL's log), or separate jobs of "
        f"one node each; {compared}",
    )


def more_nics(times: int, compared: str) -> Looks:
    """Return that the nodes must have more or faster NICs than stated."""
    return Looks(f"nodes with {times} times as many NICs, or NICs {times} times as fast", f": {compared}")


def fewer_nics(nics: int, of: int, compared: str) -> Looks:
    """Return that some of a node's NICs would reach the peak."""
    return Looks(f"{nics} of {count_of(of, 'NIC')} of a node", f": {compared}")


def across_sockets(peak_gb_s: float, share: float) -> Looks:
    """Return that the peak is what a path across sockets reaches; ``share``: of the bound."""
    return Looks(
        "a path across sockets, or through shared PCIe switches",
        f": {number(peak_gb_s)} GB/s is {percent(share)} of the bound; nvidia-smi topo -m shows which NIC is near "
        "which GPU",
    )


def narrow_slots(slot: str, compared: str) -> Looks:
    """Return that NICs in lesser slots would reach the peak."""
    return Looks(f"NICs in slots of {slot}", f": {compared}; lspci -vv (LnkSta) shows it")


def over_sockets(interface: str, link: str, compared: str) -> Looks:
    """Return that sockets over one interface would reach the peak."""
    return Looks(
        "sockets",
        f" (TCP) over one interface of {interface}, in place of {link}: {compared}; then NCCL's log (NCCL_DEBUG=INFO) "
        'has "Using network Socket"',
    )


def over_pcie(link: str, slot: str, compared: str) -> Looks:
    """Return that PCIe between the GPUs of a node would reach the peak."""
    return Looks(
        f"PCIe in place of {link} between the GPUs of a node",
        f" ({slot}): {compared}; nvidia-smi nvlink --status, NCCL_P2P_DISABLE and the fabric manager tell more",
    )


def through_hosts(share: float) -> Looks:
    """Return that the peak is what bytes reach that go through the memory of the hosts; ``share``: of the bound."""
    return Looks(
        "bytes that go through the memory of the hosts, without GPUDirect RDMA",
        f" (nvidia_peermem or DMA-BUF missing, ACS on): {percent(share)} of the bound; the log of NCCL has "
        '"/GDRDMA" behind each connection that uses it',
    )
