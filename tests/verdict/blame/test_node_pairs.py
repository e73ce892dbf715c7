"""What is measured after all pairs, and who is blamed. Values are synthetic."""

from collections.abc import Mapping

import pytest

from railyard.benchmarks.node_pairs import pairs_of
from railyard.parsers.output import Table
from railyard.parsers.pairs import COLUMNS, UNITS
from railyard.results.record.headline import suspect_name
from railyard.site.topology import Places, stated_leaves
from railyard.verdict.blame.node_pairs import (
    RAIL_REPEATS,
    findings,
    layout_of,
    next_step,
    rail_rounds,
    rails_at_fault,
    rounds_text,
)
from railyard.verdict.blame.search.model import Settings, Step, Verdict, rounds
from railyard.verdict.blame.search.search import search
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.wording import NOBODY_BLAMED
from railyard.verdict.wording import pair_search as search_words
from railyard.verdict.wording.blame import none_slow
from tests.made.fat_tree import Faults, SimulatedNetwork, Tree

HOSTS = "vn1 vn2 vn3 vn4"
SETTINGS = Settings(repeats=3)
GOOD = 47.8


def table(name: str, made: tuple[tuple[tuple[int, int], ...], ...], slow: Mapping[frozenset[int], float]) -> Table:
    rows = tuple(
        (number, a, b, slow.get(frozenset((a, b)), GOOD), GOOD, 30.0)
        for number, pairs in enumerate(made, start=1)
        for a, b in pairs
    )
    return Table("pairs", "1", name, COLUMNS, UNITS, rows, 1, True, {"hosts": HOSTS})


def pairs_of_node(node: int, value: float) -> dict[frozenset[int], float]:
    return {frozenset((node, other)): value for other in range(4) if other != node}


def step_tables(slow: Mapping[frozenset[int], float]) -> list[Table]:
    """Return the tables of all steps if these pairs are slow in one direction whenever they are measured."""
    tables = [table("pairs", rounds(4), slow)]
    while isinstance(step := next_step(tables, SETTINGS, None), Step):
        tables.append(table("alone", step.rounds * step.repeats, slow))
    return tables


def blamed_parts(found: Findings) -> list[tuple[str, str | None, str | None]]:
    return [(one.kind, one.node, one.rail) for one in found.suspects]


def rails(slow: Mapping[str, Mapping[frozenset[int], float]], tables: list[Table]) -> dict[str, Table]:
    """Return what each rail alone gives if these pairs are slow on it."""
    verdict = next_step(tables, SETTINGS, None)
    assert isinstance(verdict, Verdict)
    made = rail_rounds(verdict, layout_of(tables[0], None)) * RAIL_REPEATS
    return {rail: table("alone", made, of_rail) for rail, of_rail in slow.items()}


def test_a_healthy_network_needs_no_second_step() -> None:
    tables = step_tables({})
    assert len(tables) == 1
    assert blamed_parts(findings(tables, SETTINGS, None, {}, ("hsn0",), 48.2)) == []


def test_a_slow_node_is_measured_alone_and_named_with_its_rail() -> None:
    tables = step_tables(pairs_of_node(1, 10.0))
    assert len(tables) == 2
    found = findings(tables, SETTINGS, 45.0, {}, ("hsn0",), 48.2)
    assert blamed_parts(found) == [("rail", "vn2", "hsn0")]


def test_of_two_rails_the_slow_one_is_named_and_not_the_node() -> None:
    tables = step_tables(pairs_of_node(1, 19.0))
    alone = rails({"hsn0": {}, "hsn1": pairs_of_node(1, 5.0)}, tables)
    found = findings(tables, SETTINGS, 45.0, alone, ("hsn0", "hsn1"), 48.2)
    assert blamed_parts(found) == [("rail", "vn2", "hsn1")]


