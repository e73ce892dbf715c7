"""The sentences about the way that the bytes of GPUs took, by the log of their library."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from railyard.base.wording import count_of, listing


def in_log(said: str) -> str:
    """Return what NCCL's log says, as the log's word."""
    return f"according to NCCL's log, {said}"


def named_algorithm(name: str, line: int) -> str:
    """Return where a log names the algorithm."""
    return in_log(f"{name} (line {line})")


def no_log() -> str:
    """Return that nothing shows the way."""
    return "no counter was read, and the output has no log of NCCL (NCCL_DEBUG=INFO)"


def no_counter(named: str) -> str:
    """Return what a log names, and that this is no proof."""
    return f"{named}; no counter was read"


def no_nic_needed() -> str:
    """Return that no NIC has to carry anything."""
    return "all GPUs reach each other without a NIC"


def nothing_named() -> str:
    """Return that a log names neither a network nor a NIC."""
    return "NCCL's log does not name a network or a NIC (with NCCL_DEBUG=INFO it does)"


def networks_and_nics(networks: Sequence[str], nics: Mapping[str, Sequence[str]], more_nodes: int) -> str:
    """Return which networks a log names, and the NICs of its first hosts; ``more_nodes``: how many others it has."""
    each = [f"{host}: {', '.join(names)}" for host, names in nics.items()]
    with_nics = f" with {'; '.join(each)}" if each else ", whose NICs it does not name"
    more = f" and {count_of(more_nodes, 'more node')}" if more_nodes > 0 else ""
    return in_log(f"NCCL used {listing(networks) or 'a network'}{with_nics}{more}")


def say_since(reason: str, line: int) -> str:
    """Return the log's own reason, as the end of a sentence."""
    return f', since "{reason}" (line {line})'


def some_node() -> str:
    """Return a host that the log does not name."""
    return "a node"


def used_sockets(host: str, link: str, line: int, reason: str) -> str:
    """Return that a host used sockets; ``reason``: the log's own, as the end of a sentence, or empty."""
    return f"{host} used sockets (TCP) instead of {link} (line {line}){reason}: a silent fallback"


def look_at_cards(host: str) -> str:
    """Return what to look at if a host used sockets."""
    return (
        f"the cards and drivers of {host} (ibv_devinfo), /dev/infiniband in its container, NCCL_IB_HCA, NCCL_NET, and "
        "how much memory may be locked (ulimit -l)"
    )


def found_no_card(host: str, link: str, line: int, quoted: str) -> str:
    """Return that a host found no card and names no other network."""
    return (
        f'{host} found no card for {link} (line {line}: "{quoted}") and names no other network, so it can only have '
        "used sockets (TCP)"
    )


def look_at_container(host: str) -> str:
    """Return what to look at if a host found no card."""
    return f"the cards and drivers of {host} (ibv_devinfo), and /dev/infiniband in its container"


def set_to_no_card(host: str, link: str, line: int, quoted: str) -> str:
    """Return that a setting left a host no card and that it names no other network."""
    return (
        f'{host} was set to use no card for {link} (line {line}: "{quoted}") and names no other network, so it can '
        "only have used sockets (TCP)"
    )


def look_at_setting() -> str:
    """Return what to look at if a setting left a host no card."""
    return "what sets that variable: the job's script, the container's image, /etc/nccl.conf"


def lists_no_card(host: str, nic: str, line: int, link: str) -> str:
    """Return that a host lists only a NIC for sockets."""
    return f"{host} lists {nic} for sockets (line {line}) and no card for {link}"


def look_at_listed_cards(host: str) -> str:
    """Return what to look at if a host lists no card."""
    return f"the cards and drivers of {host} (ibv_devinfo), NCCL_IB_HCA and NCCL_NET"


def provider_of_tcp(host: str, link: str, line: int, quoted: str) -> str:
    """Return that Libfabric gave a host TCP."""
    return f'Libfabric gave {host} TCP instead of {link} (line {line}: "{quoted}"): a silent fallback'


def look_at_provider(host: str) -> str:
    """Return what to look at if Libfabric gave TCP."""
    return f"fi_info on {host}, FI_PROVIDER, and the devices that its container gets"


def other_kind(host: str, kinds: Sequence[str], line: int, link: str) -> str:
    """Return that the NICs of a host are of another kind than the nodes' link."""
    return f"the NICs of {host} are {listing(kinds)} (line {line}), not {link}"


def look_at_link() -> str:
    """Return what to look at if NICs are of another kind."""
    return "which link the nodes have: link= of --nodes-have, or the fabric of the system's file"


def fewer_nics(host: str, count: int, line: int, nics: Sequence[str], due: int) -> str:
    """Return that a host has fewer NICs than expected."""
    return f"{host} has {count_of(count, 'NIC')} for it (line {line}: {', '.join(nics)}), expected {due}"


def look_at_links_of_cards(host: str) -> str:
    """Return what to look at if a host has fewer NICs."""
    return f"the links of all cards of {host} (ibstat), NCCL_IB_HCA, and what its container gets"


