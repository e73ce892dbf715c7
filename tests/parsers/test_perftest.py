"""perftest's tables, one trap per test. Texts are synthetic."""

from pathlib import Path
from typing import Any

import pytest

from railyard.benchmarks.table import micro
from railyard.parsers.lines import BINARY_MB
from railyard.parsers.output import ParseError, Remark, Table
from railyard.parsers.perftest import parse
from tests.parsers.samples import MADE

RULE = "-" * 87 + "\n"
SETTINGS = (
    " Dual-port       : OFF\t\tDevice         : mlx5_0\n Number of qps   : 2\t\tTransport type : IB\n"
    " Connection type : RC\t\tUsing SRQ      : OFF\n PCIe relax order: Unsupported\t\tLock-free      : OFF\n"
    " TX depth        : 128\n Mtu             : 4096[B]\n Link type       : Ethernet\n GID index       : 3\n"
    " rdma_cm QPs\t : ON\n Data ex. method : Ethernet\n"
)
ADDRESSES = (
    RULE + " local address: LID 0000 QPN 000000 PSN 0x111111\n GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:01\n"
    " remote address: LID 0000 QPN 0x0002 PSN 0x222222\n" + RULE
)
MB = " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
LATENCY = (
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   "
    "99% percentile[usec]   99.9% percentile[usec] \n"
)
ROWS = " 2          1000             8.00               4.00   \t\t   2.097152\n"
ROWS2 = " 4          1000             16.00              8.00   \t\t   2.097152\n"


def rows(table: Table) -> Any:
    """Return the rows, for approximate comparison."""
    return table.rows


def title(text: str) -> str:
    return f"{RULE}                    {text} Test\n{SETTINGS}{ADDRESSES}"


WRITE = title("RDMA_Write BW") + MB + ROWS + ROWS2 + RULE


def test_a_bandwidth_table_is_read_whole() -> None:
    parsed = parse(WRITE)
    (table,) = parsed.tables
    assert (table.tool, table.version, table.benchmark, table.line) == ("perftest", None, "ib_write_bw", 2)
    assert table.columns == ("size", "iterations", "bandwidth_peak", "bandwidth", "message_rate")
    assert table.units == ("B", None, "MB/s", "MB/s", "1/s")
    assert rows(table)[0] == pytest.approx((2, 1000, 8.388608, 4.194304, 2097152.0))
    assert (len(table.rows), table.complete) == (2, True)
    assert dict(table.context) == {
        "dual_port": False,
        "device": "mlx5_0",
        "qps": 2,
        "transport": "IB",
        "connection": "RC",
        "tx_depth": 128,
        "mtu": 4096,
        "link": "Ethernet",
        "gid_index": 3,
        "rdma_cm": True,
    }
    assert (parsed.failures, parsed.remarks) == ((), ())


def test_the_times_that_a_wrapper_prints_around_a_run_are_no_remarks() -> None:
    text = f"Connected: Sat Nov 21 10:00:00 2026\n\n{WRITE}Completed: Sat Nov 21 10:00:05 2026\nTotal run time: 5.0 s\n"
    parsed = parse(text)
    assert (parsed.tables[0].rows, parsed.tables[0].complete) == (parse(WRITE).tables[0].rows, True)
    assert (parsed.failures, parsed.remarks) == ((), ())


@pytest.mark.parametrize(
    ("unit", "factor"), [("MB/sec", BINARY_MB), ("MiB/sec", BINARY_MB), ("Gb/sec", 125.0), ("mb/SEC", BINARY_MB)]
)
def test_the_heading_names_the_unit_and_both_megabytes_are_binary(unit: str, factor: float) -> None:
    (table,) = parse(WRITE.replace("MB/sec", unit)).tables
    assert rows(table)[0][2:4] == pytest.approx((8.0 * factor, 4.0 * factor))


@pytest.mark.parametrize(
    ("printed", "benchmark"),
    [
        ("Send BW", "ib_send_bw"),
        ("Send_imm Latency", "ib_send_lat"),
        ("RDMA_Write Bidirectional BW", "ib_write_bw"),
        ("RDMA_Write Bidirectional Post List BW", "ib_write_bw"),
        ("RDMA_Write_imm BW", "ib_write_bw"),
        ("RDMA_Read Latency", "ib_read_lat"),
        ("Read Req Latency", "ib_read_lat"),  # 2006
        ("Atomic FETCH_AND_ADD BW", "ib_atomic_bw"),
        ("Atomic CMP_AND_SWAP Latency", "ib_atomic_lat"),
        ("Send BW  -  Multicast", "ib_send_bw"),  # 2010
        ("Send Latency Multicast", "ib_send_lat"),
        ("rdma_write bw", "ib_write_bw"),
    ],
)
def test_the_title_names_the_executable(printed: str, benchmark: str) -> None:
    assert parse(title(printed) + MB + ROWS + RULE).tables[0].benchmark == benchmark


