"""Who is named by a search on a few nodes, in exact words, and what it asks for."""

from collections.abc import Callable

import pytest

from railyard.results.record.form import Suspect
from railyard.verdict.blame.node_pairs import blamed_suspects
from railyard.verdict.blame.search.model import Layout, PairsError, Settings, Step, Value, Verdict
from railyard.verdict.blame.search.search import advance
from railyard.verdict.wording import pair_search as search_words
from tests.made.words import slow_alone

GOOD = 48.0
Speed = Callable[[int, int], float | None]


def layout(count: int, sides: str = "", expected: float | None = None) -> Layout:
    return Layout(tuple(f"vn{node + 1}" for node in range(count)), tuple(sides), expected=expected)


def measure_step(step: Step, speed: Speed) -> list[Value]:
    return [(a, b, speed(a, b)) for each in step.rounds for a, b in each for _ in range(step.repeats)]


def final_verdict(nodes: Layout, *speeds: Speed, settings: Settings = Settings()) -> Verdict:  # noqa: B008
    """Return the verdict if step n is measured at the n-th speed, and all later steps at the last one."""
    results: list[list[Value]] = []
    while isinstance(step := advance(nodes, results, settings), Step):
        results.append(measure_step(step, speeds[min(len(results), len(speeds) - 1)]))
        assert len(results) < 20
    return step


def slow_node(node: int, value: float | None = 4.8) -> Speed:
    return lambda a, b: value if node in (a, b) else GOOD


def slow_pairs(*pairs: tuple[int, int], value: float = 4.8) -> Speed:
    return lambda a, b: value if (a, b) in pairs else GOOD


def test_the_first_step_is_all_pairs_in_rounds() -> None:
    step = advance(layout(4), [])
    assert step == Step("rounds", (((1, 2), (0, 3)), ((0, 1), (2, 3)), ((0, 2), (1, 3))), 1, "every pair of nodes once")


def test_healthy_nodes_need_no_second_step() -> None:
    found = final_verdict(layout(4), lambda a, b: GOOD - b / 10)
    assert (found.named, found.cleared, found.unclear, found.steps) == ((), (), (), ("rounds: 6 pairs in 3 rounds",))
    assert found.sentence == (
        "no node, pair or side of 4 nodes is named as slow: healthy is 47.80 MB/s (all, 6 pairs), the lowest is "
        "vn1-vn4 at 99.8 %"
    )


def test_a_slow_node_is_measured_alone_with_two_partners_and_named() -> None:
    nodes = layout(4)
    first = advance(nodes, [])
    assert isinstance(first, Step)
    step = advance(nodes, [measure_step(first, slow_node(2))])
    assert step == Step("alone", (((0, 2),), ((1, 2),), ((0, 1),)), 7, "1 suspects, alone and with good partners")
    found = final_verdict(nodes, slow_node(2))
    reason = search_words.slow_node("vn3", [("vn1", 4.8), ("vn2", 4.8)], 48.0, "MB/s", 0.1)
    assert [(one.kind, one.members, one.reason) for one in found.named] == [("node", (2,), reason)]
    assert found.sentence == reason
    assert found.steps == ("rounds: 6 pairs in 3 rounds", "alone: 3 pairs in 3 rounds, 7 times each")
    assert blamed_suspects(found, nodes, None) == (Suspect("node", reason, "vn3"),)


@pytest.mark.parametrize("share", [0.9, 0.75, 0.5, 0.1, None])
@pytest.mark.parametrize("count", [3, 4, 5, 9, 16])
def test_one_slow_node_of_few_is_named_and_nobody_else(count: int, share: float | None) -> None:
    found = final_verdict(layout(count), slow_node(1, share and share * GOOD))
    assert [(one.kind, one.members) for one in found.named] == [("node", (1,))]
    assert (found.cleared, found.unclear) == ((), ())


