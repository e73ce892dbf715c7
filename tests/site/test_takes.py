"""The numbers of nodes and ranks in a system's file: which tests they give, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import InputError
from railyard.site.matrix import Need, find_untaken, requested_needs
from railyard.site.systems.load import load_system
from railyard.site.systems.measure import Measure, Takes
from railyard.site.systems.model import System

SITE = """\
system: site
description: A cluster
nodes: {count: COUNT}
report_only: no references yet
fabrics: {eth: {description: E, kind: tcp, link: eth-100, rails: [{device: eth0, counters: netdev}]}}
stacks: {openmpi: {modules: [openmpi], benchmarks: {osu: /opt/osu, hpl: /opt/xhpl}}}
measure: MEASURE
"""
LATENCY = Need("OsuLatency", "osu", "osu/osu_latency", 2)
ALLREDUCE = Need("OsuAllreduce", "osu", "osu/osu_allreduce", 4, ranks=4, takes=Takes(4, fewest=2, ranks=True))
HPL = Need("Hpl", "hpl", "hpl/hpl", 2, all_nodes=True, check_class="app", takes=Takes(fewest=2, ranks=True))
NODES = Need("HplEveryNode", "hpl", "hpl/every-node", 2, all_nodes=True, within_node=True, takes=Takes(fewest=2))


def sweep(nodes: int, powers: int = 0) -> Need:
    takes = Takes(nodes, swept=True, powers=powers)
    return Need(f"HplScaling %nodes={nodes}", "hpl", f"hpl/hpl/{nodes}-nodes", nodes, ranks=nodes, takes=takes)


def site(folder: Path, measure: str, count: int = 128) -> System:
    path = folder / "site.yaml"
    path.write_text(SITE.replace("COUNT", str(count)).replace("MEASURE", measure), encoding="utf-8")
    return load_system(path)


def test_a_file_sets_nodes_and_ranks_of_a_benchmark_and_of_an_applications_tool(tmp_path: Path) -> None:
    system = site(tmp_path, "{benchmarks: {osu/osu_allreduce: {nodes: 80, ranks_per_node: 4}, hpl: {nodes: 16}}}")
    latency, allreduce, hpl, nodes = requested_needs(system, (LATENCY, ALLREDUCE, HPL, NODES))
    assert latency == LATENCY
    assert (allreduce.nodes, allreduce.ranks, allreduce.benchmark) == (80, 320, "osu/osu_allreduce")
    assert (hpl.nodes, hpl.ranks, hpl.benchmark, hpl.all_nodes) == (16, 16, "hpl/hpl/16-nodes", False)
    assert (nodes.nodes, nodes.benchmark) == (16, "hpl/every-node"), "a node's own figure is the same on any number"


def test_a_benchmarks_own_numbers_win_over_its_tools(tmp_path: Path) -> None:
    system = site(tmp_path, "{benchmarks: {hpl: {nodes: 16, ranks_per_node: 8}, hpl/every-node: {nodes: 128}}}")
    hpl, nodes = requested_needs(system, (HPL, NODES))
    assert (hpl.nodes, hpl.ranks, nodes.nodes) == (16, 128, 128)
    stated = system.measure.amounts_of("hpl/every-node")
    assert stated is not None and (stated.nodes, stated.ranks_per_node, stated.given_amounts) == (128, 8, {})


@pytest.mark.parametrize(
    ("count", "measure", "nodes"),
    [
        (4, "{}", [1, 2, 4]),
        (6, "{}", [1, 2, 4, 6]),
        (128, "{}", [1, 2, 4, 8, 16, 32, 64, 128]),
        (128, "{largest_sweep: 100}", [1, 2, 4, 8, 16, 32, 64, 100]),
        (128, "{largest_sweep: 8}", [1, 2, 4, 8]),
    ],
)
def test_a_sweep_ends_at_the_largest_that_is_asked_for_and_has_it(
    tmp_path: Path, count: int, measure: str, nodes: list[int]
) -> None:
    system = site(tmp_path, measure, count)
    assert list(system.sweep) == nodes
    needs = requested_needs(system, tuple(sweep(1 << power) for power in range(7)))
    there = {need.nodes: need for need in needs if need.nodes <= count}
    assert sorted(there) == nodes
    last = there[nodes[-1]]
    assert (last.check, last.benchmark) == (f"HplScaling %nodes={nodes[-1]}", f"hpl/hpl/{nodes[-1]}-nodes")


def test_a_sweep_over_powers_of_two_has_no_other_numbers(tmp_path: Path) -> None:
    system = site(tmp_path, "{}", 12)
    assert [need.nodes for need in requested_needs(system, (sweep(1, 16), sweep(2, 16)))] == [1, 4, 8, 2]


@pytest.mark.parametrize(
    ("measure", "sentence"),
    [
        ("{largest_sweep: 129}", "measure.largest_sweep: found 129, expected at most 128, the nodes that site has"),
        ("{benchmarks: {npb: {nodes: 200}}}", "measure.benchmarks.npb.nodes: found 200, expected at most 128"),
        ("{benchmarks: {osu: {nodes: 4}}}", 'found "osu", expected a benchmark that Railyard knows, or the tool of'),
        ("{benchmarks: {npb: {nodes: 0}}}", "measure.benchmarks.npb.nodes"),
    ],
)
def test_numbers_that_cannot_be_are_refused(tmp_path: Path, measure: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        site(tmp_path, measure)
    assert sentence in str(caught.value)


@pytest.mark.parametrize(
    ("measure", "sentence"),
    [
        (
            "{benchmarks: {osu/osu_latency: {nodes: 4}}}",
            "measure: benchmarks: osu/osu_latency: nodes: found 4, expected 2, which it always has",
        ),
        (
            "{benchmarks: {hpl/every-node: {ranks_per_node: 4}}}",
            "measure: benchmarks: hpl/every-node: ranks_per_node: found 4, expected none: its number of ranks per "
            "node is fixed",
        ),
        (
            "{benchmarks: {wrf: {nodes: 8}}}",
            "measure: benchmarks: wrf: nodes: found 8, expected nothing: no check measures it",
        ),
    ],
)
def test_a_number_that_no_check_takes_is_a_sentence(tmp_path: Path, measure: str, sentence: str) -> None:
    assert list(find_untaken(site(tmp_path, measure), (LATENCY, ALLREDUCE, HPL, NODES))) == [sentence]


def test_a_number_that_some_check_takes_is_none(tmp_path: Path) -> None:
    system = site(tmp_path, "{benchmarks: {hpl: {nodes: 8, ranks_per_node: 2}, osu/osu_latency: {window: 2}}}")
    assert list(find_untaken(system, (LATENCY, HPL, NODES))) == []


ODD: dict[str, Any] = {"nodes": 4, "fewest": 2, "even": True}


@pytest.mark.parametrize(
    ("takes", "asked", "why"),
    [
        (Takes(), 4, "2, which it always has"),
        (Takes(nodes=1), 4, "1, which it always has"),
        (Takes(**ODD), 16, None),
        (Takes(**ODD), 15, "an even number"),
        (Takes(nodes=10, fewest=10), 8, "at least 10"),
        (Takes(swept=True), 8, "none: it has a test for each of several numbers, choose with -P nodes=…"),
    ],
)
def test_what_a_check_takes_is_said_in_place_of_what_it_does_not(takes: Takes, asked: int, why: str | None) -> None:
    assert takes.why_not_nodes(asked) == why


def test_only_hpl_is_given_threads_by_a_file(tmp_path: Path) -> None:
    stated = Measure.model_validate({"benchmarks": {"hpl": {"ranks_per_node": 2, "threads": 32}}})
    found = stated.amounts_of("hpl/hpl/4-nodes")
    assert found is not None
    assert (found.ranks_per_node, found.threads, found.given_amounts) == (2, 32, {})
    text = SITE.replace("COUNT", "4").replace("MEASURE", "{benchmarks: {npb: {threads: 2}}}")
    (tmp_path / "site.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_system(tmp_path / "site.yaml")
    assert str(caught.value).endswith(
        "measure.benchmarks: found threads for npb, expected them only for hpl, whose ranks may have several"
    )
