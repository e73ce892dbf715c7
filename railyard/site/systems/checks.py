"""What pydantic cannot see in a system's file: whether its parts make sense together, including its prices."""

import re
from collections.abc import Mapping

from railyard.base.errors import did_you_mean
from railyard.base.hostlist import label
from railyard.base.strict_yaml import Document
from railyard.base.values import Path_, show
from railyard.base.wording import either, listing
from railyard.benchmarks.table.applications import NPB_MZ, WRF_CASES
from railyard.benchmarks.table.micro import BENCHMARKS
from railyard.benchmarks.table.micro import PACKAGES as TOOLS
from railyard.hardware.counters import DRIVERS
from railyard.hardware.gpu_nodes import GPU_LINKS
from railyard.site.systems import jobs
from railyard.site.systems.fields import ANY, NodeCounts, Price
from railyard.site.systems.model import DisabledCombination, Fabric, Rail, System
from railyard.site.systems.node_view import check_fabric_of_nodes, check_nodes
from railyard.site.systems.parts import Gpus
from railyard.site.systems.stack_entry import Preparation, StackEntry
from railyard.stacks import ask, model

#: For each of stacks.model.KNOBS: the kinds of fabric that have it, and why others do not.
_KNOB_KINDS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "gid_index": (("ib", "roce"), "other ports have no table of GIDs"),
    "traffic_class": (
        ("roce",),
        "it is in the IP header of RoCE v2; InfiniBand's packets in a subnet have none, and service_level chooses "
        "the lane",
    ),
    "service_level": (("ib", "roce", "opa"), "other packets have none"),
}


def check_system(system: System, document: Document) -> None:
    """Raise InputError for the first part that is wrong."""
    check_nodes(system, document)
    _check_numbers(system, document)
    _check_jobs(system, document)
    for name, fabric in system.fabrics.items():
        check_fabric_of_nodes(("fabrics", name), fabric, document)
        _check_fabric(("fabrics", name), fabric, document)
        _check_variables(("fabrics", name), fabric, document)
        _check_all_switches(("fabrics", name), fabric, system, document)
    for name, entry in system.stacks.items():
        _check_stack(("stacks", name), entry, document)
        _check_tools(name, entry, system, document)
        _check_container(name, entry, system, document)
        _check_processor(name, system, document)
        _check_starter(name, entry, system, document)
        _check_told_twice(name, entry, system, document)
        _check_thresholds(name, entry, system, document)
    _check_gpus(system, document)
    _check_applications(system, document)
    for index, disabled in enumerate(system.disabled):
        _check_disabled(("disabled", index), disabled, system, document)


def _check_numbers(system: System, document: Document) -> None:
    """Refuse a benchmark or a sweep with more nodes than there are."""
    if system.provider == "host":
        return
    asked: list[tuple[Path_, int | None]] = [(("measure", "largest_sweep"), system.measure.largest_sweep)]
    asked += [(("measure", "benchmarks", key, "nodes"), each.nodes) for key, each in system.measure.benchmarks.items()]
    for path, nodes in asked:
        if nodes is not None and nodes > system.nodes.number:
            expected = f"at most {system.nodes.number}, the nodes that {system.system} has"
            raise document.error(path, str(nodes), expected)


def _check_jobs(system: System, document: Document) -> None:
    """Refuse settings for which the scheduler has no option, and a launcher that needs another kind of nodes."""
    refused = jobs.why_not(system.scheduler, system.jobs)
    if refused is not None:
        field, expected = refused
        found = f"{field} of the scheduler {system.scheduler}"
        raise document.error(("jobs", field), found, expected, "leave it out, or write the option into access")
    if jobs.counts_cores(system.jobs) and system.nodes.hardware is None:
        expected = "nodes.hardware, which says how many cores a node has"
        raise document.error(("jobs", "resources"), "{num_cores} and no nodes.hardware", expected)
    if system.scheduler == "sge" and system.nodes.number > 1 and not jobs.asks_for_slots(system.jobs, system.access):
        found = "sge and no parallel environment: Grid Engine would give each job one slot on one node"
        raise document.error(("scheduler",), found, "its option -pe", 'add jobs: {resources: ["-pe NAME {num_slots}"]}')
    _check_launchers(system, document)
    if system.jobs.totals:
        _check_totals(system, document)
    for index, option in enumerate(system.access):
        wanted = jobs.why_not_option(system.scheduler, option, system.jobs.totals)
        if wanted is not None:
            raise document.error(("access", index), show(option), wanted)
    if system.provider == "testbed" and system.scheduler not in jobs.ON_TESTBEDS:
        expected = f"{', '.join(jobs.ON_TESTBEDS)} (its Slurm has no accounting database)"
        raise document.error(("scheduler",), show(system.scheduler), f"a scheduler of the virtual cluster: {expected}")


