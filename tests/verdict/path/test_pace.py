"""Whether the printed figures of a run fit the time in which its rails carried its bytes."""

import pytest

from railyard.job.counters import DeviceCounters, Direction, NodeCounters
from railyard.parsers.output import Table
from railyard.provision.testbed.starvation import Reading
from railyard.site.site import Site
from railyard.verdict.path.traffic import OtherPace, PrintedRow, printed_rows, readings_of_run, why_too_long, why_unlike
from tests.made.judged_run import case_of

#: 1 MB at 10 MB/s, then 9 MB at 15 MB/s.
ROWS = (PrintedRow(1_000_000, 0.1), PrintedRow(9_000_000, 0.6))


def readings(seconds: float, moved: int = 10_000_000, wait_s: float = 2.0) -> dict[str, tuple[Reading, ...]]:
    """Return what a node's counter read ten times a second: nothing for a while, then its bytes, then nothing."""
    found = []
    for tenth in range(int(10 * (2 * wait_s + seconds)) + 1):
        part = min(1.0, max(0.0, (tenth / 10 - wait_s) / seconds))
        found.append(Reading(100 + tenth / 10, {"hsn0": 500 + int(part * moved), "eth0": 7 * tenth}))
    return {"vn1": tuple(found)}


def why(read: dict[str, tuple[Reading, ...]], rows: tuple[PrintedRow, ...] = ROWS) -> OtherPace | None:
    return why_unlike(rows, read, ("hsn0",), ("vn1", "vn2"))


@pytest.mark.parametrize(
    ("seconds", "moved"),
    [
        (0.7, 10_000_000),
        (0.8, 10_000_000),
        # Headers and warm-ups beside the printed bytes: the rate is the same.
        (1.4, 20_000_000),
    ],
)
def test_figures_that_fit_the_counters_say_nothing(seconds: float, moved: int) -> None:
    assert why(readings(seconds, moved)) is None


def test_a_run_that_took_longer_than_its_figures_say_is_named_with_both_rates() -> None:
    assert why(readings(1.4)) == OtherPace(
        "the printed figures are not those of this run: by them, the middle 80.0 % of its bytes passed at 15.00 MB/s, "
        "both ways together, and the rails of vn1 carried them at 7.143 MB/s (bound 1.25 times, pace-factor)",
        is_too_fast=True,
    )


def test_a_run_that_was_faster_than_its_figures_say_is_named_too() -> None:
    slow = tuple(PrintedRow(row.moved_bytes, 3 * row.seconds) for row in ROWS)
    other = why(readings(0.7), slow)
    assert other is not None and "passed at 5.000 MB/s" in other.sentence and not other.is_too_fast


def counters(before: int, moved: int) -> dict[str, NodeCounters]:
    """Return the counters of a run of vn1: half of its bytes were sent and half received."""
    way = Direction(before // 2, (before + moved) // 2)
    return {"vn1": NodeCounters("vn1", (DeviceCounters("hsn0", True, way, way, True, True, {}),), 0)}


def test_what_a_job_measures_after_its_run_is_not_compared_with_the_figures_of_the_run() -> None:
    (run,) = readings(0.7).values()
    after = [Reading(run[-1].at_s + tenth / 10, {"hsn0": 10_000_500 + 200_000 * tenth}) for tenth in range(1, 31)]
    read = {"vn1": (*run, *after)}
    assert why(read) is not None
    ended = readings_of_run(read, counters(500, 10_000_000), ("hsn0",))
    assert ended["vn1"][-1] == run[-1]
    assert why_unlike(ROWS, ended, ("hsn0",), ("vn1", "vn2")) is None


def test_without_counters_of_the_run_all_readings_are_compared() -> None:
    read = readings(1.4)
    assert readings_of_run(read, {}, ("hsn0",)) == {"vn1": list(read["vn1"])}
    assert (
        why_unlike(ROWS, readings_of_run(read, counters(500, 10_000_000), ("hsn0",)), ("hsn0",), ("vn1",)) is not None
    )


@pytest.mark.parametrize(
    ("read", "rows"),
    [
        ({}, ROWS),  # no counters on this host
        (readings(1.4), ()),  # bytes that do not follow from the output
        (readings(1.4, moved=0), ROWS),
        (readings(0.2, moved=1_000_000), tuple(PrintedRow(row.moved_bytes // 10, row.seconds / 10) for row in ROWS)),
    ],
)
def test_what_is_not_known_or_too_short_says_nothing(
    read: dict[str, tuple[Reading, ...]], rows: tuple[PrintedRow, ...]
) -> None:
    assert why(read, rows) is None


def test_figures_that_say_a_longer_time_than_the_run_took_are_not_its_own() -> None:
    assert why_too_long(ROWS, 0.7) is None
    assert why_too_long(ROWS, None) is None
    assert why_too_long(ROWS, 0.5) == OtherPace(
        "the printed figures are not those of this run: by them, its bytes took 0.7000 s, and all of the run took "
        "0.5000 s (bound 1.25 times, pace-factor)",
        is_too_fast=False,
    )


@pytest.mark.parametrize(
    ("name", "share"), [("PingPong", 1.0), ("PingPing", 0.5), ("Sendrecv", 1.0), ("Exchange", 1.0)]
)
def test_a_ping_ping_prints_the_rate_of_one_of_two_messages_that_pass_at_once(
    virtual: Site, name: str, share: float
) -> None:
    columns, units = ("size", "repetitions", "time", "bandwidth"), ("B", None, "us", "MB/s")
    table = Table("imb", "2019.6", name, columns, units, ((1_000_000, 100, 100_000.0, 10.0),), 1, True)
    (row,) = printed_rows(case_of(virtual, f"imb/{name}"), [table])
    assert row.moved_bytes / row.seconds == pytest.approx(10e6 / share)
