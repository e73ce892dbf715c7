"""All findings about the nodes: each rule for one node, what nodes differ in, and once what many nodes have.

To add one: a function that yields findings, and its line in RULES. Tests show for each rule that it finds its fault,
and that it finds none on a good node.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from ipaddress import IPv4Address

from railyard.base.errors import Finding, problem, remark
from railyard.base.hostlist import label
from railyard.base.wording import few, listing
from railyard.cluster.detect.source import natural
from railyard.cluster.doctor import rail_rules
from railyard.cluster.doctor.node_block import FORMAT, NodeState
from railyard.site.systems.model import System

#: Kinds of fabrics whose stacks open verbs devices and lock memory.
VERBS_KINDS = ("ib", "roce", "efa")
_GOVERNORS = ("performance", "userspace")
#: If waking up from an idle state takes this long, small-message latencies show it, us.
_SLOW_WAKING_US = 50
#: An idle node has less than this share of its processors busy.
_IDLE_SHARE = 0.1
Rule = Callable[[NodeState, System], Iterator[Finding]]
#: A clock may be so far off beyond the time that the step took: it is read in whole seconds.
_CLOCK_SLACK_S = 2.0
#: Facts that should be the same on all nodes, and what messages call them.
_UNIFORM = {
    "memlock_kb": "the limit of locked memory in a job step",
    "governor": "the frequency governor",
    "numa_balancing": "NUMA balancing",
    "processors": "the number of processors",
}


def of_nodes(
    nodes: Sequence[NodeState], system: System, expected: Iterable[str] = (), step: tuple[float, float] | None = None
) -> tuple[Finding, ...]:
    """Return what is wrong, problems first. ``step``: when the job step began and ended, in seconds since 1970."""
    nodes = sorted(nodes, key=lambda node: natural(node.name))
    found: list[Finding] = [
        *find_unanswered(nodes, expected),
        *unique(nodes),
        *find_differing(nodes),
    ]
    if step is not None:
        found += clocks(nodes, *step)
    for node in nodes:
        for rule in RULES:
            found += rule(node, system)
        found += rail_rules.of_node(node, system.fabrics)
    found += rail_rules.of_nodes(nodes, system)
    return order_findings(found)


def order_findings(found: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the findings, problems before remarks. Findings that say the same about several places become one."""
    places: dict[tuple[str, str, str], dict[str, None]] = {}
    kept: dict[tuple[str, str, str], Finding] = {}
    for one in found:
        key = (one.weight, one.what, one.fix)
        kept.setdefault(key, one)
        places.setdefault(key, {})[one.where] = None
    merged = [Finding(one.weight, few(tuple(places[key])), one.what, one.fix) for key, one in kept.items()]
    return tuple(sorted(merged, key=lambda one: one.weight != "problem"))


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


def _kinds(system: System) -> set[str]:
    return {fabric.kind for fabric in system.fabrics.values()}


def _has_verbs(system: System) -> bool:
    return bool(_kinds(system) & set(VERBS_KINDS))


def whole_answer(node: NodeState, system: System) -> Iterator[Finding]:
    """The answer is complete, and comes from this installation's script."""
    if node.format != FORMAT:
        yield problem(
            node.name,
            f"its answer has format {node.format or 'none'}, expected {FORMAT}",
            "run the doctor.sh of this installation",
        )
    if not node.whole:
        yield problem(node.name, "its answer has no end", "read what its job step printed on stderr, and run it again")


def memlock(node: NodeState, system: System) -> Iterator[Finding]:
    """A process of a job step may lock as much memory as it likes: RDMA registers its buffers."""
    limit = node.facts.get("memlock_kb")
    # Root has CAP_IPC_LOCK, to which the limit does not apply.
    if limit is not None and limit != "unlimited" and node.facts.get("uid") != "0" and _has_verbs(system):
        yield problem(
            node.name,
            f"a process of a job step may lock {limit} kB of memory, so RDMA buffers cannot be registered",
            "set LimitMEMLOCK=infinity in the unit of slurmd (or of the scheduler's daemon), or memlock unlimited in "
            "/etc/security/limits.conf, and restart it: a login shell's own limit says nothing",
        )


def huge_pages(node: NodeState, system: System) -> Iterator[Finding]:
    """There are huge pages of some kind."""
    transparent = node.facts.get("transparent_hugepages", "")
    if "[never]" in transparent and node.number("hugepages") == 0:
        yield remark(
            node.name,
            "there are neither huge pages nor transparent ones",
            "set transparent_hugepage to madvise, or vm.nr_hugepages: the card then translates fewer addresses",
        )


