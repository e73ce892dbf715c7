"""Facts about links and slots: each generation that a system's file may name, with its rates and headers.

Also the lane speeds of InfiniBand and RoCE by name, and the Gbit/s by which a link of so many lanes is known. There a
rate is what the kernel prints (``/sys/class/infiniband/*/ports/*/rate``, ibstat, ibstatus): the number of lanes times
the lane's round number. 4X EDR is 100, although it signals 4 x 25.78125 Gbit/s. 4X QDR is 40, although 8b/10b leaves 32
for data. Source: ``ib_port_attr_to_speed_info`` and ``rate_show`` of Linux; ``ibnd_dump_agg_linkspeedext`` of rdma-core
(signalled rates); ``speed_str`` of ibv_devinfo (14.0, 25.0, 50.0 ... for the same speeds).

Which link a person means who writes another name than the table's: "hdr", "ib-hdr200", "slingshot-200", "100gbe".

A name means a link only if no other link of the table has the same family and generation, or family and rate. A rate
without a family ("100g") means several: InfiniBand EDR, RoCE, Ethernet and Slingshot 10 all have it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from railyard.base.errors import did_you_mean
from railyard.base.patterns import late_regex
from railyard.base.wording import either

#: Modes in which one port carries all traffic (Documentation/networking/bonding.rst).
_ONE_AT_A_TIME = ("active-backup", "broadcast")
_IBTA = "InfiniBand Trade Association, Architecture Specification Volume 2 and InfiniBand Roadmap"
_IEEE = "IEEE 802.3"
_PCISIG = "PCI-SIG, PCI Express Base Specification"
_IB_MTUS = (256, 512, 1024, 2048, 4096)
#: What the kernel subtracts from an Ethernet MTU before it chooses the path MTU of RoCE: GRH 40, UDP 8, BTH 12, XRC 4,
#: AtomicETH 28, ICRC 4. Source: iboe_get_mtu in Linux include/rdma/ib_addr.h
ROCE_HEADERS = 96
_ETH_MTUS = (1500, 9000)
_OPA_MTUS = (2048, 4096, 8192, 10240)
# name -> round number of one lane, signalled rate of one lane, both in Gbit/s; slowest first
LANES: MappingProxyType[str, tuple[float, float]] = MappingProxyType(
    {
        "SDR": (2.5, 2.5),
        "DDR": (5.0, 5.0),
        "QDR": (10.0, 10.0),
        "FDR10": (10.0, 10.3125),
        "FDR": (14.0, 14.0625),
        "EDR": (25.0, 25.78125),
        "HDR": (50.0, 53.125),
        "NDR": (100.0, 106.25),
        "XDR": (200.0, 212.5),
    }
)
_ORDER = MappingProxyType({name: place for place, name in enumerate(LANES)})
_WIDTH = late_regex(r"\A([0-9]{1,2})[xX]\Z")
# 100G, 100G_4X, 100GbE, 2.5G, 10M: names of Ethernet speeds in mlxlink
_ETHERNET_WORD = late_regex(r"\A([0-9]{1,4}(?:\.[0-9])?)(G|M)(?:bE|bps)?(?:_[0-9]{1,2}[xX])?\Z")


@dataclass(frozen=True, slots=True)
class Headers:
    """What a packet carries besides payload, in bytes. ``inside`` is part of the MTU, ``outside`` comes on top."""

    name: str
    inside: int
    outside: int
    source: str


@dataclass(frozen=True, slots=True)
class Link:
    """One generation of a link, per port and direction.

    ``signalling_gbit_s_per_lane`` is the rate on the wire (None if the link has no lanes of its own).
    ``data_rate_gbit_s`` is what the line code leaves for packets; None means that no figure is known. ``mtus`` are
    payload sizes (InfiniBand, RoCE, Omni-Path) or interface MTUs (TCP), rising; empty if headers are not modelled.
    ``limit_from_bytes`` is the message size from which the limit holds (a token bucket lets small messages exceed it).
    ``burst_bytes`` of each message pass a rail at once, before the rate holds.
    """

    name: str
    generation: str
    lanes: int | None
    signalling_gbit_s_per_lane: float | None
    encoding: str
    data_rate_gbit_s: float | None
    family: str
    headers: str
    mtus: tuple[int, ...]
    source: str
    note: str = ""
    limit_from_bytes: int = 0
    burst_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """The slot of a card: raw rate after the line code, MB/s (10^6 B/s) each way, or both ways together if ``shared``.

    ``flit_efficiency`` is the share of a flit that PCIe 6 leaves. ``tlp_overhead_bytes`` is what each memory write
    carries besides its payload (0 for a parallel bus, whose address and attribute phases are not counted).
    """

    name: str
    generation: str
    lanes: int
    signalling_gbit_s_per_lane: float
    encoding: str
    raw_mb_s: float
    tlp_overhead_bytes: int
    flit_efficiency: float
    shared: bool
    source: str


HEADERS: Mapping[str, Headers] = MappingProxyType(
    {
        h.name: h
        for h in (
            # LRH 8, BTH 12, ICRC 4, VCRC 2; RETH only in the first packet of a message, GRH only between subnets.
            Headers("infiniband", 0, 26, "IBTA Architecture Specification Volume 1, sections 7.7, 9.2 and 7.8"),
            # preamble 8, Ethernet 14, IPv4 20, UDP 8, BTH 12, ICRC 4, FCS 4, gap 12.
            Headers("rocev2", 0, 82, "IBTA Volume 1 Annex A17 (RoCEv2); IEEE 802.3 clauses 3 and 4"),
            # inside IPv4 20 and TCP 20 (no options); outside preamble 8, Ethernet 14, FCS 4, gap 12.
            Headers("tcp", 40, 38, "RFC 791, RFC 9293; IEEE 802.3 clauses 3 and 4"),
            # a Linux shaper counts the Ethernet header, but not preamble, FCS and gap (see the docstring of limits.py).
            Headers("tcp-shaped", 40, 14, "RFC 791, RFC 9293; Linux qdisc_pkt_len_init in net/core/dev.c"),
            # LRH 8, BTH 12, ICRC 4 at least. PSM2's own KDETH is not counted, so the limit is an upper bound.
            Headers("opa", 0, 24, "Intel Omni-Path Fabric Host Software User Guide; Birrittella et al., HotI 2015"),
            Headers("none", 0, 0, "the header sum is not public: nothing is subtracted, so the bound is an upper one"),
        )
    }
)
# name, generation, lane signalling, line code, data rate of one lane (Gbit/s), widths.
# IBTA defines the width 12X for these generations. A width is a number of lanes: 2 is the half port of HDR100 and
# NDR200.
_IB: tuple[tuple[str, float, str, float, tuple[int, ...]], ...] = (
    ("sdr", 2.5, "8b/10b", 2.0, (1, 4, 12)),
    ("ddr", 5.0, "8b/10b", 4.0, (4, 12)),
    ("qdr", 10.0, "8b/10b", 8.0, (4, 12)),
    ("fdr10", 10.3125, "64b/66b", 10.0, (4,)),
    ("fdr", 14.0625, "64b/66b", 14.0625 * 64 / 66, (4, 12)),
    ("edr", 25.78125, "64b/66b", 25.0, (4, 12)),
    ("hdr", 53.125, "PAM4, 256b/257b, RS-FEC", 50.0, (2, 4, 12)),
    ("ndr", 106.25, "PAM4, 256b/257b, RS-FEC", 100.0, (2, 4, 12)),
    ("xdr", 212.5, "PAM4, 256b/257b, RS-FEC", 200.0, (4, 12)),
)
_IB_NOTES = {
    "sdr": "ibstat prints Rate 10, the signalling rate",
    "ddr": "ibstat prints Rate 20, the signalling rate",
    "qdr": "ibstat prints Rate 40, the signalling rate",
    "fdr10": "Mellanox only, not IBTA: ibstat prints Rate 40 (FDR10), the data rate",
    "fdr": "ibstat prints Rate 56, the signalling rate",
    "edr": "ibstat prints Rate 100, the data rate",
    "hdr": "ibstat prints Rate 200, or 100 on two lanes, the data rate",
    "ndr": "ibstat prints Rate 400, or 200 on two lanes, the data rate",
    "xdr": "ibstat prints Rate 800, the data rate",
}
# speed (Gbit/s), lanes, lane signalling, line code, clause.
_ETHERNET: tuple[tuple[int, int, float, str, str], ...] = (
    (1, 1, 1.25, "8b/10b (1000BASE-X; 1000BASE-T uses PAM-5 on four pairs)", "802.3z, 802.3ab"),
    (10, 1, 10.3125, "64b/66b", "802.3ae"),
    (25, 1, 25.78125, "64b/66b", "802.3by"),
    (40, 4, 10.3125, "64b/66b", "802.3ba"),
    (50, 1, 53.125, "PAM4, 256b/257b, RS-FEC", "802.3cd"),
    (100, 4, 25.78125, "64b/66b", "802.3bj, 802.3bm"),
    (200, 4, 53.125, "PAM4, 256b/257b, RS-FEC", "802.3bs, 802.3cd"),
    (400, 4, 106.25, "PAM4, 256b/257b, RS-FEC", "802.3bs, 802.3ck"),
    (800, 8, 106.25, "PAM4, 256b/257b, RS-FEC", "802.3df"),
)
_OTHER: tuple[Link, ...] = (
    Link(
        *("opa-100", "Omni-Path 100", 4, 25.78125, "64b/66b", 100.0, "omnipath", "opa", _OPA_MTUS),
        "Birrittella et al., Intel Omni-Path Architecture, HotI 2015",
        "link transfer packets of 1056 bits carry 1024 bits: the same 64/66",
    ),
    Link(
        *("opa-400", "Omni-Path CN5000", 4, 106.25, "PAM4, RS-FEC", 400.0, "omnipath", "opa", _OPA_MTUS),
        "Cornelis Networks, docs.cornelis.com, CN5000 Omni-Path overview",
    ),
    Link(
        *("slingshot-10", "Slingshot 10", 4, 25.78125, "64b/66b, RS-FEC", 100.0, "slingshot", "rocev2", _IB_MTUS),
        "HPE Slingshot; G. K. Lockwood, glennklockwood.com/garden/slingshot",
        "a ConnectX-5 Ethernet card speaks RoCEv2 to the first switch",
    ),
    Link(
        *("slingshot-11", "Slingshot 11", 4, 53.125, "PAM4, RS-FEC", 200.0, "slingshot", "none", ()),
        "HPE Slingshot; G. K. Lockwood, glennklockwood.com/garden/slingshot",
        "Cassini's own protocol needs neither preamble nor gap; the sum of its headers is not public",
    ),
    Link(
        *("slingshot-400", "Slingshot 400", 4, 106.25, "PAM4, RS-FEC", 400.0, "slingshot", "none", ()),
        "HPE announcement of November 2024; G. K. Lockwood, glennklockwood.com/garden/slingshot",
    ),
    Link(
        *("efa-100", "EFA (one card of c5n, p3dn, p4d, p5)", None, None, "Ethernet", 100.0, "efa", "none", ()),
        "AWS EC2 User Guide, Elastic Fabric Adapter and network specifications",
        "first and second generation (32 cards of a p5 give 3200 Gbit/s); SRD's headers are not public",
    ),
    Link(
        *("efa-200", "EFA (one card of p5en)", None, None, "Ethernet", 200.0, "efa", "none", ()),
        "AWS EC2 User Guide, Elastic Fabric Adapter and network specifications",
        "third generation (16 cards give 3200 Gbit/s); SRD's headers are not public",
    ),
    Link(
        *("efa-400", "EFA (one card of p6-b200)", None, None, "Ethernet", 400.0, "efa", "none", ()),
        "AWS EC2 User Guide, Elastic Fabric Adapter and network specifications",
        "fourth generation (8 cards give 3200 Gbit/s); SRD's headers are not public",
    ),
    Link(
        *("aries", "Cray Aries (XC)", None, None, "not public", None, "aries", "none", ()),
        "Alverson et al., Cray XC Series Network, WP-Aries01-1112",
        "four NICs share one router over PCIe Gen3 x16; no data rate of a NIC's injection port was found",
    ),
    Link(
        *("myrinet-2000", "Myrinet 2000", 1, 2.5, "8b/10b-like", 2.0, "myrinet", "none", ()),
        "Myricom, Myrinet-2000 performance page",
        "250 MB/s each way",
    ),
    Link(
        *("myri-10g", "Myri-10G", 4, 3.125, "8b/10b (XAUI)", 10.0, "myrinet", "none", ()),
        "Myricom, Myri-10G; IEEE 802.3ae clause 47 (XAUI)",
    ),
    Link(
        *("sci", "Scalable Coherent Interface (Dolphin)", None, None, "parallel", None, "sci", "none", ()),
        "IEEE 1596-1992",
        "the rate depends on the card; a system's file declares its own",
    ),
    Link(
        *("qsnet-2", "Quadrics QsNet II (Elan4)", None, None, "not public", 10.4, "qsnet", "none", ()),
        "van der Steen, Dongarra, Overview of Recent Supercomputers (netlib.org/utk/papers/advanced-computers)",
        "1.3 GB/s is the raw link; PCI-X limits it to about 0.9 GB/s in practice",
    ),
)


def _infiniband() -> Iterator[Link]:
    for generation, signalling, code, lane_rate, widths in _IB:
        for lanes in widths:
            rate = lane_rate * lanes
            shown = generation.upper()
            name = {4: f"ib-{generation}", 2: f"ib-{generation}{rate:.0f}"}.get(lanes, f"ib-{generation}-{lanes}x")
            kind = f"InfiniBand {shown}{rate:.0f} 2X" if lanes == 2 else f"InfiniBand {shown} {lanes}X"
            source = "Mellanox, FDR10" if generation == "fdr10" else _IBTA
            family, headers = "infiniband", "infiniband"
            note = _IB_NOTES[generation]
            yield Link(name, kind, lanes, signalling, code, rate, family, headers, _IB_MTUS, source, note)


def _ethernet() -> Iterator[Link]:
    for speed, lanes, signalling, code, clause in _ETHERNET:
        source = f"{_IEEE} ({clause})"
        rest = (lanes, signalling, code, float(speed))
        yield Link(f"eth-{speed}", f"Ethernet {speed}G", *rest, "ethernet", "tcp", _ETH_MTUS, source)
        yield Link(f"roce-{speed}", f"RoCEv2 on Ethernet {speed}G", *rest, "roce", "rocev2", _IB_MTUS, source)


# generation, signalling GT/s, line code, its efficiency, TLP overhead, flit efficiency.
# Overhead of a memory write with a 64-bit address: Gen1 and 2: framing 2, sequence 2, header 16, LCRC 4; Gen3 to 5:
# STP token 4 (it holds the sequence number), header 16, LCRC 4. Gen6: header 16; the flit of 256 B keeps 236 B
# for TLPs (DLP 6, CRC 8, FEC 6).
_PCIE: tuple[tuple[int, float, str, float, int, float], ...] = (
    (1, 2.5, "8b/10b", 8 / 10, 24, 1.0),
    (2, 5.0, "8b/10b", 8 / 10, 24, 1.0),
    (3, 8.0, "128b/130b", 128 / 130, 24, 1.0),
    (4, 16.0, "128b/130b", 128 / 130, 24, 1.0),
    (5, 32.0, "128b/130b", 128 / 130, 24, 1.0),
    (6, 64.0, "PAM4, 1b/1b in flits", 1.0, 16, 236 / 256),
)
_SPEED = late_regex(r"([0-9]+(?:\.[0-9]+)?) GT/s")


def roce_mtu(interface_mtu: int) -> int | None:
    """Return the path MTU that the kernel gives RoCE on an interface of this MTU; None if it is too small."""
    return max((mtu for mtu in _IB_MTUS if mtu <= interface_mtu - ROCE_HEADERS), default=None)


def pcie_generation(speed: str | None) -> int | None:
    """Return the generation of PCI Express for a lane speed as the kernel prints it: ``8.0 GT/s PCIe``, or ``8 GT/s``
    on older kernels. Return None for ``Unknown``, any other word, and a speed that no generation has.
    """
    found = _SPEED.match(speed or "")
    return pcie_generation_of(float(found[1])) if found else None


def pcie_generation_of(gt_s: float | None) -> int | None:
    """Return the generation of PCI Express for a lane's GT/s; None for a speed that no generation has, and for None."""
    return next((row[0] for row in _PCIE if row[1] == gt_s), None)


