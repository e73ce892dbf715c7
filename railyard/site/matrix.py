"""What a system can run: fabric, stack, rail policy, rails and benchmark, and why it cannot run the others.

Which combinations of fabric, stack, rails and benchmark a system can run, and why it cannot run the others.

Which rail policies the tests of a system have: those of its stacks, as features by which ReFrame selects.

A check has a parameter ``policy``. Its value ``default`` leaves the policy to the stack and is not part of a test's
name. Most systems have no other value. The other values are policies that some stack of the current system can also
use.

Which problems of NPB and HPL run on a system: those that its file names, else those that suit its nodes.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from railyard.base.errors import RailyardError
from railyard.base.wording import count_of, listing
from railyard.benchmarks.apps import hpl, npb
from railyard.benchmarks.table.applications import NPB_MZ, key_on, nodes_of_key, on_part
from railyard.site.systems.measure import RANKS, Takes
from railyard.site.systems.model import Fabric, System
from railyard.site.test_id import TestId
from railyard.stacks import ask, libraries, model

#: Without a file's word, and without the hardware of its nodes.
_USUAL = ("C",)
#: The kernels of a sweep: with no and with most messages.
SWEPT = ("ep", "ft")
Problems = Mapping[str, tuple[str, ...]]


def npb_problems(system: System) -> Problems:
    """Return the classes of each kernel of NPB on a system."""
    return {name: system.npb_classes or _choose(name, system) for name in npb.KERNELS}


def npb_mz_problems(system: System) -> Problems:
    """Return the classes of each kernel of NPB-MZ on a system."""
    return {name: system.npb_classes or _choose_mz(name, system) for name in npb.ZONE_KERNELS}


def npb_swept_problems(system: System) -> Problems:
    """Return the classes of each kernel of a sweep over 1, 2, 4 … nodes: one node must have the memory for them."""
    return {name: system.npb_classes or _choose_swept(name, system) for name in SWEPT}


def _choose(name: str, system: System) -> tuple[str, ...]:
    hardware, nodes = system.nodes.hardware, system.nodes.number
    if hardware is None or nodes < 1:
        return _USUAL
    try:
        return (npb.choose(name, nodes, hardware.cores, hardware.memory).problem,)
    except RailyardError:  # no number of ranks fits these nodes: its test says so
        return _USUAL


def _choose_mz(name: str, system: System) -> tuple[str, ...]:
    hardware, nodes = system.nodes.hardware, system.nodes.number
    if hardware is None or nodes < 1:
        return _USUAL
    try:
        return (npb.choose_zones(name, nodes, hardware.cores, hardware.memory)[0],)
    except RailyardError:  # the memory has no class: its test says so
        return _USUAL


def _choose_swept(name: str, system: System) -> tuple[str, ...]:
    hardware, most = system.nodes.hardware, max(system.sweep, default=0)
    if hardware is None or most < 1:
        return _USUAL
    return (npb.choose_swept(name, most, hardware.cores, hardware.memory),)


def npb_features(problems: Problems, swept: Problems = MappingProxyType({})) -> list[str]:
    """Return the features of a stack that has the kernels: ``npb-C`` for each class, then ``npb-ft-C`` for each kernel;
    ``npb-swept-C`` for each class of a sweep, then ``npb-swept-ft-C`` for each of its kernels.
    """
    return [*_features("npb", problems), *_features("npb-swept", swept)]


def hpl_features(system: System) -> list[str]:
    """Return a feature for each way to split a node's cores among HPL's ranks: ``hpl-per-core``, ``hpl-per-socket``."""
    hardware = system.nodes.hardware
    return [] if hardware is None else [f"hpl-per-{name}" for name in hpl.splits(hardware)]


def _features(prefix: str, problems: Problems) -> Iterator[str]:
    classes = dict.fromkeys(problem for of_kernel in problems.values() for problem in of_kernel)
    yield from (f"{prefix}-{problem}" for problem in classes)
    yield from (f"{prefix}-{name}-{problem}" for name, of_kernel in problems.items() for problem in of_kernel)


DEFAULT = "default"

#: ``round-robin-2``: a stack can do this over two rails; ``default-striping-2``: it does this there by default.
_FEATURE = re.compile(
    rf"(?P<policy>{'|'.join(model.POLICIES)}|{model.TUNED_PATTERN}|{model.ALONE_PATTERN})-(?P<rails>[0-9]+)"
)
_BY_DEFAULT = "default-"


def policies(system: System, fabric: str, stack: str, rails: int) -> tuple[str, ...]:
    """Return the rail policies of a stack's tests, its default first; empty if it cannot use the rails.

    Each threshold in the system's file (``striping_thresholds``) is a separate policy. If the fabric sets
    ``each_rail``, so is each rail alone, except the first.
    """
    kind, knobs = system.fabrics[fabric].kind, system.fabrics[fabric].knobs
    found = ask.policies(stack, kind, rails, knobs)
    if found and rails == 1 and system.fabrics[fabric].each_rail:
        return (*found, *map(model.policy_of_rail, range(2, len(system.fabrics[fabric].rails) + 1)))
    if model.STRIPING not in found:
        return found
    own = dict.fromkeys(model.tuned_name(size) for size in system.stacks[stack].striping_thresholds)
    return (*found, *(name for name in own if ask.why_not(stack, kind, rails, name, knobs) is None))


def policy_of(system: System, fabric: str, stack: str, rails: int, policy: str) -> str:
    """Return the policy of a test: the one that it names, or its stack's default; empty if there is none."""
    return next(iter(policies(system, fabric, stack, rails)), "") if policy == DEFAULT else policy


