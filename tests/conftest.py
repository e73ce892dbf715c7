"""One run of the virtual cluster as its evidence: an IMB output, a counters file a node, and what was asked for.

And what holds for every test: interrupts reach it, and a disturbed one is counted as such.
"""

import signal
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from railyard.job.case import Case, Evidence
from railyard.job.launch import device_name, plan_launch
from railyard.parsers import imb
from railyard.parsers.parsed import Parsed
from railyard.site.site import Site, site_at
from railyard.site.test_id import TestId
from railyard.verdict.assess import Assessment, assess
from tests import disturbed

# No clock judges a property: a busy machine would turn it red. `make test-all` tries as many cases as hypothesis would.
settings.register_profile("thorough", deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("thorough"), max_examples=25)
settings.load_profile("quick")

ROOT = Path(__file__).resolve().parent.parent
TAG = "1a2b3c4d-17"
SIZES = tuple(4**n for n in range(12))
SPLIT_FROM = 1 << 20
ONE_RAIL_MB_S = {"hsn": 47.8, "eth": 23.9, "loopback": 9000.0}
#: Of a benchmark: words of its heading, ranks, repetitions, window, and whether both nodes send.
SHAPES: Mapping[str, tuple[str, int, int, int, bool]] = {
    "imb/PingPong": ("t[usec] Mbytes/sec", 2, 6, 1, True),
    "imb/Uniband": ("Mbytes/sec Msg/sec", 2, 1, 16, False),
    "imb/Biband": ("Mbytes/sec Msg/sec", 2, 2, 8, True),
    "imb/Allreduce": ("t_min[usec] t_max[usec] t_avg[usec]", 4, 5, 1, True),
}
#: Bytes that one device sent and received during the run, in MB.
Moved = Mapping[str, tuple[float, float]]


def pytest_report_teststatus(
    report: pytest.CollectReport | pytest.TestReport,
) -> tuple[str, str, tuple[str, Mapping[str, bool]]] | None:
    """Count a disturbed test as such, in pytest's closing line too: it did not fail, and it did not pass."""
    return None if disturbed.why(report) is None else ("disturbed", "d", ("DISTURBED", {"yellow": True}))


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter") -> None:
    """List the disturbed tests with what disturbed them."""
    found = terminalreporter.getreports("disturbed")
    if found:
        terminalreporter.section("disturbed: measured, and judged by nobody")
        for report in found:
            terminalreporter.write_line(f"{report.nodeid}: {disturbed.why(report)}")


@pytest.fixture(scope="session", autouse=True)
def interrupts_reach_children() -> Iterator[None]:
    """Take SIGINT and SIGHUP as a terminal gives them: a background or nohup ignores them, and so would children."""
    before = {signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler)}
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def imb_output(benchmark: str, rate_mb_s: Mapping[int, float], repetitions: int) -> str:
    """Return what IMB 2021.11 prints where messages of each size go at this rate (of an allreduce: its bytes)."""
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


def counters_file(node: str, moved: Moved, meant: tuple[str, ...], end: str = "end 0", tag: str = TAG) -> str:
    """Return what the counter reader writes on one node; ``end`` replaces its last line."""
    lines = [f"railyard-counters 1 {tag}", f"node {node}", "first-by MPI_LOCALRANKID"]
    lines += [f"{'meant' if device in meant else 'watched'} {device}" for device in moved]
    for when, at in (("before", 10), ("after", 15)):
        lines.append(f"{when} at {at}.00")
        for device, (tx, rx) in moved.items():
            tx_bytes, rx_bytes = (1000 + round(mb * 1e6) * (when == "after") for mb in (tx, rx))
            lines += [f"{when} {device} carrier 1", f"{when} {device} rx_bytes {rx_bytes}"]
            lines.append(f"{when} {device} tx_bytes {tx_bytes}")
    return "\n".join([*lines, end, ""])


