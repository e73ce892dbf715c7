"""A synthetic record of a healthy test on the virtual cluster, for everything that a test does not set."""

from typing import Any

from railyard.results.record.form import FoundPart, MadePart, Record, TestPart, VerdictRecord, WherePart

MADE = Record(
    test=TestPart("ImbUniband %rails=1 @virtual:hsn+mpich", "ImbUniband", "imb/Uniband", "mpich", 1),
    where=WherePart("virtual", "hsn"),
    found=FoundPart("pass", VerdictRecord("all five rules hold")),
    made=MadePart("20261121T060000Z-ab12", "2026-11-21T06:00:12Z"),
)


def made_record(**changes: Any) -> Record:
    """Return it with these fields changed."""
    return MADE.with_fields(**changes)
