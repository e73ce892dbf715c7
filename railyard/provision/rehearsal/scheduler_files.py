"""What a rehearsal's scheduler is given: nodes, queues and resources as a system's file asks for them.

Slurm's partitions, features and resources are in ``nodes``; here are those of the other schedulers.
"""

import re
from collections.abc import Sequence

from railyard.provision.rehearsal.machine import machine_of
from railyard.provision.rehearsal.nodes import gives_whole_nodes, layout_of, leaf_switches, names_of
from railyard.provision.testbed import flux, pbs, sge, slurm_texts
from railyard.provision.testbed.flux import FluxLayout
from railyard.provision.testbed.pbs import PbsLayout, PbsResource
from railyard.provision.testbed.scheduler import Files
from railyard.provision.testbed.sge import SgeLayout, SgeResource
from railyard.site.systems.job_requests import (
    SLOTS_OF_NODE,
    allocation_rules,
    chunk_resources,
    requested_resources,
    requested_words,
)
from railyard.site.systems.jobs import FAMILIES
from railyard.site.systems.model import System

#: A word of PBS for a size, and for a number.
_SIZE, _NUMBER = re.compile(r"[0-9]+(?:[kmgtp]?[bw])", re.IGNORECASE), re.compile(r"[0-9]+")
#: The resource by which PBS puts a job's chunks together: ``place=scatter:group=switch``.
_GROUP = re.compile(r"(?:^|:)group=([\w-]+)")
_BOOLEAN = re.compile(r"|true|false|t|f|y|n", re.IGNORECASE)
#: A word of Flux's constraints, such as those of ``ib-hdr&-old|not (4gpu)``; a minus before it negates it. Source:
#: RFC 31 and 35, and constraint/parser.py of flux-core 0.88.
_WORD, _OPERATORS = re.compile(r"[^()|&\s\"']+"), frozenset(("and", "or", "not", "AND", "OR", "NOT"))
#: The operator of a property, which is also that of a word without one; the others name nodes by name or number.
_PROPERTIES = "properties"
_PLENTY = "1000000G"
#: What Grid Engine takes for any letters, and for one, in names of queues and of parallel environments and in values; a
#: ``!`` is for all others. Source: sge_types(1), pattern and expression.
_ANY, _ONE_LETTER, _NONE_OF_THEM = re.compile(r"[*()]"), re.compile(r"\?|\[(.)[^\]]*\]"), "other"
_QUEUE = re.compile(r"[\w.-]+")
_MEMORY = re.compile(r"[0-9]+(?:\.[0-9]+)?[kmgt]", re.IGNORECASE)
_FRACTION, _TIME = re.compile(r"[0-9]*\.[0-9]+"), re.compile(r"[0-9]*:[0-9]+:[0-9]+")
#: Resources that every Grid Engine has, and ours for whole nodes. Source: qconf -sc of Grid Engine 8.1.9.
_OF_SGE = re.compile(
    r"arch|calendar|cpu|display_win_gui|excl(?:usive)?|hostname|[hs]_\w+|(?:np_)?load_\w+|mem_(?:free|total|used)|"
    r"m_\w+|min_cpu_interval|num_proc|qname|rerun|seq_no|slots|swap_\w+|tmpdir|virtual_\w+"
)
#: Resources that every PBS has. Source: master_resc_def_all.xml of OpenPBS 23.06.
_OF_PBS = frozenset(
    "accelerator accelerator_group accelerator_memory accelerator_model aoe arch cput cpupercent energy eoe exec_vnode "
    "file hbmem host hpm max_walltime mem min_walltime mpiprocs naccelerators nchunk ncpus nice nodect nodemask nodes "
    "ompthreads partition pcap_accelerator pcap_node pcput pe_mask pgov place pmem preempt_targets pstate pvmem resc "
    "select site soft_walltime software ssinodes start_time vmem vnode vntype walltime".split()
)


def files_of(system: System, nodes: Sequence[str], task_prolog: str) -> Files:
    """Return what makes the files of a system's scheduler for a rehearsal of these nodes.

    ``task_prolog`` is the program that each task of Slurm calls before it starts. Raises SetupError for a resource that
    cannot be read.
    """
    family = FAMILIES[system.scheduler]
    if family == "pbs":
        of_pbs = pbs_layout(system)
        return lambda spec, folder: pbs.files(spec, folder, of_pbs)
    if family == "flux":
        of_flux = flux_layout(system)
        return lambda spec, folder: flux.files(spec, folder, of_flux)
    if family == "sge":
        of_sge = sge_layout(system)
        return lambda spec, folder: sge.files(spec, folder, of_sge)
    of_slurm = layout_of(system, nodes, leaf_switches(system, nodes), task_prolog)
    return lambda spec, folder: slurm_texts.files(spec, folder, of_slurm)


