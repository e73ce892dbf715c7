"""The present state of one rail of one node: its carrier and counters, from the node's own sysfs."""

import errno
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.provision.testbed.faults import Degradation
from railyard.provision.testbed.state import Node, State


@dataclass(frozen=True, slots=True)
class RailStatus:
    """One device of one node now: ``rate_mbit_s`` from the spec (None: unshaped), counters in bytes since its start."""

    node: str
    device: str
    network: str
    address: str
    rate_mbit_s: float | None
    carrier: bool
    tx_bytes: int
    rx_bytes: int
    degradations: tuple[Degradation, ...]


def rail_status(state: State, node: Node, device: str) -> RailStatus:
    """Return the present state of one device of one node. Raises SetupError if its counters cannot be read."""
    # Read through the holder's root: this is the node's own sysfs, and no process has to be started.
    network = state.spec.network(device)
    entries = Path(f"/proc/{node.holder.pid}/root/sys/class/net") / device
    try:
        carrier = _has_carrier(entries)
        tx_bytes, rx_bytes = (int((entries / f"statistics/{name}_bytes").read_text()) for name in ("tx", "rx"))
    except (OSError, ValueError) as error:
        raise SetupError(f"testbed: the counters of {device} of {node.name} cannot be read: {error}") from None
    degradations = tuple(f for f in state.degradations if (f.node, f.device) == (node.name, device))
    address = state.spec.address(node.name, device)
    rate = network.rate_mbit_s
    return RailStatus(node.name, device, network.name, address, rate, carrier, tx_bytes, rx_bytes, degradations)


def _has_carrier(entries: Path) -> bool:
    try:
        return int((entries / "carrier").read_text()) == 1
    except OSError as error:
        if error.errno != errno.EINVAL:  # the kernel's answer for an interface that is switched off
            raise
        return False
