"""Records of many runs by test: the newest counts, and a failure in the newest run comes before a later pass."""

from railyard.results.record.form import Record
from railyard.results.report.overview import bases
from railyard.results.report.spread import are_repeats, histories


def record_at(record: Record, run: str, time: str, **changes: object) -> Record:
    return record.with_fields(run=run, time=time, **changes)


def test_records_are_in_the_order_of_their_time_by_test(healthy_run: list[Record]) -> None:
    one, other = healthy_run[:2]
    found = histories(
        [
            record_at(one, "b", "2"),
            record_at(other, "b", "2"),
            record_at(one, "a", "1"),
            record_at(one, "c", "3", system="else"),
        ]
    )
    assert [[record.made.run for record in each.records] for each in found] == [["a", "b"], ["b"], ["c"]]
    assert found[0].newest.made.run == "b"


def test_a_pass_on_a_retry_hides_no_failure_of_the_newest_run(healthy_run: list[Record]) -> None:
    one = healthy_run[0]
    earlier = record_at(one, "a", "1", state="fail")
    failed, passed = record_at(one, "b", "2", state="fail"), record_at(one, "b", "3")
    (found,) = histories([earlier, failed, passed])
    assert found.newest is failed
    assert found.failed_records == (earlier,)
    disturbed = record_at(one, "b", "2", state="disturbed")
    (restless,) = histories([earlier, disturbed, passed])
    assert (restless.newest, restless.failed_records) == (disturbed, (earlier,))
    (later,) = histories([earlier, failed, passed, record_at(one, "c", "4")])
    assert later.newest.made.run == "c"
    assert later.failed_records == (earlier, failed)


def test_repeats_are_those_of_other_runs(healthy_run: list[Record]) -> None:
    one = healthy_run[0]
    assert not are_repeats([one, one])
    assert not are_repeats([one, one.with_fields(run="b", system="else")])
    assert are_repeats([one, one.with_fields(run="b")])


def test_a_basis_counts_the_tests_that_rest_on_it(healthy_run: list[Record]) -> None:
    found = {basis.name: (basis.kind, basis.tests) for basis in bases(healthy_run)}
    assert found["hsn-2"] == ("class", 6)
    assert found["1 x 200 Mbit/s x 1448/1538 (TCP/IP headers, MTU 1500)"] == ("limit", 6)
    assert [basis.kind for basis in bases(healthy_run)] == ["class"] * 3 + ["limit"] * 6