def lacking_rails(host: str, rails: Sequence[str], system: str, line: int, listed: Sequence[str]) -> str:
    """Return that a host does not list rails of the system's file."""
    return f"{host} does not have {listing(rails)} of systems/{system}.yaml (line {line} lists {', '.join(listed)})"


def look_at_rails(host: str) -> str:
    """Return what to look at if a host does not list rails."""
    return f"the links of all cards of {host} (ibstat), NCCL_IB_HCA, and the system's rails"


def slow_nic(device: str, host: str, rate_gbit_s: float, line: int, others: int, link: str, due: int) -> str:
    """Return that a NIC came up at less than its link's rate; ``others``: how many of its host have that rate."""
    return (
        f"{device} of {host} came up at {rate_gbit_s:g} Gbit/s (line {line}), and {count_of(others, 'NIC')} of that "
        f"host at the rate of {link}, expected {due}"
    )


def look_at_cable(device: str, host: str) -> str:
    """Return what to look at if a NIC came up at less than its link's rate."""
    return f"cable and port of {device} of {host} (ibstat, mlxlink), and its switch port"


def more_nics(host: str, numbers: Sequence[int], due: int) -> str:
    """Return that a host used more NICs than it should have."""
    used = ", ".join(map(str, numbers))
    return f"{host} used {count_of(len(numbers), 'NIC')} ({used}), expected at most {due}"


def look_at_nic_count() -> str:
    """Return what to look at if a host used more NICs."""
    return "how many NICs a node has: the possible rate depends on it"


def unused_nics(host: str, nics: str) -> str:
    """Return that no connection of a host uses some of its NICs."""
    return f"no connection of {host} uses {nics}"


def idle_nics(host: str, nics: str) -> str:
    """Return that NICs of a host are idle: the log has the connections of all its GPUs."""
    return f"{unused_nics(host, nics)}, and those of all its GPUs are in the log"


def look_at_idle_cards(host: str) -> str:
    """Return what to look at if NICs are idle."""
    return f"the links of these cards of {host} (ibstat), NCCL_IB_HCA, and the system's topology"


def no_domain(quoted: str, line: int, gpus: int) -> str:
    """Return that no NVLink connects the nodes."""
    return f'no NVLink connects the nodes: "{quoted}" (line {line}), expected a domain of {gpus} GPUs'


def look_at_domain() -> str:
    """Return what to look at if no NVLink connects the nodes."""
    return "the fabric manager and IMEX of the nodes; if there is no such domain, leave domain= out"


def few_nics_of_some(host: str, count: int, line: int, due: int) -> str:
    """Return that a host lists fewer NICs than expected in a log of some of its processes."""
    return (
        f"{host} lists {count_of(count, 'NIC')} (line {line}), expected {due}; but not all of its processes are in the "
        "log"
    )


def unlike_lists(host: str, lists: Sequence[tuple[int, int]]) -> str:
    """Return that processes of a host list different NICs: how many, and at which line."""
    shown = [f"{count_of(count, 'NIC')} (line {line})" for count, line in lists]
    return f"processes of {host} list different NICs: {listing(shown)}"


def no_gpu_direct(line: int, quoted: str) -> str:
    """Return that GPUDirect RDMA is off."""
    return f'GPUDirect RDMA is off (line {line}: "{quoted}"): the bytes go through the hosts\' memory'


def without_gpu_direct(slow: int, connections: int, line: int) -> str:
    """Return how many connections over NICs go through the hosts' memory."""
    return (
        f"{slow} of {count_of(connections, 'connection')} over NICs do not use GPUDirect RDMA (line {line}): their "
        "bytes go through the hosts' memory"
    )


def links_not_used(link: str, line: int, quoted: str) -> str:
    """Return that the GPUs of a node do not use their links."""
    return f'the GPUs of a node do not use {link} (line {line}: "{quoted}")'


def shared_memory(connections: int, link: str, line: int, source: int, target: int | None) -> str:
    """Return that shared memory carries connections within a node."""
    return (
        f"shared memory carries {count_of(connections, 'connection')} within a node, instead of {link} (line {line}: "
        f"rank {source} to {target})"
    )


def numbered_nic(number: int | None, name: str) -> str:
    """Return a NIC by its number, with its name if that is known."""
    return f"{number} ({name})" if name else f"{number}"


@dataclass(frozen=True, slots=True)
class ConnectionEnd:
    """One end of a connection: its rank, None if the log does not say it, its NIC, and the line of the log."""

    rank: int | None
    nic: str
    line: int


def crossed_rails(crossed: int, connections: int, channel: int, source: ConnectionEnd, target: ConnectionEnd) -> str:
    """Return a connection that leaves by one NIC and arrives at another."""
    return (
        f"rails are crossed in {crossed} of {count_of(connections, 'connection')}: channel {channel} from rank "
        f"{source.rank} to {target.rank} leaves by NIC {source.nic} (line {source.line}) and arrives at NIC "
        f"{target.nic} (line {target.line}); "
        "if each rail has its own switches, such bytes take a longer way (NCCL_CROSS_NIC=0)"
    )


