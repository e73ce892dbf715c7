"""Faults of a path, planted in the counters of two synthetic nodes: each is named, and no healthy rail is blamed."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from railyard.job.counters import Bond, DeviceCounters, Direction, NodeCounters
from railyard.verdict.path.proof import judge
from railyard.verdict.path.traffic import NodeTraffic, Plan
from railyard.verdict.rule_model import PathProof
from railyard.verdict.wording import IDLE_SECOND, NOT_INTENDED
from railyard.verdict.wording import path as path_words
from railyard.verdict.wording.path import counters_not_found, idle_part

MB = 1_000_000
ONE_WAY = {"vn1": NodeTraffic(180 * MB, 0, 170 * MB, 0), "vn2": NodeTraffic(0, 180 * MB, 0, 170 * MB)}
ONE = Plan({"hsn0": 50.0}, "single", ONE_WAY)
TWO = Plan({"hsn0": 50.0, "hsn1": 50.0}, "striping", ONE_WAY)
#: What an everyday ping-pong moves.
SHORT = Plan(
    {"hsn0": 50.0},
    "single",
    dict.fromkeys(("vn1", "vn2"), NodeTraffic(4_500_000, 4_500_000, 4_000_000, 4_000_000)),
    cabled=("hsn0", "hsn1"),
)
VERBS = Plan({"mlx5_0:1": 100.0, "mlx5_1:1": 100.0}, "striping", ONE_WAY)
BOND = replace(ONE, rails={"bond0": 50.0}, bonded={"bond0": 2})
#: Kind, node and rail of a suspect.
Blamed = set[tuple[str, str | None, str | None]]


def device(name: str, sent: float, received: float, **more: Any) -> DeviceCounters:
    """Return a device that moved this many MB."""
    ways = (Direction(1000, 1000 + round(amount * MB)) for amount in (sent, received))
    return DeviceCounters(
        name, *(more.pop("meant", False), *ways, more.pop("up", True), True, more.pop("errors", {})), **more
    )


def rail(name: str, sent: float, received: float, **more: Any) -> DeviceCounters:
    """Return an intended rail: of InfiniBand if its name says so."""
    driver = {"driver": "mlx5", "overlap": "port"} if name.startswith("mlx5") else {}
    return device(name, sent, received, **{"meant": True, **driver, **more})


def proof_of(plan: Plan, first: tuple[DeviceCounters, ...], second: tuple[DeviceCounters, ...]) -> PathProof:
    return judge({"vn1": NodeCounters("vn1", first, 0), "vn2": NodeCounters("vn2", second, 0)}, plan)


def both(plan: Plan, made: Callable[[Callable[[float], tuple[float, float]]], tuple[DeviceCounters, ...]]) -> PathProof:
    """Return the proof of a run in which the second node received what the first sent."""
    return proof_of(plan, made(lambda amount: (amount, 0.1)), made(lambda amount: (0.1, amount)))


def bond_proof(mode: str = "802.3ad", ports: int = 2, up: bool = True) -> PathProof:
    """Return the proof of a run over a bond of two ports; the first node's bond has this mode and these ports."""

    def reading(node: str, sent: float, received: float, bond: Bond | None) -> NodeCounters:
        bonds = {} if bond is None else {"bond0": bond}
        return NodeCounters(node, (rail("bond0", sent, received),), 0, bonds=bonds)

    legs = tuple(device(f"ens{n}", 95, 1, up=up or n == 0) for n in range(2))
    legs = tuple(replace(leg, carrier_after=leg.carrier_before) for leg in legs)
    healthy = Bond("802.3ad", tuple(device(f"ens{n}", 1, 95) for n in range(2)))
    own = Bond(mode, legs[:ports]) if ports else None
    return judge({"vn1": reading("vn1", 190, 3, own), "vn2": reading("vn2", 3, 190, healthy)}, BOND)


