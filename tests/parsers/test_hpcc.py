"""HPC Challenge's sections as tables. Every text here is synthetic, with one or two lines of each section."""

import pytest

from railyard.parsers.hpcc import parse
from railyard.parsers.output import ParseError, Table, validation_of

HEAD = "This is the DARPA/DOE HPC Challenge Benchmark version 1.5.0 October 2012\nProduced by Jack Dongarra\n"
LINPACK = "HPLinpack 2.0  --  High-Performance Linpack benchmark  --   September 10, 2008\n"
UPDATES = (
    "Running on 2 processors (PowerofTwo)\nCPU time used = 0.058612 seconds\nReal time used = 0.217136 seconds\n"
    "0.004829127 Billion(10^9) Updates    per second [GUP/s]\n0.002414563 Billion(10^9) Updates/PE per second [GUP/s]\n"
    "Verification:  CPU time used = 0.001969 seconds\nFound 0 errors in 262144 locations (passed).\n"
)
STAR = "Node(s) with error 0\nMinimum Copy GB/s 0.500000\nAverage Copy GB/s 1.000000\nMaximum Copy GB/s 2.000000\n"
PTRANS = (
    "TIME   M     N    MB  NB  P   Q     TIME   CHECK   GB/s   RESID\n"
    "---- ----- ----- --- --- --- --- -------- ------ -------- -----\n"
    "WALL   300   300  64  64   1   2     0.01 PASSED    0.076  0.25\n"
    "CPU    300   300  64  64   1   2     0.00 PASSED    2.988  0.25\n"
    "WALL   300   300  64  64   1   2     0.01 PASSED    0.075  0.25\n"
    "\nFinished    2 tests, with the following results:\n    2 tests completed and passed residual checks.\n"
)
FFT = (
    "Number of nodes: 2\nVector size:                32768\nTuning:     0.000\n"
    "max(|x-x0|): 1.249e-15\nGflop/s:     1.691\n"
)
NETWORK = """
Latency-Bandwidth-Benchmark R1.5.1 (c) HLRS, University of Stuttgart

Message Length: 8
Latency   min / avg / max:   0.009000 /   0.009000 /   0.009000 msecs
Bandwidth min / avg / max:     17.099 /     17.099 /     17.099 MByte/s

Message Size:                           8 Byte
Natural Order Latency:           0.000500 msec
Natural Order Bandwidth:        20.920502 MB/s
Avg Random Order Latency:        0.000250 msec
Avg Random Order Bandwidth:     20.670204 MB/s

Major Benchmark results:
------------------------

Max Ping Pong Latency:                 0.004000 msecs
Randomly Ordered Ring Latency:         0.000250 msecs
Min Ping Pong Bandwidth:            8308.304566 MB/s
Naturally Ordered Ring Bandwidth:   5718.120940 MB/s
Randomly  Ordered Ring Bandwidth:   5148.888670 MB/s

Detailed benchmark results:
Ping Pong:
Latency   min / avg / max:   0.001000 /   0.002000 /   0.004000 msecs
Bandwidth min / avg / max:   8308.305 /   8729.230 /   9150.156 MByte/s
Ring:
On naturally ordered ring: latency=      0.000500 msec, bandwidth=   5718.120940 MB/s
On randomly  ordered ring: latency=      0.000250 msec, bandwidth=   5148.888670 MB/s

Benchmark conditions:
 The latency   measurements were done with        8 bytes
 The bandwidth measurements were done with  2000000 bytes
"""
HPL = (
    f"{LINPACK}T/V                N    NB     P     Q               Time                 Gflops\n"
    "WR11C2R4         600    64     1     2               0.27              5.325e-01\n"
    "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0054122 ...... PASSED\n\nEnd of Tests.\n"
)
SUMMARY = (
    "VersionRelease=f\nSuccess=1\nHPL_Tflops=0.0005\nPTRANS_GBs=0.076\nPTRANS_time=0.25\nHPL_order=R\nMPIFFT_time0=8e-07\n"
    "StarSTREAM_Copy=0.5\nMPIRandomAccess_GUPs=0.00482913\nMaxPingPongLatency_usec=4\nMinPingPongBandwidth_GBytes=8.5\n"
)


def section(name: str, text: str) -> str:
    clock = "Current time (1795218437) is Fri Nov 20 23:47:17 2026\n\n"
    return f"Begin of {name} section.\n{text}{clock}End of {name} section.\n"


def whole_output() -> str:
    parts = {
        "MPIRandomAccess": UPDATES,
        "PTRANS": PTRANS,
        "StarSTREAM": STAR,
        "MPIFFT": FFT,
        "LatencyBandwidth": NETWORK,
    }
    text = "".join(section(name, inside) for name, inside in parts.items())
    return HEAD + LINPACK + text + section("HPL", HPL) + section("Summary", SUMMARY) + "End of HPC Challenge tests.\n"


def table(name: str, text: str) -> Table:
    (found,) = [one for one in parse(text).tables if one.benchmark == name]
    return found


