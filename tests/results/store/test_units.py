"""Curves in other units: converted with everything that depends on them, or refused with both units named."""

from typing import Any

import pytest

from railyard.base.errors import RailyardError
from railyard.results.record.form import BandRecord, CurveRecord, LimitRecord
from railyard.results.store.verify import UNITS, in_unit, unit_factor


def test_values_limit_and_bands_are_converted() -> None:
    band = BandRecord("b", "class", "s", (1, 2), (100.0, None), (None, 200.0))
    curve = CurveRecord("bandwidth", "MiB/s", (1, 2), (1.0, 2.0), limit=LimitRecord(3.0, "t", "s"), bands=(band,))
    found = in_unit(curve, "MB/s")
    assert (found.unit, found.values) == ("MB/s", (1.048576, 2.097152))
    assert found.limit is not None and found.limit.value == 3.145728
    low, high = found.bands[0].low, found.bands[0].high
    assert (low[1], high[0]) == (None, None)
    assert (low[0], high[1]) == pytest.approx((104.8576, 209.7152))
    assert in_unit(curve, "MiB/s") is curve


@pytest.mark.parametrize(
    ("unit", "wanted", "sentence"),
    [
        ("us", "MB/s", "bandwidth: found the unit us (time), expected MB/s (bandwidth) or one like it"),
        ("MBps", "MB/s", f"bandwidth: found the unit MBps, expected one of {', '.join(UNITS)}"),
    ],
)
def test_a_unit_of_another_kind_is_refused(unit: str, wanted: str, sentence: str) -> None:
    with pytest.raises(RailyardError) as caught:
        in_unit(CurveRecord("bandwidth", unit, (1,), (1.0,)), wanted)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(("one", "factor", "other"), [
    ("Gbit/s", 125, "MB/s"), ("GB/s", 1000, "MB/s"), ("GiB/s", 1024, "MiB/s"), ("KiB/s", 1024, "B/s"),
    ("kB/s", 1000, "B/s"), ("Mbit/s", 125_000, "B/s"), ("ms", 1000, "us"), ("us", 1000, "ns"), ("s", 1000, "ms"),
    ("M/s", 1e6, "1/s"), ("Gflop/s", 1000, "Mflop/s"), ("Tflop/s", 1000, "Gflop/s"), ("Gop/s", 1000, "Mop/s"),
])  # fmt: skip
def test_each_unit_against_a_neighbour(one: str, factor: float, other: str) -> None:
    made: Any = CurveRecord("x", one, (1,), (1.0,))
    assert in_unit(made, other).values[0] == pytest.approx(factor, rel=1e-12)


def test_a_factor_makes_a_value_in_one_unit_one_in_another() -> None:
    assert unit_factor("GB/s", "MB/s", "peak") == pytest.approx(1000)
    assert unit_factor("ms", "us", "latency") == pytest.approx(1000)
    with pytest.raises(RailyardError) as caught:
        unit_factor("us", "MB/s", "peak")
    assert str(caught.value) == "peak: found the unit us (time), expected MB/s (bandwidth) or one like it"
