"""Runs the job of a soak under a scheduler: submits it, follows what its nodes write, and cancels it at the end.

The table of drivers says which counters are traffic: they become bytes sent and received. Of the other counters, those
stay that the table calls errors or signals.

The job of a soak under a scheduler: pairs of nodes load each rail both ways, and a reader runs on every node.

Each pair of nodes runs a stack's own two-way bandwidth benchmark, one for each rail, all at once, again and again until
the time is over.
"""

import math
import shlex
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median

from railyard.base.errors import SetupError, did_you_mean
from railyard.base.hostlist import expand_names, label
from railyard.base.paths import packaged_text
from railyard.base.values import clean, seconds
from railyard.base.wording import count_of
from railyard.cluster.soak import CHANGES, SIGNAL, TRAFFIC, Place, Reading, Stream
from railyard.hardware.counters import DRIVERS, Driver
from railyard.job import clients
from railyard.job.batch import BatchRequest, State, batch_of
from railyard.job.launch import Launch, Ranks, plan_launch, runs_as_root
from railyard.job.node_files import FLAT, PER_FOLDER, AnswerFolder, files
from railyard.job.probe_job import SHARED, step_words
from railyard.parsers.lines import is_failure
from railyard.provision.installed_stack import find_on_nodes
from railyard.site.site import Site
from railyard.site.systems.jobs import FLUX_BATCH, SRUN, escape_exports, grows_with_slots, is_slurm
from railyard.site.systems.model import Fabric, System
from railyard.stacks import ask

READER = "soak.sh"
SCRIPT = "job.sh"
_NAME = "railyard-soak"
#: The ending of a file of readings, after the node's name, and the folder for the files of very many nodes.
READINGS = ".readings"
READINGS_FOLDER = "readings"
_SIZE_BYTES, _MOST_WINDOW = 4 << 20, 64
#: Seconds that a window of messages may take on a healthy rail. Between windows both ends wait for each other: MPICH
#: 5.0.2 sends the messages of one end after those of the other, so that a direction of a slow rail would seem to stall.
_WINDOW_S = 1.0
_SIZES_FILE = "sizes.txt"
#: Seconds that one start of a benchmark measures, by the rate of its link. Then it is started again.
_LASTING_S = 60
#: Seconds from the start of the job to the first reading: by then the loads have started.
_LEAD_S = 5
#: Seconds that the job may take in addition: for its start and the end of its steps.
_AROUND_S = 180


@dataclass(frozen=True, slots=True)
class Load:
    """The load of one rail of two nodes, both ways: the text of a shell script that is run again and again.

    ``folder``: where its files are in the job's folder, with a slash; empty if there are few loads.
    """

    nodes: tuple[str, str]
    device: str
    script: str
    folder: str = ""

    @property
    def name(self) -> str:
        """The name of its files without their endings."""
        return f"{self.folder}load-{self.device}-{'-'.join(self.nodes)}"


