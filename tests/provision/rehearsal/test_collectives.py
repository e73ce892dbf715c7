"""A rehearsed run of nccl-tests: its output, NCCL's log and the NICs' counters, judged as a real one is."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from railyard.benchmarks.moved_bytes import Repetitions
from railyard.parsers import nccl
from railyard.provision.rehearsal import rank_ports
from railyard.provision.rehearsal.form import Fault
from railyard.provision.rehearsal.rank_ports import LibraryError, Port, Rank
from railyard.site.site import Site, site_at
from railyard.verdict.assess import Assessment
from railyard.verdict.wording import gpu_log as log_words
from tests.provision.rehearsal import conftest
from tests.provision.rehearsal.conftest import Bed

WORDS = "-b 16777216 -e 268435456 -f 2 -t 1 -g 1 -n 20 -w 5 -c 1".split()
GPUS = """\
gpus:
  per_node: 2
  kind: NVIDIA H100 SXM5
  nvlink: 4
  nearest: {mlx5_0: [0], mlx5_1: [1]}
"""
NCCL = """\
stacks:
  nccl:
    mpi: openmpi
    modules: [nccl]
    benchmarks: {nccl: nccl}
"""


@pytest.fixture
def roomy(tmp_path: Path) -> Site:
    """The site of all rehearsals here, with two GPUs a node and NCCL."""
    (tmp_path / "systems").mkdir()
    (tmp_path / "references").mkdir()
    text = conftest.SYSTEM.replace("stacks:\n", NCCL, 1) + GPUS
    (tmp_path / "systems/roomy.yaml").write_text(text, encoding="utf-8")
    return site_at(tmp_path, "roomy")


def run(
    bed: Bed, key: str = "nccl/all_reduce_perf", rails: int = 2, words: Sequence[str] = WORDS, **more: Any
) -> Assessment:
    program = key.split("/")[1]
    given: dict[str, Any] = {"nodes": ("n8", "n9", "n10", "n11"), "per_node": 2, **more}
    ran = bed.run("nccl", "nccl", program, words, rails=rails, **given)
    return ran.assess_run(key, nccl.parse, told=Repetitions(20, 5), validates=True)


SPLIT = {"NCCL_TESTS_SPLIT": "MOD 2"}
OVER = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"}


@pytest.mark.parametrize(
    "collective", ["all_reduce", *(pytest.param(one, marks=pytest.mark.full) for one in ("alltoall", "broadcast"))]
)
def test_a_healthy_collective_is_sound_possible_and_proven(bed: Bed, collective: str) -> None:
    found = run(bed, f"nccl/{collective}_perf")
    assert found.verdict.state == "report-only", found.verdict.text
    assert [rule.state for rule in found.verdict.rules] == ["pass", "pass", "pass", "pass", "not-judged"]


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("two-nodes", {"nodes": ("n8", "n9")}),
        ("rails", {"variables": SPLIT}),
        ("one-gpu", {"per_node": 1, "rails": 1}),
        ("over-nics", {"nodes": ("n8",), "variables": OVER}),
    ],
)
def test_each_part_of_a_system_is_rehearsed_by_what_it_is_told(bed: Bed, part: str, changes: dict[str, Any]) -> None:
    found = run(bed, f"nccl/all_reduce_perf/{part}", **changes)
    assert found.verdict.state == "report-only", found.verdict.text
    assert found.path.state == "proven"


def test_groups_that_the_tests_were_not_told_of_fail(bed: Bed) -> None:
    found = run(bed, "nccl/all_reduce_perf/rails")
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert log_words.one_group(8, 0).partition(" (line")[0] in found.verdict.sentence


def test_a_library_that_steps_back_to_sockets_is_named(bed: Bed) -> None:
    bed.plant(Fault("fallback", "fallback=tcp"))
    found = run(bed)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert "GPU 0 of n8 used the network Socket" in found.verdict.sentence
    assert "No device found" in found.verdict.sentence


def test_a_slow_rail_lowers_the_collective_of_its_group_and_less_the_mean_of_all(bed: Bed) -> None:
    words = [*WORDS, "-a", "3"]
    healthy = max(run(bed, "nccl/all_reduce_perf/rails", words=words, variables=SPLIT).curves[0].values)
    bed.plant(Fault("slow", "slow=n10/mlx5_1:1", "n10", "mlx5_1:1", share=0.25))
    slow = max(run(bed, "nccl/all_reduce_perf/rails", words=words, variables=SPLIT).curves[0].values)
    assert slow == pytest.approx(0.25 * healthy, rel=0.01)
    # two groups, one of which takes four times as long: the mean of both times is 2.5 times as long
    mean = max(run(bed, "nccl/all_reduce_perf/rails", variables=SPLIT).curves[0].values)
    assert mean == pytest.approx(healthy / 2.5, rel=0.01)


def test_a_nic_that_a_node_leaves_out_makes_no_other_node_look_idle(bed: Bed) -> None:
    bed.plant(Fault("idle", "rail=n10:mlx5_0,idle", "n10", "mlx5_0:1"))
    found = run(bed)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 4)
    assert [(one.kind, one.node, one.rail) for one in found.verdict.suspects] == [("rail", "n10", "mlx5_0:1")]


CARDS = tuple(Port(f"{name}:1", "verbs") for name in ("mlx5_0", "mlx5_1", "mlx5_10"))
ETH = Port("eth0", "net")


@pytest.mark.parametrize(
    ("variables", "names"),
    [
        ({"NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_0:1,mlx5_1:1"}, ["mlx5_0:1", "mlx5_1:1"]),
        # Without the = a name is the beginning of a name.
        ({"NCCL_IB_HCA": "mlx5_1"}, ["mlx5_1:1", "mlx5_10:1"]),
        ({"NCCL_IB_HCA": "^=mlx5_1"}, ["mlx5_0:1", "mlx5_10:1"]),
        ({"NCCL_IB_HCA": "=mlx5_0:2"}, ["eth0"]),
        ({"NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "=eth0"}, ["eth0"]),
    ],
)
def test_nccl_takes_the_nics_that_its_guide_says(variables: dict[str, str], names: list[str]) -> None:
    assert [port.name for port in rank_ports.take_ports("nccl", variables, (*CARDS, ETH), Rank()).ports] == names


def test_nccl_that_was_told_infiniband_ends_where_there_is_none() -> None:
    with pytest.raises(LibraryError, match="Failed to initialize any NET plugin"):
        rank_ports.take_ports("nccl", {"NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_7:1"}, (*CARDS, ETH), Rank())
