"""The synthetic site with its fake Spack first on PATH."""

import os
from pathlib import Path

import pytest

from tests.made import spack_site
from tests.made.spack_site import MadeSite


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeSite:
    made = spack_site.make(tmp_path)
    monkeypatch.setenv("PATH", f"{made.bin}:{os.environ['PATH']}")
    monkeypatch.setenv("RAILYARD_HOME", str(made.home))
    monkeypatch.delenv("SPACK_ENV", raising=False)
    monkeypatch.delenv("RAILYARD_SPACK", raising=False)
    return made


@pytest.fixture
def without_spack(site: MadeSite) -> None:
    """Take Spack off PATH."""
    (site.bin / "spack").unlink()