@dataclass(frozen=True, slots=True)
class SoakJob:
    """A soak of nodes: its length and the time between readings, in seconds. ``drivers``: device -> row of counters.

    ``reader``: the words that start a process on each node. ``reader_env``: the variables that these words need, their
    values as a shell takes them.
    ``before``: the lines of the script that prepare the programs of its stacks.
    """

    system: System
    nodes: tuple[str, ...]
    drivers: Mapping[str, str]
    loads: tuple[Load, ...]
    before: tuple[str, ...]
    seconds: int
    every_s: int
    reader: tuple[str, ...]
    reader_env: Mapping[str, str]

    @property
    def streams(self) -> tuple[Stream, ...]:
        """The streams over each pair's rails, in both directions."""
        return tuple((sender, to, load.device) for load in self.loads for sender, to in (load.nodes, load.nodes[::-1]))

    @property
    def at_once(self) -> int:
        """How many of its steps run on a node at once, at most: the reader, and the loads of each rail."""
        loads = Counter(node for load in self.loads for node in load.nodes)
        return 1 + max(loads.values())

    @property
    def readings(self) -> str:
        """Where nodes write, as the reader's argument: the job's folder, or many folders inside one of its folders."""
        folders = AnswerFolder(Path(), "", len(self.nodes)).folders
        return f"{READINGS_FOLDER}/%{folders}" if folders else "."

    def files(self, folder: Path) -> dict[str, str]:
        """Return the files for the job's folder, which all nodes see: name -> text."""
        return {
            SCRIPT: self.script(folder),
            READER: packaged_text(f"cluster/{READER}"),
            _SIZES_FILE: f"{_SIZE_BYTES}\n",
            **{f"{load.name}.sh": load.script for load in self.loads},
        }

    def script(self, folder: Path) -> str:
        """Return the job's script in the form that the scheduler takes."""
        # Grid Engine starts no more steps on a node than the job has slots there.
        asked = BatchRequest(
            _NAME, self.nodes, self.seconds + _AROUND_S, str(folder),
            self.system.batch_options(len(self.nodes), self.at_once),
        )  # fmt: skip
        telemetry = ",".join((DRIVERS["cxi"].tx, DRIVERS["cxi"].rx, *DRIVERS["cxi"].signals))
        exports = (f"{name}={value}" for name, value in self.reader_env.items())
        reader = " ".join([*exports, shlex.join([*self.reader, "sh", READER, self.readings])])
        batch = batch_of(self.system.scheduler)
        lines = [
            batch.first_line,
            *batch.directives(asked),
            *self.before,
            f"begin=$(($(date +%s) + {_LEAD_S}))",
            f"end=$((begin + {self.seconds}))",
            "load() {",
            '    while left=$((end - $(date +%s))); [ "$left" -gt 0 ]; do',
            '        LEFT=$left sh "$1.sh" >>"$1.out" 2>&1 || sleep 2',
            "    done",
            "}",
            *(f"load {shlex.quote(load.name)} &" for load in self.loads),
            f'{reader} "$begin" "$end" {self.every_s} {telemetry} -- {shlex.join(self.drivers)}',
        ]
        return "\n".join(lines) + "\n"


def plan_soak(
    site: Site, nodes: Sequence[str], fabric: str | None, stack: str | None, seconds: float, every_s: float
) -> SoakJob:
    """Return the soak of these nodes over each rail of one or all fabrics; ``stack`` None: the first stack that can.

    Raises SetupError if there are fewer than two nodes, if a rail has no stack or counter, or if the stack is missing.
    """
    if len(nodes) < 2:
        found = ", ".join(nodes) or "no node"
        raise SetupError(f"soak: found {found}, expected two nodes or more, since load goes between two nodes")
    drivers = _drivers(site, fabric)
    chosen: dict[str, tuple[str, str]] = {}
    for name in [fabric] if fabric else site.system.fabrics:
        for rail in site.system.fabrics[name].rails:
            chosen.setdefault(rail.name, (name, _stack(site, name, stack)))
    _refuse_few_cores(site.system, len(chosen))
    _refuse_one_slot(site.system)
    loads = _spread([_load(site, *chosen[of], of, pair) for of in chosen for pair in _pairs(tuple(nodes))])
    lines = (line for name, each in chosen.values() for line in site.system.script_lines(name, each, site.home))
    before = tuple(dict.fromkeys(lines))
    reader, env = _reader(site, tuple(nodes), *next(iter(chosen.items())), seconds)
    times = (math.ceil(seconds), math.ceil(every_s))
    return SoakJob(site.system, tuple(nodes), drivers, loads, before, *times, reader, env)


def _refuse_few_cores(system: System, rails: int) -> None:
    """Raise SetupError if Flux would have the load of one rail wait for another's: each of its steps has a core."""
    hardware = system.nodes.hardware
    if system.scheduler == FLUX_BATCH and hardware is not None and hardware.cores < rails + 1:
        raise SetupError(
            f"soak: found {count_of(hardware.cores, 'core')} a node of {system.system}, expected {rails + 1} or more: "
            f"Flux gives a core to the load of each of {count_of(rails, 'rail')}, and one to what reads the counters; "
            f"name a fabric with fewer rails (--system {system.system}:FABRIC)"
        )


