"""Faults planted in a reference file: each is refused, or named by lint, and the healthy file is accepted."""

from datetime import date
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.model import Metric
from railyard.site.matrix import Need
from railyard.site.references.lint import findings
from railyard.site.references.load import References, load_references
from railyard.site.systems.load import load_system
from railyard.site.test_id import TestId
from tests.made.fault_case import fault

TODAY = date(2026, 11, 23)
SITE = """\
system: site
description: A cluster
nodes: {count: 16}
fabrics:
  edr:
    description: EDR
    kind: ib
    link: ib-edr
    rails: [{device: mlx5_0, counters: mlx5}, {device: mlx5_1, counters: mlx5}]
stacks:
  hpcx: {modules: [hpcx], benchmarks: {osu: /opt/osu}}
"""
TABLE = """\
system: site
entries:
  - id: stream
    fabric: edr
    rails: [1, 2]
    benchmark: osu/osu_bw
    metric: bandwidth
    unit: MB/s
    kind: contract
    value: 12100
    sizes: {from: 1M}
    tolerance: {low: 0.02}
    source: {document: the tender, date: 2025-01-01}
  - id: curve
    fabric: edr
    rails: 1
    benchmark: osu/osu_bw
    metric: bandwidth
    unit: MB/s
    kind: baseline
    curve: {64K: 11000, 4M: 12200}
    tolerance: {low: 0.03}
    source: {document: captured, date: 2026-11-01, runs: [20261101T060000Z-ab12]}
  - id: start
    fabric: edr
    benchmark: osu/osu_latency
    metric: latency
    unit: us
    kind: contract
    ceiling: 1.3
    sizes: {to: 8}
    source: {document: the tender, date: 2025-01-01}
relations:
  - id: twice
    says: two rails stream at least 1.8 times one
    form: ratio
    of: {fabric: edr, rails: 2, benchmark: osu/osu_bw}
    to: {fabric: edr, rails: 1, benchmark: osu/osu_bw}
    low: 1.8
    source: {document: the tender, date: 2025-01-01}
expected_failures:
  - {fabric: edr, rails: 2, benchmark: osu/osu_bw, reason: ticket 12, expires: 2026-12-24}
"""
NEEDS = [
    Need(check=check, tool="osu", benchmark=f"osu/{name}", nodes=2)
    for check, name in (("OsuBandwidth", "osu_bw"), ("OsuLatency", "osu_latency"))
]


def site_references(folder: Path, table: str) -> References:
    for name, text in (("systems", SITE), ("references", table)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "site.yaml").write_text(text, encoding="utf-8")
    return load_references(folder / "references" / "site.yaml", load_system(folder / "systems" / "site.yaml"))


def spoil_table(old: str, new: str) -> str:
    assert TABLE.count(old) >= 1
    return TABLE.replace(old, new, 1)


