"""Additions to a verdict: a rail that loses packets fails the path, and starvation excuses unproven suspects."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from railyard.benchmarks.model import Figure
from railyard.provision.testbed.starvation import Reading
from railyard.results.record.form import AttemptRecord, Suspect
from railyard.verdict.assess import Assessment, attempt_of
from railyard.verdict.blame.suspects import Findings
from railyard.verdict.findings import (
    probe_size,
    with_attempts,
    with_bad_path,
    with_pace,
    with_remark,
    with_starvation,
    with_suspects,
)
from railyard.verdict.verdict import judge
from railyard.verdict.wording import NOBODY_BLAMED, WITH_EVERY, Miss
from railyard.verdict.wording import blame as blame_words
from railyard.verdict.wording import run_rules as run_words
from railyard.verdict.wording.path import look_at

Assess = Callable[..., Assessment]
M = 1 << 20
REASON = f"hsn0 of vn2 alone loses packets {WITH_EVERY}: 1.0 % with vn1 and 0.9 % with vn3"


def test_a_rail_that_loses_packets_fails_the_path_of_a_run_that_holds_its_reference(assess_cell: Assess) -> None:
    healthy = assess_cell()
    assert healthy.verdict.state == "pass"
    suspect = Suspect("rail", REASON, "vn2", "hsn0")
    verdict = with_bad_path(healthy, Findings((suspect,), REASON)).verdict
    assert (verdict.state, verdict.rule, verdict.fault, verdict.suspects) == ("fail", 4, "fabric", (suspect,))
    assert verdict.sentence == f"{REASON}; {healthy.path.sentence}"
    assert verdict.look_at == look_at("hsn0 of vn2")
    remarked = with_bad_path(with_remark(healthy, "3 of 4 nodes"), Findings((suspect,), REASON)).verdict
    assert (remarked.sentence, remarked.remarks) == (verdict.sentence, ("3 of 4 nodes",))
    # The bandwidth still met its reference, and the verdict still says so.
    assert verdict.rules[4] == healthy.verdict.rules[4]


@pytest.mark.parametrize(
    ("found", "where"),
    [
        ((Suspect("leaf", "slow", None, "hsn0", "leaf5"),), "up-links of leaf5: "),
        ((Suspect("switch", "slow", None, None, "group g2"),), "links from group g2 to other groups: "),
        (
            (Suspect("switch", "slow", None, None, "group g2"), Suspect("leaf", "slow", None, None, "leaf5")),
            "up-links of leaf5 and links from group g2 to other groups: ",
        ),
        ((Suspect("leaf", "slow", None, None, "leaf5"), Suspect("node", "slow", "vn1")), "each rail alone"),
        ((Suspect("switch", "slow", None, "hsn0"),), "each rail alone"),
    ],
)
def test_a_named_switch_is_what_to_look_at(assess_cell: Assess, found: tuple[Suspect, ...], where: str) -> None:
    slow = assess_cell(rates={M: 4.7, 4 * M: 4.8})
    told = with_suspects(slow, Findings(found, "slow")).verdict.look_at
    assert told is not None
    assert told.startswith(where) if where != "each rail alone" else "up-links" not in told


def test_a_pair_that_was_slow_is_cleared_by_the_rail_that_loses_packets(assess_cell: Assess) -> None:
    slow = assess_cell(rates={M: 4.7, 4 * M: 4.8})
    pair, rail = Suspect("pair", "slow between two nodes", None, "hsn0"), Suspect("rail", REASON, "vn2", "hsn0")
    found = with_bad_path(with_suspects(slow, Findings((pair,), pair.reason)), Findings((rail,), REASON))
    assert (found.verdict.rule, found.verdict.suspects) == (4, (rail,))


def test_a_process_that_waits_for_a_dead_rail_is_not_named_as_one_that_did_not_react(assess_cell: Assess) -> None:
    found = assess_cell()
    job = replace(found.inputs.job, timed_out=True, exit_code=None, stuck=("vn1",))
    inputs = replace(found.inputs, job=job)
    hung = replace(found, inputs=inputs, verdict=judge(inputs))
    ended = run_words.at_time_limit(job.time_limit_s, job.tables, 1, "", "", "")
    assert hung.verdict.sentence == run_words.did_not_react(["vn1"], [], ended)
    does = (run_words.hangs(None), run_words.say_stopped())
    known = judge(replace(inputs, job=replace(job, stuck_in=does)))
    assert known.sentence == run_words.did_not_react(["vn1"], does, ended)
    rail = Suspect("rail", "no result with anybody", "vn2", "hsn1")
    named = with_suspects(hung, Findings((rail,), rail.reason)).verdict
    assert named.sentence.startswith(ended) and hung.verdict.sentence not in named.text
    assert (named.suspects, named.fault) == ((rail,), "fabric")
    assert with_suspects(hung, Findings((), NOBODY_BLAMED)).verdict.text.startswith(hung.verdict.sentence)


def slow_rails(found: Assessment, times: float) -> dict[str, list[Reading]]:
    """Return readings of counters by which a run's bytes took so many times as long as its figures say."""
    seconds = times * sum(row.seconds for row in found.printed)
    moved = sum(row.moved_bytes for row in found.printed)
    (rail,) = found.case.launch.meant
    return {
        found.case.launch.nodes[0]: [
            Reading(tenth * seconds / 100, {rail: tenth * moved // 100}) for tenth in range(101)
        ]
    }


def paced_run(found: Assessment, times: float, starved: float | None = 0.0) -> Assessment:
    return with_pace(replace(found, readings={}), slow_rails(found, times), starved)


def of_benchmark(found: Assessment, benchmark: str) -> Assessment:
    return replace(found, case=replace(found.case, test=replace(found.case.test, benchmark=benchmark)))


def test_figures_that_are_too_good_for_the_counters_and_still_miss_stay_that_failure(assess_cell: Assess) -> None:
    low, healthy = assess_cell(rates={M: 4.7, 4 * M: 4.8}), assess_cell()
    assert low.verdict.misses_reference and paced_run(healthy, 1.0).verdict == healthy.verdict
    found = paced_run(low, 1.5).verdict
    assert (found.state, found.rule, found.fault) == ("fail", 5, "fabric")
    assert "the printed figures are not those of this run" in found.remarks[-1]
    # The best of several trials may be the run's own.
    best = of_benchmark(low, "netpipe/pingpong")
    assert paced_run(best, 1.5).verdict == best.verdict
    # Figures that meet their reference, or are worse than what the rails carried, prove nothing.
    for one in (paced_run(healthy, 1.5), paced_run(low, 0.6)):
        assert (one.verdict.state, one.verdict.rule, one.verdict.fault) == ("fail", 4, "not-proven")


@pytest.mark.parametrize(
    ("benchmark", "starved", "state"),
    [
        ("netpipe/pingpong", 0.14, "disturbed"),
        ("netpipe/pingpong", 0.0, "fail"),
        ("netpipe/pingpong", None, "fail"),
        ("imb/PingPong", 0.14, "fail"),
    ],
)
def test_the_best_of_several_trials_is_disturbed_by_processes_that_waited(
    assess_cell: Assess, benchmark: str, starved: float | None, state: str
) -> None:
    assert paced_run(of_benchmark(assess_cell(), benchmark), 1.5, starved).verdict.state == state


@pytest.mark.parametrize(
    "blamed",
    [(), (Suspect("switch", "all", None, "hsn0"),), (Suspect("pair", "one pair", None, "hsn0"),)],
    ids=["nobody", "switch", "pair"],
)
def test_what_names_no_nodes_rail_is_a_remark(assess_cell: Assess, blamed: tuple[Suspect, ...]) -> None:
    healthy = assess_cell()
    verdict = with_bad_path(healthy, Findings(blamed, "what was found")).verdict
    assert (verdict.state, verdict.suspects) == ("pass", ())
    assert verdict.text == f"{healthy.verdict.text}; what was found"


def test_what_several_found_out_is_said_once_and_in_order(assess_cell: Assess) -> None:
    slow = with_remark(assess_cell(rates={M: 4.7, 4 * M: 4.8}), "looks like TCP")
    found = with_bad_path(with_suspects(slow, Findings((), NOBODY_BLAMED)), Findings((), "nobody loses"))
    assert found.verdict.sentence == slow.verdict.sentence
    assert found.verdict.text == f"{slow.verdict.sentence}; {NOBODY_BLAMED}; looks like TCP; nobody loses"


@pytest.mark.parametrize(("rails", "is_kept"), [(("hsn0",), True), (("hsn0", "hsn1"), False)])
def test_what_a_curve_of_several_rails_looks_like_is_not_said_once_the_slow_rail_is_known(
    assess_cell: Assess, rails: tuple[str, ...], is_kept: bool
) -> None:
    guess = "looks like 1 rail of 2"
    slow = replace(with_remark(assess_cell(rates={M: 4.7, 4 * M: 4.8}), guess), guesses=(guess,))
    slow = replace(slow, case=replace(slow.case, launch=replace(slow.case.launch, meant=rails)))
    nobody = with_suspects(slow, Findings((), NOBODY_BLAMED))
    known = with_suspects(slow, Findings((Suspect("rail", REASON, "vn2", "hsn0"),), REASON))
    assert [guess in found.verdict.remarks for found in (nobody, known)] == [True, is_kept]


@pytest.mark.parametrize(("resent", "is_named"), [(11, True), (10, False)])
def test_the_nodes_that_sent_too_much_again_are_known(
    assess_cell: Assess, counters_text: Callable[..., str], resent: int, is_named: bool
) -> None:
    end = f"after - tcp_out_segs 10000\nafter - tcp_retrans_segs {resent}\nend 0"
    begin = "before - tcp_out_segs 0\nbefore - tcp_retrans_segs 0\n"
    moved = {"hsn0": (2.0, 190.0)}
    texts = (counters_text("vn1", {"hsn0": (190.0, 2.0)}), counters_text("vn2", moved, begin + end))
    assert assess_cell(counters=texts).path.resends == (("vn2",) if is_named else ())


def test_a_low_run_whose_processes_starved_is_disturbed_and_blames_nobody(assess_cell: Assess) -> None:
    low = with_suspects(assess_cell(rates={M: 40.0, 4 * M: 40.0}), Findings((), NOBODY_BLAMED))
    found = with_starvation(low, 0.12)
    verdict = found.verdict
    assert (verdict.state, verdict.rule, verdict.fault, verdict.suspects) == ("disturbed", 5, "disturbed", ())
    assert verdict.fails
    assert verdict.sentence == low.verdict.sentence
    assert verdict.text == f"{low.verdict.sentence}; {NOBODY_BLAMED}; {blame_words.say_starved(0.12)}"
    assert verdict.look_at == blame_words.look_at_host()
    assert found.starved == 0.12
    assert verdict.disturbed_by == blame_words.say_starved(0.12)
    assert verdict.headline != low.verdict.headline
    # How the words of any other remark begin decides nothing.
    assert with_remark(low, verdict.disturbed_by).verdict.headline == low.verdict.headline


@pytest.mark.parametrize(
    ("rate", "starved", "state"),
    [
        (46.0, None, "fail"),
        (46.0, 0.019, "fail"),
        (46.0, 0.02, "disturbed"),
        (46.0, 0.05, "disturbed"),
        # At 40 MB/s, 14.9 % of the reference of 47 MB/s are missing: a wait explains at most twice its share.
        (40.0, 0.074, "fail"),
        (40.0, 0.075, "disturbed"),
        (4.8, 0.3, "fail"),
    ],
)
def test_a_wait_excuses_what_it_may_have_cost_and_no_more(
    assess_cell: Assess, rate: float, starved: float | None, state: str
) -> None:
    low = assess_cell(rates={M: rate, 4 * M: rate})
    assert low.verdict.state == "fail"
    assert with_starvation(low, starved).verdict.state == state


def test_a_floor_of_which_it_is_not_known_how_far_it_was_missed_is_no_matter_of_a_short_wait(
    assess_cell: Assess,
) -> None:
    low = assess_cell(rates={M: 40.0, 4 * M: 40.0})
    unknown = tuple(replace(curve, percent_of_reference=None) for curve in low.verdict.curves)
    low = replace(low, verdict=replace(low.verdict, curves=unknown))
    assert with_starvation(low, 0.49).verdict == low.verdict
    assert with_starvation(low, 0.5).verdict.state == "disturbed"


def test_a_short_wait_may_have_hit_all_of_the_few_small_messages(assess_cell: Assess) -> None:
    low = assess_cell(rates={M: 40.0, 4 * M: 40.0})
    (curve, *others) = low.verdict.curves
    late = replace(curve, metric="latency", percent_of_reference=20.0, percent_of_reference_size=64)
    small, large = (
        replace(low, verdict=replace(low.verdict, curves=(each, *others)))
        for each in (late, replace(late, percent_of_reference_size=M))
    )
    assert [with_starvation(found, 0.3).verdict.state for found in (small, large)] == ["disturbed", "fail"]
    assert with_starvation(small, 0.019).verdict.state == "fail"


def test_a_rail_that_was_found_slow_alone_is_not_excused(assess_cell: Assess) -> None:
    suspect = Suspect("rail", f"hsn0 of vn2 alone is slow {WITH_EVERY}", "vn2", "hsn0")
    found = with_suspects(assess_cell(rates={M: 40.0, 4 * M: 40.0}), Findings((suspect,), suspect.reason))
    assert with_starvation(found, 0.9).verdict == found.verdict


def test_a_healthy_run_and_one_that_broke_stay_as_they_are(assess_cell: Assess) -> None:
    for found in (assess_cell(), assess_cell(exit_code=1)):
        assert with_starvation(found, 0.9) == replace(found, starved=0.9)


def test_measurements_that_were_made_again_are_kept_and_said(assess_cell: Assess) -> None:
    healthy, low = assess_cell(), with_starvation(assess_cell(rates={M: 40.0, 4 * M: 40.0}), 0.12)
    first = attempt_of(low, 5.104, datetime(2026, 11, 21, 6, 0, 12, tzinfo=timezone.utc))
    assert first == AttemptRecord(low.verdict.text, 5, 5.1, 0.12, "2026-11-21T06:00:12Z")
    found = with_attempts(healthy, (first,))
    assert found.attempts == (first,)
    assert (found.verdict.state, found.verdict.sentence) == ("pass", healthy.verdict.sentence)
    assert found.verdict.remarks == (*healthy.verdict.remarks, "measured again: 1 earlier measurement was disturbed")
    twice = with_attempts(healthy, (first, first))
    assert twice.verdict.remarks[-1] == "measured again: 2 earlier measurements were disturbed"
    assert with_attempts(healthy, ()) == healthy


def test_probes_look_at_the_size_at_which_the_curve_was_worst(assess_cell: Assess) -> None:
    rates = {1 << 20: 40.0, 4 << 20: 30.0}
    assert probe_size(assess_cell(rates=rates), 4096, M) == M
    low = assess_cell(rates=rates)
    (curve, *others) = low.verdict.curves
    at_1k = replace(curve, percent_of_reference=3.0, percent_of_reference_size=1024)
    assert probe_size(replace(low, verdict=replace(low.verdict, curves=(at_1k, *others))), 4096, M) == 1024
    at_64k = replace(at_1k, percent_of_reference_size=1 << 16)
    assert probe_size(replace(low, verdict=replace(low.verdict, curves=(at_64k,))), 4096, M) == M
    # A run that did not get this far says nothing about sizes, and no probe measures messages of 0 B.
    assert probe_size(replace(low, verdict=replace(low.verdict, curves=(at_1k,), rule=1)), 4096, M) == M
    empty = replace(at_1k, percent_of_reference_size=0)
    assert probe_size(replace(low, verdict=replace(low.verdict, curves=(empty,))), 4096, M) == 1


def test_a_late_floor_of_the_links_class_is_looked_at_with_the_smallest_message(assess_cell: Assess) -> None:
    low = assess_cell(rates={1 << 20: 40.0, 4 << 20: 30.0})
    unknown = tuple(replace(curve, percent_of_reference=None) for curve in low.verdict.curves)
    miss = Miss(Figure("latency", 2060.0, "us", 1), "above", 20.0)
    rules = tuple(replace(rule, miss=miss) if rule.rule == 5 else rule for rule in low.verdict.rules)
    late = replace(low.verdict, curves=unknown, rules=rules)
    small = replace(low.curves[0], sizes=(1, 1024), values=(1.0, 2.0))
    assert probe_size(replace(low, verdict=late, curves=(small,)), 4096, M) == 1


def test_what_was_measured_alone_replaces_who_carried_less_than_its_share(assess_cell: Assess) -> None:
    uneven = assess_cell(
        rails=2,
        moved={"vn1": {"hsn0": (130.0, 2.0), "hsn1": (60.0, 2.0)}, "vn2": {"hsn0": (2.0, 130.0), "hsn1": (2.0, 60.0)}},
    )
    assert [(one.kind, one.node, one.rail) for one in uneven.verdict.suspects] == [("pair", "vn1-vn2", "hsn1")]
    slow = Suspect("rail", f"hsn1 of vn2 is slow {WITH_EVERY}", "vn2", "hsn1")
    assert with_suspects(uneven, Findings((slow,), slow.reason)).verdict.suspects == (slow,)
    assert with_suspects(uneven, Findings((), NOBODY_BLAMED)).verdict.suspects == uneven.verdict.suspects
