"""A record of thousands of nodes and suspects in the texts that people and programs read: short, and saying so."""

import re
from dataclasses import replace

from railyard.results.record.form import NodesAlike, PathProofRecord, Record, Suspect
from railyard.results.report.files import junit
from railyard.results.report.html import html_report
from railyard.results.report.terminal import markdown
from railyard.results.store.query import detail_lines
from tests.made.records import made_record

NODES = tuple(f"n{number:04}" for number in range(1, 1001))


def failed_record() -> Record:
    """Return a failure over 1,000 nodes, each of which is a suspect."""
    record = made_record(state="fail", nodes=NODES)
    suspects = tuple(Suspect("rail", "slow", node, "hsn0") for node in NODES)
    return record.with_fields(verdict=replace(record.found.verdict, rule=5, class_="fabric", suspects=suspects))


# The headline names three of the 50.


def test_junit_names_some_suspects_and_says_how_many_more() -> None:
    text = junit([failed_record()])
    assert (text.count("suspect: rail hsn0 of n"), text.count("950 more suspects are in the record")) == (47, 1)
    assert 'name="nodes" value="n[0001-1000]"' in text
    assert 'name="nodes" value="vn1 vn2"' in junit([made_record(nodes=("vn1", "vn2"))])


def test_markdown_names_some_suspects_and_says_how_many_more() -> None:
    text = markdown([failed_record()])
    assert (text.count("suspect: rail hsn0 of n"), text.count("950 more suspects are in the record")) == (47, 1)


def test_the_page_names_some_suspects_and_does_not_list_the_nodes() -> None:
    text = html_report([failed_record()])
    assert len(re.findall("rail hsn0 of n[0-9]{4}: slow", text)) <= 3 * 20
    assert re.search("1,?000 nodes", text)
    assert "n0500" not in text


def test_a_test_in_full_sums_what_is_long() -> None:
    alike = NodesAlike(NODES, ("a",), (True,), (tuple(range(1000)),), ((None, *range(999)),), (2_000_000,) * 1000)
    lines = detail_lines(
        failed_record().with_fields(path_proof=PathProofRecord("proven", "all", 1, alike=(alike,))).to_json()
    )
    assert "    nodes: 1000 nodes (n[0001-1000])" in lines
    assert "        tx_bytes 1: 1000 values, 0 to 999 (--json prints them)" in lines
    assert "        rx_bytes 1: 1000 values, 0 to 998, 1 none (--json prints them)" in lines
    assert "      suspects: 936 more (--json prints them)" in lines
    assert len(lines) < 500
