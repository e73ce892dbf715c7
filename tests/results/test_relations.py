"""Relations between the curves of a run: each form kept and broken, and the sentence if a side is missing."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.results import relations
from railyard.results.record.form import CurveRecord, Record, State, VerdictRecord
from railyard.results.run_folder import RelationRecord
from railyard.site.references.load import References, load_references
from railyard.site.systems.load import load_system
from tests.made.records import made_record

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
  fdr: {description: FDR, kind: ib, link: ib-fdr, rails: [{device: mlx4_0, counters: mlx4}]}
stacks:
  hpcx: {modules: [hpcx], benchmarks: {osu: /opt/osu}}
  openmpi: {modules: [openmpi], benchmarks: {osu: /opt/osu}}
"""
TABLE = """\
system: site
sources:
  blog: {document: a blog, date: 2016-02-02, conditions: {turbo: enabled, snoop: early}}
entries:
  - {id: edr-bw, fabric: edr, stack: hpcx, rails: 1, benchmark: osu/osu_bw, metric: bandwidth, unit: MB/s,
     kind: published, curve: {1M: 12300, 4M: 12400}, tolerance: {low: 0.03}, source: {of: blog, at: figure 2}}
  - {id: fdr-bw, fabric: fdr, stack: hpcx, rails: 1, benchmark: osu/osu_bw, metric: bandwidth, unit: MB/s,
     kind: published, curve: {2M: 6250, 4M: 6300}, tolerance: {low: 0.03},
     source: {of: blog, conditions: {snoop: home}}}
relations:
  - id: r
    says: it is so
    RELATION
    source: {of: blog}
"""
RATIO = "{form: ratio, of: edr-bw, to: fdr-bw, low: 1.87, high: 2.07}"
A, B = "{fabric: edr, stack: hpcx, benchmark: osu/osu_bw}", "{fabric: fdr, stack: hpcx, benchmark: osu/osu_bw}"
#: Short names of sides in the table below; sentences write them out.
SHORT = {
    f"osu/{benchmark} over {fabric} with hpcx": f"{name}-{fabric[0].upper()}"
    for benchmark, name in (("osu_bw", "BW"), ("osu_latency", "LAT"))
    for fabric in ("edr", "fdr")
}
LA, LB = A.replace("osu_bw", "osu_latency"), B.replace("osu_bw", "osu_latency")
OA, OB = LA.replace("hpcx", "openmpi"), LB.replace("hpcx", "openmpi")
OTHER = "osu/osu_latency over {} with openmpi"


def references(folder: Path, relation: str, says: str = "it is so") -> References:
    (folder / "systems").mkdir(exist_ok=True)
    (folder / "references").mkdir(exist_ok=True)
    (folder / "systems" / "site.yaml").write_text(SITE, encoding="utf-8")
    # a case's flow mapping becomes the relation's own lines
    lines = "\n    ".join(part.strip() for part in _parts(relation[1:-1]))
    (folder / "references" / "site.yaml").write_text(
        TABLE.replace("RELATION", lines).replace("it is so", says), encoding="utf-8"
    )
    return load_references(folder / "references" / "site.yaml", load_system(folder / "systems" / "site.yaml"))


