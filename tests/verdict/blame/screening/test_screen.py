"""Who is named by a screening of a few nodes, word for word, and what it asks for."""

import random
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from railyard.verdict.blame.node_pair_sample import findings
from railyard.verdict.blame.screening.model import (
    Budget,
    BudgetError,
    Network,
    Results,
    ScreeningVerdict,
    Settings,
    Suspect,
)
from railyard.verdict.blame.screening.screen import advance, screen
from railyard.verdict.blame.search.model import Layout, PairsError, Part, Step
from railyard.verdict.switch_groups import plan
from railyard.verdict.wording import pair_search as search_words
from railyard.verdict.wording import screening as screening_words
from railyard.verdict.wording.pair_search import slow_node as node_words
from railyard.verdict.wording.screening import leaves_unknown
from tests.made.screening import GOOD, Speed, all_good, network, play_screening, slow_node

LEAVES = "AAAABBBBCCCCDDDD"
MANY = "".join(letter * 6 for letter in "ABCDEFGH")


def leaf_of(node: int, leaves: str = MANY) -> str:
    return leaves[node]


def test_the_first_step_has_neighbours_whole_leaves_and_single_nodes() -> None:
    step = advance(network(LEAVES), Budget(60, 1.0))
    assert isinstance(step, Step)
    assert (step.name, step.repeats, step.over) == ("sample", 1, None)
    leaves = [[LEAVES[a] == LEAVES[b] for a, b in each] for each in step.rounds]
    assert [len(each) for each in step.rounds] == [8, 8, 8, 8, 8, 2, 8]
    assert [set(each) for each in leaves] == [{True}, {True}, {False}, {False}, {False}, {False}, {True}]


def test_healthy_nodes_need_nothing_but_the_sample() -> None:
    found = play_screening(network(LEAVES))
    assert (found.blamed_parts(), found.verdict.cleared, found.verdict.unclear) == ([], (), ())
    assert [step.name for step in found.steps] == ["sample", "sample"]
    assert found.verdict.rounds == 20
    levels = [(48.0, "same side"), (48.0, "across sides")]
    assert found.verdict.sentence.startswith(f"{screening_words.nobody_named(levels, 'MB/s')}; measured in 20 rounds: ")
    assert "; if there had been one, it would have named: a node at 90 % 99.9 %, " in found.verdict.sentence


@pytest.mark.parametrize("value", [43.2, 24.0, 4.8, None])
def test_a_slow_node_is_measured_with_two_neighbours_and_named(value: float | None) -> None:
    found = play_screening(network(LEAVES), slow_node(5, value))
    assert found.blamed_parts() == [("node", (5,))]
    assert (found.verdict.cleared, found.verdict.unclear) == ((), ())
    step = found.steps[-1]
    assert (step.name, step.rounds, step.repeats) == ("suspects", (((4, 5),), ((5, 6),), ((4, 6),)), 3)
    share = (value or 0) / GOOD
    assert found.verdict.named[0].share == pytest.approx(share)
    assert found.verdict.named[0].values == 6
    partners = [("vn5", value or 0.0), ("vn7", value or 0.0)]
    assert found.verdict.named[0].reason == node_words("vn6", partners, GOOD, "MB/s", share)


def test_many_slow_nodes_are_measured_at_the_same_time() -> None:
    """One of each leaf: three rounds for all eight."""
    slow = set(range(0, 48, 6))
    found = play_screening(network(MANY), lambda a, b, over: 24.0 if slow & {a, b} else GOOD, 100)
    assert found.blamed_parts() == [("node", (node,)) for node in sorted(slow)]
    assert [len(each) for each in found.steps[-2].rounds] == [8, 8, 8]


def test_a_slow_pair_is_named_by_good_neighbours_of_both_its_nodes() -> None:
    found = play_screening(network(LEAVES), lambda a, b, over: 24.0 if (a, b) == (1, 9) else GOOD)
    assert found.blamed_parts() == [("pair", (1, 9))]
    assert found.verdict.unclear == ()
    assert found.verdict.named[0].reason == (
        "vn2-vn10 gives 24.00 of 48.00 MB/s (50.0 %), and their neighbours vn1-vn10 48.00, vn3-vn10 48.00, vn2-vn9 "
        "48.00 and vn2-vn11 48.00"
    )
    assert [step.name for step in found.steps] == ["sample", "sample", "again", "suspects"]


