"""On which link each stored output ran, and in which condition it was: the rows of links.tsv.

The rows say it in our own words, from INDEX.tsv beside the outputs and from the outputs themselves; ``unknown`` where
neither says it. Columns: ``file`` (or a pattern) relative to the folder of shared material; ``tables``, the tables that
the row is about, counted from 1 (1-3), empty for all; ``link``, a name of railyard/hardware/links.py, or

* ``within-node``: the ranks share one node; ``loopback LINK``: they share one node, but the bytes pass its card;
* ``virtual RATE``: shaped rails of virtual nodes, with the rate of each;
* ``unknown``: the index does not say it.

``slot``, ``mtu`` (bytes), ``rails``, ``rails_per_card``, ``nodes``, ``ranks_per_node``, ``node_pairs`` (pairs of nodes
that a sum is over) are empty if they are not known. ``memory`` is host or gpu, ``transport`` rdma, tcp or shm.
``condition`` is healthy (posted as a working system, and no fault is named), degraded (index or thread names what is
wrong), or unknown; ``reason`` says why.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Literal

from railyard.hardware.limits import LinkAlone
from railyard.hardware.links import LINKS
from railyard.site.systems.model import Fabric
from railyard.verdict.inputs import Target
from railyard.verdict.stored_outputs.target import ANY_STACK, of_link

TABLE = Path(__file__).with_name("links.tsv")
Condition = Literal["healthy", "degraded", "unknown"]

_CONDITIONS: Mapping[str, Condition] = {"healthy": "healthy", "degraded": "degraded", "unknown": "unknown"}
_RATE = re.compile(r"virtual ([0-9]+) Mbit/s")


@dataclass(frozen=True, slots=True)
class Row:
    """Where the tables of one stored output, or of a group of them, were measured."""

    file: str
    tables: str
    link: str
    slot: str | None
    mtu: int | None
    rails: int
    rails_per_card: int
    nodes: int | None
    ranks_per_node: int | None
    node_pairs: int
    memory: str
    transport: str
    condition: Condition
    reason: str

    def holds(self, number: int) -> bool:
        """Return whether it is about a table of its file; the first is number 1."""
        first, _, last = self.tables.partition("-")
        return not self.tables or int(first) <= number <= int(last or first)


@cache
def rows() -> tuple[Row, ...]:
    """Return all rows, in the order of the file."""
    with TABLE.open(encoding="utf-8", newline="") as handle:
        return tuple(map(_row, csv.DictReader(handle, delimiter="\t")))


def rows_of(file: str) -> Sequence[Row]:
    """Return the rows of one file: those with its name, else the first pattern that it fits; none if none does."""
    named = [row for row in rows() if row.file == file]
    return named or [row for row in rows() if fnmatchcase(file, row.file)][:1]


def target_of(row: Row) -> Target | None:
    """Return what a row's tables are compared with; None if no link carried them, or if it is not known."""
    rate = _RATE.fullmatch(row.link)
    if rate is not None:
        return _virtual(int(rate[1]), row)
    name = row.link.removeprefix("loopback ")
    if name not in LINKS:
        return None
    target = of_link(name, row.slot, row.rails, row.mtu)
    fabric = target.fabric
    assert isinstance(fabric, LinkAlone)
    rails = tuple(replace(rail, rails_per_card=row.rails_per_card) for rail in fabric.rails)
    return replace(target, fabric=replace(fabric, rails=rails))


def _virtual(mbit_s: int, row: Row) -> Target:
    """Return shaped rails of virtual nodes: HTB on both ends of a veth, or TBF below Soft-RoCE in a guest."""
    rdma = row.transport == "rdma"
    link = {
        "name": f"shaped-{mbit_s}",
        "data_rate_gbit_s": mbit_s / 1000,
        "headers": "rocev2" if rdma else "tcp-shaped",
        "mtu": 4096 if rdma else 1500,
        # A full bucket and one segment of TCP (64 KiB) pass at once; shorter messages are faster than the rate.
        "burst": "128K",
        "limit_from": "1M",
        "family": "declared" if rdma else "ethernet",  # no class is like Soft-RoCE in an emulated guest
        "source": "the shaper of each virtual rail",
    }
    fabric = Fabric.model_validate(
        {
            "description": "shaped rails of virtual nodes",
            "kind": "roce" if rdma else "tcp",
            "link": link,
            "rails": [{"device": f"rail{number}", "counters": "none"} for number in range(row.rails)],
        }
    )
    return Target("", fabric.link.name, fabric, ANY_STACK, row.rails, "any", None)


def _row(cells: Mapping[str, str]) -> Row:
    def number(name: str) -> int | None:
        return int(cells[name]) if cells[name] else None

    return Row(
        file=cells["file"],
        tables=cells["tables"],
        link=cells["link"],
        slot=cells["slot"] or None,
        mtu=number("mtu"),
        rails=number("rails") or 1,
        rails_per_card=number("rails_per_card") or 1,
        nodes=number("nodes"),
        ranks_per_node=number("ranks_per_node"),
        node_pairs=number("node_pairs") or 1,
        memory=cells["memory"],
        transport=cells["transport"],
        condition=_CONDITIONS[cells["condition"]],
        reason=cells["reason"],
    )
