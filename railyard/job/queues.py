"""Asks a system's scheduler which queues and nodes are closed to jobs.

`way_in` is how any scheduler's clients are found on the virtual cluster.
"""

import os
from itertools import pairwise
from pathlib import Path

from railyard.job import slurm
from railyard.job.slurm import answer
from railyard.parsers import flux as flux_records
from railyard.parsers import pbs as pbs_records
from railyard.parsers import sge as sge_records
from railyard.parsers import slurm as slurm_partitions
from railyard.provision.testbed.scripts import CLUSTER, bed_folder
from railyard.site.systems.job_requests import requested_words
from railyard.site.systems.jobs import FAMILIES, is_slurm, split_words
from railyard.site.systems.model import System


def closed_queues(system: System, home: Path) -> tuple[tuple[str, str], ...]:
    """Return each queue of a system's jobs that takes or starts none, and the scheduler's words about it.

    If the system's file names no queue, all queues are meant, and of Slurm's partitions the default one. Empty for
    other schedulers, and without an answer.
    """
    family = FAMILIES.get(system.scheduler)
    if family == "slurm":
        asked = tuple(name for text in requested_words(system, "partition") for name in text.split(","))
        there = slurm_partitions.parse(_answer(system, home, "scontrol", "-o", "show", "partition")[0])
        used = slurm_partitions.of_jobs(there, asked)
        return tuple((one.name, one.why_closed) for one in used if one.why_closed is not None)
    if family == "flux":
        found = flux_records.closed_queues(_answer(system, home, "flux", "queue", "status")[0])
    elif system.scheduler == "pbs":  # not Torque, which is of its family
        found = pbs_records.closed_queues(_answer(system, home, "qstat", "-Q", "-f")[0])
    elif family == "sge":
        found = sge_records.closed_queues(_answer(system, home, *_PLACES)[0])
    else:
        return ()
    named = _queue_names(system)
    return tuple((queue, how) for queue, how in found if not named or not queue or queue in named)


#: Grid Engine's words for each queue on each node, with why one is in an error or an alarm.
_PLACES = ("qstat", "-f", "-xml", "-explain", "aAcE")


def way_in(system: System, home: Path) -> tuple[str, ...]:
    """Return the words before a client of a system's scheduler, with which it is that of the virtual cluster.

    Without words (elsewhere) it is the one on PATH.
    """
    if is_slurm(system.scheduler):
        return slurm.way_in(system, home)
    if system.provider != "testbed":
        return ()
    return ("env", f"PATH={_clients(system, home)}{os.pathsep}{os.environ.get('PATH', os.defpath)}")


def _answer(system: System, home: Path, program: str, *words: str) -> tuple[str, str]:
    """Return what a client prints; on the virtual cluster it is that of the scheduler there, if one is up."""
    if system.provider == "testbed":
        return answer([str(_clients(system, home) / program), *words])
    return answer([program, *words]) if system.provider == "nodes" else ("", "")


def _clients(system: System, home: Path) -> Path:
    return bed_folder(home, CLUSTER) / FAMILIES[system.scheduler] / "bin"


def _queue_names(system: System) -> tuple[str, ...]:
    """Return the queues that a system's file names: under ``jobs``, or as an option in ``access``."""
    own = (system.jobs.partition,) if system.jobs.partition else ()
    words = [part for word in split_words(system.access) for part in word.split("=", 1)]
    given = (after for word, after in pairwise(words) if word in ("-q", "--queue"))
    return (*own, *given)


def unfit_nodes(system: System, home: Path) -> tuple[tuple[str, str], ...]:
    """Return each node of a system that can run no job, and why; empty for other schedulers, and without an answer."""
    family = FAMILIES.get(system.scheduler)
    found: tuple[tuple[str, str], ...] = ()
    if family == "slurm" and system.provider in ("testbed", "nodes"):
        excluded = system.jobs.exclude
        return tuple(
            (node.name, node.why)
            for node in slurm.nodes_of(system, home)
            if node.unfit is not None and node.name not in excluded
        )
    if family == "flux":
        words = ("flux", "resource", "status", "-n", "-o", flux_records.NODES_FORMAT)
        found = flux_records.unfit_nodes(_answer(system, home, *words)[0])
    elif system.scheduler == "pbs":  # not Torque, which is of its family
        nodes = pbs_records.parse_nodes(_answer(system, home, "pbsnodes", "-a")[0])
        found = tuple((node.name, node.unfit) for node in nodes if node.unfit is not None)
    elif family == "sge":
        found = sge_records.unfit_nodes(_answer(system, home, *_PLACES)[0], _queue_names(system))
    names = system.nodes.names
    return tuple((node, how) for node, how in found if not names or node in names)
