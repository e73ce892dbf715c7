"""What the parts of a gate found, and the one line that they add up to: fit, unfit or undecided.

Also what a node's gate keeps for the next one, in one file per node, and the lock that allows one gate at a time.

Judges the links and slots of a node by the same rules as `railyard doctor` and `railyard fabric`.
"""

import contextlib
import fcntl
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from railyard.base.errors import Finding, SetupError
from railyard.base.files import write_whole
from railyard.base.values import one_line
from railyard.cluster.detect.ports import port_rate
from railyard.cluster.doctor import rail_rules
from railyard.cluster.doctor.node_block import NodeState
from railyard.cluster.fabric.judge import uniform_findings
from railyard.cluster.fabric.link_state import link_findings
from railyard.cluster.fabric.model import VERBS, expected_fabric
from railyard.cluster.fabric.slots import slot_findings
from railyard.cluster.fabric.sysfs import port_of
from railyard.hardware.links import pcie_generation
from railyard.results import flaps
from railyard.results.flaps import PortFlaps
from railyard.site.systems.node_view import FabricView, RailView, SystemView

State = Literal["fit", "unfit", "undecided"]
Part = Literal["links", "slots", "counters", "optics", "loopback", "memory", "pair"]
FORMAT = 1
#: 2 is a user's mistake, as in all commands. Only 1 means that the node should be drained.
EXIT_CODES: Mapping[State, int] = MappingProxyType({"fit": 0, "unfit": 1, "undecided": 3})
#: A scheduler shows a node's reason on one line of a table.
_LONGEST_REASON = 200
STATE_FORMAT = 1


class Busy(Exception):
    """Another gate of this node is running."""


class Unreadable(Exception):
    """What earlier gates kept is not whole. The text says why, and where the file is now."""


@dataclass(frozen=True, slots=True)
class GateState:
    """The counters at the last gate, by rail, and the parts for which it drained the node.

    ``boot`` is the kernel's name for this start of the node: counters of an earlier start cannot be compared.
    ``ports``: by rail, how often its link went down; unlike ``counts``, it outlives a boot.
    """

    boot: str | None = None
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    drained: tuple[str, ...] = ()
    ports: Mapping[str, PortFlaps] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is certainly wrong with this node: what was found, and what to do about it."""

    found: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that was not checked, and why not."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Look:
    """What one part of a gate found.

    ``checked``: at least something of this part was looked at. ``doubt``: why the part cannot be decided (disturbed, no
    answer); a doubt neither drains a node nor lets it pass.
    """

    part: Part
    checked: bool = False
    faults: tuple[Fault, ...] = ()
    gaps: tuple[Gap, ...] = ()
    doubt: str | None = None

    @property
    def is_clean(self) -> bool:
        """Whether the part was looked at, and nothing is wrong or in doubt."""
        return self.checked and not self.faults and self.doubt is None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a gate says about a node. ``reason`` is empty if the node is fit.

    ``ports``: by rail, what the gate keeps of its flaps.
    """

    node: str
    state: State
    reason: str = ""
    looks: tuple[Look, ...] = ()
    ports: Mapping[str, PortFlaps] = field(default_factory=dict)

    @property
    def line(self) -> str:
        """Return all of it on one line: what was found, or what was checked and what was not."""
        if self.state != "fit":
            return f"{self.node}: {self.state}: {self.reason}"
        checked = ", ".join(look.part for look in self.looks if look.checked)
        gaps = _gaps(self.looks)
        return f"{self.node}: fit: {checked}{f'; not checked: {gaps}' if gaps else ''}"

    @property
    def details(self) -> tuple[str, ...]:
        """Return a line for each fault with what to do, for each doubt, and for each thing that was not checked."""
        lines = [
            f"fault: {fault.found}{f'; {fault.fix}' if fault.fix else ''}"
            for look in self.looks
            for fault in look.faults
        ]
        lines += [f"undecided: {look.doubt}" for look in self.looks if look.doubt is not None]
        lines += [f"not checked: {gap.what}: {gap.why}" for look in self.looks for gap in look.gaps]
        lines += [
            f"flaps: {rail}: {report.words}"
            for rail, port in self.ports.items()
            if (report := flaps.report_of(port)) is not None and report.state != "flapping"
        ]
        return tuple(lines)

    def as_json(self) -> dict[str, Any]:
        """Return it as an object for programs."""
        return {
            "format": FORMAT,
            "node": self.node,
            "state": self.state,
            "reason": self.reason,
            "line": self.line,
            "details": list(self.details),
            "parts": [asdict(look) for look in self.looks],
            flaps.KEY: flaps.to_json(self.ports),
        }


