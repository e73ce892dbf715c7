"""A synthetic record of a healthy test on the virtual cluster, for everything that a test does not set."""

from dataclasses import replace
from typing import Any

from railyard.results.record.form import Record, VerdictRecord

MADE = Record(
    run="20261121T060000Z-ab12",
    time="2026-11-21T06:00:12Z",
    case="ImbUniband %rails=1 @virtual:hsn+mpich",
    check="ImbUniband",
    system="virtual",
    fabric="hsn",
    stack="mpich",
    rails=1,
    benchmark="imb/Uniband",
    state="pass",
    verdict=VerdictRecord("all five rules hold"),
)


def made_record(**changes: Any) -> Record:
    """Return it with these fields changed."""
    return replace(MADE, **changes)
