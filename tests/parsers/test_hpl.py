"""HPL's tables, one trap per test. Every text here is synthetic."""

import pytest

from railyard.parsers.hpl import parse
from railyard.parsers.output import ParseError

BANNER = "HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018\n"
RULE, LINE = "=" * 80 + "\n", "-" * 80 + "\n"
HEADING = RULE + "T/V                N    NB     P     Q               Time                 Gflops\n" + LINE
ROW = "WR11C2R4      419329   192     2     4             3054.87            1.60909e+04\n"
RESIDUAL = "||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=   3.00946778e-03 ...... PASSED\n"
TEST = HEADING + ROW + LINE + RESIDUAL
CELLS = (419329, 192, 2, 4, 3054.87, 16090.9, True)


def closing_lines(passed: int, failed: int = 0, skipped: int = 0) -> str:
    return (
        f"{RULE}\nFinished {passed + failed + skipped:6d} tests with the following results:\n"
        f"         {passed:6d} tests completed and passed residual checks,\n"
        f"         {failed:6d} tests completed and failed residual checks,\n"
        f"         {skipped:6d} tests skipped because of illegal input values.\n"
    )


END = LINE + "\nEnd of Tests.\n" + RULE


def test_a_whole_output_is_one_complete_table() -> None:
    parsed = parse(BANNER + TEST + TEST + closing_lines(2) + END)
    (table,) = parsed.tables
    assert (table.tool, table.version, table.benchmark, table.line, table.complete) == ("hpl", "2.3", "hpl", 1, True)
    assert table.columns == ("N", "NB", "P", "Q", "time", "performance", "passed")
    assert table.units == (None, None, None, None, "s", "Gflop/s", None)
    assert table.rows == (CELLS, CELLS)
    assert (parsed.failures, parsed.remarks) == ((), ())


@pytest.mark.parametrize("code", ["WR11C2R4", "WC00L2L2", "WR05L2L8", "WR0XR8C48", "WC0", "WC03R2R2"])
def test_every_code_of_a_variant_begins_a_row(code: str) -> None:
    (table,) = parse(HEADING + ROW.replace("WR11C2R4", code) + RESIDUAL).tables
    assert table.rows == (CELLS,)


@pytest.mark.parametrize("residual", ["nan", "-nan", "NAN", "inf"])
@pytest.mark.parametrize("verdict", ["FAILED", "PASSED"])
def test_a_residual_that_is_no_number_fails_whatever_stands_beside_it(residual: str, verdict: str) -> None:
    text = RESIDUAL.replace("3.00946778e-03", residual).replace("PASSED", verdict)
    parsed = parse(HEADING + ROW + text + closing_lines(0, 1))
    assert parsed.tables[0].rows == ((*CELLS[:-1], False),)
    assert [failure.text for failure in parsed.failures][:1] == [text.strip()]


@pytest.mark.parametrize(
    ("extra", "cells"),
    [
        ("         1.32214           1.121e+04", (1.32214, 11210.0)),
        ("        11.53998      2          4.539e+05", (11.53998, 453900.0)),  # with its count of iterations
        ("", (None, None)),
    ],
)
def test_hpl_ai_is_a_table_of_its_own_with_two_more_columns(extra: str, cells: tuple[float | None, ...]) -> None:
    heading = "         T/V                N    NB     P     Q               Time                 Gflops"
    row = f"HPL_AI   WR03L2L2       44000   288     1     1               3.74              1.517e+04{extra}\n"
    (table,) = parse(f"{BANNER}{heading}          FGMRES          Gflops_IRS\n{row}{RESIDUAL}").tables
    assert table.benchmark == "hpl_ai"
    assert table.columns[6:] == ("fgmres", "performance_irs", "passed")
    assert table.units[6:] == ("s", "Gflop/s", None)
    assert table.rows == ((44000, 288, 1, 1, 3.74, 15170.0, *cells, True),)


def test_nvidias_banner_and_rate_of_one_gpu_are_no_columns() -> None:
    banner = "HPL-NVIDIA 24.3.0  -- NVIDIA accelerated HPL benchmark -- NVIDIA\n"
    heading = "T/V                N    NB     P     Q         Time          Gflops (   per GPU)\n"
    row = "WC0            92160  1024     1     1        30.73       1.698e+04 ( 1.698e+04)\n"
    (table,) = parse(banner + heading + row + RESIDUAL).tables
    assert (table.version, dict(table.context)) == ("24.3.0", {"implementation": "HPL-NVIDIA 24.3.0"})
    assert table.rows == ((92160, 1024, 1, 1, 30.73, 16980.0, True),)


