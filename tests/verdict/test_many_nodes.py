"""A run over many nodes, from its evidence to its record: nothing looks at all nodes once a node, nothing lists them.

No test here asserts a time: what is looked at is counted, and what is written is measured in bytes a node.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from railyard.base.hostlist import label
from railyard.job import node_facts
from railyard.job.case import Evidence
from railyard.job.counters import Direction
from railyard.job.node_facts import group_nodes
from railyard.parsers.pairs import parse
from railyard.results.record.file import FILE_NAME, append_record, read_records
from railyard.results.record.form import NodeTraffic, PathProofRecord, with_shares
from railyard.results.record.pair_rows import read, write
from railyard.site.site import Site
from railyard.site.topology import stated_leaves
from railyard.verdict.assess import Assessment, assess, record_of
from railyard.verdict.blame.search.model import rounds
from railyard.verdict.node_pairs import record_of as pairs_of
from railyard.verdict.wording import NOT_PROVEN
from tests.made.judged_run import TAG, TODAY
from tests.made.large_cluster import (
    Shape,
    Sick,
    counters_texts,
    evidence_of,
    facts_text,
    made_site,
    moved_bytes,
    pairs_case,
    sample_rounds,
)
from tests.made.sysfs import Tree

STAMP: dict[str, Any] = dict(run="r1", time="2026-11-21T06:00:12Z", elapsed_s=1.0, environment={}, output=None)
SMALL = Shape(48, leaf=8)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A made cluster of 48 nodes on six leaf switches."""
    return made_site(tmp_path, SMALL)


def assess_pairs(site: Site, evidence: Evidence, shape: Shape = SMALL) -> Assessment:
    return assess(pairs_case(site, shape), evidence, parse, TODAY)


def names(node: Tree) -> Callable[[str], set[str]]:
    """Return a function that gives the lines of a counters file without their values and the node's number."""
    return lambda text: {" ".join(line.split(" ")[:3]).replace(node.node, "NODE") for line in text.splitlines()}


def test_the_made_counters_file_has_the_lines_that_the_reader_writes(tmp_path: Path) -> None:
    shape = Shape(2)
    tree = Tree.empty_node(tmp_path, "n0002")
    (made,) = list(counters_texts(shape, {}))[1:]
    port = {name: 1 for name in re.findall(r"^before mlx5_0:1 (\w+) ", made, re.M) if name != "state"}
    hardware = {name: 1 for name in re.findall(r"^before mlx5_0:1 hw/(\w+) ", made, re.M)}
    tree.interface("eth0", "slot0")
    for rail in range(shape.rails):
        tree.interface(f"ib{rail}", f"mlx5_{rail}", mtu=2044)
        tree.port(f"mlx5_{rail}", counters=port, hw={**hardware, "lifespan": 10}, driver="mlx5_core")
    for interface in ("eth0", *(f"ib{rail}" for rail in range(shape.rails))):
        folder = tree.root / "sys/class/net" / interface
        (folder / "carrier_changes").write_text("2\n")
        (folder / "address").write_text("02:00:00:00:00:01\n")
    (tree.root / "proc/net").mkdir()
    head = "Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab "
    snmp = f"{head}InSegs OutSegs RetransSegs InErrs\nTcp: 1 200 120000 -1 1 1 1 1 1 1 1000 3 0\n"
    (tree.root / "proc/net/snmp").write_text(snmp)
    (tree.root / "proc/self").mkdir()
    (tree.root / "proc/self/stat").write_text(f"1 (sh) S {'1 ' * 49}\n")
    (tree.root / "proc/self/status").write_text("Cpus_allowed_list:\t0\n")
    clock = tree.root / "sys/devices/system/cpu/cpu0/cpufreq"
    clock.mkdir(parents=True)
    (clock / "scaling_cur_freq").write_text("3100000\n")
    tree.run(",".join(shape.devices), watched="eth0")
    lines = names(tree)
    theirs, ours = lines(tree.text), lines(made)
    # Each has its own tag and clock, and its launcher's variable; a made /proc has no addresses.
    own = re.compile(r"railyard-counters 1 |first-by |before at |after at |before - own/")
    assert {line for line in ours - theirs if not own.match(line)} == set()
    assert {line for line in theirs - ours if not own.match(line)} == set()


