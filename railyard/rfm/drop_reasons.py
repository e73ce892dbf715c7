"""Why ReFrame selected none of the tests that it loaded: one line for each class, and for each file without a test."""

import inspect
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from reframe.core.pipeline import RegressionTest
from reframe.core.runtime import runtime, valid_sysenv_comb

from railyard.base.errors import RailyardError
from railyard.base.wording import listing
from railyard.rfm.checks.base import InterconnectCheck
from railyard.rfm.checks.catalogue import needs, needs_of
from railyard.rfm.run.options import everyday_words, read
from railyard.site.matrix import Need, matrix, requested_needs
from railyard.site.references.load import References

#: Reasons of a check in its line; `railyard matrix --why` has all of them.
_MOST_REASONS = 2


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
    asked = requested_needs(system, stated)
    if not asked:
        return _name_problems(stated, system.system)
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
