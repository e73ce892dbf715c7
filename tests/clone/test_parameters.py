"""No function of the package takes more than seven parameters: values that belong together are one value."""

import ast
from collections.abc import Iterator
from pathlib import Path

import railyard

PACKAGE = Path(railyard.__file__).parent
MOST = 7


def wide() -> Iterator[str]:
    """Yield each function with more parameters, without self and cls."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                of = node.args
                named = [one.arg for one in (*of.posonlyargs, *of.args, *of.kwonlyargs, of.vararg, of.kwarg) if one]
                if len([name for name in named if name not in ("self", "cls")]) > MOST:
                    yield f"{path.relative_to(PACKAGE)}: {node.name}"


def test_no_function_takes_more_than_seven_parameters() -> None:
    assert set(wide()) == set()
