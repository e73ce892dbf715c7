"""Refuses what ReFrame lets pass: a run without a test, a name that two suites have, folders that no job can use.

Makes a run, a dry run or a listing that lacks tests an error: if it has none at all, or if two suites share a name.

ReFrame 4.10.4 prints "Ran 0/0 test case(s)" or "Found 0 check(s)" and exits with 0, and no option of it changes that
(reframe#3599). A settings file can only reach the functions that load, list and run (``reframe.frontend``).

If Railyard and another suite have the same test name, ReFrame skips the second file with a warning. excalibur-tests has
a test `Hpl`, and so have we. Without this, one command with both suites loses one of the two.

Refuses folders of ReFrame that its jobs cannot have, before the first test, and never runs a command in a path.

ReFrame 4.10.4 expands the paths of its options itself, and runs what is in them as ``$(command)`` or between backquotes
(``reframe.utility.osext.expandvars``). A blank or a quotation mark in the stage directory fails each test of the
scheduler ``local``, without a word about the folder. A settings file can only reach the method that takes the options;
``--perflogdir`` is expanded once before any settings file is read, so `railyard run` refuses that one itself.
"""

import os
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

from reframe.core.config import _SiteConfig
from reframe.core.exceptions import ConfigError, NameConflictError, ReframeError
from reframe.core.runtime import runtime
from reframe.frontend import cli
from reframe.frontend.executors import Runner
from reframe.frontend.loader import RegressionCheckLoader

from railyard.base.errors import RailyardError
from railyard.base.paths import CHECKS, part, refuse_command, refuse_unfit
from railyard.rfm.system_choice import is_dry, refuse_without_modules, say_unchecked
from railyard.site.systems.model import System

#: The beginning of each line below the sentence: what dropped one check.
INDENT = "  "
#: "test 'Hpl' from '/their/hpl.py' is already defined in '/our/hpl.py'"
_WORDS = re.compile(r"test '(?P<test>.*)' from '(?P<second>.*)' is already defined in '(?P<first>.*)'")
_FOUND: list[re.Match[str]] = []


@dataclass(frozen=True, slots=True)
class _KnownSystem:
    """A system of Railyard in this process; ``shared``: a site's own tests run on it, too."""

    home: Path
    system: System
    shared: bool


_KNOWN: dict[str, _KnownSystem] = {}


def refuse_empty_runs(home: Path, systems: Mapping[str, System], *, shared: bool = False) -> None:
    """Make ReFrame on one of these systems end with an error, exit 1, if it selects no test to run or to list.

    So too on any other system if every test that it loaded is one of Railyard's. Otherwise runs of other systems, of
    other people's suites in the same command, stay as they were. ``shared``: so do runs of these systems.

    A test of ours that ReFrame would not load, since another suite has its name, is an error too.
    """
    _KNOWN.update({name: _KnownSystem(home, system, shared) for name, system in systems.items()})
    note_name_conflicts()
    loaded: list[Any] = []
    load_all = _original(RegressionCheckLoader.load_all)
    list_checks, run_all = _original(cli.list_checks), _original(Runner.runall)

    def refuse(testcases: list[Any], so: str) -> None:
        name = runtime().system.name
        known = _KNOWN.get(name)
        only_ours = bool(loaded) and all(map(_is_ours, loaded))
        if testcases or not (only_ours or (known is not None and not known.shared)):
            return
        if known is None:
            raise ReframeError(
                f'nothing was selected{so}: found the system "{name}", on which none of these checks runs, '
                "expected one of Railyard; name it: --system NAME"
            )
        lines = _drop_lines(loaded, known.home, known.system)
        raise ReframeError("\n".join((f"nothing was selected{so}: {_why(known.home, name)}", *lines)))

    @wraps(load_all)
    def load_and_keep(loader: RegressionCheckLoader, force: bool = False) -> list[Any]:
        loaded[:] = load_all(loader, force)
        refuse_name_conflicts([part(each.home, CHECKS) for each in _KNOWN.values()])
        return list(loaded)

    @wraps(list_checks)
    def list_selected(testcases: list[Any], *given: Any, **named: Any) -> None:
        refuse_unknown(loaded)
        list_checks(testcases, *given, **named)
        refuse(testcases, "")

    @wraps(run_all)
    def run_selected(runner: Runner, testcases: list[Any], restored_cases: list[Any] | None = None) -> None:
        refuse_unknown(loaded)
        refuse(testcases, ", so nothing was measured")
        name = runtime().system.name
        known = _KNOWN.get(name)
        if known is None or known.shared:
            run_all(runner, testcases, restored_cases)
            return
        if not is_dry(runner):
            refuse_without_modules(known.system)
        run_all(runner, testcases, restored_cases)
        if is_dry(runner):
            say_unchecked(known.home, name, testcases)

    RegressionCheckLoader.load_all, cli.list_checks, Runner.runall = load_and_keep, list_selected, run_selected


