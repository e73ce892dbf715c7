"""What is wrong on one node, from what doctor.sh said in a job step there: one function per rule, in a table.

To add one: a function that yields findings, and its line in RULES. Tests show for each rule that it finds its fault,
and that it finds none on a good node.
"""

from collections.abc import Callable, Iterator

from railyard.base.finding import Finding, problem, remark
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
