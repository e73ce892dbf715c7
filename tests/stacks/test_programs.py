"""Which benchmarks belong to which stack, and the sentences for those that do not."""

import pytest

from railyard.base.errors import RailyardError
from railyard.stacks import ask, libraries

#: stack, tool, whether the check is a client and a server, the reason.
ASKED = [
    ("mpich", "imb", False, None),
    ("tcp", "iperf3", True, None),
    ("tcp", "netpipe", True, None),
    ("verbs", "perftest", True, None),
    ("libfabric", "fabtests", True, None),
    ("cxi", "cxi", True, None),
    ("cxi", "fabtests", True, "cxi has no MPI: its benchmarks are a client and a server (cxi)"),
    ("tcp", "imb", False, "tcp has no MPI: its benchmarks are a client and a server (iperf3, netpipe)"),
    # NetPIPE's MPI module is another program than its TCP module.
    ("tcp", "netpipe", False, "tcp has no MPI: its benchmarks are a client and a server (iperf3, netpipe)"),
    ("verbs", "iperf3", True, "verbs has no MPI: its benchmarks are a client and a server (perftest)"),
    ("openmpi", "netpipe", True, "a client and a server of netpipe need no MPI: their stack is tcp"),
    ("hpcx", "perftest", True, "a client and a server of perftest need no MPI: their stack is verbs"),
    ("mpich", "qperf", True, "a client and a server of qperf need no MPI: their stack is unknown"),
]


@pytest.mark.parametrize(("stack", "tool", "pair", "reason"), ASKED)
def test_a_tool_is_a_stacks_own_or_the_reason_is_said(stack: str, tool: str, pair: bool, reason: str | None) -> None:
    assert libraries.why_not_tool(stack, tool, pair) == reason


#: stack, rails, the reason for an application that starts its own processes without MPI.
APPLICATIONS = [
    ("mpich", 2, None),
    ("tcp", 1, None),
    ("tcp", 2, "an application that starts its own processes is given one address per node: one rail"),
    ("verbs", 1, "verbs has no MPI and no address to give to an application: use tcp"),
    ("libfabric", 1, "libfabric has no MPI and no address to give to an application: use tcp"),
]


@pytest.mark.parametrize(("stack", "rails", "reason"), APPLICATIONS)
def test_an_application_runs_with_every_mpi_and_over_one_rail_of_sockets(
    stack: str, rails: int, reason: str | None
) -> None:
    found = libraries.why_not_tool(stack, "gamess", False, True) or libraries.why_not_own(stack, rails, True)
    assert found == reason


def test_an_application_that_starts_itself_has_a_feature_of_its_own() -> None:
    assert libraries.tool_features("mpich", ("gamess", "imb"), ("gamess",)) == ["gamess", "imb"]
    assert libraries.tool_features("tcp", ("gamess", "netpipe", "osu"), ("gamess",)) == ["pair_netpipe", "own_gamess"]
    assert libraries.tool_features("verbs", ("gamess", "perftest"), ("gamess",)) == ["pair_perftest"]


def test_an_mpi_stack_shows_its_tools_and_a_pair_its_own_under_another_name() -> None:
    assert libraries.tool_features("openmpi", ("osu", "netpipe")) == ["netpipe", "osu"]
    assert libraries.tool_features("tcp", ("osu", "netpipe", "iperf3")) == ["pair_iperf3", "pair_netpipe"]


#: stack, kind, rails, policy, the reason.
WAYS = [
    (
        *("tcp", "ib", 1, None),
        "tcp on ib: A socket takes an IP interface, not a card: give IP over InfiniBand (ib0) its own fabric of kind "
        "tcp.",
    ),
    (
        *("verbs", "tcp", 1, None),
        "verbs on tcp: A network interface has no verbs: if its card has (RoCE, Soft-RoCE), give it a fabric of kind "
        "roce.",
    ),
    (
        *("verbs", "slingshot", 1, None),
        "verbs on slingshot: Slingshot's cards have no verbs: libfabric's own tests measure them (stack libfabric).",
    ),
    (
        *("libfabric", "ib", 1, None),
        "libfabric on ib: This fabric has verbs, which are nearer to the card: perftest measures them (stack verbs).",
    ),
    (
        *("tcp", "tcp", 2, "striping"),
        "tcp on tcp: A TCP connection has one address at each end, so one rail: one pair of processes per rail "
        "(nic-per-rank) uses several.",
    ),
    ("tcp", "tcp", 8, None, None),
    ("verbs", "roce", 2, "nic-per-rank", None),
    ("libfabric", "efa", 1, "single", None),
    ("cxi", "slingshot", 4, None, None),
    (
        *("cxi", "ib", 1, None),
        "cxi on ib: libcxi drives only Slingshot's cards: see the stacks verbs, libfabric and tcp.",
    ),
]


@pytest.mark.parametrize(("stack", "kind", "rails", "policy", "reason"), WAYS)
def test_each_has_a_way_or_a_sentence(
    stack: str, kind: str, rails: int, policy: str | None, reason: str | None
) -> None:
    assert ask.why_not(stack, kind, rails, policy) == reason


def test_over_several_rails_there_is_a_pair_of_processes_a_rail() -> None:
    told = ask.settings("tcp", "tcp", ["hsn0", "hsn1"], 2)
    assert (told.policy, told.threshold_bytes, dict(told.env), told.options) == ("nic-per-rank", None, {}, ())
    assert ask.settings("verbs", "ib", ["mlx5_0:1"], 1).policy == "single"
    assert dict(ask.settings("libfabric", "slingshot", ["cxi0"], 1).env) == {"FI_PROVIDER": "cxi"}


def test_without_mpi_there_is_no_launcher_to_be_told() -> None:
    for name in ("tcp", "verbs", "libfabric"):
        with pytest.raises(RailyardError) as raised:
            ask.launch_options(name, hosts=["a", "b"], ranks=2, ranks_per_node=1)
        assert str(raised.value) == f"{name}: has no launcher of its own: its benchmarks are a client and a server"
