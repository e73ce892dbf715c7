"""NetPIPE's console and its np.out, one trap per test. Texts are synthetic unless a recording is named."""

from collections.abc import Callable

import pytest

from railyard.parsers.netpipe import parse
from railyard.parsers.output import ParseError, Remark

MBIT = 2**20 / 8 / 10**6
START = "Now starting the main loop\n"
ROWS = (
    "  0:       1 bytes     10 times -->      1.00 Mbps in       8.00 usec\n"
    "  1:       2 bytes     10 times -->      2.00 Mbps in       8.00 usec\n"
)


def test_a_recorded_ping_pong_is_read_whole(recording: Callable[[str], str]) -> None:
    parsed = parse(recording("netpipe3.7.2-pingpong-openmpi4.1.4-veth.out"))
    (table,) = parsed.tables
    assert (table.tool, table.version, table.benchmark, table.line) == ("netpipe", None, "netpipe", 7)
    assert (table.columns, table.units) == (("size", "repetitions", "bandwidth", "time"), ("B", None, "MB/s", "us"))
    assert len(table.rows) == 32
    assert table.rows[-1] == pytest.approx((65536, 10, 11122.52 * MBIT, 44.95))
    assert table.complete
    assert table.context == {"mode": "pingpong"}
    assert parsed.failures == ()


@pytest.mark.parametrize("mode", ["stream", "bidirectional"])
def test_the_mode_is_the_one_that_the_option_announces(mode: str, recording: Callable[[str], str]) -> None:
    (table,) = parse(recording(f"netpipe3.7.2-{mode}-openmpi4.1.4-veth.out")).tables
    assert table.context == {"mode": mode}
    assert len(table.rows) == 32 and table.complete


def test_what_each_rank_says_of_its_sends_is_netpipes_own() -> None:
    said = "Using synchronous sends\n" * 2
    row = "  0:       1 bytes    100 times -->      8.00 Mbps in       1.00 usec\n"
    parsed = parse(f"{said}Now starting the main loop\n{row}")
    assert (parsed.tables[0].complete, parsed.failures, parsed.remarks) == (True, (), ())


def test_a_rate_that_rounds_to_nothing_is_what_its_time_gives() -> None:
    slow = "  0:       1 bytes      3 times -->      0.00 Mbps in    2010.00 usec\n"
    wrong = "  1:    4096 bytes      3 times -->      0.00 Mbps in       8.00 usec\n"
    (table,) = parse(START + slow + wrong).tables
    assert [row[2] for row in table.rows] == [pytest.approx(1 / 2010), 0.0]


def test_a_deadlocked_run_is_incomplete(recording: Callable[[str], str]) -> None:
    parsed = parse(recording("netpipe3.7.2-bidirectional-deadlock-openmpi4.1.4-veth.out"))
    (table,) = parsed.tables
    assert (len(table.rows), table.rows[-1][0], table.complete) == (31, 49152, False)
    assert parsed.failures[0].text == "mpirun.openmpi: Forwarding signal 18 to job"


def test_np_out_of_the_same_run_has_both_directions_bytes(recording: Callable[[str], str]) -> None:
    (written,) = parse(recording("netpipe3.7.2-bidirectional-openmpi4.1.4-veth.np.out")).tables
    (printed,) = parse(recording("netpipe3.7.2-bidirectional-openmpi4.1.4-veth.out")).tables
    assert (written.columns, written.units) == (("size", "bandwidth", "time"), ("B", "MB/s", "us"))
    assert [size for size in written.column("size")] == [2 * int(size or 0) for size in printed.column("size")]
    assert written.column("bandwidth") == pytest.approx(printed.column("bandwidth"), rel=0.01)
    assert written.complete and written.context == {"file": "np.out"}


def test_a_mode_that_a_buffer_held_back_to_the_end_counts() -> None:
    (table,) = parse(START + ROWS + "Passing data in both directions simultaneously.\n").tables
    assert table.context == {"mode": "bidirectional"}


def test_each_of_two_runs_has_its_own_mode() -> None:
    text = START + ROWS + "Streaming in one direction only.\n" + START + ROWS
    assert [table.context["mode"] for table in parse(text).tables] == ["pingpong", "stream"]


def test_another_ranks_lines_between_a_rows_halves_do_not_cut_it() -> None:
    text = START + ROWS.replace("-->      1.00", "--> Using no perturbations\n\nSending output to x\n1: vm\n    1.00")
    assert parse(text).tables == parse(START + ROWS).tables


