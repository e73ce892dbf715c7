"""The part `gpus` of a system's file: its meaning for the physics, and the sentence for each mistake in it."""

from datetime import date
from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.benchmarks.gpu_collectives import busbw_bound
from railyard.hardware.gpu_nodes import Shape
from railyard.site.gpu_shape import gpu_node
from railyard.site.references.lint import findings
from railyard.site.references.load import References
from railyard.site.systems.load import load_system

SITE = """\
system: site
description: A cluster
nodes: {count: 4}
fabrics:
  ndr:
    description: NDR
    kind: ib
    link: ib-ndr
    slot: pcie5-x16
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
      - {device: mlx5_1, port: 1, counters: mlx5}
      - {device: mlx5_2, port: 1, counters: mlx5}
      - {device: mlx5_3, port: 1, counters: mlx5}
  old:
    description: HDR in the slots of a PCIe 3 server
    kind: ib
    link: ib-hdr
    slot: pcie3-x16
    rails:
      - {device: mlx5_4, port: 1, counters: mlx5}
stacks:
  openmpi:
    modules: [openmpi/4.1.6]
    benchmarks: {osu: /opt/osu/bin}
"""
GPUS = "gpus: {per_node: 8, kind: NVIDIA H100 SXM5, nvlink: 4, slot: pcie5-x16, nearest: {mlx5_0: [0, 1]}}\n"


def write(folder: Path, gpus: str) -> Path:
    (folder / "systems").mkdir(exist_ok=True)
    path = folder / "systems" / "site.yaml"
    path.write_text(SITE + gpus, encoding="utf-8")
    return path


def test_a_systems_gpus_are_the_shape_that_physics_asks_for(tmp_path: Path) -> None:
    system = load_system(write(tmp_path, GPUS))
    node = gpu_node(system, "ndr")
    assert node is not None
    shape = Shape(node, 2, None)
    assert shape.ranks == 16
    found = busbw_bound("all_reduce", "ring", shape)
    assert found.limited_by == "NIC"
    # four NICs of 50 GB/s; 4096/4122 of this is payload
    assert found.busbw_mb_s == pytest.approx(4 * 50_000 * 4096 / 4122)
    two = gpu_node(system, "ndr", rails=2)
    assert two is not None and two.network is not None
    assert two.network.value_mb_s == pytest.approx(2 * 50_000 * 4096 / 4122)
    assert two.reduces and two.gpu_slot is not None


def test_slots_that_hold_the_nics_back_are_seen(tmp_path: Path) -> None:
    system = load_system(write(tmp_path, GPUS))
    node = gpu_node(system, "old")
    assert node is not None
    assert busbw_bound("all_gather", "ring", Shape(node, 4, None)).limited_by == "slot"


def test_a_system_without_gpus_has_no_shape(tmp_path: Path) -> None:
    assert gpu_node(load_system(write(tmp_path, "")), "ndr") is None


@pytest.mark.parametrize(
    ("gpus", "per_gpu"),
    [
        ("{per_node: 8, kind: X, nvlink: 4}", 450_000),
        ("{per_node: 8, kind: X, nvlink: 4, nvlinks: 8}", 200_000),
        ("{per_node: 8, kind: X, xgmi: mi300x}", 448_000),
        ("{per_node: 8, kind: X, slot: pcie4-x16}", 31507.69 * 512 / 536),
        ("{per_node: 8, kind: X}", None),
    ],
)
def test_what_connects_gpus(tmp_path: Path, gpus: str, per_gpu: float | None) -> None:
    found = load_system(write(tmp_path, f"gpus: {gpus}\n")).gpus
    assert found is not None
    if per_gpu is None:
        assert found.link is None
    else:
        assert found.link is not None and found.link.rate_mb_s(8) == pytest.approx(per_gpu)


