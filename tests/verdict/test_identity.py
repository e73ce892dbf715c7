"""Launcher, library and environment as one proof: each fault is named separately, and a sound run says nothing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from railyard.job.case import Evidence
from railyard.job.environment import RankEnvironment, planned_variables
from railyard.parsers import netpipe
from railyard.site.site import Site
from railyard.stacks.libraries import LockedLibraries, LockedPackage
from railyard.verdict.assess import Assessment
from railyard.verdict.run_setup import why_not_meant
from railyard.verdict.wording import program
from tests.made.judged_run import TAG, case_of, counters_file, launch_of

RECORDED = Path(__file__).resolve().parents[1] / "recordings" / "failed"
Assess = Callable[..., Assessment]


def recorded_text(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")


@pytest.fixture
def had(virtual: Site) -> Callable[..., tuple[RankEnvironment, ...]]:
    """Return a function that returns both nodes' environments, with these variables changed on vn2."""

    def rank_environments(**changed: str) -> tuple[RankEnvironment, ...]:
        launch = launch_of(virtual, "mpich", ("hsn0",), nodes=("vn1", "vn2"))
        told, own = planned_variables(launch), (f"{launch.prefix}/lib/libmpi.so.12",)
        return (
            RankEnvironment("vn1", "IMB-MPI1", told, own),
            RankEnvironment("vn2", "IMB-MPI1", {**told, **changed}, own),
        )

    return rank_environments


def test_what_was_meant_passes_without_a_word(
    assess_cell: Assess, had: Callable[..., tuple[RankEnvironment, ...]]
) -> None:
    own = "/opt/mpich/bin/mpirun\nHYDRA build details:\n    Version:  5.0.2\n"
    found = assess_cell(launcher=own, environment=had()).verdict
    assert (found.state, found.remarks) == ("pass", ())


@pytest.mark.fault(
    "stack",
    "mpirun of Open MPI started a benchmark of MPICH",
    'the launcher /usr/bin/mpirun says "mpirun.openmpi (OpenRTE) 4.1.4": it belongs to Open MPI, expected the ',
)
def test_another_librarys_launcher_is_named_before_the_error_that_comes_of_it(
    assess_cell: Assess, promise: str
) -> None:
    found = assess_cell(
        launcher="/usr/bin/mpirun\nmpirun.openmpi (OpenRTE) 4.1.4\n",
        exit_code=16,
        output="",
        stderr=recorded_text("mpich5.0.2-started-by-openmpi4.1.4.err"),
    )
    assert promise in found.verdict.sentence
    assert found.verdict.rule == 1


@pytest.mark.fault(
    "stack", "a wrapper exported UCX_TLS=posix on one node", 'UCX_TLS is "posix" in the environment of IMB-MPI1 on vn2'
)
def test_a_variable_that_a_wrapper_set_is_named_with_both_values(
    assess_cell: Assess, had: Callable[..., tuple[RankEnvironment, ...]], promise: str
) -> None:
    found = assess_cell(environment=had(UCX_TLS="posix")).verdict
    assert f'{promise}, expected "tcp,self"' in found.sentence
    assert (found.rule, found.fault) == (1, "set-up")


@pytest.mark.fault(
    "stack", "another verbs library in LD_PRELOAD on one node", "IMB-MPI1 on vn2 loaded /opt/other/libibverbs.so.1"
)
def test_a_library_that_one_node_loads_from_elsewhere_is_named(
    assess_cell: Assess, had: Callable[..., tuple[RankEnvironment, ...]], promise: str
) -> None:
    healthy, other = had()
    other = replace(other, libraries=(*(other.libraries or ()), "/opt/other/libibverbs.so.1"))
    found = assess_cell(environment=(healthy, other)).verdict
    assert f"{promise}, expected verbs of " in found.sentence
    assert (found.rule, found.fault, found.suspects) == (1, "set-up", ())
    # A stand-in of a rehearsal loads none.
    assert assess_cell(rehearsed=True, linked="", environment=(healthy, other)).verdict.state == "pass"


