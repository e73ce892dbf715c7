"""What `--fault` may say: one fault per word, planted on a rail, GPU, node, leaf switch or the library's transport."""

import re
from collections.abc import Iterable, Mapping

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.fields import show
from railyard.hardware.links import SLOTS
from railyard.provision.rehearsal.form import EVERY_NODE, Fault
from railyard.site.systems.model import Fabric, Rail, System

#: The forms of a fault, as messages show them: subject=where,what.
GRAMMAR = (
    "rail=NODE:DEVICE,share=0.5", "rail=NODE:DEVICE,idle", "rail=NODE:DEVICE,lanes=1",
    "rail=NODE:DEVICE,counters=unreadable", "rail=NODE:DEVICE,far", "gpu=NODE:NUMBER,lanes=4",
    "gpu=NODE:NUMBER,missing", "gpu=NODE:NUMBER,dead", "node=NODE,dies", "leaf=NAME,share=0.5", "fallback=tcp",
)  # fmt: skip
_SUBJECTS = ("rail", "gpu", "node", "leaf", "fallback")
_OF_A_RAIL = ("share", "idle", "lanes", "counters", "far")
_OF_A_GPU = ("lanes", "missing", "dead")
#: Lanes with which a slot can come up (PCI Express Base Specification 5.0, Link Width).
_LANES_OF_A_SLOT = ("1", "2", "4", "8")
#: Lanes with which a half-dead cable of four lanes comes up (InfiniBand Architecture 1.5, LinkWidthActive).
_LANES = {"1": 1, "2": 2}
_NODE_OF = re.compile(r"(?:rail|gpu|node)=(?P<node>[^:,]+)")
_MORE = "--nodes N rehearses more nodes"
_SHARE = re.compile(r"0?\.[0-9]{1,4}")