def test_two_slow_nodes_of_four_are_both_named() -> None:
    found = final_verdict(layout(4), lambda a, b: 43.2 if {a, b} & {2, 3} else GOOD)
    assert [(one.kind, one.members) for one in found.named] == [("node", (2,)), ("node", (3,))]


@pytest.mark.parametrize("count", [4, 5, 9, 16])
def test_one_slow_pair_is_named_and_neither_of_its_nodes(count: int) -> None:
    found = final_verdict(layout(count), slow_pairs((0, 1), value=43.2))
    assert [(one.kind, one.members) for one in found.named] == [("pair", (0, 1))]
    assert found.named[0].reason == (
        "vn1-vn2 alone gives 43.20 of 48.00 MB/s (90.0 %); each of its nodes with good partners: vn1-vn3 48.00, "
        "vn1-vn4 48.00, vn2-vn3 48.00 and vn2-vn4 48.00"
    )
    (suspect,) = blamed_suspects(found, layout(count), None)
    assert (suspect.kind, suspect.node, suspect.rail) == ("pair", "vn1-vn2", None)


def test_two_slow_pairs_that_share_no_node() -> None:
    found = final_verdict(layout(4), slow_pairs((0, 1), (2, 3)))
    assert found.named == ()
    assert {one.members for one in found.unclear} == {(0, 1), (2, 3)}
    assert "undecided, since no two good partners show it or too many are slow: vn1-vn2 and vn3-vn4" in found.sentence
    larger = final_verdict(layout(8), slow_pairs((0, 1), (2, 3)))
    assert [(one.kind, one.members) for one in larger.named] == [("pair", (0, 1)), ("pair", (2, 3))]


def test_a_slow_pair_of_three_nodes_has_no_two_good_partners() -> None:
    found = final_verdict(layout(3), slow_pairs((0, 1)))
    assert (found.named, [one.members for one in found.unclear]) == ((), [(0, 1)])


def test_a_pair_slower_than_its_slow_node_is_named_too() -> None:
    found = final_verdict(layout(8), lambda a, b: 4.8 if (a, b) == (0, 1) else 36.0 if a == 0 else GOOD)
    assert [(one.kind, one.members) for one in found.named] == [("node", (0,)), ("pair", (0, 1))]


def test_what_is_good_when_measured_alone_is_not_named() -> None:
    found = final_verdict(layout(8), slow_pairs((0, 1), (2, 5)), lambda a, b: GOOD)
    assert (found.named, [one.members for one in found.cleared]) == ((), [(0, 1), (2, 5)])
    assert found.sentence.endswith("; slow in the rounds but good alone, so not named: vn1-vn2 and vn3-vn6")
    node = final_verdict(layout(8), slow_node(3), lambda a, b: GOOD)
    assert (node.named, [one.members for one in node.cleared if one.kind == "node"]) == ((), [(3,)])


def test_a_slow_pair_of_a_node_that_was_cleared_is_found_after_all() -> None:
    found = final_verdict(layout(8), slow_node(3), slow_pairs((3, 6)))
    assert [(one.kind, one.members) for one in found.named] == [("pair", (3, 6))]
    assert [step.split(":")[0] for step in found.steps] == ["rounds", "alone", "alone"]


def test_what_stays_unclear_is_asked_once_more_with_other_partners() -> None:
    good_first = slow_node(2)

    def partner_disturbed(a: int, b: int) -> float:
        return 48.0 if (a, b) == (0, 2) else good_first(a, b) or 0.0

    nodes = layout(8)
    found = final_verdict(nodes, slow_node(2), partner_disturbed, slow_node(2))
    assert [(one.kind, one.members) for one in found.named] == [("node", (2,))]
    assert found.named[0].reason.startswith(slow_alone("vn3") + "4.800 with vn4 and 4.800 with vn5; ")


