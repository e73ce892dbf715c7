"""WRF's rsl files and console, one trap per test. Texts are synthetic."""

from pathlib import Path

import pytest

from railyard.parsers.output import ParseError
from railyard.parsers.wrf import parse

SUCCESS = "wrf: SUCCESS COMPLETE WRF\n"


def step(time: str, domain: int = 1, minute: int = 1) -> str:
    return f"Timing for main: time 2026-01-02_00:{minute:02}:00 on domain {domain:3}:{time:>11} elapsed seconds\n"


def writing_line(time: str, file: str = "wrfout_d01_2026-01-02_00:00:00", domain: int = 1) -> str:
    return f"Timing for Writing {file} for domain {domain:8}:{time:>11} elapsed seconds\n"


HEAD = (
    "taskid: 0 hostname: node-1\n Ntasks in X            4 , ntasks in Y            6\n"
    "--- NOTE: grid_fdda is 0 for domain      1\nWRF V4.5.1 MODEL\n"
    "Timing for processing lateral boundary for domain        1:    0.16000 elapsed seconds\n"
)
RUN = HEAD + writing_line("1.25000") + step("2.50000") + step("0.50000", minute=2) + SUCCESS


def test_a_run_is_one_table_a_domain_and_kind() -> None:
    parsed = parse(RUN)
    writing, main = parsed.tables
    assert (main.tool, main.version, main.benchmark, main.line) == ("wrf", "4.5.1", "wrf", 7)
    assert (main.columns, main.units, main.rows) == (("time",), ("s",), ((2.5,), (0.5,)))
    assert main.context == {"domain": 1, "kind": "main", "ranks": 24, "other_work": "1", "step_s": 60.0}
    assert (writing.context["kind"], writing.rows, writing.line) == ("writing", ((1.25,),), 6)
    assert main.complete and writing.complete
    assert (parsed.failures, parsed.remarks) == ((), ())


def test_domains_have_tables_of_their_own_in_the_order_of_their_first_rows() -> None:
    text = step("0.12500", 3) + step("0.25000", 2) + step("0.12600", 3) + step("1.00000") + SUCCESS
    tables = parse(text).tables
    assert [(table.context["domain"], table.rows, table.line) for table in tables] == [
        (3, ((0.125,), (0.126,)), 1),
        (2, ((0.25,),), 2),
        (1, ((1.0,),), 4),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Timing for main (dt= 60.00): time 2026-01-02_00:01:00 on domain   1:    0.50000 elapsed seconds",
        "Timing for main (dt=******): time 2026-01-02_00:01:00 on domain   1:    0.50000 elapsed seconds",
        "Timing for main: time 2026-01-02_00:01:00 on domain   1:    0.50000 elapsed seconds.",  # 3.x and older
        "Timing for main: time 0001-01-01_00:00:03.500 on domain  21:    0.50000 elapsed seconds",
        "Timing for main: time 2026-01-02_00:01:00 on domain   1:     .50000 elapsed seconds",
        "Timing for main: time 2026-01-02_00:01:00 on domain   1:    0.50000d01 2026-01-02_00:01:00 in med",
        "[1,0]<stdout>:Timing for main: time 2026-01-02_00:01:00 on domain   1:    0.50000 elapsed seconds",
        " 0: Timing for main: time 2026-01-02_00:01:00 on domain   1:    0.50000 elapsed seconds\r",
    ],
)
def test_every_form_of_a_step_is_a_row(line: str) -> None:
    (table,) = parse(f"{line}\n{SUCCESS}").tables
    assert (table.rows, table.context["kind"], table.complete) == (((0.5,),), "main", True)


@pytest.mark.parametrize(
    ("file", "rows"),
    [
        ("wrfout_d02_2026-01-02_00_00_00", 1),
        ("/scratch/run/wrfout_d01_2026-01-02_00:00:00", 1),
        ("restart", 1),
        ("wrfrst_d01_2026-01-02_00:00:00", 1),
        ("auxhist2_d01_2026-01-02_00:00:00", 0),
        ("filter output", 0),
        ("./wrfxtrm_d01_2026-01-02_00:00:00", 0),
    ],
)
def test_writing_is_of_wrfout_and_restart_files(file: str, rows: int) -> None:
    tables = parse(writing_line("3.50000", file) + step("0.50000") + SUCCESS).tables
    assert [table.rows for table in tables if table.context["kind"] == "writing"] == [((3.5,),)] * rows


def test_two_steps_on_one_line_are_two_rows() -> None:
    (table,) = parse(step("0.50000").rstrip("\n") + step("0.75000") + SUCCESS).tables
    assert table.rows == ((0.5,), (0.75,))