@pytest.mark.parametrize(
    "text",
    [
        START + ROWS + "  2:       3 bytes     10 times --> mpirun: killing job...\n",  # cut row
        START + ROWS + "  2:       3 bytes     10 times --> \n",
        START + ROWS.replace("  1: ", "  1:  9 bytes  10 times --> lost\n  2: "),  # missing between two rows
        START + ROWS.replace("  1: ", "  2: "),  # the index jumps
        START + ROWS.replace("  0: ", "  7: ").replace("  1: ", "  8: "),  # starts too late
        START + ROWS + "...\n",
        START + ROWS + "mpirun noticed that process rank 0 with PID 6399 exited on signal 11.\n",
    ],
)
def test_what_shows_that_rows_are_missing_leaves_the_table_incomplete(text: str) -> None:
    (table,) = parse(text).tables
    assert (len(table.rows), table.complete) == (2, False)


def test_netpipe_5_prints_decimal_units_and_counts_from_one() -> None:
    text = (
        "Start testing with 7 trials for each message size\n"
        "  1:       1  B     24999 times -->    6.000 Mbps  in    1.333 usecs\n"
        "  2:   1.500 KB       333 times -->    1.500 Gbps  in    8.000 usecs\n"
        "  3:   2.000 MB         3 times -->    8.000 Gbps  in    2.000 msecs\n"
        "\nCompleted with        max bandwidth    8.000 Gbps        1.333 usecs latency\n"
        "mpirun: killing job...\n"
    )
    (table,) = parse(text).tables
    assert table.rows == ((1, 24999, 0.75, 1.333), (1500, 333, 187.5, 8.0), (2000000, 3, 1000.0, 2000.0))
    assert table.complete
    assert table.context == {"mode": "pingpong", "trials": 7}


def test_older_releases_print_seconds_and_launchers_tag_lines() -> None:
    tag = "Mon Feb 19 15:13:08 2018[1,0]<stdout>: "
    text = f"{tag}  0:       1 bytes  17050 times --> {tag} 2.00 Mbps in 0.000005739 sec\n"
    (table,) = parse(text).tables
    assert table.rows[0] == pytest.approx((1, 17050, 2 * MBIT, 5.739))
    assert table.line == 1


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("       1 1.000000   0.00000763\n", [(1, MBIT, 7.63)]),
        ("     1000     1.000     0.900     1.100    9.00\n", []),  # the numbers disagree: not an np.out
        ("     1000     1.000     0.900     1.100    8.00\n", [(1000, 125.0, 8.0)]),  # NetPIPE 5
        ("0.000100 0.076294 8 1 0.000000\n", [(1, 0.076294 * MBIT, 100.0)]),  # NetPIPE 2
    ],
)
def test_the_data_file_of_each_release_is_read(text: str, rows: list[tuple[float, ...]]) -> None:
    if not rows:
        with pytest.raises(ParseError):
            parse(text)
        return
    (table,) = parse(text).tables
    assert [pytest.approx(row) for row in rows] == list(table.rows)


def test_a_data_file_of_netpipe_2_with_getrusage_has_nine_columns() -> None:
    row = "{0:.7f} 0.0762939 {1} {2} 0.0000000 0.0000100 0.0000200 0.0000000 0.0000000\n"
    (table,) = parse(row.format(0.0001, 8, 1) + row.format(0.0002, 16, 2)).tables
    assert list(table.rows) == [pytest.approx((n, 0.0762939 * MBIT, 100.0 * n)) for n in (1, 2)]


def test_a_long_data_file_is_read_whole_and_one_false_row_spoils_it() -> None:
    rows = [f"{size:8d} {size * 8 / 2**20 / 1e-5:.6f}   0.00001000\n" for size in range(1, 201)]
    (table,) = parse("".join(rows)).tables
    assert len(table.rows) == 200 and table.complete
    assert table.rows[150] == pytest.approx((151, 15.1, 10.0), rel=1e-6)
    rows[150] = "     151 9.000000   0.00001000\n"
    with pytest.raises(ParseError):
        parse("".join(rows))


def test_a_cut_data_file_is_incomplete() -> None:
    text = "       1 1.000000   0.00000763\n       2 2.000000   0.00000763\n"
    assert parse(text[:-1]).tables[0].complete
    (table,) = parse(text[:-3]).tables
    assert (len(table.rows), table.complete) == (1, False)


def test_rows_taken_at_once_are_those_taken_one_by_one() -> None:
    rows = [
        f"{index:3d}: {index + 1:7d} bytes  {100:5d} times --> {(index + 1) * 0.95:8.2f} Mbps in {8:10.2f} usec\n"
        for index in range(200)
    ]
    # the remark separates the same rows
    together, apart = parse(START + "".join(rows)), parse(START + "noted\n".join(rows))
    assert together.tables[0].rows == apart.tables[0].rows
    assert len(together.tables[0].rows) == 200
    assert together.tables[0].complete and apart.tables[0].complete
    del rows[100]
    (table,) = parse(START + "".join(rows)).tables
    assert (len(table.rows), table.complete) == (199, False)


