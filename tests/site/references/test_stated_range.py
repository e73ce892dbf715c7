"""A range in the references: both ends apply, each with its margin; and what is refused."""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from types import MappingProxyType

import pytest

from railyard.base.errors import InputError
from railyard.base.wording import IMPOSSIBLE
from railyard.parsers.output import ParsedOutput, Table
from railyard.results.reference_sheet import amount_words, as_json
from railyard.site.references.lint import findings
from railyard.site.references.load import References, load_references
from railyard.site.site import Site
from railyard.site.systems.load import load_system
from railyard.verdict.stored_outputs.judge import NODES, judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.system_target import of_system
from railyard.verdict.wording import reference as reference_words
from tests.made.words import above_words, below_words

SITE = """\
system: site
description: A cluster
nodes: {count: 16}
fabrics:
  myri: {description: Myrinet, kind: tcp, link: myrinet-2000, rails: [{device: myri0, counters: none}]}
  eth: {description: Ethernet, kind: tcp, link: eth-1, rails: [{device: eth0, counters: none}]}
stacks:
  mpich: {modules: [mpich], benchmarks: {netpipe: /opt/np}}
"""
TABLE = """\
system: site
entries:
  - id: quick
    fabric: myri
    rails: 1
    benchmark: netpipe/pingpong
    metric: latency
    unit: us
    kind: published
    range: [6, 7]
    sizes: {to: 8}
    tolerance: {low: 0.1, high: 0.1}
    source: {document: a survey, date: 2004-06-01}
  - id: wide
    fabric: myri
    rails: 1
    benchmark: netpipe/pingpong
    metric: bandwidth
    unit: MB/s
    kind: published
    range: [200, 240]
    sizes: {from: 4M}
    tolerance: {low: 0.05, high: 0}
    source: {document: a survey, date: 2004-06-01}
facts:
  - id: early
    what: what early cards reached
    range: [300, 500]
    unit: Mb/s
    kind: stated
    source: {document: a survey, date: 2004-06-01}
"""


def references(folder: Path, table: str = TABLE) -> References:
    for room, text in (("systems", SITE), ("references", table)):
        (folder / room).mkdir(exist_ok=True)
        (folder / room / "site.yaml").write_text(text, encoding="utf-8")
    return load_references(folder / "references" / "site.yaml", load_system(folder / "systems" / "site.yaml"))


def judge_latency(folder: Path, latency_us: float, peak_mb_s: float = 220.0) -> Judgement:
    found = references(folder)
    columns: Mapping[str, str] = {"size": "B", "bandwidth": "MB/s", "time": "us"}
    rows = [(size, size / latency_us, latency_us) for size in (1, 8)]
    rows.append((4 << 20, peak_mb_s, (4 << 20) / peak_mb_s))
    table = Table(
        "netpipe", None, "pingpong", tuple(columns), tuple(columns.values()), tuple(rows), 1, True, MappingProxyType({})
    )
    (one,) = judge(ParsedOutput((table,)), of_system(Site(folder, found.system, found), "myri"))
    return one


QUICK = f"quick (published: a survey, 2004-06-01){reference_words.say_crossed(['myri0'], NODES)}"


