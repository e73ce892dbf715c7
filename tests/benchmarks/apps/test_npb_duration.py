"""How long NPB's kernels should take, and on which nodes and ranks a class takes long enough."""

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps import npb
from railyard.benchmarks.apps.least_traffic import messages_s
from railyard.benchmarks.apps.npb import (
    CHOSEN,
    CLASSES,
    KERNELS,
    RATES,
    choose,
    describe,
    larger,
    least_memory,
    operations,
    place,
)
from railyard.benchmarks.table.applications import LEAST_S

GIB = 1 << 30


@pytest.mark.parametrize(
    ("name", "problem", "mop_s", "seconds"),
    [
        # outputs of NPB 3.4 and 3.3.1: Mop/s of all ranks, and time
        ("bt", "B", 8222.16, 85.4),
        ("cg", "B", 1476.23, 37.06),
        ("cg", "C", 3408.59, 42.05),
        ("ep", "C", 53.76, 159.78),
        ("ft", "C", 8100.88, 48.93),
        ("lu", "C", 17111.43, 119.16),
        ("mg", "C", 1527.41, 101.93),
        ("sp", "B", 1689.11, 210.18),
        ("is", "S", 10.01, 0.06547),
    ],
)
def test_operations_are_those_that_a_run_divides_by_its_time(
    name: str, problem: str, mop_s: float, seconds: float
) -> None:
    assert operations(name, problem) / 1e6 == pytest.approx(mop_s * seconds, rel=3e-4)


def test_a_larger_class_has_more_operations() -> None:
    for name in KERNELS:
        counted = [operations(name, problem) for problem in CLASSES]
        assert counted == sorted(counted)


def test_the_time_is_operations_by_rate_and_ranks() -> None:
    assert npb.predicted_s("ft", "C", 8) == pytest.approx(396_388e6 / (1e6 * RATES["ft"] * 8), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "nodes", "cores", "chosen"),
    [
        ("ft", 4, 20, ("D", 4, 16)),
        ("ft", 128, 64, ("E", 32, 64)),  # all cores of 32 nodes, not 16 of 64 on each of 128
        ("bt", 1, 20, ("C", 1, 16)),
        ("ep", 128, 192, ("E", 4, 192)),
        ("is", 128, 64, ("E", 2, 64)),  # no number of ranks is long enough: the fewest nodes
    ],
)
def test_a_system_gets_the_smallest_class_that_is_long_enough(
    name: str, nodes: int, cores: int, chosen: tuple[str, int, int]
) -> None:
    found = choose(name, nodes, cores, 240 * GIB)
    assert (found.problem, found.nodes, found.ranks_per_node) == chosen
    assert found.predicted_s >= LEAST_S or name == "is"


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("cores", [1, 20, 64])
@pytest.mark.parametrize("nodes", [1, 2, 5, 16, 128, 1000])
def test_a_larger_class_is_chosen_only_if_the_smaller_one_is_too_short_on_all_ranks(
    name: str, cores: int, nodes: int
) -> None:
    try:
        found = choose(name, nodes, cores, 240 * GIB)
    except RailyardError:
        assert (name, cores) in {("bt", 1), ("sp", 1)}
        return
    assert found.problem in CHOSEN
    assert found.nodes <= nodes
    assert found.ranks_per_node <= cores
    if found.problem != "C":
        smaller = CHOSEN[CHOSEN.index(found.problem) - 1]
        most = max(
            (each.nodes * each.ranks_per_node, each.predicted_s)
            for each in npb._layouts(name, smaller, nodes, cores, 240 * GIB)
        )
        assert most[1] < 2 * LEAST_S


@pytest.mark.parametrize(
    ("name", "problem", "nodes", "cores", "placed"),
    [
        ("cg", "C", 6, 4, (4, 4)),
        ("bt", "C", 6, 4, (4, 4)),
        ("ep", "S", 6, 4, (6, 4)),
        ("cg", "C", 1, 4, (1, 4)),
        ("bt", "C", 9, 1, (9, 1)),
        ("ft", "C", 16, 64, (8, 64)),  # 512 planes: all cores of 8 nodes, not half of those of 16
        ("is", "C", 32, 64, (16, 64)),
        ("ep", "E", 128, 192, (4, 192)),  # all 24576 ranks would take less than a second
    ],
)
def test_a_stated_class_keeps_the_most_ranks_that_are_long_enough_on_the_fewest_nodes(
    name: str, problem: str, nodes: int, cores: int, placed: tuple[int, int]
) -> None:
    found = place(name, problem, nodes, cores)
    assert (found.nodes, found.ranks_per_node) == placed


