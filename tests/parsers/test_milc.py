"""MILC's applications, one trap per test. Texts are synthetic."""

from pathlib import Path

import pytest

from railyard.parsers.milc import parse
from railyard.parsers.output import ParseError

HEAD = (
    "SU3 with improved KS action\nMIMD version 7.8.1\nMachine = MPI (portable), with 16 nodes\nHost(0) = node-1\n"
    "type 0 for no prompts  or 1 for prompts\nnx 8\nny 8\nnz 8\nnt 32\niseed 7\n\n\n"
)
RUN = (
    "warms 0\ntrajecs 1\nerror_per_site 5e-06\nWARMUPS COMPLETED\n"
    "CONGRAD5: time = 2.500000e-01 iters = 40 mflops = 5.000000e+02\n"
    "GFTIME:   time = 7.000000e+01 (Symanzik1) mflops = 3.500000e+01\nRUNNING COMPLETED\n"
    "average cg iters for step= 4.000000e+01\nTime = 1.250000e+02 seconds\ntotal_iters = 40\n"
)
END = "\n\nget_i: EOF on STDIN.\nexit: Sat Jan  3 10:00:00 2026\n"


def test_a_run_gives_its_time_and_its_solves() -> None:
    parsed = parse(HEAD + RUN + END)
    run, solves = parsed.tables
    assert (run.tool, run.version, run.benchmark, run.line) == ("milc", "7.8.1", "milc", 21)
    assert (run.columns, run.units, run.rows) == (("time", "iterations"), ("s", None), ((125.0, 40),))
    assert run.context == {"kind": "run", "machine": "MPI (portable)", "ranks": 16, "lattice": "8x8x8x32"}
    assert (solves.columns, solves.units) == (("iterations", "time", "performance"), (None, "s", "Gflop/s"))
    assert (solves.rows, solves.line, solves.context["kind"]) == (((40, 0.25, 0.5),), 17, "cg")
    assert run.complete and solves.complete
    assert (parsed.failures, parsed.remarks) == ((), ())


def test_each_set_of_parameters_is_a_row() -> None:
    run, solves = parse(HEAD + RUN + "\n\n" + RUN.replace("1.250000e+02", "7.500000e-01") + END).tables
    assert run.rows == ((125.0, 40), (0.75, 40))
    assert len(solves.rows) == 2
    assert run.complete


@pytest.mark.parametrize(
    ("line", "row"),
    [
        ("CONGRAD5: time = 2.5e-01 (fn D) masses = 1 iters = 40 mflops = 5.000000e+02", (40, 0.25, 0.5)),
        ("CONGRAD5: time = 2.5e-01 (QPHIX F) masses = 1 iters = 40 mflops = 5.000000e+02 ", (40, 0.25, 0.5)),
        ("CONGRAD5: time = 2.5e-01 (fn_QUDA D) masses = 1 srcs = 3 iters = 9 mflops = 5.0e+02", (9, 0.25, 0.5)),
        ("CONGRAD5: time = 2.5e-01 (multicg_rev) iters = 40 masses = 9 mflops = 5.0e+02", (40, 0.25, 0.5)),
        ("CONGRAD5: time = 2.5e-01 (D) nmass[0] = 1 iters = 4 nmass[1] = 1 iters = 5 mflops = 500.0", (9, 0.25, 0.5)),
        ("CONGRAD5: time = 0.000000e+00 (fn_qop D) nmass[0] = 1 iters = 0 mflops = 0.0", (0, 0.0, 0.0)),
        ("CONGRAD5: time = 2.5e-01 time_eig = 1.0e-01 (fn D) masses = 1 iters = 184", (184, 0.25, None)),
        ("CONGRAD5_EIGCG: time = 2.5e-01 (fn_eigcg D) masses = 1 iters = 18", (18, 0.25, None)),
        ("MULTI_CONGRAD5: time = 2.5e-01 iters = 19 mflops = 5.000000e+02", (19, 0.25, 0.5)),
        ("BiCGILU: time = 2.50e-01 size_r= 1.0e-06 iters= 9 MF = 500.0", (9, 0.25, 0.5)),
        ("CONGRAD5: time = 0.000000e+00 iters = 3 mflops = inf", (3, 0.0, None)),
    ],
)  # fmt: skip
def test_every_form_of_a_solve_is_a_row(line: str, row: tuple[float | None, ...]) -> None:
    _, solves = parse(f"{line}\n{RUN}").tables
    assert solves.rows == (row, (40, 0.25, 0.5))


@pytest.mark.parametrize(
    "line",
    [
        "GFTIME:   time = 7.000000e+01 (Symanzik1) mflops = 3.500000e+01",
        "CGREMAP:  time = 1.204014e-03",
        "HOPILU: time = 2.50e-01 size_r= 1.0e-06 iters= 9 MF = 500.0",
        " OK converged final_rsq= 1e-16 (cf 1e-16) rel = 1 (cf 0) restarts = 1 iters= 195",
        "CONGRAD5(src 0, mass 1): iters = 12 resid = 0.1 rel = 0.2",
        "INC_EIGCG: total time                 1.299431e+00",
        "CONGRAD5: time = 2.5e-01 iters = 40 mflops = 5.0e+CONGRAD5: time",
    ],
)
def test_what_is_no_solve_of_this_kind_is_no_row(line: str) -> None:
    _, solves = parse(f"{line}\n{RUN}").tables
    assert solves.rows == ((40, 0.25, 0.5),)


