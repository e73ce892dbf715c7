"""The documentation says what the code does: generated tables are equal, commands and links exist."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from railyard.base.bounds import document
from railyard.benchmarks.tools import TOOLS
from railyard.cli.main import railyard_group
from railyard.hardware import gpu_links, links

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"^\$ (?P<words>.+?)(?:\s+#.*)?$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#]+)")


def commands() -> list[str]:
    return [match["words"] for page in PAGES for match in COMMAND.finditer(page.read_text(encoding="utf-8"))]


def test_the_bounds_in_the_documentation_are_those_of_the_code() -> None:
    assert (ROOT / "docs" / "reference" / "verdicts.md").read_text(encoding="utf-8").endswith("## Every bound\n\n" + document())


def test_the_links_and_slots_in_the_documentation_are_those_of_the_code() -> None:
    assert (ROOT / "docs" / "reference" / "rates.md").read_text(encoding="utf-8").endswith("\n\n" + links.document())


def test_the_links_of_gpus_in_the_documentation_are_those_of_the_code() -> None:
    assert "\n\n" + gpu_links.document() + "\n" in (ROOT / "docs" / "reference" / "rates.md").read_text(encoding="utf-8")


def test_the_tools_that_a_stack_may_take_from_spack_are_in_the_documentation() -> None:
    (row,) = re.findall(
        r"which tools to take from there \(([^)]*)\)", (ROOT / "docs" / "howto" / "spack.md").read_text(encoding="utf-8")
    )
    assert sorted(re.findall(r"`([^`]+)`", row)) == sorted(TOOLS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    targets = [match["target"] for match in LINK.finditer(page.read_text(encoding="utf-8"))]
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_make_target_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {words.split()[1] for words in commands() if words.startswith("make ")}
    assert named
    assert named <= targets


def test_every_railyard_command_that_is_shown_is_one() -> None:
    shown = [words.split()[1:] for words in commands() if "bin/railyard" in words.split()[0]]
    assert shown
    for words in shown:
        plain = [word for word in words if word.isalpha() and word.islower()][:2]
        asked = plain if plain[0] == "testbed" else plain[:1]
        assert CliRunner().invoke(railyard_group, [*asked, "--help"]).exit_code == 0, words


def test_readme_is_short_and_shows_a_picture_early() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 150
    assert next(number for number, line in enumerate(lines, start=1) if line.startswith("![")) <= 15
