"""What a result depends on, by name: versions of tools, kernel and MPI; nothing else of the environment."""

import platform
import subprocess
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from railyard import __version__
from railyard.provision.installed import installed
from railyard.site.site import Site
from railyard.stacks import STACKS

if TYPE_CHECKING:
    from railyard.provision.spack.marker import Marker

#: Seconds for `mpirun --version`; it starts no processes on other nodes.
VERSION_LIMIT_S = 10


def provenance(site: Site, stack: str) -> dict[str, object]:
    """Return the versions that belong to a result of this stack."""
    ours: dict[str, object] = {"railyard": __version__, "reframe": version("reframe-hpc")}
    if site.system.provider == "replay":  # this machine's kernel and stacks had no part in what is played
        return ours
    there = installed(site, stack)
    known = ours | {
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "mpi": "" if STACKS[stack].pair else _mpi_version(there.launcher) if there.prefix else ", ".join(there.modules),
        "spack": None if there.built is None else spack_provenance(there.built),
    }
    return {name: value for name, value in known.items() if value}


def spack_provenance(built: "Marker") -> dict[str, object]:
    """Return what of a Spack build belongs to each result: the key, the lock's hash, concrete specs and libraries."""
    return {
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
        # The file that a soname stands for has the version in its name.
        "libraries": [each.real for each in built.libraries],
    }


@lru_cache(maxsize=16)
def _mpi_version(program: str) -> str:
    """Return the first line of `mpirun --version` that holds a digit; empty where it cannot be asked."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, text=True, timeout=VERSION_LIMIT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = [line.strip() for line in done.stdout.splitlines() if any(c.isdigit() for c in line)]
    return lines[0] if lines else ""
