"""What each benchmark's numbers mean, and how many bytes its run moves."""

from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks import metrics, moved_bytes
from railyard.benchmarks.metrics import curves, key_figures
from railyard.benchmarks.model import Curve, Figure, Physics, physics_of
from railyard.benchmarks.moved_bytes import MovedBytes, row_payload, table_payload
from railyard.benchmarks.table.micro import BENCHMARKS, TOOLS, find, metric
from railyard.parsers import PARSERS
from railyard.parsers import TOOLS as PARSED_TOOLS
from railyard.parsers.output import Cell, Table
from railyard.site.references.model import HIGHER_IS_BETTER, UNITS

NPB: dict[str, Any] = {"tool": "npb", "class": "B"}
RECORDINGS = Path(__file__).parents[1] / "recordings"


def recorded_table(tool: str, name: str) -> Table:
    return PARSERS[tool]((RECORDINGS / name).read_text(encoding="utf-8")).tables[0]


def table(
    benchmark: str, columns: dict[str, str | None], *rows: tuple[Cell, ...], tool: str = "imb", **context: int | str
) -> Table:
    return Table(
        tool, None, benchmark, tuple(columns), tuple(columns.values()), rows, 1, True, MappingProxyType(dict(context))
    )


PINGPONG = {"size": "B", "repetitions": None, "time": "us", "bandwidth": "MB/s"}


def test_every_key_names_its_tool_and_every_metric_its_unit() -> None:
    for key, benchmark in BENCHMARKS.items():
        assert key == benchmark.key
        assert benchmark.metrics
        # a message rate may have only an upper limit, which no slow run fails: it must not represent a benchmark
        assert benchmark.metrics[0].name != "message_rate"
        for each in benchmark.metrics:
            assert each.unit == UNITS[each.name]
            assert each.better == ("higher" if each.name in HIGHER_IS_BETTER else "lower")
            assert each.directions in (1, 2)
            assert (each.shape == "figure") == (benchmark.rows not in ("sizes", "pairs"))
        assert (benchmark.rows == "pairs") == (benchmark.assessed == "node_pairs")
        assert physics_of(benchmark) == Physics() if benchmark.physics is None else physics_of(benchmark) != Physics()


def test_every_tool_with_a_parser_has_benchmarks_and_no_fact_is_of_a_tool_without() -> None:
    tools = {benchmark.tool for benchmark in BENCHMARKS.values()}
    assert set(PARSED_TOOLS) <= tools
    assert TOOLS.keys() <= {*tools, "installed"}  # the site names its benchmarks
    assert all(name == each.name for name, each in TOOLS.items())


@pytest.mark.parametrize(
    ("key", "directions", "shape"),
    [
        ("imb/PingPong", 1, "pingpong"),
        ("imb/Uniband", 1, "stream"),
        ("imb/Biband", 2, "stream"),
        ("imb/Sendrecv", 2, "pingpong"),
        ("imb/Exchange", 2, "pingpong"),
        ("netpipe/pingpong", 1, "pingpong"),
        ("netpipe/stream", 1, "stream"),
        ("netpipe/bidirectional", 2, "pingpong"),
        ("osu/osu_bw", 1, "stream"),
        ("osu/osu_bibw", 2, "stream"),
        ("perftest/ib_write_bw", 1, "stream"),
        ("perftest/ib_write_bw/bidirectional", 2, "stream"),
        ("perftest/raw_ethernet_bw", 1, "stream"),
        ("perftest/ib_read_bw/bidirectional", 2, "stream"),
        ("qperf/rc_bw", 1, "figure"),
        ("qperf/rc_bi_bw", 2, "figure"),
        ("iperf3/iperf3", 1, "figure"),
    ],
)
def test_directions_and_shape_of_the_bandwidths(key: str, directions: int, shape: str) -> None:
    found = metric(key, "bandwidth")
    assert (found.directions, found.shape) == (directions, shape)