@pytest.mark.parametrize(
    ("latency_us", "peak_mb_s", "start"),
    [
        (6.5, 220, ""),
        (5.41, 220, ""),
        (7.69, 191, ""),
        (
            *(5.3, 220),
            f"rule 5 (reference): {below_words(5.3, 5.4, 1, 'latency', 'us')}, the "
            f"{reference_words.range_of((6, 7), 5.4, 'us')} of {QUICK}; look at {reference_words.look_at_better()}",
        ),
        (
            *(7.8, 220),
            f"rule 5 (reference): {above_words(7.8, 7.7, 1)}, the {reference_words.range_of((6, 7), 7.7, 'us')} of "
            f"{QUICK}; look at {reference_words.look_at_rails(['myri0'], NODES, False, False)}",
        ),
        (
            *(6.5, 245),
            f"rule 5 (reference): {above_words(245, 240, 4 << 20, 'bandwidth', 'MB/s')}, the range of 200 to "
            "240 MB/s of wide (published: ",
        ),
        (*(6.5, 189), f"rule 5 (reference): {below_words(189, 190, 4 << 20)}, the range of "),
        (*(6.5, 280), f"rule 3 (possible): {IMPOSSIBLE}bandwidth 280.0 MB/s at 4 MiB is 112.0 % of the limit, "),
        (*(0.05, 220), f"rule 3 (possible): {IMPOSSIBLE}latency 0.0500 us at 1 B "),
    ],
)
def test_a_value_outside_of_either_end_fails_and_physics_goes_first(
    tmp_path: Path, latency_us: float, peak_mb_s: float, start: str
) -> None:
    found = judge_latency(tmp_path, latency_us, peak_mb_s)
    assert (found.state, found.sentence.startswith(start)) == ("fail" if start else "pass", True), found.sentence


def test_all_within_the_range_is_as_good_as_the_source(tmp_path: Path) -> None:
    assert "latency holds quick, at worst 100.0 % of quick at 1 B" in judge_latency(tmp_path, 6.9).sentence
    assert "latency holds quick, at worst 100.0 % of quick at 1 B" in judge_latency(tmp_path, 6.1).sentence
    assert "latency holds quick, at worst 93.3 % of quick at 1 B" in judge_latency(tmp_path, 7.5).sentence


def test_both_ends_are_shown_in_words_and_in_json(tmp_path: Path) -> None:
    found = references(tmp_path)
    assert [amount_words(entry) for entry in found.entries] == [
        "latency 6 to 7 us up to 8 B, -10 %, +10 %",
        "bandwidth 200 to 240 MB/s from 4 MiB, -5 %, +0 %",
    ]
    shown = json.loads(json.dumps(as_json(found)))
    assert [entry["range"] for entry in shown["entries"]] == [[6, 7], [200, 240]]
    assert [fact["range"] for fact in shown["facts"]] == [[300, 500]]


TWO = "expected two numbers, the low end and the high end"


