"""A synthetic store: a site folder with runs of the system `virtual`, whose records differ as a test demands."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from railyard.benchmarks.model import Figure
from railyard.results.record.file import FILE_NAME, append_record
from railyard.results.record.form import CurveRecord, NodeTraffic, PathProofRecord, RailTraffic, Record, VerdictRecord
from tests.made.records import made_record

MADE = made_record(
    case="ImbPingPong %rails=1 @virtual:hsn+mpich",
    check="ImbPingPong",
    benchmark="imb/PingPong",
    verdict=VerdictRecord("bandwidth holds one-rail, at worst 101.7 % at 4 MiB"),
    hash="1a2b3c4d",
    policy="single",
    elapsed_s=5.5,
    nodes=("vn1", "vn2"),
    figures=(Figure("peak", 47.8, "MB/s", 4194304), Figure("small_message_latency", 11.6, "us", 1)),
    curves=(
        CurveRecord("bandwidth", "MB/s", (65536, 4194304), (16.9, 47.8)),
        CurveRecord("latency", "us", (1, 1024), (11.6, 12.0)),
    ),
    path_proof=PathProofRecord(
        "proven", "all on hsn0", 1000, (NodeTraffic("vn1", (RailTraffic("hsn0", True, 10, 20, 1.0),)),)
    ),
    environment={"kernel": "6.1"},
    command=("mpirun", "-n", "2"),
)


@pytest.fixture
def new_record() -> Callable[..., Record]:
    """Return a function that returns a healthy record with these fields changed."""
    return MADE.with_fields


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A site folder without runs."""
    (tmp_path / "systems").mkdir()
    (tmp_path / "systems" / "virtual.yaml").write_text("", encoding="utf-8")
    return tmp_path


@pytest.fixture
def stored_run(home: Path) -> Callable[..., Path]:
    """Return a function that stores records, each in the folder of its run, and returns the folder of the last."""

    def store(*records: Record) -> Path:
        for record in records:
            append_record(home / ".railyard" / "runs" / record.made.run / FILE_NAME, record)
        return home / ".railyard" / "runs" / records[-1].made.run

    return store


def days(count: int, **changes: Any) -> tuple[Record, ...]:
    """Return one record per day, each from its own run."""
    return tuple(
        MADE.with_fields(run=f"202611{day:02}T060000Z-ab{day:02}", time=f"2026-11-{day:02}T06:00:12Z", **changes)
        for day in range(1, count + 1)
    )