def pcie_slot(gt_s: float | None, lanes: int | None) -> str | None:
    """Return the table's name of a slot with so many lanes at this speed; None if the table has no such slot."""
    name = f"pcie{pcie_generation_of(gt_s)}-x{lanes}"
    return name if name in SLOTS else None


def _slots() -> Iterator[Slot]:
    # 64 bits at 133.33 MHz; one bus for both directions.
    pci_x = 64 * 400 / 3 / 8
    yield Slot(
        *("pci-x-133", "PCI-X 64 bit 133 MHz", 64, 0.4 / 3, "parallel", pci_x, 0, 1.0, True),
        "PCI-SIG, PCI-X Addendum to the PCI Local Bus Specification 1.0",
    )
    for generation, signalling, code, efficiency, overhead, flit in _PCIE:
        for lanes in (1, 4, 8, 16):
            raw = signalling * efficiency * lanes * 1000 / 8
            name, kind = f"pcie{generation}-x{lanes}", f"PCIe Gen{generation} x{lanes}"
            source = f"{_PCISIG} {generation}.0"
            yield Slot(name, kind, lanes, signalling, code, raw, overhead, flit, False, source)


LINKS: Mapping[str, Link] = MappingProxyType({link.name: link for link in (*_infiniband(), *_ethernet(), *_OTHER)})
SLOTS: Mapping[str, Slot] = MappingProxyType({slot.name: slot for slot in _slots()})


