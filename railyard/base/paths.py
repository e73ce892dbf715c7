"""Where a site keeps its systems, references and results, where Railyard's own files are, and variables that say so.

A site is one folder, found the same way everywhere. The files that come with Railyard (checks, Spack environments,
locks, and the start of a new site) are beside ``railyard/`` in a clone. In a wheel they are inside the package
(pyproject.toml, force-include).
"""

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
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

    Raises SetupError if that folder has no ``systems/``, or a sign in its path that jobs cannot have.
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
            f"{shown_path(home)}: found no folder systems/, expected a Railyard site there ({why}); make one: "
            f"railyard init mysite && cd mysite; or go to your clone or site, or set {HOME_VARIABLE} to its folder"
        )
    refuse_unfit(home, "a site or a clone")
    return home


#: Signs that no folder of jobs may have in its path -> what would happen. Job scripts, options of launchers, lists of
#: folders such as PATH, and ReFrame's settings have the path in them, and each reads other signs in its own way.
_UNFIT: Mapping[str, str] = {
    "$`": "ReFrame or a shell would run or replace what follows it",
    "'\"": "ReFrame or a shell would start a quotation there",
    "\\": "a shell would drop it",
    ";&|()<>": "a shell would end its command there",
    "*?[]~!^": "a shell would read it as a pattern",
    "{}%": "ReFrame would read it as a blank to fill",
    ":,": "a list of folders, such as PATH, would end there",
    "#": "a scheduler would read a comment there",
    " ": "ReFrame and schedulers would end the path there",
}


#: What ReFrame runs in a path, as a shell would.
_COMMAND = re.compile(r"`.*`|\$\(.*\)", re.DOTALL)


def why_unfit(path: Path) -> str | None:
    """Return which sign of an absolute path jobs cannot have, and why; None if they can have the path as it is.

    Fit are letters of all languages, digits, and ``_ . - + = @``; no folder's name may begin with ``-``.
    """
    for sign in str(path):
        if not sign.isprintable():
            return "found a control character, or a letter that is not UTF-8: a line of a job would end there"
        for signs, why in _UNFIT.items():
            if sign in signs:
                return f"found {'a blank' if sign == ' ' else f'the sign {sign}'} in this path: {why}"
    if any(part.startswith("-") for part in path.parts):
        return 'found a folder whose name begins with "-": a program would read it as an option'
    return None


def refuse_unfit(path: Path, what: str) -> None:
    """Raise SetupError if jobs cannot have this absolute path; ``what`` says what is to be there."""
    why = why_unfit(path)
    if why is not None:
        raise SetupError(
            f"{shown_path(path)}: {why}; expected {what} in a folder whose path has only letters, digits and "
            "_ . - + = @; move it, or choose another folder"
        )


def refuse_command(path: str | Path, what: str) -> None:
    """Raise SetupError if ReFrame would run a command that is in a path; ``what`` says what has this path."""
    found = _COMMAND.search(str(path))
    if found is not None:
        raise SetupError(
            f"{what} {shown_path(Path(path))}: found {shown_path(Path(found[0]))} in this path, which ReFrame would "
            "run, expected a path without commands; choose another"
        )


def why_absent(path: str | Path) -> str | None:
    """Return why a path that a file names is nothing that this person can use on this host; None if it is there.

    Up to Python 3.13 ``Path.exists`` and its kin raise an error for a path below a folder that is closed to this
    person, and for one that is too long. Many sites close /etc/slurm, and homes.
    """
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return "is not on this host"
    except OSError as error:
        return f"cannot be looked at on this host ({(error.strerror or str(error)).lower()})"
    return None


def shown_path(path: Path) -> str:
    """Return a path for an error: one line, control characters escaped, which a terminal would obey."""
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in str(path))


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


@contextlib.contextmanager
def with_variables(variables: Mapping[str, str]) -> Iterator[None]:
    """Set these variables while the block runs. After it, each is as before."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
