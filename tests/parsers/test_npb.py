"""NPB's result blocks, one trap per test. Every text here is synthetic."""

import pytest

from railyard.parsers.npb import parse
from railyard.parsers.parsed import ParseError

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