def pbs_layout(system: System) -> PbsLayout:
    """Return what PBS is given: nodes that have what each chunk asks for, the file's queues, and its own resources.

    If the file does not state the nodes' hardware, they have what jobs ask for; else what it states, so a request that
    no node can meet is found.
    """
    chunk, machine, stated = dict(chunk_resources(system)), machine_of(system), system.nodes.hardware
    asked = int(number) if _NUMBER.fullmatch(number := chunk.get("ncpus", "")) else 0
    cores = machine.cores if stated and asked > machine.processors else max(machine.cores, asked)
    own = [_of_chunk(name, value) for name, value in chunk.items() if name not in _OF_PBS]
    if system.jobs.totals and system.gpus is not None:
        own.append(PbsResource("ngpus", "long", "nh", str(system.gpus.per_node)))
    known = _OF_PBS | {each.name for each in own}
    requested = requested_resources(system)
    own += [PbsResource(name, _type(value)) for name, value in requested if name not in known]
    # Nodes with the same value of such a resource are together: here all of them.
    groups = [found[1] for name, value in requested if name == "place" and (found := _GROUP.search(value)) is not None]
    own += [PbsResource(name, "string_array", "h", "all") for name in groups if name not in known]
    reserved = (system.jobs.reservation,) if system.jobs.reservation else ()
    return PbsLayout(
        cores=cores,
        memory=f"{machine.memory >> 20}mb" if stated else chunk.get("mem", f"{machine.memory >> 20}mb"),
        queues=tuple(dict.fromkeys((*names_of(requested_words(system, "partition")), *reserved))),
        resources=tuple({each.name: each for each in own}.values()),
        takes_chunks=not system.jobs.totals,
        whole=gives_whole_nodes(system),
    )


def flux_layout(system: System) -> FluxLayout:
    """Return what Flux is given: the file's hardware and queues, and each property that jobs require of nodes."""
    required = _properties(requested_words(system, "constraint"))
    return FluxLayout(
        cores=machine_of(system).cores,
        gpus=0 if system.gpus is None else system.gpus.per_node,
        queues=names_of(requested_words(system, "partition")) or (flux.QUEUE,),
        properties=required,
    )


def _properties(constraints: Sequence[str]) -> tuple[str, ...]:
    """Return each property that a constraint names, whether nodes must have it or not; every node has it."""
    found = []
    for word in _WORD.findall(" ".join(constraints)):
        if word in _OPERATORS:
            continue
        operator, colon, value = word.removeprefix("-").partition(":")
        values = value if colon else operator
        if not colon or operator == _PROPERTIES:
            found += [name.removeprefix("^") for name in values.split(",")]
    return tuple(dict.fromkeys(filter(None, found)))


def sge_layout(system: System) -> SgeLayout:
    """Return what Grid Engine is given: a slot for each core, and the file's environments, resources and projects."""
    machine = machine_of(system)
    found: dict[str, str] = {}
    for name, rule in allocation_rules(system).items():
        one = _one_of(name)
        if rule == SLOTS_OF_NODE:
            found |= {one.replace(rule, f"{slots}"): f"{slots}" for slots in range(1, machine.cores + 1)}
        else:
            found[one] = rule
    most = f"{machine.memory >> 20}M" if system.nodes.hardware else _PLENTY
    own = [_of_sge(name, value, most) for name, value in requested_resources(system) if not _OF_SGE.fullmatch(name)]
    asked = (part for text in requested_words(system, "partition") for part in text.split(","))
    # What comes behind an @ is a node or a group of them.
    queues = [name for each in asked if _QUEUE.fullmatch(name := _one_of(each.partition("@")[0]))]
    return SgeLayout(
        slots=machine.cores,
        queues=tuple(dict.fromkeys(queues)) or ("all.q",),
        environments=found,
        resources=tuple({each.name: each for each in own}.values()),
        projects=names_of(requested_words(system, "project")),
        whole=gives_whole_nodes(system),
    )


def _of_sge(name: str, value: str, most: str) -> SgeResource:
    """Return a resource of which each node has what a job asks for; of memory, which is per slot, all of its own."""
    if _MEMORY.fullmatch(value):
        return SgeResource(name, name, "MEMORY", "<=", True, most)
    if _NUMBER.fullmatch(value):
        return SgeResource(name, name, "INT", "<=", False, value)
    if _FRACTION.fullmatch(value):
        return SgeResource(name, name, "DOUBLE", "<=", False, value)
    if _TIME.fullmatch(value):
        return SgeResource(name, name, "TIME", "<=", False, value)
    if _BOOLEAN.fullmatch(value):
        return SgeResource(name, name, "BOOL", "==", False, "true")
    return SgeResource(name, name, "RESTRING", "==", False, _one_of(value))


def _one_of(pattern: str) -> str:
    """Return a text that a pattern of Grid Engine fits: the first of ``a100|v100``, ``long`` of ``long*``."""
    first = re.split(r"[|&]", pattern.strip("()"))[0]
    if first.startswith("!"):
        return _NONE_OF_THEM
    return _ANY.sub("", _ONE_LETTER.sub(lambda found: found[1] or "x", first))


def _of_chunk(name: str, value: str) -> PbsResource:
    """Return a resource of which each node has just what a chunk asks for; numbers and sizes are used up (flag n)."""
    kind = _type(value)
    if kind in ("long", "size"):
        return PbsResource(name, kind, "nh", value)
    return PbsResource(name, "string_array" if kind == "string" else kind, "h", value or "True")


def _type(value: str) -> str:
    if _BOOLEAN.fullmatch(value):
        return "boolean"
    return "long" if _NUMBER.fullmatch(value) else "size" if _SIZE.fullmatch(value) else "string"
