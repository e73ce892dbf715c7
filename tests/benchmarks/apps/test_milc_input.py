"""MILC's lattices by number of nodes, how its ranks divide them, and the text of its input."""

import math

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps.milc import (
    RESIDUAL,
    SOLVES,
    format_lattice,
    lattice,
    lattice_of,
    local,
    ranks_per_node,
    text,
)
from railyard.benchmarks.table.applications import MILC_EDGES


@pytest.mark.parametrize(
    ("nodes", "sides"),
    [
        (1, (6, 6, 6, 6)),
        (2, (6, 6, 6, 12)),
        (4, (6, 6, 12, 12)),
        (8, (6, 12, 12, 12)),
        (16, (12, 12, 12, 12)),
        (32, (12, 12, 12, 24)),
    ],
)
def test_the_lattice_grows_with_the_nodes(nodes: int, sides: tuple[int, int, int, int]) -> None:
    assert lattice(6, nodes) == sides
    assert math.prod(sides) == 6**4 * nodes


@pytest.mark.parametrize("nodes", [0, 3, 6, -2])
def test_other_numbers_of_nodes_are_refused(nodes: int) -> None:
    with pytest.raises(RailyardError) as caught:
        lattice(4, nodes)
    assert str(caught.value) == f"MILC with 4^4 sites per node: found {nodes} nodes, expected 1, 2, 4, 8 or 16"


@pytest.mark.parametrize(
    ("key", "sides"),
    [
        ("milc/asqtad/L4/2-nodes", (4, 4, 4, 8)),
        ("milc/asqtad/L14/1-nodes", (14, 14, 14, 14)),
        ("milc/asqtad/L14", None),
        ("milc/milc/2-nodes", None),
        ("npb/FT/W/4-nodes", None),
    ],
)
def test_a_key_has_its_lattice(key: str, sides: tuple[int, ...] | None) -> None:
    assert lattice_of(key) == sides


@pytest.mark.parametrize(
    ("sides", "ranks", "part"),
    [
        # as MILC 7.8.1 printed it ("ON EACH NODE (RANK) …") when it ran
        ((4, 4, 4, 8), 1, (4, 4, 4, 8)),
        ((4, 4, 4, 8), 2, (4, 4, 4, 4)),
        ((6, 6, 6, 6), 4, (3, 3, 6, 6)),
        # and how it failed: 4 x 4 x 4 x 2 with SIGSEGV, 2 x 4 x 4 x 2 with a message, 2 x 6 x 6 x 6 never ended
        ((4, 4, 4, 8), 4, None),
        ((4, 4, 4, 8), 8, None),
        ((6, 6, 6, 6), 3, None),
        # a prime that divides no side, and a prime that MILC does not know
        ((8, 8, 8, 8), 3, None),
        ((14, 14, 14, 14), 59, None),
        # if two sides are equally long, the one that was cut is cut again
        ((8, 8, 16, 16), 4, (8, 8, 8, 8)),
        ((8, 8, 8, 16), 8, (4, 8, 8, 4)),
    ],
)
def test_ranks_divide_a_lattice_as_milc_does(
    sides: tuple[int, int, int, int], ranks: int, part: tuple[int, ...] | None
) -> None:
    assert local(sides, ranks) == part


@pytest.mark.parametrize(
    ("edge", "nodes", "cores", "each"),
    [(4, 1, 64, 1), (4, 16, 64, 1), (6, 1, 64, 16), (6, 1, 6, 4), (8, 4, 24, 16), (12, 1, 64, 64), (14, 2, 1, 1)],
)
def test_a_node_has_the_most_ranks_that_fit(edge: int, nodes: int, cores: int, each: int) -> None:
    assert ranks_per_node(edge, nodes, cores) == each


@pytest.mark.parametrize("edge", MILC_EDGES)
@pytest.mark.parametrize("nodes", [1, 2, 4, 8, 16])
def test_one_rank_a_node_has_the_lattice_of_a_node(edge: int, nodes: int) -> None:
    assert local(lattice(edge, nodes), nodes) == (edge,) * 4


def test_the_input_says_what_is_held_afterwards() -> None:
    lines = dict(line.split(" ", 1) for line in text((4, 4, 4, 8)).splitlines() if " " in line)
    assert format_lattice((4, 4, 4, 8)) == "4x4x4x8"
    assert [lines[f"n{axis}"] for axis in "xyzt"] == ["4", "4", "4", "8"]
    assert float(lines["error_per_site"]) ** 2 == pytest.approx(RESIDUAL)
    assert float(lines["error_for_propagator"]) ** 2 == pytest.approx(RESIDUAL)
    assert 2 * int(lines["steps_per_trajectory"]) * int(lines["trajecs"]) + 2 * 2 * int(lines["npbp_reps"]) == SOLVES
