"""A fabric whose leaf switches are in a file of Slurm: read for the system's nodes and rails, or refused by name."""

from pathlib import Path

import pytest

from railyard.base.errors import InputError, take_remarks
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from railyard.site.topology import hops_of_run, places_of

SYSTEM = """\
system: site
description: A cluster
scheduler: slurm
launcher: srun
nodes: {names: [n1, n2, n3, n4]}
fabrics:
  ib:
    description: HDR, two ports
    kind: ib
    link: ib-hdr
    slot: pcie4-x16
    topology: {slurm: site.topology}
    rails:
      - {device: mlx5_0, port: 1, counters: mlx5}
      - {device: mlx5_1, port: 1, counters: mlx5}
stacks:
  openmpi: {modules: [openmpi/5], benchmarks: {osu: /opt/osu/bin}}
"""
#: A cluster with more nodes than the system: other partitions.
TREE = """\
SwitchName=l1 Nodes=n1,gpu1
SwitchName=l2 Nodes=N2
SwitchName=l3 Nodes=n[3-4]
SwitchName=l9 Nodes=gpu[2-9]
SwitchName=pod1 Switches=l[1-2]
SwitchName=pod2 Switches=l3
SwitchName=pod3 Switches=l9
"""
#: Each rail has its own switches, so each node is at two.
RAILS = """\
SwitchName=a1 Nodes=n[1-2]
SwitchName=a2 Nodes=n[3-4]
SwitchName=b1 Nodes=n[1-2]
SwitchName=b2 Nodes=n[3-4]
"""
SOURCE = "{slurm: site.topology}"
PER_RAIL = "{slurm: site.topology, rails: {'mlx5_0:1': 'a[1-2]', 'mlx5_1:1': 'b[1-2]'}}"


def load(folder: Path, topology: str, text: str = SYSTEM) -> System:
    systems = folder / "systems"
    systems.mkdir(exist_ok=True)
    (systems / "site.topology").write_text(topology, encoding="utf-8")
    (systems / "site.yaml").write_text(text, encoding="utf-8")
    return load_system(systems / "site.yaml")


def refusal_of(folder: Path, topology: str, text: str = SYSTEM) -> str:
    with pytest.raises(InputError) as caught:
        load(folder, topology, text)
    return str(caught.value)


def test_the_leaf_switches_are_those_of_the_systems_nodes(tmp_path: Path) -> None:
    fabric = load(tmp_path, TREE).fabrics["ib"]
    assert fabric.leaf_switches == {"l1": ("n1",), "l2": ("n2",), "l3": ("n3", "n4")}
    assert fabric.groups == {"pod1": ("l1", "l2"), "pod2": ("l3",)}
    assert fabric.network is None


def test_blocks_are_groups_of_nodes_and_say_nothing_of_switches(tmp_path: Path) -> None:
    system = load(tmp_path, "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\n")
    fabric = system.fabrics["ib"]
    assert (fabric.leaf_switches, fabric.network) == ({"b1": ("n1", "n2"), "b2": ("n3", "n4")}, "blocks")
    assert hops_of_run(tmp_path, system, "ib", ("n1", "n2"), fabric.rails) is None


def test_each_rail_has_its_own_leaf_switches(tmp_path: Path) -> None:
    system = load(tmp_path, RAILS, SYSTEM.replace(SOURCE, PER_RAIL))
    rails = system.fabrics["ib"].rails
    assert [rail.leaf_switches for rail in rails] == [
        {"a1": ("n1", "n2"), "a2": ("n3", "n4")},
        {"b1": ("n1", "n2"), "b2": ("n3", "n4")},
    ]
    both, second = places_of(tmp_path, system, "ib", rails), places_of(tmp_path, system, "ib", rails[1:])
    assert both.leaf_of == {"n1": "a1+b1", "n2": "a1+b1", "n3": "a2+b2", "n4": "a2+b2"}
    assert second.leaf_of == {"n1": "b1", "n2": "b1", "n3": "b2", "n4": "b2"}
    assert (both.leaf_on("mlx5_1:1", "N3.site"), both.leaf_on("mlx5_0:1", "n1")) == ("b2", "a1")
    assert hops_of_run(tmp_path, system, "ib", ("n1", "n2"), rails) == 1


