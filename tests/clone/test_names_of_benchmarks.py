"""A tool's or a benchmark's entry says what it is: no other code compares its name."""

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import railyard
from railyard.benchmarks import model
from railyard.benchmarks.model import BANDWIDTH, LATENCY
from railyard.benchmarks.table.micro import BENCHMARKS, TOOLS
from railyard.parsers import TOOLS as PARSED_TOOLS

PACKAGE = Path(railyard.__file__).parent
#: Files about a tool: its entries and what they name, its parser, how a stack is set to run it, and its stand-in in a
#: rehearsal.
ROOMS = (
    "benchmarks/table/", "benchmarks/apps/", "benchmarks/node_pairs.py", "parsers/", "stacks/",
    "provision/rehearsal/",
)  # fmt: skip
#: Where a string is a word of the model and not a name, although a benchmark has the same name: ``metric.shape ==
#: "stream"``.
WORDS = {"shape": get_args(model.Shape), "rows": get_args(model.Rows), "assessed": get_args(model.AssessedBy)}
COMPARING_CALLS = {"startswith", "endswith", "removeprefix", "removesuffix", "match", "fullmatch", "search"}
NAMES = {*TOOLS, *PARSED_TOOLS, *(each.tool for each in BENCHMARKS.values())}
KEYS = {*BENCHMARKS, *(key.partition("/")[2] for key in BENCHMARKS)} - {"pingpong", "bidirectional"}
KEYS -= {BANDWIDTH, LATENCY, "groups"}  # names of metrics, and of a number in a heading, too


def is_name(text: str) -> bool:
    """Return whether a text is a tool's or a benchmark's name, or a key's beginning, such as ``npb/``."""
    tool, slash, _ = text.partition("/")
    return text in NAMES or text in KEYS or bool(slash and tool in NAMES)


def texts(node: ast.expr, known: dict[str, Any]) -> Iterator[str]:
    """Yield each text in an operand, and the value of a constant's name: ``KEY``, ``every_node.EVERY_NODE``."""
    for each in ast.walk(node):
        value = each.value if isinstance(each, ast.Constant) else value_of(each, known)
        if isinstance(value, str):
            yield value
    if isinstance(node, ast.Name) and isinstance(values := known.get(node.id), tuple | list | set | frozenset):
        yield from (each for each in values if isinstance(each, str))


def value_of(node: ast.AST, known: dict[str, Any]) -> object:
    """Return the value of a constant's name, with or without its module; None if it is not a constant."""
    if isinstance(node, ast.Name):
        return known.get(node.id)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return getattr(known.get(node.value.id), node.attr, None)
    return None


def operands(node: ast.AST) -> list[ast.expr]:
    """Return what a node compares; nothing if it compares nothing, or asks for a word of the model."""
    if isinstance(node, ast.Compare):
        asked = {each.attr for each in (node.left, *node.comparators) if isinstance(each, ast.Attribute)}
        return [] if asked & WORDS.keys() else [node.left, *node.comparators]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in COMPARING_CALLS:
        return list(node.args)
    return [node.value] if isinstance(node, ast.MatchValue) else []


def compared_names(source: str, known: dict[str, Any]) -> list[tuple[int, str]]:
    """Return line and name of each comparison of a name in a module's text; ``known``: the values of its names."""
    return sorted(
        {
            (operand.lineno, text)
            for node in ast.walk(ast.parse(source))
            for operand in operands(node)
            for text in texts(operand, known)
            if is_name(text)
        }
    )


def test_no_module_but_its_own_asks_for_a_tools_or_a_benchmarks_name() -> None:
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        inside = path.relative_to(PACKAGE).as_posix()
        if inside.startswith(ROOMS) or inside == "__main__.py":
            continue
        module = ".".join(("railyard", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")
        known = vars(importlib.import_module(module))
        found += [f"{inside}:{line}: {name}" for line, name in compared_names(path.read_text(encoding="utf-8"), known)]
    assert found == []


def test_each_way_to_ask_for_a_name_is_seen() -> None:
    asked = """
if table.tool == "osu": pass
if tool in ("perftest", "fabtests"): pass
if key.startswith(("hpl/", "milc/asqtad/")): pass
match tool:
    case "netpipe": pass
if key == KEY: pass
if key.endswith(f"/{module.KEY}") or tool in MINE: pass
if "wrf" not in tools: pass
if metric.shape == "stream" or benchmark.rows == "pairs": pass
writers["imb"](text)
if word == "some other": pass
"""
    known = {
        "MINE": frozenset({"milc"}),
        "KEY": "imb/Uniband",
        "module": type("module", (), {"KEY": "sharing/two-ranks-a-processor"}),
    }
    assert compared_names(asked, known) == [
        (2, "osu"),
        (3, "fabtests"),
        (3, "perftest"),
        (4, "hpl/"),
        (4, "milc/asqtad/"),
        (6, "netpipe"),
        (7, "imb/Uniband"),
        (8, "milc"),
        (8, "sharing/two-ranks-a-processor"),
        (9, "wrf"),
    ]
