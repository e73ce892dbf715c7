"""A site's own Spack comes before the one on PATH, once it is there whole."""

from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision.spack import calls, program
from tests.made import spack_site
from tests.made.spack_site import MadeSite


def own(site: MadeSite) -> Path:
    """Put a Spack of the site's own beside the one on PATH."""
    folder = program.own_folder(site.home)
    found = spack_site.program(folder / "spack/bin/spack", f'exec "{site.bin}/spack" "$@"')
    site.write(str((folder / program.REPOS).relative_to(site.home)), "repos: {}\n")
    return found


def test_the_one_on_path_serves_a_site_without_its_own(site: MadeSite) -> None:
    assert program.program(site.home) == f"{site.bin}/spack"
    assert program.variables(site.home) == {}


def test_the_sites_own_comes_first(site: MadeSite) -> None:
    found = own(site)
    assert program.program(site.home) == str(found)
    assert calls.find(site.home, print).program == str(found)


def test_one_that_did_not_arrive_whole_is_none(site: MadeSite) -> None:
    own(site)
    (program.own_folder(site.home) / program.REPOS).unlink()
    assert program.program(site.home) == f"{site.bin}/spack"


def test_its_solver_is_told_unless_the_user_names_one(site: MadeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    own(site)
    monkeypatch.delenv(program.PYTHON_VARIABLE, raising=False)
    assert program.variables(site.home) == {}
    python = spack_site.program(program.own_folder(site.home) / "python/bin/python", "exit 0")
    assert program.variables(site.home) == {"SPACK_PYTHON": str(python)}
    assert calls.find(site.home, print, environment={"A": "b"}).environment == {"SPACK_PYTHON": str(python), "A": "b"}
    monkeypatch.setenv(program.PYTHON_VARIABLE, "/opt/python/bin/python3")
    assert program.variables(site.home) == {}


def test_none_at_all(site: MadeSite, without_spack: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(site.bin))
    with pytest.raises(SetupError) as error:
        calls.find(site.home, print)
    assert str(error.value) == (
        f"spack: found none in {site.home}/.railyard/spack-itself and none on PATH, expected Spack 1.1 or newer; type: "
        "railyard spack bootstrap"
    )