def test_hpls_table_stands_before_those_of_the_other_sections() -> None:
    parsed = parse(whole_output())
    assert [(one.tool, one.benchmark) for one in parsed.tables] == [
        ("hpl", "hpl"),
        ("hpcc", "MPIRandomAccess"),
        ("hpcc", "PTRANS"),
        ("hpcc", "PTRANS"),
        ("hpcc", "StarSTREAM"),
        ("hpcc", "MPIFFT"),
        ("hpcc", "RingBySize"),
        ("hpcc", "LatencyBandwidth"),
        ("hpcc", "PingPong"),
        ("hpcc", "NaturallyOrderedRing"),
        ("hpcc", "RandomlyOrderedRing"),
        ("hpcc", "Summary"),
    ]
    assert parsed.tables[0].rows == ((600, 64, 1, 2, 0.27, 0.5325, True),)
    assert {one.version for one in parsed.tables[1:]} == {"1.5.0"}
    assert all(one.complete for one in parsed.tables)
    assert (parsed.failures, parsed.remarks) == ((), ())


def test_two_runs_that_were_appended_are_read_one_after_the_other() -> None:
    once, twice = parse(whole_output()).tables, parse(whole_output() * 2).tables
    assert [(one.benchmark, one.rows) for one in twice] == [(one.benchmark, one.rows) for one in once] * 2


@pytest.mark.parametrize(
    ("name", "columns", "units", "row"),
    [
        (
            "MPIRandomAccess",
            "cpu_time real_time updates updates_per_pe verification_cpu_time errors locations passed",
            ("s", "s", "GUP/s", "GUP/s", "s", None, None, None),
            (0.058612, 0.217136, 0.004829127, 0.002414563, 0.001969, 0, 262144, True),
        ),
        ("StarSTREAM", "minimum_copy average_copy maximum_copy", ("MB/s",) * 3, (500.0, 1000.0, 2000.0)),
        (
            "MPIFFT",
            "number_of_nodes vector_size tuning max_error performance",
            (None, None, "s", None, "Gflop/s"),
            (2, 32768, 0.0, 1.249e-15, 1.691),
        ),
        (
            "RingBySize",
            "size natural_order_latency natural_order_bandwidth avg_random_order_latency avg_random_order_bandwidth",
            ("B", "us", "MB/s", "us", "MB/s"),
            (8, 0.5, 20.920502, 0.25, 20.670204),
        ),
        (
            "LatencyBandwidth",
            "max_ping_pong_latency randomly_ordered_ring_latency min_ping_pong_bandwidth "
            "naturally_ordered_ring_bandwidth randomly_ordered_ring_bandwidth",
            ("us", "us", "MB/s", "MB/s", "MB/s"),
            (4.0, 0.25, 8308.304566, 5718.12094, 5148.88867),
        ),
        (
            "PingPong",
            "latency_min latency_avg latency_max bandwidth_min bandwidth_avg bandwidth_max",
            ("us", "us", "us", "MB/s", "MB/s", "MB/s"),
            (1.0, 2.0, 4.0, 8308.305, 8729.23, 9150.156),
        ),
        ("NaturallyOrderedRing", "latency bandwidth", ("us", "MB/s"), (0.5, 5718.12094)),
        ("RandomlyOrderedRing", "latency bandwidth", ("us", "MB/s"), (0.25, 5148.88867)),
        (
            "Summary",
            "success hpl_tflops ptrans_gbs ptrans_time mpifft_time0 starstream_copy mpirandomaccess_gups "
            "maxpingponglatency_usec minpingpongbandwidth_gbytes",
            (None, "Gflop/s", "MB/s", "s", "s", "MB/s", "GUP/s", "us", "MB/s"),
            (1, 0.5, 76.0, 0.25, 8e-07, 500.0, 0.00482913, 4, 8500.0),
        ),
    ],
)
def test_a_section_is_one_row_converted(
    name: str, columns: str, units: tuple[str | None, ...], row: tuple[float, ...]
) -> None:
    found = table(name, whole_output())
    assert (found.columns, found.units) == (tuple(columns.split()), units)
    assert list(found.rows) == [pytest.approx(row, rel=1e-12)]


def test_ptrans_has_a_table_a_clock() -> None:
    wall, cpu = [one for one in parse(whole_output()).tables if one.benchmark == "PTRANS"]
    assert wall.columns == ("m", "n", "mb", "nb", "p", "q", "time", "check", "bandwidth", "resid")
    assert wall.units[6:] == ("s", None, "MB/s", None)
    assert (wall.context, wall.rows[1]) == ({"clock": "wall"}, (300, 300, 64, 64, 1, 2, 0.01, True, 75.0, 0.25))
    assert (cpu.context, len(wall.rows), len(cpu.rows)) == ({"clock": "cpu"}, 2, 1)


def test_what_the_benchmark_says_besides_is_the_context() -> None:
    assert table("PingPong", whole_output()).context == {"latency_size": 8, "bandwidth_size": 2000000}
    assert table("Summary", whole_output()).context == {"VersionRelease": "f", "HPL_order": "R"}


