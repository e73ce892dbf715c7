"""Runs the job of a soak under a scheduler: submits it, follows what its nodes write, and cancels it at the end."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.hostlist import label
from railyard.cluster.soak.job import READINGS, READINGS_FOLDER, SCRIPT, SoakJob
from railyard.cluster.soak.judge import Reading
from railyard.cluster.soak.node_readings import Merger, complete_readings, parse
from railyard.job import slurm
from railyard.job.batch import State, batch_of
from railyard.job.node_files import FLAT, files
from railyard.site.site import Site
from railyard.site.systems.jobs import seconds

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
                raise SetupError(
                    f"soak: job {number} {_end(state)} before a node had read anything; see {folder}/job.err"
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


def _end(state: State | None) -> str:
    return "is no longer known to the scheduler" if state is None else f"ended ({state.word})"
