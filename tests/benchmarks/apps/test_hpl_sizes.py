"""HPL's named sizes: memory, ranks and grid, time, and what contradicts a size."""

import math

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.apps.hpl import SIZES, Layout, Times, Wish, grid, layout, plan_size
from railyard.hardware.node import NodeHardware

#: The nodes of the published comparison: two Xeon E5-2660 v3.
NODE = NodeHardware(cores=20, memory=119 << 30, base_ghz=2.6, flop_per_cycle=16)


def test_an_acceptance_takes_most_of_the_memory_and_says_how_long() -> None:
    made = plan_size("acceptance", NODE, 16, 20)
    assert 0.84 < made.memory_share <= 0.85
    assert made.memory_share == 8 * made.problem.order**2 / (16 * NODE.memory)
    # 70 % of 16 nodes of 832 Gflop/s
    assert made.predicted_s == pytest.approx(made.problem.flop / (0.7 * 16 * 832e9))
    assert 2 * made.predicted_s <= made.limit_s < 2 * made.predicted_s + 181
    assert made.sentences[1] == (
        f"size acceptance: 85.0 % of the memory of 16 nodes of 20 ranks, predicted {made.predicted_s:.0f} s, "
        f"time limit {made.limit_s} s"
    )


def test_the_seed_has_its_80_ranks_and_90_percent() -> None:
    made = plan_size("seed", NODE, 16, 20)
    assert (made.layout.nodes, made.layout.ranks_per_node, made.problem.rows, made.problem.columns) == (4, 20, 8, 10)
    assert 0.89 < made.memory_share <= 0.9
    # on nodes with more cores, only those that have a rank compute
    large = NODE.model_copy(update={"cores": 64})
    there = plan_size("seed", large, 16, 64)
    assert (there.layout.nodes, there.layout.ranks_per_node) == (2, 40)
    assert there.predicted_s == pytest.approx(there.problem.flop / (0.7 * 80 * 16 * 2.6e9))


def test_quick_takes_its_budget_and_the_systems_limit() -> None:
    made = plan_size("quick", NODE, 16, 20, times=Times(75.0))
    assert made.predicted_s <= 75.0 < made.predicted_s * 1.02
    assert (made.limit_s, made.problem.bound) == (0, "time")


def test_quick_has_a_longer_limit_only_if_what_was_asked_for_needs_it() -> None:
    """A budget of 1,800 s was ended at the file's 600 s."""
    asked = plan_size("quick", NODE, 16, 20, times=Times(1800.0, 600.0))
    assert asked.limit_s >= 2 * asked.predicted_s
    assert plan_size("quick", NODE, 16, 20, times=Times(75.0, 600.0)).limit_s == 0
    ordered = plan_size("quick", NODE, 4, 20, times=Times(75.0, 600.0), wish=Wish(order=200000))
    assert ordered.limit_s >= 2 * ordered.predicted_s > 600


def test_one_rank_of_many_cores_gets_the_work_of_one_core() -> None:
    alone = plan_size("quick", NODE, 4, 1, times=Times(75.0), keep="ranks")
    assert alone.problem.flop / (4 * 0.5 * 16 * 2.6e9) <= 75.0
    assert alone.predicted_s <= 75.0


def test_a_full_memory_is_computed_by_the_processors() -> None:
    """With the accelerators' rate, the time limit would end a run on the processors."""
    with_gpus = NODE.model_copy(update={"accelerator_gflop_s": 40000.0})
    assert plan_size("acceptance", with_gpus, 4, 20).limit_s == plan_size("acceptance", NODE, 4, 20).limit_s


def test_without_a_clock_the_sentence_says_what_was_assumed() -> None:
    unknown = NODE.model_copy(update={"base_ghz": None})
    assert (
        plan_size("acceptance", unknown, 4, 20)
        .sentences[1]
        .endswith(", for 1.000 Gflop/s a core, since nodes.hardware lacks base_ghz or flop_per_cycle")
    )


@pytest.mark.parametrize(
    ("nodes", "cores", "chosen"),
    [
        (16, 20, (16, 20)),
        (1, 7, (1, 6)),  # 2x3, not 1x7
        (13, 4, (12, 4)),  # 6x8, not 4x13
        (127, 1, (126, 1)),
        (127, 64, (127, 64)),  # 64x127
        (1, 1, (1, 1)),
    ],
)
def test_a_flat_grid_takes_fewer_ranks_and_says_so(nodes: int, cores: int, chosen: tuple[int, int]) -> None:
    found = layout(nodes, cores)
    assert (found.nodes, found.ranks_per_node) == chosen
    rows, columns = grid(found.ranks)
    assert columns <= 3 * rows
    assert bool(found.why) == (chosen != (nodes, cores))


def test_the_sentence_names_the_flat_grid() -> None:
    assert layout(1, 7).why == "1 of 1 node, 6 of 7 cores per node: 7 ranks have only a grid of 1x7, flatter than 1:3"


def test_nodes_that_were_asked_for_stay() -> None:
    assert layout(13, 4, all_nodes=False) == Layout(
        13, 4, "52 ranks have only a grid of 4x13, flatter than 1:3"
    )  # no number of ranks per node gives a better one
    assert plan_size("quick", NODE, 1, 7, times=Times(1.0), keep="ranks").layout == Layout(1, 7)


@pytest.mark.parametrize(
    ("size", "wish", "sentence"),
    [
        (
            "huge",
            Wish(),
            'HPL: found the size "huge", expected quick, acceptance or seed: known: acceptance, quick, seed',
        ),
        (
            "acceptance",
            Wish(share=0.5),
            "HPL: found -S share=0.5, expected a share from 80.0 % to 90.0 %: the size acceptance sets N from the "
            "memory; leave it out, or take -S size=quick",
        ),
        (
            "seed",
            Wish(order=1000),
            "HPL: found -S order=1000, expected none: the size seed sets N from the memory; leave it out, or take -S "
            "size=quick",
        ),
    ],
)
def test_what_contradicts_a_size_is_refused(size: str, wish: Wish, sentence: str) -> None:
    with pytest.raises(RailyardError) as caught:
        plan_size(size, NODE, 4, 20, times=Times(1.0), wish=wish)
    assert str(caught.value) == sentence


def test_a_seed_needs_two_nodes() -> None:
    with pytest.raises(RailyardError) as caught:
        plan_size("seed", NODE, 1, 192)
    assert str(caught.value) == (
        "HPL: found 1 node of 192 cores for the size seed, expected 80 ranks on two nodes or more, the same number on "
        "each; take -S size=acceptance"
    )


def test_more_time_is_never_given_than_the_model_says() -> None:
    for size in SIZES:
        made = plan_size(size, NODE, 4, 20, times=Times(math.inf))
        assert made.memory_share <= 0.9