def test_a_row_that_a_mailer_wrapped_is_one() -> None:
    text = (
        "> Timing for main: time 2026-01-02_00:01:00 on\n> domain   1:    0.50000 elapsed seconds\n"
        "> Timing for main: time 2026-01-02_00:02:00 on domain   1:    0.75000 elapsed\n> seconds.\n"
    )
    (table,) = parse(text + SUCCESS).tables
    assert (table.rows, table.line, table.complete) == (((0.5,), (0.75,)), 1, True)


@pytest.mark.parametrize("printed", ["**********", "NaN", "Infinity"])
def test_a_time_that_does_not_fit_its_field_is_no_number_and_a_failure(printed: str) -> None:
    parsed = parse(step("0.50000") + step(printed) + SUCCESS)
    assert parsed.tables[0].rows == ((0.5,), (None,))
    assert [(failure.line, failure.text) for failure in parsed.failures] == [
        (2, f"Timing for main: time 2026-01-02_00:01:00 on domain   1:{printed:>11}")
    ]


@pytest.mark.parametrize(
    ("ending", "complete"),
    [
        ("wrf: SUCCESS COMPLETE WRF\n", True),
        ("wrf: SUCCESS COMPLETE WRF", True),
        ("d01 2026-01-02_00:00:00 wrf: SUCCESS COMPLETE WRF\n", True),
        ("d01 2026-01-02_00:00:00  0 h restart only wrf: SUCCESS COMPLETE WRF\n", True),
        ("rsl.out.0000:d01 2026-01-02_00:00:00 wrf: SUCCESS COMPLETE WRF\n", True),
        ("wrf: SUCCESS COMPLETE WR", False),
        ("+ grep 'SUCCESS COMPLETE WRF' rsl.out.0000\n", False),  # the script's echo
        ("real_em: SUCCESS COMPLETE REAL_EM INIT\n", False),
        ("...\n" + SUCCESS, False),
        (SUCCESS + step("0.50000", minute=3), False),  # another run that was cut
        ("Timing for main: time 2026-01-02_00:02:00 on domain   1:    0.5\n" + SUCCESS, False),  # an overwritten row
        ("Timing for main: time 2026-01-02_00:02:00 on domain   1:    0.5", False),
        ("", False),
    ],
)
def test_a_table_is_complete_where_the_run_says_success_after_it(ending: str, complete: bool) -> None:
    table = parse(step("0.50000") + step("0.25000") + ending).tables[0]
    assert table.rows[:2] == ((0.5,), (0.25,))
    assert table.complete is complete


def test_a_fatal_call_is_one_failure_with_its_message_and_the_taskid_may_stand_behind() -> None:
    block = (
        "-------------- FATAL CALLED ---------------\nFATAL CALLED FROM FILE:  <stdin>  LINE:      77\n"
        "taskid: 0 hostname: node-1\n  Ran out of boundaries\n-------------------------------------------\n"
    )
    text = step("0.50000") + block + "d01 2026-01-02_00:01:00 in med_latbound_in\n" + block
    parsed = parse(text)
    said = "FATAL CALLED FROM FILE: <stdin> LINE: 77 Ran out of boundaries"
    assert [(failure.line, failure.text) for failure in parsed.failures] == [(2, said), (8, said)]
    assert not parsed.tables[0].complete


def test_a_fatal_call_without_its_head_is_a_failure() -> None:
    text = "FATAL CALLED FROM FILE:  <stdin>  LINE:      77\nRan out of boundaries\n" + "-" * 43 + "\n" + SUCCESS
    (failure,) = parse(text).failures
    assert failure.text == "FATAL CALLED FROM FILE: <stdin> LINE: 77 Ran out of boundaries"


def test_what_wrf_finds_wrong_with_its_input_is_a_failure() -> None:
    text = HEAD + "  ---- ERROR: Mismatch between namelist and input file dimensions\n"
    (failure,) = parse(text).failures
    assert failure.text == "---- ERROR: Mismatch between namelist and input file dimensions"


def test_a_crash_and_a_kill_are_failures_and_a_warning_is_a_remark() -> None:
    text = step("0.50000") + (
        "d01 2026-01-02_00:01:00  WARNING: the lake is warm\n"
        "forrtl: severe (174): SIGSEGV, segmentation fault occurred\n"
        "slurmstepd: error: *** JOB 7 ON node-1 CANCELLED AT 2026-01-02T00:00:00 DUE TO TIME LIMIT ***\n"
    )
    parsed = parse(text)
    assert [failure.line for failure in parsed.failures] == [3, 4]
    assert [(remark.line, remark.text[25:]) for remark in parsed.remarks] == [(2, "WARNING: the lake is warm")]
    assert not parsed.tables[0].complete


