"""The physical limit of (link, slot, rails, MTU, directions), the floors of a link, and a link without a system's file.

Payload per packet, in bytes: InfiniBand carries MTU of MTU + 26 (LRH 8, BTH 12, ICRC 4, VCRC 2), RoCEv2 MTU of
MTU + 82 (preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12), TCP over Ethernet MTU - 40 of
MTU + 38 (IPv4 20, TCP 20; preamble 8, Ethernet 14, FCS 4, gap 12). On 12.5 GB/s: InfiniBand at 4096 B
12.5 x 4096/4122 = 12.42, RoCEv2 at 4096 B 12.5 x 4096/4178 = 12.25, RoCEv2 at 1024 B 12.5 x 1024/1106 = 11.57 GB/s.
A slot carries the payload of TLPs: max payload / (max payload + 24), 0.914 at 256 B.

A rail that HTB shapes ("tcp-shaped"): the qdisc counts each segment of a GSO super-frame with its Ethernet, IP and TCP
headers (qdisc_pkt_len_init adds the missing ones), but never preamble, FCS or gap: MTU + 14. Linux sends TCP
timestamps, so usually 1448 of 1514 B (95.6 %) are payload, and 95.7 % was measured. Without timestamps it would be
1460 of 1514 (96.4 %). The limit uses this number, since it must be a true upper bound: 12.05 MB/s at 100 Mbit/s.
In addition, a full bucket passes at once, and one segment of TCP (64 KiB of a GSO super-frame) passes as long as the
bucket is not empty. That is the link's burst, and every message may have it again after a pause.

A link that no system's file describes, with equal rails: what a fabric of such a file is to a judgement.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from railyard.hardware.links import HEADERS, SLOTS, Link, Slot

DEFAULT_MAX_PAYLOAD = 256
"""PCIe max payload size in bytes: the default of Gen3 servers. 512 gives 4.5 % more; a system may state it."""

#: From this size on, the start of a message is lost in the noise: floors are shares of the limit.
DAY_ONE_FROM_BYTES = 1 << 20
#: The names in ``HEADERS`` with which no packet carries two messages.
_A_PACKET_EACH = {"infiniband", "rocev2"}

# One way, from 1 MiB. They are this project's own conditions of acceptance, not physics: 12000 MB/s is 96.6 % of EDR's
# 12421 (12.5 GB/s x 4096/4122), 6000 MB/s is 88.6 % of FDR's 6775. Published PowerEdge C6320 systems reach 12.4 and
# 6.3 GB/s. 96.6 % is strict: other links must show only the 85 % of ``day_one``. Both are meant for the largest MTU.
# With MTU m the same share of the limit is asked: 12000 x (m/(m + 26)) / (4096/4122), 11925 at 2048, 11777 at 1024.
# Otherwise 12000 would be 98.4 % of the limit at 1024, where each packet's headers alone take 2.5 %.
_CLASS_FLOORS_MB_S = {"ib-edr": 12000.0, "ib-fdr": 6000.0}


@dataclass(frozen=True, slots=True)
class Limit:
    """No run can move payload faster: ``value_mb_s`` in MB/s (10^6 B/s), summed over rails and the asked directions.

    ``terms`` is the sum in words, ``source`` says where its constants come from. The limit holds for messages of
    ``from_bytes`` and more. A value below it does not mean that hardware can reach it.
    ``burst_bytes`` of a message pass at once, over all rails together. ``at`` gives the bound that includes them.
    """

    value_mb_s: float
    terms: str
    source: str
    from_bytes: int = 0
    burst_bytes: int = 0

    def bound_at(self, size_bytes: int) -> float:
        """Return the bound in MB/s for messages of one size; for size 0, the bound of a long stream.

        Of a message of n bytes, n - burst bytes wait for the rate. A message that is not longer than the burst has no
        bound.
        """
        if not size_bytes or not self.burst_bytes:
            return self.value_mb_s
        waits = size_bytes - self.burst_bytes
        return self.value_mb_s * size_bytes / waits if waits > 0 else math.inf


@dataclass(frozen=True, slots=True)
class MessageLimit:
    """No wire carries more packets per second (1/s). Each message is a packet of its own, at least its headers.

    The message's bytes do not count here, because ``Limit`` bounds them, and because some MPI libraries (MVAPICH) may
    join small messages in one packet. ``terms`` is the sum in words, ``source`` says where its constants come from.
    """

    value: float
    terms: str
    source: str


@dataclass(frozen=True, slots=True)
class LinkFloor:
    """A healthy link streams at least this: MB/s (10^6 B/s), for messages of ``from_size_bytes`` and more."""

    value_mb_s: float
    from_size_bytes: int
    source: str


def data_rate_mb_s(link: Link) -> float | None:
    """Return one rail's data rate after the line code, MB/s one way, headers included; None if it is unknown."""
    return None if link.data_rate_gbit_s is None else link.data_rate_gbit_s * 1000 / 8


