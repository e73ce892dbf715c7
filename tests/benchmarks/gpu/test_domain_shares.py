"""What NICs and GPUs carry in each collective and algorithm: numbers computed by hand, and rules that hold for all."""

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.gpu_collectives import (
    ALGORITHMS,
    COLLECTIVES,
    FORMULAE,
    Share,
    algorithm_of_nccl,
    busbw,
    find_collective,
    least_carried,
    neighbours,
    possible_algorithms,
    ranks_of,
    shares_of,
    why_not,
)
from railyard.hardware.gpu_nodes import Shape, node_of_words

NDR = node_of_words("gpus=8,nvlink=4,nics=8,link=ib-ndr")
ONE, TWO, FOUR = Shape(NDR, 1), Shape(NDR, 2), Shape(NDR, 4)
SLIM = Shape(NDR, 4, used=1)


def net(found: tuple[Share, ...] | None) -> list[tuple[float, float]]:
    assert found is not None
    return [(share.sent, share.received) for share in found]


def gpu(found: tuple[Share, ...] | None) -> tuple[float, float]:
    assert found is not None
    return found[0].gpu_sent, found[0].gpu_received


def test_factors_are_those_of_nccl_tests() -> None:
    # 16 ranks: 2 x 15/16, 15/16, 1 (doc/PERFORMANCE.md, and GetBw of src/*.cu)
    assert {name: each.factor(16) for name, each in COLLECTIVES.items()} == {
        "all_reduce": 1.875,
        **dict.fromkeys(("reduce_scatter", "all_gather", "alltoall", "gather", "scatter", "hypercube"), 0.9375),
        **dict.fromkeys(("broadcast", "reduce", "sendrecv"), 1.0),
    }


def test_busbw_of_a_printed_row() -> None:
    # A row of 16 H100: 17179869184 B of alltoall in 682007 us is printed as 23.62 GB/s.
    assert busbw("alltoall_perf", 17179869184, 682007, 16) / 1000 == pytest.approx(23.62, abs=0.005)
    # 1,440 GB200: 17179869184 B of all_reduce in 84625 us are printed as 405.74 GB/s.
    assert busbw("all_reduce", 17179869184, 84625, 1440) / 1000 == pytest.approx(405.74, abs=0.005)
    with pytest.raises(ValueError, match="1 ranks: a collective of one rank moves nothing"):
        busbw("all_reduce", 1, 1, 1)


@pytest.mark.parametrize(
    ("name", "algbw", "busbw", "ranks"),
    [
        ("all_reduce", 260.20, 487.87, 16),
        ("all_reduce", 210.70, 368.72, 8),  # two jobs of one node each, not one of two: 1.75, not 1.875
        ("all_reduce", 203.01, 405.74, 1440),
        ("all_reduce", 195.31, 386.56, 96),  # published as a run of 64 GPUs
        ("alltoall", 25.19, 23.62, 16),
        ("all_gather", 361.14, 338.57, 16),
    ],
)
def test_both_bandwidths_show_how_many_ranks_there_were(name: str, algbw: float, busbw: float, ranks: int) -> None:
    found = ranks_of(name, algbw, busbw)
    assert found is not None and found[0] <= ranks <= found[1]
    if ranks < 100:
        assert [n for n in range(2, 200) if found[0] <= n <= found[1]] == [ranks]


def test_collectives_whose_factor_is_one_do_not_show_how_many_ranks_there_were() -> None:
    assert ranks_of("sendrecv", 13.5, 13.5) is None
    assert ranks_of("hypercube", 13.5, 13.5) is None
    assert ranks_of("all_reduce", 0.0, 0.0) is None


def test_an_unknown_collective_is_named() -> None:
    with pytest.raises(RailyardError, match=r'unknown collective "all_reduc_perf": did you mean "all_reduce"\?'):
        find_collective("all_reduc_perf")


