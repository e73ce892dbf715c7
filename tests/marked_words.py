"""Which test files break if words of a verdict change: ``python -m tests.marked_words COUNT SEED [WORD]...``.

It copies the project to a temporary folder and there adds a mark to one word of each of COUNT sentence functions of
the rooms of words, drawn by the SEED. Then it runs pytest once with the other words (files, options), and
reads the marks in what failed tests say. It prints how many functions break no file, one file, and so on, and the files
of each function that breaks more than one. tests/golden shows all sentences, so its test is not counted.
"""

import ast
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.conftest import ROOT

#: Where sentences are made: all files of a folder, or one file.
ROOMS = ("railyard/verdict/wording", "railyard/stacks/wording.py", "railyard/benchmarks/wording.py")
#: Set in the environment of pytest: the file that gets one line for each failed test.
_KEPT = "RAILYARD_MARKED_WORDS"
_MARK = re.compile(r"zq\d{4}")
_WORD = re.compile(r"(?<![\w.-])[a-z]{4,}(?![\w=-])")
_IN_BRACES = re.compile(r"\{[^{}]*\}")
_GOLDEN = "tests/clone/test_sentences.py"
_NOT_COPIED = (".git", ".venv", ".stacks", "__pycache__", "*.egg-info", ".*_cache", "_build")


class Place(NamedTuple):
    """A word of a sentence function: its file, the function's name, the line from 1, and the column behind the word."""

    file: Path
    function: str
    line: int
    end: int


def places_of(file: Path) -> Iterator[list[Place]]:
    """Yield the words in the strings of each public function of a module, without its docstring."""
    text = file.read_text(encoding="utf-8")
    words = [(token.start[0], *span) for token in _strings(text) for span in _words_in(token)]
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and len(node.body) > 1:
            begin, end = node.body[1].lineno, node.end_lineno or 0
            yield [Place(file, node.name, line, place) for line, place in words if begin <= line <= end]


def _strings(text: str) -> Iterator[tokenize.TokenInfo]:
    kinds = {tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds and token.start[0] == token.end[0]:
            yield token


def _words_in(token: tokenize.TokenInfo) -> Iterator[tuple[int]]:
    """Yield the column behind each word of a string that is no part of a fact."""
    plain = token.string
    while _IN_BRACES.search(plain):  # the innermost first: a fact in braces may have words of its own
        plain = _IN_BRACES.sub(lambda found: "_" * len(found[0]), plain)
    yield from ((token.start[1] + found.end(),) for found in _WORD.finditer(plain))


def files_of(root: Path) -> list[Path]:
    """Return the files below ``root`` that make sentences."""
    rooms = [root / room for room in ROOMS]
    return sorted(file for room in rooms for file in ([room] if room.is_file() else room.glob("*.py")))


def mark_words(root: Path, count: int, seed: int) -> dict[str, str]:
    """Mark a word of each of ``count`` functions below ``root``, and return the function of each mark."""
    drawn = random.Random(seed)
    functions = [words for file in files_of(root) for words in places_of(file) if words]
    chosen = [drawn.choice(words) for words in drawn.sample(functions, min(count, len(functions)))]
    marks = {f"zq{number:04d}": place for number, place in enumerate(chosen)}
    for mark, place in sorted(marks.items(), key=lambda each: -each[1].end):
        lines = place.file.read_text(encoding="utf-8").split("\n")
        line = lines[place.line - 1]
        lines[place.line - 1] = f"{line[: place.end]}{mark}{line[place.end :]}"
        place.file.write_text("\n".join(lines), encoding="utf-8")
    return {mark: f"{place.file.stem}.{place.function}" for mark, place in marks.items()}


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the marks in what a failed test says."""
    if report.failed and _KEPT in os.environ:
        line = json.dumps([report.nodeid.split("::")[0], sorted({*_MARK.findall(str(report.longrepr))})])
        with Path(os.environ[_KEPT]).open("a", encoding="utf-8") as kept:
            kept.write(f"{line}\n")


def broken_files(lines: Sequence[str]) -> dict[str, set[str]]:
    """Return the test files in which each mark was seen."""
    found: dict[str, set[str]] = defaultdict(set)
    for line in lines:
        file, marks = json.loads(line)
        for mark in marks if file != _GOLDEN else ():
            found[mark].add(file)
    return found


def summary(functions: Mapping[str, str], broken: Mapping[str, set[str]]) -> str:
    """Return how many functions break so many files, and the files of those that break more than one."""
    counts = Counter(len(broken.get(mark, ())) for mark in functions)
    lines = [f"{counts[files]} of {len(functions)} sentence functions break {files} files" for files in sorted(counts)]
    several = [mark for mark in functions if len(broken.get(mark, ())) > 1]
    return "\n".join([*lines, *(f"{functions[mark]}: {', '.join(sorted(broken[mark]))}" for mark in several)])


def main(words: Sequence[str]) -> None:
    """Run pytest on a marked copy of the project, and print which files broke."""
    count, seed, *own = words
    with tempfile.TemporaryDirectory() as folder:
        copy, kept = Path(folder) / "railyard", Path(folder) / "kept"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*_NOT_COPIED), symlinks=True)
        functions = mark_words(copy, int(count), int(seed))
        kept.touch()
        environment = {**os.environ, _KEPT: str(kept), "PYTHONPATH": str(copy)}
        command = [sys.executable, "-m", "pytest", "-q", "-vv", "--tb=short", "-p", "tests.marked_words", *own]
        subprocess.run(command, cwd=copy, env=environment, check=False, stdout=subprocess.DEVNULL)
        print(summary(functions, broken_files(kept.read_text(encoding="utf-8").splitlines())))


if __name__ == "__main__":
    main(sys.argv[1:])
