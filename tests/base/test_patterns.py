"""Patterns that are compiled at their first use are as good as others, and none of them is broken."""

import pkgutil
import re
from collections.abc import Iterator, Mapping
from importlib import import_module

import pytest

import railyard
from railyard.base.patterns import late_regex


def test_it_finds_what_a_compiled_pattern_finds() -> None:
    late, compiled = late_regex("^(?P<name>[a-z]+)=", re.MULTILINE), re.compile("^(?P<name>[a-z]+)=", re.MULTILINE)
    text = "rail=1\nport=2"
    assert late.findall(text) == compiled.findall(text) == ["rail", "port"]
    assert late.sub("x", text) == compiled.sub("x", text) == "x1\nx2"
    found = late.search(text, 3)
    assert found is not None
    assert (found["name"], late.groupindex, late.flags) == ("port", compiled.groupindex, compiled.flags)


def test_it_has_every_method_of_a_compiled_pattern() -> None:
    late, compiled = late_regex("a"), re.compile("a")
    lacking = [name for name in dir(compiled) if not name.startswith("_") and not hasattr(late, name)]
    assert lacking == ["scanner"]  # which is in no documentation


def test_an_error_of_a_pattern_comes_at_its_first_use() -> None:
    late = late_regex("(")
    with pytest.raises(re.error, match="missing"):
        late.search("a")


def _late_patterns(value: object) -> Iterator[re.Pattern[str]]:
    if type(value) is type(late_regex("")):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _late_patterns(each)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _late_patterns(each)


def test_every_late_pattern_of_the_parsers_and_verdicts_compiles() -> None:
    count = 0
    for room in ("base", "hardware", "parsers", "verdict"):
        folder = import_module(f"railyard.{room}")
        for module in pkgutil.walk_packages(folder.__path__, f"{folder.__name__}."):
            for value in vars(import_module(module.name)).values():
                for pattern in _late_patterns(value):
                    assert pattern.flags & re.UNICODE, (module.name, pattern.pattern)
                    count += 1
    assert count > 150, f"found {count} in {railyard.__name__}"
