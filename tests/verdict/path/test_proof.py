"""The path proof: each rule's failing case beside a similar healthy one, with exact sentences."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from railyard.base.json_codec import encode
from railyard.job.counters import DeviceCounters, Direction, NodeCounters
from railyard.results.record.form import Suspect, with_shares
from railyard.verdict.path.proof import judge
from railyard.verdict.path.traffic import NodeTraffic, Plan, ShareRange, share_range
from railyard.verdict.rule_model import PathProof, path_not_judged
from railyard.verdict.wording import NOT_PROVEN
from railyard.verdict.wording import path as path_words
from railyard.verdict.wording.path import (
    carried_part,
    counters_not_found,
    counters_unusable,
    idle_part,
    lost_carrier,
    network_in_trouble,
    not_intended,
    say_besides,
    too_little,
    unseen_rest,
    went_over,
)
from tests.made.words import idle_second

MB = 1_000_000
Moved = tuple[float, float]


def device(name: str, moved: Moved, meant: bool = True) -> DeviceCounters:
    """Return a device that sent and received this many MB."""
    tx, rx = (Direction(1000, 1000 + round(amount * MB)) for amount in moved)
    return DeviceCounters(name, meant, tx, rx, True, True, {})


def node(name: str, **moved: Moved) -> NodeCounters:
    devices = tuple(device(rail, amount, rail != "eth0") for rail, amount in moved.items())
    return NodeCounters(name, devices, 0, "MPI_LOCALRANKID")


def readings(*nodes: NodeCounters) -> dict[str, NodeCounters]:
    return {reading.node: reading for reading in nodes}


def two(first: Mapping[str, Moved], second: Mapping[str, Moved]) -> dict[str, NodeCounters]:
    return readings(node("vn1", **first), node("vn2", **second))


ONE = Plan(
    {"hsn0": 0.4},
    "single",
    {"vn1": NodeTraffic(180 * MB, 0), "vn2": NodeTraffic(0, 180 * MB)},
)
DUAL = Plan(
    {"hsn0": 0.4, "hsn1": 0.4},
    "striping",
    {"vn1": NodeTraffic(180 * MB, 0, 170 * MB, 0), "vn2": NodeTraffic(0, 180 * MB, 0, 170 * MB)},
)


def one_rail_counters(amount: float, eth0: float = 0.1) -> dict[str, NodeCounters]:
    return two({"hsn0": (amount, 3), "eth0": (eth0, eth0)}, {"hsn0": (3, amount), "eth0": (eth0, eth0)})


def on_two(hsn0: float, hsn1: float, eth0: float = 0.1) -> dict[str, NodeCounters]:
    return two(
        {"hsn0": (hsn0, 2), "hsn1": (hsn1, 2), "eth0": (eth0, eth0)},
        {"hsn0": (2, hsn0), "hsn1": (2, hsn1), "eth0": (eth0, eth0)},
    )


def proof_summary(proof: PathProof) -> tuple[str, str | None, str]:
    return proof.state, proof.fault, proof.sentence


def test_a_healthy_single_rail_is_proven() -> None:
    proof = judge(one_rail_counters(188), ONE)
    assert proof_summary(proof) == (
        "proven",
        None,
        "382.0 MB moved on vn1 and vn2: 100.0 % over hsn0, at most 0.1 MB over another network",
    )
    assert (proof.suspects, proof.disturbance, proof.expected_bytes) == ((), None, 360 * MB)


def test_a_healthy_pair_of_rails_is_proven_and_its_record_has_every_rail() -> None:
    proof = judge(on_two(94, 94), DUAL)
    assert proof_summary(proof) == (
        "proven",
        None,
        "384.0 MB moved on vn1 and vn2: 50.0 % over hsn0 and 50.0 % over hsn1, at most 0.1 MB over another network",
    )
    assert proof.expected_bytes == 360 * MB
    assert proof.nodes is not None
    assert encode(with_shares(proof.nodes["vn1"])[1]) == {
        "device": "hsn1",
        "meant": True,
        "tx_bytes": 94 * MB,
        "rx_bytes": 2 * MB,
        "share": 0.5,
    }
    assert encode(with_shares(proof.nodes["vn2"])[2]) == {
        "device": "eth0",
        "meant": False,
        "tx_bytes": 100_000,
        "rx_bytes": 100_000,
        "share": None,
    }


def test_all_bytes_over_the_management_network_fail_and_name_it() -> None:
    proof = judge(one_rail_counters(0.2, eth0=188), ONE)
    assert proof_summary(proof) == (
        "failed",
        "set-up",
        f"{went_over(188_000_000, 'eth0', 'vn1', None, '')}"
        f"{carried_part(['hsn0'], 'vn1', 'sent', 200_000, 180_000_000)}",
    )
    assert proof.suspects[0] == Suspect("stack", "the stack used eth0 instead of hsn0", "vn1", "eth0")


@pytest.mark.parametrize(("carried", "state"), [(176.5, "proven"), (176.3, "not-proven")])
def test_the_meant_rails_carry_98_percent(carried: float, state: str) -> None:
    assert judge(one_rail_counters(carried, eth0=1.5), ONE).state == state


def test_bytes_that_no_counter_shows_are_not_proven() -> None:
    assert proof_summary(judge(one_rail_counters(0.2), ONE)) == (
        "not-proven",
        "not-proven",
        f"{NOT_PROVEN}{carried_part(['hsn0'], 'vn1', 'sent', 200_000, 180_000_000)}{unseen_rest('')}",
    )


@pytest.mark.parametrize(("stray", "state"), [(0.49, "proven"), (0.51, "failed")])
def test_another_network_has_what_the_start_of_two_nodes_needs_in_a_short_run(stray: float, state: str) -> None:
    short = replace(ONE, traffic={"vn1": NodeTraffic(4 * MB, 4 * MB), "vn2": NodeTraffic(4 * MB, 4 * MB)})
    carried = {"hsn0": (5, 5), "eth0": (stray / 2, stray / 2)}
    assert judge(two(carried, carried), short).state == state


def test_what_is_read_from_a_file_system_is_not_the_runs_own_traffic() -> None:
    reads = {"hsn0": (188, 3), "eth0": (1.5, 60)}
    assert judge(two(reads, {**reads, "hsn0": (3, 188)}), ONE).state == "proven"
    assert judge(two({**reads, "eth0": (60, 1.5)}, {**reads, "hsn0": (3, 188)}), ONE).state == "failed"


def test_another_network_has_1_percent_in_a_long_run() -> None:
    long = replace(ONE, traffic={"vn1": NodeTraffic(5000 * MB, 0), "vn2": NodeTraffic(0, 5000 * MB)})
    assert judge(one_rail_counters(5200, eth0=49), long).state == "proven"
    proof = judge(one_rail_counters(5200, eth0=51), long)
    assert proof_summary(proof) == (
        "failed",
        "set-up",
        f"{not_intended('eth0', 'vn1', '')}{say_besides('sent', 51_000_000, 5_000_000_000, 50_000_000)}",
    )


def test_other_jobs_traffic_is_no_failure_where_nodes_are_not_exclusive() -> None:
    shared = replace(ONE, exclusive=False)
    assert proof_summary(judge(one_rail_counters(188, eth0=500), shared)) == (
        "proven",
        None,
        "382.0 MB moved on vn1 and vn2: 100.0 % over hsn0, only a lower bound: the nodes are not exclusive",
    )
    assert judge(one_rail_counters(0, eth0=500), shared).state == "failed"


def test_a_second_rail_that_idles_on_every_node_fails_and_blames_the_stack_alone() -> None:
    proof = judge(on_two(190, 0.2), DUAL)
    assert proof_summary(proof) == (
        "failed",
        "set-up",
        idle_second(idle_part("hsn1", "vn1", "sent", 200_000, 190_200_000)),
    )
    assert proof.suspects == (Suspect("stack", path_words.idled_on_all(["hsn1"], ["vn1", "vn2"])),)


def test_a_lost_carrier_stays_a_suspect_beside_a_stack_that_idles_a_rail() -> None:
    idle = on_two(190, 0.2)
    vn2 = idle["vn2"]
    down = replace(vn2, devices=(vn2.devices[0], replace(vn2.devices[1], carrier_after=False), *vn2.devices[2:]))
    assert [(s.kind, s.node, s.rail) for s in judge({**idle, "vn2": down}, DUAL).suspects] == [
        ("stack", None, None),
        ("rail", "vn2", "hsn1"),
    ]


def test_a_rail_that_idles_on_one_node_alone_is_the_suspect() -> None:
    uneven = two(
        {"hsn0": (190, 2), "hsn1": (0.2, 2), "eth0": (0, 0)}, {"hsn0": (2, 95), "hsn1": (2, 95), "eth0": (0, 0)}
    )
    assert judge(uneven, DUAL).suspects == (
        Suspect("rail", f"idle: {idle_part('hsn1', 'vn1', 'sent', 200_000, 190_200_000)}", "vn1", "hsn1"),
    )


BOTH = NodeTraffic(180 * MB, 180 * MB, 170 * MB, 170 * MB)
FOUR = replace(DUAL, traffic=dict.fromkeys(("vn1", "vn2", "vn3", "vn4"), BOTH))


def four(**hsn1: Moved) -> dict[str, NodeCounters]:
    """Return readings of four nodes; each moved 190 MB both ways, this much of it over hsn1."""
    return readings(*(node(name, hsn0=(190 - tx, 190 - rx), hsn1=(tx, rx)) for name, (tx, rx) in hsn1.items()))


def test_the_partners_of_a_node_that_leaves_a_rail_out_are_not_to_blame() -> None:
    in_pairs = four(vn1=(63, 63), vn2=(0.2, 0.2), vn3=(63, 63), vn4=(63, 63))
    in_a_ring = four(vn1=(0.2, 95), vn2=(0.2, 0.2), vn3=(95, 0.2), vn4=(95, 95))
    for read in (in_pairs, in_a_ring):
        proof = judge(read, FOUR)
        assert proof_summary(proof) == (
            "failed",
            "set-up",
            idle_second(idle_part("hsn1", "vn2", "sent", 200_000, 190_000_000)),
        )
        assert {(one.kind, one.node, one.rail) for one in proof.suspects} == {("rail", "vn2", "hsn1")}


def test_a_split_is_a_nodes_own_where_no_other_leaves_that_rail_out() -> None:
    uneven = judge(four(vn1=(63, 63), vn2=(95, 95), vn3=(95, 95), vn4=(95, 95)), FOUR)
    assert {(one.node, one.rail) for one in uneven.suspects} == {("vn1", "hsn1")}
    one_way = judge(four(vn1=(0.2, 95), vn2=(95, 0.2), vn3=(95, 95), vn4=(95, 95)), FOUR)
    assert {(one.node, one.rail) for one in one_way.suspects} == {("vn1", "hsn1"), ("vn2", "hsn1")}
    other_rail = judge(four(vn1=(120, 120), vn2=(0.2, 0.2), vn3=(63, 63), vn4=(63, 63)), FOUR)
    assert {(one.node, one.rail) for one in other_rail.suspects} == {("vn1", "hsn0"), ("vn2", "hsn1")}


def test_rails_that_idle_on_different_nodes_do_not_blame_the_stack() -> None:
    # What the second node sent back came as it should: no cables are swapped.
    crossed = two(
        {"hsn0": (190, 4), "hsn1": (0.2, 2), "eth0": (0, 0)}, {"hsn0": (4, 0.2), "hsn1": (2, 190), "eth0": (0, 0)}
    )
    assert [(s.kind, s.node, s.rail) for s in judge(crossed, DUAL).suspects] == [
        ("rail", "vn1", "hsn1"),
        ("rail", "vn2", "hsn0"),
    ]


def test_a_way_that_moved_next_to_nothing_is_not_judged() -> None:
    traffic = {"vn1": NodeTraffic(180 * MB, MB // 2), "vn2": NodeTraffic(MB // 2, 180 * MB)}
    quiet = two({"hsn0": (188, 0.1), "eth0": (0, 0.4)}, {"hsn0": (0.1, 188), "eth0": (0.4, 0)})
    assert judge(quiet, replace(ONE, traffic=traffic)).state == "proven"


def test_an_uneven_split_fails_and_names_the_rail_that_carried_less() -> None:
    proof = judge(on_two(130, 60), DUAL)
    assert proof_summary(proof) == (
        "failed",
        "fabric",
        "uneven split: rail hsn0 of vn1 sent 68.4 % of 190.0 MB, due 50.0 %; "
        "rail hsn1 of vn1 sent 31.6 % of 190.0 MB, due 50.0 % (bound 5 points, split-points)",
    )
    assert proof.suspects[0] == Suspect("pair", path_words.short(), "vn1-vn2", "hsn1")
    assert proof.look_at == "rate and errors of hsn1 on vn1, then the stack's weights of its rails"


@pytest.mark.parametrize(("hsn0", "state"), [(104, "proven"), (105, "failed"), (86, "proven"), (85, "failed")])
def test_the_split_holds_within_5_points(hsn0: float, state: str) -> None:
    traffic = {"vn1": NodeTraffic(180 * MB, 0, 180 * MB, 0), "vn2": NodeTraffic(0, 180 * MB, 0, 180 * MB)}
    assert judge(on_two(hsn0, 190 - hsn0), replace(DUAL, traffic=traffic)).state == state


def test_rails_of_unequal_rates_share_by_rate() -> None:
    unequal = replace(DUAL, rails={"hsn0": 0.4, "hsn1": 0.8})
    assert judge(on_two(63, 126), unequal).state == "proven"
    assert judge(on_two(94, 94), unequal).state == "failed"


def test_messages_below_the_threshold_may_take_any_rail() -> None:
    traffic = {"vn1": NodeTraffic(180 * MB, 0, 90 * MB, 0), "vn2": NodeTraffic(0, 180 * MB, 0, 90 * MB)}
    half_small = replace(DUAL, traffic=traffic)
    assert judge(on_two(141, 47), half_small).state == "proven"
    assert judge(on_two(188, 0.1), half_small).state == "failed"


def test_a_run_of_small_messages_alone_may_take_one_rail() -> None:
    traffic = {"vn1": NodeTraffic(180 * MB, 0), "vn2": NodeTraffic(0, 180 * MB)}
    assert judge(on_two(188, 0), replace(DUAL, traffic=traffic)).state == "proven"


def test_a_split_of_few_bytes_is_not_proven_and_says_how_many_it_needs() -> None:
    traffic = {"vn1": NodeTraffic(180 * MB, 0, 2 * MB, 0), "vn2": NodeTraffic(0, 180 * MB, 0, 2 * MB)}
    assert proof_summary(judge(on_two(188, 0), replace(DUAL, traffic=traffic))) == (
        "not-proven",
        "not-proven",
        f"{NOT_PROVEN}vn1 sent 2.0 MB in messages that are spread over hsn0 and hsn1, and the split can be told "
        "from 2.5 MB on (wire-up-rail)",
    )


@pytest.mark.parametrize(("hsn0", "state"), [(88, "proven"), (112, "proven"), (75, "failed"), (114.5, "failed")])
def test_round_robin_holds_within_10_points(hsn0: float, state: str) -> None:
    traffic = {"vn1": NodeTraffic(180 * MB, 0, 180 * MB, 0), "vn2": NodeTraffic(0, 180 * MB, 0, 180 * MB)}
    plan = replace(DUAL, policy="round-robin", traffic=traffic)
    assert judge(on_two(hsn0, 190 - hsn0), plan).state == state


def test_a_nic_per_rank_needs_a_pair_per_rail() -> None:
    plan = replace(DUAL, policy="nic-per-rank")
    assert proof_summary(judge(on_two(190, 0.2), plan)) == (
        "not-proven",
        "not-proven",
        f"{NOT_PROVEN}with a NIC per rank 1 pair of ranks cannot use 2 rails, "
        "so this benchmark says nothing about them",
    )
    assert judge(on_two(95, 95), replace(plan, pairs=2)).state == "proven"
    assert judge(on_two(190, 0.2), replace(plan, pairs=2)).state == "failed"


def test_one_rail_was_meant_but_the_plan_names_two() -> None:
    assert judge(on_two(95, 95), replace(DUAL, policy="single")).sentence == (
        "policy single uses one rail, and the run has hsn0 and hsn1"
    )


def test_a_collective_needs_each_rail_used_and_no_split() -> None:
    plan = replace(DUAL, collective=True)
    assert judge(on_two(170, 20), plan).state == "proven"
    proof = judge(on_two(185, 5), plan)
    assert proof.sentence == (
        path_words.idle(
            [idle_part("hsn1", "vn1", "sent", 5_000_000, 190_000_000)],
            2,
            0.05,
            "of the node's bytes",
            "collective-share",
        )
    )
    assert judge(on_two(95, 95, eth0=17), plan).state == "failed"
    assert judge(on_two(900, 900), plan).disturbance is None


def test_more_than_was_moved_is_shared_and_no_failure() -> None:
    assert judge(one_rail_counters(240), ONE).disturbance is None
    proof = judge(one_rail_counters(242), ONE)
    assert proof.state == "proven"
    factor = "241.0 MB, shared-factor"
    assert proof.disturbance == path_words.shared_beyond(["hsn0"], "vn1", "sent", 242 * MB, 180 * MB, False, factor)
    warmed = NodeTraffic(180 * MB, 0, most_sent_bytes=360 * MB, most_received_bytes=0)
    known = replace(ONE, traffic={"vn1": warmed, "vn2": warmed.mirror()})
    assert judge(one_rail_counters(411), known).disturbance is None
    said = path_words.shared_beyond(["hsn0"], "vn1", "sent", 413 * MB, 360 * MB, True, "412.0 MB, shared-known")
    assert judge(one_rail_counters(413), known).disturbance == said


def test_the_other_node_of_a_pair_moved_the_same_exchanged() -> None:
    assert NodeTraffic(1, 2, 3, 4, 5, 6).mirror() == NodeTraffic(2, 1, 4, 3, 6, 5)


def test_a_run_that_moved_too_little_is_not_proven_and_not_failed() -> None:
    small = replace(ONE, traffic={"vn1": NodeTraffic(300_000, 0), "vn2": NodeTraffic(0, 300_000)})
    assert proof_summary(judge(one_rail_counters(0.01), small)) == (
        "not-proven",
        "not-proven",
        f"{NOT_PROVEN}{too_little('vn1', 300_000)}",
    )
    enough = replace(ONE, traffic={"vn1": NodeTraffic(MB, 0), "vn2": NodeTraffic(0, MB)})
    assert judge(one_rail_counters(1.05), enough).state == "proven"


def break_counter(reading: NodeCounters, rail: str, direction: Direction) -> NodeCounters:
    devices = tuple(replace(d, tx=direction) if d.device == rail else d for d in reading.devices)
    return replace(reading, devices=devices)


def test_counters_that_tell_nothing_are_not_proven() -> None:
    healthy = one_rail_counters(188)
    vn2 = healthy["vn2"]
    cases = {
        f"{NOT_PROVEN}{counters_not_found('vn2')}": {"vn1": healthy["vn1"]},
        f"{NOT_PROVEN}{counters_unusable('vn2', '')}the file has no end": {
            **healthy,
            "vn2": replace(vn2, problem="the file has no end"),
        },
        f"{NOT_PROVEN}the counters of vn2 have no reading of rail hsn0": {
            **healthy,
            "vn2": replace(vn2, devices=vn2.devices[1:]),
        },
        f"{NOT_PROVEN}rail hsn0 of vn2 has no readable counter of bytes sent": {
            **healthy,
            "vn2": break_counter(vn2, "hsn0", Direction(1, None)),
        },
        f"{NOT_PROVEN}rail hsn0 of vn2 counted fewer bytes sent after the run (1) than before (9): "
        "it was reset or replaced": {**healthy, "vn2": break_counter(vn2, "hsn0", Direction(9, 1))},
        f"{NOT_PROVEN}{network_in_trouble('eth0', 'vn2', 'has no readable counter of bytes sent')}": {
            **healthy,
            "vn2": break_counter(vn2, "eth0", Direction(None, 1)),
        },
    }
    for sentence, counters in cases.items():
        assert proof_summary(judge(counters, ONE)) == ("not-proven", "not-proven", sentence)
    assert judge(healthy, ONE).state == "proven"


def test_a_certain_failure_goes_before_a_doubt_about_another_node() -> None:
    wrong = one_rail_counters(0.2, eth0=188)
    assert judge({"vn2": wrong["vn2"]}, ONE).state == "failed"


def test_a_carrier_lost_during_the_run_names_the_rail() -> None:
    healthy = one_rail_counters(188)
    vn2 = healthy["vn2"]
    down = replace(vn2, devices=(replace(vn2.devices[0], carrier_after=False), vn2.devices[1]))
    proof = judge({**healthy, "vn2": down}, ONE)
    sentence = lost_carrier("hsn0 of vn2")
    assert proof_summary(proof) == ("failed", "fabric", sentence)
    assert proof.suspects == (Suspect("rail", sentence, "vn2", "hsn0"),)


def test_a_plan_without_rails_or_traffic_is_not_proven() -> None:
    assert judge(one_rail_counters(188), replace(ONE, traffic={})).state == "not-proven"
    assert judge(one_rail_counters(188), replace(ONE, rails={})).sentence == (
        f"{NOT_PROVEN}the run has no rail that it should use"
    )
    assert path_not_judged("one node only").sentence == path_words.no_path("one node only")


def test_the_range_of_a_rails_share() -> None:
    assert share_range(95, 190, 180, 180) == ShareRange(0.5, 0.5)
    half = share_range(141, 188, 180, 90)
    assert (half.low, half.high) == (0.5, 1.0)


@given(
    hsn0=st.floats(0, 400),
    hsn1=st.floats(0, 400),
    eth0=st.floats(0, 400),
    more=st.floats(0, 400),
)
def test_more_bytes_elsewhere_never_make_a_proof(hsn0: float, hsn1: float, eth0: float, more: float) -> None:
    before = judge(on_two(hsn0, hsn1, eth0), DUAL).state
    after = judge(on_two(hsn0, hsn1, eth0 + more), DUAL).state
    assert not (before != "proven" and after == "proven")


@given(hsn0=st.floats(0, 400), hsn1=st.floats(0, 400), share=st.floats(0, 1))
def test_fewer_bytes_on_both_rails_never_make_a_proof(hsn0: float, hsn1: float, share: float) -> None:
    before = judge(on_two(hsn0, hsn1), DUAL).state
    after = judge(on_two(hsn0 * share, hsn1 * share), DUAL).state
    assert not (before != "proven" and after == "proven")
