"""What a preflight says of a job's nodes: one line, an exit code as the gate's, and the nodes that are not sick.

A part that belongs to no single node (a pair, all nodes, an up-link) makes the job unfit or undecided, but takes no
node out of the list: its nodes may all be good.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from railyard.base.errors import SetupError
from railyard.base.files import write_whole
from railyard.base.hostlist import fold_names, list_nodes
from railyard.base.values import one_line
from railyard.base.wording import count_of, few, number
from railyard.cluster.gate.model import EXIT_CODES, State, short

if TYPE_CHECKING:
    from railyard.cluster.preflight.rounds import RailsFound

HostsFormat = Literal["slurm", "hostfile"]
#: How a list of nodes is written: ``n[1-3,7]`` for srun --nodelist, or one name per line for mpirun and PBS.
FORMATS: Mapping[HostsFormat, str] = MappingProxyType({"slurm": "n[1-3,7]", "hostfile": "one name per line"})
FORMAT = 1


@dataclass(frozen=True, slots=True)
class Fault:
    """What is certainly wrong: in words, with what to do. ``node`` is None if no single node is at fault."""

    node: str | None
    said: str
    rail: str | None = None
    fix: str = ""


@dataclass(slots=True)
class Findings:
    """What a preflight found so far.

    ``doubts`` cannot be decided. ``late`` was not measured because the time was over. ``unchecked`` has what cannot be
    checked here, by reason: it is only mentioned. ``remarks`` decide nothing.
    """

    faults: list[Fault] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    late: dict[str, str] = field(default_factory=dict)
    unchecked: dict[str, list[str]] = field(default_factory=dict)
    checked: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def note_unchecked(self, what: str, why: str) -> None:
        """Note that something cannot be checked here."""
        names = self.unchecked.setdefault(why, [])
        if what not in names:
            names.append(what)

    def note_doubt(self, said: str) -> None:
        """Note what cannot be decided, once."""
        if said not in self.doubts:
            self.doubts.append(said)

    def note_rails(self, nodes: Sequence[str], rails: "RailsFound", least_mb_s: float | None, busy: str = "") -> None:
        """Note what the rounds of pairs showed.

        ``least_mb_s``: what a rail must give, if that is known. ``busy``: what else ran on the nodes, empty if they
        were idle. Then a figure that no good node was beside is no fault, but disturbed.
        """
        for one in rails.sick:
            if busy and not one.controlled:
                self.note_doubt(f"disturbed: {one.said}; {busy}")
                continue
            node = nodes[one.nodes[0]] if one.kind == "rail" else None
            fix = "look at its cable, port and switch port" if node else ""
            self.faults.append(Fault(node, one.said, one.rail, fix))
        self.doubts += rails.doubts
        self.late |= rails.unmeasured
        self.checked += [rail for rail in rails.level if rail not in rails.unmeasured]
        must = "" if least_mb_s is None else f", expected at least {number(least_mb_s)}"
        self.remarks += rails.remarks
        self.remarks += [f"{rail}: most nodes give {number(level)} MB/s{must}" for rail, level in rails.level.items()]
        if least_mb_s is None and rails.level:
            self.note_unchecked("what a rail should give", "no reference: nodes are compared with one another")

    @property
    def sick(self) -> tuple[str, ...]:
        """The nodes at fault, each once."""
        return tuple(dict.fromkeys(fault.node for fault in self.faults if fault.node is not None))


@dataclass(frozen=True, slots=True)
class Answer:
    """What a preflight says. ``seconds``: how long it took, of the ``limit_s`` that it had."""

    nodes: tuple[str, ...]
    found: Findings
    seconds: float
    limit_s: float

    @property
    def state(self) -> State:
        """One fault makes a job unfit, else one doubt, or anything that was not measured in time, undecided."""
        if self.found.faults:
            return "unfit"
        return "undecided" if self.found.doubts or self.found.late or not self.found.checked else "fit"

    @property
    def exit_code(self) -> int:
        """The gate's code for the state."""
        return EXIT_CODES[self.state]

    @property
    def hosts(self) -> tuple[str, ...]:
        """The job's nodes without those at fault."""
        sick = set(self.found.sick)
        return tuple(node for node in self.nodes if node not in sick)

    @property
    def line(self) -> str:
        """All of it on one line."""
        of = f"preflight of {count_of(len(self.nodes), 'node')}: {self.state}"
        took = f"({self.seconds:.0f} of {self.limit_s:.0f} s)"
        if self.state == "fit":
            gaps = self._gaps()
            return f"{of}: {', '.join(self.found.checked)}{f'; not checked: {gaps}' if gaps else ''} {took}"
        said = self._reasons()
        more = f" (+{len(said) - 1} more)" if len(said) > 1 else ""
        sick = f"; sick: {list_nodes(self.found.sick)}" if len(self.found.sick) > 1 else ""
        return f"{of}: {short(said[0])}{more}{sick} {took}"

    @property
    def details(self) -> tuple[str, ...]:
        """A line for each fault with what to do, each doubt, each gap and each remark."""
        found = self.found
        lines = [f"fault: {one.said}{f'; {one.fix}' if one.fix else ''}" for one in found.faults]
        lines += [f"undecided: {said}" for said in found.doubts]
        lines += [f"not measured: {what}: {why}" for what, why in found.late.items()]
        lines += [f"not checked: {', '.join(names)}: {why}" for why, names in found.unchecked.items()]
        return tuple(one_line(line) for line in [*lines, *found.remarks])

    def as_json(self) -> dict[str, Any]:
        """Return it as an object for programs."""
        return {
            "format": FORMAT,
            "state": self.state,
            "line": self.line,
            "details": list(self.details),
            "nodes": list(self.nodes),
            "hosts": list(self.hosts),
            "faults": [{"node": one.node, "rail": one.rail, "said": one.said} for one in self.found.faults],
            "checked": self.found.checked,
            "seconds": round(self.seconds, 1),
        }

    def _reasons(self) -> list[str]:
        if self.found.faults:
            return [one.said for one in merge_faults(self.found.faults)]
        late = [f"not measured: {what}: {why}" for what, why in self.found.late.items()]
        return [*self.found.doubts, *late] or ["nothing was checked"]

    def _gaps(self) -> str:
        """Return what was not checked, with the reason if there is one reason; --verbose has all."""
        reasons = self.found.unchecked
        names = few([name for own in reasons.values() for name in own])
        why = next(iter(reasons), "") if len(reasons) == 1 else "--verbose says why"
        return f"{names} ({why})" if names else ""