def test_a_slow_pair_of_neighbours_is_named() -> None:
    found = play_screening(network(LEAVES), lambda a, b, over: 24.0 if (a, b) == (4, 6) else GOOD)
    assert found.blamed_parts() == [("pair", (4, 6))]


def test_a_leaf_that_is_slow_with_all_others_is_named_and_explains_its_pairs() -> None:
    found = play_screening(network(MANY), lambda a, b, over: 24.0 if (a < 6) != (b < 6) else GOOD, 100)
    assert found.blamed_parts() == [("leaf", (0, 1, 2, 3, 4, 5))]
    assert found.verdict.unclear == ()
    assert found.verdict.named[0].leaves == ("A",)
    at_once = search_words.AllAtOnce(6, 24.0, list("BCDEFGH"), 48.0, "MB/s")
    part = search_words.part_of_side("leaf", is_beyond=True)
    assert found.verdict.named[0].reason == search_words.slow_side("A", at_once, 1.0, part)


def test_a_switch_that_is_slow_inside_is_named_and_not_its_nodes() -> None:
    found = play_screening(network(MANY), lambda a, b, over: 24.0 if a < 6 or b < 6 else GOOD, 100)
    assert found.blamed_parts() == [("leaf", (0, 1, 2, 3, 4, 5))]
    assert found.verdict.named[0].reason.endswith("50.0 % of healthy among its own nodes: the switch itself")


def test_lost_up_links_that_show_only_all_at_once_are_the_leafs() -> None:
    """A pair alone is good: what is slow in rounds of whole leaves, and with all nodes at once again, is the leaf."""
    crowded: dict[str, bool] = {"now": False}

    def speed(a: int, b: int, _over: Part | None) -> float:
        return 24.0 if crowded["now"] and (a < 6) != (b < 6) else GOOD

    found = _played_by_step(network(MANY), speed, lambda step: crowded.update(now=step.name in ("sample", "leaves")))
    assert [one.kind for one in found.named] == ["leaf"]


def _played_by_step(known: Network, speed: Speed, before: Callable[[Step], None]) -> ScreeningVerdict:
    """Return a verdict; single nodes of leaves are no crowd, so they are measured as if alone."""
    results: list[Results] = []
    while isinstance(step := advance(known, Budget(100, 1.0), results), Step):
        before(step)
        values = []
        for _ in range(step.repeats):
            for each in step.rounds:
                alone = len(each) <= len(set(known.layout.sides)) // 2
                values += [(a, b, GOOD if alone else speed(a, b, step.over)) for a, b in each]
        results.append(Results(values))
    return step


def up_link(leaf: str, number: int, links: int = 6) -> Speed:
    """Return a network routed by destination of which one up-link of a leaf carries half: both ways."""

    def slow(a: int, b: int, _over: Part | None) -> float:
        for source, target in ((a, b), (b, a)):
            one, other = leaf_of(source), leaf_of(target)
            if one != other and leaf in (one, other) and target % links == number:
                return 24.0
        return GOOD

    return slow


def test_an_up_link_is_named_with_its_leaf_where_one_node_is_reached_by_it_alone() -> None:
    found = play_screening(network(MANY, up_links=6), up_link("C", 2), 200)
    assert found.blamed_parts() == [("up-link", (12, 13, 14, 15, 16, 17))]
    one = found.verdict.named[0]
    assert (one.leaves, one.part, one.share) == (("C",), None, 0.5)
    assert one.reason.endswith("but the nodes are good with others: an up-link of C")
    assert found.verdict.unclear == ()


def test_known_routes_tell_which_up_link_it_is() -> None:
    routes = tuple(tuple(-1 if leaf_of(node) == leaf else node % 6 for node in range(48)) for leaf in "ABCDEFGH")
    found = play_screening(network(MANY, up_links=6, routes=routes), up_link("C", 2), 200)
    assert [(one.kind, one.leaves, one.part) for one in found.verdict.named] == [("up-link", ("C",), "2")]
    assert found.verdict.named[0].reason.endswith("an up-link of C (number 2)")


def test_a_path_between_two_leaves_that_nothing_tells_apart_is_named_with_both() -> None:
    """All that goes from A to one node of E is slow, and no other path is: the routes are those of no simple tree."""
    found = play_screening(network(MANY), lambda a, b, over: 24.0 if a < 6 and b == 27 else GOOD, 200)
    assert [(one.kind, one.leaves) for one in found.verdict.named] == [("up-link", ("A", "E"))]
    assert found.verdict.named[0].reason.endswith(": an up-link of A or of E")
    assert len(found.verdict.named[0].members) == 12


