"""Sizes that a file calls unbounded: lint accepts them, and finds every new gap beside them."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.results.reference_sheet import as_json, lines
from railyard.rfm.checks.catalogue import needs
from railyard.site.matrix import Need
from railyard.site.references.lint import MeasuredSizes, findings, gaps
from railyard.site.references.load import References, load_references
from railyard.site.site import Site, site_at
from railyard.site.systems.load import load_system
from railyard.site.test_id import TestId

CLONE = Path(__file__).parents[3]
TODAY = date(2026, 11, 23)
NEEDS = [Need(check="OsuBandwidth", tool="osu", benchmark="osu/osu_bw", nodes=2)]
SITE = """\
system: site
description: A cluster
nodes: {count: 16}
fabrics:
  qdr: {description: QDR, kind: ib, link: ib-qdr, rails: [{device: mlx4_0, counters: mlx4}]}
  fdr: {description: FDR, kind: ib, link: ib-fdr, rails: [{device: mlx4_1, counters: mlx4}]}
stacks:
  hpcx: {modules: [hpcx], benchmarks: {osu: /opt/osu}}
"""
#: Both bandwidths have bounds from 1 MiB on: FDR's from the floor of its class.
TABLE = """\
system: site
sources:
  blog: {document: a blog, date: 2016-02-02}
entries:
  - {id: qdr-bw, fabric: qdr, stack: hpcx, rails: 1, benchmark: osu/osu_bw, metric: bandwidth, unit: MB/s,
     kind: published, value: 3300, sizes: {from: 1M}, tolerance: {low: 0.03}, source: {of: blog}}
  - {id: fdr-bw, fabric: fdr, stack: hpcx, rails: 1, benchmark: osu/osu_bw, metric: bandwidth, unit: MB/s,
     kind: published, curve: {4M: 6300}, tolerance: {low: 0.03}, source: {of: blog}}
unbounded:
  - {benchmark: osu/osu_bw, sizes: {to: 512K}, reason: short messages pass out of a bucket}
