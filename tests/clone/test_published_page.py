"""docs/reference/published.md agrees with the references and their replays: each claim has its line and verdict."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from railyard.cli.published_sources import ReplayedSystem, page, rows, systems_with_claims
from railyard.provision.replay.index import folder_of, read_index, recording_of, write_set
from railyard.results import relations
from railyard.rfm.checks.catalogue import needs
from railyard.site.matrix import Need
from railyard.site.references.load import References
from railyard.site.site import site_at
from railyard.verdict.stored_outputs.replays import replay_records
from tests.conftest import ROOT

#: The sources whose every number and claim is listed.
LISTED = ["connectx4-six", "dell-c6320", "dual-rail-qdr", "pcie-2004", "survey-2004", "topspin-2003"]


@cache
def asked() -> tuple[Need, ...]:
    return needs(ROOT / "checks")


@cache
def found() -> tuple[list[ReplayedSystem], list[References]]:
    return systems_with_claims(ROOT)


def of(name: str) -> ReplayedSystem:
    return next(each for each in found()[0] if each.references.system.system == name)


def test_the_page_is_made_from_the_references_and_their_replays() -> None:
    written = (ROOT / "docs/reference/published.md").read_text(encoding="utf-8")
    assert written == page(*found()), "docs/reference/published.md is not what the references say; type: make docs"


def test_each_claim_of_a_listed_source_has_a_line_and_each_published_system_is_on_the_page() -> None:
    systems, without = found()
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


@pytest.mark.parametrize("name", LISTED)
def test_no_claim_of_a_published_system_fails_or_is_left_without_a_verdict(name: str) -> None:
    wrong = [(row.claim.says, row.verdict) for row in rows(of(name)) if row.state in ("fail", "not-judged")]
    assert wrong == []


@pytest.mark.parametrize("name", LISTED)
def test_every_relation_of_a_published_system_is_judged_by_its_replay(name: str) -> None:
    states = {each.id: (each.state, each.sentence) for each in of(name).relations}
    assert set(states) == {relation.id for relation in of(name).references.relations}
    assert {key: value for key, value in states.items() if value[0] != "pass"} == {}


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
def test_an_output_that_breaks_a_claim_is_on_the_page(tmp_path: Path, said: str) -> None:
    """FDR's output in place of EDR's: EDR is no longer the faster one above 512 B."""
    home = tmp_path / "home"
    for name in ("systems", "references"):
        shutil.copytree(ROOT / name, home / name)
    shutil.copytree(ROOT / "recordings/dell-c6320", home / "recordings/dell-c6320")
    folder = folder_of(home, "dell-c6320")
    edr, fdr = (one for one in read_index(folder).recordings if one.check == "OsuLatency")
    text = (folder / fdr.file).read_text(encoding="utf-8")
    write_set(folder, [(recording_of(edr.test, text, edr.origin, "a test", "another output"), text)])
    site = site_at(home, "dell-c6320")
    records = replay_records(site, asked())
    system = ReplayedSystem(site.references, records, relations.judge(site.references, records))
    (row,) = (row for row in rows(system) if row.claim.says.startswith("beyond 512 B"))
    assert row.state == "fail"
    assert said in row.verdict
    assert f"| {row.verdict} |" in page([system], [])
    # and if no recording is compared with a claim, the page says so, in place of a pass
    without = replace(system, records=())
    assert {row.state for row in rows(without) if row.claim.held_by == ("edr-bandwidth",)} == {"not-judged"}
