"""Stored distances of a fabric and the leaf switch of each node, and which references then judge a run."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import InputError, RailyardError
from railyard.base.hostlist import expand_names
from railyard.parsers import imb
from railyard.site.site import Site
from railyard.site.topology import (
    FORMAT,
    Places,
    PlacesInJob,
    StoredDistances,
    contradiction,
    file_of,
    hops_between,
    keep,
    parse,
    places_in_job,
    places_of,
    sides,
    stated_leaves,
    text,
)
from railyard.verdict.assess import Assessment
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.system_target import of_system

PLACES = {
    "mlx5_0": {"vn1": "LID 1", "vn2": "LID 1", "vn3": "LID 2"},
    "mlx5_1": {"vn1": "LID 1", "vn2": "LID 2", "vn3": "LID 2"},
}
HOPS = {"LID 1": {"LID 1": 1, "LID 2": 3}, "LID 2": {"LID 1": 3, "LID 2": 1}}


@pytest.mark.parametrize(
    ("nodes", "devices", "hops"),
    [
        (("vn1", "vn2"), ("mlx5_0",), 1),
        (("VN1.site.org", "vn2.site.org"), ("mlx5_1",), 3),
        (("vn1", "vn3"), ("mlx5_0", "mlx5_1"), 3),
        (("vn1", "vn2"), ("mlx5_0", "mlx5_1"), None),
        (("vn1", "vn9"), ("mlx5_0",), None),
        (("vn1", "vn2"), ("mlx5_7",), None),
        (("vn1", "vn2", "vn3"), ("mlx5_0",), None),
    ],
)
def test_two_nodes_have_the_hops_on_which_all_their_rails_agree(
    tmp_path: Path, nodes: tuple[str, ...], devices: tuple[str, ...], hops: int | None
) -> None:
    keep(tmp_path, StoredDistances(FORMAT, "made", "edr", PLACES, HOPS))
    assert hops_between(tmp_path, "made", "edr", nodes, devices, None) == hops
    assert hops_between(tmp_path, "made", "fdr", nodes, devices, None) is None


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            '{"format":1,"system"',
            "found no whole table (Expecting ':' delimiter: line 1 column 21 (char 20)), expected what --keep-hops "
            "wrote; measure it again: railyard fabric --keep-hops",
        ),
        (
            '{"format":1,"system":"made"}',
            "found no whole table (fabric: found nothing, expected this key), expected what --keep-hops wrote; measure "
            "it again: railyard fabric --keep-hops",
        ),
        (
            json.dumps({"format": 2, "system": "made", "fabric": "edr"}),
            "found format 2, expected format 1; measure it again: railyard fabric --keep-hops",
        ),
    ],
)
def test_a_table_that_is_damaged_is_one_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    file = file_of(tmp_path, "made", "edr")
    file.parent.mkdir(parents=True)
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        hops_between(tmp_path, "made", "edr", ("vn1", "vn2"), ("mlx5_0",), None)
    assert str(refused.value) == f"{file}: {sentence}"


@pytest.fixture
def bound(virtual: Site) -> Site:
    """The system `virtual` with references that only apply to nodes on one switch."""
    entries = tuple(entry.model_copy(update={"hops": (1,)}) for entry in virtual.references.entries)
    return replace(virtual, references=replace(virtual.references, entries=entries))


@pytest.mark.parametrize(
    ("hops", "state", "end"),
    [
        (1, "pass", None),
        (3, "fail", "; references by hops (1) were not used: vn1 and vn2 have 3 between them"),
        (
            None,
            "fail",
            "; references by hops (1) were not used: it is not known how many switches are between its nodes (type: "
            "railyard fabric --keep-hops)",
        ),
    ],
)
def test_a_run_is_judged_by_the_references_of_its_hops(
    assess_cell: Callable[..., Assessment], bound: Site, hops: int | None, state: str, end: str | None
) -> None:
    found = assess_cell(site=bound, hops=hops)
    assert found.verdict.state == state
    if end is None:
        assert "hops" not in found.verdict.text
    else:
        assert found.verdict.rule == 5
        assert found.verdict.text.endswith(end)


def test_references_that_hold_for_any_hops_need_none(assess_cell: Callable[..., Assessment]) -> None:
    verdicts: list[Any] = [assess_cell(hops=hops).verdict for hops in (None, 3)]
    assert [(verdict.state, "hops" in verdict.text) for verdict in verdicts] == [("pass", False), ("pass", False)]


@pytest.mark.parametrize(("hops", "passed"), [(1, True), (3, False)])
def test_a_stored_output_is_judged_by_the_hops_that_are_told(
    bound: Site, imb_text: Callable[..., str], hops: int, passed: bool
) -> None:
    target = of_system(bound, "hsn", "mpich", hops=hops)
    assert target.description == f"virtual, fabric hsn, mpich, 1 rail, single, hops {hops}"
    assert [judgement.is_pass for judgement in judge(imb.parse(imb_text()), target)] == [passed]


def test_a_stored_output_is_not_judged_without_them(bound: Site) -> None:
    with pytest.raises(RailyardError) as refused:
        of_system(bound, "hsn", "mpich")
    assert str(refused.value) == (
        "--hops: found nothing, expected the number of switches between the two nodes: the reference one-rail "
        "applies only to 1"
    )


SWITCHES = {"leaf1": ("n1", "n2"), "leaf2": ("N3.site.org",)}
LEAF_OF = {"n1": "leaf1", "n2": "leaf1", "n3": "leaf2"}
#: Two rails in separate planes: other switches, with the same nodes at each.
PLANES = {
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
        ("r[1-2]n[09-10],s[3]", ["r1n09", "r1n10", "r2n09", "r2n10", "s3"]),
        ("r[1]c[2]n[3].site", ["r1c2n3.site"]),
    ],
)
def test_ranges_stand_for_names(written: str, names: list[str]) -> None:
    assert list(expand_names(written)) == names


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("n[3-1]", "'3-1' does not rise, or is more than 10000 names"),
        ("n[1-99999]", "'1-99999' does not rise, or is more than 10000 names"),
        ("n[1-2-3]", "'1-2-3' is neither a number nor a range of two"),
        ("n[1,,2]", "'' is neither a number nor a range of two"),
        ("r[1-200]n[1-200]", "'r[1-200]n[1-200]' is more than 10000 names"),
        ("r[1-2]n[2-1]", "'2-1' does not rise, or is more than 10000 names"),
    ],
)
def test_a_range_that_is_none_is_a_sentence(written: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:
        list(expand_names(written))
    assert str(refused.value) == said


@pytest.mark.parametrize(
    ("switches", "devices", "found"),
    [
        (SWITCHES, ("mlx5_0",), LEAF_OF),
        ({}, ("mlx5_0",), PLANES["mlx5_0"]),
        ({}, ("mlx5_0", "mlx5_1"), PLANES["mlx5_0"]),
        ({}, ("mlx5_0", "mlx5_2"), {}),
        ({}, ("mlx5_7",), {}),
    ],
)
def test_what_is_stated_goes_before_what_was_measured_where_its_rails_agree(
    tmp_path: Path,
    virtual: Site,
    switches: Mapping[str, tuple[str, ...]],
    devices: tuple[str, ...],
    found: Mapping[str, str],
) -> None:
    keep(tmp_path, StoredDistances(FORMAT, virtual.system.system, "hsn", PLANES, {}))
    hsn = virtual.system.fabrics["hsn"]
    rails = [hsn.rails[0].model_copy(update={"device": device}) for device in devices]
    fabrics = {name: hsn.model_copy(update={"leaf_switches": switches}) for name in ("hsn", "other")}
    system = virtual.system.model_copy(update={"fabrics": fabrics})
    assert places_of(tmp_path, system, "hsn", rails).leaf_of == found
    assert places_of(tmp_path, system, "other", rails).leaf_of == (LEAF_OF if switches else {})


def test_each_host_of_a_run_has_its_side_or_none_has() -> None:
    assert sides(LEAF_OF, ("N3", "n1.site.org")) == ("leaf2", "leaf1")
    assert sides({}, ("n1", "n2")) == ()
    with pytest.raises(ValueError) as refused:
        sides(LEAF_OF, ("n1", "n9"))
    assert str(refused.value) == "n9 is at none of the known leaf switches, which have 3 nodes"


def test_a_job_reads_back_what_it_was_told() -> None:
    assert text(Places(stated_leaves(SWITCHES))) == "n1 leaf1\nn2 leaf1\nn3 leaf2\n"
    for places in (Places(PLANES["mlx5_0"]), Places(LEAF_OF, {"n1": "g1", "n2": "g1", "n3": "g2"})):
        assert parse(text(places)) == places


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"n1": "a", "n2": "a", "n3": "b"}, None),
        ({"n1": "a", "n3": "b"}, None),
        (
            {"n1": "a", "n2": "b", "n3": "c"},
            "n1 and n2 are at a and b by the file, and at LID 1 on mlx5_0 as measured",
        ),
        (
            {"n1": "a", "n2": "a", "n3": "a"},
            "n1 and n3 are at a by the file, and at LID 1 and LID 2 on mlx5_0 as measured",
        ),
    ],
)
def test_stated_switches_that_contradict_measured_ones_are_a_sentence(
    stated: Mapping[str, str], said: str | None
) -> None:
    kept = StoredDistances(FORMAT, "made", "edr", PLANES, {})
    assert contradiction(Places(stated), kept, ("mlx5_0", "mlx5_1")) == said
    assert contradiction(Places(stated), None, ("mlx5_0",)) is None


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("n1 leaf1\nn2\n", "line 2: 'n2', expected a node and its switch"),
        ("n1 leaf1\nN1.site leaf2\n", "line 2: N1.site is at leaf2 and at leaf1"),
        ("n1 leaf1\tg1\nn2 leaf2\n", "n2 has no group, and others have one"),
    ],
)
def test_a_damaged_file_of_switches_is_a_sentence(told: str, said: str) -> None:
    with pytest.raises(ValueError) as refused:
        parse(told)
    assert str(refused.value) == said


def test_stated_hops_count_where_none_were_kept(tmp_path: Path) -> None:
    def hops(stated: int | None) -> int | None:
        return hops_between(tmp_path, "made", "edr", ("n1", "n2"), ("mlx5_0",), stated)

    assert (hops(1), hops(None)) == (1, None)
    keep(tmp_path, StoredDistances(FORMAT, "made", "edr", PLANES, {"LID 1": {"LID 1": 2}}))
    assert hops(1) == 2


TREE = "SwitchName=a Level=0 Nodes=n[1-2]\nSwitchName=b Level=0 Nodes=n[3-4]\nSwitchName=top Level=1 Switches=a,b\n"
FOUR = ("n1", "n2", "n3", "n4.site")


def in_job(stated: Mapping[str, str], text: str) -> PlacesInJob:
    return places_in_job(Places(stated), text, "live.txt", FOUR)


def test_the_schedulers_leaf_switches_count_in_a_job_if_the_file_has_others() -> None:
    found = in_job({"n1": "x", "n2": "y", "n3": "x", "n4": "y"}, TREE)
    assert (dict(found.places.leaf_of), found.is_live) == ({"n1": "a", "n2": "a", "n3": "b", "n4": "b"}, True)
    assert found.contradiction == "n1 and n3 are at x by the file, and at a and b by the scheduler"


def test_the_names_of_the_file_stay_if_the_scheduler_divides_the_nodes_alike() -> None:
    stated = {"n1": "x", "n2": "x", "n3": "y", "n4": "y", "n5": "z"}
    found = in_job(stated, TREE)
    assert (found.places.leaf_of, found.agrees, found.is_live, found.contradiction) == (stated, True, False, None)


@pytest.mark.parametrize(
    "text", ["", "scontrol: error", TREE.replace("n[3-4]", "n3"), TREE.replace("n[3-4]", "n[2-4]")]
)
def test_what_the_scheduler_does_not_say_of_each_node_once_changes_nothing(text: str) -> None:
    stated = {"n1": "x", "n2": "x", "n3": "y", "n4": "y"}
    found = in_job(stated, text)
    assert (found.places.leaf_of, found.agrees, found.is_live) == (stated, False, False)


def test_nodes_that_the_file_lacks_are_where_the_scheduler_says() -> None:
    found = in_job({}, TREE)
    assert (found.is_live, found.contradiction, found.places.leaf_of["n4"]) == (True, None, "b")
