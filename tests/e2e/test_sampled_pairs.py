"""A sample of the pairs of four nodes on the virtual cluster: in one allocation, and in groups as nodes come free."""

import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from railyard.provision.testbed.cluster import Testbed
from railyard.provision.testbed.lock import measurement_lock
from railyard.results.record.form import Record
from railyard.verdict.wording.gpu_runs import BROKEN_TWICE
from tests.e2e.conftest import RAILYARD, VirtualSite, skip_disturbed, suspects, verdict_summary
from tests.e2e.test_slurm import client, scontrol, slurm_there, with_slurm
from tests.patience import PATIENCE_S, wait_for

pytestmark = pytest.mark.e2e
full = pytest.mark.full
ROLLING = ("pairs", "run", "--system", "virtual-slurm:hsn", "--stack", "mpich", "--rolling", "--seed", "1")
__all__ = ["slurm_there", "with_slurm"]  # fixtures


@dataclass(frozen=True)
class GroupedRun:
    """How a run in groups ended, what it said on its error output, and its record."""

    code: int
    said: str
    record: Record


@contextmanager
def hold_node(site: VirtualSite, bed: Testbed, node: str) -> Iterator[Path]:
    """Hold a node with another job until the yielded file is removed."""
    file = site.folder / "busy"
    file.touch()
    script = site.folder / "busy.sh"
    script.write_text(f"#!/bin/sh\nwhile [ -e {file} ]; do sleep 0.2; done\n", encoding="utf-8")
    options = ("--exclusive", "--time=30", "--output=/dev/null", f"--chdir={site.folder}")
    client(bed, "sbatch", f"--nodelist={node}", *options, str(script))
    wait_for(lambda: f"NodeList={node} " in scontrol(bed, "-o", "show", "job"), f"the job on {node}")
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


def in_groups(site: VirtualSite, while_it_runs: Callable[["subprocess.Popen[str]"], None], *options: str) -> GroupedRun:
    """Run pairs in groups, do something meanwhile, and return the outcome; skip a run that was disturbed."""
    with measurement_lock(lambda sentence: None, site.folder), site.start(*RAILYARD, *ROLLING, *options) as running:
        try:
            while_it_runs(running)
            out, err = running.communicate(timeout=PATIENCE_S)
        finally:
            running.kill()
    print(out, err)
    (record,) = site.records()
    return GroupedRun(running.returncode, err, record)


def sample_ends(site: VirtualSite) -> list[Path]:
    """Return the ends of the groups of the sample that are measured."""
    return sorted(site.folder.glob(".railyard/rolling/*/sample/*/end"))


@full
def test_a_busy_node_is_tested_later_and_a_slow_rail_is_named_by_nodes_of_another_group(
    with_slurm: tuple[VirtualSite, Testbed], cluster: None
) -> None:
    site, bed = with_slurm
    bed.degrade("vn2", "hsn1", "slow", 30)

    def let_go(running: "subprocess.Popen[str]") -> None:
        wait_for(lambda: len(sample_ends(site)) == 1 or running.poll() is not None, "the first group")
        scontrol(bed, "show", "job")
        busy.unlink()

    with hold_node(site, bed, "vn3") as busy:
        ran = in_groups(site, let_go, "--group", "2")
    assert ran.code == 1
    # vn3 was busy, and its group is the one that was measured last.
    groups = {
        end.parent.name: (end.parent / "hosts.txt").read_text(encoding="ascii").split() for end in sample_ends(site)
    }
    assert "vn3" in groups["2"]
    assert (sample_ends(site)[0].stat().st_mtime, len(groups)) < (sample_ends(site)[1].stat().st_mtime, 3)
    # Slurm's pmi2 may break both starts of the step that measures each rail alone: then the node is all that is known.
    if f"confirm-2: {BROKEN_TWICE}" in ran.said:
        assert suspects(ran.record) == {("node", "vn2", None)}
        assert "it is undecided which rail it is" in ran.record.found.verdict.text
        assert f"confirm-2: {BROKEN_TWICE}" in ran.record.found.verdict.text
    else:
        assert suspects(ran.record) == {("rail", "vn2", "hsn1")}
    assert verdict_summary(ran.record) == ("fail", 5, "fabric")
    assert (ran.record.how.path_proof is not None and ran.record.how.path_proof.state, len(ran.record.where.nodes)) == (
        "proven",
        4,
    )
    assert ran.record.found.pairs is not None and ran.record.found.pairs.sample is not None
    covered = {one.of: (one.used, one.all) for one in ran.record.found.pairs.sample.covered}
    assert covered["nodes"] == (4, 4)


