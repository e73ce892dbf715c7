"""The rate of messages from GPU memory, and of copies within a node: the smallest of link, card and GPU."""

from pathlib import Path

import pytest

from railyard.benchmarks.model import Within
from railyard.site.gpu_shape import floor_within, gpus_near, limit_from_gpus, limit_within
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from railyard.site.systems.parts import Gpus
from railyard.stacks.model import NIC_PER_RANK
from tests.made.systems import GPUS

#: MB/s: 50,000 of NDR minus the headers of packets of 4096 B, and 16 lanes of PCIe minus those of TLPs of 512 B.
NDR = 50_000 * 4096 / 4122
PCIE5, PCIE4, PCIE3 = (rate * 512 / 536 for rate in (63015.4, 31507.7, 15753.8))


def system(folder: Path, old: str = "", new: str = "") -> System:
    assert old in GPUS
    path = folder / "made.yaml"
    path.write_text(GPUS.replace(old, new, 1), encoding="utf-8")
    return load_system(path)


def gpus(**stated: object) -> Gpus:
    return Gpus.model_validate({"kind": "made", **stated})


def test_a_rail_has_the_first_of_the_gpus_that_are_nearest_to_it(tmp_path: Path) -> None:
    made = system(tmp_path)
    assert made.gpus is not None
    assert gpus_near(made.gpus, made.fabrics["ndr"], made.fabrics["ndr"].rails) == (2, 6)


@pytest.mark.parametrize(
    ("per_node", "devices", "near"),
    [
        (8, ["a", "b"], [0, 4]),
        (4, ["a", "b", "c", "d"], [0, 1, 2, 3]),
        (1, ["a", "b"], [0, 0]),
        (4, ["a", "a", "b", "b"], [0, 0, 2, 2]),
    ],
)
def test_gpus_are_shared_out_evenly_where_the_file_does_not_say(
    per_node: int, devices: list[str], near: list[int]
) -> None:
    assert [gpus(per_node=per_node).nearest_gpu(device, devices) for device in devices] == near


def test_a_rail_without_a_gpu_is_named(tmp_path: Path) -> None:
    made = system(tmp_path)
    assert made.gpus is not None
    with pytest.raises(ValueError, match=r"^gpus: nearest names no GPU of eth0$"):
        gpus_near(made.gpus, made.fabrics["eth"], made.fabrics["eth"].rails)


@pytest.mark.parametrize(
    ("slot", "rails", "policy", "directions", "mb_s"),
    [
        ("pcie5-x16", 1, "", 1, NDR),
        ("pcie5-x16", 2, "striping", 1, PCIE5),  # one process, one GPU
        ("pcie5-x16", 2, NIC_PER_RANK, 1, 2 * NDR),  # two GPUs
        ("pcie4-x16", 1, "", 1, PCIE4),
        ("pcie4-x16", 2, NIC_PER_RANK, 2, 4 * PCIE4),
        ("pcie4-x16", 1, "rail-2", 2, 2 * PCIE4),
    ],
)
def test_the_slot_of_each_gpu_that_is_used_bounds_it_too(
    tmp_path: Path, slot: str, rails: int, policy: str, directions: int, mb_s: float
) -> None:
    made = system(tmp_path, "slot: pcie5-x16\n  nearest", f"slot: {slot}\n  nearest")
    assert made.gpus is not None
    found = limit_from_gpus(made.gpus, made.fabrics["ndr"], rails, directions, policy=policy)
    assert found is not None and found.value_mb_s == pytest.approx(mb_s, rel=1e-5)
    assert ("slot of the GPU" in found.terms) == (mb_s not in (NDR, 2 * NDR))


def test_two_rails_of_one_gpu_share_its_slot(tmp_path: Path) -> None:
    made = system(tmp_path, "mlx5_1: [6]", "mlx5_1: [2]")
    assert made.gpus is not None
    found = limit_from_gpus(made.gpus, made.fabrics["ndr"], 2, 1, policy=NIC_PER_RANK)
    assert found is not None and found.value_mb_s == pytest.approx(PCIE5, rel=1e-5)


def test_without_the_slot_the_rails_alone_bound_it(tmp_path: Path) -> None:
    made = system(tmp_path, "  slot: pcie5-x16\n  nearest", "  nearest")
    assert made.gpus is not None
    assert limit_from_gpus(made.gpus, made.fabrics["ndr"], 2, 1, policy="striping") == made.fabrics["ndr"].limit(2, 1)


H100 = {"per_node": 8, "nvlink": 4, "slot": "pcie5-x16"}


@pytest.mark.parametrize(
    ("stated", "within", "most", "least"),
    [
        (H100, "slot", PCIE5, 0.75 * PCIE5),
        (H100, "gpu-link", 450_000, 0.80 * 450_000),
        # Four A100 on one board: 4 of 12 links to each other GPU.
        ({"per_node": 4, "nvlink": 3}, "gpu-link", 300_000, 0.80 * 100_000),
        ({"per_node": 4, "nvlink": 5, "domain": 72}, "gpu-link", 900_000, 0.80 * 900_000),
        # DGX-1: a pair of GPUs has two links, one or none.
        ({"per_node": 8, "nvlink": 2}, "gpu-link", 150_000, "links-between-two"),
        ({"per_node": 8, "slot": "pcie4-x16"}, "gpu-link", PCIE4, "links-between-two"),
        ({"per_node": 8, "nvlink": 4}, "slot", None, "slot"),
        ({"per_node": 8}, "gpu-link", None, "gpu-link"),
    ],
)
def test_copies_within_a_node_are_bounded_by_what_carries_them(
    stated: dict[str, object], within: Within, most: float | None, least: float | str
) -> None:
    limit, floor = limit_within(gpus(**stated), within), floor_within(gpus(**stated), within)
    assert (None if limit is None else limit.value_mb_s) == (most and pytest.approx(most, rel=1e-5))
    if isinstance(least, str):
        assert floor == least
    else:
        assert not isinstance(floor, str) and floor.value_mb_s == pytest.approx(least, rel=1e-5)


@pytest.mark.parametrize(
    ("stated", "within", "measured"),
    [
        (H100, "slot", 55_330),
        (H100, "gpu-link", 395_070),
        ({"per_node": 8, "nvlink": 3}, "gpu-link", 263_050),
        ({"per_node": 4, "nvlink": 5, "domain": 72}, "gpu-link", 797_650),
        ({"per_node": 1, "slot": "pcie3-x16"}, "slot", 12_360),
        ({"per_node": 1, "slot": "pcie4-x16"}, "slot", 25_170),
    ],
)
def test_what_was_published_of_healthy_gpus_is_between_floor_and_limit(
    stated: dict[str, object], within: Within, measured: float
) -> None:
    """The slowest copies of nvbandwidth's README, of logs of H100 and A10, and of GB200 in NVIDIA's documentation."""
    limit, floor = limit_within(gpus(**stated), within), floor_within(gpus(**stated), within)
    assert limit is not None and not isinstance(floor, str)
    assert floor.value_mb_s < measured < limit.value_mb_s
