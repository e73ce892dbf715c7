"""A cluster with GPUs, and what nccl-tests and NCCL print on it; all of it is synthetic."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from railyard.benchmarks.gpu_collectives import busbw
from railyard.site.site import Site, site_at

#: Four nodes of four GPUs, each with a NIC of its own.
SYSTEM = """\
system: gpus
description: A cluster with GPUs
scheduler: slurm
launcher: srun
nodes: {names: [g1, g2, g3, g4], hardware: {cores: 64, memory: 512G}}
fabrics:
  ndr:
    description: NDR
    kind: ib
    link: ib-ndr
    slot: pcie5-x16
    rails:
      - {device: mlx5_0, port: 1, counters: netdev}
      - {device: mlx5_1, port: 1, counters: netdev}
      - {device: mlx5_2, port: 1, counters: netdev}
      - {device: mlx5_3, port: 1, counters: netdev}
stacks:
  openmpi:
    prefix: /opt/openmpi
    modules: [openmpi/5]
    benchmarks: {osu: /opt/osu}
  nccl:
    mpi: openmpi
    prefix: /opt/nccl
    benchmarks: {nccl: /opt/nccl-tests}
gpus:
  per_node: 4
  kind: NVIDIA H100 SXM5
  nvlink: 4
  slot: pcie5-x16
  nearest: {mlx5_0: [0], mlx5_1: [1], mlx5_2: [2], mlx5_3: [3]}
"""
REPORT_ONLY = "report_only: made up for tests\n"
GPUS = 4
RAILS = tuple(f"mlx5_{number}:1" for number in range(4))
SIZES = (1 << 28, 1 << 29, 1 << 30)


def gpu_site(folder: Path, more: str = REPORT_ONLY, system: str = SYSTEM) -> Site:
    """Return the site; ``more`` is added to its file."""
    (folder / "systems").mkdir(exist_ok=True)
    (folder / "references").mkdir(exist_ok=True)
    (folder / "systems" / "gpus.yaml").write_text(system + more, encoding="utf-8")
    return site_at(folder, "gpus")


def output(
    collective: str,
    nodes: Sequence[str],
    rates_mb_s: Mapping[int, float],
    *,
    gpus: int = GPUS,
    groups: int = 1,
    iterations: int = 20,
    log: Sequence[str] = (),
) -> str:
    """Return what nccl-tests 2.17 prints: size in bytes -> busbw in MB/s; ``log`` is NCCL's, before the table.

    ``groups``: ranks are dealt to them by number (NCCL_TESTS_SPLIT).
    """
    hosts = [node for node in nodes for _ in range(gpus)]
    ranks = len(hosts) // groups
    head = [
        "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807",
        f"# Collective test starting: {collective}_perf",
        f"# nThread 1 nGpus 1 minBytes {min(rates_mb_s)} maxBytes {max(rates_mb_s)} step: 2(factor) warmup iters: 5 "
        f"iters: {iterations} agg iters: 1 validation: 1 graph: 0",
        "#",
        "# Using devices",
    ]
    for rank, host in enumerate(hosts):
        head.append(
            f"#  Rank {rank:2d} Group {rank % groups:2d} Pid {1000 + rank} on {host:>4} device {rank % gpus:2d} "
            f"[0000:1b:00] NVIDIA H100 80GB HBM3"
        )
    reduces = collective in ("all_reduce", "reduce_scatter")
    root = 0 if collective == "broadcast" else -1
    # sendrecv has an operation, too
    redop = "sum" if reduces or collective == "sendrecv" else "none"
    rows, printed = [], []
    for size, rate in rates_mb_s.items():
        time_us = busbw(collective, size, 1.0, ranks) / rate
        alg, bus = f"{size / time_us / 1000:.2f}", f"{busbw(collective, size, time_us, ranks) / 1000:.2f}"
        printed.append(float(bus))
        wrong = "N/A" if collective in ("alltoall", "sendrecv") else "0"
        rows.append(
            f"{size:>12}{size // 4:>14}{'float':>10}{redop:>8}{root:>8}{time_us:>9.2f}{alg:>8}{bus:>8}{'0':>8}"
            f"{time_us:>9.2f}{alg:>8}{bus:>8}{wrong:>7}"
        )
    half = f"{'time':>9}{'algbw':>8}{'busbw':>8}{'#wrong':>8}"
    units = f"{'(us)':>9}{'(GB/s)':>8}{'(GB/s)':>8}{'':>8}"
    heading = [
        "#",
        f"#{'out-of-place':>74}{'in-place':>33}",
        f"#{'size':>11}{'count':>14}{'type':>10}{'redop':>8}{'root':>8}{half}{half}",
        f"#{'(B)':>11}{'(elements)':>14}{'':>26}{units}{units}",
    ]
    end = [
        "# Out of bounds values : 0 OK",
        f"# Avg bus bandwidth    : {sum(printed) / len(printed):.4f}",
        "#",
        f"# Collective test concluded: {collective}_perf",
    ]
    return "\n".join([*head, *log, *heading, *rows, *end, ""])


def log_line(node: str, gpu: int, text: str) -> str:
    """Return a line of NCCL's log, of the process of one GPU."""
    return f"{node}:{1000 + gpu}:{1000 + gpu} [{gpu}] NCCL INFO {text}"


def over_nics(nodes: Sequence[str], nic_of: Mapping[int, int], way: str = "NET/IB/{nic}/GDRDMA") -> list[str]:
    """Return a log in which each GPU of each node sends to the next node by a NIC, by its number."""
    using = " ".join(f"[{number}]{rail}/IB" for number, rail in enumerate(RAILS))
    lines = []
    for node in nodes:
        for gpu, nic in nic_of.items():
            lines += [
                log_line(node, gpu, f"NET/IB : Using {using} [RO]; OOB eth0:10.0.0.1<0>"),
                log_line(node, gpu, "Using network IB"),
                log_line(
                    node, gpu, f"Channel 00/0 : {gpu}[{gpu}] -> {gpu + 4}[{gpu}] [send] via {way.format(nic=nic)}"
                ),
            ]
    return lines
