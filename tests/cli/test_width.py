"""At 80 columns nothing wraps: each command that prints for a person, and each published system's table."""

import shlex
from pathlib import Path

import pytest

from railyard.base.paths import CHECKS, part
from railyard.cli.main import main
from railyard.cli.published_sources import replay_records
from railyard.cluster.soak import Log, Reading
from railyard.parsers.detect import parse
from railyard.parsers.output import ParseError
from railyard.parsers.wrong_lines import with_wrong_lines
from railyard.results import relations
from railyard.results.relations import costs_of_run
from railyard.results.report.output_text import parsed_text
from railyard.results.report.terminal import text_report
from railyard.rfm.checks.catalogue import needs
from railyard.site.site import site_at
from railyard.site.systems.load import load_systems

ROOT = Path(__file__).parents[2]
WIDTH = 80
COMMANDS = (
    *("matrix --system dell-c6320 --why", "matrix --system virtual --why", "matrix --system mycluster"),
    *("results list", "results list --tests", "results show", "results show --test OsuBandwidth", "results verify"),
    *("compare '20261114T*' '20261121T*'", "compare last5:fabric=edr last5:fabric=fdr", "history --all", "scaling"),
    *("parse osu_bw.out ibstat.txt nccl.log", "judge osu_bw.out --link ib-edr", "judge --classes"),
    *("judge nccl.log --nodes-have gpus=8,nvlink=4,nics=8,link=ib-ndr", "judge osu_bw.out --link ib-hdr"),
    *("report", "report last5", "references --system survey-2004", "references --system dell-c6320", "lint"),
    *("doctor --system mycluster", "doctor --system virtual", "stacks status", "spack status --system mycluster"),
    *("soak --from soak.jsonl", "record --published dell-c6320 --replace", "init my-site"),
    pytest.param("run --system dell-c6320 -n OsuBandwidth", marks=pytest.mark.full),
)


def too_wide(text: str) -> list[str]:
    """Return the lines that a terminal would wrap; a path is a word that nobody can fold."""
    return [line for line in text.splitlines() if len(line) > WIDTH and not line.startswith("report: /")]


@pytest.mark.parametrize("words", COMMANDS)
def test_no_line_of_a_command_wraps(
    words: str, site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    log = Log(site / "soak.jsonl", "virtual", ())
    for second in range(3):
        counters = {"tx_bytes": second * 47_000_000, "rx_bytes": second * 46_000_000, "carrier_changes": second // 2}
        log.keep(Reading(float(second), {("node0123.cluster.example", "mlx5_bond_0:1"): counters}))
    main(shlex.split(words))
    said = capsys.readouterr()
    assert said.out
    assert too_wide(said.out.replace(str(site), "/site")) == []


@pytest.fixture(scope="module")
def reports() -> dict[str, str]:
    """The report of each published system's replay, for a terminal of 80 columns."""
    home = ROOT
    asked = needs(part(home, CHECKS))
    found = {}
    for name, system in load_systems(home / "systems").items():
        site = site_at(home, name)
        if site.references.claims:
            records = replay_records(site, asked)
            found[name] = text_report(
                records,
                width=WIDTH,
                relations=relations.judge(site.references, records),
                costs=costs_of_run(system, records),
            )
    return found


def test_no_line_of_what_is_read_from_an_output_wraps() -> None:
    folders = [Path(__file__).parents[1] / name for name in ("recordings", "parsers/made")]
    wide, read = {}, 0
    for file in sorted(file for folder in folders for file in folder.iterdir() if file.is_file()):
        text = file.read_text(encoding="utf-8", errors="replace")
        try:
            parsed = with_wrong_lines(parse(text), text)
        except ParseError:
            continue
        read += 1
        if found := too_wide(parsed_text(parsed, width=WIDTH)):
            wide[file.name] = found
    assert read > 50
    assert wide == {}


def test_no_line_of_a_published_systems_report_wraps(reports: dict[str, str]) -> None:
    assert len(reports) > 5
    assert {name: too_wide(text) for name, text in reports.items() if too_wide(text)} == {}
