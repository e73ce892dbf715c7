"""references/*.yaml: bands for a run, and the sentence for each thing that a person can get wrong."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from railyard.base.errors import InputError, RailyardError
from railyard.benchmarks.model import Metric
from railyard.results.reference_sheet import lines
from railyard.site.references.band import Band, Bound, regime
from railyard.site.references.load import References, check_covered, load_references, references_of
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from railyard.site.test_id import TestId
from railyard.stacks.model import STACKS

ROOT = Path(__file__).parents[3]
KIB, MIB = 1 << 10, 1 << 20

SITE = """\
system: site
description: A cluster
nodes: {count: 16}
fabrics:
  edr:
    description: EDR
    kind: ib
    link: ib-edr
    slot: pcie3-x16
    rails:
      - {device: mlx5_0, counters: mlx5}
      - {device: mlx5_1, counters: mlx5}
  xc: {description: Aries, kind: tcp, link: aries, rails: [{device: ipogif0, counters: none}]}
stacks:
  hpcx: {modules: [hpcx], benchmarks: {osu: /opt/osu/bin}}
  mvapich2: {modules: [mvapich2], benchmarks: {osu: /opt/osu/bin}}
"""

TABLE = """\
system: site
entries:
  - id: latency
    fabric: edr
    stack: hpcx
    rails: 1
    benchmark: osu/osu_latency
    metric: latency
    unit: us
    kind: published
    curve: {1: 0.80, 8: 0.82, 4096: 2.75, 64K: 9.0, 1M: 90}
    tolerance:
      latency: {low: 0.5, high: 0.1}
      middle: {high: 0.2}
      bandwidth: {high: 0.05}
      switch: {high: 0.5}
    switches: [8192]
    source: {document: "a blog", date: 2016-02-02, hardware: ConnectX-4, hops: 1}
  - id: contract
    fabric: edr
    rails: [1, 2]
    benchmark: [osu/osu_bw, osu/osu_bw_persistent]
    metric: bandwidth
    unit: MB/s
    kind: contract
    floor: {of: limit, fraction: 0.97}
    sizes: {from: 1M, to: 4M}
    source: {document: acceptance, date: 2016-02-02}
  - id: base
    fabric: edr
    stack: [hpcx, mvapich2]
    rails: any
    policy: single
    benchmark: osu/osu_bw
    metric: bandwidth
    unit: MB/s
    kind: baseline
    value: 12300
    tolerance: {low: 0.02}
    source: {document: captured, date: 2016-02-03, runs: [20160203T060000Z-ab12]}
"""


def close(value: float, within: float | None = None) -> Any:
    return pytest.approx(value, abs=within)


def system_of(folder: Path, text: str = SITE) -> System:
    (folder / "systems").mkdir(exist_ok=True)
    path = folder / "systems" / "site.yaml"
    path.write_text(text, encoding="utf-8")
    return load_system(path)


def references(folder: Path, table: str = TABLE, site: str = SITE) -> References:
    (folder / "references").mkdir(exist_ok=True)
    path = folder / "references" / "site.yaml"
    path.write_text(table, encoding="utf-8")
    return load_references(path, system_of(folder, site))


def bands(
    found: References,
    benchmark: str = "osu/osu_bw",
    metric: str = "bandwidth",
    *,
    fabric: str = "edr",
    stack: str = "hpcx",
    rails: int = 1,
    policy: str = "single",
    limit: float | None = 12421.2,
    directions: int = 1,
    streaming: bool = True,
    hops: int | None = None,
) -> tuple[Band, ...]:
    test = TestId(fabric, stack, rails, benchmark, policy=policy)
    return found.bands(test, metric_like(metric, directions, streaming), limit, hops=hops)


def metric_like(name: str, directions: int, streaming: bool) -> Metric:
    return Metric(name, (), "", "stream" if streaming else "pingpong", "higher", directions)


def test_all_matching_bands_hold_and_the_class_floor_is_inherited(tmp_path: Path) -> None:
    contract, base, inherited = bands(references(tmp_path))
    assert (contract.entry_id, contract.kind, contract.source) == ("contract", "contract", "acceptance, 2016-02-02")
    assert contract.everywhere == Bound(close(12048.56, within=0.01), None, None)
    assert [contract.bound_at(size) is None for size in (512 * KIB, MIB, 4 * MIB, 8 * MIB)] == [
        True,
        False,
        False,
        True,
    ]
    assert base.everywhere == Bound(12054.0, None, 12300.0)
    assert base.bound_at(0) == base.everywhere
    assert base.source == "captured, 2016-02-03, runs 20160203T060000Z-ab12"
    assert (inherited.entry_id, inherited.kind, inherited.unit) == ("class:ib-edr", "class", "MB/s")
    assert inherited.bound_at(MIB) == Bound(12000.0, None, None)
    assert inherited.bound_at(MIB - 1) is None
    assert inherited.source.startswith(
        "Railyard's own condition, not physics: InfiniBand EDR 4X streams at least 12 GB/s one way, 96.6 % of the limit"
    )


def test_what_an_entry_names_selects(tmp_path: Path) -> None:
    found = references(tmp_path)
    assert [band.entry_id for band in bands(found, policy="striping")] == ["contract", "class:ib-edr"]
    assert [band.entry_id for band in bands(found, "osu/osu_bw_persistent")] == ["contract", "class:ib-edr"]
    assert [band.entry_id for band in bands(found, rails=2, streaming=False)] == ["contract", "base"]
    assert bands(found, "osu/osu_latency", "latency", stack="mvapich2") == ()
    assert bands(found, "osu/osu_latency", "latency", rails=2) == ()
    assert bands(found, fabric="xc", limit=None) == ()


BY_HOPS = (
    TABLE.replace("  - id: latency\n", "  - id: latency\n    hops: 1\n")
    + """\
  - id: across
    fabric: edr
    stack: hpcx
    rails: 1
    hops: [3, 5]
    benchmark: osu/osu_latency
    metric: latency
    unit: us
    kind: published
    value: 1.4
    tolerance: {high: 0.1}
    source: {document: "a blog", date: 2016-02-02, hardware: ConnectX-4}
