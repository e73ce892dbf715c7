"""Strict YAML: what is accepted, and the sentence for each thing that is refused."""

import datetime
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from railyard.base.errors import InputError
from railyard.base.fields import Count, Model, Name
from railyard.base.strict_yaml import Document, InputErrors, load, load_foreign, parse, validate


def read(text: str) -> Document:
    return parse(text.encode(), "f.yaml")


def sentence(text: str | bytes) -> str:
    with pytest.raises(InputError) as caught:
        parse(text if isinstance(text, bytes) else text.encode(), "f.yaml")
    return str(caught.value)


def test_plain_data_comes_back() -> None:
    document = read("a: 1\nb: [x, 2.5, true, null]\nc: {1: 0.8, 4096: 2.75}\nd: 2026-11-21\ne: '1e3'\nf: -.inf\n")
    assert document.data == {
        "a": 1,
        "b": ["x", 2.5, True, None],
        "c": {1: 0.8, 4096: 2.75},
        "d": datetime.date(2026, 11, 21),
        "e": "1e3",
        "f": float("-inf"),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "f.yaml:1: found an empty file, expected a mapping of fields"),
        ("# nothing\n", "f.yaml:1: found an empty file, expected a mapping of fields"),
        ("- a\n- b\n", "f.yaml:1: found a list, expected a mapping of fields"),
        ("word\n", "f.yaml:1: found a single value, expected a mapping of fields"),
        (b"a: 1\nb: \xff\n", "f.yaml:2: found the byte 0xff, expected UTF-8 text"),
        ("a:\n\tb: 1\n", "f.yaml:2: found a tab, expected blanks as indentation"),
        (
            "a:\n  b: 1\n\u00a0 c: 2\n  d: 3\n",
            "f.yaml:3: found a no-break space, which looks like a blank, expected blanks as indentation",
        ),
        (
            "a: 1\n<<<<<<< HEAD\nb: 1\n=======\nb: 2\n>>>>>>> theirs\n",
            'f.yaml:2: found a mark of a merge conflict ("<<<<<<< HEAD"), expected YAML; keep one of both sides, and '
            "remove the marks",
        ),
        (
            "a: 1\nb: 2\na: 3\n",
            'f.yaml:3: a: found the key "a" for the second time, expected each key once (it is in line 1 already)',
        ),
        (
            "r:\n  1: 0.8\n  '1': 0.9\n",
            'f.yaml:3: r.1: found the key "1" for the second time, '
            "expected each key once (it is in line 2 already)",
        ),
        ("a: 1\n---\nb: 2\n", 'f.yaml:2: found a second document ("---"), expected one mapping of fields'),
        (
            "a: &x [1]\nb: *x\n",
            "f.yaml:1: b: found an alias (*name) of what is written here, expected every value written out",
        ),
        ("a: {<<: {b: 1}}\n", 'f.yaml:1: a: found the merge key "<<", expected every field written out'),
        (
            "a: !!python/name:os.system x\n",
            'f.yaml:1: a: found the tag "tag:yaml.org,2002:python/name:os.system", expected a plain value',
        ),
        (
            "a: no\n",
            "f.yaml:1: a: found no, which YAML 1.1 reads as false, expected true, false or text; "
            'write false, or quote it: "no"',
        ),
        (
            "on: 1\n",
            "f.yaml:1: on: found on, which YAML 1.1 reads as true, expected true, false or text; "
            'write true, or quote it: "on"',
        ),
        (
            "a: 1:30\n",
            "f.yaml:1: a: found 1:30, which YAML 1.1 reads as sixties (1:30 becomes 90), "
            'expected a plain decimal number or text; quote it if it is text: "1:30"',
        ),
        (
            "a: 010\n",
            "f.yaml:1: a: found 010, which YAML 1.1 reads as another number than it looks, "
            'expected a plain decimal number or text; quote it if it is text: "010"',
        ),
        (
            "x: {a: 1e3}\n",
            "f.yaml:1: x.a: found 1e3, which YAML 1.1 reads as text, expected a number; "
            "write it out, or with a point and a signed exponent, such as 1.0e+3",
        ),
        ("a: 2026-02-30\n", "f.yaml:1: a: found 2026-02-30, expected a date of the calendar, YYYY-MM-DD"),
        (
            "a: [1, 2\n",
            "f.yaml:2: found text that is not YAML: did not find expected ',' or ']' "
            "(while parsing a flow sequence), expected YAML",
        ),
        ("[a]: 1\n", "f.yaml:1: found a key that is a list or mapping, expected a name as key"),
        ("2026-11-21: 1\n", 'f.yaml:1: found the key "2026-11-21", '
         'expected a name as key; quote it: "2026-11-21"'),
    ],
)  # fmt: skip
def test_what_is_refused_and_how(text: str | bytes, expected: str) -> None:
    assert sentence(text) == expected


def test_an_alias_bomb_is_refused_at_once() -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    assert sentence(bomb).endswith("found an alias (*name) of what is written here, expected every value written out")