def test_a_node_that_no_rail_explains_is_named_itself() -> None:
    tables = step_tables(pairs_of_node(1, 19.0))
    found = findings(tables, SETTINGS, 45.0, rails({"hsn0": {}, "hsn1": {}}, tables), ("hsn0", "hsn1"), 48.2)
    assert blamed_parts(found) == [("node", "vn2", None)]
    assert found.sentence.endswith(f"; {none_slow(48, None)}")


def test_one_slow_pair_is_named_and_neither_of_its_nodes() -> None:
    tables = step_tables({frozenset((0, 2)): 20.0})
    assert blamed_parts(findings(tables, SETTINGS, 45.0, {}, ("hsn0",), 48.2)) == [("pair", "vn1-vn3", "hsn0")]


def test_a_pair_that_was_slow_in_the_rounds_alone_is_nobodys_fault() -> None:
    slow = {frozenset((0, 2)): 20.0}
    tables = [table("pairs", rounds(4), slow)]
    while isinstance(step := next_step(tables, SETTINGS, None), Step):
        tables.append(table("alone", step.rounds * step.repeats, {}))
    assert blamed_parts(findings(tables, SETTINGS, 45.0, {}, ("hsn0",), 48.2)) == []


def test_steps_that_were_not_measured_blame_nobody_and_say_so() -> None:
    tables = step_tables(pairs_of_node(1, 10.0))[:1]
    found = findings(tables, SETTINGS, 45.0, {}, ("hsn0",), 48.2)
    assert found.suspects == ()
    assert found.sentence.endswith(search_words.step_unmeasured("", NOBODY_BLAMED))


def test_a_table_that_is_not_the_steps_blames_nobody_and_says_so() -> None:
    tables = [*step_tables(pairs_of_node(1, 10.0))[:1], table("alone", (((0, 2),),), {})]
    found = findings(tables, SETTINGS, 45.0, {}, ("hsn0",), 48.2)
    assert found.suspects == ()
    assert found.sentence.startswith(f"{NOBODY_BLAMED}: step alone: ")


def test_no_table_of_all_pairs_is_a_sentence() -> None:
    with pytest.raises(ValueError) as caught:
        next_step([table("alone", (((0, 1),),), {})], SETTINGS, None)
    assert str(caught.value) == "found no table of all pairs, expected it first"


def test_rounds_are_written_as_the_program_reads_them() -> None:
    assert rounds_text(rounds(4)) == "1-2 0-3\n0-1 2-3\n0-2 1-3\n"
    assert rounds_text((((0, 1),), ((1, 2),)), 2) == "0-1\n1-2\n0-1\n1-2\n"


def test_of_a_rails_repeats_the_best_counts() -> None:
    disturbed = table("alone", (((0, 1),), ((0, 1),)), {})
    rows = ((*disturbed.rows[0][:3], 5.0, 5.0, 0.0), disturbed.rows[1])
    one = Table("pairs", "1", "alone", COLUMNS, UNITS, rows, 1, True, {"hosts": HOSTS})
    assert rails_at_fault({"hsn0": pairs_of(one)}, 48.2).suspects == ()


TREE = Tree(64, 8)
#: As in a system's file: which nodes are at which leaf.
LEAF_OF = Places(
    stated_leaves({f"leaf{leaf}": tuple(f"n{leaf * 8 + node:04d}" for node in range(8)) for leaf in range(8)})
)
ALL_OF_TREE = " ".join(TREE.layout().nodes)


def of_tree(faults: Faults, places: Places) -> Findings:
    """Return who is blamed for faults of a simulated fat tree of eight leaves, from tables like those of a job."""
    network = SimulatedNetwork(TREE, faults, 3)
    tables: list[Table] = []
    step: Step | Verdict = next(search(TREE.layout()))
    while isinstance(step, Step):
        rows = tuple((1, a, b, value, value, 0.0) for a, b, value in network.measure(step))
        name = "alone" if tables else "pairs"
        tables.append(Table("pairs", "1", name, COLUMNS, UNITS, rows, 1, True, {"hosts": ALL_OF_TREE}))
        step = next_step(tables, Settings(), None, places)
    return findings(tables, Settings(), 11_000.0, {}, ("mlx5_0",), 12_000.0, places)


