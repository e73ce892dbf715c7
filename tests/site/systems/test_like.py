"""A system that is like another: what its file leaves out is the other's, its references too, and nothing is copied."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.rfm.settings import configuration
from railyard.site.references.load import references_of
from railyard.site.systems.load import load_system, load_systems
from railyard.site.systems.model import System

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def systems() -> dict[str, System]:
    return load_systems(ROOT / "systems")


def test_the_virtual_cluster_under_slurm_is_the_virtual_cluster(systems: dict[str, System]) -> None:
    plain, slurm = systems["virtual"], systems["virtual-slurm"]
    for field in ("provider", "nodes", "fabrics", "disabled", "time_limit", "report_only"):
        assert getattr(slurm, field) == getattr(plain, field), field
    assert (slurm.scheduler, slurm.launcher, slurm.jobs.max_pending) == ("slurm-nodb", "srun", "2m")
    assert list(slurm.stacks) == list(plain.stacks)


def test_mappings_are_put_together_and_lists_are_not(systems: dict[str, System]) -> None:
    plain, slurm = systems["virtual"].stacks["openmpi"], systems["virtual-slurm"].stacks["openmpi"]
    assert slurm.env == {"OMPI_MCA_mpi_yield_when_idle": "1"}
    assert (slurm.prefix, slurm.benchmarks) == (plain.prefix, plain.benchmarks)
    assert slurm.spack == plain.spack


def test_it_has_the_others_references(systems: dict[str, System]) -> None:
    plain = references_of(ROOT / "references", systems["virtual"])
    slurm = references_of(ROOT / "references", systems["virtual-slurm"])
    assert slurm.entries == plain.entries
    assert slurm.relations == plain.relations
    assert (slurm.file, slurm.system.system) == ("references/virtual.yaml", "virtual-slurm")
    assert not (ROOT / "references/virtual-slurm.yaml").exists()


def test_reframe_finds_the_clusters_own_slurm(systems: dict[str, System]) -> None:
    made = {system["name"]: system for system in configuration(Path("/site"), systems)["systems"]}
    assert made["virtual-slurm"]["env_vars"] == [
        ["PATH", "/site/.railyard/testbed/slurm/bin:$PATH"],
        ["SLURM_CONF", "/site/.railyard/testbed/slurm/slurm.conf"],
    ]
    assert made["virtual"]["env_vars"] == []
    assert {partition["scheduler"] for partition in made["virtual-slurm"]["partitions"]} == {"slurm-nodb"}


BASE = """\
system: base
description: made for this test
hostnames: [login1]
nodes: {count: 2}
report_only: made for this test
fabrics:
  eth: {description: one card, kind: tcp, link: eth-10, rails: [{device: eth0, counters: netdev}]}
stacks:
  openmpi: {prefix: /opt/openmpi}
"""


def load_with(folder: Path, text: str, other: str = BASE) -> System:
    (folder / "systems").mkdir()
    (folder / "systems/base.yaml").write_text(other, encoding="utf-8")
    (folder / "systems/own.yaml").write_text(text, encoding="utf-8")
    return load_system(folder / "systems/own.yaml")


def test_host_names_are_each_systems_own(tmp_path: Path) -> None:
    found = load_with(tmp_path, "system: own\nlike: base\n")
    assert (found.hostnames, found.description, found.nodes.number) == ((), "made for this test", 2)


@pytest.mark.parametrize(
    ("text", "other", "sentence"),
    [
        (
            "system: own\nlike: bas\n",
            BASE,
            'systems/own.yaml:2: like: found "bas", expected another file of the folder; did you mean "base"?',
        ),
        (
            "system: own\nlike: own\n",
            BASE,
            'systems/own.yaml:2: like: found "own", expected another file of the folder; known: base',
        ),
        (
            "system: own\nlike: base\n",
            BASE + "like: third\n",
            'systems/own.yaml:2: like: found "base", which is itself like "third", expected a system that has all its '
            "fields itself",
        ),
        (
            "system: own\nlike: base\nnodes: {count: 0}\n",
            BASE,
            "systems/own.yaml:3: nodes.count: ",
        ),
    ],
    ids=["unknown", "itself", "a chain", "its own mistake"],
)
def test_mistakes_are_sentences(tmp_path: Path, text: str, other: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        load_with(tmp_path, text, other)
    assert str(caught.value).startswith(sentence)