def _parts(text: str) -> list[str]:
    """Split at the commas outside of braces."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def record(
    fabric: str,
    values: dict[int, float],
    benchmark: str = "osu/osu_bw",
    stack: str = "hpcx",
    state: State = "pass",
    rule: int | None = None,
    rails: int = 1,
    policy: str = "single",
    metric: str | None = None,
) -> Record:
    metric = metric or ("latency" if "latency" in benchmark else "bandwidth")
    curve = CurveRecord(metric, "us" if metric == "latency" else "MB/s", tuple(values), tuple(values.values()))
    return made_record(
        case=f"Case @site:{fabric}+{stack}",
        check="Case",
        system="site",
        fabric=fabric,
        stack=stack,
        rails=rails,
        benchmark=benchmark,
        state=state,
        verdict=VerdictRecord("so", rule),
        policy=policy,
        curves=(curve,),
    )


def one(folder: Path, relation: str, records: Sequence[Record]) -> tuple[str, str]:
    (found,) = relations.judge(references(folder, relation), records)
    return found.state, found.sentence


K, M = 1 << 10, 1 << 20
EDR, FDR = record("edr", {M: 12300, 4 * M: 12400}), record("fdr", {M: 6200, 4 * M: 6300})


@pytest.mark.parametrize(
    ("relation", "records", "state", "sentence"),
    [
        (
            *(RATIO, [EDR, FDR], "pass"),
            "BW-E is 1.98 times BW-F at 1 MiB, expected at least 1.87 and at most 2.07",
        ),
        (
            *(RATIO, [record("edr", {M: 12300, 4 * M: 9000}), FDR], "fail"),
            "BW-E is 1.43 times BW-F at 4 MiB, expected at least 1.87 and at most 2.07",
        ),
        (
            *(RATIO, [EDR], "not-judged"),
            "not judged: side BW-F is missing",
        ),
        (
            *(RATIO, [], "not-judged"),
            "not judged: side BW-E is missing; side BW-F is missing",
        ),
        (
            *(RATIO, [EDR, record("fdr", {M: 6200}, state="fail", rule=4)], "not-judged"),
            "not judged: side BW-F gave no curve: it failed rule 4",
        ),
        (
            *(RATIO, [EDR, record("fdr", {M: 6200}, state="not-tested")], "not-judged"),
            "not judged: side BW-F was not tested",
        ),
        (
            *(RATIO, [EDR, record("fdr", {M: 6200}, state="disturbed", rule=5)], "not-judged"),
            "not judged: side BW-F was disturbed",
        ),
        # A failed reference still leaves a curve to compare.
        (
            *(RATIO, [EDR, record("fdr", {M: 6200}, state="fail", rule=5)], "pass"),
            "BW-E is 1.98 times BW-F at 1 MiB, expected at least 1.87 and at most 2.07",
        ),
        (
            *(RATIO, [EDR, record("fdr", {64: 20.0, 128: 40.0})], "fail"),
            "the sides have no message size in common: BW-E has 1 MiB to 4 MiB, BW-F 64 B to 128 B",
        ),
        (
            f"{{form: ahead, of: {LA}, to: {LB}, sizes: {{from: 1K}}}}",
            [record("edr", {8: 1.0, K: 1.5}, "osu/osu_latency"), record("fdr", {8: 0.9, K: 1.6}, "osu/osu_latency")],
            "pass",
            "LAT-E is ahead of LAT-F at 1 size, at worst 1.500 against 1.600 us at 1 KiB",
        ),
        (
            f"{{form: ahead, of: {LA}, to: {LB}}}",
            [record("edr", {8: 1.0, K: 1.5}, "osu/osu_latency"), record("fdr", {8: 0.9, K: 1.6}, "osu/osu_latency")],
            "fail",
            "LAT-E is not ahead of LAT-F at 1 of 2 sizes, at worst 1.000 against 0.9000 us at 8 B",
        ),
        # A tie is not a lead, unless "by" allows it.
        (
            f"{{form: ahead, of: {A}, to: {B}}}",
            [record("edr", {M: 100.0}), record("fdr", {M: 100.0})],
            "fail",
            "BW-E is not ahead of BW-F at 1 of 1 size, at worst 100.0 against 100.0 MB/s at 1 MiB",
        ),
        (
            f"{{form: ahead, of: {A}, to: {B}, by: 0}}",
            [record("edr", {M: 100.0}), record("fdr", {M: 100.0})],
            "pass",
            "BW-E is ahead of BW-F at 1 size, at worst 100.0 against 100.0 MB/s at 1 MiB",
        ),
        (
            f"{{form: ahead, of: {A}, to: {B}, by: -0.05}}",
            [record("edr", {M: 94.0}), record("fdr", {M: 100.0})],
            "fail",
            "BW-E is not ahead of BW-F, or behind by at most 5% at 1 of 1 size, at worst 94.00 against "
            "100.0 MB/s at 1 MiB",
        ),
        (
            f"{{form: ahead, of: {A}, to: {B}, where: somewhere}}",
            [record("edr", {M: 90.0, 4 * M: 101.0}), record("fdr", {M: 100.0, 4 * M: 100.0})],
            "pass",
            "BW-E is ahead of BW-F in places: 101.0 against 100.0 MB/s at 4 MiB",
        ),
        (
            f"{{form: ahead, of: {A}, to: {B}, where: somewhere}}",
            [record("edr", {M: 90.0, 4 * M: 100.0}), record("fdr", {M: 100.0, 4 * M: 100.0})],
            "fail",
            "BW-E is nowhere ahead of BW-F, at best 100.0 against 100.0 MB/s at 4 MiB",
        ),
        (
            f"{{form: crossover, of: {LA}, to: {LB}, between: {{from: 8K, to: 16K}}}}",
            [
                record("edr", {K: 1.0, 16 * K: 9.0}, "osu/osu_latency"),
                record("fdr", {K: 1.5, 16 * K: 7.0}, "osu/osu_latency"),
            ],
            "pass",
            "LAT-E is ahead up to 1 KiB, LAT-F from 16 KiB",
        ),
        (
            f"{{form: crossover, of: {LA}, to: {LB}, between: {{from: 8K, to: 16K}}}}",
            [
                record("edr", {K: 1.0, 16 * K: 6.0}, "osu/osu_latency"),
                record("fdr", {K: 1.5, 16 * K: 7.0}, "osu/osu_latency"),
            ],
            "fail",
            "LAT-F is not ahead of LAT-E from 16 KiB on: 7.000 against 6.000 us at 16 KiB",
        ),
        (
            f"{{form: crossover, of: {LA}, to: {LB}, between: {{from: 8K, to: 16K}}}}",
            [record("edr", {K: 1.0}, "osu/osu_latency"), record("fdr", {K: 1.5}, "osu/osu_latency")],
            "fail",
            "no common size from 16 KiB, so the crossing between 8 KiB and 16 KiB cannot be seen",
        ),
        # Both ends of "between" belong to the sides that lead there.
        (
            f"{{form: crossover, of: {LA}, to: {LB}, between: {{from: 8K, to: 16K}}}}",
            [
                record("edr", {K: 1.0, 8 * K: 4.0, 16 * K: 9.0}, "osu/osu_latency"),
                record("fdr", {K: 1.5, 8 * K: 3.0, 16 * K: 7.0}, "osu/osu_latency"),
            ],
            "fail",
            "LAT-E is not ahead of LAT-F up to 8 KiB: 4.000 against 3.000 us at 8 KiB",
        ),
        (
            f"{{form: difference, of: {LB}, to: {LA}, low: 0.2}}",
            [record("edr", {8: 1.0}, "osu/osu_latency"), record("fdr", {8: 1.1}, "osu/osu_latency")],
            "fail",
            "LAT-F less LAT-E is 0.1 us at 8 B, expected at least 0.2 us",
        ),
        # A hop and another: (1.40 - 0.99) exceeds (1.10 - 0.89) by 0.2 us.
        *(
            (
                f"{{form: difference, of: {LB}, to: {LA}, than: {{of: {OB}, to: {OA}}}, low: 0.1, high: 0.3}}",
                [
                    *(record("fdr", {8: hop}, "osu/osu_latency"), record("edr", {8: 0.99}, "osu/osu_latency")),
                    record("fdr", {8: 1.1}, "osu/osu_latency", stack="openmpi"),
                    record("edr", {8: 0.89}, "osu/osu_latency", stack="openmpi"),
                ],
                state,
                f"LAT-F less LAT-E exceeds {OTHER.format('fdr')} less {OTHER.format('edr')} by {excess} us at 8 B, "
                "expected at least 0.1 and at most 0.3 us",
            )
            for hop, state, excess in ((1.4, "pass", "0.2"), (1.25, "fail", "0.05"), (1.6, "fail", "0.4"))
        ),
        (
            f"{{form: difference, of: {LB}, to: {LA}, than: {{of: {OB}, to: {OA}}}, low: 0.1}}",
            [
                *(record("fdr", {8: 1.4}, "osu/osu_latency"), record("edr", {8: 0.99}, "osu/osu_latency")),
                record("fdr", {8: 1.1}, "osu/osu_latency", stack="openmpi"),
            ],
            "not-judged",
            f"not judged: side {OTHER.format('edr')} is missing",
        ),
        (
            f"{{form: difference, of: {LB}, to: {LA}, than: {{of: {OB}, to: {OA}}}, low: 0.1}}",
            [
                *(record("fdr", {8: 1.4}, "osu/osu_latency"), record("edr", {8: 0.99}, "osu/osu_latency")),
                record("fdr", {8: 1.1}, "osu/osu_latency", stack="openmpi"),
                record("edr", {16: 0.89}, "osu/osu_latency", stack="openmpi"),
            ],
            "fail",
            f"the sides have no message size in common: LAT-F has 8 B, LAT-E 8 B, {OTHER.format('fdr')} 8 B, "
            f"{OTHER.format('edr')} 16 B",
        ),
        (
            f"{{form: same, of: {A}, to: {B}, within: 0.02}}",
            [record("edr", {M: 101.0}), record("fdr", {M: 100.0})],
            "pass",
            "BW-E and BW-F do not differ by more than 2.00%: at worst 101.0 against 100.0 MB/s at 1 MiB, 1.00% "
            "apart; 1 run per side cannot show smaller ones",
        ),
        (
            f"{{form: same, of: {A}, to: {B}, within: 0.02}}",
            [record("edr", {M: 103.0}), record("fdr", {M: 100.0})],
            "fail",
            "BW-E and BW-F differ by more than 2.00%: at worst 103.0 against 100.0 MB/s at 1 MiB, 3.00% apart; 1 run "
            "per side cannot show smaller ones",
        ),
        (
            f"{{form: same, of: {A}, to: {B}, within: 0.02}}",
            [record(f, {M: v}) for f in ("edr", "fdr") for v in (100.0, 103.0, 106.0)],
            "not-judged",
            "not judged: cannot tell: a difference of 2.00% cannot be seen in repeats that spread by 5.83%",
        ),
        # One run shows no difference of less than 2 %; three that spread by less than the difference do.
        *(
            (f"{{form: same, of: {A}, to: {B}, within: 0.0033}}", records, state, sentence)
            for records, state, sentence in (
                (
                    [record("edr", {M: 100.3}), record("fdr", {M: 100.0})],
                    "not-judged",
                    "not judged: cannot tell: 1 run per side cannot show a difference of 0.33%, 3 may (--repeat)",
                ),
                (
                    [record(f, {M: v + lead}) for f, lead in (("edr", 0.3), ("fdr", 0.0)) for v in (99.9, 100, 100.1)],
                    "pass",
                    "BW-E and BW-F do not differ by more than 0.33%: at worst 100.3 against 100.0 MB/s at 1 MiB, 0.30% "
                    "apart; differences under 0.20%, the spread of the repeats, could not have been seen",
                ),
                (
                    [record(f, {M: v + lead}) for f, lead in (("edr", 0.6), ("fdr", 0.0)) for v in (99.9, 100, 100.1)],
                    "fail",
                    "BW-E and BW-F differ by more than 0.33%: at worst 100.6 against 100.0 MB/s at 1 MiB, 0.60% "
                    "apart; differences under 0.20%, the spread of the repeats, could not have been seen",
                ),
            )
        ),
        (
            f"{{form: spread, of: {A}, high: 0.05}}",
            [record("edr", {M: v}) for v in (100.0, 103.0, 106.0)],
            "fail",
            "BW-E spreads by 5.8% over 3 runs at 1 MiB, more than 5.0%",
        ),
        (
            f"{{form: spread, of: {A}, high: 0.05}}",
            [record("edr", {M: v}) for v in (100.0, 103.0)],
            "not-judged",
            "not judged: BW-E ran 2 times, a spread needs 3 (--repeat)",
        ),
        (
            f"{{form: spread, of: {A}, to: {B}}}",
            [record("edr", {M: v}) for v in (100.0, 103.0, 106.0)]
            + [record("fdr", {M: v}) for v in (100.0, 100.5, 101.0)],
            "pass",
            "BW-E spreads by 5.8% over 3 runs at 1 MiB, BW-F by 1.0%",
        ),
    ],
)
def test_each_form_holds_and_breaks(
    tmp_path: Path, relation: str, records: list[Record], state: str, sentence: str
) -> None:
    found, said = one(tmp_path, relation, records)
    for full, short in SHORT.items():
        said = said.replace(full, short)
    assert (found, said) == (state, sentence)


WRF_A, WRF_B = (side.replace("osu/osu_bw", "wrf/wrf/conus12km-v3/4-nodes") for side in (A, B))
WRF = "wrf/wrf/conus12km-v3/4-nodes over {} with hpcx"


@pytest.mark.parametrize(
    ("form", "times", "state", "sentence"),
    [
        ("form: ahead", (1279, 1319), "pass", "{A} is ahead of {B}: 1279 against 1319 s"),
        ("form: ahead", (1319, 1279), "fail", "{A} is not ahead of {B}: 1319 against 1279 s"),
        (
            *("form: same, within: 0.073", (1852, 1727), "pass"),
            "{A} and {B} do not differ by more than 7.30%: 1852 against 1727 s, 7.24% apart; 1 run per side cannot "
            "show smaller ones",
        ),
        (
            *("form: same, within: 0.072", (1852, 1727), "fail"),
            "{A} and {B} differ by more than 7.20%: 1852 against 1727 s, 7.24% apart; 1 run per side cannot show "
            "smaller ones",
        ),
        ("form: ratio, high: 1", (1279, 1319), "pass", "{A} is 0.97 times {B}, expected at most 1"),
    ],
)
def test_figures_of_applications_are_compared_without_a_message_size(
    tmp_path: Path, form: str, times: tuple[float, float], state: str, sentence: str
) -> None:
    runs = [
        record(fabric, {}).with_fields(benchmark="wrf/wrf/conus12km-v3/4-nodes",
                            curves=(CurveRecord("runtime", "s", (0,), (time,)),))
        for fabric, time in zip(("edr", "fdr"), times, strict=True)
    ]  # fmt: skip
    expected = sentence.format(A=WRF.format("edr"), B=WRF.format("fdr"))
    assert one(tmp_path, f"{{{form}, of: {WRF_A}, to: {WRF_B}}}", runs) == (state, expected)


def test_the_spread_of_a_figure_has_no_message_size(tmp_path: Path) -> None:
    runs = [
        record("edr", {}).with_fields(benchmark="wrf/wrf/conus12km-v3/4-nodes",
                            curves=(CurveRecord("runtime", "s", (0,), (time,)),))
        for time in (1279, 1319, 1299)
    ]  # fmt: skip
    assert one(tmp_path, f"{{form: spread, of: {WRF_A}, high: 0.05}}", runs) == (
        "pass",
        f"{WRF.format('edr')} spreads by 3.1% over 3 runs, expected at most 5.0%",
    )


def test_a_stack_that_is_left_open_is_judged_once_a_stack(tmp_path: Path) -> None:
    both = "{form: ahead, of: {fabric: edr, benchmark: osu/osu_bw}, to: {fabric: fdr, benchmark: osu/osu_bw}}"
    records = [record(f, {M: v}, stack=s) for f, v in (("edr", 2.0), ("fdr", 1.0)) for s in ("hpcx", "openmpi")]
    found = relations.judge(references(tmp_path, both), [*records[:3], record("fdr", {M: 3.0}, stack="openmpi")])
    assert [(each.stack, each.state) for each in found] == [("hpcx", "pass"), ("openmpi", "fail")]
    (alone,) = relations.judge(references(tmp_path, both), [records[0], records[3]])
    assert (alone.state, alone.sentence) == (
        "not-judged",
        "not judged: no stack ran on both sides: osu/osu_bw over edr with hpcx and osu/osu_bw over fdr with openmpi",
    )
    named = (
        "{form: ahead, of: {fabric: edr, stack: hpcx, benchmark: osu/osu_bw}, to: {fabric: fdr, benchmark: osu/osu_bw}}"
    )
    (open_,) = relations.judge(references(tmp_path, named), records)
    assert (
        open_.sentence
        == "not judged: osu/osu_bw over fdr ran with hpcx and openmpi, and the relation does not name one"
    )


def test_rails_policy_and_system_tell_sides_apart(tmp_path: Path) -> None:
    two = A.replace("benchmark", "rails: 2, policy: round-robin, benchmark")
    relation = f"{{form: ahead, of: {two}, to: {A}}}"
    striped = record("edr", {M: 200.0}, rails=2, policy="striping")
    single = record("edr", {M: 100.0})
    assert one(tmp_path, relation, [single, striped]) == (
        "not-judged",
        "not judged: side osu/osu_bw over 2 rails of edr with hpcx, round-robin is missing",
    )
    turned = striped.with_fields(policy="round-robin")
    assert one(tmp_path, relation, [single, turned])[0] == "pass"
    elsewhere = turned.with_fields(system="other")
    assert one(tmp_path, relation, [single, elsewhere])[0] == "not-judged"


def test_the_median_of_repeats_is_compared(tmp_path: Path) -> None:
    records = [record("edr", {M: v}) for v in (10.0, 12400.0, 12500.0)] + [record("fdr", {M: 6300.0})]
    assert one(tmp_path, RATIO, records)[0] == "pass"


def test_a_relation_carries_its_source(tmp_path: Path) -> None:
    (found,) = relations.judge(references(tmp_path, RATIO), [EDR, FDR])
    assert found == RelationRecord("r", "it is so", "ratio", "pass", found.sentence, "a blog, 2016-02-02")


def edr_run(*values: float) -> list[Record]:
    """Return one run over EDR: MB/s at 4, 8, 16, 32 KiB …"""
    return [record("edr", {4 * K << place: value for place, value in enumerate(values)})]


DIP = f"{{form: dip, of: {A}, sizes: {{from: 8K, to: 16K}}, by: 0.02, margin_reason: a graph}}"
FALL = f"{{form: fall, of: {A}, sizes: {{from: 16K}}, by: 0.1, margin_reason: a graph}}"
PEAK = f"{{form: peak, of: {A}, between: {{from: 16K}}}}"
NAME = "osu/osu_bw over edr with hpcx"


@pytest.mark.parametrize(
    ("relation", "values", "state", "sentence"),
    [
        (DIP, (10, 20, 18, 30), "pass", "dips: 18.00 MB/s at 16 KiB is 10.0% below the 20.00 MB/s at 8 KiB"),
        (DIP, (20, 18, 19, 30), "pass", "dips: 18.00 MB/s at 8 KiB is 10.0% below the 20.00 MB/s at 4 KiB"),
        (DIP, (10, 20, 25, 30), "fail", "does not dip from 8 KiB to 16 KiB: 25.00 MB/s at 16 KiB is 25.0% above"),
        (DIP, (10, 20, 19.7, 30), "fail", "does not dip from 8 KiB to 16 KiB: 19.70 MB/s at 16 KiB is 1.5% below the"),
        # a drop that stays is not a dip, and one outside the range does not count
        (DIP, (10, 20, 18, 19), "fail", "falls and does not come back: 18.00 MB/s at 16 KiB is 10.0% below the 20.00"),
        (
            DIP,
            (10, 20, 25, 30, 12, 40),
            "fail",
            "does not dip from 8 KiB to 16 KiB: 25.00 MB/s at 16 KiB is 25.0% above",
        ),
        (FALL, (10, 20, 18, 17), "pass", "falls from 16 KiB: 18.00 MB/s at 16 KiB is 10.0% below the 20.00 MB/s at 8"),
        (FALL, (10, 20, 18, 19), "fail", "does not fall from 16 KiB: 19.00 MB/s at 32 KiB is 5.0% below the 20.00"),
        (FALL, (10, 20), "fail", "has no message size from 16 KiB after another one, where it should fall"),
        (PEAK, (10, 20, 30, 25), "pass", "has its peak, 30.00 MB/s at 16 KiB; expected a peak from 16 KiB"),
        (PEAK, (10, 40, 30, 25), "fail", "has its peak, 40.00 MB/s at 8 KiB; expected a peak from 16 KiB"),
        (PEAK, (10, 20), "fail", "has its peak, 20.00 MB/s at 8 KiB; expected a peak from 16 KiB"),
    ],
)
def test_the_shape_of_one_curve(
    tmp_path: Path, relation: str, values: tuple[float, ...], state: str, sentence: str
) -> None:
    found, told = one(tmp_path, relation, edr_run(*values))
    assert (found, told.startswith(f"{NAME} {sentence}")) == (state, True), told


def test_a_named_source_is_written_out_with_an_entrys_own_fields_above(tmp_path: Path) -> None:
    first, second = references(tmp_path, RATIO).entries
    assert first.source.cite() == "a blog, figure 2, 2016-02-02"
    assert first.source.conditions == {"turbo": "enabled", "snoop": "early"}
    assert second.source.conditions == {"turbo": "enabled", "snoop": "home"}


@pytest.mark.parametrize(
    ("relation", "sentence"),
    [
        (
            "{form: ratio, of: edr-bw, to: fdr-bw, low: 1, sizes: {to: 2M}}",
            "relations[0].of: found sides with no message size in common within sizes (edr-bw: 1 MiB, 4 MiB; fdr-bw: "
            "2 MiB, 4 MiB), expected at least one size that both sides have; name other sides or sizes",
        ),
        (
            "{form: ratio, of: edr-bw, to: fdr-bw}",
            "relations[0]: found no low or high, expected one in a relation of the form ratio",
        ),
        (
            "{form: ahead, of: edr-bw}",
            "relations[0]: found no to, expected one in a relation of the form ahead",
        ),
        (
            "{form: ahead, of: edr-bw, to: fdr-bw, within: 0.1}",
            "relations[0].within: found the field within, expected only by, to, where in the form ahead; leave it out",
        ),
        (
            "{form: ahead, of: edr-bv, to: fdr-bw}",
            'relations[0].of: found "edr-bv", expected the id of an entry, or a side; did you mean "edr-bw"?',
        ),
        (
            "{form: ratio, of: edr-bw, to: fdr-bw, low: 2, high: 1}",
            "relations[0].high: found 1, expected at least 2, which is low",
        ),
        (
            f"{{form: ahead, of: {A}, to: {LB}}}",
            "relations[0].to: found latency beside bandwidth, expected the same metric on both sides",
        ),
        (
            f"{{form: ahead, of: edr-bw, to: {A}}}",
            "relations[0].to: found the same side twice, expected two sides that differ",
        ),
        (
            f"{{form: ahead, of: {A.replace('edr', 'edd')}, to: {B}}}",
            'relations[0].of.fabric: found "edd", expected a fabric of site; did you mean "edr"?',
        ),
        (
            f"{{form: ahead, of: {A}, to: {B.replace('benchmark', 'rails: 2, benchmark')}}}",
            "relations[0].to.rails: found 2, expected at most 1, the rails that fdr has",
        ),
        (
            f"{{form: ahead, of: {A.replace('osu_bw', 'osu_bm')}, to: {B}}}",
            'relations[0].of.benchmark: found "osu/osu_bm", expected a benchmark that '
            'Railyard knows; did you mean "osu/osu_bw"?',
        ),
        (
            f"{{form: ahead, of: {A.replace('osu/osu_bw', 'installed/gamess/4-nodes')}, to: {B}}}",
            'relations[0].of.benchmark: found "installed/gamess/4-nodes", expected installed/ and an application of '
            "site; none are known",
        ),
        (
            f"{{form: crossover, of: {A}, to: {B}, between: {{from: 8K}}}}",
            "relations[0].between: found an open end, expected both from and to: the curves cross between them",
        ),
        (
            f"{{form: dip, of: {LA}, by: 0.1, margin_reason: a graph}}",
            "relations[0].of: found latency, expected a metric for which more is better in the form dip",
        ),
        (
            f"{{form: fall, of: {A}, by: 0.1}}",
            "relations[0]: found no margin_reason, expected one in a relation of the form fall",
        ),
        (
            f"{{form: fall, of: {A}, by: 1.5, margin_reason: a graph}}",
            "relations[0].by: found 1.5, expected a fraction above 0 and below 1: how far a fall is below the best "
            "value before it",
        ),
        (
            f"{{form: peak, of: {A}, to: {B}, between: {{from: 8K}}}}",
            "relations[0].to: found the field to, expected only between in the form peak; leave it out",
        ),
        (
            f"{{form: ahead, of: {LB}, to: {LA}, than: {{of: {OB}, to: {OA}}}}}",
            "relations[0].than: found the field than, expected only by, to, where in the form ahead; leave it out",
        ),
        (
            f"{{form: difference, of: {LB}, to: {LA}, than: {{of: {A}, to: {OA}}}, low: 0.1}}",
            "relations[0].than.of: found bandwidth beside latency, expected the same metric on both sides",
        ),
        (
            f"{{form: difference, of: {LB}, to: {LA}, than: {{of: {OB}, to: {LA}}}, low: 0.1}}",
            "relations[0].than.to: found the same side twice, expected two sides that differ",
        ),
        (
            f"{{form: difference, of: {LB}, to: {LA}, than: {{of: {OB}, to: edr-bv}}, low: 0.1}}",
            'relations[0].than.to: found "edr-bv", expected the id of an entry, or a side; did you mean "edr-bw"?',
        ),
        (
            f"{{form: faster, of: {A}, to: {B}}}",
            'relations[0].form: found "faster", expected a known value; known: ahead, crossover, difference, dip, '
            "fall, peak, ratio, same, spread",
        ),
    ],
)
def test_what_is_refused_and_how(tmp_path: Path, relation: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        references(tmp_path, relation)
    where, _, said = str(caught.value).partition(" ")
    assert said == sentence
    assert where.startswith("references/site.yaml:") and int(where.split(":")[1]) >= 9


def test_a_source_that_is_not_there_is_refused(tmp_path: Path) -> None:
    references(tmp_path, RATIO)
    path = tmp_path / "references" / "site.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("of: blog, at", "of: blob, at"), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        load_references(path, load_system(tmp_path / "systems" / "site.yaml"))
    assert str(caught.value) == (
        'references/site.yaml:6: entries[0].source.of: found "blob", expected a source of this file; '
        'did you mean "blog"?'
    )


def test_no_relation_is_judged_of_a_rehearsal(tmp_path: Path) -> None:
    found = references(tmp_path, RATIO)
    (result,) = relations.judge(found, [made_record(system="site", rehearsal="a rehearsal")])
    assert (result.state, result.sentence) == (
        "not-judged",
        "not judged: a rehearsal makes its figures from the references themselves, one curve at a time",
    )


@pytest.mark.parametrize(
    ("says", "relation", "sentence"),
    [
        pytest.param(
            *("EDR is nearly FDR", f"{{form: ahead, of: {A}, to: {B}}}"),
            'found a relation without a margin, expected a margin, since it says "nearly"; give it one of low, high, '
            "by, between and within, or sizes, and say why in margin_reason",
            marks=pytest.mark.fault(
                "reference", 'a relation that says "nearly" and has no margin', "found a relation without a margin"
            ),
        ),
        (
            *("EDR is significantly better than FDR", f"{{form: ahead, of: {A}, to: {B}}}"),
            'found a relation without a margin, expected a margin, since it says "significantly"; give it one of low, '
            "high, by, between and within, or sizes, and say why in margin_reason",
        ),
        (
            *("EDR is about FDR", f"{{form: same, of: {A}, to: {B}, within: 0.1}}"),
            'found a margin without a reason, expected a margin_reason, since it says "about"; say why the margin '
            "has this value",
        ),
    ],
)
def test_who_says_about_says_how_far_and_why(tmp_path: Path, says: str, relation: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        references(tmp_path, relation, says)
    assert str(caught.value).partition(" relations[0].says: ")[2] == sentence
    reasoned = relation.replace("}}", "}, within: 0.1, margin_reason: a graph}").replace("form: ahead", "form: same")
    if "within: 0.1}" in relation:
        reasoned = relation.replace("within: 0.1}", "within: 0.1, margin_reason: a graph}")
    assert references(tmp_path, reasoned, says).relations[0].margin_reason == "a graph"
