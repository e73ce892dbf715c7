"""What one rail of one node looks like now: its carrier and counters, read from the node's own sysfs."""

import errno
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.provision.testbed.faults import Degradation
from railyard.provision.testbed.state import Node, State


@dataclass(frozen=True, slots=True)
class RailStatus:
    """One device of one node now: ``rate_mbit_s`` as the spec has it (None: unshaped), counters in bytes since up."""

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
    """Return one device of one node as it is now. Raises SetupError where its counters cannot be read."""
    # Seen through the holder's root: the node's own sysfs, without starting a process.
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
        if error.errno != errno.EINVAL:  # what the kernel says of an interface that is switched off
            raise
        return False
