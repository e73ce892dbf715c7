"""OSU's outputs, one trap per test. All texts are synthetic."""

import pytest

from railyard.parsers.osu import parse
from railyard.parsers.osu_headings import benchmark_of
from railyard.parsers.output import ParseError, Remark

BW = "# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n"
ROWS = "1                       1.50\n2                       3.00\n"


def heading_of(benchmark: str) -> str:
    return "Bandwidth (MB/s)" if "bw" in benchmark else "Latency (us)"


def test_a_plain_table_is_read_whole() -> None:
    parsed = parse(BW + ROWS)
    (table,) = parsed.tables
    assert (table.tool, table.version, table.benchmark, table.line) == ("osu", "5.8", "osu_bw", 1)
    assert (table.columns, table.units) == (("size", "bandwidth"), ("B", "MB/s"))
    assert table.rows == ((1, 1.5), (2, 3.0))
    assert table.complete
    assert parsed.failures == parsed.remarks == ()


@pytest.mark.parametrize(
    ("title", "benchmark", "version"),
    [
        ("# OSU MPI Latency Test (Version 2.1)", "osu_latency", "2.1"),
        ("#OSU MPI Bandwidth Test v5.7", "osu_bw", "5.7"),
        ("# OSU MPI-CUDA Bi-Directional Bandwidth Test v7.5", "osu_bibw", "7.5"),
        ("# OSU MPI Latency Test v7.0-lrbison3", "osu_latency", "7.0-lrbison3"),
        ("# OSU MPI Multi-threaded Latency Test v5.7.1", "osu_latency_mt", "5.7.1"),
        ("# OSU One Sided MPI_Get latency Test v4.2", "osu_get_latency", "4.2"),
        ("# OSU MPI One Sided MPI_Get Bandwidth Test v4.2", "osu_get_bw", "4.2"),
        ("# OSU MPI_Get_accumulate latency Test v5.8", "osu_get_acc_latency", "5.8"),
        ("# OSU MPI_Put-CUDA Latency Test v5.8", "osu_put_latency", "5.8"),
        ("# OSU MPI_Put Bi-directional Bandwidth Test v7.4", "osu_put_bibw", "7.4"),
    ],
)
def test_the_banner_names_executable_and_version(title: str, benchmark: str, version: str) -> None:
    (table,) = parse(f"{title}\n# Size\t{heading_of(benchmark)} \n0\t\t4.84\n").tables
    assert (table.benchmark, table.version) == (benchmark, version)
    assert table.rows == ((0, 4.84),)


@pytest.mark.parametrize(
    ("name", "benchmark"),
    [
        ("MPI All-to-All Personalized Exchange Latency", "osu_alltoall"),
        ("MPI Non-blocking All-to-All Latency", "osu_ialltoall"),
        ("MPI Non-Blocking Broadcast Latency", "osu_ibcast"),
        ("MPI Neighborhood Allgather Latency", "osu_neighbor_allgather"),
        ("MPI Allreduce Persistent Latency", "osu_allreduce_persistent"),
        ("MPI Reduce_scatter Latency", "osu_reduce_scatter"),
        ("NCCL Allreduce Latency", "osu_xccl_allreduce"),
        ("OpenSHMEM Put", "osu_oshm_put"),
        ("MPI Something New Latency", "osu_something_new"),
    ],
)
def test_titles_give_executables_and_none_is_taken_for_another(name: str, benchmark: str) -> None:
    assert benchmark_of(name) == benchmark


@pytest.mark.parametrize(
    "head",
    [
        "# OSU MPI Bandwidth Test v7.5\n# Datatype: MPI_CHAR.\n# Size      Bandwidth (MB/s)\n",
        "# OSU MPI Bandwidth Test v7.3\n# Size      Bandwidth (MB/s)\n# Datatype: MPI_CHAR.\n",
    ],
)
def test_the_datatype_stands_before_or_after_the_heading(head: str) -> None:
    (table,) = parse(head + ROWS).tables
    assert table.context == {"datatype": "MPI_CHAR"}
    assert len(table.rows) == 2 and table.complete


