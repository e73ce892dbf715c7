"""The table of stacks: complete, used, written down, and the only place that knows a stack's name."""

import ast
import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from railyard.stacks import ask, document
from railyard.stacks.model import KINDS, KNOBS, Launch, Proof, Setting, Spread, Stack, Way
from railyard.stacks.table import STACKS

ROOT = Path(__file__).parents[2]

NAMES = {
    "tcp": ["hsn0", "hsn1"],
    "ib": ["mlx5_0", "mlx5_1"],
    "roce": ["mlx5_0:1", "mlx5_1:1"],
    "opa": ["hfi1_0", "hfi1_1"],
    "slingshot": ["cxi0", "cxi1"],
    "efa": ["rdmap0s6", "rdmap1s6"],
}


def ways() -> Iterator[tuple[str, str, Way]]:
    for name, stack in STACKS.items():
        for kind, way in stack.ways.items():
            if isinstance(way, Way):
                yield name, kind, way


def told(name: str, kind: str, way: Way, spread: Spread) -> ask.Settings:
    rails = 1 if spread.policy == "single" else 2
    return ask.settings(name, kind, NAMES[kind][:rails], rails, spread.policy)


def test_the_table_holds_seven_libraries_and_three_ways_without_mpi() -> None:
    assert list(STACKS) == [
        *("openmpi", "mpich", "intelmpi", "mvapich", "mvapich2", "hpcx", "craympich"),
        *("tcp", "verbs", "libfabric"),
    ]
    assert [name for name, stack in STACKS.items() if stack.pair] == ["tcp", "verbs", "libfabric"]


@pytest.mark.parametrize("name", STACKS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_stack_has_a_way_or_a_sentence(name: str, kind: str) -> None:
    way = STACKS[name].ways[kind]
    if isinstance(way, str):
        assert way.endswith(".") and len(way) > 30
        return
    for sentence in way.cannot.values():
        assert sentence.endswith(".") and len(sentence) > 30
    for knobs in (way.knobs, *(spread.knobs for spread in way.spreads if spread.knobs is not None)):
        assert sorted(knobs) == sorted(KNOBS)
    assert [spread.policy for spread in way.spreads].count("single") == 1
    thresholds = [(spread.policy, spread.threshold_bytes) for spread in way.spreads if spread.threshold_bytes]
    assert all(policy == "striping" for policy, _ in thresholds)


def test_every_way_leaves_no_blank_open() -> None:
    for name, kind, way in ways():
        for spread in way.spreads:
            found = told(name, kind, way, spread)
            assert not re.search(r"\{[a-z_]+\}", " ".join([*found.env.values(), *found.proof.env.values()]))
            assert not re.search(r"\{[a-z_]+\}", " ".join(found.proof.patterns)), (name, kind)


def test_every_setting_says_why_where_and_on_which_version() -> None:
    for setting in each(Setting):
        assert setting.name and setting.why and setting.version and setting.source, setting
        assert not re.search(r"/(work|tmp|home)/|pypi|anaconda", setting.source)


def test_no_way_sets_one_variable_twice() -> None:
    for name, kind, way in ways():
        for spread in way.spreads:
            names = [line.name for line in (*way.settings, *spread.settings)]
            assert len(names) == len(set(names)), (name, kind, spread.policy)


def each(wanted: type[Setting]) -> Iterator[Setting]:
    def walk(value: object) -> Iterator[Setting]:
        if isinstance(value, wanted):
            yield value
        elif dataclasses.is_dataclass(value):
            for field in dataclasses.fields(value):
                yield from walk(getattr(value, field.name))
        elif isinstance(value, Mapping):
            for entry in value.values():
                yield from walk(entry)
        elif isinstance(value, tuple):
            for entry in value:
                yield from walk(entry)

    yield from walk(STACKS)


def test_every_field_is_used() -> None:
    read = {
        node.attr
        for path in (ROOT / "railyard").rglob("*.py")
        if path.name in ("ask.py", "choice.py", "document.py", "assess.py", "proof.py", "mpi_identity.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    for kind in (Setting, Proof, Spread, Way, Launch, Stack):
        assert {field.name for field in dataclasses.fields(kind)} - read == set(), kind


def test_no_other_module_compares_a_stacks_name() -> None:
    found = []
    for folder in ("railyard", "checks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            # Without such a name in it there is nothing to compare, and a tree costs more than a search.
            if (ROOT / "railyard" / "stacks") not in path.parents and any(f'"{name}"' in text for name in STACKS):
                found += [f"{path.relative_to(ROOT)}:{line}" for line in compared(ast.parse(text))]
    assert found == []


def compared(tree: ast.AST) -> Iterator[int]:
    """Return the lines where a quoted stack name stands in a comparison, a match, or startswith and endswith.

    A name that is a kind of fabric too (tcp) counts where the comparison speaks of a stack.
    """
    for node in ast.walk(tree):
        called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        asked = called and node.func.attr in ("startswith", "endswith")  # type: ignore[attr-defined]
        if not (isinstance(node, ast.Compare | ast.MatchValue) or asked):
            continue
        for inner in ast.walk(node):
            if not isinstance(inner, ast.Constant) or inner.value not in STACKS:
                continue
            if inner.value not in KINDS or "stack" in ast.unparse(node):
                yield inner.lineno


def test_the_search_for_names_finds_them() -> None:
    assert list(compared(ast.parse('a = 1\nif stack == "mpich": pass\nb = stack in ("hpcx", "x")\n'))) == [2, 3]
    assert list(compared(ast.parse('STACKS = {"mpich": 1}\nrun("mpich")\n'))) == []
    assert list(compared(ast.parse('if kind == "tcp": pass\nif stack == "tcp": pass\n'))) == [2]


def test_the_page_is_the_table() -> None:
    """Write it anew:

    python -c "from railyard.stacks.document import document; print(document(), end='')" > docs/stacks.md
    """
    page = (ROOT / "docs" / "stacks.md").read_text(encoding="utf-8")
    assert page == document.document()
