"""GPU settings of benchmarks: OSU's words and one visible GPU per rank, perftest's numbers per rail."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.table.osu import BUFFERS
from railyard.rfm.checks.gpu import gpu_of, memory_of, one_gpu, osu_words
from railyard.site.systems.load import load_system
from railyard.site.test_id import TestId
from tests.made.systems import GPUS


@pytest.mark.parametrize(
    ("where", "words"), [("device", "-d cuda D D"), ("host-device", "-d cuda H D"), ("device-host", "-d cuda D H")]
)
def test_osu_is_told_where_the_buffers_of_both_ranks_lie(where: str, words: str) -> None:
    assert where in BUFFERS.values()
    assert osu_words(where, "cuda") == words.split()


def test_a_rank_sees_its_gpu_alone_by_the_number_of_nvidia_smi() -> None:
    assert one_gpu("cuda", 6) == {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "6"}
    assert one_gpu("rocm", 6) == {"ROCR_VISIBLE_DEVICES": "6"}


def check(folder: Path, stack: str, rails: int, policy: str, text: str = GPUS) -> Any:
    path = folder / "made.yaml"
    path.write_text(text, encoding="utf-8")
    test = TestId("ndr", stack, rails, policy=policy)
    return SimpleNamespace(
        site=SimpleNamespace(system=load_system(path)),
        current_environ=SimpleNamespace(name=stack),
        rails=rails,
        test_id=test,
    )


@pytest.mark.parametrize(
    ("rails", "policy", "gpus"),
    [
        (1, "single", {"mlx5_0:1": 2}),
        (1, "rail-2", {"mlx5_1:1": 6}),
        (2, "nic-per-rank", {"mlx5_0:1": 2, "mlx5_1:1": 6}),
    ],
)
def test_each_rail_has_the_gpu_that_is_nearest_to_it(
    tmp_path: Path, rails: int, policy: str, gpus: dict[str, int]
) -> None:
    assert gpu_of(check(tmp_path, "verbs", rails, policy)) == gpus


def test_the_file_says_how_a_stack_reaches_gpus(tmp_path: Path) -> None:
    assert memory_of(check(tmp_path, "openmpi", 1, "single")) == "cuda"
    with pytest.raises(RailyardError) as error:
        memory_of(check(tmp_path, "mpich", 1, "single"))
    assert str(error.value) == "systems/made.yaml: stacks: mpich: found no device_buffers, expected cuda or rocm"


def test_a_rail_without_a_gpu_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RailyardError, match=r"^systems/made.yaml: gpus: nearest names no GPU of mlx5_1:1$"):
        gpu_of(check(tmp_path, "verbs", 2, "nic-per-rank", GPUS.replace(", mlx5_1: [6]", "")))