def of_part(name: str, share: float, parts: int, node: int = 5) -> Speed:
    """Return a node of which one part gives a share of healthy; over all parts its lack is that part's."""

    def speed(a: int, b: int, over: Part | None) -> float:
        if node not in (a, b):
            return GOOD if over is None else GOOD / parts
        if over is None:
            return GOOD * (parts - 1 + share) / parts
        return GOOD / parts * (share if over.name == name else 1.0)

    return speed


@pytest.mark.parametrize("share", [0.5, 0.0])
def test_the_slow_rail_of_a_node_is_named_in_the_nodes_place(share: float) -> None:
    found = play_screening(network(LEAVES, rails=4), of_part("rail2", share, 4), 120)
    assert [(one.kind, one.members, one.part) for one in found.verdict.named] == [("rail", (5,), "rail2")]
    partners = [("vn5", 12.0 * share), ("vn7", 12.0 * share)]
    assert found.verdict.named[0].reason == node_words("rail2 of vn6", partners, 12.0, "MB/s", share)
    assert [step.over and step.over.name for step in found.steps][-4:] == ["rail0", "rail1", "rail2", "rail3"]


def test_a_node_whose_rails_are_all_slow_stays_a_node() -> None:
    speed: Speed = lambda a, b, over: (GOOD if over is None else 12.0) * (0.5 if 5 in (a, b) else 1.0)  # noqa: E731
    found = play_screening(network(LEAVES, rails=4), speed, 120)
    assert found.blamed_parts() == [("node", (5,))]
    assert found.verdict.named[0].reason.endswith("; each rail alone is slow")


def test_a_gpus_path_is_named_where_each_rail_alone_is_good() -> None:
    found = play_screening(network(LEAVES, rails=4, gpus=4), of_part("gpu1", 0.5, 4), 300)
    assert [(one.kind, one.members, one.part) for one in found.verdict.named] == [("gpu path", (5,), "gpu1")]
    assert found.verdict.named[0].reason.endswith("from the GPU's memory; each rail alone from host memory is good")


def test_without_room_for_its_rails_a_node_is_named_all_the_same() -> None:
    found = play_screening(network(LEAVES, rails=4), of_part("rail2", 0.0, 4), 60)
    assert found.blamed_parts() == [("node", (5,))]
    assert found.verdict.named[0].reason.endswith("; the budget had no room to measure its rails alone")
    of_rails = [one for one in found.verdict.promises if one.kind == "rail"]
    assert all(one.probability is not None and one.probability < 0.6 for one in of_rails)


def test_all_pairs_below_what_is_expected_are_named_and_not_without_an_expectation() -> None:
    half: Speed = lambda a, b, over: 24.0  # noqa: E731
    assert play_screening(network(LEAVES), half).blamed_parts() == []
    found = play_screening(network(LEAVES, expected=GOOD), half)
    assert [one.kind for one in found.verdict.named] == ["all"]
    assert "expected 48.00 MB/s (at most 50.0 %)" in found.verdict.sentence


def test_who_is_good_with_good_partners_is_cleared() -> None:
    """Slow in the sample alone, as where something else kept the node busy."""
    busy = {"sample"}
    results: list[Results] = []
    known = network(LEAVES)
    while isinstance(step := advance(known, Budget(200, 1.0), results), Step):
        value = 24.0 if step.name in busy else GOOD
        results.append(Results([(a, b, value if 5 in (a, b) else GOOD) for a, b in step.pairs()] * step.repeats))
    assert (step.named, step.unclear, [one.members for one in step.cleared]) == ((), (), [(5,)])
    assert "; slow in the sample but good with good partners, so not named: vn6; " in step.sentence
    # a node that is cleared no longer explains its pairs, so they are measured again
    assert [each.split(":")[0] for each in step.steps] == ["sample", "sample", "suspects", "again"]