def is_extended(policy: str) -> bool:
    """Return whether tests that name this policy are extended tests, whatever their check is.

    So is a NIC per rank, if it is not the stack's default: it is a pair of ranks per rail, for rails that other tests
    prove.
    """
    return policy == model.NIC_PER_RANK


def alone_reason(policy: str, check_class: str) -> str | None:
    """Return why a check of this class does not run over a rail alone that is not the first, or None.

    An application over each of eight rails would take days, and would say no more about a rail than a stream does.
    """
    if check_class != "app" or model.number_alone(policy) is None:
        return None
    return "an application runs over the first rail, or several: each rail alone is for micro-benchmarks"


def only_default_reason(policy: str, check_class: str) -> str | None:
    """Return why a check of this class has no test of its own with a NIC per rank, or None.

    ``policy`` is the one that a test names. ReFrame makes such tests only from checks with a pair of ranks per rail
    (``many_pairs``). An application has that policy if it is its stack's default, or with ``-P policy=``.
    """
    if check_class != "app" or policy != model.NIC_PER_RANK:
        return None
    return f"an application runs with its stack's default rail policy; for {policy}, add -P policy={policy}"


def pairs_reason(policy: str, rails: int, pairs: int) -> str | None:
    """Return why so many pairs of ranks cannot show a policy on so many rails, or None.

    Source: I_MPI_MULTIRAIL (Intel MPI Developer Reference) and MPICH_OFI_NIC_POLICY (Cray MPICH's intro_mpi): a rank
    has one NIC for all its messages, whatever their size.
    """
    if policy != model.NIC_PER_RANK or pairs >= rails:
        return None
    those = "its one pair of ranks uses 1" if pairs == 1 else f"its {pairs} pairs of ranks use {pairs}"
    return (
        f"with a NIC per rank {those} of {rails} rails: this policy is judged with at least one pair per rail "
        "(osu_mbw_mr, IMB's Uniband)"
    )


def policy_features(system: System, fabric: str, stack: str, counts: Iterable[int]) -> list[str]:
    """Return a feature for each policy and number of rails, and one for the default policy of each number of rails."""
    features = []
    for rails in counts:
        found = policies(system, fabric, stack, rails)
        features += [f"{policy}-{rails}" for policy in found]
        features += [f"{_BY_DEFAULT}{policy}-{rails}" for policy in found[:1] if rails > 1]
    return features