def _check_totals(system: System, document: Document) -> None:
    """Refuse totals of nodes whose size is unknown or that are shared, and launchers that would fill the first node."""
    path, found = ("jobs", "totals"), "totals"
    if system.nodes.hardware is None:
        expected = "nodes.hardware: a job of two nodes asks for twice the cores and the memory of one"
        raise document.error(path, f"{found} and no nodes.hardware", expected)
    if not system.nodes.exclusive:
        expected = "whole nodes: PBS puts less than these together on one node"
        raise document.error(path, f"{found} and nodes: {{exclusive: false}}", expected, "leave out one of them")
    for name in system.stacks:
        if any(each.is_of_stack(name) for each in system.disabled):
            continue
        for fabric in system.fabrics:
            launcher = system.launcher_of(fabric, name)
            why = _why_not_each_node(system, name, launcher)
            if why is not None:
                raise document.error(
                    ("stacks", name),
                    f"totals, and the launcher {launcher}: {why}",
                    "a launcher that takes the ranks of each node as words: a job has a slot for each core",
                    "give it launcher: site, with {ranks_per_node} in site_launcher, or list it under disabled",
                )


def _why_not_each_node(system: System, stack: str, launcher: str) -> str | None:
    """Return why a launcher cannot be told how many ranks each node gets; None if it can."""
    if launcher == jobs.SITE_LAUNCHER:
        told = any("{ranks_per_node}" in word for word in system.site_launcher)
        return None if told else "site_launcher lacks {ranks_per_node}"
    if launcher not in jobs.OWN_LAUNCHERS:
        return f"only {either([*jobs.OWN_LAUNCHERS, jobs.SITE_LAUNCHER])} take them"
    if model.STACKS[stack].pair:
        return "a client and a server are started by an MPI that the file does not name"
    return ask.why_not_each_node(system.starter(stack))


def _check_launchers(system: System, document: Document) -> None:
    """Refuse a launcher for a fabric or stack where none can differ, and a launcher of the site without its words."""
    parts: list[tuple[Path_, Preparation]] = [(("fabrics", name), each) for name, each in system.fabrics.items()]
    parts += [(("stacks", name), each) for name, each in system.stacks.items()]
    given: list[tuple[Path_, str]] = [((*path, "launcher"), each.launcher) for path, each in parts if each.launcher]
    for path, launcher in given:
        if system.provider != "nodes" or launcher in jobs.OWN_TESTBEDS:
            expected = "a launcher of a scheduler's jobs, on nodes of the system's own (provider: nodes)"
            raise document.error(path, show(launcher), expected, "leave it out")
    for path, launcher in [(("launcher",), system.launcher), *given]:
        if launcher == jobs.SITE_LAUNCHER and not system.site_launcher:
            raise document.error(path, show(launcher), "also its words", "add site_launcher: [PROGRAM, -n, '{ranks}']")
    for index, word in enumerate(system.site_launcher):
        unknown = next((name for name in re.findall(r"\{([^{}]*)\}", word) if name not in jobs.LAUNCHER_BLANKS), None)
        if unknown is not None:
            expected = f"no blanks but {listing([f'{{{name}}}' for name in jobs.LAUNCHER_BLANKS])}"
            action = did_you_mean(unknown, jobs.LAUNCHER_BLANKS)
            raise document.error(("site_launcher", index), show(word), expected, action)
    if system.site_launcher and not any("{ranks}" in word for word in system.site_launcher):
        found = show(" ".join(system.site_launcher))
        raise document.error(("site_launcher",), found, "the number of ranks among its words: {ranks}")


