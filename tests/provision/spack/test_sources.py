"""The key of an environment names the content of all that it is made from; the copy that Spack is given is whole."""

from pathlib import Path

import pytest
import yaml

from railyard.base.errors import InputError, SetupError
from railyard.provision.spack.sources import variables, write
from tests.made import spack_site
from tests.made.spack_site import MadeSite

CHANGES = [
    ("spack_envs/openmpi/spack.yaml", "view: false", "view: true"),
    ("spack_envs/common/packages.yaml", "@7.4", "@7.5"),
    ("spack_envs/common/definitions.yaml", "npb", "hpl"),
    ("systems/spack/made.yaml", "x86_64_v3", "x86_64_v4"),
    ("spack_envs/repo/spack_repo/made/repo.yaml", "v2.0", "v2.1"),
]


@pytest.mark.parametrize(("file", "old", "new"), CHANGES, ids=[file for file, *_ in CHANGES])
def test_each_file_is_in_the_key(site: MadeSite, file: str, old: str, new: str) -> None:
    before = site.request().sources().key()
    assert len(before) == 16
    assert site.request().sources().key() == before
    site.edit(file, old, new)
    assert site.request().sources().key() != before


def test_the_lock_and_the_choice_are_in_the_key(site: MadeSite) -> None:
    keys = {site.request().sources().key(), site.request(with_=("npb",)).sources().key()}
    site.write("systems/spack/made/openmpi.lock", "{}")
    keys |= {site.request().sources().key(), site.request(without=("npb",)).sources().key()}
    assert len(keys) == 4


def test_what_is_not_of_the_environment_is_not_in_the_key(site: MadeSite) -> None:
    before = site.request().sources().key()
    site.edit("spack_envs/mpich/spack.yaml", "view: false", "view: true")
    site.write("systems/spack/made/mpich.lock", "{}")
    site.write("systems/spack/made.yaml", f"# a remark\n{(site.home / 'systems/spack/made.yaml').read_text()}")
    site.write("spack_envs/repo/__pycache__/x.pyc", "")
    assert site.request().sources().key() == before


REFUSED = [
    (
        "include: [../common]", "include: [../comon]",
        "spack_envs/openmpi/spack.yaml:3: spack.include[0]: found ../comon, which is not there, expected a file, or a "
        "folder of them",
    ),
    (
        "include: [../common]", "include: [/etc/spack]",
        'spack_envs/openmpi/spack.yaml:3: spack.include[0]: found "/etc/spack", expected a path below spack_envs/, '
        "such as ../common/packages.yaml",
    ),
    (
        "spack:\n", "spak:\n",
        'spack_envs/openmpi/spack.yaml:1: found no section spack, expected a Spack manifest, "spack:"',
    ),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "sentence"), REFUSED)
def test_a_broken_manifest(site: MadeSite, old: str, new: str, sentence: str) -> None:
    site.edit("spack_envs/openmpi/spack.yaml", old, new)
    with pytest.raises(InputError) as error:
        site.request().sources()
    assert str(error.value).replace(":2: ", ":1: ") == sentence


def test_a_stack_without_an_environment(site: MadeSite) -> None:
    with pytest.raises(InputError) as error:
        site.request("mvapich").sources()
    assert str(error.value) == "spack_envs/mvapich/spack.yaml: found no such file, expected a YAML file"


def test_the_composed_folder(site: MadeSite, tmp_path: Path) -> None:
    site.write("systems/spack/made/openmpi.lock", "{}")
    place = write(site.request().sources(), tmp_path / "environment", tmp_path / "opt")
    files = sorted(str(path.relative_to(tmp_path / "environment")) for path in place.parent.rglob("*.*"))
    assert files == [
        "common/definitions.yaml",
        "common/packages.yaml",
        "openmpi/spack.lock",
        "openmpi/spack.yaml",
        "overlay.yaml",
        "repo/spack_repo/made/repo.yaml",
    ]
    manifest = yaml.safe_load((place / "spack.yaml").read_text(encoding="utf-8"))["spack"]
    assert manifest["include"] == ["../overlay.yaml", "../common"]
    assert (manifest["specs"], manifest["view"]) == (["$benchmarks"], False)
    overlay = yaml.safe_load((place.parent / "overlay.yaml").read_text(encoding="utf-8"))
    assert overlay["config"] == {"install_tree": {"root": str(tmp_path / "opt")}}
    assert overlay["packages"]["openmpi"]["externals"][0]["prefix"] == f"{site.home}/mpi/openmpi"


