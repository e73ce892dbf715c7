"""The words for a shift."""

import pytest

from railyard.results.shift import finding, shift

SLOW = (95.0, 95.2, 94.9, 95.1)
GOOD = (100.0, 100.2, 99.9, 100.1)


@pytest.mark.parametrize(
    ("a", "b", "better", "kind", "sentence"),
    [
        (GOOD, SLOW, "higher", "worse", "B is 5.0 % below A (-5.3 % to -4.7 % at 95 % confidence)"),
        (SLOW, GOOD, "higher", "better", "B is 5.3 % above A (+4.9 % to +5.6 % at 95 % confidence)"),
        (SLOW, GOOD, "lower", "worse", "B is 5.3 % above A (+4.9 % to +5.6 % at 95 % confidence)"),
        (SLOW, GOOD, None, "different", "B is 5.3 % above A (+4.9 % to +5.6 % at 95 % confidence)"),
        (
            GOOD,
            (100.1, 100.3, 99.8, 100.0),
            "higher",
            "none",
            "no difference at this noise; the smallest visible difference is 0.40 %",
        ),
        (
            GOOD[:3],
            SLOW[:3],
            "higher",
            "cannot-tell",
            "cannot tell: 3 and 3 repeats have no interval at 95 % confidence, 4 and 4 have",
        ),
        (
            (0.0, 0.0, 0.0, 0.0),
            (1.0, 2.0, 3.0, 4.0),
            None,
            "different",
            "B is 2.500 GB above A (1.000 GB to 4.000 GB at 95 % confidence)",
        ),
    ],
)
def test_the_sentence(a: tuple[float, ...], b: tuple[float, ...], better: str | None, kind: str, sentence: str) -> None:
    found = finding(shift(a, b), "GB", better)  # type: ignore[arg-type]
    assert (found.kind, found.sentence) == (kind, sentence)


def test_the_published_hpl_of_edr_and_fdr_cannot_be_told_apart() -> None:
    """One value per side, 0.33 % apart: the source calls this less than a variation that it does not print."""
    fdr, edr = [1000.0], [1003.3]
    alone = finding(shift(fdr, edr), "Gflop/s", "higher")
    assert (alone.kind, alone.sentence) == (
        "cannot-tell",
        "cannot tell: 1 and 1 repeats have no interval at 95 % confidence, 4 and 4 have",
    )
    known = finding(shift(fdr, edr), "Gflop/s", "higher", noise=0.02)
    assert (known.kind, known.sentence) == (
        "none",
        "no difference at the stated noise of 2 %, found +0.33 % with 1 and 1 repeats; "
        "the smallest visible difference is 2 %",
    )


def test_more_than_the_stated_noise_is_a_difference() -> None:
    found = finding(shift([100.0], [95.0]), "MB/s", "higher", noise=0.02)
    assert (found.kind, found.sentence) == (
        "worse",
        "B is 5.0 % below A, more than the stated noise of 2 %, with 1 and 1 repeats",
    )


def test_repeats_that_show_their_own_noise_stand_above_a_stated_one() -> None:
    assert finding(shift(GOOD, SLOW), "MB/s", "higher", noise=0.2).kind == "worse"
