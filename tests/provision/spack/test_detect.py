"""What `railyard spack detect` writes, and the traps that it names."""

from typing import Any

import pytest
import yaml

from railyard.base.errors import InputError
from railyard.provision.spack import calls, detect
from railyard.provision.spack.detect import DetectedPackages, FoundProgram
from tests.made.spack_site import MadeSite

OPENMPI = {"externals": [{"spec": "openmpi@4.1.4 +fortran", "prefix": "/usr"}]}
MPICH = {"externals": [{"spec": "mpich@4.0.2", "prefix": "/usr"}]}
SHARED = (
    "openmpi@4.1.4 and mpich@4.0.2 share the prefix /usr. Its mpicc belongs to one of them, whichever you ask for: a "
    "benchmark for the other would be silently linked to it; give each a prefix of its own (a folder of links to its "
    "mpicc, mpicxx, mpif90, mpirun, include and lib), or leave one out"
)
TRAPS: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"openmpi": OPENMPI, "mpich": MPICH}, (SHARED,)),
    (
        {"openmpi": OPENMPI},
        (
            "openmpi@4.1.4 has the prefix /usr, which any other MPI of the system's packages would share: give it a "
            "prefix of its own before you install a second one",
        ),
    ),
    ({"openmpi": {"externals": [{"spec": "openmpi@5", "prefix": "/opt/openmpi"}]}}, ()),
    ({"gcc": {"externals": [{"spec": "gcc@12", "prefix": "/usr"}]}}, ()),
]


@pytest.mark.parametrize(("packages", "sentences"), TRAPS)
def test_the_traps(packages: dict[str, Any], sentences: tuple[str, ...]) -> None:
    assert detect.traps(packages) == sentences


def test_what_spack_passes_over_is_added_once() -> None:
    found = detect.add_found_packages(
        {"mpich": MPICH},
        (
            FoundProgram("openmpi", "4.1.4", "/usr"),
            FoundProgram("mpich", "4.0.2", "/usr"),
            FoundProgram("mpich", "5", "/opt"),
        ),
    )
    assert found["openmpi"] == {"externals": [{"spec": "openmpi@4.1.4", "prefix": "/usr"}]}
    assert [each["prefix"] for each in found["mpich"]["externals"]] == ["/usr", "/opt"]


def test_what_the_fake_finds_becomes_an_overlay(site: MadeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "seen_packages", lambda: (FoundProgram("openmpi", "4.1.4", "/usr"),))
    site.behave(
        externals={"perl": {"externals": [{"spec": "perl@5.36", "prefix": "/usr"}]}, "mpich": MPICH, "gcc": {
            "externals": [{"spec": "gcc@12.2.0 languages='c,c++,fortran'", "prefix": "/usr"}]}}
    )  # fmt: skip
    found = detect.detect(calls.find(site.home, print))
    assert list(found.packages) == ["gcc", "openmpi", "mpich", "perl"]
    assert "buildable" not in found.packages["gcc"]
    assert [found.packages[name]["buildable"] for name in ("openmpi", "mpich", "perl")] == [False] * 3
    assert found.traps == (SHARED.replace(" +fortran", ""),)
    text = detect.overlay_text("made", found)
    assert text.splitlines()[0].startswith("# What `railyard spack detect` found for made. ")
    assert f"# TRAP: {SHARED}" in text
    assert yaml.safe_load(text) == {"packages": dict(found.packages)}


def test_an_overlay_that_is_there_is_kept(site: MadeSite) -> None:
    path = site.home / "systems/spack/made.yaml"
    text = detect.overlay_text("made", DetectedPackages({"mpich": MPICH}, ()))
    with pytest.raises(InputError) as error:
        detect.write(path, text, replace=False)
    assert str(error.value) == (
        f"{path}: found an overlay already, expected none, or --replace; --print shows what would be written; "
        "edit the file by hand if that shows more"
    )
    detect.write(path, text, replace=True)
    assert path.read_text(encoding="utf-8") == text
