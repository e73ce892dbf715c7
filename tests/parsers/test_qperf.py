"""qperf's tests, one trap per test. Texts are synthetic; the corpus' values were read by hand."""

from pathlib import Path
from typing import Any

import pytest

from railyard.parsers.output import ParseError, Remark, Table
from railyard.parsers.qperf import parse

#: Test, columns and row of every table of the reference corpus, read by hand.
CORPUS = {
    "gentoo_ib_ud_rc_uc_tcp_udp.txt": [
        ("ud_lat", ("latency",), (27.6,)),
        ("ud_bw", ("send_bw", "recv_bw"), (676.0, 660.0)),
        ("rc_rdma_read_bw", ("bw",), (855.0,)),
        ("rc_rdma_write_bw", ("bw",), (738.0,)),
        ("uc_rdma_write_bw", ("send_bw", "recv_bw"), (768.0, 735.0)),
        ("tcp_bw", ("bw",), (656.0,)),
        ("tcp_lat", ("latency",), (51.2,)),
        ("udp_bw", ("send_bw", "recv_bw"), (719.0, 626.0)),
        ("udp_lat", ("latency",), (49.2,)),
    ],
    "ntrdma_bw.txt": [
        ("rc_bw", ("bw",), (4670.0,)),
        ("rc_rdma_write_bw", ("bw",), (4670.0,)),
        ("rc_rdma_read_bw", ("bw",), (4620.0,)),
    ],
}


def rows(table: Table) -> Any:
    """Return the rows, for approximate comparison."""
    return table.rows


@pytest.mark.parametrize("name", CORPUS)
def test_the_corpus_holds(name: str, corpus: Path) -> None:
    parsed = parse((corpus / "qperf" / name).read_text(encoding="utf-8"))
    assert [(table.benchmark, table.columns, table.rows[0]) for table in parsed.tables] == CORPUS[name]
    assert all(table.complete and len(table.rows) == 1 for table in parsed.tables)
    assert (parsed.failures, parsed.remarks) == ((), ())


@pytest.mark.parametrize(
    ("test", "printed", "value", "unit"),
    [
        ("rc_bw", "bw  =  5.5 GB/sec", 5500.0, "MB/s"),
        ("rc_bw", "bw  =  980 KB/sec", 0.98, "MB/s"),
        ("tcp_bw", "bw  =  9.4 Gb/sec", 1175.0, "MB/s"),  # --use_bits_per_sec
        ("tcp_bw", "bw  =  5500000000 bytes/sec", 5500.0, "MB/s"),  # --unify_units
        ("tcp_bw", "bw  =  8,000 TB/sec", 8e9, "MB/s"),
        ("rc_lat", "latency  =  1.25 us", 1.25, "us"),
        ("rc_lat", "latency  =  900 ns", 0.9, "us"),
        ("tcp_lat", "latency  =  2.5 ms", 2500.0, "us"),
        ("rc_fetch_add_mr", "msg_rate  =  2.5 M/sec", 2.5e6, "1/s"),
    ],
)
def test_each_printed_unit_is_converted(test: str, printed: str, value: float, unit: str) -> None:
    (table,) = parse(f"{test}:\n    {printed}\n").tables
    assert (rows(table), table.units) == (((pytest.approx(value),),), (unit,))


def test_verbose_figures_are_columns_and_words_are_context() -> None:
    text = (
        "conf:\n    loc_node   =  vm1\n    loc_cpu    =  2 Cores: Made CPU 2.0GHz\n    loc_qperf  =  0.4.11\n"
        "tcp_lat:\n    latency        =    50 us\n    msg_rate       =    20 K/sec\n    id             =  mlx5_0:1\n"
        "    msg_size       =    64 KiB (65,536)\n    time           =     2 sec\n    timeout        =     5 sec\n"
        "    loc_cpus_used  =  12.5 % cpus\n    send_cost      =   250 ms/GB\n    loc_send_msgs  =  1.5 million\n"
    )
    (table,) = parse(text).tables
    said = dict(zip(table.columns, zip(table.rows[0], table.units, strict=True), strict=True))
    assert said == {
        "latency": (50.0, "us"),
        "msg_rate": (20000.0, "1/s"),
        "msg_size": (65536.0, "B"),
        "time": (2e6, "us"),
        "timeout": (5e6, "us"),
        "loc_cpus_used": (12.5, "%"),
        "send_cost": (0.25, "s/GB"),
        "loc_send_msgs": (1.5e6, None),
    }
    assert (table.version, table.line, table.context["loc_node"], table.context["id"]) == (
        "0.4.11",
        5,
        "vm1",
        "mlx5_0:1",
    )


def test_the_configuration_alone_is_no_failure() -> None:
    parsed = parse("conf:\n    loc_node   =  vm1\n")
    assert (parsed.tables, parsed.failures) == ((), ())
    assert parsed.remarks == (Remark(1, "a test without any figure: conf"),)


def test_a_loop_gives_a_table_for_each_run() -> None:
    parsed = parse("rc_lat:\n    latency  =  1 us\nrc_lat:\n    latency  =  2 us\n")
    assert [(table.line, table.rows) for table in parsed.tables] == [(1, ((1.0,),)), (3, ((2.0,),))]


@pytest.mark.parametrize("lost", ["latency  =  2 us", "bw  =  6 GB/sec", "send_bw  =  6 GB/sec"])
def test_a_figure_of_a_test_whose_name_is_lost_is_no_other_tests(lost: str) -> None:
    parsed = parse(f"rc_bw:\n    bw  =  5 GB/sec\n    {lost}\n    msg_rate  =  2 K/sec\n")
    assert [(table.columns, table.rows) for table in parsed.tables] == [(("bw",), ((5000.0,),))]
    assert [remark.line for remark in parsed.remarks] == [3, 4]


@pytest.mark.parametrize("cut", [1, 2, 4, 7, 9, 12])
def test_a_cut_figure_is_none(cut: int) -> None:
    parsed = parse(
        "rc_lat:\n    latency  =  1.25 us\nud_bw:\n    send_bw  =  750 MB/sec\n    recv_bw  =  740 MB/sec"[:-cut]
    )
    assert [table.benchmark for table in parsed.tables] == ["rc_lat"]
    assert parsed.failures == (Remark(3, "only one side's bandwidth: ud_bw"),)


def test_a_figure_without_its_newline_counts_where_its_unit_is_whole() -> None:
    assert parse("rc_lat:\n    latency  =  1.25 us").tables[0].rows == ((1.25,),)


def test_an_error_is_a_failure_and_so_is_a_test_without_figure() -> None:
    parsed = parse("server: failed to modify QP to RTR: Invalid argument\nrc_bw:\nfailed to modify QP to RTR: Bad\n")
    assert parsed.tables == ()
    assert [(failure.line, failure.text) for failure in parsed.failures] == [
        (1, "server: failed to modify QP to RTR: Invalid argument"),
        (2, "a test without any figure: rc_bw"),
        (3, "failed to modify QP to RTR: Bad"),
    ]


def test_a_text_that_is_no_output_of_qperf_is_an_error() -> None:
    with pytest.raises(ParseError) as caught:
        parse("\t\trc_odp_caps:\n\t\t\t\t\tNO SUPPORT\n")
    assert str(caught.value) == (
        "line 1: found '\\t\\trc_odp_caps:', expected output of qperf: a test's name with its colon (\"rc_bw:\")"
    )
