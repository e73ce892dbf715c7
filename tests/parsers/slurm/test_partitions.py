"""Slurm's records of partitions: one that starts no jobs is named, and who shares nodes is known, in any release.

The recordings are `scontrol -o show partition` of the virtual cluster, Slurm 22.05.8 and 26.05.3.
"""

from pathlib import Path

import pytest

from railyard.parsers.slurm import Partition, of_jobs, parse

FOLDER = Path(__file__).parents[2] / "recordings" / "slurm"


def recorded_partitions(name: str) -> tuple[Partition, ...]:
    return parse((FOLDER / f"{name}.txt").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("partitions", ("EXCLUSIVE", "")),
        ("26.05.3/partitions", ("NO", "NODE")),
    ],
)
def test_whole_nodes_are_known_in_the_words_of_each_release(name: str, words: tuple[str, str]) -> None:
    first, second = recorded_partitions(name)
    assert first == Partition("all", True, "UP", *words)
    assert second == Partition("urgent", False, "UP", *words)
    assert (first.sharing, first.why_closed) == (None, None)


def test_a_partition_that_gives_whole_blocks_gives_whole_nodes() -> None:
    _, second = recorded_partitions("26.05.3/partitions-topo")
    assert (second.exclusive, second.oversubscribe, second.sharing) == ("TOPO", "NO", None)


@pytest.mark.parametrize(
    ("exclusive", "oversubscribe", "sharing"),
    [("", "NO", "NO"), ("NO", "NO", "NO"), ("USER", "YES:4", "YES:4"), ("", "FORCE:4", "FORCE:4"), ("", "", None)],
)
def test_a_partition_that_gives_parts_of_nodes_says_how(
    exclusive: str, oversubscribe: str, sharing: str | None
) -> None:
    assert Partition("all", True, "UP", oversubscribe, exclusive).sharing == sharing


@pytest.mark.parametrize("name", ["partitions-down", "26.05.3/partitions-down"])
def test_a_partition_that_starts_no_jobs_is_named_if_jobs_use_it(name: str) -> None:
    assert [(one.name, one.why_closed) for one in of_jobs(recorded_partitions(name), ("urgent",))] == [
        ("urgent", "starts no jobs (State=DOWN)")
    ]
    assert [(one.name, one.why_closed) for one in of_jobs(recorded_partitions(name), ())] == [("all", None)]


@pytest.mark.parametrize(
    ("state", "closed"),
    [
        ("UP", None),
        ("DRAIN", "takes no jobs (State=DRAIN)"),
        ("INACTIVE", "takes and starts no jobs (State=INACTIVE)"),
    ],
)
def test_each_state_is_said(state: str, closed: str | None) -> None:
    assert Partition("all", True, state).why_closed == closed


def test_without_an_answer_there_is_no_partition() -> None:
    assert parse("slurm_load_partitions error: Unable to contact slurm controller\n") == ()