@pytest.mark.fault("reference", "a range with its ends swapped", "expected the low end first; write [6, 7]")
def test_swapped_ends_are_refused(tmp_path: Path, promise: str) -> None:
    with pytest.raises(InputError) as caught:
        references(tmp_path, TABLE.replace("[6, 7]", "[7, 6]"))
    assert str(caught.value) == f"references/site.yaml:10: entries[0].range: found [7, 6], {promise}"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            *("[6, 7]", "[6, 6]"),
            "10: entries[0].range: found [6, 6], expected two ends that differ; write value: 6, or the end that is "
            "missing",
        ),
        (
            *("[6, 7]", "6"),
            f"10: entries[0].range: found 6, {TWO}; give both ends in brackets, such as [6, 7], or write a value with "
            "a tolerance",
        ),
        (
            *("[6, 7]", "[6]"),
            f"10: entries[0].range: found [6], {TWO}; give both ends, or write a value with a tolerance",
        ),
        (
            *("[6, 7]", "[6, 6.5, 7]"),
            f"10: entries[0].range: found [6, 6.5, 7], {TWO}; give both ends, or write a value with a tolerance",
        ),
        (
            *("[6, 7]", '["6", 7 us]'),
            f'10: entries[0].range: found ["6", "7 us"], {TWO}; write numbers without quotation marks or units',
        ),
        ("[6, 7]", "[-6, 7]", "10: entries[0].range: found [-6, 7], expected two numbers above 0"),
        ("[6, 7]", "[0, 7]", "10: entries[0].range: found [0, 7], expected two numbers above 0"),
        (
            *("[6, 7]", "{of: limit, fraction: 0.9}"),
            f"10: entries[0].range: found a mapping, {TWO}; only a value, a floor or a ceiling may "
            "be a share of what the hardware gives",
        ),
        (
            *("[6, 7]", "[6, {of: limit, fraction: 0.9}]"),
            f"10: entries[0].range: found [6, a mapping], {TWO}; give both ends, or write a value with a tolerance",
        ),
        (
            *("[6, 7]", "[6, 7000]"),
            "10: entries[0].range: found [6, 7000], whose ends differ by a factor of 1.17e+03, expected at "
            "most 10; write both ends in the entry's unit",
        ),
        (
            *("range: [6, 7]", "range: [6, 7]\n    value: 7"),
            "10: entries[0].range: found value and range, expected exactly one of value, range, floor, ceiling, curve "
            "and upper_limit",
        ),
        (
            *("range: [6, 7]", "range: [6, 7]\n    curve: {8: 7}"),
            "11: entries[0].curve: found range and curve, expected exactly one of value, range, floor, ceiling, curve "
            "and upper_limit",
        ),
        (
            *("range: [6, 7]", "range: [6, 7]\n    floor: 6"),
            "11: entries[0].floor: found range and floor, expected exactly one of value, range, floor, ceiling, curve "
            "and upper_limit",
        ),
        (
            *("tolerance: {low: 0.1, high: 0.1}", "tolerance: {high: 0.1}"),
            "12: entries[0].tolerance: found no low, expected low, since both ends of a range are bounds; add low, a "
            "fraction of that end (0: none)",
        ),
        (
            *("tolerance: {low: 0.1, high: 0.1}", "switches: [4]\n    tolerance: {low: 0.1, high: 0.1}"),
            "12: entries[0].switches: found switches with a single bound, expected them only with a curve",
        ),
        (
            *("[200, 240]", "[200, 400]"),
            "21: entries[1].range: found 400 MB/s, above the physical limit of 1 rail, expected at most 250.0 MB/s "
            "(myrinet-2000 250.0 MB/s = 250.0 MB/s)",
        ),
        (
            *("range: [300, 500]", "range: [500, 300]"),
            "28: facts[0].range: found [500, 300], expected the low end first; write [300, 500]",
        ),
        (
            *("range: [300, 500]", "range: [300, 500]\n    value: 500"),
            "26: facts[0]: found value and range, expected exactly one of value, range and table",
        ),
        (
            *("    range: [300, 500]\n", "    table: {2: [100, 64]}\n    by: dimensions\n"),
            "28: facts[0].table.2: found [100, 64], expected the low end first; write [64, 100]",
        ),
    ],
)
def test_what_is_refused_of_a_range(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    assert old in TABLE
    with pytest.raises(InputError) as caught:
        references(tmp_path, TABLE.replace(old, new, 1))
    assert str(caught.value) == f"references/site.yaml:{sentence}"


def test_a_second_entry_for_the_same_runs_is_refused(tmp_path: Path) -> None:
    again = TABLE.split("  - id: wide")[0].split("entries:\n")[1].replace("quick", "again")
    with pytest.raises(InputError) as caught:
        references(tmp_path, TABLE.replace("facts:", f"{again}facts:"))
    assert 'found "again", a second published entry' in str(caught.value)


AHEAD = """relations:
  - id: quicker
    says: Ethernet is quicker
    form: ahead
    of: {fabric: eth, benchmark: netpipe/pingpong, metric: latency}
    to: {fabric: myri, benchmark: netpipe/pingpong, metric: latency}
    sizes: {to: 8}
    source: {document: a survey, date: 2004-06-01}
facts:
"""


@pytest.mark.parametrize(("ends", "is_broken"), [("[5, 8]", False), ("[8, 9]", True)])
def test_a_relation_is_contradicted_where_no_figure_of_the_ranges_keeps_it(
    tmp_path: Path, ends: str, is_broken: bool
) -> None:
    other = TABLE.split("  - id: wide")[0].split("entries:\n")[1]
    other = other.replace("quick", "slow").replace("fabric: myri", "fabric: eth").replace("[6, 7]", ends)
    found = references(tmp_path, TABLE.replace("facts:\n", f"{other}{AHEAD}"))
    said = [one.sentence for one in findings(found, (), date(2026, 11, 23)) if "break it" in one.sentence]
    assert bool(said) == is_broken
