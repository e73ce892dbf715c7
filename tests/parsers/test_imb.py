"""IMB's outputs, one trap per test. Texts are synthetic unless a recording is named."""

from collections.abc import Callable

import pytest

from railyard.benchmarks.metrics import curves
from railyard.parsers.imb import parse
from railyard.parsers.output import ParseError, Remark

RULE = "#---------------------------------------------------\n"
BANNER = "#    Intel(R) MPI Benchmarks 2021.11, MPI-1 part\n"
PINGPONG = "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
END = "\n\n# All processes entering MPI_Finalize\n"


def title(name: str, ranks: int = 2) -> str:
    return f"{RULE}# Benchmarking {name} \n# #processes = {ranks} \n{RULE}"


def run(rows: str, heading: str = PINGPONG, name: str = "PingPong", banner: str = BANNER, end: str = END) -> str:
    return f"{banner}{title(name)}{heading}{rows}{end}"


def test_a_recorded_ping_pong_is_read_whole(recording: Callable[[str], str]) -> None:
    parsed = parse(recording("imb2021.11-PingPong-mpich5.0.2-veth.out"))
    (table,) = parsed.tables
    assert (table.tool, table.version, table.benchmark, table.line) == ("imb", "2021.11", "PingPong", 31)
    assert table.columns == ("size", "repetitions", "time", "bandwidth")
    assert table.units == ("B", None, "us", "MB/s")
    assert (len(table.rows), table.rows[0], table.rows[-1]) == (22, (0, 20, 80.81, 0.0), (1048576, 20, 2386.3, 439.41))
    assert table.complete
    assert table.context == {"ranks": 2}
    assert parsed.failures == parsed.remarks == ()


def test_a_barrier_has_no_size_and_follows_its_neighbour(recording: Callable[[str], str]) -> None:
    reduced, barrier = parse(recording("imb2021.11-Allreduce-Barrier-mpich5.0.2-veth.out")).tables
    assert reduced.columns == ("size", "repetitions", "time_min", "time_max", "time_avg")
    assert barrier.columns == ("repetitions", "time_min", "time_max", "time_avg")
    assert barrier.rows == ((10, 25.3, 25.34, 25.32),)
    assert reduced.complete and barrier.complete


def test_groups_are_a_column(recording: Callable[[str], str]) -> None:
    (table,) = parse(recording("imb2021.11-PingPong-groups-mpich5.0.2-shm.out")).tables
    assert table.benchmark == "Multi-PingPong"
    assert table.columns[:3] == ("group", "size", "repetitions")
    assert [row[:2] for row in table.rows[:4]] == [(0, 0), (1, 0), (0, 16), (1, 16)]
    assert table.context == {"groups": 2, "ranks": 2}
    assert table.complete


def test_a_sample_that_imb_gave_up_is_a_failure_and_leaves_the_table_incomplete(
    recording: Callable[[str], str],
) -> None:
    parsed = parse(recording("imb2021.11-Uniband-timeout-mpich5.0.2-veth.out"))
    (table,) = parsed.tables
    assert table.columns == ("size", "repetitions", "bandwidth", "message_rate")
    assert table.rows == ((0, 20, 0.0, 62108),)
    assert not table.complete
    assert [(failure.line, failure.text[:17]) for failure in parsed.failures] == [(36, "262144 time-out.;")]


@pytest.mark.parametrize(
    "words", ["out-of-mem.; needed X=   4.001 GB; use flag", "int-overflow; The production rank*size"]
)
def test_other_samples_given_up_are_failures_too(words: str) -> None:
    parsed = parse(run(f"  0  100  1.00  0.00\n  4194304 {words}\n"))
    assert not parsed.tables[0].complete
    assert parsed.failures == (Remark(8, f"4194304 {words}"),)


