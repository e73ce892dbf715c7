"""HPL and NPB from the real Spack on the virtual cluster: sound, proven, and report-only, on one and two rails."""

from collections.abc import Iterable

import pytest

from railyard.results.record.form import Record
from railyard.results.remarks import why_too_short
from tests.e2e.conftest import CLONE, VirtualSite
from tests.e2e.test_virtual_spack import why_not_built

pytestmark = [pytest.mark.e2e, pytest.mark.full]

KERNELS = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")


@pytest.fixture
def built_programs() -> None:
    reason = why_not_built()
    if reason is not None:
        pytest.skip(reason)


def code_of(records: Iterable[Record]) -> int:
    """Return the exit code of a run without failures: 1 if all its tests ran too short a time to be judged."""
    return int(all(why_too_short(record) is not None for record in records))


@pytest.mark.parametrize("stack", ["openmpi", "mpich"])
def test_all_kernels_run_on_one_rail_and_on_two(stack: str, cluster: None, machine: None, built_programs: None) -> None:
    ran = VirtualSite(CLONE).run("--system", "virtual:hsn", "--spack", "-p", stack, "-n", "Npb%")
    assert ran.code == code_of(ran.records), ran.full_text
    assert {(record.test.benchmark, record.test.rails) for record in ran.records} == {
        (f"npb/{kernel.upper()}/{problem}", rails) for kernel in KERNELS for problem in "SW" for rails in (1, 2)
    }
    for record in ran.records:
        assert record.found.state == "report-only", record.found.verdict.text
        assert {figure.name for figure in record.found.figures} == {"op_rate", "runtime"}
        assert record.found.verdict.rules[0].sentence.endswith("validated by the benchmark itself")
        too_little = record.test.benchmark.startswith("npb/EP/") or record.test.benchmark in (
            "npb/IS/S",
            "npb/LU/S",
            "npb/MG/S",
        )
        if too_little:
            continue
        assert record.how.path_proof is not None
        # Messages that a stack does not split go over one of two rails, and the record says so.
        idled = (
            record.test.rails == 2
            and " idled on all of vn1, vn2, vn3 and vn4: " in record.found.verdict.rules[3].sentence
        )
        assert record.how.path_proof.state == ("not-judged" if idled else "proven"), record.test.case
    both = {record.test.benchmark for record in ran.records if record.test.rails == 2
            and record.how.path_proof is not None and record.how.path_proof.state == "proven"}  # fmt: skip
    # Open MPI splits from 256 KiB on, and a message of FT of class W has twice that; MPICH over UCX splits from 1 MiB
    # on.
    assert ("npb/FT/W" in both) is (stack == "openmpi")


@pytest.mark.parametrize("stack", ["openmpi", "mpich"])
def test_hpl_runs_on_all_nodes_and_on_each_alone(
    stack: str, cluster: None, machine: None, built_programs: None
) -> None:
    ran = VirtualSite(CLONE).run("--system", "virtual:hsn", "--spack", "-p", stack, "-t", "hpl")
    assert ran.code == 0, ran.full_text
    assert {(record.test.benchmark, record.test.rails, record.found.state) for record in ran.records} == {
        ("hpl/hpl", 1, "report-only"),
        ("hpl/hpl", 2, "report-only"),
        ("hpl/every-node", 1, "report-only"),
    }
    assert any("on a grid of 2x2, NB 192" in record.found.verdict.text for record in ran.records)


def test_a_sweep_over_nodes_is_put_together(cluster: None, machine: None, built_programs: None) -> None:
    from railyard.results.sweeps import sweeps

    ran = VirtualSite(CLONE).run("--system", "virtual:hsn", "--spack", "-p", "openmpi", "-n", "NpbScaling%.*problem=W")
    assert ran.code == code_of(ran.records), ran.full_text
    found = sweeps(ran.records)
    assert {(group.benchmark, group.rails) for group in found} == {
        (f"npb/{name}/W", rails) for name in ("EP", "FT") for rails in (1, 2)
    }
    assert all([point.nodes for point in made.points] == [1, 2, 4] for made in found.values())
