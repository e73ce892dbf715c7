"""What a run was meant to move over which rails, and what a node's counters show of it: the words of a path proof."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from railyard.job.counters.node import DeviceCounters, NodeCounters
from railyard.results.record.form import RailTraffic
from railyard.verdict.path.split import Policy

Way = Literal["sent", "received"]

WAYS: tuple[Way, ...] = ("sent", "received")


@dataclass(frozen=True, slots=True)
class NodeTraffic:
    """What one node moved to and from other nodes at least: payload bytes, from the printed repetitions.

    ``…_split_bytes`` is the part in messages that the policy spreads over the rails: at or above the threshold of
    striping, all messages of a round robin or a NIC per rank. ``most_bytes`` is the most payload that one way may have
    moved, warm-ups included, headers not; None where warm-ups are not known.
    """

    sent_bytes: int
    received_bytes: int
    sent_split_bytes: int = 0
    received_split_bytes: int = 0
    most_bytes: int | None = None

    def mirrored(self) -> "NodeTraffic":
        """Return what the other node of a pair moved."""
        return NodeTraffic(
            self.received_bytes, self.sent_bytes, self.received_split_bytes, self.sent_split_bytes, self.most_bytes
        )

    def payload(self, way: Way) -> int:
        return self.sent_bytes if way == "sent" else self.received_bytes

    def split(self, way: Way) -> int:
        return self.sent_split_bytes if way == "sent" else self.received_split_bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run was meant to do.

    ``rails``: the meant rails of a node with their rates (any one unit; only the ratios count). ``traffic``: a value
    for every node that must be proven. ``pairs``: pairs of ranks between two nodes. ``collective``: the bytes are
    lower bounds of an algorithm that is not known, so no split is held against the rates. ``exclusive``: no other job
    uses the nodes. ``error_bounds``: by how much a counter of errors may grow, where the system's file says it.
    ``bonded``: how many ports the system's file says are bonded to each meant rail (LAG). ``unknown``: why nobody can
    say how many bytes the run was to move; None where it is known, or is a lower bound.
    """

    rails: Mapping[str, float]
    policy: Policy
    traffic: Mapping[str, NodeTraffic]
    pairs: int = 1
    collective: bool = False
    exclusive: bool = True
    error_bounds: Mapping[str, int] = field(default_factory=dict)
    bonded: Mapping[str, int] = field(default_factory=dict)
    unknown: str | None = None


def meant_bytes(reading: NodeCounters, plan: Plan, way: Way) -> dict[str, int]:
    """Return what each meant rail of a node moved one way."""
    return {d.device: _delta(d, way) for d in reading.devices if d.device in plan.rails}


def unmeant_bytes(reading: NodeCounters, plan: Plan, way: Way) -> dict[str, int]:
    """Return what each other device of a node moved one way.

    Software RDMA is left out: it counts packets, whose bytes its network interface counts too.
    """
    others = (d for d in reading.devices if d.device not in plan.rails and d.packet_bytes is None)
    return {d.device: _delta(d, way) for d in others}


def rail_bytes(reading: NodeCounters, plan: Plan) -> tuple[RailTraffic, ...]:
    """Return what every device of a node moved, for the record."""
    total = sum(sum(meant_bytes(reading, plan, way).values()) for way in WAYS)
    rows = []
    for device in reading.devices:
        meant = device.device in plan.rails
        tx, rx = device.tx.delta_bytes, device.rx.delta_bytes
        known = meant and total > 0 and tx is not None and rx is not None
        share = ((tx or 0) + (rx or 0)) / total if known else None
        rows.append(RailTraffic(device.device, meant, tx, rx, share))
    return tuple(rows)


def in_packets(reading: NodeCounters, plan: Plan) -> DeviceCounters | None:
    """Return the first meant rail whose bytes are packets times the path MTU, at most; None where all count bytes."""
    return next((d for d in reading.devices if d.device in plan.rails and d.packet_bytes is not None), None)


def _delta(device: DeviceCounters, way: Way) -> int:
    return (device.tx if way == "sent" else device.rx).delta_bytes or 0
