"""The sentences about a stored table that no figure of is judged: another network, one host, another kind of run."""

from typing import Literal

from railyard.base.wording import count_of

Network = Literal["efa", "slingshot", "omnipath", "iwarp", "software"]
Family = Literal["infiniband", "omnipath", "roce", "ethernet"]
Printed = Literal["IB", "Ethernet"]

#: What only one network has -> its name, and links of it.
_NETWORKS: dict[Network, str] = {
    "efa": "EFA (efa-100, efa-200, …)",
    "slingshot": "Slingshot (slingshot-10, slingshot-11, …)",
    "omnipath": "Omni-Path (opa-100, …)",
    "iwarp": "iWARP, which is RDMA over TCP, and no link of the list",
    "software": "RDMA in software over Ethernet, which a processor bounds and no card",
}
_FAMILIES: dict[Family, str] = {
    "infiniband": "InfiniBand",
    "omnipath": "Omni-Path",
    "roce": "RoCE",
    "ethernet": "Ethernet",
}
#: What perftest prints as "Link type" -> the link that a person should name.
_INSTEAD: dict[Printed, str] = {
    "IB": "the InfiniBand or Omni-Path link of its port (ib-edr, ib-hdr, opa-100, …)",
    "Ethernet": "the RoCE link of its port (roce-25, roce-100, roce-200, …)",
}


def two_ports() -> str:
    """Return that a run used two ports of a card, and one rail is named."""
    return 'its heading says "Dual-port: ON", so two ports carried it, and one rail is named: say --rails 2'


def few_messages(window: int, messages: int) -> str:
    """Return that too few messages were under way for a stream."""
    return (
        f'its heading says "window size: {window}", so {count_of(messages, "message")} at a time, and a link\'s rate '
        "needs more; run it without -W, or with -W 64"
    )


def few_round_trips(messages: int) -> str:
    """Return that a benchmark without a warm-up sent too few messages of a size."""
    return (
        f"it sent {count_of(messages, 'message')} of a size without any before, and these include the set-up of the "
        "connection; run it with -I 1000"
    )


def short_calls(size_bytes: int) -> str:
    """Return that each call of a stream sent few bytes."""
    return f"each call sent {size_bytes} B, so a processor's calls set the rate; run it without -m, or with -m 64K"


def several_groups(groups: int, ranks: int) -> str:
    """Return that several groups of ranks ran at once, and may share a node."""
    return (
        f"{groups * ranks} ranks took part, and it is not known how many share a node, since {groups} groups of "
        f"{ranks} ran at once (-multi): say it with --ranks-per-node"
    )


def without_end(rows: int) -> str:
    """Return that a table of one size has no end."""
    which = "its rows repeat one size and have" if rows > 1 else "its only row measures no peak and has"
    return f"{which} no end, as perftest prints with --run_infinitely; run it with a duration instead, such as -D 10"


def printed_link(printed: Printed, line: int | None, fabric: str, system: str, family: Family) -> str:
    """Return that an output names another kind of link than a system has, or than a person named (no ``system``)."""
    where = "" if line is None else f" (line {line})"
    says = f'the output says "Link type: {printed}"{where}, but'
    if system:
        return (
            f"{says} {fabric} of {system} is {_FAMILIES[family]}: the run used another network, or it is of another "
            "system; look at the device that it was given (-d)"
        )
    return f"{says} --link {fabric} is {_FAMILIES[family]}: give --link {_INSTEAD[printed]}; ibstatus shows its rate"


def other_network(by: str, network: Network, fabric: str, system: str) -> str:
    """Return that an output is of another network than the one it is judged by; ``by``: what says so."""
    of = f"{fabric} of {system}" if system else f"--link {fabric}"
    return f"the output is of {by}: {_NETWORKS[network]}; {of} is another network"


def connection(kind: str) -> str:
    """Return a type of connection that only one network has."""
    return f"a connection of type {kind}"


def transport(kind: str) -> str:
    """Return a transport that only one network has."""
    return f"a transport of type {kind}"


def device(name: str) -> str:
    """Return a device that only one network has."""
    return f"the device {name}"


def slower_card(name: str, generation: str, link: str) -> str:
    """Return that an output names a device whose cards end far below the link."""
    return (
        f"the output is of the device {name}, and cards of that name end at {generation}, but {link} is faster; give "
        "the link of the card, or look at the device that was measured (-d)"
    )


def one_host(address: str, line: int, bridge: str, fabric: str) -> str:
    """Return that both ends of a connection are one host; ``bridge``: the address of docker0 if it is between them."""
    docker = f": {bridge} is docker0" if bridge else ""
    return (
        f"both ends are the same host ({address}, line {line}{docker}), so nothing crossed {fabric}; run it between "
        "two nodes"
    )


def one_node(line: int, quoted: str, means: str, fabric: str) -> str:
    """Return that a line of the output says that all ranks share a node."""
    return (
        f'line {line} says that both ends share a node, "{quoted}" ({means}), so nothing crossed {fabric}; run it '
        "between two nodes"
    )


def ranks_on(host: str) -> str:
    """Return what a list of ranks means."""
    return f"all ranks that it lists are on {host}"


def hosts_in(means: str, line: int) -> str:
    """Return what a command means, with the line of its list of hosts."""
    return f"{means}, line {line}"


def in_branch(means: str) -> str:
    """Return what a setting means that is in a branch of a script."""
    return f"{means}, in a branch of the script that may have run"


def job_of_one_node() -> str:
    """Return what a number of nodes means."""
    return "the job had one node"


def shared_memory_transport() -> str:
    """Return what a client's option means."""
    return "it was given shared memory as transport"


def own_server() -> str:
    """Return what the server's address of a client means."""
    return "the server that it names is its own host"


def only_host(name: str, in_file: bool) -> str:
    """Return that a command names one host, or its file does."""
    return f"{name} is the only host {'of its host file' if in_file else 'that it names'}"


def given_one_node() -> str:
    """Return what a number of nodes in a command means."""
    return "it was given one node"


def fill_one_node() -> str:
    """Return what resource sets of jsrun mean."""
    return "all ranks fit on one node, and fill it first"


def all_on_a_node(ranks: int) -> str:
    """Return what a number of ranks per node means."""
    return f"its {ranks} ranks are as many as it puts on a node"


def room_on_first(ranks: int) -> str:
    """Return what the slots of the first host mean."""
    return f"the first host has room for its {ranks} ranks"
