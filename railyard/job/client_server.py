"""How programs without MPI are launched: a client and a server per rail, or one process per node; and their words.

The latter is an application that starts its own processes. The first node's process becomes the application, and is
given the other nodes.

If a program of a tool has other words, it has its own entry (fabtests/fi_rdm_tagged_bw).

``pair.sh`` fills the blanks on the node, for one rail at a time: ``{device}`` (hsn0, mlx5_0:1), ``{card}`` (mlx5_0),
``{card_port}`` (1), ``{port}`` (the TCP port of this rail's pair), ``{gpu}`` (the number of the GPU nearest to the
rail, if the benchmark's own words need one), ``{server}`` and ``{local}`` (the addresses of the server and of this end:
the rail's own if the rail is a network interface, else the nodes' names).

What a launch starts as each of its processes: the benchmark itself, or a script that becomes one end of it.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from types import MappingProxyType
from typing import Protocol

from railyard.base.errors import RailyardError
from railyard.base.paths import packaged_text
from railyard.benchmarks.apps import every_node
from railyard.provision.testbed.scripts import CLUSTER, enter_script
from railyard.stacks.libraries import ONE_RAIL

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
#: Both are beside the job's script. The processes exchange their files in the folder beside them.
SCRIPT = "pair.sh"
START_SCRIPT = "start.sh"
FOLDER = "pair"
#: The launcher's program in the virtual cluster. Elsewhere srun, or whatever starts two processes, does not need it.
STARTER = "sh"
#: The word for no device: the others are then given the node's name.
_NO_DEVICE = "-"
# Below the ports that Linux gives to clients (net.ipv4.ip_local_port_range: from 32768), above registered ports in use.
_FIRST_PORT, _PORTS, _RAILS_AT_MOST = 20000, 10000, 16


def scripts() -> dict[str, str]:
    """Return the scripts to write beside a job's script: name and text."""
    return {name: packaged_text(f"job/scripts/{name}") for name in (SCRIPT, START_SCRIPT)}


def start_words(home: Path, nodes: tuple[str, ...], ranks_per_node: int, bed: str = CLUSTER) -> tuple[str, ...]:
    """Return the words after STARTER on our testbeds: so many processes on each of these nodes, in their order."""
    ranks = (node for node in nodes for _ in range(ranks_per_node))
    return (START_SCRIPT, str(enter_script(home, bed)), *ranks, "--")


def run_words(
    tool: str,
    kind: str,
    devices: tuple[str, ...] | Mapping[str, int],
    executable: str,
    arguments: tuple[str, ...],
    *,
    tag: str,
    in_turn: bool = False,
) -> list[str]:
    """Return the command of both processes: over all these devices at once, or over one after the other.

    ``tag`` belongs to this run alone: it separates its files from an earlier run's, and its ports follow from it. If
    each of the ``devices`` has a GPU, they come with its number, which fills a blank in the words. Raises RailyardError
    for a tool without a client and a server on this kind of fabric.
    """
    server, client = both_ends(tool, kind, executable, arguments)
    first = first_port(tag)
    gpus = {device: f"={gpu}" for device, gpu in devices.items()} if isinstance(devices, Mapping) else {}
    rails = ",".join(f"{device}={first + index}{gpus.get(device, '')}" for index, device in enumerate(devices))
    how = "in-turn" if in_turn else "at-once"
    return ["sh", SCRIPT, "run", FOLDER, tag, how, rails, "--", *server, "--", *client]


def first_words(
    nodes: int, devices: tuple[str, ...], agent: str, executable: str, arguments: tuple[str, ...], *, tag: str
) -> list[str]:
    """Return the command of each process, one per node, of an application that starts its own processes on all nodes.

    The application is given the address of the one device on each node, or the nodes' names if there is no device (one
    node alone). ``agent`` starts a command on another node, as ssh does. Raises RailyardError for several devices.
    """
    if len(devices) > 1:
        found = f"{len(devices)} rails ({', '.join(devices)})"
        raise RailyardError(f"{executable}: found {found}, expected one: {ONE_RAIL}")
    device = devices[0] if devices else _NO_DEVICE
    return ["sh", SCRIPT, "first", FOLDER, tag, str(nodes), device, agent, "--", executable, *arguments]


def first_port(tag: str) -> int:
    """Return the TCP port of the first rail's pair. A server left over from another run has another port."""
    return _FIRST_PORT + zlib.crc32(tag.encode()) % (_PORTS // _RAILS_AT_MOST) * _RAILS_AT_MOST


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


OWN_GPU = "own_gpu.sh"


class Command(Protocol):
    """What the processes of a launch are to run."""

    def words(
        self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str, inside: Sequence[str] = ()
    ) -> list[str]:
        """Return each process's words; ``tag`` belongs to this run alone, ``inside`` starts the program in an image.

        Raises RailyardError if there are none.
        """


class Program:
    """An MPI program: each process is a rank of it."""

    def words(
        self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str, inside: Sequence[str] = ()
    ) -> list[str]:
        return [*inside, executable, *arguments]


@dataclass(frozen=True, slots=True)
class ClientAndServer:
    """A client and a server of a tool for each rail: all at once, or one rail after the other (``in_turn``).

    ``kind`` is the fabric's. ``gpu_of`` has for each device the number of the GPU that holds its buffers; it is empty
    if they are in the host's memory.
    """

    tool: str
    kind: str
    in_turn: bool = False
    gpu_of: Mapping[str, int] = field(default_factory=dict)

    def words(
        self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str, inside: Sequence[str] = ()
    ) -> list[str]:
        told = {device: self.gpu_of[device] for device in devices} if self.gpu_of else devices
        words = run_words(self.tool, self.kind, told, executable, tuple(arguments), tag=tag, in_turn=self.in_turn)
        # Each end follows a "--": each of them starts in the image, and the script that starts it outside.
        return [each for word in words for each in ((word, *inside) if word == "--" else (word,))]


@dataclass(frozen=True, slots=True)
class FirstProcess:
    """An application that starts its own processes with ``agent``: it is the first node's process of one per node."""

    nodes: int
    agent: str

    def words(
        self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str, inside: Sequence[str] = ()
    ) -> list[str]:
        return first_words(self.nodes, devices, self.agent, executable, tuple(arguments), tag=tag)


@dataclass(frozen=True, slots=True)
class OwnGpu:
    """An MPI program whose ranks each see only the GPU with the rank's number on its node; a node has ``gpus``.

    ``variable`` is the variable that hides the other GPUs.
    """

    variable: str
    gpus: int

    def words(
        self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str, inside: Sequence[str] = ()
    ) -> list[str]:
        return ["sh", OWN_GPU, self.variable, str(self.gpus), "--", *inside, executable, *arguments]


def own_gpu_script() -> str:
    """Return the text of the script that shows a rank its GPU; it is written beside a job's script."""
    return packaged_text(f"job/scripts/{OWN_GPU}")


class CopyANode:
    """A separate copy of the program on each node, which prints to its own file in ``every_node.PARTS``."""

    def words(
        self, executable: str, arguments: Sequence[str], devices: tuple[str, ...], tag: str, inside: Sequence[str] = ()
    ) -> list[str]:
        return ["sh", every_node.SCRIPT, every_node.PARTS, tag, *inside, executable, *arguments]
