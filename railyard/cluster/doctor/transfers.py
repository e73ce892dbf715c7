"""Sends a known number of bytes over each rail of the virtual cluster, around all nodes, and reads every counter."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from railyard.base.errors import Finding, problem, remark
from railyard.base.wording import traffic
from railyard.cluster.doctor import payload
from railyard.provision.testbed.cluster import Testbed

_PORT = 19871
_LIMIT_S = 30


#: Sent over each rail: far more than a quiet network carries in a second; a rail of 400 Mbit/s needs 0.4 s for it.
CALIBRATION_BYTES = 20_000_000

# Headers of TCP are 4.6 % of a frame (hardware/links.py). Retransmissions and other traffic in that time come on top.
# All the bytes arrived, so a counter of bytes shows at least as many.
_MOST = 1.15

_ELSEWHERE_BYTES = 2_000_000

#: A counter in another unit shows the bytes divided by this: InfiniBand's port counters count words of 4 bytes.
_UNITS = {4: "words of 4 bytes", 8: "words of 8 bytes", 1448: "packets"}


@dataclass(frozen=True, slots=True)
class Transfer:
    """One calibration: bytes of payload from one node's rail to another's, and how much each device's counters grew.

    ``sent`` and ``received`` map every device of sender and receiver to the bytes that its counter grew by; None if it
    could not be read.
    """

    rail: str
    sender: str
    receiver: str
    payload_bytes: int
    sent: Mapping[str, int | None]
    received: Mapping[str, int | None]


def calibrate(bed: Testbed) -> tuple[Finding, ...]:
    """Return what is wrong with the counters. On each rail, each node is once the sender and once the receiver."""
    found: list[Finding] = []
    nodes = bed.spec.nodes
    for network in bed.spec.networks:
        for sender, receiver in zip(nodes, (*nodes[1:], nodes[0]), strict=True):
            if sender != receiver:
                found += _one(bed, network.device, sender, receiver)
    return tuple(found)


def _one(bed: Testbed, device: str, sender: str, receiver: str) -> list[Finding]:
    before = _counters(bed)
    wrong = _send(bed, device, sender, receiver)
    if wrong is not None:
        return [not_calibrated(f"{sender} {device}", f"nothing could be sent to {receiver}: {wrong}")]
    after = _counters(bed)
    transfer = Transfer(
        rail=device,
        sender=sender,
        receiver=receiver,
        payload_bytes=CALIBRATION_BYTES,
        sent={dev: after[node, dev][0] - tx for (node, dev), (tx, _) in before.items() if node == sender},
        received={dev: after[node, dev][1] - rx for (node, dev), (_, rx) in before.items() if node == receiver},
    )
    return list(findings(transfer))


def _counters(bed: Testbed) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the bytes that every device of every node has sent and received so far."""
    return {(rail.node, rail.device): (rail.tx_bytes, rail.rx_bytes) for rail in bed.status()}


def _send(bed: Testbed, device: str, sender: str, receiver: str) -> str | None:
    """Send the bytes from one node's address on this network to the other's. Return None, or why it failed."""
    to, own = bed.spec.address(receiver, device), bed.spec.address(sender, device)
    program, tail = [sys.executable, payload.__file__], [str(_PORT), str(CALIBRATION_BYTES)]
    try:
        with ThreadPoolExecutor(max_workers=1) as other:
            taking = other.submit(bed.exec, receiver, [*program, "receive", to, *tail], timeout_s=_LIMIT_S)
            sent = bed.exec(sender, [*program, "send", own, to, *tail], timeout_s=_LIMIT_S)
            taken = taking.result()
    except subprocess.TimeoutExpired:
        return f"no end within {_LIMIT_S} s"
    said = f"{sent.stderr}{taken.stderr}".strip().splitlines()
    if sent.returncode or taken.returncode:
        return said[0] if said else "not all of it arrived"
    return None


def findings(transfer: Transfer) -> Iterator[Finding]:
    """Yield what is wrong with the counters of a rail at its two ends, and whether the bytes took another way.

    Bytes that leave by another rail also arrive by another one: then the receiver is not to blame.
    """
    yield from _end(transfer, transfer.sender, "sent", transfer.sent)
    if _find_stray_rail(transfer, transfer.sent) is None:
        yield from _end(transfer, transfer.receiver, "received", transfer.received)


def not_calibrated(where: str, why: str) -> Finding:
    """Return the remark that a rail's counter was not tried."""
    return remark(where, f"its counter could not be calibrated: {why}", "a run's path proof will still show it")


def _end(transfer: Transfer, node: str, word: str, grown: Mapping[str, int | None]) -> Iterator[Finding]:
    where, bytes_ = f"{node} {transfer.rail}", grown.get(transfer.rail)
    said = f"{traffic(transfer.payload_bytes)} were {word}"
    astray = _find_stray_rail(transfer, grown)
    if bytes_ is None:
        yield problem(where, f"{said}, and its counter could not be read", "check the driver in the system's file")
    elif astray is not None:
        yield problem(
            where,
            f"{said}, and the counter of {astray} grew by {traffic(grown[astray] or 0)}, its own by {traffic(bytes_)}",
            "check the node's routes and ARP settings: traffic to this rail uses another rail",
        )
    elif bytes_ < transfer.payload_bytes:
        yield problem(
            where,
            f"{said}, and its counter grew by {traffic(bytes_)}{_unit(transfer.payload_bytes, bytes_)}",
            "check the driver in the system's file: this counter cannot prove a path",
        )
    elif bytes_ > _MOST * transfer.payload_bytes:
        yield remark(
            where, f"{said}, and its counter grew by {traffic(bytes_)}", "something else uses this rail; run it again"
        )


def _find_stray_rail(transfer: Transfer, grown: Mapping[str, int | None]) -> str | None:
    """Return the rail of the same end that carried the bytes in place of this one, or None."""
    if (grown.get(transfer.rail) or 0) >= transfer.payload_bytes:
        return None
    others = {device: count or 0 for device, count in grown.items() if device != transfer.rail}
    most = max(others, key=lambda device: others[device], default=None)
    return most if most is not None and others[most] > _ELSEWHERE_BYTES else None


def _unit(payload_bytes: int, counted: int) -> str:
    """Return the unit that would explain a count, within 15 %; an empty text if none does."""
    for factor, name in _UNITS.items():
        if counted and 0.85 <= payload_bytes / counted / factor <= 1.15:
            return f" ({name}?)"
    return ""
