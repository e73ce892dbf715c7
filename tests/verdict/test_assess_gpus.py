"""Runs from GPU memory: what an output must say, which bounds apply, and copies within every node."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from railyard.benchmarks.apps.every_node import nvbandwidth_of_nodes
from railyard.benchmarks.moved_bytes import Repetitions
from railyard.parsers import osu, perftest
from railyard.site.references.load import References
from railyard.site.site import Site
from railyard.site.systems.load import load_system
from railyard.verdict.assess import Assessment
from railyard.verdict.wording.reference import say_crossed
from tests.made.judged_run import TAG, case_of, judge_output
from tests.made.systems import GPUS

NODES = ("vn1", "vn2")
SIZE = 4 << 20
WINDOW, REPETITIONS = 16, 2
#: MB that a run over one rail moves: two windows of 16 messages of 4 MiB, with headers.
MOVED = REPETITIONS * WINDOW * SIZE * 4122 / 4096 / 1e6
TO_GPUS = "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
TO_HOST = "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n"


def site(folder: Path, old: str = "", new: str = "") -> Site:
    path = folder / "made.yaml"
    path.write_text(GPUS.replace(old, new, 1), encoding="utf-8")
    system = load_system(path)
    return Site(folder, system, References(system))


def counters(node: str, moved: Mapping[str, tuple[float, float]]) -> str:
    """Return what the counter reader writes about mlx5's ports: MB that each sent and received."""
    lines = [f"railyard-counters 1 {TAG}", f"node {node}", "first-by SLURM_LOCALID"]
    lines += [f"{'meant' if card == 'mlx5_0:1' else 'watched'} {card}" for card in moved]
    for when, at in (("before", 10), ("after", 15)):
        lines.append(f"{when} at {at}.00")
        for card, megabytes in moved.items():
            for counter, mb in zip(("port_xmit_data", "port_rcv_data"), megabytes, strict=True):
                lines.append(f"{when} {card} {counter} {1000 + round(mb * 1e6 / 4) * (when == 'after')}")
    return "\n".join([*lines, "end 0", ""])


def ran(
    made: Site, output: str, key: str = "osu/osu_bw/device", moved: float = MOVED, beside: float = 0.1
) -> Assessment:
    """Return the assessment of a run over one rail of openmpi: ``moved`` MB over it, ``beside`` MB over the other."""
    case = case_of(
        made, key, stack="openmpi", fabric="ndr", launch={"nodes": NODES, "memory": "cuda"},
        repetitions=Repetitions(REPETITIONS, 0), window=WINDOW, time_limit_s=60, sizes=(SIZE,),
    )  # fmt: skip
    cards = (
        {"mlx5_0:1": (moved, 0.1), "mlx5_1:1": (beside, 0.1)},
        {"mlx5_0:1": (0.1, moved), "mlx5_1:1": (0.1, beside)},
    )
    return judge_output(case, output, osu.parse, counters=tuple(map(counters, NODES, cards)))


def osu_output(mb_s: float, buffers: str = TO_GPUS, title: str = "MPI-CUDA Bandwidth", version: str = "7.4") -> str:
    return f"# OSU {title} Test v{version}\n{buffers}# Size      Bandwidth (MB/s)\n{SIZE}    {mb_s:.2f}\n"


def verdict_summary(found: Assessment) -> tuple[str, int | None, str]:
    return found.verdict.state, found.verdict.rule, found.verdict.text


def test_a_stream_between_gpus_is_judged_by_the_smallest_of_link_card_and_gpu(tmp_path: Path) -> None:
    found = ran(site(tmp_path), osu_output(48_900))
    assert verdict_summary(found)[:2] == ("report-only", None)
    assert "bandwidth holds day-one" in verdict_summary(found)[2]
    assert found.path.state == "proven"


@pytest.mark.parametrize(
    ("output", "why"),
    [
        (osu_output(48_900, "", "MPI Bandwidth"), "the table is of osu/osu_bw"),
        (osu_output(48_900, ""), "the table is of osu/osu_bw"),
        (osu_output(48_900, TO_HOST), "the table is of osu/osu_bw/device-host"),
        (osu_output(48_900, "", "MPI Bandwidth", "7.5"), "the table is of osu/osu_bw"),
    ],
    ids=["title and heading of the host", "no heading of buffers", "one end in the host", "7.5 from the host"],
)
def test_an_output_that_does_not_say_that_its_buffers_were_in_gpus_fails(tmp_path: Path, output: str, why: str) -> None:
    state, rule, text = verdict_summary(ran(site(tmp_path), output))
    assert (state, rule) == ("fail", 2)
    assert why in text