#: By the words of rocHPL's source (HPL_pdtest.cpp, HPL_pdgesv.cpp, HPL_pdmatgen.cpp); its banner is HPL's own, of 2.2.
ROCHPL = """\
HPLinpack 2.2  --  High-Performance Linpack benchmark  --   February 24, 2016
Local matrix size       = 56.2463 GiBs
Total device memory use = 57.1 GiBs
---------------------------------------------------
   %   | Column    | Step Time (s) | Overall GFLOPS
       |           |               |
---------------------------------------------------
  0.0% | 000000000 |    0.3123456  |  3.912e+04
  0.6% | 000000512 |    0.2923456  |  4.012e+04
================================================================================
T/V                N    NB     P     Q               Time                 Gflops
--------------------------------------------------------------------------------
WC02R2R32       92160   512     1     1              13.05              4.000e+04
HPL_pdgesv() start time Thu Oct 22 11:35:15 2026

Final Score:    4.0000e+04 GFLOPS
--------------------------------------------------------------------------------
||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)=        0.0000123 ...... {0}
Residual value = 0.000012300000000 (0x3ee9cbb4d2a9d9a2)
Residual Check: {0}
================================================================================

Finished      1 tests with the following results:
              {1} tests completed and passed residual checks,
              {2} tests completed and failed residual checks,
              0 tests skipped because of illegal input values.
--------------------------------------------------------------------------------

End of Tests.
================================================================================
"""


def test_rochpls_progress_and_what_it_says_twice_are_no_remarks() -> None:
    parsed = parse(ROCHPL.format("PASSED", 1, 0))
    (table,) = parsed.tables
    assert (table.rows, table.complete) == (((92160, 512, 1, 1, 13.05, 40000.0, True),), True)
    assert (parsed.remarks, parsed.failures) == ((), ())


def test_a_residual_that_rochpl_calls_failed_is_a_failure() -> None:
    parsed = parse(ROCHPL.format("FAILED", 0, 1))
    assert parsed.tables[0].rows[0][-1] is False
    assert parsed.failures[0].text.endswith("FAILED")


def test_progress_and_clocks_between_row_and_residual_are_no_remarks() -> None:
    between = (
        "node5 : Column=002112 Fraction=0.005 Kernel=   30.20 Mflops=18381609.94\n"
        "Column=000192 Fraction= 0.1% Gflops=3.3\n"
        "\x1b[0;31m Prog= 1.91%\tN_left= 138880\tTime= 3.50 \x1b[0m\nHPL_pdgesv() start time Thu Oct 22 11:35:15 2020\n"
        "--VVV--VVV--VVV--VVV--VVV--VVV--VVV-\n+ Max aggregated wall time pfact . . :              29.96\n"
    )
    parsed = parse(BANNER + HEADING + ROW + between + RESIDUAL + "||A||_1  . . . . = 1.0\nlibibverbs: Warning\n")
    assert parsed.tables[0].rows == (CELLS,)
    assert [remark.text for remark in parsed.remarks] == ["libibverbs: Warning"]


def test_the_three_residuals_of_hpl_1_must_all_pass() -> None:
    three = [f"||Ax-b||_oo / ( eps * {norm} ) =        0.02 ...... PASSED\n" for norm in ("||A||_1  * N       ",)]
    three += ["||Ax-b||_oo / ( eps * ||A||_1  * ||x||_1  ) =        0.02 ...... PASSED\n"]
    three += ["||Ax-b||_oo / ( eps * ||A||_oo * ||x||_oo ) =        0.02 ...... PASSED\n"]
    assert parse(HEADING + ROW + "".join(three)).tables[0].rows == (CELLS,)
    assert parse(HEADING + ROW + "".join(three[:2])).tables == ()
    three[1] = three[1].replace("PASSED", "FAILED")
    assert parse(HEADING + ROW + "".join(three)).tables[0].rows == ((*CELLS[:-1], False),)


def test_a_row_and_a_residual_that_a_mailer_wrapped_are_one() -> None:
    text = HEADING + ROW.replace("            1.6", "\n1.6") + RESIDUAL.replace(" PASSED", "\nPASSED")
    assert parse(text).tables[0].rows == (CELLS,)


def test_a_run_without_checks_has_rows_without_a_verdict() -> None:
    unchecked = "Finished 2 tests with the following results:\n 2 tests completed without checking,\n"
    (table,) = parse(BANNER + HEADING + ROW + HEADING + ROW + RULE + unchecked + END).tables
    assert (table.rows, table.complete) == (((*CELLS[:-1], None),) * 2, True)


