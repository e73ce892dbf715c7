"""Outputs of real diagnostics on a simulated fabric with faults: each fault is named, and nobody else."""

import shutil
from pathlib import Path

import pytest

from railyard.cluster.fabric.judge import judge
from railyard.cluster.fabric.model import ExpectedFabric
from railyard.cluster.fabric.saved_outputs import read_folder

RECORDINGS = Path(__file__).parents[2] / "parsers/fabric/recordings"


@pytest.fixture
def saved_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "saved"
    folder.mkdir()
    return folder


def test_a_slow_link_an_unplugged_cable_and_errors_are_named(saved_folder: Path, expected_edr: ExpectedFabric) -> None:
    shutil.copy(RECORDINGS / "iblinkinfo-unlinked-ibsim.out", saved_folder / "iblinkinfo.out")
    shutil.copy(RECORDINGS / "ibqueryerrors-symbolerrors-ibsim.out", saved_folder / "ibqueryerrors.out")
    report = judge(expected_edr, read_folder(saved_folder))
    assert [finding.sentence for finding in report.findings] == [
        "vn4 mlx5_1 port 1: found no such port on the subnet, expected the rail linked; its link is down: check its "
        "cable, and ibstat on the node",
        "vn3 mlx5_1 port 1: found 4X QDR (40 Gbit/s), expected 4X EDR (100 Gbit/s); replace the cable to Leaf2 port 3, "
        "or check with ibportstate which end does not allow more",
        "vn3 mlx5_1 port 1: found SymbolErrorCounter 4711 since they were cleared, expected at most 10; reseat or "
        "replace the cable to Leaf2 port 3, then ibclearerrors (or perfquery -R LID PORT)",
    ]
    assert (report.seen, report.nodes, report.hops) == (7, 4, {1: 9})


def test_the_topology_file_alone_has_links_and_no_states(saved_folder: Path, expected_edr: ExpectedFabric) -> None:
    shutil.copy(RECORDINGS / "ibnetdiscover-ibsim.out", saved_folder / "ibnetdiscover.out")
    report = judge(expected_edr, read_folder(saved_folder))
    assert [(finding.what, finding.place) for finding in report.findings] == [("speed", "vn3 mlx5_1 port 1")]
    assert (report.seen, report.hops) == (8, {1: 12})


def test_of_a_nodes_own_ibstat_the_unplugged_port_is_told(saved_folder: Path, expected_edr: ExpectedFabric) -> None:
    (saved_folder / "vn4").mkdir()
    text = (RECORDINGS / "ibstat-unplugged-ibsim.out").read_text(encoding="utf-8").replace("ibsim0", "mlx5_1")
    (saved_folder / "vn4/ibstat.out").write_text(text, encoding="utf-8")
    report = judge(expected_edr, read_folder(saved_folder))
    assert [(finding.what, finding.place, finding.found) for finding in report.findings] == [
        ("absent", "vn4 mlx5_0 port 1", "no such device or port on the node"),
        ("state", "vn4 mlx5_1 port 1", "Down (Polling)"),
    ]
