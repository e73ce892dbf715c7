"""Made records that blame parts, of tests on the virtual cluster's nodes."""

from collections.abc import Callable
from typing import Any

import pytest

from railyard.results.record.form import NodeTraffic, PathProofRecord, RailTraffic, Record, Suspect, VerdictRecord
from tests.made.records import made_record

RAIL = Suspect("rail", "it moved 4.9 of 48 MB/s", "vn2", "hsn1")


def made_failure(*suspects: Suspect, day: int = 21, **changes: Any) -> Record:
    """Return a failed test of vn1 and vn2 on a day of November 2026, whose run is named by the day."""
    verdict = VerdictRecord("hsn1 is slow", 5, "fabric", suspects=suspects or (RAIL,), next="the cable of hsn1")
    return made_record(
        **{
            "run": f"202611{day}T060000Z-ab12", "time": f"2026-11-{day}T06:00:12Z", "state": "fail", "rails": 2,
            "verdict": verdict, "nodes": ("vn1", "vn2"), **changes,
        }
    )  # fmt: skip


def made_pass(day: int = 22, share: float = 0.5, **changes: Any) -> Record:
    """Return the same test that passed, over both rails of both nodes; ``share`` is that of hsn1 on vn2."""
    rails = (RailTraffic("hsn0", True, 1, 1, 0.5), RailTraffic("hsn1", True, 1, 1, 0.5))
    sick = (RailTraffic("hsn0", True, 1, 1, 1 - share), RailTraffic("hsn1", True, 1, 1, share))
    path = PathProofRecord("proven", "over both", 4, (NodeTraffic("vn1", rails), NodeTraffic("vn2", sick)))
    well = {"state": "pass", "verdict": VerdictRecord("all five rules hold"), "path_proof": path}
    return made_failure(day=day, **{**well, **changes})


@pytest.fixture
def failure() -> Callable[..., Record]:
    return made_failure


@pytest.fixture
def passing_record() -> Callable[..., Record]:
    return made_pass
