"""A curve as its tool prints it (such as OSU 7.4, IMB 2021.11 or NetPIPE 3.7.2), with a line that says so.

Each function is pure: the same curve gives the same bytes. The texts have no date, host, address or kernel.

Of a collective between GPUs (nccl-tests 2.17), every figure is from the bus bandwidth at each size.

A published figure of an application in the form that it prints (HPL 2.3, WRF 3.8), with a line that says so.

Nothing is known about such an application but its patterns. So the simplest text that each may match is written, and
then the patterns read it. If they do not read the right value, it is refused.
"""

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from railyard.base.errors import RailyardError
from railyard.benchmarks import model
from railyard.benchmarks.apps import hpl, installed_applications
from railyard.benchmarks.apps.installed_applications import SECONDS, VALUE, Application
from railyard.benchmarks.gpu_collectives import busbw
from railyard.benchmarks.metrics import messages_a_time
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.nccl import collective_of
from railyard.benchmarks.table.osu import BUFFERS
from railyard.benchmarks.table.perftest import DEVICE
from railyard.parsers import osu_headings
from railyard.parsers.lines import BINARY_MB

_SECONDS = 10  # iperf3's own default; a synthetic run took no time
#: nccl-tests' own iterations, and the name of a GPU that does not exist.
ITERATIONS, WARM_UPS, NO_GPU = 20, 5, "no real GPU"
_HALF = f"{'time':>10}{'algbw':>8}{'busbw':>8}{'#wrong':>8}"
_UNITS = f"{'(us)':>10}{'(GB/s)':>8}{'(GB/s)':>8}{'':>8}"
_HEADING = (
    f"#\n#{'out-of-place':>75}{'in-place':>34}\n"
    f"#{'size':>11}{'count':>14}{'type':>10}{'redop':>8}{'root':>8}{_HALF}{_HALF}\n"
    f"#{'(B)':>11}{'(elements)':>14}{'':>26}{_UNITS}{_UNITS}\n"
)


def iperf3(made: "OutputPlan", name: str) -> str:
    """Return a run of TCP one way; ``name`` says how many streams (``iperf3/4-streams``), or there is one."""
    streams = int(name.partition("/")[2].removesuffix("-streams") or 1)
    _, _, bandwidth_mb_s = made.rows[-1]
    seconds: float = made.amount_bytes / bandwidth_mb_s / 1e6 if made.amount_bytes else _SECONDS
    summed = {
        "start": 0,
        "end": seconds,
        "seconds": seconds,
        "bytes": made.amount_bytes or round(bandwidth_mb_s * 1e6 * seconds),
        "bits_per_second": bandwidth_mb_s * 8e6,
    }
    whole = {
        "start": {
            "version": "iperf 3.12",
            "test_start": {"protocol": "TCP", "num_streams": streams, "duration": _SECONDS, "reverse": 0},
        },
        "intervals": [],
        "end": {"sum_sent": {**summed, "sender": True}, "sum_received": {**summed, "sender": False}},
    }
    return f"# {made.sentence}\n{json.dumps(whole, indent=1)}\n"


#: The repetitions that IMB, NetPIPE and perftest print in an output that is not from a run: there were none.
REPETITIONS = 1
#: The release in an output of IMB; it determines how often IMB warms up.
IMB_VERSION = "2021.11"


@dataclass(frozen=True, slots=True)
class OutputPlan:
    """What to print: a benchmark's key, message sizes in bytes with a message's time in us, ranks and passes.

    ``sentence`` is the remark that calls the output synthetic, and says from what it was made. ``repetitions`` are per
    size, if the run's words set them. ``window`` is the number of OSU's messages in flight, or of writes in a list of
    cxi_write_bw, whose repetitions are single writes. ``amount_bytes`` is how much iperf3 was set to move.
    ``ranks_per_node`` is for collectives between GPUs, which print where each rank is. ``validated``: OSU's own check
    of the data was requested.
    """

    key: str
    sizes: tuple[int, ...]
    times_us: tuple[float, ...]
    sentence: str
    ranks: int = 2
    passes: int = 1
    repetitions: tuple[int, ...] = ()
    window: int = 64
    validated: bool = False
    amount_bytes: int = 0
    ranks_per_node: int = 1

    @property
    def counts(self) -> tuple[int, ...]:
        """How often each size was repeated."""
        return self.repetitions or (REPETITIONS,) * len(self.sizes)

    @property
    def rows(self) -> list[tuple[int, float, float]]:
        """Size in bytes, time in us, and the bandwidth that the benchmark prints, in MB/s."""
        factor = messages_a_time(self.key)
        return [(size, time, factor * size / time) for size, time in zip(self.sizes, self.times_us, strict=True)]


