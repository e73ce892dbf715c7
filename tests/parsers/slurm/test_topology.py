"""Switches as Slurm writes them: the forms, and what is refused, with file and line. Texts are synthetic, in forms that
Slurm's pages and public files show; those of the virtual cluster are what Slurm 22.05.8 and 26.05.3 printed there.
"""

from pathlib import Path

import pytest

from railyard.base.errors import InputError
from railyard.parsers.slurm_topology import Place, SlurmTopology, parse


def no_file(name: str, place: Place) -> tuple[str, str]:
    raise place.error(f'"{name}", which cannot be read', "a file that can be read")


def read(text: str, name: str | None = None) -> SlurmTopology:
    return parse(text, "topology", no_file, name)


def leaves(found: SlurmTopology) -> dict[str, tuple[str, ...]]:
    return {leaf.name: leaf.nodes for leaf in found.leaves}


CONF = """\
# Two pods of two leaf switches
SwitchName=l1 Nodes=r1n[1-2]
switchname=l2 nodes=r1n[3-4] linkspeed=100   # parameters are case insensitive
SwitchName = l3 Nodes = "r2n[1,2]"
SwitchName=l4 Nodes=r2n[3-\\
4]
SwitchName=pod1 Switches=l[1-2]
SwitchName=pod2 \\
  Switches=l[3-4]
SwitchName=top Switches=pod[1-2]
"""
LEAVES = {"l1": ("r1n1", "r1n2"), "l2": ("r1n3", "r1n4"), "l3": ("r2n1", "r2n2"), "l4": ("r2n3", "r2n4")}
PODS = {"pod1": ("l1", "l2"), "pod2": ("l3", "l4")}
#: As the tree plugin prints it: a switch above others has all nodes below it, too.
SHOWN = """\
SwitchName=l1 Level=0 LinkSpeed=1 Nodes=r1n[1-2]
SwitchName=l2 Level=0 LinkSpeed=1 Nodes=r1n[3-4]
SwitchName=l3 Level=0 LinkSpeed=1 Nodes=r2n[1-2]
SwitchName=l4 Level=0 LinkSpeed=1 Nodes=r2n[3-4]
SwitchName=pod1 Level=1 LinkSpeed=1 Nodes=r1n[1-4] Switches=l[1-2]
SwitchName=pod2 Level=1 LinkSpeed=1 Nodes=r2n[1-4] Switches=l[3-4]
SwitchName=top Level=2 LinkSpeed=1 Nodes=r1n[1-4],r2n[1-4] Switches=pod[1-2]
"""
YAML = """\
---
- topology: pods
  cluster_default: True
  tree:
    switches:
      - {switch: l1, nodes: "r1n[1-2]"}
      - switch: l2
        nodes: r1n[3-4]
      - switch: l3
        nodes: r2n[1-2]
      - switch: l4
        nodes: r2n[3-4]
      - switch: pod1
        children: l[1-2]
      - switch: pod2
        children: l[3-4]
- topology: blocks
  block:
    block_sizes: [2, 4]
    blocks:
      - block: b1
        nodes: r1n[1-2]
      - block: b2
        nodes: r1n[3-4]
      - block: b3
        nodes: r2n[1-2]
      - block: b4
        nodes: r2n[3-4]
- topology: all
  flat: true
"""


@pytest.mark.parametrize("text", [CONF.replace("3-\\\n4", "3-4"), SHOWN, YAML])
def test_a_tree_has_leaf_switches_and_the_switches_above_them(text: str) -> None:
    found = read(text)
    assert (found.kind, leaves(found), found.groups) == ("tree", LEAVES, PODS)


BLOCKS = "BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockName=b3 Nodes=n[5-6]\nBlockSizes=2,4\n"
SHOWN_BLOCKS = """\
BlockName=b1 BlockIndex=0 Nodes=n[1-2] BlockSize=2
BlockName=b2 BlockIndex=1 Nodes=n[3-4] BlockSize=2
BlockName=b3 BlockIndex=2 Nodes=n[5-6] BlockSize=2
AggregatedBlock=b[1-2] BlockIndex=3 Nodes=n[1-4] BlockSize=4
AggregatedBlock=b3 BlockIndex=4 Nodes=n[5-6] BlockSize=4
"""


def test_blocks_are_no_switches_and_their_larger_blocks_are_groups() -> None:
    found = read(BLOCKS)
    assert (found.kind, list(leaves(found))) == ("block", ["b1", "b2", "b3"])
    assert list(found.groups.values()) == [("b1", "b2"), ("b3",)]
    assert leaves(read(SHOWN_BLOCKS)) == leaves(found)
    assert read(SHOWN_BLOCKS).groups == {"b[1-2]": ("b1", "b2"), "b3": ("b3",)}
    assert list(read(YAML, "blocks").groups.values()) == [("b1", "b2"), ("b3", "b4")]
    assert read(BLOCKS.replace("BlockSizes=2,4\n", "")).groups == {}


RECORDED = Path(__file__).parents[2] / "recordings" / "slurm"
HALVES = (("vn1", "vn2"), ("vn3", "vn4"))


