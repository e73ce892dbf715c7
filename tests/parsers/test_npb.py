"""NPB's result blocks, one trap per test. Every text here is synthetic."""

import pytest

from railyard.base.wording import number as shown
from railyard.parsers.npb import parse
from railyard.parsers.output import ParseError

BANNER = " NAS Parallel Benchmarks 3.3 -- CG Benchmark\n\n Size:      14000\n Iterations:    15\n"
LINES = """

 CG Benchmark Completed.
 Class           =                        A
 Size            =                    14000
 Iterations      =                       15
 Time in seconds =                     3.02
 Total processes =                        4
 Compiled procs  =                        4
 Mop/s total     =                   495.93
 Mop/s/process   =                   123.98
 Operation type  =           floating point
 Verification    =               SUCCESSFUL
 Version         =                    3.3.1
 Compile date    =              11 Jun 2007

 Compile options:
    FFLAGS       = -O3
    RAND         = (none)
"""
CELLS = (15, 3.02, 495.93, True)


def test_a_result_block_is_a_table_of_one_row() -> None:
    parsed = parse(BANNER + LINES)
    (table,) = parsed.tables
    assert (table.tool, table.version, table.benchmark, table.line, table.complete) == ("npb", "3.3.1", "CG", 7, True)
    assert table.columns == ("iterations", "time", "performance", "passed")
    assert table.units == (None, "s", "Mop/s", None)
    assert table.rows == (CELLS,)
    assert table.context == {"class": "A", "size": 14000, "processes": 4}
    assert (parsed.failures, parsed.remarks) == ((), ())


def test_twenty_runs_in_one_file_are_twenty_tables() -> None:
    tables = parse((BANNER + LINES) * 20).tables
    assert [table.rows for table in tables] == [(CELLS,)] * 20
    assert [table.line for table in tables][:2] == [7, 30]


def test_the_multi_zone_programs_print_threads() -> None:
    text = (
        LINES.replace("CG", "SP-MZ").replace(" Compiled procs ", " Total threads  ").replace("14000", "304x  208x 17")
    )
    (table,) = parse(text.replace("3.02", "3.020")).tables
    assert (table.benchmark, table.rows) == ("SP-MZ", (CELLS,))
    assert table.context == {"class": "A", "size": "304x  208x 17", "processes": 4, "threads": 4}


@pytest.mark.parametrize(
    ("wording", "passed"), [("  SUCCESSFUL", True), ("UNSUCCESSFUL", False), ("NOT PERFORMED", None)]
)
def test_the_verification_is_what_it_says(wording: str, passed: bool | None) -> None:
    (table,) = parse(LINES.replace("  SUCCESSFUL", wording)).tables
    assert (table.rows, table.complete) == (((15, 3.02, 495.93, passed),), True)


def test_an_unsuccessful_verification_and_its_lines_are_failures() -> None:
    norms = " FAILURE:  1 0.4767E+05 0.6239E+04 0.6639E+01\n Verification failed\n"
    parsed = parse(BANNER + norms + LINES.replace("  SUCC", "UNSUCC"))
    assert [failure.text for failure in parsed.failures] == [
        "FAILURE:  1 0.4767E+05 0.6239E+04 0.6639E+01",
        "Verification failed",
        "Verification    =             UNSUCCESSFUL",
    ]


def test_openmp_and_serial_wordings_are_read() -> None:
    text = LINES.replace("Completed.", "Completed").replace("Total processes", "Total threads  ")
    (table,) = parse(text.replace(" Compiled procs ", " Avail threads  ")).tables
    assert (table.rows, table.context) == ((CELLS,), {"class": "A", "size": 14000, "threads": 4})
    serial = "\n".join(line for line in LINES.split("\n") if "proc" not in line)
    assert parse(serial).tables[0].rows == (CELLS,)


def test_what_other_ranks_print_between_the_lines_is_passed_over() -> None:
    noisy = LINES.replace("\n ", "\nmemcpy: 3 0.000000\nnuma_node = 1\n ")
    parsed = parse(noisy)
    assert parsed.tables[0].rows == (CELLS,)
    assert {remark.text for remark in parsed.remarks} == {"memcpy: 3 0.000000", "numa_node = 1"}


def test_names_of_files_in_makes_output_are_no_failures() -> None:
    make = "mpifort -c  -O3 -fopenmp error.f\nmake[1]: Leaving directory `/home/user/NPB3.3-MZ-MPI/SP-MZ'\n"
    parsed = parse(make + BANNER + LINES)
    assert parsed.failures == ()
    assert [remark.line for remark in parsed.remarks] == [1, 2]


def test_a_run_that_ends_without_a_block_is_a_failure() -> None:
    parsed = parse(BANNER + LINES + BANNER + " Time step    1\n Time step   20\n")
    assert len(parsed.tables) == 1
    assert [(failure.line, failure.text) for failure in parsed.failures] == [
        (24, "no result block follows: NAS Parallel Benchmarks 3.3 -- CG Benchmark")
    ]