@pytest.mark.parametrize(
    ("banner", "factor"),
    [
        ("#    PALLAS MPI Benchmark Suite V2.2, MPI-1 part\n", 1.048576),
        ("# Intel (R) MPI Benchmark Suite V3.0v modified by someone, MPI-1 \n", 1.048576),
        ("#    Intel (R) MPI Benchmarks 4.1, MPI-2 part    \n", 1.048576),
        ("#    Intel(R) MPI Benchmarks 2019 Update 6, MPI-1 part    \n", 1.0),
        ("#    Intel (R) MPI Benchmarks 2018, MPI-1 part    \n", 1.0),
    ],
)
def test_a_megabyte_is_binary_up_to_version_4(banner: str, factor: float) -> None:
    # with a known version, the rows of a table do not decide
    (table,) = parse(run("  4194304  10  400.00  10000.00\n", banner=banner)).tables
    assert table.column("bandwidth") == (10000.0 * factor,)


@pytest.mark.parametrize(
    ("rows", "factor"),
    [
        ("  1000000  10  100.00  10000.00\n", 1.0),
        ("  1048576  10  100.00  10000.00\n", 1.048576),
        ("  1048576  10  100.00  20000.00\n", 1.048576),  # Sendrecv counts both ways
        ("  8  10  1.00  8.00\n  1048576  10  100.00  10485.76\n", 1.0),
    ],
)
@pytest.mark.parametrize("banner", ["", "#    Intel(R) MPI Benchmarks 2017, MPI-1 part\n"])
def test_without_a_banner_the_rows_decide_what_a_megabyte_is(rows: str, factor: float, banner: str) -> None:
    (table,) = parse(run(rows, banner=banner)).tables
    printed = float(rows.split()[-1])
    assert table.column("bandwidth")[-1] == printed * factor


def test_where_no_row_tells_what_a_megabyte_is_there_is_no_bandwidth() -> None:
    # 0.20 and 0.19 are too close. In an old output that was cut, the rows that would tell may be missing.
    parsed = parse(run("  1  10  5.00  0.20\n", banner=""))
    assert (parsed.tables[0].column("bandwidth"), parsed.tables[0].units[-1]) == ((None,), None)
    assert (
        Remark(parsed.tables[0].line, "Mbytes/sec of 10^6 or 2^20 B: no release is named, no row tells")
        in parsed.remarks
    )
    with pytest.raises(ValueError, match=r"imb/PingPong: bandwidth is in no known unit, expected MB/s"):
        curves(parsed.tables[0], "imb/PingPong")


def test_a_table_without_a_title_has_no_benchmark() -> None:
    (table,) = parse(f"{PINGPONG}  4194304  10  400.00  10485.76\n").tables
    assert (table.benchmark, table.version, table.line, table.complete) == (None, None, 1, True)


def test_the_largest_size_is_the_announced_one() -> None:
    announced = f"{BANNER}# Maximum message length in bytes:   2048\n{title('PingPong')}{PINGPONG}"
    row = "  2048  10  4.00  512.00\n"
    assert parse(announced + row).tables[0].complete
    assert not parse(announced + row.replace("2048", "1024", 1)).tables[0].complete
    assert not parse(f"{BANNER}{title('PingPong')}{PINGPONG}{row}").tables[0].complete


def test_another_block_completes_a_table_and_another_run_does_not() -> None:
    block = f"{title('PingPong')}{PINGPONG}  8  10  4.00  2.00\n"
    assert [table.complete for table in parse(BANNER + block + block + END).tables] == [True, True]
    assert [table.complete for table in parse(BANNER + block + BANNER + block + END).tables] == [False, True]


def test_an_error_before_the_end_leaves_the_table_incomplete_and_after_it_does_not() -> None:
    killed = "=   KILLED BY SIGNAL: 15 (Terminated)\n"
    row = "  8  10  4.00  2.00\n"
    inside, after = parse(run(row + killed)), parse(run(row) + killed)
    assert (inside.tables[0].complete, after.tables[0].complete) == (False, True)
    assert inside.failures[0].text == after.failures[0].text == killed.strip()