def test_an_output_from_gpus_is_none_of_a_test_of_host_buffers(tmp_path: Path) -> None:
    state, rule, text = verdict_summary(ran(site(tmp_path), osu_output(48_900), "osu/osu_bw"))
    assert (state, rule) == ("fail", 2)
    assert "the table is of osu/osu_bw/device" in text


def test_a_release_whose_titles_alone_say_it_is_believed(tmp_path: Path) -> None:
    assert verdict_summary(ran(site(tmp_path), osu_output(48_900, "", version="7.5")))[0] == "report-only"


def test_more_than_the_slot_of_the_gpu_is_impossible(tmp_path: Path) -> None:
    made = site(tmp_path, "slot: pcie5-x16\n  nearest", "slot: pcie4-x16\n  nearest")
    assert verdict_summary(ran(made, osu_output(29_900)))[0] == "report-only"
    state, rule, text = verdict_summary(ran(made, osu_output(48_900)))
    assert (state, rule) == ("fail", 3)
    assert "slot of the GPU pcie4-x16" in text


def test_a_stream_that_is_copied_through_the_hosts_memory_is_below_the_floor(tmp_path: Path) -> None:
    found = ran(site(tmp_path), osu_output(24_000))
    state, rule, text = verdict_summary(found)
    miss = found.verdict.miss
    assert (state, rule, miss is not None and round(miss.bound)) == ("fail", 5, 32295)
    assert "day-one" in text and "looks like" not in text


def test_no_floor_is_taken_from_a_link_that_an_unknown_slot_may_hold_back(tmp_path: Path) -> None:
    found = ran(site(tmp_path, "  slot: pcie5-x16\n  nearest", "  nearest"), osu_output(24_000))
    assert verdict_summary(found)[:2] == ("report-only", None)
    assert "the file does not give a GPU's slot (gpus: slot)" in verdict_summary(found)[2]


def test_the_counters_prove_that_the_bytes_went_over_the_rail(tmp_path: Path) -> None:
    state, rule, text = verdict_summary(ran(site(tmp_path), osu_output(48_900), moved=0.2, beside=MOVED))
    assert (state, rule) == ("fail", 4)
    assert "mlx5_1" in text


PERFTEST = """\
 initializing CUDA
 Listing all CUDA devices in system:
 CUDA device 0: PCIe address is 1B:00
 Picking device No. 0
 [pid = 4711, dev = 0] device name = [NVIDIA H100 80GB HBM3]
"""
ROWS = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_0
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 8388608    1000             46700.00            46632.00             0.005829
---------------------------------------------------------------------------------------
"""


@pytest.mark.parametrize(("head", "fails"), [(PERFTEST, False), ("", True)])
def test_perftest_must_say_whose_memory_it_used(tmp_path: Path, head: str, fails: bool) -> None:
    made = site(tmp_path)
    key = "perftest/ib_write_bw/device"
    case = case_of(made, key, stack="verbs", fabric="ndr", launch={"nodes": NODES, "memory": "cuda"}, time_limit_s=60)
    moved = 1000 * 8388608 * 4122 / 4096 / 1e6
    cards = ({"mlx5_0:1": (moved, 0.1), "mlx5_1:1": (0.1, 0.1)}, {"mlx5_0:1": (0.1, moved), "mlx5_1:1": (0.1, 0.1)})
    found = judge_output(case, head + ROWS, perftest.parse, counters=tuple(map(counters, NODES, cards)))
    if fails:
        assert (
            verdict_summary(found)[:2] == ("fail", 2)
            and "the table is of perftest/ib_write_bw" in verdict_summary(found)[2]
        )
    else:
        assert verdict_summary(found)[:2] == ("report-only", None)


def node(name: str, rates: tuple[float, ...], test: str = "host_to_device_memcpy_ce") -> str:
    """Return a node's synthetic output of nvbandwidth 0.8."""
    head = "".join(f"{number:10d}" for number in range(len(rates)))
    row = "".join(f"{rate:10.2f}" for rate in rates)
    return (
        f"# railyard: node {name} {TAG}\nnvbandwidth Version: v0.8\n\nRunning {test}.\n"
        f"memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n {head}\n 0{row}\n\nSUM {test} {sum(rates):.2f}\n"
        "# railyard: end 0\n"
    )


