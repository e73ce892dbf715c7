"""Dataclasses to JSON and back: types are checked, unknown keys kept, nothing infinite written."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import pytest

from railyard.base.json_codec import FormError, decode, encode


@dataclass(frozen=True)
class Part:
    name: str
    share: float | None = None
    extra: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Whole:
    class_: Literal["a", "b"]
    count: int
    ready: bool = True
    parts: tuple[Part, ...] = ()
    notes: Mapping[str, object] = field(default_factory=dict)


def test_a_whole_number_serves_as_a_number_and_class_loses_its_underscore() -> None:
    whole = decode(Whole, {"class": "a", "count": 2, "parts": [{"name": "x", "share": 1}]})
    assert whole == Whole("a", 2, True, (Part("x", 1.0),))
    assert encode(whole) == {
        "class": "a",
        "count": 2,
        "ready": True,
        "parts": [{"name": "x", "share": 1.0}],
        "notes": {},
    }


def test_unknown_keys_are_kept_in_nested_objects_and_cannot_replace_a_known_one() -> None:
    part = decode(Part, {"name": "x", "colour": ["red"]})
    assert part.extra == {"colour": ["red"]}
    assert encode(part) == {"name": "x", "share": None, "colour": ["red"]}
    assert encode(Part("x", extra={"name": "y"})) == {"name": "x", "share": None}


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"class": "a"}, "count: found nothing, expected this key"),
        ({"class": "c", "count": 1}, "class: found 'c', expected one of a, b"),
        ({"class": "a", "count": True}, "count: found True, expected a whole number"),
        ({"class": "a", "count": 1.5}, "count: found 1.5, expected a whole number"),
        ({"class": "a", "count": 1, "ready": 1}, "ready: found 1, expected true or false"),
        ({"class": "a", "count": 1, "parts": {}}, "parts: found {}, expected a list […]"),
        ({"class": "a", "count": 1, "notes": []}, "notes: found [], expected an object {…}"),
        ({"class": "a", "count": 1, "parts": [3]}, "parts[0]: found 3, expected an object {…}"),
        (
            {"class": "a", "count": 1, "parts": [{"name": "x"}, {"name": "y", "share": "half"}]},
            "parts[1].share: found 'half', expected a number",
        ),
        (
            {"class": "a", "count": 1, "parts": [{"name": "x", "share": float("nan")}]},
            "parts[0].share: found nan, expected a finite number",
        ),
        (
            {"class": "a", "count": 1, "parts": [{"name": "x", "share": 10**400}]},
            "parts[0].share: found 1" + "0" * 58 + "…, expected a number",
        ),
    ],
)
def test_a_wrong_value_is_named_with_its_path(data: object, sentence: str) -> None:
    with pytest.raises(FormError) as caught:
        decode(Whole, data)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_never_encoded(value: float) -> None:
    with pytest.raises(FormError) as caught:
        encode(Whole("a", 1, notes={"deep": [0.0, value]}))
    assert str(caught.value) == f"notes.deep[1]: found {value}, expected a finite number"


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(FormError) as caught:
        encode({"when": object()})
    assert str(caught.value) == "when: found a object, expected a value that JSON can hold"


def test_control_codes_are_gone_in_both_directions() -> None:
    assert encode(Part("\x1b[31mred")) == {"name": "red", "share": None}
    assert decode(Part, {"name": "\x1b[31mred", "new\x00key": "\x07"}) == Part("red", extra={"newkey": ""})