def test_an_error_after_the_largest_size_touches_no_row() -> None:
    parsed = parse(run("  4194304  10  400.00  10485.76\n=   KILLED BY SIGNAL: 15 (Terminated)\n", end=""))
    assert parsed.tables[0].complete
    assert len(parsed.failures) == 1


@pytest.mark.parametrize("spoiling", ["...\n", "   16  10  4.0", "   16  10  4.00  nothing\n", "   16  10\n"])
def test_a_cut_row_or_an_ellipsis_leaves_the_table_incomplete(spoiling: str) -> None:
    text = run(f"  8  10  4.00  2.00\n{spoiling}", end=END if spoiling.endswith("\n") else "")
    (table,) = parse(text).tables
    assert table.rows == ((8, 10, 4.0, 2.0),)
    assert not table.complete


def test_a_last_row_without_newline_counts_only_with_all_its_decimals() -> None:
    whole = run("  8  10  4.00  2.00\n  4194304  10  400.00  10485.76", end="")
    assert len(parse(whole).tables[0].rows) == 2
    assert len(parse(whole[:-1]).tables[0].rows) == 1
    rates = run("  4194304  10  400.00  104857", heading="  #bytes #repetitions Mbytes/sec Msg/sec\n", end="")
    assert parse(rates).tables == ()  # a whole number may be longer


def test_a_row_and_a_heading_that_a_mailer_wrapped_are_one() -> None:
    text = run(
        "  8  1000\n  4.00  4.10  4.05\n 16  1000  5.00  5.10  5.05\n",
        heading="  #bytes #repetitions\n t_min[usec]  t_max[usec]  t_avg[usec]\n",
    )
    (table,) = parse(text).tables
    assert table.columns == ("size", "repetitions", "time_min", "time_max", "time_avg")
    assert table.rows == ((8, 1000, 4.0, 4.1, 4.05), (16, 1000, 5.0, 5.1, 5.05))
    assert table.complete


def test_percentile_lists_and_library_warnings_between_rows_are_remarks() -> None:
    parsed = parse(run("  8  10  4.00  2.00\n[ 0.83, 0.97, 1.72 ]\nlibibverbs: Warning: no driver\n 16 10 4.00 4.00\n"))
    assert parsed.tables[0].column("size") == (8, 16)
    assert parsed.tables[0].complete
    assert [remark.line for remark in parsed.remarks] == [8, 9]


@pytest.mark.parametrize(
    ("heading", "row", "columns"),
    [
        (
            "#bytes #repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]",
            "8 10 3.00 2.00 1.00 50.00",
            ("size", "repetitions", "time_ovrl", "time_pure", "time_cpu", "overlap"),
        ),
        (
            "#repetitions t_ovrl[usec] t_pure[usec]  t_CPU[usec]   overlap[%]",
            "10 3.00 2.00 1.00 50.00",
            ("repetitions", "time_ovrl", "time_pure", "time_cpu", "overlap"),
        ),
        (
            "#bytes #repetitions      t[usec]   Mbytes/sec      Msg/sec",
            "8 10 3.00 2.67 333333",
            ("size", "repetitions", "time", "bandwidth", "message_rate"),
        ),
        (
            "#bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec  defects",
            "8 10 3.00 3.00 3.00 2.67 0.00",
            ("size", "repetitions", "time_min", "time_max", "time_avg", "bandwidth", "defects"),
        ),
    ],
)
def test_the_printed_heading_says_how_rows_are_read(heading: str, row: str, columns: tuple[str, ...]) -> None:
    (table,) = parse(run(f"  {row}\n", heading=f"  {heading}\n")).tables
    assert table.columns == columns
    assert table.rows == (tuple(float(word) if "." in word else int(word) for word in row.split()),)


