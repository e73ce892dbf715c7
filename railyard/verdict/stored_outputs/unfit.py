"""Why no figure of a stored table is judged by a link: another network, one host, or another kind of run."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from railyard.base.patterns import late_regex
from railyard.benchmarks.table import micro
from railyard.parsers.output import REPORTS, ParsedOutput, Table
from railyard.verdict.inputs import Target
from railyard.verdict.stored_outputs.one_node import one_node
from railyard.verdict.stored_outputs.target import Nodes
from railyard.verdict.wording import stored_outputs

#: Fewer messages under way than this are no stream: perftest's send queue of 128 and OSU's window of 64 are.
_FEW_MESSAGES = 16
#: Fewer round trips than this are no measurement where none before them warms up the connection.
_FEW_ROUND_TRIPS = 100
#: Bytes that a call of a stream sends at least; netperf's own default is the size of the socket's buffer (16 KiB).
_SHORT_CALL = 4096


_LINK_TYPE = late_regex(r"\bLink type\s*:\s*(\w+)")

#: The kind of link that perftest prints as "Link type" (ibv_port_attr.link_layer), by the family of a link. A card of
#: Omni-Path says IB, too. Slingshot is left out: its first generation has Ethernet cards of another maker.
#: Source: github.com/linux-rdma/perftest, src/perftest_parameters.c, link_layer_str.
_LINK_TYPES: Mapping[stored_outputs.Family, stored_outputs.Printed] = {
    "infiniband": "IB",
    "omnipath": "IB",
    "roce": "Ethernet",
    "ethernet": "Ethernet",
}

#: What only one network has, by the family of its links: the tools of libcxi, EFA's scalable reliable datagrams,
#: perftest's word for iWARP, and the names that the kernel gives to devices of EFA, Omni-Path and iWARP, and to RDMA in
#: software, which no card's rate bounds.
#: Source: github.com/HewlettPackard/shs-libcxi, utils; linux-rdma/perftest, src/perftest_parameters.c, connStr and
#: transport_str; torvalds/linux, drivers/infiniband/hw (efa, hfi1, cxgb4, i40iw) and drivers/infiniband/sw/rxe.
_OF_CONNECTION: Mapping[str, stored_outputs.Network] = {"SRD": "efa"}

_OF_TRANSPORT: Mapping[str, stored_outputs.Network] = {"IW": "iwarp"}

_OF_TOOL: Mapping[str, stored_outputs.Network] = {"cxi": "slingshot"}

_OF_DEVICE: tuple[tuple[str, stored_outputs.Network], ...] = (
    *(("hfi1_", "omnipath"), ("efa_", "efa"), ("cxgb", "iwarp"), ("i40iw", "iwarp")),
    *(("rxe", "software"), ("siw", "software")),
)

#: Names of devices whose cards end at a generation of InfiniBand, with its rate over four lanes, Gbit/s.
#: Source: torvalds/linux, drivers/infiniband/hw/qib (QLE7300, QDR) and hw/mthca (InfiniHost III, DDR).
_OLD_CARDS = {"qib": ("QDR", 32.0), "mthca": ("DDR", 16.0), "ipath": ("DDR", 16.0)}

_FAMILIES = {*_LINK_TYPES, "slingshot", "efa"}


#: "[  5] local 10.0.0.1 port 40005 connected to 10.0.0.2 port 5201"; iperf2 says "connected with".
#: Source: esnet/iperf, src/iperf_locale.c (report_connected).
_SOCKETS = late_regex(
    r"\blocal (?P<local>[\w.:%]{2,60}) port \d+ connected (?:to|with) (?P<remote>[\w.:%]{2,60}) port \d"
)

#: " local address: LID 0x01 QPN 0x0127 …", and under it " GID: 00:…" if there is one; each byte is decimal.
#: Source: linux-rdma/perftest, src/perftest_communication.c, ctx_print_pingpong_data.
_PORT = late_regex(r"\b(?P<end>local|remote) address: LID (?P<lid>(?:0x)?[0-9a-f]{1,8})\b")

_GID = late_regex(r"\bGID: (?P<gid>[0-9a-f]{2,3}(?::[0-9a-f]{2,3}){15})\b")

#: "local_host": "10.0.0.1", "local_port": 40005, "remote_host": "10.0.0.2": of each stream, in one line or in several.
#: Source: esnet/iperf, src/iperf_api.c, iperf_on_connect and connect_msg.
_JSON_SOCKETS = late_regex(
    r'"local_host"\s{0,9}:\s{0,9}"(?P<local>[\w.:%]{2,60})"\s{0,9},\s{0,60}"local_port"\s{0,9}:\s{0,9}\d{1,5}\s{0,9},'
    r'\s{0,60}"remote_host"\s{0,9}:\s{0,9}"(?P<remote>[\w.:%]{2,60})"'
)

#: "[ 0] IP = 127.0.0.1 PORT = 11111 # UDP": sockperf names the server only. Source: Mellanox/sockperf, src/client.cpp.
_SERVER = late_regex(r"\] IP = (?P<remote>\S{2,60}?)\s{1,20}PORT = ")

#: "TCP STREAM TEST from 10.0.0.1 () port 0 AF_INET to 10.0.0.2 () port 0 AF_INET": a name may precede the address.
#: Source: HewlettPackard/netperf, src/netlib.c, generate_strings_from_addrinfo and print_top_test_header.
_NETPERF = late_regex(
    r" TEST from (?P<local>\S{2,80}) \(\S{0,60}\) port \d{1,5} AF_INET6? to (?P<name>\S{2,80}) \((?P<remote>\S{0,60})\)"
)

#: qperf's test "conf" names both nodes. Source: linux-rdma/qperf, src/qperf.c, view_conf.
_NODE = late_regex(r"\b(?P<end>loc|rem)_node\s{1,9}=\s{1,9}(?P<name>\S{1,80})")

#: "Local (client)   : NIC 0x12 PID 0 VNI 10": a card's address in its fabric. Source: shs-libcxi, utils/utils_common.c.
_CARD = late_regex(r"^\s{0,9}(?P<end>Local|Remote) \((?:client|server)\)\s{0,9}: (?P<card>NIC 0x[0-9a-f]{1,8}) PID ")

_LOOPBACK = late_regex(r"127\.\d|::1\Z")
#: The first address is that of docker0, the bridge of one host for its containers. Source: dockerd, --bip.
_DOCKER, _CONTAINER = "172.17.0.1", late_regex(r"172\.17\.\d")

_ANY_HOST = "localhost"  # containers may all be called so


@dataclass(frozen=True, slots=True)
class _Ends:
    """Two ends of a connection as an output prints them, and the line of the second one."""

    line: int
    local: str
    remote: str

    @property
    def is_one_host(self) -> bool:
        """Whether both are the same address, it is the loopback device's own, or docker0 is between them."""
        local, remote = _bare(self.local), _bare(self.remote)
        return local == remote or _LOOPBACK.match(remote) is not None or self.is_bridged

    @property
    def is_bridged(self) -> bool:
        """Whether one end is docker0, and the other a container of its host."""
        ends = _bare(self.local), _bare(self.remote)
        return _DOCKER in ends and all(map(_CONTAINER.match, ends))


