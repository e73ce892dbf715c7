"""The pages build as a site without a warning; pages of fields have every field, the page of commands every option."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from railyard.cli.commands.schema import schema_text

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    program = Path(sys.executable).with_name("sphinx-build")
    words = [str(program), "--fail-on-warning", "--quiet", "-d", f"{folder}/doctrees", f"{ROOT}/docs", f"{folder}/html"]
    built = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stderr) == (0, "")
    return folder / "html"


def test_every_page_is_in_the_site(site: Path) -> None:
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in (ROOT / "docs").rglob("*.md")}
    assert {page.as_posix() for page in pages if not (site / page).is_file() and "_build" not in page.parts} == set()


def test_every_command_has_its_options_there(site: Path) -> None:
    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    for option in ("--fail-on-regression", "--published", "--extended", "--quick"):
        assert option in text


@pytest.mark.parametrize(
    ("page", "kind"),
    [("system-file", "systems"), ("references-file", "references"), ("run-record", "results"), ("sick-list", "sick")],
)
def test_every_field_of_a_file_is_explained(site: Path, page: str, kind: str) -> None:
    text = (site / "reference" / f"{page}.html").read_text(encoding="utf-8")
    schema = json.loads(schema_text(kind))
    parts = [schema, *schema.get("$defs", {}).values()]
    names = {name for part in parts for name in part.get("properties", {})}
    assert len(names) > 10
    assert sorted(name for name in names if f">{name}<" not in text) == []


def test_the_contents_are_beside_every_page(site: Path) -> None:
    text = (site / "reference" / "verdicts.html").read_text(encoding="utf-8")
    for caption in ("Start", "How to", "Reference", "Explanation", "Developers"):
        assert f">{caption}<" in text
    assert 'href="../howto/gate.html"' in text


def test_the_index_shows_no_directive() -> None:
    assert "{toctree}" not in (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
