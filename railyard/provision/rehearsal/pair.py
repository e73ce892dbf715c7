"""A client or a server of a rehearsal: perftest, iperf3, NPtcp, libfabric's ping-pong and libcxi's writes.

``python -m railyard.provision.rehearsal.pair STACK TOOL PROGRAM [WORD]...`` takes the words of the real program. The
server listens at the port that its words name, and the client tells it who asks. Both move their own node's counters by
the messages between their ports, and the client prints the output.
"""

import fcntl
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from railyard.base.errors import RailyardError
from railyard.provision.rehearsal import recorded_run, traffic
from railyard.provision.rehearsal.benchmark_request import BenchmarkRequest, parse_words, program_of
from railyard.provision.rehearsal.crew import Crew, Member, Moves, ports_of
from railyard.provision.rehearsal.form import Rehearsal
from railyard.provision.rehearsal.play import patience, rehearsal_of, sentence
from railyard.provision.rehearsal.rank_ports import LibraryError, Port, RankPorts
from railyard.provision.rehearsal.traffic import Network
from railyard.provision.replay.texts import text_of
from railyard.site.site import Site

#: The options of a program that give its TCP port, its server and its device.
_PORT = {"perftest": "-p", "iperf3": "-p", "netpipe": "-P", "fabtests": "-P", "cxi": "-p"}
_SERVER = {"perftest": "", "iperf3": "-c", "netpipe": "-h", "fabtests": "", "cxi": ""}

#: What a tool prints if its node does not have the named device.
_REFUSALS = {
    "perftest": " Did not detect devices \n If device exists, check if driver is up\n"
    " Unable to find the Infiniband/RoCE device {device}",
    "cxi": "Failed to open device {device}: No such device",
}


@dataclass(frozen=True)
class _End(Crew):
    """Both ends as a crew of two. Words name their ports; no library chooses them."""

    named: tuple[Port, ...] = ()

    @property
    def takes(self) -> tuple[RankPorts, ...]:
        """The port that each end was given: there is no library that could fall back to another one."""
        return tuple(RankPorts((port,), tcp=port.kind == "net") for port in self.named)


def main(words: Sequence[str]) -> int:
    """Return the exit code of a client or a server."""
    stack, tool, program, *rest = words
    try:
        rehearsal, site = rehearsal_of(os.environ)
        found = parse_words(tool, program_of(program), rest, Path.cwd())
        if _is_client(tool, found):
            return _client(site, rehearsal, stack, found)
        return _serve(site, found)
    except LibraryError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except (RailyardError, OSError, ValueError) as error:
        print(f"rehearsal: {error}", file=sys.stderr)
        return 1


def _is_client(tool: str, found: BenchmarkRequest) -> bool:
    return bool(found.words.get(_SERVER[tool]))


def _serve(site: Site, found: BenchmarkRequest) -> int:
    port = int(found.words[_own_port(found)])
    if found.tool in _REFUSALS:
        _port(found, ports_of(site, "\n".join(_note())), _own_device(found, "")[0])
    with socket.create_server(("", port)) as listening:
        listening.settimeout(patience(os.environ))
        connection, _ = listening.accept()
        with connection, connection.makefile("rw", encoding="utf-8") as stream:
            mine = _own_device(found, connection.getsockname()[0])
            print(json.dumps({"node": _node(), "port": mine[0], "ports": mine[1]}), file=stream, flush=True)
            _apply(json.loads(stream.readline())["lines"])
            print(json.dumps({"done": True}), file=stream, flush=True)
    return 0


def _own_port(found: BenchmarkRequest) -> str:
    """Return the option with the TCP port: fi_pingpong's server has a different one from its client."""
    own = _PORT[found.tool]
    return "-B" if found.tool == "fabtests" and own not in found.words else own


