"""Faults of one rail of one node, and the commands that make and undo them. Pure."""

from dataclasses import dataclass
from typing import Literal

from railyard.base.errors import SetupError, did_you_mean
from railyard.provision.testbed.scripts import reshape, shape, switch_port
from railyard.provision.testbed.spec import TestbedSpec, check_rate, parse_rate

Kind = Literal["slow", "lossy", "unplugged"]
KINDS: tuple[Kind, ...] = ("slow", "lossy", "unplugged")
_LOSS_STEPS = 10_000  # one hundredth of a per cent
_MOST_SEGMENTS = 65_535  # of TCP in one packet inside the kernel: Linux's GSO_MAX_SEGS


@dataclass(frozen=True, slots=True)
class Degradation:
    """One fault of one rail: ``value`` is Mbit/s for slow, per cent of packets for lossy, None for unplugged.

    Raises SetupError if the value is missing, superfluous or out of range.
    """

    node: str
    device: str
    kind: Kind
    value: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise SetupError(f'testbed: "{self.kind}" is not a kind of degradation; {did_you_mean(self.kind, KINDS)}')
        if self.kind == "unplugged":
            if self.value is not None:
                raise SetupError(f"testbed: unplugged takes no value, found {self.value:g}")
        elif self.value is None:
            wanted = "a rate, as in slow 40mbit" if self.kind == "slow" else "a percentage, as in lossy 1"
            raise SetupError(f"testbed: {self.kind} needs {wanted}")
        elif self.kind == "slow":
            check_rate(self.value)
        elif not 1 / _LOSS_STEPS * 100 <= self.value <= 100:
            raise SetupError(f"testbed: {self.value:g} % of lost packets is not between 0.01 and 100")

    def __str__(self) -> str:
        """Return the words of ``status``: ``slow (40 Mbit/s)``, ``lossy (1 %)``, ``unplugged``."""
        unit = {"slow": "Mbit/s", "lossy": "%"}.get(self.kind)
        return self.kind if unit is None else f"{self.kind} ({self.value:g} {unit})"


def parse_degradation(node: str, device: str, kind: str, value: str | None) -> Degradation:
    """Return the degradation that a person typed. Raises SetupError, one sentence, for anything unusable."""
    if kind not in KINDS:
        raise SetupError(f'testbed: "{kind}" is not a kind of degradation; {did_you_mean(kind, KINDS)}')
    if value is None:
        return Degradation(node, device, kind)
    if kind == "unplugged":
        raise SetupError(f'testbed: unplugged takes no value, found "{value}"')
    if kind == "slow":
        return Degradation(node, device, kind, parse_rate(value))
    try:
        number = float(value.strip().removesuffix("%"))
    except ValueError:
        raise SetupError(f'testbed: "{value}" is not a percentage: write 1 or 0.5') from None
    return Degradation(node, device, kind, number)


@dataclass(frozen=True, slots=True)
class Commands:
    """Standard inputs for ``tc -batch -``, ``nft -f -`` and ``ip -batch -``, on the switch's and the node's side."""

    tool: Literal["tc", "nft", "ip"]
    switch: str
    node: str


def make_commands(spec: TestbedSpec, fault: Degradation) -> tuple[Commands, ...]:
    """Return the commands that make the fault on a rail without one of its kind, in order."""
    port, device = switch_port(spec, fault.node, fault.device), fault.device
    if fault.kind == "slow":
        assert fault.value is not None
        if spec.network(device).rate_mbit_s is None:
            return (Commands("tc", _lines(shape(port, fault.value)), _lines(shape(device, fault.value))),)
        return (Commands("tc", _lines([reshape(port, fault.value)]), _lines([reshape(device, fault.value)])),)
    if fault.kind == "lossy":
        assert fault.value is not None
        # Ingress of the port is what the node sends, ingress of the node's device is what it receives: both directions.
        # Many small kernels have no netem; nftables' numgen is wherever nft is.
        return (
            # Else Linux hands over 64 KiB as one packet: a drop takes 45 segments of TCP, and a run of 16 MiB has few
            # packets.
            Commands("ip", _most_segments(port, 1), _most_segments(device, 1)),
            Commands("nft", _loss(port, fault.value), _loss(device, fault.value)),
        )
    # The port at the switch goes down, and the node loses its carrier, as with a cable.
    return (Commands("ip", f"link set {port} down\n", ""),)


def undo_commands(spec: TestbedSpec, fault: Degradation) -> tuple[Commands, ...]:
    """Return the commands that undo the fault, in order."""
    port, device = switch_port(spec, fault.node, fault.device), fault.device
    if fault.kind == "slow":
        rate = spec.network(device).rate_mbit_s
        if rate is None:
            # Not "del", which fails if nothing is there: undoing twice must do no harm.
            gone = (f"qdisc replace dev {port} root noqueue\n", f"qdisc replace dev {device} root noqueue\n")
            return (Commands("tc", *gone),)
        return (Commands("tc", _lines([reshape(port, rate)]), _lines([reshape(device, rate)])),)
    if fault.kind == "lossy":
        return (
            Commands("nft", _no_loss(port), _no_loss(device)),
            Commands("ip", _most_segments(port, _MOST_SEGMENTS), _most_segments(device, _MOST_SEGMENTS)),
        )
    return (Commands("ip", f"link set {port} up\n", ""),)


def _lines(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _most_segments(device: str, count: int) -> str:
    return f"link set dev {device} gso_max_segs {count}\n"


def _no_loss(device: str) -> str:
    # "add" first, so deleting a missing table does not fail.
    return f"add table netdev loss_{device}\ndelete table netdev loss_{device}\n"


def _loss(device: str, percent: float) -> str:
    steps = round(percent * _LOSS_STEPS / 100)
    hook = f'type filter hook ingress device "{device}" priority 0; policy accept;'
    # nft refuses a comparison that is always true.
    choice = "" if steps >= _LOSS_STEPS else f"numgen random mod {_LOSS_STEPS} < {steps} "
    rule = f"{choice}counter drop"
    return _no_loss(device) + f"table netdev loss_{device} {{ chain wire {{ {hook} {rule}; }}; }}\n"
