"""docs/reference/published.md agrees with the references and their replays: each claim has its line and verdict."""

import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from railyard.cli.published_sources import ReplayedSystem, page, replay_records, rows, systems_with_claims
from railyard.provision.replay.form import Recording
from railyard.provision.replay.index import folder_of, read_index, recording_of, write_set
from railyard.results import relations
from railyard.rfm.checks.catalogue import needs
from railyard.site.matrix import Need
from railyard.site.references.load import References
from railyard.site.site import site_at
from tests.conftest import ROOT

#: The sources whose every number and claim is listed.
LISTED = ["connectx4-six", "dell-c6320", "dual-rail-qdr", "pcie-2004", "survey-2004", "topspin-2003"]


@cache
def all_needs() -> tuple[Need, ...]:
    return needs(ROOT / "checks")


@cache
def replayed_claims() -> tuple[list[ReplayedSystem], list[References]]:
    return systems_with_claims(ROOT)


def of(name: str) -> ReplayedSystem:
    return next(each for each in replayed_claims()[0] if each.references.system.system == name)


def test_the_page_is_made_from_the_references_and_their_replays() -> None:
    written = (ROOT / "docs/reference/published.md").read_text(encoding="utf-8")
    assert written == page(*replayed_claims()), (
        "docs/reference/published.md is not what the references say; type: make docs"
    )


def test_each_claim_of_a_listed_source_has_a_line_and_each_published_system_is_on_the_page() -> None:
    systems, without = replayed_claims()
    names = [each.references.system.system for each in systems]
    assert names == LISTED
    written = (ROOT / "docs/reference/published.md").read_text(encoding="utf-8")
    for system in systems:
        section = written.partition(f"\n## {system.references.system.system}\n")[2].partition("\n## ")[0]
        lines = [line for line in section.splitlines() if line.startswith("| ") and "| --- |" not in line][1:]
        assert len(lines) == len(system.references.claims) == len(rows(system))
        for claim, line in zip(system.references.claims, lines, strict=True):
            assert line.startswith(f"| {claim.says} | `{claim.of}`, {claim.at} | ")
    assert all(f"[{each.system.system}](references.md#{each.system.system})" in written for each in without)


#: Relations of a difference that is less than the source's own variation from run to run, as it says.
NOBODY_CAN_TELL = {"hpl-no-difference"}


@pytest.mark.parametrize("name", LISTED)
def test_no_claim_of_a_published_system_fails_or_is_left_without_a_verdict(name: str) -> None:
    rest = [row for row in rows(of(name)) if row.state in ("fail", "not-judged")]
    wrong = [(row.claim.says, row.verdict) for row in rest if not NOBODY_CAN_TELL & set(row.claim.held_by)]
    assert wrong == []
    assert all(row.verdict.startswith("not judged: cannot tell") for row in rest)


@pytest.mark.parametrize("name", LISTED)
def test_every_relation_of_a_published_system_is_judged_by_its_replay(name: str) -> None:
    states = {each.id: (each.state, each.sentence) for each in of(name).relations}
    assert set(states) == {relation.id for relation in of(name).references.relations}
    assert {key for key, value in states.items() if value[0] != "pass"} == NOBODY_CAN_TELL & set(states)


def numbers(text: str) -> Iterator[str]:
    yield from re.findall(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-]|\.\d)", text.replace(",", ""))


