"""Synthetic outputs: a parser reads back the curve from which they were made, and they say that they are synthetic."""

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks import metrics, moved_bytes
from railyard.parsers import PARSERS
from railyard.provision.replay.texts import OutputPlan, text_of

SIZES = tuple(1 << power for power in range(2, 23))
TIMES = tuple(1.5 + size / 6000 for size in SIZES)
SENTENCE = "computed from published values, not measured: references/somewhere.yaml"

#: How many message bytes the printed bandwidth counts for one printed time.
FACTORS = {
    "osu/osu_bibw": 2, "imb/Sendrecv": 2, "imb/Exchange": 4, "imb/Biband": 2, "netpipe/bidirectional": 2,
    "perftest/ib_write_bw/bidirectional": 2, "osu/osu_bibw/device": 2,
    "perftest/ib_write_bw/bidirectional/device": 2, "cxi/cxi_write_bw/bidirectional": 2,
}  # fmt: skip
KEYS = [
    *("osu/osu_latency", "osu/osu_bw", "osu/osu_bibw", "osu/osu_mbw_mr", "osu/osu_multi_lat", "osu/osu_put_bw"),
    *("osu/osu_get_latency", "osu/osu_allreduce", "osu/osu_bcast", "osu/osu_alltoall", "osu/osu_alltoallv"),
    *("imb/PingPong", "imb/PingPing", "imb/Sendrecv", "imb/Exchange", "imb/Uniband", "imb/Biband"),
    *("imb/Allreduce", "imb/Alltoall", "imb/Alltoallv", "imb/Bcast"),
    *("netpipe/pingpong", "netpipe/stream", "netpipe/bidirectional"),
    *("perftest/ib_write_bw", "perftest/ib_write_bw/bidirectional", "perftest/ib_write_lat", "perftest/ib_send_lat"),
    *("perftest/ib_read_bw", "fabtests/fi_pingpong", "cxi/cxi_write_bw", "cxi/cxi_write_bw/bidirectional"),
    *("osu/osu_latency/device", "osu/osu_bw/host-device", "osu/osu_bw/device-host", "osu/osu_bibw/device"),
    *("perftest/ib_write_bw/device", "perftest/ib_write_bw/bidirectional/device", "perftest/ib_send_lat/device"),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS)
def test_the_parser_reads_the_curve_that_was_printed(key: str) -> None:
    parsed = PARSERS[key.partition("/")[0]](text_of(OutputPlan(key, SIZES, TIMES, SENTENCE)))
    assert parsed.failures == ()
    (table,) = parsed.tables
    assert table.complete
    for curve in metrics.curves(table, key):
        assert curve.sizes == SIZES
        if curve.metric == "latency":
            expected = list(TIMES)
        elif curve.metric == "bandwidth":
            expected = [FACTORS.get(key, 1) * size / time for size, time in zip(SIZES, TIMES, strict=True)]
        else:
            factor = FACTORS.get(key, 1)
            expected = [factor * 1e6 / time for time in TIMES]
        # two decimals are printed
        assert list(curve.values) == pytest.approx(expected, rel=1e-3, abs=0.011)


@pytest.mark.parametrize("key", KEYS)
def test_the_output_says_that_it_is_made_and_from_what(key: str) -> None:
    text = text_of(OutputPlan(key, SIZES, TIMES, SENTENCE))
    assert text.splitlines().count(f"# {SENTENCE}") == 1
    assert text == text_of(OutputPlan(key, SIZES, TIMES, SENTENCE))


@pytest.mark.parametrize("key", ["imb/PingPong", "osu/osu_bw"])
def test_as_many_tables_are_printed_as_passes_are_made(key: str) -> None:
    parsed = PARSERS[key.partition("/")[0]](text_of(OutputPlan(key, SIZES, TIMES, SENTENCE, passes=3)))
    assert [table.rows for table in parsed.tables] == [parsed.tables[0].rows] * 3


def test_pairs_of_ranks_are_summed() -> None:
    (table,) = PARSERS["osu"](text_of(OutputPlan("osu/osu_mbw_mr", SIZES, TIMES, SENTENCE, ranks=8))).tables
    assert (moved_bytes.pairs_of(table, "osu/osu_mbw_mr"), table.context["pairs"]) == (4, 4)
    assert table.column("bandwidth")[-1] == pytest.approx(4 * SIZES[-1] / TIMES[-1], rel=1e-4)


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        (
            "hpl/hpl",
            "hpl/hpl: Railyard cannot write an output of hpl; expected one of osu, imb, netpipe, perftest, iperf3, "
            "fabtests, cxi, nccl",
        ),
        (
            "perftest/ib_atomic_bw",
            "perftest/ib_atomic_bw: found no title of perftest for it, expected ib_write, ib_read or ib_send",
        ),
        (
            "osu/osu_cas_latency",
            "osu/osu_cas_latency: found no title that OSU prints over it, expected a benchmark of two ranks or all",
        ),
    ],
)
def test_a_text_that_is_not_known_is_refused(key: str, sentence: str) -> None:
    with pytest.raises(RailyardError) as refused:
        text_of(OutputPlan(key, SIZES, TIMES, SENTENCE))
    assert str(refused.value) == sentence


def test_a_run_prints_the_repetitions_that_it_was_told_and_osus_own_check() -> None:
    counts = tuple(range(1, len(SIZES) + 1))
    for key in ("imb/PingPong", "netpipe/stream", "perftest/ib_write_bw", "perftest/ib_write_lat"):
        (table,) = PARSERS[key.partition("/")[0]](
            text_of(OutputPlan(key, SIZES, TIMES, SENTENCE, repetitions=counts))
        ).tables
        assert moved_bytes.repetitions_of(table, None) == counts
    made = OutputPlan("osu/osu_mbw_mr", SIZES, TIMES, SENTENCE, window=16, validated=True)
    (table,) = PARSERS["osu"](text_of(made)).tables
    assert (set(table.column("validation")), table.context["window"]) == ({True}, 16)


@pytest.mark.parametrize("key", ["osu/osu_barrier", "osu/osu_init"])
def test_what_has_no_sizes(key: str) -> None:
    parsed = PARSERS["osu"](text_of(OutputPlan(key, (0,), (2000.0,), SENTENCE, ranks=4)))
    (table,) = parsed.tables
    assert (table.complete, parsed.failures, len(table.rows)) == (True, (), 1)


def test_iperf3_moves_what_it_was_told() -> None:
    made = OutputPlan("iperf3/iperf3", (131072,), (131072 / 1000,), SENTENCE, amount_bytes=3_000_000_000)
    (table,) = PARSERS["iperf3"](text_of(made)).tables
    assert (table.context["bytes_sent"], table.context["bytes_received"]) == (3_000_000_000, 3_000_000_000)
