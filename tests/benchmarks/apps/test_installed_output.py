"""Outputs of installed applications, read by stated patterns: a time, an end, a refused licence."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from railyard.benchmarks.apps.installed_applications import Application, folder, parse, words
from railyard.benchmarks.metrics import curves
from railyard.benchmarks.table.micro import find
from railyard.parsers.output import ParseError

SOLVER = Application(
    arguments=("3ddp", "-t{ranks}", "-cnf=hosts", "-nodes={nodes}"),
    figure=r"Total wall-clock time:\s+(?P<seconds>[0-9.]+) sec",
    success=r"^Calculation complete\.",
    licence=r"(?i)unexpected license problem|cannot connect to license server",
)
GOOD = "Started\nTotal wall-clock time:    10.5 sec\nCalculation complete.\nTotal wall-clock time:    12.25 sec\n"


def test_the_last_time_counts() -> None:
    parsed = parse(GOOD, "solver", SOLVER)
    (table,) = parsed.tables
    assert (table.tool, table.benchmark, table.columns, table.units) == ("installed", "solver", ("time",), ("s",))
    assert (table.rows, table.line, table.complete, parsed.failures) == (((12.25,),), 4, True, ())
    (runtime,) = curves(table, "installed/solver")
    assert (runtime.metric, runtime.unit, runtime.values) == ("runtime", "s", (12.25,))


def test_an_installed_application_is_a_benchmark_whose_time_is_reported() -> None:
    benchmark = find("installed/gamess")
    assert [(metric.name, metric.unit, metric.better) for metric in benchmark.metrics] == [("runtime", "s", "lower")]
    assert benchmark.reported is not None


def test_a_licence_that_was_refused_is_said_first_and_alone() -> None:
    text = "Started\nError: cannot connect to license server 2@lm1\nError: exiting\n"
    parsed = parse(text, "solver", SOLVER)
    assert parsed.tables == ()
    assert [(failure.line, failure.text) for failure in parsed.failures] == [
        (2, "solver got no licence, which is not a fault of the network: Error: cannot connect to license server 2@lm1")
    ]


def test_a_run_that_stops_without_a_message_fails() -> None:
    parsed = parse("Started\nTotal wall-clock time:    10.5 sec\n", "solver", SOLVER)
    assert parsed.tables[0].rows == ((10.5,),)
    assert not parsed.tables[0].complete
    assert [failure.text for failure in parsed.failures] == [
        r"solver printed no line like success: ^Calculation complete\."
    ]
    nothing = parse("Started\n", "solver", SOLVER)
    assert nothing.tables == ()
    assert [failure.text for failure in nothing.failures] == [
        r"solver printed no line like success: ^Calculation complete\."
    ]
    timeless = parse("Calculation complete.\n", "solver", SOLVER)
    assert [failure.text for failure in timeless.failures] == [
        r"solver printed no line like figure: Total wall-clock time:\s+(?P<seconds>[0-9.]+) sec"
    ]


def test_no_output_is_none_of_it() -> None:
    with pytest.raises(ParseError, match=r"expected output of solver$"):
        parse("\n\n", "solver", SOLVER)


def test_numbers_are_filled_in() -> None:
    assert words(SOLVER, 4, 8) == ["3ddp", "-t32", "-cnf=hosts", "-nodes=4"]


def test_what_starts_its_own_processes_may_have_words_of_its_own() -> None:
    own = SOLVER.model_copy(update={"without_mpi": ("-np={ranks}", "-at={addresses}", "{agent}")})
    assert words(own, 4, 2, without_mpi=True) == ["-np=8", "-at={addresses}", "{agent}"]
    assert words(own, 4, 2) == words(SOLVER, 4, 2, without_mpi=True) == ["3ddp", "-t8", "-cnf=hosts", "-nodes=4"]


@pytest.mark.parametrize(
    ("field", "word", "said"),
    [
        (
            *("arguments", "-h={hosts}"),
            'found "-h={hosts}", expected {hosts} only among the words of without_mpi',
        ),
        ("arguments", "{rank}", 'found "{rank}", expected no blanks but {ranks} and {nodes}'),
        (
            *("without_mpi", "{host}"),
            'found "{host}", expected no blanks but {ranks}, {nodes}, {hosts}, {addresses} and {agent}',
        ),
    ],
)
def test_a_blank_that_nobody_fills_is_refused(field: str, word: str, said: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Application(**{"figure": "(?P<seconds>[0-9]+)", "success": "done", field: (word,)})  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_inputs_lie_below_the_site() -> None:
    home = Path("/site")
    assert (folder("inputs/x", home), folder("{home}/y", home), folder("/data/z", home)) == (
        "/site/inputs/x",
        "/site/y",
        "/data/z",
    )


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("figure", "time: ([0-9]+)", "a pattern with a group (?P<seconds>…)"),
        ("figure", "time: (", "a regular expression"),
        ("success", "*", "a regular expression"),
        ("licence", "[", "a regular expression"),
    ],
)
def test_a_pattern_that_is_none_is_refused(field: str, value: str, said: str) -> None:
    given = {"figure": "(?P<seconds>[0-9]+)", "success": "done", "licence": None, field: value}
    with pytest.raises(ValidationError) as caught:
        Application(**given)  # type: ignore[arg-type]
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("pattern", "energy ([0-9]+)", "a pattern with a group (?P<value>…)"),
        ("within", -1.0, "greater than or equal to 0"),
        ("expected", float("nan"), "finite number"),
    ],
)
def test_an_answer_that_cannot_be_judged_is_refused(field: str, value: object, said: str) -> None:
    given = {"pattern": "energy (?P<value>[0-9.]+)", "expected": 1.0, "within": 0.1, field: value}
    with pytest.raises(ValidationError) as caught:
        Application(figure="(?P<seconds>[0-9]+)", success="done", answers=(given,))  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_an_answer_in_fortrans_double_precision_is_read() -> None:
    answer = {"pattern": r"E = (?P<value>\S+)", "expected": -0.025, "within": 1e-9}
    stated = Application(figure=r"t (?P<seconds>\S+)", success="done", answers=(answer,))  # type: ignore[arg-type]
    assert parse("E = 9.9D+00\nE = -0.25D-01\nt 3.5\ndone\n", "mine", stated).failures == ()
