"""Pairs of many nodes on a page: what is worst comes first, and one click leads to its nodes."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from railyard.results.record.form import NodesAlike, NodeTraffic, PathProofRecord, Record, Suspect
from railyard.results.record.pair_rows import (
    ExercisedCount,
    NodesNotMeasured,
    PairsRecord,
    PairsSample,
    PromiseRecord,
    Row,
    of_rows,
)
from railyard.results.report.heatmap import is_drawn_by_leaf, leaf_map
from railyard.results.report.html import MOST_NODES, MOST_ODD, html_report, node_table
from tests.made.records import made_record

GOOD = 50.0


def sampled_pairs(nodes: int, leaf: int = 8, rounds: int = 8, slow: dict[int, float] | None = None, known: bool = True,
            sample: PairsSample | None = None, expected: float | None = None) -> PairsRecord:  # fmt: skip
    """Return a sample over so many nodes; ``slow`` has shares by place, a leaf's share by minus its number from 1."""
    names = tuple(f"n{place + 1:04}" for place in range(nodes))
    leaves = tuple(f"leaf{place // leaf + 1}" for place in range(nodes)) if known else ()
    rows = []
    for number in range(rounds):
        step = 1 + number * max(1, nodes // (rounds + 1))
        for first in range(nodes):
            second = (first + step) % nodes
            pair = min(first, second), max(first, second)
            share = min((slow or {}).get(place, 1.0) for place in pair)
            if pair[0] // leaf != pair[1] // leaf:
                share = min(share, *((slow or {}).get(-(place // leaf + 1), 1.0) for place in pair))
            rows.append(Row(0, number + 1, *pair, GOOD * share, GOOD * share * 0.99, 2.0))
    made = of_rows(names, rows, ("sample",), size=4 << 20, leaves=leaves, expected=expected, sample=sample)
    return made.record


def record_of(pairs: PairsRecord, *suspects: Suspect) -> Record:
    record = made_record(benchmark="pairs/pairs", nodes=pairs.nodes, pairs=pairs)
    return record.with_fields(verdict=replace(record.found.verdict, suspects=suspects))


def drawn_map(pairs: PairsRecord, *suspects: Suspect) -> str:
    found = leaf_map(record_of(pairs, *suspects), "map")
    assert found is not None
    return str(found)


def names_in(text: str, heading: str) -> list[tuple[str, str]]:
    """Return what the list under a heading leads to, in its order."""
    part = text[text.index(heading) :]
    found = re.findall(r'<a href="#(map-\d+)">([^<]+)</a>', part.partition("<h4>")[0])
    return [(address, name) for address, name in found]


def test_every_address_is_there_once_and_is_a_group_of_nodes() -> None:
    text = drawn_map(sampled_pairs(160))
    addresses = re.findall(r'\bid="([^"]+)"', text)
    assert len(addresses) == len(set(addresses))
    assert set(re.findall(r'href="#([^"]+)"', text)) <= set(addresses)
    assert sum(one.startswith("map-") for one in addresses) == 20
    for node in ("n0001", "n0160"):
        assert text.count(f'<th scope="row">{node}</th>') == 1


def test_a_sick_node_comes_first_with_the_address_of_its_leaf() -> None:
    text = drawn_map(sampled_pairs(160, slow={77: 0.5, 3: 0.9}))
    assert names_in(text, "Nodes that are slower than their leaf switch") == [("map-10", "n0078"), ("map-1", "n0004")]
    assert "None is 5 % below." in text[text.index("Leaf switches that are slower") :]
    folded = text[text.index('id="map-10"') :]
    assert re.findall(r'<th scope="row">(n\d+)</th>', folded)[0] == "n0078"


def test_a_sick_leaf_comes_first_and_its_nodes_are_not_listed_one_by_one() -> None:
    text = drawn_map(sampled_pairs(160, slow={-3: 0.5, 100: 0.4}))
    assert names_in(text, "Leaf switches that are slower") == [("map-3", "leaf3")]
    assert names_in(text, "Nodes that are slower") == [("map-13", "n0101")]


def test_a_slow_field_leads_to_its_slower_leaf() -> None:
    text = drawn_map(sampled_pairs(160, slow={-3: 0.5}))
    fields = re.findall(r'<a href="#(map-\d+)" tabindex="-1"><rect class="field"[^>]*><title>([^<]*)</title>', text)
    assert fields and {address for address, _ in fields} == {"map-3"}
    assert all(
        words.endswith("nodes of leaf3") and ("24.8 MB/s" in words or "25.0 MB/s" in words) for _, words in fields
    )
    assert len(re.findall(r'<rect class="row"', text)) == 20


def test_a_healthy_map_says_that_nothing_is_slow() -> None:
    text = drawn_map(sampled_pairs(160))
    assert text.count("None is 5 % below.") == 2
    assert 'class="field"' not in text
    assert "160 of 160 nodes were measured." in text


def test_a_suspect_of_the_verdict_leads_to_its_leaf_and_thousands_are_cut() -> None:
    suspects = [Suspect("rail", "slow", f"n{number:04}", "hsn0") for number in range(100, 160)]
    text = drawn_map(
        sampled_pairs(160), Suspect("node", "slow", "n0009"), Suspect("pair", "slow", "n0100-n0101"), *suspects
    )
    found = names_in(text, "Named by the verdict")
    assert found[:2] == [("map-2", "node n0009: slow"), ("map-13", "pair n0100-n0101: slow")]
    assert len(found) == 20
    assert "42 more: they are in the record." in text


def test_without_known_leaves_neighbours_share_a_field_and_that_is_said() -> None:
    text = drawn_map(sampled_pairs(640, known=False, slow={77: 0.5}))
    assert "Leaf switches are unknown (or too many for a map), so neighbours share a field." in text
    assert names_in(text, "Nodes that are slower than their block of neighbours") == [("map-16", "n0078")]
    assert "n0076 to n0080: 5 nodes, worst first" in text


def test_what_a_sample_covered_and_promises_is_shown_in_its_own_words() -> None:
    sample = PairsSample(
        "budget",
        (ExercisedCount("pairs", 640, 12720, "counted"), ExercisedCount("up_links", 0, None, "routes are not known")),
        (PromiseRecord("node", 0.5, 0.98, "8 partners a node"), PromiseRecord("gpu path", 0.0, None, "not measured")),
        (NodesNotMeasured(("n0008", "n0009"), "drained: bad memory"),),
        ("paths of GPUs were not looked at",),
        sentence="nobody is named: 640 pairs of 160 nodes",
    )
    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", drawn_map(sampled_pairs(160, sample=sample))))
    assert "160 of 160 nodes were measured. nobody is named: 640 pairs of 160 nodes" in text
    assert "pairs of nodes 640 of 12,720 5.0 counted up-links not known – routes are not known" in text
    assert "node 50.0 98 % 8 partners a node gpu path 0.0 not looked at not measured" in text
    assert "n0008 and n0009 not measured: drained: bad memory paths of GPUs were not looked at" in text


def test_a_matrix_of_more_nodes_than_fields_is_drawn_by_leaf_and_one_of_fewer_by_node() -> None:
    values = tuple(tuple(None if row == column else 50.0 for column in range(130)) for row in range(130))
    names = tuple(f"n{place:03}" for place in range(130))
    large = PairsRecord(names, 8, values, leaves=tuple(f"leaf{place // 10}" for place in range(130)))
    small = PairsRecord(names[:4], 8, tuple(row[:4] for row in values[:4]))
    assert (is_drawn_by_leaf(large), is_drawn_by_leaf(small)) == (True, False)
    assert "leaf12: 10 nodes, worst first" in drawn_map(large)
    page = html_report([record_of(small), record_of(large).with_fields(case="b")])
    assert page.count('class="leaf-map"') == 1
    assert "The slowest pairs" in page


def test_the_drawing_is_xml_and_small_whatever_the_leaves() -> None:
    for nodes, leaf in ((160, 8), (5120, 32), (5120, 1)):
        text = drawn_map(sampled_pairs(nodes, leaf, slow={5: 0.3}))
        picture = text[text.index("<svg") : text.index("</svg>") + 6]
        ElementTree.fromstring(picture)
        assert len(picture) < 700_000


def test_names_are_escaped() -> None:
    pairs = sampled_pairs(160)
    assert pairs.summary is not None
    odd = replace(pairs.summary, groups=("<b>&\x1b[0m", *pairs.summary.groups[1:]))
    text = drawn_map(replace(pairs, summary=odd), Suspect("node", "<script>", "n0001"))
    assert "<b>" not in text and "<script>" not in text and "\x1b" not in text
    assert "&lt;b&gt;&amp;" in text


@pytest.mark.parametrize("nodes", [512, 1024])
def test_a_page_has_at_most_so_many_bytes_a_node(nodes: int) -> None:
    pairs = sampled_pairs(nodes, 32, slow={7: 0.5})
    count = len(pairs.nodes)
    columns = NodesAlike(pairs.nodes, ("a", "b"), (True, True), ((5,) * count,) * 2, ((5,) * count,) * 2)
    page = html_report(
        [record_of(pairs).with_fields(path_proof=PathProofRecord("proven", "all", 10, alike=(columns,)))]
    )
    empty = html_report([made_record()])
    assert len(page) - len(empty) < 250 * nodes + 40_000


def test_a_record_without_a_value_has_no_map() -> None:
    pairs = of_rows(("a", "b"), [Row(0, 1, 0, 1, None, None, None)], ("sample",), size=8).record
    assert leaf_map(record_of(pairs), "map") is None
    assert 'id="pairs"' not in html_report([record_of(pairs)])


def traffic(count: int, odd: int = 7) -> PathProofRecord:
    names = tuple(f"n{place}" for place in range(count))
    sent = tuple(90 if place == odd else 50 for place in range(count))
    back = tuple(10 if place == odd else 50 for place in range(count))
    zero = (0,) * count
    return PathProofRecord(
        "proven",
        "all",
        1,
        alike=(NodesAlike(names, ("a", "b", "ib"), (True, True, False), (sent, back, zero), (zero,) * 3),),
    )


def test_of_many_nodes_the_odd_ones_are_shown_and_the_sums_of_all() -> None:
    table = node_table(traffic(100))
    assert [(one.device, one.meant, one.nodes, one.tx_bytes, one.shares) for one in table.sums] == [
        ("a", True, 100, 5040, (0.5, 0.5, 0.9)),
        ("b", True, 100, 4960, (0.1, 0.5, 0.5)),
        ("ib", False, 100, 0, None),
    ]
    assert (table.nodes[0].node, len(table.nodes)) == ("n7", MOST_ODD)
    assert table.caption == "The 20 most uneven of 100 nodes; the record has all"
    assert "Bytes by device, over all nodes" in html_report([made_record(path_proof=traffic(100))])


def test_of_few_nodes_each_is_shown() -> None:
    table = node_table(traffic(MOST_NODES))
    assert (len(table.nodes), table.sums, table.caption) == (MOST_NODES, (), "")
    assert node_table(None).nodes == ()
    few = PathProofRecord("proven", "all", 1, (NodeTraffic("n1", ()),))
    assert [node.node for node in node_table(few).nodes] == ["n1"]
