"""A compiler that a file names, or any at all, and the stack's own MPI are there before anything is built."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError, SetupError
from railyard.provision.spack import bootstrap
from tests.made import spack_site
from tests.made.spack_site import MadeSite

GCC = """\
  gcc:
    buildable: false
    externals:
    - spec: gcc@12.2.0 languages='c,c++,fortran'
      prefix: /usr
      extra_attributes:
        compilers: {{c: "{folder}/cc", fortran: "{folder}/fc"}}
"""
FILE = "systems/spack/made.yaml"


def test_a_compiler_on_path_is_enough(site: MadeSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(site.bin))
    with pytest.raises(SetupError) as error:
        bootstrap.demand(site.request())
    assert str(error.value) == (
        "compiler: found none of gcc, clang, icx, nvc, craycc, fcc on PATH, expected a compiler to build with; install "
        "gcc, or name a compiler in systems/spack/made.yaml (docs/howto/spack.md, Your own compiler)"
    )
    spack_site.program(site.bin / "clang", "exit 0")
    bootstrap.demand(site.request())


def test_each_compiler_that_the_overlay_names_is_there(
    site: MadeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(site.bin))  # no other compiler is needed
    site.write(FILE, (site.home / FILE).read_text(encoding="utf-8") + GCC.format(folder=tmp_path))
    spack_site.program(tmp_path / "cc", "exit 0")
    with pytest.raises(InputError) as error:
        bootstrap.demand(site.request())
    assert str(error.value) == (
        f"systems/spack/made.yaml:17: packages.gcc.externals[0].extra_attributes.compilers.fortran: found "
        f'"{tmp_path}/fc", which is not there, expected a compiler of this host; install it (on Debian: sh '
        "ci/needs.sh spack), or correct the file"
    )
    spack_site.program(tmp_path / "fc", "exit 0")
    bootstrap.demand(site.request())


def test_the_mpi_that_a_stack_is_built_with_is_there(site: MadeSite) -> None:
    (site.home / "mpi/openmpi").rename(site.home / "mpi/elsewhere")
    with pytest.raises(InputError) as error:
        bootstrap.demand(site.request())
    assert str(error.value) == (
        f'systems/spack/made.yaml:7: packages.openmpi.externals[0].prefix: found "{site.home}/mpi/openmpi", which is '
        "not on this host, expected the MPI that openmpi is built with; install it there, or correct the file"
    )
    bootstrap.demand(site.request("mpich"))  # another stack's is not asked for


def test_a_prefix_of_make_stacks_is_made_by_it(site: MadeSite) -> None:
    site.edit(FILE, "{home}/mpi/openmpi", "{home}/.stacks/openmpi")
    with pytest.raises(InputError) as error:
        bootstrap.demand(site.request())
    assert str(error.value).endswith(
        "expected the MPI that openmpi is built with; type: railyard stacks install openmpi"
    )
