"""The least bytes of a node: computed by hand for small grids, and none for an algorithm that says nothing."""

from types import MappingProxyType

import pytest

from railyard.benchmarks.apps.least_traffic import (
    CERTAIN,
    NEIGHBOURS,
    least,
    messages_s,
    predict_of_hpl,
    predict_of_kernel,
)
from railyard.benchmarks.apps.npb import KernelRun
from railyard.benchmarks.model import Least
from railyard.parsers.output import Table


def npb(name: str, problem: str, iterations: int | None) -> Table:
    columns = ("iterations", "time", "performance", "passed")
    units = (None, "s", "Mop/s", None)
    return Table(
        *("npb", "3.4.3", name, columns, units, ((iterations, 1.0, 9.0, True),), 1, True),
        context=MappingProxyType({"class": problem}),
    )


def hpl(*problems: tuple[int, int, int, int]) -> Table:
    columns = ("N", "NB", "P", "Q", "time", "performance", "passed")
    units = (None, None, None, None, "s", "Gflop/s", None)
    return Table("hpl", "2.3", "hpl", columns, units, tuple((*each, 9.0, 9.0, True) for each in problems), 1, True)


def test_ft_sends_all_but_its_own_part_once_an_iteration_and_once_before() -> None:
    moved = 7 * 64**3 * 16 // 4 * 3 // 4
    assert least("npb/FT/S", [npb("FT", "S", 6)], 4, 1, 0) == (Least(moved, moved, moved),) * 4
    # a message is 64^3 * 16 / 4^2 B: 256 KiB
    assert least("npb/FT/S", [npb("FT", "S", 6)], 4, 1, 128 << 10)[0].split_bytes == moved
    assert least("npb/FT/S", [npb("FT", "S", 6)], 4, 1, 256 << 10)[0].split_bytes == 0


def test_is_sends_its_keys() -> None:
    (first, _) = least("npb/IS/W/2-nodes", [npb("IS", "W", 10)], 2, 2, 1 << 30)
    assert first == Least(*(int(CERTAIN * 10 * (1 << 20) * 4 / 2 / 2),) * 2, 0)


def test_hpl_on_a_square_of_nodes_sends_half_of_what_is_its_own() -> None:
    """2 x 2 processes on four nodes: half of a row's panels and half of a column's blocks come from other nodes."""
    panels = 8 * 1000**2 / 2 / 2 / 2
    found = least("hpl/hpl", [hpl((1000, 100, 2, 2))], 4, 1, 0)
    assert found == (Least(int(CERTAIN * 2 * panels), int(CERTAIN * 2 * panels), int(CERTAIN * panels)),) * 4


def test_hpl_on_two_nodes_that_have_a_row_each_sends_columns_alone() -> None:
    blocks = 8 * 1000**2 / 2 / 2 / 2 * 2
    assert (
        least("hpl/hpl", [hpl((1000, 100, 2, 2))], 2, 2, 0)
        == (Least(int(CERTAIN * blocks), int(CERTAIN * blocks), 0),) * 2
    )


def test_of_hpl_only_panels_above_the_threshold_are_to_be_split() -> None:
    """The first panel of a row of processes is 8 * 1000 / 2 * 100 B, and panels shrink evenly to none."""
    panels = CERTAIN * 8 * 1000**2 / 2 / 2 / 2
    split = [least("hpl/hpl", [hpl((1000, 100, 2, 2))], 4, 1, at)[0].split_bytes for at in (200_000, 400_000, 800_000)]
    assert split == [int(0.75 * panels), 0, 0]


def test_before_a_run_hpl_should_bring_each_panel_once_and_each_block_twice() -> None:
    panels = 8 * 1000**2 / 2 / 2 / 2
    assert predict_of_hpl(1000, (2, 2), 4, 1) == pytest.approx(panels + 2 * panels)
    # a row each: panels stay in the node, and both columns bring blocks
    assert predict_of_hpl(1000, (2, 2), 2, 2) == pytest.approx(2 * 2 * panels)
    assert predict_of_hpl(1000, (2, 2), 1, 4) == 0
    # fewer ranks of more threads move less
    assert predict_of_hpl(1000, (2, 2), 4, 1) < predict_of_hpl(1000, (8, 8), 4, 16)


def run_of(problem: str, nodes: int, ranks_per_node: int = 1) -> KernelRun:
    return KernelRun(problem, nodes, ranks_per_node, 1.0)


def test_before_a_run_ft_should_bring_what_it_must_and_ep_nothing() -> None:
    found = predict_of_kernel("ft", run_of("S", 4))
    assert found == least("npb/FT/S", [npb("FT", "S", 6)], 4, 1, 0)[0].received_bytes
    assert predict_of_kernel("ep", run_of("S", 4)) == 0