#: Numbers that a source prints; each must be in some claim.
PRINTED = {
    "dell-c6320": (
        "100 56 150 90 16 2.6 2.2 105 128 2133 0.80 0.81 512 2.75 2.84 0.61 0.65 12.4 99.2 6.3 50.4 97 24.2 "
        "193.6 10.8 86.4 124 0.33 80"
    ),
    "connectx4-six": (
        "1.1 1.4 100 300 12 50 0.892 1.752 0.988 1.814 12.662 13.55 11848 12371 11670 12199 232 235 97 63 16"
    ),
    "dual-rail-qdr": ("14 10 5000 1.67 1.27 12 4096"),
    "topspin-2003": ("16 2.4 533 400 2000 800 489 2.50 250 7 11 4 6 8 10 12 14"),
    "pcie-2004": ("3.8 5.0 968 1916 1486 2729 4.6 4.1 1497 2724"),
    "survey-2004": (
        "300 500 24 480 1500 9000 90 940 31 10 900 100 200 667 150 750 16 2 4 1024 850 1737 800 6 7 27 30 "
        "1880 3750 3500 8 64 640 1000 1095 1595 1 3 5 70 1830 4096 2400 2800 4078 6370 2.5 1200 1600 6750 "
        "5900 3000 10000 48 3700 5026 1961 1529 3277 1984 1559 3477 1924 1279 4868 2785 1319 2593 1427 5823 "
        "3062 1852 5651 3030 1743 5843 3059 1801 5743 3006 1727 3052 1775"
    ),
}


@pytest.mark.parametrize("name", LISTED)
def test_every_number_that_a_source_prints_stands_in_a_claim(name: str) -> None:
    said = {number for claim in of(name).references.claims for number in numbers(claim.says)}
    assert [number for number in PRINTED[name].split() if number not in said] == []


@pytest.mark.fault(
    "reference", "a replayed output that breaks what its source says", "FAIL: osu/osu_latency over edr with hpcx is not"
)
def test_an_output_that_breaks_a_claim_is_on_the_page(tmp_path: Path, promise: str) -> None:
    """FDR's output in place of EDR's: EDR is no longer the faster one above 512 B."""
    fdr = next(
        one
        for one in read_index(folder_of(ROOT, "dell-c6320")).recordings
        if one.check == "OsuLatency" and one.fabric == "fdr"
    )
    slower = (folder_of(ROOT, "dell-c6320") / fdr.file).read_text(encoding="utf-8")
    system = changed_system(
        tmp_path, "dell-c6320", lambda one, text: slower if (one.fabric, one.check) == ("edr", "OsuLatency") else text
    )
    (row,) = (row for row in rows(system) if row.claim.says.startswith("beyond 512 B"))
    assert row.state == "fail"
    assert promise in row.verdict
    assert f"| {row.verdict} | {row.claim.differs or ''} |" in page([system], [])
    # and if no recording is compared with a claim, the page says so, in place of a pass
    without = replace(system, records=())
    assert {row.state for row in rows(without) if row.claim.held_by == ("edr-bandwidth",)} == {"not-judged"}


def changed_system(folder: Path, name: str, change: Callable[[Recording, str], str]) -> ReplayedSystem:
    """Return a system whose recordings are changed: ``change`` takes each with its text."""
    home = folder / "home"
    for each in ("systems", "references"):
        shutil.copytree(ROOT / each, home / each)
    shutil.copytree(ROOT / "recordings" / name, home / "recordings" / name)
    where = folder_of(home, name)
    changed = []
    for one in read_index(where).recordings:
        text = (where / one.file).read_text(encoding="utf-8")
        other = change(one, text)
        if other != text:
            changed.append((recording_of(one.test, other, one.origin, "a test", "another output"), other))
    assert changed
    write_set(where, changed)
    site = site_at(home, name)
    records = replay_records(site, all_needs())
    return ReplayedSystem(site.references, records, relations.judge(site.references, records))


def failed_relations(system: ReplayedSystem) -> dict[str, str]:
    return {each.id: each.sentence for each in system.relations if each.state != "pass"}


def test_a_clean_curve_fails_nothing(tmp_path: Path) -> None:
    """The source calls FDR's curve over verbs rocky. Without the drop that was drawn, every relation holds too."""

    def smooth(one: Recording, text: str) -> str:
        is_rocky = (one.fabric, one.check) == ("fdr", "WriteBandwidth")
        return (
            re.sub(r"(131072 .*?)5435.95( +)5435.95 +.*", r"\g<1>5700.00\g<2>5700.00    0.045600", text)
            if is_rocky
            else text
        )

    system = changed_system(tmp_path, "dual-rail-qdr", smooth)
    (record,) = (
        each for each in system.records if (each.where.fabric, each.test.benchmark) == ("fdr", "perftest/ib_write_bw")
    )
    values = next(curve.values for curve in record.found.curves if curve.metric == "bandwidth")
    assert list(values) == sorted(values)
    assert (record.found.state, failed_relations(system)) == ("pass", {})


