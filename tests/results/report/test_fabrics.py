"""One number a fabric: over the most rails, never one that hides a failure, marked where it is no measurement."""

import dataclasses

import pytest

from railyard.benchmarks.model import Figure
from railyard.results.record.form import CurveRecord, LimitRecord, Record
from railyard.results.report.overview import FabricNumber, fabric_numbers
from tests.made.records import made_record


def bandwidth_record(peak: float | None, **changes: object) -> Record:
    """A record of a bandwidth test, MB/s, on a link of 12,500 MB/s whose payload is 12,421 MB/s."""
    words: dict[str, object] = {"system": "x", "fabric": "edr", "stack": "hpcx", "benchmark": "osu/osu_bw"} | changes
    if peak is not None:
        limit = LimitRecord(12421.0, "ib-edr", "standard")
        curve = CurveRecord("bandwidth", "MB/s", (1, 2), (1.0, peak), 1, limit, percent_of_limit=100 * peak / 12421)
        words = {"curves": (curve,), "figures": (Figure("peak", peak, "MB/s", 2),)} | words
    return made_record(**words)


def test_a_bandwidth_stands_beside_its_limit_in_gigabytes() -> None:
    assert fabric_numbers([bandwidth_record(12400.0)]) == (
        FabricNumber(
            *("edr", "12.40", "GB/s", "of 12.42 GB/s, 99.8 %", "osu/osu_bw, 1 rail, hpcx", 0), (("pass", "1 pass"),)
        ),
    )


def test_below_a_gigabyte_it_is_in_megabytes() -> None:
    (found,) = fabric_numbers([bandwidth_record(47.83)])
    assert (found.value, found.unit, found.limit) == ("47.83", "MB/s", "of 12421 MB/s, 0.4 %")


def test_the_best_of_the_tests_over_the_most_rails_is_told() -> None:
    records = [
        bandwidth_record(12400.0),
        bandwidth_record(11000.0, rails=2),
        bandwidth_record(11900.0, rails=2, benchmark="imb/Uniband"),
    ]
    (found,) = fabric_numbers(records)
    assert (found.value, found.test, found.index) == ("11.90", "imb/Uniband, 2 rails, hpcx", 2)


def test_a_better_test_never_hides_one_that_failed() -> None:
    records = [
        bandwidth_record(12400.0),
        bandwidth_record(9000.0, state="fail"),
        bandwidth_record(6000.0, state="disturbed"),
    ]
    (found,) = fabric_numbers(records)
    assert (found.value, found.states) == (
        "6.000",
        (("fail", "1 fail"), ("disturbed", "1 disturbed"), ("pass", "1 pass")),
    )


def test_what_was_computed_is_marked_and_comes_after_what_a_source_printed() -> None:
    computed = bandwidth_record(
        12400.0, replayed="replayed", figures=(Figure("peak", 12400.0, "MB/s", 2, computed=True),)
    )
    (alone,) = fabric_numbers([computed])
    assert (alone.value, alone.test) == ("12.40*", "osu/osu_bw, 1 rail, hpcx, replayed")
    (both,) = fabric_numbers([computed, bandwidth_record(12000.0, replayed="replayed")])
    assert both.value == "12.00"


def test_a_rehearsal_says_so_beside_its_number() -> None:
    (found,) = fabric_numbers([bandwidth_record(12400.0, rehearsal="a rehearsal")])
    assert found.test == "osu/osu_bw, 1 rail, hpcx, rehearsed"


def test_both_directions_are_told_only_where_nothing_was_measured_one_way() -> None:
    both = bandwidth_record(24000.0)
    both = both.with_fields(curves=(dataclasses.replace(both.found.curves[0], directions=2, limit=None),))
    (found,) = fabric_numbers([both])
    assert (found.value, found.limit, found.test) == ("24.00", "", "both directions, osu/osu_bw, 1 rail, hpcx")
    assert fabric_numbers([both, bandwidth_record(9000.0)])[0].value == "9.000"


def test_a_burst_above_the_limit_of_a_long_stream_has_its_per_cent_alone() -> None:
    record = bandwidth_record(12600.0)
    curve = dataclasses.replace(record.found.curves[0], percent_of_limit=85.8)
    assert fabric_numbers([record.with_fields(curves=(curve,))])[0].limit == "85.8 % of the limit"


@pytest.mark.parametrize(
    ("record", "told"),
    [
        (
            bandwidth_record(None, figures=(Figure("small_message_latency", 0.8, "us", 1),)),
            ("0.8000", "us", "small message latency, osu/osu_bw, 1 rail, hpcx"),
        ),
        (bandwidth_record(None), ("–", "", "nothing was measured")),
        (bandwidth_record(None, state="not-tested"), ("–", "", "no test ran")),
    ],
)
def test_a_fabric_without_a_bandwidth_has_what_there_is(record: Record, told: tuple[str, str, str]) -> None:
    (found,) = fabric_numbers([record])
    assert (found.value, found.unit, found.test) == told


def test_fabrics_of_several_systems_have_their_systems_name() -> None:
    found = fabric_numbers(
        [bandwidth_record(1.0), bandwidth_record(1.0, system="y"), bandwidth_record(1.0, fabric="fdr")]
    )
    assert [one.name for one in found] == ["x: edr", "y: edr", "x: fdr"]
