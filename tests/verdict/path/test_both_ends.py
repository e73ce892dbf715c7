"""Both ends of a rail are judged together: a frozen counter is not an idle rail, and no end alone is at fault."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from railyard.job.counters import DeviceCounters, Direction, NodeCounters
from railyard.results.record.form import Suspect
from railyard.verdict.path.proof import judge
from railyard.verdict.path.traffic import SHORT, NodeTraffic, Plan
from railyard.verdict.rule_model import PathProof
from railyard.verdict.wording import NOT_PROVEN

MB = 1_000_000
#: MB that the sender's hsn0 and hsn1 sent, and that the receiver's received.
Carried = tuple[tuple[float, float], tuple[float, float]]
#: Each message was sent twice, like OSU's warm-ups: one rail alone carried as much as the run is known to have moved.
TWICE = (190.0, 190.0)
PLAN = Plan(
    {"hsn0": 0.4, "hsn1": 0.4},
    "striping",
    {"vn1": NodeTraffic(180 * MB, 0, 170 * MB, 0), "vn2": NodeTraffic(0, 180 * MB, 0, 170 * MB)},
)


def device(name: str, sent: float, received: float) -> DeviceCounters:
    tx, rx = (Direction(1000, 1000 + round(amount * MB)) for amount in (sent, received))
    return DeviceCounters(name, True, tx, rx, True, True, {})


def readings(carried: Carried) -> dict[str, NodeCounters]:
    sent, received = carried
    rails = tuple(PLAN.rails)
    return {
        "vn1": NodeCounters("vn1", tuple(device(r, s, 2) for r, s in zip(rails, sent, strict=True)), 0),
        "vn2": NodeCounters("vn2", tuple(device(r, 2, s) for r, s in zip(rails, received, strict=True)), 0),
    }


def proof_of(carried: Carried, plan: Plan = PLAN) -> PathProof:
    return judge(readings(carried), plan)


def blamed_parts(proof: PathProof) -> set[tuple[str, str | None, str | None]]:
    return {(one.kind, one.node, one.rail) for one in proof.suspects}


FROZEN = "the two ends contradict each other, so the counter of bytes"


@pytest.mark.parametrize(
    ("carried", "whose"),
    [
        pytest.param(
            (TWICE, (190.0, 0.0)), "received of hsn1 on vn2 is wrong, not the rail", id="receiver",
            marks=pytest.mark.fault("path", "a receive counter that does not move, the sender's counts", FROZEN),
        ),
        pytest.param(
            ((0.0, 190.0), TWICE), "sent of hsn0 on vn1 is wrong, not the rail", id="sender",
            marks=pytest.mark.fault("path", "a send counter that does not move, the receiver's counts", FROZEN),
        ),
    ],
)  # fmt: skip
def test_a_counter_that_stands_still_is_no_idle_rail(carried: Carried, whose: str, promise: str) -> None:
    proof = proof_of(carried)
    assert (proof.state, proof.fault, blamed_parts(proof)) == ("not-proven", "not-proven", set())
    assert f"{promise} {whose}" in proof.sentence
    assert "idle" not in proof.sentence
    # Missing bytes on one end are not another job's traffic either.
    assert proof.disturbance is None


def test_the_sentence_of_a_contradiction_is_whole() -> None:
    proof = proof_of((TWICE, (190.0, 0.0)))
    assert proof.sentence == (
        f"{NOT_PROVEN}over hsn1 vn1 sent 190.0 MB, and vn2 counted 0.0 kB received: the two ends contradict each "
        "other, so the counter of bytes received of hsn1 on vn2 is wrong, not the rail"
    )
    assert proof.look_at == (
        "the driver and firmware of hsn1 on vn2: its counter of bytes received while something is sent"
    )


@pytest.mark.parametrize(
    "carried",
    [
        pytest.param(((380.0, 0.0), (380.0, 0.0)), id="both ends agree that it idled"),
        pytest.param(((380.0, 0.0), TWICE), id="what went over one rail arrived over both"),
        pytest.param(((285.0, 95.0), (285.0, 0.0)), id="another machine may have got it"),
    ],
)
def test_an_idle_rail_stays_one_where_no_counter_must_be_wrong(carried: Carried) -> None:
    proof = proof_of(carried)
    assert proof.state == "failed"
    assert "contradict" not in proof.sentence


def test_on_shared_nodes_and_of_a_collective_no_counter_is_called_wrong() -> None:
    frozen: Carried = (TWICE, (190.0, 0.0))
    assert "contradict" in proof_of(frozen).sentence
    for plan in (replace(PLAN, exclusive=False), replace(PLAN, collective=True)):
        assert "contradict" not in proof_of(frozen, plan).sentence


@pytest.mark.fault("path", "a rail that carried a third, by the counters of both its ends", "uneven split: rail hsn0")
def test_a_rail_that_is_short_on_both_ends_is_a_pairs(promise: str) -> None:
    proof = proof_of(((130.0, 60.0), (130.0, 60.0)))
    assert proof.sentence.startswith(promise)
    assert (proof.suspects, proof.uneven) == ((Suspect("pair", SHORT, "vn1-vn2", "hsn1"),), True)


def test_a_rail_that_is_short_on_one_end_alone_is_that_ends() -> None:
    proof = proof_of(((130.0, 60.0), (95.0, 95.0)))
    assert blamed_parts(proof) == {("rail", "vn1", "hsn1")}


def flapped_readings(
    carried: Mapping[str, NodeCounters], node: str, rail: str, **changed: object
) -> dict[str, NodeCounters]:
    reading = carried[node]
    devices = tuple(replace(d, **changed) if d.device == rail else d for d in reading.devices)  # type: ignore[arg-type]
    return {**carried, node: replace(reading, devices=devices)}


EVEN: Carried = ((95.0, 95.0), (95.0, 95.0))


@pytest.mark.fault("rail", "a link that went down and came up twice", "flapped during the run: carrier_changes grew")
def test_a_link_that_flapped_is_said_as_such(promise: str) -> None:
    proof = judge(flapped_readings(readings(EVEN), "vn2", "hsn1", carrier_changes=4), PLAN)
    assert (proof.state, proof.fault) == ("failed", "fabric")
    assert proof.sentence == f"the link of hsn1 of vn2 {promise} by 4" == proof.lost
    assert blamed_parts(proof) == {("rail", "vn2", "hsn1")}


def test_a_link_that_stayed_up_fails_nothing() -> None:
    proof = judge(flapped_readings(readings(EVEN), "vn2", "hsn1", carrier_changes=0), PLAN)
    assert (proof.state, proof.lost) == ("proven", None)


@pytest.mark.fault("rail", "a carrier lost, and the job killed for it", "lost its carrier during the run")
def test_a_carrier_that_a_killed_run_had_lost_is_said(promise: str) -> None:
    lost = flapped_readings(
        readings(((20.0, 20.0), (20.0, 20.0))), "vn2", "hsn1", carrier_after=False, carrier_changes=1
    )
    killed = {node: replace(reading, problem="the file has no end", killed=True) for node, reading in lost.items()}
    proof = judge(killed, PLAN)
    assert (proof.state, proof.lost) == ("failed", f"rail hsn1 of vn2 {promise}")
    assert blamed_parts(proof) == {("rail", "vn2", "hsn1")}


def test_a_killed_run_whose_links_stayed_up_proves_nothing_and_blames_nobody() -> None:
    killed = {node: replace(reading, problem="no end", killed=True) for node, reading in readings(EVEN).items()}
    proof = judge(killed, PLAN)
    assert (proof.state, proof.suspects, proof.lost) == ("not-proven", (), None)