def test_a_bandwidth_that_rounds_to_nothing_is_what_its_message_rate_gives() -> None:
    heading = "  #bytes #repetitions   Mbytes/sec      Msg/sec\n"
    rows = "  0 10 0.00 900\n  4 10 0.00 900\n  8 10 0.00 0\n  4194304 10 0.00 900\n"
    (table,) = parse(run(rows, heading, name="Biband")).tables
    assert [row[2] for row in table.rows] == [0.0, 0.0036, 0.0, 0.0]


def test_a_bandwidth_that_rounds_to_nothing_is_what_its_time_gives() -> None:
    rows = "  1 3 10.43 0.10\n  4 3 1161.11 0.00\n  16 3 11.14 0.00\n  4194304 10 400.00 10485.76\n"
    (table,) = parse(run(rows)).tables  # the row of 16 B contradicts itself
    assert [row[3] for row in table.rows] == [0.1, pytest.approx(4 / 1161.11), 0.0, 10485.76]
    rows = "  4 3 2000.00 2000.00 2000.00 0.00\n  4194304 10 400.00 400.00 400.00 20971.52\n"
    heading = "  #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n"
    (table,) = parse(run(rows, heading, name="Sendrecv")).tables
    assert [row[-1] for row in table.rows] == [pytest.approx(2 * 4 / 2000), 20971.52]


def test_the_heading_gives_mode_threads_and_idle_processes() -> None:
    text = (
        f"{BANNER}{RULE}# Benchmarking Unidir_Get \n# #processes = 2 (threads: 4)\n"
        f"# ( 62 additional processes waiting in MPI_Barrier)\n{RULE}#\n#    MODE: NON-AGGREGATE \n#\n"
        f"{PINGPONG}  4194304  10  400.00  10485.76\n"
    )
    assert parse(text).tables[0].context == {"ranks": 2, "threads": 4, "waiting": 62, "mode": "NON-AGGREGATE"}


def test_lines_tagged_by_the_launcher_are_read() -> None:
    tagged = "".join(f"[1,0]<stdout>:{line}\n" for line in run("  8  10  4.00  2.00\n").splitlines())
    assert parse(tagged).tables == parse(run("  8  10  4.00  2.00\n")).tables


def test_a_printed_nan_is_a_failure_and_no_value() -> None:
    parsed = parse(run("  8  10  nan  2.00\n"))
    assert parsed.tables[0].rows == ((8, 10, None, 2.0),)
    assert parsed.failures == (Remark(7, "8  10  nan  2.00"),)


def test_imb_mt_prints_sizes_with_a_letter_and_rates_without_decimals() -> None:
    banner = "#    Intel(R) MPI Benchmarks 2021.11, MT part    \n"
    text = (
        f"{banner}{RULE}# Benchmarking UnibandMT\n# #processes = 2 (threads: 4)\n# window_size = 64\n{RULE}"
        "        #bytes  #repetitions    Mbytes/sec       Msg/sec \n"
        "            0l            20          0.00         62108 \n"
        "            4l            20          2.50        626000 \n"
        "      4194304l            20      12000.00          2861 \n"
    )
    (table,) = parse(text).tables
    assert table.columns == ("size", "repetitions", "bandwidth", "message_rate")
    assert table.rows == ((0, 20, 0.0, 62108), (4, 20, 2.5, 626000), (4194304, 20, 12000.0, 2861))
    assert (table.context, table.complete) == ({"ranks": 2, "threads": 4, "window": 64}, True)


def test_a_failed_check_of_imb_mt_is_a_failure() -> None:
    parsed = parse(run("  8  10  4.00  2.00\nCHECK FAILURES: rank 0: 3\n"))
    assert parsed.failures == (Remark(8, "CHECK FAILURES: rank 0: 3"),)
    assert not parsed.tables[0].complete


def test_a_test_without_successful_execution_is_a_failure() -> None:
    parsed = parse(f"{BANNER}{RULE}# Benchmarking PingPongMT\n# NO SUCCESSFUL EXECUTIONS\n{RULE}")
    assert parsed.failures == (
        Remark(3, "a heading without any row: PingPongMT"),
        Remark(4, "# NO SUCCESSFUL EXECUTIONS"),
    )