def test_the_healthy_neighbours_are_proven() -> None:
    assert both(ONE, lambda way: (rail("hsn0", *way(190)), device("docker0", 0, 0))).state == "proven"
    assert both(TWO, lambda way: (rail("hsn0", *way(95)), rail("hsn1", *way(95)))).state == "proven"
    assert bond_proof().state == "proven"


def contradiction(counted_bytes: int) -> str:
    """Return what is said of a counter of vn1 that shows less than vn2 received, 5 MB."""
    whole = path_words.wrong_counter([], ["vn2"], 5_000_000, "vn1", counted_bytes, "sent")
    return whole.partition("over  ")[2].partition(", so ")[0]


@pytest.mark.parametrize(
    ("proof", "fault", "blamed"),
    [
        pytest.param(
            both(ONE, lambda way: (rail("hsn0", *way(0.1)), device("docker0", *way(190)))),
            "set-up",
            {("stack", "vn1", "docker0"), ("stack", "vn2", "docker0")},
            marks=pytest.mark.fault(
                "path", "a container's bridge used", "190.0 MB went over docker0 of vn1, which is not"
            ),
            id="docker",
        ),
        pytest.param(
            both(ONE, lambda way: (rail("hsn0", *way(150)), device("eth0", *way(40)))),
            "set-up",
            {("stack", "vn1", "eth0"), ("stack", "vn2", "eth0")},
            marks=pytest.mark.fault(
                "path", "one of five connections over another network", "40.0 MB went over eth0 of vn1"
            ),
            id="some",
        ),
        pytest.param(
            both(
                VERBS,
                lambda way: (
                    rail("mlx5_0:1", *way(95)),
                    rail("mlx5_1:1", *way(95)),
                    device("ib1", *way(95), beside="mlx5_1:1"),
                ),
            ),
            "set-up",
            {("stack", "vn1", "ib1"), ("stack", "vn2", "ib1")},
            marks=pytest.mark.fault(
                "path",
                "TCP in one of two lanes, RDMA in the other",
                "ib1 of vn1, the network interface of mlx5_1:1, sent 95.0 MB",
            ),
            id="one-lane",
        ),
        pytest.param(
            both(
                replace(VERBS, rails={"mlx5_0:1": 100.0}, policy="single"),
                lambda way: (rail("mlx5_0:1", *way(0.1)), device("mlx5_2:1", *way(190), unnamed=True, driver="mlx5")),
            ),
            "set-up",
            {("stack", "vn1", "mlx5_2:1"), ("stack", "vn2", "mlx5_2:1")},
            marks=pytest.mark.fault(
                "path",
                "a card used that the system's file does not name",
                "190.0 MB went over mlx5_2:1 of vn1, which is not",
            ),
            id="unnamed",
        ),
        pytest.param(
            proof_of(
                ONE,
                (rail("hsn0", 190, 3), device("hsn1", 0, 0)),
                (rail("hsn0", 3, 0.1), device("hsn1", 0, 190)),
            ),
            "set-up",
            {("stack", "vn2", "hsn1")},
            marks=pytest.mark.fault(
                "path",
                "another rail answers for the address of the meant one",
                f"190.0 MB went over hsn1 of vn2, which {NOT_INTENDED}: hsn0 of vn2 received",
            ),
            id="answers",
        ),
        pytest.param(
            proof_of(
                ONE, (rail("hsn0", 190, 0.1), device("hsn1", 0, 40)), (rail("hsn0", 0.1, 190), device("hsn1", 40, 0))
            ),
            "set-up",
            {("stack", "vn1", "hsn1"), ("stack", "vn2", "hsn1")},
            marks=pytest.mark.fault(
                "path",
                "what comes back goes over the other rail",
                f"hsn1 of vn1, which {NOT_INTENDED}, received 40.0 MB",
            ),
            id="back",
        ),
        pytest.param(
            proof_of(TWO, (rail("hsn0", 95, 3), rail("hsn1", 95, 3)), (rail("hsn0", 3, 190), rail("hsn1", 3, 0.1))),
            "set-up",
            {("rail", "vn2", "hsn1")},
            marks=pytest.mark.fault(
                "path",
                "two rails in one network, of which one receives all",
                "94.9 MB left over hsn1 and arrived over hsn0",
            ),
            id="crossed",
        ),
        pytest.param(
            proof_of(SHORT, (rail("hsn0", 5, 5), device("hsn1", 0, 0)), (rail("hsn0", 5, 0), device("hsn1", 0, 5))),
            "set-up",
            {("stack", "vn2", "hsn1")},
            marks=pytest.mark.fault(
                "path",
                "9 MB to an address for which another rail answers",
                f"5.0 MB went over hsn1 of vn2, which {NOT_INTENDED}",
            ),
            id="answers-short",
        ),
        pytest.param(
            proof_of(SHORT, (rail("hsn0", 5, 0), device("hsn1", 0, 5)), (rail("hsn0", 5, 0), device("hsn1", 0, 5))),
            "fabric",
            {("pair", "vn1-vn2", "hsn0")},
            marks=pytest.mark.fault(
                "path",
                "swapped cables, one rail",
                "hsn0 and hsn1 are crossed between vn1 and vn2: what one node sent over one of them, 5.0 MB",
            ),
            id="cables-one",
        ),
        pytest.param(
            proof_of(
                replace(SHORT, rails={"hsn0": 50.0, "hsn1": 50.0}, policy="striping"),
                (rail("hsn0", 2.6, 2.4), rail("hsn1", 2.4, 2.6)),
                (rail("hsn0", 2.6, 2.4), rail("hsn1", 2.4, 2.6)),
            ),
            "fabric",
            {("pair", "vn1-vn2", "hsn0")},
            marks=pytest.mark.fault("path", "swapped cables, two rails", "hsn0 and hsn1 are crossed between vn1 and"),
            id="cables-two",
        ),
        pytest.param(
            proof_of(SHORT, (rail("hsn0", 0, 5),), (rail("hsn0", 5, 5),)),
            "not-proven",
            set(),
            marks=pytest.mark.fault(
                "path",
                "a counter that does not move in a ping-pong of 10 MB",
                contradiction(0),
            ),
            id="still-short",
        ),
        pytest.param(
            proof_of(SHORT, (rail("hsn0", 2.5, 5),), (rail("hsn0", 5, 5),)),
            "not-proven",
            set(),
            marks=pytest.mark.fault(
                "path",
                "a counter that stops halfway in a ping-pong of 10 MB",
                contradiction(2_500_000),
            ),
            id="clamped-short",
        ),
        pytest.param(
            both(
                replace(TWO, traffic=dict.fromkeys(("vn1", "vn2"), NodeTraffic(9 * MB, 9 * MB, 4 * MB, 4 * MB))),
                lambda way: (rail("hsn0", 10, 10), rail("hsn1", 0, 0)),
            ),
            "set-up",
            {("stack", None, None)},
            marks=pytest.mark.fault(
                "path",
                "an idle second rail in a ping-pong of 10 MB",
                f"{idle_part('hsn1', 'vn1', 'sent', 0, 10_000_000)}: {IDLE_SECOND}",
            ),
            id="idle-short",
        ),
        pytest.param(
            both(ONE, lambda way: (rail("hsn0", *way(0.1)),)),
            "not-proven",
            set(),
            marks=pytest.mark.fault(
                "path", "both ranks on one node: nothing crossed a network", "hsn0 of vn1 sent 0.1 MB of 180.0 MB"
            ),
            id="one-node",
        ),
        pytest.param(
            both(ONE, lambda way: (rail("hsn0", *way(95)),)),
            "not-proven",
            set(),
            marks=pytest.mark.fault("path", "half of the intended window", "hsn0 of vn1 sent 95.0 MB of 180.0 MB"),
            id="half",
        ),
        pytest.param(
            proof_of(ONE, (rail("hsn0", 3, 190),), (rail("hsn0", 190, 3),)),
            "not-proven",
            set(),
            marks=pytest.mark.fault("path", "the nodes in each other's place", "hsn0 of vn1 sent 3.0 MB of 180.0 MB"),
            id="swapped",
        ),
        pytest.param(
            both(
                replace(VERBS, rails={"mlx5_0:1": 100.0}, policy="single"),
                lambda way: (rail("mlx5_0:1", *way(190), foreign="rxe"),),
            ),
            "not-proven",
            set(),
            marks=pytest.mark.fault(
                "path",
                "software RDMA under the card's name",
                "is driven by rxe, but the system's file says counters: mlx5",
            ),
            id="software",
        ),
        pytest.param(
            judge({"vn1": NodeCounters("vn1", (rail("hsn0", 190, 3),), 0)}, ONE),
            "not-proven",
            set(),
            marks=pytest.mark.fault("path", "the counters of one node are lost", counters_not_found("vn2")),
            id="lost",
        ),
        pytest.param(
            bond_proof(up=False),
            "fabric",
            {("rail", "vn1", "bond0")},
            marks=pytest.mark.fault(
                "rail", "a bond with one port down", "ens1 of vn1, one of 2 ports bonded to bond0, has no carrier"
            ),
            id="leg-down",
        ),
        pytest.param(
            bond_proof(mode="active-backup"),
            "set-up",
            {("rail", "vn1", "bond0")},
            marks=pytest.mark.fault(
                "rail", "a bond of which one port waits", "is a bond (active-backup) of ens0 and ens1"
            ),
            id="backup",
        ),
        pytest.param(
            bond_proof(ports=1),
            "set-up",
            {("rail", "vn1", "bond0")},
            marks=pytest.mark.fault("rail", "a bond that lost a port", "bond0 of vn1 is a bond (802.3ad) of ens0, but"),
            id="one-port",
        ),
        pytest.param(
            bond_proof(ports=0),
            "set-up",
            {("rail", "vn1", "bond0")},
            marks=pytest.mark.fault(
                "rail", "no bond where the file has one", "bond0 of vn1 is not a bond, but the system's"
            ),
            id="no-bond",
        ),
    ],
)
def test_a_planted_fault_of_the_path_is_named(proof: PathProof, fault: str, blamed: Blamed, promise: str) -> None:
    assert proof.state == ("not-proven" if fault == "not-proven" else "failed")
    assert promise in proof.sentence
    assert proof.fault == fault
    assert {(one.kind, one.node, one.rail) for one in proof.suspects} == blamed