# 2 nodes of 8: a = 2 x 15/16 = 1.875 of S leaves each node in a ring, S in a tree, and S where switches add up.
# 4 nodes: trees 0-2-(1, 3) and 3-1-(0, 2): nodes 1 and 2 have 4 neighbours in all (2 S), nodes 0 and 3 have 2 (S).
@pytest.mark.parametrize(
    ("name", "algorithm", "shape", "expected"),
    [
        ("all_reduce", "ring", TWO, [(1.875, 1.875)] * 2),
        ("all_reduce", "tree", TWO, [(1.0, 1.0)] * 2),
        ("all_reduce", "nvls-tree", TWO, [(1.0, 1.0)] * 2),
        ("all_reduce", "collnet-direct", TWO, [(1.0, 1.0)] * 2),
        ("all_reduce", "hierarchical", TWO, [(1.0, 1.0)] * 2),
        ("all_reduce", "ring", FOUR, [(1.9375, 1.9375)] * 4),
        ("all_reduce", "tree", FOUR, [(1.0, 1.0), (2.0, 2.0), (2.0, 2.0), (1.0, 1.0)]),
        ("all_reduce", "nvls-collnet", FOUR, [(1.0, 1.0)] * 4),
        ("all_reduce", "collnet-chain", FOUR, [(1.0, 1.0)] * 4),
        ("all_reduce", "collnet-direct", FOUR, [(1.0, 1.0)] * 4),
        ("all_reduce", "hierarchical", FOUR, [(1.5, 1.5)] * 4),
        ("all_reduce", "ring", ONE, [(0.0, 0.0)]),
        ("all_gather", "ring", TWO, [(0.9375, 0.9375)] * 2),
        ("all_gather", "hierarchical", TWO, [(0.5, 0.5)] * 2),
        ("all_gather", "collnet-direct", FOUR, [(0.25, 0.75)] * 4),
        ("reduce_scatter", "ring", TWO, [(0.9375, 0.9375)] * 2),
        ("reduce_scatter", "nvls-collnet", FOUR, [(0.75, 0.25)] * 4),
        ("all_gather", "pat", SLIM, [(0.75, 0.75)] * 4),
        ("broadcast", "ring", FOUR, [(1.0, 0.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0)]),
        ("reduce", "ring", TWO, [(0.0, 1.0), (1.0, 0.0)]),
        ("alltoall", "p2p", TWO, [(4.0, 4.0)] * 2),  # each of 8 GPUs sends 8/16 of its S to the other node
        ("alltoall", "p2p", FOUR, [(6.0, 6.0)] * 4),
        ("sendrecv", "p2p", FOUR, [(1.0, 1.0)] * 4),  # the last rank of each node sends to the first of the next
        ("gather", "p2p", FOUR, [(0.0, 0.75), (0.25, 0.0), (0.25, 0.0), (0.25, 0.0)]),
        ("scatter", "p2p", TWO, [(0.5, 0.0), (0.0, 0.5)]),
        ("hypercube", "p2p", TWO, [(4.0, 4.0)] * 2),  # the last step: 8 GPUs exchange 8 blocks of S/16 each
    ],
)
def test_nics_of_each_node_carry(name: str, algorithm: str, shape: Shape, expected: list[tuple[float, float]]) -> None:
    assert net(shares_of(name, algorithm, shape)) == expected


@pytest.mark.parametrize(
    ("name", "algorithm", "shape", "expected"),
    [
        ("all_reduce", "ring", ONE, (1.75, 1.75)),
        ("all_reduce", "tree", ONE, (1.75, 1.75)),
        ("all_reduce", "nvls", ONE, (1.0, 1.0)),
        ("all_reduce", "ring", TWO, (1.875 * 7 / 8, 1.875 * 7 / 8)),  # one hop of 8 is a NIC's
        ("all_reduce", "tree", TWO, (1.75, 1.75)),
        ("all_reduce", "nvls-tree", TWO, (1.0, 1.0)),
        ("all_gather", "ring", ONE, (0.875, 0.875)),
        ("all_gather", "nvls", ONE, (0.125, 0.875)),  # its part once for all others
        ("reduce_scatter", "nvls", ONE, (0.875, 0.125)),
        ("broadcast", "ring", ONE, (1.0, 1.0)),
        ("alltoall", "p2p", TWO, (7 / 16, 7 / 16)),
        ("sendrecv", "p2p", TWO, (1.0, 1.0)),
        ("gather", "p2p", TWO, (1 / 16, 7 / 16)),
        ("hypercube", "p2p", TWO, (7 / 16, 7 / 16)),
        ("sendrecv", "p2p", SLIM, (0.0, 0.0)),
        ("all_reduce", "ring", SLIM, (0.0, 0.0)),
    ],
)
def test_links_of_a_gpu_carry(name: str, algorithm: str, shape: Shape, expected: tuple[float, float]) -> None:
    assert gpu(shares_of(name, algorithm, shape)) == pytest.approx(expected)


@pytest.mark.parametrize("nodes", range(2, 65))
def test_two_trees_are_trees_and_no_node_has_more_than_four_neighbours(nodes: int) -> None:
    found = neighbours(nodes)
    first, second = (sum(each[tree] for each in found) for tree in (0, 1))
    assert first == second == 2 * (nodes - 1)  # a tree has one edge less than nodes
    assert max(map(sum, found)) == {2: 2, 3: 3}.get(nodes, 4)
    assert min(map(sum, found)) >= 2


def test_the_trees_of_14_nodes_are_those_of_nccls_own_drawing() -> None:
    # 0-8; 8: 4, 12; 4: 2, 6; 12: 10, 13; 2: 1, 3; 6: 5, 7; 10: 9, 11 (src/graph/trees.cc)
    assert [first for first, _ in neighbours(14)] == [1, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1]


