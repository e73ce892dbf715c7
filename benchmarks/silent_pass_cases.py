"""The thirty broken outputs of the comparison in silent_passes.py, each in the forms that can show its fault.

All are synthetic: two nodes with Slingshot 11 (200 Gbit/s), which is what the references of one of the peers are
for. ``CASES[0]`` is healthy, and every judge must pass it. A case names the kind of its fault, so that a peer that does
not claim to check this kind can be told from one that does. Rates are in MB/s (10^6 B/s), times in us, sizes in bytes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

#: What one judge reads: two benchmarks of OSU, nccl-tests, or the rates of all pairs of nodes.
Form = Literal["osu_bw", "osu_latency", "nccl", "pairs"]
Kind = Literal["level", "curve", "limit", "cut", "figure", "data", "warning", "exit", "runs", "pairs", "path"]

SIZES = tuple(2**n for n in range(23))
LARGEST = SIZES[-1]
RATE = 24_200.0  # MB/s of a good osu_bw over Slingshot 11
NODES = 5  # of the matrix of pairs
_KIB, _MIB = 1024, 1024 * 1024
#: The bus bandwidth of a healthy all-reduce of 16 GPUs on four nodes, each with four such NICs, in GB/s.
_BUS, _GPUS, _RANKS = 92.0, 4, 16

Rate = Callable[[int], float]
Pairs = Callable[[int, int], float]
Edit = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Case:
    """One output, and what is wrong with it.

    ``rate``: the share of the healthy rate at a size. ``edit`` changes the printed text. ``pairs``: the share of the
    healthy rate between two nodes. ``exit_code``: that of the job. ``rails``: how many the run was asked to use.
    """

    name: str
    planted: str
    kind: Kind | None
    forms: tuple[Form, ...]
    rate: Rate = lambda size: 1.0
    edit: Edit = lambda text: text
    pairs: Pairs = lambda one, other: 1.0
    exit_code: int = 0
    rails: int = 1
    latency: Mapping[int, float] = field(default_factory=dict)
    in_place: float = 1.0
    wrong: int = 0

    def text(self, form: Form, *, validated: bool = False) -> str:
        """Return the output. ``validated``: OSU was asked to check its data, so that it prints a column for it."""
        writers: Mapping[Form, Callable[[Case, bool], str]] = {
            "osu_bw": _osu_bw,
            "osu_latency": _osu_latency,
            "nccl": _nccl,
            "pairs": _pairs,
        }
        return self.edit(writers[form](self, validated))


def _osu(title: str, column: str, rows: Mapping[int, float], validated: bool) -> str:
    check = f"{'Validation':>20}" if validated else ""
    lines = [f"\n# OSU MPI {title} Test v7.2", "# Datatype: MPI_CHAR.", f"# Size{column:>22}{check}"]
    lines += [f"{size:<8}{value:20.2f}" + (f"{'Pass':>20}" if validated else "") for size, value in rows.items()]
    return "\n".join(lines) + "\n"


def _osu_bw(case: Case, validated: bool) -> str:
    rows = {size: case.rate(size) * size / (0.3 + size / RATE) for size in SIZES}
    return _osu("Bandwidth", "Bandwidth (MB/s)", rows, validated)


def _osu_latency(case: Case, validated: bool) -> str:
    good = {size: (1.9 + size / RATE) / case.rate(size) for size in SIZES}
    return _osu("Latency", "Avg Latency(us)", good | dict(case.latency), validated)


def _nccl(case: Case, validated: bool) -> str:
    lines = ["# nThread 1 nGpus 1 minBytes 1024 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20"]
    lines[0] += f" agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n{_nccl_ranks()}#"
    lines += [f"#{'out-of-place':>74}{'in-place':>47}"]
    lines += [
        "#       size         count      type   redop    root     time   algbw   busbw #wrong"
        "     time   algbw   busbw #wrong",
        "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)       "
        "     (us)  (GB/s)  (GB/s)       ",
    ]
    buses = []
    for size in (2**n for n in range(10, 31)):
        wrong = case.wrong if size == 2**30 else 0
        columns = ""
        for share in (1.0, case.in_place):
            time_us = (30.0 + size * 2 * (_RANKS - 1) / _RANKS / (_BUS * 1000)) / case.rate(size) / share
            rate = size / time_us / 1000
            buses.append(rate * 2 * (_RANKS - 1) / _RANKS)
            columns += f"{time_us:>9.2f}{rate:>8.2f}{buses[-1]:>8.2f}{wrong:>7}"
        lines.append(f"{size:>12}{size // 4:>14}{'float':>10}{'sum':>8}{-1:>8}{columns}")
    lines.append(f"# Out of bounds values : {2 * case.wrong} {'FAILED' if case.wrong else 'OK'}")
    return "\n".join(lines) + f"\n# Avg bus bandwidth    : {sum(buses) / len(buses):g} \n#\n\n"


def _nccl_ranks() -> str:
    ranks = ((rank, divmod(rank, _GPUS)) for rank in range(_RANKS))
    return "".join(
        f"#  Rank {rank:2d} Group  0 Pid {4100 + rank:6d} on     gpu-{node:02d} device {gpu:2d} [0x{16 + gpu:02x}] "
        "NVIDIA H100 80GB HBM3\n"
        for rank, (node, gpu) in ranks
    )


def pair_rates(case: Case) -> Mapping[tuple[int, int], float]:
    """Return the rate (MB/s, one way) from one node to another, by their numbers."""
    nodes = range(NODES)
    return {(one, other): RATE * case.pairs(one, other) for one in nodes for other in nodes if one != other}


def _pairs(case: Case, validated: bool) -> str:
    """Return the matrix in the form of ClusterKit's report."""
    rates, nodes = pair_rates(case), range(NODES)
    lines = ["Rank: " + "".join(f"{node:>9}" for node in nodes)]
    for one in nodes:
        cells = " ".join(f"{rates.get((one, other), 0.0):8.1f}" for other in nodes)
        lines.append(f"{one:4d} (node{one + 1:02d}): {cells}")
    figures = (("Minimum", min(rates.values())), ("Maximum", max(rates.values())))
    lines += [f"{name} bandwidth: {value:.1f} MB/s" for name, value in figures]
    return "\n".join([*lines, f"Average bandwidth: {sum(rates.values()) / len(rates):.1f} MB/s"]) + "\n"


