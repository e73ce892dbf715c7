"""Runs one gate on this node: reads, compares error counters, then measures and says what the next gate should know.

The site's own commands that drain and resume a node: runs them, or writes them as a script for a sick list.

It runs nothing. A part that belongs to no single node (a pair, a switch, a leaf, an up-link) drains no node: its nodes
may be good, and a line says so.
"""

import contextlib
import os
import re
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from railyard.base.bounds import HARD_ERRORS
from railyard.base.errors import InputError, SetupError
from railyard.base.hostlist import label
from railyard.base.paths import packaged_text, state_folder
from railyard.base.values import one_line
from railyard.base.wording import count_of
from railyard.cluster.doctor.node_block import FORMAT, SCRIPT, NodeState, parse, rails_of
from railyard.cluster.fabric.sysfs import text
from railyard.cluster.gate import ending, model
from railyard.cluster.gate.ending import Deadline, GateStop
from railyard.cluster.gate.model import Answer, Fault, Gap, Look, Part, decide_answer, short
from railyard.hardware.counters import DRIVERS, Driver, error_maximum
from railyard.parsers.fabric.words import integer
from railyard.results import flaps
from railyard.results.flaps import FlapBounds, PortFlaps, PortReading
from railyard.site.systems.node_view import RailView, SystemView

if TYPE_CHECKING:
    from railyard.results.sick import SickPart
    from railyard.site.systems.model import System

#: What a gate measures with --traffic, and what it says without.
_PARTS: tuple[Part, ...] = ("loopback", "memory", "pair")
NO_TRAFFIC = "no --traffic"

#: Rail -> counter -> value.
Counts = Mapping[str, Mapping[str, int]]
_FIX = "check its cable and the switch port; after the repair, start afresh with railyard gate --forget"
_OPTICS_FIX = "clean or reseat its connector, then swap the cable or the module"
_FLAP_FIX = (
    "reseat or replace its cable, look at its optics (railyard fabric with mlxlink -m or ethtool -m) and at the switch "
    "port; after the repair, start afresh with railyard gate --forget"
)


@dataclass(frozen=True, slots=True)
class Reading:
    """The counters of all rails at one time, how often each link went down, and what could not be read."""

    counts: Counts
    gaps: tuple[Gap, ...] = ()
    ports: Mapping[str, PortReading] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GateRequest:
    """What a gate was asked for: which node and system, where it keeps its counters, and whether it may send.

    ``traffic``: the whole system, if the gate may send. ``forget``: ignore counters that grew before.
    """

    home: Path
    system: SystemView
    node: str
    state: Path
    traffic: "System | None" = None
    neighbour: str | None = None
    forget: bool = False


@dataclass(frozen=True, slots=True)
class GateResult:
    """What a gate says, and what the node's next gate should know."""

    answer: Answer
    kept: model.GateState


def look(asked: GateRequest, deadline: Deadline) -> GateResult:
    """Return what a gate says about this node. Raises GateStop if it was cancelled or its time was over."""
    system, before, lost = asked.system, model.GateState(), None
    try:
        before = model.load(asked.state, asked.node)
    except model.Unreadable as error:
        lost = str(error)
    with tempfile.TemporaryDirectory(prefix="railyard-gate-") as name:
        folder = Path(name)
        facts = _facts(system, folder, deadline)
        if isinstance(facts, str):
            return GateResult(decide_answer(asked.node, (Look("links", doubt=facts),)), before)
        sys, proc = _root("RAILYARD_SYSFS", "/sys"), _root("RAILYARD_PROC", "/proc")
        boot = text(proc / "sys/kernel/random/boot_id")
        now = read(sys, system)
        ports = flaps.follow(
            before.ports, now.ports, float(int(time.time())), boot, system.system,
            uptime=_uptime(proc), forget=asked.forget,
        )  # fmt: skip
        same = boot == before.boot and before.counts and not asked.forget
        base = without_old_flaps(before.counts, now, ports)
        counters = compare_errors(base if same else None, now, system.gate.counters)
        # If a counter grew too much, keep the old base: else the next gate would find the node fit.
        counts = base if counters.faults else now.counts
        if boot is None and now.ports:
            gap = Gap("flaps", "the kernel does not name its boot, so no growth can be told from a new start")
            counters = replace(counters, gaps=(*counters.gaps, gap))
        # also of a rail that cannot be read now: nobody has seen it quiet
        own = {rail.name for fabric in system.fabrics.values() for rail in fabric.rails}
        counters = replace(with_flaps(counters, {rail: ports[rail] for rail in ports if rail in own}), doubt=lost)
        looks = [*model.look(facts, system), counters]
        if system.gate.optics:
            looks.append(look_at_modules(facts, system, deadline))
        after = model.GateState(boot, counts, before.drained, ports)
        looks += _measure(asked, facts, tuple(looks), folder, deadline)
        return GateResult(replace(decide_answer(asked.node, looks), ports=ports), after)