def test_a_node_slow_with_one_partner_only_is_not_named() -> None:
    found = final_verdict(layout(4), slow_node(2), slow_pairs((1, 2), (2, 3)))
    assert (found.named, [one.members for one in found.unclear]) == ((), [(2,)])


def test_two_parts_that_are_good_inside_are_a_side_each() -> None:
    apart: Speed = lambda a, b: GOOD if (a < 2) == (b < 2) else 24.0  # noqa: E731
    found = final_verdict(layout(4), apart)
    assert [(one.kind, one.members) for one in found.named] == [("side", (2, 3))]
    values = [(pair, 24.0) for pair in ("vn1-vn3", "vn2-vn4", "vn2-vn3")]
    assert found.sentence == search_words.slow_part(["vn3", "vn4"], values, 48.0, "MB/s", 0.5)
    assert blamed_suspects(found, layout(4), None)[0].kind == "switch"


def test_all_pairs_below_what_is_expected_are_the_switch_and_not_without_an_expectation() -> None:
    assert final_verdict(layout(4), lambda a, b: 24.0).named == ()
    found = final_verdict(layout(4, expected=GOOD), lambda a, b: 24.0)
    assert [one.kind for one in found.named] == ["all"]
    values = [(pair, 24.0) for pair in ("vn1-vn2", "vn1-vn3", "vn1-vn4")]
    assert found.sentence == search_words.all_pairs_slow("all", False, values, 48.0, "MB/s", 0.5)
    assert final_verdict(layout(4, expected=GOOD), lambda a, b: 24.0, lambda a, b: GOOD).named == ()


SIDES = "AAAABBBBCCCCDDDD"


def test_a_side_slow_with_all_others_at_once_is_named_in_place_of_its_nodes() -> None:
    uplinks: Speed = lambda a, b: 24.0 if (a < 4) != (b < 4) else GOOD  # noqa: E731
    found = final_verdict(layout(16, SIDES), uplinks)
    assert [(one.kind, one.members) for one in found.named] == [("side", (0, 1, 2, 3))]
    at_once = search_words.AllAtOnce(4, 24.0, ["B", "C", "D"], 48.0, "MB/s")
    part = search_words.part_of_side("leaf", is_beyond=True)
    assert found.sentence == search_words.slow_side("A", at_once, 1.0, part)
    whole = final_verdict(layout(16, SIDES), lambda a, b: 24.0 if a < 4 else GOOD)
    assert whole.sentence.endswith("it gives 50.0 % of healthy among its own nodes: the switch itself")


def test_a_side_that_is_good_the_second_time_is_cleared_with_all_its_nodes() -> None:
    found = final_verdict(layout(16, SIDES), lambda a, b: 24.0 if (a < 4) != (b < 4) else GOOD, lambda a, b: GOOD)
    assert found.named == ()
    assert [(one.kind, one.members) for one in found.cleared][:2] == [("side", (0, 1, 2, 3)), ("node", (0,))]


def test_a_slow_side_without_two_good_ones_to_be_held_against_is_seen_by_its_nodes() -> None:
    """C has a slow node itself, so only B is good."""
    found = final_verdict(layout(12, "AAAABBBBCCCC"), lambda a, b: 24.0 if a < 4 or 8 in (a, b) else GOOD)
    assert [(one.kind, one.members) for one in found.named] == [("node", (8,)), ("side", (0, 1, 2, 3))]
    assert found.sentence.endswith(
        "; 4 of 4 nodes of A are slow alone (half of them at or below 50.0 % of 48.00 MB/s): A itself or its up-links"
    )


def test_what_joins_two_sides_is_seen_to_be_slow_only_by_what_is_expected() -> None:
    trunk: Speed = lambda a, b: 24.0 if a < 4 <= b else GOOD  # noqa: E731
    assert final_verdict(layout(8, "AAAABBBB"), trunk).named == ()
    found = final_verdict(layout(8, "AAAABBBB", expected=GOOD), trunk)
    assert [one.kind for one in found.named] == ["all"]
    assert found.sentence.startswith("all pairs across sides are slow: good ones alone give vn1-vn5 24.00, ")


