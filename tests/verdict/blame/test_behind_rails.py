"""Who is to blame if it is not a single rail: silent nodes, shared parts, one direction; and similar healthy cases."""

import pytest

from railyard.results.record.form import Suspect
from railyard.verdict.blame.slow_rails import (
    direction,
    find,
    good_partner,
    label_of,
    shared_part,
    silent_nodes,
    with_silent_nodes,
)
from railyard.verdict.blame.suspects import Findings, Probe, RailProbe, plan_probes
from railyard.verdict.wording.blame import none_slow

NODES = ("vn1", "vn2", "vn3", "vn4")
RAILS = ("hsn0", "hsn1")
GOOD = 47.8


def probe_findings(rails: tuple[str, ...], *bad: tuple[str, str], value: float | None = None) -> Findings:
    """Return what probes find if these nodes' rails give this value."""

    def measure(probe: Probe, turn: int) -> RailProbe:
        is_bad = any(node in (probe.node_a, probe.node_b) and rail == probe.rail for node, rail in bad)
        return RailProbe(probe.node_a, probe.node_b, probe.rail, value if is_bad else GOOD, 48.0, turn)

    return find(plan_probes(NODES[:2], NODES[2:], rails), measure, NODES[:2], lambda: 0.0)


def blamed_parts(found: Findings) -> set[tuple[str, str | None, str | None]]:
    return {(one.kind, one.node, one.rail) for one in found.suspects}


DEAD = (("vn2", "hsn0"), ("vn2", "hsn1"))


@pytest.mark.fault("session", "a node that died during the run", "vn2 does not answer: no process starts on it")
def test_a_node_that_starts_nothing_is_named_and_none_of_its_rails(promise: str) -> None:
    found = probe_findings(RAILS, *DEAD)
    assert silent_nodes(found, RAILS) == ("vn2",)
    told = with_silent_nodes(found, RAILS, {"vn2": False})
    assert blamed_parts(told) == {("node", "vn2", None)}
    assert told.sentence == told.suspects[0].reason
    shared = "no partner gets a result from it over hsn0 and hsn1"
    assert told.sentence == f"{promise}, and {shared}; its rails are not judged"
    assert (told.fault, "is up and answers" in str(told.look_at)) == ("node", True)


@pytest.mark.fault(
    "session", "a node that answers over none of its rails", "vn2 gives no partner a result over any of its"
)
def test_a_node_that_answers_over_no_rail_is_named(promise: str) -> None:
    told = with_silent_nodes(probe_findings(RAILS, *DEAD), RAILS, {})
    assert blamed_parts(told) == {("node", "vn2", None)}
    assert told.sentence.startswith(promise)


def test_a_node_with_one_dead_rail_keeps_it() -> None:
    found = probe_findings(RAILS, ("vn2", "hsn1"))
    assert silent_nodes(found, RAILS) == ()
    assert with_silent_nodes(found, RAILS, {"vn2": False}) == found


def test_the_only_rail_of_a_node_on_which_processes_start_stays_the_suspect() -> None:
    found = probe_findings(("hsn0",), ("vn2", "hsn0"))
    assert with_silent_nodes(found, ("hsn0",), {"vn2": True}) == found
    assert blamed_parts(with_silent_nodes(found, ("hsn0",), {"vn2": False})) == {("node", "vn2", None)}


def test_slow_rails_of_a_node_are_no_silence() -> None:
    assert silent_nodes(probe_findings(RAILS, *DEAD, value=24.0), RAILS) == ()


BOTH = (label_of(RAILS),)


@pytest.mark.fault(
    "rail", "both rails of a node behind one port", "each of hsn0 and hsn1 is good alone, but both at once"
)
def test_rails_that_are_slow_together_alone_name_what_they_share(promise: str) -> None:
    alone, together = probe_findings(RAILS), probe_findings(BOTH, ("vn2", BOTH[0]), value=24.0)
    assert alone.is_clear
    found = shared_part(alone, together, RAILS)
    assert blamed_parts(found) == {("node", "vn2", None)}
    assert found.sentence.startswith(f"{promise} are not: ") and "24.00 MB/s" in found.sentence
    assert found.sentence.endswith("; what they share on vn2 is at fault")
    assert (
        found.look_at
        == "what hsn0 and hsn1 share on vn2: the slot, the card, and the switch port or up-link behind both"
    )
    assert found.probes == (*alone.probes, *together.probes)


def test_rails_that_are_good_together_blame_nobody() -> None:
    found = shared_part(probe_findings(RAILS), probe_findings(BOTH), RAILS)
    assert (found.suspects, found.sentence) == (
        (),
        f"{none_slow(24, None)}; hsn0 and hsn1 at once were also measured, and no node was slow with them",
    )


def one_way(planted: str, said: str) -> pytest.MarkDecorator:
    return pytest.mark.fault("rail", planted, said)


FIGURES = "slow: {} MB/s to vn3, {} MB/s from vn3 (42.3 %; bound 85.0 %)"


@pytest.mark.parametrize(
    ("sent", "received", "then"),
    [
        pytest.param(
            *((6.0, 5.9), (14.2, 14.1), FIGURES.format("6.000", "14.20")), id="what it sends",
            marks=one_way("only what a node sends is slow", "only what vn2 sends is "),
        ),
        pytest.param(
            *((14.2,), (6.0,), FIGURES.format("14.20", "6.000")), id="what it receives",
            marks=one_way("only what a node receives is slow", "only what vn2 receives is "),
        ),
        pytest.param(
            *((None, None), (14.2,), "no result to vn3, 14.20 MB/s from vn3"), id="what it sends is lost",
            marks=one_way("nothing that a node sends arrives", "only what vn2 sends gives no result: "),
        ),
    ],
)  # fmt: skip
def test_a_rail_that_is_slow_one_way_says_which(
    sent: tuple[float | None, ...], received: tuple[float | None, ...], then: str, promise: str
) -> None:
    assert direction("vn2", "vn3", sent, received) == f"{promise}{then}"


def test_a_rail_that_is_slow_both_ways_says_so_and_one_without_a_result_says_nothing() -> None:
    assert direction("vn2", "vn3", (6.0,), (6.5,)) == "both directions alike: 6.000 MB/s to vn3, 6.500 MB/s from vn3"
    assert direction("vn2", "vn3", (None,), (None,)) == ""


def test_a_good_partner_is_none_of_the_suspects() -> None:
    found = probe_findings(RAILS, ("vn2", "hsn1"), value=24.0)
    (suspect,) = found.suspects
    assert good_partner(found, suspect) in ("vn1", "vn3", "vn4")
    assert good_partner(Findings((), ""), Suspect("rail", "", "vn2", "hsn1")) is None