def test_an_unknown_key_and_an_unknown_metric_are_one_sentence() -> None:
    with pytest.raises(RailyardError) as caught:
        find("imb/Pingpong")
    assert str(caught.value) == 'unknown benchmark "imb/Pingpong": did you mean "imb/PingPong"?'
    with pytest.raises(RailyardError) as caught:
        metric("imb/Allreduce", "bandwidth")
    assert str(caught.value) == 'imb/Allreduce has no metric "bandwidth": known: latency'


def test_a_recorded_ping_pong_gives_two_curves() -> None:
    bandwidth, latency = curves(recorded_table("imb", "imb2021.11-PingPong-mpich5.0.2-veth.out"), "imb/PingPong")
    assert (bandwidth.metric, bandwidth.unit, bandwidth.sizes[0], len(bandwidth.sizes)) == ("bandwidth", "MB/s", 1, 21)
    assert (latency.metric, latency.unit, latency.sizes[0], latency.values[0]) == ("latency", "us", 0, 80.81)
    assert bandwidth.value_at(1048576) == 439.41


def test_the_peak_is_the_largest_value_and_n_half_is_on_the_way_up_to_it() -> None:
    made = (Curve("bandwidth", "MB/s", (1, 8, 64), (1.0, 9.0, 5.0)),)
    for key in ("imb/PingPong", "imb/Uniband"):
        assert key_figures(made, key) == (
            Figure("peak", 9.0, "MB/s", 8),
            Figure("n_half", 1 + 7 * 3.5 / 8, "B", None),
        )
    late = (Curve("bandwidth", "MB/s", (1, 8), (9.0, 1.0)),)
    assert key_figures(late, "imb/Uniband") == (Figure("peak", 9.0, "MB/s", 1), Figure("n_half", 1.0, "B", None))


def test_the_key_figures_of_latency_and_rate() -> None:
    latency = Curve("latency", "us", (0, 1, 1024), (0.1, 2.0, 5.0))
    assert key_figures((latency,), "imb/PingPong") == (Figure("small_message_latency", 2.0, "us", 1),)
    assert key_figures((latency,), "imb/Allreduce") == (
        Figure("small_message_latency", 2.0, "us", 1),
        Figure("large_message_latency", 5.0, "us", 1024),
    )
    rate = Curve("message_rate", "1/s", (1, 2), (7.0, 3.0))
    assert key_figures((rate,), "imb/Uniband") == (Figure("message_rate", 7.0, "1/s", 1),)


def test_a_barrier_is_a_curve_of_size_zero() -> None:
    text = (RECORDINGS / "imb2021.11-Allreduce-Barrier-mpich5.0.2-veth.out").read_text(encoding="utf-8")
    barrier = PARSERS["imb"](text).tables[1]
    assert curves(barrier, "imb/Barrier") == (Curve("latency", "us", (0,), (25.32,)),)
    assert key_figures(curves(barrier, "imb/Barrier"), "imb/Barrier") == (
        Figure("small_message_latency", 25.32, "us", 0),
    )


def test_minimum_and_maximum_in_the_place_of_one_time() -> None:
    columns = {"size": "B", "repetitions": None, "time_min": "us", "time_max": "us", "time_avg": "us"}
    multi = table("Multi-PingPong", {**columns, "bandwidth": "MB/s"}, (8, 10, 1.0, 3.0, 2.0, 4.0))
    assert [curve.values for curve in curves(multi, "imb/PingPong")] == [(4.0,), (2.0,)]


def test_np_out_of_a_bidirectional_run_counts_each_size_once() -> None:
    written = recorded_table("netpipe", "netpipe3.7.2-bidirectional-openmpi4.1.4-veth.np.out")
    printed = recorded_table("netpipe", "netpipe3.7.2-bidirectional-openmpi4.1.4-veth.out")
    (one,), (other,) = curves(written, "netpipe/bidirectional"), curves(printed, "netpipe/bidirectional")
    assert one.sizes == other.sizes