def _check_gpus(system: System, document: Document) -> None:
    """Refuse GPUs whose connection is given twice or contradicts itself, and NICs and GPUs that do not exist."""
    gpus, path = system.gpus, ("gpus",)
    for name, entry in system.stacks.items():
        other = _why_not_from(gpus, entry.device_buffers)
        if other is not None:
            place = ("stacks", name, "device_buffers")
            raise document.error(place, str(entry.device_buffers), other)
    if gpus is None:
        return
    if gpus.nvlink is not None and gpus.xgmi is not None:
        raise document.error(path, "both nvlink and xgmi", "one of them: what connects the GPUs of a node")
    most = 0 if gpus.nvlink is None else GPU_LINKS[f"nvlink-{gpus.nvlink}"].links
    if gpus.nvlinks is not None and gpus.nvlinks > most:
        expected = f"at most {most}, the number of NVLink {gpus.nvlink} per GPU" if most else "nvlink, its generation"
        raise document.error((*path, "nvlinks"), str(gpus.nvlinks), expected)
    if gpus.domain is not None and (gpus.nvlink is None or gpus.domain % gpus.per_node):
        expected = f"nvlink, and whole nodes of {gpus.per_node} GPUs"
        raise document.error((*path, "domain"), str(gpus.domain), expected)
    devices = [rail.device for fabric in system.fabrics.values() for rail in fabric.rails]
    for device, near in gpus.nearest.items():
        if device not in devices:
            raise document.error(
                (*path, "nearest"), show(device), "a device of a rail", did_you_mean(device, set(devices))
            )
        absent = next((gpu for gpu in near if gpu >= gpus.per_node), None)
        if absent is not None:
            expected = f"numbers from 0 to {gpus.per_node - 1}, of the {gpus.per_node} GPUs of a node"
            raise document.error((*path, "nearest", device), f"GPU {absent}", expected)


def _why_not_from(gpus: Gpus | None, memory: str | None) -> str | None:
    """Return what is expected if messages cannot be in such memory: no GPUs are stated, or another vendor's."""
    if memory is None:
        return None
    if gpus is None:
        return "also the GPUs of the nodes (gpus:)"
    if memory == "rocm" and gpus.nvlink is not None:
        return "cuda: NVLink connects NVIDIA's GPUs"
    return "rocm: xGMI connects AMD's GPUs" if memory == "cuda" and gpus.xgmi is not None else None


def _check_fabric(path: Path_, fabric: Fabric, document: Document) -> None:
    _check_knobs(path, fabric, document)
    _check_error_bounds(path, fabric, document)
    most = len(fabric.rails)
    if max(fabric.rail_counts, default=1) > most:
        expected = f"numbers of rails up to {most}, the number of rails"
        raise document.error((*path, "rail_counts"), str(max(fabric.rail_counts)), expected)
    if fabric.each_rail and most == 1:
        raise document.error((*path, "each_rail"), "true", "a fabric with several rails", "leave it out")
    for index, rail in enumerate(fabric.rails):
        if max(rail.rails_per_card, rail.rails_per_port) > most:
            field = "rails_per_card" if rail.rails_per_card > most else "rails_per_port"
            found, expected = show(getattr(rail, field)), f"at most {most}, the number of rails"
            raise document.error((*path, "rails", index, field), found, expected)


def _check_variables(path: Path_, fabric: Fabric, document: Document) -> None:
    for name, value in fabric.env.items():
        if "{prefix}" in value:
            raise document.error((*path, "env", name), show(value), "no {prefix}: a fabric has none", "write the path")


def _check_knobs(path: Path_, fabric: Fabric, document: Document) -> None:
    """Refuse a GID index, traffic class or service level on a fabric whose packets do not have it."""
    for field, (kinds, why) in _KNOB_KINDS.items():
        given = getattr(fabric, field)
        if given is not None and fabric.kind not in kinds:
            expected = f"it only in a fabric of kind {either(kinds)}, and this one is {fabric.kind}: {why}"
            raise document.error((*path, field), str(given), expected, "leave it out")


