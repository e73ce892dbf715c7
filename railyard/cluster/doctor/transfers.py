"""Sends a known number of bytes over each rail of the virtual cluster, around all nodes, and reads every counter."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from railyard.base.finding import Finding
from railyard.cluster.doctor import payload
from railyard.cluster.doctor.calibrate import CALIBRATION_BYTES, Transfer, findings, not_calibrated
from railyard.provision.testbed.cluster import Testbed

_PORT = 19871
_LIMIT_S = 30


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