def refuse_unknown(loaded: Sequence[Any]) -> None:
    """Raise ReframeError for a check of ours, of a place that was given, whose tool or benchmark nobody knows.

    `railyard lint` and `railyard matrix` refuse it with the same sentence.
    """
    known = _KNOWN.get(runtime().system.name)
    if known is None or not _are_given(known.home):
        return
    # Here, as in ``_drop_lines``.
    from railyard.rfm.checks.base import InterconnectCheck
    from railyard.rfm.checks.catalogue import needs_of, refuse_unknown_tools

    classes = tuple(dict.fromkeys(type(test) for test in loaded if isinstance(test, InterconnectCheck)))
    try:
        refuse_unknown_tools(classes, known.home)
        needs_of(classes)
    except RailyardError as error:
        raise ReframeError(str(error)) from None


def _is_ours(test: Any) -> bool:
    return any(base.__module__.partition(".")[0] == "railyard" for base in type(test).__mro__)


def _original(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ReFrame's own function below a replacement."""
    original: Callable[..., Any] = getattr(function, "__wrapped__", function)
    return original


def _why(home: Path, system: str) -> str:
    missing = [path for path in _places() if not path.exists()]
    if missing:
        return f"-c {missing[0]}: found no such file or folder, expected checks; leave out -c to run those of Railyard"
    if _are_given(home):
        return f"no check of {' '.join(map(str, _places()))} fits"
    return f"no check fits these options; type: railyard matrix --system {system} --why"


def _places() -> list[Path]:
    return [Path(place) for place in runtime().get_option("general/0/check_search_path")]


def _are_given(home: Path) -> bool:
    """Return whether checks come from another place than the site's own, which has too many for a line each."""
    return _places() != [part(home, CHECKS)]


def _drop_lines(loaded: list[Any], home: Path, system: System) -> Iterator[str]:
    """Yield a line for each check of the places that were given, with what drops it."""
    if not _are_given(home) or not all(place.exists() for place in _places()):
        return
    # Here: it imports our checks, whose numbers of rails are those of ReFrame's current system, not chosen at first.
    from railyard.rfm.drop_reasons import drop_reasons
    from railyard.site.references.load import references_of

    files = [file for place in _places() for file in ([place] if place.is_file() else sorted(place.rglob("*.py")))]
    try:
        references = references_of(home / "references", system)
        yield from (f"{INDENT}{line}" for line in drop_reasons(loaded, files, references, sys.argv[1:]))
    except RailyardError as error:
        yield f"{INDENT}{error}"


def note_name_conflicts() -> None:
    """Make ReFrame's loader keep each name that it finds a second time, for ``refuse_name_conflicts``."""
    original = RegressionCheckLoader.load_from_module
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def load_from_module(loader: RegressionCheckLoader, module: Any) -> list[Any]:
        try:
            tests: list[Any] = original(loader, module)
        except NameConflictError as error:
            found = _WORDS.search(str(error))
            if found is not None:
                _FOUND.append(found)
            raise
        return tests

    RegressionCheckLoader.load_from_module = load_from_module


def refuse_name_conflicts(ours: Sequence[Path]) -> None:
    """Raise ReframeError for names that a file of Railyard's and another file have.

    ``ours``: the folders of our checks. Names of two files of other suites stay what they are to ReFrame: a warning.
    """
    lost, _FOUND[:] = _FOUND[:], []
    lines = [
        f'the test "{each["test"]}": found it in {each["first"]} and in {each["second"]}, expected each name in one of '
        "the files that a command loads; give -c so that one of the two is left out"
        for each in lost
        if any(_is_in(each[which], ours) for which in ("first", "second"))
    ]
    if lines:
        raise ReframeError("\n".join(lines))


def _is_in(file: str, folders: Sequence[Path]) -> bool:
    return any(Path(file).resolve().is_relative_to(folder.resolve()) for folder in folders)


#: ReFrame's names of the options that say where jobs run and what they leave -> the options as people type them.
_OF_JOBS: Mapping[str, str] = {
    "systems/prefix": "--prefix",
    "systems/stagedir": "--stage",
    "systems/outputdir": "--output",
    "logging/handlers_perflog/filelog_basedir": "--perflogdir",
}
#: Those of other paths: only a command in them is refused.
_OTHERS: Mapping[str, str] = {
    "general/check_search_path": "-c",
    "general/report_file": "--report-file",
    "general/report_junit": "--report-junit",
    "storage/sqlite_db_file": "RFM_SQLITE_DB_FILE",
}

#: The systems of Railyard in this process: with any other one ReFrame stays as it is.
_OURS: set[str] = set()


def refuse_unfit_options(names: Collection[str]) -> None:
    """Make ReFrame refuse, on these systems, options and variables with a path that its jobs cannot have.

    It ends with exit 1 and one sentence (``ConfigError``), before it makes any folder.
    """
    _OURS.update(names)
    original = _SiteConfig.add_sticky_option
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def add_sticky_option(site: Any, option: str, value: Any) -> None:
        if site.subconfig_system.partition(":")[0] in _OURS:
            try:
                _refuse(option, value)
            except RailyardError as error:
                raise ConfigError(str(error)) from None
        original(site, option, value)

    _SiteConfig.add_sticky_option = add_sticky_option


def _refuse(option: str, value: Any) -> None:
    shown = _OF_JOBS.get(option) or _OTHERS.get(option)
    if shown is None:
        return
    for path in value if isinstance(value, list | tuple) else [value]:
        refuse_command(path, shown)
        if option in _OF_JOBS:
            # A site may have $SCRATCH in it.
            refuse_unfit(Path(os.path.abspath(os.path.expandvars(path))), f"{shown} to be")