def _check_all_switches(path: Path_, fabric: Fabric, system: System, document: Document) -> None:
    """Refuse leaf switches of the fabric beside those of its rails, and groups that are not of all leaf switches."""
    own = [(index, rail) for index, rail in enumerate(fabric.rails) if rail.leaf_switches]
    if own and fabric.leaf_switches:
        found = f"leaf_switches of the fabric, and of {own[0][1].name}"
        raise document.error((*path, "leaf_switches"), found, "one of them: each rail's own, or one for all rails")
    if own and len(own) < len(fabric.rails):
        lacking = next(rail.name for rail in fabric.rails if not rail.leaf_switches)
        expected = "those of each rail of the fabric, or of none"
        raise document.error((*path, "rails"), f"no leaf_switches of {lacking}", expected)
    _check_switches((*path, "leaf_switches"), fabric.leaf_switches, system, document)
    for index, rail in own:
        _check_switches((*path, "rails", index, "leaf_switches"), rail.leaf_switches, system, document)
    _check_rails_apart(path, own, document)
    _check_groups((*path, "groups"), fabric, document)


def _check_rails_apart(path: Path_, own: list[tuple[int, Rail]], document: Document) -> None:
    """Refuse one leaf switch with other nodes for another rail: then it would have ports of both."""
    first: dict[str, Rail] = {}
    for index, rail in own:
        for switch, nodes in rail.leaf_switches.items():
            other = first.setdefault(switch, rail)
            if set(map(label, other.leaf_switches[switch])) != set(map(label, nodes)):
                found = f"other nodes at {switch} than {other.name} has"
                expected = "the same nodes, or another switch"
                raise document.error((*path, "rails", index, "leaf_switches", switch), found, expected)


def _check_groups(path: Path_, fabric: Fabric, document: Document) -> None:
    known = [*fabric.leaf_switches, *(leaf for rail in fabric.rails for leaf in rail.leaf_switches)]
    group_of: dict[str, str] = {}
    for group, leaves in fabric.groups.items():
        for leaf in leaves:
            if leaf not in known:
                action = did_you_mean(leaf, known)
                raise document.error((*path, group), show(leaf), "a leaf switch of the fabric", action)
            if group_of.setdefault(leaf, group) != group:
                raise document.error(
                    (*path, group), show(leaf), "each leaf switch in one group", f"see {group_of[leaf]}"
                )
    lost = next((leaf for leaf in known if leaf not in group_of), None) if fabric.groups else None
    if lost is not None:
        expected = "every leaf switch of the fabric in a group, or no groups at all"
        raise document.error(path, f"no group for {show(lost)}", expected)


def _check_switches(path: Path_, switches: Mapping[str, tuple[str, ...]], system: System, document: Document) -> None:
    """Refuse a node at two leaf switches, a node that is not the system's, and a system's node at no leaf switch."""
    at: dict[str, str] = {}
    known = {label(node): node for node in system.nodes.names}
    for switch, nodes in switches.items():
        for node in nodes:
            first = at.setdefault(label(node), switch)
            if first != switch or sum(label(other) == label(node) for other in nodes) > 1:
                where = f"it is also at {first}" if first != switch else "it is listed there twice"
                raise document.error((*path, switch), show(node), "each node at one leaf switch, once", where)
            if known and label(node) not in known:
                action = did_you_mean(node, system.nodes.names)
                raise document.error((*path, switch), show(node), f"a node of {system.system}", action)
    lost = next((node for node in known if node not in at), None) if at else None
    if lost is not None:
        expected = "every node of the system at a leaf switch, or no switches at all"
        raise document.error(path, f"no switch for {show(known[lost])}", expected)


