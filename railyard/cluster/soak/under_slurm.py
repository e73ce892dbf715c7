"""Runs the job of a soak under Slurm: submitted, followed by what its nodes write, and cancelled whatever ends it."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.cluster.soak.judge import Reading
from railyard.cluster.soak.node_readings import complete, merged, parse
from railyard.cluster.soak.slurm_job import READINGS, SCRIPT, SoakJob
from railyard.job import slurm
from railyard.parsers.slurm.jobs import JobState, parse_job
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
    out, complaint = slurm.answer(["sbatch", "--parsable", str(folder / SCRIPT)])
    number = out.strip().split(";")[0]
    if not number.isdigit():
        raise SetupError(f"soak: the job was refused; sbatch said: {complaint or out.strip() or 'nothing'}")
    echo(f"job {number}: {len(job.nodes)} nodes, {len(job.drivers)} rails a node; its files are in {folder}")
    is_over = False
    try:
        _follow(job, number, folder, keep)
        is_over = True
    finally:
        if not is_over:
            slurm.answer(["scancel", number])


def _follow(job: SoakJob, number: str, folder: Path, keep: Callable[[Reading], None]) -> None:
    waits_s = _WAITS_S if job.system.jobs.max_pending is None else seconds(job.system.jobs.max_pending)
    begun, kept, silent = time.monotonic(), 0, 0
    while True:
        state = parse_job(slurm.show_job(number)[0])
        silent = silent + 1 if state is None else 0
        has_ended = silent >= _SILENT or (state is not None and state.is_final)
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
        if state is not None and state.state == "PENDING" and time.monotonic() - begun >= waits_s:
            reason = f" (the scheduler's reason: {state.reason})" if state.reason else ""
            raise SetupError(f"soak: job {number} had not begun after {waits_s} s and was cancelled{reason}")
        time.sleep(_LOOK_S)


def _text(folder: Path, node: str) -> str:
    name = f"{node}{READINGS}"
    # NFS looks again where a folder is listed.
    return (folder / name).read_text(encoding="utf-8") if name in os.listdir(folder) else ""


def _end(state: JobState | None) -> str:
    return "is not known to the scheduler any more" if state is None else f"ended ({state.state})"
