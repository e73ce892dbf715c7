"""What a rehearsal's Slurm is given, by the system's file: hardware, features, resources, and where jobs run. Pure."""

import re
from collections.abc import Iterable, Mapping, Sequence

from railyard.base.errors import SetupError
from railyard.base.hostlist import expand_names
from railyard.provision.rehearsal.machine import machine_of
from railyard.provision.testbed.slurm_texts import PARTITION, Gres, Layout
from railyard.site.systems.job_requests import asks_for_whole_nodes, requested_words
from railyard.site.systems.model import System

# A feature's name: what is between the marks of a constraint, without the count of "rack1*4".
_COUNT = re.compile(r"\*[0-9]+")
_FEATURE = re.compile(r"[^&|\[\]()*,!]+")
_GRES = re.compile(r"(?:gres[:/])?(?P<name>[A-Za-z]\w*)(?::(?P<type>[A-Za-z][\w.-]*))?(?:[:=](?P<count>[0-9]{1,9}))?")
_GPUS = re.compile(r"(?:(?P<type>[A-Za-z][\w.-]*):)?(?P<count>[0-9]{1,9})")


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
        found.append(Gres(match["name"], int(match["count"] or 1), match["type"] or ""))
    return [gres for gres in found if gres.count]


def _gpus(texts: Iterable[str]) -> list[Gres]:
    found = []
    for text in (part for whole in texts for part in whole.split(",")):
        match = _GPUS.fullmatch(text)
        if match is None:
            raise SetupError(f"rehearsal: found --gpus-per-node={text}, expected a form such as 8 or a100:4")
        found.append(Gres("gpu", int(match["count"]), match["type"] or ""))
    return [gres for gres in found if gres.count]
