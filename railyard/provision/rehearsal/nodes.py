"""Which nodes of a system are rehearsed, what their scheduler is given, and what cannot be rehearsed. Pure.

A site has hundreds of nodes; the first nodes of a few leaf switches show the same as all of them.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.hostlist import expand_names, label
from railyard.provision.rehearsal import sysfs
from railyard.provision.rehearsal.rank_ports import LIBRARIES
from railyard.provision.rehearsal.sysfs import machine_of
from railyard.provision.testbed.slurm_texts import PARTITION, Gres, Layout
from railyard.provision.testbed.spec import rehearsal_spec
from railyard.site.systems.job_requests import asks_for_whole_nodes, requested_words
from railyard.site.systems.jobs import FAMILIES, ON_TESTBEDS, is_slurm
from railyard.site.systems.model import Fabric, System
from railyard.stacks.model import STACKS

# A feature's name: what is between the marks of a constraint, without the count of "rack1*4".
_COUNT = re.compile(r"\*[0-9]+")
_FEATURE = re.compile(r"[^&|\[\]()*,!]+")
#: The type of a resource may begin with a digit (gpu:1g.10gb:4), and a count may end in a unit (bandwidth:4K).
_TYPE, _NUMBER = r"(?P<type>(?![0-9]+[KMGTP]?(?:[:=]|$))\w[\w.-]*)", r"(?P<count>[0-9]{1,9})(?P<unit>[KMGTP]?)"
_GRES = re.compile(rf"(?:gres[:/])?(?P<name>[A-Za-z][\w-]*)(?::{_TYPE})?(?:[:=]{_NUMBER})?", re.IGNORECASE)
_GPUS = re.compile(rf"(?:{_TYPE}:)?{_NUMBER}", re.IGNORECASE)
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
#: The number of rehearsed nodes by default, and the most: with 64 nodes of 112 cores a job has 7,168 processes.
USUAL, MOST = 16, 64
#: The schedulers that a rehearsal starts. ReFrame's three names of Slurm are one here.
SCHEDULERS = tuple(
    dict.fromkeys((*(name for name in FAMILIES if is_slurm(name)), *(name for name in ON_TESTBEDS if name in FAMILIES)))
)
#: A network needs at least a pair of nodes.
LEAST = 2
#: Memory of the controller and all else that exists once, and of each node (slurmd 6, munged 4, its files 2), MiB.
FLOOR_MIB, NODE_MIB = 300, 12
# So a leaf switch has pairs of its own, and a collective has more than one node of each leaf.
_NODES_A_LEAF = 4
_AVAILABLE = re.compile(r"^MemAvailable:\s+(?P<kib>[0-9]{1,15}) kB$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ChosenNodes:
    """The rehearsed nodes, in the order of the file, and a sentence for each thing that is not as the file says."""

    nodes: tuple[str, ...]
    left_out: tuple[str, ...]


def choose(system: System, available_mib: int, wanted: int | None = None, named: Collection[str] = ()) -> ChosenNodes:
    """Return the nodes of a system to rehearse: those that a fault names, and the first of each leaf switch.

    ``available_mib`` is the free memory of this machine, in MiB; ``wanted`` is the number of nodes asked for (default
    16, at most 64). Raises SetupError for a system that cannot be rehearsed, and if even two nodes are too many.
    """
    _refuse(system)
    excluded = names_of(requested_words(system, "exclude"))
    there = tuple(node for node in site_nodes(system) if node not in excluded)
    fit = (available_mib - FLOOR_MIB) // NODE_MIB
    if fit < LEAST:
        raise SetupError(
            f"rehearsal: found {available_mib} MiB of free memory, expected at least "
            f"{FLOOR_MIB + LEAST * NODE_MIB} MiB for two nodes; end other programs"
        )
    if wanted is not None and not LEAST <= wanted <= MOST:
        raise SetupError(f"rehearsal: found a request for {wanted} nodes, expected {LEAST} to {MOST}")
    if len(there) < LEAST:
        raise SetupError(f"rehearsal: {system.system} has fewer than two nodes that a job may use")
    count = min(len(there), fit, max(wanted or USUAL, len(named)))
    nodes = _first_of_leaves(there, _leaf_of(system), count, named)
    _check_names(system, nodes)
    if count == fit and fit != wanted:
        why = f"this machine has free memory for {fit}"
    elif count == wanted:
        why = "you asked for that many"
    elif count == len(there):
        why = "jobs exclude the others (exclude)"
    else:
        why = f"you can ask for up to {MOST} (--nodes)"
    return ChosenNodes(nodes, tuple(_limit_sentences(system, nodes, why)))


def site_nodes(system: System) -> tuple[str, ...]:
    """Return the names of all nodes of a system; n1, n2 ... if its file says only how many there are."""
    stated = dict.fromkeys(node for fabric in system.fabrics.values() for node in _members(_switches_of(fabric)))
    return system.nodes.names or tuple(stated) or tuple(f"n{n}" for n in range(1, system.nodes.number + 1))


def leaf_switches(system: System, nodes: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return which of these nodes are at each leaf switch of the first fabric whose switches the file has."""
    leaf_of = _leaf_of(system)
    found: dict[str, list[str]] = {}
    for node in nodes:
        if label(node) in leaf_of:
            found.setdefault(leaf_of[label(node)], []).append(node)
    return {leaf: tuple(members) for leaf, members in found.items()}