@dataclass(frozen=True, slots=True)
class Sharing:
    """How many rails share a slot, how many devices a port (Socket Direct, multi-host), how many ports a rail bonds."""

    rails_per_card: int = 1
    rails_per_port: int = 1
    ports_per_rail: int = 1


def limit(
    link: Link,
    slot: Slot | None = None,
    rails: int = 1,
    sharing: Sharing = Sharing(),
    *,
    mtu: int | None = None,
    directions: int = 1,
    max_payload: int = DEFAULT_MAX_PAYLOAD,
) -> Limit | None:
    """Return the bound on payload over ``rails`` rails, or None if the link's data rate is unknown.

    ``mtu`` defaults to the link's largest, so that the result is an upper bound. ``directions`` is 1 (one way) or 2
    (the sum of both; a shared bus gives no more for two). Raises ValueError for counts below 1.
    """
    rails_per_card, rails_per_port = sharing.rails_per_card, sharing.rails_per_port
    ports_per_rail = sharing.ports_per_rail
    if min(rails, rails_per_card, rails_per_port, ports_per_rail) < 1 or directions not in (1, 2):
        raise ValueError(
            f"rails {rails}, per card {rails_per_card}, per port {rails_per_port}, ports per rail {ports_per_rail}, "
            f"directions {directions}"
        )
    rate = data_rate_mb_s(link)
    if rate is None:
        return None
    ports = -(-rails // rails_per_port) * ports_per_rail
    share, share_terms = _payload_share(link, mtu)
    wire = ports * rate * share * directions
    wire_terms = f"{_times(ports, 'port')}{link.name} {rate:.1f} MB/s{share_terms}{_both_ways(directions)}"
    sources = [link.source, HEADERS[link.headers].source]
    burst = ports * link.burst_bytes
    if slot is None:
        return Limit(wire, f"{wire_terms} = {wire:.1f} MB/s", "; ".join(sources), link.limit_from_bytes, burst)
    full, rest = divmod(rails, rails_per_card)
    per_rail = wire / rails
    budget, budget_terms = slot_budget(slot, max_payload, directions)
    value = full * min(rails_per_card * per_rail, budget) + min(rest * per_rail, budget)
    if value >= wire * (1 - 1e-12):
        terms = f"{wire_terms} = {wire:.1f} MB/s (the slot allows more: {budget_terms} per card)"
    else:
        cards = full + (1 if rest else 0)
        terms = f"{_times(cards, 'card')}slot {budget_terms}, below the link's {wire:.1f} MB/s = {value:.1f} MB/s"
        sources = [slot.source]
    return Limit(value, terms, "; ".join(sources), link.limit_from_bytes, burst)


class DeclaredLinkLike(Protocol):
    """A link that a system's file declares."""

    @property
    def name(self) -> str: ...
    @property
    def data_rate_gbit_s(self) -> float | None: ...
    @property
    def source(self) -> str: ...
    @property
    def headers(self) -> str: ...
    @property
    def mtu(self) -> int | None: ...
    @property
    def limit_from(self) -> int: ...
    @property
    def burst(self) -> int: ...
    @property
    def family(self) -> str: ...
    @property
    def note(self) -> str | None: ...


def declared_link(declared: DeclaredLinkLike) -> Link:
    """Return a declared link in the form of an entry of the table."""
    mtus = (declared.mtu,) if declared.mtu else ()
    return Link(
        *(declared.name, declared.name, None, None, "declared by the system", declared.data_rate_gbit_s),
        *(declared.family, declared.headers, mtus, declared.source, declared.note or ""),
        *(declared.limit_from, declared.burst),
    )


class RailLike(Protocol):
    """A rail in its place: ``slot`` None means the slot of all rails."""

    @property
    def slot(self) -> str | None: ...
    @property
    def rails_per_card(self) -> int: ...
    @property
    def rails_per_port(self) -> int: ...
    @property
    def bonded_ports(self) -> int: ...


class FabricLike(Protocol):
    """A link with its rails: ``slot`` is that of rails that name no other one, None if unknown."""

    @property
    def link(self) -> Link: ...
    @property
    def slot(self) -> str | None: ...
    @property
    def mtu(self) -> int | None: ...
    @property
    def max_payload(self) -> int: ...


def limit_of_rails(
    fabric: FabricLike, rails: Iterable[RailLike], directions: int, one_stream: bool = False
) -> Limit | None:
    """Return the bound of some rails of a fabric, which may be in different places; None if its rate is unknown.

    Rails in equal places are bounded together, others separately. ``one_stream``: only one of bonded ports counts,
    since that is what a run must reach.
    """
    groups: dict[tuple[str | None, Sharing], int] = {}
    for rail in rails:
        bonded = 1 if one_stream else rail.bonded_ports
        place = (rail.slot or fabric.slot, Sharing(rail.rails_per_card, rail.rails_per_port, bonded))
        groups[place] = groups.get(place, 0) + 1
    return combine(
        limit(
            *(fabric.link, SLOTS[name] if name else None, count, sharing),
            mtu=fabric.mtu,
            directions=directions,
            max_payload=fabric.max_payload,
        )
        for (name, sharing), count in groups.items()
    )


def message_limit_of_rails(fabric: FabricLike, rails: Iterable[RailLike], directions: int) -> MessageLimit | None:
    """Return the bound on messages per second of some rails of a fabric, or None if no link bounds them.

    Rails that share a port count as separate ports, so the bound is still an upper bound.
    """
    return message_limit(fabric.link, sum(rail.bonded_ports for rail in rails), directions)


def message_limit(link: Link, ports: int, directions: int) -> MessageLimit | None:
    """Return the bound on messages per second over so many ports; None if messages share packets by design.

    Over InfiniBand and RoCE a message is one packet or several. TCP joins messages into segments, so a packet does not
    belong to one message. With ``directions`` 2 the messages of both directions count.
    """
    rate, headers = data_rate_mb_s(link), HEADERS[link.headers]
    if rate is None or link.headers not in _A_PACKET_EACH:
        return None
    value = ports * rate * directions * 1e6 / headers.outside
    terms = (
        f"{_times(ports, 'port')}{link.name} {rate:.1f} MB/s{_both_ways(directions)} / {headers.outside} B of headers"
    )
    return MessageLimit(value, terms, f"{link.source}; {headers.source}")


def slot_budget(slot: Slot, max_payload: int, directions: int) -> tuple[float, str]:
    """Return the payload that a card in this slot can move, MB/s, summed over the asked directions; and it in words."""
    efficiency = slot.flit_efficiency * max_payload / (max_payload + slot.tlp_overhead_bytes)
    ways = 1 if slot.shared else directions
    terms = f"{slot.name} {slot.raw_mb_s:.1f} MB/s"
    if slot.flit_efficiency < 1:
        terms += " x 236/256 of a flit"
    if slot.tlp_overhead_bytes:
        terms += f" x {max_payload}/{max_payload + slot.tlp_overhead_bytes} of a TLP"
    terms += " shared by both directions" if slot.shared else _both_ways(ways)
    return slot.raw_mb_s * efficiency * ways, terms


def combine(limits: Iterable[Limit | None]) -> Limit | None:
    """Return the sum of the limits of different rails, or None if one of them is unknown."""
    total: Limit | None = None
    for part in limits:
        if part is None:
            return None
        if total is None:
            total = part
            continue
        source = total.source if part.source in total.source else f"{total.source}; {part.source}"
        total = replace(
            total,
            value_mb_s=total.value_mb_s + part.value_mb_s,
            terms=f"{total.terms}, plus {part.terms}",
            source=source,
            from_bytes=max(total.from_bytes, part.from_bytes),
            burst_bytes=total.burst_bytes + part.burst_bytes,
        )
    return total


def class_floors(link: Link, directions: int, streaming: bool, mtu: int | None = None) -> tuple[LinkFloor, ...]:
    """Return the floors that every system with such a link inherits, for any number of rails; () if it has none.

    They apply only to streaming bandwidth one way: neither to ping-pong nor to the sum of both directions. ``mtu`` is
    the path's, in bytes; None means the link's largest.
    """
    floor = _CLASS_FLOORS_MB_S.get(link.name)
    largest, due = limit(link), limit(link, mtu=mtu)
    if floor is None or directions != 1 or not streaming or largest is None or due is None:
        return ()
    share = floor / largest.value_mb_s
    value = share * due.value_mb_s
    with_mtu = "" if due == largest else f" with MTU {mtu}"
    source = (
        f"Railyard's own condition, not physics: {link.generation} streams at least {value / 1000:.4g} GB/s one way"
        f"{with_mtu}, {share:.1%} of the limit of one rail; a class entry in a system's references sets another"
    )
    return (LinkFloor(value if with_mtu else floor, DAY_ONE_FROM_BYTES, source.replace("%", " %")),)


def _payload_share(link: Link, mtu: int | None) -> tuple[float, str]:
    headers = HEADERS[link.headers]
    used = mtu if mtu is not None else max(link.mtus, default=None)
    if used is None or headers.inside + headers.outside == 0:
        return 1.0, ""
    payload, wire = used - headers.inside, used + headers.outside
    return payload / wire, f" x {payload}/{wire} payload ({headers.name}, MTU {used})"


def _times(count: int, thing: str) -> str:
    return f"{count} {thing}s x " if count > 1 else ""


def _both_ways(directions: int) -> str:
    return " x 2 directions" if directions == 2 else ""


@dataclass(frozen=True, slots=True)
class RailAlone:
    """One rail of a link alone: ``slot`` None means the slot of all rails."""

    name: str
    slot: str | None = None
    rails_per_card: int = 1
    rails_per_port: int = 1
    bonded_ports: int = 1


@dataclass(frozen=True, slots=True)
class LinkAlone:
    """A link, and for each rail a card in ``slot`` (None: unknown, and it bounds nothing). ``mtu`` None: its largest.

    It is not a ``Fabric``, so that a judgement without a system does not load what reads systems' files.
    """

    link: Link
    rails: tuple[RailAlone, ...]
    slot: str | None = None
    mtu: int | None = None
    max_payload: int = DEFAULT_MAX_PAYLOAD
    blocking: float = 1.0

    def used_rails(self, rails: int, policy: str = "") -> tuple[RailAlone, ...]:
        """Return the first rails; all policies use them alike. Raises ValueError for more rails than there are."""
        if not 1 <= rails <= len(self.rails):
            raise ValueError(f"{rails} rails of {len(self.rails)}")
        return self.rails[:rails]

    def limit(self, rails: int, directions: int, one_stream: bool = False, policy: str = "") -> Limit | None:
        """Return the physical bound of so many rails, or None if the link's rate is unknown."""
        return limit_of_rails(self, self.used_rails(rails, policy), directions, one_stream)

    def message_limit(self, rails: int, directions: int, policy: str = "") -> MessageLimit | None:
        """Return the most messages that so many rails carry per second, or None if no link bounds them."""
        return message_limit_of_rails(self, self.used_rails(rails, policy), directions)


def link_alone(link: Link, rails: int = 1, slot: str | None = None, mtu: int | None = None) -> LinkAlone:
    """Return a link with so many equal rails, at least 1."""
    return LinkAlone(link, tuple(RailAlone(f"rail{number}") for number in range(rails)), slot, mtu)