def test_rails_that_divide_the_nodes_differently_have_no_common_side(tmp_path: Path) -> None:
    other = RAILS.replace("b1 Nodes=n[1-2]", "b1 Nodes=n[1,3]").replace("b2 Nodes=n[3-4]", "b2 Nodes=n[2,4]")
    system = load(tmp_path, other, SYSTEM.replace(SOURCE, PER_RAIL))
    rails = system.fabrics["ib"].rails
    assert places_of(tmp_path, system, "ib", rails).leaf_of == {}
    assert hops_of_run(tmp_path, system, "ib", ("n1", "n2"), rails) is None
    assert hops_of_run(tmp_path, system, "ib", ("n1", "n2"), rails[:1]) == 1


@pytest.mark.parametrize(
    ("network", "hops"),
    [("", (1, None, None)), ("network: fat-tree", (1, 3, 5)), ("network: dragonfly", (1, 2, None))],
)
def test_hops_are_known_as_far_as_the_file_says_what_joins_switches(
    tmp_path: Path, network: str, hops: tuple[int | None, ...]
) -> None:
    system = load(tmp_path, TREE, SYSTEM.replace("    slot:", f"    {network}\n    slot:"))
    pairs = [("n3", "n4"), ("n1", "N2.site"), ("n1", "n3")]
    rails = system.fabrics["ib"].rails
    assert tuple(hops_of_run(tmp_path, system, "ib", pair, rails) for pair in pairs) == hops
    assert hops_of_run(tmp_path, system, "ib", ("n1", "n9"), rails) is None


@pytest.mark.parametrize(
    ("below_top", "hops", "said"),
    [
        # Two pods below each of two switches: 5 or 7 switches are between two pods.
        ("SwitchName=q1 Switches=pod[1-2]\nSwitchName=q2 Switches=pod3\nSwitchName=top Switches=q[1-2]", None, 1),
        # l1 and l2 are below two switches each, so nobody knows their pods.
        ("SwitchName=pod4 Switches=l[1-2]\nSwitchName=top Switches=pod[1-4]", None, 1),
        ("SwitchName=top Switches=pod[1-3]", 5, 0),
    ],
)
def test_hops_are_not_known_if_the_file_has_more_levels_than_groups_tell(
    tmp_path: Path, below_top: str, hops: int | None, said: int
) -> None:
    take_remarks()
    system = load(tmp_path, f"{TREE}{below_top}\n", SYSTEM.replace("    slot:", "    network: fat-tree\n    slot:"))
    rails = system.fabrics["ib"].rails
    assert hops_of_run(tmp_path, system, "ib", ("n1", "n3"), rails) == hops
    assert hops_of_run(tmp_path, system, "ib", ("n3", "n4"), rails) == 1
    found = take_remarks()
    assert len(found) == said
    assert all("levels of switches, more than it has groups for" in remark for remark in found)


def test_a_file_of_windows_is_read(tmp_path: Path) -> None:
    system = load(tmp_path, "\ufeff" + TREE.replace("\n", "\r\n"))
    assert list(system.fabrics["ib"].leaf_switches) == ["l1", "l2", "l3"]


def test_a_file_that_this_person_may_not_look_at_is_a_remark(tmp_path: Path) -> None:
    """A name of 300 signs gives the kind of error that a closed folder gives, to root too."""
    take_remarks()
    gone = f"/{'x' * 300}/topology.conf"
    system = load(tmp_path, "", SYSTEM.replace("site.topology", gone))
    assert not system.fabrics["ib"].leaf_switches
    (remark,) = take_remarks()
    assert "this file cannot be looked at on this host (file name too long)" in remark


def test_a_node_at_two_switches_is_refused_unless_the_file_says_whose_they_are(tmp_path: Path) -> None:
    assert refusal_of(tmp_path, RAILS) == (
        'systems/site.topology:3: found "n1" at b1, and at a1 (line 1), expected each node at one leaf switch; if each '
        "rail has its own switches, say whose they are: topology: {slurm: …, rails: {mlx5_0: a1, mlx5_1: b1}}; else "
        "correct this file, since Slurm only warns of it"
    )