def test_a_slow_side_of_the_switch_is_named_where_the_file_says_who_stands_at_which_leaf() -> None:
    found = of_tree(Faults(sides={5: 0.5}), LEAF_OF)
    assert [(one.kind, one.part, one.rail) for one in found.suspects] == [("leaf", "leaf5", "mlx5_0")]
    assert found.suspects[0].reason.startswith("leaf5")
    assert found.suspects[0].nodes == tuple(f"n{node:04d}" for node in range(40, 48))


def test_without_leaves_a_slow_side_is_nobodys_fault() -> None:
    """Each of its pairs alone has its full rate, so only the leaves show it."""
    assert of_tree(Faults(sides={5: 0.5}), Places()).suspects == ()


def test_a_slow_node_of_a_known_side_is_still_that_node() -> None:
    assert blamed_parts(of_tree(Faults(nodes={43: 0.5}), LEAF_OF)) == [("rail", "n0043", "mlx5_0")]


def test_a_node_at_no_known_leaf_blames_nobody_and_says_so() -> None:
    tables = step_tables(pairs_of_node(1, 10.0))
    found = findings(tables, SETTINGS, 45.0, {}, ("hsn0",), 48.2, Places({"vn1": "leaf1"}))
    assert found == Findings((), f"{NOBODY_BLAMED}: vn2 is at none of the known leaf switches, which have 1 nodes")


#: Four nodes at each of four places; each rail has its own leaf switches there.
NODES = tuple(f"n{node}" for node in range(16))
OF_RAILS = {rail: {node: f"{rail}-{place // 4}" for place, node in enumerate(NODES)} for rail in ("r0", "r1")}
BOTH = Places({node: f"r0-{place // 4}+r1-{place // 4}" for place, node in enumerate(NODES)}, {}, OF_RAILS)


