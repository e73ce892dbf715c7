"""Makes a run, a dry run or a listing of no test end with an error that says what dropped each check.

ReFrame 4.10.4 prints "Ran 0/0 test case(s)" or "Found 0 check(s)" and exits with 0, and no option of it changes that
(reframe#3599). A settings file can only reach the functions that load, list and run (``reframe.frontend``).
"""

import inspect
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from reframe.core.exceptions import ReframeError
from reframe.core.pipeline import RegressionTest
from reframe.core.runtime import runtime, valid_sysenv_comb
from reframe.frontend import cli
from reframe.frontend.executors import Runner
from reframe.frontend.loader import RegressionCheckLoader

from railyard.base.errors import RailyardError, did_you_mean
from railyard.base.paths import CHECKS, part
from railyard.base.wording import listing
from railyard.benchmarks.table.micro import TOOLS
from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.checks.catalogue import needs, needs_of
from railyard.rfm.run.options import everyday_words, read
from railyard.site.matrix import Need, asked_for, matrix
from railyard.site.references.load import References
from railyard.site.systems.model import System

#: Reasons of a check in its line; `railyard matrix --why` has all of them.
_MOST_REASONS = 2
#: The beginning of each line below the sentence: what dropped one check.
INDENT = "  "


def refuse_empty_runs(home: Path, systems: Mapping[str, System]) -> None:
    """Make ReFrame on one of these systems end with an error, exit 1, if it selects no test to run or to list.

    Runs of other systems, of other people's suites in the same command, stay as they were.
    """
    loaded: list[Any] = []
    load_all = _original(RegressionCheckLoader.load_all)
    list_checks, run_all = _original(cli.list_checks), _original(Runner.runall)

    def refuse(testcases: list[Any], so: str) -> None:
        name = runtime().system.name
        if not testcases and name in systems:
            raise ReframeError(
                "\n".join((f"nothing was selected{so}: {_why(home, name)}", *_drop_lines(loaded, home, systems[name])))
            )

    @wraps(load_all)
    def load_and_keep(loader: RegressionCheckLoader, force: bool = False) -> list[Any]:
        loaded[:] = load_all(loader, force)
        return list(loaded)

    @wraps(list_checks)
    def list_selected(testcases: list[Any], *given: Any, **named: Any) -> None:
        list_checks(testcases, *given, **named)
        refuse(testcases, "")

    @wraps(run_all)
    def run_selected(runner: Runner, testcases: list[Any], restored_cases: list[Any] | None = None) -> None:
        refuse(testcases, ", so nothing was measured")
        run_all(runner, testcases, restored_cases)

    RegressionCheckLoader.load_all, cli.list_checks, Runner.runall = load_and_keep, list_selected, run_selected


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
    from railyard.site.references.load import references_of

    files = [file for place in _places() for file in ([place] if place.is_file() else sorted(place.rglob("*.py")))]
    try:
        references = references_of(home / "references", system)
        yield from (f"{INDENT}{line}" for line in drop_reasons(loaded, files, references, sys.argv[1:]))
    except RailyardError as error:
        yield f"{INDENT}{error}"


def drop_reasons(
    tests: Sequence[RegressionTest], files: Sequence[Path], references: References, options: Sequence[str]
) -> Iterator[str]:
    """Yield a line for each class of these tests, with what drops it, and one for each file that has no test.

    Classes of one file that the same drops share a line.
    ``references`` are those of ReFrame's current system; ``options`` is the command line.
    """
    classes = dict.fromkeys(type(test) for test in tests)
    names: dict[tuple[str, str], list[str]] = {}
    for cls in classes:
        own = [test for test in tests if type(test) is cls]
        if issubclass(cls, InterconnectCheck):
            reason = _why_no_cell(cls, references, options)
        else:
            reason = next(filter(None, map(_why_unfit, own)), None) or _name_options(options)
        names.setdefault((_path_text(Path(inspect.getfile(cls))), reason), []).append(cls.__name__)
    yield from (f"{file}: {', '.join(same)}: {reason}" for (file, reason), same in names.items())
    with_tests = {Path(inspect.getfile(cls)).resolve() for cls in classes}
    for file in files:
        if file.resolve() not in with_tests:
            yield _why_no_test(file)


