"""What switches carry, on a simulated fat tree and a dragonfly of 64 nodes: from the plan to the verdict."""

from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.parsers.pairs import parse
from railyard.site.site import Site
from railyard.site.systems.model import Fabric
from railyard.site.topology import FORMAT, Places, StoredDistances, places_of
from railyard.verdict.blame.node_pair_sample import network_of
from railyard.verdict.switch_groups import (
    Phases,
    find_up_links,
    phases,
    plan,
    short_messages,
    slow_messages,
    stated_up_links,
)
from tests.made.large_cluster import Shape
from tests.made.simulated_groups import DRAGONFLY, FAT_TREE, SHAPES, MeasuredNetwork, Sick, made_site_of, play
from tests.made.words import below_words, slow_alone

HALF = "    up_links: 4\n"
BLOCKED = "    blocking: 2\n"
STATED = {FAT_TREE: HALF, DRAGONFLY: BLOCKED}


def located_site(folder: Path, kind: str, stated: str = "") -> tuple[Site, Places, Fabric]:
    """Return a site, where its nodes are, and its fabric."""
    site = made_site_of(folder, kind, stated)
    fabric = site.system.fabrics["ndr"]
    return site, places_of(folder, site.system, "ndr", fabric.rails), fabric


def healthy_phases(folder: Path, kind: str) -> Phases:
    """Return the phases of a healthy run of the plan."""
    _, places, _ = located_site(folder, kind)
    network = network_of(SHAPES[kind].names, places, None)
    return phases(parse(MeasuredNetwork(kind).output("groups", plan(network).rounds)).tables[0], network)


def test_the_plan_of_a_fat_tree_has_each_two_leaf_switches_alone_and_all_at_once(tmp_path: Path) -> None:
    found = healthy_phases(tmp_path, FAT_TREE)
    # Three rounds of 32 pairs; seven of 32; each of 28 two leaf switches with eight pairs; 28 rounds of four streams.
    assert {phase: len(flows) for phase, flows in found.items()} == {
        "within": 3 * 32, "all": 7 * 32, "between": 28 * 8, "one": 28 * 4,
    }  # fmt: skip
    assert len({frozenset(flow.leaves) for flow in found["between"]}) == 28
    assert {flow.crowd for flow in found["all"]} == {(8, 8)}
    assert {flow.crowd for flow in found["one"]} == {(1, 1)}


def test_the_plan_of_a_dragonfly_loads_all_links_between_groups_alike(tmp_path: Path) -> None:
    found = healthy_phases(tmp_path, DRAGONFLY)
    assert {phase: len(flows) for phase, flows in found.items()} == {
        "within": 3 * 32, "group": 3 * 32, "all": 3 * 32, "between": 6 * 16, "between groups": 6 * 16, "one": 32 * 8,
    }  # fmt: skip
    assert {flow.group_crowd for flow in found["all"]} == {(16, 16)}
    assert all(flow.groups[0] == flow.groups[1] for phase in ("between", "group") for flow in found[phase])


def test_nodes_at_one_leaf_switch_have_no_plan(tmp_path: Path) -> None:
    _, places, _ = located_site(tmp_path, FAT_TREE)
    with pytest.raises(
        ValueError, match="all 8 nodes are at leaf001, expected nodes at two or more: state leaf_switch"
    ):
        plan(network_of(SHAPES[FAT_TREE].names[:8], places, None))
    with pytest.raises(ValueError, match="no leaf switch of the 8 nodes is known, expected nodes at two or more"):
        plan(network_of(SHAPES[FAT_TREE].names[:8], Places(), None))


def test_a_healthy_fat_tree_passes_and_says_what_bounds_it(tmp_path: Path) -> None:
    found = play(tmp_path, FAT_TREE, stated=HALF).found
    assert (found.verdict.state, found.verdict.suspects) == ("report-only", ())
    figures = {figure.name: figure.value for figure in found.figures}
    # Two nodes share an up-link: half of what a pair of one leaf switch gives.
    assert figures["within_leaf"] == pytest.approx(45_120, rel=0.02)
    assert figures["all_at_once"] == pytest.approx(figures["within_leaf"] / 2, rel=0.02)
    assert figures["between_leaves"] == pytest.approx(figures["within_leaf"] / 2, rel=0.02)
    assert figures["messages_all_at_once"] == pytest.approx(2.5e6, rel=0.01)
    assert "% of the 24842 that the up-links leave it (4 up-links for 8 nodes of a leaf switch, up_links of " in (
        found.verdict.text
    )
    assert "million messages of 8 B per second and pair: within a leaf switch 2.4" in found.verdict.text