def text_of(made: OutputPlan) -> str:
    """Return the output. Raises RailyardError for a benchmark whose text is not known here."""
    tool, _, name = made.key.partition("/")
    writer = WRITERS.get(tool)
    if writer is None:
        known = ", ".join(WRITERS)
        raise RailyardError(f"{made.key}: Railyard cannot write an output of {tool}; expected one of {known}")
    return writer(made, name)


def _osu(made: OutputPlan, name: str) -> str:
    return "".join(_osu_pass(made, name) for _ in range(made.passes))


def _osu_pass(made: OutputPlan, name: str) -> str:
    if micro.find(made.key).rows == "mean":
        took = f"{made.times_us[0] / 1000:.0f}"
        return (
            f"# OSU MPI Init Test v7.4\n# {made.sentence}\n"
            f"nprocs: {made.ranks}, min: {took} ms, max: {took} ms, avg: {took} ms\n"
        )
    program, _, where = name.partition("/")
    title, datatype = _OSU_TITLES.get(program) or _collective_title(program), "# Datatype: MPI_CHAR.\n"
    # Of all GPUs the title alone says where the buffers lie: that of a collective, and that of osu_mbw_mr from 7.5 on.
    by_title = micro.find(made.key).every_gpu
    title = f"{'-CUDA' if where in _OSU_BUFFERS else ''} {title} Test v{'7.5' if by_title else '7.4'}"
    head = f"\n# OSU MPI{title}\n# {made.sentence}\n{'' if by_title else _OSU_BUFFERS.get(where, '')}"
    if not micro.find(made.key).payload:  # a barrier
        return f"{head}# Avg Latency(us)\n{made.times_us[0]:>17.2f}\n"
    checked = (f"{'Validation':>18}", f"{'Pass':>18}") if made.validated else ("", "")
    if micro.find(made.key).sums_pairs:
        pairs = made.ranks // 2
        head += (
            f"# [ pairs: {pairs} ] [ window size: {made.window} ]\n"
            f"{'# Size':<10}{'MB/s':>20}{'Messages/s':>20}{checked[0]}\n"
        )
        return head + "".join(
            f"{size:<10}{pairs * value:>20.2f}{pairs * 1e6 * value / size:>20.2f}{checked[1]}\n"
            for size, _, value in made.rows
        )
    column = {"stream": "Bandwidth (MB/s)"}.get(micro.find(made.key).metrics[0].shape, "Avg Latency(us)")
    head += f"{datatype}{'# Size':<10}{column:>18}{checked[0]}\n"
    is_bandwidth = micro.find(made.key).metrics[0].name == model.BANDWIDTH
    return head + "".join(
        f"{size:<10}{value if is_bandwidth else time:>18.2f}{checked[1]}\n" for size, time, value in made.rows
    )


def _collective_title(name: str) -> str:
    """Return the title that OSU prints over a benchmark. Raises RailyardError if none is known."""
    words = name.removeprefix("osu_").replace("_", " ")
    for said in (f"{words.capitalize()} Latency", *_OSU_EXCHANGES.get(name, ())):
        if name in osu_headings.COLLECTIVES and osu_headings.benchmark_of(said) == name:
            return said
    raise RailyardError(f"osu/{name}: found no title that OSU prints over it, expected a benchmark of two ranks or all")


_OSU_BUFFERS = {
    where: f"# Send Buffer on {ends[0]} ({ends[0][0]}) and Receive Buffer on {ends[1]} ({ends[1][0]})\n"
    for ends, where in BUFFERS.items()
}
_OSU_TITLES = {
    "osu_latency": "Latency",
    "osu_bw": "Bandwidth",
    "osu_bibw": "Bi-Directional Bandwidth",
    "osu_mbw_mr": "Multiple Bandwidth / Message Rate",
    "osu_multi_lat": "Multi Latency",
    "osu_put_bw": "MPI_Put Bandwidth",
    "osu_get_bw": "MPI_Get Bandwidth",
    "osu_put_bibw": "MPI_Put Bi-Directional Bandwidth",
    "osu_put_latency": "MPI_Put Latency",
    "osu_get_latency": "MPI_Get Latency",
}
_OSU_EXCHANGES: Mapping[str, tuple[str, ...]] = {
    "osu_alltoall": ("All-to-All Personalized Exchange Latency",),
    "osu_alltoallv": ("All-to-Allv Personalized Exchange Latency",),
}


