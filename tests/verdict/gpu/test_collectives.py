"""A run of nccl-tests on a system with GPUs: the verdict from its bytes, bounds, groups and log."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from railyard.base.wording import IMPOSSIBLE
from railyard.benchmarks.moved_bytes import Repetitions
from railyard.parsers import nccl
from railyard.stacks import wording as stack_words
from railyard.verdict.assess import Assessment
from railyard.verdict.gpu.collectives import shape_of_run
from railyard.verdict.wording import gpu_runs
from railyard.verdict.wording.gpu_runs import above_floor_of_healthy
from tests.made.judged_run import case_of, judge_output
from tests.made.nccl import GPUS, RAILS, REPORT_ONLY, SIZES, SYSTEM, gpu_site, log_line, output, over_nics

OWN = {gpu: gpu for gpu in range(GPUS)}
#: Healthy values, GB/s times 1000: four NICs of 49.7 GB/s carry a ring's busbw.
RATES = dict.fromkeys(SIZES, 180_000.0)
#: Bytes of all sizes, twenty times out of place and twenty times in place.
MOVED = 2 * 20 * sum(SIZES)
#: The same for one group, which has its own NIC in place of four.
RATES_OF_A_GROUP = dict.fromkeys(SIZES, 47_000.0)


def run(
    folder: Path,
    key: str,
    rates: Mapping[int, float] = RATES,
    *,
    nodes: tuple[str, ...] = ("g1", "g2", "g3", "g4"),
    rails: int = 4,
    gpus: int = GPUS,
    mb: float | Mapping[str, float] | None = None,
    printed: str | None = None,
    more: str = REPORT_ONLY,
    system: str = SYSTEM,
    within: bool = False,
    log: list[str] | None = None,
    groups: int = 1,
    **left: Any,
) -> Assessment:
    """Return the verdict of a run whose rails carried ``mb`` MB each way, given per rail or for each rail."""
    site = gpu_site(folder, more, system)
    words = {"nodes": nodes, "ranks": len(nodes) * gpus, "ranks_per_node": gpus, "within_node": within}
    case = case_of(
        site, key, stack="nccl", rails=rails, fabric="ndr", launch=words, repetitions=Repetitions(20, 5),
        validates=True, sizes=tuple(rates), pairs=gpus,
    )  # fmt: skip
    collective = key.split("/")[1].removesuffix("_perf")
    text = printed or output(
        collective, nodes, rates, gpus=gpus, groups=groups,
        log=over_nics(nodes, dict(list(OWN.items())[:gpus])) if log is None else log,
    )  # fmt: skip
    each = mb if isinstance(mb, Mapping) else dict.fromkeys(RAILS[:rails], 0.1 if mb is None else mb)
    moved = {node: {rail: (value, value) for rail, value in each.items()} for node in nodes}
    return judge_output(case, text, nccl.parse, moved, **left)


#: A ring over 16 GPUs carries 2 x 15/16 of the size through the four NICs of a node.
OF_A_RING = MOVED * 2 * 15 / 16 / 4 / 1e6


def test_a_healthy_run_is_proven_by_the_bytes_of_each_nic(tmp_path: Path) -> None:
    found = run(tmp_path, "nccl/all_reduce_perf", mb=OF_A_RING)
    assert found.verdict.state == "report-only", found.verdict.text
    assert [rule.state for rule in found.verdict.rules] == ["pass"] * 5
    assert "25.0 % over mlx5_0:1" in found.verdict.rules[3].sentence
    assert "bandwidth 180000 MB/s at 256 MiB is 72.5 % of the limit" in found.verdict.rules[2].sentence


def test_a_healthy_run_without_references_says_what_judged_it(tmp_path: Path) -> None:
    found = run(tmp_path, "nccl/all_reduce_perf", mb=OF_A_RING)
    healthy = above_floor_of_healthy(180.0, 1 << 30, "tree (at most 186.3 GB/s, set by NIC)")
    assert found.verdict.sentence.startswith(f"report-only (made up for tests): {healthy}; ")
    short = dict.fromkeys([size // 1024 for size in SIZES], 90_000.0)
    found = run(tmp_path, "nccl/all_reduce_perf", short, mb=OF_A_RING / 1024)
    assert found.verdict.sentence == (f"report-only (made up for tests): not judged: {gpu_runs.no_long_message()}")
    found = run(tmp_path, "nccl/all_reduce_perf", mb=OF_A_RING, rehearsed=True)
    assert found.verdict.sentence == (
        "report-only (made up for tests): not judged: no source gives a floor for a run whose ranks share the links, "
        "so only a reference says whether it is fast enough"
    )


@pytest.mark.parametrize(
    ("rates", "state", "sentence"),
    [
        (
            (40e3, 40e3, 40e3),
            "fail",
            "busbw of long messages is at most 40.00 GB/s (at 1 GiB), 21.5 % of the lowest bound",
        ),
        ((180e3, 180e3, 120e3), "disturbed", gpu_runs.fall(120.0, SIZES[2], False, 2 / 3, 180.0, SIZES[0])),
        ((180e3, 80e3, 180e3), "disturbed", gpu_runs.dip(80.0, SIZES[1], False, 4 / 9, 180.0, False)),
    ],
)
def test_a_curve_that_healthy_nodes_do_not_show_fails_without_any_reference(
    rates: tuple[float, ...], state: str, sentence: str, tmp_path: Path
) -> None:
    found = run(tmp_path, "nccl/all_reduce_perf", dict(zip(SIZES, rates, strict=True)), mb=OF_A_RING)
    assert (found.verdict.state, found.verdict.rule) == (state, 5), found.verdict.text
    assert sentence in found.verdict.sentence
    # A stand-in of a rehearsal computes nothing.
    rehearsed = run(
        tmp_path, "nccl/all_reduce_perf", dict(zip(SIZES, rates, strict=True)), mb=OF_A_RING, rehearsed=True
    )
    assert rehearsed.verdict.state == "report-only", rehearsed.verdict.text


REFERENCE = """\
system: gpus
sources: {made: {document: made up for tests, date: 2026-11-23}}
entries:
  - id: sendrecv
    kind: published
    fabric: ndr
    benchmark: nccl/sendrecv_perf
    metric: bandwidth
    unit: MB/s
    rails: 4
    policy: striping
    curve: {256M: 45000, 512M: 45000, 1G: 46000}
    tolerance: {low: 0.1}
    source: {of: made}
