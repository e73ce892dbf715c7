"""One NIC per rank: what ``place.sh`` gives a rank and says about it, and the sentence if a rank had none."""

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from railyard.job.counters import reader_script
from railyard.job.node_facts import (
    PLACEMENT_SCRIPT,
    SUFFIX,
    ProcessPlacement,
    RankNic,
    Side,
    parse_rank_nic,
    place_script,
    processors,
    why_not_own,
)
from railyard.site.site import Site
from railyard.stacks.model import STACKS
from tests.made.judged_run import launch_of

TAG = "1a2b3c4d-17"
TWO = "mlx5_0:1,mlx5_1:1"


def nic_of_rank(
    root: Path, said: Mapping[str, str], *, side: str = "near", variable: str = "UCX_NET_DEVICES", shell: str = "sh"
) -> tuple[str, RankNic | None]:
    """Return a rank's variable and what it said, with two cards, each near one half of the processors."""
    own = sorted(os.sched_getaffinity(0))
    for card, near in (("mlx5_0", own[:1]), ("mlx5_1", own[1:] or own)):
        device = root / "sys/class/infiniband" / card / "device"
        device.mkdir(parents=True)
        (device / "local_cpulist").write_text(",".join(map(str, near)) + "\n")
    kernel = root / "sys/devices/system/cpu"
    kernel.mkdir(parents=True)
    (kernel / "online").write_text(Path("/sys/devices/system/cpu/online").read_text())
    (root / "counters").mkdir()
    (root / PLACEMENT_SCRIPT).write_text(place_script())
    ranks = {name for stack in STACKS.values() for name in stack.local_rank_variables}
    kept = {name: value for name, value in os.environ.items() if name not in ranks}
    done = subprocess.run(
        [
            *(shell, PLACEMENT_SCRIPT, side, TWO, "counters", TAG, variable),
            *("--", "sh", "-c", 'echo "${UCX_NET_DEVICES-none}"'),
        ],
        cwd=root, env={**kept, **said, "RAILYARD_SYSFS": str(root / "sys")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    (file,) = (root / "counters").glob(f"*{SUFFIX}")
    return done.stdout.strip(), parse_rank_nic(file.read_text(), TAG)


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize(("rank", "device"), [(0, "mlx5_0:1"), (1, "mlx5_1:1"), (3, "mlx5_1:1")])
def test_a_rank_is_given_the_nic_of_its_number_and_bound_beside_it(
    tmp_path: Path, shell: str, rank: int, device: str
) -> None:
    told, nic = nic_of_rank(tmp_path, {"SLURM_LOCALID": str(rank)}, shell=shell)
    assert told == device
    assert nic is not None and (nic.rank, nic.device) == (rank, device)
    assert processors(nic.allowed) == processors(nic.near) <= os.sched_getaffinity(0)


def test_a_rank_may_be_put_on_the_far_side_of_its_nic_or_left_where_it_was(tmp_path: Path) -> None:
    allowed = os.sched_getaffinity(0)
    if len(allowed) < 2:
        pytest.skip("one processor: nothing is far from it")
    _, far = nic_of_rank(tmp_path / "far", {"PMI_LOCAL_RANK": "0"}, side="far")
    assert far is not None and processors(far.allowed) == allowed - processors(far.near)
    _, left = nic_of_rank(tmp_path / "left", {"PMI_LOCAL_RANK": "0"}, side="launcher")
    assert left is not None and processors(left.allowed) == allowed
    assert processors(left.near) == {min(allowed)}


def test_a_library_that_deals_out_nics_itself_is_told_none(tmp_path: Path) -> None:
    told, nic = nic_of_rank(tmp_path, {"MPI_LOCALRANKID": "1"}, variable="-")
    assert told == "none"
    assert nic is not None and nic.device == "mlx5_1:1"


def test_a_batch_steps_own_number_is_not_the_ranks(tmp_path: Path) -> None:
    told, _ = nic_of_rank(tmp_path, {"SLURM_LOCALID": "0", "OMPI_COMM_WORLD_LOCAL_RANK": "1"})
    assert told == "mlx5_1:1"


def test_a_rank_that_knows_no_number_is_given_nothing_and_says_so(tmp_path: Path) -> None:
    told, nic = nic_of_rank(tmp_path, {})
    assert told == "none"
    assert nic is not None and (nic.rank, nic.device) == (None, TWO)


def test_the_two_scripts_ask_for_the_same_variables_in_the_same_order() -> None:
    pattern = re.compile(r"for name in (OMPI_COMM_WORLD_LOCAL_RANK[^;]*); do")
    lists = [pattern.findall(text) for text in (reader_script(), place_script())]
    ((reader,), (place,)) = lists
    assert reader.replace("\\", "").split() == place.replace("\\", "").split()
    known = {*place.replace("\\", "").split()} - {"SLURM_LOCALID"}
    lacking = [name for name, stack in STACKS.items() if stack.is_mpi and not known & {*stack.local_rank_variables}]
    assert lacking == ["mpt"]  # no documentation names its own variable


@pytest.mark.parametrize("shell", ["dash", "bash"])
@pytest.mark.parametrize(
    ("sockets", "dealt"),
    [
        ({"mlx5_0": "0-3,8-11", "mlx5_1": "0-3,8-11", "mlx5_2": "4-7", "mlx5_3": "4-7"}, "02130213"),
        ({"mlx5_0": "0-3", "mlx5_1": "4-7", "mlx5_2": "0-3", "mlx5_3": "4-7"}, "01230123"),
        ({"mlx5_0": "0-3", "mlx5_1": "4-7", "mlx5_2": "4-7", "mlx5_3": "4-7"}, "01020301"),
        ({"mlx5_0": "0-7", "mlx5_1": "0-7", "mlx5_2": "0-7", "mlx5_3": "0-7"}, "01230123"),
        ({}, "01230123"),
    ],
)
def test_ranks_that_lie_on_the_sockets_in_turn_are_dealt_the_devices_of_each(
    tmp_path: Path, shell: str, sockets: dict[str, str], dealt: str
) -> None:
    for card, near in sockets.items():
        device = tmp_path / "sys/class/infiniband" / card / "device"
        device.mkdir(parents=True)
        (device / "local_cpulist").write_text(f"{near}\n")
    (tmp_path / PLACEMENT_SCRIPT).write_text(place_script())
    devices = ",".join(f"mlx5_{number}:1" for number in range(4))
    one = f"{shell} {PLACEMENT_SCRIPT} dealt {devices} UCX_NET_DEVICES -- sh -c 'echo $UCX_NET_DEVICES'"
    every = f"for rank in 0 1 2 3 4 5 6 7; do SLURM_LOCALID=$rank {one}; done"
    env = {**os.environ, "RAILYARD_SYSFS": str(tmp_path / "sys")}
    done = subprocess.run(["sh", "-c", every], cwd=tmp_path, env=env, capture_output=True, text=True, check=True)
    given = done.stdout.split()
    assert given == [f"mlx5_{number}:1" for number in dealt]


@pytest.mark.parametrize("words", [["near", TWO], ["near", TWO, "counters", TAG, "-", "--"], ["near", TWO, "--"]])
def test_a_call_that_lacks_words_says_how_it_is_called(tmp_path: Path, words: list[str]) -> None:
    (tmp_path / PLACEMENT_SCRIPT).write_text(place_script())
    done = subprocess.run(["sh", PLACEMENT_SCRIPT, *words], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 64
    assert done.stderr.endswith("-- EXECUTABLE ARGUMENT...: this call lacks one of these\n")


# --- what they said


WHOLE = f"railyard-nic 1 {TAG}\nnode n1\nrank 0\ndevice mlx5_0:1\nnear 0-55\nallowed 0-3\nend\n"


def test_what_a_rank_said_is_read() -> None:
    assert parse_rank_nic(WHOLE, TAG) == RankNic("n1", 0, "mlx5_0:1", "0-55", "0-3")
    bare = parse_rank_nic(WHOLE.replace("0-55", "").replace("rank 0", "rank unknown"), TAG)
    assert bare == RankNic("n1", None, "mlx5_0:1", "", "0-3")


@pytest.mark.parametrize("text", ["", WHOLE[:-5], WHOLE.replace(TAG, "other"), WHOLE.replace("near", "far")])
def test_what_is_cut_or_of_another_run_is_not(text: str) -> None:
    assert parse_rank_nic(text, TAG) is None


def nic(rank: int | None, device: str = "", *, node: str = "n1.site", allowed: str | None = None) -> RankNic:
    """Return what a rank said that has the NIC of its number and runs near it, unless a test changes this."""
    card = device or f"mlx5_{rank}:1"
    near = {"mlx5_0:1": "0-55", "mlx5_1:1": "56-111"}.get(card, "")
    return RankNic(node, rank, card, near, near if allowed is None else allowed)


def why(virtual: Site, *found: RankNic, ranks: int = 2, side: Side | None = "near") -> str | None:
    launch = launch_of(virtual, "openmpi", ("hsn0", "hsn1"), nodes=("n1",))
    return why_not_own(found, launch, ProcessPlacement(side, nic_ranks=ranks))


def test_a_nic_of_its_own_beside_each_rank_is_proven(virtual: Site) -> None:
    assert why(virtual, nic(0), nic(1)) is None
    shared = (nic(0), nic(1), nic(2, "mlx5_0:1"), nic(3, "mlx5_1:1"))
    assert why(virtual, *shared, ranks=4) is None, "more ranks than NICs share them evenly"
    assert why(virtual, nic(0, allowed="0-111"), nic(1, allowed="0-111"), side=None) is None, "nobody asked for a side"
    assert why(virtual, ranks=0) is None, "a run whose ranks have no NIC of their own"


@pytest.mark.parametrize(
    ("found", "side", "sentence"),
    [
        (
            (nic(0), nic(1, "mlx5_0:1")),
            "near",
            "ranks 0 and 1 of n1 were given mlx5_0:1, expected at most 1 on a device",
        ),
        ((nic(0), nic(1, "mlx5_0:1")), None, "ranks 0 and 1 of n1 were given mlx5_0:1, expected at most 1 on a device"),
        (
            (nic(0), nic(1, allowed="0-55")),
            "near",
            "rank 1 of n1 was to run near mlx5_1:1 and was on processors 0-55; near are 56-111",
        ),
        (
            (nic(0, allowed="0-111"), nic(1)),
            "near",
            "rank 0 of n1 was to run near mlx5_0:1 and was on processors 0-111; near are 0-55",
        ),
        (
            (nic(0, "mlx5_1:1"), nic(1, "mlx5_0:1", allowed="0-111")),
            "far",
            "rank 0 of n1 was to run far mlx5_1:1 and was on processors 56-111; near are 56-111",
        ),
        (
            (nic(0, "hsn0", allowed="0-3"), nic(1)),
            "near",
            "rank 0 of n1 was to run near hsn0 and was on processors 0-3; near are none that the node shows",
        ),
        ((nic(0),), "near", "1 of 2 ranks of n1 said which device they were given"),
        ((nic(0), nic(1, node="n2")), "near", "1 of 2 ranks of n1 said which device they were given"),
        ((nic(0), nic(None, TWO)), "near", "the launcher did not tell the ranks of n1 their numbers on the node"),
    ],
)
def test_ranks_that_share_a_nic_or_run_elsewhere_are_named(
    virtual: Site, found: tuple[RankNic, ...], side: Side | None, sentence: str
) -> None:
    assert why(virtual, *found, side=side) == f"NIC per rank not proven: {sentence}"
