"""All pairs of four nodes on the virtual cluster: healthy, with a planted slow rail, and with one slow pair."""

import pytest

from railyard.verdict.wording import WITH_EVERY
from tests.e2e.conftest import Ran, VirtualSite, suspects, verdict_summary

pytestmark = [pytest.mark.e2e, pytest.mark.full]

STACKS = ("mpich", "openmpi", "intelmpi")


def assert_pass(ran: Ran) -> None:
    assert (ran.code, ran.err, verdict_summary(ran.record)) == (0, "", ("pass", None, None))


def test_a_planted_slow_rail_is_named_and_no_neighbour(site: VirtualSite) -> None:
    with site.bed() as bed:
        bed.degrade("vn2", "hsn1", "slow", 30)
        ran = site.cell("AllPairs", "mpich", 2)
    record = ran.record
    assert (ran.code, verdict_summary(record)) == (1, ("fail", 5, "fabric"))
    # The rail of the node, not its other rail, and none of the three nodes with which it was slow.
    assert suspects(record) == {("rail", "vn2", "hsn1")}
    assert f"hsn1 of vn2 is slow {WITH_EVERY}: " in record.found.verdict.text
    # The matrix shows it: a row and a column.
    assert record.found.pairs is not None
    nodes, bound = record.found.pairs.nodes, record.found.pairs.expected or 0
    low = {(a, b) for a, row in zip(nodes, record.found.pairs.values, strict=True)
           for b, value in zip(nodes, row, strict=True) if value is not None and value < bound}  # fmt: skip
    assert low == {(a, b) for a in nodes for b in nodes if a != b and "vn2" in (a, b)}
    assert record.found.pairs.again


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize(("fabric", "rails"), [("hsn", 1), ("hsn", 2), ("eth", 1)])
def test_healthy_pairs_pass(fabric: str, rails: int, stack: str, site: VirtualSite) -> None:
    ran = site.cell("(AllPairs|Bisection)", stack, rails, fabric=fabric)
    assert (ran.code, ran.err) == (0, "")
    assert [verdict_summary(record) for record in ran.records] == [("pass", None, None)] * 2


@pytest.mark.parametrize("stack", ["openmpi", "intelmpi"])
def test_a_planted_slow_rail_is_named_with_each_stack(stack: str, site: VirtualSite) -> None:
    with site.bed() as bed:
        bed.degrade("vn3", "hsn0", "slow", 30)
        ran = site.cell("AllPairs", stack, 2)
    assert (ran.code, suspects(ran.record)) == (1, {("rail", "vn3", "hsn0")})


def test_one_slow_pair_is_named_and_neither_of_its_nodes(site: VirtualSite) -> None:
    with site.bed() as bed:
        # Only what vn1 sends to vn3 gets a traffic class of its own, at a quarter of the rate.
        address = bed.spec.address("vn3", "hsn0")
        slow = (
            "tc class replace dev hsn0 parent 1: classid 1:2 htb rate 30mbit ceil 30mbit burst 16k cburst 16k"
            " quantum 60000 && nft 'add table inet t; add chain inet t o { type filter hook postrouting priority 0; }; "
            f"add rule inet t o ip daddr {address} meta priority set 1:2'"
        )
        done = bed.exec("vn1", ["sh", "-c", slow])
        assert (done.returncode, done.stderr) == (0, "")
        ran = site.cell("AllPairs", "mpich", 1)
    assert (ran.code, verdict_summary(ran.record)) == (1, ("fail", 5, "fabric"))
    assert suspects(ran.record) == {("pair", "vn1-vn3", "hsn0")}


def test_of_one_rail_the_slow_one_is_named(site: VirtualSite) -> None:
    with site.bed() as bed:
        bed.degrade("vn4", "eth0", "slow", 20)
        ran = site.cell("AllPairs", "mpich", 1, fabric="eth")
    assert (ran.code, suspects(ran.record)) == (1, {("rail", "vn4", "eth0")})


@pytest.mark.parametrize("stack", STACKS)
def test_a_pair_within_each_node_uses_no_network(stack: str, site: VirtualSite) -> None:
    assert_pass(site.cell("OnNodePair", stack, 1))
