"""Tests whose measurement this machine disturbed: skipped by a word of their own, and counted by it."""

from typing import NoReturn

import pytest

#: What the reason of such a skip begins with: by it the summary tells it from any other.
BEGINS = "disturbed: "


def skip(reason: str) -> NoReturn:
    """End a test that cannot judge: what it measured says nothing, good or bad, for the reason that is given."""
    pytest.skip(BEGINS + reason)


def why(report: pytest.CollectReport | pytest.TestReport) -> str | None:
    """Return the reason of a test that `skip` ended, None of any other."""
    if not report.skipped or not isinstance(report.longrepr, tuple):
        return None
    _, found, reason = report.longrepr[2].partition(BEGINS)
    return reason if found else None