def test_the_memory_of_fewer_nodes_must_have_the_class() -> None:
    assert place("mg", "E", 16, 64, 240 * GIB).nodes == 4
    assert place("mg", "E", 16, 64, 20 * GIB).nodes == 16


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("nodes", [3, 6, 11, 33, 600])
@pytest.mark.parametrize("gib", [1, 8, 32, 192, 384])
def test_a_class_that_fits_only_on_numbers_of_nodes_without_ranks_is_not_chosen(
    name: str, nodes: int, gib: int
) -> None:
    """FT's class E needs the memory of 5 nodes of 192 GiB; of 6 nodes it can use 4, with a power of two of ranks."""
    try:
        found = choose(name, nodes, 40, gib * GIB)
    except RailyardError as error:
        assert str(error).startswith("NPB: found class C of ")
        return
    assert least_memory(name, found.problem) <= 0.9 * found.nodes * gib * GIB


def test_a_stated_class_that_the_memory_of_no_possible_nodes_has_is_refused_in_words() -> None:
    with pytest.raises(RailyardError) as caught:
        place("ft", "E", 6, 40, 192 * GIB)
    assert str(caught.value) == (
        "NPB: found class E of ft, whose arrays take at least 896.0 GiB, expected at most 768.0 GiB, the memory of 4 "
        "nodes; take a smaller class"
    )


def test_a_chosen_class_leaves_a_tenth_of_the_memory() -> None:
    """The arrays of FT's class D take 112 GiB: 94 % of a node of 119 GiB, and MPI's buffers come on top of them."""
    assert choose("ft", 1, 20, 119 * GIB).problem == "C"
    assert choose("ft", 1, 20, 125 * GIB).problem == "D"
    assert place("ft", "D", 1, 20, 119 * GIB).problem == "D"  # a file may name it


@pytest.mark.parametrize("nodes", [1, 2])
@pytest.mark.parametrize("cores", [1, 2, 20])
def test_is_is_chosen_only_with_the_ranks_that_it_starts_with(nodes: int, cores: int) -> None:
    """It ends with an error on fewer than 4 processes in class D, and on fewer than 64 in class E."""
    found = choose("is", nodes, cores, 2048 * GIB)
    assert found.nodes * found.ranks_per_node >= {"C": 1, "D": 4, "E": 64}[found.problem]
    with pytest.raises(RailyardError, match=r"expected a power of two from 64 to 1024 in all"):
        place("is", "E", nodes, cores, 2048 * GIB)


def test_where_no_number_of_nodes_fits_the_sentence_is_that_of_the_kernel() -> None:
    with pytest.raises(RailyardError, match=r"^NPB: found no number of ranks for bt of class W on 2 nodes"):
        place("bt", "W", 2, 1)


def test_the_messages_of_ft_and_is_take_time_too() -> None:
    """FT's class A: seven exchanges of 256 x 256 x 128 complex numbers; three quarters of each node's part leave it."""
    placed = place("ft", "A", 4, 1)
    moved = 7 * 256 * 256 * 128 * 16 / 4 * 3 / 4
    assert messages_s("ft", placed, 28.9) == pytest.approx(moved / 28.9e6)
    assert messages_s("is", place("is", "A", 4, 1), 28.9) == pytest.approx(10 * (1 << 23) * 4 / 4 * 3 / 4 / 28.9e6)
    assert messages_s("ep", place("ep", "A", 4, 1), 28.9) == 0
    assert messages_s("ft", place("ft", "A", 1, 4), 28.9) == 0
    assert messages_s("ft", placed, float("inf")) == 0


def test_a_network_that_adds_the_rest_makes_a_run_long_enough() -> None:
    placed = place("ft", "C", 128, 64)
    assert describe("ft", placed, 30.0) == (
        "predicted 0.7650 s by 396388 Mop on 512 ranks of 1012 Mop/s, and 30.00 s for its messages"
    )


@pytest.mark.parametrize(
    ("name", "nodes", "cores", "gib", "chosen"),
    [
        ("ep", 4, 20, 119, "E"),
        ("ft", 4, 20, 119, "C"),  # one node has not the memory of D
        ("ft", 4, 20, 240, "D"),
        ("ft", 128, 64, 2000, "E"),
        ("ep", 1, 20, 119, "D"),
    ],
)
def test_a_sweep_has_a_class_that_one_node_holds(name: str, nodes: int, cores: int, gib: int, chosen: str) -> None:
    assert npb.choose_swept(name, nodes, cores, gib * GIB) == chosen


def test_the_sentence_says_what_was_assumed_and_what_to_take_instead() -> None:
    assert describe("ft", place("ft", "C", 128, 64)) == (
        "predicted 0.7650 s by 396388 Mop on 512 ranks of 1012 Mop/s: below 20 s it is not judged, unless "
        "the network adds the rest; take class D (npb_classes), or fewer nodes"
    )
    assert describe("ft", place("ft", "D", 4, 16)).endswith("Mop on 64 ranks of 1012 Mop/s")
    assert larger("E") == "take fewer nodes"
