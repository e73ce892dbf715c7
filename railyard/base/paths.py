"""Where a site keeps its systems, references and results, and where the files that come with Railyard are.

A site is one folder, found the same way everywhere. The files that come with Railyard (checks, Spack environments,
locks, and the start of a new site) are beside ``railyard/`` in a clone. In a wheel they are inside the package
(pyproject.toml, force-include).
"""

import os
from pathlib import Path

from railyard.base.errors import SetupError

HOME_VARIABLE = "RAILYARD_HOME"
#: Set by `railyard run --spack`: stacks whose entry names Spack's benchmarks use these.
SPACK_VARIABLE = "RAILYARD_SPACK"
#: Set by `railyard run --replay`: outputs are played from recordings/, and nothing is measured.
REPLAY_VARIABLE = "RAILYARD_REPLAY"
#: Set by `railyard rehearse` to the folder of its rehearsal: stand-ins run in place of benchmarks; nothing is measured.
REHEARSAL_VARIABLE = "RAILYARD_REHEARSAL"
#: Set in the allocation of `railyard run --one-allocation` to its nodes, separated by commas: each test is a step on
#: some of them.
ALLOCATION_VARIABLE = "RAILYARD_ALLOCATION"
SETTINGS_FILE = "reframe_settings.py"
_PACKAGE = Path(__file__).parents[1]


def find_home(settings_file: str | Path | None = None) -> Path:
    """Return the site folder: ``RAILYARD_HOME``, else the settings file's folder, else the working folder.

    Raises SetupError if that folder has no ``systems/``.
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
    """Return the folder for what runs leave behind: results, the virtual cluster's state. It is never committed."""
    return home / ".railyard"


def runs_folder(home: Path) -> Path:
    """Return the folder of all runs of a site. In a rehearsal it is the folder of rehearsals, which measure nothing."""
    return state_folder(home) / ("rehearsals" if os.environ.get(REHEARSAL_VARIABLE) else "runs")


def packaged_text(name: str) -> str:
    """Return the text of a file inside the package by its path there: ``job/scripts/reader.sh``."""
    return (_PACKAGE / name).read_text(encoding="utf-8")


#: Where these files are in a wheel: inside the package, so that they cannot overwrite anything else in site-packages.
PACKAGED = "_shipped"
CHECKS = "checks"


def find_shipped(package: Path = _PACKAGE) -> Path:
    """Return the folder with the files that come with Railyard: the wheel's, else the clone's."""
    packaged = package / PACKAGED
    return packaged if packaged.is_dir() else package.parent


def part(home: Path, name: str) -> Path:
    """Return the site's own folder or file of that name, or Railyard's if the site has none."""
    own = home / name
    return own if own.exists() else find_shipped() / name
