"""What nccl-tests printed from March 2019 to June 2020: one bandwidth twice; all of it is synthetic."""

from collections.abc import Mapping


def early(program: str, times_us: Mapping[int, float], ranks: int, share: float | None = None) -> str:
    """Return an output of all_gather or reduce_scatter on one node: size in bytes -> time in us.

    ``share`` of size over time is both bandwidths: (n-1)/n. With 1 it is also all_reduce's of two ranks.
    """
    share = (ranks - 1) / ranks if share is None else share
    redop = {"all_gather": "", "reduce_scatter": "     sum"}[program]
    head = "" if program == "all_gather" else "   redop"
    rows, busbw = [], []
    for size, time in times_us.items():
        rate = size * share / time / 1000
        busbw.append(round(rate, 2))
        half = f"  {time:>7.2f}  {rate:>6.2f}  {rate:>6.2f}  0e+00"
        rows.append(f"{size:>12}  {size // ranks // 4:>12}   float{redop}{half}{half}")
    blank = " " * len(head)
    halves = "     time   algbw   busbw  error     time   algbw   busbw  error"
    sizes = list(times_us)
    lines = [
        f"# nThread 1 nGpus {ranks} minBytes {sizes[0]} maxBytes {sizes[-1]} step: {sizes[1] // sizes[0]}(factor) "
        "warmup iters: 5 iters: 20 validation: 1 ",
        "#",
        "# Using devices",
        *(f"#   Rank  {rank} Pid   4100 on     gpu-00 device  {rank} [0x{rank}b] Tesla V100" for rank in range(ranks)),
        "#",
        f"#                              {blank}          out-of-place                       in-place          ",
        f"#       size         count    type{head}{halves}",
        f"#        (B)    (elements)        {blank}     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       ",
        *rows,
        "# Out of bounds values : 0 OK",
        f"# Avg bus bandwidth    : {sum(busbw) / len(busbw):.6g} ",
    ]
    return "\n".join(lines) + "\n#\n"