def test_the_one_value_of_point_to_point_is_latency_and_of_a_collective_avg() -> None:
    heading, row = "# Size       Avg Latency(us)\n", "1  1.51\n"
    assert parse(f"# OSU MPI Latency Test v7.5\n{heading}{row}").tables[0].columns == ("size", "latency")
    assert parse(f"# OSU MPI Broadcast Latency Test v5.7\n{heading}{row}").tables[0].columns == ("size", "avg")
    older = "# OSU MPI Broadcast Latency Test v3.2\n# Size   Latency (us)\n"
    assert parse(older + row).tables[0].columns == ("size", "avg")


def test_a_heading_without_a_blank_behind_its_sign_is_one() -> None:
    (table,) = parse("#OSU MPI Bandwidth Test v5.7\n#Size      Bandwidth (MB/s)\n1       2.00\n").tables
    assert (table.columns, table.rows, table.line) == (("size", "bandwidth"), ((1, 2.0),), 1)


def test_a_collective_with_full_output() -> None:
    text = (
        "# OSU MPI Allreduce Latency Test v7.4\n"
        "# Size       Avg Latency(us)   Min Latency(us)   Max Latency(us)  Iterations\n"
        "4                     196.98            184.04            211.19           5\n"
    )
    (table,) = parse(text).tables
    assert table.columns == ("size", "avg", "min", "max", "iterations")
    assert table.units == ("B", "us", "us", "us", None)
    assert table.rows == ((4, 196.98, 184.04, 211.19, 5),)


def test_a_non_blocking_barrier_has_a_heading_without_size_and_without_sign() -> None:
    text = (
        "# OSU MPI Non-blocking Barrier Latency Test v5.7.1\n# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n"
        "   Overall(us)    Compute(us)   Coll. Init(us)  Pure Comm.(us)   Min Comm.(us)   Overlap(%)\n"
        "         89.72          68.02             5.67           63.15           63.12        65.63\n"
    )
    (table,) = parse(text).tables
    assert table.columns == ("overall", "compute", "coll_init", "pure_comm", "min_comm", "overlap")
    assert table.units[-1] == "%"
    assert table.rows == ((89.72, 68.02, 5.67, 63.15, 63.12, 65.63),)


def test_message_rates_come_with_pairs_and_window() -> None:
    text = (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v5.8\n# [ pairs: 4 ] [ window size: 64 ]\n"
        "# Size                  MB/s        Messages/s\n4                     126.43       31608531.76\n"
    )
    (table,) = parse(text).tables
    assert (table.columns, table.units) == (("size", "bandwidth", "message_rate"), ("B", "MB/s", "1/s"))
    assert table.context == {"pairs": 4, "window": 64}


def test_validation_is_a_column_and_a_fail_is_a_failure() -> None:
    text = "# OSU MPI Latency Test v7.5\n# Size  Avg Latency(us)  Validation\n1   3.10   Pass\n2   3.11   Fail\n"
    parsed = parse(text)
    assert parsed.tables[0].rows == ((1, 3.1, True), (2, 3.11, False))
    assert parsed.failures == (Remark(4, "2   3.11   Fail"),)


def test_init_is_a_sentence_in_milliseconds_and_hello_prints_no_number() -> None:
    parsed = parse(
        "# OSU MPI Hello World Test v5.6.3\nThis is a test with 2 processes\n"
        "# OSU MPI Init Test v5.6.3\nnprocs: 2, min: 13 ms, max: 14.5 ms, avg: 13 ms\n"
    )
    (table,) = parsed.tables
    assert (table.benchmark, table.columns, table.units) == ("osu_init", ("avg", "min", "max"), ("us", "us", "us"))
    assert table.rows == ((13000, 13000, 14500.0),)
    assert (table.context, table.line) == ({"ranks": 2}, 3)
    assert [remark.line for remark in parsed.remarks] == [1, 2]
    assert parsed.failures == ()


def test_several_benchmarks_in_one_text_are_several_tables() -> None:
    parsed = parse(f"modules loaded\n{BW}{ROWS}real 5.93\n\n{BW}{ROWS}")
    assert [(table.line, len(table.rows), table.complete) for table in parsed.tables] == [(2, 2, True), (8, 2, True)]
    assert [remark.text for remark in parsed.remarks] == ["modules loaded", "real 5.93"]