def _facts(system: SystemView, folder: Path, deadline: Deadline) -> NodeState | str:
    """Return what doctor.sh says about this node, or why its answer does not count."""
    script = folder / SCRIPT
    script.write_text(packaged_text(f"cluster/doctor/{SCRIPT}"), encoding="utf-8")
    try:
        ended = ending.run(["sh", str(script), rails_of(system)], deadline)
    except OSError as error:
        return f"doctor.sh cannot be started ({error.strerror})"
    nodes = parse(ended.out)
    if len(nodes) != 1 or not nodes[0].whole or nodes[0].format != FORMAT:
        return f"doctor.sh gave no whole answer: {ended.last_words}"
    return nodes[0]


def _measure(
    asked: GateRequest, facts: NodeState, looks: tuple[Look, ...], folder: Path, deadline: Deadline
) -> Iterator[Look]:
    """Yield what was measured. Send nothing without --traffic, over faulty parts, or while another benchmark runs."""
    if asked.traffic is None:
        yield from (Look(part, gaps=(Gap(part, NO_TRAFFIC),)) for part in _PARTS)
        return
    others = ", ".join(sorted({name for _, name in facts.processes}))
    why = f"{others} runs there already" if others else None
    if any(one.faults or one.doubt for one in looks):
        why = "not measured because of the faults above"
    if why is not None:
        yield from (Look(part, gaps=(Gap(part, why),)) for part in _PARTS)
        return
    from railyard.cluster.gate import traffic  # with the parsers of its tools; most gates only look

    with _hold_nodes(asked) as other, _shared_folder(asked) as shared:
        if other is not None:
            doubt = f"disturbed: another gate measures with {other}"
            yield from (Look(part, doubt=doubt) for part in _PARTS)
            return
        ground = traffic.Ground(asked.home, asked.traffic, asked.node, facts, folder, shared, deadline, asked.neighbour)
        yield _limit_look("loopback", lambda: traffic.loopback(ground))
        yield _limit_look("memory", lambda: traffic.memory(ground))
        yield _limit_look("pair", lambda: traffic.pair(ground))


def _limit_look(part: Part, measure: Callable[[], Look]) -> Look:
    try:
        return measure()
    except GateStop as stop:
        raise GateStop(f"{stop}, in {part}") from None


@contextlib.contextmanager
def _hold_nodes(asked: GateRequest) -> Iterator[str | None]:
    """Hold the node and its neighbour against other gates that measure; give the one that such a gate has, else None.

    Two gates with one neighbour would each have half of its rate, and both nodes would be drained. The locks are in the
    site's state, which all nodes see; where it cannot be written or has no locks, nothing is held.
    """
    folder = state_folder(asked.home) / "gate"
    taken: str | None = None
    with contextlib.ExitStack() as held:
        for node in sorted({asked.node, asked.neighbour or asked.node}):
            try:
                held.enter_context(model.lock_node(folder, f"measures-{node}"))
            except model.Busy:
                taken = node
            except SetupError:
                break
        yield taken


@contextlib.contextmanager
def _shared_folder(asked: GateRequest) -> Iterator[Path]:
    """Give a folder in the site's state folder, which the neighbour sees too; delete it afterwards."""
    if asked.neighbour is None:
        yield asked.state
        return
    folder = state_folder(asked.home) / "gate"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f"pair-{asked.node}-", dir=folder) as name:
        yield Path(name)


def _root(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or default)


def _uptime(proc: Path) -> float | None:
    """Return how many seconds ago the node was started, by a clock that nobody sets; None if the kernel hides it."""
    word = (text(proc / "uptime") or "").partition(" ")[0]
    return float(word) if re.fullmatch(r"[0-9]{1,10}(?:\.[0-9]{1,9})?", word) else None


