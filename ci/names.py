"""Finds modules, classes, functions and methods whose name is a participle or an adverb alone: part of `make lint`.

    ci/names.py FOLDER…

A function is called by what it does (`parse_row`) or by what it returns (`requested_nodes`), a class is a thing. A
word of ci/bare-names.txt alone says neither, and nor does any other word that ends in "-ed". In a name of several
words it may be used.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

CLONE = Path(__file__).resolve().parent.parent
WORDS = frozenset((CLONE / "ci/bare-names.txt").read_text(encoding="utf-8").split())
#: Nouns and verbs in -ed. So are all words in -eed: need, speed, seed, feed.
NOUNS = ("bed", "embed", "shed", "testbed")

#: Names that other people's files use: a path or a folder, the name, and who uses it.
KEPT = (
    ("checks", "before", "a hook of our checks, which a site's own check may override"),
    ("railyard/rfm/checks", "before", "the same hook"),
    ("tests/made/check.py", "before", "the same hook, of a made-up check"),
    ("railyard/rfm/checks/declaration.py", "stated", "railyard.check gives it to a site's own checks"),
    ("railyard/site/systems/measure.py", "doubled", "railyard.check gives it to a site's own checks"),
    ("railyard/rfm/schedulers.py", "finished", "ReFrame calls it"),
    ("checks/apps/installed.py", "installed", "a path that people give to ReFrame, and that docs/ has"),
)


def is_bare(name: str) -> bool:
    """Return whether a name is only one of the words."""
    word = name.strip("_")
    if name.startswith("__") or not (word.islower() or word.istitle()) or not word.isalpha():
        return False  # Python's own, or of several words
    word = word.lower()
    return word in WORDS or (word.endswith("ed") and not word.endswith("eed") and word not in NOUNS)


def definitions(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the kind and the name of each class and function.

    A command of `railyard` is named as it is typed. A property of a Protocol only says which fields a class has.
    """
    fields = {
        id(each)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and "Protocol" in map(ast.unparse, node.bases)
        for each in node.body
        if isinstance(each, ast.FunctionDef) and "property" in map(ast.unparse, each.decorator_list)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield node.lineno, "class", node.name
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and id(node) not in fields:
            if not any(".command(" in ast.unparse(each) for each in node.decorator_list):
                yield node.lineno, "function", node.name


def refused_names(file: str, text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the kind and the name of what a file must not have, apart from what is kept."""
    path = Path(file)
    stem = path.parent.name if path.stem == "__init__" else path.stem
    for line, kind, name in [(1, "module", stem), *definitions(ast.parse(text, file))]:
        # The name of a class of checks/ is the name of a test, which people type.
        is_test = kind == "class" and path.parts[0] == "checks"
        if is_bare(name) and not is_test and not any(holds(each, path, name) for each in KEPT):
            yield line, kind, name


def holds(exception: tuple[str, str, str], path: Path, name: str) -> bool:
    """Return whether an exception is for this name in this file."""
    place, kept, _ = exception
    return name == kept and (path == Path(place) or Path(place) in path.parents)


def main(folders: list[str]) -> int:
    """Print each such name. Return 1 if there is any."""
    count = 0
    for folder in folders:
        for file in sorted(Path(folder).rglob("*.py")):
            for line, kind, name in refused_names(str(file), file.read_text(encoding="utf-8")):
                count += 1
                print(
                    f'{file}:{line}: {kind} "{name}": found a participle or an adverb alone (ci/bare-names.txt), '
                    "expected a verb or a noun; call it by what it does (parse_row), is (RunOutputs) or returns "
                    "(requested_nodes)"
                )
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
