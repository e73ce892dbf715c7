"""What a wrong setting in a site's file would do on the real machine, shown by a rehearsal.

Skipped, with the reason, if Slurm is not installed (`make needs SLURM=1`) or namespaces are not permitted.
"""

import pytest

from railyard.verdict.wording import IDLE_SECOND
from tests.e2e.conftest import VirtualSite, rehearse, suspects

pytestmark = [pytest.mark.e2e, pytest.mark.measures, pytest.mark.full]

FILE = "systems/ndr.yaml"
BANDWIDTH = ("--system", "ndr", "--nodes", "2", "-n", "OsuBandwidth", "-p", "openmpi")


@pytest.mark.fault("stack", "a site's variable by which messages are never split", IDLE_SECOND)
def test_a_variable_that_keeps_messages_whole_leaves_a_rail_idle(rehearsed_site: VirtualSite, promise: str) -> None:
    rehearsed_site.edit(FILE, "  openmpi:\n", '  openmpi:\n    env: {UCX_RNDV_THRESH: "inf"}\n')
    ran, (record,) = rehearse(rehearsed_site, *BANDWIDTH, "-P", "rails=2")
    assert ran.code == 1
    assert record.found.verdict.rule == 4 and promise in record.found.verdict.text
    assert {kind for kind, _, _ in suspects(record)} == {"stack"}


@pytest.mark.fault("scheduler", "an option of srun in access, which sbatch does not know", "unrecognized option")
def test_an_option_that_sbatch_does_not_know_is_quoted(rehearsed_site: VirtualSite, promise: str) -> None:
    rehearsed_site.edit(FILE, "launcher: srun\n", "launcher: srun\naccess: [--cpu-bind=none]\n")
    ran, (record,) = rehearse(rehearsed_site, *BANDWIDTH, "-P", "rails=1")
    assert ran.code == 2  # no test could begin
    assert record.found.verdict.rule == 1 and f"{promise} '--cpu-bind=none'" in record.found.verdict.text
    assert suspects(record) == set()


@pytest.mark.fault("session", "two repetitions of osu_latency over a link of NDR", "is above 5.000 us")
def test_too_few_repetitions_measure_the_start_of_the_processors(rehearsed_site: VirtualSite, promise: str) -> None:
    latency = ("--system", "ndr", "--nodes", "2", "-n", "OsuLatency", "-p", "openmpi", "-P", "rails=1")
    ran, (record,) = rehearse(rehearsed_site, *latency, "-S", "repetitions=2")
    assert ran.code == 1 and promise in record.found.verdict.text
    ran, (record,) = rehearse(rehearsed_site, *latency)
    assert ran.code == 0 and record.found.state == "pass"


@pytest.mark.fault("scheduler", "jobs that do not ask for whole nodes", "gives parts of nodes: other jobs can share")
def test_jobs_without_whole_nodes_are_warned_of(rehearsed_site: VirtualSite, promise: str) -> None:
    rehearsed_site.edit(FILE, "  exclusive: true\n", "")
    ran, (record,) = rehearse(rehearsed_site, *BANDWIDTH, "-P", "rails=1")
    assert promise in ran.out and "write jobs: {exclusive: true}" in ran.out
    assert record.found.state == "pass"  # no other job was there
