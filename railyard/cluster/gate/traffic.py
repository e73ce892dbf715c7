"""What a gate measures with --traffic: each card's loop to itself, STREAM, and a stream to a neighbour and from it.

All measurements have limits for bytes and time. The neighbour is known to be good, so a slow pair is the node's fault.
"""

import os
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from railyard.base.bounds import GATE_BUSY_SHARE
from railyard.base.paths import packaged_text
from railyard.base.wording import number
from railyard.benchmarks.apps.every_node import stream_of_nodes
from railyard.cluster.doctor.node_block import NodeState
from railyard.cluster.fabric.model import VERBS
from railyard.cluster.gate import ending
from railyard.cluster.gate.ending import Deadline, ProcessEnd
from railyard.cluster.gate.model import Fault, Gap, Look, Part, is_foreign
from railyard.hardware.day_one import stream_floor_mb_s
from railyard.job import probe_job
from railyard.job.client_server import SCRIPT, run_words
from railyard.parsers import iperf3, perftest, rail_parts
from railyard.parsers.output import ParsedOutput, ParseError
from railyard.site.systems.model import Fabric, Rail, System
from railyard.site.systems.stack_entry import StackEntry
from railyard.verdict.wording import not_judged
from railyard.verdict.wording.reference import no_class

#: The size of a message: from this size on, a link must reach its floor.
MESSAGE_BYTES = 1 << 20
#: perftest needs at least the first number of iterations; more than the second would only make the gate longer.
FEWEST, MOST = 5, 2000
#: A figure that is too low is measured so often in all.
TIMES = 2
_FIX = "measure it with railyard run on this node alone, and check its settings with railyard doctor --nodes"


