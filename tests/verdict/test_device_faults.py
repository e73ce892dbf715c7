"""Faults of RDMA devices on two synthetic nodes, from the reader to the sentence: each named, no neighbour blamed."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from railyard.results.record.form import Suspect
from railyard.verdict.path.proof import judge
from railyard.verdict.path.traffic import NodeTraffic, Plan
from railyard.verdict.rule_model import PathProof
from railyard.verdict.wording import NOT_PROVEN
from railyard.verdict.wording import path as path_words
from railyard.verdict.wording.path import grew, idle_part, look_at, lost_carrier, say_besides, say_moved
from tests.made.sysfs import Tree
from tests.made.words import idle_second

MB = 1_000_000
RAILS = ("mlx5_0:1", "mlx5_1:1")
PLAN = Plan(
    dict.fromkeys(RAILS, 100.0),
    "striping",
    {"vn1": NodeTraffic(180 * MB, 0, 170 * MB, 0), "vn2": NodeTraffic(0, 180 * MB, 0, 170 * MB)},
)
BEFORE = 5 * MB
"""What each counter shows before the run, in its own units."""


class Pair:
    """Two nodes with two InfiniBand cards each, and the effect of a run of 190 MB from the first to the second."""

    def __init__(self, folder: Path, row: str = "mlx5") -> None:
        self.row = row
        self.trees = {node: Tree.empty_node(folder / node, node) for node in ("vn1", "vn2")}
        self.changes: dict[str, dict[Path, int | str]] = {node: {} for node in self.trees}
        for node, tree in self.trees.items():
            for number in (0, 1):
                card, way = f"{row}_{number}", "port_xmit_data" if node == "vn1" else "port_rcv_data"
                errors = {"symbol_error": 0, "link_downed": 0, "port_rcv_errors": 0}
                counters = {"port_xmit_data": BEFORE, "port_rcv_data": BEFORE, **errors}
                port = tree.port(card, counters=counters, hw={"out_of_sequence": 0}, driver=f"{row}_core")
                tree.interface(f"ib{number}", card)
                self.changes[node][port / "counters" / way] = BEFORE + 95 * MB // 4

    def counter(self, node: str, number: int, name: str) -> Path:
        """Return the file of a counter of a node's card."""
        card = f"{self.row}_{number}"
        return self.trees[node].root / "sys/class/infiniband" / card / "ports/1" / name

    def statistic(self, node: str, number: int, name: str) -> Path:
        """Return the file of a statistic of the interface on a node's card."""
        return self.trees[node].root / f"sys/class/net/ib{number}/statistics" / name

    def judge_run(self, changed: Mapping[str, Mapping[Path, int | str]] | None = None, plan: Plan = PLAN) -> PathProof:
        """Run the reader on both nodes, with these changes after those of a healthy run; return the proof."""
        rails = tuple(plan.rails)
        drivers = dict.fromkeys(rails, self.row)
        readings = {
            node: tree.run(",".join(rails), {**self.changes[node], **(changed or {}).get(node, {})}, drivers=drivers)
            for node, tree in self.trees.items()
        }
        return judge(readings, plan)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def blamed_parts(proof: PathProof) -> set[tuple[str, str | None, str | None]]:
    return {(suspect.kind, suspect.node, suspect.rail) for suspect in proof.suspects}


def test_a_healthy_run_is_proven(pair: Pair) -> None:
    proof = pair.judge_run()
    assert (proof.state, proof.sentence) == (
        "proven",
        say_moved(380_000_000, ("vn1", "vn2"), {"mlx5_0:1": 0.5, "mlx5_1:1": 0.5}, 0, True),
    )


def test_a_stack_that_falls_back_to_tcp_is_named_though_the_ports_counted_its_bytes(pair: Pair) -> None:
    # On InfiniBand the ports count IP over InfiniBand: byte counts and split are those of a healthy run.
    tcp = {
        "vn1": {pair.statistic("vn1", n, "tx_bytes"): 95 * MB for n in (0, 1)},
        "vn2": {pair.statistic("vn2", n, "rx_bytes"): 95 * MB for n in (0, 1)},
    }
    proof = pair.judge_run(tcp)
    assert (proof.state, proof.fault) == ("failed", "set-up")
    assert proof.sentence == (
        "ib0 of vn1, the network interface of mlx5_0:1, "
        f"{say_besides('sent', 95_000_000, 180_000_000, 1_800_000)}: TCP, not RDMA"
    )
    assert blamed_parts(proof) == {("stack", "vn1", "ib0"), ("stack", "vn2", "ib0")}


