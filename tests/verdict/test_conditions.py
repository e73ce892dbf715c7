"""Conditions of a reference's source, beside the verdict of a run whose nodes have other conditions."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from railyard.base.paths import HOME_VARIABLE
from railyard.cli.main import main
from railyard.job.node_facts import NodeFacts, group_nodes
from railyard.provision.replay.form import PlayedTest
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.record.form import ConditionRecord
from railyard.results.remarks import CONDITIONS_HEADING
from railyard.site.references.model import Entry
from railyard.site.site import Site
from railyard.verdict.assess import Assessment, record_of

Assess = Callable[..., Assessment]
STATED = {"turbo": "enabled", "c-states": "disabled", "mtu": "9000 B", "profile": "performance optimized"}
SOURCE = {"document": "a paper", "date": date(2026, 1, 1), "mpi": "MPICH 3.2", "hops": 1, "conditions": STATED}


def entry(value: float = 48.0, **source: Any) -> Entry:
    return Entry.model_validate(
        {
            **{"id": "paper", "fabric": "hsn", "benchmark": "imb/Uniband", "metric": "bandwidth", "unit": "MB/s"},
            **{"kind": "published", "value": value, "tolerance": {"low": 0.1}, "sizes": {"from": 1 << 20}},
            "source": {**SOURCE, **source},
        }
    )


def with_entries(site: Site, *entries: Entry) -> Site:
    return replace(site, references=replace(site.references, entries=entries))


@pytest.fixture
def paper(virtual: Site) -> Site:
    """The virtual cluster with one entry, from a paper that states its conditions."""
    return with_entries(virtual, entry())


def node(name: str, turbo: str = "on", c_states: str = "POLL C1", **rail: str) -> NodeFacts:
    device = {"mtu": "1500", "subnets": "10.98.1.0/24", **rail}
    return NodeFacts(name, {"turbo": turbo, "c_states": c_states}, {"hsn0": device, "eth0": {"mtu": "4000"}})


def unlike(found: Assessment) -> dict[str, dict[str, tuple[str, ...]]]:
    return {each.name: dict(each.unlike) for each in found.conditions if each.unlike}


def test_each_condition_that_a_node_has_otherwise_is_told_with_the_node(assess_cell: Assess, paper: Site) -> None:
    found = assess_cell(site=paper, facts=(node("vn1"), node("vn2", turbo="off", c_states="POLL C1 C6")), hops=2)
    assert {each.name: each.stated for each in found.conditions} == {**STATED, "mpi": "MPICH 3.2", "hops": "1"}
    assert unlike(found) == {
        "turbo": {"off": ("vn2",)},
        "c-states": {"on": ("vn2",)},
        "mtu": {"1500 B": ("vn1", "vn2")},
        "hops": {"2": ("vn1", "vn2")},
    }
    assert {each.references for each in found.conditions} == {("paper",)}


def test_no_difference_changes_a_verdict_nor_adds_a_word_to_one_that_passed(assess_cell: Assess, paper: Site) -> None:
    plain = assess_cell(site=paper).verdict
    other = assess_cell(site=paper, facts=(node("vn1", turbo="off"), node("vn2", turbo="off"))).verdict
    assert plain.state == "pass"
    assert other == plain


def test_what_a_node_does_not_say_is_compared_with_nothing(assess_cell: Assess, paper: Site) -> None:
    found = assess_cell(site=paper, facts=(NodeFacts("vn1", {}, {}), NodeFacts("vn2", {}, {})))
    assert unlike(found) == {}
    assert len(found.conditions) == 6
    assert unlike(assess_cell(site=paper)) == {}


def test_an_entry_that_judged_nothing_states_nothing(assess_cell: Assess, virtual: Site) -> None:
    of_another = entry().model_copy(update={"id": "other", "benchmark": ("imb/PingPong",)})
    found = assess_cell(site=with_entries(virtual, entry(), of_another), facts=(node("vn1", turbo="off"),))
    assert {each.references for each in found.conditions} == {("paper",)}


@pytest.mark.parametrize("instead", [{"played": PlayedTest(None)}, {"rehearsed": True}], ids=["replay", "rehearsal"])
def test_nodes_of_a_replay_or_a_rehearsal_are_not_compared(
    assess_cell: Assess, paper: Site, instead: dict[str, Any]
) -> None:
    found = assess_cell(site=paper, facts=(node("vn1", turbo="off"), node("vn2", turbo="off")), **instead)
    assert unlike(found) == {}
    assert "turbo" in {each.name for each in found.conditions}


@pytest.mark.fault(
    "session",
    "turbo is off on both nodes, and the reference was taken with it on",
    "a possible cause: the reference paper was taken with turbo on; vn1 and vn2 have it off",
)
def test_a_failure_names_what_may_have_cost_and_nothing_else(assess_cell: Assess, virtual: Site, promise: str) -> None:
    site = with_entries(virtual, entry(60.0, conditions={"turbo": "enabled", "smt": "enabled", "memory": "1 GB"}))
    facts = [NodeFacts(name, {"turbo": "off", "smt": "off", "memory": "8000000 kB"}, {}) for name in ("vn1", "vn2")]
    found = assess_cell(site=site, facts=tuple(facts))
    assert (found.verdict.state, found.verdict.rule) == ("fail", 5)
    assert set(unlike(found)) == {"turbo", "smt", "memory"}
    causes = [remark for remark in found.verdict.remarks if "a possible cause" in remark]
    assert causes == [promise]
    before = assess_cell(site=site).verdict
    assert (found.verdict.sentence, found.verdict.suspects) == (before.sentence, before.suspects)


def test_the_record_keeps_them(assess_cell: Assess, paper: Site) -> None:
    found = assess_cell(site=paper, facts=(node("vn1", turbo="off"),))
    record = record_of(found, run="r", time="t", elapsed_s=1.0, environment={}, command=(), output=None)
    assert ConditionRecord("turbo", "enabled", ("paper",), {"off": ("vn1",)}) in record.found.conditions
    assert record.to_json()["found"]["conditions"][0] == {
        "name": "turbo",
        "stated": "enabled",
        "references": ["paper"],
        "unlike": {"off": ["vn1"]},
    }


@pytest.fixture
def record_writer(
    assess_cell: Assess, virtual: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., None]:
    """Store the record of a measured run on two such nodes, as a run leaves it."""
    site = with_entries(virtual, entry(conditions={"turbo": "enabled", "c-states": "disabled"}))
    (tmp_path / "systems").mkdir()
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")

    def store(run: str, *nodes: NodeFacts) -> None:
        found = assess_cell(site=site, facts=nodes, hops=1)
        told = record_of(found, run=run, time="t", elapsed_s=1.0, environment={}, command=(), output=None)
        record = told.with_fields(time="2026-11-23T06:00:00Z", hardware=group_nodes(nodes))
        assert (record.found.state, record.no_measurement) == ("pass", None), record.found.verdict.text
        append_record(tmp_path / ".railyard" / "runs" / run / FILE_NAME, record)

    return store


def test_two_stored_runs_on_other_nodes_say_it_beside_the_verdict_and_in_their_comparison(
    record_writer: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    record_writer("before", node("vn1"), node("vn2"))
    for run in ("after", "later"):
        record_writer(run, node("vn1", turbo="off"), node("vn2", c_states="POLL C1 C6"))
    turbo = "the reference paper was taken with turbo on; vn1 has it off"
    c_states = "the reference paper was taken with c-states off; vn2 has it on"

    assert main(["report", "before"]) == 0
    assert "the reference paper was taken with" not in capsys.readouterr().out
    assert main(["report", "after"]) == 0
    told = capsys.readouterr().out
    heading = f"{CONDITIONS_HEADING}\n  {turbo}\n  {c_states}\n"
    assert heading in told
    # The verdict is the same.
    assert "PASS: " in told

    main(["compare", "before", "after"])
    told = capsys.readouterr().out
    assert f"{CONDITIONS_HEADING}\n  B: {turbo}\n  B: {c_states}\n" in told
    assert "  host turbo: on on A, off and on on B\n" in told
    main(["compare", "after", "later", "--json"])
    assert json.loads(capsys.readouterr().out)["conditions"] == [f"A and B: {turbo}", f"A and B: {c_states}"]
