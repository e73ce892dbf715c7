"""Width, speed and state of every link. A link gives one finding, at the node's end, whichever end shows it.

Error counters of ports: which of them are faults, and how many errors are too many.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from railyard.base.bounds import HARD_ERRORS, PORT_DISCARDS, PORT_ERRORS, JudgingBound
from railyard.base.hostlist import label
from railyard.base.wording import count_of, listing
from railyard.cluster.fabric.model import (
    ExpectedFabric,
    Finding,
    Readings,
    by_guid,
    cable,
    finding_at,
    is_adapter,
    is_other,
    link_words,
)
from railyard.hardware.links import lanes, slower
from railyard.parsers.fabric.port import ALL_PORTS, DISCARDS, DISCARDS_MEAN, WAIT, WAIT_MEANS, Peer, PortState

#: Physical state of a port that is down -> what fixes it.
_DOWN = {
    "Polling": "it sees no partner: plug its cable in, or check the switch port at the other end",
    "Disabled": "somebody switched it off: ibportstate LID PORT enable, or rdma and ip link on the node",
    "Sleep": "it is asleep: ibportstate LID PORT reset",
    "LinkErrorRecovery": "it recovers from errors again and again: reseat or replace its cable",
}
_NO_PARTNER = "check its cable, and the switch port at the other end"
_SDR_GBIT = 10.0  # 4 lanes, in sysfs and ibstat
#: Logical state of a port -> what fixes it.
_NOT_ACTIVE = {
    "Initializing": "no subnet manager has configured it: start one (opensm, or the switch's own)",
    "Armed": "the subnet manager has not finished: wait, and read its log",
}


def link_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each link that is not as expected, or is not active."""
    found: list[Finding] = []
    judged: list[tuple[PortState, str | None]] = []
    for port in links(readings.ports):
        if is_adapter(port) and is_other(expected.others, port.node):
            continue
        if port.state not in (None, "Active"):
            if port.peer is not None:
                found.append(_not_active(port))
            continue
        if port.width is None and port.speed is None and port.rate is None:
            continue
        judged.append((port, _wrong(expected, port)))
    for port in _ports_of_nodes_only(expected, readings):
        if port.state not in (None, "Active"):
            found.append(_not_active(port))
        elif not is_software(expected, port):
            judged.append((port, _wrong(expected, port)))
    found += [said for port in readings.own if expected.rail(port.device, port.port) and (said := _signal(port))]
    return found + _findings_per_link(expected, judged) + _contradictions(expected, readings)


