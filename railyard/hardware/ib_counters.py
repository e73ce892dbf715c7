"""Port counters by their standard names: which count errors, how many bits each has, and which of them are full.

Names are those of PortCounters and PortCountersExtended in libibmad ("PortXmitData", "SymbolErrorCounter"). The names
of OFED 1.x ("XmtData", "SymbolErrors") are converted to these. PortXmitData and PortRcvData count units of 4 bytes
without link headers, PortXmitWait counts ticks of the device, and packets and errors count one each. Values are raw.

A counter of PortCounters stops at its largest value: 255 of LinkDownedCounter means "255 or more". Such counters are
``saturated``. Source: InfiniBand Architecture Specification, volume 1, 16.1.3.5; ``fields.c`` of libibmad.
"""

from collections.abc import Mapping
from types import MappingProxyType

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