def why_unfit(
    key: str | None, table: Table, target: Target, nodes: Nodes, parsed: ParsedOutput, text: str
) -> str | None:
    """Return why a table of ``parsed`` is not judged by the target; None if it is. ``text`` is the output."""
    return (
        other_link(table, target, text)
        or _within_one_host(key, table, target, nodes, parsed, text)
        or _of_two_ports(table, target)
        or _of_few_messages(table)
        or _of_few_round_trips(key, table)
        or _of_short_calls(table)
        or _of_groups(table, nodes)
        or _without_end(table)
    )


def _within_one_host(
    key: str | None, table: Table, target: Target, nodes: Nodes, parsed: ParsedOutput, text: str
) -> str | None:
    """Return that an output names one host at both ends; None for others, and if its run was intended to stay within
    one node, or to go through one card.
    """
    if nodes.count == 1 or (key is not None and (micro.find(key).loops or micro.find(key).within_node)):
        return None
    lines = tuple(each.line for each in parsed.tables)
    return same_host(table, lines, target, text) or one_node(table, lines, target, text)


def _of_two_ports(table: Table, target: Target) -> str | None:
    """Return that a table is of two ports of a card where one rail is named; None for others.

    Source: linux-rdma/perftest, src/perftest_parameters.c, ctx_print_test_info ("Dual-port").
    """
    if not table.context.get("dual_port") or target.rails > 1 or not target.rail_names:
        return None
    return stored_outputs.two_ports()


def _of_few_messages(table: Table) -> str | None:
    """Return that osu_mbw_mr kept few messages under way, so that it shows no stream; None for others.

    Source: osu_mbw_mr.c of the OSU micro-benchmarks: "[ pairs: 1 ] [ window size: 1 ]", 64 without -W.
    """
    window, pairs = table.context.get("window"), table.context.get("pairs")
    if not isinstance(window, int) or not isinstance(pairs, int) or window * pairs >= _FEW_MESSAGES:
        return None
    return stored_outputs.few_messages(window, window * pairs)


def _of_few_round_trips(key: str | None, table: Table) -> str | None:
    """Return that a benchmark without a warm-up sent few messages of a size, so its first ones count; None for others.

    A posted run of fi_pingpong over EFA took 2050 us at its first size and 26 us at the third. Source: its output of
    10 messages a size in ComputeCanada/puppet-magic_castle, pull request 331; ofiwg/libfabric, util/pingpong.c.
    """
    if key is None or micro.find(key).warms_up or "iterations" not in table.columns:
        return None
    least = min((cell for cell in table.column("iterations") if isinstance(cell, int)), default=_FEW_ROUND_TRIPS)
    if least >= _FEW_ROUND_TRIPS:
        return None
    return stored_outputs.few_round_trips(least)