def test_a_node_that_is_drained_while_it_waits_is_said_and_the_others_are_measured(
    with_slurm: tuple[VirtualSite, Testbed], cluster: None
) -> None:
    site, bed = with_slurm

    def drain(running: "subprocess.Popen[str]") -> None:
        wait_for(lambda: "JobName=railyard-pairs" in scontrol(bed, "-o", "show", "job"), "the job of the group")
        scontrol(bed, "update", "NodeName=vn4", "State=DRAIN", "Reason=bad cable")
        task = re.compile(r"JobName=railyard-pairs .*ReqNodeList=vn1,vn2,vn3 ")
        wait_for(lambda: bool(task.search(scontrol(bed, "-o", "show", "job"))), "the group without vn4")
        busy.unlink()

    with hold_node(site, bed, "vn3") as busy:
        ran = in_groups(site, drain, "--group", "4")
    assert "group 1 goes on without vn4: vn4 is drained (bad cable)" in ran.said
    assert ran.record.where.nodes == ("vn1", "vn2", "vn3")
    assert "3 of 4 nodes were measured, not vn4 (drained (bad cable))" in ran.record.found.verdict.remarks
    assert (ran.code, verdict_summary(ran.record)) == (0, ("pass", None, None))


@full
def test_a_healthy_sample_within_one_allocation_passes_and_says_what_it_covered(site: VirtualSite) -> None:
    ran = site.cell("SampledPairs", "mpich", 2, "-S", "SampledPairs.budget=3m")
    assert (ran.code, ran.err, verdict_summary(ran.record)) == (0, "", ("pass", None, None))
    assert "nobody that was measured is named as slow: healthy is " in ran.record.found.verdict.text
    assert "if there had been one, it would have named: a node at 90 %" in ran.record.found.verdict.text
    assert ran.record.found.pairs is not None and ran.record.found.pairs.sample is not None
    assert ran.record.found.pairs.sample.kind == "budget"
    assert {one.of: (one.used, one.all) for one in ran.record.found.pairs.sample.covered}["pairs"] == (6, 6)


@full
def test_a_slow_rail_is_named_by_a_sample_in_one_job_of_slurm(
    with_slurm: tuple[VirtualSite, Testbed], cluster: None
) -> None:
    site, bed = with_slurm
    # Not much slower: each round waits for its slowest pair, and the budget is one of minutes.
    bed.degrade("vn3", "hsn0", "slow", 60)
    # Open MPI: of MPICH's starts by Slurm's pmi2 plugin one in ten fails, and such a run has many (verdict/hints).
    ran = skip_disturbed(site.call(*RAILYARD, "pairs", "run", "--system", "virtual-slurm:hsn", "--stack", "openmpi",
                                "--budget", "6min"))  # fmt: skip
    assert (ran.code, verdict_summary(ran.record)) == (1, ("fail", 5, "fabric"))
    assert suspects(ran.record) == {("rail", "vn3", "hsn0")}


@full
def test_a_budget_too_small_for_anything_is_one_sentence(site: VirtualSite) -> None:
    ran = site.cell("SampledPairs", "mpich", 2, "-S", "SampledPairs.budget=30s")
    assert (ran.code, verdict_summary(ran.record)[:2]) == (1, ("fail", 1))
    assert re.search(
        "a budget of .* s is .* rounds of .* s, expected at least .*: half of them for a sample",
        ran.record.found.verdict.text,
    )
