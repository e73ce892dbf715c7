"""`railyard rehearse` as a person types it: a made cluster with two rails of NDR a node, healthy and with faults.

Skipped, with the reason, where Slurm is not installed (`make needs SLURM=1`) or namespaces are not permitted.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from railyard.provision.rehearsal import bed
from railyard.results.record.file import read_records
from railyard.results.record.form import Record
from tests.e2e.conftest import CLONE, RAILYARD, Ran, VirtualSite, suspects

# It measures nothing, but waits for whoever does.
pytestmark = [pytest.mark.e2e, pytest.mark.measures]

ONE_CHECK = ("-n", "OsuBandwidth", "-p", "openmpi")
#: System: a few of its checks, as a pattern of names, and the stacks that they run with.
HEALTHY = {
    "ndr": ("^(HplEveryNode|StreamEveryNode|Hpcc|OsuMessageRate)%", {"openmpi", "intelmpi"}),
    "roce": ("^(OsuBandwidth|WriteBandwidth|ImbUniband)%", {"openmpi", "mpich", "verbs"}),
    "slingshot": ("^(OsuBandwidth|OsuMessageRate|OnNodePair|Hpl)%", {"craympich", "mpich"}),
    "fat": ("^(OsuBandwidth|WriteBandwidth)%", {"openmpi", "mvapich", "verbs"}),
    "edr": ("^(OsuBandwidth|WriteLatency|ImbAllreduce)%", {"openmpi", "intelmpi", "mvapich2", "verbs"}),
}


@pytest.fixture
def site() -> Iterator[VirtualSite]:
    """Return a site of its own with the made cluster; at the end its rehearsal is down and its folder gone."""
    refused = bed.refused()
    if refused is not None:
        pytest.skip(refused)
    folder = Path(tempfile.mkdtemp(prefix="railyard-site-"))
    for name in ("systems", "references"):
        shutil.copytree(CLONE / "tests/sites/rehearsed" / name, folder / name)
    shutil.copy(CLONE / "reframe_settings.py", folder)
    yield VirtualSite(folder)
    bed.down(folder)
    shutil.rmtree(folder)


def rehearse(site: VirtualSite, *words: str, system: str = "ndr") -> tuple[Ran, tuple[Record, ...]]:
    """Return what a rehearsal printed, and its records."""
    ran = site.finish(*RAILYARD, "rehearse", "--system", system, *words)
    folders = sorted((site.folder / ".railyard/rehearsals").glob("2*"))
    return ran, read_records(folders[-1]).records if folders else ()


def test_a_healthy_cluster_passes_and_is_nowhere_a_measurement(site: VirtualSite) -> None:
    ran, records = rehearse(site, "--nodes", "4", *ONE_CHECK)
    assert ran.code == 0
    assert ran.lines[0] == "A rehearsal of ndr: 4 nodes (n1, n2, n9, n10); planted: nothing; nothing is measured"
    assert ran.lines[-1] == "nothing was planted: no test failed"
    assert [(record.rails, record.state) for record in records] == [(1, "pass"), (2, "pass")]
    for record in records:
        assert record.path_proof is not None and record.path_proof.state == "proven"
        assert record.rehearsal is not None and "linkage: a stand-in's" in record.rehearsal
        assert record.scheduler == "slurm-nodb" and record.job_id
    assert not (site.folder / ".railyard/runs").exists()
    assert not (site.folder / ".railyard/rehearsal-bed").exists()
    (page,) = (site.folder / ".railyard/rehearsals").glob("*/report.html")
    assert "This is a rehearsal with stand-ins" in page.read_text(encoding="utf-8")


@pytest.mark.full
def test_a_slow_rail_of_one_node_is_named(site: VirtualSite) -> None:
    # With fewer nodes there are no two good partners at each side.
    fault = ("--nodes", "8", "--fault", "rail=n9:mlx5_1,share=0.5")
    ran, records = rehearse(site, *fault, "-n", "AllPairs%rails=2", "-p", "openmpi")
    assert ran.code == 1
    assert "planted rail=n9:mlx5_1,share=0.5: named by 1 of 1 failed test" in ran.lines
    assert suspects(records[-1]) == {("rail", "n9", "mlx5_1:1")}


@pytest.mark.full
def test_another_transport_fails_the_path(site: VirtualSite) -> None:
    ran, records = rehearse(site, "--nodes", "2", "--fault", "fallback=tcp", *ONE_CHECK, "-P", "rails=1")
    assert ran.code == 1
    assert "planted fallback=tcp: named by 1 of 1 failed test" in ran.lines
    assert [record.verdict.rule for record in records] == [4]


@pytest.mark.full
@pytest.mark.parametrize("system", HEALTHY)
def test_a_healthy_system_of_each_kind_has_no_false_failure(site: VirtualSite, system: str) -> None:
    checks, stacks = HEALTHY[system]
    if system == "ndr":  # without references, as on its first day: they are of a few benchmarks alone
        site.edit("systems/ndr.yaml", "report_only: false", "report_only: nobody has measured it")
        (site.folder / "references/ndr.yaml").unlink()
    ran, records = rehearse(site, "--nodes", "4", "--extended", "-n", checks, system=system)
    assert ran.lines[-1] == "nothing was planted: no test failed"
    assert ran.code == 0
    assert {record.state for record in records} == {"report-only"}
    assert {record.stack for record in records} == stacks
