"""How a benchmark without MPI is launched: a client on the first node and a server on the second, a pair a rail."""

import zlib
from importlib.resources import files
from pathlib import Path

from railyard.pairtools import both_ends
from railyard.testbed.entry import CLUSTER, enter_script

#: Lies beside the job's script, and what its processes say to one another in the folder beside it.
SCRIPT = "pair.sh"
FOLDER = "pair"
#: The launcher's program in the virtual cluster; elsewhere srun, or whatever starts two processes, does without.
STARTER = "sh"
# Below the ports that Linux gives to clients (net.ipv4.ip_local_port_range: from 32768), above registered ones in use.
_FIRST_PORT, _PORTS, _RAILS_AT_MOST = 20000, 10000, 16


def pair_script() -> str:
    """Return the text of the script that both processes run, to be written beside a job's script."""
    return files("railyard").joinpath(SCRIPT).read_text(encoding="utf-8")


def start_words(home: Path, nodes: tuple[str, ...], bed: str = CLUSTER) -> tuple[str, ...]:
    """Return what follows STARTER in a testbed of ours: both ends, on the first and the last of these nodes."""
    return (SCRIPT, "start", str(enter_script(home, bed)), nodes[0], nodes[-1], "--")


def run_words(
    tool: str,
    kind: str,
    devices: tuple[str, ...],
    executable: str,
    arguments: tuple[str, ...],
    *,
    tag: str,
    in_turn: bool = False,
) -> list[str]:
    """Return the command of both processes: over all these devices at once, or over one after the other.

    ``tag`` is this run's alone: it tells its files from an earlier run's, and makes its ports. Raises RailyardError for
    a tool without a client and a server on this kind of fabric.
    """
    server, client = both_ends(tool, kind, executable, arguments)
    first = first_port(tag)
    rails = ",".join(f"{device}={first + index}" for index, device in enumerate(devices))
    how = "in-turn" if in_turn else "at-once"
    return ["sh", SCRIPT, "run", FOLDER, tag, how, rails, "--", *server, "--", *client]


def first_port(tag: str) -> int:
    """Return the TCP port of the first rail's pair; a server that was left behind holds another run's."""
    return _FIRST_PORT + zlib.crc32(tag.encode()) % (_PORTS // _RAILS_AT_MOST) * _RAILS_AT_MOST
