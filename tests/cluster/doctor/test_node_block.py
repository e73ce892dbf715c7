"""What doctor.sh printed, joined per node: lines may be mixed, prefixed, cut, or from two nodes with one name."""

from collections.abc import Callable

from railyard.cluster.doctor.node_block import parse

Block = Callable[..., str]


def test_every_kind_of_line_is_kept(healthy_block: Block) -> None:
    (node,) = parse(healthy_block("roce"))
    assert (node.name, node.format, node.whole) == ("n1", "1", True)
    assert (node.facts["memlock_kb"], node.number("load"), node.number("hugepages")) == ("unlimited", 0.1, 0.0)
    assert node.facts["transparent_hugepages"] == "always [madvise] never"
    assert node.device("mlx5_0:1")["rate"] == "100 Gb/sec (4X EDR)"
    assert node.device("mlx5_9:1") == {}
    assert node.modules == {"ib_uverbs", "rdma_ucm"}
    assert node.subnets == [("ens0", "0001010A", "00FFFFFF"), ("ens1", "0101010A", "00FFFFFF")]
    assert (node.cstates, node.verbs) == ([(2, "C1")], {"uverbs0": True, "uverbs1": True})
    assert node.gids == {"mlx5_0:1": [3], "mlx5_1:1": [3]}
    assert node.processes == []


def test_lines_of_two_nodes_may_come_mixed_and_with_a_launchers_label(healthy_block: Block) -> None:
    first = healthy_block("eth", "n1", 1).splitlines()
    second = healthy_block("eth", "n2", 2).splitlines()
    mixed = [line for pair in zip(first, second, strict=True) for line in (f"0: {pair[0]}", f"1: {pair[1]}")]
    one, two = parse("\n".join(["a message of the day", *mixed]))
    assert (one.name, one.facts["address"], one.whole) == ("n1", "10.0.0.1", True)
    assert (two.name, two.facts["address"], two.whole) == ("n2", "10.0.0.2", True)


def test_two_nodes_of_one_name_stay_two(healthy_block: Block) -> None:
    nodes = parse(healthy_block("eth", "n1", 1) + healthy_block("eth", "n1", 2))
    assert [(node.name, node.facts["address"]) for node in nodes] == [("n1", "10.0.0.1"), ("n1", "10.0.0.2")]


def test_a_cut_answer_is_not_whole_and_strange_lines_are_passed_over(healthy_block: Block) -> None:
    text = healthy_block("eth").replace("cstate 2 C1", "cstate soon C1").replace("uverbs uverbs0 open", "verbs")
    (node,) = parse(text.rpartition("railyard-doctor")[0])
    assert (node.whole, node.cstates, node.verbs) == (False, [], {"uverbs1": True})
    assert parse("nothing of ours\n") == ()
    assert node.number("governor") is None
