"""The energy of a run: read if a node shows it, summed over nodes, and nothing if one node is missing."""

from pathlib import Path

import pytest

from railyard.job.counters import Energy, NodeCounters, energy_figures
from tests.made.sysfs import Tree, write


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    made = Tree.empty_node(tmp_path)
    made.interface("eth0")
    return made


def zone(tree: Tree, name: str, value: int, most: int = 10_000_000) -> Path:
    folder = tree.root / "sys/class/powercap" / name
    return write(folder, {"energy_uj": value, "max_energy_range_uj": most}) / "energy_uj"


def test_the_processors_of_a_node_are_summed_without_their_parts(tree: Tree) -> None:
    first, second = zone(tree, "intel-rapl:0", 1_000_000), zone(tree, "intel-rapl:1", 2_000_000)
    part = zone(tree, "intel-rapl:0:0", 500_000)
    reading = tree.run("eth0", {first: 3_500_000, second: 2_500_000, part: 900_000})
    assert (reading.problem, reading.energy) == (None, Energy(3.0, "processors"))


def test_a_counter_that_began_again_is_counted_on(tree: Tree) -> None:
    reading = tree.run("eth0", {zone(tree, "intel-rapl:0", 9_000_000): 1_000_000})
    assert reading.energy == Energy(2.0, "processors")


@pytest.mark.parametrize("after", ["unreadable", "-5"])
def test_a_processor_that_cannot_be_read_leaves_the_node_without_a_sum(tree: Tree, after: str) -> None:
    first, second = zone(tree, "intel-rapl:0", 1_000_000), zone(tree, "intel-rapl:1", 2_000_000)
    assert tree.run("eth0", {first: 3_500_000, second: after}).energy is None


def test_a_node_with_a_meter_of_its_own_is_taken_whole(tree: Tree) -> None:
    zone(tree, "intel-rapl:0", 1_000_000)
    meter = write(tree.root / "sys/cray/pm_counters", {"energy": "1200 J 1700000000000000 us"}) / "energy"
    assert tree.run("eth0", {meter: "1530 J 1700000001000000 us"}).energy == Energy(330.0, "nodes")


def test_a_node_that_shows_nothing_has_none(tree: Tree) -> None:
    reading = tree.run("eth0")
    assert (reading.problem, reading.energy) == (None, None)
    assert "joules" not in tree.text


def node(energy: Energy | None, elapsed_s: float | None = 2.0) -> NodeCounters:
    return NodeCounters("vn", (), 0, elapsed_s=elapsed_s, energy=energy)


def of(readings: dict[str, NodeCounters], *nodes: str) -> list[tuple[str, float, str]]:
    return [(each.name, each.value, each.unit) for each in energy_figures(readings, nodes)]


def test_energy_and_power_are_those_of_all_nodes() -> None:
    both = {"a": node(Energy(300.0, "nodes")), "b": node(Energy(100.0, "nodes"), 4.0)}
    assert of(both, "a", "b") == [("energy_of_nodes", 400.0, "J"), ("power_of_nodes", 175.0, "W")]
    assert of({"a": node(Energy(5.0, "processors"), None)}, "a") == [("energy_of_processors", 5.0, "J")]


def test_a_node_that_is_missing_or_metered_otherwise_leaves_no_sum() -> None:
    one = node(Energy(300.0, "nodes"))
    assert of({"a": one}, "a", "b") == []
    assert of({"a": one, "b": node(None)}, "a", "b") == []
    assert of({"a": one, "b": node(Energy(1.0, "processors"))}, "a", "b") == []
    assert of({}) == []
