"""Whether a run was set up as the files say: its program, its rails, and the conditions of its references.

The program: one proof of launcher, library and environment, causes before consequences. It finds a launcher of another
library, a benchmark that is linked to another one, an output that names another one, a library for messages (UCX,
libfabric, …) that was loaded from elsewhere, processes that did not find one another, and variables that have other
values in the benchmark's own process than planned.

The rails: what a node said about its own devices in the job is compared before any figure is judged. A rail with
another MTU is slow, or loses packets that are too large. A rail in another rail's network carries that rail's traffic.
A port that trained at fewer lanes, or a card in a slower slot, still gives a good latency: only a large message would
show it.

The conditions: which nodes had other ones than the sources of the references state. A difference is a remark of the
verdict and decides nothing. In a replay or a rehearsal the nodes' conditions are those of this machine, so nothing is
compared.
"""

import re
from collections import deque
from collections.abc import Container, Iterator, Mapping, Sequence, Set

from railyard.base.errors import UNFIT_EXIT
from railyard.base.values import one_line
from railyard.base.wording import some
from railyard.benchmarks.table import micro
from railyard.benchmarks.table.micro import PACKAGES as TOOLS
from railyard.hardware.links import SLOTS, pcie_generation, roce_mtu
from railyard.job import environment, mpi_identity
from railyard.job.case import Case, Evidence
from railyard.job.mpi_identity import IntendedMpi, version_said
from railyard.job.node_facts import NodeFacts
from railyard.parsers.output import Table
from railyard.results.record.form import ConditionRecord, Suspect
from railyard.site import conditions
from railyard.site.conditions import NodeFactsShown, mpi_of
from railyard.site.references.model import Source
from railyard.site.systems.model import Fabric, Rail
from railyard.stacks import libraries, model
from railyard.stacks.libraries import HOST, FileView, ImageFiles
from railyard.verdict.wording import program
from railyard.verdict.wording.path import (
    crossed_wiring,
    different_mtus,
    other_mtu,
    outside_network,
    slow_port,
    slow_slot,
    slower_rail,
    subnet,
)

#: "100 Gb/sec (4X EDR)": the rate of the lanes with their line code, never less than the link's data rate.
_RATE = re.compile(r"([0-9]{1,5}(?:\.[0-9]{1,3})?) Gb/sec\b")
_FAMILIES = frozenset({"infiniband", "roce", "omnipath"})
# "This test requires exactly two processes" (OSU), "Need at least two processes (only given 1)" (NetPIPE),
# "# !! Benchmark PingPong invalid for 1 processes !!" (IMB), "Need at least 4 processes for these tests" (HPL)
_TOO_FEW = re.compile(
    r"^.{0,40}(?:requires (?:exactly|at least) \w{1,10} processes|need at least \w{1,10} processes|"
    r"invalid for 1 processes).{0,80}$",
    re.IGNORECASE | re.MULTILINE,
)


def why_unlike(case: Case, facts: Sequence[NodeFacts]) -> str | None:
    """Return why the rails of a run are not those of the system's file; None if they are, or if nothing is known."""
    slower = (suspect.reason for suspect in slower_than_meant(case, facts))
    sentences = (*_mtus_unlike(case, facts), *_find_outside(case, facts), *_find_crossed(case, facts), *slower)
    return some(sentences) or None


def slower_than_meant(case: Case, facts: Sequence[NodeFacts]) -> tuple[Suspect, ...]:
    """Return each used rail of a node whose port runs slower than the file's link, or whose card is in a slower slot.

    Nothing is returned if the kernel shows no rate, as for software RDMA, or if the file names no slot.
    """
    fabric = case.site.system.fabrics[case.fabric]
    system = case.site.system.system
    found = []
    for rail in _rails(case):
        name = rail.name
        for each in facts if name in case.launch.meant else ():
            said = each.devices.get(name, {})
            for less in (_slow_port(fabric, rail, said), _slow_slot(rail.slot or fabric.slot, said)):
                if less is not None:
                    reason = slower_rail(name, each.node, less, system, case.fabric)
                    found.append(Suspect("rail", reason, each.node, name))
    return tuple(found)


def _slow_port(fabric: Fabric, rail: Rail, said: Mapping[str, str]) -> str | None:
    shown, due = _RATE.match(said.get("rate", "")), fabric.link.data_rate_gbit_s
    if fabric.link.family not in _FAMILIES or rail.counters == "rxe" or shown is None or due is None:
        return None
    if float(shown[1]) >= due * 0.99:  # both are rounded: FDR is printed as 56, and is 54.5 for packets
        return None
    return slow_port(said["rate"], fabric.link.generation)


