"""The word for one side of a comparison: its grammar, what it chooses, and what it refuses."""

from collections.abc import Callable

import pytest

from railyard.base.errors import RailyardError
from railyard.results.pairing import Selector, choose_records, selector
from railyard.results.record.form import Record


@pytest.mark.parametrize(
    ("text", "runs", "where"),
    [
        ("last", ("last",), ()),
        ("a+b", ("a", "b"), ()),
        ("last5:rails=1", ("last5",), (("rails", "1"),)),
        ("a:fabric=hsn,rails=1", ("a",), (("fabric", "hsn"), ("rails", "1"))),
        (":stack=m*", (), (("stack", "m*"),)),
        ("/tmp/a:b/runs", ("/tmp/a:b/runs",), ()),
        ("/tmp/a:b/runs:rails=2", ("/tmp/a:b/runs",), (("rails", "2"),)),
    ],
)
def test_what_a_side_asks_for(text: str, runs: tuple[str, ...], where: tuple[tuple[str, str], ...]) -> None:
    assert selector(text) == Selector(text, runs, where)


GRAMMAR = "RUN[+RUN…][:KEY=VALUE[,KEY=VALUE…]]"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", f'"": found an empty word, expected {GRAMMAR}'),
        ("a+", f'"a+": found an empty word, expected {GRAMMAR}'),
        ("a:", f'"a:": found an empty word, expected {GRAMMAR}'),
        ("a:hsn", '"a:hsn": found "hsn", expected KEY=VALUE, such as fabric=hsn'),
        ("a:fabric=", '"a:fabric=": found "fabric=", expected KEY=VALUE, such as fabric=hsn'),
        ("a:fabrik=x", '"a:fabrik=x": found key "fabrik", expected a field of a test; did you mean "fabric"?'),
        ("a:rails=1,rails=2", '"a:rails=1,rails=2": found rails twice, expected it once; * stands for several values'),
    ],
)
def test_a_side_that_cannot_be_read(text: str, sentence: str) -> None:
    with pytest.raises(RailyardError) as caught:
        selector(text)
    assert str(caught.value) == sentence


def test_conditions_choose_among_the_records(new_record: Callable[..., Record]) -> None:
    records = [new_record(fabric="hsn"), new_record(fabric="eth"), new_record(fabric="hsn", stack="openmpi", rails=2)]
    assert choose_records(selector("x:fabric=hsn"), records) == (records[0], records[2])
    assert choose_records(selector("x:stack=open*,rails=2"), records) == (records[2],)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x:fabric=hns", '"x:fabric=hns": found no test with fabric=hns, expected one; did you mean "hsn"?'),
        ("x:fabric=hsn,rails=4", '"x:fabric=hsn,rails=4": found no test with rails=4, expected one; known: 1'),
    ],
)
def test_a_condition_that_nothing_meets(new_record: Callable[..., Record], text: str, sentence: str) -> None:
    with pytest.raises(RailyardError) as caught:
        choose_records(selector(text), [new_record(fabric="hsn")])
    assert str(caught.value) == sentence


def test_runs_without_tests() -> None:
    with pytest.raises(RailyardError) as caught:
        choose_records(selector("x"), [])
    assert str(caught.value) == '"x": found no test in these runs, expected at least one; name another run'
