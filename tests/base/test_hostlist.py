"""Names of nodes in Slurm's way of writing, both ways, and in a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.base.hostlist import MOST_IN_WORDS, expand_names, fold_names, list_nodes

FOLDED = [
    (("n1", "n2", "n3"), "n[1-3]"),
    (("n3", "n1", "n2", "n2"), "n[1-3]"),
    (("n01", "n02", "n4", "n5", "n06"), "n[01-02,06],n[4-5]"),
    (("node001", "node003", "login"), "node[001,003],login"),
    (("node001",), "node001"),
    (("a", "b"), "a,b"),
    (("r1n9", "r1n10"), "r1n9,r1n10"),
    ((), ""),
]


@pytest.mark.parametrize(("names", "text"), FOLDED)
def test_names_are_folded(names: tuple[str, ...], text: str) -> None:
    assert fold_names(names) == text
    assert set(expand_names(text)) - {""} == set(names)


#: A name of a few letters and digits, some with zeros in front, some without any number.
NAMES = st.builds("{}{}".format, st.text("abn", min_size=1, max_size=3), st.text("0189", max_size=4))


@given(st.lists(NAMES, max_size=40))
def test_what_is_folded_expands_to_the_same_names(names: list[str]) -> None:
    found = list(expand_names(fold_names(names)))
    assert sorted(found) == sorted(set(names))


def test_a_few_nodes_are_named_and_of_many_the_ranges() -> None:
    names = tuple(f"n{number:04}" for number in range(1, 5121))
    assert list_nodes(()) == ""
    assert list_nodes(names[:2]) == "n0001 and n0002"
    assert list_nodes(names[:MOST_IN_WORDS]).count("n00") == MOST_IN_WORDS
    assert list_nodes(names[: MOST_IN_WORDS + 1]) == "17 nodes (n[0001-0017])"
    assert list_nodes(names) == "5120 nodes (n[0001-5120])"
    assert list_nodes((*names[:7], *names[8:])) == "5119 nodes (n[0001-0007,0009-5120])"
    assert list_nodes(names[::2]) == "2560 nodes (n0001, n0003, n0005, n0007 and 2556 more)"
