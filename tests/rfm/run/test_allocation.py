"""A run's longest time, its budget, and how ReFrame starts as steps of one allocation."""

from dataclasses import replace
from pathlib import Path

import pytest

from railyard.base.errors import RailyardError
from railyard.base.paths import ALLOCATION_VARIABLE
from railyard.benchmarks.apps import hpl, npb
from railyard.hardware.node import NodeHardware
from railyard.rfm.checks.application import slowest_mb_s
from railyard.rfm.checks.catalogue import needs
from railyard.rfm.run.options import apply_settings, read
from railyard.rfm.run.session import INSIDE, Estimate, ask, estimate, over_budget, salloc_words
from railyard.site.matrix import Need, requested_needs
from railyard.site.site import Site
from railyard.site.systems.load import load_system
from railyard.site.systems.model import System
from railyard.site.test_id import of_name
from tests.made.judged_run import launch_of

ROOT = Path(__file__).parents[3]
PAIR = Need("OsuLatency", "osu", "osu/osu_latency", 2)
FOUR = Need("OsuMessageRate", "osu", "osu/osu_mbw_mr", 4)
EVERY = Need("AllPairs", "pairs", "pairs/pairs", 2, all_nodes=True)
APPLICATION = Need("Hpl", "hpl", "hpl/hpl", 2, check_class="app")
ASKED = {need.check: need for need in (PAIR, FOUR, EVERY, APPLICATION)}


@pytest.fixture
def system() -> System:
    """Return the virtual cluster under Slurm: four nodes, 120 s per test."""
    return load_system(ROOT / "systems/virtual-slurm.yaml")


def test_each_test_counts_its_nodes_for_its_whole_limit(system: System) -> None:
    assert estimate(system, ["OsuLatency"], ASKED) == Estimate(1, 4.0, 2.0, 2)
    assert estimate(system, ["OsuLatency", "OsuMessageRate", "AllPairs"], ASKED) == Estimate(3, 4.0 + 8.0 + 8.0, 6.0, 4)
    assert estimate(system, ["SiteOwn"], ASKED) == Estimate(1, 4.0, 2.0, 2)
    assert estimate(system, [], ASKED) == Estimate(0, 0.0, 0.0, 0)


def test_an_application_has_its_own_limit(system: System) -> None:
    limits = system.jobs.time_limits.model_copy(update={"app": "1h"})
    longer = system.model_copy(update={"jobs": system.jobs.model_copy(update={"time_limits": limits})})
    assert estimate(longer, ["Hpl"], ASKED) == Estimate(1, 120.0, 60.0, 2)


def hpl_estimate(system: System, *words: str) -> Estimate:
    """Return what Hpl takes at most on a system, as the clone's checks ask for it, with these options."""
    found = apply_settings(read(words), needs(ROOT / "checks"))
    return estimate(system, ["Hpl"], {need.check: need for need in requested_needs(system, found)})


def test_a_run_with_a_time_limit_of_its_own_counts_for_that(system: System) -> None:
    """An acceptance takes an hour: an allocation for the file's two minutes would end it."""
    hardware = NodeHardware(cores=20, memory=119 << 30, base_ghz=2.6, flop_per_cycle=16)
    real = system.model_copy(update={"nodes": system.nodes.model_copy(update={"hardware": hardware})})
    times = hpl.Times(usual_s=real.limit_s("app"), node_mb_s=slowest_mb_s(real))
    limit_min = hpl.plan_size("acceptance", hardware, 4, 20, times=times).limit_s / 60
    assert hpl_estimate(real, "-S", "Hpl.size=acceptance") == Estimate(1, 4 * limit_min, limit_min, 4)
    assert hpl_estimate(real, "-S", "size=acceptance", "-S", "num_nodes=2").nodes == 2
    assert hpl_estimate(real, "-S", "HplScaling.size=acceptance") == hpl_estimate(real)
    assert hpl_estimate(real, "-S", "budget_s=600").minutes >= 20
    assert hpl_estimate(real, "-S", "size=huge").minutes == 2.0  # its test says so


