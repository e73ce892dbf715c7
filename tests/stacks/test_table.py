"""The table of stacks: complete, used, documented, and the only place that knows a stack's name."""

import ast
import dataclasses
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

import pytest

from railyard.stacks import ask, document
from railyard.stacks.model import (
    KINDS,
    KNOBS,
    MEMORIES,
    STACKS,
    Launch,
    Proof,
    Setting,
    Spread,
    Stack,
    ToolProgram,
    VersionProgram,
    Way,
)

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


def settings_of(name: str, kind: str, way: Way, spread: Spread) -> ask.Settings:
    rails = 1 if spread.policy == "single" else 2
    return ask.settings(name, kind, NAMES[kind][:rails], rails, spread.policy)


#: Names in systems' files and stored records: none may be lost.
NAMED = {"openmpi", "mpich", "intelmpi", "mvapich", "mvapich2", "hpcx", "craympich", "tcp", "verbs", "libfabric"}


def test_the_table_has_the_stacks_of_every_module_and_those_without_mpi_last() -> None:
    modules = [path.stem for path in (ROOT / "railyard/stacks/entries").glob("[a-z]*.py")]
    stacks = [import_module(f"railyard.stacks.entries.{module}").STACKS for module in modules]
    assert sorted(name for each in stacks for name in each) == sorted(STACKS)
    assert set(STACKS) >= NAMED
    without_mpi = [stack.pair for stack in STACKS.values()]
    assert without_mpi == sorted(without_mpi)


def test_a_family_stands_together_and_begins_with_the_one_whose_words_it_prints() -> None:
    names = list(STACKS)
    assert names.index("hpcx") == names.index("openmpi") + 1
    assert [name for name, stack in STACKS.items() if stack.version_pattern == r"^Open MPI v"] == ["openmpi", "hpcx"]


def test_a_stack_says_how_a_node_shows_it() -> None:
    nowhere = {field: getattr(STACKS["mpich"], field) for field in ("title", "version_pattern", "told_apart", "ways")}
    with pytest.raises(ValueError, match="neither programs nor a module say how a node shows it"):
        Stack(sonames=(), spack_package="", local_rank_variables=(), launches=(), srun_mpi="none", **nowhere)
    with pytest.raises(ValueError, match="has not one group, which is the version"):
        VersionProgram(("mpirun",), "^MPICH")
    assert [name for name, stack in STACKS.items() if stack.pair and stack.module] == []


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
            found = settings_of(name, kind, way, spread)
            assert not re.search(r"\{[a-z_]+\}", " ".join([*found.env.values(), *found.proof.env.values()]))
            assert not re.search(r"\{[a-z_]+\}", " ".join(found.proof.patterns)), (name, kind)


def test_every_way_says_how_messages_lie_in_gpus_or_why_not() -> None:
    for name, kind, way in ways():
        assert sorted(way.memories) == sorted(MEMORIES), (name, kind)
        for memory, besides in way.memories.items():
            reason = ask.why_not_from(name, kind, memory)
            if isinstance(besides, str):
                assert len(besides) > 30 and reason == f"{name} on {kind}: {besides}"
                continue
            env = ask.settings(name, kind, NAMES[kind][:1], 1, memory=memory).env
            assert reason is None and {line.name: line.value for line in besides}.items() <= env.items()


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
        if path.name
        in (
            *("ask.py", "choice.py", "document.py", "assess.py", "proof.py", "build.py", "mpi_identity.py"),
            *("detected_cluster.py", "crew.py", "first_cause.py"),
        )
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
    }
    for kind in (Setting, Proof, Spread, Way, Launch, VersionProgram, ToolProgram, Stack):
        assert {field.name for field in dataclasses.fields(kind)} - read == set(), kind


#: Files about a stack: its entries, and texts about its library for people who do not read the entries.
ROOMS = (ROOT / "railyard" / "stacks", ROOT / "railyard" / "provision" / "rehearsal")


def test_no_other_module_compares_a_stacks_name() -> None:
    found = []
    for folder in ("railyard", "checks"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            # Without such a name there is nothing to compare, and parsing takes longer than a search.
            if not set(ROOMS) & set(path.parents) and any(f'"{name}"' in text for name in STACKS):
                found += [f"{path.relative_to(ROOT)}:{line}" for line in comparison_lines(ast.parse(text))]
    assert found == []


def comparison_lines(tree: ast.AST) -> Iterator[int]:
    """Return the lines with a quoted stack name in a comparison, a match, or startswith and endswith.

    A name that is also a kind of fabric (tcp) counts if the comparison is about a stack.
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
    assert list(comparison_lines(ast.parse('a = 1\nif stack == "mpich": pass\nb = stack in ("hpcx", "x")\n'))) == [2, 3]
    assert list(comparison_lines(ast.parse('STACKS = {"mpich": 1}\nrun("mpich")\n'))) == []
    assert list(comparison_lines(ast.parse('if kind == "tcp": pass\nif stack == "tcp": pass\n'))) == [2]


def sections(page: str) -> dict[str, str]:
    """Return the text below each second-level heading; the text before them is under ``""``."""
    parts = re.split(r"(?m)^## (.+)$", page)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def without_new(section: str, known: Mapping[str, str]) -> str:
    """Return a section without the rows of stacks that the page does not have yet."""
    rows = [line for line in section.splitlines() if not is_row_of_new(line, known)]
    return "\n".join(rows)


def is_row_of_new(line: str, known: Mapping[str, str]) -> bool:
    row = re.match(r"\| \[?([a-z0-9_]+)[] ]", line)
    return row is not None and row[1] in STACKS and row[1] not in known


def test_the_page_has_each_of_its_stacks_as_the_table_has_it() -> None:
    """A stack that the page does not have yet fails no test: `make docs` writes the page, nobody writes it by hand."""
    page = sections((ROOT / "docs" / "reference" / "stacks.md").read_text(encoding="utf-8"))
    table = sections(document.document())
    assert set(page) - set(table) == set(), "type make docs"
    assert NAMED <= set(page)
    for name, section in page.items():
        assert section.rstrip("\n") == without_new(table[name], page).rstrip("\n"), f"{name}: type make docs"