@pytest.mark.parametrize("nodes", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("key", sorted(FORMULAE), ids="-".join)
def test_what_is_sent_is_received(key: tuple[str, str], nodes: int) -> None:
    """Between nodes nothing is lost, except what a switch multiplies or adds up."""
    for gpus in (1, 4, 8):
        shares = shares_of(*key, Shape(NDR, nodes, used=gpus))
        assert shares is not None and len(shares) == nodes
        sent, received = (sum(each) for each in zip(*net(shares), strict=True))
        if "collnet" not in key[1] and key[0] not in ("broadcast", "reduce"):
            assert sent == pytest.approx(received)
        if nodes == 1:
            assert sent == received == 0


@pytest.mark.parametrize("name", ["all_reduce", "all_gather", "reduce_scatter"])
def test_no_algorithm_of_messages_carries_less_than_the_hierarchical_one(name: str) -> None:
    for nodes in (2, 3, 4, 7, 16):
        shape = Shape(NDR, nodes)
        least = max(max(each) for each in net(shares_of(name, "hierarchical", shape)))
        for algorithm in ("ring", "tree", "nvls-tree", "pat"):
            if (name, algorithm) in FORMULAE:
                assert max(max(each) for each in net(shares_of(name, algorithm, shape))) >= least - 1e-12


@pytest.mark.parametrize("name", COLLECTIVES)
def test_no_algorithm_carries_less_than_the_least_at_any_node(name: str) -> None:
    for nodes in (2, 3, 4, 7):
        for gpus in (1, 8):
            shape = Shape(NDR, nodes, used=gpus)
            least = net(least_carried(name, shape))
            for algorithm in ALGORITHMS:
                # For the hierarchical one only the mean is known: a node may carry less than others.
                if (name, algorithm) in FORMULAE and algorithm not in ("nvls", "hierarchical"):
                    found = net(shares_of(name, algorithm, shape))
                    assert all(
                        sent >= low_sent - 1e-12 and received >= low_received - 1e-12
                        for (sent, received), (low_sent, low_received) in zip(found, least, strict=True)
                    ), algorithm


def test_the_least_that_counters_must_show() -> None:
    assert net(least_carried("all_reduce", FOUR)) == [(1.0, 1.0)] * 4
    assert net(least_carried("all_gather", FOUR)) == [(0.25, 0.75)] * 4
    assert net(least_carried("broadcast", TWO)) == [(1.0, 0.0), (0.0, 1.0)]
    assert net(least_carried("alltoall", TWO)) == [(4.0, 4.0)] * 2


def test_algorithms_and_formulae_are_of_the_same_names() -> None:
    assert {algorithm for _, algorithm in FORMULAE} == set(ALGORITHMS)
    assert {name for name, _ in FORMULAE} == set(COLLECTIVES)


def test_what_a_shape_can_use() -> None:
    assert possible_algorithms("all_reduce", ONE) == ("ring", "tree", "nvls", "hierarchical")
    assert possible_algorithms("all_gather", SLIM) == ("ring", "collnet-direct", "pat", "hierarchical")
    roce = Shape(node_of_words("gpus=8,nvlink=3,nics=8,link=roce-200"), 2)
    assert possible_algorithms("all_reduce", roce) == ("ring", "tree", "hierarchical")
    assert possible_algorithms("alltoall", TWO) == ("p2p",)


@pytest.mark.parametrize(
    ("algorithm", "name", "shape", "said"),
    [
        ("tree", "all_gather", TWO, "double binary tree does not do all_gather"),
        (
            *("nvls", "all_reduce", Shape(node_of_words("gpus=8,nvlink=3"), 1)),
            "NVLink 3 (A100) has no switch that reduces: NVLS needs NVLink 4 or later",
        ),
        ("nvls", "all_reduce", TWO, "NVLS by itself cannot leave an NVLink domain"),
        ("nvls-tree", "all_reduce", SLIM, "one GPU has no other to reach over NVLink"),
        (
            *("collnet-direct", "all_reduce", ONE),
            "it needs several nodes, and here all GPUs reach each other without a NIC",
        ),
        (
            *("collnet-direct", "all_reduce", Shape(node_of_words("gpus=8,nvlink=4,nics=8,link=efa-400"), 2)),
            "the switches of this network do not reduce (SHARP needs InfiniBand HDR or later)",
        ),
        ("pat", "all_gather", TWO, "NCCL uses PAT only with one GPU per node"),
        ("p2p", "hypercube", Shape(NDR, 3), "a hypercube needs a power of two as number of ranks, and there are 24"),
    ],
)
def test_why_an_algorithm_is_not_possible(algorithm: str, name: str, shape: Shape, said: str) -> None:
    assert why_not(algorithm, name, shape) == said


def test_nccls_own_words_are_understood() -> None:
    assert algorithm_of_nccl("NVLS", ONE) == "nvls"
    assert algorithm_of_nccl("NVLS", TWO) == "nvls-collnet"
    assert algorithm_of_nccl("CollNetDirect", TWO) == "collnet-direct"
    with pytest.raises(RailyardError, match=r'unknown algorithm "Rnig" of NCCL: did you mean "ring"\?'):
        algorithm_of_nccl("Rnig", TWO)
