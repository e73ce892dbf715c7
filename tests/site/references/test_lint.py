"""`railyard lint`: contradictions are problems, gaps are remarks, and a broken file is refused."""

import json
from datetime import date
from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.base.paths import HOME_VARIABLE
from railyard.base.wording import IMPOSSIBLE
from railyard.benchmarks import wording as gpu_words
from railyard.cli.main import main
from railyard.site.matrix import Need
from railyard.site.references.lint import findings
from railyard.site.references.load import References, load_references
from railyard.site.systems.load import load_system, load_systems

SITE = """\
system: site
description: A cluster
modules_system: lmod
nodes: {count: 16}
fabrics:
  qdr: {description: QDR, kind: ib, link: ib-qdr, rails: [{device: mlx4_0, counters: mlx4}]}
  fdr: {description: FDR, kind: ib, link: ib-fdr, rails: [{device: mlx4_1, counters: mlx4}]}
stacks:
  hpcx: {modules: [hpcx], benchmarks: {osu: /opt/osu}}
"""
TABLE = """\
system: site
sources:
  blog: {document: a blog, date: 2016-02-02}
entries:
  - {id: qdr-bw, fabric: qdr, stack: hpcx, rails: 1, benchmark: osu/osu_bw, metric: bandwidth, unit: MB/s,
     kind: published, curve: {4M: 3300}, tolerance: {low: 0.03}, source: {of: blog}}
  - {id: fdr-bw, fabric: fdr, stack: hpcx, rails: 1, benchmark: osu/osu_bw, metric: bandwidth, unit: MB/s,
     kind: published, curve: {4M: 6300}, tolerance: {low: 0.03}, source: {of: blog}}
  - {id: fdr-put, fabric: fdr, benchmark: osu/osu_put_bw, metric: bandwidth, unit: MB/s,
     kind: published, value: 6300, tolerance: {low: 0.03}, source: {of: blog}}
relations:
  - id: doubled
    says: FDR is twice QDR
    form: ratio
    of: fdr-bw
    to: qdr-bw
    low: 1.8
    high: 2.0
    source: {of: blog}
"""


def need(check: str, benchmark: str) -> Need:
    return Need(check=check, tool="osu", benchmark=benchmark, nodes=2)


TODAY = date(2026, 11, 23)
NEEDS = [
    need("OsuBandwidth", "osu/osu_bw"),
    need("OsuLatency", "osu/osu_latency"),
    need("OsuInit", "osu/osu_init"),  # only reported, so nothing is missing
]


def references(folder: Path, table: str = TABLE) -> References:
    for name, text in (("systems", SITE), ("references", table)):
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "site.yaml").write_text(text, encoding="utf-8")
    return load_references(folder / "references" / "site.yaml", load_system(folder / "systems" / "site.yaml"))


def test_gaps_are_remarks(tmp_path: Path) -> None:
    found = findings(references(tmp_path), NEEDS, TODAY)
    assert [(each.where, each.weight, each.what) for each in found] == [
        ("site", "remark", "fdr-put: no check that runs here measures osu/osu_put_bw over fdr"),
        (
            *("site", "remark"),
            "osu/osu_latency: no entry on qdr with hpcx over 1 rail and fdr with hpcx over 1 rail",
        ),
        (
            *("site", "remark"),
            "no reference bounds the bandwidth at 1 B to 2 MiB of osu/osu_bw (1 test): bound them, or say in unbounded "
            "why not",
        ),
        (
            *("site", "remark"),
            "no reference bounds the bandwidth at 1 B to 512 KiB of osu/osu_bw (1 test): bound them, or say in "
            "unbounded why not",
        ),
    ]


def conditions_refused(folder: Path, stated: str) -> list[str]:
    table = TABLE.replace("date: 2016-02-02}", f"date: 2016-02-02, conditions: {{{stated}, smt: disabled}}}}")
    return [each.what for each in findings(references(folder, table), NEEDS, TODAY) if each.weight == "problem"]


