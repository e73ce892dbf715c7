"""An overlay only adds: what it would replace is an error that names both places."""

import pytest

from railyard.base.errors import InputError
from railyard.provision.spack import overlay
from tests.made.spack_site import MadeSite

REFUSED = [
    (
        "packages:\n  intel-mpi-benchmarks:\n    require: ['@2021.6']\n",
        "systems/spack/made.yaml:3: packages.intel-mpi-benchmarks.require[0]: found @2021.6, but "
        "spack_envs/common/packages.yaml:8 requires @2021.7, expected one of them; an overlay only adds; change one of "
        "the two",
    ),
    (
        "packages:\n  mpi:\n    require: mpich\n",
        'systems/spack/made.yaml:3: packages.mpi.require: found "mpich", but spack_envs/openmpi/spack.yaml:7 says '
        "[openmpi], expected what the environment leaves open; an overlay only adds; change one of the two",
    ),
    (
        "view: true\n",
        'systems/spack/made.yaml:1: view: found the section "view", expected a section of Spack\'s configuration; '
        "known: bootstrap, compilers, concretizer, config, env_vars, include, mirrors, modules, packages, repos, "
        "toolchains, upstreams",
    ),
    (
        "package:\n  all: {}\n",
        'systems/spack/made.yaml:1: package: found the section "package", expected a section of Spack\'s '
        'configuration; did you mean "packages"?',
    ),
    (
        "packages:\n  all::\n    target: [x86_64_v2]\n",
        'systems/spack/made.yaml:2: packages.all:: found "all::", which replaces what is there, expected a key with '
        "one colon; an overlay only adds",
    ),
    ("packages: [\n", "systems/spack/made.yaml:2: found text that is not YAML: "),
]


@pytest.mark.parametrize(("text", "sentence"), REFUSED)
def test_what_is_refused(site: MadeSite, text: str, sentence: str) -> None:
    site.write("systems/spack/made.yaml", text)
    with pytest.raises(InputError) as error:
        site.request().sources()
    said = str(error.value)
    assert (said[: len(sentence)] if sentence.endswith(": ") else said) == sentence


def test_lists_add_up_and_equal_values_do_not_conflict(site: MadeSite) -> None:
    site.write(
        "systems/spack/made.yaml",
        "packages:\n  all: {target: [x86_64_v3]}\n  intel-mpi-benchmarks: {require: ['@2021.7', +ext]}\n",
    )
    assert site.request().sources().overlay_data["packages"]["all"] == {"target": ["x86_64_v3"]}


def test_home_is_filled_in_everywhere(site: MadeSite) -> None:
    data = site.request().sources().overlay_data
    assert data["packages"]["mpich"]["externals"] == [{"spec": "mpich@5.0.2", "prefix": f"{site.home}/mpi/mpich"}]


def test_a_file_is_named_from_the_site_on(site: MadeSite) -> None:
    assert overlay.short_path(site.home / "systems/spack/made/openmpi.lock") == "systems/spack/made/openmpi.lock"
    assert overlay.short_path(site.home / "elsewhere.yaml") == f"{site.home}/elsewhere.yaml"
