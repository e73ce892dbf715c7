"""How the sentences of findings name ports and links, and when two host names are one node."""

import re
from collections.abc import Iterable, Sequence

from railyard.base.wording import number
from railyard.parsers.fabric.port import Peer, PortState

#: SHARP's adapter inside a switch is not a node.
AGGREGATION = re.compile(r"aggregation node", re.IGNORECASE)


def asked_as(device: str, port: int) -> str:
    """Return how files name the rail that a subnet was asked from: "mlx5_0", or "mlx5_0_2" for a second port."""
    return device if port == 1 else f"{device}_{port}"


def is_adapter(port: PortState) -> bool:
    """Return whether a port is a node's own, by what its tool says. ``iblinkinfo -l`` prints only the device."""
    if port.kind is not None and port.kind != "CA":
        return False
    if port.node is not None and AGGREGATION.search(f"{port.node} {port.device or ''}"):
        return False
    return port.kind == "CA" or port.device is not None


def link_words(width: str | None, speed: str | None, rate: float | None) -> str:
    """Return a link in its usual form: "4X EDR (100 Gbit/s)"; for Ethernet only its rate."""
    words = " ".join(part for part in (width, speed) if part)
    if rate is None:
        return words or "no width or speed"
    shown = f"{number(rate).rstrip('0').rstrip('.') if rate % 1 else round(rate)} Gbit/s"
    return f"{words} ({shown})" if words else shown


def peer_words(peer: Peer | None) -> str:
    """Return the other end as "Leaf2 port 3"; empty if the tool names none."""
    if peer is None or not (peer.node or peer.device):
        return ""
    named = " ".join(part for part in (peer.node, peer.device) if part)
    return named if peer.port is None else f"{named} port {peer.port}"


def cable(port: PortState) -> str:
    """Return how a sentence names a port's cable: "the cable to Leaf2 port 3"."""
    other = peer_words(port.peer)
    return f"the cable to {other}" if other else "its cable"


def some(names: Sequence[str], most: int = 8) -> str:
    """Return names with commas; of many only the first ones and how many more, so that they do not fill a terminal."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def unique(names: Iterable[str]) -> list[str]:
    """Return each name once, in the order in which it first occurs."""
    return list(dict.fromkeys(names))


def is_other(patterns: Iterable[str], host: str | None) -> bool:
    """Return whether the file says that a host is not a node (``others``): a server or a login node, for example."""
    return host is not None and any(re.fullmatch(pattern, host) for pattern in patterns)