def _refuse_one_slot(system: System) -> None:
    """Raise SetupError if the job has one slot on a node: then Grid Engine refuses a load beside the reader."""
    for index, option in enumerate(system.jobs.resources):
        if system.scheduler == "sge" and option.startswith("-pe ") and not grows_with_slots(option):
            raise SetupError(
                f"soak: found jobs.resources[{index}] {option} of {system.system}, expected {{num_slots}} or "
                f"{{num_cores}} in it: a soak starts several processes on a node at once, and Grid Engine only as many "
                f"as the job has slots there"
            )


def _spread(loads: Sequence[Load]) -> tuple[Load, ...]:
    """Return the loads. If there are very many, they are in folders: each load has two files."""
    if 2 * len(loads) <= FLAT:
        return tuple(loads)
    return tuple(replace(load, folder=f"loads/{2 * at // PER_FOLDER}/") for at, load in enumerate(loads))


def _reader(
    site: Site, nodes: tuple[str, ...], device: str, of: tuple[str, str], seconds: float
) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Return the words that start a process on each node beside the loads, and the variables that they need."""
    if _launcher(site.system, *of) in SRUN:
        count = len(nodes)
        return ("srun", *SHARED, f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1"), {}
    fabric, stack = of
    launch = _launch(site, fabric, stack, device, nodes)
    words = step_words(
        _launcher(site.system, fabric, stack), stack, launch, math.ceil(seconds) + _AROUND_S, shared=True
    )
    return tuple(words), escape_exports(launch.env)


def _launch(site: Site, fabric: str, stack: str, device: str, nodes: tuple[str, ...]) -> Launch:
    ranks = Ranks(len(nodes), 1, launcher=_launcher(site.system, fabric, stack))
    return plan_launch(site, fabric, stack, (device,), nodes, ranks, runs_as_root(site.system))


def _launcher(system: System, fabric: str, stack: str) -> str:
    """Return what starts a step: under Slurm srun, whatever starts its jobs; else the stack's launcher here."""
    return "srun" if is_slurm(system.scheduler) else system.launcher_of(fabric, stack)


def expand_nodes(text: str) -> tuple[str, ...]:
    """Return the nodes of ``n[1-8],n12``. Raises SetupError if the brackets hold no ranges."""
    try:
        return tuple(dict.fromkeys(expand_names(text)))
    except ValueError as error:
        raise SetupError(f"soak --nodes: found {text!r} ({error}), expected names such as n[1-8],n12") from None