def test_a_slow_node_within_its_side_and_beyond_is_the_nodes_fault() -> None:
    found = final_verdict(layout(16, SIDES), slow_node(5, 43.2))
    assert [(one.kind, one.members) for one in found.named] == [("node", (5,))]


def test_a_node_good_with_its_neighbours_and_slow_beyond_gives_its_sides_cable_away() -> None:
    found = final_verdict(layout(16, SIDES), lambda a, b: 24.0 if (a == 1 and b > 3) or (a < 1 and b == 5) else GOOD)
    assert [(one.kind, one.members) for one in found.named] == [("side", (0, 1, 2, 3))]
    assert ": a cable or route of A" in found.sentence


def test_slow_pairs_between_two_sides_are_their_cable() -> None:
    def slow(a: int, b: int) -> float:
        return 24.0 if a < 4 and 8 <= b < 12 and (a + b) % 4 else GOOD

    found = final_verdict(layout(16, SIDES), slow)
    assert [(one.kind, one.members) for one in found.named] == [("side", (0, 1, 2, 3, 8, 9, 10, 11))]
    assert found.sentence.startswith("12 pairs between A and C are slow each time; 6 of 6 are also slow alone (")


def test_missing_up_links_show_in_the_mean_of_a_side_though_each_node_has_good_pairs() -> None:
    """Every fourth pair of A is good in the rounds, as if few of its neighbours send."""
    crowded: Speed = lambda a, b: 24.0 if a < 4 <= b and (a + b) % 4 else GOOD  # noqa: E731
    together: Speed = lambda a, b: 24.0 if a < 4 <= b else GOOD  # noqa: E731
    found = final_verdict(layout(16, SIDES), crowded, together, lambda a, b: GOOD)
    assert [(one.kind, one.members) for one in found.named] == [("side", (0, 1, 2, 3))]
    assert found.named[0].reason.endswith("among its own nodes: its up-links")


def test_one_slow_node_of_a_slow_side_is_named_too() -> None:
    """C's node 9 is slow on its own side and outside, and its side has lost up-links too."""
    crowded: Speed = lambda a, b: 4.8 if 9 in (a, b) else 24.0 if (8 <= a < 12) != (8 <= b < 12) else GOOD  # noqa: E731
    found = final_verdict(layout(16, SIDES), crowded)
    assert [(one.kind, one.members) for one in found.named] == [("side", (8, 9, 10, 11)), ("node", (9,))]


def test_a_side_slow_against_one_other_only_is_unclear() -> None:
    together: Speed = lambda a, b: 4.8 if a < 4 <= b < 8 else GOOD  # noqa: E731
    rounds_: Speed = lambda a, b: 24.0 if a < 4 <= b else GOOD  # noqa: E731
    found = final_verdict(layout(16, SIDES), rounds_, together)
    assert (found.named, [one.kind for one in found.unclear]) == ((), ["side", "node", "node", "node", "node"])


def test_a_side_a_little_slow_where_sides_differ_is_unclear() -> None:
    """Good sides give each other 36 to 48: a mean of 40 compared with 42 ± 6 is not a finding, but not good either."""

    def joint_speed(a: int, b: int) -> float:
        if a < 4 <= b:
            return 36.0
        return {("B", "C"): 36.0, ("B", "D"): 42.0, ("C", "D"): GOOD}.get((SIDES[a], SIDES[b]), GOOD)

    found = final_verdict(layout(16, SIDES), lambda a, b: 24.0 if a < 4 <= b else GOOD, joint_speed, lambda a, b: GOOD)
    assert found.named == ()
    assert [(one.kind, one.members) for one in found.unclear] == [("side", (0, 1, 2, 3))]


