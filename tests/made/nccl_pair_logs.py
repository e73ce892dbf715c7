"""Logs of nccl-tests between two nodes at a time, made for a cluster with planted faults.

A node has eight GPUs, each with a NIC on its own rail. A job with the same GPUs of both nodes sends over the same rail
(PXN); any other job sends from each GPU to each. A job has the rate of its slowest path, with some noise.
"""

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

End = tuple[str, int]
#: A path's share of the healthy rate; None: no result.
Rate = Callable[[End, End], float | None]

BUSES = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")
#: GB/s of a healthy pair, by the number of GPUs of each node.
HEALTHY = {8: 23.6, 4: 23.0, 1: 13.5}
SIZES = tuple(1 << power for power in range(25, 31))
FAILURE = "{node}: Test NCCL failure common.cu:401 'remote process exited or there was a network error / '"


@dataclass(frozen=True)
class PairLog:
    """One log: its name and its text."""

    name: str
    text: str


def healthy(_a: End, _b: End) -> float | None:
    """Return the shares of all paths of a healthy cluster."""
    return 1.0


def slow(share: float | None, *ends: End, good_together: bool = False) -> Rate:
    """Return a cluster in which these GPUs are slow with all others, and with each other unless ``good_together``."""

    def rate(a: End, b: End) -> float | None:
        inside = [end in ends for end in (a, b)]
        bad = inside[0] != inside[1] if good_together else any(inside)
        return share if bad else 1.0

    return rate


def node(name: str) -> tuple[End, ...]:
    """Return all GPUs of a node."""
    return tuple((name, gpu) for gpu in range(len(BUSES)))


def names(count: int) -> tuple[str, ...]:
    """Return the names of this many nodes."""
    return tuple(f"n{number:02}" for number in range(1, count + 1))


def logs(nodes: Sequence[str], rate: Rate, gpus: Sequence[int] = (8, 4, 1), seed: int = 1) -> Iterator[PairLog]:
    """Yield the log of every pair with each number of GPUs; jobs with fewer than eight GPUs use different ones."""
    noise = random.Random(seed)
    for count in gpus:
        for turn, (a, b) in enumerate(itertools.combinations(nodes, 2)):
            first, second = _gpus_of_turn(count, turn)
            paths = _paths(a, b, first, second)
            shares = [rate(*path) for path in paths]
            worst = None if None in shares else min(share for share in shares if share is not None)
            value = None if worst is None else HEALTHY[count] * worst * noise.uniform(0.995, 1.005)
            yield PairLog(f"nccl_G{count}_{a}_{b}.log", text(a, b, first, second, value, seed + turn))


def _gpus_of_turn(count: int, turn: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if count == 1:
        return (turn % 8,), ((turn // 8 + 3 * turn) % 8,)
    halves = tuple(tuple(range(start, start + count)) for start in range(0, 8, count))
    return halves[turn % len(halves)], halves[(turn // 2) % len(halves)]


def _paths(a: str, b: str, first: Sequence[int], second: Sequence[int]) -> list[tuple[End, End]]:
    if first == second:
        return [((a, gpu), (b, gpu)) for gpu in first]
    return [((a, one), (b, other)) for one in first for other in second]


def text(
    a: str,
    b: str,
    first: Sequence[int],
    second: Sequence[int],
    busbw_gb_s: float | None,
    pid: int = 1,
    *,
    wrong: int = 0,
) -> str:
    """Return a log of alltoall_perf; without a rate it ends like NCCL when the other process is gone."""
    ranks = [*((a, gpu) for gpu in first), *((b, gpu) for gpu in second)]
    count = len(ranks)
    lines = [
        "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807",
        "# Collective test starting: alltoall_perf",
        f"# nThread 1 nGpus 1 minBytes {SIZES[0]} maxBytes {SIZES[-1]} step: 2(factor) warmup iters: 5 iters: 20 "
        "agg iters: 1 validation: 1 graph: 0",
        "#",
        "# Using devices",
        *(
            f"#  Rank {rank:2} Group  0 Pid {1000 * pid + rank:6} on {host} device {rank % max(len(first), 1):2} "
            f"[0000:{BUSES[gpu]}:00] NVIDIA H100 80GB HBM3"
            for rank, (host, gpu) in enumerate(ranks)
        ),
        "#",
        f"#{'out-of-place':>74}{'in-place':>31}",
        f"#{'size':>11}{'count':>14}{'type':>10}{'redop':>8}{'root':>8}"
        + 2 * f"{'time':>9}{'algbw':>8}{'busbw':>8} #wrong",
        f"#{'(B)':>11}{'(elements)':>14}{'':26}" + 2 * f"{'(us)':>9}{'(GB/s)':>8}{'(GB/s)':>8}       ",
    ]
    if busbw_gb_s is None:
        return "\n".join([*lines, FAILURE.format(node=a), f" .. {a} pid {pid}: Test failure common.cu:519", ""])
    factor = (count - 1) / count
    for size in SIZES:
        time_us = size * factor / (busbw_gb_s * 1e3)
        half = f"{time_us:8.2f} {busbw_gb_s / factor:7.2f} {busbw_gb_s:7.2f}"
        lines.append(f"{size:12} {size // 8 // count:13}    double    none      -1 {half} {wrong:7} {half}     N/A")
    lines += [
        f"# Out of bounds values : {wrong * len(SIZES)} {'FAILED' if wrong else 'OK'}",
        f"# Avg bus bandwidth    : {busbw_gb_s:.4f} ",
        "#",
        "# Collective test concluded: alltoall_perf",
        "",
    ]
    return "\n".join(lines)