def test_another_datatype_is_another_table() -> None:
    head = "# OSU MPI Bandwidth Test v7.4\n"
    block = "# Datatype: {}.\n# Size      Bandwidth (MB/s)\n" + ROWS
    first, second = parse(head + block.format("MPI_CHAR") + block.format("MPI_INT")).tables
    assert (first.context, second.context) == ({"datatype": "MPI_CHAR"}, {"datatype": "MPI_INT"})
    assert (second.benchmark, second.line, len(second.rows)) == ("osu_bw", 6, 2)


def test_what_a_mailer_wrapped_is_one_line() -> None:
    text = (
        "# OSU MPI Multiple Bandwidth / Message Rate\nTest v5.8\n# Size                  MB/s\n Messages/s\n"
        "4      126.43\n   31608531.76\n8  252.65  31580641.88\n"
    )
    (table,) = parse(text).tables
    assert (table.benchmark, table.version) == ("osu_mbw_mr", "5.8")
    assert table.rows == ((4, 126.43, 31608531.76), (8, 252.65, 31580641.88))
    assert table.complete


def test_a_heading_that_lost_its_sign_behind_another_gives_no_column_twice() -> None:
    text = (
        "# OSU MPI Multiple Bandwidth / Message Rate Test v5.8\n# Size   MB/s   Messages/s\n Size   MB/s   Messages/s\n"
        "4      126.43   31608531.76\n8  252.65  31580641.88\n"
    )
    for table in parse(text).tables:
        assert len(set(table.columns)) == len(table.columns)
        assert not table.complete or all(len(row) == 3 for row in table.rows)


@pytest.mark.parametrize(
    "spoiling",
    ["4\n", "4   6.0", "...\n", "4    6.01[node1:77] warning\n", "[n1:77] Signal: Segmentation fault (11)\n"],
)
def test_what_shows_that_rows_are_missing_leaves_the_table_incomplete(spoiling: str) -> None:
    (table,) = parse(BW + ROWS + spoiling).tables
    assert (len(table.rows), table.complete) == (2, False)


def test_numbers_that_do_not_rise_are_no_rows_and_a_row_among_them_is_of_another_place() -> None:
    parsed = parse(BW + ROWS + "1  7.00\n0\n")
    assert parsed.tables[0].rows == ((1, 1.5), (2, 3.0))
    assert not parsed.tables[0].complete
    assert parse(BW + ROWS + "0\n").tables[0].complete
    assert [remark.text for remark in parsed.remarks] == ["1  7.00", "0"]


@pytest.mark.parametrize(("end", "rows"), [("", 2), ("\n", 2)])
def test_a_last_row_without_newline_counts_with_all_its_decimals(end: str, rows: int) -> None:
    assert len(parse(BW + ROWS.rstrip("\n") + end).tables[0].rows) == rows


def test_a_last_row_without_newline_that_ends_in_a_whole_number_may_go_on() -> None:
    text = "# OSU MPI Broadcast Latency Test v5.8\n# Size  Avg Latency(us)  Iterations\n1  2.00  1000\n2  3.00  100"
    (table,) = parse(text).tables
    assert (table.rows, table.complete) == (((1, 2.0, 1000),), False)


def test_a_heading_alone_is_a_failure_with_its_line() -> None:
    parsed = parse(f"\n{BW}[n1:77] Signal: Bus error (7)\n")
    assert parsed.tables == ()
    assert parsed.failures == (
        Remark(2, "a heading without any row: osu_bw"),
        Remark(4, "[n1:77] Signal: Bus error (7)"),
    )


