"""A NIC per rank on the virtual cluster: Intel MPI over PSM3, one pair of ranks per rail, and both rails proven."""

import pytest

from tests.e2e.conftest import VirtualSite, verdict_summary

pytestmark = [pytest.mark.e2e, pytest.mark.full]

STREAM = ("--system", "virtual:hsn", "-p", "intelmpi", "-n", "ImbUniband", "-P", "policy=nic-per-rank")


def test_each_rail_carries_its_ranks_half_and_both_are_proven(site: VirtualSite) -> None:
    ran = site.run(*STREAM)
    assert (ran.code, len(ran.records)) == (0, 1), ran.full_text
    record, proof = ran.record, ran.record.how.path_proof
    assert proof is not None
    assert (record.test.policy, record.test.rails, proof.state) == ("nic-per-rank", 2, "proven")
    shares = {rail.device: rail.share for node in proof.nodes for rail in node.rails if rail.meant}
    assert set(shares) == {"hsn0", "hsn1"}
    assert all(share is not None and 0.4 < share < 0.6 for share in shares.values())


def test_a_slow_rail_of_one_node_is_named_by_a_rank_a_node(site: VirtualSite) -> None:
    with site.bed() as bed:
        bed.degrade("vn2", "hsn1", "slow", 12)
        ran = site.run(*STREAM)
    assert ran.code == 1
    assert verdict_summary(ran.record) == ("fail", 5, "fabric")
    assert [(one.node, one.rail) for one in ran.record.found.verdict.suspects] == [("vn2", "hsn1")]
