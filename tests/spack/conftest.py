"""The made site with its fake Spack, first on PATH."""

import os
from pathlib import Path

import pytest

from tests.spack import madesite
from tests.spack.madesite import MadeSite


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MadeSite:
    made = madesite.make(tmp_path)
    monkeypatch.setenv("PATH", f"{made.bin}:{os.environ['PATH']}")
    monkeypatch.setenv("RAILYARD_HOME", str(made.home))
    monkeypatch.delenv("SPACK_ENV", raising=False)
    monkeypatch.delenv("RAILYARD_SPACK", raising=False)
    return made


@pytest.fixture
def without_spack(site: MadeSite) -> None:
    """Take Spack off PATH."""
    (site.bin / "spack").unlink()