def test_absent_nodes_are_told_and_neither_measured_nor_blamed() -> None:
    found = play_screening(network(LEAVES), absent={0: "drained: bad fan", 7: "drained: bad fan"})
    assert not {0, 7} & {node for step in found.steps for pair in step.pairs() for node in pair}
    assert found.blamed_parts() == []
    covered = found.verdict.coverage
    assert [(one.node, one.reason) for one in covered.not_measured] == [
        ("vn1", "drained: bad fan"),
        ("vn8", "drained: bad fan"),
    ]
    assert "; not judged: 2 of 16 nodes (2 drained: bad fan); " in found.verdict.sentence
    assert covered.nodes.used == 14


def test_half_of_the_nodes_gone_in_mid_run_is_one_sentence_and_blames_nobody() -> None:
    gone = dict.fromkeys(range(24), "its job ended: NODE_FAIL")
    for step in (0, 1):
        found = play_screening(network(MANY), slow_node(40), 100, gone={step: gone})
        assert found.blamed_parts() == [("node", (40,))]
        assert "; not judged: 24 of 48 nodes (24 its job ended: NODE_FAIL); " in found.verdict.sentence
        later = {node for each in found.steps[step + 1 :] for pair in each.pairs() for node in pair}
        assert not later & gone.keys()


def test_nodes_that_stop_giving_results_are_taken_as_gone_where_nobody_says_so() -> None:
    """From the second sample on nothing comes from a quarter of the nodes."""
    results: list[Results] = []
    known = network(MANY)
    while isinstance(step := advance(known, Budget(100, 1.0), results), Step):
        silent = range(12) if results else ()
        results.append(
            Results([(a, b, None if a in silent or b in silent else GOOD) for a, b in step.pairs()] * step.repeats)
        )
    assert (step.named, step.unclear) == ((), ())
    assert {one.node for one in step.coverage.not_measured} == {f"vn{node}" for node in range(1, 13)}
    assert all(one.reason.startswith("gave no result after round ") for one in step.coverage.not_measured)


def test_more_silent_nodes_than_can_be_sick_are_the_runs_fault() -> None:
    found = play_screening(network(LEAVES), lambda a, b, over: None if a < 6 or b < 6 else GOOD)
    assert found.blamed_parts() == []
    assert "; not judged: 6 of 16 nodes (6 gave no result, like too many others); " in found.verdict.sentence


def test_a_node_that_goes_away_after_it_was_confirmed_is_not_blamed() -> None:
    found = play_screening(network(LEAVES, rails=2), of_part("rail1", 0.0, 2), 120, gone={3: {5: "drained: by hand"}})
    assert found.steps[3].name == "rails"
    assert found.blamed_parts() == []
    assert [one.members for one in found.verdict.unclear] == [(5,)]
    assert found.verdict.unclear[0].reason.endswith("; it went away later")


def test_nothing_to_measure_and_no_result_are_sentences() -> None:
    nobody = play_screening(network("AA"), absent={0: "drained"})
    assert nobody.steps == []
    assert nobody.verdict.sentence.startswith("1 of 2 nodes are there, but a pair needs two; ")
    silent = play_screening(network(LEAVES), lambda a, b, over: None)
    assert silent.blamed_parts() == []
    assert silent.verdict.sentence.startswith("no pair of 16 nodes gave a result; ")
    assert silent.verdict.promises == ()


def test_a_budget_that_is_too_small_for_anything() -> None:
    with pytest.raises(BudgetError) as error:
        advance(network(LEAVES), Budget(60, 2.0))
    assert str(error.value) == (
        "a budget of 60 s is 30 rounds of 2 s, expected at least 40 (80 s): half of them for a sample in which each "
        "node meets neighbours and other leaves, the rest to measure a suspect three times with two good partners; "
        "give it more time"
    )
    with pytest.raises(BudgetError) as error:
        advance(network(LEAVES, rails=4), Budget(100, 1.0, 10.0))
    assert "a budget of 100 s is 0 rounds of 1 s besides the start of 17 steps, expected at least 40 (210 s): " in str(
        error.value
    )
    for wrong in ((0.0, 1.0, 0.0), (60.0, 0.0, 0.0), (60.0, 1.0, -1.0), (float("inf"), 1.0, 0.0)):
        with pytest.raises(ValueError, match=r"expected numbers above 0$"):
            Budget(*wrong)


