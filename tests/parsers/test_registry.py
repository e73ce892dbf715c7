"""The garbage collector while a text is read, and after."""

import gc
from collections.abc import Iterator

import pytest

from railyard.parsers.parsed import Parsed, ParseError
from railyard.parsers.registry import held_back


@pytest.fixture(autouse=True)
def _collector_on() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def read(text: str) -> Parsed:
    assert not gc.isenabled()
    if not text:
        raise ParseError(0, text, "a text")
    return Parsed()


def test_the_collector_is_off_while_a_text_is_read_and_on_after() -> None:
    assert held_back(read)("text") == Parsed()
    assert gc.isenabled()


def test_the_collector_is_on_after_a_refusal() -> None:
    with pytest.raises(ParseError):
        held_back(read)("")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    held_back(held_back(read))("text")
    assert not gc.isenabled()