def of_rails(slow: Mapping[str, float]) -> Findings:
    """Return who is blamed if the leaf switch of nodes 4 to 7 gives other nodes this share over these rails."""

    def value(a: int, b: int, used: tuple[str, ...]) -> float:
        crosses = (a // 4 == 1) != (b // 4 == 1)
        return sum(GOOD * (slow.get(rail, 1.0) if crosses else 1.0) for rail in used)

    def pairs_table(rounds_: tuple[tuple[tuple[int, int], ...], ...], name: str, used: tuple[str, ...]) -> Table:
        rows = tuple(
            (number, a, b, value(a, b, used), value(a, b, used), 0.0)
            for number, pairs in enumerate(rounds_, start=1)
            for a, b in pairs
        )
        return Table("pairs", "1", name, COLUMNS, UNITS, rows, 1, True, {"hosts": " ".join(NODES)})

    tables = [pairs_table(rounds(len(NODES)), "pairs", ("r0", "r1"))]
    while isinstance(step := next_step(tables, SETTINGS, None, BOTH), Step):
        tables.append(pairs_table(step.rounds * step.repeats, "alone", ("r0", "r1")))
    made = rail_rounds(step, layout_of(tables[0], None, BOTH)) * RAIL_REPEATS
    alone = {rail: pairs_table(made, "rail", (rail,)) for rail in ("r0", "r1")} if made else {}
    return findings(tables, SETTINGS, None, alone, ("r0", "r1"), 48.2, BOTH)


def test_of_rails_with_their_own_leaf_switches_the_slow_one_is_named() -> None:
    found = of_rails({"r1": 0.5})
    assert [(one.kind, one.part, one.rail, one.nodes) for one in found.suspects] == [("leaf", "r1-1", "r1", NODES[4:8])]
    at_once = search_words.AllAtOnce(4, 23.9, ["r0-0+r1-0", "r0-2+r1-2"], 47.8, "MB/s")
    assert found.suspects[0].reason == search_words.slow_leaf_of_rail("r1-1", "r1", at_once, ["r0"])


def test_leaf_switches_that_are_slow_on_all_rails_are_named_together() -> None:
    found = of_rails({"r0": 0.5, "r1": 0.5})
    assert [(one.kind, one.part, one.rail) for one in found.suspects] == [("leaf", "r0-1+r1-1", None)]


def test_good_leaf_switches_of_rails_are_nobodys_fault() -> None:
    assert of_rails({}).suspects == ()


#: A dragonfly: three leaf switches of four nodes in each of four groups; links between groups have less than a card.
COUNT, PER_LEAF, PER_GROUP = 48, 4, 12
OF_DRAGONFLY = Places(
    {f"n{node}": f"leaf{node // PER_LEAF}" for node in range(COUNT)},
    {f"n{node}": f"g{node // PER_GROUP}" for node in range(COUNT)},
)


def of_dragonfly(
    places: Places, group: int | None = None, node: int | None = None, leaf: int | None = None
) -> Findings:
    """Return who is blamed for a group or a leaf switch that gives others half, and a node at half of its card."""

    def value(a: int, b: int) -> float:
        leaves, groups = {a // PER_LEAF, b // PER_LEAF}, {a // PER_GROUP, b // PER_GROUP}
        found = 48.0 if len(leaves) == 1 else 44.0 if len(groups) == 1 else 30.0
        found *= 0.5 if len(groups) > 1 and group in groups else 1
        found *= 0.5 if len(leaves) > 1 and leaf in leaves else 1
        return min(found, 24.0) if node in (a, b) else found

    tables: list[Table] = []
    step: Step | Verdict = Step("rounds", rounds(COUNT), 1, "")
    while isinstance(step, Step):
        rows = tuple(
            (number, a, b, value(a, b), value(a, b), 0.0)
            for number, pairs in enumerate(step.rounds * step.repeats, start=1)
            for a, b in pairs
        )
        hosts = {"hosts": " ".join(f"n{node}" for node in range(COUNT))}
        name = "alone" if tables else "pairs"
        tables.append(Table("pairs", "1", name, COLUMNS, UNITS, rows, 1, True, hosts))
        step = next_step(tables, SETTINGS, None, places)
    return findings(tables, SETTINGS, None, {}, ("cxi0",), 48.2, places)


def parts(found: Findings) -> list[tuple[str, str | None, str | None]]:
    return [(one.kind, one.node, one.part) for one in found.suspects]


def test_a_healthy_dragonfly_is_nobodys_fault_where_its_groups_are_known() -> None:
    assert of_dragonfly(OF_DRAGONFLY).suspects == ()
    # Without groups, its tapered links look like slow leaf switches.
    assert of_dragonfly(Places(OF_DRAGONFLY.leaf_of)).suspects != ()


def test_a_slow_group_is_named_and_none_of_its_leaf_switches() -> None:
    found = of_dragonfly(OF_DRAGONFLY, group=2)
    assert parts(found) == [("switch", None, "group g2")]
    assert suspect_name(found.suspects[0]) == "group g2"
    at_once = search_words.AllAtOnce(12, 15.0, ["g0", "g1", "g3"], 30.0, "MB/s")
    part = search_words.part_of_side("group", is_beyond=True)
    assert found.suspects[0].reason == search_words.slow_side("g2", at_once, 1.0, part)


def test_a_slow_leaf_switch_and_a_slow_node_are_still_named_beside_groups() -> None:
    assert parts(of_dragonfly(OF_DRAGONFLY, leaf=4)) == [("leaf", None, "leaf4")]
    assert parts(of_dragonfly(OF_DRAGONFLY, node=17)) == [("rail", "n17", None)]


def test_a_slow_node_is_named_beside_a_slow_group() -> None:
    for node in (17, 25):
        found = of_dragonfly(OF_DRAGONFLY, group=2, node=node)
        assert parts(found) == [("switch", None, "group g2"), ("rail", f"n{node}", None)]
