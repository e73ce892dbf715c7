"""Two sides, test by test: a planted slower rail with its sizes, no difference within noise, and unlike tests."""

import dataclasses
from collections.abc import Callable, Sequence

import pytest

from railyard.base.errors import RailyardError
from railyard.benchmarks.model import Figure
from railyard.results.comparison import better_of, compare
from railyard.results.record.form import CurveRecord, NodeTraffic, PathProofRecord, RailTraffic, Record

Repeats = Callable[..., tuple[Record, ...]]


def test_a_rail_that_is_five_per_cent_slower_is_found_with_its_sizes(repeats: Repeats) -> None:
    found = compare(repeats("a", 5), repeats("b", 5, slower_from=65536))
    (test,) = found.tests
    (figure,), (curve,) = test.figures, test.curves
    assert (figure.name, figure.finding.kind) == ("peak", "worse")
    assert -6 < (figure.finding.percent or 0) < -4
    (stretch,) = curve.stretches
    assert (stretch.first, stretch.last, stretch.sizes) == (65536, 4194304, 4)
    assert curve.sentence.startswith("B is ") and "below A from 64 KiB to 4 MiB (4 sizes, " in curve.sentence
    assert test.repeats == (5, 5)


def test_the_same_rail_shows_no_difference_and_says_what_it_could_have_seen(repeats: Repeats) -> None:
    found = compare(repeats("a", 6), repeats("b", 6))
    (test,) = found.tests
    assert test.figures[0].finding.kind == "none"
    assert test.figures[0].finding.sentence.startswith(
        "no difference at this noise; the smallest visible difference is 0."
    )
    assert test.curves[0].stretches == ()
    assert test.curves[0].sentence.startswith(
        "no difference along the sizes at this noise; the smallest visible at a single size is "
    )


def test_one_run_a_side_cannot_tell(repeats: Repeats) -> None:
    (test,) = compare(repeats("a", 1), repeats("b", 1, slower_from=0)).tests
    assert test.figures[0].finding.kind == "cannot-tell"
    assert test.curves[0].sentence == "cannot tell: 1 and 1 repeats are too few"


def proof_of_shares(*shares: float) -> PathProofRecord:
    """A proof of two nodes whose rails had these shares; the management network had none."""
    rails = tuple(RailTraffic(f"hsn{number}", True, 10, 10, share) for number, share in enumerate(shares))
    nodes = tuple(NodeTraffic(node, (*rails, RailTraffic("eth0", False, 1, 1))) for node in ("vn1", "vn2"))
    return PathProofRecord("proven", "", None, nodes)


def test_a_rail_that_idled_on_every_node_is_named(repeats: Repeats) -> None:
    a = [one.with_fields(path_proof=proof_of_shares(1.0)) for one in repeats("a", 3)]
    b = [one.with_fields(path_proof=proof_of_shares(0.999, 0.001)) for one in repeats("b", 3)]
    used = b[0].with_fields(path_proof=proof_of_shares(0.5, 0.5))
    (test,) = compare(a, b).tests
    assert test.idle == ("on B hsn1 idled in 3 of 3 runs, on every node: their figures are those of the other rails",)
    (test,) = compare([used, *b[1:]], [used] * 3).tests
    assert test.idle == ("on A hsn1 idled in 2 of 3 runs, on every node: their figures are those of the other rails",)


def test_the_published_hpl_of_edr_and_fdr(figure: Callable[..., tuple[Record, ...]]) -> None:
    played = "computed from published values, not measured"
    fdr = figure([1000.0] * 4, benchmark="hpl/hpl", fabric="fdr", system="dell", replayed=played)
    edr = figure([1003.3] * 4, benchmark="hpl/hpl", fabric="edr", system="dell", replayed=played)
    (test,) = compare(fdr, edr).tests
    assert (test.repeats, test.figures[0].finding.kind) == ((1, 1), "cannot-tell")
    (known,) = compare(fdr, edr, noise=0.02).tests
    assert known.figures[0].finding.sentence == (
        "no difference at the stated noise of 2 %, found +0.33 % with 1 and 1 repeats; "
        "the smallest visible difference is 2 %"
    )


