"""Rules that compare nodes, each with a bad and a good case; and findings of many nodes put together."""

from collections.abc import Callable, Iterable

from railyard.base.errors import Finding, problem, remark
from railyard.cluster.doctor import judge
from railyard.cluster.doctor.judge import of_nodes, order_findings
from railyard.cluster.doctor.node_block import NodeState
from railyard.site.systems.model import System

Node = Callable[..., NodeState]


def sentences(found: Iterable[Finding]) -> list[str]:
    return [one.sentence for one in found]


def test_four_nodes_that_are_alike_have_nothing(node: Node, systems: dict[str, System]) -> None:
    nodes = [node("eth", name=f"e{number}", number=number) for number in range(1, 5)]
    assert of_nodes(nodes, systems["eth"], ("e1", "e2", "e3", "e4"), (999.0, 1003.0)) == ()


def test_a_node_that_did_not_answer_is_named(node: Node) -> None:
    there = [node("eth", name="e1.cluster.example")]
    assert sentences(judge.find_unanswered(there, ("e1", "e2"))) == [
        "e2: it did not answer; check whether it is up, and whether a job starts there"
    ]


def test_two_nodes_of_one_name_or_one_address(node: Node) -> None:
    twice = [node("eth", name="e1", number=1), node("eth", name="e1", number=2)]
    assert sentences(judge.unique(twice)) == [
        "e1: 2 nodes have this name; give each its own: counters and blame use a node's name"
    ]
    alike = [node("eth", name="e1", number=1), node("eth", name="e2", number=1)]
    assert sentences(judge.unique(alike)) == [
        "e1 and e2: their names resolve to one address, 10.0.0.1; correct DNS or /etc/hosts"
    ]


def test_two_nodes_with_one_address_on_a_network_of_the_rails_are_named(node: Node) -> None:
    def node_with(name: str, number: int, *addresses: str) -> NodeState:
        told = node("eth", name=name, number=number)
        told.own += addresses
        return told

    own = "172.17.0.1"  # docker0's, on every node
    one, two = node_with("e1", 1, "10.1.1.1", own), node_with("e2", 2, "10.1.1.2", own)
    assert sentences(judge.unique([one, two])) == []
    assert sentences(judge.unique([one, two, node_with("e3", 3, "10.1.1.3", "10.1.1.2", own)])) == [
        "e2 and e3: both have the address 10.1.1.2 on a network of the rails; give each node its own: which of them "
        "gets the messages is chance (ip address, arping)"
    ]


def test_a_clock_outside_of_the_step_is_wrong_by_what_it_lies_outside(node: Node) -> None:
    late = node("eth", "clock_s 1000", "clock_s 1060", name="e1")
    early = node("eth", "clock_s 1000", "clock_s 900", name="e2", number=2)
    well = node("eth", "clock_s 1000", "clock_s 1006", name="e3", number=3)
    fix = "let chrony or ntpd set it: otherwise records, logs and the scheduler's times do not fit together"
    assert sentences(judge.clocks([late, early, well], 1000.0, 1004.0)) == [
        f"e1: its clock is 54 s or more ahead of this host's; {fix}",
        f"e2: its clock is 98 s or more behind this host's; {fix}",
    ]


def test_the_odd_one_out_is_named_and_without_a_majority_nobody(node: Node, systems: dict[str, System]) -> None:
    nodes = [node("hdr", name=f"n{number}", number=number) for number in range(1, 4)]
    nodes[1].facts["governor"] = "powersave"
    nodes[2].devices["mlx5_1:1"]["firmware"] = "20.31.1014"
    firmware = [one.sentence for one in of_nodes(nodes, systems["hdr"]) if "firmware" in one.what]
    assert firmware == [
        "n3 mlx5_1: found firmware 20.31.1014, expected 20.35.1012, as on 2 of 3 cards; update it as on the others"
    ]
    fix = "make the nodes equal, or measure them separately"
    assert sentences(judge.find_differing(nodes)) == [
        f"n2: the frequency governor is powersave, on most nodes performance; {fix}",
    ]
    assert sentences(judge.find_differing(nodes[:2])) == []


def test_what_many_nodes_have_in_common_is_said_once_and_problems_come_first() -> None:
    many = [remark(f"n{number}", "it is warm", "open a window") for number in range(1, 9)]
    few = [remark(f"n{number}", "it is cold", "close it") for number in range(1, 6)]
    found = order_findings([*many, *few, problem("n3", "it is off", "switch it on")])
    assert [(one.weight, one.sentence) for one in found] == [
        ("problem", "n3: it is off; switch it on"),
        ("remark", "n1, n2, n3, n4 and 4 more: it is warm; open a window"),
        ("remark", "n1, n2, n3, n4, n5: it is cold; close it"),
    ]