def test_raw_ethernet_titles_itself_send_and_is_told_by_its_connection() -> None:
    text = (title("Send BW") + MB + ROWS + RULE).replace("type : RC", "type : RawEth")
    assert parse(text).tables[0].benchmark == "raw_ethernet_bw"


def test_the_old_latency_table_has_three_times_and_the_new_one_seven() -> None:
    old = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n 2       1000       1.11   2.22   1.33\n"
    new = (
        LATENCY + " 2       1000          1.11           2.22         1.33  \t       1.44     \t0.05\t\t1.66 \t\t2.20\n"
    )
    (table,) = parse(title("Send Latency") + old + RULE).tables
    assert table.columns == ("size", "iterations", "time_min", "time_max", "time_typical")
    assert (table.rows, table.units[2:]) == (((2, 1000, 1.11, 2.22, 1.33),), ("us",) * 3)
    (table,) = parse(title("Send Latency") + new + RULE).tables
    assert table.columns[5:] == ("time_avg", "time_stdev", "time_p99", "time_p999")
    assert rows(table) == ((2, 1000, 1.11, 2.22, 1.33, 1.44, 0.05, 1.66, 2.2),)


def test_latency_by_duration_has_transactions() -> None:
    text = " #bytes        #iterations       t_avg[usec]    tps average\n 2         300000       1.50       333333.33\n"
    (table,) = parse(title("RDMA_Read Latency") + text + RULE).tables
    assert (table.columns, table.units) == (
        ("size", "iterations", "time_avg", "transactions"),
        ("B", None, "us", "1/s"),
    )
    assert rows(table) == ((2, 300000, 1.5, 333333.33),)


def test_the_table_of_before_2012_has_no_message_rate() -> None:
    text = MB.replace("   MsgRate[Mpps]", "") + " 2          1000             8.00               4.00\n"
    (table,) = parse(title("Send BW") + text + "-" * 66 + "\n").tables
    assert table.columns == ("size", "iterations", "bandwidth_peak", "bandwidth")
    assert (rows(table)[0], table.complete) == (pytest.approx((2, 1000, 8.388608, 4.194304)), True)


def test_dual_port_columns_are_of_each_port() -> None:
    # known only from the source: RESULT_FMT_G_PER_PORT and REPORT_FMT_PER_PORT
    text = (
        " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]   BW Port1[Gb/sec]   "
        "MsgRate Port1[Mpps]   BW Port2[Gb/sec]   MsgRate Port2[Mpps]\n"
        " 65536      90000          0.00               180.00\t\t   0.343323        100.00            0.190735"
        "              80.00            0.152588\n"
    )
    (table,) = parse(title("Send BW") + text + "-" * 115 + "\n").tables
    assert table.columns[5:] == ("bandwidth_port1", "message_rate_port1", "bandwidth_port2", "message_rate_port2")
    assert rows(table) == (pytest.approx((65536, 90000, 0.0, 22500.0, 343323.0, 12500.0, 190735.0, 10000.0, 152588.0)),)
    assert table.complete


def test_service_levels_and_processor_use_are_columns() -> None:
    text = MB.replace("#iterations", "#sl      #iterations").replace("\n", "    CPU_Util[%]\n")
    (table,) = parse(title("Send BW") + text + " 64    1    500    0.00    4.00    0.065536    12.50\n" + RULE).tables
    assert table.columns[:3] == ("size", "sl", "iterations")
    assert rows(table) == (pytest.approx((64, 1, 500, 0.0, 4.194304, 65536.0, 12.5)),)
    assert [type(cell) for cell in table.rows[0][:3]] == [int, int, int]


def test_a_warning_between_heading_and_row_changes_no_value() -> None:
    warning = "Conflicting CPU frequency values detected: 1000.0 != 3300.0. CPU Frequency is not max.\n"
    parsed = parse(WRITE.replace(ROWS, warning * 2 + ROWS).replace(ROWS2, warning * 2 + ROWS2))
    assert parsed.tables == parse(WRITE).tables
    assert (len(parsed.remarks), parsed.failures) == (4, ())


