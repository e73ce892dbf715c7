"""One builder of a judged run: what the run should do, what it left, and how it was judged.

A test sets what it needs. The rest is a run over the first rails of ``hsn`` of the virtual cluster with MPICH, one rank
per node. Only this module of the tests calls ``Case``, ``Evidence`` and ``plan_launch``.
"""

from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from railyard.job.case import Case, Evidence
from railyard.job.launch import Launch, Ranks, plan_launch
from railyard.parsers import imb
from railyard.parsers.output import ParsedOutput
from railyard.site.site import Site
from railyard.site.test_id import TestId
from railyard.verdict.assess import Assessment, assess

TAG = "1a2b3c4d-17"
TODAY = date(2026, 11, 21)
#: MB that one device sent and received during a run, by device.
Moved = Mapping[str, tuple[float, float]]
#: The bytes of a device that a run does not use.
IDLE = (0.1, 0.1)
SIZES = tuple(4**n for n in range(12))
SPLIT_FROM = 1 << 20
ONE_RAIL_MB_S = {"hsn": 47.8, "eth": 23.9, "loopback": 9000.0}
#: For a benchmark: words of its heading, ranks, repetitions, window, and whether both nodes send.
SHAPES: Mapping[str, tuple[str, int, int, int, bool]] = {
    "imb/PingPong": ("t[usec] Mbytes/sec", 2, 16, 1, True),
    "imb/Uniband": ("Mbytes/sec Msg/sec", 2, 1, 16, False),
    "imb/Biband": ("Mbytes/sec Msg/sec", 2, 2, 8, True),
    "imb/Allreduce": ("t_min[usec] t_max[usec] t_avg[usec]", 4, 5, 1, True),
}


def launch_of(
    site: Site, stack: str, devices: tuple[str, ...], *, fabric: str = "hsn", nodes: tuple[str, ...] = (), **words: Any
) -> Launch:
    """Return how a run over these devices is launched; ``words`` go to ``Ranks``, except ``as_root``.

    There is one rank per node unless ``words`` have ``ranks`` or ``ranks_per_node``.
    """
    as_root, a_node = words.pop("as_root", False), words.pop("ranks_per_node", 1)
    ranks = Ranks(words.pop("ranks", len(nodes) * a_node), a_node, **words)
    return plan_launch(site, fabric, stack, devices, nodes, ranks, as_root)


def case_of(
    site: Site,
    benchmark: str,
    *,
    stack: str = "mpich",
    rails: int = 1,
    fabric: str = "hsn",
    launch: Mapping[str, Any] | None = None,
    **meant: Any,
) -> Case:
    """Return a case over the first rails of a fabric; ``launch`` goes to ``launch_of``, ``meant`` to the case.

    All nodes of the site are used if ``launch`` names none.
    """
    words: dict[str, Any] = {"nodes": site.system.nodes.names, **(launch or {})}
    devices = tuple(rail.name for rail in site.system.fabrics[fabric].rails[:rails])
    planned = launch_of(site, stack, devices, fabric=fabric, **words)
    check = meant.pop("check", benchmark)
    test = TestId(
        fabric, stack, rails, benchmark, check, planned.settings.policy_name, site.system.system,
        f"{check} %rails={rails}", "1a2b3c4d",
    )  # fmt: skip
    given = {"test": test, "site": site, "launch": planned, "ranks_per_node": words.get("ranks_per_node", 1)}
    return Case(**given | meant)


def judge_output(
    case: Case,
    output: str,
    parse: Callable[[str], ParsedOutput],
    moved: Mapping[str, Moved] | None = None,
    **left: Any,
) -> Assessment:
    """Return the verdict of a run that printed this; ``left`` goes to the evidence.

    ``moved`` is per node; a device that is not named was idle.
    """
    given: dict[str, Any] = {"exit_code": 0, "tag": TAG, "counters": counters_files(case.launch, moved or {}), **left}
    return assess(case, Evidence(output, **given), parse, TODAY)


