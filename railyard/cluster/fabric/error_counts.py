"""Error counters of ports: which of them are faults, and how many errors are too many."""

from collections.abc import Mapping
from types import MappingProxyType

from railyard.base.bounds import HARD_ERRORS, PORT_DISCARDS, PORT_ERRORS, JudgingBound
from railyard.base.wording import listing
from railyard.cluster.fabric.model import ExpectedFabric, Finding, Readings, by_guid, finding_at
from railyard.cluster.fabric.words import cable
from railyard.parsers.fabric.port import ALL_PORTS, DISCARDS, DISCARDS_MEAN, WAIT, WAIT_MEANS, PortState

#: Why a port discarded packets (PortXmitDiscardDetails, ibqueryerrors --details): it was down, a packet was larger than
#: the neighbour's MTU, or it waited too long for its turn.
DISCARD_DETAILS = (
    *("PortInactiveDiscards", "PortNeighborMTUDiscards"),
    *("PortSwLifetimeLimitDiscards", "PortSwHOQLifetimeLimitDiscards"),
)
#: Faults of this port's own link, or packets that it lost: the counter, and its bound since it was cleared. Between two
#: readings none may grow.
HARD: Mapping[str, JudgingBound] = MappingProxyType(
    {
        "SymbolErrorCounter": PORT_ERRORS,
        "LinkErrorRecoveryCounter": PORT_ERRORS,
        "LinkDownedCounter": PORT_ERRORS,
        "PortRcvErrors": PORT_ERRORS,
        "LocalLinkIntegrityErrors": PORT_ERRORS,
        "ExcessiveBufferOverrunErrors": PORT_ERRORS,
        "PortLocalPhysicalErrors": PORT_ERRORS,
        "PortMalformedPktErrors": PORT_ERRORS,
        "PortBufferOverrunErrors": PORT_ERRORS,
        DISCARDS: PORT_DISCARDS,
        **dict.fromkeys(DISCARD_DETAILS, PORT_DISCARDS),
        "PortXmitConstraintErrors": PORT_DISCARDS,
        "PortRcvConstraintErrors": PORT_DISCARDS,
    }
)
#: These are reported. They are not faults unless the site bounds them. PortRcvRemotePhysicalErrors counts packets that
#: another port had already marked as bad: the port that shows it is not to blame.
SIGNALS = (
    "PortRcvRemotePhysicalErrors",
    "PortRcvSwitchRelayErrors",
    "VL15Dropped",
    "QP1Dropped",
    WAIT,
)
#: These show congestion, never first a fault of the port's own cable.
CONGESTION = frozenset({DISCARDS, WAIT, *DISCARD_DETAILS})
_CONGESTED = (
    "{means}; look at what it sends to (PortXmitWait there, the receiving node, routing, traffic from many to one), "
    "and at the cable only if its symbol errors grow too"
)
_CLEAR = "ibclearerrors (or perfquery -R LID PORT)"


def counter_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each port whose error counters grew, are too high, or cannot grow any more."""
    if readings.counters is None:
        return []
    before = {by_guid(port): port for port in readings.counters}
    told = {by_guid(port): port for port in readings.ports}
    grows = readings.later is not None
    found: list[Finding] = []
    counted = readings.counters if readings.later is None else readings.later
    with_ports = {_device(port) for port in counted if port.port != ALL_PORTS}
    for port in counted:
        if port.port == ALL_PORTS and _device(port) in with_ports:  # its ports say which of them it was
            continue
        linked = told.get(by_guid(port))
        if linked is not None:
            port = port._replace(node=linked.node, device=linked.device, peer=port.peer or linked.peer)
        counts = growth(before.get(by_guid(port)), port) if grows else dict(port.counters)
        found += _of_port(expected, port, counts, grows)
    return found


def _device(port: PortState) -> tuple[str | None, ...]:
    """Return what names the device of a port, for its sum over all ports, too."""
    return port.node, port.device


def growth(first: PortState | None, later: PortState) -> dict[str, int]:
    """Return by how much each counter grew at least.

    A counter that was not printed before was at most at its threshold. A counter that is lower than before was cleared
    in between: it counted all of its value since then.
    """
    grown = {}
    for name, value in later.counters.items():
        base = None if first is None else first.counters.get(name)
        if base is None:
            base = later.thresholds.get(name, 0)
        grown[name] = value if value < base else value - base
    return grown


def _of_port(expected: ExpectedFabric, port: PortState, counts: Mapping[str, int], grows: bool) -> list[Finding]:
    found = []
    full = [name for name in port.saturated if name in HARD or name in expected.errors]
    if full:
        shown = listing([f"{name} {port.counters[name]}" for name in full])
        fix = f"it cannot grow any more: clear it, {_CLEAR}, and read it again"
        found.append(finding_at("saturated", port, f"{shown}, the counter's maximum", "counters that can grow", fix))
    hard = {
        name: value
        for name, value in counts.items()
        if name not in full and value > _highest_healthy(expected, name, grows)
    }
    cabled = {name: value for name, value in hard.items() if name not in CONGESTION}
    congested = {name: value for name, value in hard.items() if name in CONGESTION}
    if cabled:
        fix = f"reseat or replace {cable(port)}, then {_CLEAR}"
        if port.port == ALL_PORTS:
            fix = "the output has only the sum over all ports, not which one it was: read it again, whole"
        found.append(_too_many("errors", expected, port, cabled, grows, fix))
    if congested:
        fix = _CONGESTED.format(means=WAIT_MEANS if set(congested) == {WAIT} else DISCARDS_MEAN)
        found.append(_too_many("congestion", expected, port, congested, grows, fix))
    return found


def _too_many(
    what: str, expected: ExpectedFabric, port: PortState, counts: Mapping[str, int], grows: bool, fix: str
) -> Finding:
    when = "in the time between two readings" if grows else "since they were cleared"
    shown = listing([f"{name} {'+' if grows else ''}{value}" for name, value in counts.items()])
    most = listing([f"{_highest_healthy(expected, name, grows):.0f}" for name in counts])
    return finding_at(what, port, f"{shown} {when}", f"at most {most}", fix)


def _highest_healthy(expected: ExpectedFabric, name: str, grows: bool) -> float:
    """Return the highest value that is not a fault; infinity for a signal that the site does not bound."""
    if name in expected.errors:
        return expected.errors[name]
    if name not in HARD:
        return float("inf")
    return (HARD_ERRORS if grows else HARD[name]).value


def signals(readings: Readings) -> dict[str, int]:
    """Return how many ports show each signal. A signal is reported, but is not a fault."""
    shown: dict[str, int] = {}
    for port in readings.later or readings.counters or ():
        for name in SIGNALS:
            if port.counters.get(name):
                shown[name] = shown.get(name, 0) + 1
    return shown