def test_a_peak_of_zero_stays_and_small_rates_have_six_decimals() -> None:
    text = (
        " 2          1000           0.000000            0.045614            2.850856\n 4 1000 0.00 0.09\t\t 2.819047\n"
    )
    (table,) = parse(title("Send BW") + MB.replace("MB/sec", "Gb/sec") + text + RULE).tables
    assert rows(table) == (
        pytest.approx((2, 1000, 0.0, 5.70175, 2850856.0)),
        pytest.approx((4, 1000, 0.0, 11.25, 2819047.0)),
    )


def test_client_and_server_in_one_file_are_two_tables() -> None:
    both = RULE + " RDMA_Write BW Test\n PCIe relax order: ON\n" + title("RDMA_Write BW")
    parsed = parse(both + MB + MB + ROWS + ROWS2 + RULE + ROWS2 + RULE)
    assert [(table.line, len(table.rows), table.complete) for table in parsed.tables] == [(2, 2, True), (5, 1, True)]
    assert [table.benchmark for table in parsed.tables] == ["ib_write_bw", "ib_write_bw"]


def test_rows_that_alternate_go_each_to_its_side() -> None:
    parsed = parse(title("Send BW") + MB + MB + ROWS + ROWS + ROWS2 + ROWS2 + RULE + RULE)
    assert [(len(table.rows), table.complete) for table in parsed.tables] == [(2, True), (2, True)]


def test_the_second_side_may_begin_when_the_first_has_its_row() -> None:
    parsed = parse(title("Send BW") + MB + ROWS + title("Send BW") + MB + ROWS + RULE + RULE)
    assert [(table.line, len(table.rows), table.complete) for table in parsed.tables] == [(2, 1, True), (21, 1, True)]


def test_a_killed_run_is_not_closed_by_the_rules_of_the_next() -> None:
    parsed = parse(title("Send BW") + MB + ROWS + WRITE)
    assert [(table.benchmark, len(table.rows), table.complete) for table in parsed.tables] == [
        ("ib_send_bw", 1, False),
        ("ib_write_bw", 2, True),
    ]


def test_each_of_two_runs_has_its_own_title_where_the_first_came_to_no_heading() -> None:
    parsed = parse(title("Send BW") + "Couldn't connect to 10.0.0.1:18515\n" + WRITE)
    assert [table.benchmark for table in parsed.tables] == ["ib_write_bw"]
    assert parsed.failures == (
        Remark(2, "a title without any heading: ib_send_bw"),
        Remark(18, "Couldn't connect to 10.0.0.1:18515"),
    )


def test_both_results_of_a_bidirectional_run_are_tables_of_its_test() -> None:
    halves = f"\n Local results:\n{RULE}{MB}{ROWS}{RULE}\n Remote results:\n{RULE}{MB}{ROWS}{RULE}"
    parsed = parse(title("RDMA_Write Bidirectional BW") + MB + ROWS + RULE + halves)
    said = [(table.benchmark, table.line, table.context.get("results"), table.complete) for table in parsed.tables]
    assert said == [
        ("ib_write_bw", 2, None, True),
        ("ib_write_bw", 24, "local", True),
        ("ib_write_bw", 30, "remote", True),
    ]
    assert all(table.context["bidirectional"] for table in parsed.tables)


@pytest.mark.parametrize(("unit", "column"), [("usec", "us"), ("cycles", "cycles")])
def test_listed_samples_are_no_rows_and_the_heading_after_them_is_the_same_table(unit: str, column: str) -> None:
    old = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n"
    text = f"{old}#, {unit}\n1, 1.5\n2, 3e+02\n{RULE}{old} 2       1000          1.11       2.22     1.33\n{RULE}"
    parsed = parse(title("Send Latency") + text)
    (table,) = parsed.tables
    assert (table.line, table.rows, table.units[2], table.complete) == (2, ((2, 1000, 1.11, 2.22, 1.33),), column, True)
    assert (parsed.failures, parsed.remarks) == ((), ())


def test_a_heading_and_a_row_that_a_mailer_wrapped_are_one() -> None:
    heading = LATENCY.replace("t_stdev[usec]   99%", "t_stdev[usec]   99%\n")
    row = " 2       1000          1.11           2.22         1.33\n  1.44     \t0.05\t\t1.66\n 2.20\n"
    (table,) = parse(title("Send Latency") + heading + row + RULE).tables
    assert rows(table) == ((2, 1000, 1.11, 2.22, 1.33, 1.44, 0.05, 1.66, 2.2),)
    assert table.complete