def messages(most_bytes: int, measurements: int) -> int:
    """Return how many messages of ``MESSAGE_BYTES`` each measurement may send, even if all of them are repeated."""
    return min(MOST, most_bytes // (MESSAGE_BYTES * TIMES * max(1, measurements)))


@dataclass(frozen=True, slots=True)
class WantedFigure:
    """What is measured, the least that it must reach in MB/s (10^6 B/s), and the source of that.

    ``busy``: what ran on the node before anything was measured; None if it was idle.
    """

    part: Part
    what: str
    least_mb_s: float
    source: str
    busy: str | None = None


_IPERF3_BYTES = 128 << 10
#: For a tool that is a folder of programs: the program that sends.
_INSIDE = {"perftest": "ib_write_bw"}
#: The arguments with which a tool sends so many messages.
_ARGUMENTS: dict[str, Callable[[int], tuple[str, ...]]] = {
    "perftest": lambda messages: ("-s", str(MESSAGE_BYTES), "-n", str(messages)),
    "iperf3": lambda messages: ("-J", "-l", str(_IPERF3_BYTES), "-n", str(messages * MESSAGE_BYTES)),
}
_READERS: dict[str, Callable[[str], ParsedOutput]] = {"perftest": perftest.parse, "iperf3": iperf3.parse}


@dataclass(frozen=True, slots=True)
class Ground:
    """What a gate needs to measure: the system and its site folder, the node's facts, and the gate's own folder.

    ``shared`` is a folder that the neighbour sees too.
    """

    home: Path
    system: System
    node: str
    facts: NodeState
    folder: Path
    shared: Path
    deadline: Deadline
    neighbour: str | None = None

    @property
    def rails(self) -> tuple[tuple[Fabric, Rail], ...]:
        """Every rail with its fabric, without ports that now have another link layer than the fabric."""
        every = ((fabric, rail) for fabric in self.system.fabrics.values() for rail in fabric.rails)
        return tuple((fabric, rail) for fabric, rail in every if not is_foreign(self.facts, fabric, rail))

    @property
    def messages(self) -> int:
        """How many messages each measurement may send: each rail's loop and, if asked, both directions of its pair."""
        most = self.system.gate.most_bytes
        return messages(most, len(self.rails) * (1 if self.neighbour is None else 3))

    @property
    def busy(self) -> str | None:
        """Why a low figure may be disturbed: what ran on the node before anything was measured; None if it was idle."""
        return why_busy("on the node", self.facts.facts.get("load", ""), self.facts.number("processors") or 1)

    def compare_figure(
        self,
        part: Part,
        what: str,
        least: tuple[float, str],
        measure: Callable[[], float | str],
        busy: str | None = None,
    ) -> Look:
        """Return what a measurement says.

        ``least``: MB/s (10^6 B/s), and its source. ``busy``: what runs on a neighbour that takes part.
        """
        return look(WantedFigure(part, what, *least, self.busy or busy), measure)


def why_busy(where: str, load: str, processors: float) -> str | None:
    """Return what runs there, if it is too much for a low figure to count; ``load`` is a line of /proc/loadavg.

    Source: proc_loadavg(5): the fourth word has the processes that run now. One of them has read the line.
    """
    word = (load.split(" ") + [""] * 4)[3].partition("/")[0]
    running = int(word) - 1 if word.isdigit() else 0
    if running > max(1, GATE_BUSY_SHARE.value * processors):
        return f"{running} processes were running {where} with {processors:g} processors"
    return None


def loopback(ground: Ground) -> Look:
    """Return what each card sends to itself: this tests card and slot, without cable and switch."""
    looks = []
    for fabric, rail in ground.rails:
        what, least = f"loopback of {rail.name}", ground.system.gate.loopback_mb_s
        why = _no_loopback(fabric) or _no_program(ground, "perftest") or _too_few(ground)
        if why is None and least is not None:
            measure = partial(_loop, ground, fabric, rail)
            looks.append(ground.compare_figure("loopback", what, (least, "gate.loopback_mb_s"), measure))
        else:
            looks.append(Look("loopback", gaps=(Gap(what, why or "gate.loopback_mb_s is not set"),)))
    return _combine_looks("loopback", looks)


def _no_loopback(fabric: Fabric) -> str | None:
    if fabric.kind == "tcp":
        return "no loopback over TCP: the kernel takes a shortcut"
    return None if fabric.kind in VERBS else f"no tool measures it over {fabric.kind}"


def _loop(ground: Ground, fabric: Fabric, rail: Rail) -> float | str:
    """Run both ends on this node and return what the client printed, MB/s."""
    words = ending.limit_words(_pair_words(ground, "perftest", fabric, rail), ground.deadline)
    _write_script(ground.folder)
    with ending.start_process(words, ground.folder, {"RAILYARD_PAIR_RANK": "1"}) as server:
        with ending.start_process(words, ground.folder, {"RAILYARD_PAIR_RANK": "0"}) as client:
            ended = ending.wait_for(client, ground.deadline)
        if ended.code:
            other = ending.wait_for(server, ground.deadline)
            return other.last_words if other.code else ended.last_words
    return _value("perftest", ended)


def memory(ground: Ground) -> Look:
    """Return what STREAM gives, if the system's file has it and says how much it must give."""
    least = ground.system.gate.memory_mb_s
    why = "gate.memory_mb_s is not set" if least is None else _no_program(ground, "stream")
    if why is not None or least is None:
        return Look("memory", gaps=(Gap("memory", why or ""),))
    return ground.compare_figure("memory", "memory", (least, "gate.memory_mb_s"), partial(_triad, ground))


def _triad(ground: Ground) -> float | str:
    ended = ending.run([*_loads(ground, "stream"), _program(ground, "stream") or ""], ground.deadline, ground.folder)
    text = f"# railyard: node {ground.node} gate\n{ended.out}\n# railyard: end {abs(ended.code) % 256}\n"
    value, passed = stream_of_nodes(text).tables[0].rows[0]
    return value if ended.code == 0 and isinstance(value, float) and passed is True else ended.last_words


def pair(ground: Ground) -> Look:
    """Return what each rail sends to a neighbour and receives from it; both nodes are in the gate's job.

    A card may be slow only in sending, or only in receiving.
    """
    neighbour = ground.neighbour
    if neighbour is None:
        return Look("pair", gaps=(Gap("pair", "no --neighbour"),))
    if "SLURM_JOB_ID" not in os.environ:
        return Look("pair", gaps=(Gap("pair", "not in a Slurm job with both nodes"),))
    looks, busy = [], _busy_there(ground, neighbour)
    for fabric, rail in ground.rails:
        what, floor = f"pair over {rail.name}", _floor(ground, fabric, rail)
        if fabric.kind not in ("tcp", *VERBS):
            floor = f"no tool measures it over {fabric.kind}"
        why = floor if isinstance(floor, str) else _no_program(ground, _tool(fabric)) or _too_few(ground)
        if why is None and not isinstance(floor, str):
            for way, nodes in (("to", (ground.node, neighbour)), ("from", (neighbour, ground.node))):
                measure = partial(_stream, ground, fabric, rail, nodes)
                looks.append(ground.compare_figure("pair", f"{what} {way} {neighbour}", floor, measure, busy))
        else:
            looks.append(Look("pair", gaps=(Gap(f"{what} with {neighbour}", why or ""),)))
    return _combine_looks("pair", looks)


def _busy_there(ground: Ground, neighbour: str) -> str | None:
    """Return what runs on the neighbour before the first pair: a user's job there would look like a slow pair."""
    step = ["srun", "--overlap", "--nodes=1", "--ntasks=1", f"--nodelist={neighbour}"]
    try:
        lines = ending.run([*step, "cat", "/proc/loadavg", "/proc/cpuinfo"], ground.deadline).out.splitlines()
    except OSError:  # without srun the pair has no figure, and says why
        return None
    processors = sum(line.startswith("processor") for line in lines)
    return why_busy(f"on {neighbour}", lines[0], processors) if processors else None


def _stream(ground: Ground, fabric: Fabric, rail: Rail, nodes: tuple[str, str]) -> float | str:
    """Return what the first of two nodes sent to the second, MB/s, as its end, the client, printed it in a step."""
    step = ["srun", "--overlap", "--ntasks=2", "--ntasks-per-node=1", f"--nodelist={','.join(nodes)}"]
    words = _pair_words(ground, _tool(fabric), fabric, rail)
    _write_script(ground.shared)
    return _value(_tool(fabric), ending.run([*step, *probe_job.IN_ORDER, *words], ground.deadline, ground.shared))


def _tool(fabric: Fabric) -> str:
    return "iperf3" if fabric.kind == "tcp" else "perftest"


def _combine_looks(part: Part, looks: Sequence[Look]) -> Look:
    """Combine the looks of all rails into one."""
    doubts = [look.doubt for look in looks if look.doubt is not None]
    return Look(
        part,
        any(look.checked for look in looks),
        tuple(fault for look in looks for fault in look.faults),
        tuple(dict.fromkeys(gap for look in looks for gap in look.gaps)),
        doubts[0] if doubts else None,
    )


def _stack(ground: Ground, tool: str) -> StackEntry | None:
    """Return the first stack with this tool that is on the node itself: a gate starts nothing in an image."""
    entries = (entry for entry in ground.system.stacks.values() if entry.container is None)
    return next((entry for entry in entries if tool in entry.benchmarks), None)


def _program(ground: Ground, tool: str) -> str | None:
    """Return a tool's program. perftest is a folder with several programs."""
    entry = _stack(ground, tool)
    if entry is None:
        return None
    path = entry.executable(tool, ground.home)
    return f"{path}/{_INSIDE[tool]}" if tool in _INSIDE else path


def _loads(ground: Ground, tool: str) -> list[str]:
    """Return the words before a program that load its stack's modules and set its variables; none if it has neither.

    A login shell knows ``module``; the environment of a prolog does not.
    """
    entry = _stack(ground, tool)
    if entry is None or not (entry.prepare_lines or entry.modules or entry.env):
        return []
    steps = [*entry.prepare_lines]
    steps += [f"module load {shlex.quote(module)}" for module in entry.modules]
    steps += [f"export {name}={shlex.quote(value)}" for name, value in entry.environment(ground.home).items()]
    return ["bash", "-lc", " && ".join([*steps, 'exec "$@"']), "railyard-gate"]


def _no_program(ground: Ground, tool: str) -> str | None:
    return f"no stack of the system's file has {tool}" if _program(ground, tool) is None else None


def _too_few(ground: Ground) -> str | None:
    return "gate.most_bytes is too small for all rails" if ground.messages < FEWEST else None


def _pair_words(ground: Ground, tool: str, fabric: Fabric, rail: Rail) -> list[str]:
    """Return the command's words for both ends, over one rail."""
    arguments = _ARGUMENTS[tool](ground.messages)
    tag = f"gate-{ground.node}-{os.getpid()}-{time.monotonic_ns()}"
    program = _program(ground, tool) or ""
    words = run_words(tool, fabric.kind, (rail.name,), program, arguments, tag=tag, in_turn=True)
    return [*_loads(ground, tool), *words]


def _write_script(folder: Path) -> None:
    (folder / SCRIPT).write_text(packaged_text(f"job/scripts/{SCRIPT}"), encoding="utf-8")


def _value(tool: str, ended: ProcessEnd) -> float | str:
    """Return the bandwidth that a client printed, MB/s (10^6 B/s), or why there is none. Raises ParseError."""
    if ended.code:
        return ended.last_words
    parsed = rail_parts.parse(ended.out, _READERS[tool])
    values = [value for table in parsed.tables for value in table.column("bandwidth") if isinstance(value, int | float)]
    if parsed.failures or not values:
        return parsed.failures[0].text if parsed.failures else "no row of a bandwidth"
    return float(values[-1])


def _floor(ground: Ground, fabric: Fabric, rail: Rail) -> tuple[float, str] | str:
    stated = ground.system.gate.pair_mb_s
    if stated is not None:
        return stated, "gate.pair_mb_s"
    alone = fabric.model_copy(update={"rails": (rail,)})
    floor = stream_floor_mb_s(fabric.link, alone.limit(1, 1, one_stream=True))
    if isinstance(floor, str):
        return not_judged(no_class(floor, fabric.link.generation, fabric.link.name))
    return floor, "day-one floor of the link"


def look(wanted: WantedFigure, measure: Callable[[], float | str]) -> Look:
    """Return what a measurement says about the node; ``measure`` returns MB/s, or why there is no figure.

    One figure that is too low is not a fault. It is a fault only if it is low again on a node that was idle.
    """
    found: list[float] = []
    while len(found) < TIMES and not (found and found[-1] >= wanted.least_mb_s):
        try:
            value = measure()
        except (OSError, ParseError) as error:
            value = str(error)
        if isinstance(value, str):
            return Look(wanted.part, doubt=f"{wanted.what} gave no figure: {value}")
        found.append(value)
    return _judge_figure(wanted, found)


def _judge_figure(wanted: WantedFigure, found: Sequence[float]) -> Look:
    reached = found[-1] >= wanted.least_mb_s
    if reached and len(found) == 1:
        return Look(wanted.part, True)
    shown = " and ".join(f"{number(each)} MB/s" for each in found)
    said = f"{wanted.what}: {shown}, expected at least {number(wanted.least_mb_s)} ({wanted.source})"
    if reached:
        return Look(wanted.part, True, doubt=f"disturbed: {said}, and the second measurement is good")
    if wanted.busy is not None:
        return Look(wanted.part, True, doubt=f"disturbed: {said}, and {wanted.busy}")
    return Look(wanted.part, True, (Fault(said, _FIX),))
