"""Any number of rails, and any rail alone: which tests there are, and which references judge them."""

from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import InputError
from railyard.benchmarks.table.micro import metric
from railyard.site.matrix import (
    Cell,
    Need,
    environment_features,
    environment_terms,
    matrix,
    named_policies,
    partition_features,
    policies,
    refused_policies,
    why_not,
)
from railyard.site.references.load import load_references
from railyard.site.systems.load import load_system
from railyard.site.systems.model import DisabledCombination, Fabric, System
from railyard.site.test_id import TestId

LATENCY = Need("OsuLatency", "osu", "osu/osu_latency", 2)
RATE = Need("OsuMessageRate", "osu", "osu/osu_mbw_mr", 4, pair_a_rail=True)
HPL = Need("Hpl", "hpl", "hpl/hpl", 2, all_nodes=True, check_class="app", pair_a_rail=True, extended=True)

SITE = """\
system: site
description: A cluster
nodes: {count: 16}
report_only: false
fabrics:
  edr:
    description: EDR
    kind: ib
    link: ib-edr
    slot: pcie3-x16
    FIELDS
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
      - {device: mlx5_1, port: 1, counters: mlx5, slot: pcie3-x8}
      - {device: mlx5_2, port: 1, counters: mlx5}
stacks:
  openmpi: {modules: [openmpi], benchmarks: {osu: /opt/osu/bin, hpl: /opt/hpl/xhpl}}
"""


def site(folder: Path, fields: str = "each_rail: true") -> System:
    (folder / "systems").mkdir(exist_ok=True)
    path = folder / "systems" / "site.yaml"
    path.write_text(SITE.replace("FIELDS", fields), encoding="utf-8")
    return load_system(path)


def fabric_of(rails: int, **fields: Any) -> Fabric:
    devices = [{"device": f"mlx5_{number}", "port": 1, "counters": "mlx5"} for number in range(rails)]
    return Fabric.model_validate({"description": "NDR", "kind": "ib", "link": "ib-ndr", "rails": devices, **fields})


def of_fabrics(folder: Path, **fabrics: Fabric) -> System:
    return site(folder).model_copy(update={"fabrics": fabrics})


@pytest.mark.parametrize(
    ("rails", "counts"),
    [
        (1, (1,)),
        (2, (1, 2)),
        (3, (1, 2, 3)),
        (4, (1, 2, 4)),
        (6, (1, 2, 4, 6)),
        (8, (1, 2, 4, 8)),
        (16, (1, 2, 4, 8, 16)),
        (32, (1, 2, 4, 8, 16, 32)),
    ],
)
def test_tests_use_powers_of_two_and_all_rails(rails: int, counts: tuple[int, ...]) -> None:
    assert fabric_of(rails).counts == counts


def test_a_site_says_which_numbers_of_rails_its_tests_use() -> None:
    assert fabric_of(32, rail_counts=[32, 3]).counts == (1, 3, 32)


def test_three_and_sixteen_rails_are_features_and_cells(tmp_path: Path) -> None:
    system = of_fabrics(tmp_path, three=fabric_of(3), many=fabric_of(16))
    assert [word for word in partition_features(system, "three") if word.startswith("rails")] == [
        *("rails1", "rails2", "rails3")
    ]
    assert "rails16" in partition_features(system, "many")
    assert {"rails16", "nic-per-rank-16"} <= set(environment_features(system, "many", "openmpi"))
    assert "striping-3" in environment_features(system, "three", "openmpi")
    cells = {(cell.test.fabric, cell.test.rails): cell.reason for cell in matrix(system, (RATE,))}
    assert cells["three", 3] is None and cells["many", 16] is None
    assert cells["three", 8] == "three has 3 rails per node (mlx5_0, mlx5_1, mlx5_2)"
    assert ("many", 3) not in cells, "a fabric of 16 rails has no tests over 3 because another has 3"
    assert {cell.test.rails for cell in refused_policies(system)} == {2, 3, 4, 8, 16}


def test_a_fabric_that_asks_has_a_test_over_each_rail_alone(tmp_path: Path) -> None:
    system = site(tmp_path)
    assert policies(system, "edr", "openmpi", 1) == ("single", "rail-2", "rail-3")
    features = environment_features(system, "edr", "openmpi")
    assert {"single-1", "rail-2-1", "rail-3-1"} <= set(features)
    assert named_policies([features])[:2] == ("rail-2", "rail-3")
    assert environment_terms("osu", 1, "rail-2", 1, beside_default=True) == ["+osu +rail-2-1 -default-rail-2-1"]
    test = TestId("edr", "openmpi", 1, "osu/osu_latency", "OsuLatency", "rail-2")
    assert Cell(test, named=True) in matrix(system, (LATENCY,))
    assert policies(site(tmp_path, ""), "edr", "openmpi", 1) == ("single",), "no fabric has them unasked"


