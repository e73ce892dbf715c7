"""Where a site keeps its systems, references and results, and where what comes with Railyard lies.

A site is one folder, found the same way everywhere. What comes with Railyard (checks, Spack environments, locks, and
what a new site begins with) stands beside ``railyard/`` in a clone; a wheel carries it inside the package
(pyproject.toml, force-include).
"""

import os
from pathlib import Path

from railyard.base.errors import SetupError

HOME_VARIABLE = "RAILYARD_HOME"
#: Set by `railyard run --spack`: stacks that state benchmarks of Spack's take those.
SPACK_VARIABLE = "RAILYARD_SPACK"
#: Set by `railyard run --replay`: outputs are played from recordings/ and nothing is measured.
REPLAY_VARIABLE = "RAILYARD_REPLAY"
#: Set by `railyard rehearse` to the folder of its rehearsal: stand-ins run as benchmarks, and nothing is measured.
REHEARSAL_VARIABLE = "RAILYARD_REHEARSAL"
#: Set in the allocation of `railyard run --one-allocation`, to its nodes with commas: tests are steps on some of these.
ALLOCATION_VARIABLE = "RAILYARD_ALLOCATION"
SETTINGS_FILE = "reframe_settings.py"
_PACKAGE = Path(__file__).parents[1]


def find_home(settings_file: str | Path | None = None) -> Path:
    """Return the site folder: ``RAILYARD_HOME``, else the settings file's folder, else the working folder.

    Raises SetupError where that folder has no ``systems/``.
    """
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        home, why = Path(chosen), f"{HOME_VARIABLE} says so"
    elif settings_file is not None:
        home, why = Path(settings_file).parent, f"{settings_file} is there"
    else:
        home, why = Path.cwd(), "it is the working folder"
    home = home.resolve()
    if not (home / "systems").is_dir():
        raise SetupError(
            f"{home}: found no folder systems/, expected a Railyard site there ({why}); "
            f"run from the clone, or set {HOME_VARIABLE} to the folder that holds systems/ and references/"
        )
    return home


def state_folder(home: Path) -> Path:
    """Return the folder for what runs leave behind (never committed): results, the virtual cluster's state."""
    return home / ".railyard"


def runs_folder(home: Path) -> Path:
    """Return the folder of all runs of a site; in a rehearsal the folder of its rehearsals, which measure nothing."""
    return state_folder(home) / ("rehearsals" if os.environ.get(REHEARSAL_VARIABLE) else "runs")


def packaged_text(name: str) -> str:
    """Return the text of a file inside the package by its path there: ``job/scripts/reader.sh``."""
    return (_PACKAGE / name).read_text(encoding="utf-8")


#: Where a wheel has them: inside the package, so that nothing else in site-packages can be overwritten.
PACKAGED = "_shipped"
CHECKS = "checks"


def shipped(package: Path = _PACKAGE) -> Path:
    """Return the folder that holds what Railyard ships: that of the wheel, else the clone's own."""
    packaged = package / PACKAGED
    return packaged if packaged.is_dir() else package.parent


def part(home: Path, name: str) -> Path:
    """Return a site's own folder or file of that name, or Railyard's where the site has none of its own."""
    own = home / name
    return own if own.exists() else shipped() / name
