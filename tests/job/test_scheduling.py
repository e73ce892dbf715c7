"""How a run is scheduled: its time, its launcher, the scheduler's options, and its number of nodes."""

from typing import Any

import pytest

from railyard.hardware.node import NodeHardware
from railyard.job.batch import Scheduling, Span, span
from railyard.parsers.slurm import NodeState
from railyard.site.site import Site
from railyard.site.systems.jobs import SchedulerSettings
from railyard.site.systems.model import System


def system(virtual: Site, **changes: Any) -> System:
    return virtual.system.model_copy(update=changes)


def test_each_class_of_checks_has_its_own_time(virtual: Site) -> None:
    jobs = SchedulerSettings.model_validate({"time_limits": {"app": "1h"}, "max_pending": "2m"})
    there = system(virtual, jobs=jobs, time_limit="90s")
    assert [Scheduling(there, "mpich", name).limit_s for name in ("micro", "app")] == [90, 3600]
    assert Scheduling(there, "mpich").longest_wait_s == 120
    assert Scheduling(virtual.system, "mpich").longest_wait_s is None


@pytest.mark.parametrize(
    ("scheduler", "options"), [("local", ()), ("slurm", ("--no-requeue",)), ("slurm-nodb", ("--no-requeue",))]
)
def test_a_job_of_slurm_never_runs_twice(virtual: Site, scheduler: str, options: tuple[str, ...]) -> None:
    assert Scheduling(system(virtual, scheduler=scheduler), "mpich").options == options


def test_a_client_and_a_server_keep_the_systems_launcher(virtual: Site) -> None:
    slurm = system(virtual, launcher="srun")
    asked = Scheduling(slurm, "mpich", asked_launcher="mpirun")
    assert (asked.launcher, asked.other_launcher) == ("mpirun", "mpirun")
    kept = Scheduling(slurm, "tcp", asked_launcher="mpirun")
    assert (kept.launcher, kept.other_launcher) == ("srun", None)
    assert Scheduling(slurm, "mpich").other_launcher is None


def test_a_step_of_an_allocation_is_known_by_its_launcher(virtual: Site) -> None:
    assert [Scheduling(system(virtual, launcher=name), "mpich").is_step for name in ("srun", "srunalloc")] == [
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("stated", "ranks", "threads", "stack", "told"),
    [
        (2, 1, 1, "mpich", True),
        (2, 112, 1, "mpich", True),
        (1, 112, 1, "mpich", False),
        (1, 2, 56, "mpich", True),
        # Nothing is stated: a node with one process and one thread cannot share a core; all others could.
        (None, 1, 1, "mpich", False),
        (None, 112, 1, "mpich", True),
        (None, 1, 56, "mpich", True),
        # One process starts the others, and they would share its core.
        (2, 1, 1, "tcp", False),
    ],
)
def test_threads_of_a_core_are_never_counted_as_cores(
    virtual: Site, stated: int | None, ranks: int, threads: int, stack: str, told: bool
) -> None:
    hardware = NodeHardware(cores=112, memory=1 << 39, threads_per_core=stated)
    nodes = virtual.system.nodes.model_copy(update={"hardware": hardware})
    there = system(virtual, provider="nodes", nodes=nodes)
    assert Scheduling(there, stack).one_thread_a_core(ranks, threads) == told


def test_nodes_that_share_the_hosts_cores_are_asked_for_no_core(virtual: Site) -> None:
    assert not Scheduling(virtual.system, "mpich").one_thread_a_core(4, 1)


def states(*unfit: str | None) -> tuple[NodeState, ...]:
    """Return nodes that can run a job (None), or the state that prevents it."""
    return tuple(NodeState(f"n{number}", why or "IDLE") for number, why in enumerate(unfit))


def test_a_run_over_all_nodes_spans_those_that_are_fit_and_names_the_others() -> None:
    found = span(4, states(None, "DOWN", None, None), least=2)
    assert (found.nodes, found.untested) == (3, None)
    assert found.remark is not None and found.remark.startswith("3 of 4 nodes were tested, 1 not tested: n1")


def test_a_run_over_all_nodes_with_too_few_fit_ones_is_not_tested() -> None:
    found = span(4, states(None, "DOWN", "DOWN", "DOWN"), least=2)
    assert (found.nodes, found.remark) == (4, None)
    assert found.untested is not None and found.untested.startswith("it needs 4 nodes and 1 can run a job: n1")


def test_a_run_over_some_nodes_needs_just_those() -> None:
    assert span(2, states(None, "DOWN", None, "DOWN")) == Span(2)
    found = span(2, states(None, "DOWN", "DOWN", "DOWN")).untested
    assert found is not None and found.startswith("it needs 2 nodes and 1 can run a job")


def test_where_nobody_answered_a_run_is_as_it_was_asked_for() -> None:
    assert span(4, (), least=2) == Span(4)