def test_a_healthy_dragonfly_passes_by_its_blocking(tmp_path: Path) -> None:
    found = play(tmp_path, DRAGONFLY, stated=BLOCKED).found
    assert (found.verdict.state, found.verdict.suspects) == ("report-only", ())
    assert "% of the 24842 that the up-links leave it (blocking 2 of fabrics.ndr)" in found.verdict.text
    assert "between two groups 2" in found.verdict.text


def test_without_a_stated_bound_leaf_switches_are_only_compared_and_that_is_said(tmp_path: Path) -> None:
    found = play(tmp_path, FAT_TREE).found
    assert found.verdict.state == "report-only"
    assert "no bound of up-links was judged, and leaf switches were only compared with one another" in (
        found.verdict.text
    )


def test_up_links_that_carry_more_than_is_stated_bound_nothing(tmp_path: Path) -> None:
    found = play(tmp_path, FAT_TREE, stated="    up_links: 2\n").found
    assert found.verdict.state == "report-only"
    assert "that is impossible, so the up-links bounded nothing in this run: correct up_links or blocking" in (
        found.verdict.text
    )


CASES = {
    "a slow node is a node, not its leaf switch": (
        FAT_TREE, Sick(nodes={19: 0.5}), [("rail", "n0020", None)], slow_alone("n0020"),
    ),
    "a leaf switch that lost half its up-links": (
        FAT_TREE, Sick(leaves={3: 0.5}), [("leaf", None, "leaf004")], "good sides give", 
    ),
    "one up-link at half": (
        FAT_TREE, Sick(cables={(3, 1): 0.5}), [("up-link", None, "leaf004")], "an up-link of leaf004",
    ),
    "a leaf switch that is slow for short messages": (
        FAT_TREE, Sick(messages={5: 0.5}), [("leaf", None, "leaf006")],
        "leaf006 sends at best 5", 
    ),
    "everything at 40 %": (FAT_TREE, Sick(everything=0.4), [], below_words(17952, 42232, 4 << 20)),
    "a slow node of a dragonfly": (
        DRAGONFLY, Sick(nodes={19: 0.5}), [("rail", "n0020", None)], slow_alone("n0020"),
    ),
    "a slow leaf switch of a dragonfly": (
        DRAGONFLY, Sick(leaves={3: 0.5}), [("leaf", None, "leaf004")], "leaf004 (4 nodes at once) gives",
    ),
    "a slow link between two groups": (
        DRAGONFLY, Sick(between={(1, 2): 0.5}), [("switch", None, "g1 and g2")],
        "groups g1 and g2 give each other 50.0 % of what other groups do (32 values: alone, and while all others met), "
        "and each is good with all others: what is between these two",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_what_is_planted_is_named_and_nothing_else(case: str, tmp_path: Path) -> None:
    kind, sick, blamed, said = CASES[case]
    played = play(tmp_path, kind, sick, stated=STATED[kind])
    assert played.blamed_parts == blamed
    assert (played.found.verdict.state, played.found.verdict.rule, played.found.verdict.fault) == ("fail", 5, "fabric")
    assert said in played.found.verdict.text


def test_all_leaf_switches_below_what_their_up_links_leave_fail(tmp_path: Path) -> None:
    """Every leaf switch lost three of four up-links: none is slower than others, and only the bound shows it."""
    found = play(tmp_path, FAT_TREE, Sick(leaves=dict.fromkeys(range(8), 0.25)), stated=HALF).found
    assert (found.verdict.state, found.verdict.fault, found.verdict.suspects) == ("fail", "fabric", ())
    assert "expected at least 45.0 %: static routes of a healthy network reach that" in found.verdict.text
    assert (found.verdict.look_at or "").startswith("up-links of all leaf switches: how many are up")


@pytest.mark.parametrize(
    ("live", "said"),
    [
        (
            "SwitchName=a Level=0 Nodes=n[0001-0032]\nSwitchName=b Level=0 Nodes=n[0033-0064]\n",
            "contradicts the system's",
        ),
        ("".join(f"SwitchName=s{n} Nodes=n[{8 * n + 1:04}-{8 * n + 8:04}]\n" for n in range(8)), "job, too"),
    ],
    ids=["others", "the same"],
)
def test_what_the_scheduler_states_in_the_job_counts(live: str, said: str, tmp_path: Path) -> None:
    found = play(tmp_path, FAT_TREE, stated=HALF, live=live).found
    assert said in found.verdict.text


def test_one_table_of_short_messages_is_read_and_half_a_one_is_not() -> None:
    whole = MeasuredNetwork(FAT_TREE).output("groups", (((0, 1),),), 8)
    assert short_messages(whole) is not None
    assert short_messages(whole[:-5]) is None
    assert short_messages("srun: error: task 3 launch failed") is None


def test_slow_nodes_of_a_leaf_switch_do_not_make_it_slow_for_messages(tmp_path: Path) -> None:
    found = {phase: list(flows) for phase, flows in healthy_phases(tmp_path, FAT_TREE).items()}
    assert slow_messages(found) == {}
    del found["within"]
    assert slow_messages(found) == {}


def test_how_many_up_links_are_stated_and_what_each_carries(tmp_path: Path) -> None:
    _, _, fabric = located_site(tmp_path, FAT_TREE, HALF)
    found = stated_up_links(fabric, "ndr", fabric.rails, 40_000.0)
    assert found is not None
    assert sorted(found.capacity_mb_s) == [f"leaf00{leaf}" for leaf in range(1, 9)]
    assert found.capacity_mb_s["leaf001"] == pytest.approx(4 * 49_684.6, abs=1)
    assert found.source == "4 up-links for 8 nodes of a leaf switch, up_links of fabrics.ndr"
    _, _, blocked = located_site(tmp_path, FAT_TREE, BLOCKED)
    halved = stated_up_links(blocked, "ndr", blocked.rails, 40_000.0)
    assert halved is not None
    assert (set(halved.capacity_mb_s.values()), halved.of_groups) == ({8 * 40_000.0 / 2}, False)
    assert stated_up_links(located_site(tmp_path, FAT_TREE)[2], "ndr", fabric.rails, 40_000.0) is None


def kept_distances(links: dict[str, dict[str, float]]) -> StoredDistances:
    """Return what ``--keep-hops`` kept of a fabric whose leaf switches are LID 1 to 8."""
    names = SHAPES[FAT_TREE].names
    places = {"mlx5_0": {name: f"LID {1 + place // 8}" for place, name in enumerate(names)}}
    return StoredDistances(FORMAT, "large", "ndr", places, {}, links)


def test_a_slower_up_link_is_named_by_its_cable_where_the_fabric_was_read(tmp_path: Path) -> None:
    _, places, fabric = located_site(tmp_path, FAT_TREE, "    up_links: 9\n")
    links = {
        f"LID {leaf}": {f"port {port} to spine{port} port {leaf}": 400.0 for port in range(1, 5)}
        for leaf in range(1, 9)
    }
    bound, remarks = find_up_links(kept_distances(links), places, fabric, "ndr", fabric.rails, 40_000.0)
    assert bound is not None
    assert (bound.source, remarks) == ("4 up-links of each leaf switch, as railyard fabric --keep-hops read them", ())
    links["LID 3"]["port 2 to spine2 port 3"] = 100.0
    del links["LID 5"]["port 1 to spine1 port 5"]
    bound, remarks = find_up_links(kept_distances(links), places, fabric, "ndr", fabric.rails, 40_000.0)
    assert bound is not None
    assert bound.capacity_mb_s["leaf003"] == pytest.approx(3.25 * 49_684.6, abs=1)
    assert remarks == (
        "leaf003: port 2 to spine2 port 3 has 100 Gbit/s, other up-links 400 (railyard fabric --keep-hops)",
        "leaf005 has 3 up-links that are up, others 4 (railyard fabric --keep-hops)",
    )
    # Not read of each leaf switch: what the system's file says counts.
    del links["LID 7"]
    bound, _ = find_up_links(kept_distances(links), places, fabric, "ndr", fabric.rails, 40_000.0)
    assert bound is not None
    assert bound.source.startswith("9 up-links for 8 nodes")


def without_values(of: Callable[[int, int], bool]) -> Callable[[str], str]:
    """Return what gives some pairs of an output, by their nodes, 0 MB/s both ways."""

    def edit(text: str) -> str:
        rows = [line.split() for line in text.splitlines()]
        return "".join(
            " ".join([*row[:3], "0.00", "0.00", row[5]] if row[0] != "#" and of(int(row[1]), int(row[2])) else row)
            + "\n"
            for row in rows
        )

    return edit


def without_rounds(text: str) -> str:
    """Return an output that ends well after its 30th round."""
    rows = [line for line in text.splitlines() if line[0] != "#"]
    kept = [line for line in rows if int(line.split()[0]) <= 30]
    head = [line for line in text.splitlines() if line[0] == "#"][:-1]
    return "\n".join([*head, *kept, f"# end: {len(kept)} pairs", ""])


#: Case: what changes all streams, and short messages; what the verdict says.
UNMEASURED: dict[str, tuple[Callable[[str], str], Callable[[str], str], str]] = {
    "no short messages": (str, lambda text: text[: len(text) // 2], "messages per second were not measured: "),
    "half of the short messages": (str, without_rounds, "short messages: 480 of 656 pairs of the plan were measured"),
    "half of the streams": (without_rounds, str, "streams: 480 of 656 pairs of the plan were measured, expected all"),
    "a leaf switch that is cut off": (
        without_values(lambda a, b: (a // 8 == 2) != (b // 8 == 2)), str, " of 656 pairs gave nothing, expected more ",
    ),
    "short messages of a node": (
        str, without_values(lambda a, b: 20 in (a, b)), "20 of 656 pairs gave nothing, expected more than 0: n0019",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNMEASURED)
def test_what_was_planned_and_gave_no_value_fails(case: str, tmp_path: Path) -> None:
    edit, short, said = UNMEASURED[case]
    played = play(tmp_path, FAT_TREE, stated=HALF, edit=edit, short=short)
    assert (played.found.verdict.state, played.found.verdict.rule, played.blamed_parts) == ("fail", 2, [])
    assert said in played.found.verdict.sentence


def test_a_leaf_switch_that_sends_few_messages_within_itself_too_is_open(tmp_path: Path) -> None:
    def halve(text: str) -> str:
        rows = [line.split() for line in text.splitlines()]
        hit = [row[0] != "#" and 2 in (int(row[1]) // 8, int(row[2]) // 8) for row in rows]
        halved = [[*row[:3], "9.00", "9.00", row[5]] if own else row for row, own in zip(rows, hit, strict=True)]
        return "".join(f"{' '.join(row)}\n" for row in halved)

    found = play(tmp_path, FAT_TREE, stated=HALF, short=halve).found
    assert (found.verdict.state, found.verdict.rule) == ("fail", 5)
    assert [(one.part, one.confidence) for one in found.verdict.suspects] == [("leaf003", "open")]
    assert "and no more within itself: nothing tells its nodes from what they share" in found.verdict.sentence


def test_nobody_is_named_where_the_scheduler_contradicts_the_file(tmp_path: Path) -> None:
    """Pairs of one stated leaf switch are measured at the same time, but these are of four: their up-links are busy."""
    live = "SwitchName=a Level=0 Nodes=n[0001-0032]\nSwitchName=b Level=0 Nodes=n[0033-0064]\n"
    played = play(tmp_path, FAT_TREE, stated=HALF, live=live)
    assert (played.found.verdict.state, played.blamed_parts) == ("fail", [])
    assert played.found.verdict.suspects
    assert "contradict each other about the leaf switches, so nothing tells which of these" in played.found.verdict.text
    assert (played.found.verdict.look_at or "").startswith("leaf_switches of the system's file")


def test_nobody_is_named_where_suspects_are_good_while_all_others_rest(tmp_path: Path) -> None:
    """The file has four leaf switches where the network has eight."""
    played = play(tmp_path, FAT_TREE, stated=HALF, wrong=Shape(64, rails=1, leaf=16))
    assert (played.found.verdict.state, played.blamed_parts) == ("fail", [])
    assert "so they share links with nodes of other leaf switches: leaf_switches of the" in played.found.verdict.text
    assert (played.found.verdict.look_at or "").startswith("leaf_switches of the system's file")


def test_nodes_without_a_leaf_switch_are_measured_while_no_up_link_is_busy(tmp_path: Path) -> None:
    played = play(tmp_path, FAT_TREE, stated=HALF, wrong=Shape(56, rails=1, leaf=8))
    assert (played.found.verdict.state, played.blamed_parts) == ("report-only", [])