def document() -> str:
    """Return all links and slots that a system's file may name, as the two tables of docs/reference/rates.md."""
    rates = {name: "?" if (rate := link.data_rate_gbit_s) is None else f"{rate:.5g}" for name, link in LINKS.items()}
    links = [
        f"| `{name}` | {link.generation} | {rates[name]} | {link.encoding} | {link.source} |"
        for name, link in LINKS.items()
    ]
    slots = [
        f"| `{name}` | {slot.generation} | {slot.raw_mb_s / 1000:.2f} | {slot.encoding} | {slot.source} |"
        for name, slot in SLOTS.items()
    ]
    under = "| --- | --- | --- | --- | --- |"
    of_links = ["## Links", "", "| `link` | generation | data rate, Gbit/s | coding | source |", under, *links]
    of_slots = ["## Slots", "", "| `slot` | generation | GB/s before headers | coding | source |", under, *slots]
    return "\n".join([*of_links, "", *of_slots]) + "\n"


def one_at_a_time(mode: str) -> bool:
    """Return whether one port of a bond carries all traffic. ``mode`` is a name such as ``802.3ad``."""
    return mode in _ONE_AT_A_TIME


def active_ports(mode: str, ports: int) -> int:
    """Return how many of a bond's ports carry its traffic."""
    return 1 if one_at_a_time(mode) else ports


