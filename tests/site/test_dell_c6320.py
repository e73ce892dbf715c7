"""The published system dell-c6320: its figures, its verdicts on curves of its own and of other links, its matrix."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.base.wording import IMPOSSIBLE
from railyard.benchmarks.table.micro import find, metric
from railyard.cli.main import main
from railyard.parsers.output import Cell, ParsedOutput, Table
from railyard.site.site import Site, site_at
from railyard.site.test_id import TestId
from railyard.verdict.stored_outputs.judge import judge
from railyard.verdict.stored_outputs.judgement import Judgement
from railyard.verdict.stored_outputs.system_target import of_system
from railyard.verdict.wording.reference import own_condition
from tests.made.words import below_words

ROOT = Path(__file__).resolve().parents[2]
SIZES = tuple(2**n for n in range(23))
SMALLEST, PAGE, LARGEST = 1, 4096, 4 << 20

#: The source's figures: fabric, benchmark, metric, message size, value. GB/s of the source are 10^9 B/s.
PUBLISHED = [
    ("edr", "osu/osu_bw", "bandwidth", LARGEST, 12400.0),
    ("fdr", "osu/osu_bw", "bandwidth", LARGEST, 6300.0),
    ("edr", "osu/osu_bibw", "bandwidth", LARGEST, 24200.0),
    ("fdr", "osu/osu_bibw", "bandwidth", LARGEST, 10800.0),
    ("edr", "osu/osu_latency", "latency", SMALLEST, 0.80),
    ("fdr", "osu/osu_latency", "latency", SMALLEST, 0.81),
    ("edr", "osu/osu_latency", "latency", PAGE, 2.75),
    ("fdr", "osu/osu_latency", "latency", PAGE, 2.84),
    ("edr", "perftest/ib_write_lat", "latency", 2, 0.61),
    ("fdr", "perftest/ib_write_lat", "latency", 2, 0.65),
]


@pytest.fixture(scope="module")
def site() -> Site:
    return site_at(ROOT, "dell-c6320")


def judge_rows(site: Site, fabric: str, key: str, columns: Mapping[str, str], *rows: tuple[Cell, ...]) -> Judgement:
    tool, _, name = key.partition("/")
    context = MappingProxyType({"pairs": 1} if find(key).sums_pairs else {})
    table = Table(tool, None, name, tuple(columns), tuple(columns.values()), rows, 1, True, context)
    (found,) = judge(ParsedOutput((table,)), of_system(site, fabric, "hpcx"))
    return found


def judge_stream(site: Site, fabric: str, peak_mb_s: float, key: str = "osu/osu_bw") -> Judgement:
    rows = [(size, size / (0.2 + size / peak_mb_s)) for size in SIZES]
    return judge_rows(site, fabric, key, {"size": "B", "bandwidth": "MB/s"}, *rows)


def targets(site: Site, fabric: str, key: str, name: str, size: int) -> list[float]:
    each = metric(key, name)
    limit = site.system.fabrics[fabric].limit(1, each.directions)
    test = TestId(fabric, "hpcx", 1, key, policy="single")
    bands = site.references.bands(test, each, limit.value_mb_s if limit else None)
    bounds = [bound for band in bands if (bound := band.bound_at(size)) is not None]
    return [bound.target for bound in bounds if bound.target is not None]


@pytest.mark.parametrize(("fabric", "key", "name", "size", "value"), PUBLISHED)
def test_each_published_figure_is_a_reference(
    site: Site, fabric: str, key: str, name: str, size: int, value: float
) -> None:
    assert targets(site, fabric, key, name, size) == [value]


def test_every_entry_says_where_it_is_from_and_on_what(site: Site) -> None:
    assert len(site.references.entries) == 15
    # The study has no figure for several pairs, so each must meet the floor of the link's class. It has none for HPL.
    ours = {entry.id: entry.kind for entry in site.references.entries if entry.id.endswith(("-pairs", "-hpl-runs"))}
    assert ours == {f"{fabric}-{what}": "class" for fabric in ("edr", "fdr") for what in ("pairs", "hpl-runs")}
    for entry in (entry for entry in site.references.entries if entry.id not in ours):
        assert entry.kind == "published"
        assert entry.source.cite().startswith(
            "Olusanya and Hussain, Comparing FDR and EDR InfiniBand, part 1, Dell HPC blog, "
        )
        assert entry.source.hardware and ("x16" if entry.fabric == "edr" else "x8") in entry.source.hardware


@pytest.mark.parametrize(
    ("fabric", "peak_mb_s", "state", "sentence", "causes"),
    [
        ("edr", 12405.0, "pass", "bandwidth holds edr-bandwidth, class:ib-edr and day-one, at worst ", []),
        ("fdr", 6305.0, "pass", "bandwidth holds fdr-bandwidth, class:ib-fdr and day-one, at worst ", []),
        (
            *("edr", 6305.0, "fail"),
            f"rule 5 (reference): {below_words(6303, 12028, 4 << 20)}, the bound of edr-bandwidth "
            "(published: Olusanya and Hussain, ",
            ["lower-generation"],
        ),
        (
            *("edr", 15000.0, "fail"),
            f"rule 3 (possible): {IMPOSSIBLE}bandwidth 12678 MB/s at 16 KiB is 102.1 % of the limit, 12421 MB/s",
            ["one-node"],
        ),
        (
            *("fdr", 12405.0, "fail"),
            f"rule 3 (possible): {IMPOSSIBLE}bandwidth 7726 MB/s at 4 KiB is 114.0 % of the limit, 6775 MB/s",
            ["one-node"],
        ),
        # The reference applies at 4 MiB; the class applies from 1 MiB.
        ("edr", 12100.0, "pass", "bandwidth holds edr-bandwidth, class:ib-edr and day-one, at worst ", []),
    ],
)
def test_a_curve_of_edr_one_like_fdr_and_an_impossible_one_are_told_apart(
    site: Site, fabric: str, peak_mb_s: float, state: str, sentence: str, causes: list[str]
) -> None:
    found = judge_stream(site, fabric, peak_mb_s)
    assert found.state == state
    assert found.sentence.startswith(sentence)
    assert [cause.cause for cause in found.causes] == causes


@pytest.mark.parametrize(("fabric", "floor"), [("edr", 12000), ("fdr", 6000)])
def test_the_floor_of_the_links_class_holds_beside_the_published_figure(site: Site, fabric: str, floor: int) -> None:
    peak = {"edr": 12400.0, "fdr": 6300.0}[fabric]
    rows = [(1 << 20, floor - 1.0), (2 << 20, peak), (4 << 20, peak)]
    found = judge_rows(site, fabric, "osu/osu_bw", {"size": "B", "bandwidth": "MB/s"}, *rows)
    assert found.sentence.startswith(
        f"rule 5 (reference): {own_condition(1.0, 'MB/s', 1 / floor)}: "
        f"{below_words(floor - 1, floor, 1 << 20)}, the bound of "
        f"class:ib-{fabric} (class: Railyard's own condition, not physics: InfiniBand "
        f"{fabric.upper()} 4X streams at least "
    )
    rows[0] = (1 << 20, floor + 1.0)
    assert judge_rows(site, fabric, "osu/osu_bw", {"size": "B", "bandwidth": "MB/s"}, *rows).state == "pass"


def test_a_size_that_the_reference_gives_and_the_output_lacks_fails(site: Site) -> None:
    rows = [(size, 12350.0) for size in (1 << 20, 2 << 20)]
    found = judge_rows(site, "edr", "osu/osu_bw", {"size": "B", "bandwidth": "MB/s"}, *rows)
    assert found.sentence.startswith(
        "rule 5 (reference): bandwidth was not measured at 4 MiB, which edr-bandwidth (published: "
    )
    only_large = judge_rows(site, "edr", "osu/osu_latency", {"size": "B", "latency": "us"}, (4096, 2.75))
    assert (only_large.state, only_large.sentence.partition(", and")[0]) == (
        "not-judged",
        "not judged: edr-latency-smallest bounds latency only up to 4 B",
    )


def latency_rows(smallest_us: float, largest_us: float) -> list[tuple[float, ...]]:
    """Return latencies of 1 B to 4 KiB; all but the last are like the first."""
    return [*((1 << n, smallest_us) for n in range(12)), (4096, largest_us)]


def test_sizes_that_only_the_output_has_are_bounded_by_the_link(site: Site) -> None:
    found = judge_stream(site, "edr", 12405.0)
    assert found.remarks == ()
    assert found.sentence.endswith("(bounded: 23 of 23 sizes, 1 B to 4 MiB)")
    rows = [(0, 0.79), *latency_rows(0.80, 2.70), (8192, 4.0)]
    found = judge_rows(site, "edr", "osu/osu_latency", {"size": "B", "latency": "us"}, *rows)
    assert found.state == "pass"
    assert found.sentence.endswith("(bounded: 15 of 15 sizes, 0 B to 8 KiB)")


@pytest.mark.parametrize(("latency_us", "state"), [(0.87, "pass"), (0.89, "fail"), (0.39, "fail")])
def test_latencies_above_the_tolerance_and_below_the_least_fail(site: Site, latency_us: float, state: str) -> None:
    rows = latency_rows(latency_us, 2.75)
    assert judge_rows(site, "edr", "osu/osu_latency", {"size": "B", "latency": "us"}, *rows).state == state


def many_messages(site: Site, fabric: str, rate: float) -> Judgement:
    columns = {"size": "B", "bandwidth": "MB/s", "message_rate": "1/s"}
    peak = {"edr": 12400.0, "fdr": 6300.0}[fabric]
    rows = [(8 << n, min(8e-6 * rate * 2**n, peak)) for n in range(18)]
    return judge_rows(site, fabric, "osu/osu_mbw_mr", columns, *((size, mb, 1e6 * mb / size) for size, mb in rows))


@pytest.mark.fault("output", "a message rate 3 % above what the card can send", "of the upper limit")
def test_more_messages_than_the_card_can_send_are_impossible(site: Site, promise: str) -> None:
    nominal = 150e6
    for rate, state in ((nominal * 0.99, "pass"), (nominal * 1.01, "pass"), (nominal * 1.03, "fail")):
        found = many_messages(site, "edr", rate)
        assert found.state == state
    assert promise in found.sentence
    assert found.sentence.startswith(
        f"rule 3 (possible): {IMPOSSIBLE}message_rate {nominal * 1.03:.0f} 1/s at 8 B is 103.0 % of the upper limit, "
        f"{nominal:.0f} 1/s, of edr-message-rate (published: "
    )


@pytest.mark.fault("output", "more messages than packets fit on the wire", "of what the link carries")
def test_fdr_sends_more_than_its_nominal_rate_and_not_more_than_its_wire_carries(site: Site, promise: str) -> None:
    # "More than 90 million messages a second": 96 million are healthy. 6818.2 MB/s / 26 B = 262.2 million packets.
    for rate, state in ((96e6, "pass"), (262.2e6 * 1.01, "pass"), (262.2e6 * 1.03, "fail")):
        found = many_messages(site, "fdr", rate)
        assert found.state == state
    assert promise in found.sentence
    assert found.sentence.startswith(
        f"rule 3 (possible): {IMPOSSIBLE}message_rate 270066000 1/s at 8 B is 103.0 % of what the link carries, "
        "262237762 1/s (ib-fdr 6818.2 MB/s / 26 B of headers; InfiniBand Trade Association, "
    )
    assert [each.value for each in site.references.facts if each.id == "fdr-message-rate"] == [90e6]


def test_the_rate_of_all_cores_has_the_same_upper_limit(site: Site) -> None:
    entry = next(each for each in site.references.entries if each.id == "edr-message-rate")
    test = TestId("edr", "hpcx", 1, "osu/osu_mbw_mr/all-cores")
    assert entry.upper_limit == 150e6
    assert entry.matches(test, "message_rate")
    assert not site.references.has_number(test), "an upper limit alone fails no slow run"


def test_a_benchmark_without_a_reference_fails_with_a_sentence(site: Site) -> None:
    found = judge_rows(site, "edr", "osu/osu_allreduce", {"size": "B", "avg": "us"}, (8, 4.0))
    assert (found.state, found.sentence) == (
        "fail",
        "rule 5 (reference): no reference for latency with hpcx over mlx5_0:1 on fabric edr of dell-c6320, and the "
        "system is not report-only; look at references/dell-c6320.yaml (add an entry) or systems/dell-c6320.yaml "
        "(report_only and a reason)",
    )


def test_its_matrix_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(ROOT))
    assert main(["matrix", "--why", "--system", "dell-c6320"]) == 0
    tables, _, why = capsys.readouterr().out.partition("\nwhy not:\n")
    assert tables.startswith("edr                  hpcx  intelmpi  verbs\nHplScaling %nodes=4  -     (1)       -\n")
    assert "\nfdr                  hpcx  intelmpi  verbs\nHplScaling %nodes=4  -     (1)       -\n" in tables
    said = " ".join(why.split())  # as wide as the terminal is
    assert " the source has only figures of the OSU benchmarks, of verbs and of HPL (48 cells) edr: " in said


def test_no_host_is_taken_for_it(site: Site) -> None:
    assert site.system.hostnames == ()
    assert site.system.report_only is None
