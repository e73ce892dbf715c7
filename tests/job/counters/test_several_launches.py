"""The counters of a run in several launches: one file per node, as if they were one launch."""

import pytest

from railyard.job.counters import join_launches, parse
from tests.made.judged_run import TAG, counters_file

RAIL = ("hsn0",)


def launch(nodes: tuple[str, ...], moved_mb: float, *, start: int = 1000, end: str = "end 0") -> tuple[str, ...]:
    """Return what the nodes' readers wrote in a launch that begins with counters at ``start`` bytes."""
    texts = (counters_file(node, {"hsn0": (moved_mb, 0.0)}, RAIL, end) for node in nodes)
    bytes_after = 1000 + round(moved_mb * 1e6)
    return tuple(
        text.replace("after hsn0 tx_bytes", "AFTER")
        .replace("tx_bytes 1000", f"tx_bytes {start}")
        .replace(f"AFTER {bytes_after}", f"after hsn0 tx_bytes {start + bytes_after - 1000}")
        for text in texts
    )


NODES = ("vn1", "vn2")
FIRST, SECOND = launch(NODES, 2.0), launch(NODES, 3.0, start=2_001_000)


def test_a_node_moved_what_it_moved_in_both_launches() -> None:
    found = [parse(text, TAG) for text in join_launches([FIRST, SECOND], TAG)]
    assert [each.node for each in found] == ["vn1", "vn2"]
    assert [each.devices[0].tx.delta_bytes for each in found] == [5_000_000, 5_000_000]
    assert all(each.problem is None and each.exit_code == 0 for each in found)


def test_one_launch_is_as_it_is() -> None:
    assert join_launches([FIRST], TAG) == FIRST
    assert join_launches([(), FIRST], TAG) == FIRST
    assert join_launches([], TAG) == join_launches([(), ()], TAG) == ()


def test_a_launch_that_failed_says_so_itself_and_the_next_one_never_began() -> None:
    broken = launch(NODES, 1.0, end="end 139")
    assert join_launches([broken, ()], TAG) == broken
    assert join_launches([broken, SECOND], TAG) == broken


@pytest.mark.parametrize("number", [0, 1])
def test_a_file_of_another_run_is_no_part_of_this_one(number: int) -> None:
    launches = [FIRST, SECOND]
    launches[number] = tuple(text.replace(TAG, "other-17") for text in launches[number])
    problems = [parse(text, TAG).problem for text in join_launches(launches, TAG)]
    assert problems == [f"the file is from another run (other-17, expected {TAG})"] * 2


@pytest.mark.fault("path", "a node read no counters in one of two launches", "vn1")
def test_a_node_that_was_not_read_in_each_launch_is_left_out(promise: str) -> None:
    assert [parse(text, TAG).node for text in join_launches([FIRST, SECOND[:1]], TAG)] == [promise]
    assert [parse(text, TAG).node for text in join_launches([FIRST[:1], SECOND], TAG)] == [promise]