def _contradictions(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each rail that its own node shows as wrong, and the subnet as right.

    A kernel prints SDR for a speed that it does not know, so that alone is a remark.
    """
    shown = {key: port for port in readings.ports if is_adapter(port) for key in (_name(port), port.guid) if key}
    found = []
    for port in readings.own:
        on_subnet = shown.get(port.guid or "") or shown.get(_name(port))
        if on_subnet is None or expected.rail(port.device, port.port) is None or is_software(expected, port):
            continue
        if on_subnet.state not in (None, "Active") or _wrong(expected, on_subnet):
            continue
        wrong = _wrong(expected, port)
        if port.state in (None, "Active") and not wrong:
            continue
        port = port._replace(peer=on_subnet.peer)
        said = _link(expected, port, wrong) if wrong and port.state in (None, "Active") else _not_active(port)
        other = f"{link_words(on_subnet.width, on_subnet.speed, on_subnet.rate)}, {on_subnet.state or 'Active'}"
        is_unknown = said.what in ("speed", "rate") and (port.speed == "SDR" or port.rate == _SDR_GBIT)
        found.append(
            replace(
                said,
                fix=f"the subnet shows {other}: read both again; if it stays, {said.fix}",
                weight="remark" if is_unknown else "problem",
            )
        )
    return found


def _ports_of_nodes_only(expected: ExpectedFabric, readings: Readings) -> list[PortState]:
    """Return the rails that nodes show in their own readings, but the subnet does not."""
    shown = {_name(port) for port in readings.ports}
    guids = {port.guid for port in readings.ports if port.guid}
    rails = [port for port in readings.own if expected.rail(port.device, port.port) is not None]
    return [port for port in rails if _name(port) not in shown and port.guid not in guids]


def is_software(expected: ExpectedFabric, port: PortState) -> bool:
    """Return whether a rail is a software device (rdma_rxe). It prints 2.5 Gbit/s, whatever network is below it."""
    rail = expected.rail(port.device, port.port)
    return rail is not None and rail.counters == "rxe"


def rails_without_speed(expected: ExpectedFabric, readings: Readings) -> list[str]:
    """Return the active rails whose nodes show no width, speed or rate in a known form."""
    return [
        f"{port.node} {port.device} port {port.port}"
        for port in _ports_of_nodes_only(expected, readings)
        if port.state in (None, "Active") and port.width is None and port.speed is None and port.rate is None
    ]


def links(ports: Iterable[PortState]) -> list[PortState]:
    """Return one port per link (the adapter's end, if there is one), and the ports without a partner as they are."""
    chosen: dict[Any, PortState] = {}
    for port in ports:
        key: Any = (id(port),) if port.peer is None else frozenset((_end(port), _end(port.peer)))
        before = chosen.get(key)
        if before is None or (is_adapter(port) and not is_adapter(before)):
            chosen[key] = port
    return list(chosen.values())


def _end(end: PortState | Peer) -> tuple[object, ...]:
    """Return what names a link's end in its own line and in its partner's: the LID, or the name while the LID is 0."""
    return (end.lid, end.port) if end.lid else (end.node, end.device, end.port)


def _name(port: PortState) -> tuple[str | None, str | None, int | None]:
    return label(port.node) if port.node else None, port.device, port.port


def _signal(port: PortState) -> Finding | None:
    """Return what mlxlink finds wrong with a port that is up ("Bad signal integrity"); None if it finds nothing.

    A port that is not active has a finding of its own.
    """
    opcode = port.extra.get("status_opcode", 0)
    if not opcode or port.state not in (None, "Active"):
        return None
    advice = port.extra.get("recommendation", "no words beside it")
    fix = "read its bit error rates (mlxlink -c), then clean, reseat or replace its cable"
    return finding_at("signal", port, f"mlxlink: {advice} (status opcode {opcode})", "status opcode 0", fix)


def optics_findings(expected: ExpectedFabric, readings: Readings) -> list[Finding]:
    """Return a finding for each reading of a rail's cable or module that is beyond the module's own threshold.

    Beyond an alarm is a problem, beyond a warning a remark. What two tools say alike is one finding.
    """
    found = []
    for port in (*readings.own, *readings.more_modules):
        if not port.module or expected.rail(port.device, port.port) is None:
            continue
        from railyard.hardware.optics import report_of  # a gate that reads no module starts without it

        report = report_of(port.module)
        for one in report.findings:
            fix = f"clean, reseat or replace {cable(port)} or its module: {report.name}"
            said = finding_at("optics", port, one.found, one.expected, fix)
            found.append(said if one.level == "alarm" else replace(said, weight="remark"))
    return list(dict.fromkeys(found))


def unjudged_optics(expected: ExpectedFabric, readings: Readings) -> list[str]:
    """Return what is not judged of modules, and the bit errors of rails before correction: a note each.

    A file may be named after an interface, and the module of a port that is no rail is not judged.
    """
    notes = []
    for port in (*readings.own, *readings.more_modules):
        where = f"{port.node} {port.device} port {port.port}"
        if expected.rail(port.device, port.port) is None:
            if port.module and (port.device, port.port) not in expected.neighbours:
                rails = listing([f"{rail.device} port {rail.port}" for rail in expected.rails])
                notes.append(f"{where}: its module is not judged, since this is no rail: {expected.file} has {rails}")
            continue
        if port.module:
            from railyard.hardware.optics import report_of

            report = report_of(port.module)
            notes += [f"{where} ({report.name}): not judged: {why}" for why in report.unjudged]
        if "raw_physical_ber" in port.extra:
            fec = port.extra.get("fec", "no word of FEC")
            before = f"bit errors before correction {port.extra['raw_physical_ber']:g}"
            after = port.extra.get("effective_physical_ber")
            left = "" if after is None else f", after it {after:g}"
            notes.append(f"{where}: {before}{left} ({fec}); not judged: no module states a bound for them")
    return list(dict.fromkeys(notes))


def _not_active(port: PortState) -> Finding:
    state, physical = port.state or "", port.physical_state
    if state == "Down":
        fix = _DOWN.get(physical or "", _NO_PARTNER)
    else:
        fix = _NOT_ACTIVE.get(state, _NO_PARTNER)
    shown = f"{state} ({physical})" if physical else state
    return finding_at("state", port, shown, "Active", fix)


def _wrong(expected: ExpectedFabric, port: PortState) -> str | None:
    """Return in what a link differs first: "width", "speed", "rate" or "degraded"; None if it is right.

    A link between switches may be better than a node's link. If a node's link is better, the file is wrong.
    """
    if expected.width is None and expected.speed is None:
        if expected.rate is None:
            return "degraded" if port.is_degraded and port.best_from == "both ends" else None
        return _wrong_rate(expected.rate, port)
    width = lanes(port.width)
    if expected.width is not None and width is not None and width != expected.width:
        if width < expected.width or is_adapter(port):
            return "width"
    if expected.speed is not None and port.speed is not None and port.speed != expected.speed:
        if is_adapter(port) or slower(port.speed, expected.speed):
            return "speed"
    # ibstat prints no width, and a kernel may name a speed that is not known here. The rate then shows that something
    # is wrong, but not what.
    is_told = port.width is not None and port.speed is not None
    return None if is_told or expected.rate is None else _wrong_rate(expected.rate, port)


def _wrong_rate(rate: float, port: PortState) -> str | None:
    """Return "rate" if a port's rate is not the expected one.

    Up to 7 % more is no difference: some tools sum signalled rates (4 x 25.78125 is printed as 104).
    """
    if port.rate is None or rate <= port.rate <= 1.07 * rate:
        return None
    return "rate" if port.rate < rate or is_adapter(port) else None


def _findings_per_link(expected: ExpectedFabric, judged: list[tuple[PortState, str | None]]) -> list[Finding]:
    """Return one finding per link; if all nodes' links differ in the same way, one finding about the file."""
    ours = [(port, wrong) for port, wrong in judged if is_adapter(port) or expected.rail(port.device, port.port)]
    alike = Counter((port.width, port.speed, port.rate) for port, _ in ours)
    meant = link_words(_x(expected.width), expected.speed, expected.rate)
    if len(ours) > 1 and len(alike) == 1 and all(wrong for _, wrong in ours):
        width, speed, rate = next(iter(alike))
        found = f"{link_words(width, speed, rate)} on all {count_of(len(ours), 'port')} of nodes"
        fix = (
            f"the file contradicts the fabric: correct link of fabrics.{expected.fabric}, or find what slows all ports"
        )
        said = f"{meant}, as {expected.file} says"
        whole = Finding("contradiction", None, None, None, found, said, fix)
        # switches' links that differ in the same way contradict the file too
        rest = [(port, wrong) for port, wrong in judged if (port.width, port.speed, port.rate) != (width, speed, rate)]
        return [whole, *(_link(expected, port, wrong) for port, wrong in rest if wrong)]
    return [_link(expected, port, wrong) for port, wrong in judged if wrong]


def _link(expected: ExpectedFabric, port: PortState, wrong: str) -> Finding:
    meant = link_words(_x(expected.width), expected.speed, expected.rate)
    if wrong == "degraded":
        best = link_words(port.best_width, port.best_speed, None)
        return finding_at("degraded", port, link_words(port.width, port.speed, port.rate), best, _fix("width", port))
    below = _is_below(expected, port, wrong)
    fix = _fix(wrong, port) if below else f"correct link of fabrics.{expected.fabric} in {expected.file}, or this port"
    return finding_at(wrong, port, link_words(port.width, port.speed, port.rate), meant, fix)


def _is_below(expected: ExpectedFabric, port: PortState, wrong: str) -> bool:
    if wrong == "width":
        return (lanes(port.width) or 0) < (expected.width or 0)
    if wrong == "speed":
        return bool(slower(port.speed or "", expected.speed or ""))
    return (port.rate or 0.0) < (expected.rate or 0.0)


def _fix(wrong: str, port: PortState) -> str:
    if wrong == "width":
        return f"lanes are lost: reseat or replace {cable(port)}"
    if wrong == "speed":
        return f"replace {cable(port)}, or check with ibportstate which end does not allow more"
    return f"lanes or speed are lost: reseat or replace {cable(port)}"


def _x(width: int | None) -> str | None:
    return None if width is None else f"{width}X"


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
