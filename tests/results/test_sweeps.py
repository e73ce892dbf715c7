"""Sweeps from stored records, as text and in the command's output."""

from pathlib import Path

import pytest

from railyard.cli.main import main
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.record.form import CurveRecord, Record, VerdictRecord
from railyard.results.sweeps import sweeps, text
from tests.made.records import made_record


def record(nodes: int, rate: float | None, *, rails: int = 1, kernel: str = "FT", run: str = "r1") -> Record:
    """One point; a rate of None means a failed run."""
    curve = () if rate is None else (CurveRecord("op_rate", "Mop/s", (0,), (rate,)),)
    return made_record(
        run=run,
        time="2026-11-21T06:00:12Z",
        case=f"NpbScaling %kernel={kernel} %nodes={nodes} %rails={rails} @virtual:hsn+openmpi",
        check="NpbScaling",
        system="virtual",
        fabric="hsn",
        stack="openmpi",
        rails=rails,
        benchmark=f"npb/{kernel}/W/{nodes}-nodes",
        state="fail" if rate is None else "report-only",
        verdict=VerdictRecord("so"),
        policy="striping" if rails > 1 else "single",
        curves=curve,
    )


ONE = (record(1, 400.0), record(2, 600.0), record(4, 800.0))
TWO_RAILS = (record(2, 700.0, rails=2), record(4, 1200.0, rails=2))


def test_one_node_is_the_first_point_of_every_sweep_of_its_stack() -> None:
    found = sweeps([*ONE, *TWO_RAILS])
    assert {group.title: [(p.nodes, p.speedup) for p in made.points] for group, made in found.items()} == {
        "npb/FT/W on virtual:hsn, openmpi, 1 rail": [(1, 1.0), (2, 1.5), (4, 2.0)],
        "npb/FT/W on virtual:hsn, openmpi, 2 rails striping": [(1, 1.0), (2, 1.75), (4, 3.0)],
    }


def test_repeats_are_one_point_of_their_median() -> None:
    more = [record(4, 900.0, run="r2"), record(4, 850.0, run="r3")]
    (made,) = sweeps([*ONE, *more]).values()
    assert [(p.nodes, p.rate) for p in made.points] == [(1, 400.0), (2, 600.0), (4, 850.0)]


def test_a_point_that_failed_is_named_and_is_no_value() -> None:
    (made,) = sweeps([record(1, 400.0), record(2, 600.0), record(4, None)]).values()
    assert made.missing == (4,)
    assert made.sentence == "75.0 % of linear on 2 nodes; serial fraction 0.333; not run: 4 nodes"


def test_other_records_and_a_lone_point_are_no_sweep() -> None:
    whole = record(4, 800.0).with_fields(benchmark="npb/FT/W")
    assert sweeps([whole, record(2, 600.0)]) == {}
    assert sweeps([]) == {}


def test_the_sweeps_as_text() -> None:
    assert text(sweeps(ONE)) == (
        "npb/FT/W on virtual:hsn, openmpi, 1 rail\n"
        "  nodes         Mop/s  speed-up  of linear  serial fraction\n"
        "      1         400.0      1.00    100.0 %\n"
        "      2         600.0      1.50     75.0 %  0.333\n"
        "      4         800.0      2.00     50.0 %  0.333\n"
        "  50.0 % of linear on 4 nodes; serial fraction 0.333 throughout: work that the nodes cannot share\n"
    )


def test_the_command_prints_the_sweeps_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for each in ONE:
        append_record(tmp_path / FILE_NAME, each)
    assert main(["scaling", str(tmp_path)]) == 0
    assert capsys.readouterr() == (text(sweeps(ONE)), "")
    assert main(["scaling", "--json", str(tmp_path)]) == 0
    assert '"breaks_at": null' in capsys.readouterr().out


def test_a_run_without_a_sweep_is_one_sentence_and_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    append_record(tmp_path / FILE_NAME, ONE[0])
    assert main(["scaling", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f'railyard: "{tmp_path}": found no problem on several numbers of nodes, expected a sweep; '
        "measure one: railyard run -t scaling\n"
    )


def test_hpl_grows_with_its_nodes_so_that_no_serial_fraction_is_said() -> None:
    points = [record(n, rate).with_fields(benchmark=f"hpl/hpl/{n}-nodes") for n, rate in ((1, 8.0), (4, 28.0))]
    (made,) = sweeps(points).values()
    assert (made.kind, made.sentence) == ("weak", "87.5 % of linear on 4 nodes")


def test_milcs_rate_is_a_nodes_and_its_sweep_is_of_all_of_them() -> None:
    points = [
        record(nodes, None).with_fields(
            benchmark=f"milc/asqtad/L4/{nodes}-nodes",
            state="report-only" if rate else "fail",
            curves=(CurveRecord("node_performance", "Mflop/s", (0,), (rate,)),) if rate else (),
        )
        for nodes, rate in ((1, 1000.0), (2, 900.0), (4, 400.0), (8, None))
    ]
    ((group, made),) = sweeps(points).items()
    assert (group.benchmark, group.unit, made.kind) == ("milc/asqtad/L4", "Mflop/s", "weak")
    assert [(p.nodes, p.rate, p.efficiency) for p in made.points] == [
        (1, 1000.0, 1.0),
        (2, 1800.0, 0.9),
        (4, 1600.0, 0.4),
    ]
    assert made.missing == (8,)