def decide_answer(node: str, looks: Sequence[Look]) -> Answer:
    """Return what the parts say together: one fault makes a node unfit, else one doubt makes it undecided."""
    faults = [fault.found for look in looks for fault in look.faults]
    doubts = [look.doubt for look in looks if look.doubt is not None]
    for state, said in (("unfit", faults), ("undecided", doubts)):
        if said:
            more = f" (+{len(said) - 1} more)" if len(said) > 1 else ""
            return Answer(node, "unfit" if state == "unfit" else "undecided", f"{short(said[0])}{more}", tuple(looks))
    return Answer(node, "fit", "", tuple(looks))


def short(reason: str) -> str:
    """Return a reason on one line, short enough for a scheduler's table."""
    line = one_line(reason)
    return line if len(line) <= _LONGEST_REASON else f"{line[: _LONGEST_REASON - 3]}..."


def _gaps(looks: Sequence[Look]) -> str:
    """Return what was not checked, grouped by reason: ``loopback, pair (no --traffic)``."""
    reasons: dict[str, list[str]] = {}
    for look in looks:
        for gap in look.gaps:
            reasons.setdefault(gap.why, []).append(gap.what)
    return ", ".join(f"{', '.join(names)} ({why})" for why, names in reasons.items())


@contextlib.contextmanager
def lock_node(folder: Path, node: str) -> Iterator[None]:
    """Hold the node's lock. Raises Busy if another gate has it, SetupError if the folder cannot be written."""
    path = folder / f"{node}.lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = path.open("a", encoding="utf-8")
    except OSError as error:
        raise _cannot_write(path, error) from None
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Busy from None
        except OSError as error:
            raise _cannot_write(path, error) from None
        yield


def load(folder: Path, node: str) -> GateState:
    """Return what the last gate kept; nothing if there was none.

    Raises Unreadable if its file is not whole. The file is set aside then, and counting starts again. This one gate is
    undecided: a node must not be fit because what was known of it is lost.
    """
    path = _file(folder, node)
    try:
        told = flaps.read_state(path)
        if not isinstance(told, dict) or told.get("format") != STATE_FORMAT:
            raise ValueError(f"no object of format {STATE_FORMAT}")
        if told.get("node", node) != node:  # an older gate's answer has no name
            raise ValueError(f"it is that of node {told['node']!r:.60}")
        ports = flaps.from_json(told.get(flaps.KEY))
        counts = _counts(told.get("counters"))
        return GateState(_text(told.get("boot")), counts, tuple(_texts(told.get("drained"))), ports)
    except FileNotFoundError:
        return GateState()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        aside = path.with_suffix(".unreadable")
        try:
            path.replace(aside)
        except OSError as wrong:
            raise _cannot_write(path, wrong) from None
        raise Unreadable(f"what earlier gates kept is lost; its file is {aside.name} now: {why}") from None


def save(folder: Path, node: str, kept: GateState) -> None:
    """Replace the node's file in one step, so that no reader sees half of it. Raises SetupError if that fails."""
    path = _file(folder, node)
    told = {
        "format": STATE_FORMAT, "node": node, "boot": kept.boot, "counters": kept.counts, "drained": kept.drained,
        flaps.KEY: flaps.to_json(kept.ports),
    }  # fmt: skip
    try:
        write_whole(path, json.dumps(told, indent=1))
    except OSError as error:
        raise _cannot_write(path, error) from None


def _cannot_write(path: Path, error: OSError) -> SetupError:
    return SetupError(
        f"gate: {path} cannot be written ({error.strerror}); a gate keeps its lock and counters there: "
        "name a folder that this user may write to: --state DIR"
    )


def _file(folder: Path, node: str) -> Path:
    return folder / f"{node}.json"


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _counts(value: Any) -> dict[str, dict[str, int]]:
    """Return the counters by rail. Raises ValueError if it is anything else."""
    if value is None:
        return {}
    rails = value if isinstance(value, dict) else {"": value}
    for rail, counts in rails.items():
        if not isinstance(counts, dict) or not all(isinstance(count, int) for count in counts.values()):
            raise ValueError(f"counters{f'.{rail}' if rail else ''}: not a number per name")
    return rails


