"""Which Spack a site uses: its own, from `railyard spack bootstrap`, else the one on PATH."""

import os
import shutil
from pathlib import Path

from railyard.base.errors import SetupError
from railyard.base.paths import state_folder

#: In the folder of a site's own Spack: Spack, its package repository, a Python that has Spack's solver, and wheels of
#: that solver, so that the folder can be carried to a site without a network.
SPACK, PACKAGES, PYTHON, WHEELS = "spack", "spack-packages", "python", "wheels"
#: In such a folder, if `railyard spack mirror create` wrote to it: the sources of the benchmarks.
SOURCES = "sources"
#: Written last: a folder without it does not have a whole Spack. It also tells Spack where the package repository is.
REPOS = Path(SPACK, "etc/spack/repos.yaml")
#: The variable that tells Spack which Python runs it.
PYTHON_VARIABLE = "SPACK_PYTHON"


def own_folder(home: Path) -> Path:
    """Return the folder of the site's own Spack, whether it exists or not."""
    return state_folder(home) / "spack-itself"


def solver_of(folder: Path) -> Path:
    """Return the Python that has Spack's solver, whether it exists or not."""
    return folder / PYTHON / "bin" / "python"


def own_program(home: Path) -> Path | None:
    """Return the site's own Spack; None if there is none, or if it is incomplete."""
    folder = own_folder(home)
    program = folder / SPACK / "bin" / "spack"
    return program if (folder / REPOS).is_file() and os.access(program, os.X_OK) else None


def program(home: Path) -> str | None:
    """Return the Spack that builds for this site: its own, else the one on PATH; None if there is none."""
    own = own_program(home)
    return str(own) if own is not None else shutil.which("spack")


def demand_program(home: Path) -> str:
    """Return the Spack that builds for this site. Raises SetupError if there is none, with how to get one."""
    found = program(home)
    if found is None:
        raise SetupError(
            f"spack: found none in {own_folder(home)} and none on PATH, expected Spack 1.1 or newer; "
            "type: railyard spack bootstrap"
        )
    return found


def variables(home: Path) -> dict[str, str]:
    """Return the variables by which the site's own Spack finds its solver, except those that the user has set."""
    python = solver_of(own_folder(home))
    if own_program(home) is None or PYTHON_VARIABLE in os.environ or not python.exists():
        return {}
    return {PYTHON_VARIABLE: str(python)}