@pytest.mark.parametrize(
    ("title", "benchmark", "version"),
    [
        ("# OSU MPI One Sided MPI_Accumulate Passive Latency Test v3.4", "osu_acc_latency", "3.4"),
        ("# OSU One Sided MPI_Put Passive Bandwidth Test v3.8", "osu_put_bw", "3.8"),
        ("# OSU MPI-CUDA One Sided MPI_Fetch_and_op with Flush Latency Test v4.0", "osu_fop_latency", "4.0"),
        ("# OSU MPI Latency Test Test v8.0", "osu_latency", "8.0"),
        ("# OSU MPI-CUDA Bandwidth Test Persistent v8.0", "osu_bw_persistent", "8.0"),
        ("# OSU MPI Partitioned Latency Test v7.5", "osu_partitioned_latency", "7.5"),
        ("# OSU MPI-SYCL Bandwidth Congestion In Test v8.0", "osu_bw_fan_in", "8.0"),
        ("# OSU MPI-CUDA MANAGED Latency Test v7.4", "osu_latency", "7.4"),
        ("# OSU MPI Non-blocking Neighborhood All-to-Allw Latency Test v8.0", "osu_ineighbor_alltoallw", "8.0"),
        ("# OSU MPI Reduce_scatter_block Latency Test v7.4", "osu_reduce_scatter_block", "7.4"),
        ("# OSU MPI_Get Multi Latency Test v7.4", "osu_get_multi_lat", "7.4"),
        ("# OSU NCCL-CUDA Allreduce Latency Test v7.5", "osu_xccl_allreduce", "7.5"),
        ("# OSU NCCL-CUDA Allreduce Latency Test v7.2", "osu_nccl_allreduce", "7.2"),
        ("# OSU RCCL-ROCM Bi-Directional Bandwidth Test v7.3", "osu_xccl_bibw", "7.3"),
        ("# OSU OpenSHMEM Put Message Rate Test v5.8", "osu_oshm_put_mr", "5.8"),
        ("# OSU OpenSHMEM FCollect Latency Test v5.8", "osu_oshm_fcollect", "5.8"),
        ("# OSU UPC MEMPUT Test v5.8", "osu_upc_memput", "5.8"),
        ("# OSU UPC GatherAll Latency Test v5.8", "osu_upc_all_gather_all", "5.8"),
        ("# OSU UPC++ Async Copy (Put) Test v5.8", "osu_upcxx_async_copy_put", "5.8"),
        ("# OSU UPC++ AllGather Latency Test v5.8", "osu_upcxx_allgather", "5.8"),
        ("# OSU Bi-Bandwidth Test", "osu_bibw", None),
        ("# OMB-Py MPI Bandwidth Test", "osu_bw", None),
        ("# OMB Python MPI Allreduce Test", "osu_allreduce", None),
    ],
)
def test_titles_of_every_release_and_language_name_the_executable(
    title: str, benchmark: str, version: str | None
) -> None:
    (table,) = parse(f"{title}\n# Size          {heading_of(benchmark)}\n1                       4.84\n").tables
    assert (table.benchmark, table.version) == (benchmark, version)


@pytest.mark.parametrize(
    ("heading", "row", "columns", "units", "cells"),
    [
        (
            "# Size       Avg Latency(us)    P50 Tail Lat(us)   P9 Tail Lat(us)       Transmit Size",
            "8                       1.50                1.40              1.30                   16",
            ("size", "avg", "p50_tail_lat", "p9_tail_lat", "transmit_size"),
            ("B", "us", "us", "us", "B"),
            (8, 1.5, 1.4, 1.3, 16),
        ),
        (
            "# Size                  MB/s        Messages/s   P99 Tail BW(MB/s)",
            "8                       1.50         187500.00                1.40",
            ("size", "bandwidth", "message_rate", "p99_tail_bw"),
            ("B", "MB/s", "1/s", "MB/s"),
            (8, 1.5, 187500.0, 1.4),
        ),
        (
            "# Size\t\tLat Avg[us]\t\tLat Min[us]\t\tLat Max[us]",
            "8\t\t1.50\t\t\t1.40\t\t\t1.60",
            ("size", "avg", "min", "max"),
            ("B", "us", "us", "us"),
            (8, 1.5, 1.4, 1.6),
        ),
        (
            "# Size [B]\t\tBandwidth [MB/s]\tBandwidth [Gb/s]",
            "8\t\t\t1.50\t\t\t0.01",
            ("size", "bandwidth", "bandwidth_gbit"),
            ("B", "MB/s", "Gbit/s"),
            (8, 1.5, 0.01),
        ),
        (
            "# Size (B)          Latency (us)",
            "8                       1.50",
            ("size", "avg"),
            ("B", "us"),
            (8, 1.5),
        ),
    ],
)
def test_headings_of_every_release_and_language_say_how_rows_are_read(
    heading: str, row: str, columns: tuple[str, ...], units: tuple[str | None, ...], cells: tuple[float, ...]
) -> None:
    title, benchmark = ("Bandwidth", "osu_bw") if "MB/s" in heading else ("Allreduce", "osu_allreduce")
    (table,) = parse(f"# OSU {title} Test\n{heading}\n{row}\n").tables
    assert (table.benchmark, table.columns, table.units, table.rows) == (benchmark, columns, units, (cells,))


