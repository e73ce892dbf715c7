"""Tolerances: never below the least, wide if repeats are few or jobs differ; outliers are named, not dropped."""

import random

import pytest

from railyard.results.repeats import FALSE_ALARMS, spread

JOBS = tuple(f"j{n}" for n in range(10))


def columns(
    count: int, sigma: float, seed: int = 1, sizes: tuple[int, ...] = (1 << 20, 1 << 22)
) -> dict[int, list[float]]:
    chance = random.Random(seed)
    return {size: [100 * (1 + sigma * chance.gauss(0, 1)) for _ in range(count)] for size in sizes}


def test_repeats_that_agree_have_the_least_tolerance() -> None:
    found = spread(columns(5, 0.0005), JOBS[:5], "bandwidth")
    assert found.tolerance == {"latency": 0.02, "middle": 0.02, "bandwidth": 0.02}
    assert (found.left, found.outliers) == ({}, ())
    assert spread(columns(5, 0.0005), JOBS[:5], "latency").tolerance["bandwidth"] == 0.05


def test_the_median_is_the_reference() -> None:
    found = spread({1 << 20: [100.0, 101.0, 100.5, 99.0, 100.2]}, JOBS[:5], "bandwidth")
    assert found.curve == {1 << 20: 100.2}


def test_more_repeats_narrow_the_tolerance() -> None:
    few = spread(columns(5, 0.004, sizes=(1 << 22,)), JOBS[:5], "bandwidth").tolerance["bandwidth"]
    many = spread(columns(40, 0.004, sizes=(1 << 22,)), tuple(map(str, range(40))), "bandwidth").tolerance["bandwidth"]
    assert 0.02 <= many < 0.025 < few


def test_a_tolerance_is_that_of_its_regime_alone() -> None:
    values = {16: [100.0, 100.9, 99.1, 100.2, 99.8], 1 << 22: [100.0, 100.1, 99.9, 100.0, 100.0]}
    found = spread(values, JOBS[:5], "latency")
    assert found.tolerance["bandwidth"] == 0.05
    assert 0.05 < found.tolerance["latency"] <= 0.15


def test_jobs_that_differ_widen_it() -> None:
    # The farthest repeat is half as far away as the jobs are apart: 99 and 101 around a median of 100.
    values = {1 << 22: [99.0] * 2 + [100.0] * 36 + [101.0] * 2}
    alike = spread(values, tuple(f"j{n}" for n in range(40)), "bandwidth").tolerance["bandwidth"]
    apart = spread(values, ("a",) * 2 + ("c",) * 36 + ("b",) * 2, "bandwidth").tolerance["bandwidth"]
    assert alike == 0.02
    assert apart == 0.04  # twice the distance of the two jobs


def test_a_size_that_spreads_too_far_is_left_out_and_named() -> None:
    values = columns(5, 0.0005) | {65536: [16.9, 30.0, 12.0, 45.0, 17.0]}
    found = spread(values, JOBS[:5], "bandwidth")
    assert list(found.curve) == [1 << 20, 1 << 22]
    assert list(found.left) == [65536]
    assert found.left[65536] > 1


def test_a_size_does_what_its_regime_did_once() -> None:
    steady = [100.0, 100.1, 99.9, 100.0, 100.05]
    alone = spread({65536: steady}, JOBS[:5], "bandwidth").tolerance["middle"]
    assert alone == 0.02
    others = {65536: steady, 262144: steady}
    beside = spread({**others, 131072: [100.0, 97.0, 100.1, 99.9, 100.0]}, JOBS[:5], "bandwidth")
    assert (list(beside.left), beside.tolerance["middle"]) == ([131072], 0.06)
    wild = spread({**others, 131072: [100.0, 30.0, 100.1, 99.9, 100.0]}, JOBS[:5], "bandwidth")
    assert wild.curve == {}


def test_what_agrees_by_rounding_alone_is_not_asserted() -> None:
    assert spread({4: [0.04] * 5}, JOBS[:5], "bandwidth").curve == {}
    assert spread({4: [40.0] * 5}, JOBS[:5], "bandwidth").tolerance["latency"] == 0.02


def test_a_size_that_prints_zero_is_left_out() -> None:
    found = spread(columns(5, 0.0005) | {1: [0.0, 0.0, 0.01, 0.0, 0.0]}, JOBS[:5], "bandwidth")
    assert list(found.left) == [1]


def test_an_outlier_is_named_and_counts() -> None:
    values = {1 << 22: [100.0, 100.1, 99.9, 100.0, 97.0, 100.05, 99.95, 100.0, 100.1, 99.9]}
    found = spread(values, JOBS, "bandwidth")
    (outlier,) = found.outliers
    assert (outlier.repeat, outlier.size) == (4, 1 << 22)
    assert outlier.share == pytest.approx(-0.03)
    assert found.tolerance["bandwidth"] == 0.06
    assert spread({1 << 22: [100.0, 100.1, 99.9, 100.0, 99.0]}, JOBS[:5], "bandwidth").outliers == ()


def false_alarms(sigma: float, repeats: int, trials: int, sizes: int, together: float, seed: int) -> float:
    """Return the share of healthy runs outside of what was captured from others; ``together``: correlation of sizes."""
    chance = random.Random(seed)

    def run() -> list[float]:
        common = chance.gauss(0, 1)
        return [
            100 * (1 + sigma * (together**0.5 * common + (1 - together) ** 0.5 * chance.gauss(0, 1)))
            for _ in range(sizes)
        ]

    alarms = 0
    for _ in range(trials):
        runs = [run() for _ in range(repeats)]
        found = spread(
            {(1 << 20) + size: [one[size] for one in runs] for size in range(sizes)}, JOBS[:repeats], "bandwidth"
        )
        low = found.tolerance["bandwidth"]
        new = run()
        alarms += any(
            (1 << 20) + size in found.curve and value < found.curve[(1 << 20) + size] * (1 - low)
            for size, value in enumerate(new)
        )
    return alarms / trials


@pytest.mark.parametrize("together", [0.0, 0.9])
def test_false_alarms_are_rare(together: float) -> None:
    # 0 or 1 of 1500 if one in a thousand is allowed; benchmarks/capture.py has the large numbers
    assert false_alarms(0.008, 5, 1500, 6, together, seed=3) <= 2 * FALSE_ALARMS
