"""Runs the job of a soak under a scheduler: submits it, follows what its nodes write, and cancels it at the end.

The table of drivers says which counters are traffic: they become bytes sent and received. Of the other counters, those
stay that the table calls errors or signals.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from railyard.base.clean_text import clean
from railyard.base.errors import SetupError
from railyard.base.hostlist import label
from railyard.base.values import seconds
from railyard.cluster.soak.job import READINGS, READINGS_FOLDER, SCRIPT, SoakJob
from railyard.cluster.soak.judge import CHANGES, SIGNAL, TRAFFIC, Place, Reading
from railyard.hardware.counters import DRIVERS, Driver
from railyard.job import slurm
from railyard.job.batch import State, batch_of
from railyard.job.node_files import FLAT, files
from railyard.parsers.lines import is_failure
from railyard.site.site import Site

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
    states = slurm.nodes_of(site.system, site.home)
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
    out, complaint = slurm.answer(words)
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
            slurm.answer(batch.cancel(number))


def _follow(job: SoakJob, number: str, folder: Path, keep: Callable[[Reading], None]) -> None:
    waits_s = _WAITS_S if job.system.jobs.max_pending is None else seconds(job.system.jobs.max_pending)
    batch, begun, kept, silent = batch_of(job.system.scheduler), time.monotonic(), 0, 0
    written = _WrittenLines(folder, job)
    while True:
        state = batch.state(slurm.answer(batch.ask(number))[0])
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
