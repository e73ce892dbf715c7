"""Synthetic records: repeats of one test with known noise and planted changes."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from railyard.benchmarks.model import Figure
from railyard.results.record.form import CurveRecord, Record
from tests.made.records import made_record

SIZES = tuple(4**n for n in range(12))


def curve_of(peak: float, noise: float, draw: random.Random, slower_from: int | None, share: float) -> CurveRecord:
    """A bandwidth over 12 sizes, each with its own noise; from one size on ``share`` lower."""
    whole = 1 + draw.gauss(0, noise)
    values = []
    for size in SIZES:
        value = peak * size / (size + 1500) * whole * (1 + draw.gauss(0, noise / 2))
        values.append(value * (1 - share) if slower_from is not None and size >= slower_from else value)
    return CurveRecord("bandwidth", "MB/s", SIZES, tuple(values))


def record(
    run: str = "run",
    *,
    seed: int = 0,
    peak: float = 100.0,
    noise: float = 0.002,
    slower_from: int | None = None,
    share: float = 0.05,
    **fields: Any,
) -> Record:
    """One repeat; other fields go into the record unchanged."""
    curve = curve_of(peak, noise, random.Random(f"{run} {seed}"), slower_from, share)
    rails, fabric, stack = fields.get("rails", 1), fields.get("fabric", "hsn"), fields.get("stack", "mpich")
    base = made_record(
        run=run,
        case=f"ImbUniband %rails={rails} @virtual:{fabric}+{stack}",
        policy="single",
        nodes=("vn1", "vn2"),
        figures=(Figure("peak", curve.values[-1], "MB/s", SIZES[-1]),),
        curves=(curve,),
    )
    return base.with_fields(**fields)


@pytest.fixture
def new_record() -> Callable[..., Record]:
    """One synthetic record."""
    return record


@pytest.fixture
def repeats() -> Callable[..., tuple[Record, ...]]:
    """This many repeats of one test, each from its own run."""

    def several(name: str, count: int, **given: Any) -> tuple[Record, ...]:
        return tuple(record(f"{name}{index}", seed=index, **given) for index in range(count))

    return several


@pytest.fixture
def figure() -> Callable[..., tuple[Record, ...]]:
    """Repeats of a benchmark without sizes: one record per value."""

    def several(
        values: Sequence[float], name: str = "gflops", unit: str = "Gflop/s", **given: Any
    ) -> tuple[Record, ...]:
        return tuple(
            record(f"{given.get('fabric')}{index}", **given | {"figures": (Figure(name, value, unit),), "curves": ()})
            for index, value in enumerate(values)
        )

    return several
