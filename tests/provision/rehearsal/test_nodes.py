"""Which nodes are up: as many as requested and as memory allows, from a few leaf switches, in the order of the file."""

from pathlib import Path

import pytest

from railyard.base.errors import SetupError
from railyard.provision.rehearsal.nodes import choose, leaf_switches, memory_available_mib, site_nodes
from railyard.site.systems.load import load_systems
from railyard.site.systems.model import System
from tests.made.rehearsal_site import LEAVES, NODES, site

PLENTY = 20_000


def large(folder: Path) -> System:
    """Return 128 nodes by number alone, at eight leaf switches."""
    leaves = ", ".join(f"leaf{n}: 'n[{n * 16 - 15}-{n * 16}]'" for n in range(1, 9))
    return site(folder, (f"names: [{NODES}]", "count: 128"), (LEAVES, f"leaf_switches: {{{leaves}}}"))


def test_sixteen_nodes_of_a_few_leaves_stand_by_default(tmp_path: Path) -> None:
    system = large(tmp_path)
    chosen = choose(system, PLENTY)
    assert chosen.nodes == tuple(f"n{16 * leaf + n}" for leaf in range(4) for n in (1, 2, 3, 4))
    assert {leaf: len(nodes) for leaf, nodes in leaf_switches(system, chosen.nodes).items()} == {
        f"leaf{n}": 4 for n in (1, 2, 3, 4)
    }
    assert (
        chosen.left_out[0]
        == "16 of 128 nodes are rehearsed, at 4 of 8 leaf switches; you can ask for up to 64 (--nodes)"
    )


def test_nodes_that_a_fault_names_stand(tmp_path: Path) -> None:
    chosen = choose(large(tmp_path), PLENTY, named=("n100", "n128"))
    assert len(chosen.nodes) == 16
    assert {"n100", "n128"} <= set(chosen.nodes)
    assert chosen.nodes == tuple(sorted(chosen.nodes, key=lambda name: int(name[1:])))


def test_as_many_as_are_asked_for(tmp_path: Path) -> None:
    assert len(choose(large(tmp_path), PLENTY, wanted=64).nodes) == 64
    with pytest.raises(SetupError, match="found a request for 65 nodes, expected 2 to 64"):
        choose(large(tmp_path), PLENTY, wanted=65)


def test_it_is_said_why_not_all_nodes_stand(tmp_path: Path) -> None:
    asked = choose(large(tmp_path), PLENTY, wanted=4)
    assert asked.left_out[0] == "4 of 128 nodes are rehearsed, at 2 of 8 leaf switches; you asked for that many"
    asked = choose(large(tmp_path), 300 + 4 * 12, wanted=4)
    assert asked.left_out[0] == "4 of 128 nodes are rehearsed, at 2 of 8 leaf switches; you asked for that many"
    system = site(tmp_path, ("partition: compute", "partition: compute, exclude: [n1, n9]"))
    without = choose(system, PLENTY)
    assert (
        without.left_out[0]
        == "14 of 16 nodes are rehearsed, at 2 of 2 leaf switches; jobs exclude the others (exclude)"
    )


def test_no_more_than_memory_allows(tmp_path: Path) -> None:
    chosen = choose(large(tmp_path), 300 + 5 * 12)
    assert len(chosen.nodes) == 5
    assert chosen.left_out[0].endswith("; this machine has free memory for 5")
    with pytest.raises(SetupError, match="found 310 MiB of free memory, expected at least 324 MiB for two nodes"):
        choose(large(tmp_path), 310)


def test_without_leaf_switches_the_first_nodes_stand(tmp_path: Path) -> None:
    system = site(tmp_path, (f"names: [{NODES}]", "count: 40"), (LEAVES, ""))
    chosen = choose(system, PLENTY)
    assert chosen.nodes == tuple(f"n{n}" for n in range(1, 17))
    assert "the file names no nodes: they are called n1, n2 and so on" in chosen.left_out


def test_names_of_leaf_switches_serve_where_there_is_a_number_alone(tmp_path: Path) -> None:
    system = site(
        tmp_path, (f"names: [{NODES}]", "count: 4"), (LEAVES, "leaf_switches: {a: 'cn[01-02]', b: 'cn[03-04]'}")
    )
    assert site_nodes(system) == ("cn01", "cn02", "cn03", "cn04")


def test_names_of_a_rails_own_leaf_switches_serve_too(tmp_path: Path) -> None:
    system = site(tmp_path, (f"names: [{NODES}]", "count: 4"), (LEAVES, ""))
    fabric = system.fabrics["ndr"]
    rails = [
        rail.model_copy(
            update={"leaf_switches": {f"{rail.device}-a": ("cn1", "cn2"), f"{rail.device}-b": ("cn3", "cn4")}}
        )
        for rail in fabric.rails
    ]
    fabrics = {"ndr": fabric.model_copy(update={"rails": tuple(rails)})}
    system = system.model_copy(update={"fabrics": fabrics})
    assert site_nodes(system) == ("cn1", "cn2", "cn3", "cn4")
    assert leaf_switches(system, ("cn1", "cn4")) == {"mlx5_0-a": ("cn1",), "mlx5_0-b": ("cn4",)}


def test_excluded_nodes_do_not_stand(tmp_path: Path) -> None:
    system = site(tmp_path, ("partition: compute", "partition: compute, exclude: [n1, n9]"))
    assert choose(system, PLENTY).nodes == tuple(f"n{n}" for n in (*range(2, 9), *range(10, 17)))


def test_a_name_with_a_domain_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as refused:
        choose(site(tmp_path, (f"names: [{NODES}]", "names: [n1.made.org, n2.made.org]"), (LEAVES, "")), PLENTY)
    assert str(refused.value) == (
        "rehearsal: nodes of ndr: 'n1.made.org' cannot be the name of a node: it must be letters, digits and inner "
        "hyphens, at most 63 characters; write the nodes' short names, as the scheduler has them"
    )


def test_another_scheduler_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as refused:
        choose(site(tmp_path, ("scheduler: slurm", "scheduler: local"), ("jobs: ", "#")), PLENTY)
    assert str(refused.value) == (
        "rehearsal: ndr has the scheduler local, expected one of slurm, squeue, slurm-nodb, flux-batch, pbs, sge: no "
        "other can be started here; for its job scripts type: railyard run --system ndr --dry-run"
    )


def test_a_system_whose_only_library_nothing_plays_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as refused:
        choose(site(tmp_path, ("openmpi:", "spectrummpi:")), PLENTY)
    assert str(refused.value) == (
        "rehearsal: stacks of ndr: found none that can be played (spectrummpi: it was never run, so neither its "
        "launcher's options nor the ways of PAMI are known for sure), expected one at least; for the job scripts alone "
        "type: railyard run --system ndr --dry-run"
    )


def test_systems_of_ours_are_refused() -> None:
    systems = load_systems(Path(__file__).parents[3] / "systems")
    for name in ("virtual", "virtual-slurm", "dell-c6320"):
        with pytest.raises(SetupError, match=f"rehearsal: {name} has the provider .*, expected nodes"):
            choose(systems[name], PLENTY)


def test_free_memory_is_what_the_kernel_says(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:       24684096 kB\nMemFree:          10240 kB\nMemAvailable:    2097152 kB\n")
    assert memory_available_mib(meminfo) == 2048
    assert memory_available_mib() > 0