@pytest.mark.parametrize(
    ("name", "kind", "names"),
    [
        ("topology-tree.txt", "tree", ("leaf0", "leaf1")),
        ("26.05.3/topology-tree.txt", "tree", ("leaf0", "leaf1")),
        ("26.05.3/topology-block.txt", "block", ("b1", "b2")),
        # The same blocks, out of a topology.yaml.
        ("26.05.3/topology-of-yaml.txt", "block", ("b1", "b2")),
        ("26.05.3/topology.yaml", "block", ("b1", "b2")),
    ],
)
def test_what_a_slurm_printed_of_its_switches_or_blocks_is_read(name: str, kind: str, names: tuple[str, str]) -> None:
    found = read((RECORDED / name).read_text(encoding="utf-8"))
    assert (found.kind, leaves(found)) == (kind, dict(zip(names, HALVES, strict=True)))


def test_a_topology_of_a_file_that_this_slurm_read_is_found_by_its_name() -> None:
    text = (RECORDED / "26.05.3/topology.yaml").read_text(encoding="utf-8")
    found = read(text, "leaves")
    assert (found.kind, leaves(found), found.levels) == ("tree", {"l1": HALVES[0], "l2": HALVES[1]}, 2)


@pytest.mark.parametrize(
    ("name", "kind"), [("topology-ring.txt", "topology/ring"), ("topology-torus3d.txt", "topology/torus3d")]
)
def test_a_ring_or_a_torus_that_this_slurm_printed_is_refused_by_its_name(name: str, kind: str) -> None:
    with pytest.raises(InputError) as caught:
        read((RECORDED / "26.05.3" / name).read_text(encoding="utf-8"))
    assert str(caught.value) == (
        f"topology:1: found {kind}, expected topology/tree or topology/block; leave topology out: others have no leaf "
        "switches"
    )


def test_leaf_switches_below_several_spines_have_no_group() -> None:
    text = (
        "SwitchName=e1 Nodes=n1\nSwitchName=e2 Nodes=n2\nSwitchName=c1 Switches=e[1-2]\nSwitchName=c2 Switches=e[1-2]\n"
    )
    assert (leaves(read(text)), read(text).groups) == ({"e1": ("n1",), "e2": ("n2",)}, {})
    one_each = "SwitchName=e1 Nodes=n1\nSwitchName=e2 Nodes=n2\nSwitchName=c1 Switches=e1\nSwitchName=c2 Switches=e2\n"
    assert read(one_each).groups == {}


def test_a_node_at_two_switches_is_read_since_slurm_only_warns_of_it() -> None:
    found = read("SwitchName=r0 Nodes=n[1-2]\nSwitchName=r1 Nodes=n[1-2]\n")
    assert leaves(found) == {"r0": ("n1", "n2"), "r1": ("n1", "n2")}
    assert [leaf.place for leaf in found.leaves] == [Place("topology", 1), Place("topology", 2)]


def test_a_line_goes_on_within_a_list_of_names() -> None:
    found = read("SwitchName=l1 Nodes=n[1-2],\\\nn3 \\\n  LinkSpeed=1\n")
    assert leaves(found) == {"l1": ("n1", "n2", "n3")}


def test_a_cluster_of_many_nodes_is_read() -> None:
    """The top switch that scontrol prints has all nodes in one list; typed lists end at 10,000 names."""
    below = "".join(f"SwitchName=l{at} Level=0 Nodes=n[{100 * at:06}-{100 * at + 99:06}]\n" for at in range(1000))
    found = read(f"{below}SwitchName=top Level=1 Nodes=n[000000-099999] Switches=l[0-999]\n")
    assert sum(len(leaf.nodes) for leaf in found.leaves) == 100_000
    assert found.levels == 2


def test_a_switch_without_nodes_is_no_leaf() -> None:
    assert leaves(read("SwitchName=empty\nSwitchName=l Nodes=n1\nSwitchName=s Switches=empty,l\n")) == {"l": ("n1",)}