"""
MEASURED, REPLAYED = ("",), ("provider: replay\nlauncher: replay\n",)
BOTH = (*MEASURED, *REPLAYED)
WHY_NOT = ": bound them, or say in unbounded why not"


def site_references(folder: Path, table: str, site: str = SITE) -> References:
    for name, text in (("systems", site), ("references", table)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "site.yaml").write_text(text, encoding="utf-8")
    return load_references(folder / "references" / "site.yaml", load_system(folder / "systems" / "site.yaml"))


@pytest.mark.parametrize(
    ("old", "new", "providers", "found"),
    [
        ("", "", BOTH, []),
        (
            *("{from: 1M}", "{from: 1M, to: 1M}", MEASURED),
            ["problem: no reference bounds the bandwidth at 1 B to 512 KiB and 2 MiB to 4 MiB of osu/osu_bw (1 test)"],
        ),
        (
            *("{from: 1M}", "{from: 1M, to: 1M}", REPLAYED),
            [f"remark: no reference bounds the bandwidth at 2 MiB to 4 MiB of osu/osu_bw (1 test){WHY_NOT}"],
        ),
        (
            *("{to: 512K}", "{to: 64}", BOTH),
            [f"remark: no reference bounds the bandwidth at 128 B to 512 KiB of osu/osu_bw (2 tests){WHY_NOT}"],
        ),
        (
            *("benchmark: osu/osu_bw, sizes: {to", "fabric: [fdr], benchmark: osu/osu_bw, sizes: {to", BOTH),
            [f"remark: no reference bounds the bandwidth at 1 B to 512 KiB of osu/osu_bw (1 test){WHY_NOT}"],
        ),
        (
            *("{to: 512K}", "{to: 1M}", BOTH),
            ["remark: unbounded[0]: qdr-bw bounds osu/osu_bw over qdr with hpcx at 1 MiB: leave that size out of it"],
        ),
        (
            *("{to: 512K}", "{from: 8M}", BOTH),
            [
                f"remark: no reference bounds the bandwidth at 1 B to 512 KiB of osu/osu_bw (2 tests){WHY_NOT}",
                "remark: unbounded[0]: no check that runs here measures osu/osu_bw there: remove it",
            ],
        ),
    ],
)
def test_what_a_file_says_is_unbounded_hides_no_gap_that_a_change_opens(
    tmp_path: Path, old: str, new: str, providers: tuple[str, ...], found: list[str]
) -> None:
    for provider in providers:
        read = site_references(tmp_path, TABLE.replace(old, new), SITE.replace("nodes:", f"{provider}nodes:"))
        assert [f"{one.weight}: {one.what}" for one in findings(read, NEEDS, TODAY)] == found


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("benchmark: osu/osu_bw, sizes: {to", "fabric: fddr, benchmark: osu/osu_bw, sizes: {to",
         '.fabric: found "fddr", expected a fabric of site; did you mean "fdr"?'),
        ("benchmark: osu/osu_bw, sizes: {to", "stack: [hpcx, hpxc], benchmark: osu/osu_bw, sizes: {to",
         '.stack: found "hpxc", expected a stack of site; did you mean "hpcx"?'),
        ("benchmark: osu/osu_bw, sizes: {to", "benchmark: osu/osu_wb, sizes: {to",
         '.benchmark: found "osu/osu_wb", expected a benchmark that Railyard knows; did you mean "osu/osu_bw"?'),
        ("{to: 512K}", "{from: 512K, to: 4}", ".sizes.to: found 4, expected at least 524288, where the range begins"),
        ("sizes: {to: 512K}", "sizes: {}",
         ".sizes: found neither from nor to, expected one of them, or both; leave sizes out if it holds for all sizes"),
        ("sizes: {to: 512K}, ", "", '.sizes: found nothing, expected the field "sizes"; add it'),
        (", reason: short messages pass out of a bucket", "",
         '.reason: found nothing, expected the field "reason"; add it'),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_refused(tmp_path: Path, old: str, new: str, sentence: str) -> None:
    assert old in TABLE
    with pytest.raises(InputError) as caught:
        site_references(tmp_path, TABLE.replace(old, new))
    assert str(caught.value) == f"references/site.yaml:10: unbounded[0]{sentence}"


@pytest.mark.parametrize(
    ("system", "old", "new", "gap"),
    [
        ("dell-c6320", "curve: {4K: 2.75}", "curve: {16K: 2.75}", "the latency at 4 KiB of osu/osu_latency (1 test)"),
        ("connectx4-six", "8: 0.892, 16: 0.938,", "16: 0.938,", "the latency at 8 B of osu/osu_latency (1 test)"),
        (
            "survey-2004",
            "curve: {4M: 834.93}",
            "curve: {1M: 834.93}",
            "the bandwidth at 4 MiB of netpipe/pingpong (1 test)",
        ),
    ],
)
def test_a_size_that_one_of_the_own_files_loses_is_remarked(
    tmp_path: Path, system: str, old: str, new: str, gap: str
) -> None:
    text = (CLONE / "references" / f"{system}.yaml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / f"{system}.yaml"
    path.write_text(text.replace(old, new), encoding="utf-8")
    read = load_references(path, load_system(CLONE / "systems" / f"{system}.yaml"))
    found = findings(read, needs(CLONE / "checks"), TODAY)
    assert f"no reference bounds {gap}{WHY_NOT}" in [one.what for one in found]


def test_the_sheet_of_references_has_them_with_the_reason(tmp_path: Path) -> None:
    narrowed = TABLE.replace(
        "{benchmark: osu/osu_bw, s", "{fabric: [qdr, fdr], stack: hpcx, rails: 1, benchmark: osu/osu_bw, s"
    )
    read = site_references(tmp_path, narrowed)
    assert as_json(read)["unbounded"] == [
        {
            "system": "site",
            "fabric": ["qdr", "fdr"],
            "stack": "hpcx",
            "rails": 1,
            "benchmark": "osu/osu_bw",
            "sizes": {"from": None, "to": 524288},
            "reason": "short messages pass out of a bucket",
        }
    ]
    where = "over qdr, fdr with hpcx over 1 rail"
    assert lines(read)[-1] == (
        f"  nothing bounds osu/osu_bw {where} up to 512 KiB: short messages pass out of a bucket"
    )
    assert lines(site_references(tmp_path, TABLE))[-1].startswith("  nothing bounds osu/osu_bw up to 512 KiB: ")


REHEARSED = CLONE / "tests/sites/rehearsed"


@pytest.mark.parametrize("name", sorted(file.stem for file in (REHEARSED / "references").glob("*.yaml")))
def test_the_references_of_a_rehearsed_system_leave_no_deciding_size_open(name: str) -> None:
    """A healthy rehearsal would fail by them, and takes minutes."""
    found = findings(site_at(REHEARSED, name).references, needs(CLONE / "checks"), TODAY)
    assert [each.what for each in found if each.weight == "problem"] == []


@pytest.mark.parametrize(("stated", "weight"), [(False, "problem"), (True, None)])
def test_a_latency_whose_smallest_sizes_nothing_bounds_is_a_problem_before_the_run(
    virtual: Site, stated: bool, weight: str | None
) -> None:
    test = TestId("hsn", "mpich", 1, "osu/osu_latency", "OsuLatency")
    one = MeasuredSizes(test, "latency", (1, 64, 1 << 20), {1 << 20: "osu-latency-one-rail"})
    references = virtual.references if stated else replace(virtual.references, unbounded=())
    found = [each for each in gaps(references, [one]) if "no reference bounds" in each.what]
    assert [each.weight for each in found] == ([] if weight is None else [weight])


def test_a_latency_that_the_class_of_its_link_bounds_is_only_remarked() -> None:
    site = site_at(CLONE, "dell-c6320")
    test = TestId("edr", "hpcx", 1, "osu/osu_latency", "OsuLatency")
    one = MeasuredSizes(test, "latency", (1, 64, 4096), {4096: "edr-latency-4k"})
    (found,) = gaps(replace(site.references, unbounded=()), [one])
    assert found.weight == "remark"


@pytest.mark.parametrize(("bounded_from", "weight"), [(1 << 28, "remark"), (1 << 29, "problem")])
def test_a_bandwidth_with_a_gap_where_its_link_shows_its_rate_is_a_problem_before_the_run(
    virtual: Site, bounded_from: int, weight: str
) -> None:
    test = TestId("hsn", "mpich", 1, "nccl/all_reduce_perf", "NcclAllReduce")
    measured = (1 << 26, 1 << 27, 1 << 28, 1 << 29, 1 << 30)
    one = MeasuredSizes(
        test, "bandwidth", measured, dict.fromkeys((size for size in measured if size >= bounded_from), "gpus")
    )
    (found,) = (each for each in gaps(virtual.references, [one]) if "nccl" in each.what)
    assert found.weight == weight
