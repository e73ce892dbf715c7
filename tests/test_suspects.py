"""Who is blamed for a slow pair, and who is not."""

import pytest

from railyard.suspects import Findings, Probe, RailProbe, Suspect, plan_probes, sends_again, suspects

GOOD, SLOW = 47.8, 4.7


def probe(pair: str, rail: str = "hsn1", value: float | None = GOOD) -> RailProbe:
    node_a, node_b = pair.split("-")
    return RailProbe(node_a, node_b, rail, value, 47.85)


@pytest.mark.parametrize(
    ("resent", "sent", "again"),
    [(11, 10_000, True), (10, 10_000, False), (500, 9_999, False), (None, 10_000, False), (11, None, False)],
)
def test_segments_sent_again_count_from_so_many_on(resent: int | None, sent: int | None, again: bool) -> None:
    assert sends_again(resent, sent) is again


def test_a_pair_and_two_partners_take_six_probes_a_rail() -> None:
    planned = plan_probes(("vn1", "vn2"), ("vn1", "vn2", "vn3", "vn4", "vn5"), ("hsn1",))
    assert planned == (
        Probe("vn1", "vn2", "hsn1"),
        Probe("vn1", "vn3", "hsn1"),
        Probe("vn1", "vn4", "hsn1"),
        Probe("vn2", "vn3", "hsn1"),
        Probe("vn2", "vn4", "hsn1"),
        Probe("vn3", "vn4", "hsn1"),
    )
    assert len(plan_probes(("vn1", "vn2"), ("vn3", "vn4"), ("hsn0", "hsn1"))) == 12


def test_one_slow_rail_of_one_node_is_blamed_and_its_partners_are_not() -> None:
    found = suspects(
        [
            *(probe(pair, "hsn0") for pair in ("vn1-vn2", "vn1-vn3", "vn1-vn4", "vn2-vn3", "vn2-vn4")),
            probe("vn1-vn2", value=SLOW),
            probe("vn1-vn3"),
            probe("vn1-vn4"),
            probe("vn2-vn3", value=4.5),
            probe("vn2-vn4", value=None),
        ]
    )
    reason = (
        "hsn1 of vn2 alone is slow with every partner: 4.700 MB/s with vn1, 4.500 MB/s with vn3 and no result "
        "with vn4, expected 47.85 MB/s"
    )
    assert found == Findings((Suspect("rail", "vn2", "hsn1", reason),), reason)


def test_two_slow_nodes_of_one_pair_are_both_blamed() -> None:
    found = suspects(
        [
            probe("vn1-vn2", value=SLOW),
            *(probe(pair, value=SLOW) for pair in ("vn1-vn3", "vn1-vn4", "vn2-vn3", "vn2-vn4")),
            probe("vn3-vn4"),
        ]
    )
    assert [(s.kind, s.node) for s in found.suspects] == [("rail", "vn1"), ("rail", "vn2")]


def test_a_rail_that_is_slow_everywhere_blames_its_switch() -> None:
    found = suspects([probe(pair, value=SLOW) for pair in ("vn1-vn2", "vn1-vn3", "vn2-vn3")])
    reason = (
        "hsn1 is slow between all pairs measured (vn1-vn2 4.700 MB/s of 47.85 MB/s, vn1-vn3 4.700 MB/s of 47.85 MB/s "
        "and vn2-vn3 4.700 MB/s of 47.85 MB/s): its switch or its whole network"
    )
    assert found == Findings((Suspect("switch", None, "hsn1", reason),), reason)


def test_a_slowness_of_one_pair_alone_blames_the_pair() -> None:
    found = suspects([probe("vn1-vn2", value=SLOW), probe("vn1-vn3"), probe("vn2-vn3")])
    reason = "hsn1 is slow only between one pair (vn1-vn2 4.700 MB/s of 47.85 MB/s): the path between them"
    assert found == Findings((Suspect("pair", None, "hsn1", reason),), reason)


def test_without_two_good_partners_nobody_is_blamed() -> None:
    found = suspects([probe("vn1-vn2", value=SLOW), probe("vn1-vn3")])
    assert found == Findings(
        (),
        "hsn1 is slow (vn1-vn2 4.700 MB/s of 47.85 MB/s), but too few good partners were measured to blame a node",
    )


@pytest.mark.parametrize(("value", "slow"), [(40.6, True), (40.7, False), (None, True)])
def test_slow_is_below_85_percent_of_the_expected(value: float | None, slow: bool) -> None:
    assert probe("vn1-vn2", value=value).is_bad is slow


def test_no_slow_probe_blames_nobody() -> None:
    assert suspects([probe("vn1-vn2")]) == Findings((), "none of 1 probe of single rails was slow: nobody is blamed")
    assert suspects([]) == Findings((), "no rail was measured alone, so nobody is blamed")