def run_of_cell(
    virtual: Site,
    fabric: str = "hsn",
    rails: int = 1,
    benchmark: str = "imb/Uniband",
    stack: str = "mpich",
    site: Site | None = None,
    *,
    rates: Mapping[int, float] | None = None,
    output: str | None = None,
    moved: Mapping[str, Moved] | None = None,
    counters: tuple[str, ...] | None = None,
    parse: Callable[[str], ParsedOutput] = imb.parse,
    hops: int | None = None,
    **evidence: Any,
) -> Assessment:
    """Return the verdict of a healthy run of one cell of the virtual cluster, with what the caller changes.

    ``rates``: MB/s by size. ``output``: the whole text. ``moved``: MB by node and device. ``counters``: the files. The
    rest goes to Evidence.
    """
    site = site or virtual
    _, ranks, repetitions, window, both_ways = SHAPES[benchmark]
    nodes = site.system.nodes.names[:ranks]
    case = case_of(
        site, benchmark, stack=stack, rails=rails, fabric=fabric, check=f"Imb{benchmark.removeprefix('imb/')}",
        launch={"nodes": nodes, "ranks_per_node": ranks // len(nodes)},
        window=window, time_limit_s=120, hops=hops,
    )  # fmt: skip
    text = imb_output(benchmark, rates or healthy_rates(fabric, rails), repetitions)
    if counters is not None:
        evidence["counters"] = counters
    traffic = {**healthy_bytes(nodes, case.launch.meant, both_ways), **(moved or {})}
    return judge_output(case, text if output is None else output, parse, traffic, **evidence)


def counters_files(launch: Launch, moved: Mapping[str, Moved]) -> tuple[str, ...]:
    """Return the counters file of each node, as in ``judged``."""
    idle = dict.fromkeys((*launch.meant, *launch.watched), IDLE)
    return tuple(counters_file(node, {**idle, **moved.get(node, {})}, launch.meant) for node in launch.nodes)


def imb_output(benchmark: str, rate_mb_s: Mapping[int, float], repetitions: int) -> str:
    """Return what IMB 2021.11 prints if messages of each size go at this rate (for an allreduce: its bytes)."""
    heading, ranks, *_ = SHAPES[benchmark]
    lines = [
        "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part",
        "# Minimum message length in bytes:   0",
        f"# Maximum message length in bytes:   {max(rate_mb_s)}",
        f"# Benchmarking {benchmark.removeprefix('imb/')} ",
        f"# #processes = {ranks} ",
        f"       #bytes #repetitions {heading}",
    ]
    for size, rate in rate_mb_s.items():
        time_us = size / rate
        cells = {
            "t[usec]": time_us,
            "t_min[usec]": time_us,
            "t_max[usec]": time_us,
            "t_avg[usec]": time_us,
            "Mbytes/sec": rate,
            "Msg/sec": rate * 1e6 / size,
        }
        row = "".join(f"{cells[word]:14.2f}" for word in heading.split())
        # IMB prints a message rate as a whole number.
        row = row.removesuffix(".00") if heading.endswith("Msg/sec") and row.endswith(".00") else row
        lines.append(f"{size:13d} {repetitions:12d} {row}")
    return "\n".join([*lines, "", "# All processes entering MPI_Finalize", ""])


def counters_file(
    node: str, moved: Moved, meant: tuple[str, ...], end: str = "end 0", tag: str = TAG, used_cs: int | None = None
) -> str:
    """Return what the counter reader writes on one node; ``end`` replaces its last line.

    ``used_cs``: the processor time of the first rank, in hundredths of a second; None: unknown.
    """
    lines = [f"railyard-counters 1 {tag}", f"node {node}", "first-by MPI_LOCALRANKID"]
    lines += [f"{'meant' if device in meant else 'watched'} {device}" for device in moved]
    for when, at in (("before", 10), ("after", 15)):
        lines.append(f"{when} at {at}.00")
        if used_cs is not None:
            lines.append(f"{when} - processors_cs {5 + used_cs * (when == 'after')}")
        for device, (tx, rx) in moved.items():
            tx_bytes, rx_bytes = (1000 + round(mb * 1e6) * (when == "after") for mb in (tx, rx))
            lines += [f"{when} {device} carrier 1", f"{when} {device} rx_bytes {rx_bytes}"]
            lines.append(f"{when} {device} tx_bytes {tx_bytes}")
    return "\n".join([*lines, end, ""])


def healthy_rates(fabric: str, rails: int) -> dict[int, float]:
    """Return MB/s by size for stacks that stripe over both rails from 1 MiB, with 30 us per message."""
    one = ONE_RAIL_MB_S[fabric]
    return {size: size / (30 + size / (one * (rails if size >= SPLIT_FROM else 1))) for size in SIZES}


def healthy_bytes(nodes: tuple[str, ...], meant: tuple[str, ...], both_ways: bool) -> Mapping[str, Moved]:
    """Return MB by node and device: a run's 190 MB, evenly over its rails."""
    share = 190 / len(meant)
    back = share if both_ways else 2.0
    first, second = (share, back), (back, share)
    return {node: dict.fromkeys(meant, first if node == nodes[0] else second) for node in nodes}
