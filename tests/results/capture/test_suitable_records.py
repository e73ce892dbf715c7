"""Which records serve as a reference: each reason why one does not, beside the nearest one that does."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from railyard.results.record.form import (
    CurveRecord,
    NodeTraffic,
    PathProofRecord,
    RailTraffic,
    Record,
    RuleRecord,
    VerdictRecord,
)
from railyard.results.repeats import choose_records, is_quick, job_of, too_few, why_not

Run = Callable[..., Record]
Bands = Callable[[str, float], tuple[CurveRecord, ...]]


def failed_verdict(rule: int) -> VerdictRecord:
    return VerdictRecord("no", rule)


def test_a_good_run_serves(made_run: Run) -> None:
    assert why_not(made_run(0), replace=False) is None
    assert why_not(made_run(0, state="report-only"), replace=False) is None
    unseen = PathProofRecord("not-judged", "the rails have no counters")
    assert why_not(made_run(0, path_proof=unseen), replace=False) is None


UNJUDGED = VerdictRecord("", None, rules=(RuleRecord(4, "path", "not-judged", "npb/EP/W moves too little"),))


def test_a_path_that_was_not_judged_keeps_nobody_from_its_figure(made_run: Run) -> None:
    little = PathProofRecord("not-proven", "vn1 moved 0.3 MB only")
    assert why_not(made_run(0, path_proof=little, verdict=UNJUDGED), replace=False) is None


def test_a_run_over_one_of_two_rails_is_no_reference_of_two(made_run: Run) -> None:
    def proof_of_shares(share: float) -> PathProofRecord:
        rails = (RailTraffic("mlx5_0", True, 9, 9, 1 - share), RailTraffic("mlx5_1", True, 9, 9, share))
        return PathProofRecord("not-judged", "mlx5_1 idled", None, (NodeTraffic("n1", rails), NodeTraffic("n2", rails)))

    idle = made_run(0, rails=2, path_proof=proof_of_shares(0.001), verdict=UNJUDGED)
    assert why_not(idle, replace=False) == "mlx5_1 idled on every node, so it is not a reference for 2 rails"
    assert why_not(made_run(0, rails=2, path_proof=proof_of_shares(0.4), verdict=UNJUDGED), replace=False) is None


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"path_proof": PathProofRecord("failed", "over eth0")}, "its path proof failed"),
        ({"path_proof": PathProofRecord("not-proven", "a full counter")}, "its path was not proven"),
        ({"path_proof": None}, "its path was not proven"),
        ({"replayed": "a recording"}, "a recording was played, nothing was measured"),
        ({"state": "not-tested"}, "its state is not-tested"),
        ({"state": "xfail"}, "its state is xfail"),
        ({"state": "disturbed"}, "its state is disturbed"),
        ({"curves": ()}, "it has no curve"),
        ({"state": "fail", "verdict": failed_verdict(1)}, "it failed rule 1"),
        ({"state": "fail", "verdict": failed_verdict(3)}, "it failed rule 3"),
    ],
)
def test_each_reason_why_a_run_does_not_serve(made_run: Run, changes: dict[str, object], sentence: str) -> None:
    assert why_not(made_run(0, **changes), replace=True) == sentence


def test_a_run_that_failed_a_floor_never_serves_and_one_below_a_baseline_only_to_replace_it(
    made_run: Run, bands: Bands
) -> None:
    below = {"state": "fail", "verdict": failed_verdict(5)}
    floor = made_run(0, curves=bands("class", 12200.0), **below)
    assert why_not(floor, replace=True) == "it failed a reference that is not a baseline"
    baseline = made_run(0, curves=bands("baseline", 12200.0), **below)
    assert why_not(baseline, replace=False) == "it failed the present baseline (--replace accepts such runs)"
    assert why_not(baseline, replace=True) is None
    # a system's first runs fail since there is no reference yet
    assert why_not(made_run(0, curves=bands("class", 12000.0), **below), replace=False) is None


def test_what_is_left_out_is_named_by_reason(made_run: Run) -> None:
    bad = [made_run(n, path_proof=PathProofRecord("failed", "over eth0")) for n in range(4)]
    groups, left = choose_records([*bad, made_run(4)], replace=False)
    assert [(group.name, len(group.records)) for group in groups] == [
        ("osu/osu_bw over edr with hpcx, 1 rail, single", 1)
    ]
    assert left == (
        "4 tests of 20261101T000000Z-aa00, 20261101T010000Z-aa01, 20261102T020000Z-aa02 …: its path proof failed",
    )


def test_a_job_is_the_schedulers_or_the_run(made_run: Run) -> None:
    assert job_of(made_run(0)) == "20261101T000000Z-aa00 100"
    # a process id of the local scheduler is not an allocation
    assert job_of(made_run(0, scheduler="local")) == "20261101T000000Z-aa00"
    assert job_of(made_run(0, job_id=None)) == "20261101T000000Z-aa00"


def test_enough_is_five_runs_three_pairs_and_two_jobs(made_runs: tuple[Record, ...]) -> None:
    (group,), _ = choose_records(made_runs, replace=False)
    assert (too_few(group, quick=False), is_quick(group)) == (None, False)
    four = replace(group, records=group.records[:4])
    assert too_few(four, quick=True) == "found 4 runs, expected 5 or more; run it again"
    one_pair = replace(group, records=tuple(record.with_fields(nodes=("n1", "n2")) for record in group.records))
    assert too_few(one_pair, quick=False) == (
        "found 1 set of nodes in 6 jobs, expected 3 and 2; repeat on other nodes, or use --quick, which marks the "
        "entry as quick"
    )
    assert (too_few(one_pair, quick=True), is_quick(one_pair)) == (None, True)
    one_job = replace(group, records=tuple(record.with_fields(run="r1", job_id="7") for record in group.records))
    assert too_few(one_job, quick=False) == (
        "found 3 sets of nodes in 1 job, expected 3 and 2; repeat on other nodes, or use --quick, which marks the "
        "entry as quick"
    )
    (alone,), _ = choose_records(made_runs[:1], replace=False)
    assert too_few(alone, quick=True) == "found 1 run, expected 5 or more; run it again"
