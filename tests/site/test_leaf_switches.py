"""Which leaf switch each node stands at: as a system's file says it, as it was measured, and as a job is told."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from railyard.base.hostlist import expanded
from railyard.site.topology import FORMAT, Kept, hops_between, keep, leaves, parse, sides, stated, text

SWITCHES = {"leaf1": ("n1", "n2"), "leaf2": ("N3.site.org",)}
LEAF_OF = {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2"}
#: Two rails in planes of their own: other switches, the same nodes at each.
PLACES = {
    "mlx5_0": {"n1": "LID 1", "n2": "LID 1", "n3": "LID 2"},
    "mlx5_1": {"n1": "LID 7", "n2": "LID 7", "n3": "LID 8"},
    "mlx5_2": {"n1": "LID 1", "n2": "LID 2", "n3": "LID 2"},
}


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("login", ["login"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[008-010,020].site", ["n008.site", "n009.site", "n010.site", "n020.site"]),
        ("n[7]", ["n7"]),
        ("login,n[1,3],m[2]", ["login", "n1", "n3", "m2"]),
    ],
)
def test_ranges_stand_for_names(written: str, names: list[str]) -> None:
    assert list(expanded(written)) == names


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("n[3-1]", "'3-1' does not rise, or is more than 10000 names"),
        ("n[1-99999]", "'1-99999' does not rise, or is more than 10000 names"),
        ("n[1-2-3]", "'1-2-3' is no number and no range of two"),
        ("n[1,,2]", "'' is no number and no range of two"),
    ],
)
def test_a_range_that_is_none_is_a_sentence(written: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:
        list(expanded(written))
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("switches", "devices", "found"),
    [
        (SWITCHES, ("mlx5_0",), LEAF_OF),
        ({}, ("mlx5_0",), PLACES["mlx5_0"]),
        ({}, ("mlx5_0", "mlx5_1"), PLACES["mlx5_0"]),
        ({}, ("mlx5_0", "mlx5_2"), {}),
        ({}, ("mlx5_7",), {}),
    ],
)
def test_what_is_stated_goes_before_what_was_measured_where_its_rails_agree(
    tmp_path: Path, switches: Mapping[str, tuple[str, ...]], devices: tuple[str, ...], found: Mapping[str, str]
) -> None:
    keep(tmp_path, Kept(FORMAT, "made", "edr", PLACES, {}))
    assert leaves(tmp_path, "made", "edr", switches, devices) == found
    assert leaves(tmp_path, "made", "fdr", {}, devices) == {}


def test_each_host_of_a_run_has_its_side_or_none_has() -> None:
    assert sides(LEAF_OF, ("N3", "n1.site.org")) == ("leaf2", "leaf1")
    assert sides({}, ("n1", "n2")) == ()
    with pytest.raises(ValueError) as refused:
        sides(LEAF_OF, ("n1", "n9"))
    assert str(refused.value) == "n9 stands at none of the leaf switches that are known, which have 3 nodes"


def test_a_job_reads_back_what_it_was_told() -> None:
    assert text(stated(SWITCHES)) == "n1 leaf1\nn2 leaf1\nn3 leaf2\n"
    assert parse(text(PLACES["mlx5_0"])) == PLACES["mlx5_0"]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("n1 leaf1\nn2\n", "line 2: 'n2', expected a node and its switch"),
        ("n1 leaf1\nN1.site leaf2\n", "line 2: N1.site stands at leaf2 and at leaf1"),
    ],
)
def test_a_damaged_file_of_switches_is_a_sentence(told: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:
        parse(told)
    assert str(refused.value) == said


def test_two_nodes_at_one_stated_switch_have_one_hop_where_none_were_kept(tmp_path: Path) -> None:
    def hops(*nodes: str) -> int | None:
        return hops_between(tmp_path, "made", "edr", nodes, ("mlx5_0",), LEAF_OF)

    assert (hops("n1", "N2.site"), hops("n1", "n3"), hops("n1", "n9"), hops("n8", "n9")) == (1, None, None, None)
    keep(tmp_path, Kept(FORMAT, "made", "edr", PLACES, {"LID 1": {"LID 1": 2}}))
    assert hops("n1", "n2") == 2
