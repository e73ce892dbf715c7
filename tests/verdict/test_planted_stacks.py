"""Faults of the stack, planted in what a run left: library, launcher and variables, each with its message."""

from collections.abc import Callable
from pathlib import Path

import pytest

from railyard.job.environment import RankEnvironment, planned_variables
from railyard.site.site import Site
from railyard.stacks import wording as stack_words
from railyard.verdict.assess import Assessment
from tests.made.judged_run import launch_of

RECORDED = Path(__file__).resolve().parents[1] / "recordings" / "failed"
Assess = Callable[..., Assessment]


def test_the_healthy_neighbour_passes(assess_cell: Assess, virtual: Site) -> None:
    told = planned_variables(launch_of(virtual, "mpich", ("hsn0",), nodes=("vn1", "vn2")))
    found = assess_cell(
        environment=tuple(RankEnvironment(node, "IMB-MPI1", told) for node in ("vn1", "vn2")),
        stderr="libibverbs: Warning: RLIMIT_MEMLOCK is 65536 bytes.\n",
    ).verdict
    assert found.state == "pass", found.text


@pytest.mark.parametrize(
    ("stack", "recording"),
    [
        pytest.param(stack, name, marks=pytest.mark.fault("stack", what, said), id=name.removesuffix(".err"))
        for stack, name, what, said in (
            (
                "openmpi",
                "openmpi4.1.4-no-such-component.err",
                "an Open MPI that was built without a component",
                "(pml/nosuch is not built into the Open MPI of vn1)",
            ),
            (
                "openmpi",
                "openmpi4.1.4-not-enough-slots.err",
                "more ranks than the launcher has places",
                "(the launcher was given fewer than 64 places for ranks)",
            ),
            (
                "openmpi",
                "openmpi4.1.4-rank-killed.err",
                "a rank killed on one node",
                "(rank 1 on vn1 was ended by signal 9)",
            ),
            (
                "mpich",
                "mpich5.0.2-ucx-no-such-transport.err",
                "a UCX that was built without a transport",
                "(UCX_TLS names nosuch, which this UCX does not have on that node)",
            ),
            (
                "mpich",
                "mpich5.0.2-ucx-no-such-device.err",
                "a device that the node does not have",
                "(UCX_NET_DEVICES names hsn7, which that node does not have)",
            ),
            (
                "mpich",
                "mpich5.0.2-no-such-executable.err",
                "a benchmark that is not on the node",
                "(/nowhere/x is not there, or may not be executed)",
            ),
            (
                "intelmpi",
                "intelmpi2021.18-no-such-provider.err",
                "a Libfabric without the provider",
                "(no provider of Libfabric fits what was asked for (I_MPI_OFI_PROVIDER, FI_PROVIDER))",
            ),
        )
    ],
)
def test_what_kept_a_library_from_starting_is_quoted_and_explained(
    assess_cell: Assess, stack: str, recording: str, promise: str
) -> None:
    stderr = (RECORDED / recording).read_text(encoding="utf-8")
    found = assess_cell(stack=stack, exit_code=1, output="", stderr=stderr).verdict
    assert (found.state, found.rule, found.fault) == ("fail", 1, "set-up")
    assert promise in found.sentence
    assert found.suspects == ()


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(
            None,
            id="not-set",
            marks=pytest.mark.fault(
                "stack",
                "a variable that did not reach one node",
                "UCX_NET_DEVICES is not set in the environment of IMB-MPI1 on vn2",
            ),
        ),
        pytest.param(
            "hsn0,eth0",
            id="more",
            marks=pytest.mark.fault(
                "stack",
                "one device too many, on one node",
                'UCX_NET_DEVICES is "hsn0,eth0" in the environment of IMB-MPI1 on vn2',
            ),
        ),
    ],
)
def test_a_variable_that_one_node_has_otherwise_fails(
    assess_cell: Assess, virtual: Site, changed: str | None, promise: str
) -> None:
    told = planned_variables(launch_of(virtual, "mpich", ("hsn0",), nodes=("vn1", "vn2")))
    other = {name: value for name, value in told.items() if name != "UCX_NET_DEVICES"}
    other |= {} if changed is None else {"UCX_NET_DEVICES": changed}
    found = assess_cell(
        environment=(RankEnvironment("vn1", "IMB-MPI1", told), RankEnvironment("vn2", "IMB-MPI1", other))
    ).verdict
    assert (found.state, found.rule, found.fault) == ("fail", 1, "set-up")
    assert f'{promise}, expected "hsn0"' in found.sentence


@pytest.mark.parametrize(
    "linked",
    [
        pytest.param(
            "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibc.so.6 => /lib/libc.so.6 (0x00007f00)\n",
            marks=pytest.mark.fault("stack", "a benchmark built without MPI", stack_words.no_mpi("", [""])[1:-1]),
            id="none",
        ),
        pytest.param(
            "\tlibmpi.so.40 => /opt/openmpi/lib/libmpi.so.40 (0x00007f00)\n",
            marks=pytest.mark.fault(
                "stack",
                "a benchmark of Open MPI under MPICH's name",
                "is linked to libmpi.so.40 (/opt/openmpi/lib/libmpi.so.40), expected",
            ),
            id="other",
        ),
        pytest.param(
            "\tlibmpi.so.12 => not found\n",
            marks=pytest.mark.fault(
                "stack", "a library that the loader does not find", stack_words.not_found("", ["libmpi.so.12"])[1:]
            ),
            id="not-found",
        ),
    ],
)
def test_a_benchmark_of_another_library_fails_a_perfect_output(assess_cell: Assess, linked: str, promise: str) -> None:
    found = assess_cell(linked=linked).verdict
    assert (found.state, found.rule, found.fault) == ("fail", 1, "set-up")
    assert promise in found.sentence