def test_a_solve_that_a_mailer_wrapped_is_one_row() -> None:
    wrapped = (
        "> CONGRAD5: time = 2.5e-01 (fn_qop D) nmass[0] = 1\n> iters = 7 mflops = 5.0e+02\n"
        "CONGRAD5: time = 2.5e-01 (fn_qop D) nmass[0] = 1 iters = 8\nmflops = 6.0e+02\n"
    ).replace("> CONG", "CONG")
    _, solves = parse(wrapped + RUN).tables
    assert solves.rows == ((7, 0.25, 0.5), (8, 0.25, 0.6), (40, 0.25, 0.5))


@pytest.mark.parametrize(
    ("printed", "rows"),
    [
        ("Time = 1.250000e+02 seconds\ntotal_iters= 40\n", ((125.0, 40),)),
        ("Time = 1.250000e+02 seconds\n\n\nget_i: EOF on STDIN.\n", ((125.0, None),)),
        ("Time = 1.250000e+02 seconds\ntotal Rayleigh iters = 7\n", ((125.0, None),)),
        ("Time = 1.250000e+02 seconds\nreal 5.93\n\ntotal_iters = 40\n", ((125.0, 40),)),
        ("Time = 1.0e+00 seconds\nexit: now\nTime = 2.0e+00 seconds\ntotal_iters = 9\n", ((1.0, None), (2.0, 9))),
        ("Time = 1.250000e+02 seconds", ((125.0, None),)),  # a program that prints no iterations anywhere
        ("Time to save = 1.0e+00\nTime = 1.250000e+02 seconds\n", ((125.0, None),)),
    ],
)
def test_iterations_are_those_of_total_iters_after_the_time(
    printed: str, rows: tuple[tuple[float | None, ...], ...]
) -> None:
    (run,) = parse("MIMD version 6\n" + printed).tables
    assert run.rows == rows
    assert run.complete


@pytest.mark.parametrize(
    ("ending", "complete"),
    [
        ("", True),
        (END, True),
        ("Saved gauge configuration serially to binary file lat\nTime to save = 5.0e-01\nCHECK PLAQ: 1.7e+00\n", True),
        ("destroy quark[0]\n\n\nask_starting_lattice(0): EOF on input.\n", True),
        ("slurmstepd: error: *** JOB 7 ON node-1 CANCELLED AT 2026-01-02T00:00:00 ***\n", True),
        ("\n\nwarms 0\n", False),
        ("######\n# source time 0\n", False),
        ("reload_serial lat\n", False),
        ("MIMD version 7\n", False),
        ("CONGRAD5: time = 2.5e-01 iters = 40 mflops = 5.0e+02\n", False),
        ("RUNNING COMPLETED\nTime = 1.0e+00 seconds\n", False),  # cut before its iterations
        ("RUNNING COMPLETED\nTime = 1.0e+00 seconds\ntotal_iters = 4", False),
        ("...\n", False),
    ],
)
def test_a_table_is_complete_where_no_run_begins_after_the_last_time(ending: str, complete: bool) -> None:
    run = parse(HEAD + RUN + ending).tables[0]
    assert (run.rows, run.complete) == (((125.0, 40),), complete)


def test_what_milc_says_is_wrong_is_a_failure_and_what_it_bears_a_remark() -> None:
    text = HEAD + (
        "read_checksum: Checksum violation. Computed 1a 2b.  Read 3c 4d.\n"
        "ks_congrad_parity: CG not converged after 300 iterations and 5 restarts, \n"
        "WARNING: Called for 5 vectors, but found 10\n"
        "get_i: ERROR IN INPUT: expected nx but found nt\nTermination: node 3, status = 1\n"
        "mpirun noticed that process rank 3 with PID 7 on node node-2 exited on signal 9 (Killed).\n"
    )
    parsed = parse(text + RUN + "Termination: status = 0\n")
    assert [failure.line for failure in parsed.failures] == [13, 16, 17, 18]
    assert [remark.line for remark in parsed.remarks] == [14, 15]


def test_a_run_that_ended_early_gives_no_table() -> None:
    parsed = parse(HEAD + RUN.partition("RUNNING")[0] + "mpirun: killing job...\n")
    assert (parsed.tables, [failure.text for failure in parsed.failures]) == ((), ["mpirun: killing job..."])
    assert [(remark.line, remark.text) for remark in parsed.remarks] == [
        (2, "MILC finished no run: no line Time = … seconds")
    ]


@pytest.mark.parametrize(
    "text",
    ["Time = 12 seconds\n", "Time = 9.9e+999 seconds\n", " Time in seconds = 1.0e+00\n", "/* MIMD version 7 */\n"],
)
def test_another_programs_text_is_an_error(text: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert str(caught.value) == (
        f'line 1: found {text[:-1]!r}, expected output of MILC: "MIMD version …" or "Time = … seconds"'
    )


def test_an_output_cut_at_any_byte_gives_no_value_that_the_whole_lacks() -> None:
    text = HEAD + RUN + "\n\n" + RUN.replace("1.250000e+02", "7.500000e-01") + END
    first = len(HEAD + RUN)
    whole = {(table.line, row) for table in parse(text).tables for row in table.rows}
    for cut in range(1, len(text)):
        try:
            part = parse(text[:cut]).tables
        except ParseError:
            continue
        assert {(table.line, row) for table in part for row in table.rows} <= whole, f"cut at {cut}"
        if first + len("\n\nwarms ") <= cut < len(text) - len(END):
            assert not any(table.complete for table in part), f"cut at {cut}"


def test_the_solves_of_the_corpus_are_read(corpus: Path) -> None:
    run, solves = parse((corpus / "milc/out_time_su3_rmd_1p.txt").read_text("utf-8")).tables
    assert run.rows == ((9.019609, 127), (7.531632, 950))
    assert len(solves.rows) == 32
    assert solves.rows[0] == pytest.approx((4, 0.02891099, 0.3434231))
    assert solves.rows[-1] == pytest.approx((137, 0.971383, 0.3500763))