"""
)


def test_an_entry_by_hops_holds_for_nodes_that_are_so_far_apart(tmp_path: Path) -> None:
    found = references(tmp_path, BY_HOPS)
    by_hops = {
        hops: [band.entry_id for band in bands(found, "osu/osu_latency", "latency", hops=hops)]
        for hops in (0, 1, 3, 5, None)
    }
    assert by_hops == {0: [], 1: ["latency"], 3: ["across"], 5: ["across"], None: []}
    assert found.by_hops(TestId("edr", "hpcx", 1, "osu/osu_latency", policy="single")) == (1, 3, 5)
    assert found.by_hops(TestId("edr", "hpcx", 1, "osu/osu_bw", policy="single")) == ()
    assert found.has_number(TestId("edr", "hpcx", 1, "osu/osu_latency", policy="single"))
    listed = [line for line in lines(found) if line.startswith(("  latency ", "  across ", "  contract "))]
    assert [line.partition(": ")[0] for line in listed] == [
        "  latency  edr, hpcx, 1 rail, hops 1",
        "  contract  edr, any stack, 1, 2 rails",
        "  across  edr, hpcx, 1 rail, hops 3, 5",
    ]


def test_entries_for_the_same_hops_are_twins(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r'found "across", a second published entry, expected one entry for each thing'
    ):
        references(tmp_path, BY_HOPS.replace("hops: [3, 5]", "hops: [1, 3]"))


def test_a_curve_has_a_bound_at_each_size_by_regime(tmp_path: Path) -> None:
    (band,) = bands(references(tmp_path), "osu/osu_latency", "latency")
    assert band.required_sizes == (1, 8, 4096, 64 * KIB, MIB)
    assert band.bound_at(1) == Bound(close(0.4), close(0.88), 0.80)
    # 4096 is within a factor 2 of the switch at 8192: the wide tolerance applies.
    assert band.bound_at(4096) == Bound(None, close(4.125), 2.75)
    assert band.bound_at(64 * KIB) == Bound(None, close(10.8), 9.0)
    assert band.bound_at(MIB) == Bound(None, close(94.5), 90.0)
    assert band.bound_at(2) is None


def test_without_a_switch_tolerance_it_is_doubled(tmp_path: Path) -> None:
    table = TABLE.replace("      switch: {high: 0.5}\n", "")
    (band,) = bands(references(tmp_path, table), "osu/osu_latency", "latency")
    assert band.bound_at(4096) == Bound(close(2.75 * 0.05), close(2.75 * 1.2), 2.75)


@pytest.mark.parametrize(
    ("size", "name"),
    [(1, "latency"), (8 * KIB, "latency"), (8 * KIB + 1, "middle"), (MIB - 1, "middle"), (MIB, "bandwidth")],
)
def test_regimes(size: int, name: str) -> None:
    assert regime(size) == name


def test_a_class_entry_with_a_reason_replaces_the_inherited_floor(tmp_path: Path) -> None:
    own = """\
  - id: own
    fabric: edr
    benchmark: osu/osu_bw
    metric: bandwidth
    unit: MB/s
    kind: class
    floor: 11000
    sizes: {from: 1M}
    reason: the switches are EDR, the cards are held at 90 W
    source: {document: site, date: 2016-02-02}