@pytest.mark.parametrize("file", ["systems/spack/made.yaml", "spack_envs/common/config.yaml"])
def test_an_install_tree_that_the_site_names_stays(site: MadeSite, tmp_path: Path, file: str) -> None:
    there = site.home / file
    before = there.read_text(encoding="utf-8") if there.is_file() else ""
    site.write(file, f"{before}config:\n  install_tree: {{root: /shared/software}}\n")
    sources = site.request().sources()
    assert sources.names_install_tree
    write(sources, tmp_path / "environment", tmp_path / "opt")
    overlay = yaml.safe_load((tmp_path / "environment/overlay.yaml").read_text(encoding="utf-8"))
    assert overlay.get("config") in (None, {"install_tree": {"root": "/shared/software"}})


def test_the_choice_is_told_by_variables(site: MadeSite) -> None:
    sources = site.request(with_=("wrf", "hpcc"), without=("npb",)).sources()
    assert variables(sources) == {"RAILYARD_SPACK_WITH": "wrf,hpcc", "RAILYARD_SPACK_WITHOUT": "npb"}


def test_a_folder_that_cannot_be_written(site: MadeSite, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(SetupError) as error:
        write(site.request().sources(), tmp_path / "file" / "environment", tmp_path / "opt")
    assert str(error.value) == (
        f"{tmp_path}/file/environment/openmpi: not a directory, expected to write there what Spack is given; "
        "make room, or choose another folder in the system's file (spack: root)"
    )


def without_target(site: MadeSite) -> None:
    site.edit("systems/spack/made.yaml", "  all:\n    target: [x86_64_v3]\n", "")


def test_the_target_is_the_overlays_else_the_nodes_else_the_sites_else_that_of_the_machine(
    site: MadeSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    keys = {site.request().sources().key()}
    assert site.request().sources().target.source == "systems/spack/made.yaml:3"
    without_target(site)
    for processor, name, source in (
        (None, "aarch64", "the default for aarch64"),
        ("neoverse_v2", "neoverse_v2", "nodes.hardware.microarchitecture of systems/made.yaml"),
    ):
        sources = site.request(processor=processor).sources()
        assert (sources.target.name, sources.target.source) == (name, source)
        write(sources, tmp_path / "environment", tmp_path / "opt")
        overlay = yaml.safe_load((tmp_path / "environment/overlay.yaml").read_text(encoding="utf-8"))
        assert overlay["packages"]["all"] == {"target": [name]}
        keys.add(sources.key())
    (tmp_path / "packages.yaml").write_text("packages: {all: {require: 'target=a64fx'}}\n", encoding="utf-8")
    text = (site.home / "systems/spack/made.yaml").read_text(encoding="utf-8")
    site.write("systems/spack/made.yaml", f"{text}include: ['{tmp_path}/packages.yaml']\n")
    assert site.request().sources().target.name == "a64fx"
    assert site.request(processor="neoverse_v2").sources().target.name == "neoverse_v2"
    assert len(keys) == 3


def test_a_target_that_the_nodes_do_not_run_is_refused(site: MadeSite) -> None:
    for processor in ("zen4", "x86_64_v3"):
        assert site.request(processor=processor).sources().target.name == "x86_64_v3"
    for processor in ("neoverse_v2", "x86_64_v2"):
        with pytest.raises(InputError) as error:
            site.request(processor=processor).sources()
        assert str(error.value) == (
            f'systems/spack/made.yaml:3: packages.all.target[0]: found "x86_64_v3", expected a target that {processor} '
            "runs (nodes.hardware.microarchitecture of systems/made.yaml); correct one of the two"
        )


def test_a_stack_that_does_not_exist_for_the_target_is_left_out_by_name(
    site: MadeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_target(site)
    site.write("spack_envs/intelmpi/spack.yaml", spack_site.MANIFEST.replace("{stack}", "intel-oneapi-mpi"))
    assert site.request("intelmpi", processor="zen4").sources().target.name == "zen4"
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    with pytest.raises(SetupError) as error:
        site.request("intelmpi").sources()
    assert str(error.value) == (
        "systems/made.yaml stacks.intelmpi: Intel MPI exists only for x86_64, and its target is aarch64 (the default "
        "for aarch64); leave the stack out of the file"
    )