def test_a_barrier_of_java_has_no_size() -> None:
    heading = "# Avg. Latency [us]\t\tMin. Latency [us]\t\tMax. Latency [us]\n"
    (table,) = parse(f"# OSU Barrier Test\n{heading}  5.10\t\t\t\t4.90\t\t\t\t5.30\n").tables
    assert (table.columns, table.rows) == (("avg", "min", "max"), ((5.1, 4.9, 5.3),))


def test_a_window_that_varies_is_a_column_each_and_rates_are_a_second_table() -> None:
    windows = "#                 1           2           4\n"
    parsed = parse(
        "# OSU MPI Multiple Bandwidth / Message Rate Test v7.4\n# [ pairs: 2 ] [ window size: varied ]\n\n"
        f"# Uni-directional Bandwidth (MB/sec)\n# Datatype: MPI_CHAR.\n{windows}1      1.00  2.00  3.00\n"
        f"2      2.00  4.00  6.00\n\n# Message Rate Profile\n{windows}"
        "1      1000000.00  2000000.00  3000000.00\n2      1000000.00  2000000.00  3000000.00\n"
    )
    bandwidth, rate = parsed.tables
    assert bandwidth.columns == rate.columns == ("size", "window_1", "window_2", "window_4")
    assert (bandwidth.units, rate.units) == (("B", "MB/s", "MB/s", "MB/s"), ("B", "1/s", "1/s", "1/s"))
    assert (bandwidth.rows[1], rate.rows[1]) == ((2, 2.0, 4.0, 6.0), (2, 1000000.0, 2000000.0, 3000000.0))
    assert bandwidth.context == rate.context == {"pairs": 2, "datatype": "MPI_CHAR"}
    assert (bandwidth.line, rate.line, bandwidth.complete, rate.complete) == (1, 11, True, True)


def test_every_operation_of_openshmems_atomics_is_a_table() -> None:
    parsed = parse(
        "# OSU OpenSHMEM Atomic Operation Rate Test v5.8\n# Operation       Million ops/s  Latency (us)\n"
        "shmem_int_fadd                       0.43                2.34\n"
        "shmem_longlong_cswap                 0.40                2.50\n"
    )
    first, second = parsed.tables
    assert first.columns == ("operation_rate", "latency") and first.units == ("1/s", "us")
    assert (first.rows, second.rows) == (((430000, 2.34),), ((400000, 2.5),))
    assert (first.context, second.context) == (
        {"operation": "shmem_int_fadd"},
        {"operation": "shmem_longlong_cswap"},
    )
    assert parsed.failures == ()


def test_one_sided_validation_is_written_out_and_may_be_skipped() -> None:
    text = (
        "# OSU MPI_Accumulate latency Test v7.4\n# Window creation: MPI_Win_create\n"
        "# Synchronization: MPI_Win_lock/unlock\n# Datatype: MPI_INT.\n"
        "# Rank 0 Memory on DEVICE (D) and Rank 1 Memory on HOST (H)\n"
        "# Size          Latency (us)          Validation\n"
        "4                       3.10              passed\n8                       3.11             skipped\n"
        "16                      3.12              failed\n"
        "FAILED: MPI_SUM on MPI_INT had 3 of 10 tests fail data validation.\n"
    )
    parsed = parse(text)
    (table,) = parsed.tables
    assert table.rows == ((4, 3.1, True), (8, 3.11, None), (16, 3.12, False))
    assert table.context == {
        "window_creation": "MPI_Win_create",
        "synchronization": "MPI_Win_lock/unlock",
        "datatype": "MPI_INT",
        "send_buffer": "DEVICE",
        "receive_buffer": "HOST",
    }
    assert [failure.line for failure in parsed.failures] == [9, 10]


