"""What the counters of a network device count: one row per driver, with unit, width, whose traffic, and which errors.

The names are the kernel's: from a network device's ``statistics``, an RDMA port's ``counters``, its ``hw_counters``
(with ``hw/`` before the name), and a Slingshot card's ``telemetry``. A new driver is a new row. The reader does not
change as long as its counters are in one of these folders. ``docs/reference/counters.md`` has the table of
``document``.

For port counters of InfiniBand it also says how many bits each has, and which of them are full. Their names are those
of PortCounters and PortCountersExtended in libibmad ("PortXmitData", "SymbolErrorCounter"). The names of OFED 1.x
("XmtData", "SymbolErrors") are converted to these. PortXmitData and PortRcvData count units of 4 bytes without link
headers, PortXmitWait counts ticks of the device, and packets and errors count one each. Values are raw.

A counter of PortCounters stops at its largest value: 255 of LinkDownedCounter means "255 or more". Such counters are
``saturated``. Source: InfiniBand Architecture Specification, volume 1, 16.1.3.5; ``fields.c`` of libibmad.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

#: Whose traffic a counter sees: only this function's (if virtual machines or hosts share the card), or all traffic of
#: the physical port.
Scope = Literal["function", "port"]
#: How an RDMA device's counters and the statistics of the network interface on the same port overlap. ``apart``: each
#: sees its own packets. ``port``: the RDMA counters see the interface's packets too. ``interface``: the interface's
#: statistics see the RDMA packets too (software RDMA). ``none``: there is no such interface, or it is what we count.
Overlap = Literal["apart", "port", "interface", "none"]
# InfiniBand Architecture Specification, volume 1, 16.1.3.5: bits of the error counters in PortCounters, by their names
# in the kernel (drivers/infiniband/core/sysfs.c). They stop at their largest value.
_PORT_BITS: Mapping[str, int] = MappingProxyType(
    {
        "symbol_error": 16,
        "link_error_recovery": 8,
        "link_downed": 8,
        "port_rcv_errors": 16,
        "port_rcv_remote_physical_errors": 16,
        "port_rcv_switch_relay_errors": 16,
        "port_xmit_discards": 16,
        "port_xmit_constraint_errors": 8,
        "port_rcv_constraint_errors": 8,
        "local_link_integrity_errors": 4,
        "excessive_buffer_overrun_errors": 4,
        "VL15_dropped": 16,
        "port_xmit_wait": 32,
    }
)
# symbol_error is not among them. By its specification (a bit error rate of 1e-12), a link without forward error
# correction (QDR and older) has one in half a minute. If the card corrects errors (mlx5), one that is left is a fault.
_PORT_HARD = (
    "link_downed",
    "link_error_recovery",
    "port_rcv_errors",
    "port_rcv_remote_physical_errors",
    "port_xmit_discards",
    "port_xmit_constraint_errors",
    "port_rcv_constraint_errors",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
)
_PORT_SIGNALS = ("port_xmit_wait", "port_rcv_switch_relay_errors", "VL15_dropped")
_PMA = "drivers/infiniband/core/sysfs.c: PortCounters and PortCountersExtended, in units of 4 bytes"
# bits of each error counter in PortCounters; in PortCountersExtended all have 64 bits
ERROR_BITS: MappingProxyType[str, int] = MappingProxyType(
    {
        "SymbolErrorCounter": 16,
        "LinkErrorRecoveryCounter": 8,
        "LinkDownedCounter": 8,
        "PortRcvErrors": 16,
        "PortRcvRemotePhysicalErrors": 16,
        "PortRcvSwitchRelayErrors": 16,
        "PortXmitDiscards": 16,
        "PortXmitConstraintErrors": 8,
        "PortRcvConstraintErrors": 8,
        "LocalLinkIntegrityErrors": 4,
        "ExcessiveBufferOverrunErrors": 4,
        "VL15Dropped": 16,
        "QP1Dropped": 16,
        # PortXmitDiscardDetails, PortRcvErrorDetails
        "PortInactiveDiscards": 16,
        "PortNeighborMTUDiscards": 16,
        "PortSwLifetimeLimitDiscards": 16,
        "PortSwHOQLifetimeLimitDiscards": 16,
        "PortLocalPhysicalErrors": 16,
        "PortMalformedPktErrors": 16,
        "PortBufferOverrunErrors": 16,
        "PortDLIDMappingErrors": 16,
        "PortVLMappingErrors": 16,
        "PortLoopingErrors": 16,
    }
)
_TRAFFIC_BITS = MappingProxyType(
    {"PortXmitData": 32, "PortRcvData": 32, "PortXmitPkts": 32, "PortRcvPkts": 32, "PortXmitWait": 32}
)
# names of libibmad 1.2 and 1.3 (OFED 1.x) -> of 1.5.8 and later
OLD_NAMES: MappingProxyType[str, str] = MappingProxyType(
    {
        "SymbolErrors": "SymbolErrorCounter",
        "LinkRecovers": "LinkErrorRecoveryCounter",
        "LinkDowned": "LinkDownedCounter",
        "RcvErrors": "PortRcvErrors",
        "RcvRemotePhysErrors": "PortRcvRemotePhysicalErrors",
        "RcvSwRelayErrors": "PortRcvSwitchRelayErrors",
        "XmtDiscards": "PortXmitDiscards",
        "XmtConstraintErrors": "PortXmitConstraintErrors",
        "RcvConstraintErrors": "PortRcvConstraintErrors",
        "LinkIntegrityErrors": "LocalLinkIntegrityErrors",
        "ExcBufOverrunErrors": "ExcessiveBufferOverrunErrors",
        "XmtBytes": "PortXmitData",
        "XmtData": "PortXmitData",
        "RcvBytes": "PortRcvData",
        "RcvData": "PortRcvData",
        "XmtPkts": "PortXmitPkts",
        "RcvPkts": "PortRcvPkts",
        "XmtWait": "PortXmitWait",
    }
)
_FULL = frozenset(2**bits - 1 for bits in (16, 32, 64))


@dataclass(frozen=True, slots=True)
class Driver:
    """How a kind of device counts traffic.

    ``tx`` and ``rx`` name its counters (``a+b``: their sum). Each step is ``unit_bytes``; with ``packets`` it is a
    packet of at most the path MTU. ``width_bits``: at its maximum a counter is full if ``clamps``, else it starts again
    from 0. In both cases a lower reading after the run gives no difference. ``sees`` says what is counted. ``errors``
    are the counters that must not grow (hard), ``signals`` those that are only reported. ``modules`` are the names of
    its kernel driver.
    """

    name: str
    tx: str
    rx: str
    unit_bytes: int
    width_bits: int
    clamps: bool
    sees: str
    errors: tuple[str, ...]
    source: str
    signals: tuple[str, ...] = ()
    scope: Scope = "function"
    overlap: Overlap = "none"
    modules: tuple[str, ...] = ()
    packets: bool = False

    def overlaps(self, link_layer: str | None) -> Overlap:
        """Return how these counters and the interface's overlap on such a port.

        On InfiniBand the interface is IP over InfiniBand. The port counts its packets like all others.
        """
        return "port" if link_layer == "InfiniBand" and self.overlap == "apart" else self.overlap

    @property
    def unit(self) -> str:
        """The unit of its traffic counters, in words."""
        if self.packets:
            return "packets"
        return "bytes" if self.unit_bytes == 1 else f"{self.unit_bytes} bytes"


def error_maximum(counter: str) -> int | None:
    """Return the value at which an error counter stops, or None if it is wide enough not to stop."""
    bits = _PORT_BITS.get(counter)
    return None if bits is None else (1 << bits) - 1


_ROWS = (
    Driver(
        "netdev",
        tx="tx_bytes",
        rx="rx_bytes",
        unit_bytes=1,
        width_bits=64,
        clamps=False,
        sees="all frames of the kernel's network stack with their link headers; not the card's RDMA",
        errors=("rx_errors", "tx_errors", "rx_crc_errors", "rx_frame_errors", "tx_carrier_errors"),
        # An unwanted frame is dropped too, and a full queue is congestion.
        signals=("rx_dropped", "tx_dropped", "rx_missed_errors", "rx_over_errors", "rx_fifo_errors"),
        source="Linux Documentation/ABI/testing/sysfs-class-net-statistics; 64 bits since 2.6.35 (rtnl_link_stats64)",
    ),
    Driver(
        "mlx4",
        tx="port_xmit_data",
        rx="port_rcv_data",
        unit_bytes=4,
        width_bits=32,
        clamps=True,
        sees="all packets of the port, including IP over InfiniBand; on Ethernet only RDMA",
        errors=_PORT_HARD,
        signals=(
            *_PORT_SIGNALS,
            "symbol_error",
            *("hw/rq_num_oos", "hw/rq_num_rnr", "hw/sq_num_oos", "hw/sq_num_to", "hw/sq_num_tree", "hw/sq_num_rnr"),
        ),
        scope="port",
        overlap="apart",
        modules=("mlx4_core",),
        source=f"{_PMA}; 32 bits that stop at their maximum if the firmware has no extended counters",
    ),
    Driver(
        "mlx5",
        tx="port_xmit_data",
        rx="port_rcv_data",
        unit_bytes=4,
        width_bits=64,
        clamps=False,
        sees="InfiniBand packets of the function's virtual port, including IP over InfiniBand; on Ethernet only RDMA",
        errors=(*_PORT_HARD, "symbol_error", "hw/req_transport_retries_exceeded", "hw/rx_icrc_encapsulated"),
        signals=(
            *_PORT_SIGNALS,
            *("hw/np_cnp_sent", "hw/np_ecn_marked_roce_packets", "hw/rp_cnp_handled", "hw/rp_cnp_ignored"),
            *("hw/out_of_sequence", "hw/out_of_buffer", "hw/packet_seq_err", "hw/local_ack_timeout_err"),
            *("hw/implied_nak_seq_err", "hw/rnr_nak_retry_err", "hw/duplicate_request", "hw/roce_adp_retrans"),
        ),
        overlap="apart",
        modules=("mlx5_core",),
        source="drivers/infiniband/hw/mlx5/mad.c, pma_cnt_ext_assign: octets of InfiniBand packets of the vport / 4; "
        "the error counters are the physical port's (pma_cnt_assign)",
    ),
    Driver(
        "hfi1",
        tx="port_xmit_data",
        rx="port_rcv_data",
        unit_bytes=8,
        width_bits=64,
        clamps=False,
        sees="all packets of the port, including IP over Omni-Path",
        errors=_PORT_HARD,
        signals=(*_PORT_SIGNALS, "symbol_error"),
        scope="port",
        overlap="port",
        modules=("hfi1",),
        source="drivers/infiniband/hw/hfi1/mad.c, pma_get_opa_port_dctrs: flits of 8 bytes, not made units of 4",
    ),
    Driver(
        "bnxt_re",
        tx="hw/tx_bytes",
        rx="hw/rx_bytes",
        unit_bytes=1,
        width_bits=64,
        clamps=False,
        sees="only RDMA, with its headers",
        errors=("hw/max_retry_exceeded", "hw/unrecoverable_err", "hw/rx_roce_errors"),
        signals=(
            *("hw/to_retransmits", "hw/seq_err_naks_rcvd", "hw/rnr_naks_rcvd", "hw/missing_resp", "hw/dup_req"),
            *("hw/oos_drop_count", "hw/rx_roce_discards", "hw/rx_out_of_buffer"),
        ),
        overlap="apart",
        modules=("bnxt_en", "bnxt_re"),
        source="drivers/infiniband/hw/bnxt_re/hw_counters.c",
    ),
    Driver(
        "irdma",
        tx="hw/ip4OutOctets+hw/ip6OutOctets",
        rx="hw/ip4InOctets+hw/ip6InOctets",
        unit_bytes=1,
        width_bits=48,
        clamps=False,
        sees="only RDMA, with its IP headers",
        errors=("hw/ip4InTruncatedPkts", "hw/ip6InTruncatedPkts"),
        signals=(
            *("hw/cnpSent", "hw/cnpHandled", "hw/cnpIgnored", "hw/RxECNMrkd"),
            *("hw/ip4InDiscards", "hw/ip6InDiscards", "hw/tcpRetransSegs", "hw/RetransSegs"),
        ),
        overlap="apart",
        modules=("irdma", "ice", "i40e", "idpf"),
        source="drivers/infiniband/hw/irdma/verbs.c, irdma_hw_stat_descs; 48 bits (IRDMA_MAX_STATS_48)",
    ),
    Driver(
        "efa",
        tx="hw/tx_bytes",
        rx="hw/rx_bytes",
        unit_bytes=1,
        width_bits=64,
        clamps=False,
        sees="only RDMA; the instance's TCP has its own device",
        errors=("hw/rdma_read_wr_err", "hw/rdma_write_wr_err"),
        signals=("hw/rx_drops", "hw/retrans_pkts", "hw/retrans_timeout_events", "hw/impaired_remote_conn_events"),
        modules=("efa",),
        source="drivers/infiniband/hw/efa/efa_verbs.c, EFA_DEFINE_PORT_STATS",
    ),
    Driver(
        "cxi",
        tx="hni_sts_tx_ok_octets",
        rx="hni_sts_rx_ok_octets",
        unit_bytes=1,
        width_bits=56,
        clamps=False,
        sees="all packets of the port, including the interface's",
        # The link sends uncorrected codewords again, and every link has some: they are a rate, not a fault.
        errors=(),
        signals=(
            *("hni_pcs_uncorrected_cw", "hni_llr_tx_replay_event", "hni_llr_rx_replay_event"),
            *("pct_sct_timeouts", "pct_spt_timeouts", "pct_no_tct_nacks", "pct_no_trs_nacks", "pct_no_mst_nacks"),
        ),
        scope="port",
        overlap="port",
        modules=("cxi_ss1", "cxi_core"),
        source="Cassini's telemetry in sysfs, value@time; names from HPE's list of Cassini counters; 56 bits",
    ),
    Driver(
        "rxe",
        tx="hw/sent_pkts",
        rx="hw/rcvd_pkts",
        unit_bytes=1,
        width_bits=64,
        clamps=False,
        sees="only RDMA, as packets of at most the path MTU: bytes are bounded, not counted",
        errors=("hw/retry_exceeded_err", "hw/retry_rnr_exceeded_err", "hw/link_downed"),
        signals=(
            *("hw/duplicate_request", "hw/out_of_seq_request", "hw/rcvd_rnr_err", "hw/send_rnr_err"),
            *("hw/rcvd_seq_err", "hw/completer_retry_err", "hw/send_err"),
        ),
        overlap="interface",
        modules=("rdma_rxe",),
        packets=True,
        source="drivers/infiniband/sw/rxe/rxe_hw_counters.c",
    ),
)
DRIVERS: Mapping[str, Driver] = MappingProxyType({row.name: row for row in _ROWS})
"""All drivers, by the name that a system's file has in a rail's ``counters``."""


def rail_name(device: str, port: int | None) -> str:
    """Return a rail's name for stacks and counters: ``hsn0``, ``mlx5_0:1``."""
    return device if port is None else f"{device}:{port}"


