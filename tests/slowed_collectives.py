"""From which share of a healthy collective on does a link's day-one band fail a slow one? By nodes and ranks on each.

A healthy curve is made for each collective, with the magnitudes of a fast library on new nodes over HDR: two levels,
one for the nodes and one for the ranks of each. Then all its sizes, or those from 64 KiB on, are slowed to a share.
``tests.slowed_curves`` has the table in its page.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import log2

from railyard.benchmarks.table import micro
from railyard.hardware.day_one import Pattern
from railyard.parsers.output import ParsedOutput, Table
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import Nodes, of_link

LINK = "ib-hdr"
NODES, RANKS_PER_NODE = (4, 8, 32), (1, 8, 32, 64)
SIZES = tuple(1 << power for power in range(2, 21))  # 4 B to 1 MiB, as OSU has them
COLLECTIVES = (
    *("osu_allreduce", "osu_reduce", "osu_reduce_scatter", "osu_bcast", "osu_alltoall", "osu_allgather"),
    *("osu_gather", "osu_scatter"),
)
#: Of new nodes: half a round trip and the rate of one stream of HDR, what the ranks of a node copy together and one
#: of them alone, what a rank adds up, and what it takes to send one of many messages.
_START_US, _MESSAGE_US = 1.2, 0.3
_RAIL_MB_S, _NODE_MB_S, _COPY_MB_S, _ADD_MB_S = 23_000.0, 100_000.0, 8000.0, 6000.0
_TARGET = of_link(LINK)


@dataclass(frozen=True, slots=True)
class Run:
    """A collective over so many nodes, with so many ranks on each."""

    collective: str
    nodes: int
    ranks_per_node: int

    @property
    def pattern(self) -> Pattern:
        """How its ranks exchange messages."""
        found = micro.find(f"osu/{self.collective}").pattern
        assert found is not None
        return found

    def healthy_us(self, size: int) -> float:
        """Return the time that a healthy run takes, us."""
        nodes, ranks = self.nodes, self.ranks_per_node
        everyone, part = nodes * ranks, (nodes - 1) / nodes
        vectors, blocks, added = {
            "allreduce": (2 * part, 0.0, part + log2(ranks)),
            "reduce": (1.2, 0.0, part + log2(ranks)),
            "reduce_scatter": (part, 0.0, part + log2(ranks)),
            "broadcast": (1.6, 0.0, 0.0),
            "alltoall": (0.0, ranks * ranks * (nodes - 1) / 0.8, 0.0),
            "allgather": (0.0, ranks * (nodes - 1) / 0.9, 0.0),
            "root": (0.0, ranks * (nodes - 1), 0.0),
        }[self.pattern]
        copied = {"alltoall": ranks * ranks, "allgather": ranks * everyone}.get(self.pattern, ranks)
        copies = size * copied / min(_NODE_MB_S, ranks * _COPY_MB_S) if ranks > 1 else 0.0
        messages = everyone * _MESSAGE_US if self.pattern in ("alltoall", "root") else 0.0
        starts = (2 if self.pattern == "allreduce" else 1) * log2(everyone) * _START_US
        return starts + messages + size * (vectors + blocks) / _RAIL_MB_S + copies + size * added / _ADD_MB_S

    def judge_curve(self, share: float, from_bytes: int = 0) -> Judgement:
        """Return what is said of a curve whose sizes from ``from_bytes`` on have this share of a healthy rate."""
        rows = tuple((size, self.healthy_us(size) / (share if size >= from_bytes else 1.0)) for size in SIZES)
        table = Table("osu", "5.9", self.collective, ("size", "avg"), ("B", "us"), rows, 1, True, {})
        (found,) = judge(ParsedOutput((table,)), _TARGET, nodes=Nodes(count=self.nodes, ranks_each=self.ranks_per_node))
        return found

    def fails_from(self, from_bytes: int) -> int:
        """Return the largest share of a healthy rate that fails, in per cent; 0 if even 1 % does not fail."""
        fails, holds = 0, 100
        while holds - fails > 1:
            share = (fails + holds) // 2
            if self.judge_curve(share / 100, from_bytes).state == "fail":
                fails = share
            else:
                holds = share
        return fails


def runs() -> Iterator[Run]:
    """Yield each run of the table, row by row."""
    for collective in COLLECTIVES:
        for nodes in NODES:
            for ranks in RANKS_PER_NODE:
                yield Run(collective, nodes, ranks)


def table_lines() -> Iterator[str]:
    """Yield the lines of the table, in Markdown."""
    cells: Mapping[str, list[str]] = {collective: [] for collective in COLLECTIVES}
    for run in runs():
        cells[run.collective].append(_cell(run))
    yield f"| collective | {' | '.join(f'{nodes} x {ranks}' for nodes in NODES for ranks in RANKS_PER_NODE)} |"
    yield f"| --- |{' --- |' * len(NODES) * len(RANKS_PER_NODE)}"
    for collective, row in cells.items():
        yield f"| {collective} | {' | '.join(row)} |"


def _cell(run: Run) -> str:
    all_sizes, long = run.fails_from(0), run.fails_from(64 << 10)
    words = f"{all_sizes}" if all_sizes == long else f"{all_sizes}, {long}"
    return words if run.judge_curve(1.0).state == "pass" else f"({words})"