def _imb(made: OutputPlan, name: str) -> str:
    rule = f"#{'-' * 64}\n"
    head = (
        f"{rule}#    Intel(R) MPI Benchmarks {IMB_VERSION}, MPI-1 part\n{rule}# {made.sentence}\n\n"
        f"# Minimum message length in bytes:   0\n# Maximum message length in bytes:   {made.sizes[-1]}\n#\n"
        f"# List of Benchmarks to run:\n\n" + f"# {name}\n" * made.passes
    )
    columns, row = _imb_columns(name)
    table = (
        f"\n{rule}# Benchmarking {name} \n# #processes = {made.ranks} \n{rule}"
        f"{'#bytes':>13}{'#repetitions':>13}{''.join(f'{word:>13}' for word in columns)}\n"
    )
    rows = "".join(
        f"{size:>13}{count:>13}{''.join(f'{word:>13}' for word in row(size, time, value))}\n"
        for (size, time, value), count in zip(made.rows, made.counts, strict=True)
    )
    return head + (table + rows) * made.passes + "\n\n# All processes entering MPI_Finalize\n\n"


def _imb_columns(name: str) -> tuple[Sequence[str], Callable[[int, float, float], Sequence[str]]]:
    times = ("t_min[usec]", "t_max[usec]", "t_avg[usec]")
    benchmark = micro.find(f"imb/{name}")
    first = benchmark.metrics[0]
    if first.shape == "pingpong" and first.directions == 1:
        return ("t[usec]", "Mbytes/sec"), lambda size, time, value: (f"{time:.2f}", f"{value:.2f}")
    if first.shape == "pingpong":
        return (*times, "Mbytes/sec"), lambda size, time, value: (*(f"{time:.2f}",) * 3, f"{value:.2f}")
    if benchmark.sums_pairs:
        rate: Callable[[int, float, float], Sequence[str]] = lambda size, time, value: (  # noqa: E731
            f"{value:.2f}",
            f"{1e6 * value / size if size else 1e6 / time:.0f}",
        )
        return ("Mbytes/sec", "Msg/sec"), rate
    return times, lambda size, time, value: (f"{time:.2f}",) * 3


_NETPIPE_SAYS = {
    "pingpong": "",
    "stream": "Streaming in one direction only.\n\n",
    "bidirectional": "Passing data in both directions simultaneously.\nOutput is for the combined bandwidth.\n",
}


def _netpipe(made: OutputPlan, name: str) -> str:
    # its Mb are 2^20 bit
    rows = "".join(
        f"{number:>3}: {size:>7} bytes {count:>6} times --> {value * 8e6 / (1 << 20):>9.2f} Mbps in "
        f"{time:>10.2f} usec\n"
        for number, ((size, time, value), count) in enumerate(zip(made.rows, made.counts, strict=True))
    )
    return f"# {made.sentence}\n{_NETPIPE_SAYS[name]}Now starting the main loop\n{rows}"


_PERFTEST_TITLES = {"ib_write": "RDMA_Write", "ib_read": "RDMA_Read", "ib_send": "Send"}


def _perftest(made: OutputPlan, name: str) -> str:
    of_gpus = name.endswith(f"/{DEVICE}")
    program, _, mode = name.removesuffix(f"/{DEVICE}").partition("/")
    verb, _, kind = program.rpartition("_")
    if verb not in _PERFTEST_TITLES:
        raise RailyardError(f"{made.key}: found no title of perftest for it, expected ib_write, ib_read or ib_send")
    rule = "-" * 87 + "\n"
    title = f"{_PERFTEST_TITLES[verb]} {f'{mode.capitalize()} ' if mode else ''}{'BW' if kind == 'bw' else 'Latency'}"
    device = "initializing CUDA\nPicking device No. 0\n" if of_gpus else ""
    head = f"# {made.sentence}\n{device}{rule}{' ' * 20}{title} Test\n{rule}"
    if kind == "bw":
        head += " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
        rows = "".join(
            f" {size:<10} {count:<10}       {_ceiling(value / BINARY_MB):<18.2f} {_ceiling(value / BINARY_MB):<18.2f} "
            f"{value / size:<.6f}\n"
            for (size, _, value), count in zip(made.rows, made.counts, strict=True)
        )
        return head + rows + rule
    head += " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
    head += "99% percentile[usec]   99.9% percentile[usec] \n"
    rows = "".join(
        f" {size:<7} {count:<12}" + f"{time:<13.2f}" * 4 + f"0.00         {time:<13.2f}{time:<13.2f}\n"
        for (size, time, _), count in zip(made.rows, made.counts, strict=True)
    )
    return head + rows + rule


