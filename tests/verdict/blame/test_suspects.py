"""Which rails are measured alone, and who is blamed for what was lost."""

from railyard.results.record.form import Suspect
from railyard.verdict.blame.suspects import Findings, LossProbe, Probe, losers, plan_probes
from railyard.verdict.wording import WITH_EVERY
from railyard.verdict.wording import blame as blame_words
from railyard.verdict.wording.blame import not_measured

RUN = ("vn1", "vn2")


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


def losing(pair: str, rail: str = "hsn1", *, resent: int = 500) -> LossProbe:
    node_a, node_b = pair.split("-")
    return LossProbe(node_a, node_b, rail, resent, 50_000)


def clean(pair: str, rail: str = "hsn1") -> LossProbe:
    return losing(pair, rail, resent=0)


def test_one_rail_of_one_node_is_blamed_and_its_partners_are_not() -> None:
    found = losers(
        [
            *(clean(pair, "hsn0") for pair in ("vn1-vn2", "vn1-vn3", "vn1-vn4", "vn2-vn3", "vn2-vn4")),
            losing("vn1-vn2"),
            clean("vn1-vn3"),
            clean("vn1-vn4"),
            losing("vn2-vn3", resent=400),
            losing("vn2-vn4"),
        ],
        RUN,
    )
    reason = (
        f"hsn1 of vn2 alone loses packets {WITH_EVERY}: 1.0 % with vn1, 0.8 % with vn3 and 1.0 % with vn4 of "
        "segments sent again, bound 0.1 % (resent-share)"
    )
    assert found == Findings((Suspect("rail", reason, "vn2", "hsn1"),), reason)


def test_two_nodes_of_one_pair_are_both_blamed() -> None:
    pairs = ("vn1-vn2", "vn1-vn3", "vn1-vn4", "vn2-vn3", "vn2-vn4")
    found = losers([*map(losing, pairs), clean("vn3-vn4")], RUN)
    assert [(s.kind, s.node) for s in found.suspects] == [("rail", "vn1"), ("rail", "vn2")]


def test_a_rail_that_loses_everywhere_blames_its_switch() -> None:
    found = losers(map(losing, ("vn1-vn2", "vn1-vn3", "vn2-vn3")), RUN)
    pairs = ("vn1-vn2", "vn1-vn3", "vn2-vn3")
    reason = blame_words.lossy_network("hsn1", [f"{pair} 1.0 % of segments sent again" for pair in pairs])
    assert found == Findings((Suspect("switch", reason, None, "hsn1"),), reason)


def test_a_loss_of_one_pair_alone_blames_the_pair() -> None:
    reason = blame_words.lossy_pair("hsn1", ["vn1-vn2 1.0 % of segments sent again"])
    found = losers([losing("vn1-vn2"), clean("vn1-vn3"), clean("vn2-vn3")], RUN)
    assert found == Findings((Suspect("pair", reason, None, "hsn1"),), reason)


def test_a_pair_that_the_run_did_not_use_explains_nothing() -> None:
    found = losers([clean("vn1-vn2"), clean("vn1-vn3"), losing("vn2-vn3")], RUN)
    assert found == Findings(
        (),
        blame_words.unused_pair(blame_words.lossy_pair("hsn1", ["vn2-vn3 1.0 % of segments sent again"])),
    )


def test_without_two_good_partners_nobody_is_blamed() -> None:
    found = losers([losing("vn1-vn2"), clean("vn1-vn3")], RUN)
    assert found == Findings(
        (),
        "hsn1 loses packets (vn1-vn2 1.0 % of segments sent again), but too few good partners were measured to blame "
        "a node",
    )


def test_no_loss_blames_nobody() -> None:
    assert losers([clean("vn1-vn2")], RUN) == Findings((), blame_words.none_lost(1))
    assert losers([], RUN) == Findings((), not_measured())