def test_three_of_seven_disturbed_repeats_name_nobody() -> None:
    """A disturbance only lowers a value, so the upper quartile of a pair's repeats counts."""
    nodes = layout(8)
    first = advance(nodes, [])
    assert isinstance(first, Step)
    values = measure_step(first, slow_pairs((0, 1)))
    step = advance(nodes, [values])
    assert isinstance(step, Step)
    for disturbed, kind in ((4, None), (6, "pair")):
        again: list[Value] = []
        for each in step.rounds:
            count = disturbed if each == ((0, 1),) else 0
            again += [(*each[0], 4.8)] * count + [(*each[0], GOOD)] * (7 - count)
        verdict = advance(nodes, [values, again])
        assert isinstance(verdict, Verdict)
        assert [one.kind for one in verdict.named] == ([kind] if kind else [])


def test_a_slow_pair_within_a_slow_side_is_held_against_the_level_of_the_rounds() -> None:
    """A has no good node for a partner, so no pair on one side is measured alone, except the suspect."""
    found = final_verdict(layout(16, SIDES), lambda a, b: 4.8 if (a, b) == (0, 1) else 24.0 if a < 4 <= b else GOOD)
    assert ("pair", (0, 1)) in [(one.kind, one.members) for one in found.unclear + found.named]
    assert [one.members for one in found.cleared] == []


def test_partners_are_nodes_that_both_were_good_with_in_the_rounds() -> None:
    """vn1 is slow with vn5 and vn6 too, because of a cable on its side: neither is evidence about the pair vn1-vn9."""
    slow = slow_pairs((0, 4), (0, 5), (0, 8))
    found = final_verdict(layout(16, SIDES), slow)
    by_members = {one.members: one.reason for one in found.named}
    assert sorted(by_members) == [(0, 4), (0, 5), (0, 8)]
    assert "vn1-vn5" not in by_members[0, 8]


def test_parts_that_are_good_alone_are_no_sides() -> None:
    apart: Speed = lambda a, b: GOOD if (a < 2) == (b < 2) else 24.0  # noqa: E731
    assert final_verdict(layout(4), apart, lambda a, b: GOOD).named == ()


def test_three_in_four_nodes_may_be_slow() -> None:
    """Five of eight nodes at three quarters: the other three show the healthy rate."""
    found = final_verdict(layout(8), lambda a, b: 36.0 if b > 2 else GOOD)
    assert [one.members for one in found.named] == [(3,), (4,), (5,), (6,), (7,)]


def test_a_slow_pair_among_pairs_that_only_collided_is_no_route_and_is_found() -> None:
    collided = tuple((a, b) for a in range(3) for b in (4, 8, 12))
    found = final_verdict(
        layout(16, SIDES), slow_pairs(*collided, (3, 15), value=24.0), slow_pairs((2, 12), value=24.0)
    )
    assert [(one.kind, one.members) for one in found.named] == [("pair", (2, 12))]
    assert [step.split(":")[0] for step in found.steps] == ["rounds", "alone", "alone"]


def test_classes_of_hops_are_judged_apart() -> None:
    """Pairs across sides give 44 of 48 MB/s on this healthy network: nobody is suspected."""
    found = final_verdict(layout(16, SIDES), lambda a, b: GOOD if SIDES[a] == SIDES[b] else 44.0)
    assert [(level.hops, level.value, level.pairs) for level in found.levels] == [
        ("same side", 48.0, 24),
        ("across sides", 44.0, 96),
    ]
    assert (found.named, found.cleared, len(found.steps)) == ((), (), 1)
    neighbours: Speed = lambda a, b: GOOD if SIDES[a] == SIDES[b] and (a, b) != (0, 1) else 44.0  # noqa: E731
    assert [one.members for one in final_verdict(layout(16, SIDES), neighbours).named] == [(0, 1)]
    assert final_verdict(layout(16), neighbours).named == ()


