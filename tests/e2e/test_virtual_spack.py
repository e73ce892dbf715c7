"""OSU, built by the real Spack for two stacks, on the virtual cluster: 24 cells in one `reframe -r`, each proven."""

import pytest

from railyard.base.errors import RailyardError
from railyard.provision.spack.program import program
from railyard.provision.spack.request import ready, requests
from tests.e2e.conftest import CLONE, VirtualSite

EVERYDAY = "Osu(Latency|Bandwidth|Bidirectional|Allreduce)"
EXTENDED = "Osu(MessageRate|MultiLatency|Collective|Init|Put|Get)"

pytestmark = [pytest.mark.e2e, pytest.mark.full]


def why_not_built() -> str | None:
    """Return why Spack's benchmarks are not here and cannot be built, or None."""
    try:
        missing = [request.stack for request in requests(CLONE, "virtual") if ready(request) is None]
    except RailyardError as error:
        return str(error)
    if not missing or program(CLONE) is not None:
        return None
    return f"there is no Spack, and nothing is built for {' and '.join(missing)}: railyard spack bootstrap"


@pytest.fixture
def built_programs() -> None:
    reason = why_not_built()
    if reason is not None:
        pytest.skip(reason)


def test_osu_of_two_stacks_passes_on_both_fabrics_with_its_proof(
    cluster: None, machine: None, built_programs: None
) -> None:
    ran = VirtualSite(CLONE).run("--system", "virtual", "--spack", "-n", EVERYDAY)
    assert ran.code == 0, ran.full_text
    assert {(record.test.stack, record.where.fabric, record.test.rails) for record in ran.records} == {
        (stack, fabric, rails)
        for stack in ("openmpi", "mpich")
        for fabric, rails in (("hsn", 1), ("hsn", 2), ("eth", 1))
    }
    assert len(ran.records) == 24
    for record in ran.records:
        assert record.found.state == "pass", record.found.verdict.text
        assert record.how.path_proof is not None and record.how.path_proof.state == "proven"
        assert record.found.verdict.rules[0].sentence.endswith("validated by the benchmark itself")
        spack = record.how.environment["spack"]
        assert isinstance(spack, dict)
        assert spack["mpi"].startswith(f"{record.test.stack}@")
        assert any(spec.startswith("osu-micro-benchmarks@7.4 ") for spec in spack["specs"])


@pytest.mark.parametrize(("stack", "rails"), [("mpich", 1), ("openmpi", 2)])
def test_the_extended_checks_pass(stack: str, rails: int, cluster: None, machine: None, built_programs: None) -> None:
    names = f"{EXTENDED}.*%rails={rails}"
    ran = VirtualSite(CLONE).run("--system", "virtual:hsn", "--spack", "-p", stack, "-n", names)
    assert ran.code == 0, ran.full_text
    states = {record.test.benchmark: record.found.state for record in ran.records}
    reported = {"osu/osu_init", "osu/osu_barrier"}
    assert len(states) == 14
    assert {key for key, state in states.items() if state == "report-only"} == reported
    assert {state for key, state in states.items() if key not in reported} == {"pass"}
