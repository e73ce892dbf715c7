"""How each stack's own launcher gets hosts, ranks, agent and variables, and how its library is recognised."""

import re

import pytest

from railyard.base.errors import RailyardError
from railyard.stacks import ask
from railyard.stacks.model import STACKS

LAUNCHED = [
    (
        ("openmpi", None),
        "-H vn1:2,vn2:2 -np 4 --mca plm rsh --mca plm_rsh_agent /x/agent --mca oob_tcp_if_include eth0 "
        "--oversubscribe --bind-to none --mca mpi_yield_when_idle 1",
    ),
    (
        ("openmpi", 5),
        "-H vn1:2,vn2:2 -np 4 --prtemca plm ssh --prtemca plm_ssh_agent /x/agent --prtemca oob_tcp_if_include eth0 "
        "--oversubscribe --bind-to none --mca mpi_yield_when_idle 1",
    ),
    (
        ("mpich", None),
        "-hosts vn1,vn2 -n 4 -ppn 2 -launcher ssh -launcher-exec /x/agent -iface eth0 -bind-to none",
    ),
    (
        ("intelmpi", None),
        "-hosts vn1:2,vn2:2 -n 4 -ppn 2 -launcher ssh -launcher-exec /x/agent -iface eth0 -genv I_MPI_PIN 0 "
        "-genv I_MPI_THREAD_YIELD 2",
    ),
]


@pytest.mark.parametrize(("asked", "words"), LAUNCHED)
def test_launchers_are_told_so(asked: tuple[str, int | None], words: str) -> None:
    found = ask.launch_options(
        asked[0],
        hosts=["vn1", "vn2"],
        ranks=4,
        ranks_per_node=2,
        remote=ask.Remote("/x/agent", "eth0"),
        share_cores=True,
        major=asked[1],
    )
    assert found == words.split(" ")


def test_what_is_not_given_is_not_said() -> None:
    assert ask.launch_options("mpich", hosts=["a"], ranks=1, ranks_per_node=1) == [
        "-hosts",
        "a",
        "-n",
        "1",
        "-ppn",
        "1",
    ]


NOT_LAUNCHED = [
    ({"stack": "mpch"}, 'unknown stack "mpch": did you mean "mpich"?'),
    ({"ranks": 5}, "mpich: 5 ranks do not fit 2 hosts with 2 ranks each"),
    (
        {"stack": "craympich", "remote": ask.Remote("/x")},
        "craympich: PALS starts ranks through its own daemons and takes no remote agent",
    ),
    ({"stack": "openmpi", "major": 3}, "openmpi: the oldest known major version is 4, 3 was asked for"),
]


@pytest.mark.parametrize(("given", "sentence"), NOT_LAUNCHED)
def test_what_cannot_be_launched_is_refused(given: dict[str, object], sentence: str) -> None:
    asked: dict[str, object] = {"stack": "mpich", "hosts": ["a", "b"], "ranks": 4, "ranks_per_node": 2, **given}
    with pytest.raises(RailyardError) as raised:
        ask.launch_options(asked.pop("stack"), **asked)  # type: ignore[arg-type]
    assert str(raised.value) == sentence


def test_variables_are_forwarded_in_order() -> None:
    env = {"B": "two words", "A": "{x}"}
    assert ask.forward("openmpi", env) == ["-x", "B=two words", "-x", "A={x}"]
    assert ask.forward("intelmpi", env) == ["-genv", "B", "two words", "-genv", "A", "{x}"]
    with pytest.raises(RailyardError, match=r'^unknown stack "slurm": known: .*craympich, .*hpcx, '):
        ask.forward("slurm", env)


VERSIONS = [
    ("openmpi", "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022"),
    ("mpich", "MPICH Version:      5.0.2\nMPICH Release date: unreleased"),
    ("intelmpi", "Intel(R) MPI Library 2021.18 for Linux* OS\n"),
    ("mvapich2", "MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date :\t"),
    ("mvapich", "MVAPICH Version      :\t4.0\n"),
    ("craympich", "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)\n"),
]


@pytest.mark.parametrize(("name", "text"), VERSIONS)
def test_a_library_is_known_by_its_first_words(name: str, text: str) -> None:
    matching = {other for other, stack in STACKS.items() if re.search(stack.version_pattern, text)}
    # HPC-X is Open MPI and says so: the table says how else to tell the two apart.
    assert matching == ({"openmpi", "hpcx"} if name == "openmpi" else {name})