def test_the_largest_io_portion_is_announced_too() -> None:
    banner = "#    Intel(R) MPI Benchmarks 2021.11, MPI-IO partn#----------\n"
    sizes = "# Maximum message length in bytes:   4194304\n# Maximum io portion in bytes:   16777216\n"
    heading = "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec\n"
    row = "      4194304           10       400.00       400.00       400.00     10485.76\n"
    head = banner + sizes + title("S_Write_indv")
    assert not parse(head + heading + row).tables[0].complete
    (table,) = parse(head + heading + row + row.replace(" 4194304", "16777216")).tables
    assert (table.version, table.benchmark, table.complete) == ("2021.11", "S_Write_indv", True)


@pytest.mark.parametrize("groups", ["", "  0"])
def test_rows_taken_at_once_are_those_taken_one_by_one(groups: str) -> None:
    heading = "  Group" * bool(groups) + "  #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] Mbytes/sec\n"
    rows = [f"{groups}  {size}  10  {size / 2:.2f}  {size / 2:.2f}  {size / 2:.2f}  2.10\n" for size in range(200)]
    # the note separates the same rows
    together, apart = parse(run("".join(rows), heading)), parse(run("noted\n".join(rows), heading))
    assert together.tables[0].rows == apart.tables[0].rows
    assert len(together.tables[0].rows) == 200
    assert together.tables[0].complete and apart.tables[0].complete


@pytest.mark.parametrize("line", [" " * 2**20 + "x", "# " + " " * 2**20 + "x", "1" + " " * 2**20 + "x"])
def test_a_line_of_a_megabyte_of_blanks_is_read_past(line: str) -> None:
    (table,) = parse(run(f"  8  10  4.00  2.00\n{line}\n  16  10  4.00  4.00\n")).tables
    assert (table.column("size"), table.complete) == ((8, 16), True)


