"""How long a collective takes at most, how little of its rails that asks, and the numbers that set the bounds."""

from typing import get_args

import pytest

from railyard.hardware.collective_times import time_of
from railyard.hardware.day_one import RDMA, Pattern, Rail, rail_of
from railyard.hardware.limits import limit
from railyard.hardware.links import LINKS

KIB, MIB = 1 << 10, 1 << 20
PATTERNS: tuple[Pattern, ...] = get_args(Pattern)


def rail(link: str, rails: int = 1) -> Rail:
    one, both = limit(LINKS[link]), limit(LINKS[link], directions=2)
    found = rail_of(RDMA, one, one, both)
    assert found is not None
    return found.times(rails)


@pytest.mark.parametrize(
    ("link", "rails", "pattern", "nodes", "ranks", "size", "healthy_us"),
    [
        # What people posted: RoCE at 100 Gbit/s (Oracle), EDR (Lassen, 4 and 8 nodes), Slingshot 11 (CSCS).
        ("roce-100", 1, "alltoall", 4, 1, 4 * MIB, 1688.0),
        ("roce-100", 1, "alltoall", 2, 1, MIB, 274.9),
        ("ib-edr", 1, "allreduce", 4, 1, MIB, 573.5),
        ("ib-edr", 1, "allreduce", 8, 1, MIB, 683.9),
        ("slingshot-11", 4, "alltoall", 2, 4, MIB, 1823.5),
    ],
)
def test_healthy_collectives_are_below_their_bound_and_at_a_third_of_their_rate_above(
    link: str, rails: int, pattern: Pattern, nodes: int, ranks: int, size: int, healthy_us: float
) -> None:
    assert healthy_us < time_of(rail(link, rails), pattern, size, nodes, ranks).longest_us < 3 * healthy_us


def test_an_allreduce_of_a_few_bytes_is_below_its_bound_and_over_tcp_above() -> None:
    assert 3.98 < time_of(rail("ib-edr"), "allreduce", 4, 8, 1).longest_us < 100.0


@pytest.mark.parametrize("pattern", PATTERNS)
def test_more_ranks_nodes_and_bytes_never_lower_the_bound_of_a_collective(pattern: Pattern) -> None:
    shapes = ((2, 1), (4, 1), (4, 8), (64, 8))
    for sizes in ((8, 64 * KIB), (64 * KIB, 4 * MIB)):
        bounds = [[time_of(rail("ib-edr"), pattern, size, *shape).longest_us for shape in shapes] for size in sizes]
        assert all(of_size == sorted(of_size) for of_size in bounds)
        assert pattern == "barrier" or all(short < long for short, long in zip(*bounds, strict=True))


def test_what_crosses_the_rails_grows_with_the_ranks_of_a_node_only_where_it_must() -> None:
    def grows(pattern: Pattern) -> float:
        one, many = (time_of(rail("ib-hdr"), pattern, MIB, 8, ranks).least_us for ranks in (1, 32))
        return many / one

    assert {pattern: grows(pattern) for pattern in PATTERNS if pattern != "barrier"} == {
        **dict.fromkeys(("allreduce", "reduce", "reduce_scatter", "broadcast"), 1.0),
        **{"alltoall": 32.0 * 32.0, "allgather": 32.0, "root": 32.0},
    }


@pytest.mark.parametrize(
    ("pattern", "size", "nodes", "ranks", "part"),
    [
        ("alltoall", MIB, 8, 32, "rails"),
        ("allgather", MIB, 8, 32, "memory"),
        ("broadcast", MIB, 8, 32, "memory"),
        ("allreduce", MIB, 8, 1, "adding up"),
        ("allreduce", 8, 8, 1, "starts"),
    ],
)
def test_the_slowest_part_is_what_hides_the_rails(
    pattern: Pattern, size: int, nodes: int, ranks: int, part: str
) -> None:
    assert time_of(rail("ib-hdr"), pattern, size, nodes, ranks).slowest_part == part


def test_a_run_at_its_bound_has_the_share_of_the_rails_that_is_stated() -> None:
    """8 nodes with 32 ranks each: 32 x 32 x 7 blocks of 1 MiB reach each node."""
    hdr = rail("ib-hdr")
    time = time_of(hdr, "alltoall", MIB, 8, 32)
    assert 32 * 32 * 7 * MIB / time.longest_us == pytest.approx(time.rails_share * hdr.all_mb_s)
    assert 0.3 < time.rails_share < 0.4