@pytest.mark.parametrize(
    ("found", "key", "message"),
    [
        (table("PingPing", PINGPONG, (1, 1, 1.0, 1.0)), "imb/PingPong", "imb/PingPong: the table is of imb/PingPing"),
        (
            table("netpipe", PINGPONG, (1, 1, 1.0, 1.0), tool="netpipe", mode="stream"),
            "netpipe/pingpong",
            "netpipe/pingpong: the table is of netpipe/stream",
        ),
        (
            table("PingPong", {"size": "B", "bandwidth": "MB/s"}, (1, 1.0)),
            "imb/PingPong",
            "imb/PingPong: no column time or time_avg, only size, bandwidth",
        ),
        (
            table("PingPong", {**PINGPONG, "bandwidth": "Gbit/s"}, (1, 1, 1.0, 1.0)),
            "imb/PingPong",
            "imb/PingPong: bandwidth is in Gbit/s, expected MB/s",
        ),
        (
            table("PingPong", PINGPONG, (1, 1, None, 1.0)),
            "imb/PingPong",
            "imb/PingPong: time at 1 B is None, not a number",
        ),
        (
            table("PingPong", PINGPONG, (0, 1, 1.0, 0.0)),
            "imb/PingPong",
            "imb/PingPong: no row of 1 B or more, so no bandwidth",
        ),
        (
            table("PingPong", PINGPONG, (1, 1, 1.0, 1.0), (1, 1, 1.0, 1.0)),
            "imb/PingPong",
            "bandwidth: sizes do not rise at 1 B -> 1 B",
        ),
    ],
)
def test_a_table_that_is_no_curve_of_this_benchmark_is_refused(found: Table, key: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:
        curves(found, key)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("key", "window", "pairs", "moved"),
    [
        ("imb/PingPong", None, 1, MovedBytes(800, 800)),
        ("imb/Exchange", None, 1, MovedBytes(1600, 1600)),
        ("imb/Uniband", None, 1, MovedBytes(800 * 256, 0)),
        ("imb/Uniband", 16, 3, MovedBytes(800 * 48, 0)),
        ("imb/Biband", 16, 1, MovedBytes(800 * 16, 800 * 16)),
        ("netpipe/pingpong", None, 1, MovedBytes(2400, 2400)),
        ("netpipe/stream", None, 1, MovedBytes(2400, 0)),
        ("netpipe/bidirectional", None, 1, MovedBytes(2400, 2400)),
        ("osu/osu_bw", None, 1, MovedBytes(800 * 64, 0)),
        ("imb/Allreduce", None, 1, None),
        ("osu/osu_allreduce", None, 1, None),
    ],
)
def test_bytes_that_one_printed_row_moves(key: str, window: int | None, pairs: int, moved: MovedBytes | None) -> None:
    assert moved_bytes.moved_bytes(key, 8, 100, window, pairs) == moved


# tx and rx of the first node's device, counted around our own run on a veth pair: IMB 2021.11 over MPICH 5.0.2 (UCX,
# tcp) and NetPIPE 3.7.2 over Open MPI 4.1.4, sizes and repetitions as given, -iter_policy off.
COUNTED = [
    ("imb/PingPong", [(262144, 20), (524288, 20), (1048576, 20)], None, 77378599, 77373774),
    ("imb/PingPing", [(1048576, 40)], None, 88605142, 88494242),
    ("imb/Sendrecv", [(1048576, 20)], None, 44188350, 44346788),
    ("imb/Exchange", [(1048576, 5)], None, 23295483, 23148699),
    ("imb/Uniband", [(262144, 10), (524288, 10), (1048576, 10)], None, 9890074100, 11148061),
    ("netpipe/pingpong", [(1048576, 20)], None, 168039947, 168055090),
    ("netpipe/stream", [(1048576, 10)], None, 136535433, 105038120),
    ("netpipe/bidirectional", [(1048576, 20)], None, 168035743, 168039417),
]


@pytest.mark.parametrize(("key", "rows", "window", "tx", "rx"), COUNTED)
def test_what_counters_saw_lies_between_the_least_and_the_most(
    key: str, rows: list[tuple[int, int]], window: int | None, tx: int, rx: int
) -> None:
    columns = {"size": "B", "repetitions": None}
    tool, _, name = key.partition("/")
    made = table_payload(table(name, columns, *rows, tool=tool, ranks=2), key, window)
    assert made is not None
    least, most = made
    assert most is not None
    headers = 1.01  # headers of messages of 256 KiB and more on a veth pair, and the start of the run
    assert least.tx <= tx <= most.tx * headers
    assert least.rx <= rx <= max(most.rx * headers, tx * 0.002)  # a stream's acknowledgements