def nodes_named(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the nodes that these words name: they should be rehearsed, so that the faults can be planted there."""
    found = (_NODE_OF.match(text) for text in texts)
    return tuple(dict.fromkeys(match["node"] for match in found if match is not None and match["node"] != EVERY_NODE))


def plant_faults(texts: Iterable[str], system: System, nodes: tuple[str, ...]) -> tuple[Fault, ...]:
    """Return the faults that these words plant on the rehearsed nodes.

    Raises RailyardError for an unknown word, node, rail or leaf switch, with the nearest known one; for a fault that
    its subject cannot have; and for a fault that is given twice.
    """
    found: list[Fault] = []
    for text in texts:
        fault = parse_fault(text, system, nodes)
        if fault in found:
            raise _wrong(text, "this fault for the second time", "each fault once")
        found.append(fault)
    return tuple(found)


def parse_fault(text: str, system: System, nodes: tuple[str, ...]) -> Fault:
    """Return the fault that one word plants. Raises RailyardError as ``plant_faults`` does."""
    place, _, what = text.partition(",")
    subject, equals, name = place.partition("=")
    if subject not in _SUBJECTS or not equals:
        expected = f"one of {', '.join(f'{each}=' for each in _SUBJECTS)}"
        raise _wrong(text, show(place), expected, did_you_mean(subject, _SUBJECTS))
    if subject == "fallback":
        if name != "tcp" or what:
            raise _wrong(text, show(text), '"fallback=tcp" and nothing after it')
        return Fault("fallback", text)
    if subject == "node":
        if what != "dies":
            raise _wrong(text, show(what), f'"dies": node={name},dies')
        dying = _node(text, name, nodes, system)
        if dying == nodes[0]:
            found = f"{show(name)}, the first rehearsed node, which runs Slurm's controller"
            raise _wrong(text, found, "another node", f"for example {nodes[-1]}")
        return Fault("dies", text, node=dying)
    if subject == "gpu":
        return _of_gpu(text, name, what, system, nodes)
    if subject == "leaf":
        return Fault("leaf", text, leaf=_leaf(text, name, system, nodes), share=_share(text, what))
    return _of_rail(text, name, what, system, nodes)


def _of_rail(text: str, place: str, what: str, system: System, nodes: tuple[str, ...]) -> Fault:
    named, colon, device_text = place.partition(":")
    if not colon:
        raise _wrong(text, show(place), "a node and a device: rail=NODE:DEVICE, or rail=*:DEVICE for every node")
    node = EVERY_NODE if named == EVERY_NODE else _node(text, named, nodes, system)
    device, fabric, rail = _rail(text, device_text, system)
    word, equals, value = what.partition("=")
    if word == "share" and equals:
        return Fault("slow", text, share=_share(text, what), node=node, device=device)
    if what == "idle":
        return Fault("idle", text, node=node, device=device)
    if what == "far":
        return Fault("far", text, node=node, device=device)
    if word == "lanes" and equals:
        if value not in _LANES or fabric.kind == "tcp":
            wrong = "a fabric of kind tcp" if fabric.kind == "tcp" else show(what)
            raise _wrong(text, wrong, "a cable with 1 or 2 of its four lanes left: lanes=1")
        return Fault("lanes", text, lanes=_LANES[value], node=node, device=device)
    if what == "counters=unreadable":
        if rail.counters == "none":
            raise _wrong(text, f"{device}, which has counters: none", "a rail whose counters are read")
        return Fault("unreadable", text, node=node, device=device)
    raise _wrong(text, show(what), f"one of {', '.join(_WORDS_OF_A_RAIL)}", did_you_mean(word, _OF_A_RAIL))


def _of_gpu(text: str, place: str, what: str, system: System, nodes: tuple[str, ...]) -> Fault:
    named, colon, number = place.partition(":")
    gpus = system.gpus
    if gpus is None:
        raise _wrong(text, show(place), f"gpus in systems/{system.system}.yaml, which has none")
    if not colon or not number.isdecimal():
        raise _wrong(text, show(place), "a node and a GPU: gpu=NODE:NUMBER, or gpu=*:NUMBER for every node")
    if int(number) >= gpus.per_node:
        raise _wrong(text, f"GPU {number}", f"one of the GPUs 0 to {gpus.per_node - 1} of each node")
    node = EVERY_NODE if named == EVERY_NODE else _node(text, named, nodes, system)
    word, equals, value = what.partition("=")
    if what in ("missing", "dead"):
        return Fault("missing" if what == "missing" else "dead", text, node=node, gpu=int(number))
    if word != "lanes" or not equals:
        raise _wrong(text, show(what), f"one of {', '.join(_WORDS_OF_A_GPU)}", did_you_mean(word, _OF_A_GPU))
    slot = None if gpus.slot is None else SLOTS[gpus.slot]
    if slot is None:
        raise _wrong(text, show(what), f"gpus: slot in systems/{system.system}.yaml, which has none")
    if value not in _LANES_OF_A_SLOT or int(value) >= slot.lanes:
        raise _wrong(text, show(what), f"fewer lanes than the {slot.lanes} of the slot: {', '.join(_LANES_OF_A_SLOT)}")
    return Fault("narrow", text, node=node, gpu=int(number), lanes=int(value))


#: What may follow a rail, and what may follow a GPU.
_WORDS_OF_A_RAIL = tuple(form.partition(",")[2] for form in GRAMMAR if form.startswith("rail="))
_WORDS_OF_A_GPU = tuple(form.partition(",")[2] for form in GRAMMAR if form.startswith("gpu="))


def _node(text: str, name: str, nodes: tuple[str, ...], system: System) -> str:
    if name in nodes:
        return name
    if name in system.nodes.names:
        raise _wrong(text, f"{show(name)}, which is not rehearsed", "one of the rehearsed nodes", _MORE)
    raise _wrong(text, f"no node {show(name)}", "one of the rehearsed nodes", did_you_mean(name, nodes))


def _rail(text: str, name: str, system: System) -> tuple[str, Fabric, Rail]:
    """Return a rail's name in launches, its fabric and the rail. The port may be left out if a device has only one."""
    known = _rails(system)
    if name in known:
        return name, *known[name]
    of_device = {rail: its for rail, its in known.items() if its[1].device == name}
    if len(of_device) == 1:
        rail, its = next(iter(of_device.items()))
        return rail, *its
    if of_device:
        raise _wrong(text, f"{show(name)}, which has several ports", "one of them", f"type: {' or '.join(of_device)}")
    raise _wrong(text, f"no rail {show(name)}", f"a rail of {system.system}", did_you_mean(name, known))


def _rails(system: System) -> Mapping[str, tuple[Fabric, Rail]]:
    """Return every rail of the system by its name in launches."""
    return {
        rail.device if rail.port is None else f"{rail.device}:{rail.port}": (fabric, rail)
        for fabric in system.fabrics.values()
        for rail in fabric.rails
    }


def _leaf(text: str, name: str, system: System, nodes: tuple[str, ...]) -> str:
    known: dict[str, list[str]] = {}
    for fabric in system.fabrics.values():
        for leaf, names in fabric.leaf_switches.items():
            known.setdefault(leaf, []).extend(names)
    if not set(nodes).isdisjoint(known.get(name, ())):
        return name
    if name in known:
        raise _wrong(text, f"{show(name)}, which has no rehearsed node", "a leaf switch that has one", _MORE)
    if not known:
        raise _wrong(
            text, f"{show(name)}", f"leaf_switches of a fabric in systems/{system.system}.yaml, which has none"
        )
    raise _wrong(text, f"no leaf switch {show(name)}", "one of its leaf_switches", did_you_mean(name, known))


def _share(text: str, what: str) -> float:
    word, _, value = what.partition("=")
    if word != "share" or not _SHARE.fullmatch(value) or not 0 < float(value):
        raise _wrong(text, show(what), "the share of the rate that is left, above 0 and below 1: share=0.5")
    return float(value)


def _wrong(text: str, found: str, expected: str, more: str = "") -> RailyardError:
    return RailyardError(f"--fault {text}: found {found}, expected {expected}{f'; {more}' if more else ''}")
