"""Records as series: what counts, what is left out with its reason, units, and gaps."""

from collections.abc import Callable

import pytest

from railyard.benchmarks.model import Figure
from railyard.results.record.form import CurveRecord, Record, VerdictRecord
from railyard.results.series import node_words, nodes_of, series_of

Day = Callable[..., Record]


def test_a_series_is_one_figure_of_one_test_the_oldest_first(day: Day) -> None:
    two = (Figure("peak", 1.0, "MB/s", 4), Figure("n_half", 900.0, "B"))
    other = day(0, 5.0, case="ImbPingPong %rails=1 @virtual:hsn+mpich", benchmark="imb/PingPong")
    found = series_of([day(3, 3.0), day(1, 1.0, figures=two), other, day(2, 2.0)])
    assert [(one.benchmark, one.figure, one.unit, one.values) for one in found] == [
        ("imb/Uniband", "peak", "MB/s", (1.0, 2.0, 3.0)),
        ("imb/Uniband", "n_half", "B", (900.0,)),
        ("imb/PingPong", "peak", "MB/s", (5.0,)),
    ]
    assert found[0].name == "imb/Uniband (virtual, hsn, mpich, 1 rail)"
    assert found[1].remarks == ("2 runs without n_half",)


def test_a_test_is_named_with_policy_and_parameters(day: Day) -> None:
    case = "OsuCollective %rails=2 %policy=round-robin %collective=bcast @virtual:hsn+mpich"
    (found,) = series_of([day(1, 1.0, case=case, rails=2, policy="round-robin", benchmark="osu/osu_bcast")])
    assert found.name == "osu/osu_bcast (virtual, hsn, mpich, 2 rails, round-robin, %collective=bcast)"


CASE = "ImbUniband %rails=1 @virtual:hsn+mpich"


def test_the_repeats_of_a_run_are_one_value_of_its_test(day: Day) -> None:
    def repeat(number: int, when: int, value: float) -> Record:
        return day(when, value, case=CASE.replace(" @", f" %.repeat_no={number} @"))

    disturbed = [repeat(number, 2, value) for number, value in enumerate((30.0, 31.0, 48.0, 29.0))]
    found = series_of([day(1, 47.8, case=CASE), *disturbed, day(3, 47.9, case=CASE)])
    assert [(one.case, one.name, one.values) for one in found] == [
        (CASE, "imb/Uniband (virtual, hsn, mpich, 1 rail)", (47.8, 30.0, 47.9))
    ]
    assert found[0].remarks == ("1 run with repeats (--repeat): the middle value of each counts",)
    assert found[0].points[1].record.test.case.endswith("%.repeat_no=0 @virtual:hsn+mpich")


def test_a_failure_beside_its_retry_stays(day: Day) -> None:
    slow = day(1, 30.0, case=CASE, state="fail", verdict=VerdictRecord("slow", rule=5))
    (found,) = series_of([slow, day(1, 47.8, case=CASE)])
    assert (found.values, found.remarks) == ((30.0, 47.8), ())


def test_what_did_not_measure_its_path_is_left_out_and_said(day: Day) -> None:
    failed = day(2, 1.0, state="fail", verdict=VerdictRecord("idle", rule=4))
    slow = day(3, 46.0, state="fail", verdict=VerdictRecord("slow", rule=5))
    played = day(4, 9.0, replayed="replayed: recorded, not measured")
    absent = day(5, 9.0, state="not-tested", figures=(), curves=())
    starved = day(6, 30.0, state="disturbed", verdict=VerdictRecord("slow", rule=5))
    (found,) = series_of([day(1, 47.8), failed, slow, played, absent, starved])
    assert found.values == (47.8, 46.0)  # a figure below its reference is what a history is for
    assert found.remarks == (
        "1 run left out: failed rule 4",
        "1 run left out: replayed, so nothing was measured",
        "1 run left out: not tested",
        "1 run left out: disturbed",
    )
    assert series_of([played, absent]) == ()


def test_other_message_sizes_make_another_peak(day: Day) -> None:
    curve = CurveRecord("bandwidth", "MB/s", (1, 4, 4194304), (0.1, 0.4, 47.0))
    (found,) = series_of([day(1, 47.0, curves=(curve,)), day(2, 47.8), day(3, 47.9)])
    assert found.values == (47.8, 47.9)
    assert found.remarks == ("1 run left out: measured over other message sizes",)


@pytest.mark.parametrize(
    ("unit", "value", "values", "remark"),
    [
        ("GB/s", 0.0478, (47.8, 47.9), "1 run with peak in GB/s: converted to MB/s"),
        ("us", 20.0, (47.9,), "1 run with peak in us, not MB/s: left out"),
        ("furlong", 20.0, (47.9,), "1 run with peak in furlong, not MB/s: left out"),
    ],
)
def test_a_unit_that_changed_is_converted_or_left_out(
    day: Day, unit: str, value: float, values: tuple[float, ...], remark: str
) -> None:
    (found,) = series_of([day(1, value, unit), day(2, 47.9)])
    assert found.values == pytest.approx(values)
    assert found.remarks == (remark,)


def test_a_gap_is_said_where_it_is_long_for_this_history(day: Day) -> None:
    (found,) = series_of([day(each, 47.8 + each / 100) for each in (1, 2, 3, 4, 20, 21)])
    assert found.remarks == ("no run from 2026-01-05 to 2026-01-21, 16 days: a change in this time has no exact date",)
    (weekly,) = series_of([day(7 * each, 47.8 + each / 100) for each in range(5)])
    assert weekly.remarks == ()
    (odd,) = series_of([day(1, 47.8).with_fields(time="once"), day(2, 47.9)])
    assert odd.remarks == ()


def test_sets_of_nodes_in_words(day: Day) -> None:
    (found,) = series_of([day(each, 1.0, nodes=("b", f"a{each % 5}")) for each in range(6)])
    sets = nodes_of(found.points)
    assert node_words(sets) == "a0+b, a1+b, a2+b and 2 more"
    assert node_words(nodes_of(found.points[:2])) == "a0+b and a1+b"
