"""How each client and server gets its address, device and TCP port: one table, one entry per (tool, kind of fabric).

If a program of a tool has other words, it has its own entry (fabtests/fi_rdm_tagged_bw).

``pair.sh`` fills the blanks on the node, for one rail at a time: ``{device}`` (hsn0, mlx5_0:1), ``{card}`` (mlx5_0),
``{card_port}`` (1), ``{port}`` (the TCP port of this rail's pair), ``{gpu}`` (the number of the GPU nearest to the
rail, if the benchmark's own words need one), ``{server}`` and ``{local}`` (the addresses of the server and of this end:
the rail's own if the rail is a network interface, else the nodes' names).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType

from railyard.base.errors import RailyardError

BLANKS = ("device", "card", "card_port", "port", "gpu", "server", "local")


@dataclass(frozen=True, slots=True)
class PairTool:
    """The words of both ends around the benchmark's own words, which follow ``server`` and ``client``.

    ``client_end`` follows the client's words, ``before`` precedes the executable of both. ``server_is_told``: whether
    the server also needs the benchmark's own words. ``source``: where this is documented, or how it was tried.
    """

    server: tuple[str, ...]
    client: tuple[str, ...]
    source: str
    client_end: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    server_is_told: bool = True


# -1: the server ends with its client. -B: both ends bind the rail's own address, otherwise the kernel would choose by
# route.
_IPERF3 = PairTool(
    ("-s", "-1", "-B", "{local}", "-p", "{port}"),
    ("-c", "{server}", "-B", "{local}", "-p", "{port}"),
    "iperf3(1), tried with 3.12",
    server_is_told=False,
)
_NETPIPE = PairTool(("-P", "{port}"), ("-h", "{server}", "-P", "{port}"), "NPtcp of NetPIPE 3.7.2, tried")
# -F: if a processor changes its clock, perftest mentions it and does not fail.
_CARD = ("-F", "-d", "{card}", "-i", "{card_port}", "-p", "{port}")
_PERFTEST = PairTool(_CARD, _CARD, "github.com/linux-rdma/perftest README", client_end=("{server}",))


def _fabtests(provider: str, endpoint: str, *device: str, source: str, before: tuple[str, ...] = ()) -> PairTool:
    words = ("-p", provider, "-e", endpoint, *device)
    return PairTool(
        (*words, "-B", "{port}"), (*words, "-P", "{port}"), f"fi_pingpong(1), {source}", ("{server}",), before
    )


# The provider tcp of 1.17 ignores -d: with hsn0 requested, the messages went over hsn1 (seen in the counters).
_FABTESTS_TCP = _fabtests("tcp", "msg", source="fi_tcp(7), tried with 1.17", before=("env", "FI_TCP_IFACE={device}"))


def _addressed_by_socket(provider: str, *device: str, source: str) -> PairTool:
    """Return the words of a test of fabtests: each end learns the other's address through a socket on the TCP port
    (-E).
    """
    words = ("-p", provider, *device, "-E={port}")
    return PairTool(words, words, f"fabtests(7), {source}, not tried", ("{server}",))


# cxi: neither end may use the default source port, 9228, which is not a process id (PID) of a card.
_CXI_PID = ("-B", "10")

# The client's options reach the server through the connection that both make first.
_CXI = PairTool(
    ("-d", "{device}", "-p", "{port}"),
    ("-d", "{device}", "-p", "{port}"),
    "usage of cxi_write_bw in libcxi's utils/write_bw.c, not tried",
    client_end=("{server}",),
    server_is_told=False,
)

_TOOLS: Mapping[tuple[str, str], PairTool] = MappingProxyType(
    {
        ("iperf3", "tcp"): _IPERF3,
        ("netpipe", "tcp"): _NETPIPE,
        ("perftest", "ib"): _PERFTEST,
        ("perftest", "roce"): _PERFTEST,
        ("perftest", "opa"): _PERFTEST,
        ("cxi", "slingshot"): _CXI,
        ("fabtests", "tcp"): _FABTESTS_TCP,
        ("fabtests", "slingshot"): _fabtests("cxi", "rdm", "-d", "{device}", source="fi_cxi(7)"),
        ("fabtests/fi_rdm_tagged_bw", "slingshot"): _addressed_by_socket(
            "cxi", "-d", "{device}", *_CXI_PID, source="fi_cxi(7)"
        ),
        ("fabtests/fi_rdm_tagged_bw", "efa"): _addressed_by_socket("efa", "-d", "{device}-rdm", source="fi_efa(7)"),
        ("fabtests", "efa"): _fabtests("efa", "rdm", "-d", "{device}-rdm", source="fi_efa(7)"),
    }
)


def both_ends(
    tool: str, kind: str, executable: str, arguments: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of the server and of the client, with unfilled blanks.

    Raises RailyardError for a tool that is not in the table for this kind of fabric.
    """
    entry = _TOOLS.get((f"{tool}/{PurePath(executable).name}", kind)) or _TOOLS.get((tool, kind))
    if entry is None:
        known = ", ".join(f"{name} on {where}" for name, where in _TOOLS)
        raise RailyardError(f"{tool} on {kind}: found no words for its client and server, expected one of {known}")
    told = arguments if entry.server_is_told else ()
    program = (*entry.before, executable)
    return (*program, *entry.server, *told), (*program, *entry.client, *arguments, *entry.client_end)