def test_two_cut_lines_are_no_wrapped_row() -> None:
    (table,) = parse(WRITE.replace(ROWS2, " 4          10\n00             16.00              8.00\n")).tables
    assert (len(table.rows), table.complete) == (1, False)


def test_without_a_title_the_heading_is_the_tables_line() -> None:
    (first, second) = parse("host a\n" + MB + ROWS + "host b\n" + MB + ROWS + ROWS2[:-1]).tables
    assert (first.line, first.benchmark, len(first.rows), first.complete) == (2, None, 1, False)
    assert (second.line, second.benchmark, len(second.rows), second.complete) == (5, None, 2, False)


@pytest.mark.parametrize(
    "text",
    [
        WRITE[: -len(RULE)],  # --run_infinitely, or cut
        WRITE.replace(ROWS2, ROWS2[:30]),  # cut row
        WRITE.replace(ROWS2, ROWS2.replace("2.097152\n", "2.09")),
        WRITE.replace(ROWS2, "...\n"),
        WRITE.replace(ROWS2, "Completion with error at client\n"),
        WRITE.replace(ROWS2, "slurmstepd: error: *** STEP 1.0 ON a CANCELLED AT 2026-11-21T00:00:00 ***\n"),
    ],
)
def test_what_shows_that_rows_are_missing_leaves_the_table_incomplete(text: str) -> None:
    table = parse(text).tables[0]
    assert rows(table)[0][0] == 2
    assert not table.complete


def test_a_row_of_rates_among_latencies_is_none_of_them() -> None:
    # found by benchmarks/fuzz.py --judge: a message rate, of six decimals, passed as a latency
    old = " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]\n 2       1000       1.11   2.22   1.33\n"
    parsed = parse(f"{title('Send Latency')}{old} 4          1000      0.00      41.18       5.397476\n{RULE}")
    assert [(rows(table), table.complete) for table in parsed.tables] == [(((2, 1000, 1.11, 2.22, 1.33),), False)]
    assert [remark.text.split()[0] for remark in parsed.remarks] == ["4"]


def test_a_cut_last_row_does_not_count() -> None:
    text = WRITE[: -len(RULE)]
    assert [len(parse(text[:cut]).tables[0].rows) for cut in (-1, -2, -len(ROWS2) + 4)] == [2, 1, 1]


def test_a_standard_deviation_of_nan_is_a_remark_and_its_row_counts() -> None:
    """As printed by ib_write_lat 6.06 on a Soft-RoCE rail of 20 Mbit/s."""
    row = (
        " 8388608 5          3403115.57      3586473.81      3483137.55  \t       3483137.55     \t-nan   "
        "\t\t3586473.81 \t\t3586473.81"
    )
    parsed = parse(title("RDMA_Write Latency") + LATENCY + row + "\n" + RULE)
    (table,) = parsed.tables
    assert table.rows[0][:5] == (8388608, 5, 3403115.57, 3586473.81, 3483137.55)
    assert (table.complete, parsed.failures) == (True, ())
    assert [remark.text for remark in parsed.remarks] == [row.strip()]


def test_a_row_of_nan_has_an_empty_cell_and_is_a_failure() -> None:
    parsed = parse(WRITE.replace("16.00              8.00", "-nan    8.00"))
    assert rows(parsed.tables[0])[1][2:4] == (None, pytest.approx(8.388608))
    assert parsed.failures == (Remark(20, "4          1000             -nan    8.00   \t\t   2.097152"),)


def test_headings_without_rows_and_servers_without_clients_are_failures() -> None:
    box = "*" * 36 + "\n* Waiting for client to connect... *\n" + "*" * 36 + "\n"
    assert parse(title("Send BW") + MB + RULE).failures == (Remark(18, "a heading without any row: ib_send_bw"),)
    assert parse(box).failures == (Remark(2, "waited for a client and none came"),)
    assert parse(box + WRITE).failures == ()


@pytest.mark.parametrize(
    "error",
    [
        " Events feature not available on WRITE verb\n Parser function exited with Error\n",
        "$ ib_write_bw -d mlx5_9\nIB device mlx5_9 not found\n Unable to find the Infiniband/RoCE device\n",
        "Couldn't connect to 10.0.0.1:18515\nUnable to open file descriptor Unable to init the socket connection\n",
    ],
)
def test_an_error_before_any_table_is_a_failure_and_no_table(error: str) -> None:
    parsed = parse(error)
    assert (parsed.tables, len(parsed.failures)) == ((), 2)


