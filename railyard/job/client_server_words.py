"""How each client and server is told address, device and TCP port: one table, an entry a (tool, kind of fabric).

A program of a tool whose words are others has an entry of its own (fabtests/fi_rdm_tagged_bw).

Blanks are filled on the node, a rail at a time (``pair.sh``): ``{device}`` (hsn0, mlx5_0:1), ``{card}`` (mlx5_0),
``{card_port}`` (1), ``{port}`` (the TCP port of this rail's pair), ``{gpu}`` (the number of the GPU that is nearest to
the rail, where the benchmark's own words ask for one), ``{server}`` and ``{local}`` (the addresses of the server and of
this end: the rail's own where the rail is a network interface, else the nodes' names).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from types import MappingProxyType

from railyard.base.errors import RailyardError

BLANKS = ("device", "card", "card_port", "port", "gpu", "server", "local")


@dataclass(frozen=True, slots=True)
class PairTool:
    """The words of both ends around the benchmark's own, which stand behind ``server`` and ``client``.

    ``client_end`` stands behind those of the client, ``before`` before the executable of both. ``server_is_told``:
    whether the server needs the benchmark's own words too. ``source``: where this is written or was tried.
    """

    server: tuple[str, ...]
    client: tuple[str, ...]
    source: str
    client_end: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    server_is_told: bool = True


# -1: the server ends with its client. -B: both ends bind the rail's own address, or the kernel would choose by route.
_IPERF3 = PairTool(
    ("-s", "-1", "-B", "{local}", "-p", "{port}"),
    ("-c", "{server}", "-B", "{local}", "-p", "{port}"),
    "iperf3(1), tried with 3.12",
    server_is_told=False,
)
_NETPIPE = PairTool(("-P", "{port}"), ("-h", "{server}", "-P", "{port}"), "NPtcp of NetPIPE 3.7.2, tried")
# -F: a processor that changes its clock is said and is no error.
_CARD = ("-F", "-d", "{card}", "-i", "{card_port}", "-p", "{port}")
_PERFTEST = PairTool(_CARD, _CARD, "github.com/linux-rdma/perftest README", client_end=("{server}",))


def _fabtests(provider: str, endpoint: str, *device: str, source: str, before: tuple[str, ...] = ()) -> PairTool:
    words = ("-p", provider, "-e", endpoint, *device)
    return PairTool(
        (*words, "-B", "{port}"), (*words, "-P", "{port}"), f"fi_pingpong(1), {source}", ("{server}",), before
    )


# The provider tcp of 1.17 takes no notice of -d: asked for hsn0, the messages went over hsn1 (seen by the counters).
_FABTESTS_TCP = _fabtests("tcp", "msg", source="fi_tcp(7), tried with 1.17", before=("env", "FI_TCP_IFACE={device}"))


def _addressed_by_socket(provider: str, *device: str, source: str) -> PairTool:
    """Return the words of a test of fabtests: a socket on the TCP port tells each end the other's address (-E)."""
    words = ("-p", provider, *device, "-E={port}")
    return PairTool(words, words, f"fabtests(7), {source}, not tried", ("{server}",))


# cxi: neither end may have the default source port, 9228, which is no process id (PID) of a card.
_CXI_PID = ("-B", "10")

# The client's options reach the server by the connection that both make first.
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
    """Return the words of the server and of the client, their blanks open.

    Raises RailyardError for a tool that is not in the table for this kind of fabric.
    """
    entry = _TOOLS.get((f"{tool}/{PurePath(executable).name}", kind)) or _TOOLS.get((tool, kind))
    if entry is None:
        known = ", ".join(f"{name} on {where}" for name, where in _TOOLS)
        raise RailyardError(f"{tool} on {kind}: found no words of its client and server, expected one of {known}")
    told = arguments if entry.server_is_told else ()
    program = (*entry.before, executable)
    return (*program, *entry.server, *told), (*program, *entry.client, *arguments, *entry.client_end)