def _why_no_cell(cls: type[InterconnectCheck], references: References, options: Sequence[str]) -> str:
    """Return what drops a check of ours on the current system: what the matrix says, else the options."""
    system = references.system
    stated = needs_of((cls,))
    asked = asked_for(system, stated)
    if not asked:
        return _name_problems(stated, system.system)
    for need in asked:
        if need.tool not in TOOLS and need.tool not in system.applications:
            return (
                f'tool: found "{need.tool}", expected a tool of Railyard\'s benchmarks; '
                f"{did_you_mean(need.tool, TOOLS)} (a new tool: docs/developers/add.md)"
            )
    places = {partition.name for partition in runtime().system.partitions}
    cells = [
        cell for cell in matrix(system, asked, references.has_number) if cell.test.fabric in places and not cell.named
    ]
    if any(cell.reason is None or cell.disabled for cell in cells):
        return _name_options(options, extended=all(cell.extended for cell in cells))
    fewest = min((cell.test.rails for cell in cells), default=1)
    counted = Counter(cell.reason for cell in cells if cell.test.rails == fewest)
    said = [str(reason) for reason, _ in counted.most_common(_MOST_REASONS)]
    more = len({cell.reason for cell in cells}) - len(said)
    file = _path_text(Path(inspect.getfile(cls)))
    rest = f" (and {more} more: railyard matrix --system {system.system} -c {file} --why)" if more > 0 else ""
    return f"{'; '.join(said) or f'{system.system} states no stack'}{rest}"


def _name_problems(stated: Sequence[Need], system: str) -> str:
    problems = listing([*dict.fromkeys(need.feature for need in stated if need.feature)])
    return f"it is for {problems or 'more nodes'}, which systems/{system}.yaml does not ask for"


def _why_unfit(test: RegressionTest) -> str | None:
    """Return what drops a plain ReFrame test on the current system; None if it fits."""
    systems, environs = list(test.valid_systems), list(test.valid_prog_environs)
    partitions = valid_sysenv_comb(systems, ["*"])
    if not partitions:
        there = listing([partition.fullname for partition in runtime().system.partitions])
        return f"valid_systems: found {systems}, expected one that fits {there}"
    if any(valid_sysenv_comb(systems, environs).values()):
        return None
    stacks = listing([*dict.fromkeys(environ.name for found in partitions.values() for environ in found)])
    return f"valid_prog_environs: found {environs}, expected one that fits {stacks or 'what -p leaves: nothing'}"


def _name_options(options: Sequence[str], *, extended: bool = False) -> str:
    """Return that the system has a place for a test, and which options leave it out."""
    words, everyday = read(options), everyday_words()[1]
    if extended and everyday in words.exclude_tag:
        return "it is extended, and an everyday run leaves it out: railyard run --extended"
    given = {
        **{"-n": words.name, "-x": words.exclude, "-p": words.prgenv, "-P": words.parameterize, "-t": words.tag},
        **{"-T": [tag for tag in words.exclude_tag if tag != everyday], "-E": words.filter_expr},
    }
    said = " ".join(f"{option} {value}" for option, values in given.items() for value in values)
    return f"{runtime().system.name} can run it, but these options leave it out: {said or ' '.join(options)}"


def _why_no_test(file: Path) -> str:
    try:
        needs(file)
    except RailyardError as error:
        return str(error)
    return f"{_path_text(file)}: found no test, expected a class with @rfm.simple_test above it"


def _path_text(file: Path) -> str:
    """Return a file's path as a person would type it in the working folder."""
    resolved = file.resolve()
    return str(resolved.relative_to(Path.cwd())) if resolved.is_relative_to(Path.cwd()) else str(file)