JSON = """{
"test_info": {
"test": "RDMA_Write_Bidirectional_BW_Test",
"Dual_port": "OFF",
"Device": "mlx5_0",
"Number_of_qps": 4,
"Connection_type": "RC",
"Mtu": 4096
},
"results": {
"MsgSize": 65536,
"n_iterations": 5000,
"BW_peak": 200.00,
"BW_average": 190.00,
"MsgRate": 0.362396
}
}
"""


def test_out_json_is_the_printed_table_and_its_rate_tells_the_unit() -> None:
    (table,) = parse(JSON).tables
    assert (table.benchmark, table.line, table.complete) == ("ib_write_bw", 2, True)
    assert table.columns == ("size", "iterations", "bandwidth_peak", "bandwidth", "message_rate")
    assert rows(table) == (pytest.approx((65536, 5000, 25000.0, 23750.0, 362396.0)),)  # --report_gbits
    assert (table.context["bidirectional"], table.context["qps"], table.context["device"]) == (True, 4, "mlx5_0")
    binary = JSON.replace("200.00", "23841.86").replace("190.00", "22649.77")
    assert rows(parse(binary).tables[0])[0][2:4] == pytest.approx((23841.86 * BINARY_MB, 22649.77 * BINARY_MB))


def test_out_json_of_2021_is_no_json_and_is_read_the_same() -> None:
    unquoted = JSON.replace('"', "").replace("\n}\n}\n", ",\n},\n}\n")
    assert parse(unquoted).tables == parse(JSON).tables
    assert parse(JSON.replace("\n", " ")).tables[0].rows == parse(JSON).tables[0].rows


def test_out_json_of_a_latency_has_the_columns_of_the_printed_table() -> None:
    text = JSON.replace("RDMA_Write_Bidirectional_BW", "Send_Latency").partition('"BW_peak"')[0] + (
        '"t_min": 1.11,\n"t_max": 2.22,\n"t_typical": 1.33,\n"t_avg": 1.44,\n"t_stdev": 0.05,\n"percentile_99": 1.66,\n'
        '"percentile_99.9": 2.20\n}\n}\n'
    )
    (table,) = parse(text).tables
    assert table.benchmark == "ib_send_lat"
    assert table.columns[2:] == (
        "time_min",
        "time_max",
        "time_typical",
        "time_avg",
        "time_stdev",
        "time_p99",
        "time_p999",
    )
    assert rows(table) == ((65536, 5000, 1.11, 2.22, 1.33, 1.44, 0.05, 1.66, 2.2),)


def test_out_json_that_is_cut_gives_no_value() -> None:
    parsed = parse(JSON.partition("396\n}")[0])
    assert parsed.tables == ()
    assert parsed.failures == (Remark(2, "results of --out_json that end before their closing brace"),)


def test_a_console_and_its_json_in_one_file_are_two_tables() -> None:
    assert [table.line for table in parse(WRITE + JSON).tables] == [2, 23]