def read(sys: Path, system: SystemView) -> Reading:
    """Return the error counters of every rail below a sysfs root, and the signals for which the gate has a bound."""
    counts: dict[str, dict[str, int]] = {}
    gaps: list[Gap] = []
    rails = {rail.name: rail for fabric in system.fabrics.values() for rail in fabric.rails}
    for name, rail in rails.items():
        driver = DRIVERS.get(rail.counters)
        bounded = () if driver is None else tuple(each for each in driver.signals if each in system.gate.counters)
        watched = () if driver is None else (*driver.errors, *bounded)
        values = {each: integer(text(_file(sys, rail, each)) or "") for each in watched}
        unread = [each for each, value in values.items() if value is None]
        counts[name] = {each: value for each, value in values.items() if value is not None}
        if not watched:
            gaps.append(Gap(f"counters of {name}", "its driver has no error counters"))
        elif not counts[name]:
            gaps.append(Gap(f"counters of {name}", "the kernel shows none"))
        elif unread:
            gaps.append(Gap(f"{', '.join(unread)} of {name}", "the kernel shows none"))
    ports = {name: read_port(sys, rail, system) for name, rail in rails.items() if driver_of(rail) is not None}
    gaps += [Gap(f"flaps of {name}", "the kernel does not count them") for name, port in ports.items() if port is None]
    gaps += [
        Gap(f"flaps of {name}", f"{port.counter} stopped at its largest value, {port.value}: clear it (perfquery -R)")
        for name, port in ports.items()
        if port is not None and port.full
    ]
    return Reading(counts, tuple(gaps), {name: port for name, port in ports.items() if port is not None})


def driver_of(rail: RailView) -> Driver | None:
    """Return how a rail counts; None if its system's file says that it does not."""
    return DRIVERS.get(rail.counters)