def _of_short_calls(table: Table) -> str | None:
    """Return that netperf's stream sent few bytes with each call, so that a processor's calls set its rate, or None.

    Source: HewlettPackard/netperf, doc/netperf.texi (-m: the bytes of each send call).
    """
    size = table.context.get("call_size")
    if "bandwidth" not in table.columns or not isinstance(size, int) or size >= _SHORT_CALL:
        return None
    return stored_outputs.short_calls(size)


def _of_groups(table: Table, nodes: Nodes) -> str | None:
    """Return that a table is of several groups at once, which may share a node or a rail; None for others, or if it is
    known how many processes share a node.
    """
    groups, ranks = table.context.get("groups"), table.context.get("ranks")
    if not (isinstance(groups, int) and isinstance(ranks, int)):
        return None
    if groups < 2 or nodes.ranks_each is not None or nodes.count == 1:
        return None
    return stored_outputs.several_groups(groups, ranks)


def _without_end(table: Table) -> str | None:
    """Return that a table of one size has no end and does not show why: perftest ran without end, or it is cut.

    None for others. Source: linux-rdma/perftest, src/perftest_resources.c, run_iter_bw_infinitely: a row for the same
    size after each interval, until the program is killed.
    """
    if table.complete or REPORTS in table.context or "size" not in table.columns or len({*table.column("size")}) != 1:
        return None
    if len(table.rows) == 1 and ("bandwidth_peak" not in table.columns or table.column("bandwidth_peak") != (0,)):
        return None
    return stored_outputs.without_end(len(table.rows))


def other_link(table: Table, target: Target, text: str) -> str | None:
    """Return why a table is not judged by the target's link: its output names another kind of link. None if not.

    ``text`` is the output, for the line that names it.
    """
    network = _other_network(table, target) or _slower_card(table, target)
    if network is not None:
        return network
    printed = next((kind for kind in _LINK_TYPES.values() if kind == table.context.get("link")), None)
    family = next((each for each in _LINK_TYPES if each == target.fabric.link.family), None)
    if family is None or printed is None or printed == _LINK_TYPES[family]:
        return None
    line = _line_of(printed, table.line, text)
    return stored_outputs.printed_link(printed, line, target.fabric_name, target.system, family)


def _other_network(table: Table, target: Target) -> str | None:
    """Return why a table is not judged: its tool, connection or device is of another network; None if not.

    A system's file may name rails that are devices of software; then its own references and links decide.
    """
    said = _network_of(table)
    family = target.fabric.link.family
    if said is None or family not in _FAMILIES or said[1] == family:
        return None
    if said[1] == "software" and any(_family_of(rail) == "software" for rail in target.rail_names):
        return None
    return stored_outputs.other_network(*said, target.fabric_name, target.system)


def _slower_card(table: Table, target: Target) -> str | None:
    """Return that the output names a device whose cards end far below the target's link; None if it does not."""
    device, link = str(table.context.get("device")), target.fabric.link
    rate = link.data_rate_gbit_s or 0.0
    for prefix, (generation, most) in _OLD_CARDS.items():
        if device.startswith(prefix) and link.family in _FAMILIES and rate > most:
            return stored_outputs.slower_card(device, generation, link.name)
    return None


def _network_of(table: Table) -> tuple[str, stored_outputs.Network] | None:
    """Return what names a table's network, with the family of its links; None if nothing does."""
    connection, device = str(table.context.get("connection")), str(table.context.get("device"))
    transport = str(table.context.get("transport"))
    if table.tool in _OF_TOOL:
        return f"{table.benchmark or table.tool}", _OF_TOOL[table.tool]
    if connection in _OF_CONNECTION:
        return stored_outputs.connection(connection), _OF_CONNECTION[connection]
    if transport in _OF_TRANSPORT:
        return stored_outputs.transport(transport), _OF_TRANSPORT[transport]
    family = _family_of(device)
    return None if family is None else (stored_outputs.device(device), family)


def _family_of(device: str) -> stored_outputs.Network | None:
    """Return the network whose devices alone have such a name; None for any other name."""
    return next((family for prefix, family in _OF_DEVICE if device.startswith(prefix)), None)


def _line_of(printed: str, heading: int, text: str) -> int | None:
    """Return the line that names this kind of link: the last one before the table's heading, else the first one."""
    lines = [
        number
        for number, line in enumerate(text.split("\n"), 1)
        if (found := _LINK_TYPE.search(line)) and found[1] == printed
    ]
    return max((line for line in lines if line <= heading), default=lines[0] if lines else None)


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
    return stored_outputs.one_host(own[0].remote, own[0].line, _DOCKER if own[0].is_bridged else "", target.fabric_name)


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
        (_of_cards, (": NIC 0x",)),
    )
    return tuple(ends for read, roots in forms if any(root in text for root in roots) for ends in read(text))


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


def _of_cards(text: str) -> Iterator[_Ends]:
    local = ""
    for number, line in enumerate(text.split("\n"), 1):
        found = _CARD.match(line)
        if found and found["end"] == "Local":
            local = found["card"]
        elif found and local:
            yield _Ends(number, local, found["card"])