def _slow_down(low: int, high: int, share: float) -> Rate:
    return lambda size: share if low <= size <= high else 1.0


def _row(size: int, value: str) -> Edit:
    """Return what replaces the figure of one size."""

    def edit(text: str) -> str:
        rows = (line.split(maxsplit=2) for line in text.splitlines())
        lines = zip(text.splitlines(), rows, strict=True)
        changed = [line.replace(row[1], value, 1) if row and row[0] == str(size) else line for line, row in lines]
        return "\n".join(changed) + "\n"

    return edit


def _drop_rows(size: int, until: int | None = None) -> Edit:
    """Return what leaves out the rows from one size up to another one, and of one size if there is no other one."""

    def is_left_out(line: str) -> bool:
        first = (line.split() or [""])[0]
        return first.isdigit() and size <= int(first) <= (until or size)

    return lambda text: "".join(line for line in text.splitlines(keepends=True) if not is_left_out(line))


def _cut_number(text: str) -> str:
    """Return the text cut at the point of its last figure."""
    return text[: text.rindex(".")]


def _with_failed_row(text: str) -> str:
    return (
        "\n".join(line.replace("Pass", "Fail") if line.startswith("65536 ") else line for line in text.splitlines())
        + "\n"
    )


def _two_runs(half_first: bool) -> Edit:
    def edit(text: str) -> str:
        slow = text
        for line in text.splitlines():
            fields = line.split()
            if len(fields) > 1 and fields[0].isdigit():
                slow = slow.replace(line, line.replace(fields[1], f"{float(fields[1]) / 2:.2f}", 1))
        return slow + text if half_first else text + slow

    return edit


def _append(words: str) -> Edit:
    return lambda text: text + words


def _prepend(words: str) -> Edit:
    return lambda text: words + text


