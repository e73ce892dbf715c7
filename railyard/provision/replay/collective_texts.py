"""A collective between GPUs as nccl-tests 2.17 prints it: every figure is from the bus bandwidth at each size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from railyard.benchmarks.gpu.collectives import busbw
from railyard.benchmarks.table.nccl import collective_of

if TYPE_CHECKING:
    from railyard.provision.replay.texts import OutputPlan

#: nccl-tests' own iterations, and the name of a GPU that does not exist.
ITERATIONS, WARM_UPS, NO_GPU = 20, 5, "no real GPU"
_HALF = f"{'time':>10}{'algbw':>8}{'busbw':>8}{'#wrong':>8}"
_UNITS = f"{'(us)':>10}{'(GB/s)':>8}{'(GB/s)':>8}{'':>8}"
_HEADING = (
    f"#\n#{'out-of-place':>75}{'in-place':>34}\n"
    f"#{'size':>11}{'count':>14}{'type':>10}{'redop':>8}{'root':>8}{_HALF}{_HALF}\n"
    f"#{'(B)':>11}{'(elements)':>14}{'':>26}{_UNITS}{_UNITS}\n"
)


@dataclass(frozen=True, slots=True)
class PrintedRun:
    """What a run prints: size in bytes -> busbw in MB/s; ``hosts`` has the node of each rank, ``gpus`` is per node.

    ``groups``: ranks are dealt to them by their number. ``log`` has the library's lines before the table.
    ``first_gpu``: the GPU of each node's first rank (NCCL_TESTS_DEVICE). ``first_pid``: the number of rank 0's process.
    """

    collective: str
    rates_mb_s: Mapping[int, float]
    hosts: Sequence[str]
    gpus: int
    sentence: str
    groups: int = 1
    iterations: int = ITERATIONS
    warm_ups: int = WARM_UPS
    checked: bool = True
    log: Sequence[str] = ()
    first_gpu: int = 0
    first_pid: int = 1


def bus_of(gpu: int) -> str:
    """Return the bus address of a GPU of a node that nobody has."""
    return f"0000:{0x10 + 8 * gpu:02x}:00"


def _device(rank: int, run: PrintedRun) -> int:
    return (run.first_gpu + rank % run.gpus) % max(run.gpus, run.first_gpu + 1)


def nccl(made: "OutputPlan", name: str) -> str:
    """Return the output of one of nccl-tests over all ranks; the rows of ``made`` have the bus bandwidths."""
    nodes = made.ranks // made.ranks_per_node
    digits = len(str(nodes))
    hosts = [f"node{rank // made.ranks_per_node + 1:0{digits}d}" for rank in range(made.ranks)]
    rates = {size: value for size, _, value in made.rows}
    return print_run(PrintedRun(collective_of(made.key) or "", rates, hosts, made.ranks_per_node, made.sentence))


def before_its_end(run: PrintedRun) -> str:
    """Return what a run prints before its first row: where a library ends it, there is no more."""
    sizes = list(run.rates_mb_s)
    lines = [
        "# nccl-tests version 2.17.6",
        f"# Collective test starting: {run.collective}_perf",
        f"# {run.sentence}",
        f"# nThread 1 nGpus 1 minBytes {sizes[0]} maxBytes {sizes[-1]} step: 2(factor) warmup iters: {run.warm_ups} "
        f"iters: {run.iterations} agg iters: 1 validation: {int(run.checked)} graph: 0",
        "#",
        "# Using devices",
    ]
    lines += [
        f"#  Rank {rank:2d} Group {rank % run.groups:2d} Pid {run.first_pid + rank} on {host} device "
        f"{_device(rank, run):2d} [{bus_of(_device(rank, run))}] {NO_GPU}"
        for rank, host in enumerate(run.hosts)
    ]
    return "\n".join([*lines, *run.log, ""])


def print_run(run: PrintedRun) -> str:
    """Return the output of one run."""
    ranks = len(run.hosts) // run.groups
    redop = "sum" if run.collective in ("all_reduce", "reduce_scatter", "sendrecv") else "none"
    root = 0 if run.collective == "broadcast" else -1
    wrong = "0" if run.checked else "N/A"
    in_place = "N/A" if run.collective in ("alltoall", "sendrecv") else wrong
    rows, shown = "", []
    for size, value in run.rates_mb_s.items():
        time_us = busbw(run.collective, size, 1.0, ranks) / value
        # Rounded as nccl-tests rounds a time, so no column runs into the next.
        digits = 0 if time_us >= 10000 else 1 if time_us >= 100 else 2
        half = f"{time_us:>10.{digits}f}{size / time_us / 1000:>8.2f}{value / 1000:>8.2f}"
        shown.append(round(value / 1000, 2))
        rows += f"{size:>12}{size // 4:>14}{'float':>10}{redop:>8}{root:>8}{half}{wrong:>8}{half}{in_place:>8}\n"
    return (
        f"{before_its_end(run)}{_HEADING}{rows}# Out of bounds values : 0 OK\n"
        f"# Avg bus bandwidth    : {sum(shown) / len(shown):.4f}\n#\n"
        f"# Collective test concluded: {run.collective}_perf\n"
    )