def test_an_included_file_stands_in_its_place() -> None:
    def files(name: str, place: Place) -> tuple[str, str]:
        return name, {"more.conf": "SwitchName=l2 Nodes=n2\nInclude last.conf\n", "last.conf": "SwitchName=l3\n x=1\n"}[
            name
        ]

    with pytest.raises(InputError) as refused:
        parse("SwitchName=l1 Nodes=n1\ninclude more.conf\n", "topology", files)
    assert str(refused.value).startswith('last.conf:2: found "x=1", expected a line that begins with SwitchName=')
    with pytest.raises(InputError) as refused:
        parse("Include me\n", "me", lambda name, place: (name, ""))
    assert str(refused.value) == (
        "me:1: found an Include of me, which is being read, expected a file that does not include itself"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "topology: found no line with SwitchName= or BlockName=, expected at least one switch or block; save it "
         "again: scontrol show topology > FILE"),
        ("slurm_load_topology error: Zero Bytes", 'topology:1: found "slurm_load_topology error: Zero Bytes", expected '
         "NAME=VALUE, with blanks between; save it again: scontrol show topology > FILE"),
        ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2", 'topology:2: found "a" for the second time, expected each '
         "once (line 1 has it already)"),
        ("SwitchName=a Nodes=n1 Nodes=n2", "topology:1: found Nodes for the second time, expected each parameter of a "
         "line once"),
        ("SwitchName=a Nodse=n1", 'topology:1: found the parameter "nodse", expected one of SwitchName, Switches, '
         'Nodes, LinkSpeed and Level; did you mean "Nodes"?'),
        ("SwitchName=a Nodes=n1 Switches=b", 'topology:1: found switch "a" with Nodes and Switches, expected one of '
         "them; Slurm refuses both, too"),
        ("SwitchName=a Nodes=n1\nSwitchName=s Switches=a,lfea2", 'topology:2: found "lfea2" below "s", expected a '
         "switch of the same file; known: a, s"),
        ("SwitchName=a Switches=b\nSwitchName=b Switches=a", "topology:1: found switches in a circle: a above b above "
         "a, expected a tree: no switch is below itself"),
        ("SwitchName=a Nodes=n[4-1]", "topology:1: found Nodes=n[4-1]: '4-1' does not rise, or is more than 262144 "
         "names, expected names as Slurm writes them: n[1-8,12]"),
        ("SwitchName=a Level=0 LinkSpeed=1 Nodes=n[1-8,1", 'topology:1: found Nodes=n[1-8,1: "n[1-8,1", expected names '
         "as Slurm writes them: n[1-8,12]; a line that was cut ends like this: unset SLURM_TOPO_LEN, and save it "
         "again"),
        # Whole names are lost: only the switch above still has them.
        (SHOWN.replace("Nodes=r1n[3-4]", "Nodes=r1n3"), 'topology:5: found "r1n4" below "pod1", expected it at l1 and '
         "l2, too; a line that was cut ends like this: unset SLURM_TOPO_LEN, and save it again"),
        (SHOWN.replace("Nodes=r1n[1-4] ", "Nodes=r1n[1-3] "), 'topology:5: found "r1n4" at l1 and l2, expected it '
         'below "pod1", too; a line that was cut ends like this: unset SLURM_TOPO_LEN, and save it again'),
        (SHOWN.partition(" Switches=l[3")[0], 'topology:6: found switch "pod2" of level "1" without Switches, expected '
         "level 0 for a leaf switch, and Switches for each other one; save it again: scontrol show topology > FILE"),
        ("SwitchName=a Level=0 Nodes=n1\nSwitchName=b Level=0 Nodes=n1 Switches=a", 'topology:2: found switch "b" of '
         'level "0" with Switches, expected level 0 for a leaf switch, and Switches for each other one; save it again: '
         "scontrol show topology > FILE"),
        ("BlockName=b Nodes=n1\nBlockSizes=" + "9" * 5000, f"topology:2: found block sizes {'9' * 60}, expected "
         "numbers of nodes: 16,64"),
        ("RingName=r Nodes=n[1-8]", "topology:1: found topology/ring, expected topology/tree or topology/block; leave "
         "topology out: others have no leaf switches"),
        ("BlockName=b Nodes=n1\nSwitchName=a Nodes=n2", "topology:2: found SwitchName beside BlockName, expected one "
         "of them: a tree of switches, or blocks of nodes"),
        ("BlockName=b Nodes=n1\nBlockSizes=two", "topology:2: found block sizes two, expected numbers of nodes: 16,64"),
        ("- topology: all\n  flat: true\n", "topology:2: found topology/flat, expected topology/tree or "
         "topology/block; leave topology out: others have no leaf switches"),
        ("- topology: a\n  tree:\n    switches:\n    - switch: x\n      nodes: n1\n      children: y\n", "topology:4: "
         'found switch "x" with nodes and children, expected one of them; Slurm drops the children'),
        ("- topology: a\n  tree:\n    switches:\n    - switch: x\n      node: n1\n", 'topology:4: found the parameter '
         '"node", expected one of switch, children and nodes; did you mean "nodes"?'),
        ("- topology: a\n  tree: {}\n", "topology:2: found no list of switches, expected a list of switches: lines "
         "that begin with a dash"),
        ("- topology: a\n  tree: {switches: []}\n  flat: true\n", "topology:1: found a topology with tree and flat, "
         "expected one of tree, block and flat"),
        ("- topology: a\n  flat: true\n- topology: b\n  flat: true\n", "topology: found 2 topologies (a and b), none "
         "with cluster_default: true, expected the name of one beside slurm; add name: a to topology"),
        ("topology: a\n", "topology:1: found no list of topologies, expected a list of topologies: lines that begin "
         "with a dash"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_a_sentence_with_its_line(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        read(text)
    assert str(refused.value) == said


def test_a_name_that_the_file_lacks_is_a_sentence() -> None:
    with pytest.raises(InputError) as refused:
        read(YAML, "pdos")
    assert str(refused.value) == (
        'topology: found no topology "pdos", expected a topology of this file; did you mean "pods"?'
    )
    with pytest.raises(InputError) as refused:
        read(SHOWN, "pods")
    assert str(refused.value) == (
        'topology: found no topology "pods": only topology.yaml has names, expected a topology.yaml'
    )
