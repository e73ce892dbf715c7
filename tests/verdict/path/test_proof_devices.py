"""The path proof on devices: RDMA told from TCP, shared and frozen counters, errors; both sides of each rule."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from railyard.job.counters import DeviceCounters, Direction, NodeCounters
from railyard.results.record.form import Suspect
from railyard.verdict.path.proof import judge
from railyard.verdict.path.traffic import NodeTraffic, Plan
from railyard.verdict.rule_model import PathProof
from railyard.verdict.wording import NOT_PROVEN
from railyard.verdict.wording import path as path_words
from railyard.verdict.wording.path import (
    carried_part,
    grew,
    in_packets,
    network_in_trouble,
    say_besides,
    say_moved,
    unseen_rest,
    went_over,
)

MB = 1_000_000
PLAN = Plan(
    {"mlx5_0:1": 100.0},
    "single",
    {"vn1": NodeTraffic(180 * MB, 0), "vn2": NodeTraffic(0, 180 * MB)},
)
DUAL = Plan(
    {"mlx5_0:1": 100.0, "mlx5_1:1": 100.0},
    "striping",
    {"vn1": NodeTraffic(180 * MB, 0, 170 * MB, 0), "vn2": NodeTraffic(0, 180 * MB, 0, 170 * MB)},
)


def counted_device(name: str, sent: float, received: float, **more: Any) -> DeviceCounters:
    """Return a device that moved this many MB; ``more`` are fields of DeviceCounters."""
    tx, rx = (Direction(1000, 1000 + round(amount * MB)) for amount in (sent, received))
    errors = more.pop("errors", {})
    return DeviceCounters(name, more.pop("meant", False), tx, rx, True, True, errors, **more)


def rail(name: str, sent: float, received: float, **more: Any) -> DeviceCounters:
    return counted_device(name, sent, received, **{"meant": True, "driver": "mlx5", "overlap": "port", **more})


def judge_pair(first: tuple[DeviceCounters, ...], second: tuple[DeviceCounters, ...], plan: Plan = PLAN) -> PathProof:
    return judge({"vn1": NodeCounters("vn1", first, 0), "vn2": NodeCounters("vn2", second, 0)}, plan)


def of_pair(
    sent: float, interface: float = 0.0, plan: Plan = PLAN, on_rail: Mapping[str, Any] | None = None
) -> PathProof:
    """Return the proof of a pair whose RDMA port and its interface moved this much."""
    more = on_rail or {}
    first = (rail("mlx5_0:1", sent, 3, **more), counted_device("ib0", interface, 0, beside="mlx5_0:1"))
    second = (rail("mlx5_0:1", 3, sent, **more), counted_device("ib0", 0, interface, beside="mlx5_0:1"))
    return judge_pair(first, second, plan)


def proof_summary(proof: PathProof) -> tuple[str, str | None, str]:
    return proof.state, proof.fault, proof.sentence


# RDMA is proven if its counters moved and TCP's did not


def test_rdma_is_proven_where_tcp_stood_still() -> None:
    assert proof_summary(of_pair(190)) == (
        "proven",
        None,
        f"{say_moved(386_000_000, ('vn1', 'vn2'), {'mlx5_0:1': 1}, 0, True)}",
    )


def test_a_port_that_counts_tcp_as_well_does_not_prove_rdma() -> None:
    proof = of_pair(190, interface=188)
    assert proof_summary(proof) == (
        "failed",
        "set-up",
        "ib0 of vn1, the network interface of mlx5_0:1, "
        f"{say_besides('sent', 188_000_000, 180_000_000, 1_800_000)}: TCP, not RDMA",
    )
    assert proof.suspects[0] == Suspect(
        "stack", "TCP over ib0 carried 188.0 MB that should have been RDMA over mlx5_0:1", "vn1", "ib0"
    )


@pytest.mark.parametrize(("interface", "state"), [(1.79, "proven"), (1.81, "failed")])
def test_the_interface_has_what_start_up_needs(interface: float, state: str) -> None:
    assert of_pair(190, interface=interface).state == state


def test_tcp_on_ethernet_where_the_ports_count_rdma_alone_names_the_interface() -> None:
    proof = of_pair(0.1, interface=188, on_rail={"overlap": "apart"})
    assert proof_summary(proof) == (
        "failed",
        "set-up",
        f"{went_over(188_000_000, 'ib0', 'vn1', 'mlx5_0:1', '')}"
        f"{carried_part(['mlx5_0:1'], 'vn1', 'sent', 100_000, 180_000_000)}",
    )


def test_on_shared_nodes_tcp_on_the_same_port_is_a_doubt_and_no_failure() -> None:
    shared = replace(PLAN, exclusive=False)
    assert proof_summary(of_pair(190, interface=188, plan=shared)) == (
        "not-proven",
        "not-proven",
        f"{NOT_PROVEN}ib0 of vn1, the network interface of mlx5_0:1, "
        f"{say_besides('sent', 188_000_000, 180_000_000, 1_800_000)}"
        ": the counters of mlx5_0:1 see TCP and RDMA alike, and the nodes are not exclusive",
    )
    # Counters that only see RDMA prove it, whatever others do.
    assert of_pair(190, interface=188, plan=shared, on_rail={"overlap": "apart"}).state == "proven"


# Packets


def test_packets_bound_the_bytes_from_above_and_the_proof_says_so() -> None:
    packets = {"overlap": "interface", "packet_bytes": 1024}
    first, second = (rail("rxe0:1", 190, 9, **packets),), (rail("rxe0:1", 9, 190, **packets),)
    plan = replace(PLAN, rails={"rxe0:1": 1.0})
    assert proof_summary(judge_pair(first, second, plan)) == (
        "proven",
        None,
        f"{say_moved(398_000_000, ('vn1', 'vn2'), {'rxe0:1': 1}, 0, True)}{in_packets('rxe0:1', 1024)}",
    )
    # This many packets may be small ones: they do not show somebody else's traffic.
    many = (rail("rxe0:1", 900, 9, **packets),), (rail("rxe0:1", 9, 900, **packets),)
    assert judge_pair(*many, plan).disturbance is None


def test_too_few_packets_for_the_payload_are_no_proof() -> None:
    packets = {"overlap": "interface", "packet_bytes": 1024}
    few = (rail("rxe0:1", 170, 9, **packets),), (rail("rxe0:1", 9, 170, **packets),)
    assert judge_pair(*few, replace(PLAN, rails={"rxe0:1": 1.0})).state == "not-proven"


def test_packets_of_another_device_are_no_bytes() -> None:
    stray = counted_device("rxe1:1", 50, 50, packet_bytes=4096)
    first, second = (rail("mlx5_0:1", 190, 3), stray), (rail("mlx5_0:1", 3, 190), stray)
    assert judge_pair(first, second).state == "proven"


# Devices that no file names


def test_traffic_on_a_device_that_nobody_named_fails_too() -> None:
    first = (rail("mlx5_0:1", 0.1, 3), counted_device("mlx5_1:1", 188, 3, unnamed=True))
    second = (rail("mlx5_0:1", 3, 0.1), counted_device("mlx5_1:1", 3, 188, unnamed=True))
    assert proof_summary(judge_pair(first, second)) == (
        "failed",
        "set-up",
        f"{went_over(188_000_000, 'mlx5_1:1', 'vn1', None, '')}"
        f"{carried_part(['mlx5_0:1'], 'vn1', 'sent', 100_000, 180_000_000)}",
    )


def test_a_device_that_nobody_named_and_that_cannot_be_read_is_no_doubt() -> None:
    blind = replace(counted_device("usb0", 0, 0, unnamed=True), tx=Direction(None, None))
    first, second = (rail("mlx5_0:1", 190, 3), blind), (rail("mlx5_0:1", 3, 190), blind)
    assert judge_pair(first, second).state == "proven"
    named = replace(blind, unnamed=False)
    assert proof_summary(judge_pair((rail("mlx5_0:1", 190, 3), named), second)) == (
        "not-proven",
        "not-proven",
        f"{NOT_PROVEN}{network_in_trouble('usb0', 'vn1', 'has no readable counter of bytes sent')}",
    )


# Counters that tell nothing


def test_a_counter_that_stood_still_fails_only_where_another_shows_the_bytes() -> None:
    assert proof_summary(of_pair(0)) == (
        "not-proven",
        "not-proven",
        f"{NOT_PROVEN}{carried_part(['mlx5_0:1'], 'vn1', 'sent', 0, 180_000_000)}{unseen_rest('')}",
    )
    assert of_pair(0, interface=188).state == "failed"


def test_idle_traffic_is_subtracted() -> None:
    # The counter grew by 380 MB; an idle rail would have moved 190.
    direction = Direction(1000, 1000 + 380 * MB, idle_bytes=190 * MB)
    assert direction.delta_bytes == 190 * MB
    assert Direction(1000, 1000 + 5 * MB, idle_bytes=190 * MB).delta_bytes == 0


# Somebody else's traffic


def on_two(first: float, second: float) -> PathProof:
    sent = (rail("mlx5_0:1", first, 2), rail("mlx5_1:1", second, 2))
    return judge_pair(sent, (rail("mlx5_0:1", 2, first), rail("mlx5_1:1", 2, second)), DUAL)


def test_what_no_node_of_the_run_received_is_somebody_elses() -> None:
    second = (rail("mlx5_0:1", 0, 90), rail("mlx5_1:1", 0, 95))
    assert judge_pair((rail("mlx5_0:1", 105.9, 0), rail("mlx5_1:1", 95, 0)), second, DUAL).disturbance is None
    proof = judge_pair((rail("mlx5_0:1", 180, 0), rail("mlx5_1:1", 95, 0)), second, DUAL)
    assert proof.state == "proven"
    assert proof.disturbance == (
        "shared: over mlx5_0:1 vn1 and vn2 sent 90.0 MB more than they received "
        "(bound 16.0 MB, the larger of unmeant-share and shared-least)"
    )


def test_what_no_node_of_the_run_sent_is_somebody_elses() -> None:
    first = (rail("mlx5_0:1", 90, 0), rail("mlx5_1:1", 95, 0))
    second = (rail("mlx5_0:1", 0, 180), rail("mlx5_1:1", 0, 95))
    proof = judge_pair(first, second, DUAL)
    assert proof.state == "proven"
    assert proof.disturbance == (
        "shared: over mlx5_0:1 vn1 and vn2 received 90.0 MB more than they sent "
        "(bound 16.0 MB, the larger of unmeant-share and shared-least)"
    )


def test_a_split_is_judged_without_somebody_elses_traffic() -> None:
    # With headers and warm-ups, the run may have moved 235 MB.
    first = (rail("mlx5_0:1", 90 + 50, 0), rail("mlx5_1:1", 95, 0))
    assert judge_pair(first, (rail("mlx5_0:1", 0, 140), rail("mlx5_1:1", 0, 95)), DUAL).state == "failed"
    assert judge_pair(first, (rail("mlx5_0:1", 0, 90), rail("mlx5_1:1", 0, 95)), DUAL).state == "proven"


def test_a_split_that_is_uneven_without_somebody_elses_traffic_too_stays_uneven() -> None:
    first = (rail("mlx5_0:1", 140 + 90, 0), rail("mlx5_1:1", 45, 0))
    second = (rail("mlx5_0:1", 0, 140), rail("mlx5_1:1", 0, 45))
    proof = judge_pair(first, second, DUAL)
    assert (proof.state, proof.fault) == ("failed", "fabric")
    assert {suspect.rail for suspect in proof.suspects} == {"mlx5_1:1"}


def test_a_collective_may_send_once_what_many_receive() -> None:
    first = (rail("mlx5_0:1", 200, 0),)
    second = (rail("mlx5_0:1", 0, 900),)
    proof = judge_pair(first, second, replace(PLAN, collective=True))
    assert (proof.state, proof.disturbance) == ("proven", None)


def test_background_traffic_on_a_rail_is_a_disturbance_and_no_uneven_split() -> None:
    proof = on_two(394, 94)
    assert (proof.state, proof.suspects) == ("proven", ())
    assert proof.disturbance == path_words.shared_beyond(
        ["mlx5_0:1", "mlx5_1:1"], "vn1", "sent", 488_000_000, 180_000_000, False, "241.0 MB, shared-factor"
    )


def test_background_traffic_does_not_hide_a_rail_that_lacks_its_due() -> None:
    proof = on_two(444, 44)
    assert (proof.state, proof.fault) == ("failed", "fabric")
    assert proof.suspects[0] == Suspect("pair", path_words.short(), "vn1-vn2", "mlx5_1:1")


def test_without_more_bytes_than_the_runs_an_uneven_split_is_one() -> None:
    assert on_two(110, 80).state == "failed"
    assert on_two(97, 93).state == "proven"


# Errors and signals


def test_a_hard_error_fails_and_names_the_rail_alone() -> None:
    first = (rail("mlx5_0:1", 190, 3),)
    second = (rail("mlx5_0:1", 3, 190, errors={"symbol_error": 12, "link_downed": 1}),)
    proof = judge_pair(first, second)
    assert proof_summary(proof) == (
        "failed",
        "fabric",
        f"errors on mlx5_0:1 of vn2 during the run: {grew('symbol_error', 12, 0, 'hard-errors')}; "
        f"{grew('link_downed', 1, 0, 'hard-errors')}",
    )
    assert [(s.kind, s.node, s.rail) for s in proof.suspects] == [("rail", "vn2", "mlx5_0:1")]


@pytest.mark.parametrize(("bound", "state"), [(12, "proven"), (11, "failed")])
def test_a_sites_own_bound_replaces_it(bound: int, state: str) -> None:
    plan = replace(PLAN, error_bounds={"symbol_error": bound})
    first, second = (rail("mlx5_0:1", 190, 3, errors={"symbol_error": 12}),), (rail("mlx5_0:1", 3, 190),)
    assert judge_pair(first, second, plan).state == state


def test_errors_of_a_network_that_the_run_did_not_use_are_no_fault_of_it() -> None:
    other = counted_device("eth0", 0.1, 0.1, errors={"rx_errors": 9})
    assert judge_pair((rail("mlx5_0:1", 190, 3), other), (rail("mlx5_0:1", 3, 190),)).state == "proven"


def test_signals_are_said_and_decide_nothing() -> None:
    first, second = (rail("mlx5_0:1", 190, 3, signals={"hw/np_cnp_sent": 12}),), (rail("mlx5_0:1", 3, 190),)
    proof = judge_pair(first, second)
    assert (proof.state, proof.suspects) == ("proven", ())
    assert proof.sentence.endswith(" over another network; signals on mlx5_0:1 of vn1: np_cnp_sent 12")


def test_a_signal_that_the_site_bounds_fails_above_it() -> None:
    plan = replace(PLAN, error_bounds={"np_cnp_sent": 10})
    first, second = (rail("mlx5_0:1", 190, 3, signals={"hw/np_cnp_sent": 12}),), (rail("mlx5_0:1", 3, 190),)
    assert judge_pair(first, second, plan).sentence == (
        "errors on mlx5_0:1 of vn1 during the run: np_cnp_sent grew by 12 (bound 10, the system's file)"
    )


def test_what_cannot_be_seen_is_said() -> None:
    first = (rail("mlx5_0:1", 190, 3, stuck=("link_downed",)),)
    second = (rail("mlx5_0:1", 3, 190, virtual=True),)
    proof = judge_pair(first, second)
    assert proof.state == "proven"
    assert proof.sentence.endswith(
        "; link_downed of mlx5_0:1 of vn1 was at its maximum, 255, before the run and cannot grow any more: clear "
        "it; port errors of mlx5_0:1 of vn2 not seen: it is a virtual function"
    )


@pytest.mark.parametrize(("resent", "is_said"), [(200, True), (20, False)])
def test_segments_sent_again_are_said_of_their_node(resent: int, is_said: bool) -> None:
    first = NodeCounters("vn1", (rail("mlx5_0:1", 190, 3),), 0)
    second = NodeCounters("vn2", (rail("mlx5_0:1", 3, 190),), 0, resent=resent, sent=20_000)
    proof = judge({"vn1": first, "vn2": second}, PLAN)
    assert proof.state == "proven"
    said = "; TCP of vn2 sent 200 of 20000 segments again (1.0 %; bound 0.1 %, resent-share)"
    assert proof.sentence.partition("another network")[2] == (said if is_said else "")


# Collectives


@pytest.mark.parametrize(("second", "state"), [(60, "proven"), (1, "failed")])
def test_a_collective_needs_each_rail_to_have_moved(second: float, state: str) -> None:
    plan = replace(DUAL, collective=True)
    sent = (rail("mlx5_0:1", 300, 200), rail("mlx5_1:1", second, second))
    got = (rail("mlx5_0:1", 200, 300), rail("mlx5_1:1", second, second))
    assert judge_pair(sent, got, plan).state == state