@pytest.mark.parametrize(
    ("fabric", "before", "after", "broken"),
    [
        # a hop of the Juniper switch that is as short as that of the other one
        ("roce-switched", "1.40", "1.20", {"roce-hop-latency", "roce-hop-longer"}),
        # and one of the Mellanox switch that is as long as that of the other one, or longer than it can be
        ("edr-switched", "1.10", "1.31", {"edr-hop-latency", "roce-hop-longer"}),
        ("roce-switched", "1.40", "1.53", {"roce-hop-latency", "roce-hop-longer"}),
    ],
)
def test_a_hop_that_is_not_the_sources_breaks_its_relation(
    tmp_path: Path, fabric: str, before: str, after: str, broken: set[str]
) -> None:
    def change(one: Recording, text: str) -> str:
        if (one.fabric, one.check) != (fabric, "OsuLatency"):
            return text
        return re.sub(rf"^(8\s+){re.escape(before)}$", rf"\g<1>{after}", text, flags=re.MULTILINE)

    assert set(failed_relations(changed_system(tmp_path, "connectx4-six", change))) == broken


def test_an_mpi_over_infiniband_that_does_not_fall_breaks_its_relation(tmp_path: Path) -> None:
    """The third MPI of the survey falls beyond 4 MB like the other two; each has a relation of its own."""

    def level(one: Recording, text: str) -> str:
        if (one.fabric, one.stack, one.benchmark) != ("infiniband", "mvapich", "netpipe/pingpong"):
            return text
        past = r"^(.* )(6291456|8388608)( bytes .* --> +)[\d.]+( Mbps in +)[\d.]+"
        return re.sub(
            past,
            lambda row: f"{row[1]}{row[2]}{row[3]}5899.96{row[4]}{int(row[2]) * 8 / 5899.96 / 1.048576:.2f}",
            text,
            flags=re.MULTILINE,
        )

    broken = failed_relations(changed_system(tmp_path, "survey-2004", level))
    assert set(broken) == {"infiniband-third-falls"}
    assert "with mvapich does not fall from 6 MiB" in broken["infiniband-third-falls"]


@pytest.mark.parametrize(
    ("name", "claim", "word"),
    [
        (
            "connectx4-six",
            "OSU's point-to-point latency runs reach a peak of 16 Gb/s over it",
            "a latency run prints no rate",
        ),
        ("dual-rail-qdr", 'once messages are striped, latency "drops"', "two readings"),
        ("survey-2004", "Infinicon's MPI reaches over 6750 Mb/s", "read as 2^20 bit/s"),
        ("topspin-2003", "newer Myrinet cards reach very close to 250 MB/s", "our choice: 5 %"),
    ],
)
def test_the_page_says_where_an_entry_differs_from_its_sources_words(name: str, claim: str, word: str) -> None:
    line = next(line for line in page(*replayed_claims()).splitlines() if line.startswith(f"| {claim} | "))
    assert word in line.split(" | ")[-1]
    assert name in LISTED


@pytest.mark.parametrize("name", LISTED)
def test_a_claim_with_a_choice_of_ours_says_which(name: str) -> None:
    """A relation that gives a reason for its margin holds no claim without a word about it."""
    system = of(name).references
    chosen = {each.id for each in system.relations if each.margin_reason is not None and each.form != "peak"}
    silent = [each.says for each in system.claims if chosen & set(each.held_by) and each.differs is None]
    assert silent == []


def test_plans_of_the_study_are_listed_as_not_held() -> None:
    told = {row.claim.says: row.state for row in rows(of("connectx4-six"))}
    assert told["NFS over InfiniBand is to be tested"] == told["IP over InfiniBand is to be tested"] == "not-held"