def test_what_arrived_over_another_rail_is_nobody_elses_traffic() -> None:
    crossed = proof_of(TWO, (rail("hsn0", 95, 3), rail("hsn1", 95, 3)), (rail("hsn0", 3, 190), rail("hsn1", 3, 0.1)))
    assert crossed.disturbance is None


@pytest.mark.parametrize(
    "counter",
    [
        pytest.param(name, marks=pytest.mark.fault("rail", what, f"{name.removeprefix('hw/')} grew by 3"), id=name)
        for name, what in (
            ("symbol_error", "a cable whose errors are more than the card corrects"),
            ("link_error_recovery", "a link that trains again during the run"),
            ("port_xmit_discards", "a port that throws packets away"),
            ("excessive_buffer_overrun_errors", "a port without room for what it was sent"),
            ("hw/req_transport_retries_exceeded", "a partner that never acknowledges"),
            ("hw/rx_icrc_encapsulated", "RoCE packets that arrive broken"),
        )
    ],
)
def test_each_hard_error_names_its_rail_alone(counter: str, promise: str) -> None:
    plan = replace(VERBS, rails={"mlx5_0:1": 100.0}, policy="single")
    proof = proof_of(plan, (rail("mlx5_0:1", 190, 3),), (rail("mlx5_0:1", 3, 190, errors={counter: 3}),))
    assert (proof.state, proof.fault) == ("failed", "fabric")
    assert promise in proof.sentence
    assert {(one.kind, one.node, one.rail) for one in proof.suspects} == {("rail", "vn2", "mlx5_0:1")}