def named_policies(environments: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return the policies, besides the default, that some environment has, from the features of all environments.

    Policies that one pair of ranks can show come first, a NIC per rank last.
    """
    named: dict[str, None] = {}
    for features in environments:
        for feature in features:
            found = _FEATURE.fullmatch(feature)
            if found is None or feature.startswith(_BY_DEFAULT):
                continue
            if found["rails"] == "1" and model.number_alone(found["policy"]) is None:
                continue
            if f"{_BY_DEFAULT}{feature}" not in features:
                named[found["policy"]] = None
    return tuple(sorted(named, key=lambda policy: policy == model.NIC_PER_RANK))


def environment_terms(tool: str, rails: int, policy: str, pairs: int, *, beside_default: bool) -> list[str]:
    """Return what a test demands of an environment, in ReFrame's terms; empty if no environment can fit.

    ``pairs`` are pairs of ranks between two nodes. ``beside_default``: stacks with the named policy as their default
    are left out, because their test does not name it.
    """
    alone = pairs < rails  # a NIC per rank would then leave rails idle
    if policy == DEFAULT:
        not_alone = f" -{_BY_DEFAULT}{model.NIC_PER_RANK}-{rails}" if alone else ""
        return [f"+{tool} +rails{rails}{not_alone}"]
    if policy == model.NIC_PER_RANK and alone:
        return []
    besides = f" -{_BY_DEFAULT}{policy}-{rails}" if beside_default else ""
    return [f"+{tool} +{policy}-{rails}{besides}"]


#: The rail counts for which tests are made if no system is known. A fabric has its own (``Fabric.counts``).
RAIL_COUNTS = (1, 2, 4, 8)
#: The largest number of nodes for which partitions have a feature. A check with more nodes names its partitions.
MOST_NODES = 64
#: A partition's feature: its nodes have ports with verbs, and their state can be read.
RDMA_PORTS = "verbs"
#: A partition's feature: the number of cores of its nodes is known, and a run has them for itself.
OWN_CORES = "cores"
#: A partition's feature: the system's file states the GPUs of its nodes.
HAS_GPUS = "has-gpus"
#: The features of checks that use GPUs: messages in their memory over a fabric; copies between a node's GPUs and its
#: processors; copies between two of a node's GPUs over NVLink.
DEVICE_BUFFERS, GPUS, GPU_PAIRS = "device-buffers", "gpus", "gpu-pairs"
#: What a system with leaf switches asks for: what these carry within each, between two, and all at once.
SWITCH_GROUPS = "switch-groups"
#: The name of an installed application if no system is known (a parameter must have a value).
NO_APPLICATION = "none"


#: Whether the references have a number for a test, by its place, rail policy and benchmark.
HasNumber = Callable[[TestId], bool]


#: The tag of a check that an everyday run leaves out: another check answers its question, less closely.
EXTENDED = "extended"


@dataclass(frozen=True, slots=True)
class Need:
    """What a check demands of a cell: the tool (`imb`), its test (`imb/Uniband`) and the number of nodes.

    A run then has ``ranks`` ranks in total, ``passes`` over all sizes, and its smallest and largest message in bytes.
    ``pair_a_rail``: there are at least as many pairs of ranks as rails. ``pair``: a client and a server per rail, no
    MPI. ``within_node``: the ranks of a pair share a node. ``feature``: the problem that a system must request
    (``npb-W``). ``all_nodes``: it uses every node, at least ``nodes``. ``check_class`` says which of the system's time
    limits it has. ``gpus``: its nodes have GPUs, which take part. ``rails``: its numbers of rails; empty: all.
    ``starts_itself``: an application that starts its own processes on a stack without MPI. ``every_core``: it has a
    rank on each core of its nodes (``ranks`` is then the minimum). ``kinds``: the kinds of fabric over which it is
    measured; empty: all. ``takes``: the numbers of nodes and ranks that users can set. ``told``: what `-S` gives it, by
    variable. ``own_limit``: the time limit that it gives itself on a system, in seconds; None if it has none.
    """

    check: str
    tool: str
    benchmark: str
    nodes: int
    ranks: int = 2
    passes: int = 1
    smallest: int = 1
    largest: int = 4 << 20
    extended: bool = False
    pair_a_rail: bool = False
    pair: bool = False
    within_node: bool = False
    feature: str = ""
    all_nodes: bool = False
    check_class: str = "micro"
    starts_itself: bool = False
    every_core: bool = False
    kinds: tuple[str, ...] = ()
    gpus: bool = False
    rails: tuple[int, ...] = ()
    takes: Takes = field(default_factory=Takes)
    told: Mapping[str, str] = field(default_factory=dict, compare=False)
    own_limit: "Callable[[System, Need], int] | None" = field(default=None, compare=False, repr=False)

    def nodes_on(self, system: System) -> int:
        """Return on how many nodes of a system it runs, if all of them can run a job."""
        return max(self.nodes, system.nodes.number) if self.all_nodes else self.nodes

    def ranks_told(self, system: System) -> int:
        """Return how many ranks per node `-S` or the system's file gives it; 0 if neither does."""
        stated = system.measure.amounts_of(self.benchmark)
        of_file = stated.ranks_per_node if stated is not None and self.takes.ranks else None
        return int(self.told[RANKS]) if self.told.get(RANKS, "").isdecimal() else of_file or 0

    def limit_s(self, system: System) -> int:
        """Return how long one of its runs may take, in seconds: the system's limit, or its own if that is longer."""
        own = 0 if self.own_limit is None else self.own_limit(system, self)
        return max(system.limit_s(self.check_class), own)

    def with_counts(self, nodes: int | None, ranks: int | None) -> "Need":
        """Return what it needs with so many nodes and ranks per node; None keeps its own number."""
        a_node = ranks or self.ranks // self.nodes
        if nodes is None:
            return replace(self, ranks=self.nodes * a_node)
        key = on_part(self.benchmark, nodes)
        return replace(self, nodes=nodes, ranks=nodes * a_node, all_nodes=False, benchmark=key)

    def pairs(self, rails: int) -> int:
        """Return the number of pairs of ranks between two nodes in a run over so many rails."""
        a_node = self.ranks // self.nodes
        return max(a_node, rails) if self.pair_a_rail or self.pair else a_node


@dataclass(frozen=True, slots=True)
class Cell:
    """One test of the whole product. ``reason`` is None if it runs; ``disabled`` is set if the site switched it off.

    ``test.policy`` is its rail policy, empty if the stack has none for so many rails. ``named``: the test's name has
    the policy, because it is not the stack's default.
    """

    test: TestId
    reason: str | None = None
    disabled: bool = False
    extended: bool = False
    named: bool = False


def _accept_all(test: TestId) -> bool:
    return True


def fabric_reason(name: str, fabric: Fabric, rails: int) -> str | None:
    """Return why a fabric cannot be used with this many rails, or None."""
    there = len(fabric.rails)
    if rails > there:
        devices = ", ".join(rail.device for rail in fabric.rails) or "none"
        return f"{name} has {count_of(there, 'rail')} per node ({devices})"
    return None


def node_reason(system: System, nodes: int) -> str | None:
    """Return why the system cannot give this many nodes, or None. On a single host, processes stand in for nodes."""
    if system.provider == "host":
        return None
    if nodes > system.nodes.number:
        return f"needs {nodes} nodes, {system.system} has {system.nodes.number}"
    return None


def cores_reason(system: System) -> str | None:
    """Return why not every core of a node can have a rank, or None."""
    if system.provider not in ("nodes", "replay"):
        return f"a rank on every core needs nodes with their own cores; those of {system.system} share one host's"
    if system.nodes.hardware is None:
        return f"{system.system} does not state the number of cores per node (nodes: hardware: cores)"
    return None


def gpus_reason(system: System) -> str | None:
    """Return why nothing between GPUs can be measured, or None."""
    return None if system.gpus is not None else f"{system.system} states no GPUs (gpus)"


def stack_reason(fabric: Fabric, stack: str, rails: int, policy: str | None = None) -> str | None:
    """Return why a stack cannot use this many rails of this kind of fabric (with this policy), or None."""
    return ask.why_not(stack, fabric.kind, rails, policy, fabric.knobs)


def refused_policies(system: System) -> tuple[Cell, ...]:
    """Return a cell without a check, with the reason, for each policy that a stack lacks on rails that it can use."""
    cells = []
    for name, fabric in system.fabrics.items():
        for stack in system.stacks:
            for rails in (count for count in fabric.counts if count > 1):
                there = policies(system, name, stack, rails)
                for policy in (each for each in model.POLICIES if there and each not in ("single", *there)):
                    reason = stack_reason(fabric, stack, rails, policy)
                    cells.append(Cell(TestId(name, stack, rails, policy=policy), reason, named=True))
    return tuple(cells)


def device_reason(system: System, fabric: str, stack: str) -> str | None:
    """Return why a stack's messages over a fabric cannot be in the memory of GPUs, or None."""
    memory, gpus = system.stacks[stack].device_buffers, system.gpus
    if memory is None or gpus is None:
        return (
            f"{system.system} states no device_buffers for {stack}: set it if library and benchmarks use cuda or rocm"
        )
    stated = system.fabrics[fabric]
    reason = ask.why_not_from(stack, stated.kind, memory)
    if reason is not None:
        return reason
    devices = [rail.device for rail in stated.rails]
    lacking = [device for device in dict.fromkeys(devices) if gpus.nearest_gpu(device, devices) is None]
    return f"{system.system} states no GPU that is nearest to {listing(lacking)} (gpus: nearest)" if lacking else None


def switches_reason(fabric: str, stated: Fabric) -> str | None:
    """Return why nothing can be measured between leaf switches of a fabric, or None."""
    own = [rail.leaf_switches for rail in stated.rails]
    if max(map(len, (stated.leaf_switches, *own))) > 1:
        return None
    return f"{fabric} states no two leaf switches (leaf_switches or topology)"


def tool_reason(system: System, stack: str, tool: str) -> str | None:
    """Return why a stack of this system does not have a benchmark tool, or None."""
    entry = system.stacks[stack]
    if tool in entry.tools:
        return None
    return entry.absent.get(tool, f"{system.system} states no {tool} for {stack}")


def disabled_reason(system: System, test: TestId, has_number: HasNumber = _accept_all) -> str | None:
    """Return the site's own reason for switching a test off, or None. Without a benchmark, only its place counts.

    Without a rail policy, the stack's default counts.
    """
    policy = policy_of(system, test.fabric, test.stack, test.rails, test.policy or DEFAULT)
    test, benchmark = replace(test, policy=policy), test.benchmark or None
    for entry in system.disabled:
        if entry.without_reference and (benchmark is None or has_number(test)):
            continue
        if entry.covers(test.fabric, test.stack, test.rails, benchmark, policy):
            return entry.reason
    return None


def why_not(system: System, fabric: str, stack: str, rails: int, need: Need, policy: str = DEFAULT) -> str | None:
    """Return the first reason why a cell cannot run, or None if it can (a disabled cell can)."""
    asked = None if policy == DEFAULT else policy
    real = policy_of(system, fabric, stack, rails, policy)
    return (
        (gpus_reason(system) if need.gpus else None)
        or fabric_reason(fabric, system.fabrics[fabric], rails)
        or _kind_reason(system.fabrics[fabric].kind, need)
        or _once_reason(system, fabric, rails, need, policy)
        or node_reason(system, need.nodes)
        or (cores_reason(system) if need.every_core else None)
        or libraries.why_not_tool(stack, need.tool, need.pair, need.starts_itself)
        or libraries.why_not_own(stack, rails, need.starts_itself)
        or tool_reason(system, stack, need.tool)
        or (device_reason(system, fabric, stack) if need.feature == DEVICE_BUFFERS else None)
        or (switches_reason(fabric, system.fabrics[fabric]) if need.feature == SWITCH_GROUPS else None)
        or stack_reason(system.fabrics[fabric], stack, rails, asked)
        or pairs_reason(real, rails, need.pairs(rails))
        or _rails_reason(rails, need)
        or alone_reason(policy, need.check_class)
        or only_default_reason(policy, need.check_class)
    )


def _kind_reason(kind: str, need: Need) -> str | None:
    """Return why a check for some kinds of fabric does not run over another kind."""
    if not need.kinds or kind in need.kinds:
        return None
    return f"{need.benchmark} is measured only over fabrics of kind {' and '.join(need.kinds)}, not {kind}"


def _rails_reason(rails: int, need: Need) -> str | None:
    """Return why a check for some numbers of rails does not run over another number."""
    if not need.rails or rails in need.rails:
        return None
    return f"{need.benchmark} is measured only over {listing([count_of(each, 'rail') for each in need.rails])}"


def _once_reason(system: System, fabric: str, rails: int, need: Need, policy: str) -> str | None:
    """Return why a check of pairs within a node, which use no fabric, only runs in the first cell."""
    first = next(iter(system.fabrics))
    if not need.within_node or (fabric == first and rails == 1 and policy == DEFAULT):
        return None
    return f"a pair within a node uses no network: it is measured once, with {first} and one rail"


def matrix(system: System, needs: tuple[Need, ...], has_number: HasNumber = _accept_all) -> tuple[Cell, ...]:
    """Return the whole product fabric × stack × rails × check, with rails up to the most of any fabric.

    If a stack has several rail policies, it has the checks once more for each policy that is not its default.
    ``has_number`` says whether the references have a number for a test.
    """
    counts = sorted({count for fabric in system.fabrics.values() for count in fabric.counts})
    asked = requested_needs(system, needs)
    return tuple(
        cell
        for fabric, stated in system.fabrics.items()
        for stack in system.stacks
        for rails in counts
        if rails in stated.counts or rails > len(stated.rails)
        for cell in _cells(system, fabric, stack, rails, asked, has_number)
    )


def requested_needs(system: System, needs: tuple[Need, ...]) -> tuple[Need, ...]:
    """Return the needs whose problems the system requests, and those of its own applications by their names.

    A problem that the site does not request does not count as a missing combination. Nodes and ranks are as stated in
    the system's file.
    """
    stated = [each for need in needs for each in _of_applications(system, need)]
    known = problem_features(system)
    there = [need for need in _sweep_needs(system, stated) if not need.feature or need.feature in known]
    return tuple(_apply_stated_sizes(system, need) for need in there)


def _apply_stated_sizes(system: System, need: Need) -> Need:
    """Return a need with the nodes and ranks that the system's file states for its benchmark, if it takes them.

    Numbers that no check takes are refused before a run (``find_untaken``).
    """
    stated = system.measure.amounts_of(need.benchmark)
    if stated is None or need.takes.swept:
        return need
    nodes = stated.nodes if stated.nodes and need.takes.why_not_nodes(stated.nodes) is None else None
    ranks = stated.ranks_per_node if need.takes.ranks else None
    return need.with_counts(nodes, ranks) if nodes or ranks else need


def _sweep_needs(system: System, needs: Sequence[Need]) -> Iterator[Need]:
    """Yield needs; those of a sweep up to the largest number of nodes that the system states, and on all its nodes."""
    known = {need.check for need in needs}
    largest = system.measure.largest_sweep
    for need in needs:
        if need.takes.swept and largest is not None and need.nodes > largest:
            continue
        yield need
        if not need.takes.swept or need.nodes != 1:
            continue
        for count in system.sweep:
            check = need.check.replace("%nodes=1", f"%nodes={count}")
            if check not in known and need.takes.sweeps(count):
                key = key_on(nodes_of_key(need.benchmark)[0], count)
                ranks = count * need.ranks
                yield replace(need, check=check, benchmark=key, nodes=count, ranks=ranks, within_node=False)


def find_untaken(system: System, needs: Sequence[Need]) -> Iterator[str]:
    """Yield a sentence for each number of nodes or ranks in the system's file that no check takes."""
    for key, stated in system.measure.benchmarks.items():
        named = [need for need in needs if key in (nodes_of_key(need.benchmark)[0], need.benchmark.partition("/")[0])]
        for field_, asked, why in (
            ("nodes", stated.nodes, [need.takes.why_not_nodes(stated.nodes or 0) for need in named]),
            (
                "ranks_per_node",
                stated.ranks_per_node,
                [need.takes.why_not_ranks(stated.ranks_per_node or 0) for need in named],
            ),
        ):
            if asked is not None and all(why):
                expected = next(filter(None, why), "nothing: no check measures it")
                yield f"measure: benchmarks: {key}: {field_}: found {asked}, expected {expected}"


def _of_applications(system: System, need: Need) -> tuple[Need, ...]:
    """Return a need for each application of the system, if this need stands for all of them; else the need itself."""
    if need.feature != f"app-{NO_APPLICATION}":
        return (need,)
    return tuple(
        replace(
            need,
            check=need.check.replace(f"={NO_APPLICATION}", f"={name}", 1),
            tool=name,
            benchmark=need.benchmark.replace(f"/{NO_APPLICATION}", f"/{name}", 1),
            feature=f"app-{name}",
        )
        for name in system.applications
    )


def _cells(
    system: System, fabric: str, stack: str, rails: int, needs: tuple[Need, ...], has_number: HasNumber
) -> list[Cell]:
    there = policies(system, fabric, stack, rails) if rails <= len(system.fabrics[fabric].rails) else ()
    cells = []
    for policy, real in zip((DEFAULT, *there[1:]), there or ("",), strict=True):
        for need in needs:
            reason = why_not(system, fabric, stack, rails, need, policy)
            test = TestId(fabric, stack, rails, need.benchmark, need.check, real)
            off = None if reason else disabled_reason(system, replace(test, policy=policy), has_number)
            extended = need.extended or is_extended(policy)
            cells.append(Cell(test, reason or off, bool(off), extended, named=policy != DEFAULT))
    return cells


def problem_features(system: System, tools: Collection[str] | None = None) -> tuple[str, ...]:
    """Return a feature for each problem of an application that the system requests: ``npb-W``, ``app-gamess``.

    If ``tools`` are given, only for these. An installed application is a tool with its own name. A system requests the
    problems that use GPUs by stating its GPUs.
    """
    of_tools: list[tuple[set[str], list[str]]] = [
        ({"npb"}, npb_features(npb_problems(system), npb_swept_problems(system))),
        ({"hpl"}, hpl_features(system)),
        ({NPB_MZ}, npb_features(npb_mz_problems(system))),
        ({"wrf"}, [f"wrf-{case}" for case in system.wrf_cases]),
        ({"osu", "perftest"}, [DEVICE_BUFFERS] if system.gpus else []),
        ({"nvbandwidth"}, _within_nodes(system)),
        ({"pairs"}, [SWITCH_GROUPS] if _has_leaf_switches(system) else []),
        *(({name}, [f"app-{name}"]) for name in system.applications),
    ]
    asked = [features for names, features in of_tools if tools is None or not names.isdisjoint(tools)]
    return tuple(dict.fromkeys(feature for features in asked for feature in features))


def _has_leaf_switches(system: System) -> bool:
    return any(switches_reason(name, fabric) is None for name, fabric in system.fabrics.items())


def _within_nodes(system: System) -> list[str]:
    """Return the kinds of copies within a node. Without NVLink, two GPUs may be unable to reach each other."""
    gpus = system.gpus
    if gpus is None:
        return []
    return [GPUS, GPU_PAIRS] if gpus.nvlink is not None and gpus.per_node > 1 else [GPUS]


def partition_features(system: System, fabric_name: str) -> list[str]:
    """Return a partition's features: kind, ``first``, ``verbs``, ``cores``, ``has-gpus``, ``railsN``, ``nodesN``."""
    fabric = system.fabrics[fabric_name]
    nodes = [n for n in range(1, MOST_NODES + 1) if node_reason(system, n) is None]
    # A test that uses no fabric (a pair within a node) runs once, on the first fabric.
    first = ["first"] if fabric_name == next(iter(system.fabrics)) else []
    # A replayed system has no ports to look at.
    verbs = [RDMA_PORTS] if fabric.kind in ("ib", "roce", "opa") and system.provider != "replay" else []
    cores = [OWN_CORES] if cores_reason(system) is None else []
    gpus = [HAS_GPUS] if gpus_reason(system) is None else []
    counts = fabric.counts
    return [fabric.kind, *first, *verbs, *cores, *gpus, *(f"rails{n}" for n in counts), *(f"nodes{n}" for n in nodes)]


def environment_features(system: System, fabric_name: str, stack: str) -> list[str]:
    """Return a stack's ReFrame features on one fabric: tools, ``railsN`` for each N that it can use, and policies."""
    fabric = system.fabrics[fabric_name]
    counts = [n for n in sorted({*RAIL_COUNTS, *fabric.counts}) if stack_reason(fabric, stack, n) is None]
    there = [n for n in counts if fabric_reason(fabric_name, fabric, n) is None]
    policed = policy_features(system, fabric_name, stack, there)
    named = system.stacks[stack].tools
    tools = libraries.tool_features(stack, named, tuple(system.applications))
    without = {DEVICE_BUFFERS} if device_reason(system, fabric_name, stack) else set()
    without |= {SWITCH_GROUPS} if switches_reason(fabric_name, fabric) else set()
    problems = [feature for feature in problem_features(system, named) if feature not in without]
    return [*tools, *problems, *(f"rails{n}" for n in counts), *policed]