@pytest.mark.fault(
    "reference",
    "a condition of a source that nobody can read",
    'turbo: found "sometimes", expected enabled or disabled; put into note what these words cannot say',
)
def test_a_condition_that_nobody_can_read_is_a_problem_said_once(tmp_path: Path, promise: str) -> None:
    assert conditions_refused(tmp_path, "turbo: sometimes") == [f"qdr-bw and 3 others: source.conditions: {promise}"]


@pytest.mark.parametrize(
    ("stated", "sentence"),
    [
        (
            "snop-mode: early",
            'found the condition "snop-mode", expected a known one (did you mean "snoop-mode"?); put into note what '
            "these words cannot say",
        ),
        ("firmware: 1.2.3", 'found "firmware" among the conditions, expected firmware as a field of the source itself'),
    ],
)
def test_a_condition_of_no_known_name_is_a_problem(tmp_path: Path, stated: str, sentence: str) -> None:
    assert conditions_refused(tmp_path, stated) == [f"qdr-bw and 3 others: source.conditions: {sentence}"]


def test_a_relation_that_its_own_figures_break_is_a_problem(tmp_path: Path) -> None:
    first = findings(references(tmp_path, TABLE.replace("high: 2.0", "high: 1.9")), NEEDS, TODAY)[0]
    assert (first.weight, first.what) == (
        "problem",
        "doubled: the entries' own figures break it: osu/osu_bw over fdr with hpcx is 1.91 times osu/osu_bw over qdr "
        "with hpcx at 4 MiB, expected at least 1.8 and at most 1.9",
    )


def test_a_published_figure_above_the_limit_is_refused_without_a_note_and_a_problem_with_one(tmp_path: Path) -> None:
    above = TABLE.replace("{4M: 6300}", "{4M: 6900}").replace("high: 2.0", "high: 2.2")
    with pytest.raises(InputError) as caught:
        references(tmp_path, above)
    assert str(caught.value).startswith(
        "references/site.yaml:8: entries[1].curve: found 6900 MB/s, above the physical limit of 1 rail, expected at "
        "most 6775.2 MB/s ("
    )
    noted = above.replace("4M: 6900}, tolerance: {low: 0.03}, source: {of: blog}", "4M: 6900}, tolerance: {low: 0.03}, "
                          "source: {of: blog, note: as printed}")  # fmt: skip
    first = findings(references(tmp_path, noted), NEEDS, TODAY)[0]
    assert first.weight == "problem"
    assert first.what.startswith("fdr-bw: 6900 MB/s is above the physical limit, 6775.2 MB/s (")
    assert first.what.endswith("): rule 3 fails every run that reaches it")


@pytest.mark.parametrize(
    "change",
    [
        ("", "a curve beside a curve with a size in common"),
        ("curve: {4M: 6250, 8M: 6200}", "a curve with one size in common"),
        ("value: 6250", "a value for all sizes"),
    ],
    ids=lambda change: change[1],
)
def test_two_entries_for_the_same_thing_are_refused(tmp_path: Path, change: tuple[str, str]) -> None:
    start = TABLE.index("  - {id: fdr-bw")
    twin = TABLE[start : TABLE.index("  - {id: fdr-put")].replace("fdr-bw", "twin")
    twin = twin.replace("curve: {4M: 6300}", change[0]) if change[0] else twin
    with pytest.raises(InputError) as caught:
        references(tmp_path, TABLE.replace("relations:", f"{twin}relations:"))
    assert str(caught.value) == (
        'references/site.yaml:11: entries[3]: found "twin", a second published entry, expected one entry for each '
        "thing (fdr-bw in line 7 is already for this one); remove one, or say how they differ (stack, rails, "
        "policy, sizes)"
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("id: twin", "id: twin, policy: striping"),
        ("kind: published", "kind: contract"),
        ("curve: {4M: 6300}", "curve: {2M: 6300}"),
        ("curve: {4M: 6300}", "value: 6300, sizes: {to: 1M}"),
        ("fabric: fdr", "fabric: qdr, directions: 2"),
    ],
)
def test_what_tells_two_entries_apart(tmp_path: Path, old: str, new: str) -> None:
    start = TABLE.index("  - {id: fdr-bw")
    twin = TABLE[start : TABLE.index("  - {id: fdr-put")].replace("fdr-bw", "twin").replace(old, new)
    policed = TABLE.replace("id: fdr-bw", "id: fdr-bw, policy: single")
    assert len(references(tmp_path, policed.replace("relations:", f"{twin}relations:")).entries) == 4


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    references(tmp_path)
    (tmp_path / "checks").mkdir()
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    return tmp_path