def of_device(module: str | None, counters: Collection[str]) -> Driver | None:
    """Return the row of a device that no system's file names: by its kernel driver, else by its counters.

    Return None if no row has its counters. A network interface on a card has the card's driver, but no RDMA counters.
    """
    rows = [row for row in DRIVERS.values() if {*row.tx.split("+"), *row.rx.split("+")} <= {*counters}]
    named = next((row for row in rows if module is not None and module in row.modules), None)
    return named or next(iter(rows), None)


def document() -> str:
    """Return the table as Markdown, one row per driver. The documentation has this text."""
    lines = [
        "| counters | sent, received | unit | bits | whose | what they see | hard errors | signals | source |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in DRIVERS.values():
        bits = f"{row.width_bits}, stops at its maximum" if row.clamps else str(row.width_bits)
        traffic = f"`{row.tx}`, `{row.rx}`"
        hard = " ".join(f"`{name}`" for name in row.errors) or "none"
        signals = " ".join(f"`{name}`" for name in row.signals) or "none"
        cells = (f"`{row.name}`", traffic, row.unit, bits, row.scope, row.sees, hard, signals, row.source)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def standard_name(name: str) -> str:
    """Return the standard name of a counter. A name that is not an old one is returned as it is."""
    return OLD_NAMES.get(name, name)


def is_full(name: str, value: int, bits: int | None = None) -> bool:
    """Return whether a counter is at its largest value, with ``bits`` bits, or else as many as PortCounters gives it.

    A counter that PortCounters does not have is full at 2^16 - 1, 2^32 - 1 or 2^64 - 1.
    """
    bits = bits or ERROR_BITS.get(name) or _TRAFFIC_BITS.get(name)
    return value == 2**bits - 1 if bits else value in _FULL


def full(counters: Mapping[str, int], bits: int | None = None) -> tuple[str, ...]:
    """Return the names of the counters that are full, in the given order."""
    if bits:
        top = 2**bits - 1
        return tuple([name for name, value in counters.items() if value == top]) if top in counters.values() else ()
    return tuple([name for name, value in counters.items() if value and is_full(name, value)])