#: Program of fabtests -> the head of its table.
_FABTESTS = {"fi_pingpong": "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"}


def _fabtests(made: OutputPlan, name: str) -> str:
    if name not in _FABTESTS:
        raise RailyardError(f"{made.key}: found no form of fabtests for it, expected {', '.join(_FABTESTS)}")
    head = f"# {made.sentence}\n{_FABTESTS[name]}"
    return head + "".join(
        f"{size:<8}{count:<8}{f'={count}':<9}{2 * size * count:<12}{2e-6 * time * count:.2f}s   {value:>8.2f}"
        f"{time:>11.2f}{1 / time:>11.2f}\n"
        for (size, time, value), count in zip(made.rows, made.counts, strict=True)
    )


#: The payload of a packet of Slingshot, in bytes, by which cxi_write_bw counts packets.
_CXI_PACKET_BYTES = 2048


def _cxi(made: OutputPlan, name: str) -> str:
    rule = "-" * 51 + "\n"
    first, last = made.sizes[0], made.sizes[-1]
    said = {"Device": "cxi0", "Test Type": "Iteration", "Iterations": max(1, made.counts[0] // made.window)}
    said |= {"Write Size": last} if first == last else {"Min Write Size": first, "Max Write Size": last}
    said |= {"List Size": made.window, "Bidirectional": "Enabled" if name.endswith("/bidirectional") else "Disabled"}
    head = f"# {made.sentence}\n{rule}    CXI RDMA Write Bandwidth Test\n"
    head += "".join(f"{what:<17}: {value}\n" for what, value in said.items())
    head += f"{rule}RDMA Size[B]      Writes  BW[MB/s]  PktRate[Mpkt/s]\n"
    rows = "".join(
        f"{size:>12}{count:>12}{_ceiling(value):>10.2f}{value / size * -(-size // _CXI_PACKET_BYTES):>17.6f}\n"
        for (size, _, value), count in zip(made.rows, made.counts, strict=True)
    )
    return head + rows + rule


def _ceiling(value: float) -> float:
    """Return a number rounded up to two decimals: a published floor that is printed rounded down would fail."""
    return math.ceil(value * 100 - 1e-6) / 100


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


WRITERS: Mapping[str, Callable[[OutputPlan, str], str]] = {
    "osu": _osu,
    "imb": _imb,
    "netpipe": _netpipe,
    "perftest": _perftest,
    "iperf3": iperf3,
    "fabtests": _fabtests,
    "cxi": _cxi,
    "nccl": nccl,
}


_GROUP = re.compile(rf"\(\?P<(?:{SECONDS}|{VALUE})>")
#: How long a synthetic run of HPL took, by its output: the matrix order follows from this time and the published rate.
HPL_SECONDS = 1000.0
_STEPS = 150
#: What a synthetic run of WRF prints for its first step, which reads the input and does not count in the mean.
_FIRST_STEP = 2.0


def application_text_of(key: str, value: float, nodes: int, sentence: str) -> str:
    """Return an output whose figure is this value: Gflop/s for HPL, seconds per step for WRF.

    Raises RailyardError for an application whose text is not known here.
    """
    writer = _WRITERS.get(micro.find(key).printed_key)
    if writer is None:
        known = ", ".join(dict.fromkeys(each.partition("/")[0] for each in _WRITERS))
        raise RailyardError(f"{key}: Railyard cannot write an output of it; expected one of {known}")
    return writer(value, nodes, sentence)


def _hpl(gflop_s: float, nodes: int, sentence: str) -> str:
    return f"# {sentence}\n{_hpl_run(gflop_s, nodes)}"


def _hpl_alone(gflop_s: float, nodes: int, sentence: str) -> str:
    one = _hpl_run(gflop_s, 1)
    parts = [f"# railyard: node node{number} made\n{one}# railyard: end 0\n" for number in range(1, nodes + 1)]
    return "".join((f"# {sentence}\n", *parts))


def _hpl_run(gflop_s: float, nodes: int) -> str:
    order = int((1.5 * gflop_s * 1e9 * HPL_SECONDS) ** (1 / 3))
    return hpl_run(gflop_s, order, hpl.BLOCK, hpl.grid(nodes), HPL_SECONDS)


def hpl_run(gflop_s: float, order: int, block: int, grid: tuple[int, int], seconds: float) -> str:
    """Return what HPL prints for one problem of order N in blocks of NB, on P x Q processes."""
    rows, columns = grid
    rule = "-" * 80 + "\n"
    residual = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)="
    return (
        f"{'=' * 80}\n"
        "HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018\n"
        f"{'=' * 80}\n{'T/V':<16}{'N':>9}{'NB':>6}{'P':>6}{'Q':>6}{'Time':>19}{'Gflops':>18}\n{rule}"
        f"{'WR11C2R4':<16}{order:>9}{block:>6}{rows:>6}{columns:>6}{seconds:>19.2f}{gflop_s:>18.4e}\n{rule}"
        f"{residual}   1.00000000e-03 ...... PASSED\n{'=' * 80}\n\n"
        "Finished      1 tests with the following results:\n"
        "              1 tests completed and passed residual checks,\n"
        "              0 tests completed and failed residual checks,\n"
        "              0 tests skipped because of illegal input values.\n"
        f"{rule}\nEnd of Tests.\n{'=' * 80}\n"
    )


def _wrf(seconds: float, nodes: int, sentence: str) -> str:
    return wrf_run(seconds, sentence, "3.8.1")


def wrf_run(seconds: float, sentence: str, version: str) -> str:
    """Return what a release of WRF prints for steps that take this many seconds each."""
    steps = [_FIRST_STEP, *(seconds for _ in range(_STEPS - 1))]
    lines = [
        f"Timing for main: time 2001-10-25_{at // 60:02}:{at % 60:02}:00 on domain   1:{time:>11.5f} elapsed seconds"
        for at, time in enumerate(steps, 1)
    ]
    return f"# {sentence}\n WRF V{version} MODEL\n" + "\n".join(lines) + "\nwrf: SUCCESS COMPLETE WRF\n"


#: By the key of their output.
_WRITERS: Mapping[str, Callable[[float, int, str], str]] = {
    "hpl/hpl": _hpl,
    "hpl/every-node": _hpl_alone,
    "wrf/wrf": _wrf,
}


def pattern_text(name: str, stated: Application, seconds: float, sentence: str) -> str:
    """Return an output in which the application took this long and ended well, with a line that says what it is.

    Raises RailyardError if its patterns do not allow this: they have alternatives, classes or repetitions.
    """
    lines = [f"# {sentence}", _plain(stated.figure, str(float(seconds))), _plain(stated.success)]
    lines += [_plain(answer.pattern, str(answer.expected)) for answer in stated.answers]
    text = "".join(f"{line}\n" for line in lines)
    parsed = installed_applications.parse(text, name, stated)
    if [(table.rows, table.complete) for table in parsed.tables] != [(((float(seconds),),), True)] or parsed.failures:
        raise RailyardError(
            f"applications.{name}: found no text that its patterns read as {seconds:g} s and a good end, expected "
            f"plain words around the number (figure: {stated.figure}; success: {stated.success})"
        )
    return text


def _plain(pattern: str, number: str = "") -> str:
    """Return the simplest text that a pattern may match: its words, one blank for blanks, the number for its group."""
    group = _GROUP.search(pattern)
    if group is None:
        return _words(pattern)
    rest = pattern[group.end() :]
    return f"{_words(pattern[: group.start()])}{number}{_words(rest[_end(rest) :])}"


def _end(rest: str) -> int:
    """Return the place after the bracket that closes the open group; the text's length if there is none."""
    depth = 1
    for found in re.finditer(r"\\.|\[\]?(?:\\.|[^\]])*\]|[()]", rest):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0:
            return found.end()
    return len(rest)


def _words(pattern: str) -> str:
    blanks = re.sub(r"(?:\\s| )[+*]?", " ", pattern.removeprefix("^").removesuffix("$"))
    return re.sub(r"\\(\W)", r"\1", blanks)
