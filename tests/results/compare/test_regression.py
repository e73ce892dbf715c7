"""The gate: a regression fails it, and so does a comparison in which nothing could be compared with the bound."""

from collections.abc import Callable

from railyard.results.comparison import compare, gate
from railyard.results.record.form import Record

Repeats = Callable[..., tuple[Record, ...]]


def test_a_loss_of_five_per_cent_fails_a_bound_of_three(repeats: Repeats) -> None:
    held = gate(compare(repeats("a", 5), repeats("b", 5, slower_from=65536)), 3)
    assert not held.is_pass
    assert held.sentence == "FAIL: 2 regressions of 3 % or more; 1 of 1 figures could be compared with 3 %."
    figure, curve = held.regressions
    assert figure.startswith("imb/Uniband (virtual, hsn, mpich, rails 1, single): peak: B is ")
    assert curve.startswith("imb/Uniband (virtual, hsn, mpich, rails 1, single): bandwidth: B is ")


def test_it_passes_a_bound_of_ten(repeats: Repeats) -> None:
    held = gate(compare(repeats("a", 5), repeats("b", 5, slower_from=65536)), 10)
    assert held.is_pass
    assert held.sentence == "PASS: no regression of 10 % or more; 1 of 1 figures could be compared with 10 %."


def test_a_gain_is_no_regression(repeats: Repeats) -> None:
    assert gate(compare(repeats("a", 5, slower_from=0), repeats("b", 5)), 1).is_pass


def test_a_comparison_that_can_see_nothing_does_not_pass(repeats: Repeats) -> None:
    held = gate(compare(repeats("a", 1), repeats("b", 1, slower_from=0, share=0.5)), 5)
    assert not held.is_pass
    assert held.sentence == (
        "FAIL: no figure could be compared with 5 %: repeats are too few or too far apart; take more runs."
    )


def test_one_run_and_a_stated_noise_can_be_held(repeats: Repeats) -> None:
    a, b = repeats("a", 1), repeats("b", 1, slower_from=0, share=0.5)
    assert gate(compare(a, b, noise=0.02), 5).sentence == (
        "FAIL: 1 regression of 5 % or more; 1 of 1 figures could be compared with 5 %."
    )
    assert gate(compare(a, repeats("c", 1), noise=0.02), 5).is_pass
    assert not gate(compare(a, repeats("c", 1), noise=0.2), 5).is_pass


def test_noise_above_the_bound_is_not_judged(repeats: Repeats) -> None:
    held = gate(compare(repeats("a", 5, noise=0.1), repeats("b", 5, noise=0.1)), 1)
    assert (held.judged, held.unjudged, held.is_pass) == (0, 1, False)


def test_a_loss_that_may_be_smaller_than_the_bound_is_none(figure: Repeats) -> None:
    good = figure([100.0, 101.0, 99.0, 100.5], name="message_rate", unit="1/s")
    slow = figure([90.0, 97.0, 98.5, 80.0], name="message_rate", unit="1/s", fabric="eth")
    comparison = compare(good, slow)
    (found,) = [one.finding for one in comparison.figures]
    assert (found.kind, round(found.percent or 0, 1), round(found.surely, 1)) == ("worse", -6.5, 0.5)
    assert gate(comparison, 5).regressions == ()
    assert len(gate(comparison, 0.4).regressions) == 1