def _slow_slot(meant: str | None, said: Mapping[str, str]) -> str | None:
    generation, width = pcie_generation(said.get("current_link_speed")), said.get("current_link_width", "")
    if not (meant or "").startswith("pcie") or meant is None or generation is None or not width.isdecimal():
        return None
    slot = SLOTS[meant]
    due = int(meant.removeprefix("pcie").partition("-")[0])
    if int(width) == 0 or (int(width) >= slot.lanes and generation >= due):  # a virtual function shows no lanes
        return None
    return slow_slot(generation, width, due, slot.lanes)


def rail_remarks(case: Case, facts: Sequence[NodeFacts]) -> tuple[str, ...]:
    """Return what differs between the nodes of a run, if the system's file does not set it."""
    fabric = case.site.system.fabrics[case.fabric]
    if fabric.stated_mtu is not None:
        return ()
    return tuple(
        different_mtus(name, known, case.fabric)
        for name in case.launch.meant
        if len(set((known := _mtus(fabric, facts, name)).values())) > 1
    )


def _mtus_unlike(case: Case, facts: Sequence[NodeFacts]) -> Iterator[str]:
    fabric = case.site.system.fabrics[case.fabric]
    meant = fabric.stated_mtu
    for name in case.launch.meant if meant is not None else ():
        other = {node: mtu for node, mtu in _mtus(fabric, facts, name).items() if mtu != meant}
        if fabric.kind == "roce":  # the largest that the interface allows: the actual one may be smaller
            other = {node: mtu for node, mtu in other.items() if mtu < (meant or 0)}
        if other:
            yield other_mtu(name, other, meant, case.site.system.system, case.fabric)


def _mtus(fabric: Fabric, facts: Sequence[NodeFacts], rail: str) -> dict[str, int]:
    """Return the MTU of a rail by node: for RoCE the largest path MTU that its interface has room for."""
    found = {}
    for each in facts:
        said = each.devices.get(rail, {})
        text = said.get("interface_mtu") or said.get("mtu", "")
        if not (text.isascii() and text.isdigit()):
            continue
        mtu = int(text)
        if fabric.kind == "roce":
            mtu = roce_mtu(mtu) or 0
        found[each.node] = mtu
    return found


def _find_outside(case: Case, facts: Sequence[NodeFacts]) -> Iterator[str]:
    """Yield a sentence for each rail of a node that does not lead to the network that the file states."""
    for rail in _rails(case):
        if rail.subnet is None:
            continue
        for each in facts:
            networks = _networks(each, rail.name)
            if networks and rail.subnet not in networks:
                name, system = rail.name, case.site.system.system
                yield outside_network(name, each.node, sorted(networks), rail.subnet, system, case.fabric)


def _find_crossed(case: Case, facts: Sequence[NodeFacts]) -> Iterator[str]:
    """Yield a sentence for each two nodes if one's rail shares a network only with another rail of the other.

    Rails of one name do not have to share a network: if packets are routed, each leaf, or each port, has its own. A
    node is in one sentence at most. Candidates are looked up by network, so the time grows linearly with the nodes.
    """
    names = [rail.name for rail in _rails(case) if rail.subnet is None]
    told: set[str] = set()
    for name in case.launch.meant:
        others = tuple(device for device in names if device != name) if name in names else ()
        there = _with_another_rail_in(facts, name, others)
        for one in facts if there else ():
            own = _networks(one, name)
            found = (_first_stranger(there[network], name, own, told) for network in sorted(own) if network in there)
            other = None if one.node in told else next((each for each in found if each is not None), None)
            if other is None:
                continue
            told |= {one.node, other.node}
            shared = [device for device in others if own & _networks(other, device)]
            yield crossed_wiring(name, one.node, sorted(own), other.node, shared, sorted(_networks(other, name)))


def _with_another_rail_in(
    facts: Sequence[NodeFacts], name: str, others: Sequence[str]
) -> Mapping[str, deque[NodeFacts]]:
    """Return nodes by each network that one of their other rails is in, but the rail of this name is not."""
    found: dict[str, deque[NodeFacts]] = {}
    for each in facts:
        own = _networks(each, name)
        for network in {network for device in others for network in _networks(each, device)} - own if own else ():
            found.setdefault(network, deque()).append(each)
    return found


def _first_stranger(nodes: deque[NodeFacts], name: str, own: frozenset[str], told: Set[str]) -> NodeFacts | None:
    """Return the first node that is in no sentence yet, and whose rail of this name shares none of these networks."""
    while nodes and nodes[0].node in told:
        nodes.popleft()
    return next((each for each in nodes if each.node not in told and not own & _networks(each, name)), None)


def _rails(case: Case) -> tuple[Rail, ...]:
    """Return all rails of the run's fabric: a crossed one may lead to a rail that the run does not use."""
    return case.site.system.fabrics[case.fabric].rails


