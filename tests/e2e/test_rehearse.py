"""`railyard rehearse` on the command line, and that nothing takes a rehearsal for a measurement.

test_rehearsals.py has all systems, healthy and with each fault.

Skipped, with the reason, if Slurm is not installed (`make needs SLURM=1`) or namespaces are not permitted.
"""

import shutil

import pytest

from railyard.results.record.file import FILE_NAME, append_record, read_records
from tests.e2e.conftest import RAILYARD, VirtualSite, rehearse

# It does not measure, but waits for a measurement.
pytestmark = pytest.mark.e2e

ONE_CHECK = ("-n", "OsuBandwidth", "-p", "openmpi")


def test_a_healthy_cluster_passes_and_is_nowhere_a_measurement(rehearsed_site: VirtualSite) -> None:
    site = rehearsed_site
    ran, records = rehearse(site, "--system", "ndr", "--nodes", "4", *ONE_CHECK)
    assert ran.code == 0
    first = next(line for line in ran.lines if not line.startswith("waiting: "))
    assert first == "A rehearsal of ndr: 4 nodes (n1, n2, n9, n10); planted: nothing; nothing is measured"
    assert ran.lines[-1] == "nothing was planted: no test failed"
    assert [(record.test.rails, record.found.state) for record in records] == [(1, "pass"), (2, "pass")]
    for record in records:
        assert record.how.path_proof is not None and record.how.path_proof.state == "proven"
        assert record.made.rehearsal is not None and "linkage: not judged" in record.made.rehearsal
        assert record.where.scheduler == "slurm-nodb" and record.where.job_id
    assert not (site.folder / ".railyard/runs").exists()
    assert not (site.folder / ".railyard/rehearsal-bed").exists()
    (page,) = (site.folder / ".railyard/rehearsals").glob("*/report.html")
    assert "This is a rehearsal with stand-ins" in page.read_text(encoding="utf-8")


def fake_measurement(site: VirtualSite, run: str) -> None:
    """Make the newest rehearsal's files look like a run of measurements: otherwise a rehearsal cannot be recorded."""
    source = sorted((site.folder / ".railyard/rehearsals").glob("2*"))[-1]
    folder = site.folder / ".railyard/runs" / run
    shutil.copytree(source / "outputs", folder / "outputs")
    for record in read_records(source).records:
        append_record(folder / FILE_NAME, record.with_fields(rehearsal=None, run=run))


@pytest.mark.full
def test_a_rehearsal_from_a_recorded_run_plays_its_outputs_and_counters(rehearsed_site: VirtualSite) -> None:
    site = rehearsed_site
    one_launch = ("-n", r"ImbUniband%rails=[12]$", "-p", "intelmpi")
    _, healthy = rehearse(site, "--system", "ndr", "--nodes", "2", *one_launch)
    fake_measurement(site, "healthy")
    recorded = site.finish(*RAILYARD, "record", "healthy")
    assert recorded.code == 0 and recorded.out.count("imb/Uniband, recorded, with its counters") == 2, (
        recorded.full_text
    )
    ran, records = rehearse(site, "--system", "ndr", "--nodes", "2", "--recording", "recordings/ndr", *one_launch)
    assert ran.code == 0, ran.full_text
    assert "genuine outputs of recordings/ndr: in 2 of 2 tests" in ran.lines
    for then, now in zip(healthy, records, strict=True):
        assert (now.test.case, now.found.state, now.found.curves) == (
            then.test.case,
            then.found.state,
            then.found.curves,
        )
        assert now.how.path_proof == then.how.path_proof
        assert (now.made.rehearsed_output or "").startswith("a genuine output of 20")

    fault = "rail=n1:mlx5_1,idle"  # the first rank's node, whichever nodes are up
    asked = ("--system", "ndr", "--nodes", "2", "-n", "ImbUniband%rails=2$", "-p", "intelmpi")
    _, (planted,) = rehearse(site, *asked, "--fault", fault)
    fake_measurement(site, "idle")
    assert site.finish(*RAILYARD, "record", "idle", "--replace").code == 0
    ran, (played,) = rehearse(site, *asked, "--recording", "recordings/ndr")
    assert (ran.code, played.found.verdict.rule) == (1, 4)
    assert played.found.verdict.sentence == planted.found.verdict.sentence
    assert "idle" in played.found.verdict.sentence
    ran, (made,) = rehearse(site, *asked, "--recording", "recordings/ndr", "--fault", fault)
    assert (made.made.rehearsed_output or "").startswith(f"made by the model: {fault} is planted on its nodes")
    assert "genuine outputs of recordings/ndr: in 0 of 1 test" in ran.lines
