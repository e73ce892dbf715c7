"""A preflight in a real job of Slurm on the virtual cluster: healthy, with a slow rail, another network, a dead node.

Skipped, with the reason, if Slurm is not installed (`make needs SLURM=1`) or the user is not root.
"""

import json
import re
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from railyard.provision.testbed import slurm
from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.lock import measurement_lock
from tests import disturbances
from tests.e2e.conftest import RAILYARD, VirtualSite
from tests.made.slurm_ends import kill_node

pytestmark = pytest.mark.e2e

#: Open MPI's own words for another network than the one that it is told to use.
ASTRAY = """\
#!/bin/sh
export OMPI_MCA_btl_tcp_if_include=eth0
exec {program} "$@"
"""
#: What the job waits for: so a node can die after the job has begun and before the preflight starts.
GO = "go"


@pytest.fixture(scope="module")
def slurm_there() -> None:
    refused = slurm.SLURM.find_refusal()
    if refused is not None:
        pytest.skip(refused)


@pytest.fixture
def bed(slurm_there: None, site: VirtualSite) -> Iterator[Testbed]:
    """Return the virtual cluster of the site, with Slurm on it."""
    with site.bed_of_system() as bed:
        slurm.start(bed)
        yield bed


def preflight(
    site: VirtualSite, *options: str, nodes: int = 4, before: Callable[[], object] = lambda: None
) -> tuple[int, dict[str, Any], str]:
    """Return exit code, answer and list of nodes of a preflight in a job; ``before`` is done when the job has begun."""
    words = [*RAILYARD, "preflight", "--system", "virtual-slurm", "--json", "--limit", "120s", *options]
    words += ["--write-hosts", str(site.folder / "good.txt")]
    go = shlex.quote(str(site.folder / GO))
    script = f"touch {go}.begun; while [ ! -e {go} ]; do sleep 0.1; done; exec {shlex.join(words)}"
    salloc = site.folder / ".railyard/testbed/slurm/bin/salloc"
    with (
        measurement_lock(lambda sentence: None, site.folder),
        site.start(str(salloc), "--quiet", f"--nodes={nodes}", "--exclusive", "sh", "-c", script) as running,
    ):
        try:
            while not Path(f"{go}.begun").exists() and running.poll() is None:
                time.sleep(0.1)
            before()
            (site.folder / GO).touch()
            out, err = running.communicate(timeout=300)
        finally:
            running.kill()
    for name in (GO, f"{GO}.begun"):
        (site.folder / name).unlink(missing_ok=True)
    found = next((line for line in out.splitlines() if line.startswith("{")), None)
    assert found is not None, out + err
    told = json.loads(found)
    print("\n".join((told["line"], *told["details"])))
    return running.returncode, told, (site.folder / "good.txt").read_text(encoding="utf-8")


def skip_disturbed(code: int, told: dict[str, Any]) -> None:
    """End the test if other work on this machine, or a bug of a launcher, kept the preflight from deciding."""
    if code == 3:
        disturbances.skip(told["line"])


def test_a_healthy_job_is_fit_and_a_slow_rail_is_named_with_its_node(site: VirtualSite, bed: Testbed) -> None:
    code, told, hosts = preflight(site)
    skip_disturbed(code, told)
    assert (code, told["state"], hosts) == (0, "fit", "vn[1-4]\n"), told["details"]
    assert {"links", "hsn0", "hsn1"} <= set(told["checked"])
    bed.degrade("vn2", "hsn1", "slow", 60)
    code, told, hosts = preflight(site, "--no-allreduce")
    skip_disturbed(code, told)
    assert (code, hosts) == (1, "vn[1,3-4]\n")
    assert re.match(
        r"preflight of 4 nodes: unfit: hsn1 of vn2 gives at most 7\.\d+ MB/s with vn\d and vn\d, ", told["line"]
    )
    assert [(fault["node"], fault["rail"]) for fault in told["faults"]] == [("vn2", "hsn1")]


@pytest.mark.full
def test_an_unplugged_rail_and_a_dead_node_are_named(site: VirtualSite, bed: Testbed) -> None:
    bed.degrade("vn3", "hsn0", "unplugged")
    code, told, hosts = preflight(site, "--no-allreduce", before=lambda: kill_node(bed, "vn4"))
    assert (code, hosts) == (1, "vn[1-2]\n"), told["details"]
    assert {fault["said"] for fault in told["faults"]} >= {
        "vn4 did not answer in a step of the job, others did",
        "vn3: hsn0: it has no carrier",
    }


@pytest.mark.full
def test_bytes_over_another_network_fail_the_job_and_blame_no_node(site: VirtualSite, bed: Testbed) -> None:
    program = site.folder / ".stacks/openmpi/bin/railyard-pairs"
    (site.folder / "astray").write_text(ASTRAY.format(program=program), encoding="utf-8")
    (site.folder / "astray").chmod(0o755)
    own, other = 'pairs: "{prefix}/bin/railyard-pairs"', 'pairs: "{home}/astray"'
    file = site.folder / "systems/virtual.yaml"
    file.write_text(file.read_text(encoding="utf-8").replace(own, other, 1), encoding="utf-8")
    code, told, hosts = preflight(site, "--no-allreduce")
    skip_disturbed(code, told)
    assert (code, hosts) == (1, "vn[1-4]\n")
    assert "went over eth0 of vn1, which is not an intended rail" in told["line"]
