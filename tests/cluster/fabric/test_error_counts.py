"""Error counters: too many errors since clearing, growth between two readings, full counters, another part's fault."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from railyard.cluster.fabric.judge import judge
from railyard.cluster.fabric.link_state import counter_findings, growth
from railyard.cluster.fabric.model import ExpectedFabric, Readings, Report
from railyard.parsers.fabric import iblinkinfo, ibqueryerrors
from railyard.parsers.fabric.port import PortState

SUMMARY = "\n## Summary: 7 nodes checked, 1 bad nodes found\n## Thresholds: \n## Suppressed:\n"
GUID = "0xb8599f030000100f"  # of vn3 mlx5_1


def ports_of(counters: str, name: str = "vn3 mlx5_1", guid: str = GUID) -> tuple[PortState, ...]:
    text = f'Errors for "{name}"\n   GUID {guid} port 1: {counters}\n{SUMMARY}' if counters else SUMMARY
    return ibqueryerrors.parse(text).fabric


@pytest.fixture
def judge_counts(
    links: dict[str, Any], show: Callable[[dict[str, Any]], str], expected_edr: ExpectedFabric
) -> Callable[..., Report]:
    ports = iblinkinfo.parse(show(links)).fabric

    def run(first: str, later: str | None = None, **changes: Any) -> Report:
        then = None if later is None else ports_of(later)
        readings = Readings(ports=ports, is_whole=True, counters=ports_of(first), later=then)
        return judge(replace(expected_edr, **changes), readings)

    return run


def sentences(report: Report) -> list[str]:
    return [finding.sentence for finding in report.findings]


def test_errors_since_they_were_cleared_name_port_and_cable(judge_counts: Callable[..., Report]) -> None:
    assert sentences(judge_counts("[SymbolErrorCounter == 4711] [LinkDownedCounter == 3]")) == [
        "vn3 mlx5_1 port 1: found SymbolErrorCounter 4711 since they were cleared, expected at most 10; reseat or "
        "replace the cable to LeafB port 2, then ibclearerrors (or perfquery -R LID PORT)"
    ]


def test_a_few_errors_since_they_were_cleared_are_none(judge_counts: Callable[..., Report]) -> None:
    assert judge_counts("[SymbolErrorCounter == 10] [PortXmitDiscards == 100]").findings == ()
    (finding,) = judge_counts("[SymbolErrorCounter == 11] [LinkDownedCounter == 12]").findings
    assert (finding.found, finding.expected) == (
        *("SymbolErrorCounter 11 and LinkDownedCounter 12 since they were cleared", "at most 10 and 10"),
    )


DISCARDED = (
    "packets were dropped before they were sent: congestion first (a receiver that does not take them in time), or a "
    "link that was down or has a smaller MTU; look at what it sends to (PortXmitWait there, the receiving node, "
    "routing, traffic from many to one), and at the cable only if its symbol errors grow too"
)


def test_discards_are_congestion_and_not_a_cable(judge_counts: Callable[..., Report]) -> None:
    assert sentences(judge_counts("[PortXmitDiscards == 101]")) == [
        f"vn3 mlx5_1 port 1: found PortXmitDiscards 101 since they were cleared, expected at most 100; {DISCARDED}"
    ]
    assert sentences(judge_counts("", "[PortXmitDiscards == 3]")) == [
        "vn3 mlx5_1 port 1: found PortXmitDiscards +3 in the time between two readings, expected at most 0; "
        f"{DISCARDED}"
    ]


def test_discards_beside_symbol_errors_are_two_findings(judge_counts: Callable[..., Report]) -> None:
    both = judge_counts("[SymbolErrorCounter == 11] [PortXmitDiscards == 101]").findings
    assert [(each.what, "cable to LeafB" in each.fix) for each in both] == [("errors", True), ("congestion", False)]


def test_a_bounded_wait_is_congestion(judge_counts: Callable[..., Report]) -> None:
    (found,) = judge_counts("[PortXmitWait == 12345]", errors={"PortXmitWait": 1000}).findings
    assert (found.what, found.found) == ("congestion", "PortXmitWait 12345 since they were cleared")
    assert found.fix.startswith("it had data to send but no credit: congestion, or a slow receiver behind it, not its ")


def test_of_two_readings_what_grew_counts(judge_counts: Callable[..., Report]) -> None:
    first = "[SymbolErrorCounter == 4711] [LinkDownedCounter == 3]"
    assert judge_counts(first, first).findings == ()
    assert sentences(judge_counts(first, "[SymbolErrorCounter == 4713] [LinkDownedCounter == 4]")) == [
        "vn3 mlx5_1 port 1: found SymbolErrorCounter +2 and LinkDownedCounter +1 in the time between two "
        "readings, expected at most 0 and 0; reseat or replace the cable to LeafB port 2, then ibclearerrors (or "
        "perfquery -R LID PORT)"
    ]
    assert [finding.found for finding in judge_counts("", "[PortRcvErrors == 1]").findings] == [
        "PortRcvErrors +1 in the time between two readings"
    ]


def test_a_port_that_only_passes_on_what_another_marked_is_not_blamed(judge_counts: Callable[..., Report]) -> None:
    report = judge_counts("[PortRcvRemotePhysicalErrors == 900] [PortXmitWait == 12345]")
    assert report.findings == ()
    assert report.notes == (
        "PortRcvRemotePhysicalErrors is not 0 on 1 port: a signal, not a fault unless fabric_state.errors bounds it",
        "PortXmitWait is not 0 on 1 port: it had data to send but no credit: congestion, or a slow receiver behind it, "
        "not its cable; a signal, not a fault unless fabric_state.errors bounds it",
    )


def test_the_site_may_bound_a_signal_or_allow_errors(judge_counts: Callable[..., Report]) -> None:
    assert judge_counts("[SymbolErrorCounter == 4711]", errors={"SymbolErrorCounter": 5000}).findings == ()
    bounded = judge_counts("[PortRcvRemotePhysicalErrors == 900]", errors={"PortRcvRemotePhysicalErrors": 10})
    assert [finding.expected for finding in bounded.findings] == ["at most 10"]


def test_a_full_counter_cannot_be_seen_to_grow(judge_counts: Callable[..., Report]) -> None:
    full = "[SymbolErrorCounter == 65535]"
    assert sentences(judge_counts(full, full)) == [
        "vn3 mlx5_1 port 1: found SymbolErrorCounter 65535, the counter's maximum, expected counters that can grow; "
        "it cannot grow any more: clear it, ibclearerrors (or perfquery -R LID PORT), and read it again"
    ]


def test_a_full_signal_is_none(judge_counts: Callable[..., Report]) -> None:
    full = "[PortRcvSwitchRelayErrors == 65535]"
    assert judge_counts(full, full).findings == ()
    assert [finding.what for finding in judge_counts(full, errors={"PortRcvSwitchRelayErrors": 10}).findings] == [
        "saturated"
    ]


def test_growth_is_from_the_threshold_where_nothing_was_printed_and_from_0_after_a_clearing() -> None:
    later = PortState(counters={"PortRcvErrors": 12, "VL15Dropped": 3}, thresholds={"PortRcvErrors": 10})
    assert growth(None, later) == {"PortRcvErrors": 2, "VL15Dropped": 3}
    assert growth(PortState(counters={"PortRcvErrors": 40}), later)["PortRcvErrors"] == 12


def test_ports_of_no_guid_are_held_by_their_names(expected_edr: ExpectedFabric) -> None:
    def port(device: str, errors: int) -> PortState:
        counters = {"SymbolErrorCounter": errors}
        return PortState(node="vn1", device=device, port=1, kind="CA", state="Active", rate=100.0, counters=counters)

    own = (port("mlx5_0", 0), port("mlx5_1", 77))
    report = judge(expected_edr, Readings(own=own, counters=own))
    assert [(finding.what, finding.place) for finding in report.findings] == [("errors", "vn1 mlx5_1 port 1")]


def test_a_sum_over_all_ports_counts_where_no_port_is_named(expected_edr: ExpectedFabric) -> None:
    head = 'Errors for 0xb8599f0300001010 "LeafB"\n   GUID 0xb8599f0300001010 port ALL: [SymbolErrorCounter == 4711]\n'
    alone = ibqueryerrors.parse(head + SUMMARY).fabric
    expected_fix = "the output has only the sum over all ports, not which one it was: read it again, whole"
    (found,) = counter_findings(expected_edr, Readings(counters=alone))
    assert (found.node, found.found, found.fix) == (
        *("LeafB", "SymbolErrorCounter 4711 since they were cleared", expected_fix),
    )
    port = "   GUID 0xb8599f0300001010 port 4: [SymbolErrorCounter == 4711]\n"
    (found,) = counter_findings(expected_edr, Readings(counters=ibqueryerrors.parse(head + port + SUMMARY).fabric))
    assert found.port == 4


@pytest.mark.parametrize(
    "name",
    [
        *("PortInactiveDiscards", "PortNeighborMTUDiscards"),
        *("PortSwLifetimeLimitDiscards", "PortSwHOQLifetimeLimitDiscards"),
    ],
)
def test_the_details_of_discards_have_the_bound_of_discards(judge_counts: Callable[..., Report], name: str) -> None:
    assert judge_counts(f"[{name} == 100]").findings == ()
    (found,) = judge_counts(f"[{name} == 101]").findings
    assert (found.what, found.found) == ("congestion", f"{name} 101 since they were cleared")
