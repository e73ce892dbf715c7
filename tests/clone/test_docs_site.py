"""The pages build as a site without a warning; pages of fields have every field, the page of commands every option."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from railyard import __version__
from railyard.cli.commands.schema import schema_text
from tests.clone.test_docs import script

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of this version in the site that `make docs` makes."""
    folder = tmp_path_factory.mktemp("site")
    words = [sys.executable, f"{ROOT}/docs/site.py", str(folder)]
    built = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stdout, built.stderr) == (0, "", "")
    return folder / __version__


def test_the_first_page_leads_to_this_version_and_each_page_to_the_others(site: Path) -> None:
    assert f'content="0; url={__version__}/index.html"' in (site.parent / "index.html").read_text(encoding="utf-8")
    assert f'href="{__version__}/index.html"' in (site.parent / "versions.html").read_text(encoding="utf-8")
    assert 'href="../versions.html"' in (site / "index.html").read_text(encoding="utf-8")
    assert 'href="../../versions.html"' in (site / "reference" / "verdicts.html").read_text(encoding="utf-8")
    assert f"<title>Railyard {__version__}</title>" in (site / "index.html").read_text(encoding="utf-8")


def test_the_site_has_no_more_than_is_published(site: Path) -> None:
    assert sorted(path.name for path in site.parent.iterdir()) == [__version__, "index.html", "versions.html"]


def test_the_site_can_be_searched(site: Path) -> None:
    assert 'action="../search.html"' in (site / "howto" / "gate.html").read_text(encoding="utf-8")
    assert "searchindex.js" in (site / "search.html").read_text(encoding="utf-8")
    index = (site / "searchindex.js").read_text(encoding="utf-8")
    assert '"howto/gate"' in index
    assert "oversubscript" in index or "epilog" in index


def test_the_newest_release_is_first_and_a_branch_last() -> None:
    made = script("site")
    assert made.newest_first(["main", "0.9.1", "0.10.0", "0.9.1"]) == ["0.10.0", "0.9.1", "main"]
    assert made.first_page("0.10.0").count("0.10.0/index.html") == 2
    assert re.findall(r'href="([^"]+)"', made.versions_page(["0.10.0", "a<b"])) == [
        "0.10.0/index.html",
        "a&lt;b/index.html",
    ]


def test_the_pages_of_a_tag_are_built_from_its_own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = script("site")
    built: list[tuple[bool, bool, Path, str]] = []

    def build(tree: Path, folder: Path, name: str) -> None:
        built.append((tree == ROOT, (tree / "docs/conf.py").is_file(), folder, name))

    monkeypatch.setattr(made, "build", build)
    assert made.main([str(tmp_path), "--name", "main", "HEAD"]) == 0
    assert built == [(True, True, tmp_path / "main", "main"), (False, True, tmp_path / "HEAD", "HEAD")]
    trees = subprocess.run(["git", "worktree", "list"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "(detached HEAD)" not in trees.partition("\n")[2]
    assert made.main([str(tmp_path), "v0.0.0"]) == 1  # no such tag


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