def far_nic(gpu: int, host: str, nic: str, line: int, system: str, near: Sequence[str]) -> str:
    """Return that a GPU uses a NIC that is nearest to other GPUs."""
    return (
        f"GPU {gpu} of {host} uses {nic} (line {line}), but in systems/{system}.yaml {listing(near)} is nearest to it"
    )


def multicast_off(line: int, quoted: str) -> str:
    """Return that NVLink SHARP was off, as the end of a sentence."""
    return f' (NVLink SHARP was off, line {line}: "{quoted}")'


def reduction_off(line: int, quoted: str) -> str:
    """Return that the switches did not reduce, as the end of a sentence."""
    return f' (the network did not reduce, line {line}: "{quoted}")'


def one_group(ranks: int, line: int) -> str:
    """Return that all ranks are one group, although each node's GPUs should be in groups of their own."""
    return (
        f"all {ranks} ranks are one group (line {line} of the output): NCCL_TESTS_SPLIT did not reach the tests, or "
        "their release does not have it"
    )


def two_of_one_node(group: int, first: int, second: int, host: str, line: int) -> str:
    """Return that a group has two ranks of one node."""
    return (
        f"group {group} has ranks {first} and {second} on {host} (line {line} of the output), expected one rank of "
        "each node in each group: the launcher does not fill one node after another"
    )


def connection(source: int, target: int | None, line: int) -> str:
    """Return a connection; ``target`` None: the log does not name it."""
    end = "another" if target is None else f"rank {target}"
    return f"the connection from rank {source} to {end} (line {line} of the output)"


def went_over(connection: str, transport: str, network: str, reason: str) -> str:
    """Return that a connection used another network than intended; ``reason``: the log's own, or empty."""
    return f"{connection} went over {transport}, expected NET/{network}{reason}"


def gpu_of(gpu: int, host: str) -> str:
    """Return a GPU of a host."""
    return f"GPU {gpu} of {host}"


def the_library() -> str:
    """Return who wrote a sentence of a log that names nobody."""
    return "the library"


def used_network(who: str, network: Literal["Socket", "IB"], line: int, expected: str, reason: str) -> str:
    """Return that another network than intended was used; ``reason``: the log's own, or empty."""
    return f"{who} used the network {network} (line {line} of the output), expected {expected}{reason}"


def left_node(connection: str, transport: str) -> str:
    """Return that a connection of GPUs of one node used a network."""
    return f"{connection} went over {transport}, expected the links within the node"


def through_memory(connection: str, transport: str) -> str:
    """Return that a connection of GPUs of one node used the host's memory."""
    return f"{connection} went through the host's memory ({transport}), expected the GPUs' own links"


def used_no_nic(connection: str, transport: str) -> str:
    """Return that a connection of GPUs of one node did not use a NIC, as intended."""
    return f"{connection} went by {transport}, expected a NIC (NCCL_P2P_DISABLE, NCCL_SHM_DISABLE)"


def far_nic_of_run(gpu: int, host: str, nic: str, line: int, near: Sequence[str]) -> str:
    """Return that a GPU sent over a NIC that is not nearest to it."""
    return (
        f"GPU {gpu} of {host} sends over {nic} (line {line} of the output), but in the system's file it is nearest to "
        f"{listing(near)}"
    )


def look_at_network() -> str:
    """Return what to look at if another network was used."""
    return (
        "the cards and their drivers (ibv_devinfo), /dev/infiniband in a container, and what else sets NCCL_NET, "
        "NCCL_IB_HCA or NCCL_SOCKET_IFNAME"
    )


def look_at_plugin() -> str:
    """Return what to look at if NCCL's own network was used instead of a plugin for libfabric."""
    return (
        "whether the library finds its plugin for libfabric (librccl-net.so or libnccl-net.so of aws-ofi-nccl, in "
        "LD_LIBRARY_PATH), fi_info on the node, and what else sets NCCL_NET or NCCL_NET_PLUGIN"
    )


def look_at_links() -> str:
    """Return what to look at if GPUs of a node reached each other in another way."""
    return "nvidia-smi topo -m, and what else sets NCCL_P2P_DISABLE or NCCL_SHM_DISABLE (NCCL's log has ENV lines)"


def look_at_nic() -> str:
    """Return what to look at if a GPU used a farther NIC."""
    return (
        "why NCCL left that rail out: its port (ibstat), its driver, GPUDirect RDMA, NCCL_IB_HCA; and nvidia-smi topo "
        "-m: gpus: nearest in the system's file must agree with it"
    )


def look_at_groups() -> str:
    """Return what to look at if groups are not as intended."""
    return (
        "how the launcher places the ranks (node after node), and whether NCCL_TESTS_SPLIT reaches them: nccl-tests "
        "has it since January 2025"
    )
