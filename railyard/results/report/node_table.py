"""What each node's devices moved, as a page shows it: every node if they are few, else the sums and the odd ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from railyard.base.wording import count_of
from railyard.results.record.form import NodeTraffic, PathProofRecord
from railyard.results.report.summary import unevenness

#: Up to this number, all nodes are shown; of more, the most uneven ones.
MOST_NODES, MOST_ODD = 64, 20


@dataclass(frozen=True, slots=True)
class DeviceSum:
    """One device over all nodes that have it: bytes, and the least, median and largest share of its node's bytes."""

    device: str
    meant: bool
    nodes: int
    tx_bytes: int
    rx_bytes: int
    shares: tuple[float, float, float] | None


@dataclass(frozen=True, slots=True)
class NodeTable:
    """The nodes that are shown; if there are many, also the sum of each device, and which nodes are shown, in words."""

    nodes: tuple[NodeTraffic, ...]
    sums: tuple[DeviceSum, ...] = ()
    caption: str = ""


def node_table(proof: PathProofRecord | None) -> NodeTable:
    """Return the table of a path proof; an empty one if it names no node."""
    nodes = () if proof is None else tuple(proof.each_node())
    if len(nodes) <= MOST_NODES:
        return NodeTable(nodes)
    odd = tuple(sorted(nodes, key=unevenness, reverse=True)[:MOST_ODD])
    caption = f"The {MOST_ODD} most uneven of {count_of(len(nodes), 'node')}; the record has all"
    return NodeTable(odd, _sums(nodes), caption)


def _sums(nodes: Sequence[NodeTraffic]) -> tuple[DeviceSum, ...]:
    names = dict.fromkeys((rail.device, rail.meant) for node in nodes for rail in node.rails)
    rails: dict[tuple[str, bool], list[tuple[int, int, float | None]]] = {name: [] for name in names}
    for node in nodes:
        for rail in node.rails:
            rails[rail.device, rail.meant].append((rail.tx_bytes or 0, rail.rx_bytes or 0, rail.share))
    found = []
    for (device, meant), rows in rails.items():
        shares = [share for _, _, share in rows if share is not None]
        range_ = (min(shares), median(shares), max(shares)) if shares else None
        sent, received = sum(row[0] for row in rows), sum(row[1] for row in rows)
        found.append(DeviceSum(device, meant, len(rows), sent, received, range_))
    return tuple(found)
