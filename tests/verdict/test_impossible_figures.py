"""No benchmark's latency below that of any two nodes passes, and no bandwidth far above the link's rate."""

from types import MappingProxyType

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.model import Benchmark, Figure
from railyard.benchmarks.table import micro
from railyard.parsers.detect import parse
from railyard.parsers.output import ParsedOutput, Table
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.target import Nodes, of_link
from railyard.verdict.wording import too_short

SIZES = tuple(1 << power for power in range(23))
EDR_MB_S = 12_000.0


def figure(unit: str, size: int, impossible: str) -> float:
    """Return a healthy value over EDR, or an impossible one if its unit is that."""
    if unit == "us":
        return 0.3 if impossible == "us" else 3.0 + size / 1e4
    if unit == "MB/s":
        return 5 * EDR_MB_S if impossible == "MB/s" and size >= 64 << 10 else size / (1 + size / EDR_MB_S)
    return 1e10 if impossible == unit else 1.0


def judged_by_edr(benchmark: Benchmark, impossible: str, nodes: Nodes) -> Judgement | None:
    """Return the judgement of an output with an impossible value; None if no table alone is of this benchmark."""
    units = {"size": "B"} if benchmark.rows == "sizes" else {}
    units |= {metric.columns[0]: metric.unit for metric in benchmark.metrics}
    sizes = SIZES if benchmark.rows == "sizes" else (1 << 20,)
    rows = tuple(
        tuple(size if name == "size" else figure(unit, size, impossible) for name, unit in units.items())
        for size in sizes
    )
    named = benchmark.key.partition("/")[2]
    table = Table(
        *(benchmark.tool, None, named, tuple(units), tuple(units.values()), rows, 1, True, MappingProxyType({}), True)
    )
    try:
        return judge(ParsedOutput((table,)), of_link("ib-edr"), benchmark=benchmark.key, nodes=nodes)[0]
    except RailyardError:
        return None


@pytest.mark.parametrize("nodes", [Nodes(), Nodes(1, 2, 1)], ids=["unknown nodes", "two nodes"])
@pytest.mark.parametrize("impossible", ["us", "MB/s", "1/s"])
def test_no_impossible_figure_passes(impossible: str, nodes: Nodes) -> None:
    found = {
        key: judged_by_edr(benchmark, impossible, nodes)
        for key, benchmark in micro.BENCHMARKS.items()
        if benchmark.rows != "pairs" and any(metric.unit == impossible for metric in benchmark.metrics)
    }
    assert sum(each is not None for each in found.values()) > 5
    assert [key for key, each in found.items() if each is not None and each.is_pass] == []


@pytest.mark.parametrize(("latency_us", "state"), [(0.3, "fail"), (1.2, "pass"), (13.0, "pass"), (19.0, "fail")])
def test_one_latency_without_a_size_has_a_least_value_too(latency_us: float, state: str) -> None:
    table = Table("qperf", None, "rc_lat", ("latency",), ("us",), ((latency_us,),), 1, True)
    (judged,) = judge(ParsedOutput((table,)), of_link("ib-edr"))
    assert judged.state == state
    if latency_us == 0.3:
        assert judged.headline == f"Impossible: {too_short(Figure('latency', 0.3, 'us'), 0.4)}"


@pytest.mark.parametrize("name", ["Unidir_Put", "Unidir_get", "Bidir_put", "Bidir_Get"])
@pytest.mark.parametrize(
    ("mode", "slower", "state"),
    [("AGGREGATE", 1, "pass"), ("AGGREGATE", 2, "fail"), ("NON-AGGREGATE", 1, "fail")],
)
def test_how_often_a_one_sided_message_begins_is_no_latency(name: str, mode: str, slower: int, state: str) -> None:
    rows = ((size, slower * (0.18 + size / 12_100)) for size in (0, *(1 << power for power in range(23))))
    text = (
        "#    Intel(R) MPI Benchmarks 2021.3, MPI-RMA part\n"
        f"#{'-' * 51}\n# Benchmarking {name} \n# #processes = 2 \n#{'-' * 51}\n#\n#    MODE: {mode} \n#\n"
        "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
        + "".join(f"{size:>13}{1000:>13}{time:>13.2f}{size / time:>13.2f}\n" for size, time in rows)
        + "\n# All processes entering MPI_Finalize\n"
    )
    (found,) = judge(parse(text), of_link("ib-edr"))
    assert found.state == state
    assert ("latency" in found.sentence) == (mode == "NON-AGGREGATE")


@pytest.mark.parametrize(
    "name", [f"Ping{way}{source}" for way in ("Pong", "Ping") for source in ("AnySource", "SpecificSource")]
)
@pytest.mark.parametrize(("slower", "state"), [(1, "pass"), (4, "fail")])
def test_what_a_receive_names_as_its_source_changes_no_bound(name: str, slower: int, state: str) -> None:
    rows = ((size, slower * (1.2 + size / 12_000)) for size in (0, *(1 << power for power in range(23))))
    text = (
        "#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part\n"
        f"#{'-' * 51}\n# Benchmarking {name} \n# #processes = 2 \n#{'-' * 51}\n"
        "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
        + "".join(f"{size:>13}{1000:>13}{time:>13.2f}{size / time:>13.2f}\n" for size, time in rows)
        + "\n# All processes entering MPI_Finalize\n"
    )
    (found,) = judge(parse(text), of_link("ib-edr"))
    assert found.state == state