def merge_faults(faults: Sequence[Fault]) -> list[Fault]:
    """Return one fault for each node, and each fault of no single node; its sentence says how many more there are."""
    of_node: dict[str, list[Fault]] = {}
    merged: list[Fault] = []
    for fault in faults:
        if fault.node is not None:
            of_node.setdefault(fault.node, []).append(fault)
        else:
            merged.append(fault)
    for node, own in of_node.items():
        rails = list(dict.fromkeys(one.rail for one in own[1:] if one.rail))
        also = f", and {', '.join(rails)} too" if rails else f", and {count_of(len(own) - 1, 'more fault')}"
        merged.append(Fault(node, f"{own[0].said}{also if len(own) > 1 else ''}", own[0].rail))
    order = [one.node for one in faults]
    return sorted(merged, key=lambda one: order.index(one.node))


def hosts_text(hosts: Sequence[str], form: HostsFormat) -> str:
    """Return nodes in a form that a launcher reads."""
    return f"{fold_names(hosts)}\n" if form == "slurm" else "".join(f"{host}\n" for host in hosts)


def write_hosts(path: Path, hosts: Sequence[str], form: HostsFormat) -> None:
    """Write the nodes that are not sick. Raises SetupError if the file cannot be written."""
    try:
        write_whole(path, hosts_text(hosts, form))
    except OSError as error:
        raise SetupError(f"preflight: {path} cannot be written ({error.strerror}); name another file") from None
