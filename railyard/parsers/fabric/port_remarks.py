"""What the ports of a text show that is no fault of a cable: congestion, and a path MTU below what the port can.

Source: InfiniBand Architecture Specification, volume 1, 16.1.3.5: PortXmitWait counts ticks in which a port had data
but no credit, and PortXmitDiscards packets that were dropped because the port was down, congested, or of a smaller MTU.
"""

from collections.abc import Callable, Sequence

from railyard.base.wording import count_of, some
from railyard.parsers.fabric.port import ALL_PORTS, PortState

WAIT, DISCARDS = "PortXmitWait", "PortXmitDiscards"
#: What the two counters of congestion mean, for sentences that name them.
WAIT_MEANS = "it had data to send but no credit: congestion, or a slow receiver behind it, not its cable"
DISCARDS_MEAN = (
    "packets were dropped before they were sent: congestion first (a receiver that does not take them in time), or a "
    "link that was down or has a smaller MTU"
)
_MOST_NAMED = 4


def port_words(port: int | None) -> str | int | None:
    """Return a port's number as people read it: "all ports" for the sum over all of them."""
    return "all ports" if port == ALL_PORTS else port


def place(port: PortState) -> str:
    """Return where a port is: "vn3 mlx5_1 port 1", "leaf1 all ports"; "the port" if its tool names nothing."""
    named = [word for word in (port.node, port.device) if word]
    number = port_words(port.port)
    if number is not None:
        named.append(number if isinstance(number, str) else f"port {number}")
    return " ".join(named) or "the port"


def has_small_mtu(port: PortState) -> bool:
    """Return whether an active port's path MTU is below its largest; False if its tool does not print both."""
    if port.mtu_bytes is None or port.max_mtu_bytes is None or port.is_active is False:
        return False
    return 0 < port.mtu_bytes < port.max_mtu_bytes


def port_remarks(ports: Sequence[PortState]) -> tuple[str, ...]:
    """Return one sentence for each kind of remark, with the ports that it is about; () if there is none."""
    of_mtu = [port for port in ports if has_small_mtu(port)]
    kinds: tuple[tuple[list[PortState], Callable[[PortState], str], str], ...] = (
        (_find_counting(ports, WAIT), lambda port: f"{WAIT} {port.counters[WAIT]:,}", WAIT_MEANS),
        (_find_counting(ports, DISCARDS), lambda port: f"{DISCARDS} {port.counters[DISCARDS]:,}", DISCARDS_MEAN),
        (
            [port for port in of_mtu if port.link_layer != "Ethernet"],
            _mtu_words,
            "the subnet manager or the partner limits the path MTU: smaller packets carry more headers",
        ),
        (
            [port for port in of_mtu if port.link_layer == "Ethernet"],
            _mtu_words,
            "the MTU of its network interface limits the path MTU: 4200 or more gives 4096",
        ),
    )
    return tuple(_sentence(found, words, means) for found, words, means in kinds if found)


def _find_counting(ports: Sequence[PortState], name: str) -> list[PortState]:
    return [port for port in ports if port.counters.get(name)]


def _mtu_words(port: PortState) -> str:
    return f"active_mtu {port.mtu_bytes} is below max_mtu {port.max_mtu_bytes}"


def _sentence(found: list[PortState], words: Callable[[PortState], str], means: str) -> str:
    if len(found) == 1:
        return f"{place(found[0])}: {words(found[0])}: {means}"
    named = some([f"{place(port)}: {words(port)}" for port in found], _MOST_NAMED)
    return f"{count_of(len(found), 'port')} ({named}): {means}"