def modules(node: NodeState, system: System) -> Iterator[Finding]:
    """The kernel has the modules through which programs reach a card."""
    if not _has_verbs(system):
        return
    if "ib_uverbs" not in node.modules:
        yield problem(
            node.name, "the kernel module ib_uverbs is not loaded, so no program sees a card", "modprobe ib_uverbs"
        )
    if "rdma_ucm" not in node.modules:
        yield remark(
            node.name,
            "the kernel module rdma_ucm is not loaded",
            "modprobe rdma_ucm: connections by address (perftest -R, libfabric's verbs) need it",
        )


def verbs_files(node: NodeState, system: System) -> Iterator[Finding]:
    """The files of verbs devices are there, and this user may open them."""
    if not _has_verbs(system):
        return
    if not node.verbs:
        yield problem(
            node.name,
            "there is no /dev/infiniband/uverbs* in a job step",
            "load ib_uverbs; in a container or with device cgroups, give jobs access to /dev/infiniband",
        )
    closed = [name for name, may_open in node.verbs.items() if not may_open]
    if closed:
        yield problem(
            node.name,
            f"/dev/infiniband/{', '.join(closed)} may not be opened by uid {node.facts.get('uid', 'unknown')}",
            "give it mode 0666 by a udev rule, as rdma-core does",
        )


def governor(node: NodeState, system: System) -> Iterator[Finding]:
    """Processors run at their full clock."""
    chosen = node.facts.get("governor")
    if chosen is not None and chosen not in _GOVERNORS:
        yield remark(
            node.name,
            f"the processors' frequency governor is {chosen}",
            "cpupower frequency-set -g performance: small-message latency and message rate rise with the clock",
        )


def numa_balancing(node: NodeState, system: System) -> Iterator[Finding]:
    """The kernel does not move pages under a benchmark."""
    if node.facts.get("numa_balancing", "0") != "0" and (node.number("numa_nodes") or 0) > 1:
        yield remark(
            node.name,
            "the kernel moves pages between memory domains (NUMA balancing)",
            "sysctl kernel.numa_balancing=0 while it is measured: it unmaps pages to see who uses them",
        )


def idle_states(node: NodeState, system: System) -> Iterator[Finding]:
    """No idle state takes long to wake up from."""
    slow = [(latency, name) for latency, name in node.cstates if latency >= _SLOW_WAKING_US]
    if slow and _kinds(system) != {"tcp"}:
        latency, name = max(slow)
        yield remark(
            node.name,
            f"a processor may sleep in {name}, from which it wakes in {latency} us",
            "cpupower idle-set -D 50, or intel_idle.max_cstate=1 at boot: latencies are a few us",
        )


def leftovers(node: NodeState, system: System) -> Iterator[Finding]:
    """No benchmark runs there already."""
    if node.processes:
        names = ", ".join(sorted({name for _, name in node.processes}))
        yield problem(
            node.name,
            f"{names} {'runs' if len(node.processes) == 1 else 'run'} there already",
            "end it, or use other nodes: an earlier job left it, or somebody is measuring now",
        )


def load(node: NodeState, system: System) -> Iterator[Finding]:
    """Nothing else keeps the processors busy."""
    running, processors = node.number("load"), node.number("processors")
    if running is None or not processors:
        return
    if running > 1 and running > _IDLE_SHARE * processors:
        yield remark(
            node.name,
            f"its load is {running:g} with {processors:g} processors",
            "check with top what runs there: other work on the node changes a run's figures",
        )


def resolves(node: NodeState, system: System) -> Iterator[Finding]:
    """The node finds itself by its own name, under an address that others can use."""
    address = node.facts.get("address")
    if address is None:
        yield problem(
            node.name,
            "it does not find its own name",
            "enter it in DNS or /etc/hosts: launchers connect to nodes by name",
        )
    elif address.startswith("127.") or address == "::1":
        yield problem(
            node.name,
            f"its own name resolves to {address}, which no other node can reach",
            "remove the name from the line of localhost in /etc/hosts",
        )


RULES: tuple[Rule, ...] = (
    whole_answer,
    memlock,
    huge_pages,
    modules,
    verbs_files,
    governor,
    numa_balancing,
    idle_states,
    leftovers,
    load,
    resolves,
)
