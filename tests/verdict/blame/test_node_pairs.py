"""What is measured after all pairs, and who is blamed. Values are synthetic."""

from collections.abc import Mapping

import pytest

from railyard.parsers.output import Table
from railyard.parsers.pairs import COLUMNS, UNITS
from railyard.site.topology import Leaves, stated_leaves
from railyard.verdict.blame.node_pairs import (
    RAIL_REPEATS,
    findings,
    layout_of,
    next_step,
    rail_rounds,
    rails_at_fault,
    rounds_text,
)
from railyard.verdict.blame.search.model import Settings, Step, Verdict
from railyard.verdict.blame.search.rounds import rounds
from railyard.verdict.blame.search.search import search
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.wording import NOBODY_BLAMED, WITH_EVERY
from railyard.verdict.wording.blame import none_slow
from tests.made.simulated import Faults, Simulated, Tree

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


def measured(slow: Mapping[frozenset[int], float]) -> list[Table]:
    """Return the tables of all steps if these pairs are slow in one direction whenever they are measured."""
    tables = [table("pairs", rounds(4), slow)]
    while isinstance(step := next_step(tables, SETTINGS, None), Step):
        tables.append(table("alone", step.rounds * step.repeats, slow))
    return tables


def blamed(found: Findings) -> list[tuple[str, str | None, str | None]]:
    return [(one.kind, one.node, one.rail) for one in found.suspects]


def rails(slow: Mapping[str, Mapping[frozenset[int], float]], tables: list[Table]) -> dict[str, Table]:
    """Return what each rail alone gives if these pairs are slow on it."""
    verdict = next_step(tables, SETTINGS, None)
    assert isinstance(verdict, Verdict)
    made = rail_rounds(verdict, layout_of(tables[0], None)) * RAIL_REPEATS
    return {rail: table("alone", made, of_rail) for rail, of_rail in slow.items()}


def test_a_healthy_network_needs_no_second_step() -> None:
    tables = measured({})
    assert len(tables) == 1
    assert blamed(findings(tables, SETTINGS, None, {}, ("hsn0",), 48.2)) == []


def test_a_slow_node_is_measured_alone_and_named_with_its_rail() -> None:
    tables = measured(pairs_of_node(1, 10.0))
    assert len(tables) == 2
    found = findings(tables, SETTINGS, 45.0, {}, ("hsn0",), 48.2)
    assert blamed(found) == [("rail", "vn2", "hsn0")]


def test_of_two_rails_the_slow_one_is_named_and_not_the_node() -> None:
    tables = measured(pairs_of_node(1, 19.0))
    alone = rails({"hsn0": {}, "hsn1": pairs_of_node(1, 5.0)}, tables)
    found = findings(tables, SETTINGS, 45.0, alone, ("hsn0", "hsn1"), 48.2)
    assert blamed(found) == [("rail", "vn2", "hsn1")]
    assert f"hsn1 of vn2 is slow {WITH_EVERY}: at best 5.000 MB/s with vn1, " in found.sentence


def test_a_node_that_no_rail_explains_is_named_itself() -> None:
    tables = measured(pairs_of_node(1, 19.0))
    found = findings(tables, SETTINGS, 45.0, rails({"hsn0": {}, "hsn1": {}}, tables), ("hsn0", "hsn1"), 48.2)
    assert blamed(found) == [("node", "vn2", None)]
    assert found.sentence.endswith(f"; {none_slow(48, None)}")


def test_one_slow_pair_is_named_and_neither_of_its_nodes() -> None:
    tables = measured({frozenset((0, 2)): 20.0})
    assert blamed(findings(tables, SETTINGS, 45.0, {}, ("hsn0",), 48.2)) == [("pair", "vn1-vn3", "hsn0")]


def test_a_pair_that_was_slow_in_the_rounds_alone_is_nobodys_fault() -> None:
    slow = {frozenset((0, 2)): 20.0}
    tables = [table("pairs", rounds(4), slow)]
    while isinstance(step := next_step(tables, SETTINGS, None), Step):
        tables.append(table("alone", step.rounds * step.repeats, {}))
    assert blamed(findings(tables, SETTINGS, 45.0, {}, ("hsn0",), 48.2)) == []


def test_steps_that_were_not_measured_blame_nobody_and_say_so() -> None:
    tables = measured(pairs_of_node(1, 10.0))[:1]
    found = findings(tables, SETTINGS, 45.0, {}, ("hsn0",), 48.2)
    assert found.suspects == ()
    assert found.sentence.endswith(f": that was not measured, so {NOBODY_BLAMED}")


def test_a_table_that_is_not_the_steps_blames_nobody_and_says_so() -> None:
    tables = [*measured(pairs_of_node(1, 10.0))[:1], table("alone", (((0, 2),),), {})]
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
    assert rails_at_fault({"hsn0": one}, 48.2).suspects == ()


TREE = Tree(64, 8)
#: As in a system's file: which nodes are at which leaf.
LEAF_OF = stated_leaves({f"leaf{leaf}": tuple(f"n{leaf * 8 + node:04d}" for node in range(8)) for leaf in range(8)})
ALL_OF_TREE = " ".join(TREE.layout().nodes)


def of_tree(faults: Faults, leaf_of: Leaves) -> Findings:
    """Return who is blamed for faults of a simulated fat tree of eight leaves, from tables like those of a job."""
    network = Simulated(TREE, faults, 3)
    tables: list[Table] = []
    step: Step | Verdict = next(search(TREE.layout()))
    while isinstance(step, Step):
        rows = tuple((1, a, b, value, value, 0.0) for a, b, value in network.measure(step))
        name = "alone" if tables else "pairs"
        tables.append(Table("pairs", "1", name, COLUMNS, UNITS, rows, 1, True, {"hosts": ALL_OF_TREE}))
        step = next_step(tables, Settings(), None, leaf_of)
    return findings(tables, Settings(), 11_000.0, {}, ("mlx5_0",), 12_000.0, leaf_of)


def test_a_slow_side_of_the_switch_is_named_where_the_file_says_who_stands_at_which_leaf() -> None:
    found = of_tree(Faults(sides={5: 0.5}), LEAF_OF)
    assert blamed(found) == [("switch", None, "mlx5_0")]
    assert found.suspects[0].reason.startswith("leaf5")


def test_without_leaves_a_slow_side_is_nobodys_fault() -> None:
    """Each of its pairs alone has its full rate, so only the leaves show it."""
    assert of_tree(Faults(sides={5: 0.5}), {}).suspects == ()


def test_a_slow_node_of_a_known_side_is_still_that_node() -> None:
    assert blamed(of_tree(Faults(nodes={43: 0.5}), LEAF_OF)) == [("rail", "n0043", "mlx5_0")]


def test_a_node_at_no_known_leaf_blames_nobody_and_says_so() -> None:
    tables = measured(pairs_of_node(1, 10.0))
    found = findings(tables, SETTINGS, 45.0, {}, ("hsn0",), 48.2, {"vn1": "leaf1"})
    assert found == Findings((), f"{NOBODY_BLAMED}: vn2 is at none of the known leaf switches, which have 1 nodes")