def test_a_gpu_has_the_nics_that_name_it(tmp_path: Path) -> None:
    near = "{mlx5_0: [0], mlx5_1: [0], mlx5_2: [1], mlx5_3: [2]}"
    found = load_system(write(tmp_path, f"gpus: {{per_node: 4, kind: X, nearest: {near}}}\n")).gpus
    assert found is not None
    assert found.nics_of_gpu(("mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3")) == 2
    assert found.nics_of_gpu(("mlx5_2",)) == 1
    plain = load_system(write(tmp_path, "gpus: {per_node: 2, kind: X}\n")).gpus
    assert plain is not None and plain.nics_of_gpu(("a", "b", "c", "d")) == 2


@pytest.mark.parametrize(
    ("gpus", "said"),
    [
        ("{per_node: 8, kind: X, nvlink: 4}", []),
        (
            "{per_node: 8, kind: X}",
            ["gpus: none of nvlink, xgmi and slot is stated, so nothing bounds what the GPUs of a node exchange"],
        ),
        (
            "{per_node: 4, kind: X, nvlink: 4, nearest: {mlx5_0: [0, 3]}}",
            ["gpus.nearest: no NIC is nearest to GPU 1 and GPU 2"],
        ),
    ],
)
def test_lint_says_what_is_left_out(tmp_path: Path, gpus: str, said: list[str]) -> None:
    found = findings(References(load_system(write(tmp_path, f"gpus: {gpus}\n"))), (), date(2026, 11, 23))
    assert [one.what for one in found if one.what.startswith("gpus")] == said
    assert all(one.weight == "remark" for one in found if one.what.startswith("gpus"))


REFUSED = (
    (
        "{per_node: 8, kind: X, nvlink: 4, xgmi: mi300x}",
        "gpus: found both nvlink and xgmi, expected one of them: what connects the GPUs of a node",
    ),
    (
        "{per_node: 8, kind: X, nvlink: 4, nvlinks: 19}",
        "gpus.nvlinks: found 19, expected at most 18, the number of NVLink 4 per GPU",
    ),
    ("{per_node: 8, kind: X, nvlinks: 8}", "gpus.nvlinks: found 8, expected nvlink, its generation"),
    (
        "{per_node: 8, kind: X, nvlink: 5, domain: 12}",
        "gpus.domain: found 12, expected nvlink, and whole nodes of 8 GPUs",
    ),
    (
        "{per_node: 8, kind: X, nearest: {mlx5_9: [0]}}",
        'gpus.nearest: found "mlx5_9", expected a device of a rail; did you mean "mlx5_4"?',
    ),
    (
        "{per_node: 8, kind: X, nearest: {mlx5_1: [0, 8]}}",
        "gpus.nearest.mlx5_1: found GPU 8, expected numbers from 0 to 7, of the 8 GPUs of a node",
    ),
    ("{per_node: 8}", 'gpus.kind: found nothing, expected the field "kind"; add it'),
)


@pytest.mark.parametrize(("gpus", "said"), REFUSED, ids=[gpus for gpus, _ in REFUSED])
def test_what_is_wrong_is_said(tmp_path: Path, gpus: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        load_system(write(tmp_path, f"gpus: {gpus}\n"))
    assert str(error.value) == f"systems/site.yaml:26: {said}"


@pytest.mark.parametrize(
    ("gpus", "memory", "said"),
    [
        ("", "cuda", "found cuda, expected also the GPUs of the nodes (gpus:)"),
        (
            "gpus: {per_node: 8, kind: X, nvlink: 4}\n",
            "rocm",
            "found rocm, expected cuda: NVLink connects NVIDIA's GPUs",
        ),
        ("gpus: {per_node: 8, kind: X, xgmi: mi300x}\n", "cuda", "found cuda, expected rocm: xGMI connects AMD's GPUs"),
    ],
)
def test_messages_lie_in_the_memory_of_the_gpus_that_there_are(
    tmp_path: Path, gpus: str, memory: str, said: str
) -> None:
    path = write(tmp_path, "")
    path.write_text(f"{path.read_text(encoding='utf-8')}    device_buffers: {memory}\n{gpus}", encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_system(path)
    assert str(error.value) == f"systems/site.yaml:26: stacks.openmpi.device_buffers: {said}"
