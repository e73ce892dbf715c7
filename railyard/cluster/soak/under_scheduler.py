"""Runs the job of a soak under a scheduler: submitted, followed by what its nodes write, cancelled at last."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.hostlist import label
from railyard.cluster.soak.job import READINGS, SCRIPT, SoakJob
from railyard.cluster.soak.judge import Reading
from railyard.cluster.soak.node_readings import complete, merged, parse
from railyard.job import slurm
from railyard.job.batch import State, batch_of
from railyard.site.site import Site
from railyard.site.systems.jobs import seconds

#: How long the job may wait for its nodes where the system's file says nothing, in seconds.
_WAITS_S = 600
#: Seconds between two looks.
_LOOK_S = 2.0
#: How often in a row the scheduler may say nothing of the job.
_SILENT = 30


def able_nodes(site: Site) -> tuple[str, ...]:
    """Return the system's nodes that can run a job: by Slurm, else those of its file."""
    states = slurm.nodes_of(site.system, site.home)
    return tuple(node.name for node in states if node.unfit is None) or site.system.nodes.names


def soak(job: SoakJob, folder: Path, keep: Callable[[Reading], None], echo: Callable[[str], None]) -> None:
    """Run the job in a folder that its nodes see; ``keep`` is given each reading as soon as all nodes have made it.

    Raises SetupError where the job is refused, does not begin in time, or ends before a node has read anything. It is
    cancelled where anything ends this.
    """
    try:
        folder.mkdir(parents=True)
        for name, text in job.files(folder).items():
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
    echo(f"job {number}: {len(job.nodes)} nodes, {len(job.drivers)} rails a node; its files are in {folder}")
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
    while True:
        state = batch.state(slurm.answer(batch.ask(number))[0])
        silent = silent + 1 if state is None else 0
        has_ended = silent >= _SILENT or (state is not None and state.phase == "ended")
        nodes = {node: parse(_text(folder, node)) for node in job.nodes}
        readings = merged(nodes, job.drivers)
        for reading in readings[kept : None if has_ended else complete(nodes)]:
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
        time.sleep(_LOOK_S)


def _text(folder: Path, node: str) -> str:
    # NFS looks again where a folder is listed. A host may know its name with its domain.
    for name in os.listdir(folder):
        if name.endswith(READINGS) and label(name.removesuffix(READINGS)) == label(node):
            return (folder / name).read_text(encoding="utf-8")
    return ""


def _end(state: State | None) -> str:
    return "is not known to the scheduler any more" if state is None else f"ended ({state.word})"
