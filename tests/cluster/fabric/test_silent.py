"""A job in which some nodes said nothing is not a pass. Nor is a fabric about which nobody said anything."""

from railyard.cluster.fabric.judge import judge, nothing_seen, verdict_sentence, with_silent
from railyard.cluster.fabric.model import ExpectedFabric, Readings
from railyard.parsers.fabric.port import PortState


def own(*nodes: str) -> Readings:
    ports = tuple(
        PortState(node=node, device=device, port=1, kind="CA", state="Active", rate=100.0)
        for node in nodes
        for device in ("mlx5_0", "mlx5_1")
    )
    return Readings(own=ports)


def test_all_that_were_asked_answered(expected: ExpectedFabric) -> None:
    readings = own("vn1", "vn2", "vn3", "vn4")
    report = with_silent(expected, readings, judge(expected, readings), 4)
    assert verdict_sentence(expected, report) == (
        "edr: 8 ports of 4 nodes seen, 0 problems, 0 remarks: all as systems/made.yaml says"
    )


def test_the_silent_ones_are_named(expected: ExpectedFabric) -> None:
    readings = own("vn1", "vn3.site")
    report = with_silent(expected, readings, judge(expected, readings), 4)
    assert verdict_sentence(expected, report) == (
        "the fabric: found 2 nodes that showed a rail, not vn2, vn4, expected 4 nodes; read in the job's output "
        "what the others printed"
    )


def test_nothing_seen_is_told_as_that(expected: ExpectedFabric) -> None:
    report = with_silent(expected, Readings(), judge(expected, Readings()), 4)
    assert (report.is_blind, report.findings) == (True, ())
    assert nothing_seen(expected, report).startswith(
        "edr: found no port of its rails in any reading, expected mlx5_0 port 1, mlx5_1 port 1; run it on a node of"
    )