#: Kind of fabric -> a link layer that it does not have: such a port says nothing about the fabric.
_FOREIGN: Mapping[str, str] = {"ib": "Ethernet", "opa": "Ethernet", "roce": "InfiniBand"}


def look(node: NodeState, system: SystemView) -> tuple[Look, Look]:
    """Return what is wrong with the links of all rails, and with their slots.

    If the state of a link cannot be read, the node is undecided. A rate or slot that is not shown is only mentioned.
    """
    links, slots = list(rail_rules.of_node(node, system.fabrics)), list[Finding]()
    link_gaps, slot_gaps = list[Gap](), list[Gap]()
    judged: dict[str, bool] = {}
    for name, fabric in system.fabrics.items():
        meant = expected_fabric(system, name)
        for rail, expected_rail in zip(fabric.rails, meant.rails, strict=True):
            # Judge each rail alone: if two rails are slow in the same way, both are slow; the file is not wrong.
            alone = replace(meant, rails=(expected_rail,))
            links += rail_rules.of_rails((node,), fabric, (rail,), alone, (link_findings, uniform_findings))
            slots += rail_rules.of_rails((node,), fabric, (rail,), alone, (slot_findings,))
            device, said = rail.name, node.device(rail.name)
            foreign = is_foreign(node, fabric, rail)
            shown = said.get("there") == "no" or (not foreign and _shows_state(node, fabric, rail))
            judged[device] = judged.get(device, False) or shown
            if foreign:
                link_gaps.append(Gap(f"{name} on {device}", f"the port's link layer is {said['link_layer']}"))
            elif shown and said.get("there") != "no":
                link_gaps += _rate_gap(fabric, rail, said)
                slot_gaps += _slot_gap(fabric, rail, said)
    blind = [device for device, shown in judged.items() if not shown]
    doubt = f"nothing says whether {', '.join(blind)} {'is' if len(blind) == 1 else 'are'} up" if blind else None
    unread = {gap.what for gap in slot_gaps}
    return (
        Look("links", len(blind) < len(judged), _faults(node, links), _each(link_gaps), doubt),
        Look("slots", len(blind) + len(unread) < len(judged), _faults(node, slots), _each(slot_gaps)),
    )


def is_foreign(node: NodeState, fabric: FabricView, rail: RailView) -> bool:
    """Return whether a rail's port has the link layer of another kind of fabric, and so carries nothing of this one."""
    return _FOREIGN.get(fabric.kind) == node.device(rail.name).get("link_layer", "")


def _faults(node: NodeState, found: Iterable[Finding]) -> tuple[Fault, ...]:
    """Return the problems without the node's own name in front."""
    problems = [one for one in found if one.weight == "problem"]
    return tuple(
        dict.fromkeys(Fault(f"{one.where.removeprefix(f'{node.name} ')}: {one.what}", one.fix) for one in problems)
    )


def _each(gaps: Iterable[Gap]) -> tuple[Gap, ...]:
    return tuple(dict.fromkeys(gaps))


def _shows_state(node: NodeState, fabric: FabricView, rail: RailView) -> bool:
    said = node.device(rail.name)
    if fabric.kind in VERBS:
        port = port_of(node.name, rail.device, rail.port or 1, said.get)
        return said.get("there") == "rdma" and port.state is not None
    return "state" in said or "carrier" in said


def _rate_gap(fabric: FabricView, rail: RailView, said: Mapping[str, str]) -> Iterator[Gap]:
    what = f"rate of {rail.name}"
    if fabric.kind in VERBS:
        if rail.counters == "rxe":
            yield Gap(what, "a software device has none")
        elif port_rate(said.get("rate")) is None:
            yield Gap(what, "the kernel shows none")
    elif fabric.kind != "tcp" or not said.get("speed", "").isdigit():
        yield Gap(what, "the kernel shows none")
    elif not isinstance(fabric.declared_link, str):
        yield Gap(what, "the system's file declares its own link")


def _slot_gap(fabric: FabricView, rail: RailView, said: Mapping[str, str]) -> Iterator[Gap]:
    slot = rail.slot or fabric.slot or ""
    if not slot.startswith("pcie"):
        yield Gap(f"slot of {rail.name}", "the system's file names no slot")
    elif pcie_generation(said.get("slot_speed")) is None or said.get("slot_width", "0") == "0":
        yield Gap(f"slot of {rail.name}", "the kernel shows none")