def test_sizes_whose_figures_are_lost_are_no_halves_of_rows() -> None:
    parsed = parse(BW + "".join(f"{2**exponent}\n" for exponent in range(8)))
    assert not parsed.tables
    assert [failure.text for failure in parsed.failures] == ["a heading without any row: osu_bw"]


@pytest.mark.parametrize("above", [True, False])
def test_threads_and_processes_are_said_above_the_banner_or_below_it(above: bool) -> None:
    crowd = "# Number of Sender threads: 1 \n# Number of Receiver threads: 2\n"
    title, rest = "\n# OSU MPI Multi-threaded Latency Test v7.4\n", "# Size  Avg Latency(us)\n1  2.00\n"
    (table,) = parse(BW + ROWS + (crowd + title if above else title + crowd) + rest).tables[1:]
    assert (table.benchmark, table.context) == ("osu_latency_mt", {"sender_threads": 1, "receiver_threads": 2})


def test_collectives_of_other_libraries_have_an_average() -> None:
    for title in (
        "NCCL-CUDA Broadcast Latency",
        "OpenSHMEM Collect Latency",
        "UPC Exchange Latency",
        "UPC++ Reduce Latency",
    ):
        (table,) = parse(f"#Using NCCL\n# OSU {title} Test v7.5\n# Size       Avg Latency(us)\n8   8955.18\n").tables
        assert table.columns == ("size", "avg"), title


def test_an_init_of_an_older_release_has_no_banner() -> None:
    (table,) = parse("nprocs: 2, min: 13, max: 15, avg: 14\n").tables
    assert (table.benchmark, table.version, table.rows) == ("osu_init", None, ((14000, 13000, 15000),))


def test_an_init_below_rows_of_another_form_is_a_table_of_its_own() -> None:
    # found by benchmarks/fuzz.py
    parsed = parse(
        "# OSU MPI Init Test v5.6.3\n# Size          Latency (us)\n0                       0.98\n"
        "nprocs: 2, min: 13 ms, max: 14 ms, avg: 13 ms\n"
    )
    assert [(table.line, table.columns, len(table.rows)) for table in parsed.tables] == [
        (1, ("size", "latency"), 1),
        (4, ("avg", "min", "max"), 1),
    ]


@pytest.mark.parametrize("last", ["2", "20", "2048"])
def test_an_init_whose_last_number_may_be_cut_is_no_row(last: str) -> None:
    # found by benchmarks/fuzz.py: "avg: 2" is the beginning of "avg: 2048 ms"
    sentence = f"# OSU MPI Init Test v7.5\nnprocs: 144, min: 2032 ms, max: 2054 ms, avg: {last}"
    parsed = parse(sentence)
    assert (parsed.tables, [failure.line for failure in parsed.failures]) == ((), [1])
    assert parse(f"{sentence} ms").tables[0].rows == ((int(last) * 1000, 2032000, 2054000),)


@pytest.mark.parametrize(
    "lost",
    [
        "# Size                  MB/s        Messages/s\n",
        "# [ pairs: 8 ] [ window size: 64 ]\n# Size                  MB/s        Messages/s\n",
    ],
)
def test_a_table_whose_banner_is_lost_has_no_name_from_the_program_before_it(lost: str) -> None:
    # found by benchmarks/fuzz.py --judge: the sum over eight pairs passed as the bandwidth of one
    parsed = parse(f"{BW}{ROWS}\n{lost}1       40.00       40000000.00\n")
    assert [(table.benchmark, table.columns, len(table.rows)) for table in parsed.tables] == [
        ("osu_bw", ("size", "bandwidth"), 2),
        (None, ("size", "bandwidth", "message_rate"), 1),
    ]
    assert "pairs" not in parsed.tables[0].context


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ("# Datatype: MPI_CHAR.\n", "MPI_CHAR", ["osu_bw", None]),
        ("# Datatype: MPI_CHAR.\n", "MPI_INT", ["osu_bw", "osu_bw"]),
        ("", "MPI_CHAR", ["osu_bw", None]),
    ],
)
def test_a_datatype_below_rows_is_of_the_same_program_where_it_is_another_than_theirs(
    first: str, second: str, names: list[str | None]
) -> None:
    # found by benchmarks/fuzz.py --judge: a program prints each datatype at most once
    parsed = parse(f"{BW}{first}{ROWS}# Datatype: {second}.\n# Size      Bandwidth (MB/s)\n1       4.00\n")
    assert [table.benchmark for table in parsed.tables] == names
    assert names[1] is None or parsed.tables[1].context["datatype"] == second