def _check_error_bounds(path: Path_, fabric: Fabric, document: Document) -> None:
    """Refuse a counter that no rail of the fabric has: a misspelt name would bound nothing."""
    rows = [DRIVERS[rail.counters] for rail in fabric.rails if rail.counters in DRIVERS]
    known = {name.removeprefix("hw/"): None for row in rows for name in (*row.errors, *row.signals)}
    unknown = next((name for name in fabric.proof.error_bounds if name not in known), None)
    if unknown is not None:
        here = (*path, "proof", "error_bounds", unknown)
        expected = "a counter of errors or a signal of the rails' driver"
        raise document.error(here, show(unknown), expected, did_you_mean(unknown, known))


def _check_stack(path: Path_, entry: StackEntry, document: Document) -> None:
    built = entry.spack is not None and entry.spack.use == "always"
    if entry.prefix is None and not entry.modules and not built and entry.container is None:
        raise document.error(
            path,
            "neither prefix, modules, container nor spack",
            "one of them",
            "say where the stack is installed, or let Spack build it",
        )
    if entry.prefix is not None and "{prefix}" in entry.prefix:
        raise document.error((*path, "prefix"), show(entry.prefix), "a path without {prefix}")
    both = sorted(set(entry.benchmarks) & set(entry.absent))
    if both:
        expected = "a tool in benchmarks or in absent, not in both"
        raise document.error((*path, "absent", both[0]), f"{show(both[0])} in both", expected)
    used: Mapping[str, str] = {**entry.benchmarks, **entry.env}
    for key, text in used.items():
        if entry.prefix is None and "{prefix}" in text:
            part = "env" if key in entry.env else "benchmarks"
            raise document.error((*path, part, key), show(text), "no {prefix}: the stack has none", "add prefix")


def _check_container(stack: str, entry: StackEntry, system: System, document: Document) -> None:
    """Refuse what a kind of container does not have, and what nothing would start inside it."""
    own, path = entry.container, ("stacks", stack, "container")
    starter = entry.mpi and system.stacks.get(entry.mpi)
    if starter and starter.container != own:
        found = f"another container than that of {entry.mpi}" if own else f"none, and {entry.mpi} has one"
        expected = f"the same one: {entry.mpi} starts the programs of {stack}, which are linked to it"
        raise document.error(path if own else ("stacks", stack, "mpi"), found, expected, "give both the same container")
    if own is None:
        return
    title = own.table.title
    if entry.spack is not None:
        expected = "one of them: Spack builds for the nodes, not for an image"
        raise document.error(path, "container and spack", expected, "leave one of them out")
    if own.view is not None and own.table.view is None:
        raise document.error((*path, "view"), show(own.view), f"none: {title} has no views", "leave it out")
    if own.mounts and own.table.mount is None:
        expected = f"none: with {title} all folders of the node are there inside"
        raise document.error((*path, "mounts"), show(own.mounts), expected, "leave it out")
    _check_inside(stack, entry, document)
    launchers = {system.launcher_of(fabric, stack) for fabric in system.fabrics}
    other = next((name for name in sorted(launchers) if name not in jobs.SRUN), None)
    if other is not None and not own.table.words:
        expected = f"launcher srun: {title} is started by options of srun"
        raise document.error((*path, "kind"), f"launcher {other}", expected, "change launcher, or take another kind")
    if own.host_prefix is not None and "{prefix}" in own.host_prefix:
        expected = "no {prefix}: that is a path inside"
        raise document.error((*path, "host_prefix"), show(own.host_prefix), expected, "write the path")
    copied = next((tool for tool in entry.tools if tool in TOOLS and TOOLS[tool].has_files), None)
    if copied is not None:
        expected = f"no {copied}: its files are copied from beside the program, and those of an image cannot be"
        raise document.error(path, f"a container and {copied}", expected, f"name {copied} for another stack")
    alone = [name for name, stated in system.applications.items() if stated.without_mpi and name in entry.tools]
    if alone and model.STACKS[stack].addressed:
        expected = f"no application that starts its own processes, as {alone[0]}: they would start outside of the image"
        raise document.error(path, f"a container and {alone[0]}", expected, "name it for another stack")