def test_a_run_that_stops_within_a_section_says_which() -> None:
    cut = whole_output()[: whole_output().index("On randomly  ordered ring")]
    parsed = parse(cut)
    assert [(one.benchmark, one.complete) for one in parsed.tables][-3:] == [
        ("LatencyBandwidth", False),
        ("PingPong", False),
        ("NaturallyOrderedRing", False),
    ]
    assert [failure.text for failure in parsed.failures] == [
        "HPL gave no row with a residual",
        "the section LatencyBandwidth has no end",
    ]


@pytest.mark.parametrize(
    ("order", "rows", "largest"),
    [
        ("300", "", None),  # the summary's own
        ("128", "", 75.0),  # the worst repetition
        ("128", "WALL   300   300  32  32   1   2     0.01 PASSED    0.090  0.25\n", 90.0),  # of the best block
        ("128", "WALL   400   400  32  32   1   2     0.01 PASSED    0.060  0.25\n", 60.0),
    ],
)
def test_a_summary_of_a_smaller_matrix_has_the_largest_ones_rate_too(
    order: str, rows: str, largest: float | None
) -> None:
    text = whole_output().replace("PTRANS_GBs=0.076\n", f"PTRANS_GBs=0.6\nPTRANS_n={order}\n")
    found = table("Summary", text.replace("\nFinished", f"{rows}\nFinished"))
    values = dict(zip(found.columns, found.rows[0], strict=True))
    assert (values["ptrans_gbs"], values.get("ptrans_largest_gbs")) == (600.0, largest)


@pytest.mark.parametrize(("said", "passed"), [("1", True), ("0", False), ("2", False)])
def test_the_summary_says_whether_all_parts_were_right(said: str, passed: bool) -> None:
    text = whole_output().replace("Success=1", f"Success={said}")
    assert validation_of([one for one in parse(text).tables if one.tool == "hpcc"]) is passed


def test_a_section_without_its_end_is_incomplete_whatever_follows() -> None:
    parsed = parse(whole_output().replace("End of PTRANS section.\n", "").replace("End of StarSTREAM section.\n", ""))
    assert {one.complete for one in parsed.tables if one.benchmark == "PTRANS"} == {False}
    assert "StarSTREAM" not in {one.benchmark for one in parsed.tables}
    assert [failure.text for failure in parsed.failures] == [
        "the section PTRANS has no end",
        "the section StarSTREAM has no end",
    ]


@pytest.mark.parametrize(
    ("old", "new", "failure"),
    [
        ("Found 0 errors in 262144 locations (passed).", "Found 9 errors in 9 locations (failed).", None),
        ("Node(s) with error 0", "Node(s) with error 3", None),
        ("Success=1", "Success=0", None),
        ("Gflop/s:     1.691", "Gflop/s:     nan", None),
        (
            "0.01 PASSED    0.076",
            "0.01 FAILED    0.076",
            "WALL   300   300  64  64   1   2     0.01 FAILED    0.076  0.25",
        ),
        ("Ring:\n", "Ring:\nmpirun noticed that process rank 1 exited on signal 9\n", "mpirun noticed that process"),
    ],
)
def test_what_the_output_reports_as_wrong_is_a_failure(old: str, new: str, failure: str | None) -> None:
    (found,) = parse(whole_output().replace(old, new, 1)).failures
    assert found.text.startswith(failure or new)


def test_a_line_of_a_library_is_a_remark_and_changes_nothing() -> None:
    noise = "libibverbs: Warning: couldn't open config directory"
    noisy = whole_output().replace("\n", f"\n{noise}\n")
    parsed = parse(noisy)
    assert [(one.benchmark, one.rows) for one in parsed.tables] == [
        (one.benchmark, one.rows) for one in parse(whole_output()).tables
    ]
    assert {remark.text for remark in parsed.remarks} == {noise}


def test_a_rate_that_no_float_holds_is_no_row_and_an_empty_run_says_so() -> None:
    assert parse(section("PTRANS", PTRANS.replace("0.076", "1e308"))).tables[0].context == {"clock": "cpu"}
    parsed = parse("\n" + section("MPIFFT", ""))
    assert parsed.tables == ()
    assert [(failure.line, failure.text) for failure in parsed.failures] == [
        (2, "no section of HPC Challenge gave a figure")
    ]


def test_a_text_without_banner_or_section_is_an_error() -> None:
    with pytest.raises(ParseError) as caught:
        parse("HPL_Tflops=1\n")
    assert str(caught.value) == (
        "line 1: found 'HPL_Tflops=1', expected output of HPC Challenge: its banner or a line \"Begin of … section.\""
    )


def test_a_cut_at_any_byte_gives_no_value_that_the_whole_lacks() -> None:
    text = whole_output()
    rows = {(one.benchmark, one.line): one.rows for one in parse(text).tables}
    for cut in range(1, len(text)):
        try:
            tables = parse(text[:cut]).tables
        except ParseError:
            continue
        for one in tables:
            # HPL's banner is at the top, its section near the end: a cut may leave only the banner
            assert one.rows == rows[one.benchmark, one.line][: len(one.rows)], f"cut at {cut}"
            assert not one.complete or len(one.rows) == len(rows[one.benchmark, one.line]), f"cut at {cut}"