@pytest.mark.parametrize(
    "table",
    [
        fault("other-fabric", "reference", "a reference of another fabric", 'found "fdr", expected a fabric of',
              spoil_table("fabric: edr", "fabric: fdr")),
        fault("twice-the-rails", "reference", "a reference for twice the rails",
              "found 4, expected at most 2, the rails that edr has", spoil_table("rails: [1, 2]", "rails: [2, 4]")),
        fault("tolerance-of-1", "reference", "a tolerance of 1.0", "a value may not fall to nothing",
              spoil_table("{low: 0.02}", "{low: 1.0}")),
        fault("tolerance-of-0.9", "reference", "a tolerance of 0.9, so that a tenth passes",
              "found 0.9, expected at most 0.5", spoil_table("{low: 0.02}", "{low: 0.9}")),
        fault("tolerance-at-a-switch", "reference", "a tolerance of 0.8 around a protocol switch",
              "found 0.8, expected at most 0.5",
              spoil_table("{low: 0.03}", "{latency: {low: 0.1}, middle: {low: 0.1}, bandwidth: {low: 0.02}, "
                                      "switch: {low: 0.8}}\n    switches: [65536]")),
        fault("per-cent", "reference", "a tolerance in per cent", "2 percent is 0.02",
              spoil_table("{low: 0.02}", "{low: 2}")),
        fault("other-system", "reference", "the file of another system", "these references belong to another system",
              spoil_table("system: site", "system: old-site")),
        fault("above-the-limit", "reference", "the rate of two rails asked of one",
              "MB/s, above the physical limit of 1 rail", spoil_table("value: 12100", "value: 24200")),
        fault("no-runs", "reference", "a baseline without its runs", "found no runs, expected the ids",
              spoil_table("{document: captured, date: 2026-11-01, runs: [20261101T060000Z-ab12]}",
                      "{document: captured, date: 2026-11-01}")),
        fault("wrong-side", "reference", "a floor of a latency in place of a ceiling",
              "no floor of latency ever fails a slow run", spoil_table("ceiling: 1.3", "floor: 1.3")),
        fault("size-twice", "reference", "one size of a curve written twice", "one size written twice",
              spoil_table("{64K: 11000, 4M: 12200}", "{64K: 11000, 65536: 12200}")),
        fault("key-twice", "reference", "a number written twice in an entry", '"value" for the second time',
              spoil_table("    value: 12100\n", "    value: 12100\n    value: 6300\n")),
        fault("rails-twice", "reference", "one of two rail counts mistyped", "expected each number once",
              spoil_table("rails: [1, 2]", "rails: [1, 1]")),
        fault("merge-conflict", "reference", "a merge that left its marks in the file",
              'a mark of a merge conflict ("<<<<<<< HEAD")',
              spoil_table("    value: 12100\n",
                      "<<<<<<< HEAD\n    value: 12100\n=======\n    value: 6300\n>>>>>>> theirs\n")),
        fault("no-break-space", "reference", "a line that was copied from a web page",
              "found a no-break space, which", spoil_table("    value: 12100", "\u00a0   value: 12100")),
        fault("relation-with-itself", "reference", "a relation of a test with itself", "found the same side twice",
              spoil_table("to: {fabric: edr, rails: 1,", "to: {fabric: edr, rails: 2,")),
    ],
)  # fmt: skip
def test_what_would_judge_something_else_or_nothing_is_refused(tmp_path: Path, table: str, promise: str) -> None:
    assert len(site_references(tmp_path, TABLE).entries) == 3
    with pytest.raises(RailyardError) as caught:
        site_references(tmp_path, table)
    assert promise in str(caught.value)
    assert "references/site.yaml:" in str(caught.value)


@pytest.mark.parametrize(
    "table",
    [
        fault("future", "reference", "a source dated in the future", "its source is dated 2052-01-01, after today",
              spoil_table("date: 2025-01-01", "date: 2052-01-01")),
        fault("for-ever", "reference", "a failure expected until 2099",
              "it expires on 2099-12-24, more than 366 days from now",
              spoil_table("expires: 2026-12-24", "expires: 2099-12-24")),
        fault("never-runs", "reference", "an entry whose benchmark never runs",
              "start: no check that runs here measures",
              spoil_table("benchmark: osu/osu_latency", "benchmark: osu/osu_multi_lat")),
        fault("expired", "reference", "an expected failure past its day", "it expired on 2026-11-22, so remove it",
              spoil_table("expires: 2026-12-24", "expires: 2026-11-22")),
    ],
)  # fmt: skip
def test_what_only_a_reader_of_the_whole_file_sees_is_named_by_lint(tmp_path: Path, table: str, promise: str) -> None:
    assert promise not in " ".join(each.what for each in findings(site_references(tmp_path, TABLE), NEEDS, TODAY))
    assert any(promise in each.what for each in findings(site_references(tmp_path, table), NEEDS, TODAY))


@pytest.mark.fault(
    "reference", "one direction's number for a benchmark of both", "expected 2: osu/osu_bibw sums so many directions"
)
def test_a_number_of_one_direction_is_not_asked_of_both(tmp_path: Path, promise: str) -> None:
    both = Metric("bandwidth", (), "", "stream", "higher", 2)
    table = spoil_table("benchmark: osu/osu_bw", "benchmark: osu/osu_bibw")
    table = table[: table.index("relations:")]
    test = TestId("edr", "hpcx", 1, "osu/osu_bibw", policy="single")
    with pytest.raises(RailyardError) as caught:
        site_references(tmp_path, table).bands(test, both, 24_800.0)
    assert promise in str(caught.value)
    right = table.replace("unit: MB/s\n", "unit: MB/s\n    directions: 2\n", 1)
    assert site_references(tmp_path, right).bands(test, both, 24_800.0)[0].entry_id == "stream"


def test_a_tolerance_that_is_doubled_at_a_switch_still_fails_a_run_at_less_than_half(tmp_path: Path) -> None:
    table = spoil_table("{low: 0.03}", "{low: 0.4}\n    switches: [65536]")
    bandwidth = Metric("bandwidth", (), "", "stream", "higher", 1)
    found = site_references(tmp_path, table).bands(
        TestId("edr", "hpcx", 1, "osu/osu_bw", policy="single"), bandwidth, 12_421.2
    )
    bound = next(band for band in found if band.entry_id == "curve").bound_at(65536)
    assert bound is not None
    assert bound.low == pytest.approx(5500.0)