@pytest.mark.parametrize(
    ("topology", "old", "new", "said"),
    [
        (TREE.replace("n[3-4]", "n3"), "", "", 'systems/site.topology: found no switch for n4, of systems/site.yaml, '
         "expected each node of site at a leaf switch; correct one of both files"),
        ("SwitchName=l Nodes=m[1-9]\n", "", "", "systems/site.topology: found no switch for n1, n2, n3 and n4, of "
         "systems/site.yaml, expected each node of site at a leaf switch; is it the file of this cluster?"),
        (TREE, "names: [n1, n2, n3, n4]", "count: 20", "systems/site.topology: found 13 nodes at leaf switches, "
         "expected at least 20, the nodes of site; correct one of both files"),
        (TREE, "slurm: site.topology", "slurm: other.topology", 'systems/site.yaml:12: fabrics.ib.topology.slurm: '
         'found "systems/other.topology", expected a file that is there; save it there: scontrol show topology > '
         "systems/other.topology"),
        (TREE, "    slot:", "    leaf_switches: {l1: 'n[1-4]'}\n    slot:", "systems/site.yaml:13: fabrics.ib."
         "topology: found topology beside leaf_switches, expected one of them; leave one out"),
        (RAILS, SOURCE, PER_RAIL.replace("mlx5_1:1", "mlx5_2:1"), "systems/site.yaml:12: fabrics.ib.topology.rails."
         'mlx5_2:1: found "mlx5_2:1", expected a rail of the fabric; did you mean "mlx5_1:1"?'),
        (RAILS, SOURCE, PER_RAIL.replace("b[1-2]", "b[1-3]"), "systems/site.yaml:12: fabrics.ib.topology.rails."
         'mlx5_1:1: found "b3", expected a leaf switch of systems/site.topology; known: a1, a2, b1, b2'),
        (RAILS, SOURCE, "{slurm: site.topology, rails: {'mlx5_0:1': 'a[1-2]'}}", "systems/site.yaml:12: fabrics.ib."
         "topology.rails: found no switches of mlx5_1:1, expected those of each rail of the fabric"),
        (RAILS, SOURCE, PER_RAIL.replace("b[1-2]", "b1"), "systems/site.topology: found no switch of mlx5_1:1 for n3 "
         "and n4, of systems/site.yaml, expected each node of site at a leaf switch; correct one of both files"),
        ("Include gone.conf\n", "", "", 'systems/site.topology:1: found "gone.conf", which cannot be read (No such '
         "file or directory), expected a file that can be read"),
    ],
)  # fmt: skip
def test_switches_that_contradict_the_system_are_a_sentence(
    tmp_path: Path, topology: str, old: str, new: str, said: str
) -> None:
    text = SYSTEM.replace(old, new) if old else SYSTEM
    assert refusal_of(tmp_path, topology, text) == said


def test_a_file_that_only_the_cluster_has_is_a_remark(tmp_path: Path) -> None:
    take_remarks()
    gone = tmp_path / "etc" / "topology.conf"
    fabric = load(tmp_path, "", SYSTEM.replace("site.topology", str(gone))).fabrics["ib"]
    assert fabric.leaf_switches == {}
    assert take_remarks() == (
        f"{gone}: this file is not on this host (fabrics.ib.topology of site), so its leaf switches are not known here",
    )


STATED = SYSTEM.replace("topology: {slurm: site.topology}", "leaf_switches: {l1: 'n[1-2]', l2: 'n[3-4]'}")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("    slot:", "    groups: {g1: l1}\n    slot:", 'fabrics.ib.groups: found no group for "l2", expected every '
         "leaf switch of the fabric in a group, or no groups at all"),
        ("    slot:", "    groups: {g1: [l1, l3], g2: l2}\n    slot:", 'fabrics.ib.groups.g1: found "l3", expected a '
         "leaf switch of the fabric; known: l1, l2"),
        ("    slot:", "    groups: {g1: [l1, l2], g2: l2}\n    slot:", 'fabrics.ib.groups.g2: found "l2", expected '
         "each leaf switch in one group; see g1"),
        ("port: 1, counters", "port: 1, leaf_switches: {a: 'n[1-4]'}, counters", "fabrics.ib.leaf_switches: found "
         "leaf_switches of the fabric, and of mlx5_0:1, expected one of them: each rail's own, or one for all rails"),
    ],
)  # fmt: skip
def test_groups_and_rails_have_each_leaf_switch_once(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert said in refusal_of(tmp_path, "", STATED.replace(old, new, 1))


def test_the_switches_of_rails_are_those_of_all_rails_with_the_same_nodes(tmp_path: Path) -> None:
    bare = STATED.replace("    leaf_switches: {l1: 'n[1-2]', l2: 'n[3-4]'}\n", "")
    one = bare.replace("mlx5_0, port: 1,", "mlx5_0, port: 1, leaf_switches: {a: 'n[1-2]', b: 'n[3-4]'},")
    assert "fabrics.ib.rails: found no leaf_switches of mlx5_1:1, expected those of each rail" in refusal_of(
        tmp_path, "", one
    )
    two = one.replace("mlx5_1, port: 1,", "mlx5_1, port: 1, leaf_switches: {a: 'n[1,3]', c: 'n[2,4]'},")
    assert "found other nodes at a than mlx5_0:1 has, expected the same nodes, or another switch" in refusal_of(
        tmp_path, "", two
    )
