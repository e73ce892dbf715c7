"""A collective between GPUs as nccl-tests 2.17 prints it: every figure made of the bus bandwidth at each size."""

from typing import TYPE_CHECKING

from railyard.benchmarks.gpu.collectives import busbw
from railyard.benchmarks.table.nccl import collective_of

if TYPE_CHECKING:
    from railyard.provision.replay.texts import Made

#: nccl-tests' own iterations, and what it prints of a GPU that nobody had.
ITERATIONS, WARM_UPS, NO_GPU = 20, 5, "a GPU of the source"
_HALF = f"{'time':>10}{'algbw':>8}{'busbw':>8}{'#wrong':>8}"
_UNITS = f"{'(us)':>10}{'(GB/s)':>8}{'(GB/s)':>8}{'':>8}"
_HEADING = (
    f"#\n#{'out-of-place':>75}{'in-place':>34}\n"
    f"#{'size':>11}{'count':>14}{'type':>10}{'redop':>8}{'root':>8}{_HALF}{_HALF}\n"
    f"#{'(B)':>11}{'(elements)':>14}{'':>26}{_UNITS}{_UNITS}\n"
)


def nccl(made: "Made", name: str) -> str:
    """Return the output of one of nccl-tests over all ranks; ``made`` has its bus bandwidths as those of its rows."""
    collective, nodes = collective_of(made.key) or "", made.ranks // made.ranks_per_node
    head = (
        f"# nccl-tests version 2.17.6\n# Collective test starting: {collective}_perf\n# {made.sentence}\n"
        f"# nThread 1 nGpus 1 minBytes {made.sizes[0]} maxBytes {made.sizes[-1]} step: 2(factor) warmup iters: "
        f"{WARM_UPS} iters: {ITERATIONS} agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n"
    )
    for rank in range(made.ranks):
        node, gpu = divmod(rank, made.ranks_per_node)
        head += f"#  Rank {rank:2d} Group  0 Pid {rank + 1} on node{node + 1:0{len(str(nodes))}d} device {gpu:2d} "
        head += f"[0000:00:00] {NO_GPU}\n"
    redop = "sum" if collective in ("all_reduce", "reduce_scatter", "sendrecv") else "none"
    root, wrong = 0 if collective == "broadcast" else -1, "N/A" if collective in ("alltoall", "sendrecv") else "0"
    rows, printed = "", []
    for size, _, value in made.rows:
        time_us = busbw(collective, size, 1.0, made.ranks) / value
        half = f"{time_us:>10.2f}{size / time_us / 1000:>8.2f}{value / 1000:>8.2f}"
        printed.append(round(value / 1000, 2))
        rows += f"{size:>12}{size // 4:>14}{'float':>10}{redop:>8}{root:>8}{half}{'0':>8}{half}{wrong:>8}\n"
    mean = sum(printed) / len(printed)
    return (
        f"{head}{_HEADING}{rows}# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {mean:.4f}\n#\n"
        f"# Collective test concluded: {collective}_perf\n"
    )