def test_a_second_rail_that_idles_on_both_nodes_is_the_stacks(pair: Pair) -> None:
    one = {
        "vn1": {
            pair.counter("vn1", 0, "counters/port_xmit_data"): BEFORE + 190 * MB // 4,
            pair.counter("vn1", 1, "counters/port_xmit_data"): BEFORE,
        },
        "vn2": {
            pair.counter("vn2", 0, "counters/port_rcv_data"): BEFORE + 190 * MB // 4,
            pair.counter("vn2", 1, "counters/port_rcv_data"): BEFORE,
        },
    }
    proof = pair.judge_run(one)
    assert proof.sentence == (idle_second(idle_part("mlx5_1:1", "vn1", "sent", 0, 190_000_000)))
    assert blamed_parts(proof) == {("stack", None, None)}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (
            17,
            f"counted fewer bytes received after the run (68) than before ({4 * BEFORE}): it was reset or replaced",
        ),
        ("unreadable", "has no readable counter of bytes received"),
    ],
    ids=["reset", "unreadable"],
)
def test_a_counter_that_tells_nothing_is_no_proof_and_nobodys_fault(pair: Pair, value: int | str, said: str) -> None:
    proof = pair.judge_run({"vn2": {pair.counter("vn2", 1, "counters/port_rcv_data"): value}})
    assert (proof.state, proof.fault) == ("not-proven", "not-proven")
    assert proof.sentence == f"{NOT_PROVEN}rail mlx5_1:1 of vn2 {said}"
    assert blamed_parts(proof) == set()


def test_a_counter_that_stands_still_is_no_proof_where_no_other_shows_the_bytes(pair: Pair) -> None:
    still = {pair.counter("vn2", n, "counters/port_rcv_data"): BEFORE for n in (0, 1)}
    proof = pair.judge_run({"vn2": still})
    assert (proof.state, blamed_parts(proof)) == ("not-proven", set())
    assert proof.sentence == (
        path_words.wrong_counter(["mlx5_0:1", "mlx5_1:1"], ["vn1"], 190_000_000, "vn2", 0, "received")
    )


def test_a_legacy_counter_below_its_maximum_is_a_proof(tmp_path: Path) -> None:
    pair = Pair(tmp_path, "mlx4")
    plan = Plan(dict.fromkeys(("mlx4_0:1", "mlx4_1:1"), 40.0), "striping", PLAN.traffic)
    assert pair.judge_run(plan=plan).state == "proven"


def test_a_legacy_counter_that_got_full_is_no_proof(tmp_path: Path) -> None:
    pair = Pair(tmp_path, "mlx4")
    plan = Plan(dict.fromkeys(("mlx4_0:1", "mlx4_1:1"), 40.0), "striping", PLAN.traffic)
    proof = pair.judge_run({"vn1": {pair.counter("vn1", 0, "counters/port_xmit_data"): 2**32 - 1}}, plan)
    assert (proof.state, blamed_parts(proof)) == ("not-proven", set())
    assert proof.sentence == (
        f"{NOT_PROVEN}rail mlx4_0:1 of vn1 has a full counter of bytes sent: it is at its maximum and no longer counts"
    )


def test_a_port_that_receives_broken_packets_is_named_and_its_neighbours_are_not(pair: Pair) -> None:
    proof = pair.judge_run({"vn2": {pair.counter("vn2", 1, "counters/port_rcv_errors"): 31}})
    assert (proof.state, proof.fault) == ("failed", "fabric")
    assert proof.sentence == (
        f"errors on mlx5_1:1 of vn2 during the run: {grew('port_rcv_errors', 31, 0, 'hard-errors')}"
    )
    assert blamed_parts(proof) == {("rail", "vn2", "mlx5_1:1")}
    assert proof.look_at == look_at("mlx5_1:1 of vn2")


def test_packets_out_of_order_are_said_and_blame_nobody(pair: Pair) -> None:
    proof = pair.judge_run({"vn2": {pair.counter("vn2", 1, "hw_counters/out_of_sequence"): 31}})
    assert (proof.state, blamed_parts(proof)) == ("proven", set())
    assert proof.sentence.endswith("; signals on mlx5_1:1 of vn2: out_of_sequence 31")


def test_background_traffic_on_one_rail_is_a_disturbance_and_no_cables_fault(pair: Pair) -> None:
    busy = {
        "vn1": {pair.counter("vn1", 0, "counters/port_xmit_data"): BEFORE + 395 * MB // 4},
        "vn2": {pair.counter("vn2", 0, "counters/port_rcv_data"): BEFORE + 395 * MB // 4},
    }
    proof = pair.judge_run(busy)
    assert (proof.state, blamed_parts(proof)) == ("proven", set())
    assert proof.disturbance == path_words.shared_beyond(
        ["mlx5_0:1", "mlx5_1:1"], "vn1", "sent", 490_000_000, 180_000_000, False, "241.0 MB, shared-factor"
    )


def test_a_port_that_went_down_during_the_run_is_named(pair: Pair) -> None:
    proof = pair.judge_run({"vn1": {pair.counter("vn1", 1, "state"): "1: DOWN"}})
    assert (proof.state, proof.sentence) == ("failed", lost_carrier("mlx5_1:1 of vn1"))
    assert blamed_parts(proof) == {("rail", "vn1", "mlx5_1:1")}
    assert Suspect("rail", proof.sentence, "vn1", "mlx5_1:1") in proof.suspects