@pytest.mark.parametrize(
    ("text", "complete"),
    [
        (TEST, False),  # no closing line: the text may be cut
        (TEST + closing_lines(1), True),  # the counts add up
        (TEST + END, True),
        (TEST + closing_lines(1) + END + "mpirun noticed that process rank 0 exited on signal 11\n", True),
        (TEST + closing_lines(2) + END, False),  # one of two rows is missing
        (TEST + "...\n" + END, False),
        (TEST + "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n", False),
        (BANNER + TEST + closing_lines(1) + END + BANNER + TEST, False),  # the second run is cut
        (BANNER + TEST + BANNER + TEST + closing_lines(1) + END, False),  # the first is
        (BANNER + TEST + closing_lines(1) + END + BANNER + TEST + closing_lines(1) + END, True),
        (TEST + closing_lines(1, skipped=1) + END, True),
    ],
)
def test_complete_is_what_the_closing_lines_say(text: str, complete: bool) -> None:
    (table,) = parse(text).tables
    assert table.complete is complete


def test_a_row_that_was_not_judged_is_not_counted() -> None:
    parsed = parse(BANNER + HEADING + ROW)
    assert parsed.tables == ()
    assert [(failure.line, failure.text) for failure in parsed.failures] == [(1, "HPL gave no row with a residual")]


def test_a_row_without_any_heading_is_no_row() -> None:
    parsed = parse(BANNER + ROW + RESIDUAL)
    assert parsed.tables == ()


@pytest.mark.parametrize(
    ("row", "failures"),
    [
        (
            ROW.replace("1.60909e+04", "2.60909e+04"),
            [(4, "26091 Gflop/s contradict N 419329 and time 3055 s, which are 16091 Gflop/s: was the row changed?")],
        ),
        (ROW.replace("1.60909e+04", "1.62909e+04"), []),  # 1.2 %
        (
            ROW.replace("3054.87", "305.48"),
            [(4, "16091 Gflop/s contradict N 419329 and time 305.5 s, which are 160914 Gflop/s: was the row changed?")],
        ),
        (
            ROW.replace("419329", "     0"),
            [(4, "16091 Gflop/s contradict N 0 and time 3055 s, which are 0 Gflop/s: was the row changed?")],
        ),
        # a time of two digits behind the point says little of a short run
        ("WR11C2R4         256    64     1     2               0.02             7.0930e-01\n", []),
        ("WR11C2R4          64    64     1     2               0.00             7.0930e-01\n", []),
    ],
)
def test_a_rate_that_contradicts_size_and_time_is_a_failure(row: str, failures: list[tuple[int, str]]) -> None:
    parsed = parse(HEADING + row + RESIDUAL + closing_lines(1) + END)
    assert list(parsed.failures) == failures
    assert len(parsed.tables[0].rows) == 1


def test_what_hpl_reports_itself_is_a_failure() -> None:
    report = "HPL ERROR from process # 0, on line 419 of function HPL_pdinfo:\n>>> Need at least 4 processes <<<\n"
    parsed = parse(BANNER + report)
    assert [failure.text for failure in parsed.failures][1:] == report.splitlines()


def test_a_text_that_is_no_output_of_hpl_is_an_error() -> None:
    with pytest.raises(ParseError) as caught:
        parse("1 2 3\n")
    expected = 'line 1: found \'1 2 3\', expected output of HPL: a banner "HPLinpack …" or a heading "T/V  N  NB …"'
    assert str(caught.value) == expected


def test_hpccs_output_is_left_to_hpcc() -> None:
    with pytest.raises(ParseError) as caught:
        parse("Begin of HPL section.\n" + BANNER + TEST)
    assert str(caught.value) == (
        "line 1: found 'Begin of HPL section.', expected output of HPL alone: this is HPC Challenge's, which hpcc reads"
    )


def test_a_cut_at_any_byte_gives_no_value_that_the_whole_lacks() -> None:
    text = BANNER + TEST + TEST.replace("PASSED", "FAILED") + closing_lines(1, 1) + END
    (whole,) = parse(text).tables
    for cut in range(1, len(text)):
        try:
            tables = parse(text[:cut]).tables
        except ParseError:
            continue
        assert all(table.rows == whole.rows[: len(table.rows)] for table in tables), f"cut at {cut}"
        assert not any(table.complete and len(table.rows) < 2 for table in tables), f"cut at {cut}"