def test_netpipe_is_exact_to_its_warm_up() -> None:
    printed = recorded_table("netpipe", "netpipe3.7.2-stream-openmpi4.1.4-veth.out")
    made = table_payload(printed, "netpipe/stream")
    sent = 3 * 10 * sum(int(size or 0) for size in printed.column("size"))
    assert made == (MovedBytes(sent, 0), MovedBytes(sent + 100, 100))


def test_warm_ups_of_imb_are_bounded_and_of_osu_unknown() -> None:
    assert row_payload("imb/PingPong", 1, 20) == MovedBytes(51, 51)  # 20 to see, 20 timed, 1 before, 10 to warm up
    assert row_payload("imb/PingPong", 1, 20, version="2021.11") == MovedBytes(42, 42)
    assert row_payload("imb/Uniband", 1, 1, 16, version="2021.11") == MovedBytes(32, 0)  # one is not warmed up
    assert row_payload("osu/osu_bw", 1, 20) is None
    made = table_payload(table("osu_bw", {"size": "B", "repetitions": None}, (1, 10), tool="osu"), "osu/osu_bw")
    assert made == (MovedBytes(640, 0), None)


def test_a_table_without_repetitions_or_of_a_collective_has_no_bytes() -> None:
    written = recorded_table("netpipe", "netpipe3.7.2-bidirectional-openmpi4.1.4-veth.np.out")
    assert table_payload(written, "netpipe/bidirectional") is None
    reduced = recorded_table("imb", "imb2021.11-Allreduce-Barrier-mpich5.0.2-veth.out")
    assert table_payload(reduced, "imb/Allreduce") is None


@pytest.mark.parametrize(
    ("key", "context", "pairs"),
    [
        ("imb/Uniband", {"ranks": 8}, 4),
        ("imb/PingPong", {"ranks": 8}, 1),
        ("osu/osu_mbw_mr", {"pairs": 16, "window": 64}, 16),
        ("osu/osu_mbw_mr", {}, 1),
    ],
)
def test_pairs_counted(key: str, context: dict[str, int], pairs: int) -> None:
    tool, _, name = key.partition("/")
    assert moved_bytes.pairs_of(table(name, {"size": "B"}, tool=tool, **context), key) == pairs


WRITE_BW = {"size": "B", "iterations": None, "bandwidth_peak": "MB/s", "bandwidth": "MB/s", "message_rate": "1/s"}


def test_perftest_gives_its_average_and_its_rate_and_both_directions_are_a_benchmark_of_their_own() -> None:
    row: tuple[Cell, ...] = (65536, 5000, 0.0, 12000.0, 183105.0)
    one = table("ib_write_bw", WRITE_BW, row, tool="perftest")
    both = table("ib_write_bw", WRITE_BW, row, tool="perftest", bidirectional=True)
    assert metrics.key_of(one) == "perftest/ib_write_bw"
    assert metrics.key_of(both) == "perftest/ib_write_bw/bidirectional"
    assert curves(one, "perftest/ib_write_bw") == (
        Curve("bandwidth", "MB/s", (65536,), (12000.0,)),
        Curve("message_rate", "1/s", (65536,), (183105.0,)),
    )
    with pytest.raises(ValueError) as caught:
        curves(both, "perftest/ib_write_bw")
    assert str(caught.value) == "perftest/ib_write_bw: the table is of perftest/ib_write_bw/bidirectional"


def test_perftest_latency_is_the_typical_one_or_the_average_by_duration() -> None:
    typical = table(
        "ib_write_lat", {"size": "B", "time_min": "us", "time_typical": "us"}, (2, 0.9, 1.1), tool="perftest"
    )
    lasting = table("ib_write_lat", {"size": "B", "time_avg": "us"}, (2, 1.3), tool="perftest")
    assert curves(typical, "perftest/ib_write_lat")[0].values == (1.1,)
    assert curves(lasting, "perftest/ib_write_lat")[0].values == (1.3,)


