"""What is added to a verdict: a rail that loses packets fails the path, and a busy host excuses who was not found."""

from collections.abc import Callable

import pytest

from railyard.afterwards import with_busy_host, with_losses, with_remark, with_suspects
from railyard.assess import Assessment
from railyard.suspects import Findings, Suspect

Assess = Callable[..., Assessment]
M = 1 << 20
REASON = "hsn0 of vn2 alone loses packets with every partner: 1.0 % with vn1 and 0.9 % with vn3"


def test_a_rail_that_loses_packets_fails_the_path_of_a_run_that_holds_its_reference(assessed: Assess) -> None:
    healthy = assessed()
    assert healthy.verdict.state == "pass"
    suspect = Suspect("rail", "vn2", "hsn0", REASON)
    verdict = with_losses(healthy, Findings((suspect,), REASON)).verdict
    assert (verdict.state, verdict.rule, verdict.fault, verdict.suspects) == ("fail", 4, "fabric", (suspect,))
    assert verdict.sentence == f"{REASON}; {healthy.path.sentence}"
    assert verdict.look_at == (
        "cable, port and switch port of hsn0 of vn2: link state, and error counters of both ends"
    )
    remarked = with_losses(with_remark(healthy, "3 of 4 nodes"), Findings((suspect,), REASON)).verdict
    assert (remarked.sentence, remarked.remarks) == (verdict.sentence, ("3 of 4 nodes",))
    # The bandwidth held all the same, and that stays said.
    assert verdict.rules[4] == healthy.verdict.rules[4]


def test_a_pair_that_was_slow_is_cleared_by_the_rail_that_loses_packets(assessed: Assess) -> None:
    slow = assessed(rates={M: 4.7, 4 * M: 4.8})
    pair, rail = Suspect("pair", None, "hsn0", "slow only between one pair"), Suspect("rail", "vn2", "hsn0", REASON)
    found = with_losses(with_suspects(slow, Findings((pair,), pair.reason)), Findings((rail,), REASON))
    assert (found.verdict.rule, found.verdict.suspects) == (4, (rail,))


@pytest.mark.parametrize(
    "blamed",
    [(), (Suspect("switch", None, "hsn0", "all"),), (Suspect("pair", None, "hsn0", "one pair"),)],
    ids=["nobody", "switch", "pair"],
)
def test_what_names_no_nodes_rail_is_a_remark(assessed: Assess, blamed: tuple[Suspect, ...]) -> None:
    healthy = assessed()
    verdict = with_losses(healthy, Findings(blamed, "what was found")).verdict
    assert (verdict.state, verdict.suspects) == ("pass", ())
    assert verdict.text == f"{healthy.verdict.text}; what was found"


def test_what_several_found_out_is_said_once_and_in_order(assessed: Assess) -> None:
    slow = with_remark(assessed(rates={M: 4.7, 4 * M: 4.8}), "looks like TCP")
    found = with_losses(with_suspects(slow, Findings((), "nobody is blamed")), Findings((), "nobody loses"))
    assert found.verdict.sentence == slow.verdict.sentence
    assert found.verdict.text == f"{slow.verdict.sentence}; nobody is blamed; looks like TCP; nobody loses"


@pytest.mark.parametrize(("resent", "is_named"), [(11, True), (10, False)])
def test_the_nodes_that_sent_too_much_again_are_known(
    assessed: Assess, counters_text: Callable[..., str], resent: int, is_named: bool
) -> None:
    end = f"after - tcp_out_segs 10000\nafter - tcp_retrans_segs {resent}\nend 0"
    begin = "before - tcp_out_segs 0\nbefore - tcp_retrans_segs 0\n"
    moved = {"hsn0": (2.0, 190.0)}
    texts = (counters_text("vn1", {"hsn0": (190.0, 2.0)}), counters_text("vn2", moved, begin + end))
    assert assessed(counters=texts).path.resends == (("vn2",) if is_named else ())


def test_a_slow_run_of_a_busy_host_is_disturbed_and_still_fails(assessed: Assess) -> None:
    slow = assessed(rates={M: 4.7, 4 * M: 4.8})
    found = with_busy_host(slow, 0.61)
    assert (found.verdict.state, found.verdict.rule, found.verdict.fault) == ("fail", 5, "disturbed")
    assert found.verdict.line == (
        f"rule 5 (reference): {slow.verdict.text}; disturbed: other processes took 61 % of the processors of the "
        "host that all nodes share (bound 10 %, others-share); look at what else runs on this host (top); run it again "
        "when that has ended"
    )


@pytest.mark.parametrize("others", [None, 0.0, 0.1])
def test_an_idle_host_excuses_nothing(assessed: Assess, others: float | None) -> None:
    slow = assessed(rates={M: 4.7, 4 * M: 4.8})
    assert with_busy_host(slow, others) == slow


def test_a_rail_that_was_found_slow_alone_is_not_excused(assessed: Assess) -> None:
    suspect = Suspect("rail", "vn2", "hsn0", "hsn0 of vn2 alone is slow with every partner")
    found = with_suspects(assessed(rates={M: 4.7, 4 * M: 4.8}), Findings((suspect,), suspect.reason))
    assert with_busy_host(found, 0.9) == found


def test_a_healthy_run_and_one_that_broke_stay_as_they_are(assessed: Assess) -> None:
    for found in (assessed(), assessed(exit_code=1)):
        assert with_busy_host(found, 0.9) == found