"""
    assert [band.entry_id for band in bands(references(tmp_path, TABLE + own))] == ["contract", "base", "own"]


def test_an_entry_that_counts_other_directions_than_the_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RailyardError) as caught:
        bands(references(tmp_path), directions=2)
    assert str(caught.value) == (
        "references/site.yaml: entries.contract.directions: found 1, expected 2: osu/osu_bw sums so many directions; "
        "correct the entry"
    )


def test_a_share_of_a_limit_that_is_not_given_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RailyardError) as caught:
        bands(references(tmp_path), limit=None)
    assert str(caught.value) == "entries.contract: found a share of the limit of ib-edr, which is unknown"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            "system: site",
            "system: sight",
            'references/site.yaml:1: system: found "sight", expected "site", the name of the file; these references '
            "belong to another system",
        ),
        (
            "    unit: us\n",
            "",
            'references/site.yaml:3: entries[0].unit: found nothing, expected the field "unit"; add it',
        ),
        (
            "unit: us",
            "unit: ms",
            'references/site.yaml:9: entries[0].unit: found "ms", expected "us", the unit of latency; '
            "convert the numbers to us",
        ),
        (
            '    source: {document: "a blog", date: 2016-02-02, hardware: ConnectX-4, hops: 1}\n',
            "",
            'references/site.yaml:3: entries[0].source: found nothing, expected the field "source"; add it',
        ),
        (
            ", date: 2016-02-02, hardware",
            ", hardware",
            'references/site.yaml:18: entries[0].source.date: found nothing, expected the field "date"; add it',
        ),
        (
            "date: 2016-02-02, hardware",
            "date: lately, hardware",
            'references/site.yaml:18: entries[0].source.date: found "lately", '
            "expected a date, YYYY-MM-DD, without quotes",
        ),
        (
            "{low: 0.02}",
            "{low: -0.02}",
            "references/site.yaml:39: entries[2].tolerance.low: found -0.02, expected a fraction from 0 to 1, "
            "without a sign; low is how far a value may fall, high how far it may rise",
        ),
        (
            "{low: 0.02}",
            "{low: 2}",
            "references/site.yaml:39: entries[2].tolerance.low: found 2.0, expected a fraction from 0 to 1; "
            "2 percent is 0.02",
        ),
        (
            "{low: 0.02}",
            "{low: 1}",
            "references/site.yaml:39: entries[2].tolerance.low: found 1, "
            "expected less than 1: a value may not fall to nothing",
        ),
        (
            "{low: 0.02}",
            "{high: 0.02}",
            "references/site.yaml:39: entries[2].tolerance: found no low, "
            "expected low, since a fault shows when bandwidth falls; add low",
        ),
        (
            "middle: {high: 0.2}",
            "middle: {low: 0.2}",
            "references/site.yaml:14: entries[0].tolerance.middle: found no high, "
            "expected high, since a fault shows when latency rises; add high",
        ),
        (
            "    tolerance: {low: 0.02}\n",
            "",
            "references/site.yaml:29: entries[2]: found no tolerance, expected how far a value may be from the "
            "reference; add tolerance",
        ),
        (
            "8: 0.82, 4096: 2.75",
            "4096: 2.75, 8: 0.82",
            "references/site.yaml:11: entries[0].curve.8: found 8 after 4096, expected sizes that rise",
        ),
        (
            "64K: 9.0",
            "4K: 9.0",
            "references/site.yaml:11: entries[0].curve: found one size written twice, expected each size once",
        ),
        (
            "64K: 9.0",
            "64KB: 9.0",
            'references/site.yaml:11: entries[0].curve.64KB: found "64KB", '
            "expected a message size in bytes, with K, M or G for binary multiples (64K is 65536)",
        ),
        (
            "4096: 2.75",
            "4096: .nan",
            "references/site.yaml:11: entries[0].curve.4096: found nan, expected a finite number",
        ),
        (
            "4096: 2.75",
            "4096: .inf",
            "references/site.yaml:11: entries[0].curve.4096: found inf, expected a finite number",
        ),
        (
            "value: 12300",
            "value: .nan",
            "references/site.yaml:38: entries[2].value: found nan, expected a finite number",
        ),
        (
            "value: 12300",
            "value: 0",
            "references/site.yaml:38: entries[2].value: found 0, expected greater than 0",
        ),
        (
            "value: 12300",
            "value: 12300\n    floor: 12000",
            "references/site.yaml:39: entries[2].floor: found value and floor, "
            "expected exactly one of value, range, floor, ceiling, curve and upper_limit",
        ),
        (
            "    value: 12300\n",
            "",
            "references/site.yaml:29: entries[2]: found none of value, range, floor, ceiling, curve and upper_limit, "
            "expected exactly one of value, range, floor, ceiling, curve and upper_limit",
        ),
        (
            "    value: 12300\n    tolerance: {low: 0.02}\n",
            "    upper_limit: 12300\n",
            "references/site.yaml:38: entries[2].upper_limit: found an upper_limit, expected it only for "
            "message_rate: the limit of a bandwidth is that of the link",
        ),
        (
            "    value: 12300\n    tolerance: {low: 0.02}\n",
            "    ceiling: 12300\n",
            "references/site.yaml:38: entries[2].ceiling: found a ceiling, "
            "expected a floor: no ceiling of bandwidth ever fails a slow run",
        ),
        (
            "    value: 12300\n",
            "    floor: 12300\n",
            "references/site.yaml:39: entries[2].tolerance: found a tolerance with a floor, expected only the floor, "
            "which is the bound itself",
        ),
        (
            "value: 12300",
            "value: 12500",
            "references/site.yaml:38: entries[2].value: found 12500 MB/s, above the physical limit of 1 rail, "
            "expected at most 12421.2 MB/s (ib-edr 12500.0 MB/s x 4096/4122 payload (infiniband, MTU 4096) "
            "= 12421.2 MB/s (the slot allows more: pcie3-x16 15753.8 MB/s x 256/280 of a TLP per card))",
        ),
        (
            "sizes: {from: 1M, to: 4M}",
            "sizes: {from: 4M, to: 1M}",
            "references/site.yaml:27: entries[1].sizes.to: found 1048576, "
            "expected at least 4194304, where the range begins",
        ),
        (
            "fabric: edr\n    rails: [1, 2]",
            "fabric: erd\n    rails: [1, 2]",
            'references/site.yaml:20: entries[1].fabric: found "erd", expected a fabric of site; did you mean "edr"?',
        ),
        (
            "[hpcx, mvapich2]",
            "[hpcx, mvapich]",
            'references/site.yaml:31: entries[2].stack: found "mvapich", expected a stack of site; '
            'did you mean "mvapich2"?',
        ),
        (
            "rails: [1, 2]",
            "rails: [1, 3]",
            "references/site.yaml:21: entries[1].rails: found 3, expected at most 2, the rails that edr has",
        ),
        (
            "rails: [1, 2]",
            "rails: [0, 2]",
            "references/site.yaml:21: entries[1].rails[0]: found 0, expected greater than or equal to 1",
        ),
        (
            "policy: single",
            "policy: stripping",
            'references/site.yaml:33: entries[2].policy: found "stripping", expected a known value; '
            'did you mean "striping"?',
        ),
        (
            "benchmark: osu/osu_latency",
            "benchmark: installed/gamess",
            'references/site.yaml:7: entries[0].benchmark: found "installed/gamess", expected installed/ and an '
            "application of site; none are known",
        ),
        (
            "benchmark: osu/osu_latency",
            "benchmark: latency",
            'references/site.yaml:7: entries[0].benchmark: found "latency", '
            'expected a benchmark such as "imb/Uniband" or "netpipe/stream"',
        ),
        (
            "kind: baseline",
            "kind: baselin",
            'references/site.yaml:37: entries[2].kind: found "baselin", expected a known value; '
            'did you mean "baseline"?',
        ),
        (
            ", runs: [20160203T060000Z-ab12]",
            "",
            "references/site.yaml:40: entries[2].source: found no runs, expected the ids of the runs from which the "
            "baseline was captured; name them, or let railyard capture write the entry",
        ),
        (
            "id: base",
            "id: contract",
            'references/site.yaml:29: entries[2].id: found "contract" for the second time, expected each id once',
        ),
        (
            "of: limit, fraction: 0.97",
            "of: limits, fraction: 0.97",
            'references/site.yaml:26: entries[1].floor.of: found "limits", expected a known value; '
            'did you mean "limit"?',
        ),
        (
            "fraction: 0.97",
            "fraction: 97",
            "references/site.yaml:26: entries[1].floor.fraction: found 97, expected less than or equal to 1",
        ),
        (
            "fabric: edr\n    rails: [1, 2]",
            "fabric: xc\n    rails: 1",
            "references/site.yaml:26: entries[1].floor: found a share of the limit, expected a number: the data rate "
            "of aries is unknown",
        ),
        (
            "[osu/osu_bw, osu/osu_bw_persistent]",
            "[osu/osu_bw, nccl/all_reduce_perf]",
            "references/site.yaml:26: entries[1].floor: found a share of the limit, "
            "expected a number in MB/s: the bus bandwidth of nccl/all_reduce_perf is no share of what a link carries; "
            "take what healthy nodes show",
        ),
        (
            "kind: contract\n    floor: {of: limit, fraction: 0.97}",
            "kind: class\n    floor: 11000",
            "references/site.yaml:26: entries[1].floor: found 11000, expected at least 12000 MB/s (Railyard's "
            "own condition, not physics: InfiniBand EDR 4X streams at least 12 GB/s one way, 96.6 % of the limit of "
            "one rail; a class entry in a system's references sets another); or say why this system has less in reason",
        ),
        (
            "kind: contract",
            "kind: contract\n    reason: because",
            "references/site.yaml:26: entries[1].reason: found a reason in a contract entry, expected it only in a "
            "class entry",
        ),
        (
            "unit: us",
            "unit: us\n    directions: 2",
            "references/site.yaml:10: entries[0].directions: found 2, "
            "expected 1: only a bandwidth sums directions, not latency",
        ),
        (
            "tolerance: {low: 0.02}",
            "tolerance: {low: 0.02}\n    switches: [8192]",
            "references/site.yaml:40: entries[2].switches: found switches with a single bound, expected them only "
            "with a curve",
        ),
    ],
)
def test_what_is_refused_and_how(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    assert old in TABLE
    with pytest.raises(InputError) as caught:
        references(tmp_path, TABLE.replace(old, new, 1))
    assert str(caught.value) == sentence


RING = (
    "entries:\n  - {id: ring, fabric: edr, rails: 1, benchmark: hpcc/Summary, metric: METRIC, unit: MB/s,\n"
    "     kind: contract, floor: 60000, source: {document: the site's own, date: 2026-11-22}}\n"
)


def test_no_reference_of_a_ring_is_beyond_the_link_and_one_of_the_whole_machine_may_be(tmp_path: Path) -> None:
    head = TABLE[: TABLE.index("entries:")]
    for metric in ("natural_ring_bandwidth", "random_ring_bandwidth", "pingpong_bandwidth_min"):
        with pytest.raises(InputError, match="found 60000 MB/s, above the physical limit of 1 rail"):
            references(tmp_path, head + RING.replace("METRIC", metric))
    for metric in ("pingpong_bandwidth_max", "transpose_rate"):
        assert references(tmp_path, head + RING.replace("METRIC", metric)).entries[0].metric == metric


def test_a_metric_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        references(tmp_path, TABLE[: TABLE.index("entries:")] + RING.replace("METRIC", "natural_ring"))
    assert str(caught.value).endswith(
        'entries[0].metric: found "natural_ring", expected a known value; did you mean "natural_ring_latency"?'
    )


def test_a_published_value_above_the_limit_needs_a_note(tmp_path: Path) -> None:
    table = TABLE.replace("kind: baseline", "kind: published").replace("value: 12300", "value: 12600")
    with pytest.raises(InputError, match="above the physical limit"):
        references(tmp_path, table)
    noted = table.replace("runs: [20160203T060000Z-ab12]", "note: the source counts binary megabytes")
    assert references(tmp_path, noted).entries[2].value == 12600
    with pytest.raises(InputError, match="above the physical limit"):
        references(tmp_path, noted.replace("kind: published\n    value", "kind: contract\n    value"))


def test_a_system_needs_references_or_says_why_not(tmp_path: Path) -> None:
    system = system_of(tmp_path)
    with pytest.raises(InputError) as caught:
        references_of(tmp_path / "references", system)
    assert str(caught.value) == (
        "systems/site.yaml: report_only: found no references/site.yaml, expected references; "
        "write it, or set report_only to the sentence that says why there are none"
    )
    silent = system_of(tmp_path, SITE + "report_only: delivered yesterday\n")
    assert references_of(tmp_path / "references", silent) == References(silent)
    assert [band.entry_id for band in bands(References(silent))] == ["class:ib-edr"]


def test_a_report_only_system_has_no_references(tmp_path: Path) -> None:
    found = references(tmp_path, TABLE, SITE + "report_only: delivered yesterday\n")
    with pytest.raises(InputError) as caught:
        check_covered(found.system, found)
    assert str(caught.value) == (
        "references/site.yaml: entries: found 3 references of a report_only system, expected none: they would not be "
        "judged; set report_only to false in systems/site.yaml, or remove this file"
    )


def virtual() -> References:
    return references_of(ROOT / "references", load_system(ROOT / "systems" / "virtual.yaml"))


POLICIES = {"openmpi": "striping", "mpich": "striping", "intelmpi": "round-robin"}
#: Fabric, stack, rails, benchmark: the floor in MB/s from 1 MiB. A rail of hsn has 15 MB/s, eth 10.
FLOORS_MB_S = {
    ("hsn", "openmpi", 1, "netpipe/pingpong"): 12.75,
    ("hsn", "openmpi", 1, "netpipe/stream"): 12.75,
    ("hsn", "openmpi", 1, "netpipe/bidirectional"): 16.5,
    ("hsn", "openmpi", 2, "netpipe/pingpong"): 22.3125,
    ("hsn", "openmpi", 2, "netpipe/stream"): 22.3125,
    ("hsn", "openmpi", 2, "netpipe/bidirectional"): 33.0,
    ("hsn", "mpich", 1, "imb/PingPong"): 12.75,
    ("hsn", "mpich", 1, "imb/Uniband"): 13.5,
    ("hsn", "mpich", 1, "imb/Biband"): 13.5,
    ("hsn", "mpich", 2, "imb/PingPong"): 22.3125,
    ("hsn", "mpich", 2, "imb/Uniband"): 27.0,
    ("hsn", "mpich", 2, "imb/Biband"): 25.65,
    ("hsn", "intelmpi", 1, "imb/PingPong"): 12.75,
    ("hsn", "intelmpi", 1, "imb/Uniband"): 13.5,
    ("hsn", "intelmpi", 1, "imb/Biband"): 22.5,
    ("hsn", "intelmpi", 2, "imb/PingPong"): 11.25,
    ("hsn", "intelmpi", 2, "imb/Uniband"): 22.95,
    ("hsn", "intelmpi", 2, "imb/Biband"): 42.75,
    ("eth", "openmpi", 1, "netpipe/pingpong"): 8.5,
    ("eth", "openmpi", 1, "netpipe/stream"): 8.5,
    ("eth", "openmpi", 1, "netpipe/bidirectional"): 11.0,
    ("eth", "mpich", 1, "imb/PingPong"): 8.5,
    ("eth", "mpich", 1, "imb/Uniband"): 9.0,
    ("eth", "mpich", 1, "imb/Biband"): 9.0,
    ("eth", "intelmpi", 1, "imb/PingPong"): 8.5,
    ("eth", "intelmpi", 1, "imb/Uniband"): 9.0,
    ("eth", "intelmpi", 1, "imb/Biband"): 15.0,
}
#: The floor in MB/s that the best of several sizes must hold, where a library uses both directions at some sizes only.
BEST_SIZE_FLOORS_MB_S = {
    ("hsn", "openmpi", 1, "netpipe/bidirectional"): 24.0,
    ("hsn", "openmpi", 2, "netpipe/bidirectional"): 45.0,
    ("hsn", "mpich", 1, "imb/Biband"): 22.5,
    ("eth", "openmpi", 1, "netpipe/bidirectional"): 17.0,
    ("eth", "mpich", 1, "imb/Biband"): 15.0,
}


@pytest.mark.parametrize("cell", FLOORS_MB_S, ids=lambda cell: " ".join(map(str, cell)))
def test_the_virtual_cluster_is_judged_by_its_shaped_rate(cell: tuple[str, str, int, str]) -> None:
    fabric, stack, rails, benchmark = cell
    policy = "single" if rails == 1 else POLICIES[stack]
    directions = 2 if benchmark in ("imb/Biband", "netpipe/bidirectional") else 1
    test = TestId(fabric, stack, rails, benchmark, policy=policy)
    bands = virtual().bands(test, metric_like("bandwidth", directions, streaming=True), None)
    floor = close(FLOORS_MB_S[cell])
    best = [band for band in bands if band.best_of_sizes]
    bands = tuple(band for band in bands if not band.best_of_sizes)
    assert [floor_at((band,), MIB) for band in best] == [
        close(value) for key, value in BEST_SIZE_FLOORS_MB_S.items() if key == cell
    ]
    assert [floor_at(bands, size) for size in (MIB // 4, MIB - 1, MIB, 4 * MIB)] == [None, None, floor, floor]
    assert {band.kind for band in bands} == {"class"}


def floor_at(bands: Sequence[Band], size: int) -> float | None:
    """Return the highest floor at a size at which no band has its own ceiling or target."""
    bounds = [bound for band in bands if (bound := band.bound_at(size)) is not None]
    assert all(bound.high is None and bound.target is None for bound in bounds)
    return max((bound.low for bound in bounds if bound.low is not None), default=None)


def test_every_cell_of_the_virtual_matrix_has_its_floor() -> None:
    tests = {
        "imb": ("imb/PingPong", "imb/Uniband", "imb/Biband"),
        "netpipe": ("netpipe/pingpong", "netpipe/stream", "netpipe/bidirectional"),
    }
    system = virtual().system
    cells = {
        (fabric, stack, rails, benchmark)
        for fabric in system.fabrics
        for stack, entry in system.stacks.items()
        for rails in system.fabrics[fabric].counts
        # Clients and servers without MPI, and all pairs of nodes, have their own tests; a shared processor has none.
        if not STACKS[stack].pair
        for tool in entry.benchmarks
        if tool not in ("pairs", "sharing")
        for benchmark in tests[tool]
    }
    assert cells == FLOORS_MB_S.keys()


@pytest.mark.parametrize(
    ("fabric", "stack", "rails", "policy", "rate_mb_s", "recorded_us"),
    [
        ("hsn", "mpich", 1, "single", 14.1, 160e3),
        ("hsn", "mpich", 2, "striping", 14.1, 565e3),
        ("hsn", "intelmpi", 2, "round-robin", 14.1, 605e3),
        ("eth", "mpich", 1, "single", 9.4, 240e3),
    ],
)
def test_the_allreduce_is_bounded_by_the_rate_and_by_recorded_runs(
    fabric: str, stack: str, rails: int, policy: str, rate_mb_s: float, recorded_us: float
) -> None:
    test = TestId(fabric, stack, rails, "imb/Allreduce", policy=policy)
    bands = virtual().bands(test, metric_like("latency", 1, streaming=False), None)
    # From 256 KiB to 1 MiB the ceiling of 1 MiB applies; larger sizes, which only two rails have, have that of 4 MiB.
    ceiling, large = (Bound(None, close(2 * 4 * size / rate_mb_s, within=4), None) for size in (MIB, 4 * MIB))
    sizes = (64 * KIB, 256 * KIB - 1, 256 * KIB, MIB, 2 * MIB, 4 * MIB)
    held = [[None, None, ceiling, ceiling, None, None], [None, None, None, None, large, large]]
    own = Bound(None, close(recorded_us), None)
    tighter = [own if bound is not None else None for bound in held[rails - 1]]
    large_ones = [band for band in bands if not band.best_of_sizes]
    assert [[band.bound_at(size) for size in sizes] for band in large_ones] == [tighter, *held[:rails]]


def test_an_upper_limit_bounds_a_message_rate_from_above_alone(tmp_path: Path) -> None:
    entry = (
        "  - {id: nominal, fabric: edr, rails: 1, benchmark: osu/osu_mbw_mr, metric: message_rate, unit: 1/s,\n"
        "     kind: published, upper_limit: 150000000, source: {document: a data sheet, date: 2016-02-02}}\n"
    )
    found = references(tmp_path, TABLE + entry)
    (band,) = bands(found, "osu/osu_mbw_mr", "message_rate", limit=None)
    assert (band.entry_id, band.bound_at(1)) == ("nominal", Bound(None, 150e6, None))
    with pytest.raises(InputError) as caught:
        references(tmp_path, TABLE + entry.replace("upper_limit: 150000000", "upper_limit: 1, tolerance: {high: 0.1}"))
    assert str(caught.value).split(": ", 1)[1] == (
        "entries[3].tolerance: found a tolerance with an upper_limit, expected only the upper_limit, which is the "
        "bound itself"
    )


def test_the_best_of_the_sizes_counts_where_the_file_says_so(tmp_path: Path) -> None:
    entry = (
        "  - {id: small, fabric: edr, rails: 1, benchmark: osu/osu_latency, metric: latency, unit: us, kind: class,\n"
        "     ceiling: 5, sizes: {to: 64}, best_of: sizes, source: {document: recorded runs, date: 2016-02-02}}\n"
    )
    small = {
        band.entry_id: band.best_of_sizes
        for band in bands(references(tmp_path, TABLE + entry), "osu/osu_latency", "latency", limit=None)
    }
    assert small["small"] and not any(best for name, best in small.items() if name != "small")
    with pytest.raises(InputError) as caught:
        references(tmp_path, TABLE + entry.replace("ceiling: 5", "value: 5, tolerance: {high: 0.1}"))
    assert str(caught.value).split(": ", 1)[1] == (
        "entries[3].best_of: found best_of without either, expected it only with a floor or a ceiling: one bound that "
        "the best of its sizes can hold"
    )


KNOWN = """\
expected_failures:
  - fabric: edr
    stack: hpcx
    rails: 2
    benchmark: osu/osu_bw
    reason: the second card of n7 is being replaced, ticket 12
    expires: 2026-12-24