def test_many_slow_pairs_are_sifted_in_thinner_rounds_first() -> None:
    nodes = layout(64)
    collided: Speed = lambda a, b: 24.0 if (a + b) % 3 == 0 else GOOD  # noqa: E731
    first = advance(nodes, [])
    assert isinstance(first, Step)
    second = advance(nodes, [measure_step(first, collided)])
    assert isinstance(second, Step)
    assert (second.name, max(len(each) for each in second.rounds), second.repeats) == ("sift", 4, 1)
    assert second.why == "672 pairs were slow in rounds, where routes collide: again with 4 at once"
    found = final_verdict(nodes, collided, slow_pairs((3, 9)))
    assert [(one.kind, one.members) for one in found.named] == [("pair", (3, 9))]
    assert [step.split(":")[0] for step in found.steps] == ["rounds", "sift", "alone"]


def test_slow_pairs_beyond_the_number_measured_alone_are_said_to_be_left_out() -> None:
    pairs = tuple((node, node + 1) for node in range(0, 32, 2))
    found = final_verdict(layout(64), slow_pairs(*pairs), settings=Settings(alone_at_most=10))
    assert (len(found.named), len(found.unclear)) == (10, 6)
    assert found.sentence.count(" alone gives ") == 6
    assert "; 4 more are named; undecided, " in found.sentence
    assert found.unclear[-1].reason == "vn31-vn32 gave 10.0 % of 48.00 MB/s in rounds, but was not measured alone"


def test_no_result_at_all() -> None:
    found = final_verdict(layout(4), lambda a, b: None)
    assert (found.named, found.sentence) == ((), "no pair of 4 nodes gave a result")


def test_two_nodes_are_one_pair_of_which_nothing_can_be_told() -> None:
    assert final_verdict(layout(2), lambda a, b: 4.8).named == ()
    assert [one.kind for one in final_verdict(layout(2, expected=GOOD), lambda a, b: 4.8).named] == ["all"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([(0, 1, 1.0)], "step rounds: no value of vn2-vn3, which was asked for"),
        (
            [(0, 1, 1.0), (0, 2, 1.0), (1, 2, -1.0)],
            "vn2-vn3 gave -1.0 MB/s: expected a finite number, not negative",
        ),
        ([(0, 1, float("nan"))], "vn1-vn2 gave nan MB/s: expected a finite number, not negative"),
        ([(1, 0, 1.0)], "step rounds: a value of vn2-vn1, which was not asked for"),
        ([(0, 7, 1.0)], "step rounds: a value of nodes 0 and 7 of 3, which was not asked for"),
    ],
)
def test_values_that_are_not_those_of_the_rounds(values: list[Value], message: str) -> None:
    with pytest.raises(PairsError) as error:
        advance(layout(3), [values])
    assert str(error.value) == message


def test_values_that_are_not_those_of_a_later_step() -> None:
    nodes = layout(4)
    first = advance(nodes, [])
    assert isinstance(first, Step)
    values = measure_step(first, slow_node(2))
    with pytest.raises(PairsError, match=r"^step alone: a value of vn1-vn4, which was not asked for$"):
        advance(nodes, [values, [(0, 3, 1.0)]])
    with pytest.raises(PairsError, match=r"^step alone: no value of vn2-vn3, which was asked for$"):
        advance(nodes, [values, [(0, 2, 1.0)]])
    with pytest.raises(ValueError, match=r"^3 results, but the search ended with result 1$"):
        healthy = measure_step(first, lambda a, b: GOOD)
        advance(nodes, [healthy, [], []])


@pytest.mark.parametrize(
    ("names", "sides", "message"),
    [
        (("a",), (), "1 nodes: a pair needs two"),
        (("a", "b", "a"), (), "node a is named twice"),
        (("a", "b"), ("x",), "1 sides for 2 nodes"),
    ],
)
def test_layouts_that_are_none(names: tuple[str, ...], sides: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Layout(names, sides)