@pytest.mark.parametrize(
    ("found", "key"),
    [
        (table("Multi-PingPong", PINGPONG), "imb/PingPong"),
        (table("netpipe", {"size": "B"}, tool="netpipe", mode="stream"), "netpipe/stream"),
        (table("netpipe", {"size": "B"}, tool="netpipe"), "netpipe/pingpong"),
        (table("wrf", {"time": "s"}, tool="wrf", kind="main", domain=1), "wrf/wrf"),
        (table("wrf", {"time": "s"}, tool="wrf", kind="writing", domain=1), None),
        (table("wrf", {"time": "s"}, tool="wrf", kind="main", domain=2), None),
        (table("milc", {"time": "s"}, tool="milc", kind="run"), "milc/milc"),
        (table("milc", {"time": "s"}, tool="milc", kind="cg"), None),
        (table("CG", {"time": "s"}, **NPB), "npb/CG/B"),
        (table("CG", {"time": "s"}, tool="npb"), None),
        (table("Window", {"time_avg": "us"}), None),
        (table("osu_init", {"avg": "us"}, tool="osu"), "osu/osu_init"),
        (table("osu_bw_fan_in", {"bandwidth": "MB/s"}, tool="osu"), None),
    ],
)
def test_the_key_that_a_table_says_it_is_of(found: Table, key: str | None) -> None:
    assert metrics.key_of(found) == key


HPL = {"N": None, "time": "s", "performance": "Gflop/s", "passed": None}


@pytest.mark.parametrize(
    ("found", "key", "figure"),
    [
        (
            table("hpl", HPL, (100, 2.0, 50.0, True), (200, 9.0, 70.0, True), (300, 30.0, 60.0, True), tool="hpl"),
            "hpl/hpl",
            Figure("performance", 70.0, "Gflop/s", None),
        ),
        (
            table("CG", {"performance": "Mop/s", "passed": None}, (900.0, True), **NPB),
            "npb/CG/B",
            Figure("op_rate", 900.0, "Mop/s", None),
        ),
        (  # the first step reads the input
            table("wrf", {"time": "s"}, (9.0,), (1.0,), (3.0,), tool="wrf", kind="main"),
            "wrf/wrf",
            Figure("runtime", 2.0, "s", None),
        ),
        (table("milc", {"time": "s"}, (4.0,), (6.0,), tool="milc"), "milc/milc", Figure("runtime", 5.0, "s", None)),
        (
            table("ud_bw", {"send_bw": "MB/s", "recv_bw": "MB/s"}, (676.0, 660.0), tool="qperf"),
            "qperf/ud_bw",
            Figure("bandwidth", 660.0, "MB/s", None),
        ),
        (
            table("tcp_lat", {"latency": "us"}, (51.2,), tool="qperf"),
            "qperf/tcp_lat",
            Figure("latency", 51.2, "us", None),
        ),
        (
            table("iperf3", {"bandwidth": "MB/s"}, (2362.5,), tool="iperf3"),
            "iperf3/iperf3",
            Figure("bandwidth", 2362.5, "MB/s", None),
        ),
    ],
)
def test_a_table_without_sizes_gives_one_figure(found: Table, key: str, figure: Figure) -> None:
    made = curves(found, key)
    assert [curve.sizes for curve in made] == [(0,)]
    assert key_figures(made, key) == (figure,)


def test_a_figure_that_no_row_gives_is_refused() -> None:
    with pytest.raises(ValueError) as caught:
        curves(table("wrf", {"time": "s"}, (9.0,), tool="wrf", kind="main"), "wrf/wrf")
    assert str(caught.value) == "wrf/wrf: 1 rows, too few for a runtime"
    with pytest.raises(ValueError) as caught:
        curves(table("hpl", HPL, (100, 2.0, None, False), tool="hpl"), "hpl/hpl")
    assert str(caught.value) == "hpl/hpl: performance in row 1 is None, not a number"