def test_a_debug_log_keeps_its_few_rows_among_its_lines() -> None:
    noise = (
        "d01 2026-01-02_00:00:20  DEBUG wrf_timetoa():  returning with str = [2026-01-02_00:00:20]\n"
        "   DEBUG setup_timekeeping():  clock start time = 2026-01-02_00:00:00\n me           52          28\n"
    )
    text = HEAD + noise * 1000 + step("29.00000") + noise * 1000 + step("0.50000")
    parsed = parse(text)
    (table,) = parsed.tables
    assert (table.rows, table.complete, table.line) == (((29.0,), (0.5,)), False, 3006)
    assert (parsed.failures, parsed.remarks) == ((), ())


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("\n starting wrf task            1  of           56\nreal\t2m58.4s\n", 2),
        ("taskid: 3 hostname: node-1\n", 1),
        ("d01 2026-01-02_00:00:00 wrf: SUCCESS COMPLETE WRF\n", 1),
        ("  wrf: calling init_wrfio\n", 1),
    ],
)
def test_what_wrf_prints_before_a_step_is_its_output_without_a_table(text: str, line: int) -> None:
    parsed = parse(text)
    assert (parsed.tables, parsed.failures) == ((), ())
    assert [(remark.line, remark.text) for remark in parsed.remarks] == [
        (line, "WRF timed no step and no file: no line Timing for main or Writing")
    ]


def test_another_programs_text_is_an_error() -> None:
    with pytest.raises(ParseError) as caught:
        parse("\n# OSU MPI Latency Test v5.8\nTiming for nothing\n")
    assert str(caught.value) == (
        "line 2: found '# OSU MPI Latency Test v5.8', "
        'expected output of WRF: "Timing for main: …" or another line of wrf.exe'
    )


def test_an_output_cut_at_any_byte_gives_no_value_that_the_whole_lacks() -> None:
    text = RUN + HEAD + step("0.75000", 2)
    whole = {(table.line, row) for table in parse(text).tables for row in table.rows}
    for cut in range(1, len(text)):
        try:
            part = parse(text[:cut]).tables
        except ParseError:
            continue
        assert {(table.line, row) for table in part for row in table.rows} <= whole, f"cut at {cut}"
        assert not any(table.complete for table in part) or len(text[:cut]) >= len(RUN) - 1


def test_steps_of_the_corpus_are_read_to_the_last(corpus: Path) -> None:
    (table,) = parse((corpus / "wrf/cmas_wrf451_debug_rsl_error_killed_tail.txt").read_text("utf-8")).tables
    assert table.rows == ((29.3979,), (0.15304,), (0.15083,), (0.1579,), (0.14631,))
    assert not table.complete


def test_a_step_that_wrote_a_file_is_named() -> None:
    """Written before a step: in its time. Written by a nest: in its own step's time and in the outer one's."""
    text = (
        *(step("9.00000", 2), step("9.10000"), writing_line("1.00000", "auxhist2_d01_2026-01-02_00:00:00")),
        *(step("0.10000", 2, minute=2), step("1.50000", minute=2), writing_line("0.70000", domain=2)),
        *(step("0.80000", 2, minute=3), step("1.40000", minute=3), step("0.10000", 2, minute=4)),
        *(step("0.60000", minute=4), writing_line("2.00000"), SUCCESS),
    )
    tables = [each for each in parse("".join(text)).tables if each.context["kind"] == "main"]
    assert {each.context["domain"]: each.context.get("other_work") for each in tables} == {2: "3", 1: "2 3"}


def test_a_step_in_both_logs_of_a_rank_is_named_twice() -> None:
    text = (
        2 * step("9.00000")
        + 2 * writing_line("1.00000")
        + 2 * step("1.50000", minute=2)
        + 2 * step("0.50000", minute=3)
    )
    main = next(each for each in parse(text + SUCCESS).tables if each.context["kind"] == "main")
    assert (main.context["other_work"], main.context["step_s"], len(main.rows)) == ("3 4", 60.0, 6)


@pytest.mark.parametrize(
    ("moments", "step_s"),
    [
        (("2001-10-25_23:58:48", "2001-10-26_00:00:00", "2001-10-26_00:01:12"), 72.0),
        (("0001-01-01_00:00:12.500", "0001-01-01_00:00:25"), 12.5),
        (("2026-01-02_00:00:03+1/2", "2026-01-02_00:00:07"), 3.5),
        (("2026-01-02_00:01:00",), None),
        (("2026-13-02_00:01:00", "2026-13-02_00:02:00"), None),
        (("2026-01-02_00:01:00", "2026-01-02_00:02:00", "2026-01-02_00:01:00"), None),  # a second log
    ],
)
def test_what_a_step_simulates(moments: tuple[str, ...], step_s: float | None) -> None:
    text = "".join(f"Timing for main: time {at} on domain   1:    0.50000 elapsed seconds\n" for at in moments)
    (table,) = parse(text + SUCCESS).tables
    assert table.context.get("step_s") == step_s