"""


def test_an_expected_failure_is_of_the_runs_that_it_names_alone(tmp_path: Path) -> None:
    found = references(tmp_path, TABLE + KNOWN)
    known = found.expected_failure(TestId("edr", "hpcx", 2, "osu/osu_bw", policy="striping"))
    assert known is not None
    assert (known.reason, known.expires.isoformat(), known.rules) == (
        "the second card of n7 is being replaced, ticket 12",
        "2026-12-24",
        (4, 5),
    )
    for other in (("edr", "mvapich2", 2), ("edr", "hpcx", 1), ("xc", "hpcx", 2)):
        assert found.expected_failure(TestId(*other, "osu/osu_bw", policy="striping")) is None
    assert found.expected_failure(TestId("edr", "hpcx", 2, "osu/osu_latency", policy="striping")) is None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "stack: hpcx",
            "stack: hpcy",
            '.stack: found "hpcy", expected a stack of site; did you mean "hpcx"?',
        ),
        ("rails: 2", "rails: 4", ".rails: found 4, expected at most 2, the rails that edr has"),
        ("2026-12-24", '"2026-12-24"', '.expires: found "2026-12-24", expected a date, YYYY-MM-DD, without quotes'),
        ("    expires: 2026-12-24\n", "", ".expires: "),
        ("    reason: ", "    rules: [1]\n    reason: ", ".rules[0]: "),
    ],
)
def test_an_expected_failure_that_is_wrong_is_refused_with_its_line(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        references(tmp_path, TABLE + KNOWN.replace(old, new))
    assert f": expected_failures[0]{said}" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "sizes: {from: 1M, to: 4M}",
            "sizes: {from: 4M, to: 1M}",
            marks=pytest.mark.fault(
                "reference", "the ends of a range of sizes swapped", "found 1048576, expected at least 4194304"
            ),
            id="swapped-range",
        ),
        pytest.param(
            "sizes: {from: 1M, to: 4M}",
            "sizes: {}",
            marks=pytest.mark.fault("reference", "a range of sizes without an end", "found neither from nor to"),
            id="empty-range",
        ),
        pytest.param(
            "curve: {1: 0.80, 8: 0.82, 4096: 2.75, 64K: 9.0, 1M: 90}",
            "curve: {1: 0.80, 4096: 2.75, 8: 0.82}",
            marks=pytest.mark.fault("reference", "two sizes of a curve swapped", "found 8 after 4096, expected sizes"),
            id="swapped-curve",
        ),
        pytest.param(
            "curve: {1: 0.80, 8: 0.82, 4096: 2.75, 64K: 9.0, 1M: 90}",
            "curve: {}",
            marks=pytest.mark.fault("reference", "a curve without sizes", "expected at least one entry"),
            id="empty-curve",
        ),
        pytest.param(
            "rails: [1, 2]",
            "rails: []",
            marks=pytest.mark.fault("reference", "an empty list of rails", "found an empty list, expected a number"),
            id="empty-rails",
        ),
        pytest.param(
            "unit: us",
            "unit: furlongs",
            marks=pytest.mark.fault("reference", "an unknown unit", 'found "furlongs", expected "us"'),
            id="unknown-unit",
        ),
    ],
)
def test_a_reference_that_would_judge_something_else_is_refused(
    tmp_path: Path, old: str, new: str, promise: str
) -> None:
    system, table = tmp_path / "systems" / "site.yaml", tmp_path / "references" / "site.yaml"
    for path, text in ((system, SITE), (table, TABLE)):
        path.parent.mkdir()
        path.write_text(text, encoding="utf-8")
    assert load_references(table, load_system(system)).entries
    table.write_text(TABLE.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_references(table, load_system(system))
    assert promise in str(caught.value)


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            "report_only: true",
            marks=pytest.mark.fault("reference", "report-only without a reason", "expected false, or a sentence"),
            id="report-only",
        ),
        pytest.param(
            "disabled: [{fabric: edr, benchmark: osu/osu_bw}]",
            marks=pytest.mark.fault("reference", "a test switched off without a reason", 'expected the field "reason"'),
            id="disabled",
        ),
    ],
)
def test_a_system_without_its_reason_is_refused(tmp_path: Path, line: str, promise: str) -> None:
    (tmp_path / "systems").mkdir()
    system = tmp_path / "systems" / "site.yaml"
    system.write_text(f"{SITE}{line}\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_system(system)
    assert promise in str(caught.value)
