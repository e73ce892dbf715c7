"""Dataclasses to JSON and back: types are checked, unknown keys kept, nothing infinite written."""

import subprocess
import sys
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
class Document:
    class_: Literal["a", "b"]
    count: int
    ready: bool = True
    parts: tuple[Part, ...] = ()
    notes: Mapping[str, object] = field(default_factory=dict)


def test_a_whole_number_serves_as_a_number_and_class_loses_its_underscore() -> None:
    whole = decode(Document, {"class": "a", "count": 2, "parts": [{"name": "x", "share": 1}]})
    assert whole == Document("a", 2, True, (Part("x", 1.0),))
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
        ({"class": "a", "count": 2**64}, f"count: found {2**64}, expected a whole number of at most 64 bits"),
        ({"class": "a", "count": -(2**64)}, f"count: found {-(2**64)}, expected a whole number of at most 64 bits"),
        ({"class": "a", "count": 1.5}, "count: found 1.5, expected a whole number"),
        ({"class": "a", "count": 1, "ready": 1}, "ready: found 1, expected true or false"),
        ({"class": "a", "count": 1, "parts": {}}, "parts: found {}, expected a list […]"),
        ({"class": "a", "count": 1, "notes": []}, "notes: found [], expected an object {…}"),
        ({"class": "a", "count": 1, "parts": [3]}, "parts[0]: found 3, expected an object {…}"),
        (
            {"class": "a", "count": 1, "parts": [{"name": "x"}, {"name": "y", "share": "half"}]},
            "parts[1].share: found 'half', expected a number",
        ),
        *(
            (
                {"class": "a", "count": 1, "parts": [{"name": "x", "share": odd}]},
                f"parts[0].share: found {odd}, expected 0, or a number between 1e-50 and 1e+50",
            )
            for odd in (5e-324, -1e-300, 1e51, -1e308)
        ),
        (
            {"class": "a", "count": 1, "parts": [{"name": "x", "share": float("nan")}]},
            "parts[0].share: found nan, expected a finite number",
        ),
        (
            {"class": "a", "count": 1, "parts": [{"name": "x", "share": 10**400}]},
            "parts[0].share: found 1" + "0" * 58 + "…, expected a number",
        ),
        (
            {"class": "a", "count": 1, "notes": {"deep": [0.0, float("nan")]}},
            "notes.deep[1]: found nan, expected a finite number",
        ),
        (
            {"class": "a", "count": 1, "parts": [{"name": "x", "new": {"\x1b[1mdeep": float("inf")}}]},
            "parts[0].new.deep: found inf, expected a finite number",
        ),
        (
            {"class": "a", "count": "1", "parts": [{"name": "x", "\ud800": float("nan")}]},
            "count: found '1', expected a whole number",
        ),
        ({"class": "a", "count": "1\ud800"}, "count: found '1\\ud800', expected a whole number"),
        ({"class": "\ud800", "count": 1}, "class: found '\\ud800', expected one of a, b"),
        ([], ": found [], expected an object {…}"),
    ],
)
def test_a_wrong_value_is_named_with_its_path(data: object, sentence: str) -> None:
    with pytest.raises(FormError) as caught:
        decode(Document, data)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_what_is_not_finite_is_never_encoded(value: float) -> None:
    with pytest.raises(FormError) as caught:
        encode(Document("a", 1, notes={"deep": [0.0, value]}))
    assert str(caught.value) == f"notes.deep[1]: found {value}, expected a finite number"


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(FormError) as caught:
        encode({"when": object()})
    assert str(caught.value) == "when: found a object, expected a value that JSON can hold"


def test_control_codes_are_gone_in_both_directions() -> None:
    assert encode(Part("\x1b[31mred")) == {"name": "red", "share": None}
    assert decode(Part, {"name": "\x1b[31mred", "new\x00key": "\x07"}) == Part("red", extra={"newkey": ""})


def test_half_a_pair_of_surrogates_is_gone_as_control_codes_are() -> None:
    """UTF-8 cannot hold it, JSON's \\ud800 can."""
    assert decode(Part, {"name": "a\ud800b", "\udfffnew": "\ud800"}) == Part("ab", extra={"new": ""})


def test_an_unknown_key_that_is_called_extra_is_one_as_all_others_are() -> None:
    part = decode(Part, {"name": "x", "extra": {"name": "y"}})
    assert part == Part("x", extra={"extra": {"name": "y"}})
    assert encode(part) == {"name": "x", "share": None, "extra": {"name": "y"}}


def test_what_is_nested_deeper_than_any_file_of_ours_is_refused_before_it_is_passed_on() -> None:
    nested: object = 1
    for _ in range(45):
        nested = [nested]
    with pytest.raises(FormError, match="found values nested more than 40 deep, expected at most 40"):
        decode(Part, {"name": "x", "colour": nested})
    nested = {}
    for _ in range(20_000):
        nested = {"a": nested}
    with pytest.raises(FormError, match="found values nested more than 40 deep, expected at most 40"):
        decode(Part, nested)


def test_a_form_that_keeps_no_unknown_keys_passes_over_them() -> None:
    assert decode(Document, {"class": "a", "count": 1, "new": float("nan")}) == Document("a", 1)


def test_who_only_writes_need_not_wait_for_pydantic() -> None:
    code = (
        "import sys; from railyard.base.json_codec import encode; encode([1]); sys.exit('pydantic_core' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
