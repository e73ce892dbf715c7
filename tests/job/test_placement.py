"""Where processes ran: near their rails or far from them, and remarks on a failed run's placement and clock."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.job.node_facts import (
    PLACEMENT_SCRIPT,
    NodeFacts,
    ProcessPlacement,
    Side,
    place_script,
    processors,
    remarks,
    side_of,
    why_elsewhere,
    why_too_few,
)
from railyard.site.site import Site
from tests.made.judged_run import launch_of

NEAR = {"mlx5_0:1": {"local_cpulist": "64-127"}}
CLOCK = {"frequency_max_khz": "3700000", "governor": "powersave"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0-3,8", {0, 1, 2, 3, 8}),
        ("7", {7}),
        ("", set()),
        ("0-", set()),
        ("3-x", set()),
        ("0-99999999999999", set()),
    ],
)
def test_a_list_of_processors_is_read(text: str, found: set[int]) -> None:
    assert processors(text) == found


def placement_remarks(bound: str, near: dict[str, dict[str, str]] = NEAR) -> tuple[str, ...]:
    return remarks([NodeFacts("vn1", {"cpus_allowed": bound}, near)], {}, ("mlx5_0:1",))


def test_a_process_with_a_rail_at_each_socket_is_far_from_neither() -> None:
    devices = {"mlx5_0:1": {"local_cpulist": "0-63"}, "mlx5_1:1": {"local_cpulist": "64-127"}}
    assert remarks([NodeFacts("vn1", {"cpus_allowed": "0"}, devices)], {}, tuple(devices)) == ()
    far_from_both = NodeFacts("vn1", {"cpus_allowed": "0"}, {rail: {"local_cpulist": "64-127"} for rail in devices})
    assert remarks([far_from_both], {}, tuple(devices)) == (
        "the first process of vn1 was bound to processors 0, far from mlx5_0:1 (near 64-127) and mlx5_1:1 "
        "(near 64-127)",
    )


def test_a_process_that_is_bound_away_from_its_rail_is_said() -> None:
    assert placement_remarks("0-15") == (
        "the first process of vn1 was bound to processors 0-15, far from mlx5_0:1 (near 64-127)",
    )


@pytest.mark.parametrize("bound", ["64", "0-64", "0-127", ""])
def test_a_process_that_may_run_beside_its_rail_is_not(bound: str) -> None:
    assert placement_remarks(bound) == ()


def test_a_rail_without_processors_of_its_own_is_near_all() -> None:
    assert placement_remarks("0-15", {}) == ()


def slow(clock_khz: int | None, said: dict[str, str] = CLOCK) -> tuple[str, ...]:
    return remarks([NodeFacts("vn1", said, {})], {} if clock_khz is None else {"vn1": clock_khz}, ())


def test_a_low_clock_is_said_with_the_governor() -> None:
    assert slow(1_200_000) == (
        "the clock of vn1 was 1.20 GHz at the end of the run, 32.4 % of its highest (bound 50.0 %, clock-share; "
        "governor powersave)",
    )


@pytest.mark.parametrize(
    ("clock_khz", "said"), [(1_850_000, CLOCK), (None, CLOCK), (1_200_000, {}), (1, {"frequency_max_khz": "fast"})]
)
def test_a_clock_that_is_high_enough_or_not_known_is_not(clock_khz: int | None, said: dict[str, str]) -> None:
    assert slow(clock_khz, said) == ()


# --- put near or far


def placed_processors(root: Path, side: str, near: str | None, shell: str = "sh") -> set[int]:
    """Return the processors of a command that is put near ``hsn0`` or far from it; its NUMA node has these."""
    device, kernel = root / "sys/class/net/hsn0/device", root / "sys/devices/system/cpu"
    device.mkdir(parents=True)
    kernel.mkdir(parents=True)
    (kernel / "online").write_text(Path("/sys/devices/system/cpu/online").read_text())
    if near is not None:
        (device / "local_cpulist").write_text(f"{near}\n")
    (root / PLACEMENT_SCRIPT).write_text(place_script())
    done = subprocess.run(
        [shell, PLACEMENT_SCRIPT, side, "hsn1,hsn0", "--", "grep", "Cpus_allowed_list", "/proc/self/status"],
        cwd=root, env={**os.environ, "RAILYARD_SYSFS": str(root / "sys")}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return set(processors(done.stdout.split()[1]))


@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_a_command_is_put_near_its_rail_or_on_all_other_processors(tmp_path: Path, shell: str) -> None:
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("one processor: nothing is far from it")
    own = max(allowed)
    assert placed_processors(tmp_path / "near", "near", str(own), shell) == {own}
    assert placed_processors(tmp_path / "far", "far", str(own), shell) == allowed - {own}


@pytest.mark.parametrize("near", [None, "", "nonsense", "1-0,x"])
@pytest.mark.parametrize("side", ["near", "far"])
def test_a_command_beside_a_rail_of_no_known_processors_runs_where_it_was(
    tmp_path: Path, side: str, near: str | None
) -> None:
    assert placed_processors(tmp_path, side, near) == os.sched_getaffinity(0)


def test_there_is_no_far_side_of_a_rail_that_is_near_all(tmp_path: Path) -> None:
    online = Path("/sys/devices/system/cpu/online").read_text().strip()
    assert placed_processors(tmp_path, "far", online) == os.sched_getaffinity(0)


def why_misplaced(side: Side, bound: str, near: dict[str, dict[str, str]] = NEAR) -> str | None:
    facts = [NodeFacts("vn1.site", {"cpus_allowed": bound}, near)]
    return why_elsewhere(facts, ("vn1",), side, ("mlx5_0:1",))


@pytest.mark.parametrize(("side", "bound"), [("near", "64-127"), ("near", "70"), ("far", "0-63"), ("far", "0")])
def test_a_process_that_is_where_it_was_put_is_no_failure(side: Side, bound: str) -> None:
    assert why_misplaced(side, bound) is None


@pytest.mark.parametrize(
    ("side", "bound", "sentence"),
    [
        ("near", "0-127", "asked to run near mlx5_0:1: the first process of vn1 was on processors 0-127, and near are"),
        ("far", "63-64", "asked to run far mlx5_0:1: the first process of vn1 was on processors 63-64, and near are"),
        ("near", "", "asked to run near mlx5_0:1: the first process of vn1 was on processors that are not known, and"),
    ],
)
def test_a_process_that_is_not_where_it_was_put_is_named(side: Side, bound: str, sentence: str) -> None:
    found = why_misplaced(side, bound)
    assert found is not None
    assert found.startswith(sentence)
    assert found.endswith("near are 64-127")


def test_what_a_node_does_not_show_is_not_near() -> None:
    assert why_misplaced("near", "0-3", {}) == (
        "asked to run near mlx5_0:1: the first process of vn1 was on processors 0-3, and near are none that the node "
        "shows"
    )
    assert why_elsewhere([], ("vn1",), "near", ("mlx5_0:1",)) == (
        "asked to run near mlx5_0:1: where the processes of vn1 ran is not known"
    )


# --- a core for each thread


def too_few(*bound: str, threads: int = 4) -> str | None:
    facts = [NodeFacts(f"vn{at}.site", {"cpus_allowed": each}, {}) for at, each in enumerate(bound, 1)]
    return why_too_few(facts, ("vn1", "vn2"), threads)


@pytest.mark.parametrize("bound", ["0-3", "0-127", "1,3,5,7"])
def test_a_rank_with_a_processor_a_thread_is_no_failure(bound: str) -> None:
    assert too_few(bound, bound) is None


def test_a_rank_whose_threads_share_a_core_is_named() -> None:
    assert too_few("0-3", "5") == (
        "each rank has 4 threads: the first process of vn2 was bound to processors 5, expected at least 4, "
        "one per thread"
    )


@pytest.mark.parametrize("bound", [("0-3",), ("0-3", ""), ("0-3", "nonsense")])
def test_processors_that_are_not_known_are_not_enough(bound: tuple[str, ...]) -> None:
    assert too_few(*bound) == (
        "each rank has 4 threads: the first process of vn2 was on processors that are not known, expected at least 4, "
        "one per thread"
    )


@pytest.mark.parametrize(
    ("asked", "own", "side"),
    [("", None, None), ("", "near", "near"), ("far", "near", "far"), ("near", None, "near"), ("launcher", "far", None)],
)
def test_what_is_asked_for_counts_before_the_systems_file(asked: str, own: Side | None, side: Side | None) -> None:
    assert side_of(asked, own) == side


def test_another_word_is_refused() -> None:
    with pytest.raises(RailyardError, match=r'^-S placement: found "left", expected near, far, launcher$'):
        side_of("left", None)


def test_a_run_that_is_placed_starts_by_the_script_and_its_library_binds_nothing(virtual: Site) -> None:
    launch = launch_of(virtual, "openmpi", ("hsn0", "hsn1"), nodes=("vn1", "vn2"))
    put = ProcessPlacement("far", "far")
    assert put.words(launch, "counters", "tag-1") == (PLACEMENT_SCRIPT, "far", "hsn0,hsn1", "--", "sh")
    assert list(put.scripts()) == [PLACEMENT_SCRIPT]
    assert put.variables("intelmpi") == {"I_MPI_PIN": "0"}
    assert put.remarks(launch) == ("run far hsn0 and hsn1 (-S placement=far), compared with the same references",)
    assert ProcessPlacement("far").remarks(launch) == (), "the system's file says so"


def test_a_run_that_is_not_placed_is_left_alone(virtual: Site) -> None:
    launch = launch_of(virtual, "openmpi", ("hsn0",), nodes=("vn1", "vn2"))
    left = ProcessPlacement(None, "launcher")
    assert (
        left.words(launch, "counters", "tag-1"),
        left.scripts(),
        left.variables("openmpi"),
        left.remarks(launch),
    ) == ((), {}, {}, ())
    assert left.why_not([], launch) is None


def test_a_placed_run_that_nobody_saw_was_not_there_and_threads_want_processors(virtual: Site) -> None:
    launch = launch_of(virtual, "openmpi", ("hsn0",), nodes=("vn1",))
    assert ProcessPlacement("near").why_not([], launch) == (
        "asked to run near hsn0: where the processes of vn1 ran is not known"
    )
    one = NodeFacts("vn1", {"cpus_allowed": "0"}, {})
    found = ProcessPlacement(None, threads=2).why_not([one], launch)
    assert found is not None and found.startswith("each rank has 2 threads: the first process of vn1 was bound to")


def test_ranks_with_a_nic_each_are_given_it_by_their_librarys_variable(virtual: Site) -> None:
    """MPICH's UCX gets its device; Intel MPI over PSM3 gives local rank i the NIC i by itself."""
    fabrics = {"hsn": virtual.system.fabrics["hsn"].model_copy(update={"kind": "ib"})}
    site = replace(virtual, system=virtual.system.model_copy(update={"provider": "nodes", "fabrics": fabrics}))
    ucx = launch_of(site, "mpich", ("mlx5_0", "mlx5_1"), nodes=("n1",), ranks_per_node=2, policy="nic-per-rank")
    own = ProcessPlacement("near", nic_ranks=2)
    assert own.words(ucx, "counters", "tag-1") == (
        PLACEMENT_SCRIPT, "near", "mlx5_0:1,mlx5_1:1", "counters", "tag-1", "UCX_NET_DEVICES", "--", "sh",
    )  # fmt: skip
    psm3 = launch_of(virtual, "intelmpi", ("hsn0", "hsn1"), nodes=("n1",), policy="nic-per-rank")
    assert ProcessPlacement(None, nic_ranks=2).words(psm3, "counters", "tag-1") == (
        PLACEMENT_SCRIPT, "launcher", "hsn0,hsn1", "counters", "tag-1", "-", "--", "sh",
    )  # fmt: skip
    assert list(ProcessPlacement(None, nic_ranks=2).scripts()) == [PLACEMENT_SCRIPT]
    assert own.why_not([], ucx) is None, "each rank says itself where it ran"


def test_an_applications_ranks_are_dealt_rails_where_their_library_takes_one_from_a_variable(virtual: Site) -> None:
    fabrics = {"hsn": virtual.system.fabrics["hsn"].model_copy(update={"kind": "ib"})}
    site = replace(virtual, system=virtual.system.model_copy(update={"provider": "nodes", "fabrics": fabrics}))
    ucx = launch_of(site, "mpich", ("mlx5_0", "mlx5_1"), nodes=("n1",), ranks_per_node=8, policy="nic-per-rank")
    dealt = ProcessPlacement(None, dealt=True)
    assert dealt.words(ucx, "counters", "tag-1") == (
        PLACEMENT_SCRIPT, "dealt", "mlx5_0:1,mlx5_1:1", "UCX_NET_DEVICES", "--", "sh",
    )  # fmt: skip
    assert list(dealt.scripts()) == [PLACEMENT_SCRIPT]
    psm3 = launch_of(virtual, "intelmpi", ("hsn0", "hsn1"), nodes=("n1",), policy="nic-per-rank")
    assert dealt.words(psm3, "counters", "tag-1") == (), "PSM3 deals them out itself"
