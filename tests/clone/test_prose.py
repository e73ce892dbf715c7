"""`make lint` finds words that we do not use, except in quotes, and finds phrases that are broken over two lines."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.made.pages import CLONE, PAGES, name_of

SCRIPT = "ci/prose.sh"
PHRASES = dict(
    line.split("->") for line in (CLONE / "ci/plain-english.txt").read_text(encoding="utf-8").splitlines() if line
)
#: From `ci/prose.sh`: quoted text, and words of the list with another meaning.
QUOTED = re.compile(r'^ *```.*?\n *```|`[^`]*`|"[^"]*"', re.MULTILINE | re.DOTALL)
OTHER_MEANING = re.compile(r"\bstands? (for|out|alone)\b|\b(be |is |are )?told (apart|from)\b")


def prose(folder: Path, which: str, text: str) -> tuple[int, str]:
    """Return the exit code of the script for a page with this text, and what it prints."""
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    done = subprocess.run(["sh", SCRIPT, which, str(page)], cwd=CLONE, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("which", "text", "found"),
    [
        ("plain", "Each stack is told its devices.", "is told ==> is given"),
        ("plain", "Is told nothing.", "Is told ==> Is given"),
        ("plain", "Where it stands, what mends it.", "mends ==> fixes"),
        ("plain", "with two ranks a rail", "ranks a rail ==> ranks per rail"),
        ("spelling", "a recieved packet", "recieved ==> received"),
    ],
)
def test_a_word_that_we_do_not_write_is_found_with_what_to_write(
    tmp_path: Path, which: str, text: str, found: str
) -> None:
    code, said = prose(tmp_path, which, f"# A page\n\n{text}\n")
    assert code != 0
    assert f"page.md:3: {found}" in said


@pytest.mark.parametrize(
    "text",
    [
        'The log says `is told its devices`, and mpirun "stands still".',
        "```text\nwho mends it is told so\n```",
        "- a list:\n\n  ```yaml\n  reason: who mends it\n  ```",
        "A star stands for any name; two rails cannot be told apart; a peak stands out.",
        "a stand-in, and an understanding",
    ],
)
def test_what_is_quoted_or_means_something_else_is_left(tmp_path: Path, text: str) -> None:
    assert prose(tmp_path, "plain", f"{text}\n") == (0, "")


def test_another_word_for_the_script_is_refused(tmp_path: Path) -> None:
    assert prose(tmp_path, "grammar", "") == (2, 'prose: found "grammar", expected spelling or plain\n')


@pytest.mark.parametrize("page", [*PAGES, CLONE / "CHANGELOG.md"], ids=name_of)
def test_no_phrase_is_broken_over_two_lines(page: Path) -> None:
    text = OTHER_MEANING.sub(" ", " ".join(QUOTED.sub('""', page.read_text(encoding="utf-8")).split()))
    assert [phrase for phrase in PHRASES if re.search(rf"(?<![\w-]){re.escape(phrase)}(?![\w-])", text, re.I)] == []


def test_the_list_is_in_order_and_gives_no_phrase_that_it_forbids() -> None:
    assert list(PHRASES) == sorted(PHRASES)
    assert [given for given in PHRASES.values() if given in PHRASES] == []


def test_lint_runs_both_passes_over_the_same_pages() -> None:
    makefile = (CLONE / "Makefile").read_text(encoding="utf-8")
    recipe = makefile.partition("\nlint: venv")[2].partition("\n\n")[0]
    assert "ci/prose.sh spelling $(PROSE)\n" in recipe
    assert "ci/prose.sh plain $(PROSE)\n" in f"{recipe}\n"
    (listed,) = re.findall(r"^PROSE := (.*)$", makefile, re.MULTILINE)
    tops = {name_of(page).split("/")[0] for page in PAGES}
    assert {*tops, "CHANGELOG.md", "railyard", "checks", "ci/*.sh"} <= set(re.split(r"[\s()]+", listed))
    assert shutil.which("codespell", path=CLONE / ".venv/bin")
