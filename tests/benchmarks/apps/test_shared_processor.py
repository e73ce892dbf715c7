"""How much two ranks on one processor slow each other, in words."""

from dataclasses import replace

from railyard.benchmarks.apps.every_node import figures, remark
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.parsers.sharing import parse
from tests.parsers.test_sharing import TEXT


def test_each_way_to_wait_is_set_beside_sleep() -> None:
    assert remark(parse(TEXT).tables) == (
        "time of work beside a rank on the same processor, in times of that beside a sleeping rank: 2.00 if it "
        "polls, 1.01 if it yields, 2.00 if it waits as this library does (MPI_Recv)",
    )


def test_nothing_is_said_of_what_was_not_measured() -> None:
    (table,) = parse(TEXT).tables
    assert remark(()) == ()
    assert remark([replace(table, rows=())]) == ()
    assert remark([replace(table, rows=((0.0, 0.4, 0.4, 0.2),))]) == ()


def test_each_way_to_wait_is_a_figure_and_the_librarys_own_a_time() -> None:
    found = {each.name: (round(each.value, 2), each.unit) for each in figures(parse(TEXT).tables)}
    assert found == {
        "slowdown_polling": (2.0, "times"),
        "slowdown_yielding": (1.01, "times"),
        "slowdown_receiving": (2.0, "times"),
    }
    benchmark = BENCHMARKS["sharing/two-ranks-a-processor"]
    assert [(metric.name, metric.columns) for metric in benchmark.metrics] == [("runtime", ("receiving",))]
    assert not benchmark.payload