def memory_available_mib(meminfo: Path = Path("/proc/meminfo")) -> int:
    """Return the memory of this machine that programs may still take, MiB; 0 if the kernel does not say it."""
    found = _AVAILABLE.search(meminfo.read_text(encoding="ascii", errors="replace"))
    return int(found["kib"]) >> 10 if found else 0


def _refuse(system: System) -> None:
    if system.provider != "nodes":
        raise SetupError(
            f"rehearsal: {system.system} has the provider {system.provider}, expected nodes; only a site's own cluster "
            "can be rehearsed"
        )
    if system.scheduler not in SCHEDULERS:
        raise SetupError(
            f"rehearsal: {system.system} has the scheduler {system.scheduler}, expected one of "
            f"{', '.join(SCHEDULERS)}: no other can be started here; for its job scripts type: railyard run --system "
            f"{system.system} --dry-run"
        )
    reasons = [why_not_played(system, stack) for stack in system.stacks]
    if system.stacks and all(reasons):
        raise SetupError(
            f"rehearsal: stacks of {system.system}: found none that can be played "
            f"({'; '.join(reason for reason in dict.fromkeys(reasons) if reason)}), expected one at least; for the job "
            f"scripts alone type: railyard run --system {system.system} --dry-run"
        )


def why_not_played(system: System, stack: str) -> str | None:
    """Return why nothing plays the library of a stack or that of the MPI that starts its programs; None if one does."""
    for name in dict.fromkeys((stack, system.starter(stack))):
        entry = STACKS[name]
        if entry.not_rehearsed:
            return f"{name}: {entry.not_rehearsed}"
        if not entry.pair and entry.rehearsed_as not in LIBRARIES:
            known = ", ".join(LIBRARIES)
            return f'{name}: its entry has rehearsed_as="{entry.rehearsed_as}", expected one of {known}'
    return None


def _check_names(system: System, nodes: Sequence[str]) -> None:
    """Refuse a name that a node of namespaces cannot have, before anything starts."""
    try:
        rehearsal_spec(nodes)
    except SetupError as error:
        sentence = str(error).removeprefix("testbed: ")
        raise SetupError(
            f"rehearsal: nodes of {system.system}: {sentence}; write the nodes' short names, as the scheduler has them"
        ) from None


def _leaf_of(system: System) -> Mapping[str, str]:
    switches = next((each for each in map(_switches_of, system.fabrics.values()) if each), {})
    return {label(node): leaf for leaf, nodes in switches.items() for node in nodes}


def _switches_of(fabric: Fabric) -> Mapping[str, Sequence[str]]:
    """Return a fabric's leaf switches; those of its first rail, if each rail has its own."""
    return fabric.leaf_switches or fabric.rails[0].leaf_switches


def _members(switches: Mapping[str, Sequence[str]]) -> list[str]:
    return [node for nodes in switches.values() for node in nodes]