def read_port(sys: Path, rail: RailView, system: SystemView) -> PortReading | None:
    """Return how often a rail's link went down since the boot; None if no file says it.

    InfiniBand and Omni-Path count it in the port (link_downed). For all else the network interface counts it
    (carrier_down_count; kernels before 4.16 only have carrier_changes, which counts each way).

    Source: Linux Documentation/ABI/testing/sysfs-class-net and stable/sysfs-class-infiniband.
    """
    driver, gate = driver_of(rail), system.gate
    # a port that never goes quiet is kept for some centuries, not longer: times must stay times
    bounds = FlapBounds(None, gate.flaps_per_day, min(gate.quiet_s, 1 << 33))
    port = sys / "class/infiniband" / rail.device / "ports" / str(rail.port or 1)
    name = next((each for each in (driver.errors if driver else ()) if each.endswith("link_downed")), None)
    if name is not None and (text(port / "link_layer") or "InfiniBand") == "InfiniBand":
        value = integer(text(_file(sys, rail, name)) or "")
        if value is None:
            return None
        between = gate.counters.get(name, int(HARD_ERRORS.value))
        return PortReading(name, value, replace(bounds, between=between), full=value == error_maximum(name))
    interface = _interface(sys, rail, port)
    if interface is None:
        return None
    for counter, ways in (("carrier_down_count", 1), ("carrier_changes", 2)):
        value = integer(text(sys / "class/net" / interface / counter) or "")
        if value is not None:
            return PortReading(f"{counter} of {interface}", value // ways, bounds)
    return None


def _interface(sys: Path, rail: RailView, port: Path) -> str | None:
    """Return the network interface of a rail; None if it has none."""
    if (sys / "class/net" / rail.device).is_dir():
        return rail.device
    named = text(port / "gid_attrs/ndevs/0")
    if named is not None:
        return named
    for kind in ("infiniband", "cxi"):
        folder = sys / "class" / kind / rail.device / "device/net"
        if folder.is_dir():
            return next(iter(sorted(path.name for path in folder.iterdir())), None)
    return None


def without_old_flaps(before: Counts, now: Reading, ports: Mapping[str, PortFlaps]) -> Counts:
    """Return the counters of the last gate, with link_downed as it is now where a port is not flapping any more.

    All other counters keep their base until ``--forget``: without traffic a bad cable shows no errors, but a link that
    flaps goes down without traffic, too.
    """
    found = {rail: dict(counts) for rail, counts in before.items()}
    for rail, port in ports.items():
        report = flaps.report_of(port)
        if report is not None and report.state == "good again" and port.counter in found.get(rail, {}):
            found[rail][port.counter] = now.counts.get(rail, {}).get(port.counter, found[rail][port.counter])
    return found


def with_flaps(counters: Look, ports: Mapping[str, PortFlaps]) -> Look:
    """Return the look at counters with a fault for each port that flaps.

    A port whose link_downed is a fault already is not named twice, unless it went down too often in a day, which is
    said first.
    """
    said = {fault.found.partition(": ")[0] for fault in counters.faults if "link_downed" in fault.found}
    found = []
    for rail, port in ports.items():
        report = flaps.report_of(port)
        if report is None or report.state != "flapping":
            continue
        if rail in said and report.per_day <= report.bounds.per_day:
            continue
        most = f"at most {report.bounds.per_day} in 24 h" if report.per_day > report.bounds.per_day else "none"
        found.append(Fault(f"{rail}: {report.words}; expected {most}", _FLAP_FIX))
    return replace(counters, faults=(*found, *counters.faults))


def _file(sys: Path, rail: RailView, counter: str) -> Path:
    if rail.counters == "netdev":
        return sys / "class/net" / rail.device / "statistics" / counter
    port = sys / "class/infiniband" / rail.device / "ports" / str(rail.port or 1)
    folder = "hw_counters" if counter.startswith("hw/") else "counters"
    return port / folder / counter.removeprefix("hw/")


def compare_errors(before: Counts | None, now: Reading, bounds: Mapping[str, int]) -> Look:
    """Return what grew beyond its bound since the last gate; ``before`` is None if there was no gate since the boot.

    A counter that is lower than before was cleared in between. A counter at its maximum cannot grow. Neither is judged.
    """
    if before is None:
        first = Gap("counters", "no earlier gate since this boot to compare with")
        return Look("counters", gaps=(first, *now.gaps))
    faults: list[Fault] = []
    gaps = list(now.gaps)
    compared = 0
    for rail, counts in now.counts.items():
        grown: list[str] = []
        for name, value in counts.items():
            base = before.get(rail, {}).get(name)
            if base is None or value < base or value == error_maximum(name):
                gaps.append(Gap(f"{name} of {rail}", _why_not(value, base)))
                continue
            compared += 1
            most = bounds.get(name, HARD_ERRORS.value)
            if value - base > most:
                grown.append(f"{name} grew by {value - base} since the last gate, expected at most {most:g}")
        if grown:
            faults.append(Fault(f"{rail}: {'; '.join(grown)}", _FIX))
    return Look("counters", compared > 0, tuple(faults), tuple(gaps))


def _why_not(value: int, base: int | None) -> str:
    if base is None:
        return "not read by the last gate"
    if value < base:
        return "cleared since the last gate"
    return "at its largest value: clear it"


def look_at_modules(node: NodeState, system: SystemView, deadline: Deadline) -> Look:
    """Return what is wrong with the cables and modules of all rails. Raises GateStop if the time is over.

    mlxlink is asked about the cards that it knows, ethtool about all other interfaces. Both need root, and take about a
    second each. Only an alarm by the module's own threshold is a fault. A warning, and all that a module does not
    state, is said as not checked, so that no node is drained for a guess.
    """
    rails = {rail.name: rail for fabric in system.fabrics.values() for rail in fabric.rails}
    faults: list[Fault] = []
    gaps: list[Gap] = []
    checked = False
    seen: dict[tuple[str, ...], str] = {}
    for name, rail in rails.items():
        words = module_words(rail, node.device(name).get("interface"))
        if words is None:
            gaps.append(Gap(f"module of {name}", "neither mlxlink nor ethtool is there for it"))
        elif words in seen:
            gaps.append(Gap(f"module of {name}", f"that of {seen[words]}"))
        else:
            seen[words] = name
            for said in _module_looks(name, words, deadline):
                (faults if isinstance(said, Fault) else gaps).append(said)  # type: ignore[arg-type]
            checked |= not any(gap.what == f"module of {name}" for gap in gaps)
    return Look("optics", checked or bool(faults), tuple(faults), tuple(gaps))


def module_words(rail: RailView, interface: str | None) -> tuple[str, ...] | None:
    """Return the command that shows a rail's module; None if no tool is there that could."""
    if rail.device.startswith("mlx5_") and shutil.which("mlxlink"):
        return ("mlxlink", "-d", rail.device, "-m", "-c", *(("-p", str(rail.port)) if (rail.port or 1) > 1 else ()))
    if interface is not None and shutil.which("ethtool"):
        return ("ethtool", "-m", interface)
    return None


def _module_looks(name: str, words: tuple[str, ...], deadline: Deadline) -> Iterator[Fault | Gap]:
    """Yield what is beyond an alarm of a rail's module, and what is not judged: the whole module, or a reading."""
    from railyard.hardware.optics import report_of  # most gates read no module
    from railyard.parsers.fabric import FABRIC_PARSERS
    from railyard.parsers.output import ParseError

    what = f"module of {name}"
    try:
        ended = ending.run(words, deadline)
    except OSError as error:
        yield Gap(what, f"{words[0]} cannot be started ({error.strerror})")
        return
    try:
        parsed = FABRIC_PARSERS[words[0]](f"{ended.out}{ended.err}")
    except ParseError:
        yield Gap(what, f"{words[0]} printed no module: {short(ended.last_words)}")
        return
    module = next((port.module for port in parsed.fabric if port.module), None)
    if module is None:
        why = parsed.failures[0].text if parsed.failures else "no module"
        yield Gap(what, f"{words[0]}: {why}")
        return
    if parsed.failures or ended.code:
        why = parsed.failures[0].text if parsed.failures else f"it ended with {ended.code}"
        yield Gap(f"readings of {name}", f"{words[0]}: {why}")
    report = report_of(module)
    if not report.inside and not report.findings:
        yield Gap(what, "; ".join(report.unjudged))
        return
    for one in report.findings:
        if one.level == "alarm":
            yield Fault(f"{name}: {one.found}, expected {one.expected}; {report.name}", _OPTICS_FIX)
        else:
            yield Gap(f"warning of {name}", f"{one.found}, expected {one.expected}")
    for why in report.unjudged:
        yield Gap(f"readings of {name}", why)


#: If more than this share of a system's nodes is sick, a person should look again before draining them.
_MANY = 0.05
_BLANK = re.compile(r"\{(node|reason)\}")


def fill_words(words: Sequence[str], node: str, reason: str) -> list[str]:
    """Return the words with their placeholders filled. Text in a reason is never taken for a placeholder."""
    values = {"node": node, "reason": reason}
    return [_BLANK.sub(lambda found: values[found[1]], word) for word in words]


def run_command(words: Sequence[str], answer: Answer, deadline: Deadline) -> str | None:
    """Run a command for a node. Return None if it ended with 0, else a sentence that says how it ended."""
    given = fill_words(words, answer.node, short(f"railyard gate: {answer.reason}"))
    try:
        ended = ending.run(given, deadline)
    except OSError as error:
        return f"{given[0]} cannot be started ({error.strerror})"
    except GateStop as stop:
        return f"{given[0]} did not end: {stop}"
    return None if ended.code == 0 else f"{given[0]} ended with {ended.code}: {ended.last_words}"


def may_resume(answer: Answer, drained: Sequence[str]) -> bool:
    """Return whether a gate found all parts clean for which an earlier gate drained the node.

    A gate that only looks does not resume a node that was drained for a measurement.
    """
    clean = {look.part for look in answer.looks if look.is_clean}
    return answer.state == "fit" and bool(drained) and set(drained) <= clean


def drain_lines(system: "SystemView", parts: "Iterable[SickPart]") -> list[str]:
    """Return a comment and a command for each sick node, and a comment for each part that drains no node.

    Raises InputError if the system's file has no drain command.
    """
    if not system.gate.drain:
        raise InputError(
            f"systems/{system.system}.yaml", "nothing", "the site's own command, such as "
            "[scontrol, update, NodeName={node}, State=DRAIN, Reason={reason}]", field="gate.drain",
        )  # fmt: skip
    of_node: dict[str, list[SickPart]] = {}
    spared: list[str] = []
    for part in parts:
        why = why_not(part)
        if why is None and part.node is not None:
            of_node.setdefault(label(part.node), []).append(part)
        else:
            spared.append(f"# {one_line(part.name)}: drains no node: {why}")
    lines = _head(system, len(of_node))
    for those in of_node.values():
        lines += [*(f"# {one_line(f'{part.name}: {part.evidence}')}" for part in those), _command(system, those)]
    return [*lines, *spared]


def why_not(part: "SickPart") -> str | None:
    """Return why a part drains no node; None if it drains its node."""
    if part.passed is not None:
        return f"it passed since ({part.passed.time})"
    if part.confidence == "open":
        return "the verdicts do not show yet which part is at fault"
    if part.kind == "pair":
        return "a pair is slow; both its nodes may be good with all other nodes"
    if part.node is None or part.kind not in ("node", "rail", "gpu"):
        return f"{'an' if part.kind == 'up-link' else 'a'} {part.kind} is not a node: the nodes behind it may be good"
    return None


def _head(system: "SystemView", nodes: int) -> list[str]:
    lines = [f"# {system.system}: {count_of(nodes, 'node')} to drain; no command was run: read the reasons first"]
    if nodes > max(1, _MANY * system.nodes.number):
        of = f"{nodes} of {system.nodes.number} nodes"
        lines.append(f"# {of}: so many nodes rarely fail at once; look for a common cause")
    return lines


def _command(system: "SystemView", parts: "Sequence[SickPart]") -> str:
    newest = parts[0]
    more = f" (+{len(parts) - 1} more)" if len(parts) > 1 else ""
    reason = short(f"railyard: {newest.name}: {newest.evidence}{more}")
    return shlex.join(fill_words(system.gate.drain, newest.node or "", reason))
