"""The path proof of a pair within a node: no network moved its bytes."""

import pytest

from railyard.job.counters.node import DeviceCounters, Direction, NodeCounters
from railyard.verdict.path import proof as within_node
from railyard.verdict.wording import NOT_PROVEN
from railyard.verdict.wording.path import counters_not_found, network_in_trouble

PAYLOAD = 2_000_000_000


def reading(node: str, **moved: int | None) -> NodeCounters:
    devices = tuple(
        DeviceCounters(name, False, Direction(0, amount), Direction(0, amount), True, True, {})
        for name, amount in moved.items()
    )
    return NodeCounters(node, devices, 0)


def both(**moved: int | None) -> dict[str, NodeCounters]:
    return {"n1": reading("n1", hsn0=90_000, eth0=4_000_000), "n2": reading("n2", **moved)}


def test_networks_that_carried_little_prove_it() -> None:
    proof = within_node.judge_within_node(
        both(hsn0=1000, eth0=19_000_000), {"n1": PAYLOAD, "n2": PAYLOAD}, ("n1", "n2")
    )
    assert (proof.state, proof.suspects, proof.expected_bytes) == ("proven", (), 4 * PAYLOAD)
    assert proof.sentence == "no network of n1 and n2 carried it: each pair moved 2000.0 MB one way in memory"
    assert [rail.device for rail in (proof.nodes or {})["n2"]] == ["hsn0", "eth0"]


def test_a_network_that_carried_it_fails() -> None:
    proof = within_node.judge_within_node(both(hsn0=PAYLOAD, eth0=1000), {"n1": PAYLOAD, "n2": PAYLOAD}, ("n1", "n2"))
    assert (proof.state, proof.fault) == ("failed", "set-up")
    assert proof.sentence == (
        "hsn0 of n2 carried 2000.0 MB while the pair within n2 moved 2000.0 MB (bound 20.0 MB, the larger of "
        "unmeant-share and wire-up): not shared memory"
    )
    assert [(one.kind, one.node, one.rail) for one in proof.suspects] == [("stack", "n2", "hsn0")]


@pytest.mark.parametrize(
    ("readings", "sentence"),
    [
        ({"n1": reading("n1", hsn0=0)}, f"{NOT_PROVEN}{counters_not_found('n2')}"),
        (both(), f"{NOT_PROVEN}n2 has no network whose counters were read"),
        (
            both(hsn0=None),
            f"{NOT_PROVEN}{network_in_trouble('hsn0', 'n2', 'has no readable counter of bytes sent')}",
        ),
    ],
)
def test_what_is_not_known_is_not_proven(readings: dict[str, NodeCounters], sentence: str) -> None:
    proof = within_node.judge_within_node(readings, {"n1": PAYLOAD, "n2": PAYLOAD}, ("n1", "n2"))
    assert (proof.state, proof.fault, proof.sentence) == ("not-proven", "not-proven", sentence)
