"""OSU's outputs, one trap a test. All texts are of our own making."""

import pytest

from railyard.parsers import ParseError
from railyard.parsers.osu import parse
from railyard.parsers.osutitles import benchmark_of
from railyard.parsers.parsed import Remark

BW = "# OSU MPI Bandwidth Test v5.8\n# Size      Bandwidth (MB/s)\n"
ROWS = "1                       1.50\n2                       3.00\n"


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
    (table,) = parse(f"{title}\n# Size\tLatency (us) \n0\t\t4.84\n").tables
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


@pytest.mark.parametrize(
    "spoiling",
    ["4\n", "4   6.0", "...\n", "4    6.01[node1:77] warning\n", "[n1:77] Signal: Segmentation fault (11)\n"],
)
def test_what_shows_that_rows_are_missing_leaves_the_table_incomplete(spoiling: str) -> None:
    (table,) = parse(BW + ROWS + spoiling).tables
    assert (len(table.rows), table.complete) == (2, False)


def test_numbers_that_do_not_rise_are_no_rows() -> None:
    parsed = parse(BW + ROWS + "1  7.00\n0\n")
    assert parsed.tables[0].rows == ((1, 1.5), (2, 3.0))
    assert parsed.tables[0].complete
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


@pytest.mark.parametrize("text", ["", "1 2\n", "hello\n", "Segmentation fault\n"])
def test_a_text_that_is_no_output_of_osu_is_an_error(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    where = f"line 1: found {text.strip()!r}" if text else "found ''"
    assert str(caught.value) == f'{where}, expected output of OSU: a banner "# OSU … Test v…" or a heading "# Size …"'