def test_nodes_without_known_leaves() -> None:
    found = play_screening(network("?" * 16), slow_node(5), 100)
    assert found.blamed_parts() == [("node", (5,))]
    assert found.verdict.named[0].reason.endswith("; leaves are not known, so it may be an up-link that leads there")
    why = leaves_unknown()
    assert [(one.kind, one.probability, one.basis) for one in found.verdict.promises if one.kind != "node"][-3:] == [
        ("leaf", None, why),
        ("up-link", None, why),
        ("up-link", None, why),
    ]
    assert f"leaves and up-links: {why}" in found.verdict.not_looked_at
    # nobody knows what shares an up-link, so suspects are measured one pair at a time
    assert {len(each) for each in found.steps[-1].rounds} == {1}


def test_some_nodes_of_no_known_leaf() -> None:
    found = play_screening(network("AAAABBBBCCCC.."), slow_node(12), 100)
    assert found.blamed_parts() == [("node", (12,))]
    assert (
        "the leaf of 2 nodes (vn13 and vn14): it is not known, so each was judged as a leaf of its own"
        in found.verdict.not_looked_at
    )


def test_a_leaf_of_one_node_cannot_be_told_from_its_node() -> None:
    found = play_screening(network("AAAABBBBCCCCDDDDE"), slow_node(16), 100)
    assert found.blamed_parts() == [("node", (16,))]
    assert found.verdict.named[0].reason.endswith("; it is the only node of E, so it may be that leaf")
    assert (
        "whether E or its only node is slow: only neighbours show which of the two it is" in found.verdict.not_looked_at
    )


def test_two_slow_nodes_whose_lacks_add_up_are_no_slow_pair() -> None:
    """Each lacks another rail, so that together they give half."""

    def speed(a: int, b: int, over: Part | None) -> float:
        lack = sum(0.25 for node in (4, 5) if node in (a, b))
        return GOOD * (1 - lack)

    found = play_screening(network(LEAVES), speed, 100)
    assert found.blamed_parts() == [("node", (4,)), ("node", (5,))]
    assert found.verdict.unclear == ()


def test_a_stored_run_is_judged_by_the_same_call() -> None:
    found = play_screening(network(LEAVES), slow_node(5))
    known, budget = network(LEAVES), Budget(60, 1.0)
    for count, step in enumerate(found.steps):
        assert advance(known, budget, found.results[:count]) == step
    assert advance(known, budget, found.results) == found.verdict
    with pytest.raises(ValueError, match=r"^4 results, but the screening ended with result 3$"):
        advance(known, budget, [*found.results, Results()])


def test_a_sample_that_was_planned_elsewhere_is_judged() -> None:
    """Groups of four nodes, as they came free: all pairs of each."""
    groups = [(start, start + 1, start + 4, start + 5) for start in (0, 2, 8, 10)]
    turns = (((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2)))
    rounds = tuple(tuple((group[i], group[j]) for i, j in turn) for group in groups for turn in turns)
    first = Step("sample", rounds, 1, "groups")
    found = play_screening(network(LEAVES), slow_node(9), 60, first=first)
    assert found.steps[0] == first
    assert [step.name for step in found.steps] == ["sample", "suspects", "again"]
    assert found.blamed_parts() == [("node", (9,))]
    # six pairs of each group, and four more of the two nodes of C that met nobody else there
    assert (found.verdict.coverage.pairs.used, found.verdict.coverage.pairs.all) == (28, 120)


def test_the_settings_decide_what_is_slow() -> None:
    found = play_screening(network(LEAVES), slow_node(5, 45.0), settings=Settings(look_again=0.10, slow=0.10))
    assert found.blamed_parts() == []
    assert play_screening(network(LEAVES), slow_node(5, 45.0)).blamed_parts() == [("node", (5,))]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((0, 0, 1.0), "step sample: a value of vn1-vn1, which was not asked for"),
        ((1, 0, 1.0), "step sample: a value of vn2-vn1, which was not asked for"),
        ((0, 99, 1.0), "step sample: a value of nodes 0 and 99 of 16, which was not asked for"),
        ((0, 1, -1.0), "vn1-vn2 gave -1.0 MB/s: expected a finite number, not negative"),
        ((0, 1, float("nan")), "vn1-vn2 gave nan MB/s: expected a finite number, not negative"),
        ((0, 1, float("inf")), "vn1-vn2 gave inf MB/s: expected a finite number, not negative"),
    ],
)
def test_values_that_are_none(value: tuple[int, int, float], message: str) -> None:
    first = Step("sample", (((0, 1), (2, 3)),), 1, "by hand")
    with pytest.raises(PairsError) as error:
        advance(network(LEAVES), Budget(60, 1.0), [[value]], first=first)
    assert str(error.value) == message