"""


def test_a_system_with_references_must_have_one_of_it_and_is_held_to_the_whole_curve(tmp_path: Path) -> None:
    (tmp_path / "references").mkdir()
    (tmp_path / "references" / "gpus.yaml").write_text(REFERENCE, encoding="utf-8")
    found = run(tmp_path, "nccl/all_reduce_perf", mb=OF_A_RING, more="")
    assert (found.verdict.state, found.verdict.rule) == ("fail", 5)
    assert "no reference" in found.verdict.sentence
    rates = {SIZES[0]: 44_000.0, SIZES[1]: 46_000.0, SIZES[2]: 46_000.0}
    found = run(tmp_path, "nccl/sendrecv_perf", rates, mb=MOVED / 4 / 1e6, more="")
    assert found.verdict.state == "pass", found.verdict.text
    found = run(tmp_path, "nccl/sendrecv_perf", {**rates, SIZES[1]: 38_000.0}, mb=MOVED / 4 / 1e6, more="")
    assert (found.verdict.state, found.verdict.rule) == ("fail", 5)
    assert "at 512 MiB" in found.verdict.sentence


def test_what_no_algorithm_can_show_is_impossible(tmp_path: Path) -> None:
    found = run(tmp_path, "nccl/alltoall_perf", dict.fromkeys(SIZES, 837_000.0), mb=OF_A_RING)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 3)
    assert found.verdict.sentence.startswith(f"{IMPOSSIBLE}bandwidth 837000 MB/s at 256 MiB is ")
    assert "sends and receives by nccl-tests itself on 4 nodes of 4 GPUs" in found.verdict.sentence


def test_nics_that_carried_less_than_any_algorithm_must_are_not_proven(tmp_path: Path) -> None:
    # With in-network reduction the size itself remains: with less, the bytes did not go over these NICs.
    least = MOVED / 4 / 1e6
    assert run(tmp_path, "nccl/all_reduce_perf", mb=least).path.state == "proven"
    found = run(tmp_path, "nccl/all_reduce_perf", mb=0.9 * least)
    assert (found.verdict.rule, found.path.state) == (4, "not-proven")


def test_a_rail_that_nothing_used_is_the_librarys_doing(tmp_path: Path) -> None:
    mb = {**dict.fromkeys(RAILS, OF_A_RING * 4 / 3), "mlx5_2:1": 0.1}
    found = run(tmp_path, "nccl/all_reduce_perf", mb=mb)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 4)
    assert [(one.kind, one.rail) for one in found.verdict.suspects] == [("stack", None)]


def test_sockets_in_place_of_infiniband_are_named_with_their_reason(tmp_path: Path) -> None:
    log = [log_line("g1", 0, "NET/IB : No device found."), log_line("g1", 0, "Using network Socket")]
    found = run(tmp_path, "nccl/all_reduce_perf", mb=0.1, log=log)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert found.verdict.sentence == (
        'GPU 0 of g1 used the network Socket (line 23 of the output), expected IB, since "NET/IB : No device found." '
        "(line 22)"
    )


# Groups: each GPU with its own NIC


def rails(folder: Path, **changes: Any) -> Assessment:
    given: dict[str, Any] = {"groups": GPUS, "mb": MOVED * 2 * 3 / 4 / 1e6, **changes}
    return run(folder, "nccl/all_reduce_perf/rails", given.pop("rates", RATES_OF_A_GROUP), **given)


def test_each_rail_by_itself_carries_what_its_group_moved(tmp_path: Path) -> None:
    found = rails(tmp_path)
    assert found.verdict.state == "report-only", found.verdict.text
    assert found.path.state == "proven"


def test_a_group_is_bounded_by_its_own_nic(tmp_path: Path) -> None:
    # 47 of the 49.7 GB/s of one NDR card after headers, a quarter of the rate of the node's four
    assert "is 94.6 % of the limit, 49685 MB/s" in rails(tmp_path).verdict.rules[2].sentence
    found = rails(tmp_path, rates=dict.fromkeys(SIZES, 180_000.0))
    assert (found.verdict.state, found.verdict.rule) == ("fail", 3)


def test_one_slow_rail_of_groups_is_seen_by_its_share(tmp_path: Path) -> None:
    mb = dict.fromkeys(RAILS, MOVED * 2 * 3 / 4 / 1e6)
    mb["mlx5_1:1"], mb["mlx5_0:1"] = mb["mlx5_1:1"] * 0.5, mb["mlx5_0:1"] * 1.5
    found = rails(tmp_path, mb=mb)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 4)
    assert "rail mlx5_1:1 of g1 sent 12.5 %" in found.verdict.sentence


def test_warm_ups_of_a_ring_are_nobody_elses_traffic(tmp_path: Path) -> None:
    # No algorithm carries less than S per NIC; a ring carries 1.5 S, 29 times in place of 20 with warm-ups and checks.
    (tmp_path / "references").mkdir()
    own = REFERENCE.replace("sendrecv_perf", "all_reduce_perf/rails")
    (tmp_path / "references" / "gpus.yaml").write_text(own, encoding="utf-8")
    mb, slow = MOVED * 27 / 20 * 2 * 3 / 4 / 1e6, dict.fromkeys(SIZES, 23_000.0)
    found = rails(tmp_path, rates=slow, mb=mb, more="")
    assert (found.verdict.state, found.verdict.rule) == ("fail", 5), found.verdict.text
    # Twice the bytes of the busiest algorithm are not all the run's own.
    found = rails(tmp_path, rates=slow, mb=4 * mb, more="")
    assert found.verdict.state == "disturbed", found.verdict.text
    assert "shared: " in found.verdict.text


def test_a_gpu_that_sends_by_anothers_nic_is_named(tmp_path: Path) -> None:
    swapped = over_nics(("g1", "g2", "g3", "g4"), {0: 0, 1: 2, 2: 1, 3: 3})
    found = rails(tmp_path, log=swapped)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert found.verdict.sentence == (
        "GPU 1 of g1 sends over mlx5_2 (line 27 of the output), but in the system's file it is nearest to mlx5_1"
    )


def test_a_farther_nic_decides_nothing_where_rings_are_the_librarys_choice(tmp_path: Path) -> None:
    swapped = over_nics(("g1", "g2", "g3", "g4"), {0: 0, 1: 2, 2: 1, 3: 3})
    found = run(tmp_path, "nccl/all_reduce_perf", mb=OF_A_RING, log=swapped)
    assert found.verdict.state == "report-only"
    assert any(remark.startswith("GPU 1 of g1 sends over mlx5_2") for remark in found.verdict.remarks)


def test_groups_that_were_not_made_are_seen(tmp_path: Path) -> None:
    found = rails(tmp_path, groups=1)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert "all 16 ranks are one group (line 6 of the output)" in found.verdict.sentence


def test_two_gpus_of_a_node_in_one_group_are_a_launcher_that_deals_ranks_otherwise(tmp_path: Path) -> None:
    nodes = ("g1", "g2", "g3", "g4")
    text = output("all_reduce", nodes, RATES_OF_A_GROUP, groups=GPUS)
    dealt = [nodes[rank % 4] for rank in range(16)]
    lines = text.splitlines()
    for place, line in enumerate(lines):
        if line.startswith("#  Rank"):
            before, device = line[: line.index(" on ")], line.split("device")[1]
            lines[place] = f"{before} on {dealt[int(line.split()[2])]:>4} device{device}"
    found = rails(tmp_path, printed="\n".join([*lines, ""]))
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert "group 0 has ranks 0 and 4 on g1 (line 10 of the output)" in found.verdict.sentence


# One node


def run_within_node(folder: Path, **changes: Any) -> Assessment:
    lines = [log_line("g1", gpu, f"Channel 00/0 : {gpu}[{gpu}] -> {(gpu + 1) % 4}[{gpu}] via P2P/CUMEM") for gpu in OWN]
    given: dict[str, Any] = {"nodes": ("g1",), "rails": 1, "within": True, "log": lines, **changes}
    rates = given.pop("rates", dict.fromkeys(SIZES, 350_000.0))
    return run(folder, "nccl/all_reduce_perf/one-node", rates, **given)


def test_a_nodes_own_links_carry_it_and_no_nic(tmp_path: Path) -> None:
    found = run_within_node(tmp_path)
    assert found.verdict.state == "report-only", found.verdict.text
    assert "in NVLink" in found.path.sentence


def test_a_nic_that_carried_what_nvlink_should_have_fails(tmp_path: Path) -> None:
    found = run_within_node(tmp_path, mb={"mlx5_0:1": 90_000.0})
    assert (found.verdict.state, found.verdict.rule) == ("fail", 4)
    assert "mlx5_0:1 of g1 carried 90000.0 MB while the group of GPUs within g1 moved" in found.verdict.sentence


def test_shared_memory_in_place_of_nvlink_is_named(tmp_path: Path) -> None:
    log = [log_line("g1", 0, "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct")]
    found = run_within_node(tmp_path, log=log)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert found.verdict.sentence == (
        "the connection from rank 0 to rank 1 (line 10 of the output) went through the host's memory (SHM/direct), "
        "expected the GPUs' own links"
    )


def test_more_than_nvlink_can_show_is_impossible(tmp_path: Path) -> None:
    found = run_within_node(tmp_path, rates=dict.fromkeys(SIZES, 950_000.0))
    assert (found.verdict.state, found.verdict.rule) == ("fail", 3)


def run_over_nics(folder: Path, **changes: Any) -> Assessment:
    given: dict[str, Any] = {"nodes": ("g1",), "mb": MOVED * 1.5 / 1e6, **changes}
    return run(folder, "nccl/all_reduce_perf/over-nics", given.pop("rates", RATES_OF_A_GROUP), **given)


def test_a_node_over_its_nics_moves_each_gpus_share_through_its_own(tmp_path: Path) -> None:
    assert run_over_nics(tmp_path).verdict.state == "report-only"
    found = run_over_nics(tmp_path, mb=0.5 * MOVED / 1e6)
    assert (found.verdict.rule, found.path.state) == (4, "not-proven")


def test_a_node_that_was_to_use_its_nics_and_used_nvlink_is_named(tmp_path: Path) -> None:
    log = [log_line("g1", 0, "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM")]
    found = run_over_nics(tmp_path, log=log)
    assert found.verdict.rule == 1 and "went by P2P/CUMEM, expected a NIC" in found.verdict.sentence


# What else is compared


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"nodes": ("g1", "g1", "g2", "g2")}, "nodes"),
        ({"iterations": 19}, "nccl/all_reduce_perf has 19 iterations, 20 were asked for"),
        ({"gpus": 2}, "nccl/all_reduce_perf (line"),
    ],
)
def test_an_output_of_another_launch_fails(tmp_path: Path, changes: dict[str, Any], sentence: str) -> None:
    told: dict[str, Any] = {"nodes": ("g1", "g2", "g3", "g4"), **changes}
    text = output("all_reduce", told.pop("nodes"), RATES, **told)
    found = run(tmp_path, "nccl/all_reduce_perf", mb=OF_A_RING, printed=text)
    assert (found.verdict.state, found.verdict.rule) == ("fail", 1)
    assert sentence in found.verdict.sentence


def test_an_output_without_the_librarys_log_says_so(tmp_path: Path) -> None:
    found = run(tmp_path, "nccl/all_reduce_perf", mb=OF_A_RING, log=[])
    assert any("the output does not have the library's own log" in remark for remark in found.verdict.remarks)


def test_tests_that_are_linked_to_no_mpi_are_n_separate_jobs(tmp_path: Path) -> None:
    ldd = "\tlibnccl.so.2 => /opt/nccl/lib/libnccl.so.2 (0x00007f0000000000)\n"
    found = run(tmp_path, "nccl/all_reduce_perf", mb=OF_A_RING, linked=ldd)
    assert found.verdict.sentence == stack_words.no_mpi("nccl/all_reduce_perf", ["libmpi.so.40"])
    both = f"{ldd}\tlibmpi.so.40 => /opt/openmpi/lib/libmpi.so.40 (0x00007f0000000000)\n"
    assert run(tmp_path, "nccl/all_reduce_perf", mb=OF_A_RING, linked=both).verdict.state == "report-only"
    other = both.replace("/opt/nccl/", "/usr/")
    found = run(tmp_path, "nccl/all_reduce_perf", mb=OF_A_RING, linked=other)
    assert found.verdict.sentence == stack_words.other_folder(
        "nccl/all_reduce_perf", "/usr/lib/libnccl.so.2", ["libnccl.so.2"], "/opt/nccl"
    )


def test_a_domain_of_several_nodes_needs_no_nic(tmp_path: Path) -> None:
    joined = SYSTEM.replace("  nvlink: 4\n", "  nvlink: 5\n  domain: 16\n")
    found = run(tmp_path, "nccl/all_reduce_perf", dict.fromkeys(SIZES, 800_000.0), system=joined, log=[])
    assert found.path.state == "proven" and "in NVLink" in found.path.sentence
    half = SYSTEM.replace("  nvlink: 4\n", "  nvlink: 5\n  domain: 8\n")
    other = tmp_path / "other"
    other.mkdir()
    found = run(other, "nccl/all_reduce_perf", system=half, mb=OF_A_RING, log=[])
    assert "several nodes share an NVLink domain" in found.path.sentence


def test_one_gpu_of_each_node_may_use_the_nics_of_its_node(tmp_path: Path) -> None:
    site = gpu_site(tmp_path)
    words = {"nodes": ("g1", "g2"), "ranks": 2, "ranks_per_node": 1}
    case = case_of(site, "nccl/all_reduce_perf/one-gpu", stack="nccl", rails=1, fabric="ndr", launch=words)
    shape = shape_of_run(case)
    assert shape is not None and (shape.ranks, shape.gpus_a_domain, shape.nics_a_domain) == (2, 1, 1)