def test_the_command_counts_and_its_exit_code_is_that_of_the_worst(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lint"]) == 0
    assert capsys.readouterr().out == (
        "site: remark: qdr-bw: no check that runs here measures osu/osu_bw over qdr, 1 rail, hpcx\nsite: remark: "
        "fdr-bw: no check that runs here measures osu/osu_bw over fdr, 1 rail, hpcx\nsite: remark: fdr-put: no check "
        "that runs here measures osu/osu_put_bw over fdr\nsite: remark: doubled: no check here measures osu/osu_bw\n"
        "3 entries of 1 system: 0 files refused, 0 problems, 4 remarks\n"
    )
    path = home / "references" / "site.yaml"
    path.write_text(TABLE.replace("high: 2.0", "high: 1.9"), encoding="utf-8")
    assert main(["lint", "--system", "site", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["entries"], told["errors"], [each["weight"] for each in told["findings"]]) == (
        3,
        [],
        ["problem", "remark", "remark", "remark", "remark"],
    )
    path.write_text(TABLE.replace("unit: MB/s", "unit: GB/s", 1), encoding="utf-8")
    assert main(["lint"]) == 2
    answer = capsys.readouterr()
    assert answer.err == (
        'railyard: references/site.yaml:5: entries[0].unit: found "GB/s", expected "MB/s", the unit of bandwidth; '
        "convert the numbers to MB/s\n"
    )
    assert answer.out == "0 entries of 1 system: 1 file refused, 0 problems, 0 remarks\n"


@pytest.mark.fault(
    "reference",
    "an open range of sizes closed at 1 MiB",
    "no reference bounds the bandwidth at 1 B to 512 KiB and 2 MiB to 4 MiB of osu/osu_bw (1 test)",
)
def test_a_large_message_without_a_bound_is_a_problem(tmp_path: Path, promise: str) -> None:
    table = TABLE[: TABLE.index("relations:")]
    open_range = table.replace("curve: {4M: 3300}", "value: 3300, sizes: {from: 1M}")
    assert not [each for each in findings(references(tmp_path, open_range), NEEDS, TODAY) if each.weight == "problem"]
    closed = open_range.replace("{from: 1M}", "{from: 1M, to: 1M}")
    first = findings(references(tmp_path, closed), NEEDS, TODAY)[0]
    assert (first.weight, first.what) == ("problem", promise)


def test_references_for_what_spack_builds_where_it_is_asked_for_are_used(tmp_path: Path) -> None:
    built = "spack: {benchmarks: [osu], use: asked}"
    site = SITE.replace("benchmarks: {osu: /opt/osu}}", f"absent: {{osu: built alone}}, {built}}}")
    references(tmp_path)
    (tmp_path / "systems" / "site.yaml").write_text(site, encoding="utf-8")
    installed, with_spack = (
        load_systems(tmp_path / "systems", asked_for_spack=asked)["site"] for asked in (False, True)
    )
    read = load_references(tmp_path / "references" / "site.yaml", installed)
    lost = "doubled: it can never be judged, since no test gives its side osu/osu_bw over fdr with hpcx: built alone"
    unused = "qdr-bw: no check that runs here measures osu/osu_bw over qdr, 1 rail, hpcx"
    assert {unused, lost} <= {one.what for one in findings(read, NEEDS, TODAY)}
    found = [one.what for one in findings(read, NEEDS, TODAY, with_spack)]
    assert not {unused, lost} & set(found)
    # What it leaves open is checked there too, and nothing is reported twice.
    assert len([what for what in found if "no reference bounds" in what]) == 2
    assert len(found) == len(set(found))


def test_nothing_is_remarked_of_the_own_files(capsys: pytest.CaptureFixture[str]) -> None:
    """If a changed file leaves sizes of a system without a bound, this test and a site's CI notice it."""
    assert main(["lint"]) == 0
    told = capsys.readouterr().out
    assert told.splitlines()[:-1] == []
    assert told.endswith(" 0 files refused, 0 problems, 0 remarks\n")


KNOWN = """\
expected_failures:
  - {fabric: fdr, benchmark: osu/osu_bw, reason: "cable of n7, ticket 12", expires: 2026-11-22}
"""


def test_an_expected_failure_that_has_expired_is_a_remark(tmp_path: Path) -> None:
    said = "expected failure of osu/osu_bw over fdr (cable of n7, ticket 12): it expired on 2026-11-22, so remove it"
    assert said in [each.what for each in findings(references(tmp_path, TABLE + KNOWN), NEEDS, TODAY)]
    assert said not in [each.what for each in findings(references(tmp_path, TABLE + KNOWN), NEEDS, date(2026, 11, 22))]


#: Relations with a side that no test of these systems gives, and claims that depend on them.
LOST = """\
  - id: striped
    says: two put bandwidths
    form: ahead
    of: {fabric: fdr, stack: hpcx, benchmark: osu/osu_bw}
    to: {fabric: qdr, stack: hpcx, policy: striping, benchmark: osu/osu_bw}
    source: {of: blog}
  - id: computed
    says: two solutions
    form: ahead
    of: {fabric: fdr, stack: hpcx, benchmark: hpl/hpl}
    to: {fabric: qdr, stack: hpcx, benchmark: hpl/hpl}
    source: {of: blog}
claims:
  - {says: striping loses, of: blog, at: text, held_by: [striped]}
  - {says: FDR puts 6.3 GB/s, of: blog, at: text, held_by: [fdr-put]}
  - {says: FDR streams 6.3 GB/s, of: blog, at: text, held_by: [fdr-bw, striped]}
"""


@pytest.mark.fault(
    "reference",
    "a relation with a side that no system can have",
    "striped: it can never be judged, since no test gives",
)
def test_what_can_never_be_judged_is_a_problem_and_so_is_a_claim_that_it_alone_holds(
    tmp_path: Path, promise: str
) -> None:
    hpl = Need(check="Hpl", tool="hpl", benchmark="hpl/hpl", nodes=2)
    found = findings(references(tmp_path, TABLE + LOST), [*NEEDS, hpl], TODAY)
    problems = [one.what for one in found if one.weight == "problem"]
    assert problems == [
        "striped: it can never be judged, since no test gives its side osu/osu_bw over qdr with hpcx, striping: no "
        "test has such a place and policy",
        "computed: it can never be judged, since no test gives its side hpl/hpl over fdr with hpcx: site states no "
        "hpl for hpcx",
        'the claim "striping loses": striped can never be judged, so nothing holds the claim: say why in not_held',
        'the claim "FDR puts 6.3 GB/s": fdr-put can never be judged, so nothing holds the claim: say why in not_held',
    ]
    assert promise in problems[0]


def test_a_published_number_that_cannot_be_is_refused(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = home / "references" / "classes"
    folder.mkdir()
    (folder / "some.yaml").write_text(
        """\
class: some
description: A class
node: gpus=8,nvlink=4
numbers:
  - {id: a, collective: all_gather, kind: published, nodes: 1, peak: 480, source: {document: A, date: 2026-01-01}}
""",
        encoding="utf-8",
    )
    assert main(["lint"]) == 2
    answer = capsys.readouterr()
    carried = gpu_words.carries("the NVLink links of a GPU (450.0 GB/s)", 0.875, "all_gather")
    assert answer.err == (
        f"railyard: references/classes/some.yaml:5: numbers[0].peak: found 480 GB/s, which is {IMPOSSIBLE}busbw 480.0 "
        f"GB/s of all_gather on 1 node of 8 GPUs is 106.7 % of what any algorithm can show: {carried}, and busbw is "
        "0.8750 S/t: 450.0 GB/s; source NVIDIA, "
        "NVLink and NVLink Switch, nvidia.com/en-us/data-center/nvlink: 900 GB/s both ways over 18 links; at most "
        "102.0 % is believed, expected a possible value; or kind: bad-case\n"
    )
    assert "1 file refused" in answer.out
    # It does not fail the lint of one system alone.
    assert main(["lint", "--system", "site"]) == 0
