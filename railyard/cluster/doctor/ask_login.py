"""Reads what the login host is judged by: versions, programs, paths, and a file that it writes and removes again.

Flux and PBS are asked which queues and nodes are closed to jobs; ``job.slurm`` asks Slurm about its nodes.
"""

import os
import shutil
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from pathlib import Path

from railyard.base.paths import state_folder
from railyard.cluster.doctor.login import Login, needed_programs
from railyard.job.slurm import answer, why_shared, why_silent
from railyard.parsers import flux as flux_records
from railyard.parsers import pbs as pbs_records
from railyard.provision.spack import program
from railyard.provision.spack.request import source_errors
from railyard.provision.testbed.scripts import CLUSTER, bed_folder
from railyard.site.references.load import references_of
from railyard.site.site import Site
from railyard.site.systems.jobs import FAMILIES, split_words
from railyard.site.systems.load import find_system
from railyard.site.systems.model import System
from railyard.site.topology import contradictions


def ask(home: Path, name: str) -> tuple[Login, System]:
    """Return what the login host says, and the system.

    Raises InputError if there is no such system, or if something is wrong in its file or its references.
    """
    system = find_system(home / "systems", name)
    site = Site(home, system, references_of(home / "references", system))
    state, clock = _state(state_folder(home))
    silent = why_silent(system) if system.provider == "nodes" else None
    return Login(
        python=sys.version_info[:2],
        reframe=_version("reframe-hpc"),
        programs={name: _find_program(home, name) for name in needed_programs(system)},
        paths={path: os.path.exists(path) for path in _paths(system, home)},
        state=state,
        file_clock_s=clock,
        silent=silent,
        shared=why_shared(system) if system.provider == "nodes" and silent is None else None,
        spack=tuple(map(str, source_errors(site))),
        switches=tuple(contradictions(home, system)),
        closed=_closed_queues(system, home),
        unfit=_unfit_nodes(system, home),
    ), system


def _find_program(home: Path, name: str) -> str | None:
    return program.program(home) if name == "spack" else shutil.which(name)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _paths(system: System, home: Path) -> list[str]:
    """Return each prefix, benchmark and image that a stack names, once; of paths in an image nobody knows here."""
    found: list[str] = []
    for entry in system.stacks.values():
        if entry.container is not None:
            found += filter(None, [entry.container.image_at(home).file])
            continue
        if entry.prefix is not None:
            found.append(entry.path(entry.prefix, home))
        found += [entry.executable(tool, home) for tool in entry.benchmarks]
    return list(dict.fromkeys(found))


def _state(folder: Path) -> tuple[str | None, float | None]:
    """Return why the state folder cannot be written, and how far its file system's clock is off this host's, in s."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix="doctor-") as probe:
            probe.write(b"railyard doctor\n")
            probe.flush()
            os.fsync(probe.fileno())
            return None, os.stat(probe.name).st_mtime - time.time()
    except OSError as error:
        return f"{folder} cannot be written ({error.strerror})", None


def _closed_queues(system: System, home: Path) -> tuple[tuple[str, str], ...]:
    """Return each queue of a system's jobs that takes or starts none, and the scheduler's words about it.

    If the system's file names no queue, all queues are meant. Empty for other schedulers, and without an answer.
    """
    family = FAMILIES.get(system.scheduler)
    if family == "flux":
        found = flux_records.closed_queues(_answer(system, home, "flux", "queue", "status")[0])
    elif system.scheduler == "pbs":  # not Torque, which is of its family
        found = pbs_records.closed_queues(_answer(system, home, "qstat", "-Q", "-f")[0])
    else:
        return ()
    named = _queue_names(system)
    return tuple((queue, how) for queue, how in found if not named or not queue or queue in named)


def _answer(system: System, home: Path, program: str, *words: str) -> tuple[str, str]:
    """Return what a client prints; on the virtual cluster it is that of the scheduler there, if one is up."""
    if system.provider == "testbed":
        folder = bed_folder(home, CLUSTER) / FAMILIES[system.scheduler] / "bin"
        return answer([str(folder / program), *words])
    return answer([program, *words]) if system.provider == "nodes" else ("", "")


def _queue_names(system: System) -> tuple[str, ...]:
    """Return the queues that a system's file names: under ``jobs``, or as an option in ``access``."""
    own = (system.jobs.partition,) if system.jobs.partition else ()
    words = [part for word in split_words(system.access) for part in word.split("=", 1)]
    given = (after for word, after in pairwise(words) if word in ("-q", "--queue"))
    return (*own, *given)


def _unfit_nodes(system: System, home: Path) -> tuple[tuple[str, str], ...]:
    """Return each node of a system that can run no job, and why; empty for other schedulers, and without an answer."""
    family = FAMILIES.get(system.scheduler)
    found: tuple[tuple[str, str], ...] = ()
    if family == "flux":
        words = ("flux", "resource", "status", "-n", "-o", flux_records.NODES_FORMAT)
        found = flux_records.unfit_nodes(_answer(system, home, *words)[0])
    elif system.scheduler == "pbs":  # not Torque, which is of its family
        nodes = pbs_records.parse_nodes(_answer(system, home, "pbsnodes", "-a")[0])
        found = tuple((node.name, node.unfit) for node in nodes if node.unfit is not None)
    names = system.nodes.names
    return tuple((node, how) for node, how in found if not names or node in names)