def _first_of_leaves(
    names: Sequence[str], leaf_of: Mapping[str, str], count: int, named: Collection[str]
) -> tuple[str, ...]:
    """Return this many names in their order: those that are named, then one of each leaf in turn, from a few leaves."""
    taken = [name for name in names if name in named]
    leaves: dict[str, list[str]] = {leaf_of.get(label(name), ""): [] for name in (*taken, *names)}
    for name in names:
        if name not in named:
            leaves[leaf_of.get(label(name), "")].append(name)
    few = max(LEAST, count // _NODES_A_LEAF)
    queues = list(leaves.values())
    for some in (queues[:few], queues[few:]):
        taken += [name for turn in zip_longest(*some) for name in turn if name is not None]
    chosen = set(taken[:count])
    return tuple(name for name in names if name in chosen)


def _limit_sentences(system: System, nodes: Sequence[str], why: str) -> list[str]:
    """Return the sentences; ``why`` says why no more nodes are rehearsed, if these are not all."""
    found = []
    number = len(site_nodes(system))
    if len(nodes) < number:
        leaves, all_leaves = leaf_switches(system, nodes), set(_leaf_of(system).values())
        at = f", at {len(leaves)} of {len(all_leaves)} leaf switches" if all_leaves else ""
        found.append(f"{len(nodes)} of {number} nodes are rehearsed{at}; {why}")
    if not system.nodes.names and not any(map(_switches_of, system.fabrics.values())):
        found.append("the file names no nodes: they are called n1, n2 and so on")
    found += sysfs.machine_assumptions(system)
    found += sysfs.assumptions(system)
    if requested_words(system, "gres") or requested_words(system, "gpus-per-node"):
        found.append("the scheduler counts generic resources, but no program finds a device")
    return found


def names_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the names in lists such as ``n[1-3],n7``, each once. Raises SetupError for brackets without ranges."""
    try:
        return tuple(dict.fromkeys(name for text in texts for name in expand_names(text) if name))
    except ValueError as error:
        raise SetupError(f"rehearsal: found {', '.join(texts)}, expected names as Slurm writes them: {error}") from None


def layout_of(system: System, nodes: Sequence[str], leaves: Mapping[str, tuple[str, ...]], task_prolog: str) -> Layout:
    """Return what Slurm is given about these nodes; ``leaves`` has the nodes at each leaf switch.

    Raises SetupError for a resource that is not in the form ``gpu:8`` or ``gpu:a100:4``.
    """
    machine = machine_of(system)
    return Layout(
        sockets=machine.sockets,
        cores_per_socket=machine.cores_per_socket,
        threads_per_core=machine.threads_per_core,
        memory_mb=machine.memory >> 20,
        features=_features(requested_words(system, "constraint")),
        gres=tuple(
            dict.fromkeys([*_gres(requested_words(system, "gres")), *_gpus(requested_words(system, "gpus-per-node"))])
        ),
        partitions=names_of(requested_words(system, "partition")) or (PARTITION,),
        max_time="UNLIMITED",
        exclusive=gives_whole_nodes(system),
        leaves=leaves,
        absent=tuple(name for name in names_of(requested_words(system, "exclude")) if name not in nodes),
        task_prolog=task_prolog,
    )


def gives_whole_nodes(system: System) -> bool:
    """Return whether the partition gives whole nodes to jobs that do not ask: only if the file itself says so.

    ``nodes.exclusive`` is true by default, so the default proves nothing about a site's partition.
    """
    stated = "exclusive" in system.nodes.model_fields_set and system.nodes.exclusive
    return stated and not asks_for_whole_nodes(system)


def _features(constraints: Iterable[str]) -> tuple[str, ...]:
    """Return all names in constraints such as ``edr&[rack1*4|rack2*4]``. Every node has all of them."""
    return tuple(dict.fromkeys(name for text in constraints for name in _FEATURE.findall(_COUNT.sub("", text))))


def _gres(texts: Iterable[str]) -> list[Gres]:
    found = []
    for text in (part for whole in texts for part in whole.split(",")):
        match = _GRES.fullmatch(text)
        if match is None:
            raise SetupError(f'rehearsal: found the resource "{text}", expected a form such as gpu:8 or gpu:a100:4')
        found.append(Gres(match["name"], _count(match), match["type"] or ""))
    return [gres for gres in found if gres.count]


def _gpus(texts: Iterable[str]) -> list[Gres]:
    found = []
    for text in (part for whole in texts for part in whole.split(",")):
        match = _GPUS.fullmatch(text)
        if match is None:
            raise SetupError(f"rehearsal: found --gpus-per-node={text}, expected a form such as 8 or a100:4")
        found.append(Gres("gpu", _count(match), match["type"] or ""))
    return [gres for gres in found if gres.count]


def _count(found: re.Match[str]) -> int:
    """Return how many of a resource are asked for: one if there is no number."""
    return int(found["count"] or 1) * _UNITS[(found["unit"] or "").upper()]