@lru_cache(maxsize=256)
def width_of(word: str) -> str | None:
    """Return a printed width as "4X"; None if the word is not a width ("??", "undefined (0)", "N/A", "0x")."""
    found = _WIDTH.match(word)
    return f"{int(found[1])}X" if found and int(found[1]) else None


def lanes(width: str | None) -> int | None:
    """Return how many lanes a width has; None if there is no width."""
    return int(width[:-1]) if width else None


@lru_cache(maxsize=256)
def speed_name(word: str) -> str | None:
    """Return the name of a speed ("EDR"), from upper or lower case, with or without "IB-"; None for any other word."""
    name = word.upper().removeprefix("IB-")
    return name if name in LANES else None


@lru_cache(maxsize=256)
def speed_of_lane(gbit_s: float) -> str | None:
    """Return the name of a lane speed in Gbit/s, round or signalled (14.0, 14.0625), within 1 %; None if none fits."""
    for name, rates in LANES.items():
        if any(abs(gbit_s - rate) <= 0.01 * rate for rate in rates):
            return name
    return None


def rate_gbit_s(width: str | None, speed: str | None) -> float | None:
    """Return the rate of a link in Gbit/s as the kernel prints it; None if width or speed is unknown."""
    if width is None or speed is None or speed not in LANES:
        return None
    return int(width[:-1]) * LANES[speed][0]


