"""What is rehearsed: which nodes of which system, what `--fault` may plant on them, and what became of it.

What `--fault` may say, one fault per word, and what a rehearsal found of the planted faults.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from railyard.base.errors import RailyardError, SetupError, did_you_mean
from railyard.base.paths import REHEARSAL_VARIABLE
from railyard.base.values import show
from railyard.base.wording import count_of
from railyard.hardware.links import SLOTS
from railyard.results.record.form import Record
from railyard.results.report.summary import blame_lines, suspect_words
from railyard.site.systems.load import FILE
from railyard.site.systems.model import Fabric, Rail, System
from railyard.stacks.model import policy_of_rail

#: Of a rail: slow: it gives ``share`` of its rate; idle: the library leaves it out; lanes: its cable runs at ``lanes``
#: of four; unreadable: its counters cannot be read; far: its card is at the other socket. fallback: the library
#: silently takes TCP over the management network. dies: the node goes down during a run. leaf: a leaf switch gives
#: ``share`` of the rate to what crosses it. Of a GPU: narrow: its slot runs at ``lanes``; missing: its node does not
#: see it any more; dead: nothing gets from it to another node.
FaultKind = Literal[
    "slow", "idle", "fallback", "dies", "lanes", "leaf", "unreadable", "far", "narrow", "missing", "dead"
]
#: What every verdict of a rehearsal says; replays have a sentence of their own.
REHEARSED = "rehearsed: a stand-in printed this output, nothing was measured"
#: In place of a node's name it means every node.
EVERY_NODE = "*"


@dataclass(frozen=True, slots=True)
class Fault:
    """One planted fault. ``text`` is what was typed; ``device`` is a rail as launches name it (``mlx5_1:1``).

    ``gpu`` is the number of a GPU of the node; None for any other fault.
    """

    kind: FaultKind
    text: str
    node: str = EVERY_NODE
    device: str = ""
    leaf: str = ""
    share: float = 1.0
    lanes: int = 4
    gpu: int | None = None

    def hits(self, node: str, device: str) -> bool:
        """Return whether it is planted on this rail of this node. The fallback leaves out every rail."""
        return self.kind == "fallback" or (self.node in (EVERY_NODE, node) and self.device == device)

    def is_of_gpu(self, node: str, gpu: int) -> bool:
        """Return whether it is planted on this GPU of this node."""
        return self.gpu == gpu and self.node in (EVERY_NODE, node)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """One rehearsal: a system's file of a site, the rehearsed nodes, and the folder that has all of it.

    ``left_out`` has a sentence for each thing in the file that this machine cannot rehearse. ``programs`` has the path
    of each stack's tools, the stand-ins (stack: tool: path), ``launchers`` the folder of each stack's mpirun, and
    ``wrf_cases`` the folder of each case's inputs. ``recording`` is the folder of recordings that are played if they
    fit, empty for none.
    """

    system: str
    home: str
    folder: str
    nodes: tuple[str, ...]
    faults: tuple[Fault, ...] = ()
    left_out: tuple[str, ...] = ()
    programs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    wrf_cases: Mapping[str, str] = field(default_factory=dict)
    launchers: Mapping[str, str] = field(default_factory=dict)
    recording: str = ""

    @property
    def planted_words(self) -> str:
        """The faults as they were typed, or ``nothing``."""
        return ", ".join(fault.text for fault in self.faults) or "nothing"

    @property
    def remark(self) -> str:
        """The sentence in every record and page of it. It names the one proof that stand-ins are exempt from."""
        return (
            f"a rehearsal with stand-ins in place of benchmarks, not a measurement; planted: {self.planted_words}; "
            f"linkage: not judged, since the programs are stand-ins"
        )

    def write(self) -> None:
        """Write it to its folder, for the processes of its nodes and of ReFrame."""
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        Path(self.folder, FILE).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


def read(folder: Path) -> Rehearsal:
    """Return the rehearsal that was written to a folder. Raises SetupError if there is none."""
    try:
        stored = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SetupError(
            f"{folder / FILE}: found no rehearsal ({error}); type: railyard rehearse --system NAME"
        ) from None
    faults = tuple(Fault(**fault) for fault in stored.pop("faults"))
    nodes, left_out = tuple(stored.pop("nodes")), tuple(stored.pop("left_out"))
    return Rehearsal(**stored, nodes=nodes, faults=faults, left_out=left_out)


def current() -> Rehearsal | None:
    """Return the rehearsal that this process belongs to, None outside of one. Raises SetupError as ``read`` does."""
    folder = os.environ.get(REHEARSAL_VARIABLE)
    return read(Path(folder)) if folder else None


#: The rule of the path proof: a library that took another network fails it.
_PATH = 4
#: The rules that compare a curve with its limit and its references.
_OF_CURVES = (3, 5)
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
            found = f"{show(name)}, the first rehearsed node, which runs the scheduler's controller"
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
        for group, leaves in fabric.groups.items():
            known.setdefault(group, []).extend(name for leaf in leaves for name in fabric.leaf_switches.get(leaf, ()))
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


def summary(rehearsal: Rehearsal, system: System, records: Sequence[Record]) -> list[str]:
    """Return the last lines of a rehearsal: whether failed tests name each planted fault, then who is blamed."""
    failed = [record for record in records if record.fails]
    lines = [f"planted {fault.text}: {_describe_blame(fault, system, records, failed)}" for fault in rehearsal.faults]
    if not rehearsal.faults:
        lines = [f"nothing was planted: {_describe_unprovoked(failed)}"]
    return [*lines, *blame_lines(failed)]


def names(fault: Fault, record: Record) -> bool:
    """Return whether a failed test names what was planted: node and rail, leaf switch or the other transport."""
    if fault.kind == "fallback":
        return any(rule.rule == _PATH and rule.state == "fail" for rule in record.found.verdict.rules)
    verdict = record.found.verdict
    if fault.kind == "leaf" and any(suspect.kind == "switch" for suspect in verdict.suspects):
        return True
    # A sentence about a curve names all nodes and rails of its run. A remark names where a process was. Both blame
    # nobody.
    sentence = "" if verdict.rule in _OF_CURVES else verdict.sentence
    text = "\n".join((sentence, *map(suspect_words, verdict.suspects)))
    node = "" if fault.node == EVERY_NODE else fault.node
    wanted = [word for word in (node, fault.device, fault.leaf) if word]
    return all(re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text) for word in wanted)


def _describe_blame(fault: Fault, system: System, records: Sequence[Record], failed: Sequence[Record]) -> str:
    naming = sum(names(fault, record) for record in failed)
    if naming:
        return f"named by {naming} of {count_of(len(failed), 'failed test')}"
    unused = _find_unused(fault, system, records)
    if unused is not None:
        return f"NOT FOUND, {unused}"
    if not failed:
        return "NOT FOUND, no test failed"
    return f"NOT NAMED by any of {count_of(len(failed), 'failed test')}"


def _find_unused(fault: Fault, system: System, records: Sequence[Record]) -> str | None:
    """Return why no test could meet a fault of a rail or a node: none ran there.

    None if one did, or for any other fault.
    """
    # A test that ended early may not have said on which nodes it ran.
    there = [one for one in records if fault.node == EVERY_NODE or not one.where.nodes or fault.node in one.where.nodes]
    if not there and records:
        return f"no chosen test ran on {fault.node}: choose one of all nodes, such as -n AllPairs, or fewer --nodes"
    if not fault.device or any(_uses(record, system, fault.device) for record in there):
        return None
    place = fault.device if fault.node == EVERY_NODE else f"{fault.device} of {fault.node}"
    return f"no chosen test used {place}: choose one with {' or '.join(dict.fromkeys(_ways(fault.device, system)))}"


def _uses(record: Record, system: System, device: str) -> bool:
    """Return whether a test was to use a rail, by its name in launches."""
    fabric = system.fabrics.get(record.where.fabric)
    policy = record.test.policy or ""
    if fabric is None or not fabric.has(record.test.rails, policy):
        return False
    return device in {rail.name for rail in fabric.used_rails(record.test.rails, policy)}


def _ways(device: str, system: System) -> Iterator[str]:
    """Yield how to choose tests that use a rail: over so many rails, or over that rail alone if the file has it."""
    for fabric in system.fabrics.values():
        for number, rail in enumerate(fabric.rails, 1):
            if rail.name == device:
                yield from (f"rails={count}" for count in fabric.counts if count >= number)
                yield from (f"policy={policy_of_rail(number)}" for _ in range(fabric.each_rail and number > 1))


def _describe_unprovoked(failed: Sequence[Record]) -> str:
    if not failed:
        return "no test failed"
    return f"{count_of(len(failed), 'test')} failed, so the system's file and its references do not fit each other"
