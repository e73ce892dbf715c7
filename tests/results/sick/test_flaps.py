"""Flaps that gates saw, in the list of sick parts: with a test's blame, alone, and good again."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from railyard.cluster.gate.look import why_not
from railyard.results.flaps import Flap, FlapBounds, NodePort, PortFlaps, report_of, to_json
from railyard.results.record.form import Record
from railyard.results.report.html import html_report
from railyard.results.report.spread import flaps_over_time
from railyard.results.sick import SeenFlaps, SickPart, lines, sick_list, ticket

NOW = datetime(2026, 11, 24, 4, tzinfo=timezone.utc)
#: 2026-11-22T06:00:00Z
T0 = datetime(2026, 11, 22, 6, tzinfo=timezone.utc).timestamp()
Made = Callable[..., Record]
FLAPS = "its link went down 4 times, 4 in 24 h (first 2026-11-22T07:00:00Z, last 2026-11-22T08:00:00Z)"


def kept_flaps(count: int = 4, seen: float = T0 + 2 * 3600) -> PortFlaps:
    flaps = (Flap(T0, T0 + 3600, 1), Flap(T0 + 3600, T0 + 7200, count - 1)) if count > 1 else (Flap(T0, T0 + 3600, 1),)
    return PortFlaps("virtual", "carrier_down_count of hsn1", 9, "a", T0, T0, seen, FlapBounds(), flaps)


def flapped_port(rail: str = "hsn1", node: str = "vn2", port: PortFlaps | None = None) -> NodePort:
    report = report_of(port or kept_flaps())
    assert report is not None
    return NodePort(node, rail, "virtual", report)


def sick_part(*ports: NodePort) -> SickPart:
    (part,) = sick_list((), NOW, ports=ports).sick
    return part


def test_a_rail_that_only_gates_saw_is_sick_with_number_rate_first_and_last() -> None:
    part = sick_part(flapped_port())
    assert (part.name, part.kind, part.node, part.state) == ("rail hsn1 of vn2", "rail", "vn2", "sick")
    assert part.flaps == SeenFlaps(
        "flapping", 4, 4.0, "2026-11-22T07:00:00Z", "2026-11-22T08:00:00Z", "2026-11-22T08:00:00Z",
        "2026-11-23T08:00:00Z",
    )  # fmt: skip
    assert why_not(part) is None  # it drains its node
    again = f"{FLAPS}; good again from 2026-11-23T08:00:00Z, if a gate sees no flap for 24 h"
    said = lines(sick_list((), NOW, ports=(flapped_port(),)))
    assert said == [
        f"2026-11-22T08:00:00Z  virtual  rail hsn1 of vn2 (named, seen by gates): {again}",
        "0 tests: 1 sick part",
    ]


def test_a_rail_that_is_good_again_is_passed_since_and_drains_nobody() -> None:
    part = sick_part(flapped_port(port=kept_flaps(seen=T0 + 26 * 3600)))
    assert (part.state, part.passed and part.passed.time) == ("passed since", "2026-11-23T08:00:00Z")
    assert why_not(part) == "it passed since (2026-11-23T08:00:00Z)"
    assert "- **Passed since**: railyard gate at 2026-11-23T08:00:00Z: check" in ticket(part, str)


def test_a_rail_that_went_down_seldom_is_not_sick_and_is_said() -> None:
    found = sick_list((), NOW, ports=(flapped_port(port=kept_flaps(1)),))
    assert found.sick == ()
    assert found.left_out == (
        "not sick: hsn1 of vn2: its link went down once (at 2026-11-22T07:00:00Z), not more than 2 in 24 h",
    )


def test_flaps_of_a_rail_that_a_test_blames_are_said_with_it_once(failure: Made) -> None:
    (part,) = sick_list((failure(day=21),), NOW, ports=(flapped_port(),)).sick
    assert (part.evidence.startswith("it moved 4.9 of 48 MB/s; its link went down 4 times"), len(part.runs)) == (
        True,
        1,
    )
    assert (part.first.time, part.last.time) == ("2026-11-21T06:00:12Z", "2026-11-22T08:00:00Z")


def test_a_pass_over_a_rail_that_flaps_does_not_clear_it(failure: Made, passing_record: Made) -> None:
    records = (failure(day=20), passing_record(day=21))
    assert sick_list(records, NOW).sick[0].state == "passed since"
    (part,) = sick_list(records, NOW, ports=(flapped_port(),)).sick
    assert (part.state, part.passed) == ("sick", None)
    (part,) = sick_list(records, NOW, ports=(flapped_port(port=kept_flaps(seen=T0 + 26 * 3600)),)).sick
    assert (part.state, part.flaps and part.flaps.state) == ("passed since", "good again")


def test_the_first_port_of_a_card_is_one_rail_by_both_names(failure: Made) -> None:
    suspect = replace(failure().found.verdict.suspects[0], rail="mlx5_1")
    parts = sick_list((failure(suspect),), NOW, ports=(flapped_port("mlx5_1:1"),)).sick
    assert [part.rail for part in parts] == ["mlx5_1"]


def test_a_run_that_is_asked_for_has_only_parts_that_it_blames(failure: Made) -> None:
    record = failure()
    found = sick_list(
        (record,), NOW, record.made.run, (flapped_port("hsn0"), flapped_port("hsn1"), flapped_port("hsn2"))
    )
    assert [part.rail for part in found.sick] == ["hsn1"]


def test_a_ticket_of_what_only_gates_saw_names_no_run() -> None:
    text = ticket(sick_part(flapped_port()), lambda run: f"page of {run}")
    assert "- **Since**: 2026-11-22T07:00:00Z, last 2026-11-22T08:00:00Z; seen by railyard gate\n" in text
    assert "page of" not in text and "run )" not in text
    assert "look at the card, its slot and its cable" in text


def test_the_command_reads_the_sites_gates_and_other_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    (tmp_path / "systems").mkdir()
    (tmp_path / "references").mkdir()
    assert main(["export", "sick"]) == 2  # nothing at all
    for folder, node in ((".railyard/gate", "vn1"), (".railyard/gate/collected", "vn2"), ("copied", "vn3")):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / f"{node}.json").write_text(json.dumps({"ports": to_json({"hsn1": kept_flaps()})}))
    (tmp_path / "copied/vn4.json").write_text("{")
    capsys.readouterr()
    assert main(["export", "sick", "--gates", str(tmp_path / "copied"), "--json"]) == 0
    printed = capsys.readouterr()
    assert [part["node"] for part in json.loads(printed.out)["sick"]] == ["vn1", "vn2", "vn3"]
    assert "vn4.json: not what a gate keeps" in printed.err
    assert main(["export", "sick", "--system", "virtual"]) == 0
    assert capsys.readouterr().out.count("its link went down 4 times") == 2


def test_the_page_says_which_links_of_the_runs_nodes_went_down(failure: Made) -> None:
    ports = (flapped_port(), flapped_port("hsn0", "vn1", kept_flaps(1)), flapped_port("hsn1", "vn9"))
    (shown,) = flaps_over_time(ports, (failure(),))
    assert [kind for kind, _ in shown.changes] == ["worse"]
    assert shown.remarks[0].startswith("hsn0 of vn1: its link went down once (at ")
    page = html_report([failure()], over_time=(shown,))
    assert f"hsn1 of vn2: {FLAPS}; good again from 2026-11-23T08:00:00Z" in page
    assert "vn9" not in page
    assert flaps_over_time((flapped_port("hsn1", "vn9"),), (failure(),)) == ()