def test_the_made_facts_are_read_whole(tmp_path: Path) -> None:
    found = node_facts.parse(facts_text(SMALL, "n0003"), TAG)
    assert found is not None
    assert len(found.devices) == SMALL.rails + 1
    assert found.devices["mlx5_3:1"]["rate"] == "400 Gb/sec (4X NDR)"
    assert found.facts["memory"] == "1056720000 kB"


def test_a_healthy_run_over_many_nodes_names_them_by_their_ranges(site: Site) -> None:
    found = assess_pairs(site, evidence_of(SMALL, rounds(48)))
    assert found.verdict.state == "report-only"
    assert [rule.state for rule in found.verdict.rules] == ["pass"] * 5
    assert found.verdict.rules[0].sentence == "exit code 0 on 48 nodes (n[0001-0048]), 1 complete table"
    proven = found.verdict.rules[3].sentence
    assert " MB moved on 48 nodes (n[0001-0048]): 25.0 % over mlx5_0:1, 25.0 % over mlx5_1:1, " in proven
    assert proven.endswith("; signals: port_xmit_wait grew on 192 ports, by 147300 at most (mlx5_3:1 of n0048)")
    assert proven.count("signals") == 1


PLANTED: dict[str, tuple[Callable[[Evidence], Evidence], int, str]] = {
    "a rail idles on one node": (
        lambda good: replace(good, counters=moved_counters(shares={6: (0.333, 0.333, 0.334, 0.0)})),
        4,
        "rail mlx5_3:1 of n0007 sent 0.0 kB of ",
    ),
    "half of the nodes wrote no counters": (
        lambda good: replace(good, counters=good.counters[::2]),
        1,
        "the job ran on 24 nodes (n0001, n0003, n0005, n0007 and 20 more), expected 48 nodes (n[0001-0048]): 24 nodes "
        "(n0002, n0004, n0006, n0008 and 20 more) missing",
    ),
    "one counter stands still while the other ends counted": (
        lambda good: replace(good, counters=frozen_counters(good.counters, 6)),
        4,
        f"{NOT_PROVEN}over mlx5_0:1, mlx5_1:1, mlx5_2:1 and mlx5_3:1 47 nodes (n[0001-0006,0008-0048]) received ",
    ),
    "every rail is refused": (
        lambda good: replace(good, counters=refused_counters(good.counters), exit_code=71),
        1,
        "rail mlx5_0:1 of n0001 has no carrier; rail mlx5_0:1 of n0002 has no carrier; rail mlx5_0:1 of n0003",
    ),
    "one node vanished": (
        lambda good: replace(good, counters=good.counters[:-1]),
        1,
        "the job ran on 47 nodes (n[0001-0047]), expected 48 nodes (n[0001-0048]): n0048 missing",
    ),
}


def moved_counters(shares: dict[int, tuple[float, ...]]) -> tuple[str, ...]:
    return tuple(counters_texts(SMALL, moved_bytes(rounds(48)), shares))


def frozen_counters(texts: tuple[str, ...], place: int) -> tuple[str, ...]:
    """Return the files with the counters of bytes sent of one node as they were before the run."""
    text = texts[place]
    for device in SMALL.devices:
        (before,) = re.findall(rf"^before {device} port_xmit_data (\d+)$", text, re.M)
        text = re.sub(rf"^(after {device} port_xmit_data) \d+$", rf"\1 {before}", text, flags=re.M)
    return (*texts[:place], text, *texts[place + 1 :])


def refused_counters(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        f"{text.partition('before at')[0]}refused mlx5_0:1 rail mlx5_0:1 of n{number:04} has no carrier\nend 71\n"
        for number, text in enumerate(texts, start=1)
    )