def test_a_pair_without_a_value_was_not_measured() -> None:
    """Half of the sample's values are missing: less is covered, and nobody is blamed for it."""
    whole = play_screening(network(LEAVES))
    half = [Results(tuple(each.values)[::2]) for each in whole.results]
    found = advance(network(LEAVES), Budget(60, 1.0), half)
    assert isinstance(found, ScreeningVerdict)
    assert found.named == ()
    assert found.coverage.pairs.used < whole.verdict.coverage.pairs.used


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"up_links": 0}, r"^0 up-links per leaf: expected at least 1$"),
        ({"routes": ((0, 1),)}, r"^routes of another shape: expected 2 rows of 4 up-links, one row per leaf$"),
    ],
)
def test_networks_that_are_none(more: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Network(Layout(("a", "b", "c", "d"), ("x", "x", "y", "y")), **more)  # type: ignore[arg-type]


def test_all_good_is_good() -> None:
    assert all_good(0, 1, None) == GOOD


#: A dragonfly: six groups of four leaf switches with eight nodes; links between groups have less than a card.
PER_LEAF, PER_GROUP, NODES_OF_DRAGONFLY = 8, 32, 192


def dragonfly(groups: bool) -> Network:
    names = range(NODES_OF_DRAGONFLY)
    layout = Layout(
        tuple(f"n{number}" for number in names), tuple(f"leaf{number // PER_LEAF}" for number in names),
        groups=tuple(f"g{number // PER_GROUP}" for number in names) if groups else (),
    )  # fmt: skip
    return Network(layout, up_links=8)


def of_dragonfly(
    groups: bool, leaf: int | None = None, node: int | None = None, group: int | None = None, outward: int | None = None
) -> ScreeningVerdict:
    """Return the verdict on a part at half, without noise.

    A ``leaf`` gives all other leaves half, a ``group`` and the leaf ``outward`` other groups, a ``node`` everybody.
    """
    network = dragonfly(groups)

    def value(a: int, b: int) -> float:
        leaves = {a // PER_LEAF, b // PER_LEAF}
        found = 48.0 if len(leaves) == 1 else 44.0 if a // PER_GROUP == b // PER_GROUP else 30.0
        found *= 0.5 if len(leaves) > 1 and leaf in leaves else 1
        apart = a // PER_GROUP != b // PER_GROUP
        found *= 0.5 if apart and (group in {a // PER_GROUP, b // PER_GROUP} or outward in leaves) else 1
        return min(found, 24.0) if node in (a, b) else found

    results: list[Results] = []
    while isinstance(step := advance(network, Budget(400.0, 1.0), results, Settings()), Step):
        results.append(Results([(a, b, value(a, b)) for each in step.rounds for a, b in each * step.repeats]))
    return step


def test_pairs_of_two_groups_are_compared_with_one_another() -> None:
    found = of_dragonfly(True)
    assert (found.named, found.unclear) == ((), ())
    assert [(level.hops, level.value) for level in found.levels] == [
        ("same side", 48.0), ("across sides", 44.0), ("other groups", 30.0),
    ]  # fmt: skip
    # Without groups, tapered links leave leaf switches in doubt.
    assert of_dragonfly(False).unclear != ()


def test_a_leaf_switch_and_a_node_are_named_beside_groups() -> None:
    assert [(one.kind, one.leaves) for one in of_dragonfly(True, leaf=5).named] == [("leaf", ("leaf5",))]
    assert [(one.kind, one.members) for one in of_dragonfly(True, node=17).named] == [("node", (17,))]


def test_a_group_with_slow_links_to_others_is_named_and_none_of_its_leaves() -> None:
    found = of_dragonfly(True, group=2)
    assert [(one.kind, one.leaves, one.share) for one in found.named] == [("group", ("g2",), 0.5)]
    assert found.named[0].members == tuple(range(2 * PER_GROUP, 3 * PER_GROUP))
    assert found.unclear == ()
    (suspect,) = findings(found, dragonfly(True), None).suspects
    assert (suspect.kind, suspect.part, len(suspect.nodes)) == ("switch", "group g2", PER_GROUP)


def test_a_leaf_that_is_slow_only_with_other_groups_is_named_with_that() -> None:
    (named,) = of_dragonfly(True, outward=5).named
    (everywhere,) = of_dragonfly(True, leaf=5).named
    assert (named.kind, named.leaves, everywhere.leaves) == ("leaf", ("leaf5",), ("leaf5",))
    assert "its links to other groups" in named.reason
    assert "group" not in everywhere.reason


def test_pairs_of_two_groups_with_a_slow_link_do_not_clear_each_other() -> None:
    """What is measured of them again is all as slow: by the sample's other pairs of groups they are undecided."""
    network = dragonfly(True)
    results: list[Results] = []

    def value(a: int, b: int) -> float:
        if a // PER_LEAF == b // PER_LEAF:
            return 48.0
        groups = {a // PER_GROUP, b // PER_GROUP}
        return 44.0 if len(groups) == 1 else 15.0 if groups == {2, 3} else 30.0

    while isinstance(step := advance(network, Budget(400.0, 1.0), results, Settings()), Step):
        results.append(Results([(a, b, value(a, b)) for each in step.rounds for a, b in each * step.repeats]))
    assert (step.named, step.cleared) == ((), ())
    asked = [one for one in step.unclear if " of 30.00 MB/s (50.0 %)" in one.reason]
    assert asked and all({member // PER_GROUP for member in one.members} == {2, 3} for one in asked)


def links_between_groups(a: int, b: int) -> list[tuple[int, int, int]]:
    """Return the links of a static route between two groups: one of four, and for a part of the pairs over a third."""
    one, other = sorted((a // PER_GROUP, b // PER_GROUP))
    cable, third = (7 * a + 3 * b) % 4, (a + 5 * b) % 6
    stops = [one, third, other] if (a + b) % 3 == 0 and third not in (one, other) else [one, other]
    return [(min(each), max(each), cable) for each in pairwise(stops)]


Links = Callable[[int, int], list[tuple[int, int, int]]]


def of_shared_links(
    asked: Network, per_leaf: int, per_group: int, links: Links, first: Step | None = None
) -> list[Suspect]:
    """Return who is named where each link between two groups carries one stream, and several streams share it."""
    asking = screen(asked, Budget(400.0, 1.0), first=first)
    step = next(asking)
    with pytest.raises(StopIteration) as end:
        while True:
            values: list[tuple[int, int, float]] = []
            for each in step.rounds:
                apart = {pair: links(*pair) for pair in each if pair[0] // per_group != pair[1] // per_group}
                load = Counter(link for own in apart.values() for link in own)
                for a, b in each:
                    shared = max((load[link] for link in apart.get((a, b), ())), default=1)
                    values += [(a, b, (48.0 if a // per_leaf == b // per_leaf else 44.0) / shared)] * step.repeats
            step = asking.send(Results(values))
    return list(end.value.value.named)


def test_pairs_that_share_a_link_between_groups_are_not_named() -> None:
    """Suspects are measured with others at the same time, over the same links in each repeat: nobody is at fault."""
    assert of_shared_links(dragonfly(True), PER_LEAF, PER_GROUP, links_between_groups) == []


@pytest.mark.parametrize(
    ("groups", "leaves", "nodes", "cables", "seed"),
    [(5, 2, 6, 4, 109), (4, 3, 4, 4, 16), (4, 3, 4, 2, 50)],
    ids=["two groups", "more pairs of groups than others do", "as little as good leaves do"],
)
def test_routes_of_leaves_that_collide_between_groups_blame_nobody(
    groups: int, leaves: int, nodes: int, cables: int, seed: int
) -> None:
    """Each two leaves of two groups have one of a few links by chance: some groups, and some leaves, are unlucky."""
    draw = random.Random(seed)
    number = groups * leaves
    table = [[draw.randrange(cables) for _ in range(number)] for _ in range(number)]
    every = range(number * nodes)
    layout = Layout(
        tuple(f"n{node}" for node in every), tuple(f"leaf{node // nodes}" for node in every),
        groups=tuple(f"g{node // nodes // leaves}" for node in every),
    )  # fmt: skip

    def links(a: int, b: int) -> list[tuple[int, int, int]]:
        one, other = sorted((a // nodes, b // nodes))
        return [(one // leaves, other // leaves, table[one][other])]

    found = Network(layout)
    assert of_shared_links(found, nodes, nodes * leaves, links, plan(found)) == []
