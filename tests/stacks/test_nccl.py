"""NCCL and RCCL in the table of stacks: how they get NICs and network, and which benchmarks are theirs."""

import pytest

from railyard.stacks import ask, libraries
from railyard.stacks import wording as stack_words
from railyard.stacks.libraries import parse, why_without
from railyard.stacks.model import STACKS

PORTS = ("mlx5_0:1", "mlx5_1:1")


@pytest.mark.parametrize("stack", ["nccl", "rccl"])
@pytest.mark.parametrize(
    ("kind", "devices", "network", "named"),
    [
        ("ib", PORTS, "IB", ("NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1")),
        ("roce", ("mlx5_0", "mlx5_1"), "IB", ("NCCL_IB_HCA", "=mlx5_0:1,mlx5_1:1")),
        ("tcp", ("hsn0", "hsn1"), "Socket", ("NCCL_SOCKET_IFNAME", "=hsn0,hsn1")),
        ("slingshot", ("cxi0", "cxi1"), "AWS Libfabric", ("FI_CXI_DEVICE_NAME", "cxi0,cxi1")),
        ("efa", ("rdmap0s6", "rdmap1s6"), "AWS Libfabric", ("FI_EFA_IFACE", "rdmap0s6,rdmap1s6")),
    ],
)
def test_it_is_told_its_network_by_name_and_its_nics_exactly(
    stack: str, kind: str, devices: tuple[str, ...], network: str, named: tuple[str, str]
) -> None:
    told = ask.settings(stack, kind, devices, 2)
    assert (told.policy, told.env["NCCL_NET"], told.env["NCCL_DEBUG"]) == ("striping", network, "INFO")
    assert told.env[named[0]] == named[1]
    assert "NCCL_CROSS_NIC" not in ask.settings(stack, kind, devices[:1], 1).env


def test_its_log_names_the_nics_that_it_may_use() -> None:
    line = "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
    assert ask.settings("nccl", "ib", PORTS, 2).proof.missing_patterns(line) == ()
    assert len(ask.settings("nccl", "ib", ("mlx5_0:1", "mlx5_10:1"), 2).proof.missing_patterns(line)) == 1
    sockets = "NET/Socket : Using [0]hsn0:10.1.0.1<0> [1]hsn1:10.2.0.1<0>\n"
    assert ask.settings("nccl", "tcp", ("hsn0", "hsn1"), 2).proof.missing_patterns(sockets) == ()


#: stack, tool, the reason.
ASKED = [
    ("nccl", "nccl", None),
    ("rccl", "nccl", None),
    ("nccl", "osu", "nccl is not an MPI library: only its own benchmarks can use it (nccl)"),
    ("openmpi", "nccl", "nccl does not measure openmpi but another library: its stack is nccl or rccl"),
    ("tcp", "nccl", "tcp has no MPI: its benchmarks are a client and a server (iperf3, netpipe)"),
]


@pytest.mark.parametrize(("stack", "tool", "reason"), ASKED)
def test_its_tests_are_its_own(stack: str, tool: str, reason: str | None) -> None:
    assert libraries.why_not_tool(stack, tool, pair=False) == reason
    if not STACKS[stack].pair:
        assert libraries.tool_features(stack, (tool,)) == ([] if reason else [tool])


def test_it_is_neither_an_mpi_nor_a_client_and_a_server() -> None:
    assert [name for name, stack in STACKS.items() if stack.by_mpi] == ["nccl", "rccl"]
    assert not any(STACKS[name].is_mpi or STACKS[name].pair for name in ("nccl", "rccl"))


LDD = "\tlibnccl.so.2 => /opt/nccl/lib/libnccl.so.2 (0x00007f0000000000)\n"


@pytest.mark.parametrize(
    ("ldd", "prefix", "why"),
    [
        (LDD, "/opt/nccl", None),
        (LDD, None, None),
        (
            *(LDD, "/opt/other"),
            stack_words.other_folder("x", "/opt/nccl/lib/libnccl.so.2", ["libnccl.so.2"], "/opt/other"),
        ),
        ("", None, stack_words.not_linked("x", ["libnccl.so.2"])),
    ],
)
def test_its_tests_are_linked_to_it(ldd: str, prefix: str | None, why: str | None) -> None:
    assert why_without("x", parse(ldd), ("libnccl.so.2",), prefix) == why
