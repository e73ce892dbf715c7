"""How programs without MPI are launched: a client and a server per rail, or one process per node.

The latter is an application that starts its own processes. The first node's process becomes the application, and is
given the other nodes.
"""

import zlib
from collections.abc import Mapping
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.base.paths import packaged_text
from railyard.job.client_server_words import both_ends
from railyard.provision.testbed.entry import CLUSTER, enter_script
from railyard.stacks.programs import ONE_RAIL

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
