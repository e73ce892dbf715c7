"""libfabric's tests, one trap per test. Texts are synthetic."""

import pytest

from railyard.parsers.fabtests import parse
from railyard.parsers.output import ParseError, Remark

PINGPONG = "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
OTHER = "bytes   iters   total       time     MB/sec    usec/xfer   Mxfers/sec\n"
ROW = "64      10      =10      1.2k        0.00s     12.50       5.12       0.20\n"
LARGE = "1.5k    2k      =2k      5.8m        0.01s    600.00       2.56       0.39\n"


def test_a_ping_pong_is_known_by_its_heading_and_sizes_and_counts_are_written_out() -> None:
    (table,) = parse(PINGPONG + ROW + LARGE).tables
    assert (table.tool, table.benchmark, table.version, table.line, table.complete) == (
        *("fabtests", "fi_pingpong", None),
        *(1, True),
    )
    assert table.columns == ("size", "iterations", "bandwidth", "time", "message_rate")
    assert table.units == ("B", None, "MB/s", "us", "1/s")
    assert table.rows == ((64, 10, 12.5, 5.12, 200000.0), (1536, 2000, 600.0, 2.56, 390000.0))


def test_the_others_print_one_heading_and_no_name() -> None:
    (table,) = parse(OTHER + "4m      1m      3.8t        1.00s    900.00    4660.34       0.00\n").tables
    assert (table.benchmark, table.rows) == (None, ((4 << 20, 10**6, 900.0, 4660.34, 0.0),))


def test_a_name_before_the_row_is_the_benchmark() -> None:
    (table,) = parse(f"name    {OTHER}fi_rdm_tagged_bw  64  10  640  0.00s  12.50  5.12  0.20\n").tables
    assert (table.benchmark, table.rows) == ("fi_rdm_tagged_bw", ((64, 10, 12.5, 5.12, 200000.0),))


@pytest.mark.parametrize(
    ("call", "benchmark"),
    [
        ("$ fi_rdm_tagged_pingpong -p verbs 10.1.0.2", "fi_rdm_tagged_pingpong"),
        ("[user@n1 ~]$ ./fi_msg_bw -I 100", "fi_msg_bw"),
        ("+ srun -N 2 --mpi=none /opt/fabtests/bin/fi_rma_bw -o write", "fi_rma_bw"),
        ("the program fi_rma_bw prints no name", None),
    ],
)
def test_the_command_above_a_heading_names_the_benchmark(call: str, benchmark: str | None) -> None:
    row = "64      10      1.2k        0.00s     12.50       5.12       0.20\n"
    first, second = parse(f"{call}\n{OTHER}{row}{OTHER}{row}").tables
    assert (first.benchmark, second.benchmark) == (benchmark, None)


def test_a_message_that_was_not_acknowledged_is_a_failure() -> None:
    parsed = parse(PINGPONG + ROW.replace("=10", "-3 "))
    assert parsed.failures == (Remark(2, ROW.replace("=10", "-3 ").strip()),)


def test_each_heading_is_a_table() -> None:
    assert [table.line for table in parse(f"a word\n{PINGPONG}{ROW}{OTHER}64 1 64 0.00s 1.00 1.00 1.00\n").tables] == [
        2,
        4,
    ]


@pytest.mark.parametrize("cut", ["256     10      =1", "256     10      =10      5k          0.00s     30.6", "256"])
def test_a_row_that_is_cut_does_not_count(cut: str) -> None:
    (table,) = parse(PINGPONG + ROW + cut).tables
    assert (len(table.rows), table.complete) == (1, False)


@pytest.mark.parametrize("place", [2, 3, 5, 6, 7])
def test_a_row_that_lacks_a_cell_leaves_its_table_incomplete(place: int) -> None:
    cells = ROW.split()
    row = "   ".join(cells[:place] + cells[place + 1 :])
    parsed = parse(f"{PINGPONG}{row}\n{LARGE}")
    assert ([len(table.rows) for table in parsed.tables], parsed.tables[0].complete) == ([1], False)
    assert parsed.remarks == (Remark(2, row),)


def test_a_last_row_without_its_newline_counts_when_its_last_figure_is_whole() -> None:
    (table,) = parse(PINGPONG + ROW.rstrip()).tables
    assert (len(table.rows), table.complete) == (1, True)


ERRORS = [
    "fi_getinfo(): util/pingpong.c:1754, ret=-61 (No data available)",
    "[error] fabtests:common/shared.c:2345: cq_readerr 113 (No route to host)",
    "Segmentation fault",
]


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_is_a_failure_and_leaves_the_table_incomplete(error: str) -> None:
    parsed = parse(f"{PINGPONG}{ROW}{error}\n")
    assert parsed.failures == (Remark(3, error),)
    assert not parsed.tables[0].complete


def test_an_error_alone_is_its_output_and_a_heading_alone_a_failure() -> None:
    assert parse(ERRORS[0] + "\n").failures == (Remark(1, ERRORS[0]),)
    assert parse(PINGPONG).failures == (Remark(1, "a heading without any row"),)


def test_a_warning_is_a_remark() -> None:
    parsed = parse(f"{PINGPONG}{ROW}libfabric:123: a word\n")
    assert (parsed.remarks, parsed.tables[0].complete) == ((Remark(3, "libfabric:123: a word"),), True)


@pytest.mark.parametrize("text", ["", "64 10 =10 1.2k 0.00s 12.50 5.12 0.20\n", "fi_pingpong: no such file\n"])
def test_another_text_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match=r'expected output of libfabric\'s tests: a heading "bytes … usec/xfer"$'):
        parse(text)


def test_a_rate_too_low_for_its_two_decimals_is_size_over_time() -> None:
    rows = "6       10      =10     120         0.02s      0.01     811.00       0.00\n" + (
        "8       10      =10     160         0.03s      0.00    1700.00       0.00\n"
        "64      10      =10     1.2k        0.00s      0.00       5.12       0.20\n"
    )
    (table,) = parse(PINGPONG + rows).tables
    assert table.column("bandwidth") == (0.01, 8 / 1700, 0.0)  # 64 B in 5.12 us are no 0.00: the row is wrong
