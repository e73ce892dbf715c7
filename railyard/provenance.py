"""What a result depends on, by name: versions of tools, kernel and MPI; nothing else of the environment."""

import platform
import subprocess
from functools import lru_cache
from importlib.metadata import version

from railyard import __version__
from railyard.site import Site

#: Seconds for `mpirun --version`; it starts no processes on other nodes.
VERSION_LIMIT_S = 10


def provenance(site: Site, stack: str) -> dict[str, object]:
    """Return the versions that belong to a result of this stack."""
    entry = site.system.stacks[stack]
    prefix = entry.path(entry.prefix, site.home) if entry.prefix else None
    known = {
        "railyard": __version__,
        "reframe": version("reframe-hpc"),
        "python": platform.python_version(),
        "kernel": platform.release(),
        "machine": platform.machine(),
        "mpi": _mpi_version(f"{prefix}/bin/mpirun") if prefix else ", ".join(entry.modules),
    }
    return {name: value for name, value in known.items() if value}


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
