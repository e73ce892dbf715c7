"""Synthetic histories: one run per day of one test, with a peak of about 47.8 MB/s and a noise that a test chooses."""

import random
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import Any

import pytest

from railyard.benchmarks.model import Figure
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.record.form import CurveRecord, NodeGroup, Record, VerdictRecord
from tests.made.records import made_record

MADE = made_record(
    run="",
    time="",
    verdict=VerdictRecord("so"),
    policy="single",
    nodes=("vn1", "vn2"),
    environment={"kernel": "6.1"},
)


def noisy(count: int, level: float = 47.8, noise: float = 0.002, seed: int = 1) -> list[float]:
    """This many values around a level; ``noise`` is their standard deviation as a share of it."""
    draw = random.Random(seed)
    return [level * (1 + draw.gauss(0, noise)) for _ in range(count)]


def record_of(day: int, value: float, unit: str = "MB/s", name: str = "peak", **fields: Any) -> Record:
    """The record of one day, counted from 2026-01-01."""
    when = date(2026, 1, 1) + timedelta(days=day)
    given: dict[str, Any] = {
        "run": f"{when:%Y%m%d}T060000Z-ab12",
        "time": f"{when:%Y-%m-%d}T06:00:12Z",
        "figures": (Figure(name, value, unit, 4194304),),
        "curves": (CurveRecord("bandwidth", "MB/s", (65536, 4194304), (16.9, value)),),
    }
    return MADE.with_fields(**(given | fields))


@pytest.fixture
def row() -> Callable[..., list[float]]:
    """Values around a level."""
    return noisy


@pytest.fixture
def day() -> Callable[..., Record]:
    """One synthetic record."""
    return record_of


@pytest.fixture
def history() -> Callable[..., tuple[Record, ...]]:
    """One record per value, one per day; ``later`` are fields of those from ``since`` on."""

    def daily_records(values: Sequence[float], since: int | None = None, **later: Any) -> tuple[Record, ...]:
        return tuple(
            record_of(index, value, **(later if since is not None and index >= since else {}))
            for index, value in enumerate(values)
        )

    return daily_records


@pytest.fixture
def card() -> Callable[[str], tuple[NodeGroup, ...]]:
    """Two nodes whose card has this firmware."""
    return lambda firmware: (NodeGroup(("vn1", "vn2"), {"kernel": "6.1"}, {"mlx5_0": {"firmware": firmware}}),)


@pytest.fixture
def stored_site(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[Record]], Any]:
    """Store records in a site that commands then find; return its folder."""

    def store(records: Sequence[Record]) -> Any:
        (tmp_path / "systems").mkdir(exist_ok=True)
        for record in records:
            append_record(tmp_path / ".railyard" / "runs" / record.made.run / FILE_NAME, record)
        monkeypatch.setenv("RAILYARD_HOME", str(tmp_path))
        monkeypatch.setenv("COLUMNS", "120")
        return tmp_path

    return store