def healthy_rates(fabric: str, rails: int) -> dict[int, float]:
    """Return MB/s by size of stacks that stripe over both rails from 1 MiB, and pay 30 us a message."""
    one = ONE_RAIL_MB_S[fabric]
    return {size: size / (30 + size / (one * (rails if size >= SPLIT_FROM else 1))) for size in SIZES}


def healthy_bytes(
    nodes: tuple[str, ...], meant: tuple[str, ...], both_ways: bool
) -> dict[str, dict[str, tuple[float, float]]]:
    """Return MB by node and device: 190 MB of a run, evenly over its rails, and next to nothing elsewhere."""
    share = 190 / len(meant)
    back = share if both_ways else 2.0
    idle = dict.fromkeys((name for name in ("hsn0", "hsn1", "eth0") if name not in meant), (0.1, 0.1))
    first, second = dict.fromkeys(meant, (share, back)), dict.fromkeys(meant, (back, share))
    return {nodes[0]: {**first, **idle}} | {node: {**second, **idle} for node in nodes[1:]}


@pytest.fixture(scope="session")
def virtual() -> Site:
    """A virtual cluster with rails of 400 Mbit/s and its references, which made outputs and recorded ones fit.

    The committed one is slower, so that a busy machine can keep up with it.
    """
    return site_at(ROOT / "tests/sites/shaped400", "virtual")


@pytest.fixture
def imb_text() -> Callable[..., str]:
    """Return a function that gives the output of a healthy Uniband over one rail, or of the rates that it is given."""
    return lambda rates=None: imb_output("imb/Uniband", rates or healthy_rates("hsn", 1), 1)


@pytest.fixture
def counters_text() -> Callable[..., str]:
    """Return a function that gives the counters file of a node that was to use hsn0, with its last line."""
    return lambda node, moved, end="end 0": counters_file(node, moved, ("hsn0",), end)


@pytest.fixture
def assessed(virtual: Site) -> Callable[..., Assessment]:
    """Return a function that assesses a healthy run of one cell, with what the test changes of it.

    ``rates``: MB/s by size. ``output``: the whole text. ``moved``: MB by node and device. ``counters``: the files. The
    rest goes to Evidence.
    """

    def run(
        fabric: str = "hsn",
        rails: int = 1,
        benchmark: str = "imb/Uniband",
        stack: str = "mpich",
        site: Site = virtual,
        *,
        rates: Mapping[int, float] | None = None,
        output: str | None = None,
        moved: Mapping[str, Moved] | None = None,
        counters: tuple[str, ...] | None = None,
        parse: Callable[[str], Parsed] = imb.parse,
        hops: int | None = None,
        **evidence: Any,
    ) -> Assessment:
        _, ranks, repetitions, window, both_ways = SHAPES[benchmark]
        meant = tuple(device_name(rail) for rail in site.system.fabrics[fabric].rails[:rails])
        nodes = site.system.nodes.names[:ranks]
        launch = plan_launch(
            site, fabric, stack, meant, nodes, ranks=ranks, ranks_per_node=ranks // len(nodes), as_root=False
        )
        moved = {**healthy_bytes(nodes, meant, both_ways), **(moved or {})}
        files = tuple(counters_file(node, moved[node], meant) for node in nodes)
        text = imb_output(benchmark, rates or healthy_rates(fabric, rails), repetitions)
        name = f"Imb{benchmark.removeprefix('imb/')}"
        case = Case(
            TestId(
                *(fabric, stack, rails, benchmark, name, launch.settings.policy_name, site.system.system),
                name=f"{name} %rails={rails}",
                hash="1a2b3c4d",
            ),
            site,
            launch,
            window=window,
            time_limit_s=120,
            hops=hops,
        )
        given: dict[str, Any] = {"exit_code": 0, "tag": TAG, **evidence}
        found = Evidence(
            output if output is not None else text, counters=files if counters is None else counters, **given
        )
        return assess(case, found, parse, date(2026, 11, 21))

    return run
