"""Which problems HPL and NPB get on nodes of several kinds: tests/golden/planned-problems.txt.

An expert of these benchmarks reads it, and a diff of it is the review of a change of plan. ``python -m
tests.planned_problems`` writes it again.
"""

from collections.abc import Iterator
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.base.terminal import table
from railyard.benchmarks.apps import hpl, npb
from railyard.benchmarks.table.applications import LEAST_S
from railyard.hardware.node import NodeHardware

PAGE = Path(__file__).parent / "golden" / "planned-problems.txt"
NODES = (1, 4, 16, 128)
#: Nodes of four generations, each with two processors: Xeon E5-2660 v3 (the published comparison), EPYC 7513, Xeon
#: 8480+, EPYC 9654. The memory is what a job may use. Source of clocks and operations: their makers' data sheets.
KINDS = (
    NodeHardware(cores=20, memory=119 << 30, base_ghz=2.6, flop_per_cycle=16),
    NodeHardware(cores=64, memory=240 << 30, base_ghz=2.6, flop_per_cycle=16),
    NodeHardware(cores=112, memory=500 << 30, base_ghz=2.0, flop_per_cycle=32),
    NodeHardware(cores=192, memory=750 << 30, base_ghz=2.4, flop_per_cycle=16),
)
_OF_HPL = ("HPL", "N", "memory", "P x Q", "nodes", "ranks", "threads", "seconds", "limit")
_OF_NPB = ("NPB", "class", "nodes", "ranks", "per node", "threads", "seconds")
#: An eighth of a time limit of 10 minutes.
BUDGET_S = 75.0


def page() -> str:
    """Return the text of the golden file."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "HPL: seconds are predicted. quick: an eighth of a time limit of 10 minutes. memory: the matrix's share."
    yield "NPB: one rank per core at most; seconds of computation. *: judged only if the network adds the rest to 20 s."
    for kind in KINDS:
        for nodes in NODES:
            peak = kind.peak_gflop_s(kind.base_ghz)
            yield ""
            yield f"== {nodes} x {kind.cores} cores, {kind.memory >> 30} GiB, {peak:.0f} Gflop/s per node"
            yield from table(_OF_HPL, [*_hpl(kind, nodes)], 100, right=range(1, len(_OF_HPL)))
            yield ""
            yield from table(_OF_NPB, [*_npb(kind, nodes)], 100, right=range(2, len(_OF_NPB)))


def _hpl(kind: NodeHardware, nodes: int) -> Iterator[tuple[str, ...]]:
    for size in hpl.SIZES:
        try:
            made = hpl.plan_size(size, kind, nodes, kind.cores, times=hpl.Times(BUDGET_S))
        except RailyardError:  # 80 ranks need two nodes
            yield (size, *("-",) * 8)
            continue
        problem = made.problem
        yield (
            *(size, str(problem.order), f"{100 * made.memory_share:.1f} %", f"{problem.rows} x {problem.columns}"),
            *(str(made.layout.nodes), str(made.layout.ranks), "1"),
            *(f"{made.predicted_s:.0f}", f"{made.limit_s or 600}"),
        )


def _npb(kind: NodeHardware, nodes: int) -> Iterator[tuple[str, ...]]:
    for name in npb.KERNELS:
        placed = npb.choose(name, nodes, kind.cores, kind.memory)
        short = "*" if placed.predicted_s < LEAST_S else ""
        yield (
            *(name, placed.problem, str(placed.nodes), str(placed.nodes * placed.ranks_per_node)),
            *(str(placed.ranks_per_node), "1", f"{placed.predicted_s:.1f}{short}"),
        )


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