def _networks(facts: NodeFacts, device: str) -> frozenset[str]:
    """Return the networks of a device: for InfiniBand its subnet, unless it is the default one."""
    said = facts.devices.get(device, {})
    prefix = said.get("subnet_prefix", "")
    own = () if prefix in ("", "fe80:0000:0000:0000") else (subnet(prefix),)
    return frozenset((*said.get("subnets", "").split(), *own))


def why_not_meant(case: Case, evidence: Evidence, tables: Sequence[Table]) -> str | None:
    """Return a sentence about the first of launcher, libraries and environment that is not the intended one; else None.

    ``tables``: all of the output. A stand-in of a rehearsal is not a library and names none, so it is not checked.
    """
    return (
        _launcher(case, evidence)
        or (None if evidence.rehearsed else _of_another_library(case, evidence))
        or _runs_of_their_own(case, evidence, tables)
        or _variable(case, evidence)
    )


def program_remarks(case: Case, evidence: Evidence, answered: Container[str]) -> tuple[str, ...]:
    """Return remarks: nodes whose benchmark was not seen, variables that nobody planned, libraries that prove nothing.

    ``answered`` are the nodes that the job is taken to have run on: rule 1 says more about any other node.
    """
    if evidence.environment is None or evidence.exit_code != 0:
        return ()
    nodes = [node for node in case.launch.nodes if node in answered]
    libraries = (
        () if evidence.rehearsed else tuple(_library_doubts(evidence.environment, _places(case, evidence), nodes))
    )
    if not environment.planned_variables(case.launch):
        return libraries
    # Of stand-ins, all ranks but the first end at once; a benchmark's ranks end together.
    unread = () if evidence.rehearsed else environment.nodes_without_benchmark(evidence.environment, case.launch)
    nodes = [node for node in unread if node in answered]
    unseen = [program.environment_unread(nodes)] if nodes else []
    unplanned = environment.find_unplanned(evidence.environment, case.launch)
    return (*unseen, *map(program.unplanned_variable, unplanned), *libraries)


def _library_doubts(
    found: Sequence[environment.RankEnvironment], places: environment.Places, nodes: Sequence[str]
) -> Iterator[str]:
    """Yield what is not proven of the libraries that processes loaded."""
    doubts = environment.doubts(found, places, nodes)
    if doubts.unread:
        yield program.libraries_unread(doubts.unread)
    yield from (program.library_unproven(title, paths) for title, paths in doubts.paths.items())


def _variable(case: Case, evidence: Evidence) -> str | None:
    other = environment.why_other(evidence.environment, case.launch) if evidence.environment else None
    return None if other is None else program.other_variable(other)


def _of_another_library(case: Case, evidence: Evidence) -> str | None:
    return (
        _library(case, evidence) or _another_mpi(case, evidence) or _other_library(case, evidence) or _image(evidence)
    )


def _other_library(case: Case, evidence: Evidence) -> str | None:
    """Return which library a process loaded from elsewhere; None if none."""
    if not evidence.environment:
        return None
    other = environment.why_other_libraries(evidence.environment, _places(case, evidence))
    return None if other is None else program.other_library(other)


def _image(evidence: Evidence) -> str | None:
    """Return how the image differs between nodes; None if it does not."""
    unlike = None if evidence.image is None else evidence.image.find_unlike()
    if evidence.image is None or unlike is None:
        return None
    return program.other_image(str(evidence.image.inside.file), *((each.node, each.size) for each in unlike))


def _files(evidence: Evidence) -> FileView:
    """Return the files as the run's programs see them: those of an image as the run saw them there."""
    if evidence.image is None:
        return HOST
    return evidence.image.files or ImageFiles.of((), ())


def _places(case: Case, evidence: Evidence) -> environment.Places:
    """Return where the run's libraries should be, by the prefixes of its stack and of the MPI that starts it."""
    system, home = case.site.system, case.site.home
    entries = [system.stacks[name] for name in dict.fromkeys((case.stack, system.starter(case.stack)))]
    prefixes = dict.fromkeys(filter(None, (case.launch.prefix, case.launch.library_prefix)))
    named = dict.fromkeys(entry.path(folder, home) for entry in entries for folder in entry.libraries)
    return environment.Places(tuple(prefixes), tuple(named), case.launch.lock, _files(evidence))


def _launcher(case: Case, evidence: Evidence) -> str | None:
    meant = case.launch.mpi
    if meant is None or not evidence.launcher:
        return None
    other = mpi_identity.why_other_launcher(evidence.launcher, meant.stack, meant.version)
    return None if other is None else program.other_launcher(other)