def test_rows_below_a_second_heading_are_not_those_of_the_first_ones_banner() -> None:
    # found by benchmarks/fuzz.py --judge: a heading and rows of both directions passed as one direction's
    parsed = parse(f"{BW}# Size      Bandwidth (MB/s)        Validation\n1       4.00     Pass\n")
    assert [(table.benchmark, table.line) for table in parsed.tables] == [(None, 3)]
    assert parsed.failures == (Remark(1, "a heading without any row: osu_bw"),)


def test_a_column_of_sizes_alone_takes_a_line_of_one_word() -> None:
    # found by benchmarks/fuzz.py: a heading that was broken, and a row that was cut below rows of another program
    parsed = parse("# OSU MPI_Put Bandwidth Test v5.3\nSize\n4194304\n1    1.78\n4194304\n")
    assert [(table.columns, table.rows) for table in parsed.tables] == [(("size",), ((4194304,),))]


@pytest.mark.parametrize(
    "refusal",
    [
        "This test requires exactly two processes",
        "CUDA support not enabled.  Please recompile benchmark with CUDA support.",
        "Error: OSU NCCL benchmarks expect the accelerator to be cuda.",
        "Please run this benchmark on more than 1 node",
    ],
)
def test_a_refusal_is_an_output_without_tables(refusal: str) -> None:
    parsed = parse(f"{refusal}\n")
    assert (parsed.tables, parsed.failures, parsed.remarks) == ((), (Remark(1, refusal),), ())


def test_rows_taken_at_once_are_those_taken_one_by_one() -> None:
    # the note separates the same rows
    sizes = [*range(1, 200), 150, 7, *range(300, 310)]
    rows = [f"{size}    {size / 8:.2f}    Pass\n" for size in sizes]
    head = "# OSU MPI Latency Test v7.5\n# Size  Avg Latency(us)  Validation\n"
    together, apart = parse(head + "".join(rows)), parse(head + "noted\n".join(rows))
    assert together.tables[0].rows == apart.tables[0].rows
    assert len(together.tables[0].rows) == 209
    assert [remark.text for remark in together.remarks] == ["150    18.75    Pass", "7    0.88    Pass"]
    assert [remark.line for remark in together.remarks] == [202, 203]
    assert together.tables[0].complete == apart.tables[0].complete


@pytest.mark.parametrize("line", [" " * 2**20 + "x", "# " + " " * 2**20 + "x", "1" + " " * 2**20 + "x"])
def test_a_line_of_a_megabyte_of_blanks_is_read_past(line: str) -> None:
    (table,) = parse(f"{BW}{ROWS}{line}\n4  6.00\n").tables
    assert (len(table.rows), table.complete) == (3, True)


