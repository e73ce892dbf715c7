"""The extended checks of IMB on the virtual cluster: all pass if it is healthy, and each fails with a slow rail."""

import pytest

from tests.e2e.conftest import VirtualSite, outcomes, verdict_summary

pytestmark = [pytest.mark.e2e, pytest.mark.full]

CHECKS = "Imb(Sendrecv|Exchange|Alltoall|Alltoallv)"


def test_an_everyday_run_leaves_them_out_and_says_so(site: VirtualSite) -> None:
    ran = site.run("--system", "virtual:eth", "-p", "mpich")
    assert ran.code == 0
    assert {record.test.check for record in ran.records} == {"ImbPingPong", "ImbUniband", "ImbBiband", "ImbAllreduce"}
    assert any(line.endswith("extended tests are left out: railyard run --extended (make run EXTENDED=1)")
               for line in ran.lines)  # fmt: skip


@pytest.mark.parametrize(("stack", "rails"), [("mpich", 2), ("intelmpi", 1)])
def test_healthy_rails_pass_with_their_proof(stack: str, rails: int, site: VirtualSite) -> None:
    ran = site.run("--system", "virtual:hsn", "-p", stack, "-n", f"{CHECKS}%rails={rails}")
    assert ran.code == 0, ran.full_text
    assert len(ran.records) == 4
    assert set(outcomes(ran.records).values()) == {("pass", None, None)}
    assert {record.how.path_proof.state for record in ran.records if record.how.path_proof is not None} == {"proven"}


def test_a_rail_at_a_tenth_of_its_rate_fails_each_and_is_named(site: VirtualSite) -> None:
    with site.bed() as bed:
        bed.degrade("vn2", "hsn0", "slow", 12)
        ran = site.run("--system", "virtual:hsn", "-p", "mpich", "-n", f"{CHECKS}%rails=1")
    assert ran.code == 1
    assert len(ran.records) == 4
    for record in ran.records:
        assert verdict_summary(record) == ("fail", 5, "fabric")
        assert [(one.node, one.rail) for one in record.found.verdict.suspects] == [("vn2", "hsn0")]