def _client(site: Site, rehearsal: Rehearsal, stack: str, found: BenchmarkRequest) -> int:
    recorded_run.say_made(rehearsal, Path.cwd(), "it is a client and a server, and one output holds several of them")
    server, port = found.words[_SERVER[found.tool]], int(found.words[_own_port(found)])
    with (
        socket.create_connection((server, port), patience(os.environ)) as connection,
        connection.makefile("rw", encoding="utf-8") as stream,
    ):
        device, there = _own_device(found, connection.getsockname()[0])
        other = json.loads(stream.readline())
        nodes = (_node(), str(other["node"]))
        ports = {nodes[0]: ports_of(site, there), nodes[1]: ports_of(site, other["ports"])}
        members = tuple(Member(rank, node, 0, frozenset(), {}) for rank, node in enumerate(nodes))
        named = (_port(found, ports[nodes[0]], device), _port(found, ports[nodes[1]], str(other["port"])))
        crew = _End(site, rehearsal, stack, members, ports, dict.fromkeys(nodes, frozenset()), os.environ, named)
        network, moves = Network(crew), Moves(site.system, rehearsal.faults)
        made = traffic.make_output(network, found, sentence(network))
        traffic.move(network, found, moves)
        print(json.dumps({"lines": moves.lines(nodes[1])}), file=stream, flush=True)
        if nodes[0] != nodes[1]:
            _apply(moves.lines(nodes[0]))
        if not stream.readline():
            raise RailyardError(f"the server on {nodes[1]} stopped answering")
    print(text_of(made), end="", flush=True)
    return 0


def _own_device(found: BenchmarkRequest, address: str) -> tuple[str, str]:
    """Return this end's device, by its words or else by its address, and the note of its node's ports."""
    note = "\n".join(_note())
    words = found.words
    if found.tool == "perftest" and "-d" in words:
        return f"{words['-d']}:{words.get('-i', '1')}", note
    named = words.get("-d", "").removesuffix("-rdm") or os.environ.get("FI_TCP_IFACE", "")
    return named or _interface_of(address), note


def _note() -> list[str]:
    """Return one line per port of this node, as ``standin.sh`` writes them."""
    classes = Path(os.environ.get("RAILYARD_SYSFS", "/sys"), "class")
    lines = []
    for folder in sorted(classes.glob("infiniband/*/ports/*")):
        state, rate = _line(folder / "state"), _line(folder / "rate").split(" ")[0]
        up = "yes" if "ACTIVE" in state else "no"
        lines.append(f"verbs {folder.parts[-3]}:{folder.name} {up} {rate or '-'} -")
    lines += [f"cxi {folder.name} yes - -" for folder in sorted(classes.glob("cxi/*"))]
    for folder in sorted(classes.glob("net/*")):
        if folder.name != "lo" and folder.is_dir():
            kind = "net/card" if (folder / "device/infiniband").is_dir() else "net"
            up = "yes" if _line(folder / "carrier") == "1" else "no"
            lines.append(f"{kind} {folder.name} {up} {_line(folder / 'speed') or '-'} -")
    return lines


def _port(found: BenchmarkRequest, ports: Sequence[Port], device: str) -> Port:
    """Return the port that an end was given. Raises LibraryError, in the tool's words, if its node has no such port."""
    bare = device.partition(":")[0]
    for port in ports:
        if port.active and port.name in (device, bare):
            return port
    raise LibraryError(_REFUSALS.get(found.tool, _REFUSALS["perftest"]).format(device=device))


def _interface_of(address: str) -> str:
    """Return the network interface that has an address. Raises RailyardError if none has."""
    done = subprocess.run(["ip", "-o", "-4", "addr", "show"], capture_output=True, text=True, timeout=10, check=False)
    for line in done.stdout.splitlines():
        words = line.split()
        if len(words) > 3 and words[3].partition("/")[0] == address:
            return words[1]
    raise RailyardError(f"no network interface of {_node()} has the address {address}")


def _apply(lines: Sequence[str]) -> None:
    """Add to counters of this node. Several clients on one node take turns."""
    root = Path(os.environ.get("RAILYARD_SYSFS", "/sys"))
    with Path("rehearsed.lock").open("a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for line in lines:
            _, pattern, amount = line.split()
            for path in root.glob(pattern):
                value, at, behind = _line(path).partition("@")
                path.write_text(f"{int(value) + int(amount)}{at}{behind}\n", encoding="utf-8")


def _node() -> str:
    return _line(Path(os.environ.get("RAILYARD_PROC", "/proc"), "sys/kernel/hostname")) or "unknown"


def _line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").split("\n")[0]
    except OSError:
        return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