def lanes_and_speed(link: Link) -> tuple[int | None, str | None]:
    """Return lanes and lane speed of a link of InfiniBand or Omni-Path; (None, None) for any other link.

    On Ethernet the card decides how many lanes a rate has (100 Gbit/s are 4X EDR or 2X HDR), so only the rate is
    compared.
    """
    if link.family not in ("infiniband", "omnipath") or link.signalling_gbit_s_per_lane is None:
        return None, None
    return link.lanes, speed_of_lane(link.signalling_gbit_s_per_lane)


def ethernet_gbit_s(word: str) -> float | None:
    """Return the rate in Gbit/s of an Ethernet speed's name ("100GbE", "200G_4X"); None for any other word."""
    found = _ETHERNET_WORD.match(word)
    return (float(found[1]) / (1 if found[2] == "G" else 1000)) if found else None


def slower(one: str, other: str) -> bool | None:
    """Return whether speed ``one`` is below ``other``; None if the names are of different families."""
    if one in _ORDER and other in _ORDER:
        return _ORDER[one] < _ORDER[other]
    first, second = ethernet_gbit_s(one), ethernet_gbit_s(other)
    return None if first is None or second is None else first < second


def fastest(names: tuple[str, ...]) -> str | None:
    """Return the fastest of these speeds, within one family (InfiniBand before Ethernet); None if there are none."""
    known = [name for name in names if name in _ORDER]
    if known:
        return max(known, key=_ORDER.__getitem__)
    rated = [(rate, name) for name in names if (rate := ethernet_gbit_s(name)) is not None]
    return max(rated)[1] if rated else None