def test_a_large_class_of_npb_counts_for_its_own_limit(system: System) -> None:
    hardware = NodeHardware(cores=20, memory=119 << 30)
    nodes = system.nodes.model_copy(update={"hardware": hardware})
    real = system.model_copy(update={"nodes": nodes, "npb_classes": ()})
    asked = {need.check: need for need in requested_needs(real, needs(ROOT / "checks"))}
    predicted_s = npb.choose("bt", 4, 20, 119 << 30).predicted_s
    assert estimate(real, ["Npb %problem=D %kernel=bt"], asked).minutes * 60 >= 3 * predicted_s


def test_the_estimate_in_words() -> None:
    assert Estimate(1, 3.2, 2.0, 2).words == "1 job, at most 4 node-minutes"
    assert Estimate(12, 48.0, 24.0, 2).words == "12 jobs, at most 48 node-minutes"


def test_a_run_over_its_budget_does_not_begin() -> None:
    found = Estimate(12, 48.0, 24.0, 2)
    assert over_budget(found, None) is None
    assert over_budget(found, 48.0) is None
    assert over_budget(found, 47.5) == (
        "--budget: found 12 jobs, at most 48 node-minutes, expected at most 47.5: select fewer tests, or lower "
        "time_limits in the system's file (jobs)"
    )


def test_the_allocation_has_the_systems_own_options(system: System) -> None:
    jobs = system.jobs.model_copy(update={"account": "abc", "exclusive": True})
    asked = system.model_copy(update={"access": ("--partition=all",), "jobs": jobs})
    words = salloc_words(asked, Estimate(3, 20.0, 6.0, 4))
    assert words[:7] == [
        "salloc", "--job-name=railyard", "--nodes=4", "--exclusive", "--time=7", "--partition=all", "--account=abc",
    ]  # fmt: skip
    assert words[7:9] == ["sh", "-c"]
    assert words[9].endswith('exec "$@"')
    assert words[10:] == ["railyard"]


def test_in_the_allocation_tests_are_steps_on_its_nodes(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOCATION_VARIABLE, "vn2,vn4")
    inside = load_system(ROOT / "systems/virtual-slurm.yaml")
    assert (inside.scheduler, inside.launcher, inside.access, inside.nodes.names) == (
        "local", "srunalloc", (), ("vn2", "vn4"),
    )  # fmt: skip
    assert (inside.fabrics, inside.stacks, inside.disabled) == (system.fabrics, system.stacks, system.disabled)
    # A system without Slurm is not changed.
    assert load_system(ROOT / "systems/virtual.yaml").launcher == "namespaces"


def test_a_step_is_told_its_nodes(virtual: Site) -> None:
    inside = virtual.system.model_copy(update={"scheduler": "local", "launcher": "srunalloc"})
    site = replace(virtual, system=inside)
    launch = launch_of(site, "mpich", ("hsn0",), nodes=("vn2", "vn4"), as_root=True)
    assert launch.options == ("--mpi=pmi2", "--nodes=2", "--nodelist=vn2,vn4")


def test_one_allocation_needs_slurm(virtual: Site) -> None:
    with pytest.raises(RailyardError) as caught:
        ask(virtual.home, virtual.system, (), needs=tuple, one_allocation=True, budget=None, echo=print)
    assert str(caught.value) == ("--one-allocation: found the scheduler local of virtual, expected Slurm; leave it out")


def test_a_run_in_a_job_takes_the_jobs_own_allocation(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "4")
    promised = [of_name("OsuLatency %rails=1", "0a1b2c3d", "virtual-slurm", "hsn", "mpich")]
    found = ask(
        ROOT, system, promised, needs=lambda: tuple(ASKED.values()), one_allocation=True, budget=None, echo=print
    )
    assert (found.front, found.variables) == (INSIDE, {})
    assert salloc_words(system, Estimate(1, 4.0, 2.0, 2))[-4:] == list(INSIDE)
    monkeypatch.setenv("SLURM_JOB_NUM_NODES", "1")
    with pytest.raises(RailyardError) as caught:
        ask(ROOT, system, promised, needs=lambda: tuple(ASKED.values()), one_allocation=True, budget=None, echo=print)
    assert str(caught.value) == (
        "--one-allocation: found an allocation of 1 node around this run, expected 2 or more for its largest test; "
        "request more, or start it outside of any job"
    )