def _library(case: Case, evidence: Evidence) -> str | None:
    """Return why the benchmark is not linked to its stack's MPI; None if it is, or if it is a script."""
    said, exit_code = evidence.linked, evidence.exit_code
    if said is None or exit_code == UNFIT_EXIT:  # the job's own checks ended it earlier, with a better sentence
        return None
    if not said.strip() and exit_code:  # the job ended before it asked ldd: rule 1 says why
        return None
    found, files = libraries.parse(said), _files(evidence)
    wanted = model.STACKS[case.stack]
    tool = TOOLS.get(micro.find(case.benchmark).tool)
    if tool is not None and not tool.uses_mpi and not wanted.pair:  # STREAM: only memory, whatever the stack
        return None
    if found and wanted.by_mpi and case.launch.mpi is not None:
        sonames = model.STACKS[case.launch.mpi.stack].sonames
        why = libraries.why_wrong(case.benchmark, found, sonames, case.launch.prefix, files)
        return why or libraries.why_without(case.benchmark, found, wanted.sonames, case.launch.library_prefix, files)
    if found:
        return libraries.why_wrong(case.benchmark, found, wanted.sonames, case.launch.prefix, files)
    # A script (one calls the system's own NetPIPE) has no libraries, and does not show what it calls.
    if libraries.NO_LIBRARIES in said:
        return None
    return program.unknown_linkage(case.benchmark, one_line(said))


def _another_mpi(case: Case, evidence: Evidence) -> str | None:
    """Return the sentence about an output that names another MPI; in a replay only its library counts."""
    meant = case.launch.mpi if evidence.played is None else IntendedMpi(case.stack)
    if meant is None or evidence.exit_code == UNFIT_EXIT:
        return None
    other = mpi_identity.why_other(f"{evidence.stdout}\n{evidence.stderr}", meant)
    return None if other is None else program.other_mpi(other)


def _runs_of_their_own(case: Case, evidence: Evidence, tables: Sequence[Table]) -> str | None:
    """Return why each process was a run of its own, by what several of them printed; None if they ran together.

    If one process says so, the benchmark may have wrong options; if two do, both were first ranks.
    """
    given = len(case.launch.nodes) * case.ranks_per_node
    of_its_own = micro.find(case.benchmark).every_node  # one run per node, as intended
    if case.launch.mpi is None or given < 2 or of_its_own or case.site.system.provider == "host":
        return None
    single = sum(table.context.get("processes", table.context.get("ranks")) == 1 for table in tables)
    refusals = _TOO_FEW.findall(f"{evidence.stdout}\n{evidence.stderr}")
    if max(single, len(refusals)) < 2:
        return None
    refusal = one_line(refusals[0]) if len(refusals) >= single else ""
    return program.separate_runs(given, refusal, max(single, len(refusals)))


def conditions_of(case: Case, evidence: Evidence, used: Sequence[str]) -> tuple[ConditionRecord, ...]:
    """Return each condition that the sources of these entries state, with the nodes that had another one.

    ``used``: ids of the entries that judged the run.
    """
    stated: dict[tuple[str, str], list[str]] = {}
    for entry in case.site.references.entries:
        if entry.id in used:
            for name, text in stated_conditions(entry.source).items():
                stated.setdefault((name, text), []).append(entry.id)
    nodes = seen_nodes(case, evidence) if stated else {}
    return tuple(
        ConditionRecord(name, text, tuple(entries), _differing_nodes(name, text, nodes))
        for (name, text), entries in stated.items()
    )


def stated_conditions(source: Source) -> dict[str, str]:
    """Return what a source states, by name: its conditions, and those of its fields that are conditions too."""
    fields = {"firmware": source.firmware, "driver": source.driver, "mpi": source.mpi}
    hops = {} if source.hops is None else {"hops": str(source.hops)}
    return {**source.conditions, **{name: text for name, text in fields.items() if text is not None}, **hops}


def seen_nodes(case: Case, evidence: Evidence) -> dict[str, NodeFactsShown]:
    """Return what each node of a measurement shows; empty for a replay or a rehearsal."""
    if evidence.played is not None or evidence.rehearsed:
        return {}
    run = {"mpi": _mpi(case, evidence), "hops": None if case.hops is None else str(case.hops)}
    known = {name: text for name, text in run.items() if text is not None}
    return {
        each.node: NodeFactsShown(
            each.facts, [each.devices[rail] for rail in case.launch.meant if rail in each.devices], known
        )
        for each in evidence.facts
    }


def _mpi(case: Case, evidence: Evidence) -> str | None:
    """Return the library of the run with its version, if its prefix or its own launcher gives one."""
    meant = case.launch.mpi
    if meant is None:
        return None
    return mpi_of(meant.stack, meant.version or version_said(evidence.launcher, meant.stack))


def _differing_nodes(name: str, text: str, nodes: Mapping[str, NodeFactsShown]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for node, seen in nodes.items():
        for has in conditions.unlike_values(name, text, seen):
            found.setdefault(has, []).append(node)
    return {has: tuple(where) for has, where in found.items()}
