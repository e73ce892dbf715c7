"""Reads what the login host is judged by: versions, programs, paths, and a file that it writes and removes again."""

import os
import shutil
import sys
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from railyard.base.paths import state_folder
from railyard.cluster.doctor.login import Login, needed_programs
from railyard.job.queues import closed_queues, unfit_nodes
from railyard.job.slurm import why_shared, why_silent
from railyard.provision.spack import program
from railyard.provision.spack.request import source_errors
from railyard.site.references.load import references_of
from railyard.site.site import Site
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
        closed=closed_queues(system, home),
        unfit=unfit_nodes(system, home),
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