@pytest.mark.parametrize("planted", PLANTED)
def test_a_fault_among_many_nodes_is_named_in_a_short_sentence(site: Site, planted: str) -> None:
    spoil, rule, begins = PLANTED[planted]
    verdict = assess_pairs(site, spoil(evidence_of(SMALL, rounds(48)))).verdict
    assert (verdict.state, verdict.rule) == ("fail", rule)
    assert verdict.text.startswith(begins), verdict.text
    assert len(verdict.text) < 1000
    assert len(verdict.look_at or "") < 500


def count_reads(monkeypatch: pytest.MonkeyPatch, folder: Path, count: int, spoil: str) -> tuple[int, int]:
    """Return how often bytes of a device and names of nodes were looked at in the verdict of a run over so many."""
    shape = Shape(count, rails=2, leaf=8)
    site, evidence = made_site(folder / str(count), shape), evidence_of(shape, sample_rounds(shape, 8))
    if spoil == "uneven":
        shares = {place: (0.2, 0.8) for place in range(count)}
        evidence = replace(
            evidence, counters=tuple(counters_texts(shape, moved_bytes(sample_rounds(shape, 8)), shares))
        )
    elif spoil == "failed":
        arp = "".join(f"after ib0 arp/10.1.{place} 02:00:01:{place:06x}\n" for place in range(0, count, count // 8))
        texts = tuple(text.replace("end 0\n", f"{arp}end 1\n") for text in evidence.counters)
        evidence = replace(evidence, counters=texts, exit_code=1)
    bytes_looked_at, labels = [0], [0]
    whole: Callable[[Direction], int | None] = vars(Direction)["delta_bytes"].fget

    def count_bytes(direction: Direction) -> int | None:
        bytes_looked_at[0] += 1
        return whole(direction)

    def count_labels(name: str) -> str:
        labels[0] += 1
        return label(name)

    with monkeypatch.context() as patched:
        patched.setattr(Direction, "delta_bytes", property(count_bytes))
        for module in ("railyard.job.counters", "railyard.verdict.node_pairs"):
            patched.setattr(f"{module}.label", count_labels)
        assess_pairs(site, evidence, shape)
    return bytes_looked_at[0], labels[0]


@pytest.mark.parametrize("spoil", ["healthy", "uneven", "failed"])
def test_of_twice_the_nodes_twice_as_much_is_looked_at(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, spoil: str
) -> None:
    small, large = (count_reads(monkeypatch, tmp_path, count, spoil) for count in (40, 80))
    assert all(small)
    assert large[0] <= 2.1 * small[0]
    assert large[1] <= 2.1 * small[1]


def test_columns_give_each_node_what_a_record_of_few_nodes_has(site: Site) -> None:
    evidence = evidence_of(SMALL, rounds(48))
    found = assess_pairs(site, replace(evidence, counters=moved_counters({6: (0.4, 0.3, 0.2, 0.1)})))
    shown = [NodeTraffic(node, with_shares(rails), 3_100_000) for node, rails in (found.path.nodes or {}).items()]
    assert len(shown) == 48
    few = record_of(found, **STAMP, command=()).how.path_proof
    assert few is not None and few.alike == ()
    assert list(few.each_node()) == shown
    nodes = {f"{copy}{one.node}": one.rails for copy in "ab" for one in shown}
    twice = replace(found.path, nodes=nodes)
    many = record_of(replace(found, path=twice), **STAMP, command=()).how.path_proof
    assert many is not None and many.nodes == ()
    assert [node.rails for node in many.each_node()] == 2 * [node.rails for node in shown]
    assert many.intended_devices() == few.intended_devices() == set(SMALL.devices)


def test_nodes_with_other_devices_are_columns_of_their_own(site: Site) -> None:
    shape = Shape(70, leaf=8)
    evidence = evidence_of(shape, rounds(70))
    texts = tuple(
        re.sub(r"^(?:other|before|after) ib3 .*\n|^beside mlx5_3:1 ib3\n", "", text, flags=re.M) if place == 5 else text
        for place, text in enumerate(evidence.counters)
    )
    found = assess_pairs(made_site(site.home / "other", shape), replace(evidence, counters=texts), shape)
    proof = record_of(found, **STAMP, command=()).how.path_proof
    assert proof is not None
    assert [len(group.nodes) for group in proof.alike] == [69, 1]
    assert proof.alike[1].nodes == ("n0006",)
    assert len(list(proof.each_node())) == 70


@pytest.mark.parametrize("kind", ["all pairs", "a sample"])
def test_a_record_of_512_nodes_has_at_most_so_many_bytes_a_node(tmp_path: Path, kind: str) -> None:
    """All pairs of 128 nodes are a matrix of 128 values a node, twice; a sample has none, whatever the nodes."""
    count, most = (128, 3_000) if kind == "all pairs" else (640, 700)
    shape = Shape(count)
    made = rounds(count) if kind == "all pairs" else sample_rounds(shape, 4)
    site = made_site(tmp_path, shape)
    evidence = evidence_of(shape, made)
    found = assess_pairs(site, evidence, shape)
    pairs = pairs_of(found, stated_leaves(site.system.fabrics["ndr"].leaf_switches))
    assert pairs is not None
    assert (pairs.file is None) == (kind == "all pairs")
    record = record_of(found, **STAMP, command=()).with_fields(pairs=pairs.record, hardware=group_nodes(evidence.facts)
    )  # fmt: skip
    if pairs.file is not None:
        write(tmp_path, pairs.file)
    append_record(tmp_path / FILE_NAME, record)
    assert (tmp_path / FILE_NAME).stat().st_size < most * count + 20_000
    back = read_records(tmp_path)
    assert (back.records, back.problems) == ((record,), ())
    if pairs.file is not None:
        rows = read(tmp_path, pairs.file.told)
        assert len(rows) == sum(map(len, made))
        assert (rows[0].first, rows[0].second) == made[0][0]


def test_nodes_that_each_differ_a_little_are_one_group(tmp_path: Path) -> None:
    shape = Shape(100)
    texts = [
        re.sub(r"fact memory \d+", f"fact memory {10**9 + 4 * place}", facts_text(shape, name))
        for place, name in enumerate(shape.names)
    ]
    facts = [found for text in texts if (found := node_facts.parse(text, TAG)) is not None]
    (group,) = group_nodes(facts)
    assert group.nodes == shape.names
    assert "memory" not in group.facts
    assert group.varied["memory"][:2] == ("1000000000 kB", "1000000004 kB")
    assert set(group.varied) == {"memory"}
    few = group_nodes(facts[:10])
    assert (len(few), few[0].varied) == (10, {})


def test_a_slow_node_and_a_slow_leaf_of_a_sample_stand_out_in_the_summary(tmp_path: Path) -> None:
    shape = Shape(640)
    site = made_site(tmp_path, shape)
    found = assess_pairs(site, evidence_of(shape, sample_rounds(shape, 8), Sick({77: 0.5}, {1: 0.25})), shape)
    pairs = pairs_of(found, stated_leaves(site.system.fabrics["ndr"].leaf_switches))
    assert pairs is not None and pairs.record.summary is not None
    of = pairs.record.summary
    assert (len(of.groups), of.groups[:2], of.are_leaves) == (20, ("leaf001", "leaf002"), True)
    order = sorted(range(640), key=lambda node: of.node_median[node] or 0.0)
    assert set(order[:32]) == set(range(32, 64))  # with other leaves all of the second leaf's nodes are slow
    assert order[32] == 77
    assert of.node_pairs[77] == 8
    level = of.level
    assert level is not None and level == pytest.approx(190_000, rel=0.02)
    assert {round((value or 0.0) / level, 1) for value in of.worst[1] if value is not None} <= {0.2, 0.3, 1.0}


def test_a_path_proof_of_before_has_no_columns() -> None:
    assert list(PathProofRecord("proven", "all on hsn0").each_node()) == []