@pytest.mark.parametrize(
    "line",
    [
        "d01 2026-01-02_00:01:00           12  points exceeded cfl=2 in domain d01 at time 2026-01-02_00:01:00 hours",
        "d01 2019-11-26_12:05:00   3  points exceeded v_cfl = 2 in domain d01 at time 2019-11-26_12:05:00 hours",
    ],
)
def test_wind_that_crosses_more_than_a_cell_is_a_failure(line: str) -> None:
    parsed = parse(step("0.50000") + f"{line}\n" + step("0.50000", minute=2) + SUCCESS)
    assert [(each.line, each.text) for each in parsed.failures] == [(2, line)]
    assert [table.rows for table in parsed.tables] == [((0.5,), (0.5,))]


HEADING = "     Field   Ndifs    Dims       RMS (1)            RMS (2)     DIGITS    RMSE     pntwise max\n"
REFERENCE = "wrfout_d01_2026-01-02_00:02:00.orig"


def comparison_output(*lines: str, ended: bool = True) -> str:
    """Return what the job prints of a comparison, before the log of the first rank."""
    said = "".join(f"{line}\n" for line in lines)
    begun = f"railyard: compare wrfout_d01_2026-01-02_00:02:00 with {REFERENCE}\n Just plot  F\n Diffing A B\n"
    return f"{begun}{said}{'railyard: compared' if ended else ''}\n"


def field(name: str, rmse: str) -> str:
    return f"{name:>10}    199915    3   0.2077143625E+02   0.2077142723E+02   6   {rmse:>10}   0.1523E-01"


def test_fields_that_differ_from_a_reference_are_with_the_steps_of_the_outer_domain() -> None:
    text = comparison_output(
        " Next Time 2026-01-02_00:02:00", HEADING.rstrip("\n"), field("U", "0.5675E-02"), field("P_HYD", "0.1578E+00")
    )
    parsed = parse(text + RUN)
    (main,) = (table for table in parsed.tables if table.context["kind"] == "main")
    assert (main.context["reference"], main.context["differences"]) == (REFERENCE, "U=0.005675 P_HYD=0.1578")
    assert (parsed.failures, main.complete) == ((), True)


def test_fields_that_are_the_same_in_all_bits_are_said_too() -> None:
    parsed = parse(comparison_output(" Next Time 2026-01-02_00:02:00", HEADING.rstrip("\n")) + RUN)
    assert [table.context.get("differences") for table in parsed.tables] == [None, ""]
    assert parsed.failures == ()


@pytest.mark.parametrize(
    ("lines", "failure"),
    [
        ((field("T", "NaN"), HEADING), (4, "diffwrf: no finite difference of T: NaN")),
        ((field("T", "**********"), HEADING), (4, "diffwrf: no finite difference of T: **********")),
        (
            (" Big difference: RAINC not found in B", HEADING),
            (4, "diffwrf: Big difference: RAINC not found in B"),
        ),
        ((" They differ big time.  Dates do not match", HEADING), None),
        ((" error opening A  Status =           -1021",), None),
        ((), (1, f"diffwrf compared nothing with {REFERENCE}")),
    ],
)
def test_what_was_not_compared_fails(lines: tuple[str, ...], failure: tuple[int, str] | None) -> None:
    failures = parse(comparison_output(*(line.rstrip("\n") for line in lines)) + RUN).failures
    expected = failure or (4, f"diffwrf: {lines[0].strip()}")
    assert (failures[0].line, failures[0].text) == expected


def test_a_comparison_that_was_ended_fails_and_the_log_behind_it_is_read() -> None:
    parsed = parse(comparison_output(HEADING.rstrip("\n"), field("U", "0.5675E-02"), ended=False) + RUN)
    assert [(one.line, one.text) for one in parsed.failures] == [(1, f"the comparison with {REFERENCE} did not end")]
    assert [table.context["kind"] for table in parsed.tables] == ["writing", "main"]
    assert "differences" not in parsed.tables[1].context


def test_without_diffwrf_no_field_is_compared_and_that_is_said() -> None:
    head, _, _ = comparison_output().partition("\n")
    parsed = parse(f"{head}\nrailyard: found no /sw/wrf/external/io_netcdf/diffwrf\nrailyard: compared\n{RUN}")
    assert parsed.failures == () and "differences" not in parsed.tables[1].context
    assert [one.text for one in parsed.remarks] == [
        "no field was compared: found no /sw/wrf/external/io_netcdf/diffwrf"
    ]