def on_every_node(made: Site, output: str) -> Assessment:
    case = case_of(
        made, "nvbandwidth/host_to_device_memcpy_ce/every-node", stack="openmpi", fabric="ndr",
        launch={"nodes": NODES, "within_node": True}, time_limit_s=60,
    )  # fmt: skip
    idle = {"mlx5_0:1": (0.1, 0.1), "mlx5_1:1": (0.1, 0.1)}
    return judge_output(case, output, nvbandwidth_of_nodes, counters=tuple(counters(name, idle) for name in NODES))


HEALTHY = (55.36,) * 8


def test_the_slowest_copy_of_all_nodes_is_judged_by_the_gpus_slot(tmp_path: Path) -> None:
    found = on_every_node(site(tmp_path), node("vn1", HEALTHY) + node("vn2", (*HEALTHY[:7], 53.61)))
    assert verdict_summary(found)[:2] == ("report-only", None)
    assert [curve.values for curve in found.curves] == [(53610.0,)]
    state, rule, text = verdict_summary(
        on_every_node(site(tmp_path), node("vn1", HEALTHY) + node("vn2", (*HEALTHY[:7], 27.6)))
    )
    assert (state, rule) == ("fail", 5)
    assert "27600" in text and f"{say_crossed(['slots of GPUs'], ['vn1', 'vn2'])}; slowest: vn2" in text
    found = on_every_node(site(tmp_path), node("vn1", HEALTHY) + node("vn2", (*HEALTHY[:7], 27.6)))
    assert [(one.kind, one.node, one.reason) for one in found.verdict.suspects] == [
        (
            "node",
            "vn2",
            "GPU 7 of vn2: 27600 MB/s, where the fastest copy of all nodes has 55360; looks like 8 of the 16 lanes of "
            "its slot, or like an older generation: see LnkSta in lspci -vv",
        )
    ]


@pytest.mark.parametrize(
    ("gb_s", "lanes"),
    [(27.6, "8 of the 16"), (13.8, "4 of the 16"), (3.4, "1 of the 16"), (40.0, ""), (20.0, "")],
)
def test_a_copy_of_fewer_lanes_looks_like_them_and_another_rate_like_nothing(
    tmp_path: Path, gb_s: float, lanes: str
) -> None:
    found = on_every_node(site(tmp_path), node("vn1", HEALTHY) + node("vn2", (*HEALTHY[:7], gb_s)))
    (suspect,) = found.verdict.suspects
    assert f"looks like {lanes} lanes" in suspect.reason if lanes else "looks like" not in suspect.reason


def test_a_site_with_references_has_the_same_floor_for_what_no_entry_names(tmp_path: Path) -> None:
    made = site(tmp_path, "report_only: a made system has no references", "report_only: false")
    assert verdict_summary(on_every_node(made, node("vn1", HEALTHY) + node("vn2", HEALTHY)))[0] == "pass"
    assert verdict_summary(on_every_node(made, node("vn1", HEALTHY) + node("vn2", (27.6,) * 8)))[:2] == ("fail", 5)


@pytest.mark.parametrize(
    ("of_vn2", "rule", "why"),
    [
        (node("vn2", HEALTHY[:7]), 1, "nvbandwidth on vn2 made 7 copies, expected 8 with 8 GPUs"),
        (node("vn2", (*HEALTHY[:7], 65.0)), 3, "65000"),
        ("", 1, "nvbandwidth gave no result on vn2"),
        (node("vn2", HEALTHY, "device_to_host_memcpy_ce"), 1, "the nodes ran different tests"),
    ],
    ids=["a GPU is gone", "faster than its slot", "a node is silent", "another test"],
)
def test_what_no_healthy_node_gives_fails(tmp_path: Path, of_vn2: str, rule: int, why: str) -> None:
    found = on_every_node(site(tmp_path), node("vn1", HEALTHY) + of_vn2)
    state, failed, text = verdict_summary(found)
    assert (state, failed) == ("fail", rule)
    assert why in text
    if "copies" in why:
        assert [(one.kind, one.node, one.reason) for one in found.verdict.suspects] == [
            ("node", "vn2", f"{why}: see nvidia-smi -L for a GPU that is gone")
        ]
