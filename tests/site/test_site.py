"""A site's system with its references, read only once."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.site.site import Site, site_at

ROOT = Path(__file__).resolve().parents[2]


def test_a_system_comes_with_its_references(virtual: Site) -> None:
    assert (virtual.home, virtual.system.system) == (ROOT / "tests/sites/shaped400", "virtual")
    assert virtual.references.system is virtual.system
    assert "one-rail" in [entry.id for entry in virtual.references.entries]


def test_a_report_only_system_comes_without_any() -> None:
    assert site_at(ROOT, "local").references.entries == ()


def test_a_site_is_read_once() -> None:
    assert site_at(ROOT, "virtual") is site_at(ROOT, "virtual")
    assert site_at(ROOT, "virtual") is not site_at(ROOT, "local")


def test_an_error_is_told_each_time_and_not_kept(tmp_path: Path) -> None:
    (tmp_path / "systems").mkdir()
    file = tmp_path / "systems" / "site.yaml"
    file.write_text("system: site\n", encoding="utf-8")
    for _ in range(2):
        with pytest.raises(InputError, match=r"^systems/site\.yaml"):
            site_at(tmp_path, "site")
    text = (ROOT / "systems" / "local.yaml").read_text(encoding="utf-8")
    file.write_text(text.replace("system: local", "system: site"), encoding="utf-8")
    assert site_at(tmp_path, "site").system.system == "site"