@pytest.mark.parametrize(
    ("name", "placed", "iterations", "bytes_each"),
    [
        # 1 x 2 ranks, half of the order each: one sum; the transpose of each rank is the rank itself
        ("cg", run_of("S", 2), 15, 26 * 8 * 700),
        # 2 x 2: a sum in the row; of ranks 1 and 2 the transpose is the other one
        ("cg", run_of("S", 4), 15, 2 * 26 * 8 * 700),
        # two ranks on a node have the two columns: only the transpose leaves it
        ("cg", run_of("S", 2, 2), 15, 26 * 8 * 700),
        # 2 x 1 ranks of 12 x 12 x 12 points: one neighbour, whose 12 x 12 points of a face give 5 + 10 numbers
        ("lu", run_of("S", 2), 50, 8 * 15 * 144),
        ("lu", run_of("S", 4), 50, 2 * 8 * 15 * 72),
        # 1 x 1 x 2 ranks of 32 x 32 x 16 points: both faces from the same neighbour, three times on each level
        ("mg", run_of("S", 2), 4, 3 * 2 * 8 * (34**2 + 18**2 + 10**2 + 6**2 + 4**2)),
        # two cells of 6^3 points per rank; each axis: 10 numbers per point of a face both ways, then 30 forth and 5
        # back for the largest cell's face and one more point, or 22 and 10 without the grid's border
        ("bt", run_of("S", 4), 60, 3 * 8 * (36 * 20 + 49 * 35)),
        ("sp", run_of("S", 4), 100, 3 * 8 * (36 * 20 + 25 * 32)),
    ],
)  # fmt: skip
def test_before_a_run_other_kernels_bring_what_their_loops_send(
    name: str, placed: KernelRun, iterations: int, bytes_each: float
) -> None:
    assert predict_of_kernel(name, placed) == pytest.approx((iterations + 1) * bytes_each)
    assert predict_of_kernel(name, run_of("S", 1, placed.nodes * placed.ranks_per_node)) == 0


@pytest.mark.parametrize("name", ["cg", "lu", "mg", "bt", "sp"])
@pytest.mark.parametrize("ranks", [4, 16, 64])
def test_what_ranks_receive_others_send_and_nobody_sends_to_itself(name: str, ranks: int) -> None:
    sent = dict.fromkeys(range(ranks), 0.0)
    received = dict.fromkeys(range(ranks), 0.0)
    for rank in range(ranks):
        for sender, amount in NEIGHBOURS[name]("A", ranks, rank).parts:
            assert sender != rank and sender in sent
            sent[sender] += amount
            received[rank] += amount
    assert sent == pytest.approx(received)


def test_messages_that_are_waited_for_in_turn_each_take_their_start() -> None:
    placed = run_of("A", 4)
    moved_s = predict_of_kernel("lu", placed) / 100e6
    # 4 planes' messages for each of 62 planes, and a full pipeline there and back
    assert messages_s("lu", placed, 100.0, 20.0) == pytest.approx(moved_s + 251 * (4 * 62 + 2 * 4) * 20e-6)
    assert messages_s("lu", run_of("A", 1, 4), 100.0, 20.0) == 0


def hpcc(ranks: int, version: str | None = "1.5.0") -> Table:
    return Table("hpcc", version, "Summary", ("commworldprocs",), (None,), ((ranks,),), 1, True)


def gpcnet(nodes: int, version: str = "1.3") -> Table:
    return Table(
        *("gpcnet", version, "network_test", ("x",), ("us",), ((1.0,),), 1, True),
        context=MappingProxyType({"nodes": nodes}),
    )


def test_a_ring_of_all_ranks_crosses_a_nodes_border_twice_whatever_ranks_it_has() -> None:
    """11 rings x 3 measurements x 2 directions x 3 repetitions, two messages of 2 MB per repetition."""
    moved = 11 * 3 * 2 * 3 * 2 * 2_000_000
    for ranks in (1, 16):
        assert least("hpcc/Summary", [hpcc(4 * ranks)], 4, ranks, 2_000_000) == (Least(moved, moved, moved),) * 4
    assert least("hpcc/Summary", [hpcc(4)], 4, 1, 2_000_001)[0] == Least(moved, moved, 0)


def test_each_rank_of_gpcnet_sends_all_to_other_nodes() -> None:
    """30 orders x 9 repetitions x 16 messages of 128 KiB in each of four tests, one of which puts."""
    one = 30 * 9 * 16 * 131072
    assert least("gpcnet/network_test", [gpcnet(2)], 2, 8, 131072) == (Least(*(8 * 4 * one,) * 2, 8 * 3 * one),) * 2
    assert least("gpcnet/network_test", [gpcnet(2)], 2, 8, 131073)[0].split_bytes == 0


def test_several_tests_of_hpl_add_up() -> None:
    one, two = hpl((1000, 100, 2, 2)), hpl((1000, 100, 2, 2), (1000, 100, 2, 2))
    alone, both = (least("hpl/hpl", [each], 4, 1, 0)[0] for each in (one, two))
    assert (both.sent_bytes, both.received_bytes) == (2 * alone.sent_bytes, 2 * alone.received_bytes)


@pytest.mark.parametrize(
    ("key", "table", "nodes", "ranks_per_node"),
    [
        ("npb/CG/S", npb("CG", "S", 15), 4, 1),
        ("npb/FT/S/1-nodes", npb("FT", "S", 6), 1, 4),
        ("npb/FT/S", npb("FT", "S", None), 4, 1),
        ("npb/FT/F", npb("FT", "F", 6), 4, 1),
        ("hpl/hpl", hpl((1000, 100, 2, 2)), 4, 2),  # the grid does not fit these ranks
        ("wrf/wrf", hpl((1000, 100, 2, 2)), 4, 1),
        ("hpcc/Summary", hpcc(8), 4, 1),  # it ran on other ranks
        ("hpcc/Summary", hpcc(4, "1.4.3"), 4, 1),  # a release with unknown repetitions
        ("hpcc/Summary", hpcc(4, None), 4, 1),
        ("gpcnet/network_test", gpcnet(1), 4, 1),
        ("gpcnet/network_test", gpcnet(4, "1.2"), 4, 1),
        ("gpcnet/network_load_test", gpcnet(4), 4, 1),
    ],
)
def test_what_is_not_known_is_no_bound(key: str, table: Table, nodes: int, ranks_per_node: int) -> None:
    assert least(key, [table], nodes, ranks_per_node, 0) == ()
    assert least(key, [], nodes, ranks_per_node, 0) == ()
