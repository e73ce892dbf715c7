"""Ports of rails: carrier and errors of each bonded port (LAG), how many there are, and what TCP sent again."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from railyard.job.counters import NodeCounters
from railyard.site.systems.model import Fabric
from railyard.verdict.path.ports import sends_again
from railyard.verdict.path.proof import judge
from railyard.verdict.path.traffic import NodeTraffic, Plan
from railyard.verdict.rule_model import PathProof
from railyard.verdict.wording import path as path_words
from railyard.verdict.wording.path import grew, miscount, no_bond
from tests.made.sysfs import Tree, write

MB = 1_000_000
PORTS = ("ens1f0", "ens1f1")
IB = {"port_xmit_data": 0, "port_rcv_data": 0}


def bonded_node(root: Path, node: str, mode: str = "802.3ad 4", ports: tuple[str, ...] = PORTS) -> Tree:
    """Return a node with a bond of two interfaces; the bond itself is not hardware."""
    tree = Tree.empty_node(root / node, node)
    bond = tree.interface("bond0")
    write(bond / "bonding", {"mode": mode, "slaves": " ".join(ports)})
    for number, name in enumerate(ports):
        (tree.interface(name, f"card{number}") / "master").symlink_to(bond)
    return tree


def counter(tree: Tree, device: str, name: str) -> Path:
    return tree.root / "sys/class/net" / device / "statistics" / name


def sends(tree: Tree, amounts: Mapping[str, int]) -> dict[Path, int | str]:
    """Return the changes of a node that sends this many bytes: the bond counts the sum of its ports."""
    total = sum(amounts.values())
    return {counter(tree, name, "tx_bytes"): 100 + amount for name, amount in {**amounts, "bond0": total}.items()}


def receives(tree: Tree, amount: int) -> dict[Path, int | str]:
    return {counter(tree, name, "rx_bytes"): 200 + amount for name in ("bond0", "ens1f0")}


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Tree, Tree]:
    return bonded_node(tmp_path, "vn1"), bonded_node(tmp_path, "vn2")


def judge_trees(
    trees: tuple[Tree, Tree],
    first: Mapping[Path, int | str],
    second: Mapping[Path, int | str],
    ports: int = 2,
) -> PathProof:
    """Return the proof of 180 MB from vn1 to vn2 over the bond, from the reader on both nodes."""
    readings = {tree.node: tree.run("bond0", more) for tree, more in zip(trees, (first, second), strict=True)}
    plan = Plan(
        {"bond0": 25.0},
        "single",
        {"vn1": NodeTraffic(180 * MB, 0), "vn2": NodeTraffic(0, 180 * MB)},
        bonded={"bond0": ports},
    )
    return judge(readings, plan)


def proof_of(trees: tuple[Tree, Tree], more: Mapping[Path, int | str] | None = None, ports: int = 2) -> PathProof:
    """Return the proof of a run whose only stream went over the first port; ``more`` changes on vn2 meanwhile."""
    first = sends(trees[0], {"ens1f0": 188 * MB, "ens1f1": 2 * MB})
    return judge_trees(trees, first, {**receives(trees[1], 190 * MB), **(more or {})}, ports)


def test_the_ports_of_a_bond_are_read_and_count_no_bytes_of_their_own(trees: tuple[Tree, Tree]) -> None:
    reading = trees[0].run("bond0", sends(trees[0], {"ens1f0": 9 * MB, "ens1f1": 1 * MB}))
    assert [device.device for device in reading.devices] == ["bond0"]
    bond = reading.bonds["bond0"]
    assert bond.mode == "802.3ad"
    assert [(port.device, port.tx.delta_bytes) for port in bond.ports] == [("ens1f0", 9 * MB), ("ens1f1", 1 * MB)]


def test_the_ports_of_a_bond_that_no_rail_is_on_are_left_out(trees: tuple[Tree, Tree]) -> None:
    trees[0].interface("eth0")
    assert trees[0].run("eth0").bonds == {}
    assert "ens1f0" not in trees[0].text


def test_an_rdma_device_over_a_bond_has_the_bonds_ports(tmp_path: Path) -> None:
    tree = bonded_node(tmp_path, "vn1")
    tree.port("mlx5_bond_0", counters=IB, layer="Ethernet", driver="mlx5_core", address_of="bond0")
    reading: NodeCounters = tree.run(
        "mlx5_bond_0:1", {counter(tree, "ens1f1", "rx_errors"): 7}, drivers={"mlx5_bond_0:1": "mlx5"}
    )
    assert [device.device for device in reading.devices] == ["mlx5_bond_0:1", "bond0"]
    assert [(p.device, dict(p.errors)) for p in reading.bonds["mlx5_bond_0:1"].ports] == [
        ("ens1f0", {}),
        ("ens1f1", {"rx_errors": 7}),
    ]


@pytest.mark.parametrize("shell", ["bash --posix", "busybox sh"])
def test_every_shell_reads_the_ports(trees: tuple[Tree, Tree], shell: str) -> None:
    if shutil.which(shell.split()[0]) is None:
        pytest.skip(f"no {shell.split()[0]} on this machine")
    reading = trees[0].run("bond0", shell=shell)
    assert [port.device for port in reading.bonds["bond0"].ports] == list(PORTS)


def test_a_sound_bond_is_proven_and_says_which_port_carried_the_stream(trees: tuple[Tree, Tree]) -> None:
    proof = proof_of(trees)
    assert (proof.state, proof.suspects) == ("proven", ())
    assert "; bond0 of vn1 sent 98.9 % over ens1f0 and 1.1 % over ens1f1, the ports bonded to it" in proof.sentence


def test_errors_of_a_port_are_its_bonds_and_the_port_is_named(trees: tuple[Tree, Tree]) -> None:
    proof = proof_of(trees, {counter(trees[1], "ens1f1", "rx_errors"): 3})
    assert (proof.state, proof.fault, proof.sentence) == (
        "failed",
        "fabric",
        f"errors on ens1f1 of vn2 (a port of bond0) during the run: {grew('rx_errors', 3, 0, 'hard-errors')}",
    )
    assert [(s.kind, s.node, s.rail) for s in proof.suspects] == [("rail", "vn2", "bond0")]


@pytest.mark.parametrize(("at_once", "said"), [(False, "lost its carrier during the run"), (True, "has no carrier")])
def test_a_dead_port_fails_although_the_stream_had_all_that_it_could(
    trees: tuple[Tree, Tree], at_once: bool, said: str
) -> None:
    carrier = trees[1].root / "sys/class/net/ens1f1/carrier"
    if at_once:
        carrier.write_text("0\n")
    proof = proof_of(trees, {} if at_once else {carrier: 0})
    assert (proof.state, proof.fault, proof.sentence) == (
        "failed",
        "fabric",
        f"ens1f1 of vn2, one of 2 ports bonded to bond0, {said}",
    )
    assert proof.look_at == "cable, port and driver of ens1f1 on vn2"
    assert [(s.kind, s.node, s.rail) for s in proof.suspects] == [("rail", "vn2", "bond0")]


def test_a_bond_that_the_system_file_does_not_know_is_said(trees: tuple[Tree, Tree]) -> None:
    proof = proof_of(trees, ports=1)
    assert (proof.state, proof.fault) == ("failed", "set-up")
    bond = path_words.bond("802.3ad", ["ens1f0", "ens1f1"], False)
    assert proof.sentence == path_words.miscount("bond0", "vn1", bond, 1)


def test_a_bond_of_which_one_port_carries_all_counts_as_one(tmp_path: Path) -> None:
    trees = tuple(bonded_node(tmp_path, node, "active-backup 1") for node in ("vn1", "vn2"))
    assert proof_of((trees[0], trees[1]), ports=1).state == "proven"
    assert proof_of((trees[0], trees[1]), ports=2).sentence == (
        "bond0 of vn1 is a bond (active-backup) of ens1f0 and ens1f1 (only one carries data), but the system's "
        "file says bonded_ports: 2"
    )


def test_a_rail_that_is_no_bond_where_the_file_says_one(tmp_path: Path) -> None:
    first, second = bonded_node(tmp_path, "vn1"), Tree.empty_node(tmp_path / "vn2", "vn2")
    for name in ("bond0", "ens1f0"):
        second.interface(name)
    assert proof_of((first, second)).sentence == miscount("bond0", "vn2", no_bond(), 2)


def test_the_limit_is_of_all_ports_and_a_stream_is_held_to_one() -> None:
    fields = {"description": "two ports of 25 Gbit/s", "kind": "tcp", "link": "eth-25", "slot": "pcie3-x8"}
    rails = [{"device": "bond0", "counters": "netdev", "bonded_ports": 2}]
    fabric = Fabric.model_validate({**fields, "rails": rails})
    alone = Fabric.model_validate({**fields, "rails": [{"device": "ens1f0", "counters": "netdev"}]}).limit(1, 1)
    both, stream = fabric.limit(1, 1), fabric.limit(1, 1, one_stream=True)
    assert alone is not None and both is not None and stream is not None
    assert stream.value_mb_s == alone.value_mb_s
    assert both.value_mb_s == pytest.approx(2 * alone.value_mb_s)
    assert both.terms.startswith("2 ports x eth-25 ")


@pytest.mark.parametrize(
    ("resent", "sent", "again"),
    [
        *((11, 10_000, True), (10, 10_000, False), (11, 500, True), (2, 1250, False)),
        *((21, 20_000, True), (20, 20_000, False), (None, 10_000, False), (11, None, False)),
    ],
)
def test_segments_sent_again_count_from_so_many_on(resent: int | None, sent: int | None, again: bool) -> None:
    assert sends_again(resent, sent) is again
