"""Several lines in a drawing: network signatures of NetPIPE, and scaling over nodes."""

import xml.etree.ElementTree as ElementTree

import pytest

from railyard.benchmarks.model import Figure
from railyard.results.record.form import CurveRecord, Record
from railyard.results.report.svg import scalings, signatures


def test_a_signature_is_bandwidth_over_the_time_of_a_message(healthy_run: list[Record]) -> None:
    (chart,) = signatures(healthy_run)
    assert chart.heading == "netpipe/pingpong"
    assert chart.names == ("hsn, 1 rail, openmpi", "hsn, 2 rails, openmpi", "eth, 1 rail, openmpi")
    ElementTree.fromstring(chart.drawing)
    assert ">time of a message, us</text>" in chart.drawing


def test_its_title_says_latency_and_peak(healthy_run: list[Record]) -> None:
    record = next(one for one in healthy_run if one.test.benchmark == "netpipe/pingpong")
    curve = CurveRecord("bandwidth", "MB/s", (1, 1000, 1000000), (0.04, 20.0, 50.0))
    (chart,) = signatures([record.with_fields(curves=(curve,))])
    # 1 B at 0.04 MB/s takes 25 us
    assert "<title>Network signature of netpipe/pingpong: hsn, 1 rail, openmpi from 25.0 us to 50.0 MB/s</title>" in (
        chart.drawing
    )


def sweep(record: Record, *figures: tuple[int, float]) -> list[Record]:
    """One application on several numbers of nodes."""
    return [
        record.with_fields(
            benchmark="hpl/hpl",
            case=f"Hpl %nodes={count}",
            nodes=tuple(f"n{index}" for index in range(count)),
            figures=(Figure("gflops", value, "Gflop/s"),),
            curves=(),
        )
        for count, value in figures
    ]


def test_a_sweep_over_nodes_has_its_efficiency(healthy_run: list[Record]) -> None:
    (chart,) = scalings(sweep(healthy_run[0], (4, 340.0), (1, 100.0), (2, 190.0)))
    assert chart.heads == ("test", "nodes", "gflops, Gflop/s", "times the first", "% per node")
    assert chart.rows == (
        ("hsn, 1 rail, openmpi", "1", "100", "1.00", "100.0"),
        ("hsn, 1 rail, openmpi", "2", "190", "1.90", "95.0"),
        ("hsn, 1 rail, openmpi", "4", "340", "3.40", "85.0"),
    )
    ElementTree.fromstring(chart.drawing)
    assert ">1</text>" in chart.drawing and ">4</text>" in chart.drawing and ">nodes</text>" in chart.drawing


def test_one_number_of_nodes_is_no_sweep(healthy_run: list[Record]) -> None:
    assert scalings(healthy_run) == ()
    assert scalings(sweep(healthy_run[0], (4, 340.0))) == ()


@pytest.mark.parametrize("values", [(0.0, 0.0), (1e-9, 1e12)])
def test_odd_figures_are_drawn(healthy_run: list[Record], values: tuple[float, float]) -> None:
    (chart,) = scalings(sweep(healthy_run[0], (1, values[0]), (2, values[1])))
    ElementTree.fromstring(chart.drawing)
