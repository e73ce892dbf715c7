"""`make lint` finds modules, classes, functions and methods whose name is a participle or an adverb alone."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.made.pages import CLONE

SCRIPT = CLONE / "ci/names.py"
WORDS = (CLONE / "ci/bare-names.txt").read_text(encoding="utf-8").splitlines()


def refused_lines(folder: Path, file: str, text: str) -> list[str]:
    """Return the line, kind and name of each refused name in a file of this folder; the exit code says the same."""
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    words = [sys.executable, str(SCRIPT), file.split("/")[0]]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if done.stdout else 0), done.stderr
    return [line.removeprefix(f"{file}:").partition(": found a participle")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("def told(): ...", '1: function "told"'),
        ("async def _said(): ...", '1: function "_said"'),
        ("\nclass Left: ...", '2: class "Left"'),
        ("class Row:\n    def beside(self): ...", '2: function "beside"'),
        ("class Row:\n    @property\n    def whole(self): ...", '3: function "whole"'),
        ("def rows():\n    def taken(): ...", '2: function "taken"'),
        ("def unwrapped(): ...", '1: function "unwrapped"'),
        ("def _until(): ...", '1: function "_until"'),
        ("class Most: ...", '1: class "Most"'),
    ],
)
def test_a_participle_or_an_adverb_alone_is_refused(tmp_path: Path, text: str, found: str) -> None:
    assert refused_lines(tmp_path, "railyard/rows.py", text) == [found]


@pytest.mark.parametrize(("file", "name"), [("railyard/asked.py", "asked"), ("railyard/kept/__init__.py", "kept")])
def test_so_is_the_name_of_a_module(tmp_path: Path, file: str, name: str) -> None:
    assert refused_lines(tmp_path, file, "") == [f'1: module "{name}"']


@pytest.mark.parametrize(
    "text",
    [
        "def parse_row(): ...\ndef requested_nodes(): ...\nclass RunOutputs: ...",
        "def kept_files(): ...\nclass NotMeasured: ...\ndef speed(): ...\nclass Need: ...",
        "class Row:\n    left: int\n    def __init__(self, told): ...",
        "@group.command()\ndef down(): ...",
        "class HasSides(Protocol):\n    @property\n    def far(self): ...",
    ],
)
def test_other_names_and_fields_and_commands_are_not(tmp_path: Path, text: str) -> None:
    assert refused_lines(tmp_path, "railyard/rows.py", text) == []


def test_a_check_is_named_as_people_type_it(tmp_path: Path) -> None:
    assert refused_lines(tmp_path, "checks/rows.py", "class Installed: ...\ndef told(): ...") == ['2: function "told"']


def test_the_message_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "railyard").mkdir()
    (tmp_path / "railyard/rows.py").write_text("def told(): ...\n")
    words = [sys.executable, str(SCRIPT), "railyard"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (
        1,
        'railyard/rows.py:1: function "told": found a participle or an adverb alone (ci/bare-names.txt), expected '
        "a verb or a noun; call it by what it does (parse_row), is (RunOutputs) or returns (requested_nodes)\n",
    )


def test_each_exception_is_still_needed() -> None:
    program = (
        "import runpy; from pathlib import Path\n"
        f"own = runpy.run_path({str(SCRIPT)!r})\n"
        "kept = own['KEPT']\n"
        "files = [f for each in ('railyard', 'checks', 'tests') for f in Path(each).rglob('*.py')]\n"
        "own['refused_names'].__globals__.update(KEPT=())\n"
        "all_ = {(str(f), n) for f in files for _, _, n in own['refused_names'](str(f), f.read_text())}\n"
        "print([e[:2] for e in kept if not any(own['holds'](e, Path(f), n) for f, n in all_)])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=CLONE, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_list_is_in_order_and_lint_uses_it() -> None:
    assert sorted(set(WORDS)) == WORDS
    recipe = (CLONE / "Makefile").read_text(encoding="utf-8").partition("\nlint: venv")[2].partition("\n\n")[0]
    assert "ci/names.py railyard checks benchmarks ci docs tests" in recipe
