"""A recorded run of su3_rmd: its rate, and the values with which its plaquette, residuals and lattice are compared."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.base.numbers import powers_of_two
from railyard.benchmarks.apps import milc
from railyard.benchmarks.apps.milc import MOST_NODES, format_lattice, lattice, parse
from railyard.benchmarks.table.applications import MILC_EDGES
from railyard.site.site import Site
from railyard.verdict.assess import Assessment
from railyard.verdict.wording import program
from railyard.verdict.wording.run_rules import say_exited
from tests.made.judged_run import case_of, judge_output

RECORDED = Path(__file__).parents[2] / "recordings" / "milc7.8.1-su3_rmd-L4-openmpi4.1.4-veth.out"
TEXT = RECORDED.read_text(encoding="utf-8")
KEY = "milc/asqtad/L4/4-nodes"
PLAQ = "PLAQ:\t2.529866\t2.539771"
OK, NOT = (f" {said} converged final_rsq= " for said in ("OK", "NOT"))
Ran = Callable[..., Assessment]


@pytest.fixture
def ran(virtual: Site) -> Ran:
    """Return a function that assesses a run of this output with this exit code."""

    def run(output: str, exit_code: int = 0, key: str = KEY) -> Assessment:
        nodes = virtual.system.nodes.names
        case = case_of(virtual, key, stack="openmpi")
        moved = {node: {"hsn0": (60.0, 60.0)} for node in nodes}
        return judge_output(case, output, lambda text: parse(text, len(nodes)), moved, exit_code=exit_code)

    return run


def test_the_rate_is_the_solves_mean_by_time_of_a_nodes_ranks() -> None:
    solves = [
        (float(time), float(rate))
        for time, rate in re.findall(r"^CONGRAD5: time = (\S+) .* mflops = (\S+)$", TEXT, re.MULTILINE)
    ]
    mean = sum(time * rate for time, rate in solves) / sum(time for time, _ in solves)
    (table,) = parse(TEXT, 4).tables
    assert table.column("solves") == (len(solves),) == (12,)
    assert table.column("performance")[0] == pytest.approx(mean)
    assert (table.units[0], table.benchmark, table.version) == ("Mflop/s", "asqtad", "7.8.1")
    # four ranks on two nodes are two on each
    assert parse(TEXT, 2).tables[0].column("performance")[0] == pytest.approx(2 * mean)
    # by operations: those of all solves, divided by the time of all solves
    iterations = sum(int(found) for found in re.findall(r"masses = 1 iters = (\d+)", TEXT))
    assert mean == pytest.approx(
        1187 * 4 * 4 * 8 * 8 * iterations / 4 / 1e6 / sum(time for time, _ in solves), rel=1e-4
    )


def test_a_sound_run_is_shown_with_what_was_held(ran: Ran) -> None:
    found = ran(TEXT)
    assert found.verdict.state == "report-only"
    assert [(each.name, each.unit) for each in found.figures][:2] == [("node_performance", "Mflop/s"), ("runtime", "s")]
    assert found.verdict.text.endswith(
        "; lattice 4x4x8x8; plaquette 2.529866 and 2.539771 is the stored one within 1e-05; "
        "residuals of all solves at most 9.7e-11, 1e-10 was asked for"
    )


STOPPED = (
    "the output ends before MILC's lines Time = and total_iters =: MILC stopped without a message, or its output is cut"
)
RULE = "the output itself reports "


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            *(PLAQ, "PLAQ:\t2.529866\t2.539798"),
            "the plaquette is 2.529866 in space and 2.539798 in time, stored for 4x4x8x8: 2.529866 and 2.539771; they "
            "are 2.7e-05 apart, and rounding",
        ),
        (PLAQ, "PLAQ:\tnan\tnan", "a figure that no measurement gives"),
        (PLAQ, "", "MILC printed no plaquette (a line PLAQ with two numbers): nothing says what it"),
        (
            *(f"{OK}9.7e-11", f"{NOT}3.1e-10"),
            "CG did not converge in 1 solve: the largest residual is 3.1e-10, expected at most 1e-10",
        ),
        (
            *(f"{OK}9.7e-11", f"{NOT}-nan"),
            '"not finite: NOT converged final_rsq= -nan ',
        ),
        (
            *(f"{OK}9.7e-11", f"{NOT}9.7e-11"),
            "CG did not converge in 1 solve: the largest residual is 9.7e-11, expected at most 1e-10",
        ),
        (
            *(f"{OK}9.7e-11", f"{OK}3.1e-10"),
            "CG stopped too early: the largest residual is 3.1e-10, expected at most 1e-10",
        ),
        ("\nnt 8\n", "\nnt 4\n", "MILC ran on the lattice 4x4x8x4, expected 4x4x8x8: it read another input"),
        (", with 4 nodes", ", with 1 nodes", program.other_ranks("milc/asqtad/L4/4-nodes", 1, 4)),
    ],
)
def test_what_it_computed_wrong_fails_it_whatever_its_rate(ran: Ran, old: str, new: str, sentence: str) -> None:
    assert old in TEXT
    found = ran(TEXT.replace(old, new, 1)).verdict
    assert (found.state, found.rule) == ("fail", 1)
    assert RULE in found.sentence
    assert sentence in found.sentence


def test_a_wrong_plaquette_is_not_called_the_stored_one_behind_its_failure(ran: Ran) -> None:
    sentence = ran(TEXT.replace(PLAQ, "PLAQ:\t2.529866\t2.539798")).verdict.text
    assert sentence.endswith('and rounding explains 1e-05"; lattice 4x4x8x8')


def test_rounding_is_no_failure(ran: Ran) -> None:
    assert ran(TEXT.replace(PLAQ, "PLAQ:\t2.5298662384\t2.5397745107")).verdict.state == "report-only"


def test_a_solve_that_was_not_timed_fails_it(ran: Ran) -> None:
    one = TEXT[TEXT.index("CONGRAD5") :].partition("\n")[0] + "\n"
    sentence = ran(TEXT.replace(one, "", 1)).verdict.text
    assert "MILC timed 11 solves of CG, expected 12: lines are lost, or it read another input" in sentence
    none = ran("".join(line for line in TEXT.splitlines(True) if not line.startswith("CONGRAD5"))).verdict
    assert (none.state, none.rule) == ("fail", 1)
    assert "MILC printed no rate: compile it with CTIME = -DCGTIME, so that each solve prints a line" in none.sentence


def test_residuals_that_are_not_printed_are_not_judged(ran: Ran) -> None:
    found = ran("".join(line for line in TEXT.splitlines(True) if not line.startswith(OK))).verdict
    assert found.state == "report-only"
    assert found.text.endswith("residuals not judged: none was printed (compile MILC with -DCG_OK)")


def test_a_lattice_without_a_stored_value_is_not_judged(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(milc, "STORED", {})
    found = ran(TEXT).verdict
    assert found.state == "report-only"
    assert "plaquette 2.529866 and 2.539771 not judged: no stored value for 4x4x8x8" in found.text


@pytest.mark.parametrize(
    ("text", "code", "sentence"),
    [
        (TEXT[: TEXT.index("PLAQ:\t")], 0, STOPPED),
        (TEXT[: TEXT.index("PLAQ:\t")], 139, say_exited(139, "")),
        (TEXT[: TEXT.index("total_iters")], 0, STOPPED),
        (
            TEXT[: TEXT.index("Made lattice")]
            + "LAYOUT: Can't lay out this lattice, not enough factors of 3\nTermination: node 0, status = 1\n",
            *(1, "LAYOUT: Can't lay out this lattice, not enough factors of 3"),
        ),
    ],
)
def test_a_run_that_stopped_fails_in_a_sentence(ran: Ran, text: str, code: int, sentence: str) -> None:
    found = ran(text, code).verdict
    assert (found.state, found.rule) == ("fail", 1)
    assert sentence in found.sentence


@pytest.mark.parametrize("at", range(0, len(TEXT), 97))
def test_a_cut_output_never_gives_another_figure(at: int) -> None:
    whole = parse(TEXT, 4).tables[0].rows
    if "MIMD version" in TEXT[:at]:
        tables = parse(TEXT[:at], 4).tables
        assert [table.rows for table in tables if table.complete] in ([], [whole])


def test_stored_values_are_of_lattices_that_are_run() -> None:
    meant = {format_lattice(lattice(edge, nodes)) for edge in MILC_EDGES for nodes in powers_of_two(MOST_NODES)}
    assert set(milc.STORED) <= meant
    assert {format_lattice(lattice(edge, nodes)) for edge in (4, 6, 8) for nodes in (1, 2, 4)} <= set(milc.STORED)
    assert all(2.4 < value < 2.7 for pair in milc.STORED.values() for value in pair)
