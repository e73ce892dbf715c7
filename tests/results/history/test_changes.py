"""A series, judged: what changed in words, what changed with it, whether nodes were swapped, and what is unclear."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from railyard.results.history import JudgedSeries, judge, nodes_told
from railyard.results.record.form import Record
from railyard.results.series import series_of

Row = Callable[..., list[float]]
Made = Callable[..., tuple[Record, ...]]
Card = Callable[[str], Any]


def judged_series(records: tuple[Record, ...], least: float = 1.0) -> JudgedSeries:
    (series,) = series_of(records)
    return judge(series, least)


def test_a_fall_is_told_with_its_size_its_time_and_the_firmware(row: Row, history: Made, card: Card) -> None:
    values = row(25) + row(6, 45.9, seed=2)
    before = history(values, 0, hardware=card("20.41"))[:25]
    after = history(values, 0, hardware=card("20.43"), environment={"kernel": "6.8"})[25:]
    found = judged_series((*before, *after))
    assert (found.state, found.sentence) == ("changed", "1 change in 31 runs")
    (change,) = found.changes
    assert (change.index, change.kind, change.nodes.kind) == (25, "worse", "same")
    assert change.percent == pytest.approx(-4.0, abs=0.3)
    assert change.before.record.made.time == "2026-01-25T06:00:12Z"
    assert change.after.record.made.time == "2026-01-26T06:00:12Z"
    assert change.sentence.startswith(f"fell by {-(change.percent or 0):.1f} % (")
    assert (
        "; between 2026-01-25 06:00 (20260125T060000Z-ab12) and 2026-01-26 06:00 (20260126T060000Z-ab12); "
        "on the same nodes (vn1+vn2); at the same time: "
    ) in change.sentence
    assert change.together[-1] == "kernel 6.1 before, 6.8 after"


def test_firmware_is_named_before_the_kernel(row: Row, history: Made, card: Card) -> None:
    old = history(row(25), 0, hardware=card("20.41"))
    new = history(row(31), 0, hardware=card("20.43"), environment={"kernel": "6.8"})[25:]
    slow = tuple(_scale_figure(record, 0.96) for record in new)
    (change,) = judged_series((*old, *slow)).changes
    assert change.together == ("mlx5_0 firmware 20.41 before, 20.43 after", "kernel 6.1 before, 6.8 after")


def _scale_figure(record: Record, factor: float) -> Record:
    (figure,) = record.found.figures
    return record.with_fields(figures=(replace(figure, value=figure.value * factor),))


def test_nothing_that_is_recorded_may_have_changed(row: Row, history: Made) -> None:
    (change,) = judged_series(history(row(25) + row(6, 49.9, seed=2))).changes
    assert change.kind == "better"
    assert change.sentence.startswith("rose by ")
    assert change.sentence.endswith("; nothing else that is recorded changed then")


@pytest.mark.parametrize(
    ("name", "unit", "kind"), [("small_message_latency", "us", "worse"), ("n_half", "B", "different")]
)
def test_which_way_is_good_depends_on_the_figure(row: Row, history: Made, name: str, unit: str, kind: str) -> None:
    records = tuple(
        one.with_fields(figures=tuple(replace(figure, name=name, unit=unit) for figure in one.found.figures))
        for one in history(row(25) + row(6, 53.0, seed=2))
    )
    (change,) = judged_series(records).changes
    assert change.kind == kind


def test_other_nodes_may_be_the_whole_change(row: Row, history: Made) -> None:
    (change,) = judged_series(history(row(25) + row(6, 45.9, seed=2), 25, nodes=("vn3", "vn4"))).changes
    assert change.nodes.kind == "swapped"
    assert change.nodes.sentence == (
        "with other nodes (vn1+vn2 before, vn3+vn4 after): this cannot tell a change of the nodes "
        "from a change of anything else"
    )


def test_the_nodes_that_both_sides_have_decide(row: Row, history: Made) -> None:
    good, slow = row(12), row(12, 45.9, seed=2)
    near = series_of(history(good))[0].points
    far = series_of(history(good, 0, nodes=("vn3", "vn4")))[0].points
    slow_near = series_of(history(slow))[0].points
    slow_far = series_of(history(slow, 0, nodes=("vn3", "vn4")))[0].points
    shows = nodes_told([*near, *far[:1]], slow_near)
    assert (shows.kind, shows.sentence) == (
        "same",
        "some nodes differ, but the nodes that both sides have (vn1+vn2) show the change too",
    )
    hidden = nodes_told(near, [*near[:5], *slow_far])
    assert (hidden.kind, hidden.sentence) == (
        "swapped",
        "it came with other nodes: the nodes that both sides have (vn1+vn2) do not show it",
    )
    few = nodes_told(near[:3], [*slow_near[:2], *slow_far])
    assert (few.kind, few.sentence) == (
        "mixed",
        "some nodes differ; on the nodes that both sides have (vn1+vn2), 3 and 2 runs are too few to tell",
    )
    unknown = nodes_told(near, series_of(history(slow, 0, nodes=()))[0].points)
    assert (unknown.kind, unknown.sentence) == ("unknown", "the nodes of some of these runs are not recorded")


def test_small_changes_are_counted_and_not_told(row: Row, history: Made) -> None:
    records = history(row(40) + row(40, 47.8 * 0.993, seed=2))
    found = judged_series(records)
    assert (found.state, found.changes, found.smaller) == ("none", (), 1)
    assert found.sentence.startswith("no change of that size in 80 runs, ")
    assert found.sentence.endswith(" MB/s, and 1 below 1 %")
    assert judged_series(records, 0.5).state == "changed"


@pytest.mark.parametrize(
    ("values", "state", "sentence"),
    [
        ([47.8], "cannot-tell", "one run, 47.80 MB/s: a history begins with the second"),
        ([47.8, 47.9], "cannot-tell", "cannot tell: 2 runs, a change needs at least 18 (5 of them after it)"),
        ([47.8] * 30, "equal", "all 30 values are 47.80 MB/s: no change"),
        ([47.8, 47.9] * 15, "none", "no change in 30 runs, 47.80 to 47.90 MB/s"),
    ],
)
def test_what_shows_nothing_says_why(history: Made, values: list[float], state: str, sentence: str) -> None:
    found = judged_series(history(values))
    assert (found.state, found.sentence) == (state, sentence)