def test_deep_nesting_is_refused() -> None:
    expected = "f.yaml:1: found more than 40 levels of nesting, expected a flatter file"
    assert sentence("a: " + "[" * 60 + "]" * 60) == expected
    assert sentence("a: " + "[" * 100_000 + "]" * 100_000) == expected
    assert sentence("a: " + "{a: " * 100_000) == expected
    assert sentence("- " * 100_000) == expected
    assert sentence("".join(f"{' ' * n}a:\n" for n in range(3000))).endswith(expected.removeprefix("f.yaml:1"))


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError) as missing:
        load(tmp_path / "x.yaml", "systems/x.yaml")
    assert str(missing.value) == "systems/x.yaml: found no such file, expected a YAML file"
    with pytest.raises(InputError) as folder:
        load(tmp_path, "systems/x.yaml")
    assert str(folder.value) == (
        "systems/x.yaml: found a file that cannot be read (Is a directory), expected a YAML file"
    )


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"#" * ((8 << 20) + 1))
    with pytest.raises(InputError) as caught:
        load(tmp_path / "x.yaml", "x.yaml")
    assert str(caught.value) == "x.yaml: found more than 8 MiB, expected a file of at most 8 MiB"


@given(st.text(max_size=60) | st.binary(max_size=60))
def test_any_text_gives_a_mapping_or_an_input_error(text: str | bytes) -> None:
    raw = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    try:
        assert isinstance(parse(raw, "f.yaml").data, dict)
    except InputError as error:
        assert str(error).startswith("f.yaml")


class Wheel(Model):
    device: Name
    size: Count = 1


class Car(Model):
    name: Name
    wheels: tuple[Wheel, ...] = ()
    spare: Mapping[Name, Wheel] = Field(default_factory=dict)
    weight: float | None = None


def refusal(text: str) -> InputError:
    with pytest.raises(InputError) as caught:
        validate(Car, read(text))
    return caught.value


def test_a_valid_document_becomes_its_model() -> None:
    car = validate(Car, read("name: x\nwheels: [{device: a, size: 2}]\nspare: {y: {device: b}}\n"))
    assert car.wheels == (Wheel(device="a", size=2),)
    assert car.spare["y"].size == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("wheels: []\n", 'f.yaml:1: name: found nothing, expected the field "name"; add it'),
        (
            "name: x\nwheals: []\n",
            'f.yaml:2: wheals: found the unknown field "wheals", expected a known field; did you mean "wheels"?',
        ),
        (
            "name: x\nwheels:\n  - device: a\n    sise: 2\n",
            'f.yaml:4: wheels[0].sise: found the unknown field "sise", expected a known field; did you mean "size"?',
        ),
        (
            "name: x\nspare:\n  y:\n    devise: b\n    device: b\n",
            'f.yaml:4: spare.y.devise: found the unknown field "devise", expected a known field; '
            'did you mean "device"?',
        ),
        ("name: x\nwheels: 3\n", "f.yaml:2: wheels: found 3, expected a list"),
        ("name: 3\n", "f.yaml:1: name: found 3, expected text"),
        ("name: x\nweight: .nan\n", "f.yaml:2: weight: found nan, expected a finite number"),
        (
            "name: x\nwheels:\n  - {device: a, size: 0}\n",
            "f.yaml:3: wheels[0].size: found 0, expected greater than or equal to 1",
        ),
        (
            "name: x\nwheels:\n  - {device: --help}\n",
            'f.yaml:3: wheels[0].device: found "--help", expected a name of letters, digits, "_", ".", ":" and "-" '
            "that begins with a letter or digit; a program would read it as an option",
        ),
    ],
)
def test_a_model_error_names_line_and_field(text: str, expected: str) -> None:
    assert str(refusal(text)) == expected


def test_all_errors_are_said_in_the_order_of_their_lines() -> None:
    error = refusal("weight: x\nname: [1]\nwheels:\n- {}\n")
    assert isinstance(error, InputErrors)
    assert len(error.errors) == 3
    assert error.line == 1
    assert str(error).splitlines() == [
        'f.yaml:1: weight: found "x", expected a valid number, unable to parse string as a number',
        "f.yaml:2: name: found a list, expected text",
        'f.yaml:4: wheels[0].device: found nothing, expected the field "device"; add it',
    ]


def test_a_file_of_another_program_is_read_as_that_reads_it(tmp_path: Path) -> None:
    file = tmp_path / "packages.yaml"
    file.write_text("packages:\n  slurm: &off\n    buildable: False\n  pmix: *off\n  all::\n    target: [zen4]\n")
    found = load_foreign(file)
    off = {"buildable": False}
    assert found.data == {"packages": {"slurm": off, "pmix": off, "all:": {"target": ["zen4"]}}}
    assert found.line(("packages", "all:", "target")) == 6
    file.write_text("# nothing yet\n", encoding="utf-8")
    assert load_foreign(file).data == {}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: [\n", "{file}:2: found text that is not YAML: "),
        ("- a\n", "{file}:1: found no mapping, expected a mapping of fields"),
        (None, "{file}: found a file that cannot be read (No such file or directory), expected a YAML file"),
    ],
)
def test_a_file_of_another_program_that_is_no_mapping(tmp_path: Path, text: str | None, sentence: str) -> None:
    file = tmp_path / "packages.yaml"
    if text is not None:
        file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as error:
        load_foreign(file)
    assert str(error.value).startswith(sentence.format(file=file))
