"""Two InfiniBand fabrics on the same nodes: each is judged by its own subnet, rails and manager."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railyard.cluster.fabric.judge import judge, subnets
from railyard.cluster.fabric.model import Report, expected_fabric
from railyard.cluster.fabric.saved_outputs import read_folder
from railyard.parsers.fabric import iblinkinfo
from railyard.site.systems.load import load_system

Links = dict[str, Any]
SYSTEM = """\
system: made
description: Four nodes with an EDR and an FDR rail
nodes: {names: [vn1, vn2, vn3, vn4]}
report_only: a made system has no references
fabrics:
  edr:
    description: One card a node
    kind: ib
    link: ib-edr
    rails: [{device: mlx5_0, port: 1, counters: mlx5}]
  fdr:
    description: The other card
    kind: ib
    link: ib-fdr
    rails: [{device: mlx4_0, port: 2, counters: mlx4}]
stacks:
  openmpi: {modules: [openmpi], benchmarks: {osu: /opt/osu}}
"""
SMINFO = "sminfo: sm lid 1 sm guid 0xb8599f0300001015, activity count 446 priority 0 state 3 SMINFO_MASTER\n"


@pytest.fixture
def folder(tmp_path: Path, links: Links, show: Callable[[Links], str]) -> Path:
    """Save what both rails see: each is on its own subnet, which has the same LIDs and switch names as the other."""
    place = tmp_path / "saved"
    place.mkdir()
    edr = show({name: link for name, link in links.items() if "mlx5_1" not in name})
    fdr = edr.replace("mlx5_0", "mlx4_0").replace("0xb8599f03", "0xb8599f04").replace("0xec0d9a03", "0xec0d9a04")
    # Each adapter's line ends with its switch's port, each switch's line with the adapter's: this rail is its second.
    second = "\n".join(
        line.replace(' 1[  ] "vn', ' 2[  ] "vn').replace(" 1[  ] ==", " 2[  ] ==") if "vn" in line or "b8599f04" in line
        else line
        for line in fdr.replace("25.78125", " 14.0625").split("\n")
    )  # fmt: skip
    for asked, text in {"mlx5_0": edr, "mlx4_0_2": second}.items():
        (place / f"iblinkinfo-{asked}.out").write_text(text, encoding="utf-8")
        (place / f"sminfo-{asked}.out").write_text(SMINFO, encoding="utf-8")
    return place


@pytest.fixture
def judge_fabric(tmp_path: Path, folder: Path) -> Callable[[str], Report]:
    """Judge one of the two fabrics by the folder."""
    (tmp_path / "made.yaml").write_text(SYSTEM, encoding="utf-8")
    system = load_system(tmp_path / "made.yaml")
    return lambda name: judge(expected_fabric(system, name), read_folder(folder))


def sentences(report: Report) -> list[str]:
    return [finding.sentence for finding in report.findings]


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_a_rail_that_two_fabrics_have_is_no_neighbours(tmp_path: Path) -> None:
    both = SYSTEM.replace("{device: mlx4_0, port: 2, counters: mlx4}", "{device: mlx5_0, port: 1, counters: mlx5}")
    eth = SYSTEM.replace("kind: ib\n    link: ib-fdr", "kind: roce\n    link: roce-100")
    for text, rails in ((SYSTEM, {("mlx4_0", 2)}), (both, set()), (eth, set())):
        (tmp_path / "made.yaml").write_text(text, encoding="utf-8")
        assert expected_fabric(load_system(tmp_path / "made.yaml"), "edr").neighbours == rails


def test_each_fabric_is_judged_by_its_own_subnet(judge_fabric: Callable[[str], Report]) -> None:
    for name in ("edr", "fdr"):
        report = judge_fabric(name)
        assert (sentences(report), report.seen, report.nodes, report.hops) == ([], 4, 4, {1: 2, 3: 4})


def test_a_fault_is_its_own_fabrics_alone(folder: Path, judge_fabric: Callable[[str], Report]) -> None:
    (folder / "sminfo-mlx4_0_2.out").write_text("sminfo: iberror: failed: query\n", encoding="utf-8")
    errors = 'Errors for "vn2 mlx4_0"\n   GUID 0xb8599f040000100c port 2: [SymbolErrorCounter == 77]\n'
    (folder / "ibqueryerrors-mlx4_0_2.out").write_text(
        f"{errors}\n## Summary: 7 nodes checked, 1 bad nodes found\n", encoding="utf-8"
    )
    assert judge_fabric("edr").findings == ()
    assert [sentence.partition(";")[0] for sentence in sentences(judge_fabric("fdr"))] == [
        "the fabric: found no subnet manager that answers, asked from mlx4_0_2, expected a subnet manager in charge "
        "(MASTER)",
        "vn2 mlx4_0 port 2: found SymbolErrorCounter 77 since they were cleared, expected at most 10",
    ]


def test_a_node_that_is_on_one_of_both_is_missing_on_the_other_alone(
    folder: Path, judge_fabric: Callable[[str], Report]
) -> None:
    change(folder / "iblinkinfo-mlx4_0_2.out", "vn4 mlx4_0", "vn9 mlx4_0")
    assert judge_fabric("edr").findings == ()
    assert [(finding.what, finding.node) for finding in judge_fabric("fdr").findings] == [
        ("missing", "vn4"), ("unknown", "vn9"),
    ]  # fmt: skip


def test_rails_of_two_fabrics_on_one_subnet_are_told_apart(
    folder: Path, links: Links, show: Callable[[Links], str], judge_fabric: Callable[[str], Report]
) -> None:
    for file in folder.iterdir():
        file.unlink()
    for name, link in links.items():
        if "mlx5_1" in name:
            adapter = replace(link.ca, name=name.replace("mlx5_1", "mlx4_0"), port=2)
            links[name] = replace(link, ca=adapter, speed="QDR" if "vn3" in name else "FDR")
    (folder / "iblinkinfo.out").write_text(show(links), encoding="utf-8")
    assert (judge_fabric("edr").findings, judge_fabric("edr").seen) == ((), 4)
    assert [finding.place for finding in judge_fabric("fdr").findings] == ["vn3 mlx4_0 port 2"]


def test_a_subnet_is_what_cables_join(links: Links, show: Callable[[Links], str]) -> None:
    ports = iblinkinfo.parse(show(links)).fabric
    assert len(subnets(ports)) == 1
    del links["LeafB"]
    apart = subnets(iblinkinfo.parse(show(links)).fabric)
    assert [sum(port.kind == "CA" for port in subnet) for subnet in apart] == [4, 4]