def test_the_repeats_of_one_run_are_repeats_of_one_test(repeats: Repeats) -> None:
    """ReFrame numbers them (--repeat): their names differ, but the test is the same."""
    a, b = (
        [
            one.with_fields(case=one.test.case.replace(" @", f" %.repeat_no={number} @"))
            for number, one in enumerate(repeats(side, 4))
        ]
        for side in ("a", "b")
    )
    (test,) = compare(a, b).tests
    assert (test.name, test.repeats) == ("imb/Uniband (virtual, hsn, mpich, rails 1, single)", (4, 4))


def test_outputs_that_differ_are_repeats_when_they_are_played_and_one_that_is_played_again_is_none(
    figure: Callable[..., tuple[Record, ...]],
) -> None:
    """HPL over EDR and FDR as in its replay: 0.33 % apart, in repeats that spread by 1 %."""

    def replay_records(value: float, factors: Sequence[float], fabric: str) -> list[Record]:
        made = figure([value * each for each in factors], benchmark="hpl/hpl", fabric=fabric, system="dell")
        words = "computed from a model"
        return [
            one.with_fields(
                replayed=words, environment={"recording": {"sha256": f"{fabric} {one.found.figures[0].value}"}}
            )
            for one in made
        ]

    factors = (1, 0.995, 1.005, 0.9975, 1.0025)
    fdr, edr = replay_records(100.0, (*factors, *factors), "fdr"), replay_records(100.33, factors, "edr")
    (test,) = compare(fdr, edr).tests
    assert test.repeats == (5, 5)
    assert test.figures[0].finding.sentence.startswith("no difference at this noise; the smallest visible difference")


def test_another_unit_is_refused_by_name(repeats: Repeats) -> None:
    b = [
        one.with_fields(
            figures=(Figure("peak", 95.0, "MiB/s", 4194304),),
            curves=(dataclasses.replace(one.found.curves[0], unit="MiB/s"),),
        )
        for one in repeats("b", 4)
    ]
    with pytest.raises(RailyardError) as caught:
        compare(repeats("a", 4), b)
    assert str(caught.value) == (
        "found nothing to compare: imb/Uniband (virtual, hsn, mpich, rails 1, single): peak is in MB/s on A "
        "and MiB/s on B; imb/Uniband (virtual, hsn, mpich, rails 1, single): the curve of bandwidth is in MB/s of one "
        "direction on A, MiB/s of one direction on B"
    )


def test_other_sizes_compare_the_common_ones_alone(repeats: Repeats) -> None:
    def cut(record: Record) -> Record:
        curve = record.found.curves[0]
        return record.with_fields(curves=(dataclasses.replace(curve, sizes=curve.sizes[:9], values=curve.values[:9]),))

    (test,) = compare(repeats("a", 5), [cut(one) for one in repeats("b", 5, slower_from=4096)]).tests
    assert test.refused == (
        "message sizes differ, 12 from 1 B to 4 MiB on A and 9 from 1 B to 64 KiB on B: key figures are not compared, "
        "curves at the sizes that all repeats have",
    )
    assert test.figures == ()
    assert [(one.first, one.last) for one in test.curves[0].stretches] == [(4096, 65536)]


def test_sizes_without_one_in_common_are_refused(repeats: Repeats) -> None:
    odd = CurveRecord("bandwidth", "MB/s", (3, 5), (1.0, 2.0))
    b = [one.with_fields(figures=(), curves=(odd,)) for one in repeats("b", 4)]
    with pytest.raises(RailyardError, match=r"the curves of bandwidth have no message size in common$"):
        compare(repeats("a", 4), b)


def test_both_directions_are_not_compared_with_one(repeats: Repeats) -> None:
    both = [
        one.with_fields(curves=(dataclasses.replace(one.found.curves[0], directions=2),)) for one in repeats("b", 4)
    ]
    (test,) = compare(repeats("a", 4), both).tests
    assert test.refused == ("the curve of bandwidth is in MB/s of one direction on A, MB/s of both directions on B",)


@pytest.mark.parametrize(
    ("benchmark", "name", "better"),
    [
        ("imb/Uniband", "peak", "higher"),
        ("imb/PingPong", "small_message_latency", "lower"),
        ("imb/Uniband", "message_rate", "higher"),
        ("imb/Uniband", "n_half", None),
        ("imb/Uniband", "nosuch", None),
        ("nosuch/one", "bandwidth", None),
    ],
)
def test_which_way_is_good(benchmark: str, name: str, better: str | None) -> None:
    assert better_of(benchmark, name) == better
