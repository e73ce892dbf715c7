"""Compares nodes: which did not answer, names and addresses that two have, wrong clocks, settings that differ."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from ipaddress import IPv4Address

from railyard.base.finding import Finding, problem, remark
from railyard.base.hostlist import label
from railyard.base.wording import listing
from railyard.cluster.doctor.node_block import NodeState

#: A clock may be so far off beyond the time that the step took: it is read in whole seconds.
_CLOCK_SLACK_S = 2.0
#: Facts that should be the same on all nodes, and what messages call them.
_UNIFORM = {
    "memlock_kb": "the limit of locked memory in a job step",
    "governor": "the frequency governor",
    "numa_balancing": "NUMA balancing",
    "processors": "the number of processors",
}


def find_unanswered(nodes: Sequence[NodeState], expected: Iterable[str]) -> Iterator[Finding]:
    """Yield the nodes that were asked and did not answer; a domain behind a name does not count."""
    there = {label(node.name) for node in nodes}
    for name in expected:
        if label(name) not in there:
            yield problem(name, "it did not answer", "check whether it is up, and whether a job starts there")


def unique(nodes: Sequence[NodeState]) -> Iterator[Finding]:
    """Yield names and addresses that two nodes have; of addresses those that names resolve to, and those of rails."""
    yield from _one_name(nodes)
    resolved = {node.name: node.facts.get("address") for node in nodes}
    of_names = [(name, one) for name, one in resolved.items() if one is not None and not one.startswith("127.")]
    for address, names in _find_shared(of_names):
        yield problem(listing(names), f"their names resolve to one address, {address}", "correct DNS or /etc/hosts")
    for address, names in _find_shared((node.name, address) for node in nodes for address in _rail_addresses(node)):
        fix = "give each node its own: which of them gets the messages is chance (ip address, arping)"
        yield problem(listing(names), f"both have the address {address} on a network of the rails", fix)


def _one_name(nodes: Sequence[NodeState]) -> Iterator[Finding]:
    for name, count in Counter(node.name for node in nodes).items():
        if count > 1:
            yield problem(
                name, f"{count} nodes have this name", "give each its own: counters and blame use a node's name"
            )


def _find_shared(addresses: Iterable[tuple[str, str]]) -> Iterator[tuple[str, list[str]]]:
    """Yield each address that several nodes have, with their names; each item is (name of a node, address)."""
    names: dict[str, list[str]] = {}
    for name, address in addresses:
        names.setdefault(address, []).append(name)
    yield from ((address, having) for address, having in names.items() if len(set(having)) > 1)


def _rail_addresses(node: NodeState) -> list[str]:
    """Return the node's IPv4 addresses in the networks of its rails; docker0 may have the same one on every node."""
    interfaces = {facts.get("interface", rail) for rail, facts in node.devices.items()}
    networks = [
        (int(network, 16), int(mask, 16)) for interface, network, mask in node.subnets if interface in interfaces
    ]
    # The kernel prints the four bytes as one number of the machine: here the lowest byte is the address's first one.
    numbers = {address: int.from_bytes(IPv4Address(address).packed, "little") for address in node.own}
    return [address for address, own in numbers.items() if any(own & mask == network for network, mask in networks)]


def clocks(nodes: Sequence[NodeState], begun_s: float, ended_s: float) -> Iterator[Finding]:
    """Yield clocks that showed a time outside the step, as timed by the host that started it (seconds since 1970)."""
    for node in nodes:
        said = node.number("clock_s")
        if said is None:
            continue
        early, late = begun_s - _CLOCK_SLACK_S - said, said - ended_s - _CLOCK_SLACK_S
        if early > 0 or late > 0:
            direction = "behind" if early > 0 else "ahead of"
            yield problem(
                node.name,
                f"its clock is {max(early, late):.0f} s or more {direction} this host's",
                "let chrony or ntpd set it: otherwise records, logs and the scheduler's times do not fit together",
            )


def find_differing(nodes: Sequence[NodeState]) -> Iterator[Finding]:
    """Yield nodes with a setting that most nodes do not have; nothing if no value has a majority."""
    for fact, what in _UNIFORM.items():
        yield from _odd({node.name: node.facts.get(fact) for node in nodes}, what)


def _odd(values: dict[str, str | None], what: str) -> Iterator[Finding]:
    counts = Counter(value for value in values.values() if value is not None)
    if len(counts) < 2:
        return
    (usual, most), *_ = counts.most_common(1)
    if most * 2 <= sum(counts.values()):
        return
    for name, value in values.items():
        if value is not None and value != usual:
            words = f"{what} is {value}, on most nodes {usual}"
            yield remark(name, words, "make the nodes equal, or measure them separately")
