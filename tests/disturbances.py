"""Tests whose measurement this machine disturbed: they are skipped with a word of their own, and counted by it."""

from typing import NoReturn

import pytest

#: The reason of such a skip begins with this: so the summary can tell it from any other skip.
BEGINS = "disturbed: "


def skip(reason: str) -> NoReturn:
    """End a test that cannot judge: its measurement means nothing, good or bad, for the given reason."""
    pytest.skip(BEGINS + reason)


def why(report: pytest.CollectReport | pytest.TestReport) -> str | None:
    """Return the reason of a test that `skip` ended, None for any other test."""
    if not report.skipped or not isinstance(report.longrepr, tuple):
        return None
    _, found, reason = report.longrepr[2].partition(BEGINS)
    return reason if found else None