def _pairs(nodes: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield pairs of neighbours. If the number is odd, the last is paired with the first, which carries twice."""
    yield from zip(nodes[::2], nodes[1::2], strict=False)
    if len(nodes) % 2:
        yield nodes[-1], nodes[0]


def _drivers(site: Site, fabric: str | None) -> dict[str, str]:
    """Return the driver of each rail's counters. Raises SetupError if a rail's counters do not count bytes."""
    found = site.system.counter_drivers
    fabrics = [site.system.fabrics[fabric]] if fabric else site.system.fabrics.values()
    devices = dict.fromkeys(rail.name for each in fabrics for rail in each.rails)
    for device in devices:
        if device not in found or DRIVERS[found[device]].packets:
            has = found.get(device, "none")
            raise SetupError(f"soak: found counters: {has} for {device}, expected a driver with byte counters")
    return {device: found[device] for device in devices}


def _osu(program: Callable[[str, str], str], window: int, repetitions: int) -> list[str]:
    sizes = f"{_SIZE_BYTES}:{_SIZE_BYTES}"
    return [program("osu", "osu_bibw"), "-m", sizes, "-i", str(repetitions), "-x", "1", "-W", str(window)]


def _imb(program: Callable[[str, str], str], window: int, repetitions: int) -> list[str]:
    # The volume in MB is so large that it does not limit anything.
    return [program("imb", ""), "Biband", "-npmin", "2", "-msglen", _SIZES_FILE, "-iter", f"{repetitions},2000000000",
            "-iter_policy", "off", "-time", str(2 * _LASTING_S), "-window_size", str(window)]  # fmt: skip


#: A tool that loads a rail both ways -> its arguments for windows of so many messages, and so many of them.
_TOOLS: Mapping[str, Callable[[Callable[[str, str], str], int, int], list[str]]] = {"osu": _osu, "imb": _imb}


def _stack(site: Site, fabric: str, asked: str | None) -> str:
    """Return the stack that loads a fabric's rails. Raises SetupError if none can, or if the named one cannot."""
    system = site.system
    if asked is not None and asked not in system.stacks:
        raise SetupError(f'soak --stack: found "{asked}", expected one of {system.system}; '
                         f"{did_you_mean(asked, system.stacks)}")  # fmt: skip
    kind = system.fabrics[fabric].kind
    for name in [asked] if asked else system.stacks:
        if _tool(system, name) is not None and ask.why_not(name, kind, 1) is None:
            return name
    raise SetupError(
        f"soak: found no stack of {system.system} that can use {fabric} ({kind}) and has {' or '.join(_TOOLS)}"
        f"{f' (you asked for {asked})' if asked else ''}, expected one; install it, or name another fabric "
        f"(--system NAME:FABRIC)"
    )


def _tool(system: System, stack: str) -> str | None:
    return next((tool for tool in _TOOLS if tool in system.stacks[stack].tools), None)


def _load(site: Site, fabric: str, stack: str, device: str, pair: tuple[str, str]) -> Load:
    tool = _tool(site.system, stack)
    assert tool is not None  # _stack chose a stack that has one
    launch = _launch(site, fabric, stack, device, pair)
    front = step_words(_launcher(site.system, fabric, stack), stack, launch, "$LEFT", shared=True)
    words = _TOOLS[tool](find_on_nodes(site, stack).executable, *_amounts(site.system.fabrics[fabric]))
    exports = "".join(f"export {name}={value}\n" for name, value in escape_exports(launch.env).items())
    # The job's script holds the time that is left in a variable.
    command = " ".join(word if word == "$LEFT" else shlex.quote(word) for word in (*front, *words))
    return Load(pair, device, f"{exports}exec {command}\n")


def _amounts(fabric: Fabric) -> tuple[int, int]:
    """Return how many messages a window has, and how many windows a rail moves in the time of one start.

    Both ways at once; few if the rail's rate is unknown.
    """
    limit = fabric.limit(1, 1)
    messages_s = (100.0 if limit is None else limit.value_mb_s) * 1e6 / _SIZE_BYTES
    window = max(1, min(_MOST_WINDOW, int(messages_s * _WINDOW_S)))
    return window, max(2, round(_LASTING_S * messages_s / window))


#: Counters by device, as one node read them at one time.
Raw = Mapping[str, Mapping[str, int]]
_END = "end\n"


class Merger:
    """Merges readings as they come: the nth readings of all nodes become one reading, once every node has made it.

    It keeps what some nodes have read and others have not yet, and nothing that it has already given out.
    """

    def __init__(self, nodes: Sequence[str], drivers: Mapping[str, str]) -> None:
        self._drivers = drivers
        self._nodes = {node: _Node() for node in nodes}

    def take(self, node: str, at_s: float, raw: Raw) -> None:
        """Take one reading of a node; ``at_s`` is the node's own time in seconds."""
        self._nodes[node].take(at_s, raw, self._drivers)

    def ready(self, *, is_over: bool) -> Iterator[Reading]:
        """Yield what every node has read. If the soak ``is_over``, yield the rest too, without nodes that read less."""
        while any(each.waiting for each in self._nodes.values()) if is_over else self._is_complete():
            there = {node: each.waiting.popleft() for node, each in self._nodes.items() if each.waiting}
            values: dict[Place, Mapping[str, int]] = {
                (node, device): counters for node, (_, made) in there.items() for device, counters in made.items()
            }
            yield Reading(median(since_s for since_s, _ in there.values()), values)

    def _is_complete(self) -> bool:
        return bool(self._nodes) and all(each.waiting for each in self._nodes.values())


@dataclass(slots=True)
class _Node:
    """What one node read: when it began, its last counters by device, and (seconds since, counters) not yet given."""

    begun_s: float | None = None
    last: dict[str, dict[str, int]] = field(default_factory=dict)
    waiting: deque[tuple[float, dict[str, dict[str, int]]]] = field(default_factory=deque)

    def take(self, at_s: float, raw: Raw, drivers: Mapping[str, str]) -> None:
        if self.begun_s is None:
            self.begun_s = at_s
        made = {device: _continue_counters(counters, self.last.get(device, {}), DRIVERS[drivers[device]])
                for device, counters in raw.items()}  # fmt: skip
        self.last |= made
        self.waiting.append((at_s - self.begun_s, _counters_by_device(made, drivers)))


#: The error output of a job, in its folder.
ERRORS = "job.err"
#: How long the job may wait for its nodes if the system's file does not say it, in seconds.
_WAITS_S = 600
#: Seconds between two looks.
_LOOK_S = 2.0
#: How often in a row the scheduler may say nothing about the job.
_SILENT = 30


def able_nodes(site: Site) -> tuple[str, ...]:
    """Return the system's nodes that can run a job, as Slurm says; without Slurm, all nodes of the system's file."""
    states = clients.nodes_of(site.system, site.home)
    return tuple(node.name for node in states if node.unfit is None) or site.system.nodes.names


def soak(job: SoakJob, folder: Path, keep: Callable[[Reading], None], echo: Callable[[str], None]) -> None:
    """Run the job in a folder that its nodes see; give each reading to ``keep`` as soon as all nodes have made it.

    Raises SetupError if the job is refused, does not begin in time, or ends before a node has read anything. Whatever
    ends this function cancels the job.
    """
    try:
        folder.mkdir(parents=True)
        for name, text in job.files(folder).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise SetupError(f"soak: {folder} cannot be written ({error.strerror})") from None
    batch = batch_of(job.system.scheduler)
    words = batch.submit(str(folder / SCRIPT))
    out, complaint = clients.answer(words)
    submitted = batch.number.search(out)
    if submitted is None:
        program = "bsub" if words[0] == "sh" else words[0]
        raise SetupError(f"soak: the job was refused; {program} said: {complaint or out.strip() or 'nothing'}")
    number = submitted[1]
    echo(f"job {number}: {len(job.nodes)} nodes, {len(job.drivers)} rails per node; its files are in {folder}")
    is_over = False
    try:
        _follow(job, number, folder, keep)
        is_over = True
    finally:
        if not is_over:
            clients.answer(batch.cancel(number))


def _follow(job: SoakJob, number: str, folder: Path, keep: Callable[[Reading], None]) -> None:
    waits_s = _WAITS_S if job.system.jobs.max_pending is None else seconds(job.system.jobs.max_pending)
    batch, begun, kept, silent = batch_of(job.system.scheduler), time.monotonic(), 0, 0
    written = _WrittenLines(folder, job)
    while True:
        state = batch.state(clients.answer(batch.ask(number))[0])
        silent = silent + 1 if state is None else 0
        has_ended = silent >= _SILENT or (state is not None and state.phase == "ended")
        for reading in written.look(is_over=has_ended):
            keep(reading)
            kept += 1
        if has_ended:
            if not kept:
                said = _first_failure(folder / ERRORS)
                raise SetupError(
                    f"soak: job {number} {_end(state)} before a node had read anything{said}; see {folder}/{ERRORS}"
                )
            return
        if state is not None and state.phase == "waits" and time.monotonic() - begun >= waits_s:
            reason = f" (the scheduler's reason: {state.reason})" if state.reason else ""
            raise SetupError(f"soak: job {number} had not begun after {waits_s} s and was cancelled{reason}")
        # Each look asks the file server for every node's file.
        time.sleep(_LOOK_S * max(1.0, len(job.nodes) / FLAT))


class _WrittenLines:
    """What the nodes of a soak have written. Each look reads a file from where the last look ended."""

    def __init__(self, folder: Path, job: SoakJob) -> None:
        self._folder = folder
        self._nodes = {label(node): node for node in job.nodes}
        self._read: dict[str, tuple[int, str]] = {}
        self._merger = Merger(job.nodes, job.drivers)

    def look(self, *, is_over: bool) -> Iterator[Reading]:
        """Read on, and yield the readings that all nodes have made by now; if the soak ``is_over``, all the rest."""
        # Listing a folder makes NFS look again. A host may use its name with the domain.
        for entry in files(self._folder, (READINGS_FOLDER,)):
            node = self._nodes.get(label(entry.name.removesuffix(READINGS))) if entry.name.endswith(READINGS) else None
            if node is None:
                continue
            at, rest = self._read.get(node, (0, ""))
            with open(entry.path, "rb") as file:
                file.seek(at)
                new = file.read()
            made, rest = complete_readings(rest + new.decode("ascii", errors="replace"))
            self._read[node] = (at + len(new), rest)
            for at_s, raw in parse(made):
                self._merger.take(node, at_s, raw)
        yield from self._merger.ready(is_over=is_over)


def _first_failure(path: Path) -> str:
    """Return the first line of a job's error output that says a failure, as words after a sentence; else nothing."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    found = next((clean(line).strip() for line in lines if is_failure(line)), None)
    return "" if found is None else f" ({found})"


def _end(state: State | None) -> str:
    return "is no longer known to the scheduler" if state is None else f"ended ({state.word})"


def parse(text: str) -> tuple[tuple[float, Raw], ...]:
    """Return the readings of one node, each with the seconds since the node started; leave out one that was cut."""
    found: list[tuple[float, Raw]] = []
    at_s, values = 0.0, dict[str, dict[str, int]]()
    for line in text.splitlines():
        match line.split():
            case ["at", seconds]:
                at_s, values = float(seconds), {}
            case ["end"]:
                found.append((at_s, values))
            case [device, counter, value] if value.isdigit():
                values.setdefault(device, {})[counter] = int(value)
    return tuple(found)


def complete_readings(text: str) -> tuple[str, str]:
    """Return the complete readings of a text, and the rest of the text: the beginning of the next reading."""
    end = 0 if text == _END or text.startswith(_END) else text.rfind(f"\n{_END}") + 1
    cut = end + len(_END) if end or text.startswith(_END) else 0
    return text[:cut], text[cut:]


def _continue_counters(counters: Mapping[str, int], before: Mapping[str, int], row: Driver) -> dict[str, int]:
    """Return a device's counters. A traffic counter that began again at 0 continues from its last value."""
    made = dict(counters)
    # A counter of 64 bits begins again only when its driver does.
    for name in () if row.clamps or row.width_bits >= 64 else _traffic(row):
        if name in made and made[name] < before.get(name, 0):
            span = 1 << row.width_bits
            made[name] += -(-(before[name] - made[name]) // span) * span
    return made


def _traffic(row: Driver) -> tuple[str, ...]:
    return (*row.tx.split("+"), *row.rx.split("+"))


def _counters_by_device(raw: Raw, drivers: Mapping[str, str]) -> dict[str, dict[str, int]]:
    """Return the counters of each device under the judge's names; leave out a device if its traffic is unknown."""
    found = {}
    for device, counters in raw.items():
        row = DRIVERS[drivers[device]]
        full = (1 << row.width_bits) - 1 if row.clamps else None
        traffic = _traffic(row)
        if any(name not in counters or counters[name] == full for name in traffic):
            continue
        ways = zip(TRAFFIC, (row.tx, row.rx), strict=True)
        made = {way: sum(counters[name] for name in names.split("+")) * row.unit_bytes for way, names in ways}
        made |= {name: counters[name] for name in (CHANGES, *row.errors) if name in counters}
        made |= {f"{name}{SIGNAL}": counters[name] for name in row.signals if name in counters}
        found[device] = made
    return found
