"""The documentation agrees with the code: generated tables and pages are up to date, commands and links exist."""

import importlib.util
import os
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import click
import pytest

from railyard.base.bounds import document
from railyard.benchmarks.table.micro import PACKAGES as TOOLS
from railyard.hardware import gpu_nodes, links
from tests.made.pages import CLONE as ROOT
from tests.made.pages import PAGES, name_of, page_commands

LINK = re.compile(r"\]\((?!https?:)(?P<target>[^)#\s]*)(?:#(?P<heading>[^)\s]+))?\)")
HEADING = re.compile(r"^#{1,6} +(?P<words>.+?)\s*$", re.MULTILINE)
DOCS = ROOT / "docs"


def script(name: str) -> ModuleType:
    """Return a script of docs/, which is not a package."""
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def anchors(page: Path) -> set[str]:
    """Return the anchors that a code host makes from a page's headings: lower case, dashes, no other signs."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    words = [match["words"].replace("`", "") for match in HEADING.finditer(text)]
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in words}


def test_the_bounds_in_the_documentation_are_those_of_the_code() -> None:
    page = (DOCS / "reference" / "verdicts.md").read_text(encoding="utf-8")
    assert page.endswith("## Every bound\n\n" + document())


def test_the_links_and_slots_in_the_documentation_are_those_of_the_code() -> None:
    assert (DOCS / "reference" / "rates.md").read_text(encoding="utf-8").endswith("\n\n" + links.document())


def test_the_links_of_gpus_in_the_documentation_are_those_of_the_code() -> None:
    assert "\n\n" + gpu_nodes.document() + "\n" in (DOCS / "reference" / "rates.md").read_text(encoding="utf-8")


def test_the_tools_that_a_stack_may_take_from_spack_are_in_the_documentation() -> None:
    page = (DOCS / "howto" / "spack.md").read_text(encoding="utf-8")
    (row,) = re.findall(r"which tools to take from there \(([^)]*)\)", page)
    assert sorted(re.findall(r"`([^`]+)`", row)) == sorted(TOOLS)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_leads_to_a_file_and_to_a_heading_of_it(page: Path) -> None:
    broken = []
    for match in LINK.finditer(page.read_text(encoding="utf-8")):
        target = page.parent / match["target"] if match["target"] else page
        is_there = target.exists()
        if is_there and match["heading"] and target.suffix == ".md":
            is_there = match["heading"] in anchors(target)
        if not is_there:
            broken.append(match[0])
    assert broken == []


def test_the_index_links_to_every_page_and_to_the_site_each_once() -> None:
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    linked = [match["target"] for match in LINK.finditer(index) if not match["target"].startswith("..")]
    pages = [path.relative_to(DOCS).as_posix() for path in PAGES if DOCS in path.parents and path != DOCS / "index.md"]
    assert sorted(pages) == sorted(target for target in linked if target.endswith(".md"))
    contents = "".join(script("conf").contents(index))
    assert sorted(re.findall(r"^[a-z][\w/-]+$", contents, re.MULTILINE)) == sorted(
        page.removesuffix(".md") for page in pages
    )


def test_each_page_is_in_the_folder_of_its_readers() -> None:
    folders = {path.relative_to(DOCS).parts[0] for path in PAGES if DOCS in path.parents}
    assert folders == {"index.md", "start", "howto", "reference", "explanation", "developers"}
    for page in (DOCS / "developers").glob("*.md"):
        assert "*For developers.*" in "".join(page.read_text(encoding="utf-8").splitlines()[:4]), page


def test_the_pages_of_fields_are_those_of_the_schemas() -> None:
    for name, text in script("field_pages").pages().items():
        assert (DOCS / "reference" / name).read_text(encoding="utf-8") == text, "type: make docs"


def test_the_page_of_commands_is_what_they_print() -> None:
    written = (DOCS / "reference" / "commands.md").read_text(encoding="utf-8")
    assert written == script("command_page").with_commands(written), "type: make docs"


def test_a_page_of_commands_without_its_mark_is_refused() -> None:
    with pytest.raises(ValueError, match="found no line '<!-- below"):
        script("command_page").with_commands("# Commands\n")


def test_the_manual_page_is_what_the_commands_say() -> None:
    made = script("command_page")
    page = made.MANUAL.read_text(encoding="utf-8")
    assert page == made.manual_page(), "type: make docs"
    assert page.startswith("'\\\" -*- coding: UTF-8 -*-\n")
    for path, command in made.commands():
        words = made._roff(" ".join(path))
        assert len(path) == 1 or re.search(rf"^\.SS {re.escape(words)}( |$)", page, re.MULTILINE), path
        for option in (each for each in command.params if isinstance(each, click.Option) and not each.hidden):
            assert made._roff(max(option.opts, key=len)) in page, option.opts


@pytest.mark.skipif(shutil.which("man") is None, reason="no man on PATH")
def test_man_shows_the_manual_page_without_a_warning() -> None:
    words = ["man", "--warnings", "--local-file", str(DOCS / "reference" / "railyard.1")]
    clean = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "MANWIDTH": "100"}
    shown_by_man = subprocess.run(words, env=clean, capture_output=True, text=True, check=True)
    assert shown_by_man.stderr == ""
    lines = [line.strip() for line in shown_by_man.stdout.splitlines()]
    assert "railyard - test the interconnects of a cluster" in lines
    assert "railyard judge osu_bw.out --link ib-edr" in lines  # an example, on a line of its own


def test_every_make_target_that_is_named_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = {command.words.split()[1] for command in page_commands() if command.words.startswith("make ")}
    assert named
    assert named <= targets


def test_readme_is_short_and_shows_a_picture_early() -> None:
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 150
    assert next(number for number, line in enumerate(lines, start=1) if line.startswith("![")) <= 15
