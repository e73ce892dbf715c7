"""Synthetic outputs of nccl-tests 2.17 in the form of its programs: each figure agrees with the others."""

from collections.abc import Mapping, Sequence

from railyard.benchmarks.gpu_collectives import find_collective

GIB = 1 << 30
#: Published for 12 nodes with eight H100 and eight NDR cards (references/classes/h100-8xndr400.yaml), GB/s.
CLASS_CURVE = {512 << 20: 356.01, GIB: 365.9, 2 * GIB: 380.73, 4 * GIB: 383.23, 8 * GIB: 386.56}
_HEAD = """#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)
"""


def ranks_of(hosts: Sequence[str], gpus: int, gpu: str = "NVIDIA H100 80GB HBM3", pid: int = 4000) -> str:
    """Return the list of ranks: this many GPUs of each host, host after host."""
    lines = [
        f"#  Rank {rank:2d} Group  0 Pid {pid + rank:6d} on {host:>10s} device {device:2d} "
        f"[0000:{device + 16:02x}:00] {gpu}"
        for rank, (host, device) in enumerate((host, device) for host in hosts for device in range(gpus))
    ]
    return "# Using devices\n" + "\n".join(lines) + "\n#\n"


def rows_of(name: str, ranks: int, curve: Mapping[int, float], in_place: Mapping[int, float] | None = None) -> str:
    """Return the rows of a curve, size in bytes -> busbw in GB/s, and the lines below them."""
    of = find_collective(name)
    redop = "sum" if "reduce" in name or name == "sendrecv" else "none"
    root = "0" if name in ("broadcast", "reduce", "gather", "scatter") else "-1"
    text, printed = _HEAD, []
    for size, wanted in curve.items():
        text += f"{size:>12d}{size // 4:>14d}     float{redop:>8s}{root:>8s}"
        for busbw in (wanted, (in_place or curve).get(size, wanted)):
            # with one rank busbw is always 0
            algbw = busbw / of.factor(ranks) if ranks > 1 else 1000.0
            printed.append(round(busbw, 2))
            text += f"  {size / algbw / 1000:.4f}  {algbw:.2f}  {busbw:.2f}       0"
        text += "\n"
    return f"{text}# Out of bounds values : 0 OK\n# Avg bus bandwidth    : {sum(printed) / len(printed):.4f}\n#\n"


def output(
    name: str,
    curve: Mapping[int, float],
    hosts: Sequence[str] = ("node1", "node2"),
    gpus: int = 8,
    *,
    gpu: str = "NVIDIA H100 80GB HBM3",
    in_place: Mapping[int, float] | None = None,
    pid: int = 4000,
) -> str:
    """Return a whole output of a program on this many hosts."""
    sizes = list(curve)
    return (
        "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807\n"
        f"# Collective test starting: {name}_perf\n"
        f"# nThread 1 nGpus 1 minBytes {sizes[0]} maxBytes {sizes[-1]} step: 2(factor) warmup iters: 5 iters: 20 "
        "agg iters: 1 validation: 1 graph: 0\n#\n"
        f"{ranks_of(hosts, gpus, gpu, pid)}{rows_of(name, len(hosts) * gpus, curve, in_place)}"
        f"# Collective test concluded: {name}_perf\n"
    )


def curve(peak: float, first: int = 64 << 20, last: int = 16 * GIB) -> dict[int, float]:
    """Return a curve that approaches its peak: each message takes a start of 100 us and then has a node's rate."""
    found, size = {}, first
    while size <= last:
        found[size] = round(peak * size / (size + 5_000_000), 2)
        size *= 2
    return found
