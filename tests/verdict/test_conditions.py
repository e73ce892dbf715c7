"""What a reference's source states of its conditions, beside the verdict of a run whose nodes have others."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from railyard.job.node_facts import NodeFacts
from railyard.provision.replay.form import Played
from railyard.results.record.form import ConditionRecord
from railyard.site.references.model import Entry
from railyard.site.site import Site
from railyard.verdict.assess import Assessment
from railyard.verdict.recording import record_of

Assess = Callable[..., Assessment]
STATED = {"turbo": "enabled", "c-states": "disabled", "mtu": "9000 B", "profile": "performance optimized"}
SOURCE = {"document": "a paper", "date": date(2026, 1, 1), "mpi": "MPICH 3.2", "hops": 1, "conditions": STATED}


def entry(value: float = 48.0, **source: Any) -> Entry:
    return Entry.model_validate(
        {
            **{"id": "paper", "fabric": "hsn", "benchmark": "imb/Uniband", "metric": "bandwidth", "unit": "MB/s"},
            **{"kind": "published", "value": value, "tolerance": {"low": 0.1}, "sizes": {"from": 4 << 20}},
            "source": {**SOURCE, **source},
        }
    )


def with_entries(site: Site, *entries: Entry) -> Site:
    return replace(site, references=replace(site.references, entries=entries))


@pytest.fixture
def paper(virtual: Site) -> Site:
    """The virtual cluster with one entry, of a paper that states its conditions."""
    return with_entries(virtual, entry())


def node(name: str, turbo: str = "on", c_states: str = "POLL C1", **rail: str) -> NodeFacts:
    device = {"mtu": "1500", "subnets": "10.98.1.0/24", **rail}
    return NodeFacts(name, {"turbo": turbo, "c_states": c_states}, {"hsn0": device, "eth0": {"mtu": "4000"}})


def unlike(found: Assessment) -> dict[str, dict[str, tuple[str, ...]]]:
    return {each.name: dict(each.unlike) for each in found.conditions if each.unlike}


def test_each_condition_that_a_node_has_otherwise_is_told_with_the_node(assessed: Assess, paper: Site) -> None:
    found = assessed(site=paper, facts=(node("vn1"), node("vn2", turbo="off", c_states="POLL C1 C6")), hops=2)
    assert {each.name: each.stated for each in found.conditions} == {**STATED, "mpi": "MPICH 3.2", "hops": "1"}
    assert unlike(found) == {
        "turbo": {"off": ("vn2",)},
        "c-states": {"on": ("vn2",)},
        "mtu": {"1500 B": ("vn1", "vn2")},
        "hops": {"2": ("vn1", "vn2")},
    }
    assert {each.references for each in found.conditions} == {("paper",)}


def test_no_difference_changes_a_verdict_nor_adds_a_word_to_one_that_passed(assessed: Assess, paper: Site) -> None:
    plain = assessed(site=paper).verdict
    other = assessed(site=paper, facts=(node("vn1", turbo="off"), node("vn2", turbo="off"))).verdict
    assert plain.state == "pass"
    assert other == plain


def test_what_a_node_does_not_say_is_compared_with_nothing(assessed: Assess, paper: Site) -> None:
    found = assessed(site=paper, facts=(NodeFacts("vn1", {}, {}), NodeFacts("vn2", {}, {})))
    assert unlike(found) == {}
    assert len(found.conditions) == 6
    assert unlike(assessed(site=paper)) == {}


def test_an_entry_that_judged_nothing_states_nothing(assessed: Assess, virtual: Site) -> None:
    of_another = entry().model_copy(update={"id": "other", "benchmark": ("imb/PingPong",)})
    found = assessed(site=with_entries(virtual, entry(), of_another), facts=(node("vn1", turbo="off"),))
    assert {each.references for each in found.conditions} == {("paper",)}


@pytest.mark.parametrize("instead", [{"played": Played(None)}, {"rehearsed": True}], ids=["replay", "rehearsal"])
def test_nodes_of_a_replay_or_a_rehearsal_are_not_compared(
    assessed: Assess, paper: Site, instead: dict[str, Any]
) -> None:
    found = assessed(site=paper, facts=(node("vn1", turbo="off"), node("vn2", turbo="off")), **instead)
    assert unlike(found) == {}
    assert "turbo" in {each.name for each in found.conditions}


@pytest.mark.fault(
    "session",
    "turbo is off on both nodes, and the reference was taken with it on",
    "a possible cause: the reference paper was taken with turbo on; vn1 and vn2 have it off",
)
def test_a_failure_names_what_may_have_cost_and_nothing_else(assessed: Assess, virtual: Site, said: str) -> None:
    site = with_entries(virtual, entry(60.0, conditions={"turbo": "enabled", "smt": "enabled", "memory": "1 GB"}))
    facts = [NodeFacts(name, {"turbo": "off", "smt": "off", "memory": "8000000 kB"}, {}) for name in ("vn1", "vn2")]
    found = assessed(site=site, facts=tuple(facts))
    assert (found.verdict.state, found.verdict.rule) == ("fail", 5)
    assert set(unlike(found)) == {"turbo", "smt", "memory"}
    causes = [remark for remark in found.verdict.remarks if "a possible cause" in remark]
    assert causes == [said]
    before = assessed(site=site).verdict
    assert (found.verdict.sentence, found.verdict.suspects) == (before.sentence, before.suspects)


def test_the_record_keeps_them(assessed: Assess, paper: Site) -> None:
    found = assessed(site=paper, facts=(node("vn1", turbo="off"),))
    record = record_of(found, run="r", time="t", elapsed_s=1.0, environment={}, command=(), output=None)
    assert ConditionRecord("turbo", "enabled", ("paper",), {"off": ("vn1",)}) in record.conditions
    assert record.to_json()["conditions"][0] == {
        "name": "turbo",
        "stated": "enabled",
        "references": ["paper"],
        "unlike": {"off": ["vn1"]},
    }