def test_a_block_that_is_cut_before_its_verification_gives_no_table() -> None:
    cut = LINES[: LINES.index(" Verification")]
    parsed = parse(cut)
    assert parsed.tables == ()
    assert [failure.text for failure in parsed.failures] == ["the result block of CG has no line Verification"]
    first, second = parse(cut + BANNER + LINES).tables
    assert (first.rows, first.complete) == (((15, 3.02, 495.93, None),), False)
    assert (second.rows, second.complete) == ((CELLS,), True)


def test_a_number_that_is_none_is_a_failure() -> None:
    parsed = parse(LINES.replace("495.93", "   NaN"))
    assert parsed.tables[0].rows == ((15, 3.02, None, True),)
    assert [failure.text for failure in parsed.failures] == ["Mop/s total     =                      NaN"]


def test_a_program_that_could_not_begin_is_a_failure_without_a_table() -> None:
    launch = "mpirun was unable to launch the specified application as it could not access\nExecutable: ./bin/ft.C.16\n"
    parsed = parse(launch)
    assert (parsed.tables, [failure.line for failure in parsed.failures]) == ((), [1])


def test_a_text_that_is_no_output_of_npb_is_an_error() -> None:
    with pytest.raises(ParseError) as caught:
        parse("\nCRDT Benchmark Completed.\n")
    assert str(caught.value) == (
        "line 2: found 'CRDT Benchmark Completed.', expected output of NPB: "
        'a banner "NAS Parallel Benchmarks …" or a result block "… Benchmark Completed."'
    )


def test_a_cut_at_any_byte_gives_no_value_that_the_whole_lacks() -> None:
    text = BANNER + LINES + BANNER + LINES.replace("  SUCC", "UNSUCC")
    whole = [(table.line, table.rows) for table in parse(text).tables]
    for cut in range(1, len(text)):
        try:
            part = parse(text[:cut]).tables
        except ParseError:
            continue
        assert [(table.line, table.rows) for table in part] == whole[: len(part)], f"cut at {cut}"
        assert {table.version for table in part} <= {None, "3.3.1"}, f"cut at {cut}"


#: Operations in 10^6 of benchmark, class, size and iterations, as the reports of NPB have them.
OPERATIONS = [
    ("BT", "B", "102x 102x 102", 200, 702_200),
    ("CG", "A", "14000", 15, 1_496.5),
    ("EP", "A", "536870912", 0, 536.87),
    ("FT", "A", "256x 256x 128", 6, 7_130),
    ("IS", "A", "8388608", 10, 83.886),
    ("LU", "B", "102x 102x 102", 250, 498_800),
    ("MG", "A", "256x 256x 256", 4, 3_892),
    ("SP", "B", "102x 102x 102", 400, 355_000),
]


def block(name: str, problem: str, size: str, iterations: int, rate: float, each: float, took: float = 40.0) -> str:
    lines = {
        "Class": problem,
        "Size": size,
        "Iterations": iterations,
        "Time in seconds": f"{took:.2f}",
        "Total processes": 4,
        "Mop/s total": f"{rate:.2f}",
        "Mop/s/process": f"{each:.2f}",
        "Verification": "SUCCESSFUL",
        "Version": "3.4.2",
    }
    return f" {name} Benchmark Completed.\n" + "".join(f" {key:<16}= {value:>24}\n" for key, value in lines.items())


@pytest.mark.parametrize(("name", "problem", "size", "iterations", "operations"), OPERATIONS)
def test_a_rate_that_contradicts_its_time_fails(
    name: str, problem: str, size: str, iterations: int, operations: float
) -> None:
    due = operations / 40
    assert parse(block(name, problem, size, iterations, due, due / 4)).failures == ()
    for wrong in (1.1 * due, due / 2, 10 * due):
        (failure,) = parse(block(name, problem, size, iterations, wrong, wrong / 4)).failures
        printed = shown(float(f"{wrong:.2f}"))
        assert failure.text.startswith(f"{printed} Mop/s contradict size {size} and time 40.00 s, which are ")
        assert failure.text.endswith(" Mop/s: was the output changed?")


@pytest.mark.parametrize("name", ["CG", "SP-MZ", "UA"])
def test_a_rate_that_contradicts_that_of_its_processes_fails(name: str) -> None:
    rate = 37.41
    (failure,) = parse(block(name, "A", "14000", 15, rate, rate / 2)).failures
    assert failure.text == (
        "37.41 Mop/s in total contradict 4 processes or threads with 18.70 Mop/s each, which are 74.80 Mop/s: was the "
        "output changed?"
    )
    assert failure.line == 1


def test_a_time_that_is_too_short_to_say_anything_contradicts_nothing() -> None:
    assert parse(block("IS", "S", "65536", 10, 93.0, 23.25, took=0.01)).failures == ()
