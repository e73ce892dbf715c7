"""What a result depends on, by name: versions, the job, its nodes, what the loader found, which variables were set."""

import platform
import subprocess
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from railyard import __version__
from railyard.base.values import utc_time
from railyard.job import node_facts
from railyard.provision.installed_stack import mpi_of
from railyard.results.record.masking import allowed_variables
from railyard.site.site import Site
from railyard.stacks import libraries
from railyard.stacks.model import STACKS

if TYPE_CHECKING:
    from railyard.provision.spack.marker import Marker


#: Seconds for `mpirun --version`; it starts no processes on other nodes.
VERSION_LIMIT_S = 10


def provenance(site: Site, stack: str) -> dict[str, object]:
    """Return the versions that belong to a result of this stack."""
    ours: dict[str, object] = {"railyard": __version__, "reframe": version("reframe-hpc")}
    if site.system.provider == "replay":  # what is played did not run on this machine's kernel and stacks
        return ours
    there = mpi_of(site, stack)
    known = ours | {
        "declared_mpi": site.system.declared_words(stack),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "mpi": ""
        if STACKS[stack].pair or there.inside is not None
        else _mpi_version(there.launcher)
        if there.prefix
        else ", ".join(there.modules),
        "spack": None if there.built is None else spack_provenance(there.built),
    }
    return {name: value for name, value in known.items() if value}


def spack_provenance(built: "Marker") -> dict[str, object]:
    """Return what each result records of a Spack build: the key, the lock's hash, concrete specs and libraries."""
    known: dict[str, object] = {
        "key": built.key,
        "lock_sha256": built.lock_sha256,
        "spack": built.spack,
        "target": built.target,
        "mpi": f"{built.mpi} in {built.mpi_prefix}" if built.mpi else "none",
        "specs": [
            f"{each.name}@{each.version}{f' %{each.compiler}' if each.compiler else ''} /{each.hash[:7]}"
            for each in built.packages
            if each.root or each.external
        ],
        # The name of the file that a soname links to has the version.
        "libraries": [each.real.path for each in built.libraries],
        "carriers": [f"{each.short} in {each.prefix}, {each.origin}" for each in built.carriers],
        # What somebody else built, and the site's own configuration that was used.
        "reused": [f"{each.short} {each.origin}" for each in built.packages if each.is_reused],
        "configuration": list(built.configuration),
    }
    return {name: value for name, value in known.items() if value or name not in ("reused", "configuration")}


@lru_cache(maxsize=16)
def _mpi_version(program: str) -> str:
    """Return the first line of `mpirun --version` with a digit; empty if it cannot be run."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=VERSION_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = [line.strip() for line in done.stdout.splitlines() if any(c.isdigit() for c in line)]
    return lines[0] if lines else ""


def circumstances(
    facts: Iterable[node_facts.NodeFacts],
    *,
    linked: str | None,
    variables: Mapping[str, str],
    scheduler: str | None,
    job_id: object,
    started: datetime,
) -> dict[str, Any]:
    """Return fields of a record: ``facts`` of each node, ``linked`` is what ``ldd`` printed.

    What could not be read is left empty: no verdict depends on it.
    """
    return {
        "started": utc_time(started),
        "scheduler": scheduler,
        "job_id": None if job_id is None else str(job_id),
        "linked": tuple(f"{name} => {path or 'not found'}" for name, path in libraries.parse(linked or "").items()),
        "variables": allowed_variables(variables),
        "hardware": node_facts.group_nodes(facts),
    }