@pytest.mark.parametrize(
    "text", ["", "#bytes #repetitions t[usec] Mbytes/sec\n0 1000 1.00 0.00\n", "# Size Latency (us)\n"]
)
def test_a_text_that_is_no_output_of_perftest_is_an_error(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.expected == ('output of perftest: a title "… BW Test" or a heading "#bytes #iterations …"')


@pytest.mark.parametrize(
    ("name", "context"),
    [
        ("use_cuda", {"memory": "cuda", "gpu": 1, "gpu_bus": "43:00", "gpu_name": "NVIDIA H100 80GB HBM3"}),
        ("use_rocm", {"memory": "rocm", "gpu": 3, "gpu_bus": "85", "gpu_name": "AMD Instinct MI300X"}),
    ],
)
def test_buffers_in_a_gpus_memory_are_told_and_change_no_figure(name: str, context: dict[str, object]) -> None:
    parsed = parse((MADE / f"perftest-{name}.txt").read_text(encoding="utf-8"))
    (table,) = parsed.tables
    assert context.items() <= table.context.items()
    assert table.column("bandwidth") == (48937.5, 49080.0)
    assert table.complete
    assert (parsed.failures, parsed.remarks) == ((), ())
    assert micro.tool("perftest").from_device(table)


@pytest.mark.parametrize(
    ("lines", "context"),
    [
        (["There are 4 devices supporting CUDA, picking first..."], {"memory": "cuda", "gpu": 0}),
        (
            [
                *(
                    "Picking device No. 0",
                    "using DMA-BUF for GPU buffer address at 0x7f00 aligned at 0x7f00 with aligned",
                ),
                "allocated GPU buffer of a 2097152 address at 0x7f1a40000000 for type CUDA_MEM_MANAGED",
            ],
            {"memory": "cuda", "gpu": 0, "dmabuf": True, "memory_kind": "managed"},
        ),
    ],
)
def test_the_words_of_each_release_for_a_gpus_buffer_are_known(lines: list[str], context: dict[str, object]) -> None:
    text = (MADE / "perftest-use_cuda.txt").read_text(encoding="utf-8")
    head, _, rest = text.partition("initializing CUDA\n")
    (table,) = parse("\n".join([head, "initializing CUDA", *lines, rest[rest.index("-----") :]])).tables
    found = {key: table.context[key] for key in ("memory", "gpu", "dmabuf", "memory_kind") if key in table.context}
    assert found == context
    assert micro.tool("perftest").from_device(table) == (found.get("memory_kind") is None)


def test_a_build_with_rocm_that_uses_the_hosts_memory_says_no_gpu() -> None:
    text = (MADE / "perftest-use_cuda.txt").read_text(encoding="utf-8")
    (table,) = parse(text[text.index("-----") :]).tables
    assert "memory" not in table.context
    assert not micro.tool("perftest").from_device(table)


def test_a_gpu_that_is_not_there_is_a_failure() -> None:
    text = "initializing CUDA\nThere are no available device(s) that support CUDA\nCouldn't init GPU context: 1\n"
    assert [failure.text for failure in parse(text).failures] == text.splitlines()[1:]


def test_superbenchs_loops_are_as_read_by_hand() -> None:
    folder = Path(__file__).parents[3] / "shared" / "gpu" / "superbench"
    if not folder.is_dir():
        pytest.skip("no genuine outputs of GPU benchmarks beside the clone: ../shared/gpu")
    one = parse((folder / "ib_loopback_8M_size.log").read_text(encoding="utf-8"))
    # 24056.72 MiB/s, printed by each side
    assert len(one.tables) == 2
    assert all(table.column("bandwidth")[0] == pytest.approx(25225.2992) for table in one.tables)
    each = parse((folder / "ib_loopback_all_sizes.log").read_text(encoding="utf-8"))
    client, server = each.tables
    assert (len(client.rows), client.rows[0][0], client.rows[-1][0]) == (23, 2, 8388608)
    assert client.column("bandwidth")[0] == pytest.approx(5.30 * 1.048576)
    assert client.column("bandwidth")[-1] == server.column("bandwidth")[0] == pytest.approx(23240.68 * 1.048576)
    assert client.context["device"] == "ib0"


def reports(*bandwidths: float, size: int = 65536) -> str:
    """Return what --run_infinitely prints of one size: a row for each interval, no peak, no rule below."""
    rows = (f" {size}      5000           0.00               {each:.2f}   \t\t   0.183988\n" for each in bandwidths)
    return title("RDMA_Write BW") + MB + "".join(rows)


def test_the_reports_of_run_infinitely_are_whole_without_an_end() -> None:
    (table,) = parse(reports(11500.0, 11490.0, 11510.0)).tables
    assert (len(table.rows), table.complete, table.context["reports"]) == (3, False, True)
    (one,) = parse("$ ib_write_bw --run_infinitely node2\n" + reports(11500.0)).tables
    assert (one.complete, one.context["reports"]) == (False, True)


@pytest.mark.parametrize(
    "text",
    [
        reports(11500.0),  # one row may as well be of a run with -D that was cut
        reports(11500.0, 11490.0)[:-3],  # 0.183 is no 0.183988
        reports(11500.0, 11490.0)[:-3] + "\n",  # nor is it with a newline, which something else wrote
        reports(11500.0, 11490.0)[:-3] + "\n" + reports(11500.0, 11490.0),
        reports(11500.0, 11490.0) + " 65536      50",
        reports(11500.0, 11490.0) + "Completion with error at client\n",
        reports(11500.0, 11490.0).replace(" 0.00 ", " 11600.00 "),  # it measures no peak
        reports(11500.0) + reports(11500.0, size=131072).split(MB)[1],
    ],
)
def test_reports_that_are_cut_or_are_none_leave_the_table_incomplete(text: str) -> None:
    table = parse(text).tables[0]
    assert (table.complete, table.context.get("reports", False)) == (False, False)
