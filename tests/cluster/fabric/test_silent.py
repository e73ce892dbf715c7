"""A job in which some nodes said nothing is not a pass. Nor is a fabric about which nobody said anything."""

from railyard.cluster.fabric.judge import judge, say_no_port_read, verdict_sentence, with_silent
from railyard.cluster.fabric.model import ExpectedFabric, Readings
from railyard.parsers.fabric.port import PortState


def own(*nodes: str) -> Readings:
    ports = tuple(
        PortState(node=node, device=device, port=1, kind="CA", state="Active", rate=100.0)
        for node in nodes
        for device in ("mlx5_0", "mlx5_1")
    )
    return Readings(own=ports)


def test_all_that_were_asked_answered(expected_edr: ExpectedFabric) -> None:
    readings = own("vn1", "vn2", "vn3", "vn4")
    report = with_silent(expected_edr, readings, judge(expected_edr, readings), 4)
    assert verdict_sentence(expected_edr, report) == (
        "edr: 8 ports of 4 nodes seen, 0 problems, 0 remarks: all as systems/made.yaml says"
    )


def test_the_silent_ones_are_named(expected_edr: ExpectedFabric) -> None:
    readings = own("vn1", "vn3.site")
    report = with_silent(expected_edr, readings, judge(expected_edr, readings), 4)
    assert verdict_sentence(expected_edr, report) == (
        "the fabric: found 2 nodes that showed a rail, not vn2, vn4, expected 4 nodes; read in the job's output "
        "what the others printed"
    )


def test_nothing_seen_is_told_as_that(expected_edr: ExpectedFabric) -> None:
    report = with_silent(expected_edr, Readings(), judge(expected_edr, Readings()), 4)
    assert (report.is_blind, report.findings) == (True, ())
    assert say_no_port_read(expected_edr, report).startswith(
        "edr: found no port of its rails in any reading, expected mlx5_0 port 1, mlx5_1 port 1; run it on a node of"
    )