@pytest.mark.parametrize("text", ["", "1 2\n", "hello\n", "Segmentation fault\n"])
def test_a_text_that_is_no_output_of_osu_is_an_error(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    where = f"line 1: found {text.strip()!r}" if text else "found ''"
    assert str(caught.value) == f'{where}, expected output of OSU: a banner "# OSU … Test v…" or a heading "# Size …"'


@pytest.mark.parametrize(
    ("name", "heading", "benchmark", "column"),
    [
        ("Latency", "Latency [us]", "osu_latency", "latency"),
        ("Bandwidth", "Bandwidth [MB/s]", "osu_bw", "bandwidth"),
        ("Bi-Directional Bandwidth", "Bandwidth [MB/s]", "osu_bibw_of_one_direction", "bandwidth"),
    ],
)
def test_the_demos_of_mpi4py_name_their_benchmark(name: str, heading: str, benchmark: str, column: str) -> None:
    parsed = parse(f"# MPI {name} Test\n# Size [B]{heading:>20}\n1{1.5:>29.2f}\n2{2.5:>29.2f}\n")
    (table,) = parsed.tables
    assert (table.benchmark, table.version, table.line) == (benchmark, None, 1)
    assert (table.columns, table.rows, table.complete) == (("size", column), ((1, 1.5), (2, 2.5)), True)
    assert [remark.line for remark in parsed.remarks] == ([1] if "one_direction" in benchmark else [])


def test_a_collective_of_mpi4pys_demos_is_no_osu_benchmark() -> None:
    # its figure is the time of the root alone
    (table,) = parse("# MPI Broadcast Latency Test\n# Size [B]        Latency [us]\n1    1.50\n2    1.60\n").tables
    assert table.benchmark is None


@pytest.mark.parametrize(
    "cut", ["# OSU MPI", "# OSU MPI Bi-Dir", "# OSU MPI-CUDA Bandwidth", "# OSU MPI One Sided MPI_P"]
)
def test_a_banner_that_is_cut_is_a_failure(cut: str) -> None:
    parsed = parse(f"{cut}\n# Size      Bandwidth (MB/s)\n1                       0.14\n2                       0.28\n")
    (failure,) = parsed.failures
    assert failure.line == 1
    assert failure.text.startswith(f"a banner that is cut: found '{cut}', expected '# OSU … Test v…'")


def test_a_banner_at_which_the_output_ends_is_cut_and_a_persons_words_with_a_banner_or_nothing_below_are_not() -> None:
    run = "# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n1                       0.14\n"
    for words in ("# OSU Bandwidth\n\n", "# OSU MPI\nnodes n1 and n2\n"):
        assert parse(f"{words}{run}").failures == parse(f"{run}{words}{run}").failures == ()
        assert parse(f"{run}{words}").failures == ()
    (failure,) = parse(f"{run}# OSU MPI Bi-Dir").failures
    assert (failure.line, failure.text[:23]) == (4, "a banner that is cut: f")


@pytest.mark.parametrize("line", ["# OSU Micro-Benchmarks 7.4", "# OSU on node1", "# MPI Run osu_get_latency"])
def test_a_comment_is_no_cut_banner(line: str) -> None:
    assert (
        parse(f"{line}\n# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n1         0.14\n").failures == ()
    )


@pytest.mark.parametrize(
    ("title", "heading", "other"),
    [
        ("# OSU MPI Latency Test v5.8", "# Size      Bandwidth (MB/s)        Validation", "rates"),
        ("# OSU MPI Allreduce Latency Test v7.4", "# Size      Bandwidth (MB/s)", "rates"),
        ("# OSU MPI Bandwidth Test v7.4", "# Size          Latency (us)", "times"),
        ("# OSU MPI Multiple Bandwidth / Message Rate Test v7.4", "# Size       Avg Latency(us)", "times"),
    ],
)
def test_a_heading_that_the_banner_cannot_have_is_of_another_output(title: str, heading: str, other: str) -> None:
    parsed = parse(f"{title}\n{heading}\n1                       0.14{'  Pass' * heading.endswith('Validation')}\n")
    (failure,) = parsed.failures
    assert failure.line == 2
    assert failure.text.startswith(f"a heading with {other} below the banner of osu_")
    assert failure.text.endswith("lines of two outputs are mixed; give each a file of its own")
    assert [table.benchmark for table in parsed.tables] == [None]


def test_a_second_heading_below_one_banner_is_of_another_output() -> None:
    rows = "# Size      Bandwidth (MB/s)\n1                       0.14\n2                       0.28\n"
    parsed = parse(f"# OSU MPI Bandwidth Test v7.4\n{rows}{rows}")
    (failure,) = parsed.failures
    assert failure.line == 5
    assert failure.text.startswith("a second heading below the banner of osu_bw: # Size")


@pytest.mark.parametrize("end", ["\n", "\n\nreal\t0m5.930s\n", "\n# OSU MPI Bandwidth Test v7.4\n"])
@pytest.mark.parametrize("last", ["12.3", "12.", "12"])
def test_a_last_number_with_fewer_decimals_is_cut_although_a_newline_follows(last: str, end: str) -> None:
    for above in ("", "1                       0.14\n", "1                       0.14\n2                       0.28\n"):
        parsed = parse(f"# OSU MPI Bandwidth Test v7.4\n# Size      Bandwidth (MB/s)\n{above}4         {last}{end}")
        assert 4 not in [row[0] for table in parsed.tables for row in table.rows]
        assert not any(table.complete for table in parsed.tables)