#: Words for a family -> the beginnings of its names in the table.
_FAMILIES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **dict.fromkeys(("ib", "infiniband", "mellanox"), ("ib-",)),
        **dict.fromkeys(("roce", "rocev2", "rocev1"), ("roce-",)),
        **dict.fromkeys(("eth", "ethernet", "gbe", "gige", "ge", "tcp"), ("eth-",)),
        **dict.fromkeys(("opa", "omnipath", "hfi"), ("opa-",)),
        **dict.fromkeys(("slingshot", "ss", "cassini", "cxi"), ("slingshot-",)),
        **dict.fromkeys(("efa",), ("efa-",)),
        **dict.fromkeys(("myrinet", "myri"), ("myri",)),
        **dict.fromkeys(("qsnet", "quadrics", "elan"), ("qsnet-",)),
    }
)
#: Names that neither a generation nor a rate explains. People say "OPA" of Omni-Path 100; its successor is CN5000.
_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "opa": "opa-100", "omnipath": "opa-100", "cn5000": "opa-400", "ss10": "slingshot-10", "ss11": "slingshot-11",
        "slingshot10": "slingshot-10", "slingshot11": "slingshot-11", "cassini": "slingshot-11", "gige": "eth-1",
        "gbe": "eth-1", "myri10g": "myri-10g", "qsnet2": "qsnet-2", "elan4": "qsnet-2", "ariesxc": "aries",
    }
)  # fmt: skip
#: Rates that are printed for a link but are not its data rate: signalling rates, and ibstat's.
_ALSO_CALLED: Mapping[str, tuple[float, ...]] = MappingProxyType(
    {"ib-sdr": (10,), "ib-ddr": (20,), "ib-qdr": (40,), "ib-fdr": (56, 54), "ib-fdr10": (40,)}
)
_SEPARATORS = late_regex(r"[\s_./-]+")
_GENERATION = late_regex(
    r"(?:ib|infiniband|mellanox)?(?:4x)?(?P<generation>fdr10|[a-z]dr)(?:4x)?(?P<rate>[0-9]{1,4})?g?"
)
_RATE = late_regex(
    r"(?P<before>[a-z]{0,12}?(?:v[12])?)(?P<rate>[0-9]{1,4})(?:g(?=$|roce|eth|ib))?(?P<after>[a-z]{0,12})"
)
_UNITS = frozenset({"g", "gb", "gbit", "gbits", "gbps"})
#: Numbers of lanes; 12X is rare between hosts, so it is meant only by its own name.
_USUAL = (None, 1, 2, 4, 8)