@pytest.mark.parametrize(
    ("tail", "bandwidth"),
    [
        ("2.00 Mbps in 0.0000080 sec, avg utime=0.0000010 avg stime=0.0000020", 2 * MBIT),  # 2.4 with getrusage
        ("1.00 MBps in 0.000008000 sec", 8 * MBIT),  # MPICH's netmpi -B
        ("2.00 Gbps in 8.00 usec", 2000 * MBIT),
    ],
)
def test_units_and_endings_of_other_forms_are_read(tail: str, bandwidth: float) -> None:
    (table,) = parse(f"  0:         2 bytes   10 times -->  {tail}\n").tables
    assert table.rows[0] == pytest.approx((2, 10, bandwidth, 8.0))


def test_netpipe_4_counts_in_powers_of_ten_and_its_rows_say_so() -> None:
    row = "{0:3d}: {1:7d} bytes  10 times --> {2:8.2f} Mbps in     800.00 usec\n"
    rows = [row.format(n, 100000 * (n + 1), 1000.0 * (n + 1)) for n in range(6)]
    assert parse(START + "".join(rows)).tables[0].rows[0][2] == 125.0
    # four rows may agree by chance
    assert parse(START + "".join(rows[:4])).tables[0].rows[0][2] == 1000 * MBIT


def test_an_integrity_check_counts_failures_and_has_no_values() -> None:
    start = "Start testing with 7 trials for each message size\n"
    rows = "  1:       1  B     24999 times --> 0 failures\n  2:       2  B     24999 times --> 12 failures\n"
    parsed = parse(start + rows)
    assert parsed.tables == ()
    assert [(failure.line, failure.text) for failure in parsed.failures] == [
        (1, "the main loop gave no row"),
        (3, "12 failures"),
    ]


def test_colours_of_netpipe_5_go_and_failed_rows_are_failures() -> None:
    green, off = "\x1b[32m", "\x1b[0m"
    text = (
        "Start testing with 7 trials for each message size\n"
        f"  1: {green}      1  B{off}     24999 times -->  "
        f"{green}6.000 Mbps{off}  in  {green}1.333 usecs{off}   2 failures\n"
    )
    parsed = parse(text)
    assert parsed.tables[0].rows == ((1, 24999, 0.75, 1.333),)
    assert parsed.failures[0].text == "6.000 Mbps  in  1.333 usecs   2 failures"


def test_a_run_without_rows_says_so() -> None:
    parsed = parse(START)
    assert parsed.tables == ()
    assert [(failure.line, failure.text) for failure in parsed.failures] == [(1, "the main loop gave no row")]


def test_a_text_that_is_no_output_of_netpipe_is_an_error() -> None:
    with pytest.raises(ParseError) as caught:
        parse("1 2 3\n")
    assert str(caught.value) == (
        "line 1: found '1 2 3', expected output of NetPIPE: \"Now starting the main loop\" or its rows"
    )


@pytest.mark.parametrize(
    ("behind", "complete"), [("0\n", True), ("1796083200\n", True), ("12\n", False), ("12", False)]
)
def test_a_number_behind_np_out_is_cut_only_if_it_may_be_the_next_size(behind: str, complete: bool) -> None:
    rows = "".join(f"{size:8d} 10.000000   {size * 8 / 10 / 2**20:.8f}\n" for size in (4, 6, 8))
    (table,) = parse(rows + behind).tables
    assert ([row[0] for row in table.rows], table.complete) == ([4, 6, 8], complete)


@pytest.mark.parametrize(
    ("cell", "instead"),
    [
        *(("  1:", found) for found in ("nan", "-1:", "*:")),
        *(("2 bytes", found) for found in ("2,097,152 bytes", "inf bytes", " bytes")),
        *(("1999 times", found) for found in ("1,999 times", "1e308 times", " times")),
        *(("0.50 Mbps", found) for found in ("0,50 Mbps", "-0.50 Mbps", "1e-320 Mbps", " Mbps")),
        *(("30.55 usec", found) for found in ("30,55 usec", "nan usec", "-30.55 usec", " usec")),
    ],
)
def test_a_row_that_cannot_be_read_is_a_failure_with_its_line_and_no_row_is_lost(cell: str, instead: str) -> None:
    last = "  1:       2 bytes   1999 times -->      0.50 Mbps in      30.55 usec\n"
    row = last.replace(cell, instead)
    assert row != last
    text = "Now starting the main loop\n  0:       1 bytes   2000 times -->      0.25 Mbps in      30.52 usec\n"
    parsed = parse(text + row)
    assert parsed.failures == (Remark(3, f"a row that cannot be read: {row.strip()}"),)
    assert [table.complete for table in parsed.tables] == [False]
    assert parse(text + last).failures == ()