@pytest.mark.fault(
    "stack",
    "UCX of another of Spack's install trees than the one that the lock names",
    "loaded /up/ucx-1.15.0/lib/libucp.so.0, expected UCX of ",
)
def test_a_library_of_another_install_tree_than_the_locks_is_named(
    virtual: Site, had: Callable[..., tuple[RankEnvironment, ...]], promise: str
) -> None:
    case = case_of(virtual, "imb/Uniband", launch={"nodes": ("vn1", "vn2")})
    ucx = LockedPackage("ucx", "ucx@1.20.1 /abc1234", "/site/opt/ucx-1.20.1", "built here")
    case = replace(case, launch=replace(case.launch, lock=LockedLibraries((ucx,), is_whole=True)))

    def why(library: str) -> str | None:
        found = [replace(each, libraries=(*(each.libraries or ()), library)) for each in had()]
        return why_not_meant(case, Evidence("", exit_code=0, tag=TAG, environment=tuple(found)), ())

    assert why("/site/opt/ucx-1.20.1/lib/libucp.so.0") is None
    sentence = str(why("/up/ucx-1.15.0/lib/libucp.so.0"))
    assert promise in sentence and "ucx@1.20.1 /abc1234 in /site/opt/ucx-1.20.1; " in sentence


def test_in_a_rehearsal_the_environment_is_asked_too_and_the_library_is_not(
    assess_cell: Assess, had: Callable[..., tuple[RankEnvironment, ...]]
) -> None:
    assert assess_cell(rehearsed=True, linked="", environment=had()).verdict.state == "pass"
    assert "posix" in assess_cell(rehearsed=True, environment=had(UCX_TLS="posix")).verdict.sentence


def test_a_node_whose_benchmark_was_not_seen_and_a_variable_of_nobodys_plan_are_remarks(
    assess_cell: Assess, had: Callable[..., tuple[RankEnvironment, ...]]
) -> None:
    assert assess_cell(environment=had()[:1]).verdict.remarks == (
        program.environment_unread(["vn2"]),
        program.libraries_unread(["vn2"]),
    )
    assert assess_cell(environment=had(UCX_IB_SL="1")).verdict.remarks == (
        'UCX_IB_SL is "1" in the environment of IMB-MPI1 on vn2, and the run did not plan it',
    )


def test_the_environment_of_a_node_that_the_job_did_not_run_on_is_no_remark(
    assess_cell: Assess, had: Callable[..., tuple[RankEnvironment, ...]]
) -> None:
    answered_as_vn9 = counters_file("vn9", {"hsn0": (2, 190)}, ("hsn0",))
    found = assess_cell(environment=had()[:1], counters=(answered_as_vn9,)).verdict
    assert (found.rule, found.remarks) == (1, ())


A_TABLE_EACH = program.separate_runs(2, "", 2).partition(": ")[2].partition(";")[0]
ALONE = program.separate_runs(2, "", 2).partition("a table")[0]


@pytest.mark.parametrize(
    ("name", "benchmark", "parse"),
    [
        pytest.param(
            "intelmpi2021.18-PingPong-started-by-openmpi4.1.4.out", "imb/PingPong", None, id="IMB refuses",
            marks=pytest.mark.fault(
                "stack", "each rank started alone, and IMB refused",
                f'{ALONE}"# !! Benchmark PingPong invalid for 1 processes !!"'
            ),
        ),
        pytest.param(
            "intelmpi2021.18-Allreduce-started-by-openmpi4.1.4.out", "imb/Allreduce", None, id="a table each",
            marks=pytest.mark.fault(
                "stack", "each rank started alone, and printed a table", A_TABLE_EACH
            ),
        ),
        pytest.param(
            "openmpi4.1.4-NPopenmpi-started-by-mpich5.0.2.out", "imb/PingPong", netpipe.parse, id="NetPIPE refuses",
            marks=pytest.mark.fault(
                "stack", "each rank started alone, and NetPIPE refused",
                f'{ALONE}"Need at least two processes (only given 1)" 2 times'
            ),
        ),
    ],
)  # fmt: skip
def test_processes_that_did_not_find_one_another_are_told_by_what_they_print(
    assess_cell: Assess, name: str, benchmark: str, parse: object, promise: str
) -> None:
    words = {} if parse is None else {"parse": parse}
    found = assess_cell(benchmark=benchmark, output=recorded_text(name), **words)
    assert promise in found.verdict.sentence
    assert found.verdict.rule == 1