_RETRIES = (
    "[1700000000.123456] [node02:4242 :0]    ib_mlx5_log.c:171  UCX  ERROR Transport retry count exceeded on "
    "mlx5_0:1/RoCE (synd 0x15 vend 0x81 hw_synd 0/0)\n"
)
_ABORT = "Abort(15) on node 1 (rank 1 in comm 0): Fatal error in PMPI_Finalize: Other MPI error\n"
_RATES: tuple[Form, ...] = ("osu_bw", "nccl")
_BW: tuple[Form, ...] = ("osu_bw",)
_LATENCY: tuple[Form, ...] = ("osu_latency",)

CASES: tuple[Case, ...] = (
    Case("healthy", "nothing", None, ("osu_bw", "osu_latency", "nccl", "pairs")),
    Case("half", "half of the rate at every size", "level", _RATES, rate=lambda size: 0.5),
    Case("11-less", "11 % less at every size", "level", _RATES, rate=lambda size: 0.89),
    Case("tcp-latency", "a latency of 30 us, as TCP has it", "level", _LATENCY, rate=lambda size: 1.9 / 30),
    Case("dip", "a fifth of the rate from 16 to 512 KiB", "curve", _RATES, rate=_slow_down(16 * _KIB, 512 * _KIB, 0.2)),
    Case("one-size", "a twentieth of the rate at 64 KiB alone", "curve", _RATES, rate=_slow_down(2**16, 2**16, 0.05)),
    Case("small", "a tenth of the rate below 256 B", "curve", _BW, rate=_slow_down(1, 128, 0.1)),
    Case("late", "twenty times the latency from 16 to 512 KiB", "curve", _LATENCY, rate=_slow_down(2**14, 2**19, 0.05)),
    Case("too-fast", "2.5 times the rate: both ranks were on one node", "limit", _RATES, rate=lambda size: 2.5),
    Case("no-time", "a latency of 0.00 us at every size", "limit", _LATENCY, latency=dict.fromkeys(SIZES, 0.0)),
    Case("empty", "no output at all", "cut", (*_RATES, *_LATENCY), edit=lambda text: ""),
    Case("echo", "only the echo of the command", "cut", _BW, edit=lambda text: "+ srun osu_bw -m 1:4194304\n"),
    Case("end-lost", "the rows from 1 to 4 MiB are missing", "cut", _RATES, edit=_drop_rows(_MIB, LARGEST)),
    Case("number-cut", "the last figure cut at its point, and the end gone", "cut", _BW, edit=_cut_number),
    Case("row-lost", "the row of 256 KiB is missing", "cut", _RATES, edit=_drop_rows(256 * _KIB)),
    Case("nan", "NaN at 128 KiB", "figure", _BW, edit=_row(128 * _KIB, "nan")),
    Case("inf", "an infinite rate at 4 MiB", "figure", _BW, edit=_row(LARGEST, "inf")),
    Case("comma", "a decimal comma at each size", "figure", _BW, edit=lambda text: text.replace(".", ",")),
    Case("unit", "a heading in MiB/s", "figure", _BW, edit=lambda text: text.replace("(MB/s)", "(MiB/s)")),
    Case("bad-data", "OSU's check of the data failed at 64 KiB", "data", _BW, edit=_with_failed_row),
    Case("wrong", "nccl-tests counted 12 wrong values", "data", ("nccl",), wrong=12),
    Case("retries", "UCX's error of a link, and a good table", "warning", _RATES, edit=_prepend(_RETRIES)),
    Case("abort", "MPI's abort behind the table, exit code 0", "exit", _RATES, edit=_append(_ABORT)),
    Case("exit-code", "exit code 137 behind a good table", "exit", _BW, exit_code=137),
    Case("slow-second", "a good table, then one of half of the rate", "runs", _BW, edit=_two_runs(half_first=False)),
    Case("slow-first", "a table of half of the rate, then a good one", "runs", _BW, edit=_two_runs(half_first=True)),
    Case("in-place", "in-place half as fast as out-of-place", "runs", ("nccl",), in_place=0.5),
    Case("one-pair", "one pair of nodes at half", "pairs", ("pairs",), pairs=lambda a, b: 0.5 if a + b == 1 else 1.0),
    Case("all-pairs", "every pair of nodes at half", "level", ("pairs",), pairs=lambda a, b: 0.5),
    Case("idle-rail", "one of two rails idle", "path", _BW, rails=2),
    Case("stale", "the good table of an earlier run", "path", ("osu_bw", "osu_latency", "nccl")),
)
