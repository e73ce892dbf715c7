"""An address that two nodes have: which node has whose address, from what both sides of a run say."""

from railyard.job.counters import Addresses, Neighbour, NodeCounters
from railyard.verdict.path.ports import find_conflicts
from railyard.verdict.rule_model import Conflict
from railyard.verdict.wording import path as path_words

#: Hardware addresses of vn1, vn2, and of a third machine.
ONE, TWO, THREE = "0a:00:00:00:01:01", "0a:00:00:00:01:02", "0a:00:00:00:01:03"


def node(name: str, hardware: str, address: str, *arp: tuple[str, str]) -> NodeCounters:
    table = tuple(Neighbour("hsn1", behind, which) for behind, which in arp)
    return NodeCounters(name, (), 1, addresses=Addresses({hardware: "hsn1"}, (address,), table))


def conflicts_between(first: NodeCounters, second: NodeCounters) -> tuple[Conflict, ...]:
    return find_conflicts({first.node: first, second.node: second}, ("hsn1",))


def test_hardware_that_is_not_the_owners_is_a_conflict() -> None:
    (one,) = conflicts_between(
        node("vn1", ONE, "10.1.2.1", ("10.1.2.2", THREE)), node("vn2", TWO, "10.1.2.2", ("10.1.2.1", ONE))
    )
    assert one == Conflict("10.1.2.2", "vn2", "hsn1", "vn1", THREE)
    who = path_words.a_stranger()
    assert one.sentence == path_words.second_owner(who, THREE, "10.1.2.2", "vn2", "vn1", "hsn1")


def test_an_address_that_its_owner_answers_for_is_none() -> None:
    first = node("vn1", ONE, "10.1.2.1", ("10.1.2.2", TWO), ("10.1.2.9", THREE))
    assert conflicts_between(first, node("vn2", TWO, "10.1.2.2", ("10.1.2.1", ONE))) == ()


def test_hardware_that_answers_for_several_nodes_is_a_router_and_no_second_owner() -> None:
    first, second = node("vn1", ONE, "10.1.2.1", ("10.1.2.2", THREE)), node("vn2", TWO, "10.1.2.2", ("10.1.2.1", THREE))
    assert conflicts_between(first, second) == ()


def test_nodes_that_were_not_asked_have_none() -> None:
    assert find_conflicts({"vn1": NodeCounters("vn1", (), 0), "vn2": NodeCounters("vn2", (), 0)}, ("hsn1",)) == ()


def test_a_node_of_the_run_that_took_the_others_address_is_known() -> None:
    first = node("vn1", ONE, "10.1.2.1", ("10.1.2.2", THREE))
    third = node("vn3", THREE, "10.1.2.3")
    (one,) = find_conflicts({"vn1": first, "vn2": node("vn2", TWO, "10.1.2.2"), "vn3": third}, ("hsn1",))
    assert (one.node, one.node_device) == ("vn3", "hsn1")
    assert one.sentence.startswith(f"hsn1 of vn3 ({THREE}) answers for 10.1.2.2, the address of vn2, as vn1 found ")


def test_a_network_that_the_run_did_not_use_has_no_part_in_it() -> None:
    first = node("vn1", ONE, "10.1.2.1", ("10.1.2.2", THREE))
    assert find_conflicts({"vn1": first, "vn2": node("vn2", TWO, "10.1.2.2")}, ("hsn0",)) == ()