def _check_inside(stack: str, entry: StackEntry, document: Document) -> None:
    """Refuse relative paths of an entry with a container: they would be below the site's folder, not in the image."""
    named: dict[Path_, str] = {("prefix",): entry.prefix or "/"}
    named |= {("libraries", index): text for index, text in enumerate(entry.libraries)}
    named |= {("benchmarks", tool): text for tool, text in entry.benchmarks.items()}
    for place, text in named.items():
        if not text.startswith(("/", "{")):
            expected = "an absolute path: it is a path inside the image"
            raise document.error(("stacks", stack, *place), show(text), expected)


def _check_processor(stack: str, system: System, document: Document) -> None:
    """Refuse a stack that does not exist for the processors of the system's nodes."""
    why = None if system.processor is None else ask.why_no_stack(stack, system.processor)
    if why is not None:
        where = f"nodes.hardware.microarchitecture is {system.processor}"
        expected = f"a stack for the nodes' processors: {where}, and {why}"
        raise document.error(("stacks", stack), show(stack), expected, "leave the stack out")


def _check_starter(stack: str, entry: StackEntry, system: System, document: Document) -> None:
    """Refuse a library whose tests no MPI of the system starts, and an MPI for a stack that starts its own programs."""
    path, known = ("stacks", stack), [name for name in system.stacks if model.STACKS[name].is_mpi]
    by_mpi = model.STACKS[stack].by_mpi
    if by_mpi and entry.mpi is None:
        expected = f"the MPI with which its tests are built: {listing(known) or 'no stack here is an MPI'}"
        raise document.error(path, "no mpi", expected, f"add mpi: {next(iter(known), 'openmpi')}")
    if not by_mpi and entry.mpi is not None:
        expected = f"none: {stack} starts its own programs"
        raise document.error((*path, "mpi"), show(entry.mpi), expected, "leave it out")
    if entry.mpi is not None and entry.mpi not in known:
        expected = f"a stack of {system.system} that is an MPI library"
        raise document.error((*path, "mpi"), show(entry.mpi), expected, did_you_mean(entry.mpi, known))


def _check_tools(stack: str, entry: StackEntry, system: System, document: Document) -> None:
    """Refuse a tool without any benchmark: nothing would ever run it, and nobody would notice."""
    known = {key.partition("/")[0] for key in BENCHMARKS} | {NPB_MZ, *system.applications}
    for part in ("benchmarks", "absent"):
        for tool in getattr(entry, part):
            if tool not in known:
                expected = "a tool of Railyard's benchmarks, or an application of this file"
                raise document.error(("stacks", stack, part, tool), show(tool), expected, did_you_mean(tool, known))


def _check_told_twice(stack: str, entry: StackEntry, system: System, document: Document) -> None:
    """Refuse a stack's variable that contradicts the GID index, traffic class or service level of a fabric."""
    for name, fabric in system.fabrics.items():
        for variable, value in ask.knob_variables(stack, fabric.kind, fabric.knobs).items():
            own = entry.env.get(variable, value)
            if own != value:
                path: Path_ = ("stacks", stack, "env", variable)
                raise document.error(path, show(own), f"{value}, as the fabric {name} says", "leave it out here")


def _check_thresholds(stack: str, entry: StackEntry, system: System, document: Document) -> None:
    """Refuse a threshold that this stack cannot use on any of the system's fabrics with several rails."""
    kinds = [fabric.kind for fabric in system.fabrics.values() if len(fabric.rails) > 1]
    for index, size in enumerate(entry.striping_thresholds):
        path: Path_ = ("stacks", stack, "striping_thresholds", index)
        name = model.tuned_name(size) if size else "striping-0"
        if not kinds:
            expected = "a fabric with several rails"
            raise document.error(path, name, expected, "leave it out: there is nothing to stripe over one rail")
        reasons = [ask.why_not(stack, kind, 2, name) for kind in kinds]
        if all(reasons):
            raise document.error(path, name, "a threshold that the stack can be given", reasons[0])