@pytest.mark.parametrize(
    ("text", "failures"),
    [
        (f"{BANNER}# List of Benchmarks to run:\n# PingPong\n", [Remark(1, f"no table follows: {BANNER.strip()}")]),
        (
            f"{BANNER}\nInvalid benchmark name PingPongs\n",
            [
                Remark(1, f"no table follows: {BANNER.strip()}"),
                Remark(3, "Invalid benchmark name PingPongs"),
            ],
        ),
        (f"{BANNER}{title('PingPong')}{PINGPONG}", [Remark(3, "a heading without any row: PingPong")]),
        (
            "IMB-MT: error while loading shared libraries: libiomp5.so: cannot open shared object file\n",
            [Remark(1, "IMB-MT: error while loading shared libraries: libiomp5.so: cannot open shared object file")],
        ),
    ],
)
def test_an_output_without_rows_says_why(text: str, failures: list[Remark]) -> None:
    parsed = parse(text)
    assert parsed.tables == ()
    assert list(parsed.failures) == failures


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "\nhello\n",
            "line 2: found 'hello', expected output of IMB: a banner, a title \"# Benchmarking …\" or a heading",
        ),
        ("", "found '', expected output of IMB: a banner, a title \"# Benchmarking …\" or a heading"),
    ],
)
def test_a_text_that_is_no_output_of_imb_is_an_error(text: str, message: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("times", [2, 3])
def test_a_heading_that_is_printed_again_is_no_second_half_of_it(times: int) -> None:
    heading = "#bytes #repetitions t[usec] Mbytes/sec\n"
    (table,) = parse("# Benchmarking PingPong\n" + heading * times + "8 10 4.00 2.00\n16 10 4.00 4.00\n").tables
    assert (table.benchmark, table.columns) == ("PingPong", ("size", "repetitions", "time", "bandwidth"))
    assert table.rows == ((8, 10, 4.0, 2.0), (16, 10, 4.0, 4.0))


def test_a_title_between_two_headings_begins_a_table_of_its_own() -> None:
    # found by benchmarks/fuzz.py
    heading = "#bytes #repetitions t[usec] Mbytes/sec\n"
    parsed = parse(f"{heading}# Benchmarking PingPong\n{heading}8 10 4.00 2.00\n")
    assert [(table.benchmark, table.rows) for table in parsed.tables] == [("PingPong", ((8, 10, 4.0, 2.0),))]
    assert parsed.failures == (Remark(1, "a heading without any row: no title"),)


def test_a_heading_behind_the_end_of_another_is_one_of_its_own() -> None:
    text = (
        "#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part\n"
        "# Benchmarking PingPong\n# #processes = 2\n"
        "#repetitions t_min[usec] t_max[usec] t_avg[usec]\n"
        "       #bytes #repetitions      t[usec]   Mbytes/sec\n"
        "            0         1000        57.31         0.00\n"
        "            1         1000        57.71         0.02\n"
    )
    (table,) = parse(text).tables
    assert table.columns == ("size", "repetitions", "time", "bandwidth")
    assert len(table.rows) == 2


def test_the_end_of_a_run_is_known_from_the_release_that_is_known_to_print_it() -> None:
    rows = "  4194304  10  100.00  41943.04\n"
    ended = {banner: parse(run(rows, banner=banner, end="")).tables[0].ended for banner in ("", BANNER, PMB)}
    assert ended == {"": None, BANNER: False, PMB: None}
    assert parse(run(rows)).tables[0].ended is True
    cut_and_whole = parse(run(rows, end="") + run(rows)).tables
    assert [table.ended for table in cut_and_whole] == [False, True]


def test_a_row_behind_the_end_is_of_another_output() -> None:
    rows = "  4194304  10  100.00  41943.04\n"
    assert parse(run(rows)).tables[0].complete
    assert not parse(run(rows) + rows).tables[0].complete


def test_noise_between_the_halves_of_a_wrapped_heading_changes_nothing() -> None:
    first, second = "       #bytes #repetitions\n", "  t[usec]   Mbytes/sec\n"
    text = run("  4194304  10  100.00  41943.04\n", heading=f"{first}real 5.93\n{second}")
    whole = run("  4194304  10  100.00  41943.04\n", heading=f"{first}{second}")
    assert parse(text).tables[0].rows == parse(whole).tables[0].rows
    assert parse(text).tables[0].complete


def test_a_heading_in_another_unit_is_named() -> None:
    heading = "       #bytes #repetitions      t[usec]   MiB/sec\n"
    parsed = parse(run("  4194304  10  100.00  40000.00\n", heading=heading))
    assert parsed.tables == ()
    assert [failure.text for failure in parsed.failures] == [
        "a heading with MiB/sec, a column or unit not known here: #bytes #repetitions      t[usec]   MiB/sec"
    ]


PMB = "#    PALLAS MPI Benchmark Suite V2.2, MPI-1 part\n"


@pytest.mark.parametrize("last", ["13.2", "13.", "13"])
@pytest.mark.parametrize("end", ["", "\n\nreal\t0m5.930s\n", END])
def test_a_number_with_fewer_decimals_is_cut_although_a_newline_follows(last: str, end: str) -> None:
    row = "            0         1000         1.06         0.00\n"
    for above in ("", row, 3 * row):
        parsed = parse(run(f"{above}            8         1000         1.10         {last}\n", end=end))
        assert 8 not in [row[0] for table in parsed.tables for row in table.rows]
        assert not any(table.complete for table in parsed.tables)


def test_message_rates_are_whole_numbers() -> None:
    heading = "       #bytes #repetitions      t[usec]   Mbytes/sec      Msg/sec\n"
    rows = "            8         1000         1.10         7.27       909090\n"
    (table,) = parse(run(rows, heading=heading, name="Uniband")).tables
    assert (table.rows[0][-1], table.complete) == (909090, True)
