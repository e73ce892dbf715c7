"""The garbage collector while a text is read, and after."""

import gc
from collections.abc import Iterator

import pytest

from railyard.parsers.output import ParsedOutput, ParseError
from railyard.parsers.tool_signs import without_collector


@pytest.fixture(autouse=True)
def _collector_on() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def read(text: str) -> ParsedOutput:
    assert not gc.isenabled()
    if not text:
        raise ParseError(0, text, "a text")
    return ParsedOutput()


def test_the_collector_is_off_while_a_text_is_read_and_on_after() -> None:
    assert without_collector(read)("text") == ParsedOutput()
    assert gc.isenabled()


def test_the_collector_is_on_after_a_refusal() -> None:
    with pytest.raises(ParseError):
        without_collector(read)("")
    assert gc.isenabled()


def test_a_collector_that_was_off_stays_off() -> None:
    gc.disable()
    without_collector(without_collector(read))("text")
    assert not gc.isenabled()
