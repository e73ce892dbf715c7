"""Outputs of installed applications by stated patterns: a time, an end, a licence that was refused."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from railyard.applicationfile import Application
from railyard.apps.installedapp import folder, parse, words
from railyard.benchmarktable import find
from railyard.metrics import curves
from railyard.parsers.parsed import ParseError

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
        (2, "solver got no licence, which is no fault of the network: Error: cannot connect to license server 2@lm1")
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