def test_an_application_runs_over_no_rail_but_the_first_alone(tmp_path: Path) -> None:
    system = site(tmp_path)
    assert why_not(system, "edr", "openmpi", 1, HPL) is None
    assert why_not(system, "edr", "openmpi", 1, HPL, "rail-2") == (
        "an application runs over the first rail, or several: each rail alone is for micro-benchmarks"
    )


def test_an_application_has_no_test_of_its_own_with_a_nic_per_rank(tmp_path: Path) -> None:
    """ReFrame makes no such test, so a run of all tests must not miss it."""
    system = site(tmp_path)
    there = policies(system, "edr", "openmpi", 2)
    assert there[0] != "nic-per-rank" and "nic-per-rank" in there
    assert why_not(system, "edr", "openmpi", 2, HPL) is None
    assert why_not(system, "edr", "openmpi", 2, HPL, "nic-per-rank") == (
        "an application runs with its stack's default rail policy; for nic-per-rank, add -P policy=nic-per-rank"
    )


def test_the_slot_of_the_rail_that_is_used_is_the_limit(tmp_path: Path) -> None:
    fabric = site(tmp_path).fabrics["edr"]
    first, second, third = (fabric.limit(1, 1, policy=policy) for policy in ("single", "rail-2", "rail-3"))
    assert first is not None and second is not None and first == third
    assert round(first.value_mb_s) == 12421
    assert round(second.value_mb_s) == 7202, "8 lanes of PCIe 3"
    assert [rail.device for rail in fabric.used_rails(1, "rail-2")] == ["mlx5_1"]
    assert [rail.device for rail in fabric.used_rails(2, "striping")] == ["mlx5_0", "mlx5_1"]
    with pytest.raises(ValueError, match="rail-4 of 3"):
        fabric.used_rails(1, "rail-4")


ENTRY = """\
  - {{id: {id}, fabric: edr, {for_}, benchmark: osu/osu_bw, metric: bandwidth, unit: MB/s, kind: published,
     value: {value}, sizes: {{from: 1M}}, tolerance: {{low: 0.05}}, source: {{document: d, date: 2026-01-01}}}}
"""


def bands(folder: Path, policy: str, *entries: str) -> list[str]:
    system = site(folder)
    path = folder / "site.yaml"
    path.write_text("system: site\nentries:\n" + "".join(entries), encoding="utf-8")
    test = TestId("edr", "openmpi", 1, "osu/osu_bw", policy=policy)
    found = load_references(path, system).bands(test, metric("osu/osu_bw", "bandwidth"), 12000.0)
    return [band.entry_id for band in found if not band.entry_id.startswith("class:")]


def test_a_reference_of_one_rail_holds_for_each_and_a_rails_own_replaces_it(tmp_path: Path) -> None:
    one = ENTRY.format(id="one", for_="rails: 1, policy: single", value=6500)
    own = ENTRY.format(id="own", for_="policy: rail-2", value=6000)
    assert bands(tmp_path, "single", one, own) == ["one"]
    assert bands(tmp_path, "rail-2", one, own) == ["own"]
    assert bands(tmp_path, "rail-3", one, own) == ["one"]
    assert bands(tmp_path, "rail-2", one) == ["one"]


@pytest.mark.parametrize(
    ("for_", "value", "sentence"),
    [
        ("policy: rail-4", 6000, 'found "rail-4", expected a rail of edr, which has 3 rails'),
        ("policy: rail-2, rails: 2", 6000, "found 2, expected 1 with the policy rail-2, which is one rail alone"),
        ("policy: rail-1", 6000, 'found "rail-1", expected a known value'),
        ("policy: rail-2", 9000, "found 9000 MB/s, above the physical limit of 1 rail, expected at most 7201.8 MB/s"),
    ],
)
def test_a_reference_of_a_rail_that_cannot_be_is_refused(tmp_path: Path, for_: str, value: int, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        bands(tmp_path, "rail-2", ENTRY.format(id="own", for_=for_, value=value))
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ("rail_counts: [2, 4]", "rail_counts: found 4, expected numbers of rails up to 3, the number of rails"),
        ("rail_counts: [0]", "rail_counts"),
    ],
)
def test_numbers_of_rails_that_are_not_there_are_refused(tmp_path: Path, fields: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        site(tmp_path, fields)
    assert sentence in str(caught.value)


def test_a_rail_is_switched_off_by_its_name_and_with_the_policy_of_one(tmp_path: Path) -> None:
    off = DisabledCombination.model_validate({"policy": "rail-2", "reason": "its cable is on order"})
    system = site(tmp_path).model_copy(update={"disabled": (off,)})
    reasons = {cell.test.policy: cell.reason for cell in matrix(system, (LATENCY,)) if cell.test.rails == 1}
    assert reasons == {"single": None, "rail-2": "its cable is on order", "rail-3": None}
    first = DisabledCombination.model_validate({"policy": "single", "reason": "one rail is not used here"})
    whys = {cell.reason for cell in matrix(system.model_copy(update={"disabled": (first,)}), (LATENCY,))}
    assert first.reason in whys
    assert first.covers("edr", "openmpi", 1, policy="rail-3") and not first.covers(
        "edr", "openmpi", 2, policy="striping"
    )
