"""Whether an output itself says that both of its ends are one host, so that nothing crossed a link."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from railyard.parsers.parsed import Table
from railyard.verdict.inputs import Target

#: "[  5] local 10.0.0.1 port 40005 connected to 10.0.0.2 port 5201"; iperf2 says "connected with".
#: Source: esnet/iperf, src/iperf_locale.c (report_connected).
_SOCKETS = re.compile(
    r"\blocal (?P<local>[\w.:%]{2,60}) port \d+ connected (?:to|with) (?P<remote>[\w.:%]{2,60}) port \d"
)
#: " local address: LID 0x01 QPN 0x0127 …", and under it " GID: 00:…" if there is one; each byte is decimal.
#: Source: linux-rdma/perftest, src/perftest_communication.c, ctx_print_pingpong_data.
_PORT = re.compile(r"\b(?P<end>local|remote) address: LID (?P<lid>(?:0x)?[0-9a-f]{1,8})\b")
_GID = re.compile(r"\bGID: (?P<gid>[0-9a-f]{2,3}(?::[0-9a-f]{2,3}){15})\b")
#: "local_host": "10.0.0.1", "local_port": 40005, "remote_host": "10.0.0.2": of each stream, in one line or in several.
#: Source: esnet/iperf, src/iperf_api.c, iperf_on_connect and connect_msg.
_JSON_SOCKETS = re.compile(
    r'"local_host"\s{0,9}:\s{0,9}"(?P<local>[\w.:%]{2,60})"\s{0,9},\s{0,60}"local_port"\s{0,9}:\s{0,9}\d{1,5}\s{0,9},'
    r'\s{0,60}"remote_host"\s{0,9}:\s{0,9}"(?P<remote>[\w.:%]{2,60})"'
)
#: "[ 0] IP = 127.0.0.1 PORT = 11111 # UDP": sockperf names the server only. Source: Mellanox/sockperf, src/client.cpp.
_SERVER = re.compile(r"\] IP = (?P<remote>\S{2,60}?)\s{1,20}PORT = ")
#: "TCP STREAM TEST from 10.0.0.1 () port 0 AF_INET to 10.0.0.2 () port 0 AF_INET": a name may precede the address.
#: Source: HewlettPackard/netperf, src/netlib.c, generate_strings_from_addrinfo and print_top_test_header.
_NETPERF = re.compile(
    r" TEST from (?P<local>\S{2,80}) \(\S{0,60}\) port \d{1,5} AF_INET6? to (?P<name>\S{2,80}) \((?P<remote>\S{0,60})\)"
)
#: qperf's test "conf" names both nodes. Source: linux-rdma/qperf, src/qperf.c, view_conf.
_NODE = re.compile(r"\b(?P<end>loc|rem)_node\s{1,9}=\s{1,9}(?P<name>\S{1,80})")
_LOOPBACK = re.compile(r"127\.\d|::1\Z")
_ANY_HOST = "localhost"  # containers may all be called so


@dataclass(frozen=True, slots=True)
class _Ends:
    """Two ends of a connection as an output prints them, and the line of the second one."""

    line: int
    local: str
    remote: str

    @property
    def is_one_host(self) -> bool:
        """Whether both are the same address, or it is the loopback device's own."""
        return _bare(self.local) == _bare(self.remote) or _LOOPBACK.match(_bare(self.remote)) is not None


def same_host(table: Table, lines_of_tables: tuple[int, ...], target: Target, text: str) -> str | None:
    """Return why a table is not judged by the target's link: all connections of its run end where they begin.

    ``lines_of_tables``: where the output's tables begin; ``text`` is the output. None if an end is another host, or if
    the output names none.
    """
    if not target.rail_names:
        return None
    found = list(_ends_in(text))
    if not found:
        return None
    after = min((line for line in lines_of_tables if line > table.line), default=len(text))
    before = max((line for line in lines_of_tables if line < table.line), default=0)
    own = [ends for ends in found if table.line <= ends.line < after]
    own = own or [ends for ends in found if before < ends.line < table.line] or found
    if not own or not all(ends.is_one_host for ends in own):
        return None
    return (
        f"not judged: both ends are the same host ({own[0].remote}, line {own[0].line}), so nothing crossed "
        f"{target.fabric_name}; run it between two nodes"
    )


def _bare(address: str) -> str:
    """Return an address without the interface that iperf2 writes behind it, and an IPv4 one without ``::ffff:``."""
    return address.partition("%")[0].removeprefix("::ffff:")


@lru_cache(maxsize=1)  # each of an output's tables asks for it
def _ends_in(text: str) -> tuple[_Ends, ...]:
    """Return all connections of a text; a search for their words costs less than reading each line."""
    forms = (
        (_of_sockets, (" connected ", "PORT = ")),
        (_of_netperf, (" TEST from ",)),
        (_of_json, ('"local_host"',)),
        (_of_ports, (" address: LID ",)),
        (_of_nodes, ("_node",)),
    )
    return tuple(ends for read, words in forms if any(word in text for word in words) for ends in read(text))


def _of_sockets(text: str) -> Iterator[_Ends]:
    for number, line in enumerate(text.split("\n"), 1):
        if found := _SOCKETS.search(line):
            yield _Ends(number, found["local"], found["remote"])
        elif found := _SERVER.search(line):
            yield _Ends(number, "", found["remote"])


def _of_netperf(text: str) -> Iterator[_Ends]:
    for found in _NETPERF.finditer(text):
        remote = found["remote"] if _LOOPBACK.match(found["remote"]) else found["name"]
        remote = "127.0.0.1" if remote == _ANY_HOST else remote
        yield _Ends(text.count("\n", 0, found.start()) + 1, found["local"], remote)


def _of_json(text: str) -> Iterator[_Ends]:
    for found in _JSON_SOCKETS.finditer(text):
        yield _Ends(text.count("\n", 0, found.start()) + 1, found["local"], found["remote"])


def _of_ports(text: str) -> Iterator[_Ends]:
    """Yield each remote port of perftest with the local one of the same place: its GID, else its LID if it has one."""
    ports: dict[str, list[str]] = {"local": [], "remote": []}
    lines: list[int] = []
    end = ""
    for number, line in enumerate(text.split("\n"), 1):
        if found := _PORT.search(line):
            if found["end"] == "local" and end == "remote":  # the next run
                yield from _pairs(ports, lines)
                ports, lines = {"local": [], "remote": []}, []
            end = found["end"]
            ports[end].append("" if int(found["lid"], 16) == 0 else f"LID {found['lid']}")
            lines += [number] if end == "remote" else []
        elif end and ports[end] and (found := _GID.search(line)):
            ports[end][-1] = f"GID {found['gid']}" if found["gid"].strip("0:") else ports[end][-1]
    yield from _pairs(ports, lines)


def _pairs(ports: dict[str, list[str]], lines: list[int]) -> Iterator[_Ends]:
    for line, local, remote in zip(lines, ports["local"], ports["remote"], strict=False):
        if local and remote:
            yield _Ends(line, local, remote)


def _of_nodes(text: str) -> Iterator[_Ends]:
    local = ""
    for number, line in enumerate(text.split("\n"), 1):
        found = _NODE.search(line)
        if found and found["end"] == "loc":
            local = found["name"]
        elif found and local and not local.startswith(_ANY_HOST):
            yield _Ends(number, local, found["name"])
