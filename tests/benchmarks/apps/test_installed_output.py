"""Outputs of installed applications, read by stated patterns: a time, an end, a refused licence."""

import re
from pathlib import Path

import pytest
from pydantic import ValidationError

from railyard.benchmarks.apps.installed_applications import Application, folder, parse, words
from railyard.benchmarks.metrics import curves
from railyard.benchmarks.table.micro import find
from railyard.parsers.output import ParseError
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System

ROOT = Path(__file__).parents[3]

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


def examples(tmp_path: Path) -> System:
    """Return the system of the worked examples in the documentation, as a site would write it."""
    page = (ROOT / "docs/howto/installed-applications.md").read_text(encoding="utf-8")
    (block,) = [text for text in re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S) if "applications:" in text]
    site = (
        "system: site\ndescription: Made\nhostnames: []\nnodes: {count: 4}\nreport_only: no references yet\nfabrics:\n"
        "  ib: {description: Made, kind: ib, link: ib-edr, slot: pcie3-x16,\n"
        "       rails: [{device: mlx5_0, port: 1, counters: mlx5}]}\n"
    )
    file = tmp_path / "site.yaml"
    file.write_text(site + block, encoding="utf-8")
    return load_system(file)


def test_the_worked_examples_are_what_a_system_file_takes(tmp_path: Path) -> None:
    stated = examples(tmp_path).applications
    assert list(stated) == ["gamess", "fluent", "su3_rmd"]
    assert words(stated["fluent"], 4, 1) == ["3ddp", "-t4", "-i", "bench.jou"]


@pytest.mark.parametrize(
    ("name", "text", "seconds"),
    [
        (
            "gamess",
            " TOTAL WALL CLOCK TIME=          12.3 SECONDS, CPU UTILIZATION IS    99.50%\n"
            " EXECUTION OF GAMESS TERMINATED NORMALLY Sat Nov 21 12:00:00 2026\n",
            12.3,
        ),
        ("fluent", "Total wall-clock time:              41.250 sec\nCalculation complete.\n", 41.25),
        ("su3_rmd", "CHECK PLAQ: 2.5882781533654544e+00 2.5885165e+00\nTime = 2.991595e+03 seconds\n", 2991.595),
    ],
)
def test_each_reads_what_such_an_application_prints(tmp_path: Path, name: str, text: str, seconds: float) -> None:
    stated = examples(tmp_path).applications[name]
    (table,) = parse(text, name, stated).tables
    assert (table.rows, table.complete) == (((seconds,),), True)
    first, second = text.splitlines(keepends=True)
    cut = parse(first, name, stated) if stated.success not in first else parse(second, name, stated)
    assert not any(table.complete for table in cut.tables) and cut.failures


def test_of_milc_only_a_run_from_the_configuration_that_was_meant_ends_well(tmp_path: Path, corpus: Path) -> None:
    stated = examples(tmp_path).applications["su3_rmd"]
    found = {
        name: parse((corpus / "milc" / name).read_text(encoding="utf-8", errors="replace"), "su3_rmd", stated)
        for name in ("l832_su3_rmd_1.txt", "out_time_su3_rmd_1p.txt")
    }
    meant, other = found.values()
    assert [(table.rows, table.complete) for table in meant.tables] == [(((2991.595,),), True)]
    assert [table.complete for table in other.tables] == [False]
    assert other.failures[-1].text == "su3_rmd printed no line like success: CHECK PLAQ: 2.58827815"