def _check_applications(system: System, document: Document) -> None:
    """Refuse an application that no stack states, words that no stack gives it, and a case that WRF lacks."""
    for name, stated in system.applications.items():
        having = [stack for stack, entry in system.stacks.items() if name in entry.tools]
        if not having:
            expected = "the name of a benchmark in one of the stacks"
            action = f"add benchmarks: {{{name}: PATH}} to a stack"
            raise document.error(("applications", name), show(name), expected, action)
        if stated.without_mpi is not None and not any(model.STACKS[stack].addressed for stack in having):
            found = f"words without MPI, and {name} only with {listing(having)}"
            expected = f"it also with {listing([stack for stack, entry in model.STACKS.items() if entry.addressed])}"
            action = f"add benchmarks: {{{name}: PATH}} to that stack, or leave the words out"
            raise document.error(("applications", name, "without_mpi"), found, expected, action)
    for case in system.wrf_cases:
        if case not in WRF_CASES:
            raise document.error(("wrf_cases", case), show(case), "a case of WRF", did_you_mean(case, WRF_CASES))


def _check_disabled(path: Path_, entry: DisabledCombination, system: System, document: Document) -> None:
    for field, known in (("fabric", system.fabrics), ("stack", system.stacks)):
        name = getattr(entry, field)
        if name is not None and name not in known:
            expected = f"a {field} of {system.system}"
            raise document.error((*path, field), show(name), expected, did_you_mean(name, known))
    if entry.policy == ANY:
        raise document.error((*path, "policy"), show(ANY), "the name of a rail policy", "leave it out: that means any")
    if entry.without_reference and system.provider != "replay":
        expected = "it only in a replayed system: here, a test without a reference fails"
        raise document.error((*path, "without_reference"), "true", expected, "name benchmarks, or add references")
    if entry.without_reference:
        return
    given = (entry.fabric, entry.stack, entry.rails, entry.benchmark, entry.policy)
    if all(each is None for each in given):
        found = "neither fabric, stack, rails, policy nor benchmark"
        raise document.error(path, found, "at least one of them", "name what is disabled")
    unknown = next((name for name in entry.benchmark or () if name not in BENCHMARKS), None)
    if unknown is not None:
        near = did_you_mean(unknown, BENCHMARKS)
        raise document.error((*path, "benchmark"), show(unknown), "a benchmark that Railyard knows", near)
    if entry.rails is not None:
        fabrics = [system.fabrics[entry.fabric]] if entry.fabric else list(system.fabrics.values())
        most = max(len(fabric.rails) for fabric in fabrics)
        if entry.rails > most:
            where = entry.fabric or system.system
            raise document.error((*path, "rails"), str(entry.rails), f"at most {most}, the rails that {where} has")


def check_prices(system: System, document: Document) -> None:
    """Raise InputError for the first price that is wrong."""
    for index, price in enumerate(system.prices):
        path: Path_ = ("prices", index)
        for name in price.fabric:
            if name not in system.fabrics:
                expected = f"a fabric of {system.system}"
                raise document.error((*path, "fabric"), show(name), expected, did_you_mean(name, system.fabrics))
            most = len(system.fabrics[name].rails)
            if price.rails > most:
                raise document.error((*path, "rails"), str(price.rails), f"at most {most}, the rails that {name} has")
        first, last = price.nodes.first, price.nodes.last
        if first is not None and last is not None and first > last:
            raise document.error((*path, "nodes", "to"), str(last), f"at least {first}, where the range begins")
        for other in range(index):
            _refuse_twin(system.prices[other], other, price, index, document)


def _refuse_twin(one: Price, place: int, other: Price, index: int, document: Document) -> None:
    shared = [name for name in other.fabric if name in one.fabric]
    if shared and one.rails == other.rails and _meet(one.nodes, other.nodes):
        line = document.line(("prices", place))
        found = f"a second price of {shared[0]} for the same numbers of nodes and rails"
        action = "separate them by nodes or rails"
        raise document.error(("prices", index), found, f"one price (line {line} has one already)", action)


def _meet(one: NodeCounts, other: NodeCounts) -> bool:
    lasts = [each.last for each in (one, other) if each.last is not None]
    return not lasts or max(one.first or 1, other.first or 1) <= min(lasts)