def links_meant(word: str) -> tuple[str, ...]:
    """Return the names of the links that a word may mean, in the table's order; one if it can mean no other.

    A rate without a family means none, even if only one link has it: 56 Gbit/s is FDR, or Ethernet 40G that runs faster
    than the standard.
    """
    if word in LINKS:
        return (word,)
    plain = _plain(word)
    if plain in _NAMES:
        return (_NAMES[plain],)
    same = tuple(name for name in LINKS if _SEPARATORS.sub("", name) == plain)
    return same or _by_generation(plain) or _by_rate(plain)


def why_no_link(word: str) -> str:
    """Return the hint for a word that is not the name of one link: those that it may mean, or the nearest name."""
    plain = _plain(word)
    meant = links_meant(word) or _of_wrong_rate(plain) or _of_family(plain) or _by_rate(plain, with_family=False)
    if not meant:
        return did_you_mean(word, LINKS)
    names = [f'"{name}"' for name in meant]
    return f"did you mean {either(names)}?"


def _plain(word: str) -> str:
    return _SEPARATORS.sub("", word.strip().lower())


def _by_generation(plain: str) -> tuple[str, ...]:
    """Return the link of InfiniBand that a generation names, with or without its rate: hdr, ibhdr200, ndr200."""
    name, rate = _generation(plain)
    if name is None:
        return ()
    if rate is None or _has(LINKS[name], rate):
        return (name,)
    half = f"{name}{rate:.0f}"
    return (half,) if half in LINKS else ()


def _of_wrong_rate(plain: str) -> tuple[str, ...]:
    """Return the links that a generation with a rate that it does not have may mean: by the one, and by the other."""
    name, rate = _generation(plain)
    return () if name is None or rate is None else (name, *_by_rate(f"ib{rate:.0f}"))


def _generation(plain: str) -> tuple[str | None, float | None]:
    """Return the link of four lanes that a generation names, and the rate beside it; None for what is not there."""
    found = _GENERATION.fullmatch(plain)
    name = None if found is None else f"ib-{found['generation']}"
    if found is None or name not in LINKS:
        return None, None
    return name, float(found["rate"]) if found["rate"] else None


def _of_family(plain: str) -> tuple[str, ...]:
    """Return the links of a family that is named alone; none for any other word."""
    return tuple(
        name for name, link in LINKS.items() if name.startswith(_FAMILIES.get(plain, ("-",))) and link.lanes in _USUAL
    )


def _by_rate(plain: str, with_family: bool = True) -> tuple[str, ...]:
    """Return the links of a family with a rate: slingshot200, 100gbe, roce100g, ib400; or those of all families."""
    found = _RATE.fullmatch(plain)
    if found is None:
        return ()
    words = [word for word in (found["before"], found["after"]) if word and word not in _UNITS]
    if any(word not in _FAMILIES for word in words) or bool(words) != with_family:
        return ()
    beginnings = _FAMILIES[words[0]] if words else ("",)
    return tuple(
        name
        for name, link in LINKS.items()
        if name.startswith(beginnings) and _has(link, float(found["rate"])) and link.lanes in _USUAL
    )


def _has(link: Link, rate: float) -> bool:
    return link.data_rate_gbit_s == rate or rate in _ALSO_CALLED.get(link.name, ())
